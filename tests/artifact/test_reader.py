"""What an honest file holds is read bit for bit, whoever wrote it."""

from __future__ import annotations

import hashlib
import pickle
import sys
import warnings
from collections import OrderedDict
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from pytest_draft.artifact import read
from pytest_draft.artifact.forest.observations import ClassCounts, TargetMeans
from pytest_draft.errors import NotCoveredError

CLASSIFIERS = {
    "forest": RandomForestClassifier(4, random_state=1),
    "generator": RandomForestClassifier(2, random_state=np.random.RandomState(3)),
    "out of bag": RandomForestClassifier(20, oob_score=True, random_state=1),
    "half the rows": RandomForestClassifier(3, max_samples=0.5, random_state=1),
    "balanced": RandomForestClassifier(3, class_weight="balanced", random_state=1),
    "no bootstrap": RandomForestClassifier(3, bootstrap=False, random_state=1),
    "extra": ExtraTreesClassifier(3, random_state=1),
    "tree": DecisionTreeClassifier(random_state=1),
    "extra tree": ExtraTreeClassifier(random_state=1),
    "stump": DecisionTreeClassifier(max_depth=1),
    "bagging": BaggingClassifier(n_estimators=3, random_state=1),
    "bagging columns": BaggingClassifier(
        DecisionTreeClassifier(max_depth=3), 3, max_features=0.5, bootstrap_features=True, random_state=1
    ),
    "pasting": BaggingClassifier(ExtraTreeClassifier(), 3, bootstrap=False, max_samples=0.5, random_state=1),
}
REGRESSORS = {
    "forest": RandomForestRegressor(3, random_state=1),
    "extra": ExtraTreesRegressor(3, random_state=1),
    "tree": DecisionTreeRegressor(criterion="absolute_error"),
    "poisson": DecisionTreeRegressor(criterion="poisson"),
    "extra tree": ExtraTreeRegressor(),
    "bagging": BaggingRegressor(n_estimators=3, max_features=0.7, random_state=1),
}
WRITERS = [
    *(("model.joblib", {"compress": method}) for method in (0, 3, "gzip", "bz2", "xz", "lzma")),
    *(("model.joblib", {"protocol": protocol}) for protocol in (2, 3, 4, 5)),
    *(("model.pkl", {"protocol": protocol}) for protocol in (2, 3, 4, 5)),
]


def assert_same(forest, model):
    """Assert that a forest is the model's, bit for bit."""
    trees = getattr(model, "estimators_", None) or [model]
    subsets = getattr(model, "estimators_features_", [np.arange(model.n_features_in_)] * len(trees))
    assert forest.n_trees == len(trees)
    assert forest.n_features == model.n_features_in_
    assert forest.kind == type(model).__name__
    for ours, theirs, subset in zip(forest.trees, trees, subsets, strict=True):
        nodes = theirs.tree_
        inner = nodes.children_left >= 0
        np.testing.assert_array_equal(ours.left, nodes.children_left)
        np.testing.assert_array_equal(ours.right, nodes.children_right)
        np.testing.assert_array_equal(ours.feature, np.where(inner, subset[nodes.feature], -1))
        np.testing.assert_array_equal(ours.threshold, nodes.threshold)
        np.testing.assert_array_equal(ours.missing_left[inner], nodes.missing_go_to_left[inner] == 1)
        np.testing.assert_array_equal(ours.value, nodes.value[:, 0, :])
        np.testing.assert_array_equal(ours.weight, nodes.weighted_n_node_samples)
        np.testing.assert_array_equal(ours.n_distinct, nodes.n_node_samples)


