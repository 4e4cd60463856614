"""What thresholds that were chosen among the values of all rows tell when all other rows are known (`Forest.gaps`).

A split's threshold of most boosted trees lies in a gap between two neighbouring values of the whole column: midway, or
next to one of them. Whoever knows all other rows sees a gap that they do not explain, and so the value of a row that
alone has one of its ends. Where it is not known where in the gap a threshold lies, both ends are taken to be told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.best_splits import float32_at_most, off_middle
from pytest_draft.attack.informed.splits import tested_ordered
from pytest_draft.domain import Domain

_ROUNDING = 2.0**-22
"""A midpoint in single precision is off by so much at most, relative to the larger value."""


@dataclass(frozen=True, eq=False, repr=False)
class Gaps:
    """The gaps of one column that hold thresholds. Its repr shows no value."""

    low: FloatArray
    high: FloatArray
    """`low` and `high`, shape (n_gaps,), ascending: the values next to each gap."""
    told: FloatArray
    """Ascending. Those of them that thresholds tell to whoever knows all others, as one row alone has them."""

    def __repr__(self) -> str:
        return f"Gaps({len(self.low)})"

    def leave(self, lower: FloatArray, upper: FloatArray) -> None:
        """Narrow bounds of values, in place: no value lies in a gap."""
        for bound, end in ((lower, self.high), (upper, self.low)):
            place = np.searchsorted(self.low, bound, side="right") - 1
            inside = (place >= 0) & (self.low[place] < bound) & (bound < self.high[place])
            bound[inside] = end[place[inside]]


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
        rounding = _ROUNDING * np.maximum(np.abs(low), np.abs(high))
        open_ended = (off_middle(low, high, threshold) <= rounding) | (at_low == at_high)
        told = np.concatenate([low[at_low | open_ended], high[at_high | open_ended]])
        once = values[times == 1]
        yield column, Gaps(np.unique(low), np.unique(high), np.intersect1d(told, once))


def beside_gaps(forest: Forest, domain: Domain, rows: Rows, asked: IntArray) -> BoolArray:
    """Return which values thresholds tell to whoever knows all others, shape (n_asked, n_columns).

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
        All training rows.
    asked : ndarray of int64, shape (n_asked,)
        Positions of those that are asked about.
    """
    found = np.zeros((len(asked), rows.shape[1]), dtype=np.bool_)
    for column, gaps in gaps_of(forest, domain, rows):
        found[:, column] = np.isin(rows[asked, column].astype(np.float64), gaps.told)
    return found


def ends_of_gaps(forest: Forest, domain: Domain, rows: Rows) -> BoolArray:
    """Return which values lie at a gap, whether or not one row alone has them; shape (n_rows, n_columns)."""
    found = np.zeros(rows.shape, dtype=np.bool_)
    for column, gaps in gaps_of(forest, domain, rows):
        found[:, column] = np.isin(rows[:, column].astype(np.float64), np.concatenate([gaps.low, gaps.high]))
    return found


def _next_above(threshold: FloatArray) -> FloatArray:
    """Return the least value in single precision that goes right of each threshold."""
    return np.nextafter(float32_at_most(threshold).astype(np.float32), np.float32(np.inf)).astype(np.float64)
