"""What stands in a model file beside its trees: in go its arrays and the training data, out come `StoredFacts`.

No attack is needed for what is simply there. Values are compared as trees see them, in single precision, by 64-bit
hashes. An array counts as a copy only where chance would hardly make it: two columns of zeros and ones are easily
equal, two columns of birth dates are not. In which form a table is written makes no difference: turned round, row by
row or column by column, in pieces, in half precision, with scaled columns, among other values.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

from pytest_draft.artifact import Artifact
from pytest_draft.artifact.contents import Contents, Stored
from pytest_draft.artifact.encoder import Encoder, OneHot, Ordinal
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.rule_list import RuleList
from pytest_draft.audit.scaled_copies import Scaled
from pytest_draft.data import Table, TrainingData
from pytest_draft.data.files import IN_MEMORY, parsed, place_of
from pytest_draft.data.known import finder
from pytest_draft.errors import one_line
from pytest_draft.facts.contents import Copy, Rarest, StoredFacts, Vector
from pytest_draft.timebox import TimeBox

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too

Identities = NDArray[np.uint64]
AnyArray = NDArray[Any]

_BITS = 20.0
"""An array is taken for a copy where chance makes it with a probability of at most 2 to the power of minus this."""

_ALWAYS_BY_ROW = frozenset(
    ("_sample_weight", "oob_decision_function_", "oob_prediction_", "_fit_X", "_mask_fit_X", "_y", "labels_")
)
"""Attributes of scikit-learn that have an entry for each training row, whatever else is as long."""

_MOST_LISTED = 100
_MISSING = np.uint64(0x9E3779B97F4A7C15)
_MOST = 2.0**128
_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
_BITS_IN_ORDER = 12.0
"""The same for a column in the rows' order, such as one of 20 rows of zeros and ones, that is a file's only one."""

_MOST_TIMES_AS_WIDE = 4
"""An array of another form is cut into columns where it makes at most so many times as many as there are."""

_SECONDS_PER_START = 1e-8  # measured: a row that may start at each value is hashed in 2 to 3 ns a column, in some forms
_SECONDS_PER_VALUE = 1e-7  # measured: hashing, sorting and comparing numbers takes 0.05 to 0.1 us a value


def inspect_contents(artifact: Artifact, given: object, data: TrainingData | None, timebox: TimeBox) -> StoredFacts:
    """Say which of a file's arrays belong to training rows.

    Parameters
    ----------
    artifact : Artifact
    given : Table, pandas.DataFrame, tuple (X, y), TrainingData or None
        The training data as they were given.
    data : TrainingData or None
        The same as the model sees them, where that is known.
    timebox : TimeBox

    Returns
    -------
    StoredFacts

    Raises
    ------
    DataError
        Where arrays in memory are no table.
    """
    contents, model = artifact.contents, artifact.model
    n_arrays = sum(not stored.joined for stored in contents.arrays)
    columns = _raw_columns(given)
    n_rows = (
        len(data.rows) if data is not None else max((len(column) for column in columns.values()), default=0) or None
    )
    told = {n for n in (n_rows, _rows_of(model)) if n is not None}
    by_row, perhaps = _vectors(contents, told, model)
    doubts = [f"{one_line(path)} is a long text or bytes, which are not looked into" for path in contents.opaque]
    if len(told) > 1:
        doubts.append(
            f"{n_rows:,} training rows are given, and the model was trained on {_rows_of(model):,}: give those"
        )
    copies: list[Copy] = []
    if n_rows is not None and contents.arrays:
        copies, missed = _copies(contents, _Known(columns, data, model), timebox)
        doubts += missed
    elif apart := sum(not (stored.few or stored.joined) for stored in contents.arrays):
        doubts.append(
            f"{apart:,} array{'s' * (apart != 1)} in the file could not be compared with the training data, which are "
            "not known: add --draft-data"
        )
    encoded_already = data is not None and not data.by_encoder
    rarest, missed = _rarest(contents, columns, artifact.encoder, encoded_already=encoded_already)
    doubts += missed
    return StoredFacts(
        arrays=n_arrays,
        n_rows=tuple(sorted(told)),
        by_row=by_row,
        perhaps_by_row=perhaps,
        copies=tuple(copies[:_MOST_LISTED]),
        rarest=tuple(rarest[:_MOST_LISTED]),
        doubts=tuple(doubts[:_MOST_LISTED]),
    )


def _rows_of(model: Forest | RuleList) -> int | None:
    """Return the number of training rows that a file tells."""
    if isinstance(model, Forest):
        return model.n_samples
    return None if model.counts is None else int(model.counts.sum())


def _vectors(
    contents: Contents, n_rows: set[int], model: Forest | RuleList
) -> tuple[tuple[Vector, ...], tuple[Vector, ...]]:
    """Return the arrays with an entry for each row, and those whose length can have another reason."""
    explained = contents.sizes | {model.n_classes} | ({model.n_features} if model.n_features is not None else set())
    surely: list[Vector] = []
    perhaps: list[Vector] = []
    for stored in contents.arrays:
        if stored.joined or not n_rows.intersection(stored.shape):
            continue
        vector = Vector(one_line(stored.path), stored.shape)
        name = stored.path.rpartition(".")[2]
        unexplained = not stored.few and n_rows.intersection(stored.shape) - explained
        (surely if name in _ALWAYS_BY_ROW or unexplained else perhaps).append(vector)
    return tuple(surely[:_MOST_LISTED]), tuple(perhaps[:_MOST_LISTED])


def _raw_columns(given: object) -> dict[object, AnyArray]:
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
    return {name: _comparable(column) for name, column in columns.items()}


def _hashable(column: pd.Series[Any]) -> AnyArray:
    """Return a column's values; texts in place of lists and the like, which cannot be looked up."""
    mixed = column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) == "mixed"
    return (column.astype(str) if mixed else column).to_numpy()


