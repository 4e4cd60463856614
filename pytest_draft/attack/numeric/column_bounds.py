"""One column's bounds: in goes what its splits say of groups of rows, out come narrower bounds of every cell.

The smallest value of ``x`` is the largest of ``-x``, negated: both are written as one kind of extreme, with a sign. The
bounds of rows and of extremes narrow each other to a fixpoint; rows are compared with each other; and extremes that the
same rows can take are one unknown, of which the equations are solved along odd cycles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.artifact.forest.nodes import ForestNodes
from pytest_draft.attack.best_splits import ROUNDING, float32_at_most, most_beside, snapped
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled, inlined
from pytest_draft.timebox import TimeBox

SETTLED, CHANGED, CONTRADICTORY = 0, 1, 2
"""The state of a column: nothing is left to propagate; something is; no values fit it."""

_MOST_TAKERS = 8
"""Most rows by which an extreme is recognised in another group."""

_MOST_EXAMINED = 64
"""Most rows that are compared to find who can take an extreme."""

_CREEPING = 2.0**-8
"""A share of a cell's width: inequalities in a cycle can narrow it without end by less, which is not waited for."""

_VISITS = 5e7
"""Rows of groups that are looked at in a unit of work."""


@redacted
class Members(NamedTuple):
    """The known rows of each node: ``row[start[node] : start[node + 1]]``, ascending."""

    start: IntArray
    row: Int32Array


@redacted
class SplitGroups(NamedTuple):
    """What splits say of one column: each entry is about the largest of ``x`` or of ``-x`` in a group of rows."""

    group: IntArray
    """Shape (n,). The node whose rows it is about."""
    sign: IntArray
    """Shape (n,). 0 for ``x``, 1 for ``-x``."""
    threshold: FloatArray
    """Shape (n,). Of best splits, whose entries come in twos, left and right: the two extremes' halves add up to it,
    each with its own sign, and it has that of the entry. NaN elsewhere.
    """
    is_whole: BoolArray
    """Shape (n,). Whether all rows of the group are known, so that one of them takes the extreme."""
    reach: FloatArray
    """Shape (2, n). Upper bounds of the extreme and of its negative."""


@redacted
class ColumnBounds(NamedTuple):
    """What is known of one column so far."""

    bound: FloatArray
    """Shape (2, n_rows). Upper bounds of ``x`` and of ``-x``."""
    above: BoolArray
    """Shape (n_rows, n_rows); (0, 0) where there are too many rows. Whether a row's value is known to be at least
    another's.
    """
    splits: SplitGroups
    is_number: bool
    """Whether its values are whole numbers."""


@compiled
def members_of(parent: IntArray, leaves: IntArray) -> Members:
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
    return Members(start, rows)


def bare_splits(
    nodes: ForestNodes, levels: list[IntArray], tested: IntArray, bound: FloatArray, is_number: bool
) -> SplitGroups:
    """Return what the thresholds of one column say by themselves: left is at most, right is above.

    Parameters
    ----------
    levels : list of ndarray of int64
        The nodes of each depth.
    tested : ndarray of int64, shape (n,)
        The nodes that test the column.
    """
    below = float32_at_most(nodes.threshold[tested])
    above = -np.nextafter(below.astype(np.float32), np.float32(np.inf)).astype(np.float64)
    limit = np.full((2, len(nodes.left)), np.inf)
    limit[:, tested] = np.floor((below, above)) if is_number else (below, above)
    inside = np.repeat(bound.max(axis=1)[:, None], len(nodes.left), axis=1)
    for level in levels:
        inner = level[nodes.left[level] >= 0]
        left, right = nodes.left[inner], nodes.right[inner]
        inside[:, left] = inside[:, right] = inside[:, inner]
        inside[0, left] = np.minimum(inside[0, left], limit[0, inner])
        inside[1, right] = np.minimum(inside[1, right], limit[1, inner])
    group, n = np.stack([nodes.left[tested], nodes.right[tested]], axis=1), 2 * len(tested)
    reach = np.stack([inside[:, group[:, 0]], inside[::-1, group[:, 1]]], axis=2).reshape(2, n)
    return SplitGroups(group.ravel(), np.tile([0, 1], len(tested)), np.full(n, np.nan), np.zeros(n, np.bool_), reach)


