"""What midpoint thresholds tell of a row when all other rows are known, but not which of them each tree drew: `Ends`.

A best split's threshold is the middle of two values of the rows that were drawn (`pytest_draft.attack.best_splits`).
Without the draws, any two values of a node with this middle may be the two: all rows in between were left out then,
which is the less likely the more they are. Whoever knows the draws knows which two. So all that are likely enough are
taken to be known: a row that may be an end alone has no other value, and all others reach to the nearest end at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.attack.informed.splits import ROUNDING, Splits, side_of
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled


@redacted
class Ends(NamedTuple):
    """Values on both sides of nodes that may be those next to the threshold."""

    splits: Splits
    first: IntArray
    """Shape (2 * n_nodes + 1,). Where the values of each node's left side begin, and of its right side."""
    value: FloatArray
    """Shape (n_ends,). Descending on each side; on the right side negated."""
    alone: BoolArray
    """Shape (n_ends,). Whether one row alone may have been drawn of those that have it."""

    @property
    def found(self) -> BoolArray:
        """Whether any two values explain a node's threshold, shape (n_nodes,)."""
        return self.first[2::2] > self.first[:-1:2]

    def narrow(self, rows: IntArray, bound: FloatArray, is_pinned: BoolArray) -> BoolArray:
        """Narrow what values can be, as `alone` does; return which are an end, shape (n_rows, n_columns)."""
        is_end = np.zeros_like(is_pinned)
        _narrow(self.splits, self.first, self.value, self.alone, rows, bound, is_pinned, is_end)
        return is_end


def possible_ends(splits: Splits, asked: BoolArray, left_out: int) -> Ends:
    """Return the values that may be those next to the thresholds of some nodes.

    Parameters
    ----------
    splits : Splits
        With all rows.
    asked : ndarray of bool, shape (n_nodes,)
        Inner nodes.
    left_out : int
        As many rows of a node may have been left out by a tree's draws, and no more.
    """
    return Ends(splits, *_possible_ends(splits, asked, left_out))


@compiled
def _possible_ends(splits, asked, left_out):  # type: ignore[no-untyped-def]
    """Return `Ends.first`, `Ends.value` and `Ends.alone`."""
    n_nodes, n_rows = len(splits.left), splits.columns.shape[1]
    start, stop, first = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64), np.zeros(2 * n_nodes + 1, np.int64)
    start[splits.root], stop[splits.root] = np.arange(len(splits.root)) * n_rows, n_rows
    stop[splits.root] += start[splits.root]
    order, side = np.arange(len(splits.root) * n_rows) % n_rows, np.empty(n_rows, np.int64)
    values, is_alone = [0.0 for _ in range(0)], [False for _ in range(0)]
    for node in range(n_nodes):
        here, column = order[start[node] : stop[node]], splits.feature[node]
        if splits.left[node] >= 0:
            for i in range(len(here)):
                side[i] = side_of(splits, node, np.float64(splits.columns[column, here[i]]))
            goes_left = side[: len(here)] == 0
            here[:] = np.concatenate((here[goes_left], here[~goes_left]))
            left, right, middle = splits.left[node], splits.right[node], start[node] + goes_left.sum()
            start[left], stop[left], start[right], stop[right] = start[node], middle, middle, stop[node]
            if asked[node]:
                value = splits.columns[column][here].astype(np.float64)
                low, high = value[: middle - start[node]], value[middle - start[node] :]
                low, high = -np.sort(-low[~np.isnan(low)]), -np.sort(high[~np.isnan(high)])
                _add(low, high, splits.threshold[node], left_out, values, is_alone)
                first[2 * node + 1] = len(values)
                _add(high, low, -splits.threshold[node], left_out, values, is_alone)
        first[2 * node + 1] = max(first[2 * node + 1], first[2 * node])
        first[2 * node + 2] = len(values)
    return first, np.array(values), np.array(is_alone)


@compiled
def _add(near, other, threshold, left_out, values, is_alone):  # type: ignore[no-untyped-def]
    """Add the values of one side that have a partner on the other; from the threshold outwards, both descending."""
    for i in range(min(len(near), left_out + 1)):
        for j in range(min(len(other), left_out + 1 - i)):
            again = (i > 0 and near[i] == near[i - 1]) or (j > 0 and other[j] == other[j - 1])
            off = abs(near[i] / 2 - other[j] / 2 - threshold)
            if not again and off <= ROUNDING * max(abs(near[i]), abs(other[j])):
                beyond = left_out - j + 1  # so many of its like, and of those nearer, cannot all have been left out
                values.append(near[i])
                is_alone.append(beyond >= len(near) or near[beyond] < near[i])
                break


@compiled
def _narrow(splits, first, value, is_alone, rows, bound, is_pinned, is_end):  # type: ignore[no-untyped-def]
    """Narrow bounds to the nearest end of each node that a row goes through."""
    for i in range(len(rows)):
        for t in range(len(splits.root)):
            node = splits.root[t]
            while splits.left[node] >= 0:
                f = splits.feature[node]
                own = np.float64(splits.columns[f, rows[i]])
                side = side_of(splits, node, own)
                signed = own if side == 0 else -own
                for place in range(first[2 * node + side + 1] - 1, first[2 * node + side] - 1, -1):
                    if value[place] >= signed:
                        bound[i, f, side] = min(bound[i, f, side], value[place])
                        is_end[i, f] |= value[place] == signed
                        is_pinned[i, f] |= value[place] == signed and is_alone[place]
                        break
                node = splits.left[node] if side == 0 else splits.right[node]
