"""The command line of the studies: in go a study's name and folders, out comes a table on standard output."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_draft.studies import gate, startup


def main() -> None:
    """Run one study."""
    parser = argparse.ArgumentParser(prog="python -m pytest_draft.studies", description=__doc__)
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
    command = studies.add_parser("startup", help="what the unused plugin costs a pytest run")
    command.add_argument("--pairs", type=int, default=20)
    arguments = parser.parse_args()
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
    else:
        startup.run(arguments.pairs)


if __name__ == "__main__":
    main()
