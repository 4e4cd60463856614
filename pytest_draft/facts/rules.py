"""Conjunctions of tests on columns: the conditions of a rule list, and of a policy's slices.

In goes a test as people write it, out come `Literal` objects. NumPy is imported where rows are tested: who reads a
policy has none.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_draft.errors import CorruptArtifactError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    BoolArray = NDArray[np.bool_]

Interval = tuple[float, float]
"""What a value is between, as ``low < value <= high``."""

_EITHER = (("above", "at_least"), ("below", "at_most"))


@dataclass(frozen=True)
class Literal:
    """A test of one column: whether ``low < value <= high``, or, negated, whether not."""

    column: int
    """Position in `RuleList.columns`."""
    low: float
    high: float
    """`low` and `high`: may be infinite; `low` is below `high`."""
    negated: bool = False
    """Whether the value must lie outside."""

    def __post_init__(self) -> None:
        if self.column < 0 or not self.low < self.high:
            raise CorruptArtifactError(f"a test of column {self.column} for values from {self.low} to {self.high}")

    def holds(self, values: NDArray[np.floating]) -> BoolArray:
        """Return whether it holds for values of its column, shape (n,)."""
        exact = values.astype(float)  # NumPy would round the bounds to the precision of the values
        inside: BoolArray = (self.low < exact) & (exact <= self.high)
        return ~inside if self.negated else inside


@dataclass(frozen=True)
class ListedRule:
    """A conjunction of tests and what follows; without a test, the default."""

    literals: tuple[Literal, ...]
    """All of them must hold."""
    prediction: object
    """A class, as a plain Python value."""
    counts: tuple[int, ...] | None = None
    """Training rows of each class that it captured; None where the file does not say."""

    def holds(self, rows: NDArray[np.floating]) -> BoolArray:
        """Return for which rows all its tests hold, shape (n_rows,)."""
        import numpy as np

        result = np.ones(len(rows), dtype=bool)
        for literal in self.literals:
            result &= literal.holds(rows[:, literal.column])
        return result


def between(low: float, high: float) -> Interval:
    """Return bounds of a test for values from `low` to `high`, both included."""
    return math.nextafter(low, -math.inf), high


def literals(position: int, test: Any) -> tuple[Literal, ...]:
    """Return what a test of one column asks for.

    Parameters
    ----------
    position : int
        Of the column, from then on.
    test : number, bool or mapping
        In the form of the schema's ``test``.

    Raises
    ------
    ValueError
        In one line, where it can never hold, or is ambiguous.
    """
    inside, outside = _bounds(test), []
    if isinstance(test, Mapping) and "not" in test:
        given = test["not"]
        outside = [_bounds(one) for one in (given if isinstance(given, Sequence) else [given])]
    _require_possible(inside, outside)
    bounds = [] if inside == (-math.inf, math.inf) else [Literal(position, *inside)]
    return (*bounds, *(Literal(position, low, high, negated=True) for low, high in outside))


def _bounds(test: Any) -> Interval:
    """Return what a test's value or bounds hold, as ``low < value <= high``."""
    if not isinstance(test, Mapping):
        value = _single(test)
        return between(value, value)
    for one, other in _EITHER:
        if one in test and other in test:
            raise ValueError(f"has both {one} and {other}: give one of them")
    low, high = -math.inf, math.inf
    if "above" in test:
        low = _single(test["above"])
    if "at_least" in test:
        low = math.nextafter(_single(test["at_least"]), -math.inf)
    if "below" in test:
        high = math.nextafter(_single(test["below"]), -math.inf)
    if "at_most" in test:
        high = _single(test["at_most"])
    if not low < high:
        raise ValueError("can never hold: no number is between its bounds")
    return low, high


def _single(value: float) -> float:
    """Return a number in single precision."""
    try:
        (single,) = struct.unpack("<f", struct.pack("<f", float(value)))  # not "f": a native one would be infinite
    except OverflowError:
        raise ValueError("a number is too large for single precision, in which values are compared") from None
    return float(single)


def _require_possible(inside: Interval, outside: Sequence[Interval]) -> None:
    """Refuse bounds of which nothing is left."""
    reached, end = inside
    for low, high in sorted(outside):
        if low > reached:
            break
        reached = max(reached, high)
    if reached >= end:
        raise ValueError("can never hold: what is left out is all that its bounds hold")
