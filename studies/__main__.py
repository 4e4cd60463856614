"""The command line of the studies: in go a study's name and folders, out comes a table on standard output.

Run from a checkout, after ``pip install -e '.[studies]'``. Studies that count what is wrong with the engine or the gate
end with the exit status 1 where anything is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
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
    reading,
    same_reports,
    side_by_side,
    startup,
    verdicts,
)
from studies.fixed_judgements import JUDGEMENTS
from studies.fuzz import run as fuzz
from studies.fuzz.plan import SHARES
from studies.papers import command as papers
from studies.public_data import TARGETS
from studies.relations import RELATIONS
from studies.specimens import MODELS, TABLES

_Command: TypeAlias = argparse.ArgumentParser
_Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
_Run: TypeAlias = Callable[[argparse.Namespace], "int | None"]


def main(words: Sequence[str] | None = None) -> int:
    """Run one study.

    Parameters
    ----------
    words : sequence of str or None
        Of the command line; None for those of this process.

    Returns
    -------
    int
        The exit status.
    """
    arguments = _parser().parse_args(words)
    run: _Run = arguments.run
    try:
        wrong = run(arguments)
    except (DraftError, FileNotFoundError) as error:
        sys.exit(str(error))
    return 1 if wrong else 0


def _parser() -> _Command:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m studies", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    studies = parser.add_subparsers(dest="study", required=True)
    for add in (_add_gate, _add_checks, _add_papers, _add_private, _add_numeric, _add_entropy, _add_writings):
        add(studies)
    return parser


# The studies, by what they are about.


def _add_gate(studies: _Subparsers) -> None:
    """Add the studies of the whole gate, by the real pytest."""
    command = _study(studies, "gate", "judge forests trained on public data, by the real pytest", _gate)
    _add_tables(command, TARGETS, TARGETS)
    command.add_argument("--rows", type=int, default=100, help="rows drawn at random; 0 for all")
    _add_seeds(command, [0, 1, 2, 3, 4])
    _add_bagging(command, ["no", "yes"])
    command.add_argument("--trees", type=int, default=100)
    command.add_argument("--depth", type=int, default=None)
    command.add_argument("--max-error", type=float, default=None, help="judge by this budget, not the default policy")
    command = _study(
        studies, "verdicts", "which of a grid of forests get a verdict, and whether another judgement agrees", _verdicts
    )
    command.add_argument("--datasets", type=Path, help="folder of compas.csv, adult.csv, ..., where these are judged")
    command.add_argument("--tables", nargs="+", default=list(verdicts.TABLES), choices=list(verdicts.TABLES))
    command.add_argument(
        "--forests", nargs="+", default=list(verdicts.FORESTS), choices=list(verdicts.FORESTS), metavar="FOREST"
    )
    command.add_argument("--adversaries", default="artifact", help="such as artifact,published")
    command.add_argument("--rows", type=int, default=400, help="rows drawn at random")
    _add_seeds(command, [0])
    command.add_argument("--seconds", type=float, default=60.0, help="time box of each judgement")
    command.add_argument("--attack-seed", type=int, default=0)
    command.add_argument(
        "--levels", nargs="+", default=["plain"], help="plain, or levels of python -m pytest_draft harden"
    )
    command.add_argument("--bootstrap", choices=["yes", "no"], default=None, help="of each forest")
    command.add_argument("--workers", type=int, default=2, help="threads of each judgement")
    command.add_argument("--jobs", type=int, default=1, help="judgements at a time")
    command.add_argument("--output", type=Path, required=True, help="file of JSON lines; what is there is kept")
    command.add_argument(
        "--contradict", action="store_true", help="judge again what has a verdict: give other --seconds, --attack-seed"
    )
    command = _study(
        studies,
        "startup",
        "what the plugin costs a pytest run, unused and where it judges",
        lambda a: startup.run(a.pairs, a.runs),
    )
    command.add_argument("--pairs", type=int, default=20, help="runs of the unused plugin; 0 for none")
    command.add_argument("--runs", type=int, default=5, help="runs that judge a forest; 0 for none")
    command = _study(
        studies,
        "reading",
        "what reading a model file costs beside joblib.load",
        lambda a: reading.run(a.trees, a.rows, a.runs),
    )
    command.add_argument("--trees", type=int, default=75, help="75 on 50,000 rows make a file of about 70 MB")
    command.add_argument("--rows", type=int, default=50_000)
    command.add_argument("--runs", type=int, default=5, help="the least of so many counts")
    command = _study(
        studies,
        "same-reports",
        "twenty judgements by this checkout and another one: where their JSON reports differ",
        lambda a: same_reports.run(a.before, a.after, a.names),
    )
    command.add_argument("--before", type=Path, required=True, help="the other checkout, such as a git worktree")
    command.add_argument("--after", type=Path, default=same_reports.HERE, help="in place of this checkout")
    command.add_argument("--names", nargs="+", default=list(JUDGEMENTS), choices=list(JUDGEMENTS), metavar="NAME")


def _add_checks(studies: _Subparsers) -> None:
    """Add the studies of what the engine proves and claims, on generated instances."""
    command = _study(
        studies,
        "agreement",
        "engine, papers' models and enumeration on generated instances",
        lambda a: agreement.run(a.instances, a.seed),
    )
    _add_instances(command, 200)
    command = _study(
        studies,
        "numeric-agreement",
        "what is proved of numeric columns, against the truth",
        lambda a: numeric_agreement.run(a.instances, a.seed),
    )
    _add_instances(command, 300)
    command = _study(
        studies,
        "claims",
        "what is claimed of generated files, against the truth",
        lambda a: claims.run(a.instances, a.seed, tuple(a.models)),
    )
    _add_instances(command, 500, "of each kind of model")
    command.add_argument("--models", nargs="+", default=list(claims.MODELS), choices=list(claims.MODELS))
    command = _study(
        studies, "fuzz", "read damaged files of all kinds: valid, or one clear error, and nothing else", _fuzz
    )
    command.add_argument("--mutants", type=int, default=300_000)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--first", type=int, default=0, help="number to begin with, for a run in pieces")
    command.add_argument("--targets", nargs="+", default=list(SHARES), choices=list(SHARES), metavar="TARGET")
    command.add_argument("--number", type=int, help="make this one mutant of one target again, in this process")
    command.add_argument("--write", type=Path, help="file to write that mutant to")
    command.add_argument("--regressions", type=Path, default=fuzz.REGRESSIONS, help="file that recipes are added to")


def _add_papers(studies: _Subparsers) -> None:
    """Add the studies beside DRAFT (ICML 2024)."""
    command = _study(studies, "side-by-side", "this engine and the DRAFT reference on the same forests", _side_by_side)
    command.add_argument("--draft", type=Path, required=True, help="checkout of github.com/vidalt/DRAFT")
    command.add_argument("--draft-python", type=Path, default=Path(sys.executable), help="interpreter that runs it")
    _add_tables(command, ["compas"], TARGETS)
    command.add_argument("--rows", type=int, default=100, help="rows drawn at random")
    _add_seeds(command, [0])
    _add_bagging(command, ["no"])
    command.add_argument("--trees", type=int, nargs="+", default=[10, 30])
    command.add_argument("--depth", type=int, default=None)
    command.add_argument("--seconds", type=int, default=120, help="limit of each attack")
    command.add_argument("--threads", type=int, default=2)
    command = _study(studies, "grid", "this engine beside DRAFT's published runs", _grid)
    _add_tables(command, TARGETS, TARGETS, published="draft_runs.csv")
    command.add_argument("--trees", type=int, nargs="+", default=[1, 5, *range(10, 101, 10)])
    command.add_argument("--depth", type=int, nargs="+", default=[2, 3, 4, 5, 10, 0], help="0 for no limit")
    _add_seeds(command, [0, 1])
    command.add_argument("--bootstrap", default="no", choices=["no", "yes"])
    _add_attacks(command, seconds=60.0)
    command = _study(studies, "papers", "results of the papers, one by one, beside the published runs", papers.run)
    papers.add(command)


def _add_private(studies: _Subparsers) -> None:
    """Add the studies of private forests."""
    command = _study(studies, "informed", "all rows but one known, beside DRAFT-DP's published runs", _informed)
    _add_tables(command, informed.N_ROWS, informed.N_ROWS, published="draft_dp_informed_runs.csv")
    command.add_argument("--epsilons", type=float, nargs="+", default=list(informed.EPSILONS))
    _add_seeds(command, list(range(10)), "the authors'")
    command.add_argument("--jobs", type=int, default=1, help="runs at a time")
    command.add_argument("--reconn", action="store_true", help="train the reconstruction network too; needs PyTorch")
    command = _study(studies, "private", "private forests, beside DRAFT-DP's published runs", _private)
    _add_tables(command, TARGETS, TARGETS, published="folder of draft_dp_runs.csv and the like")
    command.add_argument("--trees", type=int, nargs="+", default=[1, 5, 10, 20, 30])
    command.add_argument("--depth", type=int, nargs="+", default=[3, 5, 7])
    command.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 1, 5, 10, 20, 30])
    command.add_argument("--known", type=int, nargs="+", default=[0], help="numbers of known attributes")
    _add_seeds(command, [0, 1], "the authors': 0 to 4")
    command.add_argument("--size", default="known", choices=["known", "unknown"], help="the number of rows")
    command.add_argument("--rounding", default="noise", choices=["noise", "sum"], help="n + int(Y) or int(n + Y)")
    command.add_argument("--bound", default="yes", choices=["no", "yes"], help="the likeliest dataset and its proof")
    _add_attacks(command, seconds=30.0)


def _add_numeric(studies: _Subparsers) -> None:
    """Add the study of numeric data."""
    command = _study(
        studies, "numeric", "judge forests trained on scikit-learn's toy data, or on any CSV file", _numeric
    )
    command.add_argument("--data", nargs="+", default=list(numeric.TOYS), help="names of toy data, or PATH.csv:LABEL")
    command.add_argument("--rows", type=int, default=100, help="rows drawn at random; 0 for all")
    command.add_argument("--trees", type=int, default=100)
    _add_seeds(command, [0, 1, 2])
    command.add_argument("--budget", type=float, default=60.0, help="seconds for each judgement")
    command.add_argument("--effort", type=float, default=None, help="the most units of work for each search")
    command.add_argument("--threads", type=int, default=2)
    command.add_argument("--forest", default="random", choices=list(numeric.FORESTS))
    command.add_argument(
        "--draft-model", type=float, metavar="SECONDS", help="DRAFT's own row-based model beside it, for so long"
    )


def _add_entropy(studies: _Subparsers) -> None:
    """Add the study of greedy and optimal models."""
    command = _study(studies, "entropy", "what greedy and optimal trees and rule lists give away", _entropy)
    _add_tables(command, ["compas", "adult"], None)
    _add_seeds(command, [0, 1, 2, 3, 4])
    command.add_argument("--depths", type=int, nargs="+", default=list(range(1, 11)))
    command.add_argument("--supports", type=float, nargs="+", default=[0.01, 0.02, 0.03, 0.04, 0.05])
    command.add_argument("--learners", nargs="+", default=list(entropy.LEARNERS[:-1]), choices=list(entropy.LEARNERS))
    command.add_argument("--budget", type=float, default=600.0, help="seconds of each search for an optimal model")
    command.add_argument("--output", type=Path, required=True, help="folder for tables and figures")
    command.add_argument("--published", type=Path, help="folder of the authors' results, to be compared with")
    command.add_argument("--jobs", type=int, default=1, help="searches at a time")


def _add_writings(studies: _Subparsers) -> None:
    """Add the studies of leaks that a verdict may miss."""
    command = _study(
        studies, "invariances", "whether a verdict becomes milder where only the writing changes", _invariances
    )
    tables = [*TABLES, *TARGETS]
    command.add_argument("--tables", nargs="+", default=list(invariances.TABLES), choices=tables, metavar="TABLE")
    command.add_argument("--models", nargs="+", default=list(invariances.JUDGED_MODELS), choices=list(MODELS))
    command.add_argument("--relations", nargs="+", default=list(RELATIONS), choices=list(RELATIONS), metavar="RELATION")
    command.add_argument("--datasets", type=Path, help="folder of compas.csv, adult.csv, ..., where these are named")
    _add_kept(command, "of tables and models", "JSON file for all trials")
    command = _study(studies, "hunt", "judge drawn triples, and what passes by all that could contradict it", _hunt)
    command.add_argument("--triples", type=int, default=300)
    command.add_argument("--numbers", type=int, nargs="+", help="of single triples, in place of the first ones")
    command.add_argument("--seconds", type=float, default=4.0, help="effort of a judgement, in units of about a second")
    _add_kept(command, "of the hunt", "file of JSON lines; what is there is not hunted again")


# Options that several studies have.


def _study(studies: _Subparsers, name: str, text: str, run: _Run) -> _Command:
    """Add a study without options."""
    command = studies.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    command.set_defaults(run=run)
    return command


def _add_tables(
    command: _Command, default: Iterable[str], known: Iterable[str] | None, *, published: str | None = None
) -> None:
    """Add the folder of public tables, which of them are taken, and what was published on them."""
    command.add_argument("--datasets", type=Path, required=True, help="folder of compas.csv, adult.csv, ...: binarized")
    if published is not None:
        command.add_argument("--published", type=Path, required=True, help=published)
    command.add_argument("--names", nargs="+", default=list(default), choices=None if known is None else list(known))


def _add_seeds(command: _Command, default: list[int], text: str = "one run of each") -> None:
    command.add_argument("--seeds", type=int, nargs="+", default=default, help=text)


def _add_bagging(command: _Command, default: list[str]) -> None:
    command.add_argument("--bootstrap", nargs="+", default=default, choices=["no", "yes"])


def _add_attacks(command: _Command, *, seconds: float) -> None:
    """Add the limits of many attacks, several of them at a time."""
    command.add_argument("--seconds", type=float, default=seconds, help="time box of each attack")
    command.add_argument("--jobs", type=int, default=1, help="attacks at a time")
    command.add_argument("--threads", type=int, default=2, help="of each attack")


def _add_instances(command: _Command, default: int, text: str | None = None) -> None:
    """Add how many instances are generated, and from which seed."""
    command.add_argument("--instances", type=int, default=default, help=text)
    command.add_argument("--seed", type=int, default=0)


def _add_kept(command: _Command, seed: str, output: str) -> None:
    """Add what long runs have whose results are kept as they come."""
    command.add_argument("--seed", type=int, default=0, help=seed)
    command.add_argument("--workers", type=int, default=1, help="processes")
    command.add_argument("--output", type=Path, help=output)


# How each study with many options is run.


def _gate(a: argparse.Namespace) -> None:
    parameters = {"n_estimators": a.trees, "max_depth": a.depth}
    gate.run(a.datasets, a.names, a.rows, a.seeds, _flags(a.bootstrap), parameters, a.max_error)


def _verdicts(a: argparse.Namespace) -> int:
    settings = verdicts.settings_of(
        a.tables,
        a.forests,
        a.adversaries.split(","),
        a.seeds,
        a.levels,
        rows=a.rows,
        seconds=a.seconds,
        attack_seed=a.attack_seed,
        bootstrap=a.bootstrap if a.bootstrap is None else a.bootstrap == "yes",
    )
    return verdicts.run(settings, a.datasets, a.output, workers=a.workers, jobs=a.jobs, contradict=a.contradict)


def _side_by_side(a: argparse.Namespace) -> None:
    side_by_side.run(
        a.draft,
        a.draft_python,
        a.datasets,
        a.names,
        a.rows,
        a.seeds,
        _flags(a.bootstrap),
        a.trees,
        a.depth,
        a.seconds,
        a.threads,
    )


def _grid(a: argparse.Namespace) -> None:
    grid.run(
        a.datasets,
        a.published,
        a.names,
        a.trees,
        [depth or None for depth in a.depth],
        a.seeds,
        bootstrap=a.bootstrap == "yes",
        seconds=a.seconds,
        jobs=a.jobs,
        workers=a.threads,
    )


def _informed(a: argparse.Namespace) -> None:
    informed.run(a.datasets, a.published, a.names, a.epsilons, a.seeds, jobs=a.jobs, network=a.reconn)


def _private(a: argparse.Namespace) -> None:
    private.run(
        a.datasets,
        a.published,
        private.settings_of(a.names, a.trees, a.depth, a.epsilons, a.known),
        a.seeds,
        size_known=a.size == "known",
        rounding=a.rounding,
        prove=a.bound == "yes",
        seconds=a.seconds,
        jobs=a.jobs,
        workers=a.threads,
    )


def _numeric(a: argparse.Namespace) -> None:
    setting = numeric.Setting(a.forest, a.trees, a.rows, a.budget, a.threads, a.draft_model, a.effort)
    numeric.run(a.data, a.seeds, setting)


def _entropy(a: argparse.Namespace) -> None:
    entropy.run(
        a.datasets,
        a.names,
        a.seeds,
        a.depths,
        a.supports,
        a.budget,
        a.output,
        learners=a.learners,
        published=a.published,
        jobs=a.jobs,
    )


def _fuzz(a: argparse.Namespace) -> int:
    if a.number is not None:
        return fuzz.replay(a.targets[0], a.seed, a.number, a.write)
    return fuzz.run(a.mutants, a.seed, first=a.first, names=a.targets, regressions=a.regressions)


def _invariances(a: argparse.Namespace) -> int:
    return invariances.run(
        a.tables, a.models, a.relations, seed=a.seed, datasets=a.datasets, workers=a.workers, output=a.output
    )


def _hunt(a: argparse.Namespace) -> int:
    return hunt.run(a.triples, a.seed, a.seconds, workers=a.workers, output=a.output, numbers=a.numbers)


def _flags(choices: Sequence[str]) -> list[bool]:
    return [choice == "yes" for choice in choices]


if __name__ == "__main__":
    sys.exit(main())
