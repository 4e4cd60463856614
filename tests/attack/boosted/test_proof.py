"""What is proved of numbers of rows holds in every table that satisfies the equations, by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from pytest_draft.attack.boosted import proof
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


def random_case(seed, whole=False):
    """Return a matrix, numbers of rows and a number of classes."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(1, 3))
    n_kinds = n_classes * int(rng.integers(2, 4))
    size = (int(rng.integers(0, 5)), n_kinds)
    matrix = (rng.random(size) < 0.5) * (rng.integers(1, 3, size=size) if whole else rng.random(size).round(2))
    number = rng.multinomial(int(rng.integers(1, 6)), rng.dirichlet(np.full(n_kinds, 0.3)))
    return np.vstack([np.ones(n_kinds), matrix]), number, n_classes


@pytest.mark.nightly
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("tolerance", [0.0, 1e-9, 1e-6, 1e-2, 0.1, 0.3, 1.0])
def test_proofs_hold_in_every_table(tolerance, whole):
    for seed in range(25):
        matrix, number, n_classes = random_case(seed, whole)
        off = np.full(len(matrix), tolerance)
        off[0] = 1e-6
        proved_of(equations_of(matrix, number, off), number, n_classes)


@pytest.mark.parametrize("seed", range(20))
def test_proofs_hold_where_a_table_is_off_by_as_much_as_it_may_be(seed):
    rng = np.random.default_rng([seed, 1])
    matrix, number, n_classes = random_case([seed, 2])
    off = np.append(1e-6, 10 ** rng.uniform(-3, 0, size=len(matrix) - 1))
    equations = equations_of(matrix, number, off)
    total = equations.total + np.append(0.0, rng.choice([-1, 1], size=len(off) - 1)) * off * (1 - 1e-9)
    proved_of(Equations(equations.matrix, total, off), number, n_classes)


@pytest.mark.parametrize("seed", range(10))
def test_exact_equations_of_all_kinds_prove_all(seed):
    rng = np.random.default_rng(seed)
    number = rng.multinomial(5, np.full(6, 1 / 6))
    matrix = np.vstack([np.ones(6), np.eye(6)[:5]])
    proved, same = proved_of(equations_of(matrix, number, 1e-9), number, 2)
    assert same.all()
    assert proved.fixed.all()
    assert proved.fixed_cells.all()


@pytest.mark.parametrize("seed", range(5))
def test_few_sums_of_many_kinds_exclude_the_others(seed):
    rng = np.random.default_rng(seed)
    matrix = np.vstack([np.ones(200), rng.random((40, 200))])
    number = np.zeros(200, dtype=np.int64)
    number[rng.permutation(200)[:4]] = 1, 2, 1, 3
    proved = prove(equations_of(matrix, number, 1e-9).scaled(), number, 2, TimeBox(60))
    assert proved.fixed.all()
    np.testing.assert_array_equal(proved.excluded, number == 0)


def test_a_tolerance_that_lets_another_row_in_proves_nothing_of_it():
    matrix, number = np.array([[1, 1, 1], [0.5, 0.6, 3], [0, 0, 1]]), [2, 0, 1]
    assert proved_of(equations_of(matrix, number, 1e-9), number)[0].fixed.all()
    for tolerance in (0.1, 0.11, 0.5):
        proved, _ = proved_of(equations_of(matrix, number, [1e-9, tolerance, 1e-9]), number)
        assert not proved.fixed[:2].any()


def test_cells_are_fixed_where_classes_can_change():
    matrix, number = (
        [[1, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0]],
        [1, 1, 1, 0],
    )  # kinds: class 0 of two cells, then class 1
    proved, _ = proved_of(equations_of(matrix, number, 1e-9), number, 2)
    assert not proved.fixed.any()
    assert proved.fixed_cells.all()


@pytest.mark.parametrize("n_kinds", [1, 2])
def test_one_row(n_kinds):
    number = np.eye(n_kinds, dtype=np.int64)[0]
    proved, _ = proved_of(equations_of(np.ones((1, n_kinds)), number, 1e-6), number)
    assert proved.fixed.all() == (n_kinds == 1)


def test_no_rows_prove_nothing():
    assert not prove(
        equations_of(np.ones((1, 3)), np.zeros(3), 1e-6), np.zeros(3, np.int64), 1, TimeBox(60)
    ).fixed.any()


def test_a_time_box_that_is_over_proves_nothing():
    box = TimeBox(1e-9)
    while not box.over:
        pass
    proved = prove(equations_of(np.eye(3), np.ones(3), 1e-9), np.ones(3, dtype=np.int64), 1, box)
    assert not (proved.fixed.any() or proved.excluded.any() or proved.fixed_cells.any())


def test_labels_left_out_leave_cells():
    matrix, number = np.vstack([np.ones(3), np.eye(3)]), np.array([2, 0, 1])
    proved = prove(equations_of(matrix, number, 1e-9), number, 1, TimeBox(60)).without_labels(2)
    assert not proved.fixed.any()
    assert proved.fixed_cells.all()
    assert proved.excluded.shape == proved.fixed.shape == (6,)


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("n_kinds", [10, 1_000, 5_000])
def test_what_is_written_out_has_a_limit(n_kinds, monkeypatch):
    monkeypatch.setattr(proof, "_ENTRIES", 1_000)
    monkeypatch.setattr(proof, "_MOST_ENTRIES", 50_000)
    number = np.arange(n_kinds) % 2
    every = equations_of(np.ones((600, n_kinds)), number, 1e-6)
    assert 1 <= proof._fewer(every, int(number.sum())).matrix.shape[0] <= max(50_000 // n_kinds, 1)


def test_a_part_of_the_equations_proves_no_more_than_all(monkeypatch):
    monkeypatch.setattr(proof, "_ENTRIES", 1)
    monkeypatch.setattr(proof, "_MOST_ENTRIES", 12)
    for seed in range(30):
        matrix, number, n_classes = random_case(seed)
        proved_of(equations_of(matrix, number, 1e-6), number, n_classes)
