"""Which row is in which leaf of a regressor: in go a forest and how often each row was drawn, out come `RowLeaves`.

A leaf of one row holds the row's target, up to the rounding of ``m * y / m`` for a row that was drawn m times. So
leaves of equal values hold equal targets, mostly one and the same row, and the trees in which they are found tell which
row that is, for those are the trees that drew it. What follows from this and nothing else is returned: a row's leaf
where no other row can be in it, or where the row can be in no other leaf. Rows with equal targets and leaves of several
rows stay open wherever they leave a choice.

What the leaves tell of a row's values (`Bounds`) tells in turn which other leaves it can reach.

Rows that are drawn alike by every tree, as all rows are without a bootstrap, are exchangeable: one of them is as good
as another for the first leaf that is found to hold one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from pytest_draft.artifact.forest import BoolArray, FloatArray, Forest, IntArray
from pytest_draft.attack.numeric.midpoints import ABSENT, UNKNOWN, Bounds
from pytest_draft.attack.redacted import redacted
from pytest_draft.errors import NotCoveredError
from pytest_draft.timebox import TimeBox

_APART = 8
"""Units in the last place up to which two values can come from one target: each is off by at most two."""

_MOST_PAIRS = 2**29
"""Most pairs of a row and a target that are held at once."""

_MOST_COMPARED = 256
"""Most rows of which every two are tried in a leaf of two."""

_ROUNDING = 2.0**-46
"""A share of the largest target that the rounding of a leaf's mean stays below."""

_VISITS = 2e7
"""Nodes that rows visit in a unit of work."""

_MEANS = ("squared_error", "mse", "friedman_mse", "poisson")
"""Criteria by which a leaf's value is the mean of its rows' targets."""


@dataclass(frozen=True, eq=False, repr=False)
class RowLeaves:
    """The leaves of the training rows that are known for certain.

    Attributes
    ----------
    leaf : ndarray of int64, shape (n_trees, n_rows)
        The node that each row reaches; `ABSENT` where the tree did not draw it, `UNKNOWN` where it is open.
    target : ndarray of float64, shape (n_rows,)
        Each row's target, up to two units in the last place; NaN where it is open.
    in_order : ndarray of bool, shape (n_rows,)
        Whether a row's number is its position in the training data, rather than one of several exchangeable ones.
    """

    leaf: IntArray
    target: FloatArray
    in_order: BoolArray

    @property
    def known(self) -> float:
        """Share of leaves that are known, among those that rows reach."""
        reached = np.count_nonzero(self.leaf != ABSENT)
        return np.count_nonzero(self.leaf >= 0) / reached if reached else 0.0

    def __repr__(self) -> str:
        return f"RowLeaves({self.leaf.shape[1]} rows, {self.leaf.shape[0]} trees, {self.known:.1%} of the leaves known)"


@redacted
class _Leaves(NamedTuple):
    """The leaves of all trees, tree by tree, and what is left in them besides the rows that are known to be there.

    Attributes
    ----------
    first : ndarray of int64, shape (n_trees + 1,)
        Where each tree's leaves begin.
    tree, node : ndarray of int64, shape (n,)
    target : ndarray of int64, shape (n,)
        Of leaves that hold one row: the number of its target; -1 for others.
    value : ndarray of float64, shape (n,)
    n_rows, times : ndarray of int64, shape (n,)
        Rows and draws that are left; draws of leaves of one row stay.
    total : ndarray of float64, shape (n,)
        The sum of the targets that are left, each as often as it was drawn; NaN where that is not known.
    slack : ndarray of float64, shape (n,)
        What rounding can add to a total.
    """

    first: IntArray
    tree: IntArray
    node: IntArray
    target: IntArray
    value: FloatArray
    n_rows: IntArray
    times: IntArray
    total: FloatArray
    slack: FloatArray


@redacted
class _Known(NamedTuple):
    """What is known of the rows so far.

    Attributes
    ----------
    times : ndarray of int64, shape (n_trees, n_rows)
        How often each row was drawn, on the scale of the leaves.
    leaf : ndarray of int64, shape (n_trees, n_rows)
        As in `RowLeaves`.
    possible : ndarray of bool, shape (n_rows, n_targets)
        Which targets each row can have, if it is alone in some leaf.
    is_alone : ndarray of bool, shape (n_rows,)
        Whether the row is known to be alone in some leaf.
    size : ndarray of int64, shape (n_targets,)
        How many rows have each target; -1 where that is not known.
    value : ndarray of float64, shape (n_targets,)
        The targets.
    lower, upper : ndarray of float64, shape (n_rows, n_columns)
        Bounds of the rows' values.
    """

    times: IntArray
    leaf: IntArray
    possible: BoolArray
    is_alone: BoolArray
    size: IntArray
    value: FloatArray
    lower: FloatArray
    upper: FloatArray


