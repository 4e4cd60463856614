"""Sampled datasets beside rebuilt rows: what the best guess gets on some of the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.ambiguity.bounds import least_error, most_perfect_rows
from pytest_draft.arrays import BoolArray, IntArray, Rows
from pytest_draft.domain import Domain
from pytest_draft.facts.ambiguity import Ambiguity, Attacker, Ideal, Prior
from pytest_draft.matching import Weights, encoded_weights, gaps, matched_distance, row_identities
from pytest_draft.timebox import TimeBox

_SAME_RANK = 0.01
"""Ranks that an exact value can be off, as in `pytest_draft.evaluate.numeric`."""


@dataclass(frozen=True, eq=False, repr=False)
class Sampled:
    """Datasets drawn under one prior, with a file and without. Its repr shows no row."""

    prior: Prior
    datasets: tuple[Rows, ...]
    """Each of shape (n_rows, n_columns). Each explains the file as well as the truth, row by row in its place."""
    without: tuple[Rows, ...]
    """Each of shape (n_rows, n_columns). As many, drawn from the prior alone."""
    rows: IntArray
    """Shape (n_rows,). Which of the training rows these are; all others are as the truth has them, in every dataset."""

    def __repr__(self) -> str:
        return f"Sampled({self.prior}, {len(self.datasets)} datasets of {len(self.rows)} rows, not shown)"

    def mapped(self, change: Callable[[Rows], Rows]) -> Sampled:
        """Return the samples with each dataset changed in the same way: some columns, another scale."""
        return replace(
            self,
            datasets=tuple(change(one) for one in self.datasets),
            without=tuple(change(one) for one in self.without),
        )

    def only(self, training_rows: IntArray) -> Sampled:
        """Return the samples of some of the training rows, given by their positions."""
        kept: BoolArray = np.isin(self.rows, training_rows)
        return replace(self.mapped(lambda rows: rows[kept]), rows=self.rows[kept])


def ideal_of(sampled: Sequence[Sampled], weights: Weights, n_rows: int, timebox: TimeBox) -> Ideal | None:
    """Return what the best possible guess gets, of all attackers and of each.

    Parameters
    ----------
    sampled : sequence of Sampled
        One for each attacker.
    n_rows : int
        Rows to rebuild, of which the samples may be some.

    Returns
    -------
    Ideal or None
        None without samples, or without the time to match them.
    """
    attackers, exact = [], []
    for one in sampled:
        if len(one.datasets) < 2 or not len(one.rows):
            return None
        least, without = (least_error(rows, weights, timebox) for rows in (one.datasets, one.without))
        if least is None or without is None:
            return None
        larger = n_rows / len(one.rows)
        met, met_without = (
            min(most_perfect_rows(rows, weights) * larger, float(n_rows)) for rows in (one.datasets, one.without)
        )
        # Whoever has the file may guess as if they had not.
        attackers.append(Attacker(one.prior, min(least, without), max(met, met_without), without, met_without))
        exact.append(_most_exact(one.datasets, weights))
    if not attackers:
        return None
    return Ideal.of(tuple(attackers), n_rows, max(exact) if weights.tolerance.any() else None)


def shared_rows(sampled: Sequence[Sampled], unique: BoolArray, truth: Rows) -> int:
    """Return how many of the true rows that are unique stand in every sampled dataset.

    Parameters
    ----------
    unique : ndarray of bool, shape (n_training_rows,)
    truth : ndarray of float32, shape (n_training_rows, n_columns)
    """
    shared = unique.copy()
    for one in sampled:
        mine = truth[one.rows]
        for dataset in one.datasets:
            here, there = row_identities(mine, dataset)
            shared[one.rows] &= np.isin(here, there)
    return int(shared.sum())


def facts_of(
    sampled: Sequence[Sampled],
    domain: Domain,
    rows: Rows,
    bits: float,
    unchanged: float,
    timebox: TimeBox,
) -> Ambiguity:
    """Return what samples show besides what the best guess gets of them.

    Parameters
    ----------
    sampled : sequence of Sampled
        Under the population's prior first.
    rows : ndarray of float32, shape (n_training_rows, n_columns)
        The true ones.
    bits : float
        As `Ambiguity.bits`.
    unchanged : float
        As `Ambiguity.unchanged_rows`.
    """
    population = sampled[0]
    distance = matched_distance(rows[population.rows], population.datasets[0], encoded_weights(domain), timebox).upper
    (identity,) = row_identities(rows)
    unique = np.bincount(identity)[identity] == 1
    return Ambiguity(
        priors=tuple(one.prior for one in sampled),
        samples=min(len(one.datasets) for one in sampled),
        unchanged_rows=unchanged,
        bits=bits,
        distance=distance,
        shared_unique_rows=shared_rows(sampled, unique, rows),
    )


def _most_exact(datasets: Sequence[Rows], weights: Weights) -> float:
    """Return the share of numeric values, each in its place, that the likeliest value has in the datasets.

    Parameters
    ----------
    datasets : sequence of ndarray of float32, shape (n_rows, n_columns)
        Numeric values as ranks; on other scales the figure is not used.
    """
    columns = np.flatnonzero(weights.tolerance)
    if not len(columns):
        return 0.0
    values = np.stack([dataset[:, columns] for dataset in datasets])
    most = np.zeros(values.shape[1:])
    for one in values:
        apart, one_missing = gaps(values.reshape(len(values), -1), one.reshape(1, -1))
        same = ((apart <= _SAME_RANK) & ~one_missing).mean(axis=0).reshape(one.shape)
        most = np.maximum(most, same)
    return float(most.mean())
