"""What thresholds tell of values: in go a forest, a domain and each row's leaves, out come bounds of every cell.

A threshold of a best split is ``a / 2 + b / 2`` in float64, ``a`` the largest value of the tested column among the
node's rows that went left, ``b`` the smallest of those that went right, both float32. A random split's threshold lies
between the least and the largest value of its node, which can be known too (`Extremes`). So every split says of a group
of rows what its extreme value is, or of two groups what their extremes add up to. Bounds are propagated through all
these equations of a column to a fixpoint, and equations that close an odd cycle are solved. Bounds are float32 values
and closed: a cell whose bounds meet is certain, given that the leaves are right.

The smallest value of ``x`` is the largest of ``-x``, negated: both are written as one kind of extreme, with a sign.

Source: ``sklearn.tree._splitter`` (``node_split_best`` and ``node_split_random``), 1.3 to 1.9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pytest_draft.artifact.forest import BoolArray, FloatArray, Forest, IntArray
from pytest_draft.attack.numeric.states import thresholds_are_midpoints
from pytest_draft.attack.redacted import redacted
from pytest_draft.domain import Domain
from pytest_draft.timebox import TimeBox

ABSENT, UNKNOWN = -1, -2
"""Stand for a leaf: the row is not in the tree, or it is not known where."""

_SETTLED, _CHANGED, _CONTRADICTORY = 0, 1, 2

_MOST_COMPARED = 1024
"""Most rows of which every two are compared."""

_MOST_TAKERS = 8
"""Most rows by which an extreme is recognised in another group."""

_MOST_EXAMINED = 64
"""Most rows that are compared to find who can take an extreme."""

_CREEPING = 2.0**-8
"""A share of a cell's width: inequalities in a cycle can narrow it without end by less, which is not waited for."""

_ROUNDING = 2.0**-50
"""A share of the numbers that go into a sum, above all that its rounding adds up to."""

_VISITS = 5e7
"""Rows of groups that are looked at in a unit of work."""


class Extremes(Protocol):
    """The least and the largest value of the tested column among each node's rows; NaN where unknown."""

    @property
    def low(self) -> Sequence[FloatArray]:
        """By tree, shape (n_nodes,)."""

    @property
    def high(self) -> Sequence[FloatArray]:
        """By tree, shape (n_nodes,)."""


@dataclass(frozen=True, eq=False, repr=False)
class Bounds:
    """Between which values each cell lies.

    Attributes
    ----------
    lower, upper : ndarray of float64, shape (n_rows, n_columns)
        Closed bounds, all of them float32 values. In a column that may hold missing values: of those present.
    certain : ndarray of bool, shape (n_rows, n_columns)
        Cells that can have one value only, given the leaves; none where the leaves contradict the thresholds.
    may_miss : ndarray of bool, shape (n_columns,)
        Whether a column may hold missing values: the bounds tell nothing of where those go.
    contradictory : tuple of int
        Columns that no values fit: the leaves are not those of the training rows, or the domain is not theirs.
    complete : bool
        Whether little is left to propagate; where the time ran out before, the bounds hold and are wider.
    """

    lower: FloatArray
    upper: FloatArray
    certain: BoolArray
    may_miss: BoolArray
    contradictory: tuple[int, ...]
    complete: bool

    def __repr__(self) -> str:
        n_rows, n_columns = self.lower.shape
        return f"Bounds({n_rows} rows, {n_columns} columns, {int(self.certain.sum())} certain cells)"


@redacted
class _Nodes(NamedTuple):
    """The nodes of all trees in one numbering, each tree's from `first`; fields as in `Tree`, -1 for no node."""

    first: IntArray
    left: IntArray
    right: IntArray
    parent: IntArray
    feature: IntArray
    threshold: FloatArray
    n_distinct: IntArray


@redacted
class _Members(NamedTuple):
    """The known rows of each node: ``row[start[node] : start[node + 1]]``, ascending."""

    start: IntArray
    row: NDArray[np.int32]


