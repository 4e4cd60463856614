"""What a leaf says of draws that nobody knows: in goes a forest, with counts or without, out come sets of class counts.

A fraction p / q in lowest terms says that the leaf holds m * p draws of each class for some whole m; a rounded one,
that it holds one of finitely many vectors of counts; a label, that no class has more. Leaves that say the same share
one set. Of a forest whose counts are there, and whose draws nobody knows, each leaf says its one vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.artifact.forest import Forest, Outputs
from pytest_draft.attack.redacted import redacted
from pytest_draft.errors import NotCoveredError

PURE, RATIO, LISTED, LABEL, COUNTED = 0, 1, 2, 3, 4
"""Kinds of leaves: draws of one class; multiples of one vector of counts; one of several vectors; only the winner; the
counts of the draws themselves, with the number of different rows where that is told."""

MOST_LISTED = 5_000_000
"""Most vectors of counts that rounded fractions are taken for, all leaves together."""


@redacted
class LeafOutputs(NamedTuple):
    """What all leaves of a forest say, tree by tree, in the order of `Tree.leaves`."""

    kind: NDArray[np.int8]
    """Shape (n_leaves,). `PURE`, `RATIO`, `LISTED`, `LABEL` or `COUNTED`."""
    winner: IntArray
    """Shape (n_leaves,). The class with most draws, the first of equal ones; -1 where several can be."""
    first: IntArray
    last: IntArray
    """`first` and `last`, shape (n_leaves,): the leaf's vectors are ``vectors[first:last]``: one for `RATIO` and
    `COUNTED`, by ascending sum for `LISTED`, else none.
    """
    vectors: IntArray
    """Shape (n_vectors, n_classes)."""
    said: IntArray
    """Shape (n_leaves,). Equal for leaves that say the same."""
    distinct: IntArray
    """Shape (n_leaves,). Different rows among the draws; 0 where that is not told."""


@dataclass(frozen=True, eq=False, repr=False)
class _Said:
    """What one set of outputs says. Its repr shows no value."""

    kind: int
    winner: int
    vectors: IntArray

    def __repr__(self) -> str:
        return f"<_Said: {len(self.vectors)} vectors>"


def leaf_outputs(forest: Forest, n_draws: int) -> LeafOutputs:
    """Return what the leaves of a forest say.

    Parameters
    ----------
    forest : Forest
        With `Forest.outputs`.
    n_draws : int
        Most draws (without bootstrap: rows) that a leaf can hold.

    Returns
    -------
    LeafOutputs

    Raises
    ------
    NotCoveredError
        Where fractions are rounded so much that too many counts have them.
    """
    if forest.outputs is None:
        return _leaf_counts(forest)
    values = np.concatenate([tree.value[tree.leaves] for tree in forest.trees])
    different, said_by = np.unique(values, axis=0, return_inverse=True)
    said, n_listed = [], 0
    for value in different:
        one = _said(value, forest.outputs, n_draws, MOST_LISTED - n_listed)
        n_listed += len(one.vectors)
        said.append(one)
    last = np.cumsum([len(one.vectors) for one in said])
    first = last - [len(one.vectors) for one in said]
    by_leaf = said_by.reshape(-1)
    return LeafOutputs(
        np.array([one.kind for one in said], dtype=np.int8)[by_leaf],
        np.array([one.winner for one in said], dtype=np.int64)[by_leaf],
        first.astype(np.int64)[by_leaf],
        last.astype(np.int64)[by_leaf],
        np.ascontiguousarray(np.concatenate([one.vectors for one in said]), dtype=np.int64),
        by_leaf.astype(np.int64),
        np.zeros(len(by_leaf), dtype=np.int64),
    )


def _leaf_counts(forest: Forest) -> LeafOutputs:
    """Return what the leaves of a forest with counts say."""
    counts = np.concatenate([forest.counts(t)[tree.leaves] for t, tree in enumerate(forest.trees)])
    distinct = np.zeros(len(counts), dtype=np.int64)
    if forest.tells_distinct:
        distinct = np.concatenate([tree.n_distinct[tree.leaves] for tree in forest.trees])
    return counted_leaves(counts, distinct)


def counted_leaves(counts: IntArray, distinct: IntArray) -> LeafOutputs:
    """Return what leaves say that tell their draws.

    Parameters
    ----------
    counts : ndarray of int64, shape (n_leaves, n_classes)
    distinct : ndarray of int64, shape (n_leaves,)
        Different rows among them; 0 where that is not told.
    """
    different, by_leaf = np.unique(np.column_stack([counts, distinct]), axis=0, return_inverse=True)
    said = by_leaf.reshape(-1).astype(np.int64)
    kind = np.full(len(said), COUNTED, dtype=np.int8)
    vectors = np.ascontiguousarray(different[:, :-1], dtype=np.int64)
    return LeafOutputs(kind, counts.argmax(axis=1).astype(np.int64), said, said + 1, vectors, said, distinct)


def _said(value: FloatArray, outputs: Outputs, n_draws: int, room: int) -> _Said:
    """Return what one leaf's outputs say."""
    nothing = np.empty((0, 1 if outputs.kind == "means" else len(value)), dtype=np.int64)
    winner = int(value.argmax())
    if outputs.kind == "means":  # of a regressor's rows, which are all of one class
        return _Said(PURE, 0, nothing)
    if outputs.kind == "labels":
        return _Said(LABEL, winner, nothing)
    slack = max(outputs.tolerance, 1e-12)
    if value[winner] >= 1.0 - slack and n_draws * slack < 0.5:  # not one draw of another class would be hidden
        return _Said(PURE, winner, nothing)
    sums = np.arange(1, n_draws + 1)
    low = np.ceil(np.multiply.outer(sums, value - slack) - 1e-9)
    high = np.floor(np.multiply.outer(sums, value + slack) + 1e-9)
    low = np.maximum(low, 0.0)
    fits = (low <= high).all(axis=1) & (low.sum(axis=1) <= sums) & (sums <= high.sum(axis=1))
    if not fits.any():
        raise NotCoveredError(
            f"the fractions of a leaf are those of no {n_draws:,} draws or fewer: the forest was trained on more rows, "
            "or with weights that are not in the file"
        )
    single = (low == high).all(axis=1)[fits].all()
    sums, low, high = sums[fits], low[fits].astype(np.int64), high[fits].astype(np.int64)
    if single and (low == low[0] * (sums // sums[0])[:, None]).all() and (sums % sums[0] == 0).all():
        return _Said(PURE if low[0].max() == sums[0] else RATIO, winner, low[:1])
    listed: list[tuple[int, ...]] = []
    for total, least, most in zip(sums.tolist(), low.tolist(), high.tolist(), strict=True):
        free = [range(a, b + 1) for a, b in zip(least[:-1], most[:-1], strict=True)]
        for head in product(*free):
            rest = total - sum(head)
            if least[-1] <= rest <= most[-1]:
                listed.append((*head, rest))
        if len(listed) > room:
            raise NotCoveredError(
                f"its fractions are rounded so much that more than {MOST_LISTED:,} counts of up to {n_draws:,} draws "
                "have them; fewer rows are covered"
            )
    return _Said(LISTED, -1, np.array(listed, dtype=np.int64))