def with_extremes(
    splits: SplitGroups, nodes: ForestNodes, tested: IntArray, is_whole: BoolArray, extremes: Extremes
) -> SplitGroups:
    """Add the known extremes: the largest value of a node is to its right, the least to its left."""
    low, high = np.concatenate(list(extremes.low))[tested], np.concatenate(list(extremes.high))[tested]
    known = [np.flatnonzero(~np.isnan(high)), np.flatnonzero(~np.isnan(low))]
    group = np.concatenate([nodes.right[tested[known[0]]], nodes.left[tested[known[1]]]])
    extreme = np.concatenate([high[known[0]], -low[known[1]]])
    sign, nothing = np.repeat([0, 1], [len(k) for k in known]), np.full(len(group), np.nan)
    of_extremes = group, sign, nothing, is_whole[group], np.stack([extreme, -extreme])
    return SplitGroups(*(np.concatenate(both, axis=-1) for both in zip(splits, of_extremes, strict=True)))


@inlined
def _narrow(bound: FloatArray, sign: int, i: int, value: float) -> bool:
    """Lower one upper bound to a value, where it is higher; return whether that is more than `_CREEPING`."""
    before, width = bound[sign, i], bound[0, i] + bound[1, i]
    bound[sign, i] = min(before, value)
    return bool(before - bound[sign, i] > _CREEPING * width)


@compiled
def _takers(column: ColumnBounds, members: Members, i: int, taker: IntArray) -> int:
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


@compiled
def pass_once(column: ColumnBounds, members: Members) -> int:
    """Go through all splits of a column once and narrow its bounds; return the state."""
    bound, is_number = column.bound, column.is_number
    group, signs, threshold, is_whole, reach = column.splits
    start, member = members
    taker = np.empty(_MOST_EXAMINED, dtype=np.int64)
    changed = False
    for i in range(len(group)):
        sign, top, negative = signs[i], reach[0, i], reach[1, i]
        if threshold[i] == threshold[i]:
            top = min(top, most_beside(threshold[i], reach[0, i ^ 1], is_number))
            negative = min(negative, most_beside(-threshold[i], reach[1, i ^ 1], is_number))
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
            return CONTRADICTORY
        n = _takers(column, members, i, taker)
        if n == 0:
            return CONTRADICTORY
        if n == 1:
            changed |= _narrow(bound, 1 - sign, taker[0], negative)
    for row in range(bound.shape[1]):
        if bound[0, row] < -bound[1, row]:
            return CONTRADICTORY
    return CHANGED if changed else SETTLED


def settle(column: ColumnBounds, members: Members, timebox: TimeBox) -> int:
    """Propagate one column until nothing changes, or the time is out; return the state."""
    groups = column.splits.group
    visits = int((members.start[groups + 1] - members.start[groups]).sum()) + 1
    while not timebox.over:
        timebox.spend(visits / _VISITS)
        state = pass_once(column, members)
        if state == SETTLED:
            timebox.spend((visits + len(column.above) ** 3 / 8) / _VISITS)
            state = _compare(column, members)
        if state == SETTLED:
            state = _solve(column, members)
        if state != CHANGED:
            return int(state)
    return CHANGED


