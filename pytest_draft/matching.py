"""Minimum-cost matching: in go two sets of rows, out comes how far they are apart, exact or as marked bounds.

The distance of two rows is a weighted sum of absolute differences by column, which is a metric. So equal rows
can be matched first: in an optimal matching that splits a pair of equal rows, swapping partners costs nothing
(triangle inequality). The assignment then runs on the remainder only, and stays exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from pytest_draft.domain import Domain
from pytest_draft.timebox import TimeBox

Rows = NDArray[np.float32]
IntArray = NDArray[np.int64]

MOST_ROWS = 6_000
"""Largest remainder that is assigned exactly: its distances take 8 bytes a pair, 288 MB."""

_SECONDS_PER_CUBE = 2e-10  # measured: 2,000 rows take 0.2 to 0.6 s, 4,000 rows 3 to 5 s
_BLOCK = 1_000


@dataclass(frozen=True)
class Distance:
    """The mean distance of two sets of rows after minimum-cost matching.

    Attributes
    ----------
    lower, upper : float
        Bounds; equal where the matching is exact.
    worst : float or None
        Largest distance of a matched pair; None where the matching is not exact.
    """

    lower: float
    upper: float
    worst: float | None

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper:
            raise ValueError(f"bounds out of order: {self.lower} and {self.upper}")

    @property
    def exact(self) -> float | None:
        """The distance, where it is known exactly."""
        return self.lower if self.worst is not None else None


@dataclass(frozen=True, eq=False)
class Weights:
    """How much a difference in each column counts.

    Where all attributes are discrete, they are whole numbers over a common denominator. Then the distances are
    exact, equal ones are equal, and an assignment over many equal distances is some twenty times faster than
    over the same ones with rounding errors.

    Attributes
    ----------
    columns : ndarray of float64, shape (n_columns,)
    total : float
        The distance of two rows is the weighted sum of absolute differences, over this.
    """

    columns: NDArray[np.float64]
    total: float

    def only(self, columns: IntArray) -> Weights:
        """Return the weights of some columns; the mean is taken over these."""
        return Weights(self.columns[columns], self.total * len(columns) / len(self.columns))


def encoded_weights(domain: Domain) -> Weights:
    """Return the weights of the error on encoded columns (the papers' number).

    Binary columns count mismatches, ordinal and numeric ones the absolute difference over the range; the mean
    is taken over the encoded columns (DRAFT, ICML 2024, section 7.1).
    """
    ranges = domain.ranges
    common = 1.0
    if all(attribute.kind != "numeric" for attribute in domain.attributes):
        common = float(math.lcm(*(int(size) for size in ranges if size > 0)))
    columns = np.where(ranges > 0, common / np.where(ranges > 0, ranges, 1.0), 0.0)
    return Weights(columns, common * domain.n_columns)


def original_weights(domain: Domain) -> Weights:
    """Return the weights of the error on original attributes: a one-hot group counts once."""
    encoded = encoded_weights(domain)
    common = encoded.total / domain.n_columns
    columns = 2 * encoded.columns
    for attribute in domain.attributes:
        if attribute.kind == "one-hot":
            columns[list(attribute.columns)] = common  # two columns differ when the value differs
    return Weights(columns, 2 * common * len(domain.attributes))


def row_identities(*tables: Rows) -> list[IntArray]:
    """Return a number for each row of each table; equal rows, and only they, have equal numbers."""
    stacked = np.ascontiguousarray(np.concatenate(tables) + np.float32(0))  # -0.0 becomes 0.0
    bits = stacked.view(np.uint32).astype(np.uint64)
    keys = np.random.default_rng(0).integers(1, 2**63, size=bits.shape[1], dtype=np.uint64)
    _, first, identity = np.unique(bits @ keys, return_index=True, return_inverse=True)
    if (bits != bits[first[identity]]).any():  # two rows with one hash
        _, identity = np.unique(bits, axis=0, return_inverse=True)
    return np.split(identity.reshape(-1).astype(np.int64), np.cumsum([len(table) for table in tables])[:-1])


def unmatched(first: IntArray, second: IntArray) -> tuple[IntArray, IntArray]:
    """Return the positions that stay when equal identities are paired off, as often as both sides have them."""
    size = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
    common = np.minimum(np.bincount(first, minlength=size), np.bincount(second, minlength=size))
    return _beyond(first, common), _beyond(second, common)


def _beyond(identity: IntArray, common: IntArray) -> IntArray:
    """Return the positions of each identity after its first `common` ones."""
    order = np.argsort(identity, kind="stable")
    sorted_identity = identity[order]
    rank = np.arange(len(order)) - np.searchsorted(sorted_identity, sorted_identity)
    return np.sort(order[rank >= common[sorted_identity]])


def matched_distance(first: Rows, second: Rows, weights: Weights, timebox: TimeBox) -> Distance:
    """Return the mean distance of two equally large sets of rows after minimum-cost matching.

    Parameters
    ----------
    first, second : ndarray of float32, shape (n_rows, n_columns)
    weights : Weights
    timebox : TimeBox
        An exact assignment is only begun when it is expected to end inside.

    Returns
    -------
    Distance
        Exact, or bounds where the remainder is larger than `MOST_ROWS` or the time does not suffice.
    """
    if first.shape != second.shape or not len(first):
        raise ValueError(f"two equally large sets are needed, not {first.shape} and {second.shape}")
    here, there = unmatched(*row_identities(first, second))
    n_rows, rest = len(first), len(here)
    if not rest:
        return Distance(0.0, 0.0, 0.0)
    left, right = first[here] * weights.columns, second[there] * weights.columns
    whole = n_rows * weights.total
    if rest <= MOST_ROWS and timebox.allows(cost := _SECONDS_PER_CUBE * rest**3):
        timebox.spend(cost)
        distances = cdist(left, right, "cityblock")
        pairs = distances[linear_sum_assignment(distances)]
        mean = float(pairs.sum()) / whole
        return Distance(mean, mean, float(pairs.max()) / weights.total)
    lower, upper = _bounds(left, right)
    return Distance(lower / whole, upper / whole, None)


def _bounds(left: NDArray[np.float64], right: NDArray[np.float64]) -> tuple[float, float]:
    """Return bounds of the least total distance: nearest neighbours below, a blockwise matching above."""
    nearest_left = np.full(len(left), np.inf)
    nearest_right = np.full(len(right), np.inf)
    blocks = range(0, len(left), _BLOCK)
    for i in blocks:
        for j in blocks:
            distances = cdist(left[i : i + _BLOCK], right[j : j + _BLOCK], "cityblock")
            mine, theirs = slice(i, i + _BLOCK), slice(j, j + _BLOCK)
            nearest_left[mine] = np.minimum(nearest_left[mine], distances.min(axis=1))
            nearest_right[theirs] = np.minimum(nearest_right[theirs], distances.min(axis=0))
    upper = 0.0
    left, right = left[np.lexsort(left.T)], right[np.lexsort(right.T)]
    for i in blocks:
        distances = cdist(left[i : i + _BLOCK], right[i : i + _BLOCK], "cityblock")
        upper += float(distances[linear_sum_assignment(distances)].sum())
    lower = max(float(nearest_left.sum()), float(nearest_right.sum()))
    return min(lower, upper), upper