def identities(values: AnyArray) -> Identities | None:
    """Return a number for each value of one column; equal values, and but for hashes with 64 bits only they, share it.

    Numbers are equal where they are in single precision. All kinds of missing values are one.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Numbers, or objects.

    Returns
    -------
    ndarray of uint64, shape (n,), or None
        None for dates, complex numbers and records, which are not compared.
    """
    if values.dtype.kind == "O":
        missing = np.asarray(pd.isna(values), dtype=np.bool_)
        if all(isinstance(value, _NUMBERS) and abs(value) < _MOST for value in values[~missing]):
            numbers = np.full(len(values), np.nan)
            numbers[~missing] = values[~missing].astype(np.float64)
            return identities(numbers)
        result: Identities = pd.util.hash_array(values.astype(str).astype(object))
        result[missing] = _MISSING
        return result
    if values.dtype.kind not in "biuf":
        return None
    with np.errstate(over="ignore"):
        single = values.astype(np.float32) + np.float32(0)  # -0.0 becomes 0.0
    hashed: Identities = pd.util.hash_array(single)
    hashed[np.isnan(single)] = _MISSING
    return hashed


class _Rows:
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
        self._distinct = np.unique(_row_hashes(identified), return_index=True, return_counts=True)
        self.width = len(identified)

    @property
    def hashes(self) -> Identities:
        """The different ones, ascending."""
        return self._distinct[0]

    @cached_property
    def bits(self) -> NDArray[np.float64]:
        """How little chance it takes that a row like each is in the table.

        Minus log2 of the expected number of them, were the columns independent; at least 0, and 0 for a row of one and
        the same value.
        """
        n_rows = len(self._identified[0])
        expected = np.full(n_rows, np.log2(n_rows))
        same = np.full(n_rows, self.width > 1)
        for column in self._identified:
            _, which, times = np.unique(column, return_inverse=True, return_counts=True)
            expected += np.log2(times / n_rows)[which]
            same &= column == self._identified[0]
        told: NDArray[np.float64] = np.where(same, 0.0, np.maximum(0.0, -expected))[self._distinct[1]]
        return told

    @cached_property
    def halved(self) -> _Rows | None:
        """The same rows in half precision; None where nothing changes by that."""
        halves = [_halved(column) for column in self._columns]
        same = all(map(_are_same, halves, self._columns))
        return None if same else _Rows(_identified(halves))

    @cached_property
    def ranked(self) -> _Rows | None:
        """The same rows as the ranks of their values in each column; None where one holds no numbers."""
        ranks = _ranked(self._columns) if self._columns else None
        return None if ranks is None else _Rows(ranks)

    @cached_property
    def spread(self) -> bytes:
        """A digest of how often each value occurs in each column."""
        return _spread(self._identified)

    def found_in(self, hashes: Identities, tried: int | None = None) -> tuple[int, float]:
        """Return how many rows stand among others, and how many bits that is beyond chance; so many were tried."""
        theirs, times = np.unique(hashes, return_counts=True)
        _, mine, at = np.intersect1d(self.hashes, theirs, assume_unique=True, return_indices=True)
        if not len(mine):
            return 0, 0.0
        common = np.minimum(self._distinct[2][mine], times[at])
        found, tried = int(common.sum()), len(hashes) if tried is None else tried
        chosen = (gammaln(tried + 1) - gammaln(found + 1) - gammaln(tried - found + 1)) / np.log(2)
        return found, float(self.bits[mine] @ common - chosen)


