"""How unlikely a match is by chance, in bits, from counts of equal values.

A bit is minus log2 of a probability. An array is taken for a copy of training data where chance would hardly make it,
so everything that a match says is measured in bits and held against `ENOUGH`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from pytest_draft.arrays import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class EnoughBits:
    """From where on a match is no chance any more."""

    anywhere: float = 20.0
    """An array is taken for a copy where chance makes it with a probability of at most 2 to the power of minus this."""
    in_order: float = 12.0
    """Such a number for a column in the rows' order that is a file's only one, as of 20 rows of zeros and ones."""


ENOUGH = EnoughBits()


def bits_of_counts(times: AnyArray) -> float:
    """Return minus log2 of the chance of just these counts, were each value drawn as often as it is here.

    Parameters
    ----------
    times : ndarray of int64 or float64, shape (n_values,)
        How often each value occurs, at least once.
    """
    n = float(times.sum())
    log = gammaln(n + 1) - gammaln(times + 1).sum() + (times * np.log(times / n)).sum()
    return float(-log / np.log(2))


def arrangements(times: AnyArray, n: int) -> float:
    """Return the natural logarithm of the number of orders in which `n` values can stand that occur so often each."""
    return float(gammaln(n + 1) - gammaln(times + 1).sum())


def bits_of_order(codes: IntArray, ways: float) -> float:
    """Return what the order of values says, as one of so many (`arrangements`); nothing where they are sorted."""
    steps = np.diff(codes)
    return 0.0 if (steps >= 0).all() or (steps <= 0).all() else float(ways / np.log(2))


def bits_of_rows(columns: Sequence[AnyArray]) -> FloatArray:
    """Return how little chance it takes that a row like each is in a table, at least 0, shape (n_rows,).

    Minus log2 of the expected number of such rows, were the columns independent.
    """
    n_rows = len(columns[0])
    expected = np.full(n_rows, np.log2(n_rows))
    for column in columns:
        _, which, times = np.unique(column, return_inverse=True, return_counts=True)
        expected += np.log2(times / n_rows)[which]
    bits: FloatArray = np.maximum(0.0, -expected)
    return bits


def bits_of_choice(tried: float, found: int) -> float:
    """Return log2 of the number of ways to choose what was found among all that was tried."""
    return float((gammaln(tried + 1) - gammaln(found + 1) - gammaln(tried - found + 1)) / np.log(2))
