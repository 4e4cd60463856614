"""Which seeds can explain the draws of trees: drops those that the file contradicts.

With NumPy's Mersenne Twister in compiled code. Seeding is nearly all of the work, and is done for many seeds side by
side. The rules are those of NumPy's ``mt19937_seed`` and of ``RandomState.randint`` (masked rejection), whose streams
never change.
"""

from __future__ import annotations

import numpy as np

from pytest_draft.compiling import compiled

LENGTH = 624
"""Numbers in a state; the first `AHEAD` of the numbers drawn follow from the seeded state alone."""

_MIDDLE = 397
AHEAD = LENGTH - _MIDDLE
_LANES = 128
"""So many that the compiler does several at once; of 32 it does one after the other."""

_MULTIPLIER = np.uint32(1812433253)
_UPPER, _LOWER, _TWIST = np.uint32(0x80000000), np.uint32(0x7FFFFFFF), np.uint32(0x9908B0DF)
_B, _C = np.uint32(0x9D2C5680), np.uint32(0xEFC60000)
_1, _7, _11, _15, _18, _30 = (np.uint32(shift) for shift in (1, 7, 11, 15, 18, 30))


@compiled
def draw_ahead(seeds, drawn):  # type: ignore[no-untyped-def]
    """Draw numbers below 2^31 - 1 from each of many seeds.

    The one of 2^31 numbers that `RandomState` would draw anew is not: it is given as 2^31 - 1.

    Parameters
    ----------
    seeds : ndarray of uint32, shape (n_seeds,)
    drawn : ndarray of uint32, shape (n_numbers, n_seeds)
        Written to; at most `AHEAD` numbers.
    """
    n_numbers, n_seeds = drawn.shape
    key = np.empty((_MIDDLE + n_numbers, _LANES), np.uint32)
    for start in range(0, n_seeds, _LANES):
        width = min(_LANES, n_seeds - start)
        for lane in range(_LANES):
            key[0, lane] = seeds[start + min(lane, width - 1)]
        for place in range(1, len(key)):
            source, target, step = key[place - 1], key[place], np.uint32(place)
            for lane in range(_LANES):
                before = source[lane]
                target[lane] = np.uint32(np.uint32(_MULTIPLIER * (before ^ (before >> _30))) + step)
        for number in range(n_numbers):
            for lane in range(width):
                mixed = (key[number, lane] & _UPPER) | (key[number + 1, lane] & _LOWER)
                value = np.uint32(key[number + _MIDDLE, lane] ^ (mixed >> _1) ^ ((mixed & _1) * _TWIST))
                value ^= value >> _11
                value ^= (value << _7) & _B
                value ^= (value << _15) & _C
                drawn[number, start + lane] = (value ^ (value >> _18)) & _LOWER


@compiled
def seeded(key, seed):  # type: ignore[no-untyped-def]
    """Fill a state, shape (`LENGTH`,) of uint32, from a seed."""
    key[0] = seed
    for place in range(1, LENGTH):
        before = key[place - 1]
        key[place] = np.uint32(_MULTIPLIER * (before ^ (before >> _30)) + np.uint32(place))


@compiled
def below(key, place, limit):  # type: ignore[no-untyped-def]
    """Draw a number below a limit from a state.

    Parameters
    ----------
    key : ndarray of uint32, shape (`LENGTH`,)
        Written to: numbers that were drawn from it make room for those of the next round.
    place : int
        How many numbers were drawn of this round.
    limit : int

    Returns
    -------
    number, place : int
    """
    mask = limit - 1
    if mask == 0:
        return 0, place
    mask |= mask >> 1
    mask |= mask >> 2
    mask |= mask >> 4
    mask |= mask >> 8
    mask |= mask >> 16
    while True:
        if place == LENGTH:
            place = 0
        # A place's next state is made when it is drawn from: the places before it are of the next round by then.
        following, far = key[(place + 1) % LENGTH], key[(place + _MIDDLE) % LENGTH]
        low = key[place]
        mixed = (low & _UPPER) | (following & _LOWER)
        value = np.uint32(far ^ (mixed >> _1) ^ ((mixed & _1) * _TWIST))
        key[place] = value
        value ^= value >> _11
        value ^= (value << _7) & _B
        value ^= (value << _15) & _C
        value ^= value >> _18
        place += 1
        number = np.int64(value) & mask
        if number < limit:
            return number, place


def seeds_of(random_state: int, n_trees: int) -> list[int]:
    """Return the seeds that scikit-learn's ensembles draw for their trees from a number."""
    drawn: list[int] = np.random.RandomState(random_state).randint(np.iinfo(np.int32).max, size=n_trees).tolist()
    return drawn


@compiled
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


@compiled
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


@compiled
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