class _Known:
    """The training data, as they are compared with.

    Parameters
    ----------
    columns : dict of ndarray
        The raw ones, by name.
    data : TrainingData or None
    model : Forest or RuleList
    """

    def __init__(self, columns: dict[object, AnyArray], data: TrainingData | None, model: Forest | RuleList) -> None:
        self._raw = {name: column for name, column in columns.items() if identities(column[:1]) is not None}
        self._all_raw = len(self._raw) == len(columns)
        self._encoded = [] if data is None else list(data.rows.T)
        self._labels = [] if data is None else [data.labels]
        self._names = model.feature_names
        self._values = [*columns.values(), *self._encoded, *self._labels]
        self.n_rows = len(self._values[0])

    @property
    def size(self) -> int:
        """Number of values."""
        return 3 * self.n_rows * len(self._values)

    @cached_property
    def widths(self) -> frozenset[int]:
        """Numbers of columns that rows of a file can have."""
        return frozenset(map(len, self._choices))

    def can_hold(self, size: int) -> bool:
        """Return whether an array of so many values can hold a row or a column."""
        return size > 0 and size >= min((*self.widths, self.n_rows))

    def most_in_a_run(self, told: Identities) -> int:
        """Return how many values stand next to each other at most that the tables have as well."""
        strange = np.flatnonzero(~pd.Series(told).isin(self._identities).to_numpy())
        return int(np.diff(np.r_[-1, strange, len(told)]).max()) - 1

    @cached_property
    def _identities(self) -> Identities:
        """The identities of all values, also in half precision."""
        columns = (*self._values, *self._in_half_precision)
        return np.unique(np.concatenate(_identified(columns)))

    @cached_property
    def tables(self) -> list[_Rows]:
        """The tables that rows of a file can be of."""
        found: list[_Rows] = []
        for columns in self._choices:
            table = _Rows(_identified(columns), columns)
            if not any(np.array_equal(table.hashes, other.hashes) for other in found):
                found.append(table)
        return found

    @property
    def _choices(self) -> list[Sequence[AnyArray]]:
        raw = list(self._raw.values()) if self._all_raw else []
        choices: list[Sequence[AnyArray]] = [self._encoded, raw, raw[:-1], raw[1:]]
        if self._names is not None and set(self._names) <= set(self._raw):
            choices.append([self._raw[name] for name in self._names])
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
        """What the values of a column tell in any order, in bits, by their digest."""
        hashed = [identities(column) for column in (*self._values, *self._in_half_precision)]
        return {_digest(np.sort(column)): _surprise(column) for column in hashed if column is not None}

    @cached_property
    def _by_order(self) -> dict[bytes, float]:
        """What the order of a column's values tells, in bits, by its digest."""
        found: dict[bytes, float] = {}
        for column in (*self._values, *self._in_half_precision):
            found.update(_patterns(column))
        return found

    @cached_property
    def _in_half_precision(self) -> list[AnyArray]:
        """The columns of numbers that half precision changes, in that."""
        numbers = [column for column in self._values if column.dtype.kind in "iuf"]
        return [half for column in numbers if not np.array_equal(half := _halved(column), column, equal_nan=True)]

    @cached_property
    def _scaled(self) -> Scaled:
        return Scaled(self._values)

    def columns_in(self, table: AnyArray, tries: int) -> int:
        """Return how many columns of a file are the training data's, among so many in the file that are tried.

        A column by itself has to tell enough that chance hardly makes it; several different ones, together.
        """
        penalty = float(np.log2(tries * self._n_different))
        alone, together = 0, 0
        told: dict[bytes, float] = {}
        scaled = self._scaled.perhaps(table)
        for index in range(table.shape[1]):
            bits, enough, pattern = self._surprise_by(table[:, index], bool(scaled[index]))
            if bits > penalty:
                alone += int(bits - penalty >= enough)
                together += 1
                told[pattern] = bits - penalty
        return together if sum(told.values()) >= _BITS else alone

    def _surprise_by(self, column: AnyArray, scaled: bool) -> tuple[float, float, bytes]:
        """Return what a match of a column tells, how much is enough, in bits, and a digest of the column."""
        patterns = list(_patterns(column))
        if (bits := max(self._by_order.get(pattern, 0.0) for pattern, _ in patterns)) > 0.0:
            return bits, _BITS_IN_ORDER, patterns[0][0]
        hashed = identities(column)
        bits = 0.0 if hashed is None else self._by_values.get(_digest(np.sort(hashed)), 0.0)
        if not bits and scaled:
            bits = self._scaled.surprise(column)
        return bits, _BITS, patterns[0][0]


