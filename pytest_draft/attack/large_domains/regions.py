"""Trees over a domain that is too large to enumerate: the `Regions` of their leaves, in bins of each attribute.

Values of an attribute that no tree tells apart are one *bin*. A region is a product of sets of bins, one for each
attribute: a bit for each bin, packed into words, each attribute's bins from a word of its own. A leaf is a region, and
so is a cell: the common part of a leaf of each tree. The packed words of a region are its *box*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.nodes import ForestNodes, depth_first
from pytest_draft.attack.compiled_trees import binned, cuts_of, ends_of
from pytest_draft.attack.groups import KnownValues
from pytest_draft.attack.problem import Cells
from pytest_draft.compiling import compiled
from pytest_draft.domain import Domain

Words = NDArray[np.uint64]
"""Regions as bits."""

_MOST_COUNTED = 2.0**62
"""Larger cells count as having so many vectors: a 64-bit number holds it."""


@dataclass(frozen=True, eq=False, repr=False)
class Regions:
    """Trees, their nodes one tree after the other, and the region of each leaf."""

    domain: Domain
    bin_of: tuple[IntArray, ...]
    """Each of shape (n_values of the attribute,). The bin of each value."""
    first_bin: IntArray
    first_word: IntArray
    """`first_bin` and `first_word`, shape (n_attributes + 1,): where each attribute's bins and words begin, side by
    side.
    """
    full_box: Words
    """Shape (n_words,). The region of the whole domain."""
    nodes: ForestNodes
    attribute: IntArray
    low: IntArray
    high: IntArray
    """`attribute`, `low` and `high`, shape (n_nodes,): a node tests whether an attribute's bin is in ``low .. high -
    1``.
    """
    inverted: BoolArray
    """Shape (n_nodes,). Where those bins go right and the others left; else the other way round."""
    counts: IntArray
    """Shape (n_nodes, n_classes). Rows (draws) of each class at each node."""
    distinct: IntArray
    """Shape (n_nodes,). Distinct rows at each node; -1 where they say no more than the counts."""
    first_leaf: IntArray
    last_leaf: IntArray
    """`first_leaf` and `last_leaf`, shape (n_nodes,): the leaves below each node, ``first_leaf .. last_leaf - 1``,
    numbered from left to right, tree by tree.
    """
    leaf_start: IntArray
    """Shape (n_trees + 1,). Where each tree's leaves begin."""
    position: Int32Array
    """Shape (n_nodes,). Position of a leaf among the leaves of its tree, ascending by node; -1 at other nodes."""
    leaf_node: IntArray
    """Shape (n_leaves,). The node that each leaf is."""
    box: Words
    """Shape (n_leaves, n_words). The region of each leaf."""
    entry_start: IntArray
    """Shape (n_leaves + 1,). Where each leaf's entries begin in `entry`."""
    entry: IntArray
    """Shape (n_entries,). The words in which a leaf's region is less than the domain, with all words of the same
    attribute.
    """
    word_attribute: IntArray
    """Shape (n_words,). The attribute of each word."""

    @classmethod
    def of(
        cls, forest: Forest, domain: Domain, counts: tuple[IntArray, ...], distinct: tuple[IntArray, ...] | None
    ) -> Regions:
        """Return the regions of a forest's leaves.

        Parameters
        ----------
        domain : Domain
            Without numeric attributes.
        counts : tuple of ndarray of int64, each of shape (n_leaves of the tree, n_classes)
        distinct : tuple of ndarray of int64, each of shape (n_leaves of the tree,), or None
            Both as in `Problem`.
        """
        nodes, ends = ForestNodes.of(forest.trees), ends_of(domain)
        attribute, cut = cuts_of(nodes, domain, ends)
        bin_of, cut = binned(attribute, cut, [len(values) for values in ends])
        n_bins = np.array([int(bins.max()) + 1 for bins in bin_of], dtype=np.int64)
        first_bin, first_word = np.cumsum([0, *n_bins]), np.cumsum([0, *((n_bins + 63) // 64)])
        inverted = cut < 0
        low, high = np.where(inverted, -1 - cut, 0), np.where(inverted, -cut, cut)
        order, size = depth_first(nodes.left, nodes.right, nodes.first[:-1])
        is_leaf, first_leaf = nodes.left[order] < 0, np.empty_like(order)
        first_leaf[order] = np.cumsum(is_leaf) - is_leaf
        leaf_node, leaf_start = order[is_leaf], nodes.first_leaf
        first_of_tree = np.repeat(leaf_start[:-1], np.diff(nodes.first))
        word_attribute = np.repeat(np.arange(len(n_bins)), np.diff(first_word))
        word_bin = 64 * (np.arange(first_word[-1]) - first_word[word_attribute])
        full_box = _bits(np.zeros_like(word_bin), n_bins[word_attribute], word_bin)
        box = _node_boxes(nodes, attribute, low, high, inverted, full_box, word_attribute, word_bin)[leaf_node]
        owned = np.logical_or.reduceat(box != full_box, first_word[:-1], axis=1)
        leaf, entry = np.nonzero(owned[:, word_attribute])
        return cls(
            domain=domain,
            bin_of=bin_of,
            first_bin=first_bin,
            first_word=first_word,
            full_box=full_box,
            nodes=nodes,
            attribute=attribute,
            low=low,
            high=high,
            inverted=inverted,
            counts=nodes.summed_up(np.concatenate(counts)),
            distinct=np.full(len(cut), -1) if distinct is None else nodes.summed_up(np.concatenate(distinct)),
            first_leaf=first_leaf,
            last_leaf=first_leaf + (size + 1) // 2,
            leaf_start=leaf_start,
            position=np.where(nodes.leaf < 0, -1, nodes.leaf - first_of_tree).astype(np.int32),
            leaf_node=leaf_node,
            box=box,
            entry_start=np.searchsorted(leaf, np.arange(len(box) + 1)),
            entry=entry.astype(np.int64),
            word_attribute=word_attribute,
        )

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.leaf_start) - 1

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts.shape[1])

    def bins(self, box: Words) -> BoolArray:
        """Return which bins regions hold, shape (n_regions, n_bins of all attributes)."""
        a = np.repeat(np.arange(len(self.bin_of)), np.diff(self.first_bin))
        within = np.arange(self.first_bin[-1]) - self.first_bin[a]
        words = box[:, self.first_word[a] + within // 64]
        held: BoolArray = (words >> (within % 64).astype(np.uint64) & np.uint64(1)).astype(bool)
        return held

    def with_values(self, values: KnownValues | None, n_groups: int) -> Words:
        """Return the region of each group's known values, shape (n_groups, n_words): the whole domain without any."""
        box = np.tile(self.full_box, (n_groups, 1))
        if values is None:
            return box
        for a, value in _known_values(self.domain, values):
            bins = self.bin_of[a][value]
            box[:, self.first_word[a] : self.first_word[a + 1]] = 0
            bit = np.uint64(1) << (bins % 64).astype(np.uint64)
            box[np.arange(n_groups), self.first_word[a] + bins // 64] = bit
        return box

    def signature(self, box: Words) -> Int32Array:
        """Return the leaf that holds each region, shape (n_trees, n_regions); -1 where a tree splits the region."""
        return _signature(
            box,
            self.nodes,
            self.attribute,
            self.low,
            self.high,
            self.inverted,
            self.first_word,
            self.position,
        )

    def cells(self, box: Words, values: KnownValues | None, of_region: IntArray) -> tuple[Cells, IntArray]:
        """Return regions as cells, equal ones once, and the cell of each region.

        Parameters
        ----------
        box : ndarray of uint64, shape (n_regions, n_words)
        of_region : ndarray of int64, shape (n_regions,)
            The group whose known values each region has: cells that differ in them are kept apart.
        """
        known, group_with = _combinations(values, of_region, len(box))
        keys = np.ascontiguousarray(np.column_stack([box, known.astype(np.uint64)]))
        view = keys.view([("", np.uint64)] * keys.shape[1]).ravel()
        _, first, cell = np.unique(view, return_index=True, return_inverse=True)
        allowed, offsets = self._allowed(box[first])
        if values is not None:
            for a, value in _known_values(self.domain, values):
                allowed[:, offsets[a] : offsets[a + 1]] = False
                allowed[np.arange(len(first)), offsets[a] + value[group_with[known[first]]]] = True
        widths = np.add.reduceat(allowed, offsets[:-1], axis=1, dtype=np.int64)
        n_vectors = np.minimum(widths.astype(np.float64).prod(axis=1), _MOST_COUNTED).astype(np.int64)
        cells = Cells(self.signature(box[first]), n_vectors, allowed, offsets)
        return cells, cell.reshape(-1).astype(np.int64)

    def _allowed(self, box: Words) -> tuple[BoolArray, IntArray]:
        """Return which values of all attributes regions hold, one row each, and where each attribute's values begin."""
        held = self.bins(box)
        allowed = np.concatenate([held[:, self.first_bin[a] + bins] for a, bins in enumerate(self.bin_of)], axis=1)
        return allowed, np.cumsum([0, *(attribute.n_values for attribute in self.domain.attributes)])


def _combinations(values: KnownValues | None, of_region: IntArray, n_regions: int) -> tuple[IntArray, IntArray]:
    """Return the number of each region's combination of known values, and a group that has each combination."""
    if values is None:
        return np.zeros(n_regions, dtype=np.int64), np.zeros(1, dtype=np.int64)
    _, group_with, combination = np.unique(values.of_group, axis=0, return_index=True, return_inverse=True)
    return combination.reshape(-1)[of_region], group_with


def _known_values(domain: Domain, values: KnownValues) -> list[tuple[int, IntArray]]:
    """Return each known attribute with the value of each group, as indices."""
    place = {column: i for i, column in enumerate(values.columns)}
    found = []
    for a in values.attributes:
        attribute = domain.attributes[a]
        columns = values.of_group[:, [place[column] for column in attribute.columns]]
        found.append((a, attribute.index(columns)))
    return found


def _bits(low: IntArray, high: IntArray, first: IntArray) -> Words:
    """Return words that hold the bins ``low .. high - 1``, where each begins with the bin `first`."""
    below_low, below_high = (
        np.where(bins >= 64, ~np.uint64(0), (np.uint64(1) << (bins % 64).astype(np.uint64)) - np.uint64(1))
        for bins in (np.clip(low - first, 0, 64), np.clip(high - first, 0, 64))
    )
    return np.asarray(below_high & ~below_low, dtype=np.uint64)


def _node_boxes(
    nodes: ForestNodes,
    attribute: IntArray,
    low: IntArray,
    high: IntArray,
    inverted: BoolArray,
    full_box: Words,
    word_attribute: IntArray,
    word_bin: IntArray,
) -> Words:
    """Return the region of each node: of inner ones what comes there."""
    box = np.tile(full_box, (len(nodes.left), 1))
    for level in nodes.levels():
        node = level[nodes.left[level] >= 0]
        inside = _bits(low[node, None], high[node, None], word_bin)
        left = np.where(inverted[node, None], ~inside, inside)
        own = attribute[node, None] == word_attribute
        box[nodes.left[node]] = np.where(own, box[node] & left, box[node])
        box[nodes.right[node]] = np.where(own, box[node] & ~left, box[node])
    return box


@compiled
def _signature(
    box: Words,
    nodes: ForestNodes,
    attribute: IntArray,
    low: IntArray,
    high: IntArray,
    inverted: BoolArray,
    first_word: IntArray,
    position: Int32Array,
) -> Int32Array:
    """Return the leaf that holds each region; -1 where a tree splits it."""
    left, right, start = nodes.left, nodes.right, nodes.first
    n_trees = len(start) - 1
    found = np.full((n_trees, len(box)), -1, dtype=np.int32)
    for k in range(len(box)):
        for t in range(n_trees):
            node = start[t]
            while left[node] >= 0:
                a = attribute[node]
                some_in, some_out = False, False
                n_words = first_word[a + 1] - first_word[a]
                for word in range(n_words):
                    bits = box[k, first_word[a] + word]
                    from_bin = min(max(low[node] - 64 * word, 0), 64)
                    to_bin = min(max(high[node] - 64 * word, 0), 64)
                    mask = np.uint64(0)
                    if to_bin > from_bin:
                        mask = (~np.uint64(0) >> np.uint64(64 - (to_bin - from_bin))) << np.uint64(from_bin)
                    some_in |= (bits & mask) != 0
                    some_out |= (bits & ~mask) != 0
                if some_in and some_out:
                    break
                node = left[node] if some_in != inverted[node] else right[node]
            found[t, k] = position[node]
    return found
