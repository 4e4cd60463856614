"""What a row can be: in go column values or a domain file, out comes a frozen `Domain`.

A domain is knowledge that the adversary is granted (DRAFT, ICML 2024, section 2: the domains of the
attributes and their one-hot groups). When it is inferred from the training data, `Domain.granted` says
what was taken from them; no value of any row is in it beyond a column's bounds.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pytest_draft.errors import DataError, NotCoveredError, one_line

Kind = Literal["binary", "one-hot", "ordinal", "numeric"]

MAX_ORDINAL_VALUES = 32
"""A column of integers with at most this many values between its bounds is inferred as ordinal."""

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
    """

    name: str
    kind: Kind
    columns: tuple[int, ...]
    low: float = 0.0
    high: float = 1.0
    missing: bool = False

    def __post_init__(self) -> None:
        where = f"attribute {one_line(self.name)!r}"
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
        if self.kind == "ordinal" and self.low < self.high:
            if not (self.low.is_integer() and self.high.is_integer()):
                raise DataError(f"{where}: an ordinal attribute has whole bounds, not {self.low} to {self.high}")
            if max(-self.low, self.high) > MAX_WHOLE:
                raise DataError(
                    f"{where}: float32, which forests compute with, holds whole numbers to {MAX_WHOLE} only"
                )

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
            return len(self.columns)
        if self.kind == "numeric":
            raise NotCoveredError(f"column {one_line(self.name)!r} is numeric; numeric columns are not covered yet")
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
            return np.eye(len(self.columns), dtype=np.float32)[value]
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
        one_hot = self.kind == "one-hot"
        found = columns.argmax(axis=1) if one_hot else np.rint(columns[:, 0].astype(np.float64) - self.low)
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
            values = rows[:, list(attribute.columns)]
            bad = ~((values >= attribute.low) & (values <= attribute.high)).all(axis=1)
            if attribute.kind != "numeric" and attribute.low < attribute.high:
                bad |= (values != np.rint(values)).any(axis=1)
            if attribute.kind == "one-hot":
                bad |= values.sum(axis=1) != 1
            if attribute.missing:
                bad &= ~np.isnan(values).all(axis=1)
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
            lines.append(f"one-hot group {one_line(attribute.name)}: {len(attribute.columns)} columns")
        for kind in ("ordinal", "numeric"):
            for attribute in kinds[kind]:
                lines.append(f"{kind} {one_line(attribute.name)}: {attribute.low:.12g} to {attribute.high:.12g}")
        if missing := [one_line(attribute.name) for attribute in self.attributes if attribute.missing]:
            lines.append(f"that values may be missing in {len(missing)} columns: {', '.join(missing)}")
        return tuple(lines)


def infer(columns: Sequence[str], rows: NDArray[np.float64]) -> Domain:
    """Infer a domain from training rows.

    A column of zeros and ones is binary, also a constant one. Binary columns are a one-hot group when
    their names share a prefix that ends in a separator *and* exactly one of them is 1 in every row.
    A column of one value, and whole numbers with at most `MAX_ORDINAL_VALUES` values between their bounds, are
    ordinal; the rest is numeric. Of a column with missing values (NaN) only the others count; without any other it
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
    gaps = np.asarray(np.isnan(rows).any(axis=0))
    binary = [index for index in range(len(columns)) if not gaps[index] and np.isin(rows[:, index], (0.0, 1.0)).all()]
    groups = _one_hot_groups([(index, columns[index]) for index in binary], rows)
    grouped = {index for _, group in groups for index in group}
    attributes = [Attribute(name, "one-hot", group) for name, group in groups]
    attributes += [_inferred(name, index, rows[:, index]) for index, name in enumerate(columns) if index not in grouped]
    attributes.sort(key=lambda attribute: attribute.columns)
    return Domain(tuple(columns), tuple(attributes), "inferred from the training data")


def _inferred(name: str, index: int, column: NDArray[np.float64]) -> Attribute:
    """Return the attribute of one column that is in no group."""
    present = column[~np.isnan(column)]
    missing = len(present) < len(column)
    if not len(present):
        return Attribute(name, "ordinal", (index,), 0.0, 0.0, missing)
    if np.isin(present, (0.0, 1.0)).all():
        return Attribute(name, "binary", (index,), missing=missing)
    low, high = float(present.min()), float(present.max())
    whole = (present == np.rint(present)).all() and max(-low, high) <= MAX_WHOLE
    few = low == high or (whole and high - low < MAX_ORDINAL_VALUES)
    return Attribute(name, "ordinal" if few else "numeric", (index,), low, high, missing)


def _one_hot_groups(columns: list[tuple[int, str]], rows: NDArray[np.float64]) -> list[tuple[str, tuple[int, ...]]]:
    """Return (prefix, columns) of one-hot groups: shortest prefixes, so largest groups, first."""
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


def _bound(entry: Mapping[str, object], key: str, where: str) -> float:
    """Return one bound of a declared attribute."""
    bound = entry.get(key)
    if isinstance(bound, bool) or not isinstance(bound, (int, float)):
        raise DataError(f"{where}: key {key!r} must be a number")
    try:
        return float(bound)
    except OverflowError:
        raise DataError(f"{where}: key {key!r} is too large a number") from None


def declared(columns: Sequence[str], spec: Mapping[str, Mapping[str, object]], source: str) -> Domain:
    """Return the domain that a file declares.

    Parameters
    ----------
    columns : sequence of str, length n_columns
        Names of the encoded columns, in the forest's order.
    spec : mapping of str to mapping
        By attribute name: ``kind``; ``columns`` (names, or indices from 0; left out where the attribute is a
        column's name); ``low`` and ``high`` for ordinal and numeric attributes; ``missing``, true where a row may
        have no value (left out: every row has one).
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
        kind = entry.get("kind")
        bounds = {}
        if kind in ("ordinal", "numeric"):
            bounds = {key: _bound(entry, key, where) for key in ("low", "high")}
        elif kind not in ("binary", "one-hot"):
            raise DataError(f"{where}: key 'kind' must be binary, one-hot, ordinal or numeric")
        missing = entry.get("missing", False)
        if not isinstance(missing, bool):
            raise DataError(f"{where}: key 'missing' must be true or false")
        if unknown := sorted(set(entry) - {"kind", "columns", "missing", *bounds}, key=str):
            raise DataError(f"{where}: unknown key {one_line(unknown[0])!r}")
        attributes.append(Attribute(name, kind, tuple(indices), **bounds, missing=missing))
    owned = [index for attribute in attributes for index in attribute.columns]
    for index, name in enumerate(columns):
        if owned.count(index) != 1:
            number = "no attribute" if index not in owned else "several attributes"
            raise DataError(f"{source}: column {one_line(name)!r} belongs to {number}; give it exactly one")
    return Domain(tuple(columns), tuple(attributes), source)