def _compare(column: ColumnBounds, members: Members) -> int:
    """Find which rows' values are at least which others', and narrow the bounds by that; return the state."""
    if not len(column.above):
        return SETTLED
    before, above = column.bound.copy(), column.above.copy()
    above |= -column.bound[1][:, None] >= column.bound[0]
    takers = _all_takers(column, members)
    for i in np.flatnonzero((takers[:, 0] >= 0) & (takers[:, 1] < 0)).tolist():
        group = column.splits.group[i]
        rows = members.row[members.start[group] : members.start[group + 1]]
        if column.splits.sign[i] == 0:
            above[takers[i, 0], rows] = True
        else:
            above[rows, takers[i, 0]] = True
    for middle in range(len(above)):
        above[above[:, middle]] |= above[middle]
    changed = bool((above != column.above).any())
    column.above[:] = above
    upper, lower = column.bound
    column.bound[0] = np.minimum(upper, np.where(above, upper[:, None], np.inf).min(axis=0))
    column.bound[1] = np.minimum(lower, np.where(above, lower, np.inf).min(axis=1))
    return CHANGED if changed or _is_narrower(column.bound, before) else SETTLED


def _is_narrower(new: FloatArray, old: FloatArray) -> bool:
    """Return whether bounds, shape (2, n), have become narrower by more than `_CREEPING`."""
    return bool((old - new > _CREEPING * (old[0] + old[1])).any())


def _solve(column: ColumnBounds, members: Members) -> int:
    """Take extremes that the same rows can take as one, and solve the cycles of their equations; return the state."""
    splits, n_rows = column.splits, column.bound.shape[1]
    if not len(splits.group):
        return SETTLED
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
        return CONTRADICTORY
    reach = np.stack([bound[splits.sign, variable], bound[1 - splits.sign, variable]])
    changed = _is_narrower(bound[:, :n_rows], column.bound) or _is_narrower(reach, splits.reach)
    column.bound[:] = bound[:, :n_rows]
    splits.reach[:] = reach
    return CHANGED if changed else SETTLED


@compiled
def _all_takers(column: ColumnBounds, members: Members) -> IntArray:
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


@compiled
def _solve_cycles(one: IntArray, other: IntArray, threshold: FloatArray, bound: FloatArray, is_number: bool) -> None:
    """Narrow the bounds of variables of which pairs add up to twice a threshold, by the odd cycles of the pairs.

    Where ``x + y``, ``y + z`` and ``z + x`` are known, so are all three: along equations every variable is its
    component's root or the root's negative, plus an offset, and an odd cycle says so twice with different signs.
    Rounding errors are carried along as half-widths.

    Parameters
    ----------
    one, other : ndarray of int64, shape (n,)
    threshold : ndarray of float64, shape (n,)
        Rounded halves of the sums.
    bound : ndarray of float64, shape (2, n_variables)
        Upper bounds of each variable and its negative; narrowed in place.
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
        error[b] = error[u] + error[v] + ROUNDING * (abs(threshold[e]) + abs(offset[u]) + abs(offset[v]))
    middle, width = np.full(n, np.nan), np.full(n, np.inf)
    for e in range(len(one)):
        u, v = one[e], other[e]
        _shorten(u, root, sign, offset, error)
        _shorten(v, root, sign, offset, error)
        if sign[u] == sign[v] and root[u] == root[v]:
            half = error[u] + error[v] + ROUNDING * (abs(threshold[e]) + abs(offset[u]) + abs(offset[v]))
            if half < width[root[u]]:
                width[root[u]] = half
                middle[root[u]] = sign[u] * (2 * threshold[e] - offset[u] - offset[v]) / 2
    for u in range(n):
        _shorten(u, root, sign, offset, error)
        if width[root[u]] < np.inf:
            value = sign[u] * middle[root[u]] + offset[u]
            half = width[root[u]] + error[u] + ROUNDING * (abs(value) + abs(offset[u]))
            bound[0, u] = min(bound[0, u], snapped(value + half, is_number))
            bound[1, u] = min(bound[1, u], snapped(half - value, is_number))


@compiled
def _shorten(u: int, root: IntArray, sign: FloatArray, offset: FloatArray, error: FloatArray) -> None:
    """Let a variable refer to its component's root directly."""
    while root[root[u]] != root[u]:
        p = root[u]
        offset[u] += sign[u] * offset[p]
        error[u] += error[p] + ROUNDING * (abs(offset[u]) + abs(offset[p]))
        sign[u] *= sign[p]
        root[u] = root[p]
