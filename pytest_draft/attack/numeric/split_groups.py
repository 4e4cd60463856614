"""What splits say of groups of rows: in go a forest and each row's leaves, out come groups' extremes and bounds.

The smallest value of ``x`` is the largest of ``-x``, negated: both are written as one kind of extreme, with a sign.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.nodes import ForestNodes
from pytest_draft.attack.best_splits import snapped, snapped_above
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.attack.redacted import redacted


@redacted
class JoinedNodes(NamedTuple):
    """The nodes of all trees in one numbering, each tree's from `first`; fields as in `Tree`, -1 for no node."""

    first: IntArray
    left: IntArray
    right: IntArray
    parent: IntArray
    feature: IntArray
    threshold: FloatArray
    n_distinct: IntArray


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


def joined_nodes(forest: Forest) -> JoinedNodes:
    """Return the nodes of all trees in one numbering."""
    nodes, n_distinct = ForestNodes.of(forest.trees), np.concatenate([tree.n_distinct for tree in forest.trees])
    return JoinedNodes(
        nodes.first[:-1], nodes.left, nodes.right, nodes.parent, nodes.feature, nodes.threshold, n_distinct
    )


@njit(cache=True, nogil=True)
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


def bare_splits(nodes: JoinedNodes, tested: IntArray, bound: FloatArray, is_number: bool) -> SplitGroups:
    """Return what the thresholds of one column say by themselves: left is at most, right is above."""
    reach = np.empty((2, len(tested), 2))
    _within_boxes(nodes, tested, bound[0].max(), bound[1].max(), is_number, reach)
    n = 2 * len(tested)
    return SplitGroups(
        np.stack([nodes.left[tested], nodes.right[tested]], axis=1).ravel(),
        np.tile([0, 1], len(tested)),
        np.full(n, np.nan),
        np.zeros(n, np.bool_),
        reach.reshape(2, n),
    )


@njit(cache=True, nogil=True)
def _within_boxes(
    nodes: JoinedNodes, tested: IntArray, high: float, negative_low: float, is_number: bool, reach: FloatArray
) -> None:
    """Fill in the extremes' bounds, shape (2, n, 2), by the thresholds on the way to each node."""
    for i in range(len(tested)):
        feature = nodes.feature[tested[i]]
        upper, negative_lower = high, negative_low
        child, node = tested[i], nodes.parent[tested[i]]
        while node >= 0:
            if nodes.feature[node] == feature:
                if nodes.left[node] == child:
                    upper = min(upper, snapped(nodes.threshold[node], is_number))
                else:
                    negative_lower = min(negative_lower, snapped_above(nodes.threshold[node], is_number))
            child, node = node, nodes.parent[node]
        reach[0, i, 0] = min(upper, snapped(nodes.threshold[tested[i]], is_number))
        reach[1, i, 0] = negative_lower
        reach[0, i, 1] = min(negative_lower, snapped_above(nodes.threshold[tested[i]], is_number))
        reach[1, i, 1] = upper


def with_extremes(
    splits: SplitGroups, nodes: JoinedNodes, tested: IntArray, is_whole: BoolArray, extremes: Extremes
) -> SplitGroups:
    """Add the known extremes: the largest value of a node is to its right, the least to its left."""
    low, high = np.concatenate(list(extremes.low))[tested], np.concatenate(list(extremes.high))[tested]
    known = [np.flatnonzero(~np.isnan(high)), np.flatnonzero(~np.isnan(low))]
    group = np.concatenate([nodes.right[tested[known[0]]], nodes.left[tested[known[1]]]])
    extreme = np.concatenate([high[known[0]], -low[known[1]]])
    sign, nothing = np.repeat([0, 1], [len(k) for k in known]), np.full(len(group), np.nan)
    of_extremes = group, sign, nothing, is_whole[group], np.stack([extreme, -extreme])
    return SplitGroups(*(np.concatenate(both, axis=-1) for both in zip(splits, of_extremes, strict=True)))
