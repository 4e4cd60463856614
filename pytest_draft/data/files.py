"""Reads the owner's files whole, or fails with one line that quotes nothing of them.

What pandas, pyarrow and NumPy say of a file that they cannot parse may quote the file, so it is never passed on,
and the new error is raised outside the ``except`` block: ``from None`` alone would leave the old one in
``__context__``. pytest prints arguments and locals in tracebacks, so it is asked to leave out these modules' frames.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from typing import TypeVar

from pytest_draft.bounded import opened
from pytest_draft.data.bounds import require_size
from pytest_draft.errors import DataError, no_file, one_line

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too

T = TypeVar("T")

IN_MEMORY = "given in memory"
"""The source of data that were not read from a file."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
"""The text form of a number."""


def place_of(source: str) -> str:
    """Return how messages name a source."""
    return "training data given in memory" if source == IN_MEMORY else one_line(source)


def content(source: str) -> bytes:
    """Return all bytes of a regular file, opened once and never blocking on a FIFO."""
    where = one_line(source)
    try:
        with os.fdopen(opened(source), "rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode):
                require_size(status.st_size, where)
                return file.read()
            problem = "not a regular file"
    except FileNotFoundError:
        problem = no_file(source)
    except IsADirectoryError:
        problem = "not a regular file"
    except ValueError:
        problem = "not a path"
    except OSError as error:
        problem = f"cannot be read ({os.strerror(error.errno or 0)})"
    raise DataError(f"{where}: {problem}")


def parsed(parse: Callable[[], T], where: str, problem_of: Callable[[Exception], str]) -> T:
    """Return what `parse` does; in place of any exception but our own raise one that quotes and chains nothing."""
    try:
        return parse()
    except DataError:
        raise
    except Exception as error:
        # Whatever it is, it may quote the data.
        problem = problem_of(error)
    raise DataError(f"{where}: {problem}")