def _ranked(columns: Sequence[AnyArray]) -> list[Identities] | None:
    """Return the rank of each value among its column's, 0 for a missing one; None where one holds no numbers."""
    if any(column.dtype.kind not in "biuf" for column in columns):
        return None
    return [(pd.factorize(column, sort=True)[0] + 1).astype(np.uint64) for column in columns]


def _spread(columns: Sequence[Identities]) -> bytes:
    """Return a digest of how often each value occurs in each column."""
    return _digest(np.sort(np.array(columns), axis=1))


def _are_same(one: AnyArray, other: AnyArray) -> bool:
    return one is other or np.array_equal(one, other, equal_nan=True)


def _identified(columns: Sequence[AnyArray]) -> list[Identities]:
    return [hashed for column in columns if (hashed := identities(column)) is not None]


def _row_hashes(columns: Sequence[Identities]) -> Identities:
    """Return a hash of each row, by the identities of its values and their places."""
    keys = np.random.default_rng(0).integers(1, 2**63, size=len(columns), dtype=np.uint64) | np.uint64(1)
    result = np.zeros(len(columns[0]), dtype=np.uint64)
    for column, key in zip(columns, keys, strict=True):
        result += column * key
    return result


def _surprise(column: Identities) -> float:
    """Return how hard it is to have a column's values without it: minus log2 of the chance of just these counts."""
    times = np.unique(column, return_counts=True)[1].astype(np.float64)
    n = times.sum()
    log = gammaln(n + 1) - gammaln(times + 1).sum() + (times * np.log(times / n)).sum()
    return float(-log / np.log(2))


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
    arrangements = gammaln(len(codes) + 1) - gammaln(times + 1).sum()
    yield _digest(codes, "equal"), _order_bits(codes, arrangements - gammaln(several + 1).sum())
    if column.dtype.kind in "biufmM":
        rising = np.argsort(np.argsort(distinct))
        for ranks in (rising, len(rising) - 1 - rising):
            ranked = np.append(ranks, -1)[codes]  # the last entry is for missing values, whose code is -1
            yield _digest(ranked, "order"), _order_bits(ranked, arrangements)


def _order_bits(codes: NDArray[np.int64], arrangements: float) -> float:
    steps = np.diff(codes)
    return 0.0 if (steps >= 0).all() or (steps <= 0).all() else float(arrangements / np.log(2))


def _digest(codes: NDArray[Any], name: str = "") -> bytes:
    return hashlib.blake2b(
        np.ascontiguousarray(codes).view(np.uint8).data, digest_size=16, person=name.encode()
    ).digest()