@pytest.mark.parametrize("model", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_a_classifier_is_read_bit_for_bit(model, columns, classes, dump):
    model.fit(columns, classes)
    forest = read(dump(model)).forest
    assert_same(forest, model)
    assert forest.classes == ("no", "perhaps", "yes")
    assert forest.observation == ClassCounts("shares")


@pytest.mark.parametrize("model", REGRESSORS.values(), ids=REGRESSORS)
def test_a_regressor_is_read_bit_for_bit(model, columns, numbers, dump):
    model.fit(columns, np.abs(numbers))
    forest = read(dump(model)).forest
    assert_same(forest, model)
    assert forest.classes is None
    assert forest.observation == TargetMeans()
    for index, tree in enumerate(forest.trees):
        np.testing.assert_array_equal(forest.counts(index), tree.weight[:, None])


@pytest.mark.nightly(quick=10)
@pytest.mark.parametrize(("name", "options"), WRITERS, ids=str)
@pytest.mark.parametrize("kind", ["forest", "generator", "bagging columns", "tree"])
def test_every_protocol_and_compression_gives_the_same_forest(kind, name, options, columns, classes, dump):
    model = CLASSIFIERS[kind].fit(columns, classes)
    assert_same(read(dump(model, name, **options)).forest, model)


def test_the_name_of_a_file_says_nothing_about_its_format(fitted, dump):
    assert_same(read(dump(fitted, "model.txt", compress="xz")).forest, fitted)


def test_arrays_in_fortran_order_and_big_endian_are_read(forest, dump):
    tree = forest.estimators_[0].tree_
    state = tree.__getstate__()
    swapped = {**state, "values": np.asfortranarray(state["values"].astype(">f8"))}

    class Tree:
        def __reduce__(self):
            return type(tree), (6, np.array([3]), 1), swapped

    forest.estimators_[0].__dict__["tree_"] = Tree()
    for name in ("model.pkl", "model.joblib"):
        ours = read(dump(forest, name)).forest.trees[0]
        np.testing.assert_array_equal(ours.value, tree.value[:, 0, :])


def test_the_artifact_tells_its_size_and_its_hash(fitted, dump):
    path = dump(fitted)
    artifact = read(path)
    assert artifact.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert artifact.size == path.stat().st_size
    assert artifact.path == str(path)
    assert artifact.holds == "RandomForestClassifier, 3 trees, 6 columns, 3 classes"


def test_the_same_path_can_be_given_as_text_or_as_path(fitted, dump):
    path = dump(fitted)
    assert read(str(path)).sha256 == read(Path(path)).sha256


def test_what_can_hold_data_and_is_not_read_is_listed(columns, classes, dump):
    model = RandomForestClassifier(20, oob_score=True, random_state=1).fit(columns, classes)
    model.notes = list(columns)
    model.remark = "short"
    artifact = read(dump(model))
    assert {"notes", "oob_decision_function_"} <= set(artifact.not_read)
    assert list(artifact.not_read) == sorted(artifact.not_read)
    assert not {"criterion", "remark"} & set(artifact.not_read)


def test_the_names_of_columns_and_plain_parameters_are_read(columns, classes, dump):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns, columns=list("abcdef"))
    weights = {"no": 1.0, "yes": 2, "perhaps": 1}
    model = RandomForestClassifier(2, class_weight=weights, random_state=1).fit(frame, classes)
    for name in ("model.joblib", "model.pkl"):
        forest = read(dump(model, name)).forest
        assert forest.feature_names == tuple("abcdef")
        assert forest.parameters["class_weight"] == weights
        assert forest.parameters["n_estimators"] == 2
        assert forest.parameters["criterion"] == "gini"


def test_the_parameters_are_scikit_learns(fitted, dump):
    assert read(dump(fitted)).forest.parameters == fitted.get_params()


def test_the_trees_parameters_of_a_bagging_ensemble_are_named_as_nested_ones(columns, classes, dump):
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=3), 2, random_state=1).fit(columns, classes)
    parameters = read(dump(model)).forest.parameters
    assert parameters["estimator__max_depth"] == 3
    assert parameters["max_features"] == 1.0


@pytest.mark.parametrize("labels", [[False, True], [-1, 1], [0.0, 2.0], ["a", "b"]], ids=str)
def test_classes_are_plain_python_values(labels, columns, dump):
    target = np.array(labels)[columns[:, 0].astype(int)]
    for target_array in (target, target.astype(object)):
        if target.dtype.kind != "U" and target_array.dtype == object:
            continue
        forest = read(dump(DecisionTreeClassifier().fit(columns, target_array))).forest
        assert forest.classes == tuple(labels)
        assert [type(value) for value in forest.classes] == [type(value) for value in labels]


def test_counts_are_the_draws_of_each_class(fitted, dump):
    forest = read(dump(fitted)).forest
    for index, tree in enumerate(forest.trees):
        counts = forest.counts(index)
        np.testing.assert_array_equal(counts.sum(axis=1), tree.weight)


