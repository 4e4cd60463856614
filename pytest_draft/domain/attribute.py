"""One attribute of a domain: converts the index of a value to its encoded columns, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.errors import DataError, NotCoveredError, one_line

Kind = Literal["binary", "one-hot", "ordinal", "numeric"]

MAX_ORDINAL_VALUES = 32
"""A column with at most this many different values, each in two rows on average, is inferred as ordinal; whole numbers
with at most this many values between their bounds are in any case."""

MAX_WHOLE = 2**24
"""Up to here float32, in which scikit-learn's trees compare, tells neighbouring whole numbers apart."""

MISSING_SHARE = 1 / (MAX_ORDINAL_VALUES + 1)
"""Share of missing values among uniform guesses of a numeric attribute: as if it were one more of the most values that
an inferred ordinal attribute has."""


@dataclass(frozen=True)
class Attribute:
    """One original attribute and its encoded columns. Its repr shows no bound, which may be a row's value."""

    name: str
    """A column's name, or the common prefix of a one-hot group."""
    kind: Kind
    columns: tuple[int, ...]
    """Indices of its encoded columns: several for a one-hot group, else one."""
    low: float = field(default=0.0, repr=False)
    high: float = field(default=1.0, repr=False)
    """`low` and `high`: bounds of what is not missing, included. 0 and 1 for binary columns and one-hot groups."""
    missing: bool = False
    """Whether a row may have no value (NaN) here. A one-hot group always has one."""
    values: tuple[float, ...] | None = field(default=None, repr=False)
    """The code book of an ordinal attribute, ascending, from `low` to `high`; None where it is all whole numbers
    between them. Single precision, in which trees compare, tells the values apart.
    """
    dropped: bool = False
    """Whether a one-hot group has one more value, without a column of its own: a row that is 0 in all of them
    (``drop="first"``).
    """

    @classmethod
    def coded(cls, name: str, column: int, values: Sequence[float] | FloatArray, missing: bool = False) -> Attribute:
        """Return the attribute of a column that holds these values, ascending, and no others: binary where 0 and 1."""
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
            raise DataError(f"{where}: bounds must be finite and in order: low at most high")
        if self.kind in ("binary", "one-hot") and (self.low, self.high) != (0.0, 1.0):
            raise DataError(f"{where}: a {self.kind} attribute has the values 0 and 1")
        if self.values is not None:
            self._require_code_book(where)
        elif self.kind == "ordinal" and self.low < self.high:
            if not (self.low.is_integer() and self.high.is_integer()):
                raise DataError(
                    f"{where}: an ordinal attribute has whole bounds: make low and high whole, or list its values"
                )
            if max(-self.low, self.high) > MAX_WHOLE:
                raise DataError(
                    f"{where}: float32, which forests compute with, holds whole numbers to {MAX_WHOLE} only"
                )

    def _require_code_book(self, where: str) -> None:
        """Refuse a code book that trees could not have seen."""
        if self.kind != "ordinal":
            raise DataError(f"{where}: only an ordinal attribute lists its values")
        book = np.array(self.values, dtype=np.float64)
        finite = (np.abs(book) <= np.finfo(np.float32).max).all()  # in float32, too, and no NaN
        if not len(book) or not finite or (np.diff(book) <= 0).any():
            raise DataError(f"{where}: the values must be finite numbers in ascending order")
        if (book[0], book[-1]) != (self.low, self.high):
            raise DataError(f"{where}: the values must begin and end with the bounds")
        if (np.diff(book.astype(np.float32)) <= 0).any():
            raise DataError(f"{where}: float32, which forests compute with, does not tell some of its values apart")

    @cached_property
    def book(self) -> FloatArray:
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
    def integers_only(self) -> bool:
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

    def encoded(self, value: IntArray) -> NDArray[np.float32]:
        """Return the encoded columns of values, given by their indices, shape (n, len(columns))."""
        if self.kind == "one-hot":
            return np.eye(self.n_states, len(self.columns), dtype=np.float32)[value]
        if self.values is not None:
            return self.book.astype(np.float32)[np.minimum(value, len(self.book) - 1), None]
        return (value[:, None] + self.low).astype(np.float32)

    def index(self, columns: NDArray[np.float32]) -> IntArray:
        """Return the index of each value, shape (n,), given its encoded columns: what `encoded` was given.

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

        The shape is (n, len(columns)).
        """
        if self.kind == "numeric":
            drawn = rng.uniform(self.low, self.high, size=(n, 1)).astype(np.float32)
            return np.where(rng.random((n, 1)) < MISSING_SHARE, np.float32(np.nan), drawn) if self.missing else drawn
        states = rng.integers(self.n_states, size=n)
        drawn = self.encoded(states)
        if self.missing:
            drawn[states == self.n_states - 1] = np.nan
        return drawn

    def outside(self, columns: FloatArray) -> BoolArray:
        """Return which rows hold something here that the attribute does not allow, shape (n_rows,)."""
        bad: BoolArray
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


def nearest(book: FloatArray, values: FloatArray) -> IntArray:
    """Return the position of the nearest entry of an ascending book for each value."""
    return np.searchsorted((book[1:] + book[:-1]) / 2, values).astype(np.int64)
