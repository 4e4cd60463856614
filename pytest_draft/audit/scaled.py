"""Finds scaled copies of columns and rows, and rows behind the file's transformers.

A column times a number plus another is the column: so are standardised values, values between 0 and 1, and both in half
or single precision, where values that are close to each other become one. What counts is how far a column is known by
another: only what a match says beyond its own error, and beyond what columns of a common form have in common.

In an array as wide as the table, scaled rows can be some of the table's, in any order, by a scale and a centre that are
nowhere in the file: those of the rows that were kept. So each column of the array is placed on the table's by its own
values: where two of them go decides where all others must lie, and all have to lie on values that the table has.

Rows that another model keeps stand behind whatever it was fitted behind. Which transformers these are is not asked:
each that takes as many columns is tried on each table, and on what others have made of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from pytest_draft.arrays import AnyArray, BoolArray, FloatArray, IntArray
from pytest_draft.artifact.encoder import Encoder, Projection, Transformer
from pytest_draft.audit.chance import ENOUGH, arrangements, bits_of_choice, bits_of_counts, bits_of_order, bits_of_rows
from pytest_draft.data import transformed
from pytest_draft.errors import DataError
from pytest_draft.timebox import TimeBox

FEWEST_ROWS = 5
"""Rows below which nothing is said of an array that is scaled in any way."""

_MOST_PAIRS = 400_000
"""Pairs of values that are tried for two of a column's."""

_CLOSE = 3e-6
"""How far from a value of the table a placed one may be, over the column's range: single precision leaves 1e-7."""

_MOST_WAYS = 4
"""A column that can be placed in more ways says nothing."""


def scaled_rows(columns: Sequence[AnyArray], array: AnyArray) -> tuple[int, float]:
    """Return how many rows of an array are a table's, each column scaled and moved, and how many bits that is.

    Parameters
    ----------
    columns : sequence of ndarray, each of shape (n_rows,)
        The table's.
    array : ndarray, shape (n_kept, n_columns)
    """
    if array.dtype.kind not in "biuf" or len(array) < FEWEST_ROWS or array.shape[1] != len(columns):
        return 0, 0.0
    mine, theirs, ways = [], [], 0.0
    for index, column in enumerate(columns):
        placed = _placed(column, array[:, index].astype(np.float64))
        if placed is None:
            return 0, 0.0
        if isinstance(placed, float):
            continue
        mine.append(placed[0])
        theirs.append(placed[1])
        ways += placed[2]
    if not mine:
        return 0, 0.0
    table, kept = np.column_stack(mine), np.column_stack(theirs)
    rows, of_row, times = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    position = {row.tobytes(): number for number, row in enumerate(np.ascontiguousarray(rows))}
    found = [position.get(row.tobytes(), -1) for row in np.ascontiguousarray(kept)]
    which, number = np.unique([at for at in found if at >= 0], return_counts=True)
    if not len(which):
        return 0, 0.0
    common = np.minimum(times[which.astype(np.int64)], number)
    first = np.zeros(len(rows), dtype=np.int64)
    first[of_row.ravel()] = np.arange(len(table))
    bits = bits_of_rows(mine)[first[which.astype(np.int64)]]
    total = int(common.sum())
    # Each column's scale and centre are fitted to two of its values.
    return total, float(bits @ common - bits_of_choice(len(kept), total) - ways)


def enough(found: int, bits: float) -> bool:
    """Return whether so many rows and bits are no chance."""
    return found >= FEWEST_ROWS and bits >= ENOUGH.anywhere


def _placed(column: AnyArray, kept: FloatArray) -> tuple[IntArray, IntArray, float] | float | None:
    """Return the table's values and the kept ones as positions among the table's, and what placing them takes in bits.

    A number where the column says nothing; None where the kept values cannot be the table's.
    """
    if column.dtype.kind not in "biuf":
        return None
    values = column.astype(np.float64)
    if not np.isfinite(values).all() or not np.isfinite(kept).all():
        return None
    distinct, mine = np.unique(values, return_inverse=True)
    theirs, of_kept = np.unique(kept, return_inverse=True)
    if len(theirs) == 1:
        return 0.0
    if len(theirs) > len(distinct):
        return None
    places = _places(distinct, theirs)
    if not len(places):
        return None
    if len(places) > _MOST_WAYS:
        return 0.0
    pairs = len(distinct) * (len(distinct) - 1) / 2
    return mine.ravel(), places[0][of_kept.ravel()], float(np.log2(max(1.0, pairs)))


def _places(distinct: FloatArray, theirs: FloatArray) -> list[IntArray]:
    """Return where some ascending values can lie among others, scaled and moved: positions, of each way."""
    close = _CLOSE * (distinct[-1] - distinct[0])
    inner = (theirs - theirs[0]) / (theirs[-1] - theirs[0])
    low, high = _ends(distinct, len(theirs))
    for share in inner[np.argsort(np.abs(inner - 0.5))]:
        if not len(low):
            break
        at = distinct[low] + share * (distinct[high] - distinct[low])
        near = np.abs(distinct[_nearest(distinct, at)] - at) <= close
        low, high = low[near], high[near]
    found: list[IntArray] = []
    for one, other in zip(low[: _MOST_WAYS + 1], high[: _MOST_WAYS + 1], strict=True):
        at = _nearest(distinct, distinct[one] + inner * (distinct[other] - distinct[one]))
        if len(np.unique(at)) == len(at):
            found.append(at)
    return found


