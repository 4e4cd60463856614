"""Rows put into leaves where nothing else fits: in goes what is known of leaves and rows, and more is known after.

Two tables hold it, in which is crossed out what cannot be: which leaves have rows that are not yet known, and what is
known of each row. Leaves of a single row, whose value is the row's target, are where the deduction begins; targets that
rounding alone keeps apart get one number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.nodes import ForestNodes
from pytest_draft.attack.numeric.midpoints import UNKNOWN
from pytest_draft.attack.redacted import redacted
from pytest_draft.timebox import TimeBox

_APART = 8
"""Units in the last place up to which two values can come from one target: each is off by at most two."""

_ROUNDING = 2.0**-46
"""A share of the largest target that the rounding of a leaf's mean stays below."""

_MEANS = ("squared_error", "mse", "friedman_mse", "poisson")
"""Criteria by which a leaf's value is the mean of its rows' targets."""

_MOST_COMPARED = 256
"""Most rows of which every two are tried in a leaf of two."""

_VISITS = 2e7
"""Nodes that rows visit in a unit of work."""


@redacted
class OpenLeaves(NamedTuple):
    """The leaves of all trees, tree by tree, and what is left in them besides the rows that are known to be there."""

    first: IntArray
    """Shape (n_trees + 1,). Where each tree's leaves begin."""
    tree: IntArray
    node: IntArray
    """`tree` and `node`, shape (n,). Where each leaf is."""
    target: IntArray
    """Shape (n,). Of leaves that hold one row: the number of its target; -1 for others."""
    value: FloatArray
    """Shape (n,). The mean target of each leaf, as stored."""
    n_rows: IntArray
    times: IntArray
    """`n_rows` and `times`, shape (n,): rows and draws that are left; draws of leaves of one row stay."""
    total: FloatArray
    """Shape (n,). The sum of the targets that are left, each as often as it was drawn; NaN where that is not known."""
    slack: FloatArray
    """Shape (n,). What rounding can add to a total."""


@redacted
class KnownRowTargets(NamedTuple):
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
    value: FloatArray
    """Shape (n_targets,). The targets."""
    lower: FloatArray
    upper: FloatArray
    """`lower` and `upper`, shape (n_rows, n_columns): bounds of the rows' values."""


def open_leaves(forest: Forest) -> OpenLeaves:
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
    criterion = forest.parameters.get("criterion", forest.parameters.get("estimator__criterion"))
    return OpenLeaves(
        np.cumsum([0, *n_leaves]),
        np.repeat(np.arange(forest.n_trees), n_leaves),
        np.concatenate(nodes),
        target,
        value,
        n_rows,
        np.rint(weight).astype(np.int64),
        value * weight if criterion in _MEANS else np.full(len(value), np.nan),
        _ROUNDING * weight * np.abs(value).max(),
    )


def known_targets(known: KnownRowTargets) -> FloatArray:
    """Return the rows' targets, shape (n_rows,); NaN where they are not known."""
    is_known = known.is_alone & (known.possible.sum(axis=1) == 1)
    target = np.full(len(is_known), np.nan)
    target[is_known] = known.value[known.possible[is_known].argmax(axis=1)]
    return target


def deduce(known: KnownRowTargets, leaves: OpenLeaves, nodes: ForestNodes, timebox: TimeBox) -> bool:
    """Find rows' leaves until nothing more follows or the time is out; return whether any rows fit the leaves."""
    n_nodes, changed = np.diff(nodes.first), True
    while changed and not timebox.over:
        _exclude_by_tree(known, leaves)
        by_size = _exclude_by_size(known)
        if by_size < 0 or not _put_sure(known, leaves):
            return False
        changed = by_size > 0
        for tree in np.flatnonzero((known.leaf == UNKNOWN).any(axis=1)).tolist():
            timebox.spend(np.count_nonzero(known.leaf[tree] == UNKNOWN) * n_nodes[tree] / _VISITS)
            found = _deduce_tree(known, leaves, nodes, tree)
            if found < 0:
                return False
            changed |= found > 0
    return True


