"""How many feature vectors reach each leaf of a tree, within a domain.

What a tree's leaf reveals of one row is a set of vectors; how many it holds is all that entropies need where each
vector is as likely as any other (Ferry et al., Probabilistic Dataset Reconstruction from Interpretable Models, SaTML
2024, section IV-A2). A leaf is a product: a set of values for each attribute, whose sizes multiply (section IV-B).

A numeric attribute has no number of values. It counts as having one for each `matching.TOLERANCE` of its range, within
which a rebuilt value counts as right; an interval has its share of them, and never less than one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Tree
from pytest_draft.attack.descent import Passing, descend
from pytest_draft.domain import Attribute, Domain
from pytest_draft.facts.figures import TOLERANCE

NUMERIC_VALUES = round(1 / TOLERANCE)
"""How many values of a numeric attribute are distinguished over its whole range."""

_MOST_BOUNDS = 500_000
"""So many (node, column) pairs are worked on at once: 9 bytes each for bounds that are kept, and as much in passing."""


def attribute_sizes(domain: Domain) -> FloatArray:
    """Return how many values of each attribute are distinguished, a missing one included, shape (n_attributes,)."""
    return np.array([attribute_size(attribute) for attribute in domain.attributes], dtype=np.float64)


def leaf_sizes(tree: Tree, domain: Domain) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield how many values of each attribute a row can have, leaf by leaf, some leaves at a time.

    Yields
    ------
    ndarray of int64, shape (n,)
        Positions among `Tree.leaves`.
    ndarray of float64, shape (n, n_attributes)
        All 0 where the domain allows no row.
    """
    for leaves, bounds in leaf_bounds(tree, domain.n_columns):
        sizes = bounds.sizes(domain)
        yield leaves, np.where((sizes > 0).all(axis=1, keepdims=True), sizes, 0.0)


def attribute_size(attribute: Attribute) -> int:
    """Return how many values of an attribute are distinguished, a missing one included."""
    if attribute.kind != "numeric":
        return attribute.n_states
    return (NUMERIC_VALUES if attribute.low < attribute.high else 1) + attribute.missing


