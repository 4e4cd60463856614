"""The commands beside the gate: ``python -m pytest_draft COMMAND ...`` runs one and returns its exit code.

Each command is a module with ``add_arguments(parser)`` and ``run(arguments) -> int``, whose import is light: what it
works with is imported when it runs. 0: done; 1: refused, with one line that says why; 2: wrong usage; 130: stopped by
Ctrl-C.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
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


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; what it parses has the chosen module as ``command``."""
    found = HarmlessParser(
        prog="python -m pytest_draft",
        description="Commands beside the gate, which is pytest itself: pytest --draft-forest model.joblib ...",
    )
    chosen = found.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        line = (module.__doc__ or "").partition("\n")[0]
        one = chosen.add_parser(name, help=line, description=line)
        module.add_arguments(one)
        one.set_defaults(command=module)
    return found


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
    given = parser().parse_args(arguments)
    try:
        code: int = given.command.run(given)
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


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupt)  # what was written halfway is removed
    sys.exit(main())
