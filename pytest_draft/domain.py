"""What a row can be: in go column values or a domain file, out comes a frozen `Domain`.

A domain is knowledge that the adversary is granted (DRAFT, ICML 2024, section 2: the domains of the
attributes and their one-hot groups). When it is inferred from the training data, it grants the adversary each
column's code book, the values that occur: what a column's codes are is no secret of anybody, and whether yes and no
are written as 0 and 1 or as 0 and 30 must not change a judgement. `Domain.granted` says what was taken from the data.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from pytest_draft.errors import DataError, NotCoveredError, one_line

Kind = Literal["binary", "one-hot", "ordinal", "numeric"]

MAX_ORDINAL_VALUES = 32
"""A column with at most this many different values, each in two rows on average, is inferred as ordinal; whole numbers
with at most this many values between their bounds are in any case."""

UNLIKELY_EXCLUSIVE = 1e-3
"""Binary columns whose names tell no one-hot group are one where columns of as many ones each, placed at random, would
have been as exclusive with at most this probability, over all pairs of columns; and each of them beside the others."""

MAX_WHOLE = 2**24
"""Up to here float32, in which scikit-learn's trees compare, tells neighbouring whole numbers apart."""

MISSING_SHARE = 1 / (MAX_ORDINAL_VALUES + 1)
"""Share of missing values among uniform guesses of a numeric attribute: as if it were one more of the most values that
an inferred ordinal attribute has."""

_SEPARATORS = "_:=.- \t|/[(<>"
_SEPARATOR = re.compile(f"[{re.escape(_SEPARATORS)}]")


