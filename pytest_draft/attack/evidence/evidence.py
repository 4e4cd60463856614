"""What leaves say of the rows in them, for the one sampler: what each leaf adds to a dataset's log-likelihood.

A kind of evidence is a named tuple of arrays, with a compiled function of the rows by class in one leaf (`scored_by`)
and with what `LeafEvidence` lists: nothing else need know it. The log-likelihood is the sum over all leaves, so one
row's move changes two terms in each tree: these changes are kept at hand (`LeafCounts`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from pytest_draft.arrays import FloatArray, Int32Array, IntArray
from pytest_draft.attack.compiled_trees import Walks, leaves_of
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled, inlined
from pytest_draft.domain import Domain

_MEMO = 1 << 18
"""Scores that are kept at hand; a power of 2."""

Class = TypeVar("Class", bound=type)


class LeafEvidence(Protocol):
    """What leaves say of the rows in them: a named tuple whose class `scored_by` has given its score."""

    @property
    def by_class(self) -> bool:
        """Whether a leaf says something of each class alone: its entries are scored as so many leaves of one class."""

    @property
    def alike(self) -> IntArray:
        """Shape (n_leaves,): equal for leaves that say the same, so that a score is worked out once; or (0,).

        Empty where a score takes no longer than looking it up.
        """

    def lacking(self, rows: FloatArray) -> int:
        """Return by how many rows a dataset misses what the leaves say; 0 for the right one.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_leaves, n_classes)
        """


Evidence = TypeVar("Evidence", bound=LeafEvidence)


def scored_by(kernel: Callable[..., Any]) -> Callable[[Class], Class]:
    """Return a decorator for a class of evidence.

    Parameters
    ----------
    kernel : callable
        Compiled ``kernel(evidence, rows, leaf, n_classes)``: what a leaf adds to the log-likelihood. ``rows``, of shape
        (n_leaves * n_classes,), are those at each leaf and class; they need not be whole.
    """

    def decorated(cls: Class) -> Class:
        cls.score = staticmethod(kernel)  # type: ignore[attr-defined]
        return cls

    return decorated


def score(evidence: Any, rows: FloatArray, leaf: int, n_classes: int) -> Any:
    """Return what a leaf adds to the log-likelihood, by the kernel of the evidence's class."""
    return evidence.score(evidence, rows, leaf, n_classes)


@overload(score)
def _score(evidence, rows, leaf, n_classes):  # type: ignore[no-untyped-def]
    return evidence.instance_class.score.py_func


@redacted
class LeafCounts(NamedTuple):
    """Rows at each leaf and class, and what one more or one less adds to the log-likelihood."""

    rows: FloatArray
    more: FloatArray
    less: FloatArray
    """`rows`, `more` and `less`, shape (n_leaves * n_classes,): leaf by leaf, class by class; `less` is 0 where there
    are none.
    """
    here: FloatArray
    """Shape (n_leaves,), or (n_leaves * n_classes,) by class. What each leaf adds as it is."""
    width: int
    """Entries that are scored together: as many as there are classes; by class, 1."""
    alike: IntArray
    """As in `LeafEvidence`."""
    key: NDArray[np.uint64]
    known: FloatArray
    """`key` and `known`, shape (`_MEMO`,) or (0,): what was worked out before, by a hash of what a leaf says and of its
    rows.
    """


