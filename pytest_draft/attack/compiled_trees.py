"""Trees over the ordered values of attributes: in go a forest and a domain, out come cuts of values, bins, and `Walks`.

A node parts an attribute's values, or its bins of values, at one place: so many of them, the lowest ones, go left. A
node that tests a column of a one-hot group parts one value from all others. So a leaf is found without encoding a row,
and domains that cannot be enumerated are walked as fast as small ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.nodes import ForestNodes, depth_first
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled, inlined
from pytest_draft.domain import Domain


def cuts_of(nodes: ForestNodes, domain: Domain, ends: Sequence[NDArray[np.floating[Any]]]) -> tuple[IntArray, IntArray]:
    """Return what each node tests, and where it parts it.

    Parameters
    ----------
    ends : sequence of ndarray, each of shape (n_bins,)
        By attribute, the greatest value of each of its bins, ascending; of a one-hot group as many numbers as it has
        values.

    Returns
    -------
    attribute : ndarray of int64, shape (n_nodes,)
        -1 at leaves.
    cut : ndarray of int64, shape (n_nodes,)
        How many bins, the lowest ones, go left; ``-1 - value`` where all values of a one-hot group but one do. 0 at
        leaves. What goes where, `goes_left` says; a missing value has no part in it.
    """
    attribute = np.where(nodes.feature >= 0, domain.attribute_of_column[nodes.feature], -1)
    cut = np.zeros(len(attribute), dtype=np.int64)
    for a, made in enumerate(domain.attributes):
        here = np.flatnonzero(attribute == a)
        if made.kind == "one-hot":
            of_zero, of_one = (value <= nodes.threshold[here] for value in (0, 1))
            value = domain.place_of_column[nodes.feature[here]]
            cut[here] = np.where(of_one, len(ends[a]), np.where(of_zero, -1 - value, 0))
        else:
            cut[here] = np.searchsorted(ends[a], nodes.threshold[here], side="right")
    return attribute, cut


def binned(attribute: IntArray, cut: IntArray, sizes: Sequence[int]) -> tuple[tuple[IntArray, ...], IntArray]:
    """Return coarser bins, one of all that no node tells apart, and where nodes part these.

    Parameters
    ----------
    attribute, cut : ndarray of int64, shape (n_nodes,)
        As `cuts_of` returns them.
    sizes : sequence of int
        How many values each attribute has.

    Returns
    -------
    tuple of ndarray of int64, each of shape (n_values,)
        By attribute, the bin of each value.
    ndarray of int64, shape (n_nodes,)
        The cuts of these bins.
    """
    bin_of, coarser = [], np.zeros_like(cut)
    for a, size in enumerate(sizes):
        here = np.flatnonzero(attribute == a)
        different = np.unique(cut[here])
        inside = different[(different > 0) & (different < size)]
        bins = np.searchsorted(inside, np.arange(size), side="right").astype(np.int64)
        if len(parted := np.sort(-1 - different[different < 0])):
            bins[:] = len(parted)
            bins[parted] = np.arange(len(parted))
        n_lowest = np.append(0, 1 + np.maximum.accumulate(bins))
        lowest, one = np.maximum(cut[here], 0), np.maximum(-1 - cut[here], 0)
        coarser[here] = np.where(cut[here] < 0, -1 - bins[one], n_lowest[lowest])
        bin_of.append(bins)
    return tuple(bin_of), coarser


def ends_of(domain: Domain) -> list[NDArray[np.float32]]:
    """Return the values of each attribute, each a bin of its own, as `cuts_of` takes them.

    Raises
    ------
    NotCoveredError
        For attributes that are numeric, or may be missing.
    """
    values = [np.arange(made.n_values) for made in domain.attributes]
    return [
        some.astype(np.float32) if made.kind == "one-hot" else made.encoded(some)[:, 0]
        for made, some in zip(domain.attributes, values, strict=True)
    ]


NONE = -1
"""Stands for no node, no leaf and no row."""


@redacted
class Walks(NamedTuple):
    """All trees of a forest, each in preorder, over the numbers of values (states); a missing value is the last one."""

    root: Int32Array
    """Shape (n_trees + 1,). First node of each tree; after the last, the number of nodes."""
    attribute: Int32Array
    """Shape (n_nodes,). The attribute that a node tests; ``-1 - leaf`` at leaves, numbered as in `Tree.leaves`."""
    right: Int32Array
    """Shape (2 * n_nodes,). The first value that each node sends right, and the one after the last; all others go left.
    """
    child: Int32Array
    """Shape (2 * n_nodes,). Left and right child of each node."""
    end: Int32Array
    """Shape (n_nodes,). The node after the last of a node's subtree."""
    one_hot: BoolArray
    """Shape (n_attributes,)."""
    missing: Int32Array
    """Shape (n_attributes,). The number of a missing value; -1 where none can be missing."""

    @classmethod
    def of(
        cls,
        forest: Forest,
        domain: Domain,
        ends: Sequence[NDArray[np.floating[Any]]] | None = None,
        parted_by: Sequence[int] = (),
    ) -> Walks:
        """Return the trees of a forest.

        Parameters
        ----------
        ends : sequence of ndarray or None
            As `cuts_of` takes them; None for each value a bin of its own.
        parted_by : sequence of int
            Attributes by whose values each leaf is parted: leaf ``l`` becomes ``l * n_values + value``, and so on.

        Raises
        ------
        NotCoveredError
            Without `ends`, where an attribute of the domain is numeric, or may be missing.
        """
        nodes = ForestNodes.of(forest.trees)
        ends = ends_of(domain) if ends is None else ends
        attribute, cut = cuts_of(nodes, domain, ends)
        order, size = depth_first(nodes.left, nodes.right, nodes.first[:-1])
        place = np.argsort(order)
        gaps = np.array([made.missing for made in domain.attributes])
        sizes = np.array([len(values) for values in ends])
        of_missing = np.where(gaps[attribute] & ~nodes.missing_left, 1, 0)
        right = np.where(cut < 0, [-1 - cut, -cut], [cut, sizes[attribute] + of_missing])
        child = np.where(nodes.leaf < 0, place[[nodes.left, nodes.right]], NONE)
        walks = cls(
            nodes.first.astype(np.int32),
            np.where(nodes.leaf < 0, attribute, -1 - nodes.leaf)[order].astype(np.int32),
            right[:, order].T.ravel().astype(np.int32),
            child[:, order].T.ravel().astype(np.int32),
            (np.arange(len(order)) + size[order]).astype(np.int32),
            np.array([made.kind == "one-hot" for made in domain.attributes]),
            np.where(gaps, sizes, NONE).astype(np.int32),
        )
        for a in parted_by:
            walks = walks.parted(a, domain.attributes[a].n_values)
        return walks

    def parted(self, attribute: int, n_values: int) -> Walks:
        """Return the trees with each leaf parted into one for each value of an attribute, by one test after another.

        New nodes stand behind all others, so that `end` says nothing of them.
        """
        if n_values == 1:
            return self
        leaf_node, n_nodes, value = np.flatnonzero(self.leaves), len(self.attribute), np.arange(n_values)
        leaf, n_new = -1 - self.attribute[leaf_node].astype(np.int64), 2 * n_values - 2
        # The first test stands in the leaf's place; each parts one value off, which is a leaf, and a test follows.
        alone = n_nodes + np.arange(len(leaf))[:, None] * n_new + 2 * value[:-1]
        test, place = np.column_stack([leaf_node, alone[:, :-1] + 1]), np.column_stack([alone, alone[:, -1:] + 1])
        size = n_nodes + len(leaf) * n_new
        tested, right, child = np.empty(size, np.int32), np.zeros((size, 2), np.int32), np.zeros((size, 2), np.int32)
        tested[:n_nodes], right[:n_nodes] = self.attribute, self.right.reshape(-1, 2)
        child[:n_nodes] = self.child.reshape(-1, 2)
        tested[test], one_hot = attribute, self.one_hot[attribute]
        right[test, 0], right[test, 1] = value[:-1] + (not one_hot), value[:-1] + 1 if one_hot else n_values
        child[test, 0], child[test, 1] = (alone + 1, alone) if one_hot else (alone, alone + 1)
        tested[place] = -1 - (leaf[:, None] * n_values + value)
        root, end = np.append(self.root[:-1], size).astype(np.int32), np.full(size, size, np.int32)
        return self._replace(root=root, attribute=tested, right=right.ravel(), child=child.ravel(), end=end)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.root) - 1

    @property
    def leaves(self) -> BoolArray:
        """Which nodes are leaves, shape (n_nodes,)."""
        return self.attribute < 0


