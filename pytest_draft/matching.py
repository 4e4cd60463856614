"""Minimum-cost matching: in go two sets of rows, out comes how far they are apart, exact or as marked bounds.

The distance of two rows is a weighted sum of absolute differences by column, which is a metric. So equal rows
can be matched first: in an optimal matching that splits a pair of equal rows, swapping partners costs nothing
(triangle inequality). The assignment then runs on the remainder only, and stays exact.

What an adversary knows of every row helps to match, but is no error (DRAFT, ICML 2024, appendix G): rows are matched
on all columns, and the distance is measured on those that `Weights.counted` names. Where several matchings cost the
least, the one that is closest there is taken, so that the number does not depend on the solver.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    counted : ndarray of bool, shape (n_columns,)
        Columns that the distance is measured on; all of them serve to match.
    total : float
        The distance of two rows is the weighted sum of absolute differences in counted columns, over this.
    """

    columns: NDArray[np.float64]
    counted: NDArray[np.bool_]
    total: float

    def only(self, columns: IntArray) -> Weights:
        """Return the weights of some columns, one of them counted; the mean is taken over the counted ones."""
        counted = self.counted[columns]
        return Weights(self.columns[columns], counted, self.total * counted.sum() / self.counted.sum())

    @property
    def known(self) -> Weights:
        """The weights to match by columns that are not counted, and nothing else."""
        return Weights(np.where(self.counted, 0.0, self.columns), self.counted, self.total)


def _counted(domain: Domain, known: Sequence[int]) -> NDArray[np.bool_]:
    """Return the columns of all attributes but the known ones, which are given by position."""
    counted = np.ones(domain.n_columns, dtype=bool)
    for a in known:
        counted[list(domain.attributes[a].columns)] = False
    return counted


def encoded_weights(domain: Domain, known: Sequence[int] = ()) -> Weights:
    """Return the weights of the error on encoded columns (the papers' number).

    Binary columns count mismatches, ordinal and numeric ones the absolute difference over the range; the mean
    is taken over the encoded columns (DRAFT, ICML 2024, section 7.1), but for those of known attributes.

    Parameters
    ----------
    domain : Domain
    known : sequence of int
        Positions of attributes that the adversary knows.
    """
    ranges = domain.ranges
    common = 1.0
    if all(attribute.kind != "numeric" for attribute in domain.attributes):
        common = float(math.lcm(*(int(size) for size in ranges if size > 0)))
    columns = np.where(ranges > 0, common / np.where(ranges > 0, ranges, 1.0), 0.0)
    counted = _counted(domain, known)
    return Weights(columns, counted, common * float(counted.sum()))


def original_weights(domain: Domain, known: Sequence[int] = ()) -> Weights:
    """Return the weights of the error on original attributes: a one-hot group counts once."""
    encoded = encoded_weights(domain, known)
    common = encoded.total / float(encoded.counted.sum())
    columns = 2 * encoded.columns
    for attribute in domain.attributes:
        if attribute.kind == "one-hot":
            columns[list(attribute.columns)] = common  # two columns differ when the value differs
    return Weights(columns, encoded.counted, 2 * common * (len(domain.attributes) - len(known)))


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
    counted = weights.counted
    if rest <= MOST_ROWS and timebox.allows(cost := _SECONDS_PER_CUBE * rest**3):
        timebox.spend(cost)
        pairs = _pairs(left, right, counted)
        mean = float(pairs.sum()) / whole
        return Distance(mean, mean, float(pairs.max()) / weights.total)
    lower, upper = _bounds(left, right)
    if not counted.all():  # any matching costs at least as much on all columns as on the counted ones
        lower = min(_bounds(left[:, counted], right[:, counted])[0], upper)
    return Distance(lower / whole, upper / whole, None)


def paired_distance(first: Rows, second: Rows, weights: Weights) -> Distance:
    """Return the mean distance of rows that belong together one by one.

    Parameters
    ----------
    first, second : ndarray of float32, shape (n_rows, n_columns)
    weights : Weights
    """
    if first.shape != second.shape or not len(first):
        raise ValueError(f"two equally large sets are needed, not {first.shape} and {second.shape}")
    counted = weights.counted
    distances = np.abs(first.astype(np.float64) - second)[:, counted] @ weights.columns[counted] / weights.total
    mean = float(distances.mean())
    return Distance(mean, mean, float(distances.max()))


def matched(first: Rows, second: Rows, weights: Weights) -> IntArray:
    """Return the row of the second set that each row of the first is matched to, on all columns."""
    distances = cdist(first * weights.columns, second * weights.columns, "cityblock")
    partner: IntArray = linear_sum_assignment(distances)[1].astype(np.int64)
    return partner


def _pairs(left: NDArray[np.float64], right: NDArray[np.float64], counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the distance on counted columns of each pair of the cheapest matching on all columns."""
    distances = cdist(left, right, "cityblock")
    if counted.all():
        pairs: NDArray[np.float64] = distances[linear_sum_assignment(distances)]
        return pairs
    measured = cdist(left[:, counted], right[:, counted], "cityblock")
    # Too small a share to change which matchings cost the least, and a power of two, so that whole costs stay exact.
    largest = max(float(measured.max()) * len(left), 1.0)
    distances += measured * 0.5 ** (math.ceil(math.log2(largest)) + 1)
    cheapest: NDArray[np.float64] = measured[linear_sum_assignment(distances)]
    return cheapest


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