@pytest.mark.parametrize("doubled", [("no",), ("no", "yes", "perhaps")], ids=len)
def test_counts_scaled_by_whole_class_weights_are_undone_not_misread(doubled, columns, classes, dump):
    weights = {name: 2 if name in doubled else 1 for name in ("no", "yes", "perhaps")}
    model = DecisionTreeClassifier(class_weight=weights).fit(columns, classes)
    of_class = np.unique(classes, return_counts=True)[1]
    np.testing.assert_array_equal(read(dump(model)).forest.counts(0)[0], of_class)


def test_class_weights_that_are_no_plain_dict_are_refused_never_overlooked(columns, classes, dump):
    model = DecisionTreeClassifier(class_weight=OrderedDict(no=2, yes=1, perhaps=1)).fit(columns, classes)
    artifact = read(dump(model))
    assert "class_weight" in artifact.not_read
    with pytest.raises(NotCoveredError, match="plain dict"):
        artifact.forest.counts(0)


@pytest.mark.nightly
def test_a_forest_that_is_the_last_step_of_a_pipeline_in_a_search_is_found(columns, classes, dump):
    steps = [("nothing", "passthrough"), ("forest", RandomForestClassifier(2, random_state=1))]
    search = GridSearchCV(Pipeline(steps), {"forest__max_depth": [2, 3]}, cv=2).fit(columns, classes)
    for name, options in WRITERS:
        artifact = read(dump(search, name, **options))
        assert_same(artifact.forest, search.best_estimator_.steps[-1][1])
        assert artifact.holds.endswith("2 trees, 6 columns, 3 classes, in a Pipeline, in a GridSearchCV")
        assert "cv_results_" in artifact.not_read


def test_missing_values_are_read(columns, classes, dump):
    columns = columns.copy()
    columns[::3, 4] = np.nan
    model = RandomForestClassifier(3, random_state=1).fit(columns, classes)
    assert_same(read(dump(model)).forest, model)


def test_the_arrays_of_a_forest_cannot_be_changed(fitted, dump):
    tree = read(dump(fitted)).forest.trees[0]
    with pytest.raises(ValueError, match="read-only"):
        tree.value[0, 0] = 1


def test_an_object_that_appears_twice_is_read_once_and_is_the_same(columns, dump):
    shared = np.array(["a", "b"], object)
    model = DecisionTreeClassifier().fit(columns, shared[columns[:, 0].astype(int)])
    model.again = model.classes_
    assert read(dump(model, "model.pkl")).forest.classes == ("a", "b")


def test_reading_needs_neither_scikit_learn_nor_joblib(fitted, dump, monkeypatch):
    path = dump(fitted)
    expected = read(path).forest.classes
    for module in ("sklearn.ensemble._forest", "joblib", "joblib.numpy_pickle"):
        monkeypatch.setitem(sys.modules, module, None)
    assert read(path).forest.classes == expected


def test_warnings_that_are_errors_do_not_disturb(fitted, dump):
    path = dump(fitted)
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(path).forest.n_trees == 3


def test_reading_back_what_joblib_reads_gives_equal_predictions(fitted, dump, columns):
    path = dump(fitted, compress=3)
    forest = read(path).forest
    rows = columns.astype(np.float32)
    shares = np.zeros((len(rows), forest.n_classes))
    for tree in forest.trees:
        node = np.zeros(len(rows), np.int64)
        while (tree.left[node] >= 0).any():
            inner = tree.left[node] >= 0
            goes_left = rows[np.arange(len(rows)), tree.feature[node]] <= tree.threshold[node]
            node = np.where(inner, np.where(goes_left, tree.left[node], tree.right[node]), node)
        shares += tree.value[node]
    np.testing.assert_allclose(shares / forest.n_trees, joblib.load(path).predict_proba(columns))


def test_a_pickle_of_the_same_forest_has_the_same_trees(fitted, dump):
    first = read(dump(fitted)).forest
    second = read(dump(pickle.dumps(fitted), "other.pkl")).forest
    for one, other in zip(first.trees, second.trees, strict=True):
        np.testing.assert_array_equal(one.threshold, other.threshold)
        assert one.seed == other.seed
