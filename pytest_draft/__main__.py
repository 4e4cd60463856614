"""The commands: ``pytest-draft COMMAND ...``, or ``python -m pytest_draft COMMAND ...``, runs one.

Each command beside the gate is a module with ``add_arguments(parser)`` and ``run(arguments) -> int``, whose import is
light: what it works with is imported when it runs. 0: done; 1: refused, with one line that says why; 2: wrong usage;
130: stopped by Ctrl-C. The gate itself, ``judge``, is pytest with options, and ends as pytest does.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType, ModuleType

from pytest_draft.advice import command as advise
from pytest_draft.bounded import what_failed
from pytest_draft.errors import DraftError, UsageError, one_line
from pytest_draft.foreign_text import HarmlessParser
from pytest_draft.hardening import command as harden

COMMANDS: dict[str, ModuleType] = {
    "advise": advise,
    "harden": harden,
}
"""By name; the first line of each module's docstring is its line of help."""


_JUDGE = "Judge a model file, as pytest --draft-forest does."
_OF_JUDGE = (
    ("data", "PATH", "all rows that the model was trained on (CSV, Parquet, npz)"),
    ("target", "NAME", "name of the label column"),
    ("domain", "PATH", "TOML file that declares each column's domain"),
    ("holdout", "PATH", "rows of the same population that were not trained on"),
    ("policy", "PATH", "TOML file, or the name of a shipped policy (default: default)"),
    ("budget", "SECONDS", "most seconds for each judgement, all included (default: 60)"),
    ("seed", "SEED", "seed of every random choice (default: 0)"),
)
"""Options of ``judge``, each that of pytest with ``--draft-`` before its name."""
_REPEATABLE_OF_JUDGE = (
    ("adversary", "NAME", "what the attacker knows; repeatable"),
    ("report", "TYPE[:PATH]", "write a report (json, markdown, html, ... as of --draft-report); repeatable"),
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; what it parses has what runs it as ``run``."""
    script = Path(sys.argv[0]).stem == "pytest-draft"
    found = HarmlessParser(
        prog="pytest-draft" if script else "python -m pytest_draft",
        description="How much of its training data a tree ensemble's file gives away.",
    )
    found.add_argument("--version", action="version", version=f"pytest-draft {_version()}")
    found.set_defaults(run=None)
    chosen = found.add_subparsers(title="commands", metavar="COMMAND")
    judge = chosen.add_parser("judge", help=_JUDGE, description=_JUDGE)
    judge.add_argument("model", metavar="MODEL", help="file to judge; it is read, and never loaded")
    for name, metavar, text in _OF_JUDGE:
        judge.add_argument(f"--{name}", metavar=metavar, help=text)
    for name, metavar, text in _REPEATABLE_OF_JUDGE:
        judge.add_argument(f"--{name}", action="append", default=[], metavar=metavar, help=text)
    judge.set_defaults(run=_judge)
    for name, module in COMMANDS.items():
        line = (module.__doc__ or "").partition("\n")[0]
        one = chosen.add_parser(name, help=line, description=line)
        module.add_arguments(one)
        one.set_defaults(run=module.run)
    return found


def _judge(given: argparse.Namespace) -> int:
    """Run pytest on one model file, and on nothing else."""
    import pytest

    named = [(name, value) for name, *_ in _OF_JUDGE if (value := getattr(given, name)) is not None]
    named += [(name, value) for name, *_ in _REPEATABLE_OF_JUDGE for value in getattr(given, name)]
    options = [f"--draft-{name}={value}" for name, value in named]
    return int(pytest.main(["--draft-only", f"--draft-forest={given.model}", *options]))


def _version() -> str:
    try:
        return version("pytest-draft")
    except PackageNotFoundError:  # run from its folder
        return "(version unknown)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        In place of those of the process.

    Returns
    -------
    int
        The exit code.
    """
    whole = parser()
    given = whole.parse_args(arguments)
    if given.run is None:
        whole.print_help()
        return 2
    try:
        code: int = given.run(given)
    except DraftError as error:
        print(f"pytest_draft: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        print("pytest_draft: stopped", file=sys.stderr)
        return 130
    except OSError as error:
        where = one_line(error.filename) if error.filename else "a file"
        print(f"pytest_draft: {where}: {what_failed(error)}: nothing more was written", file=sys.stderr)
        return 1
    return code


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def script() -> int:
    """Run one command as a process of its own."""
    signal.signal(signal.SIGTERM, _interrupt)  # what was written halfway is removed
    return main()


if __name__ == "__main__":
    sys.exit(script())