@redacted
class _Splits(NamedTuple):
    """What splits say of one column: each entry is about the largest of ``x`` or of ``-x`` in a group of rows.

    Attributes
    ----------
    group : ndarray of int64, shape (n,)
        The node whose rows it is about.
    sign : ndarray of int64, shape (n,)
        0 for ``x``, 1 for ``-x``.
    threshold : ndarray of float64, shape (n,)
        Of best splits, whose entries come in twos, left and right: the two extremes' halves add up to it, each with
        its own sign, and it has that of the entry. NaN elsewhere.
    is_whole : ndarray of bool, shape (n,)
        Whether all rows of the group are known, so that one of them takes the extreme.
    reach : ndarray of float64, shape (2, n)
        Upper bounds of the extreme and of its negative.
    """

    group: IntArray
    sign: IntArray
    threshold: FloatArray
    is_whole: BoolArray
    reach: FloatArray


@redacted
class _Column(NamedTuple):
    """What is known of one column so far.

    Attributes
    ----------
    bound : ndarray of float64, shape (2, n_rows)
        Upper bounds of ``x`` and of ``-x``.
    above : ndarray of bool, shape (n_rows, n_rows); (0, 0) where there are too many rows
        Whether a row's value is known to be at least another's.
    splits : _Splits
    is_number : bool
        Whether its values are whole numbers.
    """

    bound: FloatArray
    above: BoolArray
    splits: _Splits
    is_number: bool


def propagate(
    forest: Forest,
    domain: Domain,
    leaves: IntArray,
    timebox: TimeBox,
    *,
    low: FloatArray | None = None,
    high: FloatArray | None = None,
    extremes: Extremes | None = None,
) -> Bounds:
    """Narrow every cell by all thresholds, given the rows' leaves.

    Parameters
    ----------
    forest : Forest
        With exact counts.
    domain : Domain
    leaves : ndarray of int64, shape (n_trees, n_rows)
        The node that each row reaches in each tree, `ABSENT` or `UNKNOWN`.
    timebox : TimeBox
        When it ends, the bounds so far are returned.
    low, high : ndarray of float64, broadcast to (n_rows, n_columns), optional
        What is known of the cells besides the domain's bounds.
    extremes : Extremes, optional
        Of the nodes of random splits.

    Returns
    -------
    Bounds
    """
    n_rows = leaves.shape[1]
    nodes = _nodes(forest)
    members = _members(nodes.parent, np.where(leaves < 0, -1, leaves + nodes.first[:, None]))
    is_whole = np.diff(members.start) == nodes.n_distinct
    is_number, may_miss = _kinds(domain)
    bound = _start(domain, n_rows, low, high)
    n_compared = n_rows if n_rows <= _MOST_COMPARED else 0
    columns = []
    for f in range(domain.n_columns):
        tested = np.flatnonzero(nodes.feature == f)
        splits = _bare_splits(nodes, tested, bound[f], bool(is_number[f]))
        if not may_miss[f]:
            if thresholds_are_midpoints(forest):
                # Where present values all go left, the threshold is infinite.
                threshold = np.where(np.isinf(nodes.threshold[tested]), np.nan, nodes.threshold[tested])
                splits = splits._replace(
                    threshold=(threshold[:, None] * (1, -1)).ravel(), is_whole=is_whole[splits.group]
                )
            if extremes is not None:
                splits = _with_extremes(splits, nodes, tested, is_whole, extremes)
        columns.append(_Column(bound[f], np.zeros((n_compared, n_compared), np.bool_), splits, bool(is_number[f])))

    # Every column is looked at once, however short the time is.
    untouched = bound[may_miss].copy()
    state = np.array([_pass(column, members) for column in columns])
    _forget_contradictions(bound, state, untouched, may_miss)
    groups = [(list(made.columns), made.dropped) for made in domain.attributes if made.kind == "one-hot"]
    while (state == _CHANGED).any() and not timebox.over:
        for f in np.flatnonzero(state == _CHANGED).tolist():
            state[f] = _settle(columns[f], members, timebox)
        for group, dropped in groups:
            _link(bound, state, group, dropped)

    lower, upper = -bound[:, 1].T, bound[:, 0].T
    contradictory = np.flatnonzero((lower > upper).any(axis=0) | (state == _CONTRADICTORY))
    is_sound = not len(contradictory) and not (np.diff(members.start) > nodes.n_distinct).any()
    certain = (lower == upper) & ~may_miss & is_sound
    return Bounds(lower, upper, certain, may_miss, tuple(contradictory.tolist()), not (state == _CHANGED).any())