def _copies(contents: Contents, known: _Known, timebox: TimeBox) -> tuple[list[Copy], list[str]]:
    """Return the arrays that hold training data, and why one may have been missed."""
    copies: list[Copy] = []
    doubts: list[str] = []
    search = _Search(known, sum(_columns_in(stored.shape, known.n_rows) for stored in contents.arrays), timebox)
    work = known.size * _SECONDS_PER_VALUE
    for number, stored in enumerate(contents.arrays):
        size = math.prod(stored.shape)
        if not known.can_hold(size) or any(_is_in(stored.path, copy.path) for copy in copies[-1:]):
            continue
        work += size * _SECONDS_PER_VALUE
        if timebox.over or not timebox.allows(work):
            left = len(contents.arrays) - number
            doubts.append(
                f"the time box ended before {left:,} arrays of the file were compared with the training data: give it "
                "more with --draft-budget"
            )
            break
        timebox.spend(work)
        work = 0.0
        try:
            copy = search.copy_in(stored)
        except ValueError as error:
            doubts.append(f"{one_line(stored.path)} is {error}, which was not compared")
            continue
        if copy is not None:
            copies.append(copy)
    return [*copies, *search.in_pieces()], doubts


def _is_in(path: str, found: str) -> bool:
    """Return whether an array is a part of one in which a copy was found."""
    shown = one_line(path)
    return shown == found or shown.startswith(f"{found}[")


def _columns_in(shape: tuple[int, ...], n_rows: int) -> int:
    """Return how many columns of the training data's length an array can be cut into."""
    size = math.prod(shape)
    return size // n_rows if size % n_rows == 0 else 0


class _Search:
    """The search for training data in one array after the other.

    Parameters
    ----------
    known : _Known
    tries : int
        Columns that are tried in all, by which chance has as many chances.
    timebox : TimeBox
    """

    def __init__(self, known: _Known, tries: int, timebox: TimeBox) -> None:
        self._known = known
        self._timebox = timebox
        self._tries = max(1, tries)
        self._pieces: dict[int, list[tuple[str, int, Identities]]] = {}

    def copy_in(self, stored: Stored) -> Copy | None:
        """Return what an array holds of the training data; None for nothing.

        Raises
        ------
        ValueError
            Where its values cannot be looked at.
        """
        values = _comparable(stored.values())
        rows, loose = (0, []) if _is_of_quantiles(values) else self._rows_by_form(values)
        if not rows and not _is_of_quantiles(values):
            rows = self._rows_anywhere(values)
        columns = self._columns(values)
        if not (rows or columns):
            rows = self._rows_of_scaled_columns(values)
        if rows or columns:
            return Copy(one_line(stored.path), stored.shape, rows, columns)
        if not stored.joined:
            for of, tried, hashes in loose:
                self._pieces.setdefault(of, []).append((one_line(stored.path), tried, hashes))
        return None

    def in_pieces(self) -> Iterator[Copy]:
        """Return the copies of which each piece tells too little by itself, the one of the most rows."""
        best: Copy | None = None
        for number, table in enumerate(self._known.tables):
            pieces = self._pieces.get(number, [])
            if not pieces:
                continue
            found, bits = table.found_in(
                np.concatenate([hashes for _, _, hashes in pieces]), sum(n for _, n, _ in pieces)
            )
            if bits >= _BITS and (best is None or found > best.rows):
                others = len(pieces) - 1
                path = pieces[0][0] + f" and {others:,} more array{'s' * (others != 1)}" * (others > 0)
                best = Copy(path, (sum(n for _, n, _ in pieces), table.width), found, 0)
        return iter(() if best is None else (best,))

    def _rows_by_form(self, values: AnyArray) -> tuple[int, list[tuple[int, int, Identities]]]:
        """Return how many rows an array holds that has the form of a table; and the rows that are too few to tell."""
        most = 0
        loose: list[tuple[int, int, Identities]] = []
        for table in _tables(values):
            if table.shape[1] not in self._known.widths:
                continue
            theirs = _hashes_of_rows(table)
            for number, of in enumerate(self._known.tables):
                if theirs is None or of.width != table.shape[1]:
                    continue
                for against in (of, of.halved):
                    if against is not None:
                        found, bits = against.found_in(theirs)
                        most = max(most, found if bits >= _BITS else 0)
                fits = theirs[np.isin(theirs, of.hashes)]
                if len(fits):
                    loose.append((number, len(theirs), fits))
        return most, loose

    def _rows_of_scaled_columns(self, values: AnyArray) -> int:
        """Return how many rows stand in a table with all of them, by the ranks of their values in each column."""
        most = 0
        for table in _tables(values):
            if len(table) == self._known.n_rows and (ranks := _ranked(list(table.T))) is not None:
                for of in self._known.tables:
                    if of.width == table.shape[1] and of.ranked is not None and of.ranked.spread == _spread(ranks):
                        found, bits = of.ranked.found_in(_row_hashes(ranks))
                        most = max(most, found if bits >= _BITS else 0)
        return most

    def _rows_anywhere(self, values: AnyArray) -> int:
        """Return how many rows stand in an array of any form, one value of a row after the other."""
        most = 0
        forms = [values.ravel()]
        if values.ndim > 1:
            forms.append(values.swapaxes(-1, -2).ravel())
        for flat in forms:
            told = each_alone(flat)
            if told is None:
                continue
            if self._known.most_in_a_run(told) < min(self._known.widths):
                continue  # no row stands in it
            seconds = _SECONDS_PER_START * len(told) * sum(self._known.widths)
            if not self._timebox.allows(seconds):
                raise ValueError("too long to be searched for rows in the time box (--draft-budget)")
            self._timebox.spend(seconds)
            for width in sorted(self._known.widths):
                if 1 < width <= len(told):
                    tables = [of for of in self._known.tables if of.width == width]
                    tables += [of.halved for of in tables if of.halved is not None]
                    most = max(most, _rows_in(told, tables, width, values.shape[-1]))
        return most

    def _columns(self, values: AnyArray) -> int:
        """Return how many training columns an array holds, in any form."""
        n_rows = self._known.n_rows
        if not n_rows or values.size % n_rows or not values.size:
            return 0
        flat = values.ravel()
        tables = [table for table in _tables(values) if len(table) == n_rows]
        few = len(flat) // n_rows <= _MOST_TIMES_AS_WIDE * self._known.n_columns
        if few and (not tables or values.ndim > 2):
            tables += [flat.reshape(n_rows, -1), flat.reshape(-1, n_rows).T]
        return max((self._known.columns_in(table, self._tries) for table in tables), default=0)


