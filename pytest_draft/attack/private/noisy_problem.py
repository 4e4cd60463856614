"""Noisy counts: in goes what was released and what the adversary knows of rows, out comes a `NoisyProblem`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pytest_draft.arrays import BoolArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.compiled_trees import Walks, leaves_of
from pytest_draft.attack.private.noise import CountNoise
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError

MOST_SLOTS = 400
"""Most rows that are looked for where their number is unknown, as in the paper's experiments."""

MOST_APART = 10_000_000
"""Most that released counts may lie apart: a table holds the probability of each difference to a true count."""

CONFIDENCE = 0.95
"""Of the interval that an unknown number of rows is looked for in (DRAFT-DP, appendix A)."""


@dataclass(frozen=True, eq=False, repr=False)
class NoisyProblem:
    """Released counts, and what the adversary knows of the rows behind them. Its repr shows no row."""

    domain: Domain
    walks: Walks
    noise: CountNoise
    released: IntArray
    """Shape (n_leaves, n_classes). All trees' leaves, tree by tree."""
    value: Int32Array
    """Shape (n_slots, n_attributes). Index of each value that the adversary knows; -1 where it doesn't."""
    label: IntArray
    """Shape (n_slots,). Index of each label that it knows; -1 where it doesn't."""
    n_rows: tuple[int, int]
    """The fewest and the most rows: equal where the adversary knows how many there are, and then as many slots."""

    def __repr__(self) -> str:
        least, most = self.n_rows
        return f"<NoisyProblem: {len(self.released)} leaves, {least} to {most} rows, values not shown>"

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.released.shape[1])

    @property
    def known(self) -> BoolArray:
        """Which slots hold a row that the adversary knows whole, shape (n_slots,)."""
        whole: BoolArray = (self.value >= 0).all(axis=1) & (self.label >= 0)
        return whole

    def log_likelihood(self, value: Int32Array, label: IntArray) -> float:
        """Return the log-probability of all released counts, given a whole dataset.

        Parameters
        ----------
        value : ndarray of int32, shape (n_rows, n_attributes)
        label : ndarray of int64, shape (n_rows,)
        """
        return float(self.noise.log_probability(self.released.ravel(), self.counts(value, label)).sum())

    def counts(self, value: Int32Array, label: IntArray) -> IntArray:
        """Return how many rows of a dataset lie at each leaf by class, shape (n_leaves * n_classes,)."""
        entry = leaves_of(self.walks, value).astype(np.int64) * self.n_classes + label[:, None]
        return np.bincount(entry.ravel(), minlength=self.released.size)


def values_of(domain: Domain, rows: NDArray[np.float32], attributes: Sequence[int] | None = None) -> Int32Array:
    """Return the index of each value of encoded rows; -1 for attributes that are not asked for.

    Parameters
    ----------
    domain : Domain
        Holds the rows.
    rows : ndarray of float32, shape (n_rows, n_columns)
    attributes : sequence of int or None
        Positions; None for all.
    """
    value = np.full((len(rows), len(domain.attributes)), -1, dtype=np.int32)
    for a in range(len(domain.attributes)) if attributes is None else attributes:
        attribute = domain.attributes[a]
        value[:, a] = attribute.index(rows[:, list(attribute.columns)])
    return value


def build_noisy(
    forest: Forest,
    domain: Domain,
    value: Int32Array,
    label: IntArray,
    *,
    size_known: bool = True,
) -> NoisyProblem:
    """Return the problem of a forest that released noisy counts.

    Parameters
    ----------
    forest : Forest
    domain : Domain
        Without numeric attributes.
    value, label : ndarray
        What is known of each row, as in `NoisyProblem`; a slot for each row.
    size_known : bool
        Whether there are as many rows as slots. Else the slots are those rows that are known, and the number of the
        others is looked for in its confidence interval.

    Raises
    ------
    NotCoveredError
        Where an attribute is numeric, or released counts lie too far apart.
    """
    noise = CountNoise.of(forest.observation.privacy)
    walks = Walks.of(forest, domain)
    released = np.concatenate([forest.released(t) for t in range(forest.n_trees)])
    if int(released.max()) - int(released.min()) > MOST_APART:
        raise NotCoveredError(
            f"its released counts lie up to {int(released.max()) - int(released.min()):,} apart, more than the "
            f"{MOST_APART:,} that are covered"
        )
    n_rows = (len(value), len(value))
    if not size_known:
        least, most = size_interval(forest, noise)
        least, most = max(least, len(value), 1), max(most, len(value) + 1)
        n_rows = (min(least, MOST_SLOTS), min(most, max(MOST_SLOTS, len(value) + 1)))
        room = n_rows[1] - len(value)
        value = np.concatenate([value, np.full((room, len(domain.attributes)), -1, dtype=np.int32)])
        label = np.concatenate([label, np.full(room, -1, dtype=np.int64)])
    return NoisyProblem(domain, walks, noise, released, value, label, n_rows)


def size_interval(forest: Forest, noise: CountNoise) -> tuple[int, int]:
    """Return the confidence interval of the number of rows (DRAFT-DP, SaTML 2026, appendix A-A).

    Each tree's released counts add up to the number of rows and the noise of its entries, whose deviation is known: so
    the mean over trees is nearly normal. (The paper takes Student's coefficient, as if the deviation were estimated.)
    Cutting the sum takes up to half a row off each entry, on average, so the interval reaches as much higher.
    """
    totals = np.array([forest.released(t).sum() for t in range(forest.n_trees)], dtype=np.float64)
    entries = sum(forest.released(t).size for t in range(forest.n_trees))
    deviation = noise.deviation * np.sqrt(entries) / forest.n_trees
    half = float(stats.norm.ppf(0.5 + CONFIDENCE / 2)) * deviation
    cut = 0.5 * entries / forest.n_trees if noise.rounding == "sum" else 0.0
    return int(np.floor(totals.mean() - half)), int(np.ceil(totals.mean() + half + cut))
