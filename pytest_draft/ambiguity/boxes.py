"""The values that lead to each leaf: from a forest and a domain, `Boxes` for compiled search.

Values of an attribute that no tree tells apart are one *bin*; a numeric attribute's bins are the intervals between its
thresholds. A box is a set of bins for each attribute. Attributes of few bins and one-hot groups are packed into words,
a bit for each bin; a group of many bins has several words. An ordered attribute of many bins is a *span*: the first and
the last bin, and whether the value may be missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, Int32Array, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.nodes import ForestNodes
from pytest_draft.attack.compiled_trees import binned, cuts_of, goes_left
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.numeric.states import States, states_of
from pytest_draft.attack.redacted import redacted
from pytest_draft.domain import Domain

Words = NDArray[np.uint64]

_WORD = 64
"""Bins that a word holds."""


@redacted
class LeafBoxes(NamedTuple):
    """How each leaf narrows a box: only attributes that are tested on the way to it."""

    first_bits: IntArray
    word: IntArray
    mask: Words
    held: Words
    """`word`, `mask` and `held`, shape (n_bit_entries,): in which word, at which bits the attribute stands, and which
    of these the leaf holds. An attribute of several words has an entry for each of them, one after the other.
    """
    is_last: BoolArray
    """Shape (n_bit_entries,). Whether it is the last entry of an attribute."""
    first_spans: IntArray
    """`first_bits` and `first_spans`, shape (n_leaves + 1,): where each leaf's entries begin."""
    span: Int32Array
    """Shape (n_span_entries, 4). Which span, its first and last bin, and whether (1) the value may be missing."""


