"""How many datasets explain the exact counts of a file, in bits, counted from the truth.

Multisets of labelled rows are counted: datasets with the same rows in another order are the same, because they hold the
same people. Seeds fix the place of a row, so an attacker who grows the forest again may have to try orders, too; that
protects nobody's values, and is not counted.

Every row stays in all its leaves, and can be anything in a box (`open_states`): so the rows vary independently. Values
on which a midpoint or a decoded extreme rests stay as they are. Datasets in which rows leave their leaves are not
counted: what is counted is the least.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln

from pytest_draft.ambiguity.explained import ExplainedRows
from pytest_draft.arrays import BoolArray, Flag, FloatArray, IntArray
from pytest_draft.attack.compiled_trees import NONE, goes_right
from pytest_draft.compiling import compiled

_MOST_BITS = 40.0
"""Larger boxes count as this large: what a 64-bit float counts exactly."""


def open_states(truth: ExplainedRows, rows: IntArray, stop: Flag) -> BoolArray | None:
    """Return in which states rows stay in all their leaves and leave all splits their bounds, whatever the others do.

    Parameters
    ----------
    rows : ndarray of int64, shape (n_rows,)
        All others stay as they are.
    stop : ndarray of uint8, shape (1,)
        If it is raised, that is not known: None.

    Returns
    -------
    ndarray of bool, shape (n_rows, n_states), or None
        Of all attributes, one after the other.
    """
    data = truth.dataset(0)
    inside: BoolArray = boxes(truth.nodes, data, rows, stop)
    return None if stop[0] else inside


def cell_bits(truth: ExplainedRows, rows: IntArray, inside: BoolArray) -> float:
    """Return log2 of the least number of datasets that leave each of some rows in all its leaves.

    Boxes that share no vector are independent of each other. Rows of one box are as many multisets of its vectors. Of
    boxes that overlap, those are counted that are apart from each other; or all ordered choices, divided by in how many
    ways the rows of one multiset can be given out to boxes at most: the permanent of the matrix that says which rows
    lie in which boxes, which is at most the product of ``d! ** (1 / d)``, each box having room for at most d rows
    (Bregman, 1973).

    Parameters
    ----------
    rows : ndarray of int64, shape (n_rows,)
    inside : ndarray of bool, shape (n_rows, n_states)
        As of `open_states`.
    """
    start, label = truth.nodes.start, truth.label[rows]
    bits = np.log2(np.add.reduceat(inside, start[:-1], axis=1, dtype=np.int64)).sum(axis=1)
    open_ones = bits > 0
    if not open_ones.any():
        return 0.0
    inside, label, bits = inside[open_ones], label[open_ones], bits[open_ones]
    meets = label[:, None] == label
    for first, end in pairwise(start.tolist()):
        states = inside[:, first:end].astype(np.float32)
        meets &= states @ states.T > 0
    packed = np.column_stack([np.packbits(inside, axis=1), label])
    _, box = np.unique(packed, axis=0, return_inverse=True)
    n_parts, part = connected_components(csr_array(meets), directed=False)
    of_parts = [np.flatnonzero(part == one) for one in range(n_parts)]
    return sum(
        max(_apart(bits[of], box.reshape(-1)[of], meets[np.ix_(of, of)]), _together(bits[of], meets[np.ix_(of, of)]))
        for of in of_parts
    )


def _apart(bits: FloatArray, box: IntArray, meets: BoolArray) -> float:
    """Return the bits of boxes that share no vector with each other, those with the most bits first."""
    _, first, number = np.unique(box, return_index=True, return_counts=True)
    vectors = np.exp2(np.minimum(bits[first], _MOST_BITS))
    ways = (gammaln(number + vectors) - gammaln(vectors) - gammaln(number + 1)) / np.log(2)
    free, total = np.ones(len(bits), dtype=bool), 0.0
    for place in np.argsort(-ways, kind="stable"):
        if free[first[place]]:
            total += float(ways[place])
            free &= ~meets[first[place]]
    return total


def _together(bits: FloatArray, meets: BoolArray) -> float:
    """Return the bits of the ordered choices of some rows, counting equal multisets once; at least 0.

    Rows are added as long as that gains anything.
    """
    cost = gammaln(np.arange(len(bits) + 2) + 1) / np.log(2) / np.maximum(np.arange(len(bits) + 2), 1)
    weight = meets.astype(np.float64)
    chosen, total = np.zeros(len(bits), dtype=bool), 0.0
    room = np.ones(len(bits), dtype=np.int64)  # how many chosen boxes a box overlaps, with itself
    while not chosen.all():
        dearer = np.where(chosen, cost[room + 1] - cost[room], 0.0)
        gain = np.where(chosen, -np.inf, bits - cost[room] - weight @ dearer)
        best = int(gain.argmax())
        if gain[best] <= 0:
            break
        total += float(gain[best])
        chosen[best] = True
        room += meets[best]
        room[best] -= 1
    return total


@compiled
def _bounds(nodes, data, v):  # type: ignore[no-untyped-def]
    """Return the states on both sides of a split that have to stay: of a midpoint, else of decoded extremes."""
    if np.isnan(nodes.twice[v]):
        return nodes.lowest[v], nodes.highest[v]
    return data.below[v], data.above[v]


@compiled
def _allowed(nodes, data, v, goes_left, low, high):  # type: ignore[no-untyped-def]
    """Return which of some present states, one after the other, leave a node's bounds as they are in such a row."""
    least, most = _bounds(nodes, data, v)
    if np.isnan(nodes.twice[v]):
        return max(low, least), min(high, most) if most >= 0 else high
    return (low, min(high, least)) if goes_left else (max(low, most), high)


