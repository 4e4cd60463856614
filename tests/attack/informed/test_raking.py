"""Other people's rows, reweighted until they give what leaves sum to: by hand, and beside proportional fitting."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_draft.attack.informed.raking import counted, raked, rounded


def fitted_in_proportion(leaves, values, weight, n_rows, sums) -> np.ndarray:
    """Return frequencies by iterative proportional fitting, for values that are one class each."""
    frequency, label = n_rows * weight / weight.sum(), values.argmax(axis=1)
    for _ in range(2_000):
        for leaf, told in zip(leaves, sums, strict=True):
            now = counted(leaf, values, frequency, len(told))
            frequency = frequency * (told / np.maximum(now, 1e-12))[leaf, label]
    return frequency


@pytest.mark.parametrize("seed", range(5))
def test_sums_that_are_exact_are_given_and_so_are_those_of_proportional_fitting(seed):
    rng = np.random.default_rng(seed)
    leaves = [rng.integers(0, n, 400) for n in (3, 4)]
    values, weight = np.eye(2)[rng.integers(0, 2, 400)], rng.random(400) + 0.5
    truth = rng.choice(400, 300, p=weight / weight.sum())
    sums = [counted(leaf[truth], values[truth], np.ones(300), n) for leaf, n in zip(leaves, (3, 4), strict=True)]
    found = raked(leaves, values, weight, 300, sums, np.zeros(2))
    assert found.min() >= 0
    for leaf, told in zip(leaves, sums, strict=True):
        assert counted(leaf, values, found, len(told)) == pytest.approx(told, abs=1.0)
    assert found == pytest.approx(fitted_in_proportion(leaves, values, weight, 300, sums), abs=0.1)


def test_sums_of_targets_are_given_in_any_unit():
    rng = np.random.default_rng(1)
    leaf, target = rng.integers(0, 4, 500), rng.normal(3e6, 1e6, 500)
    values = np.column_stack([np.ones(500), target])
    truth = rng.choice(500, 200)
    told = counted(leaf[truth], values[truth], np.ones(200), 4)
    found = counted(leaf, values, raked([leaf], values, np.ones(500), 200, [told], np.zeros(1)), 4)
    assert found == pytest.approx(told, rel=0.02)


def test_what_draws_say_is_worth_less_than_what_is_exact():
    leaf, values = np.array([0, 1]), np.ones((2, 1))
    told = [np.array([[80.0], [20.0]])]
    exact, drawn = (raked([leaf], values, np.ones(2), 100, told, np.array([noise])) for noise in (0.0, 1.0))
    assert exact == pytest.approx([80, 20], abs=0.1)
    assert drawn == pytest.approx([65, 35], abs=0.1)  # half of what is seen of a draw is chance


def test_whole_numbers_keep_the_sum_and_the_size_of_neighbours():
    frequency = np.array([0.4, 0.4, 0.2, 3.0, 0.5, 0.5])
    assert rounded(frequency, 5).sum() == 5
    in_order = rounded(frequency, 5, np.arange(6))
    assert in_order.sum() == 5
    assert [in_order[:3].sum(), in_order[3], in_order[4:].sum()] == [1, 3, 1]
