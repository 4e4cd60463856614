"""GradientBoosting and HistGradientBoosting of scikit-learn: rows held back, what was taken out, and damaged files."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from pytest_draft.artifact import read
from pytest_draft.attack.boosted.staged import missed
from pytest_draft.data.training import training_data
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError

RANDOM = np.random.RandomState(3)
N_ROWS = 200
COLUMNS = np.hstack((RANDOM.randint(0, 3, (N_ROWS, 3)), RANDOM.normal(size=(N_ROWS, 2)).round(1))).astype(np.float32)
SCORE = COLUMNS[:, 0] + COLUMNS[:, 3] - COLUMNS[:, 1] * COLUMNS[:, 4] + RANDOM.normal(size=N_ROWS)
HOLES = np.where(RANDOM.rand(*COLUMNS.shape) < 0.1, np.nan, COLUMNS).astype(np.float32)
TWO, THREE = np.where(SCORE > 0.5, "yes", "no"), np.digitize(SCORE, [-0.5, 1.5])
TARGET, COUNT = SCORE.round(2) * 1000, RANDOM.poisson(np.exp(0.4 * SCORE))

MODELS = {
    "two": (GradientBoostingClassifier(n_estimators=8), COLUMNS),
    "deep": (GradientBoostingClassifier(n_estimators=3, max_depth=8, learning_rate=1), COLUMNS),
    "histogram": (HistGradientBoostingClassifier(max_iter=10), COLUMNS),
    "l2": (HistGradientBoostingClassifier(max_iter=8, l2_regularization=1.5, max_features=0.5), HOLES),
}


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    with threadpool_limits(1, "openmp"):  # many threads take longer for so few rows
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return each model, and its file."""
    folder, found = tmp_path_factory.mktemp("boosted"), {}
    for name, (model, columns) in MODELS.items():
        found[name] = (model.fit(columns, TWO), folder / f"{name}.pkl")
        found[name][1].write_bytes(pickle.dumps(model))
    return found


def forest_of(path):
    found = read(path)
    assert found.not_covered is None
    assert found.unjudged.why is None
    return found.forest


STOPPED = {
    "two": (HistGradientBoostingClassifier(early_stopping=True, max_iter=9), TWO),
    "three": (HistGradientBoostingClassifier(early_stopping=True, max_iter=9, validation_fraction=0.23), THREE),
    "a number": (HistGradientBoostingClassifier(early_stopping=True, max_iter=9, validation_fraction=37), THREE),
    "seeded": (
        HistGradientBoostingClassifier(early_stopping=True, max_iter=9, random_state=5),
        np.where(SCORE > 3, "much", TWO),
    ),
    "squared": (HistGradientBoostingRegressor(early_stopping=True, max_iter=9), TARGET),
    "poisson": (HistGradientBoostingRegressor(early_stopping=True, max_iter=9, loss="poisson"), COUNT),
}
"""Each holds a part of the rows back, most without a random_state."""


def sums_missed(artifact, columns, labels):
    """Return how many sums and counts are missed by the rows of a table that the trees saw."""
    data = training_data((columns, labels), artifact.model, origin=artifact.origin)
    return missed(artifact.forest, data.rows.T.astype(float), data.labels if data.targets is None else data.targets)


@pytest.mark.parametrize("name", STOPPED)
def test_rows_held_back_to_stop_early_are_those_of_the_seed_in_the_file(name, dump):
    model, labels = STOPPED[name]
    artifact = read(dump(model.fit(HOLES, labels)))
    assert artifact.not_covered is None
    assert artifact.forest.n_samples < N_ROWS
    assert "held back" in artifact.origin.in_words[0]
    assert sums_missed(artifact, HOLES, labels) == 0
    other = np.random.default_rng(0).permutation(N_ROWS)
    assert sums_missed(artifact, HOLES[other], labels[other]) > artifact.forest.n_trees
    more = np.append(np.arange(N_ROWS), 0)
    assert sums_missed(artifact, HOLES[more], labels[more]) > artifact.forest.n_trees


def test_a_table_of_the_rows_that_the_trees_saw_is_taken_as_it_is(dump):
    model, labels = STOPPED["three"]
    artifact = read(dump(model.fit(HOLES, labels)))
    data = training_data((HOLES, labels), artifact.model, origin=artifact.origin)
    assert data.n_rows == artifact.forest.n_samples == 154
    assert sums_missed(artifact, data.rows, data.labels) == 0


@pytest.mark.parametrize("seed", [None, 2**32, "7"])
def test_rows_held_back_are_not_known_without_their_seed(seed, dump):
    model = HistGradientBoostingClassifier(early_stopping=True, max_iter=3).fit(COLUMNS, TWO)
    model._random_seed = seed
    assert "nothing in the file says which (_random_seed)" in read(dump(model)).not_covered


