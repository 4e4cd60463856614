"""All trees of a forest in one numbering of nodes: in go trees, out come `ForestNodes`, and what their shape says.

All that compiles, walks or sums up whole forests takes their trees from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import AnyArray, BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest.forest import Tree

_ROOT = np.zeros(1, dtype=np.int64)


class ForestNodes(NamedTuple):
    """The nodes of all trees, one tree after the other, each tree's in its own order. Compiled code takes it whole."""

    first: IntArray
    """Shape (n_trees + 1,). The root of each tree; after the last, the number of nodes."""
    left: IntArray
    right: IntArray
    """`left` and `right`, shape (n_nodes,): children, above their parents; -1 at leaves."""
    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    """`feature`, `threshold` and `missing_left`, shape (n_nodes,): as in `Tree`."""
    leaf: IntArray
    """Shape (n_nodes,). The number of a leaf, tree by tree as in `Tree.leaves`; -1 at inner nodes."""

    def __repr__(self) -> str:
        return f"ForestNodes({len(self.left)} nodes of {len(self.first) - 1} trees)"

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> ForestNodes:
        """Return the nodes of trees."""
        first = np.cumsum([0, *(tree.n_nodes for tree in trees)])
        left, right, feature, threshold, missing_left = (
            np.concatenate([getattr(tree, name) for tree in trees])
            for name in ("left", "right", "feature", "threshold", "missing_left")
        )
        is_leaf, root = left < 0, np.repeat(first[:-1], np.diff(first))
        return cls(
            first,
            np.where(is_leaf, -1, left + root),
            np.where(is_leaf, -1, right + root),
            feature,
            threshold,
            missing_left,
            np.where(is_leaf, np.cumsum(is_leaf) - 1, -1),
        )

    @property
    def first_leaf(self) -> IntArray:
        """The first leaf of each tree; after the last, the number of leaves, shape (n_trees + 1,)."""
        return np.append(0, np.cumsum(self.left < 0)[self.first[1:] - 1])

    @property
    def parent(self) -> IntArray:
        """The node above each, shape (n_nodes,); -1 of roots."""
        parent, inner = np.full(len(self.left), -1), np.flatnonzero(self.left >= 0)
        parent[self.left[inner]] = parent[self.right[inner]] = inner
        return parent

    def by_tree(self, at_nodes: AnyArray) -> tuple[AnyArray, ...]:
        """Return what stands at nodes, shape (n_nodes, ...), as one array for each tree."""
        return tuple(np.split(at_nodes, self.first[1:-1]))

    def levels(self) -> list[IntArray]:
        """Return the nodes of each depth, from the roots down."""
        return levels(self.left, self.right, self.first[:-1])

    def summed_up(self, at_leaves: AnyArray) -> AnyArray:
        """Return numbers of all nodes, each the sum of the leaves below it.

        Parameters
        ----------
        at_leaves : ndarray, shape (n_leaves, ...)
        """
        summed = np.zeros((len(self.left), *at_leaves.shape[1:]), dtype=at_leaves.dtype)
        summed[self.left < 0] = at_leaves
        for level in reversed(self.levels()):
            inner = level[self.left[level] >= 0]
            summed[inner] = summed[self.left[inner]] + summed[self.right[inner]]
        return summed


def levels(left: IntArray, right: IntArray, roots: IntArray = _ROOT) -> list[IntArray]:
    """Return the nodes of each depth, from the roots down.

    Parameters
    ----------
    left, right : ndarray of int64, shape (n_nodes,)
        Children; -1 at leaves.
    """
    found = [roots]
    while len(inner := found[-1][left[found[-1]] >= 0]):
        found.append(np.concatenate([left[inner], right[inner]]))
    return found


def depth_first(left: IntArray, right: IntArray, roots: IntArray = _ROOT) -> tuple[IntArray, IntArray]:
    """Return the nodes that roots lead to, depth first and left before right.

    Parameters
    ----------
    left, right : ndarray of int64, shape (n_nodes,)
        As to `levels`.

    Returns
    -------
    order : ndarray of int64, shape (n_reached,)
    size : ndarray of int64, shape (n_nodes,)
        How many nodes are below each node, and itself; 0 where nothing leads.
    """
    found = levels(left, right, roots)
    size, position = np.zeros((2, len(left)), dtype=np.int64)
    for level in reversed(found):
        inner = level[left[level] >= 0]
        size[level] = 1
        size[inner] += size[left[inner]] + size[right[inner]]
    position[roots] = np.cumsum(size[roots]) - size[roots]
    for level in found:
        inner = level[left[level] >= 0]
        position[left[inner]] = position[inner] + 1
        position[right[inner]] = position[inner] + 1 + size[left[inner]]
    reached = np.concatenate(found)
    order = np.empty(len(reached), dtype=np.int64)
    order[position[reached]] = reached
    return order, size
