"""How much a file confirms of rows that explain it: the margin over what was tried, and mutations that it notices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.finding.told import Told

__tracebackhide__ = True  # frames here hold rows

EACH = 200
"""Mutations of each kind."""


@dataclass(frozen=True)
class Noticed:
    """How many mutations of one kind a file notices."""

    number: int
    made: int
    """At most `EACH`; fewer where rows are too much alike."""

    @property
    def all(self) -> bool:
        """Whether it noticed each."""
        return self.number == self.made > 0

    def __str__(self) -> str:
        return f"{self.number} of {self.made}"


@dataclass(frozen=True)
class Mutations:
    """What a file notices of mutations of rows that explain it."""

    exchanged: Noticed
    """A row in place of another one."""
    swapped: Noticed | None
    """Two rows in each other's place; None where the file knows no order."""
    changed: Noticed
    """Another row's value in a column that a tree tests."""

    @property
    def pins_rows(self) -> bool:
        """Whether it noticed each row and each place."""
        return self.swapped is not None and self.exchanged.all and self.swapped.all

    def __str__(self) -> str:
        swapped = "two rows swapped: never" if self.swapped is None else f"two rows swapped: {self.swapped}"
        return f"a row exchanged: {self.exchanged}, {swapped}, a value changed: {self.changed}"


def mutated(told: Told, rows: Rows, labels: IntArray, seed: int) -> Mutations:
    """Try mutations, and return how many of each kind a file would notice by its counts and sums.

    A row is noticed in the trees that saw it, wherever it falls into another leaf or has another label; two that were
    swapped in the trees that saw them differently often.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)
    seed : int
        Of the mutations.
    """
    forest, rng = told.forest, np.random.default_rng([seed, 21])
    first, other = rng.integers(0, len(rows), (2, 20 * EACH))
    unlike = ~((rows[first] == rows[other]) | (np.isnan(rows[first]) & np.isnan(rows[other]))).all(axis=1)
    unlike |= labels[first] != labels[other]
    first, other = first[unlike][:EACH], other[unlike][:EACH]
    changed, is_changed = rows[first].copy(), np.zeros(len(first), dtype=np.bool_)
    tested = np.unique(np.concatenate([tree.feature[tree.left >= 0] for tree in forest.trees]))
    for one, column in enumerate(rng.choice(tested, len(first)) if len(tested) else []):
        others = np.unique(rows[:, column])
        others = others[(others != rows[first[one], column]) & ~np.isnan(others)]
        if len(others):
            changed[one, column], is_changed[one] = rng.choice(others), True
    noticed = np.zeros((3, len(first)), dtype=np.bool_)
    relabelled = labels[first] != labels[other]
    columns = [np.ascontiguousarray(part.T) for part in (rows[first], rows[other], changed)]
    for t, tree in enumerate(forest.trees):
        own, theirs, moved = (leaf_positions(tree, part) for part in columns)
        apart = (own != theirs) | relabelled
        once = np.ones((2, len(first)), dtype=np.int64)
        times = once if told.drawn is None else told.drawn[t][np.stack([first, other])]
        noticed[0] |= apart & (times[0] > 0)
        noticed[1] |= apart & (times[0] != times[1])
        noticed[2] |= (own != moved) & (times[0] > 0)
    exchanged, swapped = (Noticed(int(one.sum()), len(first)) for one in noticed[:2])
    values = Noticed(int((noticed[2] & is_changed).sum()), int(is_changed.sum()))
    return Mutations(exchanged, None if told.drawn is None else swapped, values)


def bits_of_roots(told: Told, labels: IntArray) -> float:
    """Return how unlikely it is, at least, that rows in a random order give the classes at the roots of all trees."""
    roots, drawn = told.roots(), told.drawn
    if roots is None or drawn is None:
        return 0.0
    if told.n_classes == 0:
        return 8.0 * len(roots)  # of targets, whose sums are not whole
    shares = np.bincount(labels, minlength=told.n_classes) / len(labels)
    spread = (drawn.astype(np.float64) ** 2).sum(axis=1) - drawn.sum(axis=1) ** 2 / drawn.shape[1]
    bits = float(bits_of_classes(spread, shares).sum())
    each = shares[shares > 0]
    return min(bits, float(-len(labels) * (each * np.log2(each)).sum()))


def bits_of_classes(spread: FloatArray, shares: FloatArray) -> FloatArray:
    """Return how unlikely the numbers of all classes together are, at least, in draws at random, shape (n_draws,).

    The likeliest numbers of classes with shares p are as likely as the peak of a normal distribution with the
    covariance ``spread * (diag(p) - p p')``, whose determinant without one class is the product of all p. Rare classes
    for which it has no meaning are taken together with the next one, which can only make the numbers likelier.

    Parameters
    ----------
    spread : ndarray of float64, shape (n_draws,)
        Variance of the number of a class, over ``p (1 - p)``.
    shares : ndarray of float64, shape (n_classes,)
    """
    shares = -np.sort(-shares[shares > 0])
    apart = np.arange(1, len(shares))
    determinant = np.cumsum(np.log2(shares))[:-1] + np.log2(np.cumsum(shares[::-1])[::-1][1:])
    bits = (apart * np.log2(2 * np.pi * np.maximum(spread, 1e-12))[:, None] + determinant) / 2
    likeliest: FloatArray = bits.max(axis=1, initial=0.0)
    return likeliest


def bits_of_places(parted: Sequence[tuple[float, float]], left_out: float) -> float:
    """Return how unlikely it is, at least, that as many random rows lie below a column's thresholds.

    Parameters
    ----------
    parted : sequence of pair of float
        How many rows each node had, and how many of them went left.
    left_out : float
        Share of the table's rows that were not trained on: of all rows, none are drawn.
    """
    n_rows, taken = np.array(parted, dtype=np.float64).T
    deviation = np.sqrt(np.maximum(taken * (n_rows - taken) / n_rows * left_out * 2 * np.pi, 1.0))
    return float(np.log2(deviation).sum())
