"""Which row is in which leaf of a regressor: in go a forest and how often each row was drawn, out come `RowLeaves`.

A leaf of one row holds the row's target, up to the rounding of ``m * y / m`` for a row that was drawn m times. So
leaves of equal values hold equal targets, mostly one and the same row, and the trees in which they are found tell which
row that is, for those are the trees that drew it. What follows from this and nothing else is returned: a row's leaf
where no other row can be in it, or where the row can be in no other leaf. Rows with equal targets and leaves of several
rows stay open wherever they leave a choice.

What the leaves tell of a row's values (`ValueBounds`) tells in turn which other leaves it can reach.

Rows that are drawn alike by every tree, as all rows are without a bootstrap, are exchangeable: one of them is as good
as another for the first leaf that is found to hold one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.nodes import ForestNodes
from pytest_draft.attack.numeric.midpoints import ABSENT, UNKNOWN, ValueBounds
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled
from pytest_draft.timebox import TimeBox

_APART = 8
"""Units in the last place up to which two values can come from one target: each is off by at most two."""

_VISITS = 2e7
"""Nodes that rows visit in a unit of work."""

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


@redacted
class _OpenLeaves(NamedTuple):
    """The leaves of all trees, tree by tree, and what is left in them besides the rows that are known to be there."""

    first: IntArray
    """Shape (n_trees + 1,). Where each tree's leaves begin."""
    tree: IntArray
    node: IntArray
    """`tree` and `node`, shape (n,). Where each leaf is."""
    target: IntArray
    """Shape (n,). Of leaves that hold one row: the number of its target; -1 for others."""
    n_rows: IntArray
    times: IntArray
    """`n_rows` and `times`, shape (n,): rows and draws that are left; draws of leaves of one row stay."""


@redacted
class _KnownRowTargets(NamedTuple):
    """What is known so far of the rows and their targets."""

    times: IntArray
    """Shape (n_trees, n_rows). How often each row was drawn, on the scale of the leaves."""
    leaf: IntArray
    """Shape (n_trees, n_rows). As in `RowLeaves`."""
    possible: BoolArray
    """Shape (n_rows, n_targets). Which targets each row can have, if it is alone in some leaf."""
    is_alone: BoolArray
    """Shape (n_rows,). Whether the row is known to be alone in some leaf."""
    size: IntArray
    """Shape (n_targets,). How many rows have each target; -1 where that is not known."""
    lower: FloatArray
    upper: FloatArray
    """`lower` and `upper`, shape (n_rows, n_columns): bounds of the rows' values."""


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
    leaves, n_rows = _open_leaves(forest), occurrences.shape[1]
    n_targets = int(leaves.target.max(initial=-1)) + 1
    occurrences = np.ascontiguousarray(occurrences)  # in one order, for which numba compiles
    unknown = np.where(occurrences > 0, UNKNOWN, ABSENT)
    nothing = RowLeaves(unknown, np.ones(n_rows, np.bool_))
    if not 0 < n_rows * n_targets <= _MOST_PAIRS:
        return nothing
    times = occurrences
    if not _is_counted(forest, occurrences):
        times = np.minimum(occurrences, 1)
        leaves = leaves._replace(times=leaves.n_rows.copy())
    size, is_drawn = _sizes(times, leaves, n_targets), np.asarray((times > 0).any(axis=0))
    known = _KnownRowTargets(
        times,
        unknown.copy(),
        np.repeat(is_drawn[:, None], n_targets, axis=1),
        is_drawn & bool((size >= 0).all()),
        size,
        np.full((n_rows, forest.n_features), -np.inf),
        np.full((n_rows, forest.n_features), np.inf),
    )
    in_order = np.ones(n_rows, np.bool_)
    nodes, n_open = ForestNodes.of(forest.trees), -1
    alike = np.unique(times, axis=1, return_inverse=True)[1].reshape(-1)
    while True:
        if not _deduce(known, leaves, nodes, timebox):
            return nothing
        if not timebox.over and _choose_exchangeable(known, leaves, alike, in_order):
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


def _sizes(times: IntArray, leaves: _OpenLeaves, n_targets: int) -> IntArray:
    """Return how many rows have each target, where all rows are needed for the targets seen; else -1."""
    single = leaves.target >= 0
    together = np.zeros((len(times), n_targets), np.int64)
    np.add.at(together, (leaves.tree[single], leaves.target[single]), 1)
    least = together.max(axis=0, initial=0)
    is_known = least.sum() == np.count_nonzero((times > 0).any(axis=0))
    return np.where(is_known, least, -1)


