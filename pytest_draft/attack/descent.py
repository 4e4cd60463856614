"""Sends encoded vectors down a tree and returns the leaves that they reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Tree
from pytest_draft.attack.redacted import redacted
from pytest_draft.domain import Domain


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


def leaf_boxes(tree: Tree, domain: Domain) -> list[dict[int, BoolArray]]:
    """Return, for each leaf, the values that each tested attribute can have there.

    Parameters
    ----------
    domain : Domain
        Without numeric attributes.

    Returns
    -------
    list of dict of int to ndarray of bool, shape (n_values of the attribute,)
        By attribute; those that no node on the way tests are open and left out.
    """
    encoded = [attribute.encoded(np.arange(attribute.n_values)) for attribute in domain.attributes]
    box: dict[int, dict[int, BoolArray]] = {0: {}}
    for node in range(tree.n_nodes):  # a child's index is above its parent's
        if tree.left[node] < 0:
            continue
        here, column = box.pop(node), int(tree.feature[node])
        a, place = int(domain.attribute_of_column[column]), int(domain.place_of_column[column])
        below = encoded[a][:, place] <= tree.threshold[node]
        held = here.get(a, np.ones(len(below), dtype=np.bool_))
        box[int(tree.left[node])] = {**here, a: held & below}
        box[int(tree.right[node])] = {**here, a: held & ~below}
    return [box[leaf] for leaf in tree.leaves.tolist()]