@njit(cache=True, nogil=True)
def _put_sure(known: KnownRowTargets, leaves: OpenLeaves) -> bool:
    """Put the rows that alone have their target into its leaves; return whether they fit."""
    holder = np.full(len(known.size), -1)
    for row in np.flatnonzero(known.is_alone & (known.possible.sum(axis=1) == 1)):
        target = np.argmax(known.possible[row])
        if known.size[target] == 1:
            holder[target] = row
    for i in range(len(leaves.target)):
        tree, row = leaves.tree[i], holder[leaves.target[i]]
        if leaves.target[i] >= 0 and leaves.n_rows[i] > 0 and row >= 0:
            if known.leaf[tree, row] != UNKNOWN or known.times[tree, row] != leaves.times[i]:
                return False
            _put(known, leaves, i, row)
    return True


@njit(cache=True, nogil=True)
def _deduce_tree(known: KnownRowTargets, leaves: OpenLeaves, nodes: ForestNodes, tree: int) -> int:
    """Put rows where only they can be, or where only they can be put, and exclude targets.

    Returns
    -------
    int
        How many rows were put somewhere or lost a target; -1 where some do not fit.
    """
    first, end = leaves.first[tree], leaves.first[tree + 1]
    rows, fits = _places(known, leaves, nodes, tree)
    n_takers, n_places = fits.sum(axis=1), fits.sum(axis=0)
    if (n_takers < leaves.n_rows[first:end]).any() or (n_places == 0).any():
        return -1
    found = 0
    for k in range(len(rows)):
        here = leaves.target[first:end][fits[:, k]]
        if here.min() >= 0:
            known.is_alone[rows[k]] = True
            for target in np.flatnonzero(known.possible[rows[k]]):
                if not (here == target).any():
                    known.possible[rows[k], target] = False
                    found += 1
    is_full = n_takers == leaves.n_rows[first:end]
    places = np.argwhere(fits)
    for p in range(len(places)):
        i, k = places[p]
        if is_full[i] or n_places[k] == 1:
            if known.leaf[tree, rows[k]] != UNKNOWN or leaves.n_rows[first + i] == 0:
                return -1
            _put(known, leaves, first + i, rows[k])
            found += 1
    return found


@njit(cache=True, nogil=True)
def _places(known: KnownRowTargets, leaves: OpenLeaves, nodes: ForestNodes, tree: int) -> tuple[IntArray, BoolArray]:
    """Return the rows that are open in a tree, and which of its leaves each can be in, shape (n_leaves, n_open)."""
    left, right, feature, threshold = nodes.left, nodes.right, nodes.feature, nodes.threshold
    here = slice(leaves.first[tree], leaves.first[tree + 1])
    target, n_left, draws = leaves.target[here], leaves.n_rows[here], leaves.times[here]
    total, slack = leaves.total[here], leaves.slack[here]
    rows = np.flatnonzero(known.leaf[tree] == UNKNOWN)
    fits = np.zeros((len(target), len(rows)), np.bool_)
    stack = np.empty(len(target), np.int64)
    for k in range(len(rows)):
        lower, upper, possible = known.lower[rows[k]], known.upper[rows[k]], known.possible[rows[k]]
        times, part = known.times[tree, rows[k]], known.times[tree, rows[k]] * _target(known, rows[k])
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
                # A target that is not known may be any: comparisons with it are false.
                fits[i, k] = times == draws[i] and not abs(part - total[i]) > slack[i]
            else:
                fits[i, k] = n_left[i] > 0 and times <= draws[i] - n_left[i] + 1
    return rows, fits


@njit(cache=True, nogil=True, inline="always")
def _target(known: KnownRowTargets, row: int) -> float:
    """Return a row's target; NaN where it is not known."""
    is_known = known.is_alone[row] and known.possible[row].sum() == 1
    return float(known.value[np.argmax(known.possible[row])]) if is_known else np.nan


@njit(cache=True, nogil=True)
def _put(known: KnownRowTargets, leaves: OpenLeaves, i: int, row: int) -> None:
    """Note that a row is in a leaf."""
    tree, target = leaves.tree[i], leaves.target[i]
    times = known.times[tree, row]
    known.leaf[tree, row] = leaves.node[i]
    leaves.n_rows[i] -= 1
    if target < 0:
        leaves.times[i] -= times
        leaves.total[i] -= times * _target(known, row)
    else:
        known.is_alone[row] = True
        known.possible[row, :target] = False
        known.possible[row, target + 1 :] = False


