"""Whose data were rebuilt: the leak p-value of a reconstruction, the truth and a holdout.

A reconstruction can be close to the training data because it is close to everybody of the same population. So as many
rows of a holdout, which were not trained on, are drawn again and again, and compared with the reconstruction as the
training data are: how likely is it that such a dataset lies as close? (DRAFT-DP, SaTML 2026, section IV-B, result 4,
and appendix D.)

The draws know what the adversary knows: where attributes are known, each drawn row is laid on the true row that is
nearest in these, as in the split-half baseline, and gets its known values.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from pytest_draft.arrays import IntArray, Rows
from pytest_draft.domain import Domain
from pytest_draft.errors import one_line
from pytest_draft.evaluate.baseline_draws import with_known
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.facts.figures import Significance
from pytest_draft.matching import Weights, differences, matched, row_identities, unmatched
from pytest_draft.timebox import TimeBox

DRAWS = 100
"""Datasets that are drawn from the holdout, as in the paper."""

MOST_WORK = 1_000_000_000
"""All rows are drawn where their number cubed is at most this (a matching of a fifth of a second), else a sample."""

MOST_DEVIATIONS = 4.0
"""Rows that training data and holdout share are too many when they are so much more than a random split shares."""

_SPLITS = 100
"""Random splits by which it is known how many rows training data and holdout share by chance."""


def rows_drawn(n_rows: int) -> int:
    """Return how many rows are drawn at once, and so the least that a holdout needs.

    Parameters
    ----------
    n_rows : int
        Rows that are rebuilt.
    """
    return min(n_rows, max(1, math.isqrt(MOST_WORK // n_rows)))


def leak_significance(
    rows: Rows,
    unknown: IntArray,
    rebuilt: Rows,
    holdout: Rows,
    weights: Weights,
    seed: int,
    timebox: TimeBox,
) -> Significance | None:
    """Compare a reconstruction with the training data and with datasets that are drawn from a holdout.

    Above a thousand rows, training data and draws are samples of equally many rows, each matched into the whole
    reconstruction: of two samples, one of the rebuilt rows and one of the true ones, even an exact reconstruction would
    look like anybody's.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
        All training rows.
    unknown : ndarray of int64, shape (n_unknown,)
        Positions of those that were to be rebuilt.
    rebuilt : ndarray of float32, shape (n_unknown, n_columns)
    holdout : ndarray of float32, shape (n_holdout_rows, n_columns)
        At least `rows_drawn` of `n_unknown` rows of the same population.
    weights : Weights
        Columns that are not counted are known to the adversary.
    seed : int
        Of the draws.

    Returns
    -------
    Significance or None
        None where the time was out before the first draw.
    """
    rng = np.random.default_rng([seed, 41])
    n_drawn = rows_drawn(len(unknown))
    chosen = unknown if n_drawn == len(unknown) else rng.choice(unknown, n_drawn, replace=False)
    truth = rows[chosen]
    error = _distance(truth, rebuilt, weights, timebox)
    if error is None:
        return None
    errors: list[float] = []
    while len(errors) < DRAWS and not timebox.over:
        drawn = holdout[rng.choice(len(holdout), n_drawn, replace=False)]
        if not weights.counted.all():
            drawn = with_known(drawn[matched(truth, drawn, weights.known)], truth, weights)
        distance = _distance(drawn, rebuilt, weights, timebox)
        if distance is None:
            break
        errors.append(distance)
    if not errors:
        return None
    mean, deviation = float(np.mean(errors)), float(np.std(errors))
    shared, by_chance, overlaps = _shared(rows, holdout, rng)
    return Significance(
        draws=len(errors),
        rows=n_drawn,
        rebuilt_rows=len(rebuilt),
        error=error,
        mean=mean,
        deviation=deviation,
        as_close=sum(distance <= error for distance in errors),
        p_value=float(stats.norm.cdf(error, mean, deviation)) if min(errors) < max(errors) else None,
        holdout_rows=len(holdout),
        shared_rows=shared,
        shared_by_chance=by_chance,
        overlaps=overlaps,
    )


def _distance(drawn: Rows, rebuilt: Rows, weights: Weights, timebox: TimeBox) -> float | None:
    """Return the mean distance of rows to the rebuilt rows that they are matched to; None without a matching."""
    partners = Comparison().partners(rebuilt, drawn, weights, timebox)
    if partners is None:
        return None
    apart = differences(rebuilt[partners], drawn, weights)[:, weights.counted]
    return float(apart.sum()) / (len(drawn) * weights.total)  # equal where whole costs are: no rounding before this


def _shared(rows: Rows, holdout: Rows, rng: np.random.Generator) -> tuple[int, float, bool]:
    """Return how many training rows a holdout shares, how many a random split does, and whether these are too few.

    Where no row was trained on and held out at once, training data and holdout are a random split of all their rows.
    """
    mine, theirs = row_identities(rows, holdout)
    rest = [len(side) for side in unmatched(mine, theirs)]
    shared = len(rows) - rest[0]
    everyone = np.concatenate([mine, theirs])
    times = np.bincount(everyone)
    by_chance = []
    for _ in range(_SPLITS):
        some = np.bincount(rng.permutation(everyone)[: len(rows)], minlength=len(times))
        by_chance.append(int(np.minimum(some, times - some).sum()))
    expected, deviation = float(np.mean(by_chance)), float(np.std(by_chance))
    return shared, expected, not any(rest) or shared > expected + MOST_DEVIATIONS * deviation


def caveats(drawn: Significance | None, holdout: Rows, domain: Domain, informed: bool = False) -> list[str]:
    """Say why a leak p-value is missing, or not what it seems.

    Parameters
    ----------
    holdout : ndarray of float32, shape (n_holdout_rows, n_columns)
    informed : bool
        Whether each row was attacked by itself, so that there is nothing to find.

    Returns
    -------
    list of str
        A sentence each; empty where nothing is to be said.
    """
    if informed:
        return ["no leak p-value: an informed adversary rebuilds single rows, no dataset"]
    if drawn is None:
        return ["no leak p-value: the time was out before the first draw from the holdout; give --draft-budget more"]
    said = []
    if drawn.draws < DRAWS:
        said.append(f"the leak p-value is of {drawn.draws} of {DRAWS} draws from the holdout, then the time was out")
    if drawn.rows < drawn.rebuilt_rows:
        said.append(
            f"the leak p-value is of samples of {drawn.rows:,} of {drawn.rebuilt_rows:,} rows: among so many, other "
            "rows like these find near ones too, so a large p-value does not say that there is no leak"
        )
    if len(holdout) < 2 * drawn.rows:
        said.append(
            f"the holdout has {len(holdout):,} rows, and each draw takes {drawn.rows:,} of them: draws are too much "
            "alike, so the leak p-value is too extreme; give at least twice as many rows, better ten times"
        )
    if drawn.overlaps:
        said.append(
            f"the holdout shares {drawn.shared_rows:,} rows with the training data, and chance explains about "
            f"{drawn.shared_by_chance:,.0f}: rows that were trained on hide a leak, so the leak p-value means nothing; "
            "give rows that were not trained on"
        )
    if outside := domain.outside(holdout.astype(np.float64)):
        name, number = next(iter(outside.items()))
        said.append(
            f"the domain excludes {number:,} rows of the holdout by attribute {one_line(name)!r}: no reconstruction "
            "comes close to these, so the leak p-value can be too small"
        )
    return said
