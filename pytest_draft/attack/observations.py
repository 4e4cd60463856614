"""The counts that a forest publishes by leaf, less those of rows that the adversary knows."""

from __future__ import annotations

import numpy as np

from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import BoostedSums
from pytest_draft.attack.boosted.staged import missed
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.groups import Groups, KnownRows
from pytest_draft.errors import InfeasibleError
from pytest_draft.timebox import TimeBox

Observations = tuple[tuple[IntArray, ...], tuple[IntArray, ...] | None, tuple[IntArray, ...] | None]
"""What `Problem` has as `counts`, `distinct` and `known`."""

_UNITS_PER_VISIT = 1e-6
"""Measured: of counting one row in one tree's leaves."""

_SOON = 1.0
"""Units of work that are done even where the time is out."""


def observations(forest: Forest, groups: Groups) -> Observations:
    """Return what a forest publishes of the rows, leaf by leaf, and the known rows there.

    Raises
    ------
    InfeasibleError
        Where the known rows alone exceed what was observed.
    ValueError
        Where nobody knows the draws: then no count says how often a row is in a leaf.
    """
    if not groups.draws_known:
        raise ValueError("counts of unknown draws are no equations")
    counts = tuple(forest.counts(t)[tree.leaves] for t, tree in enumerate(forest.trees))
    distinct = forest.distinct
    if groups.known is None:
        return counts, distinct, None
    known = _known_at_leaves(forest, groups.known)
    counts, distinct = _without(forest, groups.known)
    if any((left < 0).any() for left in (*counts, *(distinct or ()))):
        raise InfeasibleError
    return counts, distinct, known


def _known_at_leaves(forest: Forest, known: KnownRows) -> tuple[IntArray, ...]:
    """Return how many known rows of each class lie at each leaf of each tree."""
    once = np.ones(len(known.rows), dtype=np.int64)
    return tuple(known.at_leaves(tree, once, forest.n_classes) for tree in forest.trees)


def _without(
    forest: Forest, known: KnownRows, timebox: TimeBox | None = None
) -> tuple[tuple[IntArray, ...], tuple[IntArray, ...] | None]:
    """Return counts and distinct rows of all leaves after those of rows with exact occurrences are taken off."""
    counts, distinct, stored = [], [], forest.distinct
    columns = np.ascontiguousarray(known.rows.T)
    labels = known.labels if forest.n_classes > 1 else np.zeros_like(known.labels)
    is_long = _UNITS_PER_VISIT * forest.n_trees * len(known.rows) > _SOON
    for t, tree in enumerate(forest.trees):
        if timebox is not None and is_long:
            timebox.require()
        leaf, times = leaf_positions(tree, columns), known.weight[t]
        left = forest.counts(t)[tree.leaves]
        np.subtract.at(left, (leaf, labels), times)
        counts.append(left)
        if stored is not None:
            distinct.append(stored[t] - np.bincount(leaf[times > 0], minlength=len(tree.leaves)))
    return tuple(counts), None if stored is None else tuple(distinct)


def unexplained(forest: Forest, everyone: KnownRows, timebox: TimeBox | None = None) -> int:
    """Return by how much rows with exact occurrences miss the counts, and the distinct rows, of all leaves.

    Of boosted trees, how many sums and counts they miss.

    Raises
    ------
    OutOfTimeError
        Where there are many rows and trees, and the wall clock has ended the time box.
    """
    if isinstance(forest.observation, BoostedSums):
        return missed(forest, np.ascontiguousarray(everyone.rows.T.astype(np.float64)), everyone.labels)
    counts, distinct = _without(forest, everyone, timebox)
    return int(sum(np.abs(left).sum() for left in (*counts, *(distinct or ()))))
