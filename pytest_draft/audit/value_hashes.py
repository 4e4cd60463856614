"""Hashes of values and rows: 64-bit numbers that equal values share, whatever their type.

Values are compared as trees see them, in single precision; texts and other objects by what they are as text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pytest_draft.arrays import AnyArray

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too

Identities = NDArray[np.uint64]

_MISSING = np.uint64(0x9E3779B97F4A7C15)
"""The identity of each missing value; no hash of a value is more likely to be it than any other."""

_MOST = 2.0**128
"""Numbers from here on, in absolute value, are infinite in single precision, and compared as texts."""

_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
"""Types of objects that are numbers."""


def identities(values: AnyArray) -> Identities | None:
    """Return a number for each value of one column; equal values, and but for hashes with 64 bits only they, share it.

    Numbers are equal where they are in single precision. All kinds of missing values are one.

    None for dates, complex numbers and records, which are not compared.
    """
    if values.dtype.kind == "O":
        missing = np.asarray(pd.isna(values), dtype=np.bool_)
        if all(_is_number(value) for value in values[~missing]):
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


def _is_number(value: Any) -> bool:
    """Return whether a value is a number that can be hashed as one."""
    if not isinstance(value, _NUMBERS):
        return False
    number: Any = value  # the stubs know no size of NumPy's numbers in general
    return bool(abs(number) < _MOST)


def each_alone(values: AnyArray) -> Identities | None:
    """Return the identities of values of which each is a number or not, whatever the others are."""
    if values.dtype.kind != "O":
        return identities(values)
    numbers = np.array([_is_number(value) for value in values], dtype=np.bool_)
    result = np.empty(len(values), dtype=np.uint64)
    for which in (numbers, ~numbers):
        if which.any() and (hashed := identities(values[which])) is not None:
            result[which] = hashed
    return result


def comparable(values: AnyArray) -> AnyArray:
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
        return comparable(parts.reshape(*values.shape[:-1], -1)) if values.ndim else comparable(parts)
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


def halved(values: AnyArray) -> AnyArray:
    """Return numbers as they are after a time in half precision."""
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float32) if values.dtype.kind in "biuf" else values


def are_same(one: AnyArray, other: AnyArray) -> bool:
    """Return whether two columns hold the same values, missing ones in the same places."""
    return one is other or np.array_equal(one, other, equal_nan=True)


def ranks_of(columns: Sequence[AnyArray]) -> list[Identities] | None:
    """Return the rank of each value among its column's, 0 for a missing one; None where one holds no numbers."""
    if any(column.dtype.kind not in "biuf" for column in columns):
        return None
    return [(pd.factorize(column, sort=True)[0] + 1).astype(np.uint64) for column in columns]


def identified(columns: Sequence[AnyArray]) -> list[Identities]:
    """Return the identities of those columns that can be compared."""
    return [hashed for column in columns if (hashed := identities(column)) is not None]


def row_hashes(columns: Sequence[Identities]) -> Identities:
    """Return a hash of each row, by the identities of its values and their places."""
    keys = np.random.default_rng(0).integers(1, 2**63, size=len(columns), dtype=np.uint64) | np.uint64(1)
    result = np.zeros(len(columns[0]), dtype=np.uint64)
    for column, key in zip(columns, keys, strict=True):
        result += column * key
    return result


def hashes_of_rows(table: AnyArray) -> Identities | None:
    """Return a hash of each row; None where a column cannot be compared."""
    hashed = [identities(table[:, i]) for i in range(table.shape[1])]
    complete = [column for column in hashed if column is not None]
    return row_hashes(complete) if len(complete) == len(hashed) else None


def digest(codes: AnyArray, name: str = "") -> bytes:
    """Return a digest of an array's bytes; of another name, another digest."""
    return hashlib.blake2b(
        np.ascontiguousarray(codes).view(np.uint8).data, digest_size=16, person=name.encode()
    ).digest()


def spread_of(columns: Sequence[Identities]) -> bytes:
    """Return a digest of how often each value occurs in each column."""
    return digest(np.sort(np.array(columns), axis=1))
