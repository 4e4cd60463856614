"""Sparse non-negative least squares: few of many columns explain what was observed.

Those that have a weight and those that promise most are solved exactly (Lawson and Hanson 1974, SciPy's), until no
other promises anything. Where the observed is a sum of few columns with weights of 0 or more, as numbers of rows are,
that sum is found again, mostly to the last digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, sparse

from pytest_draft.arrays import FloatArray
from pytest_draft.timebox import TimeBox

_ADDED = 80
"""Columns that are added at once, or as many as have a weight."""

_NOTHING, _SOLVED = 1e-13, 1e-11
"""A slope that promises nothing, and what is left of a sum that was found: shares of the observed."""

_UNITS_PER_ENTRY, _UNITS_PER_STEP = 2e-9, 5e-10
"""Measured: of one coefficient in the search for columns that promise most, and in a step for one column of these."""


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
    weight, residual = np.zeros(n_columns), observed.copy()
    while not timebox.over:
        timebox.spend(_UNITS_PER_ENTRY * matrix.nnz)
        slope = (transposed @ residual) / length
        active = np.flatnonzero(weight)
        slope[active] = -np.inf
        number = max(_ADDED, len(active))
        added = np.argpartition(-slope, min(number, n_columns - 1))[:number]
        added = added[slope[added] > _NOTHING * size]
        if not len(added):
            break
        pool = np.append(active, added)
        units = _UNITS_PER_STEP * len(pool) ** 2 * len(observed)
        if not timebox.allows(units) or units > timebox.remaining:  # SciPy does not look at the clock
            return Solved(weight, residual, True)
        timebox.spend(units)
        dense, before = matrix[:, pool].toarray(), np.linalg.norm(residual)
        weight[pool], left = optimize.nnls(dense, observed, maxiter=100 * len(pool))
        residual = observed - dense @ weight[pool]
        if left <= _SOLVED * size or left >= before:
            break
    return Solved(weight, residual, timebox.over)