@inlined
def goes_right(right, node, value):  # type: ignore[no-untyped-def]
    """Return whether a node sends a value right."""
    return (right[2 * node] <= value) & (value < right[2 * node + 1])


@compiled
def leaves_of(walks: Walks, values: Int32Array) -> Int32Array:
    """Return the leaf of each row in each tree.

    Parameters
    ----------
    values : ndarray of int32, shape (n_rows, n_attributes)

    Returns
    -------
    ndarray of int32, shape (n_rows, n_trees)
    """
    root, attribute, right, child = walks.root, walks.attribute, walks.right, walks.child
    leaves = np.empty((len(values), len(root) - 1), dtype=np.int32)
    for row in range(len(values)):
        for tree in range(leaves.shape[1]):
            node = root[tree]
            while attribute[node] >= 0:
                node = child[2 * node + goes_right(right, node, values[row, attribute[node]])]
            leaves[row, tree] = -1 - attribute[node]
    return leaves


@compiled
def values_left(walks: Walks, sizes: IntArray, values: Int32Array) -> IntArray:
    """Return how many values each attribute can have at the leaves of each row together, all others as they are.

    Parameters
    ----------
    walks : Walks
    sizes : ndarray of int64, shape (n_attributes,)
        Number of values of each attribute: where no tree tests it on a row's way, all of them are left.
    values : ndarray of int32, shape (n_rows, n_attributes)

    Returns
    -------
    ndarray of int64, shape (n_rows, n_attributes)
    """
    root, right = walks.root, walks.right
    left, possible = np.zeros(values.shape, dtype=np.int64), np.empty((len(sizes), sizes.max()), dtype=np.bool_)
    for row in range(len(values)):
        possible[:] = True
        for tree in range(len(root) - 1):
            node = root[tree]
            while walks.attribute[node] >= 0:
                attribute = walks.attribute[node]
                own = goes_right(right, node, values[row, attribute])
                for value in range(sizes[attribute]):
                    possible[attribute, value] &= goes_right(right, node, value) == own
                node = walks.child[2 * node + own]
        for attribute in range(len(sizes)):
            left[row, attribute] = possible[attribute, : sizes[attribute]].sum()
    return left
