"""What is proved of numbers of rows holds in every table that satisfies the equations, by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from pytest_draft.attack.boosted.equations import Equations
from pytest_draft.attack.boosted.proof import prove
from pytest_draft.timebox import TimeBox


def equations_of(matrix, number, tolerance):
    """Return what a table says to some precision."""
    matrix = np.asarray(matrix, dtype=float)
    spread = np.broadcast_to(np.asarray(tolerance, dtype=float), len(matrix)).copy()
    return Equations(sparse.csc_array(matrix), matrix @ number, spread)


def tables(equations, n_rows):
    """Return all numbers of rows that add up and satisfy the equations, shape (n_tables, n_kinds)."""
    n_kinds = equations.matrix.shape[1]
    every = np.array([one for one in product(range(n_rows + 1), repeat=n_kinds) if sum(one) == n_rows])
    off = np.abs(every @ equations.matrix.toarray().T - equations.total)
    return every[(off <= equations.tolerance * (1 + 1e-9) + 1e-12).all(axis=1)]


def proved_of(equations, number, n_classes=1):
    """Return what is proved, and check it by enumeration."""
    number = np.asarray(number)
    proved = prove(equations.scaled(), number, n_classes, TimeBox(60))
    every = tables(equations, int(number.sum()))
    same = (every == number).all(axis=0)
    of_cell = every.reshape(len(every), n_classes, -1).sum(axis=1)
    assert not (proved.excluded & (every > 0).any(axis=0)).any()
    assert not (proved.fixed & ~same).any()
    assert not (proved.fixed_cells & ~(of_cell == of_cell[0]).all(axis=0)).any()
    return proved, same


@pytest.mark.parametrize("number", [[1, 1, 1], [3, 0, 0], [0, 2, 0, 1]])
def test_the_number_of_rows_alone_proves_nothing(number):
    proved, _ = proved_of(equations_of(np.ones((1, len(number))), number, 1e-6), number)
    assert not proved.fixed.any()


def test_fewer_equations_than_kinds_leave_some_open():
    matrix = [[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]
    proved, same = proved_of(equations_of(matrix, [2, 1, 0, 0, 1], 1e-6), [2, 1, 0, 0, 1])
    assert not proved.fixed.any()
    assert not same.any()


def test_a_number_beside_others_that_can_change_is_fixed():
    matrix = [[1, 1, 1, 1], [1, 0, 0, 0]]
    proved, _ = proved_of(equations_of(matrix, [2, 1, 1, 0], 1e-6), [2, 1, 1, 0])
    assert proved.fixed.tolist() == [True, False, False, False]
