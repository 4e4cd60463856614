"""The training data in every form that a file could hold: raw and encoded columns, and what rows and columns reveal.

`RowTable` finds rows among others, `KnownData` columns; both say how much that is beyond chance.

Rows can also stand in an array nearly: each times a factor of its own, moved by a number, or with some noise. How near
is near, the table says: a copy is much nearer to one of its rows than to the next one. Among rows spread evenly in k
dimensions, chance makes the ratio of these distances at most r with a probability of r^k [1]_, and k follows from the
ratios of the table's own rows.

.. [1] Facco et al., Estimating the intrinsic dimension of datasets by a minimal neighborhood information, Scientific
   Reports 7 (2017), 12140.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial import KDTree
from scipy.special import gammaln

from pytest_draft.arrays import AnyArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.artifact.world.account import FEWEST_ROWS
from pytest_draft.artifact.world.contents import NOTHING, Contents
from pytest_draft.audit.chance import ENOUGH, arrangements, bits_of_choice, bits_of_counts, bits_of_order, bits_of_rows
from pytest_draft.audit.scaled import Scaled, enough, scaled_rows, tables_behind
from pytest_draft.audit.value_hashes import (
    Identities,
    are_same,
    comparable,
    digest,
    halved,
    identified,
    identities,
    ranks_of,
    row_hashes,
    spread_of,
)
from pytest_draft.data import Table, TrainingData
from pytest_draft.data.files import IN_MEMORY, parsed, place_of
from pytest_draft.timebox import TimeBox

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too


def raw_columns_of(given: object) -> dict[object, AnyArray]:
    """Return the columns of training data as they were given, by name; none of `TrainingData`, which are encoded.

    Raises
    ------
    DataError
        Where arrays in memory are no table.
    """
    targets: dict[object, AnyArray] = {}
    if isinstance(given, Table):
        frame = given.frame
        targets = {f"{name} (array)": a for name, a in (given.targets or {}).items() if a is not None}
    elif isinstance(given, pd.DataFrame):
        frame = given
    elif isinstance(given, tuple) and len(given) == 2:
        where = place_of(IN_MEMORY)
        features, labels = given
        frame = parsed(lambda: pd.DataFrame(features), where, lambda _: "X cannot be made a table")
        targets = {"y (array)": parsed(lambda: np.asarray(labels), where, lambda _: "y cannot be made an array")}
    else:
        return {}
    columns: dict[object, AnyArray] = {name: _hashable(frame.iloc[:, i]) for i, name in enumerate(frame.columns)}
    columns |= {name: array.ravel() for name, array in targets.items() if array.size == len(frame)}
    return {name: comparable(column) for name, column in columns.items()}


def _hashable(column: pd.Series[Any]) -> AnyArray:
    """Return a column's values; texts in place of lists and the like, which cannot be looked up."""
    mixed = column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) == "mixed"
    return (column.astype(str) if mixed else column).to_numpy()


class RowTable:
    """The rows of one table, by hash; what is not asked for is not made.

    Parameters
    ----------
    identified : sequence of ndarray of uint64
        The identities of each column's values.
    columns : sequence of ndarray
        The values; empty where these rows are not to be looked for in other forms.
    """

    def __init__(self, identified: Sequence[Identities], columns: Sequence[AnyArray] = ()) -> None:
        self._identified = identified
        self._columns = columns
        self._distinct = np.unique(row_hashes(identified), return_index=True, return_counts=True)
        self.width = len(identified)

    @property
    def hashes(self) -> Identities:
        """The different ones, ascending."""
        return self._distinct[0]

    @cached_property
    def bits(self) -> FloatArray:
        """How little chance it takes that a row like each is in the table; 0 for a row of one and the same value."""
        same = np.full(len(self._identified[0]), self.width > 1)
        for column in self._identified:
            same &= column == self._identified[0]
        bits: FloatArray = np.where(same, 0.0, bits_of_rows(self._identified))[self._distinct[1]]
        return bits

    @cached_property
    def halved(self) -> RowTable | None:
        """The same rows in half precision; None where nothing changes by that."""
        halves = [halved(column) for column in self._columns]
        same = all(map(are_same, halves, self._columns))
        return None if same else RowTable(identified(halves))

    def scaled_in(self, array: AnyArray) -> int:
        """Return how many rows stand in an array with each column scaled and moved in any way."""
        found, bits = scaled_rows(self._columns, array) if self._columns else (0, 0.0)
        return found if enough(found, bits) else 0

    @cached_property
    def near(self) -> NearRows:
        """The same rows, for others that are nearly these."""
        return NearRows(self._columns)

    @cached_property
    def ranked(self) -> RowTable | None:
        """The same rows as the ranks of their values in each column; None where one holds no numbers."""
        ranks = ranks_of(self._columns) if self._columns else None
        return None if ranks is None else RowTable(ranks)

    @cached_property
    def spread(self) -> bytes:
        """A digest of how often each value occurs in each column."""
        return spread_of(self._identified)

    def found_in(self, hashes: Identities, tried: int | None = None) -> tuple[int, float]:
        """Return how many rows stand among others, and how many bits that is beyond chance; so many were tried."""
        theirs, times = np.unique(hashes, return_counts=True)
        _, mine, at = np.intersect1d(self.hashes, theirs, assume_unique=True, return_indices=True)
        if not len(mine):
            return 0, 0.0
        common = np.minimum(self._distinct[2][mine], times[at])
        found, tried = int(common.sum()), len(hashes) if tried is None else tried
        return found, float(self.bits[mine] @ common - bits_of_choice(tried, found))


