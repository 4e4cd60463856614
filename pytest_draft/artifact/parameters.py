"""Parameters that a model was trained with, in tables: which are known, what each must be, and what it means else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Fits = Callable[[Any], bool]


@dataclass(frozen=True)
class Parameters:
    """What is known of a library's parameters."""

    harmless: Collection[str]
    """Names of those that change which trees are grown and not what they say, or are looked at elsewhere."""
    needed: Mapping[str, tuple[Fits, str]]
    """Of each other name at which values it changes nothing, and what another value means."""

    @property
    def names(self) -> frozenset[str]:
        """All that are known."""
        return frozenset(self.harmless) | self.needed.keys()

    def strange(self, given: Mapping[str, Any]) -> Iterator[tuple[str, Any, str | None]]:
        """Yield each parameter that may change what trees say: its name, its value and what that means, if known."""
        for name, value in given.items():
            if name in self.needed:
                fits, meaning = self.needed[name]
                if not fits(value):
                    yield name, value, meaning
            elif name not in self.harmless:
                yield name, value, None


def is_number(wanted: float) -> Fits:
    """Return what tells whether a text is a number."""

    def fits(value: str) -> bool:
        try:
            return float(value) == wanted
        except ValueError:
            return False

    return fits


def among(*wanted: object) -> Fits:
    """Return what tells whether a value is one of some."""
    return lambda value: value in wanted
