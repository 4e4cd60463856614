"""Do rows split where a forest splits? Counts the thresholds that the given rows cannot have produced.

The counts in leaves stay the same if a value moves between two thresholds, so they do not show that rows were changed.
Thresholds say more. That of a best split lies midway between two values of its node's rows; for a random split, the
node's least and greatest value can be known. The rows that trained the forest explain all of them to the last bit.
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
"""Values that were only rounded, or computed in another precision, are off by at most this share of their range."""


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
    ranges = np.nan_to_num(np.fmax.reduce(columns, axis=1).astype(np.float64) - np.fmin.reduce(columns, axis=1))
    missed = np.zeros(3, dtype=np.int64)
    for t, tree in enumerate(forest.trees):
        if timebox is not None:
            timebox.require()
        alone, its_extremes = of_tree(forest, t, extremes)
        splits = all_splits(alone, columns, times[t : t + 1], its_extremes)
        distance = missed_by(splits, sent_through(tree, splits).top)  # not finite at nodes that say nothing
        checked = np.isfinite(distance)
        distance, column_range = distance[checked], ranges[splits.feature[checked]]
        missed += len(distance), (distance > 0).sum(), (distance > ROUNDED * column_range).sum()
    return Missed(*missed.tolist())
