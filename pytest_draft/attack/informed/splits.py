"""What midpoint thresholds imply for a few open rows when all other rows are known: bounds of their values.

A best split's threshold is ``a / 2 + b / 2``, with ``a`` the largest value of the node's rows on the left and ``b`` the
smallest on the right. Where the other rows are fixed, a row that alone takes an extreme can have no other value, and
all others may go up to it. So it is with the least and the greatest value of a node whose random threshold was decoded
(`pytest_draft.attack.numeric.extremes`). Columns that may miss values are left out where several rows are open at once.

Source: ``sklearn.tree._splitter`` (``node_split_best``), 1.3 to 1.9.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.attack.numeric.states import midpoints_of
from pytest_draft.attack.redacted import redacted
from pytest_draft.domain import Domain

_SLACK = 2.0**-50
"""Of halves and sums in float64, relative."""

_ROUNDING = 2.0**-22
"""Of values in single precision that were brought to another column's scale, relative."""

_MOST_PASSES = 50
"""Bounds are not narrowed more often than so: what is left over makes them wider."""


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
    """Shape (n_nodes,). Whether the threshold is the midpoint of values that are not just two."""
    is_decoded: BoolArray
    """Shape (n_nodes,). Whether the least and the greatest value of the tested column are known, of a threshold that
    was
    drawn.
    """
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
    *,
    draws_known: bool = True,
) -> Splits | None:
    """Return the splits of a forest; None where rows contradict what thresholds say besides counts.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    times : ndarray of int64, shape (n_trees, n_rows)
    extremes : Extremes or None
        Of the nodes of random splits.
    draws_known : bool
        Whether these are the rows that each tree drew; else thresholds say nothing of them besides counts.
    """
    many = np.zeros(domain.n_columns, dtype=np.bool_)
    many[domain.columns_of(tested_ordered(forest, domain))] = True
    trees = forest.trees
    root = np.cumsum([0, *(tree.n_nodes for tree in trees)])[:-1]
    left, right = (
        np.concatenate([getattr(tree, side) + first for tree, first in zip(trees, root, strict=True)])
        for side in ("left", "right")
    )
    feature, threshold = (np.concatenate([getattr(tree, name) for tree in trees]) for name in ("feature", "threshold"))
    threshold = threshold.astype(np.float64)
    inner = np.concatenate([tree.left >= 0 for tree in trees])
    single = threshold.astype(np.float32)
    highest_left = np.where(single > threshold, np.nextafter(single, np.float32(-np.inf)), single)
    low, high = (np.full(len(left), np.nan) for _ in range(2))
    if extremes is not None:
        low, high = np.concatenate(extremes.low), np.concatenate(extremes.high)
    splits = Splits(
        root,
        np.where(inner, left, -1),
        np.where(inner, right, -1),
        np.where(inner, feature, -1),
        threshold,
        np.concatenate([tree.missing_left for tree in trees]),
        highest_left.astype(np.float64),
        np.nextafter(highest_left, np.float32(np.inf)).astype(np.float64),
        draws_known & np.concatenate(midpoints_of(forest)) & many[feature],
        inner & ~np.isnan(low) & ~np.isnan(high),
        np.ascontiguousarray(rows),
        np.ascontiguousarray(times.T),
    )
    tops = sides_of(splits, np.zeros(len(rows), dtype=np.bool_)).top
    here, there = splits.is_midpoint, splits.is_decoded
    # A column that stands for one that repeats it has that one's thresholds, on its own scale but for rounding.
    apart = np.abs(tops[here, 0] / 2 - tops[here, 1] / 2 - threshold[here])
    wrong = not (apart <= _ROUNDING * np.abs(tops[here]).max(axis=1, initial=0.0)).all()
    wrong |= (tops[there, 0] != high[there]).any() or (-tops[there, 1] != low[there]).any()
    return None if wrong else splits


@njit(cache=True, nogil=True, inline="always")
def _side(splits: Splits, node: int, value: float) -> int:
    """Return 0 where a value goes left, 1 where it goes right."""
    if np.isnan(value):
        return 0 if splits.missing_left[node] else 1
    return 0 if value <= splits.threshold[node] else 1


