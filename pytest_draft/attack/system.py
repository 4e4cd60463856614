"""The linear equations of a problem: a `System` of coefficients and observations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pytest_draft.arrays import BoolArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class System:
    """Linear equations ``matrix @ h = observed`` over whole numbers ``h >= 0``."""

    matrix: sparse.csc_array
    """Of int32, shape (n_equations, n_candidates)."""
    observed: IntArray
    """Shape (n_equations,)."""

    def missed(self, rows: IntArray) -> int:
        """Return the residual of a whole dataset: the sum of absolute differences to what was observed."""
        return int(np.abs(self.matrix @ rows - self.observed).sum())

    def with_totals(self, total_of: IntArray, totals: IntArray) -> System:
        """Return the system with one more equation for each total.

        Parameters
        ----------
        total_of : ndarray of int64, shape (n_candidates,)
            Which total each candidate counts towards.
        totals : ndarray of int64, shape (n_totals,)
        """
        n_candidates = len(total_of)
        ones = np.ones(n_candidates, dtype=np.int32)
        shape = (len(totals), n_candidates)
        extra = sparse.csc_array((ones, (total_of, np.arange(n_candidates))), shape=shape)
        matrix = sparse.vstack([self.matrix, extra], format="csc")
        return System(matrix, np.concatenate([self.observed, totals]))

    def only(self, columns: BoolArray | IntArray, rest: IntArray | None = None) -> System:
        """Return the system over some of the columns, after taking off what the others explain.

        Parameters
        ----------
        columns : ndarray of bool or int64
            Columns to keep.
        rest : ndarray of int64, shape (n_candidates,), or None
            Values of the columns that are left out (entries of kept columns must be 0); None for all 0.
        """
        observed = self.observed if rest is None else self.observed - self.matrix @ rest
        return System(self.matrix[:, columns], observed)