@compiled
def _states_left(nodes, data, k, low, high, inside):  # type: ignore[no-untyped-def]  # noqa: PLR0912
    """Mark in which states a row stays in its leaves, and all splits keep their bounds.

    Those of an attribute that are present are one interval, but for positions in one-hot groups.
    """
    walks, start, missing, times, fixed = nodes.walks, nodes.start, nodes.walks.missing, data.times, data.fixed
    n_attributes = len(start) - 1
    inside[:] = True
    for a in range(n_attributes):
        low[a], high[a] = 0, start[a + 1] - start[a] - 1 - (missing[a] >= 0)
    for t in range(len(walks.root) - 1):
        v = walks.root[t]
        while times[t, k] > 0 and walks.attribute[v] >= 0:
            a, begin = walks.attribute[v], walks.right[2 * v]
            is_right = goes_right(walks.right, v, data.state[k, a])
            if walks.one_hot[a]:
                if is_right:
                    low[a] = high[a] = begin
                elif begin < walks.right[2 * v + 1]:
                    inside[start[a] + begin] = False
            else:
                if missing[a] >= 0 and goes_right(walks.right, v, missing[a]) != is_right:
                    inside[start[a] + missing[a]] = False
                if is_right:
                    low[a] = max(low[a], begin)
                else:
                    high[a] = min(high[a], begin - 1)
                low[a], high[a] = _allowed(nodes, data, v, not is_right, low[a], high[a])
            v = walks.child[2 * v + is_right]
    for a in range(n_attributes):
        for s in range(start[a + 1] - start[a]):
            if fixed[k, a]:
                inside[start[a] + s] = s == data.state[k, a]
            elif s != missing[a] and not low[a] <= s <= high[a]:
                inside[start[a] + s] = False


@compiled
def boxes(nodes, data, rows, stop):  # type: ignore[no-untyped-def]
    """Return in which states rows stay in the same leaf of every tree, and all splits keep their bounds.

    Parameters
    ----------
    nodes : NodeArrays
    data : Dataset
    rows : ndarray of int64, shape (n_moving,)
    stop : ndarray of uint8, shape (1,)
        Looked at before each row. Where it is raised, nothing follows from what is returned.

    Returns
    -------
    ndarray of bool, shape (n_moving, n_states)
    """
    n_rows, n_attributes = data.state.shape
    walks, start, times = nodes.walks, nodes.start, data.times
    inside = np.ones((len(rows), start[n_attributes]), np.bool_)
    stays = np.ones((n_rows, n_attributes), np.bool_)
    place = np.full(n_rows, NONE, np.int64)
    low, high = np.empty(n_attributes, np.int64), np.empty(n_attributes, np.int64)
    for i in range(len(rows)):
        if stop[0] != 0:
            break
        k = rows[i]
        place[k] = i
        _states_left(nodes, data, k, low, high, inside[i])
        for a in range(n_attributes):
            stays[k, a] = inside[i, start[a] : start[a + 1]].sum() == 1
    holds, n_trees = np.full((len(nodes.weight), 2), NONE, np.int64), len(walks.root) - 1
    for t in range(n_trees):  # first rows that stay anyhow
        for k in range(n_rows):
            if stop[0] != 0:
                break
            if times[t, k] != 0:
                _hold(nodes, data, walks.root[t], k, place[k], False, stays, holds, inside)
    for k in range(n_rows):
        if place[k] < 0 or stop[0] != 0:
            continue
        for t in range(n_trees):
            if times[t, k] != 0:
                _hold(nodes, data, walks.root[t], k, place[k], True, stays, holds, inside)
    return inside


@compiled
def _hold(nodes, data, v, k, i, may_fix, stays, holds, inside):  # type: ignore[no-untyped-def]
    """Let bounds of a tree that rest on no row yet rest on one that has them and stays, or is made to stay."""
    walks, start = nodes.walks, nodes.start
    while walks.attribute[v] >= 0:
        a, s = walks.attribute[v], data.state[k, walks.attribute[v]]
        if not walks.one_hot[a] and s != walks.missing[a]:
            bounds = _bounds(nodes, data, v)
            for side in range(2):
                if s != bounds[side] or holds[v, side] >= 0:
                    continue
                if may_fix and not stays[k, a]:
                    inside[i, start[a] : start[a + 1]] = False
                    inside[i, start[a] + s] = stays[k, a] = True
                if stays[k, a]:
                    holds[v, side] = k
        v = walks.child[2 * v + goes_right(walks.right, v, s)]