@njit(cache=True, nogil=True)
def sides_of(splits: Splits, left_out: BoolArray) -> Sides:
    """Return the extremes of all rows but some, on both sides of each node."""
    top = np.full((len(splits.left), 2), -np.inf)
    takers = np.zeros((len(splits.left), 2), dtype=np.int64)
    for row in range(len(splits.rows)):
        if left_out[row]:
            continue
        for t in range(len(splits.root)):
            if splits.times[row, t] == 0:
                continue
            node = splits.root[t]
            while splits.left[node] >= 0:
                value = np.float64(splits.rows[row, splits.feature[node]])
                side = _side(splits, node, value)
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
                side = _side(splits, node, value)
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


def narrow_block(splits: Splits, block: IntArray, skipped: BoolArray, bound: FloatArray) -> None:
    """Narrow what the values of a block's rows can be, all at once, if each stays in its leaves.

    Parameters
    ----------
    block : ndarray of int64, shape (n_block,)
    skipped : ndarray of bool, shape (n_columns,)
        Columns of which nothing is narrowed.
    bound : ndarray of float64, shape (n_block, n_columns, 2)
        Upper bounds of each value, and of its negative: narrowed here, at first to the leaves.
    """
    left_out = np.zeros(len(splits.rows), dtype=np.bool_)
    left_out[block] = True
    node, side, row = _visits(splits, block, skipped, bound)
    order = np.argsort(node, kind="stable")
    _narrow_all(splits, sides_of(splits, left_out).top, node[order], side[order], row[order], bound)


@njit(cache=True, nogil=True)
def _narrow_all(  # noqa: PLR0912
    splits: Splits, others: FloatArray, node_of: IntArray, side_of: IntArray, row_of: IntArray, bound: FloatArray
) -> None:
    """Narrow bounds by each midpoint in turn, until nothing changes; `others` are the extremes of all other rows."""
    reach, floor = np.empty(2), np.empty(2)
    for _ in range(_MOST_PASSES):
        changed, start = False, 0
        while start < len(node_of):
            node, end = node_of[start], start
            while end < len(node_of) and node_of[end] == node:
                end += 1
            f, twice = splits.feature[node], 2 * splits.threshold[node]
            for side in range(2):  # between what bounds each extreme is
                reach[side] = floor[side] = others[node, side]
                for e in range(start, end):
                    if side_of[e] == side:
                        reach[side] = max(reach[side], bound[row_of[e], f, side])
                        floor[side] = max(floor[side], -bound[row_of[e], f, 1 - side])
            for side in range(2):
                # The extremes with their signs, left a and right -b: a - (-b) = twice the threshold.
                total = twice if side == 0 else -twice
                slack = _SLACK * (abs(twice) + abs(reach[1 - side]))
                reach[side] = min(reach[side], total + reach[1 - side] + slack)
                floor[side] = max(floor[side], total + floor[1 - side] - slack)
            for side in range(2):
                able, last = 0, -1
                for e in range(start, end):
                    if side_of[e] != side:
                        continue
                    i = row_of[e]
                    if bound[i, f, side] > reach[side]:
                        bound[i, f, side] = reach[side]
                        changed = True
                    if bound[i, f, side] >= floor[side]:
                        able, last = able + 1, i
                if able == 1 and others[node, side] < floor[side] and bound[last, f, 1 - side] > -floor[side]:
                    bound[last, f, 1 - side] = -floor[side]
                    changed = True
            start = end
        if not changed:
            break


@njit(cache=True, nogil=True)
def _visits(
    splits: Splits, block: IntArray, skipped: BoolArray, bound: FloatArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return where rows of a block go through midpoints: node, side and row; narrow them to their leaves."""
    most = 0
    for i in range(len(block)):
        for t in range(len(splits.root)):
            node = splits.root[t]
            while splits.left[node] >= 0:
                value = np.float64(splits.rows[block[i], splits.feature[node]])
                node = splits.left[node] if _side(splits, node, value) == 0 else splits.right[node]
                most += 1
    found = np.empty((3, most), dtype=np.int64)
    n = 0
    for i in range(len(block)):
        for t in range(len(splits.root)):
            if splits.times[block[i], t] == 0:
                continue
            node = splits.root[t]
            while splits.left[node] >= 0:
                f = splits.feature[node]
                side = _side(splits, node, np.float64(splits.rows[block[i], f]))
                if splits.is_midpoint[node] and not skipped[f]:
                    signed = splits.threshold[node] if side == 0 else -splits.threshold[node]
                    bound[i, f, side] = min(bound[i, f, side], signed)
                    found[0, n], found[1, n], found[2, n] = node, side, i
                    n += 1
                node = splits.left[node] if side == 0 else splits.right[node]
    return found[0, :n], found[1, :n], found[2, :n]
