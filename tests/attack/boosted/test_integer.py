"""Whole numbers that complete what is known, and the kinds that least squares leaves loose."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pytest_draft.attack.boosted.equations import Equations
from pytest_draft.attack.boosted.least_squares import Solved, sparse_nonnegative
from pytest_draft.attack.boosted.rebuild import completed, loose_kinds
from pytest_draft.attack.search import Search
from pytest_draft.timebox import TimeBox


def stated(matrix, number, tolerance=1e-9):
    """Return what numbers of rows say, scaled."""
    matrix = np.asarray(matrix, dtype=float)
    return Equations(sparse.csc_array(matrix), matrix @ number, np.full(len(matrix), tolerance)).scaled()


def over():
    """Return a time box that is over."""
    box = TimeBox(1e-9)
    while not box.over:
        pass
    return box


@pytest.mark.parametrize("seed", range(10))
def test_open_numbers_are_found_and_others_stay(seed):
    rng = np.random.default_rng(seed)
    matrix = np.vstack([np.ones(30), rng.random((8, 30))])
    number = rng.integers(0, 3, size=30)
    equations, opened = stated(matrix, number), rng.random(30) < 0.4
    found = completed(equations, np.where(opened, 9, number), opened, Search(TimeBox(60)))
    assert found is not None
    assert found.dtype == np.int64
    assert (found >= 0).all()
    np.testing.assert_array_equal(found[~opened], number[~opened])
    assert equations.missed(found) == 0


def test_whole_numbers_where_least_squares_has_halves():
    matrix, number = [[1, 1, 1, 1], [1, 1, 0, 0], [0.3, 0.7, 0.5, 0.5]], np.array([2, 0, 0, 1])
    found = completed(stated(matrix, number), np.zeros(4, np.int64), np.ones(4, bool), Search(TimeBox(60)))
    assert stated(matrix, number).missed(found) == 0


def test_numbers_that_no_others_complete():
    matrix = [[1, 1, 1], [1, 0, 0]]
    equations = stated(matrix, [2, 1, 0])
    wrong = np.array([5, 0, 0])
    assert completed(equations, wrong, np.array([False, True, True]), Search(TimeBox(60))) is None


def test_a_half_is_no_number_of_rows():
    equations = Equations(sparse.csc_array(np.array([[2.0]])), np.array([1.0]), np.array([1e-6])).scaled()
    assert completed(equations, np.zeros(1, np.int64), np.ones(1, bool), Search(TimeBox(60))) is None


@pytest.mark.parametrize("n_open", [0, 401])
def test_nothing_or_too_much_open(n_open):
    equations = stated(np.ones((1, 500)), np.ones(500))
    assert completed(equations, np.ones(500, np.int64), np.arange(500) < n_open, Search(TimeBox(60))) is None


def test_a_time_box_that_is_over_completes_nothing():
    equations = stated(np.ones((1, 3)), np.ones(3))
    assert completed(equations, np.ones(3, np.int64), np.ones(3, bool), Search(over())) is None


@pytest.mark.nightly
def test_loose_kinds_are_those_that_change_together():
    matrix = np.array([[1, 1, 1, 1, 1], [1, 0, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0.0]])
    matrix[1:, 2] += [0, 1e-9, 0]
    number = np.array([2, 1, 0, 1, 1])
    equations = stated(matrix, number)
    solved = sparse_nonnegative(equations.matrix, equations.total, TimeBox(60))
    loose = list(loose_kinds(equations, solved, (1e-7, 1e-3)))
    assert all(one[[1, 2]].all() and not one[[0, 3, 4]].any() for one in loose)


def test_more_kinds_than_equations_are_all_loose():
    number = np.array([1, 2, 0])
    equations = stated(np.ones((1, 3)), number)
    (loose,) = loose_kinds(equations, Solved(np.array([1.0, 2.0, 0.0]), np.zeros(1), ended=False), (1e-7,))
    assert loose.all()