@pytest.mark.parametrize("name", ["histogram", "l2"])
def test_gains_give_the_hessians_of_leaves(name, files):
    forest = forest_of(files[name][1])
    for tree, said in zip(forest.trees, forest.observation.statements, strict=True):
        alone = said.node[said.weight[:, 1] == 0]
        assert set(alone) == set(tree.leaves)


def test_variances_give_the_mean_residuals_of_leaves(files):
    forest = forest_of(files["two"][1])
    known = 0
    for tree, said in zip(forest.trees, forest.observation.statements, strict=True):
        alone = said.node[said.weight[:, 2] == 0]
        known += int((tree.left[alone] < 0).sum())
    assert known > forest.n_trees * 2


def test_only_thresholds_of_gradient_boosting_are_midpoints_of_a_nodes_rows(files):
    assert forest_of(files["two"][1]).splitter == "best"
    assert forest_of(files["histogram"][1]).splitter is None


def test_values_of_single_precision_go_where_the_values_of_training_went(dump):
    columns = np.random.RandomState(1).normal(size=(600, 1)).round(4)
    labels = columns[:, 0] + np.random.RandomState(2).normal(size=600) > 0
    forest = forest_of(dump(HistGradientBoostingClassifier(max_iter=5, max_bins=30).fit(columns, labels)))
    assert missed(forest, columns.astype(np.float32).T.astype(float), labels.astype(int)) == 0


G, R, H, S = (
    GradientBoostingClassifier(n_estimators=2),
    GradientBoostingRegressor(n_estimators=2),
    HistGradientBoostingClassifier(max_iter=2),
    HistGradientBoostingRegressor(max_iter=2),
)


@pytest.mark.parametrize("model", [G, H])
def test_a_parameter_that_only_a_newer_version_has_is_not_covered(model, dump, monkeypatch):
    model = pickle.loads(pickle.dumps(model)).fit(COLUMNS, TWO)
    model.shrink_leaves = 0.5
    assert read(dump(model)).not_covered is None  # somebody's own attribute
    monkeypatch.setattr("sklearn.base.__version__", "1.10.0")
    assert "parameter shrink_leaves" in read(dump(model)).not_covered
    del model.shrink_leaves
    assert read(dump(model)).not_covered is None
    monkeypatch.setattr("sklearn.base.__version__", "1.0.2")
    assert "boosted trees from 1.1 on are covered" in read(dump(model)).not_covered


def set_nodes(**changes):
    """Return what changes fields of the first tree's nodes."""

    def change(model):
        nodes = model._predictors[0][0].nodes
        for name, (node, value) in changes.items():
            nodes[name][node] = value

    return change


def other_fields(model):
    tree = model._predictors[0][0]
    tree.nodes = tree.nodes[["value", "count"]]


def other_type(model):
    tree = model._predictors[0][0]
    tree.nodes = tree.nodes.astype([(n, "f4" if n == "value" else tree.nodes.dtype[n]) for n in tree.nodes.dtype.names])


def one_tree_twice(model):
    model._predictors[1][0] = model._predictors[0][0]


def attribute(name, value):
    return lambda model: setattr(model, name, value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (set_nodes(left=(0, 0)), "node 0: a child's index is out of order"),
        (set_nodes(right=(0, 2**31)), "node 0: a child's index is out of order"),
        (set_nodes(left=(-1, 1)), "neither a leaf nor has it children"),
        (set_nodes(is_leaf=(0, 7)), "neither a leaf nor has it children"),
        (set_nodes(feature_idx=(0, 5)), "node 0: it tests none of the 5 columns"),
        (set_nodes(num_threshold=(0, np.nan)), "node 0: its threshold is not a number"),
        (set_nodes(missing_go_to_left=(0, 2)), "node 0: where it sends missing values"),
        (set_nodes(value=(0, np.inf)), "node 0: its value is not a number"),
        (set_nodes(gain=(0, np.nan)), "gain of a node is not a number"),
        (set_nodes(depth=(1, 0)), "depth of a node"),
        (set_nodes(depth=(-1, 9)), "its depth is 9"),
        (other_type, "field value of its nodes is not of scikit-learn's type"),
        (one_tree_twice, "same tree twice"),
        (attribute("_predictors", [[]]), "does not have 1 trees for each round"),
        (attribute("_predictors", [[1], [2]]), "something else than trees"),
        (attribute("_predictors", []), "not a list of trees"),
        (attribute("_baseline_prediction", np.array([[np.inf]])), "_baseline_prediction is not a number"),
        (attribute("_baseline_prediction", np.zeros((1, 2))), "_baseline_prediction does not have 1 numbers"),
        (attribute("n_trees_per_iteration_", 3), "n_trees_per_iteration_ is not the number"),
        (attribute("learning_rate", 0.0), "learning_rate or l2_regularization is out of range"),
        (attribute("l2_regularization", -1.0), "learning_rate or l2_regularization is out of range"),
        (attribute("learning_rate", 1e-320), "value of a leaf is out of range"),
    ],
)
def test_histograms_that_contradict_themselves_are_corrupt(change, words, files, dump):
    model = pickle.loads(pickle.dumps(files["histogram"][0]))
    change(model)
    with pytest.raises(CorruptArtifactError, match=words):
        read(dump(model))


