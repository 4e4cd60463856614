"""Finds rows whose columns were scaled one by one in an array as wide as the table.

Scaled rows can be some of the table's, in any order, by a scale and a centre that are nowhere in the file: those of the
rows that were kept. So each column of the array is placed on the table's by its own values: where two of them go
decides where all others must lie, and all have to lie on values that the table has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_draft.arrays import AnyArray, FloatArray, IntArray
from pytest_draft.audit.chance import ENOUGH, bits_of_choice, bits_of_rows

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
