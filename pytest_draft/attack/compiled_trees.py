"""Trees over a domain's values: arrays of a forest's tests, ready for compiled code.

A row is the index of its value in each attribute, and a node decides from the index alone where the row goes. So a leaf
is found without encoding a row, and domains that cannot be enumerated are walked as fast as small ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, Int32Array
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.redacted import redacted
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError

MOST_ANSWERS = 200_000_000
"""Most answers of nodes to values that are held at once."""


@redacted
class Walks(NamedTuple):
    """All trees of a forest in one numbering of nodes, and one of leaves."""

    root: Int32Array
    """Shape (n_trees,)."""
    attribute: Int32Array
    """Shape (n_nodes,). The attribute that a node tests; ``-1 - leaf`` at leaves."""
    start: Int32Array
    """Shape (n_nodes,). Where a node's answers begin in `left`."""
    left: NDArray[np.int8]
    """Shape (n_answers,). Whether each value of the tested attribute goes left."""
    child: Int32Array
    """Shape (2 * n_nodes,). Right and left child of each node."""

    @classmethod
    def of(cls, forest: Forest, domain: Domain) -> Walks:
        """Return the trees of a forest; leaves are numbered tree by tree, as in `Tree.leaves`.

        Raises
        ------
        NotCoveredError
            Where the domain is numeric, or too wide.
        """
        owner, place = domain.attribute_of_column, domain.place_of_column
        inner_columns = np.concatenate([tree.feature[tree.left >= 0] for tree in forest.trees])
        n_values = np.array([one.n_values for one in domain.attributes])
        if (total := int(n_values[owner[inner_columns]].sum())) > MOST_ANSWERS:
            raise NotCoveredError(
                f"its nodes test {total:,} values of the domain, more than the {MOST_ANSWERS:,} that are covered: "
                "declare narrower ordinal columns"
            )
        encoded = [one.encoded(np.arange(one.n_values)) for one in domain.attributes]
        root, attribute, start, left, child = [], [], [], [], []
        n_nodes = n_leaves = n_answers = 0
        for tree in forest.trees:
            inner = tree.left >= 0
            tested = np.where(inner, owner[tree.feature], -1)
            attribute.append(np.where(inner, tested, -n_leaves - np.cumsum(~inner)))
            left += [
                encoded[tested[node]][:, place[tree.feature[node]]] <= tree.threshold[node]
                for node in np.flatnonzero(inner)
            ]
            sizes = np.where(inner, n_values[tested], 0)
            start.append(n_answers + np.cumsum(sizes) - sizes)
            child.append(np.stack([tree.right, tree.left], axis=1).ravel() + n_nodes)
            root.append(n_nodes)
            n_nodes += tree.n_nodes
            n_leaves += int((~inner).sum())
            n_answers += int(sizes.sum())
        return cls(
            np.array(root, dtype=np.int32),
            np.concatenate(attribute).astype(np.int32),
            np.concatenate(start).astype(np.int32),
            np.concatenate([*left, np.zeros(1, dtype=np.bool_)]).astype(np.int8),
            np.concatenate(child).astype(np.int32),
        )


@njit(cache=True, nogil=True, inline="always")
def leaf_of(walks: Walks, tree: int, row: Int32Array) -> int:
    """Return the leaf that a row reaches in one tree."""
    node = walks.root[tree]
    while walks.attribute[node] >= 0:
        goes_left = walks.left[walks.start[node] + row[walks.attribute[node]]]
        node = walks.child[2 * node + goes_left]
    return int(-1 - walks.attribute[node])


@njit(cache=True, nogil=True, inline="always")
def tested_by(walks, tree, row):  # type: ignore[no-untyped-def]
    """Return which attributes a row's way through one tree tests, as bits; those 64 apart share one."""
    node, bits = walks.root[tree], np.uint64(0)
    while walks.attribute[node] >= 0:
        bits |= np.uint64(1) << np.uint64(walks.attribute[node] & 63)
        goes_left = walks.left[walks.start[node] + row[walks.attribute[node]]]
        node = walks.child[2 * node + goes_left]
    return bits


@njit(cache=True, nogil=True)
def leaves_of(walks: Walks, values: Int32Array) -> Int32Array:
    """Return the leaf of each row in each tree.

    Parameters
    ----------
    values : ndarray of int32, shape (n_rows, n_attributes)

    Returns
    -------
    ndarray of int32, shape (n_rows, n_trees)
    """
    leaves = np.empty((len(values), len(walks.root)), dtype=np.int32)
    for row in range(len(values)):
        for tree in range(len(walks.root)):
            leaves[row, tree] = leaf_of(walks, tree, values[row])
    return leaves


@njit(cache=True, nogil=True)
def tests_of(walks: Walks, values: Int32Array) -> NDArray[np.uint64]:
    """Return what each row's way through each tree tests, as `tested_by`, shape (n_rows, n_trees)."""
    tested = np.empty((len(values), len(walks.root)), dtype=np.uint64)
    for row in range(len(values)):
        for tree in range(len(walks.root)):
            tested[row, tree] = tested_by(walks, tree, values[row])
    return tested


@njit(cache=True, nogil=True)
def tested_anywhere(walks: Walks, values: Int32Array) -> BoolArray:
    """Return whether some tree tests each attribute on each row's way, shape (n_rows, n_attributes)."""
    tested = np.zeros(values.shape, dtype=np.bool_)
    for row in range(len(values)):
        for root in walks.root:
            node = root
            while walks.attribute[node] >= 0:
                attribute = walks.attribute[node]
                tested[row, attribute] = True
                node = walks.child[2 * node + walks.left[walks.start[node] + values[row, attribute]]]
    return tested
