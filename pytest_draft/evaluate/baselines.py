"""What an error would be without the attack: in go the truth and its domain, out come two baselines.

The *random* baseline knows the domain only (DRAFT, ICML 2024, section 7.1). The *split-half* baseline is how close
one random half of the training data lies to the other half: what somebody gets who has no access to these
rows, but to as many others of the same population. It needs no holdout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from pytest_draft.domain import Domain
from pytest_draft.matching import Rows, Weights, matched_distance, row_identities, unmatched
from pytest_draft.timebox import TimeBox

RANDOM_DRAWS = 100
"""Draws of the random baseline."""

SPLITS = 20
"""Random halvings of the training data."""

SPLITS_WHEN_LARGE = 3
"""The same above `SAMPLE_ROWS` rows, where a single one varies little."""

SAMPLE_ROWS = 2_000
"""Above this many rows, the random error is measured on samples of this many rows."""


@dataclass(frozen=True)
class Baseline:
    """Means over draws.

    Attributes
    ----------
    error : float or None
        Mean error on encoded columns; None where the time was out before the first draw.
    perfect_rows : float or None
        Expected perfect rows, for all rows of the training data.
    draws : int
    rows : int
        Rows that the error was measured on.
    """

    error: float | None
    perfect_rows: float | None
    draws: int
    rows: int


def random_baseline(truth: Rows, domain: Domain, weights: Weights, seed: int, timebox: TimeBox) -> Baseline:
    """Return what guesses drawn uniformly from the domain get.

    Parameters
    ----------
    truth : ndarray of float32, shape (n_rows, n_columns)
    domain : Domain
    weights : Weights
    seed : int
    timebox : TimeBox
        Fewer draws are made, and said so, when the time is out.

    Returns
    -------
    Baseline
    """
    rng = np.random.default_rng([seed, 1])
    n_sampled = min(len(truth), SAMPLE_ROWS)
    errors: list[float] = []
    for _ in range(RANDOM_DRAWS):
        if timebox.over:
            break
        sample = truth
        if n_sampled < len(truth):
            sample = truth[rng.choice(len(truth), n_sampled, replace=False)]
        distance = matched_distance(sample, domain.uniform(n_sampled, rng), weights, timebox)
        if distance.exact is None:
            break
        errors.append(distance.exact)
    error = float(np.mean(errors)) if errors else None
    return Baseline(error, expected_perfect_rows(truth, domain), len(errors), n_sampled)


def expected_perfect_rows(truth: Rows, domain: Domain) -> float:
    """Return how many rows guesses drawn uniformly from the domain are expected to meet: exact, no draws.

    A vector that stands ``n`` times in the training data is met ``min(n, B)`` times, where ``B``, how often it
    is guessed, is binomial with as many tries as rows and one over the number of vectors.

    Parameters
    ----------
    truth : ndarray of float32, shape (n_rows, n_columns)
    domain : Domain

    Returns
    -------
    float
        0 where a numeric attribute makes a meeting impossible.
    """
    if any(attribute.kind == "numeric" for attribute in domain.attributes):
        return 0.0
    (identity,) = row_identities(truth)
    times = np.bincount(identity)
    at_least = np.array([(times >= n).sum() for n in range(1, int(times.max()) + 1)])
    met = stats.binom.sf(np.arange(len(at_least)), len(truth), 1 / domain.n_vectors)
    return float(at_least @ met)


def split_half_baseline(truth: Rows, weights: Weights, seed: int, timebox: TimeBox) -> Baseline:
    """Return how close one random half of the training data lies to the other.

    Parameters
    ----------
    truth : ndarray of float32, shape (n_rows, n_columns)
    weights : Weights
    seed : int
    timebox : TimeBox

    Returns
    -------
    Baseline
        Nothing (`error` None) for a single row.
    """
    rng = np.random.default_rng([seed, 2])
    half = len(truth) // 2
    errors: list[float] = []
    perfect: list[int] = []
    for _ in range(SPLITS if len(truth) <= SAMPLE_ROWS else SPLITS_WHEN_LARGE):
        if timebox.over or not half:
            break
        order = rng.permutation(len(truth))
        one, other = truth[order[:half]], truth[order[half : 2 * half]]
        distance = matched_distance(one, other, weights, timebox)
        if distance.exact is None:
            break
        errors.append(distance.exact)
        perfect.append(_shared(one, other))
    if not errors:
        return Baseline(None, None, 0, half)
    return Baseline(float(np.mean(errors)), float(np.mean(perfect)) * len(truth) / half, len(errors), half)


def _shared(first: Rows, second: Rows) -> int:
    """Return the size of the multiset intersection."""
    return len(first) - len(unmatched(*row_identities(first, second))[0])
