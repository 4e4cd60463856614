"""Do rows split where a forest splits? Returns the thresholds that the given rows cannot have produced.

Counts are the same for all values between two thresholds, so rows of which some values were changed explain them too.
Thresholds say more: one of a best split lies midway between two values of its node's rows, and of a random split the
least and the greatest value can be known. Rows that trained the forest explain all of them to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.informed.splits import all_splits, missed_by, of_tree, sent_through
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.timebox import TimeBox

ROUNDED = 1e-4
"""Share of a column's range that a value which was only rounded, or computed in another precision, is off at most."""


@dataclass(frozen=True)
class Missed:
    """How many thresholds rows do not explain."""

    checked: int
    """Thresholds that could be held against the rows."""
    inexact: int
    """Thresholds that are not explained to the last bit."""
    wrong: int
    """Thresholds that are off by more than `ROUNDED`."""


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
    if timebox is not None:
        timebox.require()
    columns, times = np.ascontiguousarray(everyone.rows.T), np.ascontiguousarray(everyone.weight)
    size = np.nan_to_num(np.fmax.reduce(columns, axis=1).astype(np.float64) - np.fmin.reduce(columns, axis=1))
    missed = np.zeros(3, dtype=np.int64)
    for t, tree in enumerate(forest.trees):
        if timebox is not None:
            timebox.require()
        one, beside = of_tree(forest, t, extremes)
        splits = all_splits(one, columns, times[t : t + 1], beside)
        apart = missed_by(splits, sent_through(tree, splits).top)
        checked = np.isfinite(apart)
        apart, of_column = apart[checked], size[splits.feature[checked]]
        missed += len(apart), (apart > 0).sum(), (apart > ROUNDED * of_column).sum()
    return Missed(*missed.tolist())
