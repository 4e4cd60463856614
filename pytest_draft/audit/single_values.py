"""Values of single people in a file: how many values of the training data its quantiles, bins and curves hold.

Quantiles, the edges of bins, thresholds of curves: each is the value of some person, to the last digit. They are
counted beside what other rows like these would meet (split-half), so that an age or a grade, which many share, reveals
nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from pytest_draft.arrays import AnyArray, BoolArray, FloatArray
from pytest_draft.artifact.world.contents import Contents, Stored
from pytest_draft.audit.value_hashes import comparable
from pytest_draft.errors import one_line
from pytest_draft.facts.contents import SingleValues
from pytest_draft.timebox import TimeBox

MOST_SHARED = 0.5
"""A column of which other rows like these meet more than this share of the values tells nobody from others."""

FEWEST = 3
"""Values of one column in one line of an array, from which on they are taken for its values."""

_QUANTILES: tuple[Literal["linear", "averaged_inverted_cdf", "inverted_cdf"], ...] = (
    "linear",
    "averaged_inverted_cdf",
    "inverted_cdf",
)
"""How scikit-learn's transformers compute quantiles."""

_MOST_DRAWN = 20_000
"""Rows of all halves that are drawn for what other rows like these meet; of two halves at least."""

_MOST_DRAWS = 10

_MOST_SHOWN = 3


def single_values(
    contents: Contents, tables: Sequence[Sequence[AnyArray]], timebox: TimeBox
) -> tuple[SingleValues | None, list[str]]:
    """Return how many values of the training data stand in a file's arrays, None where none does; and doubts.

    Parameters
    ----------
    tables : sequence of sequences of ndarray
        The training data and what transformers make of it, each as its columns. The one that is met most counts.
    timebox : TimeBox
        Tables that are left when it ends are not looked at, which is the doubt that is returned.
    """
    arrays = [
        (stored, values) for stored in (*contents.arrays, *contents.learned) if (values := _numbers(stored)) is not None
    ]
    found: list[SingleValues] = []
    for table in tables if arrays else ():
        if timebox.over:
            return _most(found), [
                "the time box's part for this ended before all single values of the file were counted (--draft-budget)"
            ]
        if (one := _in_table(arrays, table)) is not None:
            found.append(one)
    return _most(found), []


def _most(found: list[SingleValues]) -> SingleValues | None:
    return max(found, key=lambda one: one.share - one.others, default=None)


def _in_table(arrays: list[tuple[Stored, AnyArray]], table: Sequence[AnyArray]) -> SingleValues | None:
    """Return how many values of one table stand in arrays."""
    columns: dict[int, FloatArray] = {}
    shared: list[float] = []
    for index, column in enumerate(table):
        numbers = _single(column) if column.dtype.kind in "iuf" else None
        if numbers is not None and np.isfinite(numbers).any() and (others := _met_by_others(numbers)) <= MOST_SHARED:
            columns[index] = numbers
            shared.append(others)
    if not columns:
        return None
    known = {index: np.unique(numbers[np.isfinite(numbers)]) for index, numbers in columns.items()}
    everything = np.unique(np.concatenate(list(known.values())))
    met = {index: np.zeros(len(numbers), dtype=np.bool_) for index, numbers in columns.items()}
    places: Counter[str] = Counter()
    for stored, values in arrays:
        before = sum(int(one.sum()) for one in met.values())
        for position, line in _lines(values, len(table)):
            rising = len(line) >= FEWEST and bool((np.diff(line) >= 0).all())
            if not (rising or _among(line, everything).any()):
                continue
            for index, distinct in known.items():
                hits = _quantiles_of(line, columns[index]) if rising else line[:0]
                if not len(hits):
                    hits = _hits(line, distinct, aligned=position == index)
                if len(hits):
                    met[index] |= _among(columns[index], hits)
        more = sum(int(one.sum()) for one in met.values()) - before
        if more:
            places[one_line(stored.path)] += more
    share, others = float(np.mean([one.mean() for one in met.values()])), float(np.mean(shared))
    if share <= others:
        return None
    return SingleValues(tuple(path for path, _ in places.most_common(_MOST_SHOWN)), share, others)


