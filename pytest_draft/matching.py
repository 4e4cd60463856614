"""Minimum-cost matching: how far two sets of rows are apart, exact or as marked bounds.

The distance of two rows is a weighted sum of absolute differences by column, which is a metric. So equal rows
can be matched first: in an optimal matching that splits a pair of equal rows, swapping partners costs nothing
(triangle inequality). The assignment then runs on the remainder only, and stays exact.

An ordinal attribute's values are as far apart as their places in its code book: what numbers they are written as
changes no distance. A missing value (NaN) is as far from every present one as the two ends of the range are from each
other, and not at all from another missing one. That is the same sum of absolute differences of three coordinates
(`comparable`).

What an adversary knows of every row helps to match, but is no error (DRAFT, ICML 2024, appendix G): rows are matched
on all columns, and the distance is measured on those that `Weights.counted` names. Where several matchings cost the
least, the one that is closest there is taken, so that the number does not depend on the solver.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.domain import Domain
from pytest_draft.errors import OutOfTimeError
from pytest_draft.facts.figures import TOLERANCE, Distance
from pytest_draft.timebox import TimeBox

AnyRows = NDArray[np.float32] | NDArray[np.float64]

MOST_ROWS = 6_000
"""Largest remainder that is assigned exactly: its distances take 8 bytes a pair, 288 MB."""

_UNITS_PER_CUBE = 2e-10
"""Of an assignment, for rows to the third power; measured: 2,000 rows take 0.2 to 0.6 s, 4,000 rows 2 to 5 s."""

_BLOCK = 1_000
"""Rows whose distances are held at once where there are too many for an exact assignment: 8 MB."""

_AT_ONCE = 50_000_000
"""Differences of values that are taken between two looks at the time box: some 50 ms."""


@dataclass(frozen=True, eq=False)
class Weights:
    """How much a difference in each column counts.

    Where all attributes are discrete, they are whole numbers over a common denominator. Then the distances are
    exact, equal ones are equal, and an assignment over many equal distances is some twenty times faster than
    over the same ones with rounding errors.
    """

    columns: NDArray[np.float64]
    """Shape (n_columns,)."""
    counted: NDArray[np.bool_]
    """Shape (n_columns,). Columns that the distance is measured on; all of them serve to match."""
    total: float
    """The distance of two rows is the weighted sum of absolute differences in counted columns, over this."""
    missing: NDArray[np.float64]
    """Shape (n_columns,). What a missing value counts beside a present one: a difference of the whole range."""
    tolerance: NDArray[np.float64]
    """Shape (n_columns,). The largest difference of values that are close: a share of the range in counted numeric
    columns, else 0.
    """
    books: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)
    """By column, code books with gaps or of other numbers than whole ones."""

    def measured(self, rows: Rows) -> NDArray[np.float64]:
        """Return rows as differences are taken of them: codes as their places in the code book, or between two."""
        places = rows.astype(np.float64)
        for column, book in self.books.items():
            places[:, column] = np.interp(places[:, column], book, np.arange(len(book)))
        return places

    def scaled(self, by: NDArray[np.floating[Any]] | NDArray[np.bool_]) -> Weights:
        """Return the weights with each column's multiplied; the total stays."""
        return replace(self, columns=self.columns * by, missing=self.missing * by)

    def with_attribute(self, size: int) -> Weights:
        """Return the weights of these columns and of one more binary attribute with so many values, a column each.

        Two columns differ where its value does, so that each counts half.
        """
        common = self.total / float(self.counted.sum())
        half = np.full(size, common / 2)
        return replace(
            self,
            columns=np.concatenate([self.columns, half]),
            counted=np.concatenate([self.counted, np.ones(size, dtype=bool)]),
            total=self.total + common,
            missing=np.concatenate([self.missing, half]),
            tolerance=np.concatenate([self.tolerance, np.zeros(size)]),
        )

    @property
    def known(self) -> Weights:
        """The weights to match by columns that are not counted, and nothing else."""
        return self.scaled(~self.counted)


def _counted(domain: Domain, known: Sequence[int]) -> NDArray[np.bool_]:
    """Return the columns of all attributes but the known ones, which are given by position."""
    counted = np.ones(domain.n_columns, dtype=bool)
    counted[domain.columns_of(known)] = False
    return counted


