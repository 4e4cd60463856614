"""What stands in a model file beside its trees: in go its arrays and the training data, out come `StoredFacts`.

No attack is needed for what is simply there. Values are compared as trees see them, in single precision, by 64-bit
hashes. An array counts as a copy only where chance would hardly make it: two columns of zeros and ones are easily
equal, two columns of birth dates are not.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

from pytest_draft.artifact import Artifact
from pytest_draft.artifact.contents import Contents, Stored
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.pipeline import Encoder, OneHot, Ordinal
from pytest_draft.artifact.rule_list import RuleList
from pytest_draft.data import Table, TrainingData
from pytest_draft.data.files import IN_MEMORY, parsed, place_of
from pytest_draft.data.known import finder
from pytest_draft.errors import one_line
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
_SECONDS_PER_VALUE = 1e-7  # measured: hashing, sorting and comparing numbers takes 0.05 to 0.1 us a value


@dataclass(frozen=True)
class Vector:
    """An array with as many entries along one axis as there are training rows."""

    path: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Copy:
    """An array that holds training data.

    Attributes
    ----------
    path : str
    shape : tuple of int
    rows : int
        Training rows that stand in it as they are.
    columns : int
        Columns of it that are a training column: the same values in any order, or in the rows' order values that
        are equal, or greater, where the column's are.
    """

    path: str
    shape: tuple[int, ...]
    rows: int
    columns: int

    def __post_init__(self) -> None:
        if min(self.rows, self.columns) < 0 or not (self.rows or self.columns):
            raise ValueError(f"{self.rows} rows and {self.columns} columns are no copy")


@dataclass(frozen=True)
class Rarest:
    """The rarest value among those that an encoder knows of a column.

    Attributes
    ----------
    path : str
    at_least, at_most : int
        Training rows that have it; different where several columns can be the encoded one.
    """

    path: str
    at_least: int
    at_most: int

    def __post_init__(self) -> None:
        if not 0 < self.at_least <= self.at_most:
            raise ValueError(f"bounds out of order: {self.at_least} and {self.at_most}")


@dataclass(frozen=True)
class StoredFacts:
    """What stands in a file besides its trees: paths and numbers, no value.

    Attributes
    ----------
    arrays : int
        Arrays and lists that were looked at.
    n_rows : tuple of int
        Numbers of training rows that were looked for: the file's and the data's.
    by_row : tuple of Vector
    perhaps_by_row : tuple of Vector
        As long, for which there can be another reason, such as a number of columns.
    copies : tuple of Copy
    rarest : tuple of Rarest
    doubts : tuple of str
        Why a copy may have been missed; empty where all was compared.
    """

    arrays: int
    n_rows: tuple[int, ...]
    by_row: tuple[Vector, ...] = ()
    perhaps_by_row: tuple[Vector, ...] = ()
    copies: tuple[Copy, ...] = ()
    rarest: tuple[Rarest, ...] = ()
    doubts: tuple[str, ...] = ()


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
    elif apart := sum(not stored.few for stored in contents.arrays):
        doubts.append(
            f"{apart:,} array{'s' * (apart != 1)} in the file could not be compared with the training data, which are "
            "not known: add --draft-data"
        )
    encoded_already = data is not None and not data.by_encoder
    rarest, missed = _rarest(contents, columns, artifact.encoder, encoded_already=encoded_already)
    doubts += missed
    return StoredFacts(
        arrays=len(contents.arrays),
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
        if not n_rows.intersection(stored.shape):
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


@dataclass(frozen=True, eq=False, repr=False)
class _Rows:
    """The rows of one table, by hash.

    Attributes
    ----------
    hashes : ndarray of uint64, shape (n_distinct,)
        Ascending.
    times : ndarray of int64, shape (n_distinct,)
    bits : ndarray of float64, shape (n_distinct,)
        How little chance it takes that a row like it is in the table: minus log2 of the expected number of them, were
        the columns independent; at least 0.
    """

    hashes: Identities
    times: NDArray[np.int64]
    bits: NDArray[np.float64]

    def found_in(self, hashes: Identities) -> tuple[int, float]:
        """Return how many rows stand among others, and how many bits that is beyond chance."""
        theirs, times = np.unique(hashes, return_counts=True)
        _, mine, at = np.intersect1d(self.hashes, theirs, assume_unique=True, return_indices=True)
        common = np.minimum(self.times[mine], times[at])
        found, tried = int(common.sum()), len(hashes)
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
        hashed = {name: identities(column) for name, column in columns.items()}
        self._raw = {name: column for name, column in hashed.items() if column is not None}
        self._all_raw = len(self._raw) == len(columns)
        self._encoded = [] if data is None else [_of_numbers(column) for column in data.rows.T]
        self._labels = [] if data is None else [_of_numbers(data.labels)]
        self._names = model.feature_names
        self._values = [*columns.values(), *([] if data is None else [*data.rows.T, data.labels])]
        self.n_rows = len(self._values[0])

    @property
    def size(self) -> int:
        """Number of values."""
        return self.n_rows * (len(self._raw) + 2 * len(self._values))

    def can_be_of(self, shape: tuple[int, ...]) -> bool:
        """Return whether an array of a shape can hold rows or columns."""
        return self.n_rows in shape or not self.tables.keys().isdisjoint((shape[-1], shape[0]))

    @cached_property
    def tables(self) -> dict[int, list[_Rows]]:
        """The tables that rows of a file can be of, by their number of columns."""
        raw = list(self._raw.values()) if self._all_raw else []
        choices: list[Sequence[Identities]] = [self._encoded, raw, raw[:-1], raw[1:]]
        if self._names is not None and set(self._names) <= set(self._raw):
            choices.append([self._raw[name] for name in self._names])
        found: dict[int, list[_Rows]] = {}
        for columns in choices:
            if columns:
                found.setdefault(len(columns), []).append(_rows(columns))
        return found

    @cached_property
    def _by_values(self) -> dict[bytes, float]:
        """What the values of a column tell in any order, in bits, by their digest."""
        columns = [*self._raw.values(), *self._encoded, *self._labels]
        return {_digest(np.sort(column)): _surprise(column) for column in columns}

    @cached_property
    def _by_order(self) -> dict[bytes, float]:
        """What the order of a column's values tells, in bits, by its digest."""
        found: dict[bytes, float] = {}
        for column in self._values:
            found.update(_patterns(column))
        return found

    def is_column(self, values: AnyArray, tries: int) -> bool:
        """Return whether a column of a file is one of the training data's; it is one of so many that are tried."""
        least = _BITS + np.log2(tries * len(self._values))
        hashed = identities(values)
        if hashed is not None and self._by_values.get(_digest(np.sort(hashed)), 0.0) >= least:
            return True
        return any(self._by_order.get(pattern, 0.0) >= least for pattern, _ in _patterns(values))


