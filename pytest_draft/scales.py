"""Scales that an outlier does not stretch: what counts as close, and rows on another scale.

One salary of 50 million makes all other salaries equal by range: every guess is right to within 1 % of it, and so are
other rows like these. A single guess between it and the others is as wrong as all the rest together can be, and hides
that this rest is exact. So two scales stand beside the range:

- The *inner range* leaves out far-out values, which count as the nearest of the others (`without_far_out`). Far out is
  what lies more than three times the interquartile range beyond the quartiles (Tukey, Exploratory Data Analysis, 1977).
  They are the quartiles of the *different* values: a zero that most people share, or a -999 for a missing value, then
  counts once, and does not pretend that the others lie close together, or far apart. Where nothing is far out, the
  inner range is the range. What is *close* is a share of it (`near`).
- By *rank* two values are as far apart as there are people between them (`by_rank`). No increasing map of a column
  changes that: neither an outlier nor a logarithm, nor a code for missing values that many share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import FloatArray, Rows
from pytest_draft.domain import Domain
from pytest_draft.facts.figures import TOLERANCE
from pytest_draft.matching import Weights

FAR_OUT = 3.0
"""Interquartile ranges beyond the quartiles, from where a value is far out."""

Points = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False, repr=False)
class RisingScale:
    """Another scale of numeric columns: an increasing map of each, linear in pieces."""

    domain: Domain
    """On that scale."""
    points: dict[int, Points]
    """Of each column that changes, values in increasing order, and what they are on the scale."""

    def __call__(self, rows: Rows) -> Rows:
        """Return rows on this scale, shape (n_rows, n_columns); missing values stay missing."""
        scaled: Rows = rows.copy()
        for column, (values, images) in self.points.items():
            scaled[:, column] = np.interp(rows[:, column].astype(np.float64), values, images)
        return scaled


def inner_bounds(values: NDArray[np.floating[Any]]) -> tuple[float, float] | None:
    """Return the lowest and the highest value of a column that is not far out.

    Parameters
    ----------
    values : ndarray of float, shape (n_values,)
        Missing ones (NaN) do not count.

    Returns
    -------
    (float, float) or None
        In the column's unit; None with fewer than two different values, which have no range.
    """
    different = np.unique(values[~np.isnan(values)]).astype(np.float64)
    if len(different) < 2:
        return None
    lower, upper = (_quartile(different, share) for share in (0.25, 0.75))
    beyond = FAR_OUT * (upper - lower)
    inside = different[(lower - beyond <= different) & (different <= upper + beyond)]
    return float(inside[0]), float(inside[-1])


def _quartile(ascending: FloatArray, share: float) -> float:
    """Return a quantile as `numpy.quantile` does, which takes ten times as long for a short column."""
    place = (len(ascending) - 1) * share
    below = min(int(place), len(ascending) - 2)
    low, high = float(ascending[below]), float(ascending[below + 1])
    part = place - below
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part


def near(weights: Weights, rows: Rows) -> Weights:
    """Return weights by which close is what is close without far-out values.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
        All training rows.

    Returns
    -------
    Weights
        The tolerance of numeric columns is a share of their inner range, and nowhere more than it was.
    """
    tolerance = weights.tolerance.copy()
    for column in np.flatnonzero(tolerance):
        if (bounds := inner_bounds(rows[:, column])) is not None:
            tolerance[column] = min(tolerance[column], TOLERANCE * (bounds[1] - bounds[0]))
    return replace(weights, tolerance=tolerance)


def without_far_out(rows: Rows, domain: Domain) -> RisingScale | None:
    """Return the scale on which far-out values become the nearest value that is not far out, in the domain too.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
        All training rows.

    Returns
    -------
    RisingScale or None
        None where no numeric column has a value that is far out, or bounds beyond its values: then nothing changes.
    """
    points = {}
    for column, low, high in _numeric(domain):
        bounds = inner_bounds(rows[:, column])
        if bounds is not None and (np.float32(low) < bounds[0] or bounds[1] < np.float32(high)):
            points[column] = np.array(bounds), np.array(bounds)
    return _scale(domain, points) if points else None


def by_rank(rows: Rows, domain: Domain) -> RisingScale:
    """Return the scale on which numeric values are ranks.

    A value's rank is the number of true values below it, and half of the others that are equal to it. Between two
    values it rises evenly, and beyond the outermost ones to the bounds of the domain.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
        All training rows.
    """
    return _scale(domain, {column: _ranked(rows[:, column], low, high) for column, low, high in _numeric(domain)})


def _numeric(domain: Domain) -> list[tuple[int, float, float]]:
    """Return the column and the bounds of each numeric attribute."""
    return [(a.columns[0], a.low, a.high) for a in domain.attributes if a.kind == "numeric"]


def _scale(domain: Domain, points: dict[int, Points]) -> RisingScale:
    """Return a scale with its domain."""
    attributes = []
    for attribute in domain.attributes:
        ends = points.get(attribute.columns[0])
        scaled = attribute if ends is None else replace(attribute, low=float(ends[1][0]), high=float(ends[1][-1]))
        attributes.append(scaled)
    return RisingScale(replace(domain, attributes=tuple(attributes)), points)


def _ranked(column: Rows, low: float, high: float) -> Points:
    """Return the different values of a column and their ranks, with the bounds of its domain where these are wider."""
    values, times = np.unique(column[~np.isnan(column)].astype(np.float64), return_counts=True)
    if not len(values):
        return np.array([low, high]), np.array([0.0, 1.0])
    ranks = np.cumsum(times) - (times + 1) / 2
    if np.float32(low) < values[0]:
        values, ranks = np.append(low, values), np.append(-0.5, ranks)
    if np.float32(high) > values[-1]:
        values, ranks = np.append(values, high), np.append(ranks, times.sum() - 0.5)
    return values, ranks