def _numbers(stored: Stored) -> AnyArray | None:
    """Return an array's numbers, in single precision; None where it holds none, or is a table's pieces."""
    if stored.joined or stored.is_sparse:
        return None
    try:
        values = comparable(stored.values())
    except ValueError:
        return None
    if values.dtype.kind not in "iuf" or not 0 < values.ndim <= 2:
        return None
    return _single(values)


def _single(values: AnyArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)


def _lines(values: AnyArray, width: int) -> Iterator[tuple[int | None, FloatArray]]:
    """Return the lines of an array, and of which column each is where it has one for each."""
    if values.ndim == 1:
        yield None, values
        if len(values) == width:
            yield from ((index, values[index : index + 1]) for index in range(width))
        return
    for table in (values, values.T):
        yield from ((index if table.shape[1] == width else None, table[:, index]) for index in range(table.shape[1]))


def _hits(line: FloatArray, distinct: FloatArray, *, aligned: bool) -> FloatArray:
    """Return the values of a column that stand in a line, where these are more than chance puts there."""
    theirs = np.unique(line[np.isfinite(line)])
    hits: FloatArray = theirs[_among(theirs, distinct)]
    if len(hits) < (1 if aligned else FEWEST):
        return hits[:0]
    gaps = np.diff(distinct)
    places = (distinct[-1] - distinct[0]) / gaps.min() + 1 if len(gaps) else 1.0
    on_grid = theirs[(theirs >= distinct[0]) & (theirs <= distinct[-1])]
    if len(gaps):
        on_grid = on_grid[np.abs((on_grid - distinct[0]) / gaps.min() % 1.0 - 0.5) > 0.5 - 1e-3]
    chance = len(on_grid) * min(1.0, len(distinct) / places)
    if aligned and len(theirs) == 1:
        return hits
    return hits if len(hits) > chance + 4 * np.sqrt(chance) or len(hits) == len(theirs) else hits[:0]


def _among(values: FloatArray, distinct: FloatArray) -> BoolArray:
    """Return which values stand among some ascending ones."""
    if not len(distinct):
        return np.zeros(len(values), dtype=np.bool_)
    at = np.minimum(np.searchsorted(distinct, values), len(distinct) - 1)
    found: BoolArray = distinct[at] == values
    return found


def _quantiles_of(line: FloatArray, numbers: FloatArray) -> FloatArray:
    """Return the values that are nearest to each of a column's quantiles, where a line holds just those.

    A quantile between two people's values reveals both of them as nearly as one that is somebody's own: with 201 rows
    all of 101 quantiles are, with 200 rows two.
    """
    known = np.sort(numbers[np.isfinite(numbers)])
    if not len(known) or line[0] < known[0] or line[-1] > known[-1]:
        return line[:0]
    close = 1e-6 * float(known[-1] - known[0])
    shares = np.linspace(0, 100, len(line))
    for method in _QUANTILES:
        found = np.percentile(known, shares, method=method)
        if (np.abs(found - line) <= close).all():
            nearest: FloatArray = np.unique(np.percentile(known, shares, method="nearest"))
            return nearest
    return line[:0]


def _met_by_others(numbers: FloatArray) -> float:
    """Return which share of a column's values one half of the rows has in common with the other, on average."""
    random = np.random.default_rng(0)
    half = len(numbers) // 2
    if not half:
        return 0.0
    shares = []
    for _ in range(int(np.clip(_MOST_DRAWN // len(numbers), 2, _MOST_DRAWS))):
        order = random.permutation(len(numbers))
        mine: BoolArray = np.isin(numbers[order[:half]], numbers[order[half:]])
        shares.append(float(mine.mean()))
    return float(np.mean(shares))
