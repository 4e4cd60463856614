"""Levels of hardening: parses a level's text into a frozen `Level`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering

from pytest_draft.errors import UsageError, one_line

MOST_DECIMALS = 6
DEFAULT = "counts"
_NAMES = ("none", "seeds", "counts", "decimals", "labels")


@total_ordering
@dataclass(frozen=True)
class Level:
    """How much is taken out of a model; each level includes those before it."""

    name: str
    """One of "none", "seeds", "counts", "decimals", "labels"."""
    decimals: int | None = None
    """Of leaf fractions, for ``decimals`` alone."""

    def __str__(self) -> str:
        return self.name if self.decimals is None else f"{self.name}:{self.decimals}"

    def __lt__(self, other: Level) -> bool:
        return _NAMES.index(self.name) < _NAMES.index(other.name)


NONE, SEEDS, COUNTS, LABELS = Level("none"), Level("seeds"), Level("counts"), Level("labels")


def level_of(text: str | Level) -> Level:
    """Return the level that is meant.

    Raises
    ------
    UsageError
        Where it is none of these.
    """
    if isinstance(text, Level):
        return text
    if text in ("none", "seeds", "counts", "labels"):
        return Level(text)
    match = re.fullmatch(r"decimals:(\d{1,3})", str(text))
    if match and 1 <= int(match[1]) <= MOST_DECIMALS:
        return Level("decimals", int(match[1]))
    raise UsageError(
        f"level {one_line(text, 60)!r} is not known: give none, seeds, counts, labels, or decimals:N with N from 1 to "
        f"{MOST_DECIMALS}"
    )