def _forget_contradictions(bound: FloatArray, state: IntArray, untouched: FloatArray, may_miss: BoolArray) -> None:
    """Give back their first bounds to cells that no value fits, in columns with missing values: theirs are missing."""
    narrowed = bound[may_miss]
    is_empty = narrowed[:, 0] < -narrowed[:, 1]
    bound[may_miss] = np.where(is_empty[:, None], untouched, narrowed)
    state[may_miss] = _SETTLED


def _kinds(domain: Domain) -> tuple[BoolArray, BoolArray]:
    """Return, by column, whether its values are whole numbers, and whether some may be missing."""
    is_number, may_miss = np.zeros((2, domain.n_columns), np.bool_)
    for attribute in domain.attributes:
        is_number[list(attribute.columns)] = attribute.whole and attribute.low < attribute.high
        may_miss[list(attribute.columns)] = attribute.missing
    return is_number, may_miss


def _start(domain: Domain, n_rows: int, low: FloatArray | None, high: FloatArray | None) -> FloatArray:
    """Return the upper bounds of ``x`` and ``-x`` before any threshold, shape (n_columns, 2, n_rows)."""
    bound = np.empty((domain.n_columns, 2, n_rows))
    for attribute in domain.attributes:
        # Trees see a value's nearest float32, which can lie outside of the value's own bounds.
        bound[list(attribute.columns)] = np.array([[attribute.high], [-attribute.low]]).astype(np.float32)
    if high is not None:
        bound[:, 0] = np.minimum(bound[:, 0], np.asarray(high, np.float32).T if high.ndim == 2 else high[:, None])
    if low is not None:
        bound[:, 1] = np.minimum(bound[:, 1], -np.asarray(low, np.float32).T if low.ndim == 2 else -low[:, None])
    return bound


def _nodes(forest: Forest) -> _Nodes:
    trees = forest.trees
    first = np.cumsum([0, *(tree.n_nodes for tree in trees)])[:-1]

    def joined(children: Sequence[IntArray]) -> IntArray:
        return np.concatenate([np.where(c < 0, -1, c + f) for c, f in zip(children, first, strict=True)])

    left, right = joined([tree.left for tree in trees]), joined([tree.right for tree in trees])
    parent = np.full(len(left), -1)
    inner = np.flatnonzero(left >= 0)
    parent[left[inner]] = parent[right[inner]] = inner
    return _Nodes(
        first,
        left,
        right,
        parent,
        np.concatenate([tree.feature for tree in trees]),
        np.concatenate([tree.threshold for tree in trees]),
        np.concatenate([tree.n_distinct for tree in trees]),
    )


@njit(cache=True, nogil=True)
def _members(parent: IntArray, leaves: IntArray) -> _Members:
    """Return each node's rows, given their leaves in the common numbering, shape (n_trees, n_rows); -1 for none."""
    start = np.zeros(len(parent) + 1, dtype=np.int64)
    for tree in range(leaves.shape[0]):
        for row in range(leaves.shape[1]):
            node = leaves[tree, row]
            while node >= 0:
                start[node + 1] += 1
                node = parent[node]
    start = np.cumsum(start)
    place, rows = start.copy(), np.empty(start[-1], dtype=np.int32)
    for tree in range(leaves.shape[0]):
        for row in range(leaves.shape[1]):
            node = leaves[tree, row]
            while node >= 0:
                rows[place[node]] = row
                place[node] += 1
                node = parent[node]
    return _Members(start, rows)