def _open_leaves(forest: Forest) -> _OpenLeaves:
    """Return all leaves, all of whose rows are still open; the targets of leaves of one row are numbered, ascending."""
    nodes = [tree.leaves for tree in forest.trees]
    n_leaves = [len(found) for found in nodes]

    def joined(arrays: list[Any]) -> Any:
        return np.concatenate([array[found] for array, found in zip(arrays, nodes, strict=True)])

    value = joined([tree.value[:, 0] for tree in forest.trees])
    weight = joined([tree.weight for tree in forest.trees])
    n_rows = joined([tree.n_distinct for tree in forest.trees])
    single = np.flatnonzero(n_rows == 1)
    single = single[np.argsort(value[single], kind="stable")]
    ordered = value[single]
    is_other = np.diff(ordered) > _APART * np.spacing(np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1])))
    target = np.full(len(value), -1)
    target[single[:1]], target[single[1:]] = 0, np.cumsum(is_other)
    return _OpenLeaves(
        np.cumsum([0, *n_leaves]),
        np.repeat(np.arange(forest.n_trees), n_leaves),
        np.concatenate(nodes),
        target,
        n_rows,
        np.rint(weight).astype(np.int64),
    )


def _deduce(known: _KnownRowTargets, leaves: _OpenLeaves, nodes: ForestNodes, timebox: TimeBox) -> bool:
    """Find rows' leaves until nothing more follows or the time is out; return whether any rows fit the leaves."""
    n_nodes, changed = np.diff(nodes.first), True
    while changed and not timebox.over:
        _exclude_by_tree(known, leaves)
        if not _put_sure(known, leaves):
            return False
        changed = False
        for tree in np.flatnonzero((known.leaf == UNKNOWN).any(axis=1)).tolist():
            timebox.spend(np.count_nonzero(known.leaf[tree] == UNKNOWN) * n_nodes[tree] / _VISITS)
            found = _deduce_tree(known, leaves, nodes, tree)
            if found < 0:
                return False
            changed |= found > 0
    return True


def _put_sure(known: _KnownRowTargets, leaves: _OpenLeaves) -> bool:
    """Put the rows that alone have their target into its leaves; return whether they fit."""
    rows = np.flatnonzero(known.is_alone & (known.possible.sum(axis=1) == 1))
    target = known.possible[rows].argmax(axis=1)
    rows, target = rows[known.size[target] == 1], target[known.size[target] == 1]
    holder = np.full(len(known.size) + 1, -1)  # the last is of leaves of several rows
    holder[target] = rows
    i = np.flatnonzero((leaves.n_rows > 0) & (holder[leaves.target] >= 0))
    return _put(known, leaves, i, holder[leaves.target[i]])


def _deduce_tree(known: _KnownRowTargets, leaves: _OpenLeaves, nodes: ForestNodes, tree: int) -> int:
    """Put rows where only they can be, or where only they can be put, and exclude targets.

    Returns
    -------
    int
        How many rows were put somewhere or lost a target; -1 where some do not fit.
    """
    here = slice(leaves.first[tree], leaves.first[tree + 1])
    rows, fits = _places(known, leaves, nodes, tree)
    n_takers, n_places = fits.sum(axis=1), fits.sum(axis=0)
    if (n_takers < leaves.n_rows[here]).any() or (n_places == 0).any():
        return -1
    single = leaves.target[here] >= 0
    sure = ~fits[~single].any(axis=0)
    alone = rows[sure]
    allowed = np.zeros((len(alone), len(known.size)), np.bool_)
    leaf, k = np.nonzero(fits[single][:, sure])
    allowed[k, leaves.target[here][single][leaf]] = True
    found = int(np.count_nonzero(known.possible[alone] & ~allowed))
    known.is_alone[alone] = True
    known.possible[alone] &= allowed
    is_full = n_takers == leaves.n_rows[here]
    leaf, k = np.nonzero(fits & (is_full[:, None] | (n_places == 1)))
    return found + len(k) if _put(known, leaves, leaf + leaves.first[tree], rows[k]) else -1


@compiled
def _places(known: _KnownRowTargets, leaves: _OpenLeaves, nodes: ForestNodes, tree: int) -> tuple[IntArray, BoolArray]:
    """Return the rows that are open in a tree, and which of its leaves each can be in, shape (n_leaves, n_open)."""
    left, right, feature, threshold = nodes.left, nodes.right, nodes.feature, nodes.threshold
    here = slice(leaves.first[tree], leaves.first[tree + 1])
    target, n_left, draws = leaves.target[here], leaves.n_rows[here], leaves.times[here]
    rows = np.flatnonzero(known.leaf[tree] == UNKNOWN)
    fits = np.zeros((len(target), len(rows)), np.bool_)
    stack = np.empty(len(target), np.int64)
    for k in range(len(rows)):
        lower, upper, possible = known.lower[rows[k]], known.upper[rows[k]], known.possible[rows[k]]
        times = known.times[tree, rows[k]]
        stack[0], n = nodes.first[tree], 1
        while n > 0:
            n -= 1
            node = stack[n]
            if left[node] >= 0:
                if lower[feature[node]] <= threshold[node]:
                    stack[n] = left[node]
                    n += 1
                if upper[feature[node]] > threshold[node]:
                    stack[n] = right[node]
                    n += 1
                continue
            i = nodes.leaf[node] - leaves.first[tree]
            if target[i] >= 0:
                fits[i, k] = n_left[i] > 0 and times == draws[i] and possible[target[i]]
            elif n_left[i] == 1:
                fits[i, k] = times == draws[i]
            else:
                fits[i, k] = n_left[i] > 0 and times <= draws[i] - n_left[i] + 1
    return rows, fits


