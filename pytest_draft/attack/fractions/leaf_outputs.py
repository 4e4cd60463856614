"""What each leaf allows when nobody knows the draws: sets of class counts, from a forest with or without counts.

A fraction p / q in lowest terms says that the leaf holds m * p draws of each class for some whole m; a rounded one,
that it holds one of finitely many vectors of counts; a label, that no class has more. Leaves that say the same share
one set. Of a forest whose counts are there, and whose draws nobody knows, each leaf says its one vector.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import Answers, Possible
from pytest_draft.artifact.forest.observations.answers import MOST_LISTED
from pytest_draft.attack.redacted import redacted

PURE, RATIO, LISTED, LABEL, COUNTED = 0, 1, 2, 3, 4
"""Kinds of leaves: draws of one class; multiples of one vector of counts; one of several vectors; only the winner; the
counts of the draws themselves, with the number of different rows where that is published."""

_KINDS = {"one class": PURE, "multiples": RATIO, "listed": LISTED, "winner": LABEL}


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
    """Shape (n_leaves,). Different rows among the draws; 0 where that is not published."""


def leaf_outputs(forest: Forest, n_draws: int) -> LeafOutputs:
    """Return what the leaves of a forest say.

    Parameters
    ----------
    forest : Forest
        With `Answers`, or with counts of draws that nobody knows.
    n_draws : int
        Most draws (without bootstrap: rows) that a leaf can hold.

    Raises
    ------
    NotCoveredError
        Where fractions are rounded so much that too many counts have them.
    """
    if not isinstance(forest.observation, Answers):
        return _leaf_counts(forest)
    values = np.concatenate([tree.value[tree.leaves] for tree in forest.trees])
    return outputs_of(forest.observation, values, n_draws)


def outputs_of(answers: Answers, values: FloatArray, n_draws: int) -> LeafOutputs:
    """Return what leaves say that answer so.

    Parameters
    ----------
    values : ndarray of float64, shape (n_leaves, n_values)
    n_draws : int
        As to `leaf_outputs`.
    """
    different, said_by = np.unique(values, axis=0, return_inverse=True)
    said: list[Possible] = []
    room = MOST_LISTED
    for value in different:
        said.append(answers.possible(value, n_draws, room))
        room -= len(said[-1].vectors)
    last = np.cumsum([len(one.vectors) for one in said])
    first = last - [len(one.vectors) for one in said]
    by_leaf = said_by.reshape(-1)
    return LeafOutputs(
        np.array([_KINDS[one.kind] for one in said], dtype=np.int8)[by_leaf],
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
    distinct = np.zeros(len(counts), dtype=np.int64) if forest.distinct is None else np.concatenate(forest.distinct)
    return counted_leaves(counts, distinct)


def counted_leaves(counts: IntArray, distinct: IntArray) -> LeafOutputs:
    """Return what leaves say that publish their draws.

    Parameters
    ----------
    counts : ndarray of int64, shape (n_leaves, n_classes)
    distinct : ndarray of int64, shape (n_leaves,)
        Different rows among them; 0 where that is not published.
    """
    different, by_leaf = np.unique(np.column_stack([counts, distinct]), axis=0, return_inverse=True)
    said = by_leaf.reshape(-1).astype(np.int64)
    kind = np.full(len(said), COUNTED, dtype=np.int8)
    vectors = np.ascontiguousarray(different[:, :-1], dtype=np.int64)
    return LeafOutputs(kind, counts.argmax(axis=1).astype(np.int64), said, said + 1, vectors, said, distinct)
