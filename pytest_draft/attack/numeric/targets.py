"""Which row is in which leaf of a regressor: in go a forest and how often each row was drawn, out come `RowLeaves`.

A leaf of one row holds the row's target, up to the rounding of ``m * y / m`` for a row that was drawn m times. So
leaves of equal values hold equal targets, mostly one and the same row, and the trees in which they are found tell which
row that is, for those are the trees that drew it. What follows from this and nothing else is returned
(`target_deduction`): a row's leaf where no other row can be in it, or where the row can be in no other leaf. Rows with
equal targets and leaves of several rows stay open wherever they leave a choice.

What the leaves tell of a row's values (`ValueBounds`) tells in turn which other leaves it can reach.

Rows that are drawn alike by every tree, as all rows are without a bootstrap, are exchangeable: one of them is as good
as another for the first leaf that is found to hold one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.nodes import ForestNodes
from pytest_draft.attack.numeric.midpoints import ABSENT, UNKNOWN, ValueBounds
from pytest_draft.attack.numeric.target_deduction import (
    KnownRowTargets,
    OpenLeaves,
    choose_exchangeable,
    deduce,
    fill_pairs,
    open_leaves,
)
from pytest_draft.timebox import TimeBox

_MOST_PAIRS = 2**29
"""Most pairs of a row and a target that are held at once."""


@dataclass(frozen=True, eq=False, repr=False)
class RowLeaves:
    """The leaves of the training rows that are known for certain."""

    leaf: IntArray
    """Shape (n_trees, n_rows). The node that each row reaches; `ABSENT` where the tree did not draw it, `UNKNOWN` where
    it is open.
    """
    in_order: BoolArray
    """Shape (n_rows,). Whether a row's number is its position in the training data, rather than one of several
    exchangeable ones.
    """

    @property
    def known(self) -> float:
        """Share of leaves that are known, among those that rows reach."""
        reached = np.count_nonzero(self.leaf != ABSENT)
        return np.count_nonzero(self.leaf >= 0) / reached if reached else 0.0

    def __repr__(self) -> str:
        return f"RowLeaves({self.leaf.shape[1]} rows, {self.leaf.shape[0]} trees, {self.known:.1%} of the leaves known)"


def identify_rows(
    forest: Forest, occurrences: IntArray, timebox: TimeBox, narrowed: Callable[[IntArray], ValueBounds]
) -> RowLeaves:
    """Find the leaves of the training rows by the targets that a regressor's leaves hold.

    Parameters
    ----------
    forest : Forest
        A regressor.
    occurrences : ndarray of int64, shape (n_trees, n_rows)
        How often each row was drawn for each tree.
    timebox : TimeBox
        When it ends, what is known by then is returned.
    narrowed : callable
        Given known leaves, returns the bounds of the rows' values: leaves that these cannot reach are excluded too.
    """
    leaves, n_rows = open_leaves(forest), occurrences.shape[1]
    n_targets = int(leaves.target.max(initial=-1)) + 1
    occurrences = np.ascontiguousarray(occurrences)  # in one order, for which numba compiles
    unknown = np.where(occurrences > 0, UNKNOWN, ABSENT)
    nothing = RowLeaves(unknown, np.ones(n_rows, np.bool_))
    if not 0 < n_rows * n_targets <= _MOST_PAIRS:
        return nothing
    times = occurrences
    if not _is_counted(forest, occurrences):
        times = np.minimum(occurrences, 1)
        leaves = leaves._replace(times=leaves.n_rows.copy(), total=np.full(len(leaves.total), np.nan))
    size, is_drawn = _sizes(times, leaves, n_targets), np.asarray((times > 0).any(axis=0))
    known = KnownRowTargets(
        times,
        unknown.copy(),
        np.repeat(is_drawn[:, None], n_targets, axis=1),
        is_drawn & bool((size >= 0).all()),
        size,
        _values(leaves, n_targets),
        np.full((n_rows, forest.n_features), -np.inf),
        np.full((n_rows, forest.n_features), np.inf),
    )
    in_order = np.ones(n_rows, np.bool_)
    nodes, n_open = ForestNodes.of(forest.trees), -1
    alike = np.unique(times, axis=1, return_inverse=True)[1].reshape(-1)
    while True:
        if not deduce(known, leaves, nodes, timebox):
            return nothing
        if not timebox.over and (
            fill_pairs(known, leaves, nodes) or choose_exchangeable(known, leaves, alike, in_order)
        ):
            continue
        n_open, before = int(np.count_nonzero(known.leaf == UNKNOWN)), n_open
        if n_open in (0, before) or timebox.over:
            break
        bounds = narrowed(known.leaf)
        if bounds.contradictory:
            return nothing
        known.lower[:] = np.where(bounds.may_miss, -np.inf, bounds.lower)
        known.upper[:] = np.where(bounds.may_miss, np.inf, bounds.upper)
    return RowLeaves(known.leaf, in_order)


def _is_counted(forest: Forest, occurrences: IntArray) -> bool:
    """Return whether the leaves' weights are numbers of draws."""
    return all(
        tree.weight[0] == drawn.sum() and bool((tree.weight == np.rint(tree.weight)).all())
        for tree, drawn in zip(forest.trees, occurrences, strict=True)
    )


def _sizes(times: IntArray, leaves: OpenLeaves, n_targets: int) -> IntArray:
    """Return how many rows have each target, where all rows are needed for the targets seen; else -1."""
    single = leaves.target >= 0
    together = np.zeros((len(times), n_targets), np.int64)
    np.add.at(together, (leaves.tree[single], leaves.target[single]), 1)
    least = together.max(axis=0, initial=0)
    is_known = least.sum() == np.count_nonzero((times > 0).any(axis=0))
    return np.where(is_known, least, -1)


def _values(leaves: OpenLeaves, n_targets: int) -> FloatArray:
    """Return each target, shape (n_targets,)."""
    value, single = np.empty(n_targets), leaves.target >= 0
    value[leaves.target[single]] = leaves.value[single]
    return value
