"""NumPy's Mersenne Twister in compiled code: in go seeds, out come the first numbers that `RandomState` draws.

Seeding is nearly all of the work, and is done for many seeds side by side. The rules are those of NumPy's
``mt19937_seed`` and of ``RandomState.randint`` (masked rejection), whose streams never change.
"""

from __future__ import annotations

import numpy as np
from numba import njit

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


@njit(cache=True, nogil=True, inline="always")
def _tempered(low, next_low, far):  # type: ignore[no-untyped-def]
    """Return the number that is drawn from two neighbours in a state and the one `_MIDDLE` ahead."""
    mixed = (low & _UPPER) | (next_low & _LOWER)
    drawn = far ^ (mixed >> _1) ^ ((mixed & _1) * _TWIST)
    drawn = np.uint32(drawn)
    drawn ^= drawn >> _11
    drawn ^= (drawn << _7) & _B
    drawn ^= (drawn << _15) & _C
    return np.uint32(drawn ^ (drawn >> _18))


@njit(cache=True, nogil=True)
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
                value = _tempered(key[number, lane], key[number + 1, lane], key[number + _MIDDLE, lane])
                drawn[number, start + lane] = value & _LOWER


@njit(cache=True, nogil=True)
def seeded(key, seed):  # type: ignore[no-untyped-def]
    """Fill a state, shape (`LENGTH`,) of uint32, from a seed."""
    key[0] = seed
    for place in range(1, LENGTH):
        before = key[place - 1]
        key[place] = np.uint32(_MULTIPLIER * (before ^ (before >> _30)) + np.uint32(place))


@njit(cache=True, nogil=True)
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
