"""What thresholds that were chosen among the values of all rows tell when all other rows are known (`Forest.gaps`).

A split's threshold of most boosted trees lies in a gap between two neighbouring values of the whole column: midway, or
next to one of them. Whoever knows all other rows sees a gap that they do not explain, and so the value of a row that
alone has one of its ends. Where it is not known where in the gap a threshold lies, both ends are taken to be told.
A threshold of a hardened file is the shortest decimal in its gap, which leaves the end some room.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.best_splits import float32_at_most, off_middle
from pytest_draft.attack.informed.splits import ROUNDING, tested_ordered
from pytest_draft.decimals import shortest_decimal
from pytest_draft.domain import Domain

_STEPS = 30
"""Halvings, after which it is known to within 10^-9 how far an end can move."""


@dataclass(frozen=True, eq=False, repr=False)
class Gaps:
    """The gaps of one column that hold thresholds. Its repr shows no value."""

    low: FloatArray
    high: FloatArray
    """`low` and `high`, shape (n_gaps,), ascending: the values next to each gap."""
    told: FloatArray
    """Ascending. Those of them that thresholds tell to whoever knows all others, as one row alone has them."""
    room: dict[float, tuple[float, float]]
    """Between which values thresholds tell others to lie that one row alone has."""

    def leave(self, values: FloatArray, lower: FloatArray, upper: FloatArray) -> BoolArray:
        """Narrow the bounds of rows with some values, in place: none lies in a gap, those at one as far as they can.

        Returns
        -------
        ndarray of bool, shape (n_rows,)
            Without which of the values a threshold would not be what it is.
        """
        for row, value in enumerate(values.tolist()):
            least, most = self.room.get(value, (-np.inf, np.inf))
            lower[row], upper[row] = max(lower[row], least), min(upper[row], most)
        for bound, end in ((lower, self.high), (upper, self.low)):
            place = np.searchsorted(self.low, bound, side="right") - 1
            inside = (place >= 0) & (self.low[place] < bound) & (bound < self.high[place])
            bound[inside] = end[place[inside]]
        told = np.isin(values, self.told)
        lower[told] = upper[told] = values[told]
        return told | np.isin(values, list(self.room))


def gaps_of(forest: Forest, domain: Domain, rows: Rows) -> Iterator[tuple[int, Gaps]]:
    """Yield the gaps of each ordered column.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
        All training rows.
    """
    ordered = set(domain.columns_of(tested_ordered(forest, domain))) if forest.gaps else set()
    for column, thresholds in forest.gaps:
        if column not in ordered:
            continue
        present = rows[~np.isnan(rows[:, column]), column].astype(np.float64)
        values, times = np.unique(present, return_counts=True)
        above = np.searchsorted(values, thresholds, side="right")
        inside = (above > 0) & (above < len(values))
        if not inside.any():
            continue
        above, threshold = above[inside], thresholds[inside]
        low, high = values[above - 1], values[above]
        at_low, at_high = threshold == low, _next_above(threshold) == high
        midway = off_middle(low, high, threshold) <= ROUNDING * np.maximum(np.abs(low), np.abs(high))
        pairs = zip(low.tolist(), high.tolist(), threshold.tolist(), strict=True)
        moved = forest.moved & ~midway & np.array([is_shortest(*pair) for pair in pairs])
        open_ended = (midway | (at_low == at_high)) & ~moved
        told = np.concatenate([low[at_low | open_ended], high[at_high | open_ended]])
        room, once = dict[float, tuple[float, float]](), set(values[times == 1].tolist())
        beside = np.concatenate([[-np.inf], values, [np.inf]])  # a gap's next lower value is at `above` less 1
        edge = domain.reach[column] * (1, -1)
        for at, decimal in zip(above[moved].tolist(), threshold[moved].tolist(), strict=True):
            lower, left, right, higher = beside[at - 1 : at + 3].tolist()
            for end, other, beyond, limit in ((left, right, lower, edge[1]), (right, left, higher, edge[0])):
                found = _room_of(end, other, beyond, limit, decimal) if end in once else None
                if found is not None:
                    least, most = room.get(end, found)
                    room[end] = max(least, found[0]), min(most, found[1])
        yield column, Gaps(np.unique(low), np.unique(high), np.intersect1d(told, list(once)), room)


def is_shortest(one: float, other: float, threshold: float) -> bool:
    """Return whether a threshold is the shortest decimal between two values, if only in single precision as in ONNX."""
    decimal = shortest_decimal(min(one, other), max(one, other))
    return decimal == threshold or bool(float32_at_most(np.array(decimal)) == threshold)


def _room_of(end: float, other: float, beyond: float, limit: float, threshold: float) -> tuple[float, float] | None:
    """Return between which values one end of a gap can lie so that its shortest decimal stays; None for anywhere.

    Parameters
    ----------
    other : float
        The other end.
    beyond : float
        The next value outside, to which the gap would reach without the end; infinite where there is none.
    limit : float
        The domain's bound on that side.
    """
    outside = beyond if np.isfinite(beyond) else limit
    if np.isfinite(beyond) and is_shortest(beyond, other, threshold):  # the others explain it
        return None
    inside = end
    if outside != end and is_shortest(outside, other, threshold):
        inside = outside
    for _ in range(_STEPS):
        between = (inside + outside) / 2
        inside, outside = (between, outside) if is_shortest(between, other, threshold) else (inside, between)
    return min(end, inside), max(end, inside)


def ends_of_gaps(forest: Forest, domain: Domain, rows: Rows) -> BoolArray:
    """Return which values lie at a gap, whether or not one row alone has them; shape (n_rows, n_columns)."""
    found = np.zeros(rows.shape, dtype=np.bool_)
    for column, gaps in gaps_of(forest, domain, rows):
        found[:, column] = np.isin(rows[:, column].astype(np.float64), np.concatenate([gaps.low, gaps.high]))
    return found


def _next_above(threshold: FloatArray) -> FloatArray:
    """Return the least value in single precision that goes right of each threshold."""
    return np.nextafter(float32_at_most(threshold).astype(np.float32), np.float32(np.inf)).astype(np.float64)