def _put(known: _KnownRowTargets, leaves: _OpenLeaves, i: IntArray, rows: IntArray) -> bool:
    """Note that each of some rows is in a leaf; return whether they fit: if not, nothing is to be read any more."""
    tree, target = leaves.tree[i], leaves.target[i]
    times, single = known.times[tree, rows], target >= 0
    fits = bool((known.leaf[tree, rows] == UNKNOWN).all() and (times == leaves.times[i])[single].all())
    known.leaf[tree, rows] = leaves.node[i]
    np.subtract.at(leaves.n_rows, i, 1)
    np.subtract.at(leaves.times, i[~single], times[~single])
    known.is_alone[rows[single]] = True
    for row, only in np.unique(np.stack([rows, target], axis=1)[single], axis=0).tolist():
        known.possible[row, :only] = False
        known.possible[row, only + 1 :] = False
    is_once = np.unique(tree * known.leaf.shape[1] + rows).size == len(rows)
    return fits and is_once and bool((leaves.n_rows[i] >= 0).all())


@compiled
def _exclude_by_tree(known: _KnownRowTargets, leaves: _OpenLeaves) -> None:
    """Exclude the targets that a row cannot have, as a tree that drew it has no leaf where it could be with them."""
    n_trees, n_rows = known.leaf.shape
    room = np.zeros(n_trees, np.int64)
    for i in range(len(leaves.tree)):
        if leaves.target[i] < 0 and leaves.n_rows[i] > 0:
            room[leaves.tree[i]] = max(room[leaves.tree[i]], leaves.times[i] - leaves.n_rows[i] + 1)
    is_there = (known.leaf == UNKNOWN) & (known.times > room.reshape(-1, 1))
    for row in range(n_rows):
        known.is_alone[row] |= is_there[:, row].any()
    # A number of draws as a bit; those 64 apart share one.
    one, last = np.uint64(1), np.uint64(63)
    bit = one << (known.times.astype(np.uint64) & last)
    bit_of_leaf = one << (leaves.times.astype(np.uint64) & last)
    order = np.argsort(leaves.target, kind="mergesort")
    start = np.searchsorted(leaves.target[order], np.arange(len(known.size) + 1))
    times = np.zeros(n_trees, np.uint64)
    for target in range(len(known.size)):
        times[:] = 0
        for place in range(start[target], start[target + 1]):
            times[leaves.tree[order[place]]] |= bit_of_leaf[order[place]]
        for row in range(n_rows):
            for tree in range(n_trees):
                if not known.possible[row, target]:
                    break
                is_the_one = known.size[target] == 1 and times[tree] != 0
                if (is_there[tree, row] or is_the_one) and times[tree] & bit[tree, row] == 0:
                    known.possible[row, target] = False


def _choose_exchangeable(known: _KnownRowTargets, leaves: _OpenLeaves, alike: IntArray, in_order: BoolArray) -> bool:
    """Put exchangeable rows, one as good as another, into leaves of one tree; return whether there were any.

    Rows are exchangeable that all trees drew alike, `alike` by number, and of which no leaf is known.
    """
    alike = np.where((known.leaf >= 0).any(axis=0) | ~(known.times > 0).any(axis=0), -1, alike)
    numbers, counts = np.unique(alike[alike >= 0], return_counts=True)
    for number in numbers[counts > 1]:
        rows, others = np.flatnonzero(alike == number), np.flatnonzero(alike != number)
        best = np.zeros(0, np.int64)
        for tree in np.flatnonzero(known.times[:, rows[0]]):
            times = known.times[tree, rows[0]]
            here = np.arange(leaves.first[tree], leaves.first[tree + 1])
            here = here[(leaves.target[here] >= 0) & (leaves.n_rows[here] > 0) & (leaves.times[here] == times)]
            rivals = others[(known.times[tree, others] == times) & (known.leaf[tree, others] == UNKNOWN)]
            here = here[~known.possible[np.ix_(rivals, leaves.target[here])].any(axis=0)]
            best = here if len(here) > len(best) else best
        if len(best):
            n = min(len(best), len(rows))
            _put(known, leaves, best[:n], rows[:n])
            in_order[rows] = False
            return True
    return False
