"""Replayed draws are those of scikit-learn, or refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    _forest,
)
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import occurrences, read
from pytest_draft.artifact.forest.observations import ClassCounts
from pytest_draft.errors import NotCoveredError

FILES = Path(__file__).parent / "files"
DUMPS = sorted(FILES.glob("*.joblib"))

TREE = DecisionTreeClassifier()
DRAWN = {
    "forest": RandomForestClassifier(4, random_state=1),
    "half": RandomForestClassifier(4, max_samples=0.5, random_state=1),
    "ten rows": RandomForestClassifier(4, max_samples=10, random_state=1),
    "extra": ExtraTreesClassifier(4, bootstrap=True, random_state=1),
    "balanced": RandomForestClassifier(4, class_weight="balanced", random_state=1),
    "balanced subsample": RandomForestClassifier(4, class_weight="balanced_subsample", random_state=1),
    "bagging": BaggingClassifier(TREE, 4, random_state=1),
    "columns": BaggingClassifier(TREE, 4, max_features=0.5, random_state=1),
    "one column": BaggingClassifier(TREE, 4, max_features=1, bootstrap_features=True, random_state=1),
    "pasting": BaggingClassifier(TREE, 4, bootstrap=False, max_samples=0.5, random_state=1),
    "all but one": BaggingClassifier(TREE, 4, bootstrap=False, max_samples=59, random_state=1),
    "one row": BaggingClassifier(TREE, 4, bootstrap=False, max_samples=1, random_state=1),
    "all rows": BaggingClassifier(TREE, 4, bootstrap=False, max_samples=1.0, max_features=0.5, random_state=1),
}


def truth(model, n_rows):
    if hasattr(model, "estimators_samples_"):
        samples = model.estimators_samples_
    else:  # a forest before scikit-learn 1.4
        drawn = [(tree.random_state, n_rows, int(tree.tree_.weighted_n_node_samples[0])) for tree in model.estimators_]
        samples = [_forest._generate_sample_indices(*arguments) for arguments in drawn]
    return np.array([np.bincount(rows, minlength=n_rows) for rows in samples])


@pytest.mark.parametrize("model", DRAWN.values(), ids=DRAWN)
def test_replayed_draws_are_scikit_learns(model, columns, classes, dump):
    model.fit(columns, classes)
    replayed = occurrences(read(dump(model)).forest)
    assert replayed.dtype == np.int64
    np.testing.assert_array_equal(replayed, truth(model, len(columns)))


@pytest.mark.filterwarnings("ignore:When fitting BaggingClassifier with sample_weight")
@pytest.mark.parametrize("kind", ["forest", "half", "bagging", "pasting"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_draws_by_sample_weights_are_replayed(kind, dtype, columns, classes, dump):
    weights = np.random.RandomState(2).uniform(0.1, 1.0, len(columns)).astype(dtype)
    model = DRAWN[kind].fit(columns, classes, sample_weight=weights)
    np.testing.assert_array_equal(occurrences(read(dump(model)).forest), truth(model, len(columns)))


@pytest.mark.filterwarnings("ignore:Using the fractional value")
@pytest.mark.parametrize("share", [0.004, 0.0099, 0.01, 0.5, 0.99, 0.9901, 0.997])
def test_each_way_to_draw_without_replacement_is_replayed(share, dump):
    n_rows = 1000
    columns = np.random.RandomState(0).normal(size=(n_rows, 2))
    model = BaggingClassifier(
        DecisionTreeClassifier(max_depth=2), 3, bootstrap=False, max_samples=share, random_state=1
    ).fit(columns, columns[:, 0] > 0)
    np.testing.assert_array_equal(occurrences(read(dump(model)).forest), truth(model, n_rows))


@pytest.mark.parametrize("model", [ExtraTreesClassifier(3), TREE], ids=["extra trees", "tree"])
def test_without_bootstrap_each_row_occurs_once(model, columns, classes, dump):
    forest = read(dump(model.fit(columns, classes))).forest
    np.testing.assert_array_equal(occurrences(forest), np.ones((forest.n_trees, len(columns))))


def test_a_regressors_draws_are_replayed_too(columns, numbers, dump):
    model = RandomForestRegressor(3, random_state=1).fit(columns, numbers)
    np.testing.assert_array_equal(occurrences(read(dump(model)).forest), truth(model, len(columns)))


def test_a_warm_started_forest_is_replayed(columns, classes, dump):
    model = RandomForestClassifier(2, warm_start=True, random_state=1).fit(columns, classes)
    model.set_params(n_estimators=4).fit(columns, classes)
    np.testing.assert_array_equal(occurrences(read(dump(model)).forest), truth(model, len(columns)))


@pytest.mark.parametrize("seed", [1, None, 2])
def test_a_warm_started_bagging_ensembles_first_seeds_are_replayed_only_where_its_own_explains_them(
    seed, columns, classes, dump
):
    model = BaggingClassifier(TREE, 2, warm_start=True, random_state=1).fit(columns, classes)
    first = truth(model, len(columns))
    model.set_params(n_estimators=4, random_state=seed).fit(columns, classes)
    forest = read(dump(model)).forest
    if seed == 1:
        np.testing.assert_array_equal(occurrences(forest)[:2], first)
        return
    assert [tree.seed is None for tree in forest.trees] == [True, True, False, False]
    with pytest.raises(NotCoveredError, match="tree 0 has no stored seed"):
        occurrences(forest)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": None}, "number of training rows"),
        ({"n_samples": 2**40}, "too many"),
        ({"per_tree": None}, "how many rows"),
        ({"per_tree": 2**40}, "how many rows"),
        ({"sklearn_version": None}, "which scikit-learn"),
        ({"sklearn_version": "2.0.1"}, "is not known here"),
        ({"n_samples": 61}, "do not explain the root of tree 0"),
        ({"per_tree": 59}, "do not explain the root of tree 0"),
    ],
    ids=str,
)
def test_a_file_that_does_not_tell_enough_is_refused(change, message, fitted, dump):
    forest = read(dump(fitted)).forest
    if "per_tree" in change:
        change = {"draws": replace(forest.draws, **change)}
    forest = replace(forest, **change)
    with pytest.raises(NotCoveredError, match=message):
        occurrences(forest)


def test_seeds_of_other_trees_do_not_explain_the_roots(fitted, dump):
    forest = read(dump(fitted)).forest
    first, *others = forest.trees
    with pytest.raises(NotCoveredError, match="do not explain"):
        occurrences(replace(forest, trees=(replace(first, seed=first.seed + 1), *others)))


def test_seeds_that_do_not_explain_the_tested_columns_are_refused(columns, classes, dump):
    model = BaggingClassifier(TREE, 3, max_features=0.5, random_state=1).fit(columns, classes)
    forest = read(dump(model)).forest
    with pytest.raises(NotCoveredError, match="do not explain the columns"):
        occurrences(replace(forest, draws=replace(forest.draws, max_features=1)))


@pytest.mark.nightly(quick=11)
@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.stem)
def test_a_dump_of_another_version_is_read_bit_for_bit(path):
    forest = read(path).forest
    true = np.load(path.with_suffix(".npz"))
    assert forest.sklearn_version == path.stem.split("-")[1]
    assert forest.classes == ("no", "yes")
    assert forest.observation == ClassCounts("totals" if forest.sklearn_minor < (1, 4) else "shares")
    for index, tree in enumerate(forest.trees):
        for ours in ("left", "feature", "threshold", "value", "weight"):
            np.testing.assert_array_equal(getattr(tree, ours), true[f"{ours}{index}"])
        assert forest.counts(index)[0].sum() == tree.weight[0]


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.stem)
def test_the_draws_of_another_version_are_replayed(path):
    forest = read(path).forest
    if path.stem.startswith("half-") and forest.sklearn_minor < (1, 4):
        # Before 1.4 a forest with `max_samples` does not tell the number of rows.
        with pytest.raises(NotCoveredError, match="number of training rows"):
            occurrences(forest)
        forest = replace(forest, n_samples=40)
    np.testing.assert_array_equal(occurrences(forest), np.load(path.with_suffix(".npz"))["occurrences"])


def test_there_are_dumps_of_seven_other_versions():
    versions = {path.stem.split("-")[1] for path in DUMPS}
    assert versions == {"0.24.2", "1.0.2", "1.2.2", "1.3.2", "1.4.2", "1.6.1", "1.8.0"}