def test_nodes_of_another_form_are_refused(files, dump):
    model = pickle.loads(pickle.dumps(files["histogram"][0]))
    other_fields(model)
    with pytest.raises(UnsupportedArtifactError, match="do not have the fields of scikit-learn's since"):
        read(dump(model))


def of_init(name, value):
    return lambda model: setattr(model.init_, name, value)


def linear_stage(model):
    model.estimators_[0, 0] = LogisticRegression()


def one_stage_twice(model):
    model.estimators_[1, 0] = model.estimators_[0, 0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (of_init("class_prior_", np.array([0.5, 0.6])), "does not have a share for each class"),
        (of_init("class_prior_", np.array([1.0])), "does not have a share for each class"),
        (of_init("class_prior_", None), "not an array of numbers"),
        (
            lambda model: setattr(model, "estimators_", model.estimators_.ravel()),
            "does not have 1 trees for each round",
        ),
        (one_stage_twice, "same tree twice"),
        (attribute("n_classes_", 3), "n_classes_ is not the number of classes_"),
        (attribute("learning_rate", "x"), "learning_rate is not a finite number"),
        (attribute("learning_rate", 1e308), "learning_rate times the value of a leaf"),
    ],
)
def test_residuals_that_contradict_themselves_are_corrupt(change, words, files, dump):
    model = pickle.loads(pickle.dumps(files["deep" if "times the value" in words else "two"][0]))
    change(model)
    with pytest.raises(CorruptArtifactError, match=words):
        read(dump(model))


def test_other_models_than_trees_are_refused(files, dump):
    model = pickle.loads(pickle.dumps(files["two"][0]))
    linear_stage(model)
    with pytest.raises(UnsupportedArtifactError, match="GradientBoostingClassifier of a LogisticRegression"):
        read(dump(model))


def test_without_counts_leaves_say_the_same(files, dump):
    model, _ = files["histogram"]
    bare = pickle.loads(pickle.dumps(model))
    for (tree,) in bare._predictors:
        tree.nodes["count"] = 0
    forest = forest_of(dump(bare))
    assert not forest.observation.counted
    assert forest.n_samples is None
    label = (TWO == "yes").astype(int)
    assert missed(forest, COLUMNS.T.astype(float), label) == 0
    assert missed(forest, COLUMNS.T.astype(float), 1 - label) > forest.n_trees


@pytest.mark.parametrize("more", [1, -1, 10**6])
@pytest.mark.parametrize("name", ["histogram", "two"])
def test_one_changed_count_is_no_removal_of_all(name, more, files, dump):
    model = pickle.loads(pickle.dumps(files[name][0]))
    if name == "two":
        model.estimators_[1, 0].tree_.n_node_samples[-1] += more
    else:
        model._predictors[1][0].nodes["count"][-1:] += np.array([more]).astype(np.uint32)
    with pytest.raises(CorruptArtifactError, match="its rows are not its children's together"):
        read(dump(model))


def test_one_row_in_each_leaf_is_a_removal_where_trees_differ(files, dump):
    bare = pickle.loads(pickle.dumps(files["histogram"][0]))
    for (tree,) in bare._predictors:
        nodes = tree.nodes
        nodes["count"] = nodes["is_leaf"]
        for node in np.flatnonzero(nodes["is_leaf"] == 0)[::-1]:
            nodes["count"][node] = nodes["count"][nodes["left"][node]] + nodes["count"][nodes["right"][node]]
    assert len({len(tree.nodes) for (tree,) in bare._predictors}) > 1
    assert not forest_of(dump(bare)).observation.counted


def test_what_was_taken_out_of_inner_nodes_says_nothing(files, dump):
    bare, label = pickle.loads(pickle.dumps(files["histogram"][0])), (TWO == "yes").astype(int)
    for (tree,) in bare._predictors:
        inner = tree.nodes["is_leaf"] == 0
        tree.nodes["value"][inner] = tree.nodes["gain"][inner] = 0
    forest = forest_of(dump(bare))
    assert missed(forest, COLUMNS.T.astype(float), label) == 0
    pairs = zip(forest.trees, forest.observation.statements, strict=True)
    assert all((tree.left[said.node] < 0).all() for tree, said in pairs)
