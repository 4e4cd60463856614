"""Do rows split where a forest splits? Returns the thresholds that the given rows cannot have produced.

Counts are the same for all values between two thresholds, so rows of which some values were changed explain them too.
Thresholds say more: one of a best split lies midway between two values of its node's rows, and of a random split the
least and the greatest value can be known. Rows that trained the forest explain all of them to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.attack.descent import Passing, descend
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.attack.numeric.states import has_best_splits, midpoints_of
from pytest_draft.timebox import TimeBox

ROUNDED = 1e-4
"""Share of a column's range that a value which was only rounded, or computed in another precision, is off at most."""


@dataclass(frozen=True)
class Missed:
    """How many thresholds rows do not explain."""

    checked: int
    """Thresholds that could be held against the rows."""
    inexact: int
    """Of these, those that are not explained to the last bit."""
    wrong: int
    """Of these, those that are off by more than `ROUNDED`."""


def missed_splits(
    forest: Forest, everyone: KnownRows, extremes: Extremes | None, timebox: TimeBox | None = None
) -> Missed:
    """Hold the thresholds of a forest against rows.

    Parameters
    ----------
    everyone : KnownRows
        All rows, with exact occurrences.
    extremes : Extremes or None
        Of a forest with random splits; without them nothing is checked there.
    timebox : TimeBox or None
        Looked at before each tree.

    Raises
    ------
    OutOfTimeError
    """
    columns = np.ascontiguousarray(everyone.rows.T.astype(np.float64))
    size = np.nan_to_num(np.fmax.reduce(columns, axis=1) - np.fmin.reduce(columns, axis=1))
    best, is_midpoint = has_best_splits(forest), midpoints_of(forest)
    off = []
    for t, tree in enumerate(forest.trees):
        if timebox is not None:
            timebox.require()
        left, right = _extremes_of(tree, columns[:, everyone.weight[t] > 0])
        if best:
            apart = np.abs(tree.threshold - (left[1] / 2 + right[0] / 2))
            apart[tree.threshold == left[1]] = 0.0  # where the midpoint would round to the greater value
        elif extremes is not None:
            low, high = np.fmin(left[0], right[0]), np.fmax(left[1], right[1])
            apart = np.fmax(np.abs(extremes.low[t] - low), np.abs(extremes.high[t] - high))
        else:
            continue
        inner = is_midpoint[t] if best else tree.left >= 0
        off.append(np.stack([apart[inner], size[tree.feature[inner]]]))
    apart, size = np.concatenate(off, axis=1) if off else np.empty((2, 0))
    checked = np.isfinite(apart)
    apart, size = apart[checked], size[checked]
    return Missed(len(apart), int((apart > 0).sum()), int((apart > ROUNDED * size).sum()))


def _extremes_of(tree: Tree, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest value of each node's tested column, on its left and on its right.

    Parameters
    ----------
    columns : ndarray of float64, shape (n_columns, n_rows)

    Returns
    -------
    left, right : ndarray of float64, shape (2, n_nodes)
        NaN where there is no present value.
    """
    found = np.full((2, 2, tree.n_nodes), np.nan)

    def watch(level: Passing) -> None:
        for side, which in enumerate((level.left, ~level.left)):
            np.fmin.at(found[side, 0], level.node[which], level.value[which])
            np.fmax.at(found[side, 1], level.node[which], level.value[which])

    descend(tree, columns, watch)
    return found[0], found[1]
