"""The cheapest assignment of rows to columns, compiled; `matching` says what it is for, and whose algorithm it is."""

from __future__ import annotations

import numpy as np

from pytest_draft.arrays import Flag, FloatArray, IntArray
from pytest_draft.compiling import compiled


@compiled
def shortest_paths(cost: FloatArray, stop: Flag) -> IntArray:  # noqa: PLR0912 - compiled as one
    """Give each row in turn a column of its own by a shortest augmenting path; nothing where it was stopped."""
    n_rows, n_columns = cost.shape
    u, v, shortest = np.zeros(n_rows), np.zeros(n_columns), np.empty(n_columns)
    path, row_of = np.full(n_columns, -1), np.full(n_columns, -1)
    column_of = np.full(n_rows, -1)
    left = np.empty(n_columns, np.int64)
    for first in range(n_rows):
        for j in range(n_columns):
            left[j], shortest[j] = n_columns - 1 - j, np.inf
        n_left, least, i, sink = n_columns, 0.0, first, -1
        while sink < 0:
            if stop[0] != 0:
                return column_of[:0]
            place, lowest = 0, np.inf
            for k in range(n_left):
                j = left[k]
                reached = least + cost[i, j] - u[i] - v[j]
                if reached < shortest[j]:
                    path[j], shortest[j] = i, reached
                if shortest[j] < lowest or (shortest[j] == lowest and row_of[j] < 0):
                    lowest, place = shortest[j], k
            least = lowest
            j = left[place]
            if row_of[j] < 0:
                sink = j
            else:
                i = row_of[j]
            n_left -= 1
            left[place], left[n_left] = left[n_left], j
        u[first] += least
        for k in range(n_left, n_columns):
            j = left[k]
            if j != sink:
                u[row_of[j]] += least - shortest[j]
            v[j] -= least - shortest[j]
        j = sink
        while True:
            i = path[j]
            row_of[j] = i
            column_of[i], j = j, column_of[i]
            if i == first:
                break
    return column_of
