"""What an error would be without the attack: in go the truth and its domain, out come two baselines.

The *random* baseline knows the domain only (DRAFT, ICML 2024, section 7.1). The *split-half* baseline is how close
one random half of the training data lies to the other half: what somebody gets who has no access to these
rows, but to as many others of the same population. It needs no holdout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_draft.domain import Domain
from pytest_draft.matching import Rows, matched_distance, row_identities, unmatched
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
        Expected perfect rows, scaled to all rows of the training data.
    draws : int
    rows : int
        Rows that the error was measured on.
    """

    error: float | None
    perfect_rows: float | None
    draws: int
    rows: int


def random_baseline(
    truth: Rows, domain: Domain, weights: NDArray[np.float64], seed: int, timebox: TimeBox
) -> Baseline:
    """Return what guesses drawn uniformly from the domain get.

    Parameters
    ----------
    truth : ndarray of float32, shape (n_rows, n_columns)
    domain : Domain
    weights : ndarray of float64, shape (n_columns,)
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
    perfect: list[int] = []
    for _ in range(RANDOM_DRAWS):
        if timebox.over:
            break
        guess = domain.uniform(len(truth), rng)
        sample = truth
        if n_sampled < len(truth):
            sample = truth[rng.choice(len(truth), n_sampled, replace=False)]
        distance = matched_distance(sample, guess[:n_sampled], weights, timebox)
        if distance.exact is None:
            break
        errors.append(distance.exact)
        perfect.append(_shared(truth, guess))
    return _mean(errors, perfect, n_sampled, scale=1.0)


def split_half_baseline(
    truth: Rows, weights: NDArray[np.float64], seed: int, timebox: TimeBox
) -> Baseline:
    """Return how close one random half of the training data lies to the other.

    Parameters
    ----------
    truth : ndarray of float32, shape (n_rows, n_columns)
    weights : ndarray of float64, shape (n_columns,)
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
    return _mean(errors, perfect, half, scale=len(truth) / half if half else 1.0)


def _shared(first: Rows, second: Rows) -> int:
    """Return the size of the multiset intersection."""
    return len(first) - len(unmatched(*row_identities(first, second))[0])


def _mean(errors: list[float], perfect: list[int], rows: int, scale: float) -> Baseline:
    if not errors:
        return Baseline(None, None, 0, rows)
    return Baseline(float(np.mean(errors)), float(np.mean(perfect)) * scale, len(errors), rows)
