"""Sparse non-negative least squares beside SciPy's, on problems of all shapes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, sparse

from pytest_draft.attack.boosted.least_squares import sparse_nonnegative
from pytest_draft.timebox import TimeBox

SHAPES = [(5, 3), (12, 12), (10, 40), (40, 10), (30, 200), (1, 6), (6, 1)]


def solved(matrix, observed, seconds=60):
    """Return what is found, after checking its shape, its signs and its residual."""
    found = sparse_nonnegative(sparse.csc_array(matrix), observed, TimeBox(seconds))
    assert found.weight.shape == (matrix.shape[1],)
    assert (found.weight >= 0).all()
    np.testing.assert_allclose(
        found.residual, observed - matrix @ found.weight, atol=1e-9 * (1 + np.abs(observed).max())
    )
    return found


def least(matrix, observed):
    """Return the least norm, by SciPy."""
    return optimize.nnls(matrix, observed, maxiter=100 * sum(matrix.shape))[1]


def random_matrix(rng, shape, kind):
    """Return a matrix of one of several kinds."""
    matrix = rng.normal(size=shape) * (rng.random(shape) < 0.4)
    if kind == "counts":
        matrix = (rng.random(shape) < 0.4).astype(float)
    elif kind == "dependent":
        matrix[:, shape[1] // 2 :] = matrix[:, : shape[1] - shape[1] // 2]
        matrix[:, -1] = matrix[:, 0] + matrix[:, shape[1] // 3]
    elif kind == "empty columns":
        matrix[:, ::2] = 0
    return matrix


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["normal", "counts", "dependent", "empty columns"])
@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_is_nearer(shape, kind):
    for seed in range(3):
        rng = np.random.default_rng([seed, *shape])
        matrix, observed = random_matrix(rng, shape, kind), rng.normal(size=shape[0])
        found = solved(matrix, observed)
        assert np.linalg.norm(found.residual) <= least(matrix, observed) * (1 + 1e-6) + 1e-8
        assert not found.ended


@pytest.mark.parametrize("kind", ["normal", "counts", "dependent"])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_of_few_columns_are_found_again(shape, kind):
    for seed in range(3):
        rng = np.random.default_rng([seed, *shape, 1])
        matrix = random_matrix(rng, shape, kind)
        number = rng.integers(0, 4, size=shape[1]) * (rng.random(shape[1]) < 0.2)
        found = solved(matrix, matrix @ number)
        assert np.linalg.norm(found.residual) <= 1e-8 * (1 + np.linalg.norm(matrix @ number))


def test_whole_numbers_that_no_others_rival_are_exact():
    rng = np.random.default_rng(0)
    matrix = np.vstack([np.ones(300), rng.random((60, 300))])
    number = np.zeros(300)
    number[rng.permutation(300)[:8]] = rng.integers(1, 5, size=8)
    np.testing.assert_allclose(solved(matrix, matrix @ number).weight, number, atol=1e-7)


@pytest.mark.parametrize("n_columns", [1, 79, 80, 81, 500])
def test_nothing_observed_needs_no_rows(n_columns):
    rng = np.random.default_rng(n_columns)
    found = solved(rng.random((7, n_columns)), np.zeros(7))
    assert not found.weight.any()
    assert not found.ended


def test_equal_columns_share_what_one_of_them_would_have():
    column = np.array([1.0, 2.0, 0.0, 1.0])
    found = solved(np.tile(column[:, None], (1, 9)), 6 * column)
    assert found.weight.sum() == pytest.approx(6)


def test_what_no_column_reaches_is_left():
    found = solved(-np.ones((3, 4)), np.ones(3))
    assert not found.weight.any()
    np.testing.assert_array_equal(found.residual, np.ones(3))


def test_sizes_far_apart():
    rng = np.random.default_rng(4)
    matrix = rng.random((20, 50)) * 10.0 ** rng.integers(-2, 3, size=50)
    observed = matrix @ (rng.random(50) < 0.1)
    found = solved(matrix, observed)
    assert np.linalg.norm(found.residual) <= 1e-8 * np.linalg.norm(observed)


def test_a_time_box_that_is_over_ends_it_at_once():
    box = TimeBox(1e-9)
    while not box.over:
        pass
    found = sparse_nonnegative(sparse.csc_array(np.ones((2, 3))), np.ones(2), box)
    assert found.ended
    assert not found.weight.any()
    np.testing.assert_array_equal(found.residual, np.ones(2))
