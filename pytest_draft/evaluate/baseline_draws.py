"""Draws the guesses that baselines are made of: uniform rows of the domain, and random halves of the true rows.

No attack is in them: every baseline is the mean error of such draws. What the adversary knows besides the file is right
in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from pytest_draft.arrays import IntArray, Rows
from pytest_draft.domain import Domain
from pytest_draft.errors import OutOfTimeError
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.matching import Weights, comparable, matched
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True)
class DrawNumbers:
    """How many draws each baseline takes, and of how many rows."""

    random: int = 100
    """Draws of the random baseline, at most."""
    splits: int = 20
    """Random halvings of the training data, at most."""
    splits_when_large: int = 3
    """Halvings above `sample_rows` rows, where a single one varies little; and least draws of either kind above
    `many_rows` rows.
    """
    at_least: int = 5
    """Least draws of either kind, up to `many_rows` rows."""
    standard_error: float = 0.01
    """Of the mean error, as a share of it: beyond the least draws, no more are taken once it is this small."""
    sample_rows: int = 2_000
    """Above this many rows, the random error is measured on samples of this many rows. So is the split-half one where
    some column is numeric: such rows are hardly ever equal, so that all of them must be matched. Of fewer rows the
    nearest ones are farther, so that a relative threshold is crossed earlier, never later.
    """
    many_rows: int = 500
    """Above this many rows, a second look at the same rows takes few draws: each takes long, and few vary little."""


DRAW_NUMBERS = DrawNumbers()

MATCHED = Comparison()
"""How rows are compared with guesses, unless each row is attacked with all others known."""


def n_sampled(n_rows: int) -> int:
    """Return how many of so many rows are looked at in a draw."""
    return min(n_rows, DRAW_NUMBERS.sample_rows)


def n_splits(n_rows: int) -> int:
    """Return how many halvings of so many rows are drawn."""
    return DRAW_NUMBERS.splits if n_sampled(n_rows) == n_rows else DRAW_NUMBERS.splits_when_large


def few_splits(n_rows: int) -> int:
    """Return how many draws of so many rows are enough for a second look at them."""
    return DRAW_NUMBERS.splits if n_rows <= DRAW_NUMBERS.many_rows else DRAW_NUMBERS.splits_when_large


def are_enough(errors: Sequence[float], n_rows: int) -> bool:
    """Return whether the mean of some draws' errors is known well enough, each of so many rows."""
    at_least = DRAW_NUMBERS.at_least if n_rows <= DRAW_NUMBERS.many_rows else DRAW_NUMBERS.splits_when_large
    few = DRAW_NUMBERS.standard_error * np.mean(errors) * len(errors) ** 0.5 if errors else 0.0
    return len(errors) >= at_least and bool(np.std(errors, ddof=1) <= few)


def uniform_guesses(
    truth: Rows, domain: Domain, weights: Weights, rng: np.random.Generator, timebox: TimeBox
) -> Iterator[tuple[IntArray, Rows]]:
    """Yield guesses drawn uniformly from the domain, until the time is out.

    Parameters
    ----------
    truth : ndarray of float32, shape (n_rows, n_columns)
    weights : Weights
        Columns that are not counted are known to the guesser.

    Yields
    ------
    sample : ndarray of int64, shape (n,)
        Positions of true rows: all of them, or `DrawNumbers.sample_rows` at random where these are fewer.
    guess : ndarray of float32, shape (n, n_columns)
        One for each, with what is known of it.
    """
    n = n_sampled(len(truth))
    while not timebox.over:
        sample = np.arange(n) if n == len(truth) else rng.choice(len(truth), n, replace=False)
        yield sample, with_known(domain.uniform(n, rng), truth[sample], weights)


def with_known(guess: Rows, truth: Rows, weights: Weights) -> Rows:
    """Return a guess with the columns that are known as they are in the truth."""
    return np.where(weights.counted, guess, truth)


def half_size(n_rows: int, n_unknown: int, weights: Weights, comparison: Comparison) -> int:
    """Return how many rows the split-half baseline lays beside as many others."""
    if comparison.alone:
        return n_unknown
    half = min(n_unknown, n_rows // 2)
    return half if weights.counted.all() and not weights.tolerance.any() else n_sampled(half)


def halvings(
    rows: Rows,
    weights: Weights,
    seed: int,
    timebox: TimeBox,
    unknown: IntArray,
    comparison: Comparison,
    half: int,
) -> Iterator[tuple[IntArray, IntArray, Rows]]:
    """Yield random halvings of the training data, until the time is out.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    unknown : ndarray of int64, shape (n_unknown,)
        Positions of the rows that are rebuilt: the true ones are drawn from these first.
    half : int
        Rows of each side (`half_size`).

    Yields
    ------
    one, other : ndarray of int64, shape (half,)
        Positions of true rows, and of others.
    guess : ndarray of float32, shape (half, n_columns)
        The others, with what is known of the true ones.
    """
    rng = np.random.default_rng([seed, 2])
    while half and len(rows) > 1 and not timebox.over:
        if comparison.alone:
            one, other = unknown, _another(rows, unknown, weights, rng)
        else:
            one, other = _halves(rows, unknown, half, rng)
        if not weights.counted.all() and not comparison.alone:
            try:
                other = other[matched(rows[one], rows[other], weights.known, timebox)]
            except OutOfTimeError:
                return
        yield one, other, with_known(rows[other], rows[one], weights)


def _halves(rows: Rows, unknown: IntArray, half: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Return the positions of some rows, unknown ones first, and of as many others."""
    order = rng.permutation(len(rows))
    order = order[np.argsort(~np.isin(order, unknown), kind="stable")]
    return order[:half], order[half : 2 * half]


def _another(rows: Rows, unknown: IntArray, weights: Weights, rng: np.random.Generator) -> IntArray:
    """Return for each unknown row the position of one of the others that are nearest in what is known."""
    distance = cdist(*comparable(rows[unknown], rows, weights.known), "cityblock")
    distance[np.arange(len(unknown)), unknown] = np.inf
    nearest = distance == distance.min(axis=1, keepdims=True)
    other: IntArray = np.argmax(nearest * (1 - rng.random(nearest.shape)), axis=1).astype(np.int64)
    return other
