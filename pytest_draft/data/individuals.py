"""Inliers and outliers: which training rows are like the others, and which are not.

An isolation forest tells them apart (DRAFT-DP, SaTML 2026, section IV-B, result 5 and table III): random splits isolate
an outlier sooner. It judges the encoded rows, labels left out, with scikit-learn's default hyperparameters. Where
values are missing, it sees the column's median, and in one more column which ones these are.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import IsolationForest

from pytest_draft.arrays import BoolArray, FloatArray, Rows
from pytest_draft.domain import Domain
from pytest_draft.matching import different_rows
from pytest_draft.timebox import TimeBox

_SECONDS = 0.2
"""Measured: to fit the isolation forest."""

_SECONDS_PER_ROW = 1e-5
"""Measured: to score a row by it."""


def inliers(rows: Rows, timebox: TimeBox) -> BoolArray | None:
    """Return which rows are inliers: those that an isolation forest of all rows scores above 0.

    Returns
    -------
    ndarray of bool, shape (n_rows,), or None
        None where this is not expected to end inside the time box.
    """
    cost = _SECONDS + _SECONDS_PER_ROW * len(rows)
    if not timebox.allows(cost):
        return None
    timebox.spend(cost)
    seen = _without_missing(rows)
    first, of_row, _ = different_rows(seen)
    score: FloatArray = IsolationForest(random_state=0).fit(seen).decision_function(seen[first])
    return (score > 0)[of_row]


CROWD = 10
"""Of so many people who are alike in every column, and of more, a table tells how many they are, and of nobody who."""

FILLED = 0.5
"""A table of frequencies has at least this share of all kinds of rows that its domain allows."""

FEW = 5
"""A kind of row that fewer people have is theirs, whatever the others tell."""


def record_share(rows: Rows, domain: Domain) -> float:
    """Return the share of the rows that are somebody's record, where a table tells frequencies of few kinds of rows.

    A row counts less the more others are like it: one that is alone counts whole, one of `CROWD` not at all. A table
    that was repeated is still of the same people, so that numbers of equal rows have no common divisor. Only a table
    that fills its domain tells frequencies: where most kinds that there could be are missing, those that are there tell
    people apart, however often each was written; and so are four people whom nobody else is like.
    """
    if any(attribute.kind == "numeric" or attribute.missing for attribute in domain.attributes):
        return 1.0
    first, of_row, times = different_rows(rows)
    if len(first) / domain.n_vectors < FILLED:
        return 1.0
    alike = times / np.gcd.reduce(times)
    if alike.min() < FEW:
        return 1.0
    return float(np.mean(np.clip((CROWD - alike) / (CROWD - 1), 0.0, 1.0)[of_row]))


def hundredths(figures: FloatArray) -> tuple[float, ...]:
    """Return how one figure of each row is distributed: the lowest, that of each further hundredth, the highest."""
    found = np.quantile(figures, np.linspace(0, 1, 101), method="inverted_cdf")
    return tuple(found.tolist())


def _without_missing(rows: Rows) -> Rows:
    """Return rows in which a missing value is the column's median, and as many columns more that say where."""
    missing = np.isnan(rows)
    columns = missing.any(axis=0)
    if not columns.any():
        return rows
    medians = np.zeros(rows.shape[1], dtype=np.float32)
    some = ~missing.all(axis=0)
    medians[some] = np.nanmedian(rows[:, some], axis=0)
    return np.hstack([np.where(missing, medians, rows), missing[:, columns]]).astype(np.float32)