def _of_numbers(column: AnyArray) -> Identities:
    hashed = identities(column)
    assert hashed is not None  # numbers always have identities
    return hashed


def _rows(columns: Sequence[Identities]) -> _Rows:
    """Return the rows of a table whose columns' values have these identities."""
    n_rows = len(columns[0])
    expected = np.full(n_rows, np.log2(n_rows))
    for column in columns:
        _, which, times = np.unique(column, return_inverse=True, return_counts=True)
        expected += np.log2(times / n_rows)[which]
    hashes, first, times = np.unique(_row_hashes(columns), return_index=True, return_counts=True)
    return _Rows(hashes, times.astype(np.int64), np.maximum(0.0, -expected[first]))


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
    work = known.size * _SECONDS_PER_VALUE
    for number, stored in enumerate(contents.arrays):
        size = math.prod(stored.shape)
        if not size or not known.can_be_of(stored.shape):
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
            copy = _compared(stored, known)
        except ValueError as error:
            doubts.append(f"{one_line(stored.path)} is {error}, which was not compared")
            continue
        if copy is not None:
            copies.append(copy)
    return copies, doubts


def _compared(stored: Stored, known: _Known) -> Copy | None:
    """Return what an array holds of the training data; None for nothing."""
    values = stored.values()
    rows = columns = 0
    for table in _tables(_comparable(values)):
        for of in known.tables.get(table.shape[1], ()):
            hashed = [identities(table[:, i]) for i in range(table.shape[1])]
            complete = [column for column in hashed if column is not None]
            if len(complete) == len(hashed):
                found, bits = of.found_in(_row_hashes(complete))
                rows = max(rows, found if bits >= _BITS else 0)
        if len(table) == known.n_rows:
            width = table.shape[1]
            columns = max(columns, sum(known.is_column(table[:, i], width) for i in range(width)))
    return Copy(one_line(stored.path), stored.shape, rows, columns) if rows or columns else None


def _comparable(values: AnyArray) -> AnyArray:
    """Return values in a form that pandas knows."""
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if values.dtype.kind == "U":
        return values.astype(object)
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        return values.astype(np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


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