def leaf_bounds(tree: Tree, n_columns: int) -> Iterator[tuple[IntArray, LeafBounds]]:
    """Yield the bounds of a tree's leaves, some at a time, with their positions among the leaves."""
    position = np.cumsum(tree.left < 0) - 1
    at_once = max(1, _MOST_BOUNDS // max(1, n_columns))
    pending = [(np.zeros(1, dtype=np.int64), LeafBounds.unbounded(n_columns))]
    ended: list[tuple[IntArray, LeafBounds]] = []
    while pending:
        nodes, bounds = pending.pop()
        if len(nodes) > at_once:
            parts = [slice(begin, begin + at_once) for begin in range(0, len(nodes), at_once)]
            pending += [(nodes[part], bounds.only(part)) for part in parts]
            continue
        is_leaf = tree.left[nodes] < 0
        ended.append((position[nodes[is_leaf]], bounds.only(is_leaf)))
        if sum(len(leaves) for leaves, _ in ended) > at_once:
            yield _joined(ended)
            ended = []
        if not is_leaf.all():
            pending.append(bounds.only(~is_leaf).children(tree, nodes[~is_leaf]))
    yield _joined(ended)


def _joined(parts: list[tuple[IntArray, LeafBounds]]) -> tuple[IntArray, LeafBounds]:
    """Return nodes and their bounds in one."""
    bounds = [part for _, part in parts]
    return np.concatenate([nodes for nodes, _ in parts]), LeafBounds(
        np.concatenate([part.low for part in bounds]),
        np.concatenate([part.high for part in bounds]),
        np.concatenate([part.missing for part in bounds]),
    )


@dataclass(frozen=True, eq=False)
class LeafBounds:
    """What rows at some nodes can hold: ``low < value <= high`` in each column, or no value where `missing`.

    All three have the shape (n_nodes, n_columns).
    """

    low: FloatArray
    high: FloatArray
    missing: BoolArray

    @classmethod
    def unbounded(cls, n_columns: int) -> LeafBounds:
        """Return the bounds of one node that all rows reach."""
        shape = (1, n_columns)
        return cls(np.full(shape, -np.inf), np.full(shape, np.inf), np.ones(shape, dtype=bool))

    def only(self, nodes: BoolArray | IntArray | slice) -> LeafBounds:
        """Return the bounds of some of the nodes."""
        return LeafBounds(self.low[nodes], self.high[nodes], self.missing[nodes])

    def follow(self, tree: Tree, rows: Rows, place: IntArray) -> IntArray:
        """Narrow the bounds of rows, in place, to those of the leaves that they reach; return these by position.

        Where the bounds of a column are, `place` says; -1 where they are not wanted.
        """

        def narrow(level: Passing) -> None:
            column, threshold = tree.feature[level.node], tree.threshold[level.node]
            for side, bound, nearer in ((level.left, self.high, np.minimum), (~level.left, self.low, np.maximum)):
                wanted = side & (place[column] >= 0)
                at = level.vector[wanted], place[column[wanted]]
                bound[at] = nearer(bound[at], threshold[wanted])
                self.missing[at] &= tree.missing_left[level.node[wanted]] == level.left[wanted]

        position: IntArray = (np.cumsum(tree.left < 0) - 1)[descend(tree, rows.T, narrow)]
        return position

    def children(self, tree: Tree, nodes: IntArray) -> tuple[IntArray, LeafBounds]:
        """Return the children of nodes, first all left ones, and their bounds."""
        low, high, missing = (np.concatenate([held, held]) for held in (self.low, self.high, self.missing))
        left, column, threshold = np.arange(len(nodes)), tree.feature[nodes], tree.threshold[nodes]
        right = left + len(nodes)
        high[left, column] = np.minimum(high[left, column], threshold)
        low[right, column] = np.maximum(low[right, column], threshold)
        missing[left, column] &= tree.missing_left[nodes]
        missing[right, column] &= ~tree.missing_left[nodes]
        return np.concatenate([tree.left[nodes], tree.right[nodes]]), LeafBounds(low, high, missing)

    def sizes(self, domain: Domain) -> FloatArray:
        """Return how many values of each attribute lie between the bounds, shape (n_nodes, n_attributes)."""
        sizes = np.empty((len(self.low), len(domain.attributes)))
        for a, attribute in enumerate(domain.attributes):
            columns = list(attribute.columns)
            low, high = self.low[:, columns], self.high[:, columns]
            if attribute.kind == "one-hot":
                zero, one = (low < 0) & (high >= 0), (low < 1) & (high >= 1)
                never_zero = (~zero).sum(axis=1, keepdims=True)
                sizes[:, a] = (one & (never_zero == ~zero)).sum(axis=1)
                if attribute.dropped:
                    sizes[:, a] += zero.all(axis=1)
                continue
            sizes[:, a] = _values_between(attribute, low[:, 0], high[:, 0])
            if attribute.missing:
                sizes[:, a] += self.missing[:, columns[0]]
        return sizes


def _values_between(attribute: Attribute, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return how many values of an attribute that is no one-hot group are above `low` and at most `high`."""
    if attribute.low == attribute.high:
        return ((low < attribute.low) & (attribute.low <= high)).astype(np.float64)
    if attribute.kind == "numeric":
        begin, end = np.maximum(low, attribute.low), np.minimum(high, attribute.high)
        some = (begin < end) | ((low < attribute.low) & (high >= attribute.low))
        share = np.where(some, end - begin, 0.0) / (attribute.high - attribute.low)
        return np.where(some, np.maximum(1.0, share * NUMERIC_VALUES), 0.0)
    first, last = (np.searchsorted(attribute.book, bound, side="right") for bound in (low, high))
    between: FloatArray = np.maximum(0.0, last - first)
    return between