def _bare_splits(nodes: _Nodes, tested: IntArray, bound: FloatArray, is_number: bool) -> _Splits:
    """Return what the thresholds of one column say by themselves: left is at most, right is above."""
    reach = np.empty((2, len(tested), 2))
    _within_boxes(nodes, tested, bound[0].max(), bound[1].max(), is_number, reach)
    n = 2 * len(tested)
    return _Splits(
        np.stack([nodes.left[tested], nodes.right[tested]], axis=1).ravel(),
        np.tile([0, 1], len(tested)),
        np.full(n, np.nan),
        np.zeros(n, np.bool_),
        reach.reshape(2, n),
    )


@njit(cache=True, nogil=True)
def _within_boxes(nodes: _Nodes, tested: IntArray, high: float, negative_low: float, is_number: bool, reach) -> None:  # type: ignore[no-untyped-def]
    """Fill in the extremes' bounds, shape (2, n, 2), by the thresholds on the way to each node."""
    for i in range(len(tested)):
        feature = nodes.feature[tested[i]]
        upper, negative_lower = high, negative_low
        child, node = tested[i], nodes.parent[tested[i]]
        while node >= 0:
            if nodes.feature[node] == feature:
                if nodes.left[node] == child:
                    upper = min(upper, _snapped(nodes.threshold[node], is_number))
                else:
                    negative_lower = min(negative_lower, _above(nodes.threshold[node], is_number))
            child, node = node, nodes.parent[node]
        reach[0, i, 0] = min(upper, _snapped(nodes.threshold[tested[i]], is_number))
        reach[1, i, 0] = negative_lower
        reach[0, i, 1] = min(negative_lower, _above(nodes.threshold[tested[i]], is_number))
        reach[1, i, 1] = upper


def _with_extremes(
    splits: _Splits, nodes: _Nodes, tested: IntArray, is_whole: BoolArray, extremes: Extremes
) -> _Splits:
    """Add the known extremes: the largest value of a node is to its right, the least to its left."""
    low, high = np.concatenate(list(extremes.low))[tested], np.concatenate(list(extremes.high))[tested]
    known = [np.flatnonzero(~np.isnan(high)), np.flatnonzero(~np.isnan(low))]
    group = np.concatenate([nodes.right[tested[known[0]]], nodes.left[tested[known[1]]]])
    extreme = np.concatenate([high[known[0]], -low[known[1]]])
    return _Splits(
        np.concatenate([splits.group, group]),
        np.concatenate([splits.sign, np.repeat([0, 1], [len(k) for k in known])]),
        np.concatenate([splits.threshold, np.full(len(group), np.nan)]),
        np.concatenate([splits.is_whole, is_whole[group]]),
        np.concatenate([splits.reach, np.stack([extreme, -extreme])], axis=1),
    )


@njit(cache=True, nogil=True, inline="always")
def _snapped(value: float, is_number: bool) -> float:
    """Return the largest float32, or whole number, that is at most a value."""
    nearest = np.float32(value)
    if nearest > value:
        nearest = np.nextafter(nearest, np.float32(-np.inf))
    return float(math.floor(nearest)) if is_number else float(nearest)


@njit(cache=True, nogil=True, inline="always")
def _above(threshold: float, is_number: bool) -> float:
    """Return the largest ``-x`` of an ``x`` above a threshold."""
    nearest = np.float32(threshold)
    if nearest <= threshold:
        nearest = np.nextafter(nearest, np.float32(np.inf))
    return _snapped(-np.float64(nearest), is_number)


@njit(cache=True, nogil=True, inline="always")
def _top(threshold: float, other: float, is_number: bool) -> float:
    """Return the largest value of which half, less half of another, is at most a threshold in float64."""
    guess = 2 * threshold + other
    value = _snapped(guess + 2.0**-51 * (abs(2 * threshold) + abs(guess)), is_number)
    for _ in range(2):
        if value / 2 - other / 2 <= threshold:
            break
        value = _snapped(np.float64(np.nextafter(np.float32(value), np.float32(-np.inf))), is_number)
    return value


