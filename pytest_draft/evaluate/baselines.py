"""What the error would be without the attack: the baselines of the truth and its domain.

The *random* baseline knows the domain only (DRAFT, ICML 2024, section 7.1). The *split-half* baseline is how close
one random half of the training data lies to the other half: what somebody gets who has no access to these
rows, but to as many others of the same population. It needs no holdout. Of some guesses only, it is how close as many
others' rows lie that are most like these guesses (`likest_baseline`). The *median* baseline repeats one row that
holds each column's true median: an attack that is no better knows columns, and nobody's row.

All know what the adversary knows besides the file. Known attributes are right in every guess of each baseline; in
the split-half one the rest is copied from the other row that a matching on the known attributes assigns. Known rows
are not guessed, and are among those that others can be taken from. Where each row is attacked with all others known,
its guess is another row drawn at random, one of the nearest in known attributes. An attacker without the forest who
always guesses the same vector has, by the triangle inequality, at least half of that error on average; so half of this
baseline is still a bar that only the forest lets one cross.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice

import numpy as np
from scipy import stats

from pytest_draft.ambiguity.median import median_guess
from pytest_draft.arrays import IntArray, Rows
from pytest_draft.domain import Domain
from pytest_draft.evaluate.baseline_draws import (
    DRAW_NUMBERS,
    MATCHED,
    are_enough,
    half_size,
    halvings,
    n_sampled,
    n_splits,
    uniform_guesses,
    with_known,
)
from pytest_draft.evaluate.close_rows import close_one_by_one
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.facts.figures import Baseline
from pytest_draft.matching import Weights, different_rows, paired_distance, row_identities
from pytest_draft.timebox import TimeBox


def random_baseline(
    truth: Rows,
    domain: Domain,
    weights: Weights,
    seed: int,
    timebox: TimeBox,
    comparison: Comparison = MATCHED,
    *,
    draws: int | None = None,
) -> Baseline:
    """Return what guesses drawn uniformly from the domain get.

    Parameters
    ----------
    truth : ndarray of float32, shape (n_rows, n_columns)
    weights : Weights
        Columns that are not counted are known to the guesser.
    timebox : TimeBox
        Fewer draws are made, and said so, when the time is out.
    draws : int or None
        The most; None for `Numbers.random`. Fewer are made where these give the mean well enough.
    """
    n_rows = n_sampled(len(truth))
    errors: list[float] = []
    perfect: list[int] = []
    guesses = uniform_guesses(truth, domain, weights, np.random.default_rng([seed, 1]), timebox)
    for chosen, guess in islice(guesses, DRAW_NUMBERS.random if draws is None else draws):
        sample = truth[chosen]
        distance = comparison.distance(sample, guess, weights, timebox)
        if distance.exact is None:
            break
        errors.append(distance.exact)
        if weights.tolerance.any():
            perfect.append(len(comparison.met(sample, guess, weights, timebox).rows))
        if are_enough(errors, n_rows):
            break
    error = float(np.mean(errors)) if errors else None
    expected: float | None
    if weights.tolerance.any():
        expected = float(np.mean(perfect)) * len(truth) / n_rows if perfect else None
    else:
        expected = expected_perfect_rows(truth, domain, weights, comparison)
    return Baseline(error, expected, len(errors), n_rows, span(errors), span(perfect, len(truth) / n_rows))


def median_baseline(truth: Rows, domain: Domain, weights: Weights) -> Baseline:
    """Return what somebody gets who knows each column's true median, and guesses it in every row.

    All guesses are equal but for what is known. So no matching costs less than the one by known columns, which pairs
    each row with its own guess.

    Parameters
    ----------
    truth : ndarray of float32, shape (n_rows, n_columns)
    weights : Weights
        Columns that are not counted are known to the guesser.
    """
    guess = with_known(median_guess(truth, domain), truth, weights)
    perfect = float(len(close_one_by_one(truth, guess, weights.tolerance)))
    return Baseline(paired_distance(truth, guess, weights).exact, perfect, 1, len(truth))


def expected_perfect_rows(truth: Rows, domain: Domain, weights: Weights, comparison: Comparison = MATCHED) -> float:
    """Return how many rows guesses drawn uniformly from a discrete domain are expected to meet: exact, no draws.

    A vector that stands ``n`` times in the training data is met ``min(n, B)`` times, where ``B``, how often it
    is guessed, is binomial with as many tries as rows have its known values, and one over the number of vectors
    with these.

    Parameters
    ----------
    truth : ndarray of float32, shape (n_rows, n_columns)
    domain : Domain
        Its numeric attributes are known.
    weights : Weights
        Columns that are not counted are known to the guesser.
    """
    unknown = [a for a in domain.attributes if weights.counted[list(a.columns)].all()]
    chance = 1 / math.prod(attribute.n_states for attribute in unknown)
    if comparison.alone:
        return len(truth) * chance
    first, identity, times = different_rows(truth)
    (known,) = row_identities(truth[:, ~weights.counted]) if not weights.counted.all() else (np.zeros_like(identity),)
    tries = np.bincount(known)[known[first]]
    return float(sum(stats.binom.sf(n, tries[times > n], chance).sum() for n in range(int(times.max()))))


def split_half_baseline(
    rows: Rows,
    weights: Weights,
    seed: int,
    timebox: TimeBox,
    unknown: IntArray | None = None,
    comparison: Comparison = MATCHED,
    *,
    draws: int | None = None,
) -> Baseline:
    """Return how close one random half of the training data lies to the other.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
        All training rows.
    weights : Weights
        Columns that are not counted are known to the guesser.
    unknown : ndarray of int64, shape (n_unknown,), or None
        Positions of the rows that are rebuilt; None for all.
    draws : int or None
        The most; None for as many as there are for so many rows (`n_splits`).

    Returns
    -------
    Baseline
        Nothing (`error` None) for a single row.
    """
    unknown = np.arange(len(rows)) if unknown is None else unknown
    half = half_size(len(rows), len(unknown), weights, comparison)
    errors: list[float] = []
    perfect: list[int] = []
    pairs = halvings(rows, weights, seed, timebox, unknown, comparison, half)
    for positions, _, guess in islice(pairs, n_splits(len(rows)) if draws is None else draws):
        distance = comparison.distance(rows[positions], guess, weights, timebox)
        if distance.exact is None:
            break
        errors.append(distance.exact)
        perfect.append(len(comparison.met(rows[positions], guess, weights, timebox).rows))
        if are_enough(errors, half):
            break
    if not errors:
        return Baseline(None, None, 0, half)
    scale = len(unknown) / half
    met = float(np.mean(perfect)) * scale
    return Baseline(float(np.mean(errors)), met, len(errors), half, span(errors), span(perfect, scale))


def span(drawn: Sequence[float], scale: float = 1.0) -> tuple[float, float] | None:
    """Return the lowest and the highest of some figures that were drawn, scaled; None without one."""
    return (float(min(drawn)) * scale, float(max(drawn)) * scale) if drawn else None


def likest_baseline(
    rows: Rows,
    guesses: Rows,
    weights: Weights,
    seed: int,
    timebox: TimeBox,
    unknown: IntArray,
) -> tuple[Baseline, float]:
    """Return what those other rows get that are most like some guesses, each matched to a row of its own.

    The split-half baseline of guesses that are not of just anybody. Who guesses common rows meets many, and who guesses
    rows of one kind is nearer to those of that kind: with or without the forest. So each half of the others is asked
    for the rows that a matching assigns to the guesses, and these are matched into the other half. A guess that is some
    person's own row has that person in one half or the other, never in both.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
        All training rows.
    guesses : ndarray of float32, shape (n_guesses, n_columns)
        At most as many as rows are rebuilt. Of a smaller half, as many fewer of them are drawn.
    weights : Weights
        Columns that are not counted are known to the guesser.
    unknown : ndarray of int64, shape (n_unknown,)
        Positions of the rows that are rebuilt.

    Returns
    -------
    Baseline
        Perfect rows are those of as many guesses. Nothing (`error` None) where the time was out.
    float
        The standard deviation of the error over draws.
    """
    half = half_size(len(rows), len(unknown), weights, MATCHED)
    number = max(1, round(len(guesses) * half / len(unknown)))
    rng = np.random.default_rng([seed, 45])
    errors: list[float] = []
    perfect: list[int] = []
    draws = halvings(rows, weights, seed, timebox, unknown, MATCHED, half)
    for one, _, others in islice(draws, n_splits(len(rows))):
        drawn = guesses[np.sort(rng.choice(len(guesses), number, replace=False))]
        likest = MATCHED.partners(others, drawn, weights, timebox)
        partners = None if likest is None else MATCHED.partners(rows[one], others[likest], weights, timebox)
        if likest is None or partners is None:
            break
        errors.append(float(paired_distance(rows[one][partners], others[likest], weights).lower))
        perfect.append(len(MATCHED.met(rows[one], others[likest], weights, timebox).rows))
    if not errors:
        return Baseline(None, None, 0, number), 0.0
    expected = float(np.mean(perfect)) * len(guesses) / number
    return Baseline(float(np.mean(errors)), expected, len(errors), number), float(np.std(errors))