@inlined
def _mixed(z):  # type: ignore[no-untyped-def]
    """Return a hash of a number (splitmix64)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined
def known_score(evidence, counts, leaf):  # type: ignore[no-untyped-def]
    """Return `score` of whole counts, from what was worked out before where that is known."""
    width = counts.width
    if len(counts.key) == 0:
        return score(evidence, counts.rows, leaf, width)
    key = np.uint64(counts.alike[leaf] + 1)
    for entry in range(leaf * width, (leaf + 1) * width):
        key = _mixed(key * np.uint64(0x9E3779B97F4A7C15) + np.uint64(counts.rows[entry]))
    place = key & np.uint64(_MEMO - 1)
    if counts.key[place] != key:
        counts.key[place] = key
        counts.known[place] = score(evidence, counts.rows, leaf, width)
    return counts.known[place]


@inlined
def _gains(evidence, counts, leaf):  # type: ignore[no-untyped-def]
    """Bring up to date what one row more or less adds at a leaf."""
    rows = counts.rows
    here = known_score(evidence, counts, leaf)
    counts.here[leaf] = here
    for entry in range(leaf * counts.width, (leaf + 1) * counts.width):
        rows[entry] += 1.0
        counts.more[entry] = known_score(evidence, counts, leaf) - here
        rows[entry] -= 1.0
        if rows[entry] > 0.0:
            rows[entry] -= 1.0
            counts.less[entry] = known_score(evidence, counts, leaf) - here
            rows[entry] += 1.0
        else:
            counts.less[entry] = 0.0


@compiled
def all_gains(evidence, counts):  # type: ignore[no-untyped-def]
    """Bring up to date what one row more or less adds anywhere."""
    for leaf in range(len(counts.here)):
        _gains(evidence, counts, leaf)


@inlined
def count_at(evidence, counts, leaf, label, n_classes, step):  # type: ignore[no-untyped-def]
    """Add a row to a leaf and class, or take it away."""
    entry = leaf * n_classes + label
    counts.rows[entry] += step
    _gains(evidence, counts, entry if counts.width == 1 else leaf)


@inlined
def relabelling(evidence, counts, leaf, before, label, n_classes):  # type: ignore[no-untyped-def]
    """Return what it adds to the log-likelihood that one row of a leaf, scored as one, changes its class."""
    source, target = leaf * n_classes + before, leaf * n_classes + label
    counts.rows[source] -= 1.0
    counts.rows[target] += 1.0
    change = known_score(evidence, counts, leaf) - counts.here[leaf]
    counts.rows[source] += 1.0
    counts.rows[target] -= 1.0
    return change


@compiled
def total_score(evidence, rows, n_classes):  # type: ignore[no-untyped-def]
    """Return the sum over all leaves."""
    total = 0.0
    for leaf in range(len(rows) // n_classes):
        total += score(evidence, rows, leaf, n_classes)
    return total


@dataclass(frozen=True, eq=False, repr=False)
class LeafModel(Generic[Evidence]):
    """The likelihood of whole datasets. Its repr shows no value."""

    domain: Domain
    """Without numeric attributes."""
    walks: Walks
    evidence: Evidence
    n_leaves: int
    """Of all trees."""
    n_classes: int

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.walks.root)

    def rows_at_leaves(self, value: Int32Array, label: IntArray) -> FloatArray:
        """Return how many rows of a dataset lie at each leaf and class, shape (n_leaves * n_classes,).

        Parameters
        ----------
        value : ndarray of int32, shape (n_rows, n_attributes)
            Indices of values, as `Domain.indices` returns them.
        label : ndarray of int64, shape (n_rows,)
        """
        entry = leaves_of(self.walks, value).astype(np.int64) * self.n_classes + label[:, None]
        return np.bincount(entry.ravel(), minlength=self.n_leaves * self.n_classes).astype(np.float64)

    def counts(self, value: Int32Array, label: IntArray) -> LeafCounts:
        """Return the rows at each leaf and class, with what one more or less adds; parameters as `rows_at_leaves`."""
        rows, alike = self.rows_at_leaves(value, label), self.evidence.alike
        more, less, width = np.zeros(len(rows)), np.zeros(len(rows)), 1 if self.evidence.by_class else self.n_classes
        here, n_known = np.zeros(len(rows) // width), _MEMO if len(alike) else 0
        counts = LeafCounts(rows, more, less, here, width, alike, np.zeros(n_known, dtype=np.uint64), np.zeros(n_known))
        all_gains(self.evidence, counts)
        return counts

    def log_likelihood(self, value: Int32Array, label: IntArray) -> float:
        """Return the log-likelihood of a dataset, given as to `rows_at_leaves`."""
        return self.total(self.rows_at_leaves(value, label))

    def total(self, rows: FloatArray) -> float:
        """Return the log-likelihood of rows by leaf and class, as `rows_at_leaves` returns them."""
        return float(total_score(self.evidence, rows, self.n_classes))

    def lacking(self, rows: FloatArray) -> int:
        """Return by how many rows those by leaf and class miss what the leaves say: see `LeafEvidence`."""
        return self.evidence.lacking(rows.reshape(-1, self.n_classes))
