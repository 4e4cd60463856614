"""The command line of the studies: in go a study's name and folders, out comes a table on standard output."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from pytest_draft.errors import DraftError
from studies import (
    agreement,
    claims,
    entropy,
    gate,
    grid,
    hunt,
    informed,
    invariances,
    numeric,
    numeric_agreement,
    private,
    side_by_side,
    startup,
)
from studies.relations import RELATIONS
from studies.specimens import MODELS, PUBLIC, TABLES

_Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def _parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    studies = parser.add_subparsers(dest="study", required=True)
    command = studies.add_parser("gate", help="judge forests trained on public data, by the real pytest")
    command.add_argument("--datasets", type=Path, required=True, help="folder of compas.csv, adult.csv, ...")
    command.add_argument("--names", nargs="+", default=list(gate.TARGETS), choices=list(gate.TARGETS))
    command.add_argument("--rows", type=int, default=100, help="rows drawn at random; 0 for all")
    command.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    command.add_argument("--bootstrap", nargs="+", default=["no", "yes"], choices=["no", "yes"])
    command.add_argument("--trees", type=int, default=100)
    command.add_argument("--depth", type=int, default=None)
    command.add_argument("--max-error", type=float, default=None, help="judge by this budget, not the default policy")
    command = studies.add_parser("startup", help="what the plugin costs a pytest run, unused and where it judges")
    command.add_argument("--pairs", type=int, default=20, help="runs of the unused plugin; 0 for none")
    command.add_argument("--runs", type=int, default=5, help="runs that judge a forest; 0 for none")
    _add_checks(studies)
    command = studies.add_parser("side-by-side", help="this engine and the DRAFT reference on the same forests")
    command.add_argument("--draft", type=Path, required=True, help="checkout of github.com/vidalt/DRAFT")
    command.add_argument("--draft-python", type=Path, default=Path(sys.executable), help="interpreter that runs it")
    command.add_argument("--datasets", type=Path, required=True, help="folder of compas.csv, adult.csv, ...")
    command.add_argument("--names", nargs="+", default=["compas"], choices=list(gate.TARGETS))
    command.add_argument("--rows", type=int, default=100, help="rows drawn at random")
    command.add_argument("--seeds", type=int, nargs="+", default=[0])
    command.add_argument("--bootstrap", nargs="+", default=["no"], choices=["no", "yes"])
    command.add_argument("--trees", type=int, nargs="+", default=[10, 30])
    command.add_argument("--depth", type=int, default=None)
    command.add_argument("--seconds", type=int, default=120, help="limit of each attack")
    command.add_argument("--threads", type=int, default=2)
    command = studies.add_parser("grid", help="this engine beside DRAFT's published runs")
    command.add_argument("--datasets", type=Path, required=True, help="folder of compas.csv, adult.csv, ...")
    command.add_argument("--published", type=Path, required=True, help="draft_runs.csv")
    command.add_argument("--names", nargs="+", default=list(gate.TARGETS), choices=list(gate.TARGETS))
    command.add_argument("--trees", type=int, nargs="+", default=[1, 5, *range(10, 101, 10)])
    command.add_argument("--depth", type=int, nargs="+", default=[2, 3, 4, 5, 10, 0], help="0 for no limit")
    command.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    command.add_argument("--bootstrap", default="no", choices=["no", "yes"])
    command.add_argument("--seconds", type=float, default=60.0)
    command.add_argument("--jobs", type=int, default=1, help="attacks at a time")
    command.add_argument("--threads", type=int, default=2, help="of each attack")
    _add_private(studies)
    _add_numeric(studies)
    _add_entropy(studies)
    _add_invariances(studies)
    return parser


def _add_private(studies: _Subparsers) -> None:
    """Add the studies of private forests."""
    command = studies.add_parser("informed", help="all rows but one known, beside DRAFT-DP's published runs")
    command.add_argument("--datasets", type=Path, required=True, help="folder of compas.csv, adult.csv, ...")
    command.add_argument("--published", type=Path, required=True, help="draft_dp_informed_runs.csv")
    command.add_argument("--names", nargs="+", default=list(informed.N_ROWS), choices=list(informed.N_ROWS))
    command.add_argument("--epsilons", type=float, nargs="+", default=list(informed.EPSILONS))
    command.add_argument("--seeds", type=int, nargs="+", default=list(range(10)), help="the authors'")
    command.add_argument("--jobs", type=int, default=1, help="runs at a time")
    command.add_argument("--reconn", action="store_true", help="train the reconstruction network too; needs PyTorch")
    command = studies.add_parser("private", help="private forests, beside DRAFT-DP's published runs")
    command.add_argument("--datasets", type=Path, required=True, help="folder of compas.csv, adult.csv, ...")
    command.add_argument("--published", type=Path, required=True, help="folder of draft_dp_runs.csv and the like")
    command.add_argument("--names", nargs="+", default=list(gate.TARGETS), choices=list(gate.TARGETS))
    command.add_argument("--trees", type=int, nargs="+", default=[1, 5, 10, 20, 30])
    command.add_argument("--depth", type=int, nargs="+", default=[3, 5, 7])
    command.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 1, 5, 10, 20, 30])
    command.add_argument("--known", type=int, nargs="+", default=[0], help="numbers of known attributes")
    command.add_argument("--seeds", type=int, nargs="+", default=[0, 1], help="the authors': 0 to 4")
    command.add_argument("--size", default="known", choices=["known", "unknown"], help="the number of rows")
    command.add_argument("--rounding", default="noise", choices=["noise", "sum"], help="n + int(Y) or int(n + Y)")
    command.add_argument("--bound", default="yes", choices=["no", "yes"], help="the likeliest dataset and its proof")
    command.add_argument("--seconds", type=float, default=30.0)
    command.add_argument("--jobs", type=int, default=1, help="attacks at a time")
    command.add_argument("--threads", type=int, default=2, help="of each attack")


def _add_numeric(studies: _Subparsers) -> None:
    """Add the study of numeric data."""
    command = studies.add_parser("numeric", help="judge forests trained on scikit-learn's toy data, or on any CSV file")
    command.add_argument("--data", nargs="+", default=list(numeric.TOYS), help="names of toy data, or PATH.csv:LABEL")
    command.add_argument("--rows", type=int, default=100, help="rows drawn at random; 0 for all")
    command.add_argument("--trees", type=int, default=100)
    command.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    command.add_argument("--budget", type=float, default=60.0, help="seconds for each judgement")
    command.add_argument("--effort", type=float, default=None, help="the most units of work for each search")
    command.add_argument("--threads", type=int, default=2)
    command.add_argument("--forest", default="random", choices=list(numeric.FORESTS))
    command.add_argument(
        "--draft-model", type=float, metavar="SECONDS", help="DRAFT's own row-based model beside it, for so long"
    )


def _add_entropy(studies: _Subparsers) -> None:
    """Add the study of greedy and optimal models."""
    command = studies.add_parser("entropy", help="what greedy and optimal trees and rule lists give away")
    command.add_argument("--datasets", type=Path, required=True, help="folder of compas.csv, adult.csv, ...: binarized")
    command.add_argument("--names", nargs="+", default=["compas", "adult"])
    command.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    command.add_argument("--depths", type=int, nargs="+", default=list(range(1, 11)))
    command.add_argument("--supports", type=float, nargs="+", default=[0.01, 0.02, 0.03, 0.04, 0.05])
    command.add_argument("--learners", nargs="+", default=list(entropy.LEARNERS[:-1]), choices=list(entropy.LEARNERS))
    command.add_argument("--budget", type=float, default=600.0, help="seconds of each search for an optimal model")
    command.add_argument("--output", type=Path, required=True, help="folder for tables and figures")
    command.add_argument("--published", type=Path, help="folder of the authors' results, to be compared with")
    command.add_argument("--jobs", type=int, default=1, help="searches at a time")


def _add_checks(studies: _Subparsers) -> None:
    """Add the studies of what the engine proves and claims."""
    command = studies.add_parser("agreement", help="engine, papers' models and enumeration on generated instances")
    command.add_argument("--instances", type=int, default=200)
    command.add_argument("--seed", type=int, default=0)
    command = studies.add_parser("numeric-agreement", help="what is proved of numeric columns, against the truth")
    command.add_argument("--instances", type=int, default=300)
    command.add_argument("--seed", type=int, default=0)
    command = studies.add_parser("claims", help="what is claimed of generated files, against the truth")
    command.add_argument("--instances", type=int, default=500, help="of each kind of model")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--models", nargs="+", default=list(claims.MODELS), choices=list(claims.MODELS))


def _add_invariances(studies: _Subparsers) -> None:
    """Add the studies of the gate itself."""
    command = studies.add_parser("invariances", help="whether a verdict becomes milder where only the writing changes")
    tables = [*TABLES, *PUBLIC]
    command.add_argument("--tables", nargs="+", default=list(invariances.TABLES), choices=tables, metavar="TABLE")
    command.add_argument("--models", nargs="+", default=list(invariances.JUDGED_MODELS), choices=list(MODELS))
    command.add_argument("--relations", nargs="+", default=list(RELATIONS), choices=list(RELATIONS), metavar="RELATION")
    command.add_argument("--seed", type=int, default=0, help="of tables and models")
    command.add_argument("--datasets", type=Path, help="folder of compas.csv, adult.csv, ..., where these are named")
    command.add_argument("--workers", type=int, default=1, help="processes")
    command.add_argument("--output", type=Path, help="JSON file for all trials")
    command = studies.add_parser("hunt", help="judge drawn triples, and what passes by all that could contradict it")
    command.add_argument("--triples", type=int, default=300)
    command.add_argument("--numbers", type=int, nargs="+", help="of single triples, in place of the first ones")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--seconds", type=float, default=4.0, help="effort of a judgement, in units of about a second")
    command.add_argument("--workers", type=int, default=1, help="processes")
    command.add_argument("--output", type=Path, help="file of JSON lines; what is there is not hunted again")


def _invariances(arguments: argparse.Namespace) -> int:
    return invariances.run(
        arguments.tables,
        arguments.models,
        arguments.relations,
        seed=arguments.seed,
        datasets=arguments.datasets,
        workers=arguments.workers,
        output=arguments.output,
    )


def _hunt(arguments: argparse.Namespace) -> int:
    return hunt.run(
        arguments.triples,
        arguments.seed,
        arguments.seconds,
        workers=arguments.workers,
        output=arguments.output,
        numbers=arguments.numbers,
    )


_CHECKS: dict[str, Callable[[argparse.Namespace], int]] = {
    "agreement": lambda arguments: agreement.run(arguments.instances, arguments.seed),
    "numeric-agreement": lambda arguments: numeric_agreement.run(arguments.instances, arguments.seed),
    "claims": lambda arguments: claims.run(arguments.instances, arguments.seed, tuple(arguments.models)),
    "invariances": _invariances,
    "hunt": _hunt,
}
"""Studies that count what is wrong with the engine or the gate: anything is an exit status of 1."""


def main() -> None:
    """Run one study."""
    arguments = _parser().parse_args()
    if arguments.study in _CHECKS:
        sys.exit(1 if _CHECKS[arguments.study](arguments) else 0)
    if arguments.study == "gate":
        gate.run(
            arguments.datasets,
            arguments.names,
            arguments.rows,
            arguments.seeds,
            [choice == "yes" for choice in arguments.bootstrap],
            {"n_estimators": arguments.trees, "max_depth": arguments.depth},
            arguments.max_error,
        )
    elif arguments.study == "grid":
        grid.run(
            arguments.datasets,
            arguments.published,
            arguments.names,
            arguments.trees,
            [depth or None for depth in arguments.depth],
            arguments.seeds,
            bootstrap=arguments.bootstrap == "yes",
            seconds=arguments.seconds,
            jobs=arguments.jobs,
            workers=arguments.threads,
        )
    elif arguments.study == "informed":
        informed.run(
            arguments.datasets,
            arguments.published,
            arguments.names,
            arguments.epsilons,
            arguments.seeds,
            jobs=arguments.jobs,
            network=arguments.reconn,
        )
    elif arguments.study == "private":
        private.run(
            arguments.datasets,
            arguments.published,
            private.settings_of(arguments.names, arguments.trees, arguments.depth, arguments.epsilons, arguments.known),
            arguments.seeds,
            size_known=arguments.size == "known",
            rounding=arguments.rounding,
            prove=arguments.bound == "yes",
            seconds=arguments.seconds,
            jobs=arguments.jobs,
            workers=arguments.threads,
        )
    elif arguments.study == "numeric":
        setting = numeric.Setting(
            arguments.forest,
            arguments.trees,
            arguments.rows,
            arguments.budget,
            arguments.threads,
            arguments.draft_model,
            arguments.effort,
        )
        try:
            numeric.run(arguments.data, arguments.seeds, setting)
        except DraftError as error:
            sys.exit(str(error))
    elif arguments.study == "entropy":
        try:
            entropy.run(
                arguments.datasets,
                arguments.names,
                arguments.seeds,
                arguments.depths,
                arguments.supports,
                arguments.budget,
                arguments.output,
                learners=arguments.learners,
                published=arguments.published,
                jobs=arguments.jobs,
            )
        except DraftError as error:
            sys.exit(str(error))
    elif arguments.study == "side-by-side":
        side_by_side.run(
            arguments.draft,
            arguments.draft_python,
            arguments.datasets,
            arguments.names,
            arguments.rows,
            arguments.seeds,
            [choice == "yes" for choice in arguments.bootstrap],
            arguments.trees,
            arguments.depth,
            arguments.seconds,
            arguments.threads,
        )
    else:
        startup.run(arguments.pairs, arguments.runs)


if __name__ == "__main__":
    main()