def _ends(distinct: FloatArray, number: int) -> tuple[IntArray, IntArray]:
    """Return the pairs of values between which so many can lie; of very many, those farthest apart."""
    apart = len(distinct) - number + 1
    low, high = (
        (part.astype(np.int64) for part in np.triu_indices(len(distinct), number - 1))
        if (len(distinct) ** 2 <= 4 * _MOST_PAIRS)
        else (np.empty(0, np.int64), np.empty(0, np.int64))
    )
    if len(low):
        return low, high
    side = int(min(apart, np.sqrt(_MOST_PAIRS)))
    lows, highs = np.meshgrid(np.arange(side), len(distinct) - 1 - np.arange(side), indexing="ij")
    keep = highs - lows >= number - 1
    return lows[keep], highs[keep]


def _nearest(distinct: FloatArray, at: FloatArray) -> IntArray:
    after = np.clip(np.searchsorted(distinct, at), 1, len(distinct) - 1)
    nearer: IntArray = after - ((at - distinct[after - 1]) < (distinct[after] - at))
    return nearer


_MISSING_SHARE = 1e-5
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
        none[usable] = together >= np.sqrt(1 - _MISSING_SHARE)
        return none

    def surprise(self, column: AnyArray) -> float:
        """Return how surprising it is that a column is a scaled one of the table, in bits; 0 where it is none."""
        numbers, best = _numbers(column), 0.0
        if numbers is None or not self._columns:
            return best
        standard = _standard(numbers)
        for which in np.flatnonzero(np.abs(self._in_order @ standard) >= np.sqrt(1 - _MISSING_SHARE)):
            mine = self._columns[which]
            if (np.isnan(mine) == np.isnan(numbers)).all():
                best = max(best, _by_order(mine, _error(mine, numbers)))
        if best > 0.0:
            return best
        for sign in (1, -1):
            ordered = np.sort(sign * standard)
            for which in np.flatnonzero(self._sorted @ ordered >= np.sqrt(1 - _MISSING_SHARE)):
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


MOST = 48
"""Tables that are made at most."""

MOST_VALUES = 2**26
"""Values of these tables."""

_DEEPEST = 4
"""Transformers behind each other."""

_SECONDS_PER_VALUE = 2e-7
"""Measured: an encoder takes 0.05 to 0.2 us a value."""

Columns = list[AnyArray]


def tables_behind(
    raw: Mapping[object, AnyArray],
    tables: Sequence[Sequence[AnyArray]],
    transformers: Sequence[Transformer],
    timebox: TimeBox,
) -> tuple[list[Columns], bool]:
    """Return what transformers make of tables, and whether that is all.

    Parameters
    ----------
    raw : mapping of ndarray
        The raw columns, by name: a transformer that knows names is given these.
    tables : sequence of sequences of ndarray
        Each the columns of a table, all of as many rows.
    """
    made: list[Columns] = []
    ahead = [(list(table), frozenset[int]()) for table in tables]
    twins: set[int] = set()
    first, size = True, 0
    while ahead:
        following = []
        for number, transformer in enumerate(transformers):
            inputs = [
                (table, done)
                for table, done in ahead
                if len(table) == transformer.n_inputs and number not in done and number not in twins
            ]
            names = transformer.does.names if isinstance(transformer.does, Encoder) else None
            if first and names is not None and set(names) <= set(raw):
                inputs.insert(0, ([raw[name] for name in names], frozenset()))
            for table, done in inputs:
                seconds = _SECONDS_PER_VALUE * len(table) * len(table[0])
                size += transformer.n_inputs * len(table[0])
                if len(made) == MOST or size > MOST_VALUES or timebox.over or not timebox.allows(seconds):
                    return made, False
                timebox.spend(seconds)
                columns = _behind(transformer.does, table)
                if columns and any(_are_same(columns, other) for other in (*made, table)):
                    twins.add(number)  # fitted on the same rows as another, or doing nothing
                elif columns:
                    made.append(columns)
                    if len(done) + 1 < _DEEPEST:
                        following.append((columns, done | {number}))
        ahead, first = following, False
    return made, True


def _behind(does: Encoder | Projection, table: Columns) -> Columns | None:
    """Return a table behind a transformer; None where it takes no such values."""
    try:
        if isinstance(does, Encoder):
            raw = {source: pd.Series(table[source]) for source in does.sources}
            return [np.asarray(column) for column in transformed(does, raw, "the training data")]
        numbers = np.column_stack([column.astype(np.float64) for column in table])
    except (DataError, ValueError, TypeError):
        return None
    return list(((numbers - does.mean) @ does.components.T / does.scale).T)


def _are_same(columns: Columns, others: Columns) -> bool:
    if len(columns) != len(others):
        return False
    return all(
        one.dtype.kind == other.dtype.kind and np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
        for one, other in zip(columns, others, strict=True)
    )
