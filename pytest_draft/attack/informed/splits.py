"""What midpoint thresholds imply for one row when all other rows are known: bounds of its values.

A best split's threshold is the midpoint of the extremes on both its sides (`pytest_draft.attack.best_splits`). Where
the other rows are fixed, a row that alone takes an extreme can have no other value, and all others may go up to it. So
it is with the least and the greatest value of a node whose random threshold was decoded
(`pytest_draft.attack.numeric.extremes`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.nodes import ForestNodes
from pytest_draft.attack.best_splits import float32_at_most, midpoints_of, off_middle
from pytest_draft.attack.descent import SentDown, sent_down
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled, inlined
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
    columns: Rows
    """Shape (n_columns, n_rows)."""
    times: IntArray
    """Shape (n_trees, n_rows)."""


def tested_ordered(forest: Forest, domain: Domain) -> list[int]:
    """Return the attributes of which thresholds reveal more than counts, if any tree tests one of them.

    They are one column of more than two values, or with missing ones.
    """
    ordered = [
        a
        for a, made in enumerate(domain.attributes)
        if made.kind == "numeric" or (made.kind != "one-hot" and (made.missing or len(made.book) > 2))
    ]
    tested = np.zeros(domain.n_columns + 1, dtype=bool)  # the last stands for leaves
    for tree in forest.trees:
        tested[tree.feature] = True
    return ordered if np.isin(domain.attribute_of_column[tested[:-1]], ordered).any() else []


def all_splits(forest: Forest, columns: Rows, times: IntArray, extremes: Extremes | None) -> Splits:
    """Return the splits of a forest, whether or not the rows explain them.

    Parameters
    ----------
    columns : ndarray of float32, shape (n_columns, n_rows)
        C-contiguous, as are `times`.
    times : ndarray of int64, shape (n_trees, n_rows)
    extremes : Extremes or None
        Of the nodes of random splits.
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
        columns,
        times,
    )


def of_tree(forest: Forest, tree: int, extremes: Extremes | None) -> tuple[Forest, Extremes | None]:
    """Return one tree of a forest as one by itself, for `all_splits`, and the extremes of its nodes."""
    if extremes is not None:
        extremes = replace(extremes, low=extremes.low[tree : tree + 1], high=extremes.high[tree : tree + 1])
    return replace(forest, trees=forest.trees[tree : tree + 1]), extremes


def sent_through(tree: Tree, splits: Splits) -> SentDown:
    """Send the rows that one tree saw down, past its splits.

    Parameters
    ----------
    splits : Splits
        Of this tree alone.
    """
    seen = np.flatnonzero(splits.times[0])
    return sent_down(tree, splits.columns, seen, splits.is_midpoint & ~splits.is_decoded, splits.is_decoded)


def missed_by(splits: Splits, top: FloatArray) -> FloatArray:
    """Return how far each node's rows are from having its midpoint or its decoded extremes, shape (n_nodes,).

    Not finite where no rows with a value are on one side; NaN where the threshold says no more than who went where.

    Parameters
    ----------
    top : ndarray of float64, shape (n_nodes, 2)
        As in `SentDown`.
    """
    with np.errstate(invalid="ignore"):
        off_decoded = np.abs(top - splits.decoded).max(axis=1, initial=0.0)
        return np.where(splits.is_midpoint, off_middle(top[:, 0], -top[:, 1], splits.threshold), off_decoded)


@inlined
def side_of(splits: Splits, node: int, value: float) -> int:
    """Return 0 where a value goes left, 1 where it goes right."""
    if np.isnan(value):
        return 0 if splits.missing_left[node] else 1
    return 0 if value <= splits.threshold[node] else 1


@compiled
def alone(
    splits: Splits,
    top_of: FloatArray,
    takers: IntArray,
    rows: IntArray,
    bound: FloatArray,
    is_pinned: BoolArray,
    may_miss: BoolArray,
) -> None:
    """Narrow what each row's values can be if nothing else changes: no other row, and so none of its leaves.

    Parameters
    ----------
    top_of, takers : ndarray, shape (n_nodes, 2)
        As in `SentDown`, of all rows.
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
            if splits.times[t, row] == 0:
                continue
            node = splits.root[t]
            while splits.left[node] >= 0:
                f = splits.feature[node]
                value = np.float64(splits.columns[f, row])
                side = side_of(splits, node, value)
                may_miss[i, f] &= side == (0 if splits.missing_left[node] else 1)
                signed = splits.highest_left[node] if side == 0 else -splits.lowest_right[node]
                bound[i, f, side] = min(bound[i, f, side], signed)
                for end in range(2):
                    if not (splits.is_decoded[node] or (splits.is_midpoint[node] and end == side)):
                        continue
                    top = top_of[node, end]
                    bound[i, f, end] = min(bound[i, f, end], top)
                    signed = value if end == 0 else -value
                    is_pinned[i, f] |= signed == top and takers[node, end] == 1
                node = splits.left[node] if side == 0 else splits.right[node]
