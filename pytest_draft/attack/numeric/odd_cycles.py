"""Odd cycles of equations: in go sums of pairs of unknowns, out come narrower bounds of each unknown.

Where ``x + y``, ``y + z`` and ``z + x`` are known, so are all three: along equations every unknown is another's or its
negative, plus an offset, and a cycle of an odd number of them says so twice with different signs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.attack.numeric.split_groups import snapped

_ROUNDING = 2.0**-50
"""A share of the numbers that go into a sum, above all that its rounding adds up to."""


@njit(cache=True, nogil=True)
def solve_odd_cycles(one: IntArray, other: IntArray, threshold: FloatArray, bound: FloatArray, is_number: bool) -> None:
    """Narrow the bounds of variables of which pairs add up to twice a threshold, by the odd cycles of the pairs.

    Along equations every variable is its component's root or the root's negative, plus an offset; an odd cycle says so
    twice with different signs. Rounding errors are carried along as half-widths.

    Parameters
    ----------
    one, other : ndarray of int64, shape (n,)
    threshold : ndarray of float64, shape (n,)
        Rounded halves of the sums.
    bound : ndarray of float64, shape (2, n_variables)
        Upper bounds of each variable and its negative; narrowed in place.
    """
    n = bound.shape[1]
    root, sign, offset, error = np.arange(n), np.ones(n), np.zeros(n), np.zeros(n)
    size = np.ones(n, dtype=np.int64)
    for e in range(len(one)):
        _shorten(one[e], root, sign, offset, error)
        _shorten(other[e], root, sign, offset, error)
        u, v = one[e], other[e]
        a, b = root[u], root[v]
        if a == b:
            continue
        if size[a] < size[b]:
            u, v, a, b = v, u, b, a
        # sign_u a + offset_u + sign_v b + offset_v = 2 threshold, solved for b
        rest = 2 * threshold[e] - offset[u] - offset[v]
        size[a] += size[b]
        root[b], sign[b], offset[b] = a, -sign[u] * sign[v], sign[v] * rest
        error[b] = error[u] + error[v] + _ROUNDING * (abs(threshold[e]) + abs(offset[u]) + abs(offset[v]))
    middle, width = np.full(n, np.nan), np.full(n, np.inf)
    for e in range(len(one)):
        u, v = one[e], other[e]
        _shorten(u, root, sign, offset, error)
        _shorten(v, root, sign, offset, error)
        if sign[u] == sign[v] and root[u] == root[v]:
            half = error[u] + error[v] + _ROUNDING * (abs(threshold[e]) + abs(offset[u]) + abs(offset[v]))
            if half < width[root[u]]:
                width[root[u]] = half
                middle[root[u]] = sign[u] * (2 * threshold[e] - offset[u] - offset[v]) / 2
    for u in range(n):
        _shorten(u, root, sign, offset, error)
        if width[root[u]] < np.inf:
            value = sign[u] * middle[root[u]] + offset[u]
            half = width[root[u]] + error[u] + _ROUNDING * (abs(value) + abs(offset[u]))
            bound[0, u] = min(bound[0, u], snapped(value + half, is_number))
            bound[1, u] = min(bound[1, u], snapped(half - value, is_number))


@njit(cache=True, nogil=True)
def _shorten(u: int, root: IntArray, sign: FloatArray, offset: FloatArray, error: FloatArray) -> None:
    """Let a variable refer to its component's root directly."""
    while root[root[u]] != root[u]:
        p = root[u]
        offset[u] += sign[u] * offset[p]
        error[u] += error[p] + _ROUNDING * (abs(offset[u]) + abs(offset[p]))
        sign[u] *= sign[p]
        root[u] = root[p]
