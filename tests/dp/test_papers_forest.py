"""The forest of the paper's experiment is rebuilt number by number, and ours by a file."""

from __future__ import annotations

import dataclasses

import joblib
import numpy as np
import pytest

pytest.importorskip("diffprivlib", reason="private forests are trained with pytest-draft[dp]")

from diffprivlib.models import RandomForestClassifier

from pytest_draft.artifact import Forest, Tree, read
from pytest_draft.dp import LaplaceForestClassifier
from studies.dp_forests import _forest, papers_forest


def step_by_step(X, y, n_trees, max_depth, epsilon, seed, noise_seed):
    """Return the released values of every node of every tree, by the steps of the authors' experiment.

    Global seeds, diffprivlib's own forest, counts by walking row by row, noise taken from the end of a list.
    """
    np.random.seed(seed)  # noqa: NPY002
    model = RandomForestClassifier(n_estimators=n_trees, max_depth=max_depth, bounds=(0, 1), classes=[0, 1])
    model.fit(X, y)
    trees = [estimator.tree_ for estimator in model.estimators_]
    np.random.seed(noise_seed)  # noqa: NPY002
    scale, n_counts = n_trees / epsilon, n_trees * 2**max_depth * 2
    noise = [np.random.laplace(scale=scale) for _ in range(n_counts)]  # noqa: NPY002
    values = []
    for tree in trees:
        counts = np.zeros((tree.node_count, 2))
        for row, label in zip(X, y, strict=True):
            node = 0
            while tree.children_left[node] != -1:
                goes_left = row[tree.feature[node]] <= tree.threshold[node]
                node = tree.children_left[node] if goes_left else tree.children_right[node]
            counts[node, label] += 1
        for node in range(tree.node_count):
            if tree.children_left[node] == -1:
                for c in range(2):
                    counts[node, c] += int(noise.pop())
        values.append(counts)
    return trees, values


@pytest.fixture(scope="module")
def data():
    random = np.random.RandomState(4)
    return random.randint(0, 2, (40, 7)), random.randint(0, 2, 40)


@pytest.mark.parametrize(("n_trees", "depth", "epsilon", "seed", "noise_seed"), [(1, 3, 0.1, 0, 0), (5, 4, 30, 7, 2)])
def test_the_papers_forest_is_the_one_of_its_experiment(n_trees, depth, epsilon, seed, noise_seed, data):
    forest = papers_forest(*data, n_trees, depth, epsilon, seed, noise_seed)
    trees, values = step_by_step(*data, n_trees, depth, epsilon, seed, noise_seed)
    for ours, theirs, value in zip(forest.trees, trees, values, strict=True):
        np.testing.assert_array_equal(ours.left, theirs.children_left)
        np.testing.assert_array_equal(ours.right, theirs.children_right)
        np.testing.assert_array_equal(ours.feature, np.maximum(theirs.feature, -1))
        np.testing.assert_array_equal(ours.threshold, theirs.threshold)
        assert (ours.value == value).all()
    assert forest.observation.privacy.rounding == "noise"
    assert forest.observation.privacy.scale == n_trees / epsilon


def test_the_papers_forest_leaves_the_global_generator_alone(data):
    np.random.seed(1)  # noqa: NPY002
    expected = np.random.RandomState(1).rand()
    papers_forest(*data, 2, 2, 1.0, seed=5)
    assert np.random.rand() == expected  # noqa: NPY002


def test_a_forest_without_a_file_is_what_the_reader_makes_of_one(data, tmp_path):
    model = LaplaceForestClassifier(3, bounds=(0, 1), classes=[0, 1], random_state=2).fit(*data)
    joblib.dump(model, tmp_path / "model.joblib")
    read_forest, made = read(tmp_path / "model.joblib").forest, _forest(model)
    for field in dataclasses.fields(Forest):
        if field.name not in ("trees", "parameters"):
            assert getattr(made, field.name) == getattr(read_forest, field.name)
    for one, other in zip(made.trees, read_forest.trees, strict=True):
        for field in dataclasses.fields(Tree):
            assert np.array_equal(getattr(one, field.name), getattr(other, field.name))