def _rows_in(told: Identities, tables: Sequence[_Rows], width: int, length: int) -> int:
    """Return how many rows of some tables of one width stand in a sequence of values, which has rows of a length."""
    strides = {width, length} if length > width else {width}
    found, starts = 0, len(told) - width + 1
    orders = [told]
    if len(told) % width == 0 and len(told) > width:
        orders.append(told.reshape(width, -1).T.ravel())  # column by column
    for order in orders:
        hashes = _row_hashes([order[at : at + starts] for at in range(width)])
        for of in tables:
            fits = np.flatnonzero(np.isin(hashes, of.hashes))
            if not len(fits):
                continue
            anywhere = of.found_in(hashes[fits], starts)
            found = max(found, anywhere[0] if anywhere[1] >= _BITS else 0)
            for stride in strides:
                start = int(np.bincount(fits % stride, minlength=stride).argmax())  # most rows begin at such a place
                rows, bits = of.found_in(hashes[start::stride])
                found = max(found, rows if bits - np.log2(stride) >= _BITS else 0)
    return found


def _is_of_quantiles(values: AnyArray) -> bool:
    """Return whether all columns of a table rise together, or all rows: so do quantiles, and rows of people do not."""
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        return False
    for table in (values, values.T):
        if len(table) > 2 and table.shape[1] > 1:
            rising = (table[1:] >= table[:-1]).all()
            if rising and (table[-1] > table[0]).any():
                return True
    return False


def _hashes_of_rows(table: AnyArray) -> Identities | None:
    """Return a hash of each row; None where a column cannot be compared."""
    hashed = [identities(table[:, i]) for i in range(table.shape[1])]
    complete = [column for column in hashed if column is not None]
    return _row_hashes(complete) if len(complete) == len(hashed) else None


