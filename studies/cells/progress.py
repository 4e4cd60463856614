"""How a study gets on: in goes where it stands, out comes a bar with an estimate, or a plain line at times."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO, TypeAlias

from pytest_draft.errors import one_line

PLAIN_SECONDS = 30.0
"""The shortest time between two plain lines."""

_WIPE = "\r\x1b[K"
_BAR = 24  # characters
_MINUTE, _HOUR = 60, 3600


@dataclass(frozen=True)
class Stand:
    """Where a study stands."""

    study: str
    total: int
    """Cells."""
    kept: int
    """That stood in the store already."""
    done: int = 0
    failed: int = 0
    """`done` and `failed`: that were computed in this run, and that could not be."""
    elapsed: float = 0.0
    """Seconds of this run."""
    news: str = ""
    """A line that is to stay; empty where there is none."""

    @property
    def left(self) -> int:
        """Cells that have not ended."""
        return self.total - self.kept - self.done - self.failed

    @property
    def estimate(self) -> float | None:
        """Seconds that are left, if all cells take as long as those of this run; None before the first."""
        ended = self.done + self.failed
        return self.elapsed / ended * self.left if ended else None

    def __str__(self) -> str:
        parts = [f"{self.study}: {self.kept + self.done} of {self.total} cells"]
        if self.kept:
            parts.append(f"{self.kept} kept from before")
        if self.failed:
            parts.append(f"{self.failed} failed")
        parts.append(_in_words(self.elapsed))
        if self.left and self.estimate is not None:
            parts.append(f"about {_in_words(self.estimate)} left")
        return ", ".join(parts)


Tell: TypeAlias = Callable[[Stand], None]


class Shown:
    """A bar that is rewritten in place on a terminal, else a line now and then; news always have a line.

    Parameters
    ----------
    stream : text file
        Standard error.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._since = time.monotonic()
        self._written = False

    def __call__(self, stand: Stand) -> None:
        """Show where a study stands."""
        if stand.news:
            self.close()
            self._stream.write(f"{one_line(stand.news, 500)}\n")
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            ended = (stand.total - stand.left) * _BAR // max(stand.total, 1)
            self._stream.write((_WIPE + f"[{'#' * ended:<{_BAR}}] {stand}")[: width + len(_WIPE)])
            self._written = True
        elif stand.total and time.monotonic() - self._since >= PLAIN_SECONDS:
            self._since = time.monotonic()
            self._stream.write(f"{stand}\n")
        self._stream.flush()

    def close(self) -> None:
        """Wipe the bar."""
        if self._written:
            self._stream.write(_WIPE)
            self._stream.flush()
            self._written = False


def _in_words(seconds: float) -> str:
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"