def encoded_weights(domain: Domain, known: Sequence[int] = ()) -> Weights:
    """Return the weights of the error on encoded columns (the papers' number).

    Binary columns count mismatches, numeric ones the absolute difference over the range, ordinal ones that of the
    places in their code book over the last place; the mean is taken over the encoded columns (DRAFT, ICML 2024,
    section 7.1), but for those of known attributes.

    Parameters
    ----------
    known : sequence of int
        Positions of attributes that the adversary knows.
    """
    ranges = domain.ranges
    books = {attribute.columns[0]: attribute.book for attribute in domain.attributes if attribute.values is not None}
    for column, book in books.items():
        ranges[column] = len(book) - 1
    common = 1.0
    if all(attribute.kind != "numeric" for attribute in domain.attributes):
        common = float(math.lcm(*(int(size) for size in ranges if size > 0)))
    columns = np.where(ranges > 0, common / np.where(ranges > 0, ranges, 1.0), 0.0)
    counted = _counted(domain, known)
    tolerance = domain.by_column(
        lambda attribute: TOLERANCE * (attribute.high - attribute.low) if attribute.kind == "numeric" else 0.0
    )
    tolerance[~counted] = 0.0
    return Weights(columns, counted, common * float(counted.sum()), np.full_like(ranges, common), tolerance, books)


def original_weights(domain: Domain, known: Sequence[int] = ()) -> Weights:
    """Return the weights of the error on original attributes: a one-hot group counts once.

    A value of a group that has no column of its own is determined by the others' alone, and counts half where it is
    mistaken.
    """
    encoded = encoded_weights(domain, known)
    common = encoded.total / float(encoded.counted.sum())
    # Of a group, two columns differ when the value differs.
    by = domain.by_column(lambda attribute: 1.0 if attribute.kind == "one-hot" else 2.0)
    return replace(encoded.scaled(by), total=2 * common * (len(domain.attributes) - len(known)))


def row_identities(*tables: Rows) -> list[IntArray]:
    """Return a number for each row of each table; equal rows, and only they, have equal numbers.

    Missing values are equal.
    """
    stacked = np.ascontiguousarray(np.concatenate(tables) + np.float32(0))  # -0.0 becomes 0.0
    stacked[np.isnan(stacked)] = np.nan  # of many bit patterns one
    bits = stacked.view(np.uint32).astype(np.uint64)
    keys = np.random.default_rng(0).integers(1, 2**63, size=bits.shape[1], dtype=np.uint64)
    _, first, identity = np.unique(bits @ keys, return_index=True, return_inverse=True)
    if (bits != bits[first[identity]]).any():  # two rows with one hash
        _, identity = np.unique(bits, axis=0, return_inverse=True)
    return np.split(identity.reshape(-1).astype(np.int64), np.cumsum([len(table) for table in tables])[:-1])


def different_rows(rows: Rows) -> tuple[IntArray, IntArray, IntArray]:
    """Return which rows are different.

    Returns
    -------
    first : ndarray of int64, shape (n_different,)
        A position of each different row.
    of_row : ndarray of int64, shape (n_rows,)
        Which of them each row is.
    times : ndarray of int64, shape (n_different,)
        How often each is there.
    """
    (identity,) = row_identities(rows)
    _, first, of_row, times = np.unique(identity, return_index=True, return_inverse=True, return_counts=True)
    return first, of_row, times


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


def differences(first: Rows, second: Rows, weights: Weights) -> NDArray[np.float64]:
    """Return what each column of rows that belong together one by one adds to their distance.

    Returns
    -------
    ndarray of float64, shape (n_rows, n_columns)
        On all columns, also those that are not counted; a distance is the sum over `Weights.total`.
    """
    apart, one_missing = gaps(weights.measured(first), weights.measured(second))
    return np.where(one_missing, weights.missing, apart * weights.columns)