def each_alone(values: AnyArray) -> Identities | None:
    """Return the identities of values of which each is a number or not, whatever the others are."""
    if values.dtype.kind != "O":
        return identities(values)
    numbers = np.array([isinstance(value, _NUMBERS) and abs(value) < _MOST for value in values], dtype=np.bool_)
    result = np.empty(len(values), dtype=np.uint64)
    for which in (numbers, ~numbers):
        if which.any() and (told := identities(values[which])) is not None:
            result[which] = told
    return result


def _halved(values: AnyArray) -> AnyArray:
    """Return numbers as they are after a time in half precision."""
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float32) if values.dtype.kind in "biuf" else values


def _comparable(values: AnyArray) -> AnyArray:
    """Return values in a form that pandas knows.

    Raises
    ------
    ValueError
        Where they are bytes of which nothing is known.
    """
    if values.dtype.kind == "V":
        raise ValueError("an array of raw bytes")
    if values.dtype.kind == "c":
        parts = np.stack((values.real, values.imag), axis=-1)
        return _comparable(parts.reshape(*values.shape[:-1], -1)) if values.ndim else _comparable(parts)
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if values.dtype.kind == "U":
        return values.astype(object)
    if values.dtype.kind == "O":
        return _as_numbers(values)
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        return values.astype(np.float32 if values.dtype.itemsize == 2 else np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _as_numbers(values: AnyArray) -> AnyArray:
    """Return objects that are all numbers, or missing, as numbers; others as they are."""
    flat = values.ravel().tolist()
    if not all(value is None or (type(value) in (bool, int, float) and abs(value) < _MOST) for value in flat):
        return values
    numbers = np.array([np.nan if value is None else value for value in flat], dtype=np.float64)
    return numbers.reshape(values.shape)


def _tables(values: AnyArray) -> Iterator[AnyArray]:
    """Return an array as the tables that it can be, rows by columns."""
    if values.ndim == 1:
        yield values[:, None]
        yield values[None, :]
    elif values.ndim == 2:
        yield values
        yield values.T
    else:
        yield values.reshape(len(values), -1)
        yield values.reshape(-1, values.shape[-1])


def _rarest(
    contents: Contents, columns: dict[object, AnyArray], encoder: Encoder | None, *, encoded_already: bool
) -> tuple[list[Rarest], list[str]]:
    """Return, for the values that each encoder knows, how many rows have the rarest one that some row has.

    Whole numbers from 0 on are codes of another step, where it is not known which column they are of.
    """
    encoded = _encoded_columns(encoder)
    found: list[Rarest] = []
    doubts: list[str] = []
    for stored in contents.arrays:
        if not (stored.categories and len(stored.shape) == 1 and columns):
            continue
        known = tuple(stored.values().tolist())
        sources = encoded.get(repr(known), set())
        known_to_be_of = sources & set(columns)
        if not sources and known == tuple(range(len(known))):
            continue
        rows = [_rows_by_value(columns[name], known) for name in (known_to_be_of or columns)]
        most = max(len(times) for times in rows)
        if not most or (sources and encoded_already):
            doubts.append(f"the values of {one_line(stored.path)} are in no column of the data: give the raw table")
            continue
        lowest = [int(times.min()) for times in rows if len(times) == most]
        found.append(Rarest(one_line(stored.path), min(lowest), min(lowest) if known_to_be_of else max(lowest)))
    return found, doubts


def _encoded_columns(encoder: Encoder | None) -> dict[str, set[object]]:
    """Return the raw columns that known values are of, where that is known."""
    found: dict[str, set[object]] = {}
    for column in encoder.columns if encoder is not None else ():
        for step in column.steps:
            if isinstance(step, (OneHot, Ordinal)) and encoder is not None:
                found.setdefault(repr(step.categories.values), set()).add(encoder.name(column.source))
    return found


def _rows_by_value(column: AnyArray, known: tuple[object, ...]) -> NDArray[np.int64]:
    """Return how many rows have each known value that some row has."""
    position_of = finder(known)
    codes, distinct = pd.factorize(column)
    positions = np.array([*(position_of(value) for value in distinct), -1], dtype=np.int64)[codes]
    times: NDArray[np.int64] = np.bincount(positions[positions >= 0], minlength=1)
    return times[times > 0]
