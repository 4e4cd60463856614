"""Which seeds can explain the draws of trees: drops those that the file contradicts."""

from __future__ import annotations

import numpy as np
from numba import njit

from pytest_draft.attack.mersenne import LENGTH, below, seeded


@njit(cache=True, nogil=True)
def explain_roots(states, root, n_columns, n_drawn, constant, random):  # type: ignore[no-untyped-def]
    """Return which first states of a splitter's generator draw the column of a root, shape (n_states,).

    Parameters
    ----------
    states : ndarray of uint32, shape (n_states,)
    root : int
        The column.
    n_columns, n_drawn : int
        All columns, and ``max_features`` of them.
    constant : ndarray of bool, shape (n_columns,)
        Columns that do not vary: they are drawn, but never split on, and at least one other is drawn.
    random : bool
        Whether a threshold is drawn after each column.
    """
    order, moved = np.arange(n_columns), np.empty(2 * n_columns, np.int64)
    found = np.zeros(len(states), np.bool_)
    for entry in range(len(states)):
        state = np.uint32(max(states[entry], np.uint32(1)))
        f_i, constants, visited, n_moved = n_columns, 0, 0, 0
        while f_i > constants and (visited < n_drawn or visited <= constants):
            visited += 1
            state ^= np.uint32(state << np.uint32(13))
            state ^= np.uint32(state >> np.uint32(17))
            state ^= np.uint32(state << np.uint32(5))
            place = np.int64(state & np.uint32(0x7FFFFFFF)) % (f_i - constants) + constants
            column = order[place]
            if constant[column]:
                other = constants
                constants += 1
            else:
                if column == root:
                    found[entry] = True
                    break
                f_i -= 1
                other = f_i
                if random:
                    state ^= np.uint32(state << np.uint32(13))
                    state ^= np.uint32(state >> np.uint32(17))
                    state ^= np.uint32(state << np.uint32(5))
            order[place], order[other] = order[other], order[place]
            moved[n_moved], moved[n_moved + 1] = place, other
            n_moved += 2
        for entry_moved in range(n_moved):
            order[moved[entry_moved]] = moved[entry_moved]
    return found


@njit(cache=True, nogil=True)
def explain_columns(seeds, tested, n_drawn, replacement):  # type: ignore[no-untyped-def]
    """Return which numbers draw all columns that each tree of a bagging ensemble tests, shape (n_numbers,).

    Parameters
    ----------
    seeds : ndarray of uint32, shape (n_trees, n_numbers)
    tested : ndarray of bool, shape (at least n_trees, n_columns)
    n_drawn : int
    replacement : bool
        Else they are the first of a permutation.
    """
    n_trees, n_numbers = seeds.shape
    n_columns = tested.shape[1]
    key, order = np.empty(LENGTH, np.uint32), np.empty(n_columns, np.int64)
    drawn = np.empty(n_columns, np.bool_)
    found = np.ones(n_numbers, np.bool_)
    for number in range(n_numbers):
        for tree in range(n_trees):
            seeded(key, seeds[tree, number])
            place = 0
            drawn[:] = False
            if replacement:
                for _ in range(n_drawn):
                    column, place = below(key, place, n_columns)
                    drawn[column] = True
            else:
                for column in range(n_columns):
                    order[column] = column
                for last in range(n_columns - 1, 0, -1):
                    other, place = below(key, place, last + 1)
                    order[last], order[other] = order[other], order[last]
                for rank in range(n_drawn):
                    drawn[order[rank]] = True
            for column in range(n_columns):
                if tested[tree, column] and not drawn[column]:
                    found[number] = False
                    break
            if not found[number]:
                break
    return found


@njit(cache=True, nogil=True)
def explain_sizes(seeds, sizes, n_rows, n_draws):  # type: ignore[no-untyped-def]
    """Return which numbers draw as many different rows as each tree saw, shape (n_numbers,).

    Parameters
    ----------
    seeds : ndarray of uint32, shape (n_trees, n_numbers)
    sizes : ndarray of int64, shape (at least n_trees,)
    n_rows, n_draws : int
    """
    n_trees, n_numbers = seeds.shape
    key, seen = np.empty(LENGTH, np.uint32), np.full(n_rows, -1, np.int64)
    found = np.ones(n_numbers, np.bool_)
    stamp = 0
    for number in range(n_numbers):
        for tree in range(n_trees):
            seeded(key, seeds[tree, number])
            place, size = 0, 0
            stamp += 1
            for _ in range(n_draws):
                row, place = below(key, place, n_rows)
                if seen[row] != stamp:
                    seen[row] = stamp
                    size += 1
            if size != sizes[tree]:
                found[number] = False
                break
    return found
