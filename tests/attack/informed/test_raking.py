"""Other people's rows, reweighted until they give what leaves sum to: by hand, and beside proportional fitting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_draft.attack.informed.raking import leaf_sums, raked, repeated, rounded


def fitted_in_proportion(leaves, values, weight, n_rows, sums) -> np.ndarray:
    """Return frequencies by iterative proportional fitting, for values that are one class each."""
    frequency, label = n_rows * weight / weight.sum(), values.argmax(axis=1)
    for _ in range(2_000):
        for leaf, told in zip(leaves, sums, strict=True):
            now = leaf_sums(leaf, values, frequency, len(told))
            frequency = frequency * (told / np.maximum(now, 1e-12))[leaf, label]
    return frequency


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("seed", range(5))
def test_sums_that_are_exact_are_given_and_so_are_those_of_proportional_fitting(seed):
    rng = np.random.default_rng(seed)
    leaves = [rng.integers(0, n, 400) for n in (3, 4)]
    values, weight = np.eye(2)[rng.integers(0, 2, 400)], rng.random(400) + 0.5
    truth = rng.choice(400, 300, p=weight / weight.sum())
    sums = [leaf_sums(leaf[truth], values[truth], np.ones(300), n) for leaf, n in zip(leaves, (3, 4), strict=True)]
    found = raked(leaves, values, weight, 300, sums, np.zeros(2))
    assert found.min() >= 0
    for leaf, told in zip(leaves, sums, strict=True):
        assert leaf_sums(leaf, values, found, len(told)) == pytest.approx(told, abs=1.0)
    assert found == pytest.approx(fitted_in_proportion(leaves, values, weight, 300, sums), abs=0.1)


def test_sums_of_targets_are_given_in_any_unit():
    rng = np.random.default_rng(1)
    leaf, target = rng.integers(0, 4, 500), rng.normal(3e6, 1e6, 500)
    values = np.column_stack([np.ones(500), target])
    truth = rng.choice(500, 200)
    told = leaf_sums(leaf[truth], values[truth], np.ones(200), 4)
    found = leaf_sums(leaf, values, raked([leaf], values, np.ones(500), 200, [told], np.zeros(1)), 4)
    assert found == pytest.approx(told, rel=0.02)


def test_what_draws_say_is_worth_less_than_what_is_exact():
    leaf, values = np.array([0, 1]), np.ones((2, 1))
    told = [np.array([[80.0], [20.0]])]
    exact, drawn = (raked([leaf], values, np.ones(2), 100, told, np.array([noise])) for noise in (0.0, 1.0))
    assert exact == pytest.approx([80, 20], abs=0.1)
    assert drawn == pytest.approx([65, 35], abs=0.1)  # half of what is seen of a draw is chance


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(2, 30))
def test_frequencies_are_never_negative_and_sum_to_the_rows_of_the_first_tree(seed, n_trees, n_kinds):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 6, n_kinds) + 1.0
    leaves = [rng.integers(0, 4, n_kinds) for _ in range(n_trees)]
    label = np.eye(2)[rng.integers(0, 2, n_kinds)]
    sums = [leaf_sums(leaf, label, truth, 4) for leaf in leaves]
    found = raked(leaves, label, rng.random(n_kinds) + 0.1, int(truth.sum()), sums, np.zeros(n_trees))
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(truth.sum(), rel=0.5)  # what would be negative is cut off


@given(st.lists(st.floats(0, 9), min_size=1, max_size=20).filter(any), st.integers(1, 50), st.booleans())
@example([0.0, 2.225073858507e-311], 1, False)
def test_whole_rows_are_as_many_as_asked_for_and_each_is_near_its_frequency(frequency, n_rows, in_order):
    given_ = np.array(frequency)
    order = np.random.default_rng(0).permutation(len(given_)) if in_order else None
    found = rounded(given_, n_rows, order)
    assert found.sum() == n_rows
    assert (np.abs(found - given_ / given_.sum() * n_rows) <= 1 + 1e-6).all()
    assert len(repeated(np.zeros((len(given_), 2), dtype=np.float32), found)) == n_rows


def test_groups_that_follow_each_other_keep_their_size_where_each_row_has_less_than_one():
    frequency = np.array([0.3] * 10 + [0.1] * 10)
    found = rounded(frequency, 4, np.arange(20))
    assert (found[:10].sum(), found[10:].sum()) == (3, 1)
