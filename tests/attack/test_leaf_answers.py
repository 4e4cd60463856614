"""What leaves say of the labels and targets of rows that reach them, against enumeration and scikit-learn itself."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.leaf_answers import ALLOWED, ANSWER, COMMONEST, guesses_of, possible_classes
from pytest_draft.knowledge import known_occurrences
from small_models import RULE_LIST_1
from stripping import stripped

KINDS = (
    lambda seed: RandomForestClassifier(int(1 + seed % 6), max_depth=1 + seed % 4, random_state=seed),
    lambda seed: RandomForestClassifier(4, class_weight="balanced", random_state=seed),
    lambda seed: ExtraTreesClassifier(3, bootstrap=seed % 2 == 1, max_depth=2, random_state=seed),
    lambda seed: BaggingClassifier(DecisionTreeClassifier(max_depth=3), 4, max_samples=0.7, random_state=seed),
    lambda seed: DecisionTreeClassifier(min_samples_leaf=1 + seed % 3, random_state=seed),
)


def forest_of(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return read(str(folder / "model.joblib")).forest


def table(seed: int, n_rows: int = 14):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, (n_rows, 3)).astype(np.float32), rng.integers(0, 2 + seed % 2, n_rows)


def by_enumeration(forest, rows, times) -> np.ndarray:
    """Return which classes some position leaves room for, one at a time."""
    columns = np.ascontiguousarray(rows.T)
    leaves = [tree.leaves[leaf_positions(tree, columns)] for tree in forest.trees]
    counts = [forest.counts(t) for t in range(forest.n_trees)]
    room = np.ones((len(rows), forest.n_classes, times.shape[1]), dtype=bool)
    for t in range(forest.n_trees):
        room &= counts[t][leaves[t]][:, :, None] >= times[t]
    return room.any(axis=2)


def check_forest(seed: int, folder) -> tuple[int, int]:
    rows, labels = table(seed)
    forest = forest_of(KINDS[seed % len(KINDS)](seed).fit(rows, labels), folder)
    if forest.n_classes != labels.max() + 1:
        return 0, 0
    times = known_occurrences(forest, "artifact")
    possible = possible_classes(forest, rows, times, len(rows))
    assert (possible == by_enumeration(forest, rows, times)).all()
    certain = possible.sum(axis=1) == 1
    assert (possible.argmax(axis=1)[certain] == labels[certain]).all()
    return int(certain.sum()), int((~certain).sum())


@pytest.mark.nightly
def test_a_class_is_possible_that_some_position_has_room_for_and_what_is_certain_is_never_wrong(tmp_path):
    found = np.sum([check_forest(seed, tmp_path) for seed in range(15)], axis=0)
    assert found.min() > 20  # both happen


@pytest.mark.nightly
def test_what_is_certain_is_never_wrong_in_three_hundred_forests(tmp_path):
    found = np.sum([check_forest(seed, tmp_path) for seed in range(300)], axis=0)
    assert found.min() > 200


def test_the_answer_is_the_library_s_own(tmp_path):
    rows, labels = table(1, 60)
    for kind in KINDS:
        model = kind(3).fit(rows, labels)
        assert (guesses_of(forest_of(model, tmp_path), rows)[ANSWER] == model.predict(rows)).all()
    regressor = RandomForestRegressor(5, random_state=0).fit(rows, labels + rows[:, 0] / 7)
    found = guesses_of(forest_of(regressor, tmp_path), rows)
    assert np.allclose(found[ANSWER], regressor.predict(rows))


@pytest.mark.parametrize("level", ["seeds", "counts", "labels"])
def test_without_draws_nothing_is_certain_and_the_answer_stays(level, tmp_path):
    rows, labels = table(1, 60)
    model = RandomForestClassifier(7, random_state=0).fit(rows, labels)
    forest = forest_of(stripped(model, level), tmp_path)
    assert possible_classes(forest, rows, None, 60) is None
    same = guesses_of(forest, rows)[ANSWER] == model.predict(rows)
    assert same.all() or level == "labels"


def test_shares_that_were_rounded_to_nothing_leave_a_class_possible(tmp_path):
    rng = np.random.default_rng(0)
    rows, labels = rng.integers(0, 2, (400, 2)).astype(np.float32), np.zeros(400, dtype=int)
    labels[np.flatnonzero(rows[:, 0] == 0)[0]] = 1  # one of 200
    labels[rows[:, 0] == 1] = rows[rows[:, 0] == 1, 1] > 0
    model = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(rows, labels)
    times = np.ones((1, 1), dtype=np.int64)
    exact = possible_classes(forest_of(stripped(model, "counts"), tmp_path), rows, times, 400)
    rounded = possible_classes(forest_of(stripped(model, "decimals:2"), tmp_path), rows, times, 400)
    assert exact[rows[:, 0] == 0].all()
    assert rounded is None or rounded[rows[:, 0] == 0].all()


def test_a_rule_list_allows_what_its_rule_has_captured():
    rows = np.array([[1, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=np.float32)
    assert possible_classes(RULE_LIST_1, rows, None, 5).tolist() == [[False, True], [True, False], [False, True]]
    assert guesses_of(RULE_LIST_1, rows)[ANSWER].tolist() == [1, 0, 1]


def test_the_commonest_leaf_of_a_default_regression_forest_is_the_exact_target_of_everybody(tmp_path):
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(60, 4)).astype(np.float32)
    targets = rng.normal(size=60)
    forest = forest_of(RandomForestRegressor(30, random_state=0).fit(rows, targets), tmp_path)
    found = guesses_of(forest, rows)
    assert np.allclose(found[COMMONEST], targets, rtol=0, atol=1e-9)
    assert (np.abs(found[ANSWER] - targets) > 1e-9).all()


@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_boosted_trees_give_the_exact_target_of_whoever_is_alone_in_a_leaf(rate, tmp_path):
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(40, 3)).astype(np.float32)
    targets = rng.integers(1_000, 9_000, 40).astype(float)
    model = GradientBoostingRegressor(n_estimators=3, max_depth=4, learning_rate=rate, random_state=0)
    forest = forest_of(model.fit(rows, targets), tmp_path)
    alone = np.zeros(40, dtype=bool)
    for tree in forest.trees:
        leaf = tree.leaves[leaf_positions(tree, np.ascontiguousarray(rows.T))]
        alone |= tree.n_distinct[leaf] == 1
    found = guesses_of(forest, rows)
    assert 2 < alone.sum() < 40
    assert np.allclose(found[ALLOWED][alone], targets[alone], rtol=0, atol=1e-6)
    assert np.allclose(found[ALLOWED][~alone], model.predict(rows)[~alone])
