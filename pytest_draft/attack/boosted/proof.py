"""What the sums of boosted trees prove: which numbers of rows are the same in every dataset that satisfies them.

Nothing here trusts that a solution is the only one. A direction in which numbers could change without missing an
equation is looked for among all kinds; its absence is a certificate (Farkas' lemma): a weighted sum of equations in
which the given dataset's kinds have weight 0 and every other kind at least 1. The equations hold to their tolerance, so
that sum bounds how many rows any dataset can hold of other kinds; below 1 there are none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.attack.boosted.equations import Equations
from pytest_draft.attack.boosted.least_squares import sparse_nonnegative
from pytest_draft.timebox import TimeBox

_MOST_OPEN = 1_500
"""Kinds whose numbers are compared with each other, at most."""

_MOST_ENTRIES = 40_000_000
"""Most coefficients that are written out."""

_SURE = 0.5
"""A number of rows that can differ by less than this from a whole number is that number. Half of what would do."""

_ENOUGH = 1e-3
"""What a certificate must give each other kind, where 1 is meant; and a kind's least share in a direction."""

_FLAT = 1e-9
"""A direction whose singular value is below this share of the largest is taken for one that changes nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class Proved:
    """What holds in every dataset that satisfies the equations."""

    excluded: BoolArray
    """Shape (n_kinds,). Kinds of which none has a row."""
    fixed: BoolArray
    """Shape (n_kinds,). Kinds of which all have as many rows as the given dataset."""
    fixed_cells: BoolArray
    """Shape (n_cells,). Cells of which that holds for their classes together."""

    def without_labels(self, n_classes: int) -> Proved:
        """Return what holds where rows have one of so many classes, of which nothing is proved."""
        nowhere = np.zeros(n_classes * len(self.fixed_cells), dtype=bool)
        return Proved(np.tile(self.excluded, n_classes), nowhere, self.fixed_cells)


def prove(equations: Equations, number: IntArray, n_classes: int, timebox: TimeBox) -> Proved:
    """Return what is proved of a dataset that satisfies the equations.

    Parameters
    ----------
    equations : Equations
        Scaled.
    number : ndarray of int64, shape (n_kinds,)
        The dataset's rows of each kind.
    """
    n_kinds = len(number)
    equations = _fewer(equations.sharp(), int((number > 0).sum()))
    open_kinds = number > 0
    while not timebox.over and open_kinds.sum() <= _MOST_OPEN:
        kept = np.flatnonzero(open_kinds)
        dense = equations.matrix[:, kept].toarray()
        basis = linalg.qr(dense, mode="economic")[0]
        more, certificate = _direction(equations, basis, ~open_kinds, timebox)
        if certificate is None:
            if not more.any():
                break
            open_kinds |= more
            continue
        if 2 * float(np.abs(certificate) @ equations.tolerance) >= _SURE:
            break
        fixed, fixed_cells = _compared(dense, equations.tolerance, kept, n_kinds, n_classes)
        return Proved(~open_kinds, fixed | ~open_kinds, fixed_cells)
    nowhere = np.zeros(n_kinds, dtype=bool)
    return Proved(nowhere, nowhere, nowhere[: n_kinds // n_classes])


def _fewer(equations: Equations, n_held: int) -> Equations:
    """Return as many of the equations as are looked at: what follows from a part of them follows from all."""
    n_equations, n_kinds = equations.matrix.shape
    most = max(_MOST_ENTRIES // n_kinds, 3 * n_held)
    if n_equations <= most:
        return equations
    chosen = np.unique(np.linspace(0, n_equations - 1, most).astype(np.int64))
    return Equations(equations.matrix[chosen], equations.total[chosen], equations.tolerance[chosen])


def _direction(
    equations: Equations, basis: FloatArray, others: BoolArray, timebox: TimeBox
) -> tuple[BoolArray, FloatArray | None]:
    """Return which other kinds can change together with open ones, or a certificate that none can.

    The least squares of ``A d = 0`` with the numbers of other kinds adding up to 1, those of open kinds free.
    """
    more, places = np.zeros(len(others), dtype=bool), np.flatnonzero(others)
    if not len(places):
        return more, np.zeros(len(equations.total))
    left = equations.matrix[:, others].toarray()
    left -= basis @ (basis.T @ left)
    size = float(np.sqrt((left**2).sum(axis=0).mean())) or 1.0
    stacked = sparse.csc_array(np.vstack([left, np.full(left.shape[1], size)]))
    solved = sparse_nonnegative(stacked, np.append(np.zeros(len(left)), size), timebox)
    if solved.ended:
        return more, None
    rest = solved.residual[-1] * size
    if rest > _FLAT * size**2:
        certificate = -solved.residual[:-1] / rest
        certificate -= basis @ (basis.T @ certificate)
        reached = certificate @ left
        if reached.min() >= _ENOUGH:
            return more, certificate / reached.min()
        more[places[reached < _ENOUGH]] = True
    else:
        more[places[solved.weight > _ENOUGH * solved.weight.max()]] = True
    return more, None


def _compared(
    dense: FloatArray, tolerance: FloatArray, kept: IntArray, n_kinds: int, n_classes: int
) -> tuple[BoolArray, BoolArray]:
    """Return which numbers are the same where only the kept kinds have rows: of kinds, and of cells.

    A number is fixed where no direction that changes nothing changes it, and the tolerances do not reach the next one.
    """
    left, size, directions = linalg.svd(dense, full_matrices=False)
    real = size > _FLAT * size[0]
    inverse = (directions[real].T / size[real]) @ left[:, real].T
    flat = directions[~real]
    n_cells = n_kinds // n_classes
    of_kind, of_cell = np.zeros((n_kinds, len(kept))), np.zeros((n_cells, len(kept)))
    of_kind[kept, np.arange(len(kept))] = of_cell[kept % n_cells, np.arange(len(kept))] = 1

    def fixed(asked: FloatArray) -> BoolArray:
        still = (np.abs(asked @ flat.T) < np.sqrt(_FLAT)).all(axis=1)
        sure: BoolArray = 2 * np.abs(asked @ inverse) @ tolerance < _SURE
        both: BoolArray = still & sure
        return both

    return fixed(of_kind), fixed(of_cell)