def gaps(first: AnyRows, second: AnyRows) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the absolute differences of values, 0 where one or both are missing, and where only one is missing."""
    here, there = np.isnan(first), np.isnan(second)
    apart = np.abs(first.astype(np.float64) - second)
    return np.where(here | there, 0.0, apart), here != there


def comparable(first: Rows, second: Rows, weights: Weights) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return coordinates whose sum of absolute differences is the weighted distance, also of missing values.

    A column that misses values becomes three. With ``u`` the weighted difference to its least value and ``m`` what a
    missing value counts, a present value is ``(u, m - u, 0) / 2`` and a missing one ``(0, 0, m) / 2``: ``m`` apart,
    as ``u`` is between 0 and ``m``.
    """
    left, right = weights.measured(first) * weights.columns, weights.measured(second) * weights.columns
    missing = np.isnan(left).any(axis=0) | np.isnan(right).any(axis=0)
    if not missing.any() or not (len(left) and len(right)):
        return left, right
    least = np.fmin(np.fmin.reduce(left[:, missing]), np.fmin.reduce(right[:, missing]))

    def lifted(side: NDArray[np.float64]) -> NDArray[np.float64]:
        above, absent = side[:, missing] - least, np.isnan(side[:, missing])
        most = weights.missing[missing]
        parts = np.where(absent, 0.0, above), np.where(absent, 0.0, most - above), np.where(absent, most, 0.0)
        return np.hstack([side[:, ~missing], *(part / 2 for part in parts)])

    return lifted(left), lifted(right)


def matched_distance(first: Rows, second: Rows, weights: Weights, timebox: TimeBox) -> Distance:
    """Return the mean distance of two equally large sets of rows after minimum-cost matching.

    Parameters
    ----------
    first, second : ndarray of float32, shape (n_rows, n_columns)
    timebox : TimeBox
        An exact assignment is given up when it ends.

    Returns
    -------
    Distance
        Exact, or bounds where the remainder is larger than `MOST_ROWS` or the time did not suffice.
    """
    if first.shape != second.shape or not len(first):
        raise ValueError(f"two equally large sets are needed, not {first.shape} and {second.shape}")
    here, there = unmatched(*row_identities(first, second))
    n_rows, rest = len(first), len(here)
    if not rest:
        return Distance(0.0, 0.0, 0.0)
    left, right = comparable(first[here], second[there], weights)
    total = n_rows * weights.total
    measured = None
    if not weights.counted.all():
        measured = comparable(first[here], second[there], weights.scaled(weights.counted))
    if not all(np.ptp(side, axis=0).any() for side in (left, right)):  # equal rows, or none: each matching costs this
        each = np.abs(np.subtract(*(measured or (left, right)))).sum(axis=1)
        return Distance(*2 * (float(each.sum()) / total,), float(each.max()) / weights.total)
    if rest <= MOST_ROWS:
        try:
            pairs = _pairs(left, right, measured, timebox)
        except OutOfTimeError:
            pass
        else:
            mean = float(pairs.sum()) / total
            return Distance(mean, mean, float(pairs.max()) / weights.total)
    lower, upper = _bounds(left, right, timebox)
    upper = min(upper, float(differences(first, second, weights).sum()))  # the given order is a matching, too
    if measured is not None:  # any matching costs at least as much on all columns as on the counted ones
        lower = _bounds(*measured, timebox)[0]
    return Distance(min(lower, upper) / total, upper / total, None)


def paired_distance(first: Rows, second: Rows, weights: Weights) -> Distance:
    """Return the mean distance of rows that belong together one by one."""
    if first.shape != second.shape or not len(first):
        raise ValueError(f"two equally large sets are needed, not {first.shape} and {second.shape}")
    distances = differences(first, second, weights)[:, weights.counted].sum(axis=1) / weights.total
    mean = float(distances.mean())
    return Distance(mean, mean, float(distances.max()))


