"""Sends encoded vectors down a tree: returns the leaves that they reach, and what is next to its thresholds.

All vectors go down together, node after node: those of a node stand side by side, and its test is read once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Tree
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled


@redacted
class Passing(NamedTuple):
    """Vectors that pass inner nodes, each one node."""

    vector: IntArray
    """Shape (n_passing,). Which vectors."""
    node: IntArray
    """Shape (n_passing,). The node that each passes."""
    value: NDArray[np.floating[Any]]
    """Shape (n_passing,). What it has in the tested column."""
    left: BoolArray
    """Shape (n_passing,). Whether it goes left."""


def descend(tree: Tree, columns: NDArray[np.floating[Any]], watch: Callable[[Passing], None] | None = None) -> IntArray:
    """Return the leaf that each vector reaches, as a node of the tree.

    Parameters
    ----------
    columns : ndarray of floats, shape (n_columns, n_vectors)
        The vectors, column by column. A missing value (NaN) goes where its node sends it.
    watch : callable or None
        Is shown each level of the tree from the root down: the vectors that pass a node there.

    Returns
    -------
    ndarray of int64, shape (n_vectors,)
    """
    if watch is None:
        return sent_down(tree, columns, np.arange(columns.shape[1])).node
    children = np.stack([tree.right, tree.left], axis=1).ravel()
    node = np.zeros(columns.shape[1], dtype=np.int64)
    active = np.arange(columns.shape[1]) if tree.left[0] >= 0 else np.empty(0, dtype=np.int64)
    some_missing = bool(np.isnan(columns.min(initial=0)))
    while active.size:
        here = node[active]
        value = columns[tree.feature[here], active]
        left = value <= tree.threshold[here]
        if some_missing:
            left |= np.isnan(value) & tree.missing_left[here]
        watch(Passing(active, here, value, left))
        here = children[2 * here + left]
        node[active] = here
        active = active[tree.left[here] >= 0]
    return node


def leaf_positions(tree: Tree, columns: NDArray[np.floating[Any]]) -> Int32Array:
    """Return the leaf that each vector reaches, as a position among the tree's leaves.

    Parameters
    ----------
    columns : ndarray of floats, shape (n_columns, n_vectors)
        As in `descend`.

    Returns
    -------
    ndarray of int32, shape (n_vectors,)
    """
    position = np.cumsum(tree.left < 0) - 1
    return position[descend(tree, columns)].astype(np.int32)


@redacted
class SentDown(NamedTuple):
    """Vectors that have gone down a tree."""

    node: IntArray
    """Shape (n_vectors,). The leaf that each reaches, as a node of the tree; -1 of those that were not sent."""
    top: FloatArray
    """Shape (n_nodes, 2). At nodes that look at the values next to their threshold, the largest that goes left, and the
    smallest that goes right, negated; at those that look at all values, the largest and the smallest, negated; -inf
    where there are none.
    """
    takers: IntArray
    """Shape (n_nodes, 2). How many vectors have it."""


def sent_down(
    tree: Tree,
    columns: NDArray[np.floating[Any]],
    vectors: IntArray,
    beside: BoolArray | None = None,
    whole: BoolArray | None = None,
) -> SentDown:
    """Send some vectors down a tree.

    Parameters
    ----------
    columns : ndarray of floats, shape (n_columns, n_vectors)
        As in `descend`.
    vectors : ndarray of int64, shape (n_sent,)
        Which of them, each once.
    beside, whole : ndarray of bool, shape (n_nodes,), or None
        Inner nodes that look at the values next to their threshold, and at all values.
    """
    looks = np.zeros(tree.n_nodes, dtype=np.int8)
    for mark, those in ((1, beside), (2, whole)):
        if those is not None:
            looks[those] = mark
    node = np.full(columns.shape[1], -1, dtype=np.int64)
    top, takers = np.full((tree.n_nodes, 2), -np.inf), np.zeros((tree.n_nodes, 2), dtype=np.int64)
    order = vectors.astype(np.int32)
    columns = np.ascontiguousarray(columns)
    if columns.dtype != np.float32:
        columns = columns.astype(np.float64, copy=False)
    nodes = (tree.left, tree.right, tree.feature, tree.threshold, tree.missing_left)
    left, right, feature, threshold, missing_left, columns = map(_read_only, (*nodes, columns))
    _sent_down(left, right, feature, threshold, missing_left, columns, order, looks, node, top, takers)
    return SentDown(node, top, takers)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same array, not to be written to: some trees' arrays are, and each mixture would be compiled anew."""
    shown = array.view()
    shown.flags.writeable = False
    return shown


@compiled
def _sent_down(left, right, feature, threshold, missing_left, columns, order, looks, node, top, takers):  # type: ignore[no-untyped-def]
    """Sort vectors by leaves: those of each node stand together, in their order."""
    start, stop = np.zeros(len(left), np.int64), np.zeros(len(left), np.int64)
    stop[0] = len(order)
    lefts, rights = np.empty(len(order), columns.dtype), np.empty(len(order), columns.dtype)
    away = np.empty(len(order), np.int32)
    for v in range(len(left)):
        here = order[start[v] : stop[v]]
        if left[v] < 0:
            for i in range(len(here)):
                node[here[i]] = v
            continue
        column, cut, to_left = columns[feature[v]], threshold[v], missing_left[v]
        n_left, n_right = np.uint64(0), np.uint64(0)
        for i in range(len(here)):
            vector = here[i]
            value = column[np.uint32(vector)]
            goes_left = np.uint64((value <= cut) | (np.isnan(value) & to_left))
            here[n_left], away[n_right] = vector, vector
            lefts[n_left], rights[n_right] = value, value
            n_left += goes_left
            n_right += np.uint64(1) - goes_left
        here[n_left:] = away[:n_right]
        middle = start[v] + np.int64(n_left)
        start[left[v]], stop[left[v]], start[right[v]], stop[right[v]] = start[v], middle, middle, stop[v]
        for side in range(2 if looks[v] else 0):
            for part, some in enumerate((lefts[:n_left], rights[:n_right])):
                for i in range(len(some) if part == side or looks[v] == 2 else 0):
                    value = np.float64(some[i]) if side == 0 else -np.float64(some[i])
                    if value > top[v, side]:
                        top[v, side], takers[v, side] = value, 0
                    takers[v, side] += value == top[v, side]
