"""The values that lead to each leaf: from a forest and a domain, `Boxes` for compiled search.

Values of an attribute that no tree tells apart are one *bin*; a numeric attribute's bins are the intervals between its
thresholds. A box is a set of bins for each attribute. Attributes of few bins are packed into words, a bit for each bin.
An ordered attribute of many bins is a *span*: the first and the last bin, and whether the value may be missing.
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
from pytest_draft.attack.compiled_trees import binned, cuts_of
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
    of these the leaf holds.
    """
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
    """Shape (n_attributes,). Which span an attribute is, or which word it stands in."""
    shift: IntArray
    """Shape (n_attributes,). The bit of its first bin."""
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
                words[self.place[a]] |= _bits(int(self.shift[a]), int(self.bin_of[a].max()) + 1)
        return words

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
        words, spans = np.tile(self.words, (len(rows), 1)), np.tile(self.spans, (len(rows), 1, 1))
        state = self.states.of_rows(rows)
        for a in attributes:
            bins = self.bin_of[a][state[:, a]]
            at = self.place[a]
            if self.packed[a]:
                words[:, at] &= ~_bits(int(self.shift[a]), int(self.bin_of[a].max()) + 1)
                words[:, at] |= np.uint64(1) << (self.shift[a] + bins).astype(np.uint64)
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
    place, shift = np.zeros((2, n_attributes), dtype=np.int64)
    bin_of: list[IntArray] = []
    words, n_words, used = [0], 1, 0
    spans: list[tuple[int, int, int]] = []
    left_bits = np.zeros(len(tested), dtype=np.uint64)  # of packed attributes
    for a, (attribute, known) in enumerate(zip(domain.attributes, of_known, strict=True)):
        here, n_known, is_missing = np.flatnonzero(tested == a), int(known.max()) + 1, len(states.low[a]) > len(known)
        bin_of.append(np.append(known, n_known) if is_missing else known)
        n_bins = n_known + is_missing
        packed[a] = attribute.kind != "numeric" and n_bins <= _WORD
        if not packed[a]:
            place[a] = len(spans)
            spans.append((0, n_known - 1, int(is_missing)))
            continue
        if used + n_bins > _WORD:
            n_words, used = n_words + 1, 0
            words.append(0)
        place[a], shift[a] = n_words - 1, used
        used += n_bins
        words[-1] |= int(_bits(int(shift[a]), n_bins))
        parts = cut[here]
        for b in range(n_bins):
            goes_left = np.where(parts < 0, b != -1 - parts, b < parts) if b < n_known else nodes.missing_left[here]
            left_bits[here[goes_left]] |= np.uint64(1) << np.uint64(shift[a] + b)
    whole_words = np.array(words, dtype=np.uint64)
    whole_spans = np.array(spans, dtype=np.int32).reshape(-1, 3)
    node_words, node_spans = _node_boxes(
        nodes, tested, cut, packed, place, left_bits,
        np.array([_bits(int(s), int(bins.max()) + 1) for s, bins in zip(shift, bin_of, strict=True)], dtype=np.uint64),
        whole_words, whole_spans,
    )  # fmt: skip
    leaves = nodes.left < 0
    attribute_bits = [
        (int(place[a]), _bits(int(shift[a]), int(bin_of[a].max()) + 1)) for a in np.flatnonzero(packed).tolist()
    ]
    return Boxes(
        states=states,
        bin_of=tuple(bin_of),
        packed=packed,
        place=place,
        shift=shift,
        words=whole_words,
        spans=whole_spans,
        first_leaf=nodes.first_leaf,
        leaf=_entries(node_words[leaves], node_spans[leaves], whole_spans, attribute_bits),
    )


def _bits(shift: int, n_bins: int) -> np.uint64:
    """Return so many bits from one on."""
    return np.uint64(((1 << n_bins) - 1) << shift) if n_bins + shift <= _WORD else np.uint64(0)


def _entries(
    words: Words, spans: Int32Array, whole_spans: Int32Array, attribute_bits: list[tuple[int, np.uint64]]
) -> LeafBoxes:
    """Return what each leaf narrows, of their whole boxes."""
    leaf, word, mask, held = [], [], [], []
    for at, bits in attribute_bits:
        narrowed = np.flatnonzero(words[:, at] & bits != bits)
        leaf.append(narrowed)
        word.append(np.full(len(narrowed), at))
        mask.append(np.full(len(narrowed), bits, dtype=np.uint64))
        held.append(words[narrowed, at] & bits)
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
    left_bits: Words,
    attribute_bits: Words,
    whole_words: Words,
    whole_spans: Int32Array,
) -> tuple[Words, Int32Array]:
    """Return the box of each node; a child's number is above its parent's."""
    start, left, right, missing_left = nodes.first, nodes.left, nodes.right, nodes.missing_left
    words = np.empty((len(left), len(whole_words)), dtype=np.uint64)
    spans = np.empty((len(left), len(whole_spans), 3), dtype=np.int32)
    for t in range(len(start) - 1):
        for w in range(len(whole_words)):
            words[start[t], w] = whole_words[w]
        for s in range(len(whole_spans)):
            for i in range(3):
                spans[start[t], s, i] = whole_spans[s, i]
    for node in range(len(left)):
        if left[node] < 0:
            continue
        a, below, above = tested[node], left[node], right[node]
        at = place[a]
        for child in (below, above):
            for w in range(len(whole_words)):
                words[child, w] = words[node, w]
            for s in range(len(whole_spans)):
                for i in range(3):
                    spans[child, s, i] = spans[node, s, i]
        if packed[a]:
            words[below, at] &= left_bits[node] | ~attribute_bits[a]
            words[above, at] &= ~left_bits[node]
        else:
            spans[below, at, 1] = min(spans[below, at, 1], cut[node] - 1)
            spans[above, at, 0] = max(spans[above, at, 0], cut[node])
            spans[below, at, 2] &= missing_left[node]
            spans[above, at, 2] &= not missing_left[node]
    return words, spans
