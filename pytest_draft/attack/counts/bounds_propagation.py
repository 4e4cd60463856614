"""Bounds propagation: in go equations and bounds, out come the tightest bounds that each equation alone implies.

Everything that this module concludes is proved: a column whose bounds meet has the same value in every
solution, and `InfeasibleError` means that there is none.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from pytest_draft.arrays import IntArray
from pytest_draft.attack.system import System
from pytest_draft.errors import InfeasibleError, OutOfTimeError
from pytest_draft.timebox import TimeBox

_COMPACT_ABOVE = 0.1
"""Share of columns that must be fixed before they leave the matrix, which has to be made anew for that."""


def propagate_bounds(system: System, upper: IntArray, timebox: TimeBox) -> tuple[IntArray, IntArray]:
    """Tighten ``0 <= h <= upper`` by each equation in turn until nothing changes.

    For an equation ``sum_j a_j h_j = b`` with whole ``a_j > 0``, each term leaves to the others at least what
    they need and at most what they can take: ``h_j <= l_j + (b - sum a l) / a_j`` and
    ``h_j >= u_j - (sum a u - b) / a_j``, both rounded towards the inside.

    Parameters
    ----------
    system : System
        Every column in at least one equation.
    upper : ndarray of int64, shape (n_candidates,)

    Returns
    -------
    lower, upper : ndarray of int64, shape (n_candidates,)

    Raises
    ------
    InfeasibleError
        The equations contradict each other.
    OutOfTimeError
    """
    lower, upper = np.zeros_like(upper), upper.copy()
    active = np.arange(len(upper))
    matrix, rest = system.matrix, system.observed
    low, high = lower.copy(), upper.copy()
    while True:
        if timebox.over:
            raise OutOfTimeError
        slack = rest - matrix @ low
        excess = matrix @ high - rest
        if (slack < 0).any() or (excess < 0).any():
            raise InfeasibleError
        new_high = np.minimum(high, low + _least_share(matrix, slack))
        new_low = np.maximum(low, high - _least_share(matrix, excess))
        if (new_low > new_high).any():
            raise InfeasibleError
        unchanged = (new_low == low).all() and (new_high == high).all()
        low, high = new_low, new_high
        lower[active], upper[active] = low, high
        if unchanged or not active.size:
            return lower, upper
        fixed = low == high
        if fixed.mean() > _COMPACT_ABOVE:
            rest = rest - matrix[:, fixed] @ low[fixed]
            matrix, active, low, high = matrix[:, ~fixed], active[~fixed], low[~fixed], high[~fixed]


def _least_share(matrix: sparse.csc_array, spare: IntArray) -> IntArray:
    """Return, per column, the least of ``spare / coefficient`` over its equations, rounded down."""
    if not matrix.shape[1]:
        return np.empty(0, dtype=np.int64)
    share = spare[matrix.indices]
    heavy = np.flatnonzero(matrix.data > 1)  # division is slow, and most coefficients are 1
    share[heavy] //= matrix.data[heavy]
    least: IntArray = np.minimum.reduceat(share, matrix.indptr[:-1])
    return least
