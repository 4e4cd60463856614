"""Sends encoded vectors down a tree and returns the leaves that they reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Tree
from pytest_draft.attack.redacted import redacted


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
        if watch is not None:
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
