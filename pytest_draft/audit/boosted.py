"""Boosted trees as their audit takes them: with numbers of rows, by the file or by the training data."""

from __future__ import annotations

from contextlib import suppress

from pytest_draft.ambiguity.counted import counted_by
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import BoostedSums
from pytest_draft.attack.boosted.counted import row_numbers
from pytest_draft.data import TrainingData
from pytest_draft.errors import OutOfTimeError
from pytest_draft.timebox import TimeBox


def with_numbers(forest: Forest, data: TrainingData | None, timebox: TimeBox) -> Forest:
    """Return a forest whose leaves say how many rows they hold; any but boosted trees as it is.

    Parameters
    ----------
    data : TrainingData or None
        Where they explain the sums in the file, these leave no other numbers at their leaves.
    timebox : TimeBox
        Where it ends before that is known, the numbers are those in the file.

    Raises
    ------
    NotCoveredError
        Where neither the file nor the data tell.
    """
    if not isinstance(forest.observation, BoostedSums):
        return forest
    counted = None
    with suppress(OutOfTimeError):
        counted = None if data is None else counted_by(forest, data.rows, data.labels, timebox)
    return row_numbers(forest) if counted is None else counted