@dataclass(frozen=True, eq=False, repr=False)
class Boxes:
    """Attributes as bits and spans, and the boxes of all leaves, tree by tree. No row is in it."""

    states: States
    """The values of each attribute: intervals of numeric ones."""
    bin_of: tuple[IntArray, ...]
    """By attribute: the bin of each of its states; a missing value has one of its own."""
    packed: BoolArray
    """Shape (n_attributes,). Whether the attribute's bins are bits."""
    place: IntArray
    """Shape (n_attributes,). Which span an attribute is, or which bit its first bin is, counted over all words."""
    words: Words
    """Shape (n_words,)."""
    spans: Int32Array
    """Shape (n_spans, 3). The box of the whole domain."""
    first_leaf: IntArray
    """Shape (n_trees + 1,). Leaves are numbered tree by tree, as in `Tree.leaves`."""
    leaf: LeafBoxes

    def bits(self, attributes: Iterable[int]) -> Words:
        """Return the bits of some attributes' bins, shape (n_words,); spans have none."""
        words = np.zeros_like(self.words)
        for a in attributes:
            if self.packed[a]:
                words |= self.bits_of_bins(a, np.arange(int(self.bin_of[a].max()) + 1))
        return words

    def bits_of_bins(self, a: int, bins: IntArray) -> Words:
        """Return the bits of some bins of a packed attribute, shape (n_words,)."""
        return _words_of(self.place[a] + bins, len(self.words))

    def of_rows(self, rows: Rows, attributes: Sequence[int]) -> tuple[Words, Int32Array]:
        """Return the boxes of rows' bins in some attributes, whole in all others.

        Parameters
        ----------
        rows : ndarray of float32, shape (n_rows, n_columns)
            Of the domain.

        Returns
        -------
        words : ndarray of uint64, shape (n_rows, n_words)
        spans : ndarray of int32, shape (n_rows, n_spans, 3)
        """
        words = np.tile(self.words & ~self.bits(attributes), (len(rows), 1))
        spans = np.tile(self.spans, (len(rows), 1, 1))
        state = self.states.of_rows(rows)
        for a in attributes:
            bins = self.bin_of[a][state[:, a]]
            at = self.place[a]
            if self.packed[a]:
                words[np.arange(len(rows)), (at + bins) // _WORD] |= _in_word(at + bins)
                continue
            is_missing = np.isnan(self.states.low[a][state[:, a]])
            spans[:, at, 0], spans[:, at, 1] = np.where(is_missing, [[1], [0]], bins)
            spans[:, at, 2] = is_missing
        return words, spans


def leaves_of_rows(forest: Forest, boxes: Boxes, rows: Rows) -> Int32Array:
    """Return the leaf of each row in each tree, shape (n_trees, n_rows), in the numbering of `Boxes`."""
    columns = np.ascontiguousarray(rows.T)
    found = [leaf_positions(tree, columns) + first for tree, first in zip(forest.trees, boxes.first_leaf, strict=False)]
    return np.stack(found).astype(np.int32)


def boxes_of(forest: Forest, domain: Domain) -> Boxes:
    """Return the boxes of a forest's leaves."""
    states = states_of(forest, domain, {}, points=False)
    nodes = ForestNodes.of(forest.trees)
    tested, cut = cuts_of(nodes, domain, states.ends)
    of_known, cut = binned(tested, cut, [len(ends) for ends in states.ends])
    n_attributes = len(domain.attributes)
    packed = np.zeros(n_attributes, dtype=np.bool_)
    place, n_known, n_bins = np.zeros((3, n_attributes), dtype=np.int64)
    bin_of: list[IntArray] = []
    spans: list[tuple[int, int, int]] = []
    n_bits = 0
    for a, (attribute, known) in enumerate(zip(domain.attributes, of_known, strict=True)):
        n_known[a], is_missing = int(known.max()) + 1, len(states.low[a]) > len(known)
        bin_of.append(np.append(known, n_known[a]) if is_missing else known)
        n_bins[a] = n_known[a] + is_missing
        packed[a] = attribute.kind == "one-hot" or (attribute.kind != "numeric" and n_bins[a] <= _WORD)
        if not packed[a]:
            place[a] = len(spans)
            spans.append((0, int(n_known[a]) - 1, int(is_missing)))
            continue
        if n_bits % _WORD + n_bins[a] > _WORD:
            n_bits += -n_bits % _WORD  # up to the next word
        place[a] = n_bits
        n_bits += int(n_bins[a])
    n_words = max(1, -(-n_bits // _WORD))
    own_words = [_words_of(place[a] + np.arange(n_bins[a]), n_words) for a in np.flatnonzero(packed)]
    whole_words = np.bitwise_or.reduce([np.zeros(n_words, dtype=np.uint64), *own_words])
    whole_spans = np.array(spans, dtype=np.int32).reshape(-1, 3)
    node_words, node_spans = _node_boxes(nodes, tested, cut, packed, place, n_known, n_bins, whole_words, whole_spans)
    leaves = nodes.left < 0
    return Boxes(
        states=states,
        bin_of=tuple(bin_of),
        packed=packed,
        place=place,
        words=whole_words,
        spans=whole_spans,
        first_leaf=nodes.first_leaf,
        leaf=_entries(node_words[leaves], node_spans[leaves], whole_spans, own_words),
    )


def _in_word(bits: IntArray) -> Words:
    """Return each bit, counted over all words, as a word with this bit alone."""
    return np.uint64(1) << (bits % _WORD).astype(np.uint64)


def _words_of(bits: IntArray, n_words: int) -> Words:
    """Return words with some bits, counted over all words, shape (n_words,)."""
    words = np.zeros(n_words, dtype=np.uint64)
    np.bitwise_or.at(words, bits // _WORD, _in_word(bits))
    return words


def _entries(words: Words, spans: Int32Array, whole_spans: Int32Array, own_words: list[Words]) -> LeafBoxes:
    """Return what each leaf narrows, given its whole box.

    Parameters
    ----------
    words : ndarray of uint64, shape (n_leaves, n_words)
    spans : ndarray of int32, shape (n_leaves, n_spans, 3)
    own_words : list of ndarray of uint64, each of shape (n_words,)
        The bits of each packed attribute.
    """
    leaf, word, mask, held, is_last = [], [], [], [], []
    for own in own_words:
        at = np.flatnonzero(own)
        narrowed = np.flatnonzero((words[:, at] & own[at] != own[at]).any(axis=1))
        leaf.append(np.repeat(narrowed, len(at)))
        word.append(np.tile(at, len(narrowed)))
        mask.append(np.tile(own[at], len(narrowed)))
        held.append((words[np.ix_(narrowed, at)] & own[at]).ravel())
        is_last.append(np.tile(at == at[-1], len(narrowed)))
    of_bits = np.concatenate([np.empty(0, dtype=np.int64), *leaf])
    order = np.argsort(of_bits, kind="stable")
    none = np.empty(0, dtype=np.uint64)
    of_span, which = np.nonzero((spans != whole_spans).any(axis=2))
    entry = np.column_stack([which, spans[of_span, which]]).astype(np.int32)
    numbers = np.arange(len(words) + 1)
    return LeafBoxes(
        np.searchsorted(of_bits[order], numbers),
        np.concatenate([np.empty(0, dtype=np.int64), *word])[order].astype(np.int64),
        np.concatenate([none, *mask])[order],
        np.concatenate([none, *held])[order],
        np.concatenate([np.empty(0, dtype=np.bool_), *is_last])[order],
        np.searchsorted(of_span, numbers),
        np.ascontiguousarray(entry),
    )


@njit(cache=True, nogil=True)
def _node_boxes(
    nodes: ForestNodes,
    tested: IntArray,
    cut: IntArray,
    packed: BoolArray,
    place: IntArray,
    n_known: IntArray,
    n_bins: IntArray,
    whole_words: Words,
    whole_spans: Int32Array,
) -> tuple[Words, Int32Array]:
    """Return the box of each node; a child's number is above its parent's."""
    start, left, right, missing_left = nodes.first, nodes.left, nodes.right, nodes.missing_left
    words = np.empty((len(left), len(whole_words)), dtype=np.uint64)
    spans = np.empty((len(left), len(whole_spans), 3), dtype=np.int32)
    for t in range(len(start) - 1):
        words[start[t]], spans[start[t]] = whole_words, whole_spans
    for node in range(len(left)):
        if left[node] < 0:
            continue
        a, below, above = tested[node], left[node], right[node]
        at = place[a]
        for child in (below, above):
            words[child], spans[child] = words[node], spans[node]
        if packed[a]:
            for b in range(n_bins[a]):
                is_left = goes_left(cut[node], b) if b < n_known[a] else missing_left[node]
                words[above if is_left else below, (at + b) // _WORD] &= ~(np.uint64(1) << np.uint64((at + b) % _WORD))
        else:
            spans[below, at, 1] = min(spans[below, at, 1], cut[node] - 1)
            spans[above, at, 0] = max(spans[above, at, 0], cut[node])
            spans[below, at, 2] &= missing_left[node]
            spans[above, at, 2] &= not missing_left[node]
    return words, spans
