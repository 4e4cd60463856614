"""What midpoint thresholds imply for one row when all other rows are known: bounds of its values.

A best split's threshold is the midpoint of the extremes on both its sides (`pytest_draft.attack.best_splits`). Where
the other rows are fixed, a row that alone takes an extreme can have no other value, and all others may go up to it. So
it is with the least and the greatest value of a node whose random threshold was decoded
(`pytest_draft.attack.numeric.extremes`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.nodes import ForestNodes
from pytest_draft.attack.best_splits import float32_at_most, midpoints_of, off_middle
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.attack.redacted import redacted
from pytest_draft.domain import Domain

ROUNDING = 2.0**-22
"""Of values in single precision that were brought to another column's scale, relative."""


@redacted
class Splits(NamedTuple):
    """The nodes of all trees in one numbering, and the rows that went through them."""

    root: IntArray
    """Shape (n_trees,)."""
    left: IntArray
    right: IntArray
    feature: IntArray
    """`left`, `right` and `feature`, shape (n_nodes,): -1 at leaves."""
    threshold: FloatArray
    """Shape (n_nodes,)."""
    missing_left: BoolArray
    """Shape (n_nodes,)."""
    highest_left: FloatArray
    lowest_right: FloatArray
    """`highest_left` and `lowest_right`, shape (n_nodes,): the values next to the threshold, in the single precision
    that rows have.
    """
    is_midpoint: BoolArray
    """Shape (n_nodes,). Whether the threshold is the midpoint of the values next to it."""
    is_decoded: BoolArray
    """Shape (n_nodes,). Whether the least and the greatest value of the tested column are known, of a threshold that
    was
    drawn.
    """
    decoded: FloatArray
    """Shape (n_nodes, 2). These values: the greatest, and the least, negated."""
    rows: Rows
    """Shape (n_rows, n_columns)."""
    times: IntArray
    """Shape (n_rows, n_trees)."""


@redacted
class Sides(NamedTuple):
    """Extremes of the tested value by node: of those that went left the largest, of the others the smallest, negated.

    Of decoded nodes: of all of them the largest, and the smallest, negated.
    """

    top: FloatArray
    """Shape (n_nodes, 2). -inf where no row with a value is."""
    takers: IntArray
    """Shape (n_nodes, 2). How many rows have it."""


def tested_ordered(forest: Forest, domain: Domain) -> list[int]:
    """Return the attributes of which thresholds reveal more than counts, if any tree tests one of them.

    They are one column of more than two values, or with missing ones.
    """
    ordered = [
        a
        for a, made in enumerate(domain.attributes)
        if made.kind == "numeric" or (made.kind != "one-hot" and (made.missing or len(made.book) > 2))
    ]
    feature = np.concatenate([tree.feature for tree in forest.trees])
    tested = domain.attribute_of_column[feature[feature >= 0]]
    return ordered if np.isin(tested, ordered).any() else []


def splits_of(
    forest: Forest,
    domain: Domain,
    rows: Rows,
    times: IntArray,
    extremes: Extremes | None = None,
) -> Splits | None:
    """Return the splits of a forest; None where rows contradict what thresholds say besides counts.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    times : ndarray of int64, shape (n_trees, n_rows)
    extremes : Extremes or None
        Of the nodes of random splits.
    """
    many = np.zeros(domain.n_columns, dtype=np.bool_)
    many[domain.columns_of(tested_ordered(forest, domain))] = True
    splits = all_splits(forest, rows, times, extremes)
    splits = splits._replace(is_midpoint=splits.is_midpoint & many[splits.feature])
    top = sides_of(splits).top
    # A column that stands for one that repeats it has that one's thresholds, on its own scale but for rounding.
    slack = np.where(splits.is_midpoint, ROUNDING * np.abs(top).max(axis=1, initial=0.0), 0.0)
    return splits if (missed_by(splits, top) <= slack)[splits.is_midpoint | splits.is_decoded].all() else None


