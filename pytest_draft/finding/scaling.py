"""Brings a found column to the units of the model: by the scaler, or other function, that explains its thresholds.

Each node that tests the column says between which two of its values a threshold lies (in most models midway). The usual
functions and scalers are tried, then any line. If none fits, values are only placed between the thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pytest_draft.arrays import FloatArray
from pytest_draft.finding.walk import Cut

__tracebackhide__ = True  # frames here hold rows

LINE = "scaled"
"""In words: by a line that is none of the known scalers."""

_EXACT = 3e-7
"""How far a threshold in single precision can be off the middle of two values, relative to these."""

_BETTER = 0.2
"""A later, less usual function must put such a share of the thresholds more midway than the best before it."""


def scaled(values: FloatArray, kept: FloatArray, cuts: Sequence[Cut]) -> tuple[float, str | None, FloatArray]:
    """Return a column as the model saw it, and the function that makes it so.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows,)
        Of the training rows.
    kept : ndarray of float64, shape (n_kept,)
        Of all rows that a cleaning kept.
    cuts : sequence of Cut

    Returns
    -------
    float
        How bad the fit is: the share of thresholds that are not midway between two values; 2 for a line; 3 if no
        function fits.
    str or None
        The function, in words; None if none fits.
    ndarray of float64, shape (n_rows,)
    """
    low, high, threshold = np.array(cuts, dtype=np.float64).reshape(-1, 3).T
    known = np.isfinite(low) & np.isfinite(high)
    low, high, threshold = low[known], high[known], threshold[known]
    best: tuple[float, str, FloatArray] | None = None if len(threshold) else (0.0, "", values)
    for words, function in _functions() if best is None else ():
        with np.errstate(all="ignore"):
            own, below, above, all_ = (function(part) for part in (values, low, high, kept))
        if np.isinf(own).any() or not (np.isfinite(below).all() and np.isfinite(above).all()):
            continue
        for name, shift, size in _scalers(own, all_):
            under, over = _single((below - shift) / size), _single((above - shift) / size)
            if not ((under <= threshold) & (threshold < over)).all():
                continue
            room = _EXACT * np.maximum(np.abs(under), np.abs(over)) + 1e-12
            off = float((np.abs((under + over) / 2 - threshold) > room).mean())
            if best is None or off < best[0] - _BETTER:
                best = off, ", ".join(part for part in (words, name) if part), (own - shift) / size
            if off == 0:
                return best
    if best is not None:
        return best
    if (line := _line(low, high, threshold)) is not None:
        slope, shift = line
        return 2.0, LINE, slope * values + shift
    return 3.0, None, _placed(values, low, threshold)


def _single(values: FloatArray) -> FloatArray:
    return values.astype(np.float32).astype(np.float64)


def _functions() -> Iterator[tuple[str, np.ufunc]]:
    yield "", np.positive
    yield "log1p", np.log1p
    yield "log", np.log
    yield "square root", np.sqrt
    yield "square", np.square


def _scalers(values: FloatArray, kept: FloatArray) -> Iterator[tuple[str, float, float]]:
    """Yield names, shifts and sizes of scalers: of none, then of the usual ones, fitted on either table."""
    yield "", 0.0, 1.0
    for rows, given in (("the training rows", values), ("all rows", kept)):
        own = given[np.isfinite(given)]
        if not len(own) or own.min() == own.max():
            continue
        yield f"StandardScaler of {rows}", float(own.mean()), float(own.std())
        yield f"MinMaxScaler of {rows}", float(own.min()), float(np.ptp(own))
        first, middle, third = (float(one) for one in np.percentile(own, [25, 50, 75]))
        if third > first:
            yield f"RobustScaler of {rows}", middle, third - first
        yield f"MaxAbsScaler of {rows}", 0.0, float(np.abs(own).max())
        if len(own) > 1:
            yield f"z-score of {rows}", float(own.mean()), float(own.std(ddof=1))


def _line(low: FloatArray, high: FloatArray, threshold: FloatArray) -> tuple[float, float] | None:
    """Return slope and shift of a line that takes the middle of two values to their threshold; None if none does."""
    middle = (low + high) / 2
    if len(np.unique(middle)) < 3:
        return None
    slope, shift = (float(one) for one in np.polyfit(middle, threshold, 1))
    fits = (slope * low + shift <= threshold) & (threshold < slope * high + shift)
    off = np.abs(slope * middle + shift - threshold).max()
    return (slope, shift) if slope > 0 and fits.all() and off <= 1e-5 * np.ptp(threshold) else None


def _placed(values: FloatArray, low: FloatArray, threshold: FloatArray) -> FloatArray:
    """Return, for each value, a number that lies between the same thresholds."""
    different, of_cut = np.unique(threshold, return_inverse=True)
    ends = np.full(len(different), -np.inf)
    np.maximum.at(ends, of_cut, low)
    whole = np.floor(different)  # a code, where there is one between two thresholds
    inner = np.where(whole[1:] > different[:-1], whole[1:], (different[:-1] + different[1:]) / 2)
    between = np.r_[whole[0] - (whole[0] == different[0]), inner, whole[-1] + 1]
    above = np.searchsorted(np.maximum.accumulate(ends), values, side="left")
    placed: FloatArray = between[above]
    placed[np.isnan(values)] = np.nan
    return placed