@njit(cache=True, nogil=True, inline="always")
def _narrow(bound: FloatArray, sign: int, i: int, value: float) -> bool:
    """Lower one upper bound to a value, where it is higher; return whether that is more than `_CREEPING`."""
    before, width = bound[sign, i], bound[0, i] + bound[1, i]
    bound[sign, i] = min(before, value)
    return bool(before - bound[sign, i] > _CREEPING * width)


@njit(cache=True, nogil=True)
def _takers(column: _Column, members: _Members, i: int, taker: IntArray) -> int:
    """Find the rows of which one takes an extreme, where its whole group is known.

    Returns
    -------
    int
        How many were found, in `taker`; -1 where they are more than it has room for.
    """
    sign, floor, group = column.splits.sign[i], -column.splits.reach[1, i], column.splits.group[i]
    bound, above, n = column.bound, column.above, 0
    for row in members.row[members.start[group] : members.start[group + 1]]:
        if bound[sign, row] >= floor:
            if n == len(taker):
                return -1
            taker[n] = row
            n += 1
    if n < 2 or not len(above):
        return n
    # What is above is closed: of rows that are above each other, the first is never beaten.
    beaten = np.zeros(n, dtype=np.bool_)
    for k in range(n):
        for j in range(n):
            over, under = above[taker[j], taker[k]], above[taker[k], taker[j]]
            if sign == 1:
                over, under = under, over
            beaten[k] |= j != k and over and (j < k or not under)
    kept = 0
    for k in range(n):
        if not beaten[k]:
            taker[kept] = taker[k]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _pass(column: _Column, members: _Members) -> int:
    """Go through all splits of a column once and narrow its bounds; return the state."""
    bound, is_number = column.bound, column.is_number
    group, signs, threshold, is_whole, reach = column.splits
    start, member = members
    taker = np.empty(_MOST_EXAMINED, dtype=np.int64)
    changed = False
    for i in range(len(group)):
        sign, top, negative = signs[i], reach[0, i], reach[1, i]
        if threshold[i] == threshold[i]:
            top = min(top, _top(threshold[i], reach[0, i ^ 1], is_number))
            negative = min(negative, _top(-threshold[i], reach[1, i ^ 1], is_number))
        highest = -np.inf
        for k in range(start[group[i]], start[group[i] + 1]):
            row = member[k]
            highest = max(highest, bound[sign, row])
            negative = min(negative, bound[1 - sign, row])
            changed |= _narrow(bound, sign, row, top)
        if is_whole[i]:
            top = min(top, highest)
        changed |= _narrow(reach, 0, i, top)
        changed |= _narrow(reach, 1, i, negative)
        if not is_whole[i]:
            continue
        if top < -negative:
            return _CONTRADICTORY
        n = _takers(column, members, i, taker)
        if n == 0:
            return _CONTRADICTORY
        if n == 1:
            changed |= _narrow(bound, 1 - sign, taker[0], negative)
    for row in range(bound.shape[1]):
        if bound[0, row] < -bound[1, row]:
            return _CONTRADICTORY
    return _CHANGED if changed else _SETTLED


def _settle(column: _Column, members: _Members, timebox: TimeBox) -> int:
    """Propagate one column until nothing changes, or the time is out; return the state."""
    groups = column.splits.group
    visits = int((members.start[groups + 1] - members.start[groups]).sum()) + 1
    while not timebox.over:
        timebox.spend(visits / _VISITS)
        state = _pass(column, members)
        if state == _SETTLED:
            timebox.spend((visits + len(column.above) ** 3 / 8) / _VISITS)
            state = _compare(column, members)
        if state == _SETTLED:
            state = _solve(column, members)
        if state != _CHANGED:
            return int(state)
    return _CHANGED


