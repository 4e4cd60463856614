"""Other people's rows, reweighted until they give what leaves sum to: against counts by hand, and as a property."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_draft.attack.informed.raking import chosen, counted, raked, rounded

NO_NOISE = np.zeros(1)


def test_counts_that_are_exact_are_met_and_what_no_leaf_tells_apart_stays_in_proportion():
    leaf, weight = np.array([0, 0, 1]), np.array([3.0, 1.0, 4.0])
    found = raked([leaf], np.ones((3, 1)), weight, 8, [np.array([[6.0], [2.0]])], NO_NOISE)
    assert found == pytest.approx([4.5, 1.5, 2.0], abs=0.02)


def test_the_more_draws_vary_the_less_they_move_what_is_known_beforehand():
    leaf, weight, told = np.array([0, 1]), np.ones(2), [np.array([[60.0], [40.0]])]
    exact, drawn = (raked([leaf], np.ones((2, 1)), weight, 100, told, np.array([noise])) for noise in (0.0, 1.0))
    assert exact == pytest.approx([60, 40], abs=0.1)
    assert drawn == pytest.approx([55, 45], abs=0.1)


def test_sums_of_targets_move_rows_too_whatever_their_unit():
    leaf, target = np.zeros(2, dtype=np.int64), np.array([0.0, 1.0])
    for unit in (1.0, 1e6):
        values = np.column_stack([np.ones(2), target * unit])
        found = raked([leaf], values, np.ones(2), 10, [np.array([[10.0, 8.0 * unit]])], NO_NOISE)
        assert found == pytest.approx([2, 8], abs=0.1)


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(2, 30))
def test_frequencies_are_never_negative_and_sum_to_the_rows_of_the_first_tree(seed, n_trees, n_kinds):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 6, n_kinds) + 1.0
    leaves = [rng.integers(0, 4, n_kinds) for _ in range(n_trees)]
    label = np.eye(2)[rng.integers(0, 2, n_kinds)]
    sums = [counted(leaf, label, truth, 4) for leaf in leaves]
    found = raked(leaves, label, rng.random(n_kinds) + 0.1, int(truth.sum()), sums, np.zeros(n_trees))
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(truth.sum(), rel=0.5)  # what would be negative is cut off


@given(st.lists(st.floats(0, 9), min_size=1, max_size=20).filter(any), st.integers(1, 50), st.booleans())
def test_whole_rows_are_as_many_as_asked_for_and_each_is_near_its_frequency(frequency, n_rows, in_order):
    given_ = np.array(frequency)
    order = np.random.default_rng(0).permutation(len(given_)) if in_order else None
    found = rounded(given_, n_rows, order)
    assert found.sum() == n_rows
    assert (np.abs(found - given_ / given_.sum() * n_rows) <= 1 + 1e-6).all()
    assert len(chosen(np.zeros((len(given_), 2), dtype=np.float32), found)) == n_rows


def test_groups_that_follow_each_other_keep_their_size_where_each_row_has_less_than_one():
    frequency = np.array([0.3] * 10 + [0.1] * 10)
    found = rounded(frequency, 4, np.arange(20))
    assert (found[:10].sum(), found[10:].sum()) == (3, 1)
