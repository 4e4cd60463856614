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

_ENTRIES = 40_000_000
"""Coefficients that are written out."""

_MOST_ENTRIES = 100_000_000
"""Coefficients that are written out where they are fewer equations than three for each kind that has rows."""

_BLOCK = 20_000
"""Kinds that are looked at side by side."""

_SURE = 0.5
"""A number of rows that can differ by less than this from a whole number is that number. Half of what would do."""

_ENOUGH = 1e-3
"""What a certificate must give each other kind, where 1 is meant; and a kind's least share in a direction."""

_FLAT = 1e-9
"""A direction whose singular value is below this share of the largest is taken for one that changes nothing."""

_RANK = 1e-12
"""What is below this share of the largest is rounding."""

_ROUNDING = 1e-14
"""Share of a sum by which the sums that are compared here are off at most."""


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
    """Return what is proved of a dataset that satisfies the equations, among those with as many rows.

    Parameters
    ----------
    equations : Equations
        Scaled.
    number : ndarray of int64, shape (n_kinds,)
        The dataset's rows of each kind.
    """
    n_kinds, n_rows = len(number), int(number.sum())
    equations = _fewer(equations.sharp(), int((number > 0).sum()))
    open_kinds = number > 0
    while not timebox.over and 0 < open_kinds.sum() <= _MOST_OPEN:
        kept = np.flatnonzero(open_kinds)
        dense = equations.matrix[:, kept].toarray()
        more, certificate = _direction(equations, _basis(dense), ~open_kinds, timebox)
        if certificate is None:
            if not more.any():
                break
            open_kinds |= more
            continue
        if _others(equations, certificate, open_kinds, n_rows) >= _SURE:
            break
        turns = _Turns.of(dense)
        fixed, fixed_cells = ~open_kinds, np.ones(n_kinds // n_classes, dtype=bool)
        fixed[kept] = turns.fixed(np.eye(len(kept)), equations.tolerance, n_rows)
        cell, place = np.unique(kept % len(fixed_cells), return_inverse=True)
        of_cell = (place == np.arange(len(cell))[:, None]).astype(np.float64)
        fixed_cells[cell] = turns.fixed(of_cell, equations.tolerance, n_rows)
        return Proved(~open_kinds, fixed, fixed_cells)
    nowhere = np.zeros(n_kinds, dtype=bool)
    return Proved(nowhere, nowhere, nowhere[: n_kinds // n_classes])


def _fewer(equations: Equations, n_held: int) -> Equations:
    """Return as many of the equations as are looked at: what follows from a part of them follows from all."""
    n_equations, n_kinds = equations.matrix.shape
    most = max(_ENTRIES // n_kinds, min(3 * n_held, _MOST_ENTRIES // n_kinds), 1)
    if n_equations <= most:
        return equations
    chosen = np.unique(np.linspace(0, n_equations - 1, most).astype(np.int64))
    return Equations(equations.matrix[chosen], equations.total[chosen], equations.tolerance[chosen])


def _basis(dense: FloatArray) -> FloatArray:
    """Return orthonormal columns that span these ones, shape (n_equations, n_real)."""
    square, triangle, _ = linalg.qr(dense, mode="economic", pivoting=True)
    size = np.abs(np.diag(triangle))
    basis: FloatArray = square[:, : len(size)][:, size > _RANK * size[0]]
    return basis


def _direction(
    equations: Equations, basis: FloatArray, others: BoolArray, timebox: TimeBox
) -> tuple[BoolArray, FloatArray | None]:
    """Return which other kinds can change together with open ones, or a certificate that none can.

    The least squares of ``A d = 0`` with the numbers of other kinds adding up to 1, those of open kinds free.
    """
    more, places = np.zeros(len(others), dtype=bool), np.flatnonzero(others)
    if not len(places):
        return more, np.zeros(len(equations.total))
    extra = sparse.csc_array((1, len(places)))
    both = sparse.vstack([equations.matrix[:, places], extra], format="csc").toarray(order="F")
    left = both[:-1]
    before = float(np.linalg.norm(left))
    for start in range(0, len(places), _BLOCK):
        part = left[:, start : start + _BLOCK]
        part -= basis @ (basis.T @ part)
    after = float(np.linalg.norm(left))
    if after <= _RANK * before:
        more[places] = True
        return more, None
    both[-1] = size = after / np.sqrt(len(places))
    stacked = _written_out(both)
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
    more[places[solved.weight > _ENOUGH * solved.weight.max()]] = True
    return more, None


def _written_out(dense: FloatArray) -> sparse.csc_array:
    """Return a matrix in Fortran's order as a sparse one that shares its memory."""
    n_rows, n_columns = dense.shape
    places = np.tile(np.arange(n_rows, dtype=np.int32), n_columns)
    starts = np.arange(0, dense.size + 1, n_rows, dtype=np.int32)
    return sparse.csc_array((dense.reshape(-1, order="F"), places, starts), shape=dense.shape)


def _others(equations: Equations, certificate: FloatArray, open_kinds: BoolArray, n_rows: int) -> float:
    """Return how many rows of other kinds any dataset can hold at most, by a certificate and all roundings."""
    if open_kinds.all():
        return 0.0
    found = equations.matrix.T @ certificate
    size = np.sqrt(np.asarray(equations.matrix.power(2).sum(axis=0)).ravel())
    rounding = _ROUNDING * float(np.linalg.norm(certificate)) * size
    least = float((found - rounding)[~open_kinds].min())
    if least <= 0:
        return np.inf
    of_open = float((np.abs(found) + rounding)[open_kinds].max())
    return (2 * float(np.abs(certificate) @ equations.tolerance) + 2 * n_rows * of_open) / least


@dataclass(frozen=True, eq=False, repr=False)
class _Turns:
    """Singular vectors of the equations over some kinds."""

    basis: FloatArray
    """Shape (n_equations, n_real). Of all that these kinds can add to the equations."""
    size: FloatArray
    """Shape (n_real,). Descending."""
    directions: FloatArray
    """Shape (n_kept, n_kept). Those of `size`, then those that change nothing."""

    @classmethod
    def of(cls, dense: FloatArray) -> _Turns:
        """Return those of the equations over these kinds, shape (n_equations, n_kept)."""
        square, triangle = linalg.qr(dense, mode="economic")
        left, size, directions = linalg.svd(triangle)  # all directions, also where there are few equations
        real = size > _RANK * size[0]
        return cls(square @ left[:, : len(size)][:, real], size[real], directions)

    def fixed(self, asked: FloatArray, tolerance: FloatArray, n_rows: int) -> BoolArray:
        """Return which sums of numbers are the same in all datasets of so many rows that hold only these kinds.

        Parameters
        ----------
        asked : ndarray of float64, shape (n_asked, n_kept)
            What each number counts in each sum.
        """
        sharp = int((self.size > _FLAT * self.size[0]).sum())
        each = asked @ (self.directions[:sharp].T / self.size[:sharp]) @ self.basis[:, :sharp].T
        # Numbers of two datasets differ by 2 n_rows in all, so directions that change next to nothing add no more.
        loose = 2 * n_rows * np.abs(asked @ self.directions[sharp:].T @ self.directions[sharp:]).max(axis=1)
        rounding = 2 * n_rows * _ROUNDING * self.size[0] * np.linalg.norm(each, axis=1)
        sure: BoolArray = 2 * np.abs(each) @ tolerance + loose + rounding < _SURE
        return sure