class KnownData:
    """The training data, as they are compared with.

    Parameters
    ----------
    columns : dict of ndarray
        The raw ones, by name.
    contents : Contents
        With the transformers behind which rows can stand.
    timebox : TimeBox or None
        Of making the tables behind them.

    Attributes
    ----------
    n_rows : int
    all_behind : bool
        Whether all tables behind transformers were made.
    """

    def __init__(
        self,
        columns: dict[object, AnyArray],
        data: TrainingData | None,
        model: Forest | RuleList,
        contents: Contents = NOTHING,
        timebox: TimeBox | None = None,
    ) -> None:
        self._raw = {name: column for name, column in columns.items() if identities(column[:1]) is not None}
        self._all_raw = len(self._raw) == len(columns)
        self._encoded = [] if data is None else list(data.rows.T)
        self._labels = [] if data is None else [data.labels]
        self._names = {*contents.names, *(() if model.feature_names is None else (model.feature_names,))}
        self._values = [*columns.values(), *self._encoded, *self._labels]
        self.n_rows = len(self._values[0])
        self._behind, self.all_behind = tables_behind(
            self._raw, self._given, contents.transformers, TimeBox(math.inf) if timebox is None else timebox
        )

    @property
    def size(self) -> int:
        """Number of values."""
        return 3 * self.n_rows * (len(self._values) + sum(map(len, self._behind)))

    @cached_property
    def widths(self) -> frozenset[int]:
        """Numbers of columns that rows of a file can have."""
        return frozenset(map(len, self._choices))

    def can_hold(self, size: int) -> bool:
        """Return whether an array of so many values can hold a row or a column."""
        return size > 0 and size >= min((*self.widths, self.n_rows))

    def most_in_a_run(self, values: Identities) -> int:
        """Return how many values stand next to each other at most that the tables have as well."""
        known = self._identities
        strange = np.flatnonzero(known[np.minimum(np.searchsorted(known, values), len(known) - 1)] != values)
        return int(np.diff(np.r_[-1, strange, len(values)]).max()) - 1

    @cached_property
    def _identities(self) -> Identities:
        """The identities of all values, also in half precision; ascending."""
        columns = (*self._values, *self._in_half_precision, *(column for table in self._behind for column in table))
        return np.sort(pd.unique(np.concatenate(identified(columns))))

    @cached_property
    def tables(self) -> list[RowTable]:
        """The tables that rows of a file can be of."""
        found: list[RowTable] = []
        for columns in self._choices:
            table = RowTable(identified(columns), columns)
            if not any(np.array_equal(table.hashes, other.hashes) for other in found):
                found.append(table)
        return found

    @property
    def _choices(self) -> list[Sequence[AnyArray]]:
        return [*self._given, *self._behind]

    @cached_property
    def numbers(self) -> list[Sequence[AnyArray]]:
        """The tables in whose values single people can be met: raw, encoded, and behind transformers."""
        return [columns for columns in (list(self._raw.values()), self._encoded, *self._behind) if columns]

    @property
    def _given(self) -> list[Sequence[AnyArray]]:
        raw = list(self._raw.values()) if self._all_raw else []
        choices: list[Sequence[AnyArray]] = [self._encoded, raw, raw[:-1], raw[1:]]
        known = sorted(names for names in self._names if set(names) <= set(self._raw))
        choices += [[self._raw[name] for name in names] for names in known]
        return [columns for columns in choices if columns]

    @property
    def n_columns(self) -> int:
        """Number of columns, raw and encoded."""
        return len(self._values)

    @cached_property
    def _n_different(self) -> int:
        """Number of columns that tell the rows apart differently."""
        return len({next(_patterns(column))[0] for column in self._values})

    @cached_property
    def _by_values(self) -> dict[bytes, float]:
        """What the values of a column say in any order, in bits, by their digest."""
        hashed = [identities(column) for column in (*self._values, *self._in_half_precision)]
        return {
            digest(np.sort(column)): bits_of_counts(np.unique(column, return_counts=True)[1].astype(np.float64))
            for column in hashed
            if column is not None
        }

    @cached_property
    def _by_order(self) -> dict[bytes, float]:
        """What the order of a column's values says, in bits, by its digest."""
        found: dict[bytes, float] = {}
        for column in (*self._values, *self._in_half_precision):
            found.update(_patterns(column))
        return found

    @cached_property
    def _in_half_precision(self) -> list[AnyArray]:
        """The columns of numbers that half precision changes, in that."""
        numbers = [column for column in self._values if column.dtype.kind in "iuf"]
        return [half for column in numbers if not np.array_equal(half := halved(column), column, equal_nan=True)]

    @cached_property
    def _scaled(self) -> Scaled:
        return Scaled(self._values)

    def columns_in(self, table: AnyArray, tries: int) -> int:
        """Return how many columns of a file are the training data's, among so many in the file that are tried.

        A column by itself has to say enough that chance hardly makes it; several different ones, together.
        """
        penalty = float(np.log2(tries * self._n_different))
        alone, together = 0, 0
        by_pattern: dict[bytes, float] = {}
        scaled = self._scaled.perhaps(table)
        for index in range(table.shape[1]):
            bits, enough, pattern = self._surprise_by(table[:, index], bool(scaled[index]))
            if bits > penalty:
                alone += int(bits - penalty >= enough)
                together += 1
                by_pattern[pattern] = bits - penalty
        return together if sum(by_pattern.values()) >= ENOUGH.anywhere else alone

    def _surprise_by(self, column: AnyArray, scaled: bool) -> tuple[float, float, bytes]:
        """Return what a match of a column says, how much is enough, in bits, and a digest of the column."""
        patterns = list(_patterns(column))
        if (bits := max(self._by_order.get(pattern, 0.0) for pattern, _ in patterns)) > 0.0:
            return bits, ENOUGH.in_order, patterns[0][0]
        hashed = identities(column)
        bits = 0.0 if hashed is None else self._by_values.get(digest(np.sort(hashed)), 0.0)
        if not bits and scaled:
            bits = self._scaled.surprise(column)
        return bits, ENOUGH.anywhere, patterns[0][0]