def all_splits(forest: Forest, rows: Rows, times: IntArray, extremes: Extremes | None) -> Splits:
    """Return the splits of a forest, whether or not the rows explain them.

    Parameters
    ----------
    rows, times, extremes
        As in `splits_of`.
    """
    nodes = ForestNodes.of(forest.trees)
    decoded = np.full((len(nodes.feature), 2), np.nan)
    if extremes is not None:
        decoded = np.column_stack([np.concatenate(extremes.high), -np.concatenate(extremes.low)])
    highest_left = float32_at_most(nodes.threshold)
    return Splits(
        nodes.first[:-1],
        nodes.left,
        nodes.right,
        nodes.feature,
        nodes.threshold,
        nodes.missing_left,
        highest_left,
        np.nextafter(highest_left.astype(np.float32), np.float32(np.inf)).astype(np.float64),
        np.concatenate(midpoints_of(forest)),
        (nodes.left >= 0) & ~np.isnan(decoded).any(axis=1),
        decoded,
        np.ascontiguousarray(rows),
        np.ascontiguousarray(times.T),
    )


def missed_by(splits: Splits, top: FloatArray) -> FloatArray:
    """Return how far each node's rows are from having its midpoint or its decoded extremes, shape (n_nodes,).

    Not finite where no rows with a value are on one side; NaN where the threshold says no more than who went where.

    Parameters
    ----------
    top : ndarray of float64, shape (n_nodes, 2)
        As in `Sides`.
    """
    with np.errstate(invalid="ignore"):
        off_decoded = np.abs(top - splits.decoded).max(axis=1, initial=0.0)
        return np.where(splits.is_midpoint, off_middle(top[:, 0], -top[:, 1], splits.threshold), off_decoded)


@njit(cache=True, nogil=True, inline="always")
def side_of(splits: Splits, node: int, value: float) -> int:
    """Return 0 where a value goes left, 1 where it goes right."""
    if np.isnan(value):
        return 0 if splits.missing_left[node] else 1
    return 0 if value <= splits.threshold[node] else 1


@njit(cache=True, nogil=True)
def sides_of(splits: Splits) -> Sides:
    """Return the extremes of all rows, on both sides of each node."""
    top = np.full((len(splits.left), 2), -np.inf)
    takers = np.zeros((len(splits.left), 2), dtype=np.int64)
    for row in range(len(splits.rows)):
        for t in range(len(splits.root)):
            if splits.times[row, t] == 0:
                continue
            node = splits.root[t]
            while splits.left[node] >= 0:
                value = np.float64(splits.rows[row, splits.feature[node]])
                side = side_of(splits, node, value)
                for end in range(2):
                    if np.isnan(value) or not (splits.is_decoded[node] or (splits.is_midpoint[node] and end == side)):
                        continue
                    signed = value if end == 0 else -value
                    if signed > top[node, end]:
                        top[node, end], takers[node, end] = signed, 0
                    takers[node, end] += signed == top[node, end]
                node = splits.left[node] if side == 0 else splits.right[node]
    return Sides(top, takers)


@njit(cache=True, nogil=True)
def alone(
    splits: Splits, sides: Sides, rows: IntArray, bound: FloatArray, is_pinned: BoolArray, may_miss: BoolArray
) -> None:
    """Narrow what each row's values can be if nothing else changes: no other row, and so none of its leaves.

    Parameters
    ----------
    sides : Sides
        Of all rows.
    rows : ndarray of int64, shape (n_open,)
    bound : ndarray of float64, shape (n_open, n_columns, 2)
        Upper bounds of each value, and of its negative: narrowed here.
    is_pinned : ndarray of bool, shape (n_open, n_columns)
        Set where the row alone takes an extreme, so that it can have no other value.
    may_miss : ndarray of bool, shape (n_open, n_columns)
        Taken back where a missing value would not go the row's way.
    """
    for i in range(len(rows)):
        row = rows[i]
        for t in range(len(splits.root)):
            if splits.times[row, t] == 0:
                continue
            node = splits.root[t]
            while splits.left[node] >= 0:
                f = splits.feature[node]
                value = np.float64(splits.rows[row, f])
                side = side_of(splits, node, value)
                may_miss[i, f] &= side == (0 if splits.missing_left[node] else 1)
                signed = splits.highest_left[node] if side == 0 else -splits.lowest_right[node]
                bound[i, f, side] = min(bound[i, f, side], signed)
                for end in range(2):
                    if not (splits.is_decoded[node] or (splits.is_midpoint[node] and end == side)):
                        continue
                    top = sides.top[node, end]
                    bound[i, f, end] = min(bound[i, f, end], top)
                    signed = value if end == 0 else -value
                    is_pinned[i, f] |= signed == top and sides.takers[node, end] == 1
                node = splits.left[node] if side == 0 else splits.right[node]