@njit(cache=True, nogil=True)
def _compare(column: _Column, members: _Members) -> int:
    """Find which rows' values are at least which others', and narrow the bounds by that; return the state."""
    bound, n = column.bound, len(column.above)
    if not n:
        return _SETTLED
    above = column.above.copy()
    _add_order(column, members, above)
    for middle in range(n):
        for high in range(n):
            if above[high, middle]:
                above[high] |= above[middle]
    changed = bool((above != column.above).any())
    column.above[:] = above
    for high in range(n):
        for low in range(n):
            if above[high, low]:
                changed |= _narrow(bound, 0, low, bound[0, high])
                changed |= _narrow(bound, 1, high, bound[1, low])
    return _CHANGED if changed else _SETTLED


@njit(cache=True, nogil=True)
def _add_order(column: _Column, members: _Members, above: BoolArray) -> None:
    """Note whose values are at least whose: by their bounds, and of those that alone can take an extreme."""
    for high in range(len(above)):
        for low in range(len(above)):
            above[high, low] |= -column.bound[1, high] >= column.bound[0, low]
    taker = np.empty(_MOST_EXAMINED, dtype=np.int64)
    for i in range(len(column.splits.group)):
        if column.splits.is_whole[i] and _takers(column, members, i, taker) == 1:
            group = column.splits.group[i]
            for row in members.row[members.start[group] : members.start[group + 1]]:
                if column.splits.sign[i] == 0:
                    above[taker[0], row] = True
                else:
                    above[row, taker[0]] = True


def _is_narrower(new: FloatArray, old: FloatArray) -> bool:
    """Return whether bounds, shape (2, n), have become narrower by more than `_CREEPING`."""
    return bool((old - new > _CREEPING * (old[0] + old[1])).any())


def _solve(column: _Column, members: _Members) -> int:
    """Take extremes that the same rows can take as one, and solve the cycles of their equations; return the state."""
    splits, n_rows = column.splits, column.bound.shape[1]
    if not len(splits.group):
        return _SETTLED
    takers = _all_takers(column, members)
    single = (takers[:, 0] >= 0) & (takers[:, 1] < 0)
    none = np.flatnonzero(takers[:, 0] < 0)
    key = np.column_stack([np.where(single, 0, splits.sign), takers])
    key[none, 0] = 2 + none
    variable = n_rows + np.unique(key, axis=0, return_inverse=True)[1].reshape(-1)
    variable[single] = takers[single, 0]
    bound = np.full((2, variable.max(initial=n_rows - 1) + 1), np.inf)
    bound[:, :n_rows] = column.bound
    np.minimum.at(bound, (splits.sign, variable), splits.reach[0])
    np.minimum.at(bound, (1 - splits.sign, variable), splits.reach[1])
    best = np.flatnonzero((splits.threshold == splits.threshold) & (splits.sign == 0))
    _solve_cycles(variable[best], variable[best + 1], splits.threshold[best], bound, column.is_number)
    if (bound[0] < -bound[1]).any():
        return _CONTRADICTORY
    reach = np.stack([bound[splits.sign, variable], bound[1 - splits.sign, variable]])
    changed = _is_narrower(bound[:, :n_rows], column.bound) or _is_narrower(reach, splits.reach)
    column.bound[:] = bound[:, :n_rows]
    splits.reach[:] = reach
    return _CHANGED if changed else _SETTLED


@njit(cache=True, nogil=True)
def _all_takers(column: _Column, members: _Members) -> IntArray:
    """Return the rows of which one takes each extreme, shape (n, _MOST_TAKERS); -1 where there are fewer, or more."""
    found = np.full((len(column.splits.group), _MOST_TAKERS), -1)
    taker = np.empty(_MOST_EXAMINED, dtype=np.int64)
    for i in range(len(found)):
        if column.splits.is_whole[i]:
            n = _takers(column, members, i, taker)
            if n <= _MOST_TAKERS:
                for k in range(n):
                    found[i, k] = taker[k]
    return found


