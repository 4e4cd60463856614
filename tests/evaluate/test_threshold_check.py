"""Rows that trained a forest explain its thresholds to the last bit; changed and rounded ones do not."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.evaluate.identity import confirmed, identify_values
from pytest_draft.evaluate.threshold_check import Missed, missed_splits
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.knowledge import known_occurrences

N_ROWS = 80
MODELS = {
    "forest": RandomForestClassifier(8, random_state=0),
    "forest without bagging": RandomForestClassifier(8, bootstrap=False, max_features=2, random_state=0),
    "shallow": RandomForestClassifier(8, min_samples_leaf=5, max_leaf_nodes=6, random_state=0),
    "regressor": RandomForestRegressor(4, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "columns": BaggingClassifier(DecisionTreeClassifier(), 6, max_features=2, random_state=0),
}
COLUMNS = {
    "normal": lambda random: random.normal(size=(N_ROWS, 3)),
    "decimals": lambda random: random.normal(size=(N_ROWS, 3)).round(1),
    "huge and tiny": lambda random: random.normal(size=(N_ROWS, 3)) * [1e30, 1e-5, 1e-30] + [0, 1, 0],
    "neighbours": lambda random: 1 + np.float32(2.0**-23) * random.integers(0, 9, size=(N_ROWS, 3)),
    "missing": lambda random: np.where(random.random((N_ROWS, 3)) < 0.2, np.nan, random.normal(size=(N_ROWS, 3))),
}
TAKES_MISSING = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 9)


def released(model, rows, tmp_path):
    labels = np.random.default_rng(1).integers(2, size=len(rows))
    joblib.dump(sklearn.base.clone(model).fit(rows, labels), tmp_path / "model.joblib")
    forest = read(tmp_path / "model.joblib").forest
    return forest, KnownRows(rows.astype(np.float32), labels, known_occurrences(forest, "artifact"))


@pytest.mark.nightly(quick=3)
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("model", MODELS)
def test_training_rows_explain_every_threshold_to_the_last_bit(model, columns, tmp_path):
    if columns == "missing" and not TAKES_MISSING:
        pytest.skip("counted as they are split from scikit-learn 1.9 on")
    rows = COLUMNS[columns](np.random.default_rng(0)).astype(np.float32)
    forest, everyone = released(MODELS[model], rows, tmp_path)
    missed = missed_splits(forest, everyone, None)
    assert (missed.inexact, missed.wrong) == (0, 0)
    if columns in ("normal", "decimals"):
        assert missed.checked == sum(int((tree.left >= 0).sum()) for tree in forest.trees)


def test_other_values_and_rounded_ones_are_told_apart(by_hand):
    forest = by_hand(1, (0, 0.5, [2, 0], (0, 2.0, [0, 1], [0, 1])))

    def missed(*values):
        rows = np.array(values, dtype=np.float32)[:, None]
        return missed_splits(forest, KnownRows(rows, np.array([0, 0, 1, 1]), np.ones((1, 4), np.int64)), None)

    assert missed(-1, 0, 1, 3) == Missed(2, 0, 0)
    assert missed(-2, 0, 1, 3) == Missed(2, 0, 0)  # a value that no threshold depends on
    assert missed(-1, 0, 1.00001, 3) == Missed(2, 2, 0)
    assert missed(-1, 0.25, 1, 3) == Missed(2, 1, 1)
    assert missed(-1, 0.25, 1, np.nan) == Missed(1, 1, 1)  # nothing on the right to lie midway to


def test_only_rows_that_a_tree_has_seen_count_in_it(by_hand):
    forest = by_hand(1, (0, 0.5, [1, 0], [0, 1]))
    everyone = KnownRows(np.array([[0.4], [0], [1]], np.float32), np.array([0, 0, 1]), np.array([[0, 1, 2]]))
    assert missed_splits(forest, everyone, None) == Missed(1, 0, 0)


def test_known_extremes_of_random_splits_are_held_against_rows(tmp_path):
    rows = np.random.default_rng(0).normal(size=(N_ROWS, 3)).round(2).astype(np.float32)
    forest, everyone = released(ExtraTreesClassifier(2, random_state=0), rows, tmp_path)
    assert missed_splits(forest, everyone, None) == Missed(0, 0, 0)
    low, high = (tuple(np.full(tree.n_nodes, np.nan) for tree in forest.trees) for _ in range(2))
    column = rows[:, forest.trees[0].feature[0]]
    low[0][0], high[0][0] = column.min(), column.max()
    assert missed_splits(forest, everyone, Extremes(low, high, 1, 1)) == Missed(1, 0, 0)
    high[0][0] += 0.01
    assert missed_splits(forest, everyone, Extremes(low, high, 1, 1)) == Missed(1, 1, 1)


CONFIRMED = Identity("confirmed", "by hand")


@pytest.mark.parametrize(
    ("middle", "times", "status", "to_the_digit"),
    [
        (0.0, (1, 1, 1), "confirmed", True),
        (1e-5, (1, 1, 1), "confirmed", False),
        (0.25, (1, 1, 1), "mismatch", True),
        (0.25, (2, 1, 1), "unknown", True),
    ],
)
def test_rows_with_other_values_are_not_confirmed(by_hand, middle, times, status, to_the_digit):
    forest = by_hand(1, (0, 0.5, [2, 0], [0, 1]))
    rows = np.array([[-1], [middle], [1]], np.float32)
    everyone = KnownRows(rows, np.array([0, 0, 1]), np.array([times]))
    found = identify_values(CONFIRMED, forest, everyone)
    assert (found.status, found.to_the_digit) == (status, to_the_digit)
    other = Identity("order differs", "by hand")
    assert identify_values(other, forest, everyone) is other


def rebuilt(rows, labels, status="consistent"):
    rows = np.array(rows, dtype=np.float32)[:, None]
    return Reconstruction(status, rows, np.array(labels), None, None, False, 0, consistent=rows)


def test_a_dataset_is_consistent_only_where_its_own_rows_explain_the_counts(by_hand):
    forest = by_hand(1, (0, 0.5, [2, 0], [0, 1]))
    once = np.ones((1, 3), dtype=np.int32)
    right = rebuilt([0, -1, 1], [0, 0, 1])
    assert confirmed(right, forest, once) is right
    wrong = confirmed(rebuilt([0, 2, 1], [0, 0, 1]), forest, once)
    assert (wrong.status, wrong.residual) == ("not converged", 2)
    known = KnownRows(np.array([[1]], np.float32), np.array([1]), once[:, :1])
    part = rebuilt([0, -1], [0, 0])
    assert confirmed(part, forest, once, known) is part
    other = rebuilt([0, 2, 1], [0, 0, 1], status="not converged")
    assert confirmed(other, forest, once) is other