@dataclass(frozen=True)
class Attribute:
    """One original attribute and the encoded columns that hold it.

    Attributes
    ----------
    name : str
        A column's name, or the common prefix of a one-hot group.
    kind : {"binary", "one-hot", "ordinal", "numeric"}
    columns : tuple of int
        Indices of its encoded columns: several for a one-hot group, else one.
    low, high : float
        Bounds of what is not missing, included. 0 and 1 for binary columns and one-hot groups.
    missing : bool
        Whether a row may have no value (NaN) here. A one-hot group always has one.
    values : tuple of float, or None
        The code book of an ordinal attribute, ascending, from `low` to `high`; None where it is all whole numbers
        between them. Single precision, in which trees compare, tells the values apart.
    dropped : bool
        Whether a one-hot group has one more value, without a column of its own: a row that is 0 in all of them
        (``drop="first"``).
    """

    name: str
    kind: Kind
    columns: tuple[int, ...]
    low: float = 0.0
    high: float = 1.0
    missing: bool = False
    values: tuple[float, ...] | None = None
    dropped: bool = False

    @classmethod
    def coded(
        cls, name: str, column: int, values: Sequence[float] | NDArray[np.float64], missing: bool = False
    ) -> Attribute:
        """Return the attribute of one column that holds these values and no others: binary where they are 0 and 1.

        Parameters
        ----------
        name : str
        column : int
        values : sequence of float
            At least one, ascending.
        missing : bool
        """
        book = tuple(float(value) for value in values)
        if book == (0.0, 1.0):
            return cls(name, "binary", (column,), missing=missing)
        follow = book[0].is_integer() and book[-1] <= MAX_WHOLE and all(b - a == 1 for a, b in pairwise(book))
        gapless = len(book) == 1 or follow
        return cls(name, "ordinal", (column,), book[0], book[-1], missing, None if gapless else book)

    def __post_init__(self) -> None:
        where = f"attribute {one_line(self.name)!r}"
        if self.dropped and self.kind != "one-hot":
            raise DataError(f"{where}: only a one-hot group can have a dropped value")
        if self.kind == "one-hot":
            if len(self.columns) < 2:
                raise DataError(f"{where}: a one-hot group needs at least two columns")
            if self.missing:
                raise DataError(f"{where}: a one-hot group has no missing values; declare its columns one by one")
        elif len(self.columns) != 1:
            raise DataError(f"{where}: kind {self.kind} takes exactly one column")
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            raise DataError(f"{where}: bounds must be finite and in order, not {self.low} to {self.high}")
        if self.kind in ("binary", "one-hot") and (self.low, self.high) != (0.0, 1.0):
            raise DataError(f"{where}: a {self.kind} attribute has the values 0 and 1")
        if self.values is not None:
            self._require_code_book(where)
        elif self.kind == "ordinal" and self.low < self.high:
            if not (self.low.is_integer() and self.high.is_integer()):
                raise DataError(f"{where}: an ordinal attribute has whole bounds, not {self.low} to {self.high}")
            if max(-self.low, self.high) > MAX_WHOLE:
                raise DataError(
                    f"{where}: float32, which forests compute with, holds whole numbers to {MAX_WHOLE} only"
                )

    def _require_code_book(self, where: str) -> None:
        """Refuse a code book that trees could not have seen."""
        if self.kind != "ordinal":
            raise DataError(f"{where}: only an ordinal attribute lists its values")
        book = np.array(self.values, dtype=np.float64)
        if not len(book) or not np.isfinite(book).all() or (np.diff(book) <= 0).any():
            raise DataError(f"{where}: the values must be finite numbers in ascending order")
        if (book[0], book[-1]) != (self.low, self.high):
            raise DataError(f"{where}: the values must begin and end with the bounds {self.low} and {self.high}")
        if (np.diff(book.astype(np.float32)) <= 0).any():
            raise DataError(f"{where}: float32, which forests compute with, does not tell some of its values apart")

    @cached_property
    def book(self) -> NDArray[np.float64]:
        """The values of one binary or ordinal column, ascending, without a missing one, shape (n_values,)."""
        if self.values is not None:
            return np.array(self.values)
        if self.low == self.high:
            return np.array([self.low])
        return np.arange(self.low, self.high + 1)

    @property
    def gapless(self) -> bool:
        """Whether its columns hold whole numbers, all of them between the bounds."""
        return self.kind != "numeric" and self.values is None

    @property
    def whole(self) -> bool:
        """Whether its columns hold whole numbers only."""
        return self.gapless or (self.values is not None and all(value.is_integer() for value in self.values))

    @property
    def n_values(self) -> int:
        """How many values the attribute can take.

        Raises
        ------
        NotCoveredError
            For attributes that are not enumerated: numeric ones, and those with missing values.
        """
        self._require_no_missing()
        return self.n_states

    @property
    def n_states(self) -> int:
        """How many values the attribute can take, and one more where it may be missing.

        Raises
        ------
        NotCoveredError
            For numeric attributes, which are not enumerated.
        """
        if self.kind == "one-hot":
            return len(self.columns) + self.dropped
        if self.kind == "numeric":
            raise NotCoveredError(f"column {one_line(self.name)!r} is numeric; numeric columns are not covered yet")
        if self.values is not None:
            return len(self.values) + self.missing
        return int(self.high - self.low) + 1 + self.missing

    def encoded(self, value: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the encoded columns of values given by index.

        Parameters
        ----------
        value : ndarray of int64, shape (n,)
            Indices between 0 and `n_values` - 1.

        Returns
        -------
        ndarray of float32, shape (n, len(columns))
        """
        if self.kind == "one-hot":
            return np.eye(self.n_states, len(self.columns), dtype=np.float32)[value]
        if self.values is not None:
            return self.book.astype(np.float32)[np.minimum(value, len(self.book) - 1), None]
        return (value[:, None] + self.low).astype(np.float32)

    def index(self, columns: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the index of each value, given its encoded columns: what `encoded` was given.

        Parameters
        ----------
        columns : ndarray of float32, shape (n, len(columns))
            Values that the attribute can take.

        Returns
        -------
        ndarray of int64, shape (n,)

        Raises
        ------
        NotCoveredError
            Where values may be missing: these have no index.
        """
        self._require_no_missing()
        if self.kind == "one-hot":
            found = columns.argmax(axis=1)
            if self.dropped:
                found = np.where(columns.any(axis=1), found, len(self.columns))
        elif self.values is not None:
            found = nearest(self.book, columns[:, 0].astype(np.float64))
        else:
            found = np.rint(columns[:, 0].astype(np.float64) - self.low)
        return np.asarray(found, dtype=np.int64)

    def uniform(self, n: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the encoded columns of values drawn uniformly, missing ones as often as any other value.

        Of a numeric attribute that may be missing, a share of `MISSING_SHARE` is.

        Parameters
        ----------
        n : int
        rng : numpy.random.Generator

        Returns
        -------
        ndarray of float32, shape (n, len(columns))
        """
        if self.kind == "numeric":
            drawn = rng.uniform(self.low, self.high, size=(n, 1)).astype(np.float32)
            return np.where(rng.random((n, 1)) < MISSING_SHARE, np.float32(np.nan), drawn) if self.missing else drawn
        states = rng.integers(self.n_states, size=n)
        drawn = self.encoded(states)
        if self.missing:
            drawn[states == self.n_states - 1] = np.nan
        return drawn

    def outside(self, columns: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which rows hold something here that the attribute does not allow.

        Parameters
        ----------
        columns : ndarray of float64, shape (n_rows, len(columns))

        Returns
        -------
        ndarray of bool, shape (n_rows,)
        """
        bad: NDArray[np.bool_]
        bad = np.asarray(~((columns >= self.low) & (columns <= self.high)).all(axis=1))
        if self.values is not None:
            bad = ~np.isin(columns[:, 0].astype(np.float32), self.book.astype(np.float32))
        elif self.kind != "numeric" and self.low < self.high:
            bad |= (columns != np.rint(columns)).any(axis=1)
        if self.kind == "one-hot":
            ones = columns.sum(axis=1)
            bad |= (ones != 1) & ~((ones == 0) & self.dropped)
        if self.missing:
            bad &= ~np.isnan(columns).all(axis=1)
        return bad

    def _require_no_missing(self) -> None:
        if self.missing:
            raise NotCoveredError(
                f"column {one_line(self.name)!r} may have missing values; this attack does not cover them yet"
            )


@dataclass(frozen=True)
class Domain:
    """The attributes of a forest's input, each encoded column belonging to exactly one.

    Attributes
    ----------
    columns : tuple of str
        Names of the encoded columns, in the forest's order.
    attributes : tuple of Attribute
    source : str
        ``inferred from the training data`` or the name of a domain file.
    """

    columns: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    source: str

    def __post_init__(self) -> None:
        owners = sorted(column for attribute in self.attributes for column in attribute.columns)
        if owners != list(range(len(self.columns))):
            raise DataError("a domain must give each column to exactly one attribute")

    @property
    def n_columns(self) -> int:
        """Number of encoded columns."""
        return len(self.columns)

    @property
    def n_vectors(self) -> int:
        """How many vectors the domain allows (exact, as a Python integer).

        Raises
        ------
        NotCoveredError
            Where an attribute is numeric or may be missing.
        """
        return math.prod(attribute.n_values for attribute in self.attributes)

    @property
    def ranges(self) -> NDArray[np.float64]:
        """Range of each encoded column, shape (n_columns,)."""
        result = np.ones(self.n_columns)
        for attribute in self.attributes:
            result[list(attribute.columns)] = attribute.high - attribute.low
        return result

    def encoded(self, indices: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Return encoded rows, given the index of each attribute's value.

        Parameters
        ----------
        indices : ndarray of int, shape (n_rows, n_attributes)

        Returns
        -------
        ndarray of float32, shape (n_rows, n_columns)
        """
        rows = np.empty((len(indices), self.n_columns), dtype=np.float32)
        for a, attribute in enumerate(self.attributes):
            rows[:, list(attribute.columns)] = attribute.encoded(indices[:, a].astype(np.int64))
        return rows

    def indices(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the index of each attribute's value in encoded rows of the domain: what `encoded` was given.

        Parameters
        ----------
        rows : ndarray of float32, shape (n_rows, n_columns)

        Returns
        -------
        ndarray of int64, shape (n_rows, n_attributes)
        """
        found = np.empty((len(rows), len(self.attributes)), dtype=np.int64)
        for a, attribute in enumerate(self.attributes):
            found[:, a] = attribute.index(rows[:, list(attribute.columns)])
        return found

    def vectors(self) -> NDArray[np.float32]:
        """Return every vector that the domain allows.

        Returns
        -------
        ndarray of float32, shape (n_vectors, n_columns)
        """
        shape = [attribute.n_values for attribute in self.attributes]
        total = math.prod(shape)
        result = np.empty((total, self.n_columns), dtype=np.float32)
        period = total
        for attribute, n_values in zip(self.attributes, shape, strict=True):
            period //= n_values
            value = (np.arange(total) // period) % n_values
            result[:, list(attribute.columns)] = attribute.encoded(value)
        return result

    def uniform(self, n_rows: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return rows drawn uniformly from the domain: the random baseline's guesses.

        Parameters
        ----------
        n_rows : int
        rng : numpy.random.Generator

        Returns
        -------
        ndarray of float32, shape (n_rows, n_columns)
        """
        result = np.empty((n_rows, self.n_columns), dtype=np.float32)
        for attribute in self.attributes:
            result[:, list(attribute.columns)] = attribute.uniform(n_rows, rng)
        return result

    def outside(self, rows: NDArray[np.float64]) -> dict[str, int]:
        """Return, by attribute, how many rows the domain does not allow.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_rows, n_columns)

        Returns
        -------
        dict of str to int
            Only attributes with at least one such row.
        """
        found: dict[str, int] = {}
        for attribute in self.attributes:
            bad = attribute.outside(rows[:, list(attribute.columns)])
            if bad.any():
                found[attribute.name] = int(bad.sum())
        return found

    @property
    def granted(self) -> tuple[str, ...]:
        """What the adversary is told of the data by this domain, a line for each kind of attribute."""
        lines = [f"names and order of {self.n_columns} columns"]
        kinds: dict[Kind, list[Attribute]] = defaultdict(list)
        for attribute in self.attributes:
            kinds[attribute.kind].append(attribute)
        if kinds["binary"]:
            lines.append(f"{len(kinds['binary'])} binary columns")
        for attribute in kinds["one-hot"]:
            none = ", or none of them" if attribute.dropped else ""
            lines.append(f"one-hot group {one_line(attribute.name)}: {len(attribute.columns)} columns{none}")
        for kind in ("ordinal", "numeric"):
            for attribute in kinds[kind]:
                book = "" if attribute.values is None else f"its {len(attribute.values)} values, "
                bounds = f"{attribute.low:.12g} to {attribute.high:.12g}"
                lines.append(f"{kind} {one_line(attribute.name)}: {book}{bounds}")
        if missing := [one_line(attribute.name) for attribute in self.attributes if attribute.missing]:
            lines.append(f"that values may be missing in {len(missing)} columns: {', '.join(missing)}")
        return tuple(lines)


def nearest(book: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the position of the nearest entry of an ascending book for each value."""
    return np.searchsorted((book[1:] + book[:-1]) / 2, values).astype(np.int64)


def infer(columns: Sequence[str], rows: NDArray[np.float64]) -> Domain:
    """Infer a domain from training rows; other pairs of values than 0 and 1 are no indicators (`indicators.py`).

    A column of zeros and ones is binary. Binary columns are a one-hot group when exactly one of them is 1 in every row
    and either their names share a prefix that ends in a separator, or chance does not make columns so exclusive
    (`UNLIKELY_EXCLUSIVE`); then also when at most one is 1 in every row, as where the first level was dropped. Of the
    others, a column is ordinal with the values that occur where these are few: one, or whole numbers with at most
    `MAX_ORDINAL_VALUES` values between their bounds, or at most `MAX_ORDINAL_VALUES` different ones that occur twice
    on average. The rest is numeric. Of a column with missing values (NaN) only the others count; without any other it
    is ordinal with the one value 0. It is in no one-hot group.

    Parameters
    ----------
    columns : sequence of str, length n_columns
    rows : ndarray of float64, shape (n_rows, n_columns)

    Returns
    -------
    Domain

    Raises
    ------
    DataError
        Where there is no row, or a value is infinite.
    """
    if not len(rows):
        raise DataError("the training data hold no row")
    for index, name in enumerate(columns):
        if infinite := int(np.isinf(rows[:, index]).sum()):
            raise DataError(f"column {one_line(name)!r} has {infinite} infinite values; give finite ones")
    two_valued = (np.isin(rows, (0.0, 1.0)).all(axis=0) & (np.ptp(rows, axis=0) == 1)).tolist()
    binary = [index for index, is_binary in enumerate(two_valued) if is_binary]
    named = _one_hot_groups([(index, columns[index]) for index in binary], rows)
    taken = {index for _, group in named for index in group}
    attributes = [Attribute(name, "one-hot", group) for name, group in named]
    attributes += _exclusive_groups([index for index in binary if index not in taken], columns, rows)
    grouped = {index for attribute in attributes for index in attribute.columns}
    attributes += [_inferred(name, index, rows[:, index]) for index, name in enumerate(columns) if index not in grouped]
    attributes.sort(key=lambda attribute: attribute.columns)
    return Domain(tuple(columns), tuple(attributes), "inferred from the training data")


def _inferred(name: str, index: int, column: NDArray[np.float64]) -> Attribute:
    """Return the attribute of one column that is in no group."""
    present = column[~np.isnan(column)]
    missing = len(present) < len(column)
    if not len(present):
        return Attribute(name, "ordinal", (index,), 0.0, 0.0, missing)
    book = np.unique(present)
    low, high = float(book[0]), float(book[-1])
    whole = bool((book == np.rint(book)).all()) and max(-low, high) <= MAX_WHOLE
    few = len(book) <= min(MAX_ORDINAL_VALUES, max(2, len(present) // 2))
    if few or (whole and high - low < MAX_ORDINAL_VALUES):
        return Attribute.coded(name, index, book, missing)
    return Attribute(name, "numeric", (index,), low, high, missing)


def _one_hot_groups(columns: list[tuple[int, str]], rows: NDArray[np.float64]) -> list[tuple[str, tuple[int, ...]]]:
    """Return (prefix, columns) of one-hot groups that names tell: shortest prefixes, so largest groups, first."""
    by_prefix: dict[str, list[int]] = defaultdict(list)
    for index, name in columns:
        for separator in _SEPARATOR.finditer(name):
            if separator.start() > 0 and separator.end() < len(name):
                by_prefix[name[: separator.end()]].append(index)
    taken: set[int] = set()
    groups: list[tuple[str, tuple[int, ...]]] = []
    for prefix in sorted(by_prefix, key=lambda text: (len(text), text)):
        group = [index for index in by_prefix[prefix] if index not in taken]
        if len(group) >= 2 and (rows[:, group].sum(axis=1) == 1).all():
            taken.update(group)
            name = prefix.rstrip(_SEPARATORS) or prefix
            groups.append((prefix if name in {known for known, _ in groups} else name, tuple(group)))
    return groups


def _exclusive_groups(binary: list[int], columns: Sequence[str], rows: NDArray[np.float64]) -> list[Attribute]:
    """Return one-hot groups among binary columns whose names tell none.

    From each column a group is grown by those that share no row with it, those with the most ones first. Whole groups
    (one 1 in every row) are taken first, and of the others the ones that chance explains least.
    """
    if len(binary) < 2:
        return []
    ones = rows[:, binary]
    number = ones.sum(axis=0)
    shared = ones.T @ ones > 0
    most = math.log(UNLIKELY_EXCLUSIVE / len(binary) ** 2)
    found: set[tuple[bool, float, tuple[int, ...]]] = set()
    for first in range(len(binary)):
        group, free = [first], ~shared[first]
        while free.any():
            follower = int(np.argmax(np.where(free, number, -1)))
            group.append(follower)
            free &= ~shared[follower]
        whole = number[group].sum() == len(rows)
        while not whole and len(group) > 1 and _is_chance(number[group], len(rows)):
            group.pop()  # the rarest one, which chance explains
        chance = _chance_of_exclusion(number[group], len(rows))
        if len(group) > 1 and chance <= most:
            found.add((not whole, chance, tuple(sorted(group))))
    attributes: list[Attribute] = []
    taken: set[int] = set()
    for dropped, _, group_found in sorted(found):
        if taken.isdisjoint(group_found):
            taken.update(group_found)
            members = tuple(binary[position] for position in group_found)
            name = f"{columns[members[0]]} {'or' if len(members) == 2 else 'to'} {columns[members[-1]]} (inferred)"
            attributes.append(Attribute(name, "one-hot", members, dropped=dropped))
    return attributes


def _is_chance(number: NDArray[np.float64], n_rows: int) -> bool:
    """Return whether the last of some exclusive columns could as well stand there by chance."""
    beside = _chance_of_exclusion(number, n_rows) - _chance_of_exclusion(number[:-1], n_rows)
    return bool(beside > math.log(UNLIKELY_EXCLUSIVE))


def _chance_of_exclusion(number: NDArray[np.float64], n_rows: int) -> float:
    """Return the log-probability that columns of so many ones each, placed at random, share no row."""
    placed = gammaln(n_rows - number + 1).sum() - gammaln(n_rows - number.sum() + 1)
    return float(placed - (len(number) - 1) * gammaln(n_rows + 1))


def _bound(entry: Mapping[str, object], key: str, where: str) -> float:
    """Return one bound of a declared attribute."""
    bound = entry.get(key)
    if isinstance(bound, bool) or not isinstance(bound, (int, float)):
        raise DataError(f"{where}: key {key!r} must be a number")
    try:
        return float(bound)
    except OverflowError:
        raise DataError(f"{where}: key {key!r} is too large a number") from None


def _declared(name: str, columns: tuple[int, ...], entry: Mapping[str, object], where: str) -> Attribute:
    """Return one attribute that a file declares."""
    kind = entry.get("kind")
    if kind not in ("binary", "one-hot", "ordinal", "numeric"):
        raise DataError(f"{where}: key 'kind' must be binary, one-hot, ordinal or numeric")
    missing, dropped = (entry.get(key, False) for key in ("missing", "dropped"))
    for key, flag in (("missing", missing), ("dropped", dropped)):
        if not isinstance(flag, bool):
            raise DataError(f"{where}: key {key!r} must be true or false")
    by_values = kind == "ordinal" and "values" in entry
    bounds = ("values",) if by_values else ("low", "high") if kind in ("ordinal", "numeric") else ()
    if unknown := sorted(set(entry) - {"kind", "columns", "missing", "dropped", *bounds}, key=str):
        raise DataError(f"{where}: unknown key {one_line(unknown[0])!r}")
    if not by_values:
        low, high = (_bound(entry, key, where) for key in bounds) if bounds else (0.0, 1.0)
        return Attribute(name, kind, columns, low, high, bool(missing), None, bool(dropped))
    listed = entry["values"]
    if not isinstance(listed, list) or not listed:
        raise DataError(f"{where}: key 'values' must be a list of numbers")
    book = tuple(sorted({_bound({"values": value}, "values", where) for value in listed}))
    return Attribute(name, "ordinal", columns, book[0], book[-1], bool(missing), book, bool(dropped))


def declared(columns: Sequence[str], spec: Mapping[str, Mapping[str, object]], source: str) -> Domain:
    """Return the domain that a file declares.

    Parameters
    ----------
    columns : sequence of str, length n_columns
        Names of the encoded columns, in the forest's order.
    spec : mapping of str to mapping
        By attribute name: ``kind``; ``columns`` (names, or indices from 0; left out where the attribute is a
        column's name); ``low`` and ``high`` for ordinal and numeric attributes, or ``values``, a list, for an ordinal
        one; ``missing``, true where a row may have no value (left out: every row has one); ``dropped``, true where a
        row may have none of a one-hot group's columns (left out: every row has one).
    source : str
        Name of the file, for messages.

    Returns
    -------
    Domain

    Raises
    ------
    DataError
        Naming the attribute and the key that are wrong, or the columns without an attribute.
    """
    index_of = {name: index for index, name in enumerate(columns)}
    attributes = []
    for name, entry in spec.items():
        where = f"{source}: attribute {one_line(name)!r}"
        if not isinstance(entry, Mapping):
            raise DataError(f"{where}: must be a table with the key 'kind'")
        indices = []
        listed = entry.get("columns", [name])
        if not isinstance(listed, list):
            raise DataError(f"{where}: key 'columns' must be a list")
        for column in listed:
            index = index_of.get(column) if isinstance(column, str) else column
            if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(columns):
                raise DataError(f"{where}: no column {one_line(column)!r} among the forest's {len(columns)}")
            indices.append(index)
        attributes.append(_declared(name, tuple(indices), entry, where))
    attributes.sort(key=lambda attribute: attribute.columns)  # whatever their order in the file
    owned = [index for attribute in attributes for index in attribute.columns]
    for index, name in enumerate(columns):
        if owned.count(index) != 1:
            number = "no attribute" if index not in owned else "several attributes"
            raise DataError(f"{source}: column {one_line(name)!r} belongs to {number}; give it exactly one")
    return Domain(tuple(columns), tuple(attributes), source)
