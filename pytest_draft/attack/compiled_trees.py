"""Trees over the ordered values of attributes: in go a forest and a domain, out come cuts of values, bins, and `Walks`.

A node parts an attribute's values, or its bins of values, at one place: so many of them, the lowest ones, go left. A
node that tests a column of a one-hot group parts one value from all others. So a leaf is found without encoding a row,
and domains that cannot be enumerated are walked as fast as small ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.nodes import ForestNodes
from pytest_draft.attack.redacted import redacted
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


def leaf_boxes(forest: Forest, domain: Domain) -> list[dict[int, BoolArray]]:
    """Return, for each leaf of all trees, the values that each tested attribute can have there.

    Parameters
    ----------
    domain : Domain
        Without attributes that are numeric or may be missing.

    Returns
    -------
    list of dict of int to ndarray of bool, shape (n_values of the attribute,)
        By attribute; those that no node on the way tests are open and left out.
    """
    nodes = ForestNodes.of(forest.trees)
    attribute, cut = (part.tolist() for part in cuts_of(nodes, domain, ends_of(domain)))
    values = [np.arange(made.n_values) for made in domain.attributes]
    box: dict[int, dict[int, BoolArray]] = {root: {} for root in nodes.first[:-1].tolist()}
    for node in np.flatnonzero(nodes.left >= 0).tolist():
        here, a = box.pop(node), attribute[node]
        left = values[a] < cut[node] if cut[node] >= 0 else values[a] != -1 - cut[node]
        held = here.get(a, True)
        box[int(nodes.left[node])] = {**here, a: held & left}
        box[int(nodes.right[node])] = {**here, a: held & ~left}
    return [box[leaf] for leaf in np.flatnonzero(nodes.left < 0).tolist()]


@redacted
class Walks(NamedTuple):
    """All trees of a forest in one numbering of nodes, and one of leaves."""

    root: Int32Array
    """Shape (n_trees,)."""
    attribute: Int32Array
    """Shape (n_nodes,). The attribute that a node tests; ``-1 - leaf`` at leaves."""
    cut: Int32Array
    """Shape (n_nodes,). Where it parts the attribute's values, as `cuts_of` returns it."""
    child: Int32Array
    """Shape (2 * n_nodes,). Right and left child of each node."""
    one_hot: BoolArray
    """Shape (n_attributes,)."""

    @classmethod
    def of(cls, forest: Forest, domain: Domain) -> Walks:
        """Return the trees of a forest; leaves are numbered tree by tree, as in `Tree.leaves`.

        Raises
        ------
        NotCoveredError
            Where an attribute of the domain is numeric, or may be missing.
        """
        nodes = ForestNodes.of(forest.trees)
        attribute, cut = cuts_of(nodes, domain, ends_of(domain))
        return cls(
            nodes.first[:-1].astype(np.int32),
            np.where(nodes.leaf < 0, attribute, -1 - nodes.leaf).astype(np.int32),
            cut.astype(np.int32),
            np.stack([nodes.right, nodes.left], axis=1).ravel().astype(np.int32),
            np.array([made.kind == "one-hot" for made in domain.attributes]),
        )


@njit(cache=True, nogil=True, inline="always")
def goes_left(cut: int, value: int) -> bool:
    """Return whether a value goes left of a cut."""
    return value < cut if cut >= 0 else value != -1 - cut


@njit(cache=True, nogil=True, inline="always")
def next_of(walks, node, value):  # type: ignore[no-untyped-def]
    """Return the child that a value of the tested attribute leads to."""
    return walks.child[2 * node + goes_left(walks.cut[node], value)]


@njit(cache=True, nogil=True, inline="always")
def leaf_of(walks: Walks, tree: int, row: Int32Array) -> int:
    """Return the leaf that a row reaches in one tree."""
    node = walks.root[tree]
    while walks.attribute[node] >= 0:
        node = next_of(walks, node, row[walks.attribute[node]])
    return int(-1 - walks.attribute[node])


@njit(cache=True, nogil=True, inline="always")
def tested_by(walks, tree, row):  # type: ignore[no-untyped-def]
    """Return which attributes a row's way through one tree tests, as bits; those 64 apart share one."""
    node, bits = walks.root[tree], np.uint64(0)
    while walks.attribute[node] >= 0:
        bits |= np.uint64(1) << np.uint64(walks.attribute[node] & 63)
        node = next_of(walks, node, row[walks.attribute[node]])
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
    left, possible = np.zeros(values.shape, dtype=np.int64), np.empty((len(sizes), sizes.max()), dtype=np.bool_)
    for row in range(len(values)):
        possible[:] = True
        for root in walks.root:
            node = root
            while walks.attribute[node] >= 0:
                attribute, cut = walks.attribute[node], walks.cut[node]
                own = goes_left(cut, values[row, attribute])
                for value in range(sizes[attribute]):
                    possible[attribute, value] &= goes_left(cut, value) == own
                node = walks.child[2 * node + own]
        for attribute in range(len(sizes)):
            left[row, attribute] = possible[attribute, : sizes[attribute]].sum()
    return left
