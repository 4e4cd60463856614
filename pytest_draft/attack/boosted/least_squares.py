"""Sparse non-negative least squares: few of many columns explain what was observed.

Columns that promise most are added to a pool; inside it an active set is exact (Lawson and Hanson 1974), on the normal
equations, with a Cholesky factor that grows and shrinks by one column at a time. Where the observed is a sum of few
columns with weights of 0 or more, as numbers of rows are, that sum is found again, mostly to the last digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from pytest_draft.arrays import Flag, FloatArray, IntArray
from pytest_draft.compiling import compiled
from pytest_draft.timebox import TimeBox

_ADDED = 80
"""Columns that are added to the pool at once."""

_ROUNDING = 1e-11
"""A column promises nothing whose slope is below this share of the observed."""

_RIDGE = 1e-14
"""Added to the normal equations, as a share of their mean diagonal."""

_MOST_STEPS = 50_000
"""Steps of the active set between two pools."""

_UNITS_PER_ENTRY = 2e-9
"""Measured: of one coefficient in the search for columns that promise most."""


@dataclass(frozen=True, eq=False, repr=False)
class Solved:
    """Weights of columns, most of them 0."""

    weight: FloatArray
    """Shape (n_columns,)."""
    residual: FloatArray
    """Shape (n_equations,). What they leave of the observed."""
    ended: bool
    """Whether the time box ended it."""


def sparse_nonnegative(matrix: sparse.csc_array, observed: FloatArray, timebox: TimeBox) -> Solved:
    """Return the weights of 0 or more with the least sum of squared differences to what was observed.

    Parameters
    ----------
    matrix : csc_array of float64, shape (n_equations, n_columns)
    observed : ndarray of float64, shape (n_equations,)
    """
    transposed, n_columns = matrix.T.tocsr(), matrix.shape[1]
    length = np.sqrt(np.asarray(matrix.power(2).sum(axis=0)).ravel())
    length[length == 0] = 1
    size = float(np.linalg.norm(observed)) or 1.0
    pool, pooled = np.empty(0, dtype=np.int64), np.zeros(n_columns, dtype=bool)
    dense = np.empty((len(observed), 0), order="F")
    gram, weight, active = np.empty((0, 0)), np.empty(0), np.empty(0, dtype=np.int64)
    residual = observed.copy()
    while not timebox.over:
        timebox.spend(_UNITS_PER_ENTRY * matrix.nnz)
        slope = (transposed @ residual) / length
        slope[pooled] = -np.inf
        added = np.argpartition(-slope, min(_ADDED, n_columns - 1))[:_ADDED]
        added = added[slope[added] > _ROUNDING * size]
        if not len(added):
            break
        new = matrix[:, added].toarray()
        across = dense.T @ new
        gram = np.block([[gram, across], [across.T, new.T @ new]])
        dense = np.asfortranarray(np.hstack([dense, new]))
        pool, pooled[added] = np.append(pool, added), True
        weight = np.append(weight, np.zeros(len(added)))
        with timebox.flag() as flag:
            active, steps = _active_set(gram, dense.T @ observed, weight, active, _MOST_STEPS, flag)
        timebox.spend(1e-9 * steps * len(pool) * max(len(active), 1))
        residual = observed - dense[:, active] @ weight[active]
        if np.linalg.norm(residual) <= _ROUNDING * size:
            break
    ended = timebox.over
    active = _without_negative(dense, observed, weight, active)
    result = np.zeros(n_columns)
    result[pool] = weight
    return Solved(result, observed - dense[:, active] @ weight[active], ended)


def _without_negative(dense: FloatArray, observed: FloatArray, weight: FloatArray, active: IntArray) -> IntArray:
    """Solve once more, from the columns themselves, which is twice as exact as from the normal equations; in place."""
    while len(active):
        exact = linalg.lstsq(dense[:, active], observed, lapack_driver="gelsy")[0]
        if (exact >= 0).all():
            weight[:] = 0
            weight[active] = exact
            break
        small = exact < 0
        if (weight[active][small] > np.sqrt(_ROUNDING) * weight.max()).any():
            break
        active = active[~small]
    return active


@compiled
def _active_set(  # noqa: PLR0912
    gram: FloatArray, target: FloatArray, weight: FloatArray, active: IntArray, most: int, ended: Flag
) -> tuple[IntArray, int]:  # pragma: no cover - compiled
    """Solve the normal equations over weights of 0 or more; changes `weight` in place, and starts from it.

    Parameters
    ----------
    gram : ndarray of float64, shape (n, n)
    target, weight : ndarray of float64, shape (n,)
    active : ndarray of int64
        The columns with weights above 0.

    Returns
    -------
    ndarray of int64, int
        The columns with weights above 0 now, and the number of steps.
    """
    n = len(target)
    trace = 0.0
    for i in range(n):
        trace += gram[i, i]
    ridge = _RIDGE * trace / n
    order, factor = np.empty(n, dtype=np.int64), np.zeros((n, n))
    is_active, blocked = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    size, steps, least = 0, 0, 1e-13 * np.abs(target).max()
    for k in active:
        if _append(gram, ridge, order, factor, size, k):
            size += 1
            is_active[k] = True
        else:
            weight[k] = 0.0
    first = True
    while True:
        if not first:
            best, chosen = 0.0, -1
            for k in range(n):
                if is_active[k] or blocked[k]:
                    continue
                slope = target[k]
                for i in range(size):
                    slope -= gram[k, order[i]] * weight[order[i]]
                slope /= np.sqrt(gram[k, k])
                if slope > best:
                    best, chosen = slope, k
            if chosen < 0 or best <= least or steps >= most or ended[0]:
                break
            if not _append(gram, ridge, order, factor, size, chosen):
                blocked[chosen] = True
                continue
            is_active[chosen] = True
            size += 1
        first = False
        while size:
            steps += 1
            found = _solved(factor, target, order, size)
            alpha = 1.0
            for i in range(size):
                if found[i] <= 0.0:
                    before = weight[order[i]]
                    alpha = min(alpha, before / (before - found[i]) if before > found[i] else 0.0)
            if alpha >= 1.0:
                for i in range(size):
                    weight[order[i]] = found[i]
                break
            for i in range(size - 1, -1, -1):
                k = order[i]
                weight[k] += alpha * (found[i] - weight[k])
                if found[i] <= 0.0 and weight[k] <= 1e-13:
                    weight[k] = 0.0
                    is_active[k] = False
                    _remove(order, factor, size, i)
                    size -= 1
            for k in range(n):
                blocked[k] = False
    return np.sort(order[:size]), steps


@compiled
def _append(
    gram: FloatArray, ridge: float, order: IntArray, factor: FloatArray, size: int, k: int
) -> bool:  # pragma: no cover - compiled
    """Let the Cholesky factor grow by a column; False where that depends on the others."""
    left = gram[k, k] + ridge
    for i in range(size):
        value = gram[k, order[i]]
        for j in range(i):
            value -= factor[i, j] * factor[size, j]
        value /= factor[i, i]
        factor[size, i] = value
        left -= value * value
    if left <= 4 * ridge:
        return False
    factor[size, size] = np.sqrt(left)
    order[size] = k
    return True


@compiled
def _remove(order: IntArray, factor: FloatArray, size: int, place: int) -> None:  # pragma: no cover - compiled
    """Let the Cholesky factor shrink by a column, and turn what is left into a triangle again."""
    for i in range(place, size - 1):
        order[i] = order[i + 1]
        for j in range(i + 2):
            factor[i, j] = factor[i + 1, j]
    for j in range(place, size - 1):
        a, b = factor[j, j], factor[j, j + 1]
        radius = np.hypot(a, b)
        cosine, sine = a / radius, b / radius
        for i in range(j, size - 1):
            a, b = factor[i, j], factor[i, j + 1]
            factor[i, j] = cosine * a + sine * b
            factor[i, j + 1] = cosine * b - sine * a


@compiled
def _solved(
    factor: FloatArray, target: FloatArray, order: IntArray, size: int
) -> NDArray[np.float64]:  # pragma: no cover - compiled
    """Solve with the Cholesky factor, shape (size,)."""
    found = np.empty(size)
    for i in range(size):
        value = target[order[i]]
        for j in range(i):
            value -= factor[i, j] * found[j]
        found[i] = value / factor[i, i]
    for i in range(size - 1, -1, -1):
        found[i] /= factor[i, i]
        for j in range(i):
            found[j] -= factor[i, j] * found[i]
    return found