def _patterns(column: AnyArray) -> Iterator[tuple[bytes, float]]:
    """Return how a column tells the rows apart, and orders them: a digest, and log2 of how many ways there are.

    What is equal where the column is has the first; what is greater where the column is greater, or where it is less,
    has the others too. So a column that was scaled or recoded has a pattern of its origin. One that is sorted tells
    nothing by its order: all other sorted ones are alike.
    """
    codes, distinct = pd.factorize(column)
    times = np.bincount(codes + 1).astype(np.float64)
    times = times[times > 0]
    several = np.unique(times, return_counts=True)[1]
    ways = arrangements(times, len(codes))
    yield digest(codes, "equal"), bits_of_order(codes, ways - gammaln(several + 1).sum())
    if column.dtype.kind in "biufmM":
        rising = np.argsort(np.argsort(distinct))
        for ranks in (rising, len(rising) - 1 - rising):
            ranked = np.append(ranks, -1)[codes]  # the last entry is for missing values, whose code is -1
            yield digest(ranked, "order"), bits_of_order(ranked, ways)


_LEAST_BITS = (10.0, 20.0, 40.0)
"""A row of an array is a copy where chance brings it so near with a probability of 2 to the power of minus this."""

_SHARES = (0.5, 0.2, 0.1, 0.05)
"""Shares of the table's rows whose ratios give k; the least k counts, so that pairs of like rows mislead less."""

_MOST_ASKED = 500
"""Rows of the table whose ratios are asked for."""

