"""Finds scaled copies of columns: how surprising each match of an array's columns with a table's is.

A column times a number plus another is the column: so are standardised values, values between 0 and 1, and both in half
or single precision, where values that are close to each other become one. What counts is how far a column is known by
another: only what a match says beyond its own error, and beyond what columns of a common form have in common.
"""

from __future__ import annotations

import numpy as np

from pytest_draft.arrays import AnyArray, BoolArray, FloatArray
from pytest_draft.audit.chance import arrangements, bits_of_choice, bits_of_counts, bits_of_order

_CLOSE = 1e-5
"""At most this share of a column's variance may be missing: half precision leaves 1e-7, two decimals leave 1e-5."""

_WIDE = 4.0
"""Two values differ where they are apart by so many times the largest error."""

_FEWEST_IN_ANY_ORDER = 20
"""A column of fewer different values is not looked for in another order."""

_LARGEST_GRID = 10**7
"""Values stand on a grid where it has fewer places than this, from the least to the greatest value."""

_EVEN = 1e-3
"""How far from a whole number of the grid's units the steps between such values may be."""


class Scaled:
    """The columns of a table that others are held against.

    Parameters
    ----------
    columns : list of ndarray, each of shape (n_rows,)
        Those that are no numbers, or constant, or not finite, are left out.
    """

    def __init__(self, columns: list[AnyArray]) -> None:
        usable = [_numbers(column) for column in columns]
        self._columns = [column for column in usable if column is not None]
        made = [_standard(column) for column in self._columns]
        self._in_order = np.array(made).reshape(len(made), len(columns[0]) if columns else 0)
        self._sorted = np.sort(self._in_order, axis=1)

    def perhaps(self, table: AnyArray) -> BoolArray:
        """Return which columns can be scaled ones of this table, shape (n_columns,), in some order."""
        none = np.zeros(table.shape[1], dtype=np.bool_)
        if table.dtype.kind not in "biuf" or not self._columns:
            return none
        usable = np.flatnonzero([_numbers(table[:, index]) is not None for index in range(table.shape[1])])
        made = np.array([_standard(table[:, index].astype(np.float64)) for index in usable]).reshape(
            len(usable), len(table)
        )
        together = np.abs(self._in_order @ made.T).max(axis=0, initial=0.0)
        for sign in (1, -1):
            together = np.maximum(together, (self._sorted @ np.sort(sign * made, axis=1).T).max(axis=0, initial=0.0))
        none[usable] = together >= np.sqrt(1 - _CLOSE)
        return none

    def surprise(self, column: AnyArray) -> float:
        """Return how surprising it is that a column is a scaled one of the table, in bits; 0 where it is none."""
        numbers, best = _numbers(column), 0.0
        if numbers is None or not self._columns:
            return best
        standard = _standard(numbers)
        for which in np.flatnonzero(np.abs(self._in_order @ standard) >= np.sqrt(1 - _CLOSE)):
            mine = self._columns[which]
            if (np.isnan(mine) == np.isnan(numbers)).all():
                best = max(best, _by_order(mine, _error(mine, numbers)))
        if best > 0.0:
            return best
        for sign in (1, -1):
            ordered = np.sort(sign * standard)
            for which in np.flatnonzero(self._sorted @ ordered >= np.sqrt(1 - _CLOSE)):
                mine = np.sort(self._columns[which])
                theirs = np.sort(sign * numbers)
                if (np.isnan(mine) == np.isnan(theirs)).all():
                    best = max(best, _by_values(mine[~np.isnan(mine)], _error(mine, theirs)))
        return best


def _numbers(column: AnyArray) -> FloatArray | None:
    """Return a column as numbers; None where it cannot be, or tells no rows apart."""
    if column.dtype.kind not in "biuf":
        return None
    with np.errstate(over="ignore"):
        numbers = column.astype(np.float64)
    known = numbers[~np.isnan(numbers)]
    if not len(known) or not np.isfinite(known).all() or np.abs(known).max() > 1e150 or (known == known[0]).all():
        return None
    return numbers


def _standard(column: FloatArray) -> FloatArray:
    """Return a column with mean 0 and length 1, missing values as the mean."""
    centred = np.nan_to_num(column - np.nanmean(column))
    length = np.linalg.norm(centred)
    result: FloatArray = centred / length if length > 0 else centred
    return result


def _error(mine: FloatArray, theirs: FloatArray) -> float:
    """Return how far one column is from the closest line of another, in the first one's unit."""
    known = ~np.isnan(mine)
    x, v = mine[known], theirs[known]
    centred = v - v.mean()
    slope = (x - x.mean()) @ centred / (centred @ centred)
    return float(np.abs(x - x.mean() - slope * centred).max())


def _by_order(mine: FloatArray, error: float) -> float:
    """Return what the order of a column's values says, as far as an error leaves them apart; 0 where it is sorted."""
    known = np.where(np.isnan(mine), np.nanmin(mine) - 2 * np.ptp(mine[~np.isnan(mine)]), mine)
    widest = np.ptp(known)
    codes = np.floor((known - known.min()) / max(_WIDE * error, widest * 1e-12)).astype(np.int64)
    return bits_of_order(codes, arrangements(np.unique(codes, return_counts=True)[1], len(codes)))


def _by_values(ordered: FloatArray, error: float) -> float:
    """Return what a column's values say in any order: nothing where they are as evenly spaced as any numbering."""
    distinct, times = np.unique(ordered, return_counts=True)
    if len(distinct) < _FEWEST_IN_ANY_ORDER:
        return 0.0
    gaps = np.diff(distinct)
    by_counts = 0.0 if (times == times[0]).all() else bits_of_counts(times)
    unit = gaps.min()
    span = (distinct[-1] - distinct[0]) / unit
    if span < _LARGEST_GRID and (np.abs(gaps / unit - np.round(gaps / unit)) < _EVEN).all():
        places, taken = np.round(span) + 1, len(distinct)
        apart = _WIDE * error < unit
        return by_counts + bits_of_choice(float(places), taken) if apart else 0.0
    resolved = gaps / (_WIDE * error) if error > 0 else gaps / (np.ptp(distinct) * 1e-12)
    if (resolved < 1).mean() > 0.1:
        return 0.0
    return float(np.log2(np.maximum(resolved[1:], 1.0)).sum())