@njit(cache=True, nogil=True)
def _exclude_by_size(known: KnownRowTargets) -> int:
    """Exclude targets all of whose rows are found; return for how many rows, -1 where a target has too many."""
    n_rows, n_targets = known.possible.shape
    is_sure = known.is_alone & (known.possible.sum(axis=1) == 1)
    found = 0
    for target in range(n_targets):
        if known.size[target] < 0:
            continue
        n_sure = (is_sure & known.possible[:, target]).sum()
        if n_sure > known.size[target]:
            return -1
        if n_sure == known.size[target]:
            for row in range(n_rows):
                if known.possible[row, target] and not is_sure[row]:
                    known.possible[row, target] = False
                    found += 1
    return found


@njit(cache=True, nogil=True)
def _exclude_by_tree(known: KnownRowTargets, leaves: OpenLeaves) -> None:
    """Exclude the targets that a row cannot have, as a tree that drew it has no leaf where it could be with them."""
    n_trees, n_rows = known.leaf.shape
    room = np.zeros(n_trees, np.int64)
    for i in range(len(leaves.tree)):
        if leaves.target[i] < 0 and leaves.n_rows[i] > 0:
            room[leaves.tree[i]] = max(room[leaves.tree[i]], leaves.times[i] - leaves.n_rows[i] + 1)
    is_there = (known.leaf == UNKNOWN) & (known.times > room.reshape(-1, 1))
    for row in range(n_rows):
        known.is_alone[row] |= is_there[:, row].any()
    order = np.argsort(leaves.target, kind="mergesort")
    start = np.searchsorted(leaves.target[order], np.arange(len(known.size) + 1))
    times = np.zeros(n_trees, np.uint64)
    for target in range(len(known.size)):
        times[:] = 0
        for place in range(start[target], start[target + 1]):
            times[leaves.tree[order[place]]] |= _bit(leaves.times[order[place]])
        for row in range(n_rows):
            for tree in range(n_trees):
                if not known.possible[row, target]:
                    break
                is_the_one = known.size[target] == 1 and times[tree] != 0
                if (is_there[tree, row] or is_the_one) and times[tree] & _bit(known.times[tree, row]) == 0:
                    known.possible[row, target] = False


@njit(cache=True, nogil=True, inline="always")
def _bit(times: int) -> Any:
    """Return a number of draws as a bit; those 64 apart share one."""
    return np.uint64(1) << np.uint64(times & 63)


def fill_pairs(known: KnownRowTargets, leaves: OpenLeaves, nodes: ForestNodes) -> bool:
    """Put two rows into each leaf where no other two can be; return whether there were any."""
    target, found = known_targets(known), False
    is_pair = (leaves.target < 0) & (leaves.n_rows == 2)
    for tree in np.unique(leaves.tree[is_pair]).tolist():
        rows, fits = _places(known, leaves, nodes, tree)
        for i in range(leaves.first[tree], leaves.first[tree + 1]):
            here = rows[fits[i - leaves.first[tree]]]
            here = here[known.leaf[tree, here] == UNKNOWN]
            if not is_pair[i] or len(here) > _MOST_COMPARED:
                continue
            times = known.times[tree, here]
            part = times * target[here]
            # A target that is not known may be any: comparisons with it are false.
            is_off = np.abs(part[:, None] + part - leaves.total[i]) > leaves.slack[i]
            pairs = np.argwhere(np.triu((times[:, None] + times == leaves.times[i]) & ~is_off, 1))
            if len(pairs) == 1:
                found = True
                for row in here[pairs[0]].tolist():
                    _put(known, leaves, i, row)
    return found


def choose_exchangeable(known: KnownRowTargets, leaves: OpenLeaves, alike: IntArray, in_order: BoolArray) -> bool:
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
            for i, row in zip(best.tolist(), rows.tolist(), strict=False):
                _put(known, leaves, i, row)
            in_order[rows] = False
            return True
    return False
