"""How close numeric columns come: the `Closeness` of guesses beside that of the baselines.

Errors by range are small wherever a column is concentrated, with or without an attack. So everything stands beside what
uniform guesses and the median guess get, and can be corrected for either (`Closeness.beyond`): shares and rows as
``(observed - baseline) / (1 - baseline)``, errors as ``1 - error / baseline``; 1 where all is rebuilt, 0 where the
guess is no better than the baseline, negative where it is worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from itertools import islice

import numpy as np

from pytest_draft.ambiguity.median import median_guess
from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.domain import MAX_ORDINAL_VALUES, Domain
from pytest_draft.evaluate.baseline_draws import few_splits, half_size, halvings, uniform_guesses, with_known
from pytest_draft.evaluate.baselines import median_baseline
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.facts.figures import TOLERANCE, Closeness, Exact, Numeric
from pytest_draft.matching import Weights, gaps
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True)
class NumericLimits:
    """How numeric columns are looked at."""

    draws: int = 10
    """Draws of uniform guesses whose values are compared; the random error is of more."""
    share: float = 0.3
    """Share of the time that is left, which these draws may take."""
    halvings: int = 5
    """Halvings of the training data in which exact values are counted; each has thousands."""
    same: float = 0.01
    """Ranks that an exact value can be off: a hundredth of the way to the next value that somebody has."""
    found_out: float = 0.9
    """An attack has found out that a column has few values where at least this share of its guesses are close to one.
    """


LIMITS = NumericLimits()


def few_valued(truth: Rows, rebuilt: Rows, domain: Domain, known: Sequence[int] = ()) -> tuple[str, ...]:
    """Return the numeric columns of few values between which an attack guesses, by name.

    An attack that does not find out that a column has few values guesses in the middle between thresholds, where none
    is: of two values, scaled, a quarter of the range away from both. Its error and its perfect rows then say nothing of
    an attacker who knows what kind of column it is.

    Parameters
    ----------
    truth, rebuilt : ndarray of float32, shape (n_rows, n_columns)
        In any order.
    known : sequence of int
        Positions of attributes that the adversary knows.
    """
    names = []
    for a, attribute in enumerate(domain.attributes):
        if attribute.kind != "numeric" or a in known:
            continue
        column = attribute.columns[0]
        values, guesses = (rows[:, column][~np.isnan(rows[:, column])].astype(np.float64) for rows in (truth, rebuilt))
        values = np.unique(values)
        if not 2 <= len(values) <= min(MAX_ORDINAL_VALUES, len(truth) // 2) or not len(guesses):
            continue
        near = np.abs(guesses[:, None] - values).min(axis=1) <= TOLERANCE * (values[-1] - values[0])
        if near.mean() < LIMITS.found_out:
            names.append(attribute.name)
    return tuple(names)


def numeric_figures(
    truth: Rows,
    rebuilt: Rows,
    partners: IntArray | None,
    perfect_rows: int,
    error: float | None,
    domain: Domain,
    weights: Weights,
    seed: int,
    timebox: TimeBox,
    *,
    comparison: Comparison,
    in_order: bool,
) -> Numeric | None:
    """Return how close numeric columns come.

    Parameters
    ----------
    truth, rebuilt : ndarray of float32, shape (n_rows, n_columns)
    partners : ndarray of int64, shape (n_rows,), or None
        The true row that each rebuilt one is compared with; None without a matching.
    error : float or None
        By range.
    weights : Weights
        Of its encoded columns.
    seed : int
        Of the random guesses.
    timebox : TimeBox
        Random guesses are drawn for at most a part of what is left.
    in_order : bool
        Whether rebuilt rows stand for the true ones in the same place.

    Returns
    -------
    Numeric or None
        None where no unknown attribute is numeric. All of `random` but its values is still to be given.
    """
    columns = np.flatnonzero(weights.tolerance)
    if not len(columns):
        return None
    scale = _Scale.of(truth, columns, weights)
    ordered = partners is None and in_order
    if ordered:
        partners = np.arange(len(truth), dtype=np.int64)
    attack = Closeness(exact_rows=len(comparison.perfect(truth, rebuilt)) / len(truth))
    if partners is not None:
        attack = scale.values(truth[partners], rebuilt, attack)
    guess = with_known(median_guess(truth, domain), truth, weights)
    known = median_baseline(truth, domain, weights)
    median = scale.values(truth, guess, Closeness(exact_rows=len(comparison.perfect(truth, guess)) / len(truth)))
    rng = np.random.default_rng([seed, 43])
    drawn = []
    timebox = timebox.part(LIMITS.share)
    for positions, random in islice(
        uniform_guesses(truth, domain, weights, rng, timebox), min(LIMITS.draws, few_splits(len(truth)))
    ):
        sample = truth[positions]
        chosen = comparison.partners(sample, random, weights, timebox)
        if chosen is None:
            break
        exact = len(comparison.perfect(sample, random)) / len(sample)
        drawn.append(scale.values(sample[chosen], random, Closeness(exact_rows=exact)))
    return Numeric(
        columns=len(columns),
        without_spread=scale.without_spread,
        in_order=ordered,
        attack=replace(attack, error=error, close_rows=perfect_rows / len(truth)),
        random=_mean(drawn),
        median=replace(median, error=known.error, close_rows=(known.perfect_rows or 0.0) / len(truth)),
        median_guess=known,
    )


def exact_values(
    ranked: Rows,
    unknown: IntArray,
    rebuilt: Rows,
    weights: Weights,
    comparison: Comparison,
    seed: int,
    timebox: TimeBox,
) -> Exact | None:
    """Return how many numeric values come back exactly, beside those that other rows like these have right.

    Parameters
    ----------
    ranked : ndarray of float32, shape (n_training_rows, n_columns)
        All training rows, numeric columns as ranks.
    unknown : ndarray of int64, shape (n_unknown,)
        Positions of the rows that were to be rebuilt.
    rebuilt : ndarray of float32, shape (n_rebuilt, n_columns)
        As ranks, at most as many.
    weights : Weights
        Of ranks.

    Returns
    -------
    Exact or None
        None where there is no time to match the rows, or nobody else's row.
    """
    columns = np.flatnonzero(weights.tolerance)
    share = _share_matched(ranked[unknown], rebuilt, columns, weights, comparison, timebox)
    half = half_size(len(ranked), len(unknown), weights, comparison)
    draws = halvings(ranked, weights, seed, timebox, unknown, comparison, half)
    others = [
        _share_matched(ranked[one], other, columns, weights, comparison, timebox)
        for one, _, other in islice(draws, LIMITS.halvings)
    ]
    measured = [found for found in others if found is not None]
    if share is None or not measured:
        return None
    return Exact(len(rebuilt) * len(columns), share, float(np.mean(measured)))


def share_exact(truth: Rows, guess: Rows, columns: IntArray) -> float:
    """Return the share of values in some columns that are exact in rows that belong together one by one, as ranks."""
    apart, one_missing = gaps(truth[:, columns], guess[:, columns])
    return float(((apart <= LIMITS.same) & ~one_missing).mean())


def _share_matched(
    truth: Rows, guess: Rows, columns: IntArray, weights: Weights, comparison: Comparison, timebox: TimeBox
) -> float | None:
    """Return the share of values in some columns that are equal in matched rows; None without a matching."""
    partners = comparison.partners(truth, guess, weights, timebox)
    if partners is None:
        return None
    return share_exact(truth[partners], guess, columns)


@dataclass(frozen=True, eq=False)
class _Scale:
    """Numeric columns, and what a difference in each is measured by; arrays of shape (n_numeric_columns,)."""

    columns: IntArray
    size: FloatArray
    spread: FloatArray
    """`size` and `spread`: the range, and the interquartile range of the true column; where that is 0, the range again.
    """
    tolerance: FloatArray
    without_spread: int
    """Columns of interquartile range 0."""

    @classmethod
    def of(cls, truth: Rows, columns: IntArray, weights: Weights) -> _Scale:
        size = weights.missing[columns] / weights.columns[columns]
        values = truth[:, columns].astype(np.float64)
        spread = np.zeros(len(columns))
        some = ~np.isnan(values).all(axis=0)
        spread[some] = np.subtract(*np.nanpercentile(values[:, some], [75, 25], axis=0))
        flat = spread <= 0
        return cls(columns, size, np.where(flat, size, spread), weights.tolerance[columns], int(flat.sum()))

    def values(self, truth: Rows, guess: Rows, rows: Closeness) -> Closeness:
        """Return figures on rows with those on the values of rows that belong together one by one."""
        apart, one_missing = gaps(truth[:, self.columns], guess[:, self.columns])
        apart = np.where(one_missing, self.size, apart)
        return replace(
            rows,
            iqr_error=float((apart / self.spread).mean()),
            close_values=float((apart <= self.tolerance).mean()),
            exact_values=float((apart == 0).mean()),
        )


def _mean(drawn: list[Closeness]) -> Closeness:
    """Return the mean of figures, each of which is known in all draws or in none."""
    if not drawn:
        return Closeness()
    return Closeness(
        *(None if None in each else float(np.mean(each)) for each in zip(*map(astuple, drawn), strict=True))
    )
