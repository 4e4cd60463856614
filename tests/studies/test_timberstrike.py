"""TimberStrike's metric against all matchings, and what one tree tells of rows and labels."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from studies.timberstrike import accuracy, by_sums

WITHIN = 0.319


def by_all_matchings(truth, guess, categorical):
    """Return the share of right values in the best of all matchings."""
    width = WITHIN * truth.std(axis=0)
    best = 0
    for order in permutations(range(len(guess))):
        other = guess[list(order)]
        right = np.where(categorical, truth == other, np.abs(truth - other) <= width)
        best = max(best, right.sum())
    return best / truth.size


@pytest.mark.parametrize("seed", range(20))
def test_the_metric_is_that_of_the_best_matching(seed):
    rng = np.random.default_rng(seed)
    truth, guess = (np.column_stack([rng.normal(size=5), rng.integers(3, size=5), rng.random(5)]) for _ in range(2))
    categorical = np.array([False, True, False])
    assert accuracy(truth, guess, categorical)[0] == pytest.approx(by_all_matchings(truth, guess, categorical))


def test_a_number_is_right_within_the_tolerance_and_a_code_only_if_equal():
    truth = np.array([[0.0, 0.0], [10.0, 1.0]])
    near, far = (truth + np.array(by) for by in ([WITHIN * 5 - 0.01, 0.0], [WITHIN * 5 + 0.01, 0.1]))
    categorical = np.array([False, True])
    assert accuracy(truth, near, categorical) == (1.0, 0.5)
    assert accuracy(truth, far, categorical)[0] == 0.0


@pytest.mark.parametrize("rounds", [1, 5])
def test_the_sums_of_a_file_tell_how_many_rows_of_each_label_its_first_leaves_have(tmp_path, rounds):
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=80), rng.integers(4, size=80)]).astype(np.float32)
    label = (rows[:, 0] + 0.5 * rng.normal(size=80) > 0.5).astype(int)
    settings = {"objective": "binary:logistic", "eta": 0.3, "max_depth": 1, "lambda": 1, "tree_method": "hist"}
    model = xgboost.train(settings, xgboost.DMatrix(rows, label), rounds)
    model.save_model(tmp_path / "model.json")
    bounds = np.stack([rows.min(axis=0), np.nextafter(rows.max(axis=0), np.inf)])
    found = by_sums(tmp_path / "model.json", bounds, np.array([False, True]), rng)
    assert found.shape == (80, 3)
    assert (found[:, 2] == 1).sum() == label.sum()
    assert set(found[:, 1]) <= {0.0, 1.0, 2.0, 3.0}
    cut = model.trees_to_dataframe()["Split"].iloc[0]
    for of_label in (0, 1):
        left, true_left = found[found[:, 2] == of_label, 0] < cut, rows[label == of_label, 0] < cut
        assert left.sum() == true_left.sum()
