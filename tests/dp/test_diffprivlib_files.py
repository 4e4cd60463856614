"""Files that diffprivlib itself writes are read, and what is said of them holds."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

pytest.importorskip("diffprivlib", reason="diffprivlib comes with pytest-draft[dp]")

from diffprivlib.models import RandomForestClassifier
from diffprivlib.models.forest import DecisionTreeClassifier
from sklearn.base import clone

from pytest_draft.artifact import read
from pytest_draft.artifact.sklearn.declared_privacy import REPLAYED
from pytest_draft.errors import UnsupportedArtifactError

N_TREES = 4


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(2)
    rows = random.integers(0, 2, (80, 5)).astype(np.float32)
    return rows, rows[:, 0].astype(int)


@pytest.fixture
def model(data):
    return RandomForestClassifier(N_TREES, epsilon=0.5, bounds=(0, 1), classes=[0, 1], max_depth=4).fit(*data)


@pytest.fixture
def written(tmp_path):
    def write(model):
        joblib.dump(model, tmp_path / "model.joblib")
        return read(tmp_path / "model.joblib")

    return write


def test_a_forest_is_read_with_its_labels(model, written):
    artifact = written(model)
    expected = "RandomForestClassifier of diffprivlib, 4 trees, 5 columns, 2 classes, epsilon 0.5 (labels only)"
    assert artifact.holds == expected
    forest = artifact.forest
    assert not forest.observation.privacy.exact
    for t, estimator in enumerate(model.estimators_):
        tree = estimator.tree_
        assert (forest.trees[t].threshold == tree.threshold).all()
        assert (forest.released(t) == tree.value[tree.children_left < 0, 0]).all()


def test_the_stored_seeds_replay_the_labels_with_the_mechanisms_own_draws(model, data, written):
    assert written(model).forest.observation.privacy.broken_by == (REPLAYED,)
    own = np.arange(80) // (80 // N_TREES)
    for t, tree in enumerate(model.estimators_):
        again = clone(tree).fit(data[0][own == t], data[1][own == t])
        assert (again.tree_.value == tree.tree_.value).all()


def test_a_tree_by_itself_stores_no_seed_unless_it_is_given_one(data, written):
    tree = DecisionTreeClassifier(4, epsilon=1.0, bounds=(0, 1), classes=[0, 1])
    assert written(clone(tree).fit(*data)).forest.observation.privacy.broken_by == ()
    assert written(clone(tree).set_params(random_state=1).fit(*data)).forest.observation.privacy.broken_by == (
        REPLAYED,
    )


def test_exact_counts_filled_into_its_trees_are_found_and_counted(model, data, written):
    for estimator in model.estimators_:
        tree = estimator.tree_
        passed = tree.decision_path(data[0]).toarray()
        tree.value[:, 0, :] = np.stack([passed[data[1] == c].sum(axis=0) for c in (0, 1)], axis=1)
    forest = written(model).forest
    assert forest.observation.privacy.exact
    assert forest.n_samples == 80
    for t, estimator in enumerate(model.estimators_):
        assert (forest.counts(t) == estimator.tree_.value[:, 0]).all()


@pytest.mark.parametrize("classes", [["a", "b"], [1, 2]], ids=str)
def test_it_mixes_up_classes_other_than_0_and_1_and_is_refused(classes, data, written):
    rows, numbers = np.tile(data[0], (20, 1)), np.tile(data[1], 20)
    fitted = {}
    for known in ([0, 1], classes):
        model = RandomForestClassifier(20, epsilon=100.0, bounds=(0, 1), classes=known, random_state=0)
        labels = np.array(known)[numbers]
        fitted[str(known)] = model.fit(rows, labels), model.score(rows, labels)
    assert fitted["[0, 1]"][1] > 0.95
    model, score = fitted[str(classes)]
    assert score < 0.8
    with pytest.raises(UnsupportedArtifactError, match="mixes those up"):
        written(model)