@redacted
class _Ways(NamedTuple):
    """The nodes of all trees, each tree's from `first`; fields as in `Tree`, and the number of a leaf in `_Leaves`."""

    first: IntArray
    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    leaf: IntArray

    def n_nodes(self, tree: int) -> int:
        """Return the number of a tree's nodes."""
        return int(self.first[tree + 1] - self.first[tree])


def identify_rows(
    forest: Forest,
    occurrences: IntArray | None,
    timebox: TimeBox,
    narrowed: Callable[[IntArray], Bounds] | None = None,
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
        Given known leaves, returns the bounds of the rows' values, as `propagate` does; with it, leaves that a row's
        values cannot reach are excluded too.

    Returns
    -------
    RowLeaves

    Raises
    ------
    ValueError
        Where the forest is a classifier.
    NotCoveredError
        Where neither the file nor `occurrences` tells the number of rows.
    """
    if forest.classes is not None:
        raise ValueError(f"a {forest.kind} has no targets in its leaves")
    leaves = _leaves(forest)
    n_rows = forest.n_samples if occurrences is None else occurrences.shape[1]
    if n_rows is None:
        raise NotCoveredError("the file does not tell the number of training rows, so they cannot be told apart")
    n_targets = int(leaves.target.max(initial=-1)) + 1
    if occurrences is None:
        return _without_occurrences(leaves, n_rows, n_targets)
    unknown = np.where(occurrences > 0, UNKNOWN, ABSENT)
    nothing = RowLeaves(unknown, np.full(n_rows, np.nan), np.ones(n_rows, np.bool_))
    if not 0 < n_rows * n_targets <= _MOST_PAIRS:
        return nothing
    times = occurrences
    if not _is_counted(forest, occurrences):
        times = np.minimum(occurrences, 1)
        leaves = leaves._replace(times=leaves.n_rows.copy(), total=np.full(len(leaves.total), np.nan))
    size, is_drawn = _sizes(times, leaves, n_targets), np.asarray((times > 0).any(axis=0))
    known = _Known(
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
    ways, n_open = _ways(forest), -1
    alike = np.unique(times, axis=1, return_inverse=True)[1].reshape(-1)
    while True:
        if not _deduce(known, leaves, ways, timebox):
            return nothing
        if not timebox.over and (_fill_pairs(known, leaves, ways) or _choose(known, leaves, alike, in_order)):
            continue
        n_open, before = int(np.count_nonzero(known.leaf == UNKNOWN)), n_open
        if narrowed is None or n_open in (0, before) or timebox.over:
            break
        bounds = narrowed(known.leaf)
        if bounds.contradictory:
            return nothing
        known.lower[:] = np.where(bounds.may_miss, -np.inf, bounds.lower)
        known.upper[:] = np.where(bounds.may_miss, np.inf, bounds.upper)
    return RowLeaves(known.leaf, _targets(known), in_order)


def _leaves(forest: Forest) -> _Leaves:
    """Return all leaves, with the targets of those that hold one row told apart and numbered."""
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
    return _Leaves(
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


def _ways(forest: Forest) -> _Ways:
    trees = forest.trees
    left = np.concatenate([tree.left for tree in trees])
    return _Ways(
        np.cumsum([0, *(tree.n_nodes for tree in trees)]),
        left,
        np.concatenate([tree.right for tree in trees]),
        np.concatenate([tree.feature for tree in trees]),
        np.concatenate([tree.threshold for tree in trees]),
        np.cumsum(left < 0) - 1,
    )


def _is_counted(forest: Forest, occurrences: IntArray) -> bool:
    """Return whether the leaves' weights are numbers of draws."""
    return all(
        tree.weight[0] == drawn.sum() and bool((tree.weight == np.rint(tree.weight)).all())
        for tree, drawn in zip(forest.trees, occurrences, strict=True)
    )


def _without_occurrences(leaves: _Leaves, n_rows: int, n_targets: int) -> RowLeaves:
    """Number the rows by their targets, where there are as many targets as rows: then no two rows share one."""
    single = leaves.target >= 0
    leaf, target = np.full((len(leaves.first) - 1, n_rows), UNKNOWN), np.full(n_rows, np.nan)
    if n_targets == n_rows:
        shares = np.bincount(leaves.tree[~single], minlength=len(leaf)) > 0
        leaf[~shares] = ABSENT
        leaf[leaves.tree[single], leaves.target[single]] = leaves.node[single]
        target[leaves.target[single]] = leaves.value[single]
    return RowLeaves(leaf, target, np.zeros(n_rows, np.bool_))


def _sizes(times: IntArray, leaves: _Leaves, n_targets: int) -> IntArray:
    """Return how many rows have each target, where all rows are needed for the targets seen; else -1."""
    single = leaves.target >= 0
    together = np.zeros((len(times), n_targets), np.int64)
    np.add.at(together, (leaves.tree[single], leaves.target[single]), 1)
    least = together.max(axis=0, initial=0)
    is_told = least.sum() == np.count_nonzero((times > 0).any(axis=0))
    return np.where(is_told, least, -1)


def _values(leaves: _Leaves, n_targets: int) -> FloatArray:
    """Return each target, shape (n_targets,)."""
    value, single = np.empty(n_targets), leaves.target >= 0
    value[leaves.target[single]] = leaves.value[single]
    return value


def _targets(known: _Known) -> FloatArray:
    """Return the rows' targets, shape (n_rows,); NaN where they are not known."""
    is_known = known.is_alone & (known.possible.sum(axis=1) == 1)
    target = np.full(len(is_known), np.nan)
    target[is_known] = known.value[known.possible[is_known].argmax(axis=1)]
    return target


def _deduce(known: _Known, leaves: _Leaves, ways: _Ways, timebox: TimeBox) -> bool:
    """Find rows' leaves until nothing more follows or the time is out; return whether any rows fit the leaves."""
    changed = True
    while changed and not timebox.over:
        _exclude_by_tree(known, leaves)
        by_size = _exclude_by_size(known)
        if by_size < 0 or not _put_sure(known, leaves):
            return False
        changed = by_size > 0
        for tree in np.flatnonzero((known.leaf == UNKNOWN).any(axis=1)).tolist():
            timebox.spend(np.count_nonzero(known.leaf[tree] == UNKNOWN) * ways.n_nodes(tree) / _VISITS)
            found = _deduce_tree(known, leaves, ways, tree)
            if found < 0:
                return False
            changed |= found > 0
    return True


@njit(cache=True, nogil=True)
def _put_sure(known: _Known, leaves: _Leaves) -> bool:
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
def _deduce_tree(known: _Known, leaves: _Leaves, ways: _Ways, tree: int) -> int:
    """Put rows where only they can be, or where only they can be put, and exclude targets.

    Returns
    -------
    int
        How many rows were put somewhere or lost a target; -1 where some do not fit.
    """
    first, end = leaves.first[tree], leaves.first[tree + 1]
    rows, fits = _places(known, leaves, ways, tree)
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
def _places(known: _Known, leaves: _Leaves, ways: _Ways, tree: int) -> tuple[IntArray, BoolArray]:
    """Return the rows that are open in a tree, and which of its leaves each can be in, shape (n_leaves, n_open)."""
    nodes = slice(ways.first[tree], ways.first[tree + 1])
    left, right, number = ways.left[nodes], ways.right[nodes], ways.leaf[nodes] - leaves.first[tree]
    feature, threshold = ways.feature[nodes], ways.threshold[nodes]
    here = slice(leaves.first[tree], leaves.first[tree + 1])
    target, n_left, draws = leaves.target[here], leaves.n_rows[here], leaves.times[here]
    total, slack = leaves.total[here], leaves.slack[here]
    rows = np.flatnonzero(known.leaf[tree] == UNKNOWN)
    fits = np.zeros((len(target), len(rows)), np.bool_)
    stack = np.empty(len(target), np.int64)
    for k in range(len(rows)):
        lower, upper, possible = known.lower[rows[k]], known.upper[rows[k]], known.possible[rows[k]]
        times, part = known.times[tree, rows[k]], known.times[tree, rows[k]] * _target(known, rows[k])
        stack[0], n = 0, 1
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
            i = number[node]
            if target[i] >= 0:
                fits[i, k] = n_left[i] > 0 and times == draws[i] and possible[target[i]]
            elif n_left[i] == 1:
                # A target that is not known may be any: comparisons with it are false.
                fits[i, k] = times == draws[i] and not abs(part - total[i]) > slack[i]
            else:
                fits[i, k] = n_left[i] > 0 and times <= draws[i] - n_left[i] + 1
    return rows, fits


@njit(cache=True, nogil=True, inline="always")
def _target(known: _Known, row: int) -> float:
    """Return a row's target; NaN where it is not known."""
    is_known = known.is_alone[row] and known.possible[row].sum() == 1
    return float(known.value[np.argmax(known.possible[row])]) if is_known else np.nan


@njit(cache=True, nogil=True)
def _put(known: _Known, leaves: _Leaves, i: int, row: int) -> None:
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
def _exclude_by_size(known: _Known) -> int:
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
def _exclude_by_tree(known: _Known, leaves: _Leaves) -> None:
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


def _fill_pairs(known: _Known, leaves: _Leaves, ways: _Ways) -> bool:
    """Put two rows into each leaf where no other two can be; return whether there were any."""
    target, found = _targets(known), False
    is_pair = (leaves.target < 0) & (leaves.n_rows == 2)
    for tree in np.unique(leaves.tree[is_pair]).tolist():
        rows, fits = _places(known, leaves, ways, tree)
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


def _choose(known: _Known, leaves: _Leaves, alike: IntArray, in_order: BoolArray) -> bool:
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
