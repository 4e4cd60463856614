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
from pytest_draft.attack.numeric.leaf_tables import KnownRowTargets, OpenLeaves, open_leaves
from pytest_draft.attack.numeric.midpoints import ABSENT, UNKNOWN, ValueBounds
from pytest_draft.attack.numeric.target_deduction import choose_exchangeable, deduce, fill_pairs, known_targets
from pytest_draft.errors import NotCoveredError
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
    target: FloatArray
    """Shape (n_rows,). Each row's target, up to two units in the last place; NaN where it is open."""
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
    forest: Forest,
    occurrences: IntArray | None,
    timebox: TimeBox,
    narrowed: Callable[[IntArray], ValueBounds] | None = None,
) -> RowLeaves:
    """Find the leaves of the training rows by the targets that a regressor's leaves hold.

    Parameters
    ----------
    forest : Forest
        A regressor.
    occurrences : ndarray of int64, shape (n_trees, n_rows), or None
        How often each row was drawn for each tree; None where that is not known.
    timebox : TimeBox
        When it ends, what is known by then is returned.
    narrowed : callable, optional
        Given known leaves, returns the bounds of the rows' values, as `propagate_thresholds` does; with it, leaves
        that a row's values cannot reach are excluded too.

    Raises
    ------
    ValueError
        Where the forest is a classifier.
    NotCoveredError
        Where neither the file nor `occurrences` tells the number of rows.
    """
    if not forest.observation.has_targets:
        raise ValueError(f"a {forest.kind} has no targets in its leaves")
    leaves = open_leaves(forest)
    n_rows = forest.n_samples if occurrences is None else occurrences.shape[1]
    if n_rows is None:
        raise NotCoveredError("the file does not tell the number of training rows, so they cannot be told apart")
    n_targets = int(leaves.target.max(initial=-1)) + 1
    if occurrences is None:
        return _without_occurrences(leaves, n_rows, n_targets)
    occurrences = np.ascontiguousarray(occurrences)  # in one order, for which numba compiles
    unknown = np.where(occurrences > 0, UNKNOWN, ABSENT)
    nothing = RowLeaves(unknown, np.full(n_rows, np.nan), np.ones(n_rows, np.bool_))
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
        if narrowed is None or n_open in (0, before) or timebox.over:
            break
        bounds = narrowed(known.leaf)
        if bounds.contradictory:
            return nothing
        known.lower[:] = np.where(bounds.may_miss, -np.inf, bounds.lower)
        known.upper[:] = np.where(bounds.may_miss, np.inf, bounds.upper)
    return RowLeaves(known.leaf, known_targets(known), in_order)


def _is_counted(forest: Forest, occurrences: IntArray) -> bool:
    """Return whether the leaves' weights are numbers of draws."""
    return all(
        tree.weight[0] == drawn.sum() and bool((tree.weight == np.rint(tree.weight)).all())
        for tree, drawn in zip(forest.trees, occurrences, strict=True)
    )


def _without_occurrences(leaves: OpenLeaves, n_rows: int, n_targets: int) -> RowLeaves:
    """Number the rows by their targets, where there are as many targets as rows: then no two rows share one."""
    single = leaves.target >= 0
    leaf, target = np.full((len(leaves.first) - 1, n_rows), UNKNOWN), np.full(n_rows, np.nan)
    if n_targets == n_rows:
        shares = np.bincount(leaves.tree[~single], minlength=len(leaf)) > 0
        leaf[~shares] = ABSENT
        leaf[leaves.tree[single], leaves.target[single]] = leaves.node[single]
        target[leaves.target[single]] = leaves.value[single]
    return RowLeaves(leaf, target, np.zeros(n_rows, np.bool_))


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