def distances_of(left: FloatArray, right: FloatArray, timebox: TimeBox | None = None) -> FloatArray:
    """Return the sum of absolute differences of every two rows, shape (n_left, n_right).

    Parameters
    ----------
    left, right : ndarray of float64, shapes (n_left, n_coordinates) and (n_right, n_coordinates)
    timebox : TimeBox or None
        Looked at between chunks.

    Raises
    ------
    OutOfTimeError
        Where the clock has ended it.
    """
    if timebox is None:
        found: FloatArray = cdist(left, right, "cityblock")
        return found
    found = np.empty((len(left), len(right)))
    chunk = max(1, _AT_ONCE // max(1, right.size))
    for i in range(0, len(left), chunk):
        timebox.require()
        cdist(left[i : i + chunk], right, "cityblock", out=found[i : i + chunk])
    return found


def assigned(cost: FloatArray, timebox: TimeBox | None = None) -> IntArray:
    """Return the column of each row in an assignment of least cost, one of its own for each row.

    That of `scipy.optimize.linear_sum_assignment`, of equally cheap ones too, in the same time; but it can be stopped.

    Parameters
    ----------
    cost : ndarray of float64, shape (n_rows, n_columns)
        At least as many columns as rows.
    timebox : TimeBox or None
        Its effort has to allow the assignment, and its clock stops it.

    Raises
    ------
    OutOfTimeError
        Where the effort does not suffice, or the clock has ended the box.

    References
    ----------
    D. F. Crouse, "On implementing 2D rectangular assignment algorithms", IEEE Transactions on Aerospace and Electronic
    Systems 52(4), 2016.
    """
    n_rows, n_columns = cost.shape
    if n_rows > n_columns:
        raise ValueError(f"{n_rows} rows cannot have one of {n_columns} columns each")
    from pytest_draft.shortest_paths import shortest_paths  # whoever only reads data does without numba

    if timebox is None:
        return shortest_paths(cost, np.zeros(1, dtype=np.uint8))
    units = _UNITS_PER_CUBE * n_rows**2 * n_columns
    if not timebox.allows(units):
        raise OutOfTimeError
    timebox.spend(units)
    with timebox.flag() as stop:
        found = shortest_paths(cost, stop)
    if len(found) < n_rows:
        raise OutOfTimeError
    return found


def matched(first: Rows, second: Rows, weights: Weights, timebox: TimeBox | None = None) -> IntArray:
    """Return the row of the second set that each row of the first is matched to, on all columns.

    Raises
    ------
    OutOfTimeError
        As `assigned`.
    """
    return assigned(distances_of(*comparable(first, second, weights), timebox), timebox)


def _pairs(
    left: FloatArray, right: FloatArray, measured: tuple[FloatArray, FloatArray] | None, timebox: TimeBox
) -> FloatArray:
    """Return the distance of each pair of the cheapest matching: of all coordinates, or of those that are measured."""
    distances = distances_of(left, right, timebox)
    everyone = np.arange(len(left))
    if measured is None:
        pairs: FloatArray = distances[everyone, assigned(distances, timebox)]
        return pairs
    counted = distances_of(*measured, timebox)
    # Too small a share to change which matchings cost the least, and a power of two, so that whole costs stay exact.
    largest = max(float(counted.max()) * len(left), 1.0)
    distances += counted * 0.5 ** (math.ceil(math.log2(largest)) + 1)
    cheapest: FloatArray = counted[everyone, assigned(distances, timebox)]
    return cheapest


def _bounds(left: FloatArray, right: FloatArray, timebox: TimeBox) -> tuple[float, float]:
    """Return bounds of the least total distance: nearest neighbours below, a blockwise matching above.

    Where the time does not suffice for neighbours, each column is matched by itself: no matching of rows costs less.
    Where it does not for the matching either, the rest is paired as it was sorted.
    """
    timebox = replace(timebox, effort=math.inf)
    try:
        lower = _to_nearest(left, right, timebox)
    except OutOfTimeError:
        lower = float(np.abs(np.sort(left, axis=0) - np.sort(right, axis=0)).sum())
    upper = 0.0
    left, right = left[np.lexsort(left.T)], right[np.lexsort(right.T)]
    for i in range(0, len(left), _BLOCK):
        here, there = left[i : i + _BLOCK], right[i : i + _BLOCK]
        try:
            pairs = _pairs(here, there, None, timebox)
        except OutOfTimeError:
            pairs = np.abs(here - there).sum(axis=1)
        upper += float(pairs.sum())
    return min(lower, upper), upper


def _to_nearest(left: FloatArray, right: FloatArray, timebox: TimeBox) -> float:
    """Return the total distance to nearest neighbours, of the side that is farther from the other one."""
    nearest_left = np.full(len(left), np.inf)
    nearest_right = np.full(len(right), np.inf)
    blocks = range(0, len(left), _BLOCK)
    for i in blocks:
        for j in blocks:
            distances = distances_of(left[i : i + _BLOCK], right[j : j + _BLOCK], timebox)
            mine, theirs = slice(i, i + _BLOCK), slice(j, j + _BLOCK)
            nearest_left[mine] = np.minimum(nearest_left[mine], distances.min(axis=1))
            nearest_right[theirs] = np.minimum(nearest_right[theirs], distances.min(axis=0))
    return max(float(nearest_left.sum()), float(nearest_right.sum()))