_MOST_VALUES = 2**28
"""Values that an array's rows are compared with at most; of a longer one, every second row is, or every third."""

_FARTHEST = 0.1
"""How far a copy may be from its row, over its length: a cosine of 0.995."""

_ROUNDING = 1e-12
"""Over the distance to the next row: what is nearer is there."""


class NearRows:
    """The rows of a table, in each form in which an array's can be near them.

    Parameters
    ----------
    columns : sequence of ndarray, each of shape (n_rows,)
        Where one holds no numbers, no row is near any.
    """

    def __init__(self, columns: Sequence[AnyArray]) -> None:
        numbers = all(column.dtype.kind in "biuf" for column in columns)
        table = np.column_stack(columns).astype(np.float64) if numbers else np.ones((1, len(columns)))
        table = table[np.isfinite(table).all(axis=1)]
        self._size, self._mean, self._unit = table.size, table.mean(axis=0), table.std(axis=0)
        self._unit[self._unit == 0] = 1.0
        bits, centred = bits_of_rows(list(table.T)), table - self._mean
        turned = [(rows, moved) for rows in (table, centred, centred / self._unit) for moved in (False, True)]
        self._forms = [_Form(rows, bits, turned=True, moved=moved) for rows, moved in turned]
        self._forms.append(_Form(centred / self._unit, bits, turned=False, moved=False))

    def found_in(self, array: AnyArray) -> int:
        """Return how many rows stand nearly in an array, shape (n, n_columns), where chance hardly puts them there."""
        array = array[:: 1 + len(array) * self._size // _MOST_VALUES].astype(np.float64)
        return max(form.found_in(rows) for form in self._forms for rows in (array, (array - self._mean) / self._unit))


class _Form:
    """Rows without what a copy need not keep: a factor of each (`turned`), and a number added to it (`moved`)."""

    def __init__(self, rows: FloatArray, bits: FloatArray, *, turned: bool, moved: bool) -> None:
        self._turned, self._moved, self._bits, self._dimension = turned, moved, bits, 0.0
        points = self._placed(rows)
        row = np.flatnonzero(np.isfinite(points).all(axis=1))
        points = np.concatenate([points[row], -points[row]]) if turned else points[row]
        _, first, times = np.unique(row_hashes(identified(list(points.T))), return_index=True, return_counts=True)
        if len(first) < 2 * FEWEST_ROWS:
            return
        self._row, self._points = np.resize(row, len(points))[first], KDTree(points[first])
        self._own = times < FEWEST_ROWS  # what more people share is nobody's
        asked = points[np.random.default_rng(0).permutation(first)[:_MOST_ASKED]]
        ratios = np.sort(self._ratios(asked, 3)[0])[::-1]
        self._dimension = float(
            min(rows.shape[1], *(-np.log2(s) / max(ratios[int(s * len(ratios))], 1e-9) for s in _SHARES))
        )

    def found_in(self, array: FloatArray) -> int:
        """Return how many rows stand nearly in an array."""
        points = self._placed(array)
        points = points[np.isfinite(points).all(axis=1)]
        if len(points) < FEWEST_ROWS or not self._dimension:
            return 0
        ratios, at = self._ratios(points, 2)
        apart = np.linalg.norm(points - self._points.data[at], axis=1)
        close = self._own[at] & (apart <= _FARTHEST * np.linalg.norm(points, axis=1))
        near = np.zeros(len(self._bits))
        np.maximum.at(near, self._row[at], np.where(close, self._dimension * ratios, 0.0))
        for least in _LEAST_BITS:
            bits = np.minimum(least, self._bits[near >= least])
            if len(bits) >= FEWEST_ROWS and bits.sum() - bits_of_choice(len(points), len(bits)) >= ENOUGH.anywhere:
                return len(bits)
        return 0

    def _placed(self, rows: FloatArray) -> FloatArray:
        rows = rows - rows.mean(axis=1, keepdims=True) if self._moved else rows
        with np.errstate(divide="ignore", invalid="ignore"):
            return rows / np.linalg.norm(rows, axis=1, keepdims=True) if self._turned else rows

    def _ratios(self, points: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
        """Return log2 of how many times as far the last of `k` rows is as the one before it, and which that is."""
        distance, at = self._points.query(points, k=k)
        ratios: FloatArray = np.log2(distance[:, -1] / np.maximum(distance[:, -2], _ROUNDING * distance[:, -1]))
        return ratios, at[:, -2]
