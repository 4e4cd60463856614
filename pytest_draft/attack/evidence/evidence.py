"""What leaves say of the rows in them, for the one sampler: what each leaf adds to a dataset's log-likelihood.

A kind of evidence is a named tuple of arrays with a compiled function of the rows in one leaf (`scored_by`), made by a
function that is registered with `evidence_of`: nothing else need know it. The log-likelihood is the sum over all
leaves, so one row's move changes two terms in each tree: these changes are kept at hand (`LeafCounts`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import Observation
from pytest_draft.attack.compiled_trees import Walks, leaves_of
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled, inlined
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError

_MEMO = 1 << 18
"""Scores that are kept at hand; a power of 2."""

Class = TypeVar("Class", bound=type)


def scored_by(kernel: Callable[..., Any], *, exact: bool, by_class: bool = False) -> Callable[[Class], Class]:
    """Return a decorator for a class of evidence: a named tuple of arrays with a method ``lacking(rows)``.

    ``lacking`` takes rows by leaf and kind, shape (n_leaves, n_kinds), and returns by how many they miss what the
    leaves say: 0 for the right ones. Of the following attributes, those that the class doesn't have are added:

    - ``reads``, a tuple of int: the attributes whose values it says something of; empty, as it is without the class's
      own, where it tells of classes alone. Else the rows of a leaf are counted by kind, that is by class and by their
      values of these attributes: ``value * n_classes + class``, the values of several counting on like digits.
    - ``alike``, shape (n_leaves,) of int64: equal for leaves that say the same, so that a score is worked out once.
      Without it, none is kept: where a score takes no longer than looking it up.

    Parameters
    ----------
    kernel : callable
        Compiled ``kernel(evidence, rows, leaf, n_kinds)``: what a leaf adds to the log-likelihood. ``rows``, of shape
        (n_leaves * n_kinds,), are those at each leaf by kind; they need not be whole.
    exact : bool
        Whether each leaf says something of each row in it; False where it says it of draws, or with noise.
    by_class : bool
        Whether it says something of each class alone: then its entries are scored as so many leaves of one class.
    """
    added = {"reads": (), "alike": np.zeros(0, dtype=np.int64), "exact": exact}

    def decorated(cls: Class) -> Class:
        for name, value in added.items():
            if not hasattr(cls, name):
                setattr(cls, name, value)
        cls.score, cls.by_class = staticmethod(kernel), by_class  # type: ignore[attr-defined]
        return cls

    return decorated


def walked_by(passing: Callable[..., Any], parting: Callable[..., Any], ending: Callable[..., Any]) -> Any:
    """Return a decorator for evidence that inner nodes give, too, given its compiled forms of these three functions.

    Where it has none, nodes say nothing, and leaves what `LeafCounts` hold.
    """

    def decorated(cls: Class) -> Class:
        for name, kernel in (("passing", passing), ("parting", parting), ("ending", ending)):
            setattr(cls, name, staticmethod(kernel))
        return cls

    return decorated


@singledispatch
def evidence_of(
    observation: Observation, forest: Forest, domain: Domain, n_rows: int, most_rows: int | None = None
) -> Any:
    """Return what a forest's leaves say, by the class of its observation: a new kind is registered here.

    Parameters
    ----------
    observation : Observation
        The forest's.
    domain : Domain
        Without numeric attributes.
    n_rows : int
        Number of training rows, as far as it is known.
    most_rows : int or None
        Most that there can be, where it is not known.

    Raises
    ------
    NotCoveredError
        Where nothing is known of how likely it is.
    """
    raise NotCoveredError("no attack knows yet how likely what its leaves say is")


def _told_by_class(name: str, inline: Literal["never", "always"], otherwise: Callable[..., Any] | None = None) -> Any:
    """Return a function of evidence that compiled code takes from its class, or else is another one."""

    def told(evidence: Any, *rest: Any) -> Any:
        return getattr(evidence, name)(evidence, *rest)

    @overload(told, strict=False, inline=inline)
    def _told(evidence: Any, *rest: Any) -> Any:
        kernel = getattr(evidence.instance_class, name, None)
        return otherwise if kernel is None else kernel.py_func

    return told


def _moved(evidence, counts, node, leaf, here, label, times):  # type: ignore[no-untyped-def]
    source, target = here * counts.n_classes + label, leaf * counts.n_classes + label
    if leaf == here:
        return 0.0
    if counts.width > counts.n_classes:
        return moving(evidence, counts, source, target)
    return counts.less[source] + counts.more[target]


score = _told_by_class("score", "never")
"""``score(evidence, rows, leaf, n_kinds)``: what a leaf adds to the log-likelihood (`scored_by`)."""

passing = _told_by_class("passing", "always", lambda evidence, counts, node, attribute, value, begin, label, times: 0.0)
"""``passing(evidence, counts, node, attribute, value, begin, label, times)``: what a row, drawn so often, adds at an
inner node that sends values of an attribute from `begin` on right; a missing value is -1.
"""

parting = _told_by_class(
    "parting", "always", lambda evidence, counts, node, attribute, low, high, begin, label, times, change: 0.0
)
"""``parting(evidence, counts, node, attribute, low, high, begin, label, times, change)``: the same for each value from
`low` to before `high`: what all add is returned, and differences are added to `change`.
"""

ending = _told_by_class("ending", "always", _moved)
"""``ending(evidence, counts, node, leaf, here, label, times)``: what a row adds at a leaf; one that is still counted at
a leaf (`here`), by its move.
"""


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
    n_classes: int
    width: int
    """Entries that are scored together: as many as there are kinds of rows; by class, 1."""
    alike: IntArray
    """As in `scored_by`."""
    key: NDArray[np.uint64]
    known: FloatArray
    """`key` and `known`, shape (`_MEMO`,) or (0,): what was worked out before, by a hash of what a leaf says and of its
    rows.
    """


@inlined
def mixed(z):  # type: ignore[no-untyped-def]
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
        key = mixed(key * np.uint64(0x9E3779B97F4A7C15) + np.uint64(counts.rows[entry]))
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
    _gains(evidence, counts, entry // counts.width)


@inlined
def moving(evidence, counts, source, target):  # type: ignore[no-untyped-def]
    """Return what it adds to the log-likelihood that one row moves from one entry to another."""
    leaf = source // counts.width
    if leaf != target // counts.width:
        return counts.less[source] + counts.more[target]
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
class LeafModel:
    """The likelihood of whole datasets. Its repr shows no value."""

    domain: Domain
    """Without numeric attributes."""
    walks: Walks
    evidence: Any
    """Of a class that `scored_by` has decorated."""
    n_leaves: int
    """Of all trees, as they are walked: a leaf of evidence that reads values is parted by these."""
    n_classes: int

    @classmethod
    def of(cls, forest: Forest, domain: Domain, evidence: Any) -> LeafModel:
        """Return the likelihood of what a forest's leaves say, which `evidence_of` returns.

        Raises
        ------
        NotCoveredError
            Where an attribute of the domain is numeric, or may be missing.
        """
        walks = Walks.of(forest, domain, parted_by=evidence.reads)
        return cls(domain, walks, evidence, int(-walks.attribute.min()), forest.n_classes)

    @property
    def width(self) -> int:
        """Entries that are scored together."""
        sizes = [self.domain.attributes[a].n_values for a in self.evidence.reads]
        return 1 if self.evidence.by_class else self.n_classes * math.prod(sizes)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.walks.n_trees

    def rows_at_leaves(self, value: Int32Array, label: IntArray, seen: BoolArray | None = None) -> FloatArray:
        """Return how many rows of a dataset lie at each leaf and class, shape (n_leaves * n_classes,).

        Parameters
        ----------
        value : ndarray of int32, shape (n_rows, n_attributes)
            Indices of values, as `Domain.indices` returns them.
        label : ndarray of int64, shape (n_rows,)
        seen : ndarray of bool, shape (n_rows, n_trees), or None
            Which trees have seen a row; None for all.
        """
        entry = leaves_of(self.walks, value).astype(np.int64) * self.n_classes + label[:, None]
        entry = entry.ravel() if seen is None else entry[seen]
        return np.bincount(entry, minlength=self.n_leaves * self.n_classes).astype(np.float64)

    def counts(self, rows: FloatArray) -> LeafCounts:
        """Return the rows at each leaf and class, as `rows_at_leaves` returns them, with what one more or less adds."""
        more, less, width, alike = np.zeros(len(rows)), np.zeros(len(rows)), self.width, self.evidence.alike
        here, n_known = np.zeros(len(rows) // width), _MEMO if len(alike) else 0
        counts = LeafCounts(
            rows, more, less, here, self.n_classes, width, alike, np.zeros(n_known, np.uint64), np.zeros(n_known)
        )  # fmt: skip
        all_gains(self.evidence, counts)
        return counts

    def log_likelihood(self, value: Int32Array, label: IntArray) -> float:
        """Return the log-likelihood of a dataset, given as to `rows_at_leaves`."""
        return self.total(self.rows_at_leaves(value, label))

    def total(self, rows: FloatArray) -> float:
        """Return the log-likelihood of rows by leaf and class, as `rows_at_leaves` returns them."""
        return float(total_score(self.evidence, rows, self.width))

    def lacking(self, rows: FloatArray) -> int:
        """Return by how many rows those by leaf and class miss what the leaves say: see `scored_by`."""
        return int(self.evidence.lacking(rows.reshape(-1, self.width)))


def model_of(forest: Forest, domain: Domain, n_rows: int, most_rows: int | None = None) -> LeafModel:
    """Return the likelihood of what a forest says; parameters and errors as of `evidence_of` and `LeafModel.of`."""
    return LeafModel.of(forest, domain, evidence_of(forest.observation, forest, domain, n_rows, most_rows))