@njit(cache=True, nogil=True)
def _solve_cycles(one: IntArray, other: IntArray, threshold: FloatArray, bound: FloatArray, is_number: bool) -> None:
    """Narrow the bounds of variables of which pairs add up to twice a threshold, by the odd cycles of the pairs.

    Along equations every variable is its component's root or the root's negative, plus an offset; an odd cycle says so
    twice with different signs. Rounding errors are carried along as half-widths.

    Parameters
    ----------
    one, other : ndarray of int64, shape (n,)
    threshold : ndarray of float64, shape (n,)
        Rounded halves of the sums.
    bound : ndarray of float64, shape (2, n_variables)
        Upper bounds of each variable and its negative; narrowed in place.
    is_number : bool
    """
    n = bound.shape[1]
    root, sign, offset, error = np.arange(n), np.ones(n), np.zeros(n), np.zeros(n)
    size = np.ones(n, dtype=np.int64)
    for e in range(len(one)):
        _shorten(one[e], root, sign, offset, error)
        _shorten(other[e], root, sign, offset, error)
        u, v = one[e], other[e]
        a, b = root[u], root[v]
        if a == b:
            continue
        if size[a] < size[b]:
            u, v, a, b = v, u, b, a
        # sign_u a + offset_u + sign_v b + offset_v = 2 threshold, solved for b
        rest = 2 * threshold[e] - offset[u] - offset[v]
        size[a] += size[b]
        root[b], sign[b], offset[b] = a, -sign[u] * sign[v], sign[v] * rest
        error[b] = error[u] + error[v] + _ROUNDING * (abs(threshold[e]) + abs(offset[u]) + abs(offset[v]))
    middle, width = np.full(n, np.nan), np.full(n, np.inf)
    for e in range(len(one)):
        u, v = one[e], other[e]
        _shorten(u, root, sign, offset, error)
        _shorten(v, root, sign, offset, error)
        if sign[u] == sign[v] and root[u] == root[v]:
            half = error[u] + error[v] + _ROUNDING * (abs(threshold[e]) + abs(offset[u]) + abs(offset[v]))
            if half < width[root[u]]:
                width[root[u]] = half
                middle[root[u]] = sign[u] * (2 * threshold[e] - offset[u] - offset[v]) / 2
    for u in range(n):
        _shorten(u, root, sign, offset, error)
        if width[root[u]] < np.inf:
            value = sign[u] * middle[root[u]] + offset[u]
            half = width[root[u]] + error[u] + _ROUNDING * (abs(value) + abs(offset[u]))
            bound[0, u] = min(bound[0, u], _snapped(value + half, is_number))
            bound[1, u] = min(bound[1, u], _snapped(half - value, is_number))


@njit(cache=True, nogil=True)
def _shorten(u: int, root: IntArray, sign: FloatArray, offset: FloatArray, error: FloatArray) -> None:
    """Let a variable refer to its component's root directly."""
    while root[root[u]] != root[u]:
        p = root[u]
        offset[u] += sign[u] * offset[p]
        error[u] += error[p] + _ROUNDING * (abs(offset[u]) + abs(offset[p]))
        sign[u] *= sign[p]
        root[u] = root[p]


def _link(bound: FloatArray, state: IntArray, group: list[int], dropped: bool) -> None:
    """Narrow a one-hot group's bounds, shape (n_columns, 2, n_rows), and mark the columns that changed.

    One column of a group is 1 in every row, or none where one more value has no column.
    """
    upper, lower = bound[group, 0], -bound[group, 1]
    is_one, can_be_one = lower > 0, upper > 0
    n_ones, n_possible = is_one.sum(axis=0), can_be_one.sum(axis=0)
    upper = np.where((n_ones > 0) & ~is_one, np.minimum(upper, 0), upper)
    lower = np.where((n_possible == 1) & can_be_one & ~dropped, np.maximum(lower, 1), lower)
    changed = ((upper < bound[group, 0]) | (-lower < bound[group, 1])).any(axis=1)
    bound[group, 0], bound[group, 1] = upper, -lower
    these = np.array(group)
    state[these[changed & (state[these] == _SETTLED)]] = _CHANGED
    if (n_ones > 1).any() or (not dropped and (n_possible < 1).any()):
        state[these] = _CONTRADICTORY
