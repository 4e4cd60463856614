"""Private forests: what their files declare is checked against what they hold, and labels are never taken for counts.

No diffprivlib here: its files are written by classes of the same names.
"""

from __future__ import annotations

import math
import pickle
import sys
import types

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.tree._tree import NODE_DTYPE, Tree

from pytest_draft.artifact import read
from pytest_draft.artifact.forest.observations import ReleasedLabels
from pytest_draft.artifact.sklearn.declared_privacy import REPLAYED, WARM_START, gaussian_delta
from pytest_draft.dp import GaussianForestClassifier, LaplaceForestClassifier
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError
from pytest_draft.facts.privacy import Privacy

N_TREES, N_ROWS, DEPTH = 6, 40, 3
N_NODES = 2 ** (DEPTH + 1) - 1
# A complete tree whose left branches are numbered first.
LEFT = np.array([1, 2, 3, -1, -1, 6, -1, -1, 9, 10, -1, -1, 13, -1, -1])
RIGHT = np.array([8, 5, 4, -1, -1, 7, -1, -1, 12, 11, -1, -1, 14, -1, -1])
LEAVES = np.flatnonzero(LEFT < 0)
INNER = np.flatnonzero(LEFT >= 0)


@pytest.fixture
def random():
    return np.random.default_rng(8)


@pytest.fixture
def structure(random):
    """Columns and thresholds of each tree, as diffprivlib writes them."""
    inner = LEFT >= 0
    feature = np.where(inner, random.integers(0, 5, (N_TREES, N_NODES)), -2)
    return feature, np.where(inner, random.random((N_TREES, N_NODES)), -2.0)


@pytest.fixture
def true_counts(random, structure):
    """Counts of 40 rows at every node of each tree, shape (n_trees, n_nodes, 2)."""
    rows, labels = random.integers(0, 2, (N_ROWS, 5)), random.integers(0, 2, N_ROWS)
    counts = np.zeros((N_TREES, N_NODES, 2), np.int64)
    for t, (feature, threshold) in enumerate(zip(*structure, strict=True)):
        for row, label in zip(rows, labels, strict=True):
            node = 0
            while True:
                counts[t, node, label] += 1
                if LEFT[node] < 0:
                    break
                node = (LEFT if row[feature[node]] <= threshold[node] else RIGHT)[node]
    return counts


@pytest.fixture
def at_leaves(true_counts):
    return np.where((LEFT < 0)[:, None], true_counts, 0)


@pytest.fixture
def noisy(at_leaves, random):
    """What a forest of 6 trees with epsilon 3 releases."""
    noise = random.laplace(scale=2.0, size=at_leaves.shape)
    return np.where((LEFT < 0)[:, None], np.trunc(at_leaves + noise), 0).astype(np.int64)


@pytest.fixture
def ours(structure, noisy):
    """Return a function that makes a fitted forest of `pytest_draft.dp`, with changed attributes."""

    def made(kind=LaplaceForestClassifier, **changes):
        model = kind(N_TREES, epsilon=3.0, bounds=(0, 1), classes=[0, 1], max_depth=DEPTH, random_state=1)
        model.n_features_in_, model.classes_ = 5, np.array([0, 1])
        model.children_left_, model.children_right_ = LEFT, RIGHT
        model.feature_, model.threshold_ = structure
        model.counts_ = noisy
        model.epsilon_, model.delta_, model.scale_, model.rounding_ = 3.0, 0.0, 2.0, "sum"
        model.__dict__.update(changes)
        return model

    return made


@pytest.fixture
def theirs(structure, monkeypatch):
    """Return a function that makes a fitted forest of diffprivlib around values, with changed attributes."""
    names = ("diffprivlib", "diffprivlib.models", "diffprivlib.models.forest")
    modules = [types.ModuleType(name) for name in names]
    for name, module in zip(names, modules, strict=True):
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("RandomForestClassifier", "DecisionTreeClassifier"):
        setattr(modules[-1], name, type(name, (), {"__module__": names[-1]}))

    def tree(t, values, **changes):
        nodes = np.zeros(N_NODES, NODE_DTYPE)
        nodes["left_child"], nodes["right_child"] = LEFT, RIGHT
        nodes["feature"], nodes["threshold"] = structure[0][t], structure[1][t]
        nodes["n_node_samples"] = changes.pop("n_node_samples", 0)
        inside = Tree(5, np.array([2]), 1)
        values = np.ascontiguousarray(values[:, None, :], np.float64)
        inside.__setstate__({"max_depth": DEPTH, "node_count": N_NODES, "nodes": nodes, "values": values})
        made = modules[-1].DecisionTreeClassifier()
        made.__dict__.update(epsilon=0.5, random_state=7 + t, n_features_in_=5, n_outputs_=1, tree_=inside)
        made.__dict__.update(classes_=np.array([0, 1]), n_classes_=2, monotonic_cst=None)
        made.__dict__.update(changes)
        return made

    def forest(values, *, inside=None, **changes):
        made = modules[-1].RandomForestClassifier()
        trees = [tree(t, values[t], **(inside or {})) for t in range(len(values))]
        made.__dict__.update(epsilon=0.5, random_state=None, warm_start=False, estimators_=trees, n_features_in_=5)
        made.__dict__.update(n_outputs_=1, classes_=np.array([0, 1]), n_classes_=2)
        made.__dict__.update(changes)
        return made

    forest.tree = tree
    return forest


@pytest.fixture
def labels(random):
    """One label at each leaf, shape (n_trees, n_nodes, 2)."""
    values = np.zeros((N_TREES, N_NODES, 2))
    for t in range(N_TREES):
        values[t, LEAVES, random.integers(0, 2, len(LEAVES))] = 1
    return values


def refused(path, kind, words):
    with pytest.raises(kind) as caught:
        read(path)
    assert type(caught.value) is kind
    message = str(caught.value)
    assert words in message
    assert message.isascii()
    assert message.isprintable()


def assert_counts(forest, true_counts):
    """Assert that a forest is an ordinary one without bootstrap, of 40 rows."""
    assert forest.n_samples == N_ROWS
    assert not forest.draws.drawn
    for t, tree in enumerate(forest.trees):
        assert (forest.counts(t) == true_counts[t]).all()
        assert (tree.weight == true_counts[t].sum(axis=1)).all()
        assert (tree.n_distinct == true_counts[t].sum(axis=1)).all()


# Forests of pytest_draft.dp


@pytest.mark.parametrize("name", ["model.joblib", "model.pkl"])
def test_noisy_counts_are_read_with_what_is_declared(name, ours, noisy, structure, dump):
    artifact = read(dump(ours(), name))
    forest = artifact.forest
    expected = "LaplaceForestClassifier, 6 trees, 5 columns, 2 classes, epsilon 3 (Laplace noise on counts)"
    assert artifact.holds == expected
    assert artifact.not_read == ()
    assert artifact.unjudged.why is None
    privacy = forest.observation.privacy
    assert (privacy.mechanism, privacy.epsilon, privacy.delta, privacy.scale) == ("laplace", 3.0, 0.0, 2.0)
    assert (privacy.rounding, privacy.exact, privacy.broken_by) == ("sum", False, ())
    assert forest.n_samples is None
    for t, tree in enumerate(forest.trees):
        assert (tree.left == LEFT).all()
        assert (tree.right == RIGHT).all()
        assert (tree.feature == np.maximum(structure[0][t], -1)).all()
        assert (tree.threshold == structure[1][t]).all()
        assert not tree.weight.any()
        assert not tree.n_distinct.any()
        assert (forest.released(t) == noisy[t, LEAVES]).all()
    assert (noisy < 0).any()


def test_counts_of_a_private_forest_are_never_given_out_as_exact(ours, theirs, labels, dump):
    for model in (ours(), theirs(labels)):
        forest = read(dump(model)).forest
        with pytest.raises(ValueError, match="no counts"):
            forest.counts(0)


def test_an_ordinary_forest_releases_nothing_by_a_mechanism(fitted, dump):
    forest = read(dump(fitted)).forest
    assert forest.observation.privacy is None
    with pytest.raises(ValueError, match="declares no privacy"):
        forest.released(0)


def test_what_was_spent_counts_not_what_a_parameter_says_later(ours, dump):
    assert read(dump(ours(epsilon=0.1))).forest.observation.privacy.epsilon == 3.0


def test_gaussian_noise_is_read_and_must_prove_its_delta(ours, dump):
    sigma = math.sqrt(2 * math.log(1.25 / (1e-3 / N_TREES))) / (3.0 / N_TREES)
    model = ours(GaussianForestClassifier, delta_=1e-3, scale_=sigma)
    artifact = read(dump(model))
    assert artifact.holds.endswith("epsilon 3, delta 0.001 (Gaussian noise on counts)")
    assert artifact.forest.observation.privacy.mechanism == "gaussian"
    for changes in ({"scale_": sigma / 2}, {"delta_": 1e-9}, {"delta_": 0.0}):
        model = ours(GaussianForestClassifier, **{"delta_": 1e-3, "scale_": sigma, **changes})
        refused(dump(model), CorruptArtifactError, "is not that of its epsilon for 6 trees")


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0, 20.0])
@pytest.mark.parametrize("scale", [0.2, 1.0, 5.0, 200.0])
def test_the_delta_of_gaussian_noise_is_the_integral_of_what_epsilon_does_not_cover(epsilon, scale):
    # Where the density with the row is more than exp(epsilon) times the one without it.
    cut = 0.5 + epsilon * scale**2
    expected = norm.sf((cut - 1) / scale) - math.exp(epsilon) * norm.sf(cut / scale)
    assert gaussian_delta(scale, epsilon) == pytest.approx(expected, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize(("epsilon", "scale"), [(300.0, 0.0495), (1000.0, 0.027), (5e4, 0.0032)])
def test_the_delta_of_gaussian_noise_is_found_far_out_in_the_tails(epsilon, scale):
    # There the complementary error function underflows.
    half, shift = 0.5 / scale, epsilon * scale
    expected = norm.sf(shift - half) - math.exp(epsilon + norm.logsf(shift + half))
    assert 0 < expected < 1
    assert gaussian_delta(scale, epsilon) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon_": 0.0}, "epsilon must be positive"),
        ({"epsilon_": float("inf")}, "epsilon_ is not a finite number"),
        ({"epsilon_": float("nan")}, "epsilon_ is not a finite number"),
        ({"epsilon_": "3"}, "epsilon_ is not a finite number"),
        ({"epsilon_": 3.0001}, "not that of its epsilon"),
        ({"scale_": 2.0 + 1e-6}, "not that of its epsilon"),
        ({"scale_": 0.0}, "positive, finite scale"),
        ({"delta_": 1e-6}, "not that of its epsilon"),
        ({"rounding_": "round"}, "rounding_ is neither"),
        ({"rounding_": None}, "rounding_ is neither"),
        ({"counts_": np.zeros((6, 15, 3), np.int64)}, "counts_ does not have"),
        ({"counts_": np.zeros((6, 14, 2), np.int64)}, "counts_ does not have"),
        ({"counts_": np.zeros((0, 15, 2), np.int64)}, "counts_ does not have"),
        ({"counts_": np.zeros((6, 15, 2))}, "counts_ is not an array"),
        ({"counts_": np.full((6, 15, 2), 2**60)}, "not whole"),
        ({"feature_": np.zeros((5, 15), np.int64)}, "feature_ does not have"),
        ({"feature_": np.full((6, 15), 5)}, "tests none of the 5 columns"),
        ({"threshold_": np.full((6, 15), np.nan)}, "threshold is not a number"),
        ({"threshold_": None}, "threshold_ is not an array"),
        ({"children_left_": RIGHT}, "two parents"),
        ({"children_left_": np.where(LEFT == 1, 8, LEFT)}, "two parents"),
        ({"children_right_": LEFT[:-1]}, "children_right_ does not have"),
        ({"n_features_in_": 0}, "n_features_in_"),
        ({"classes_": np.array([1, 1])}, "a class twice"),
    ],
    ids=str,
)
def test_a_forest_of_ours_that_contradicts_itself_is_corrupt(changes, words, ours, dump):
    refused(dump(ours(**changes)), CorruptArtifactError, words)


def test_noisy_counts_at_an_inner_node_are_corrupt(ours, noisy, dump):
    noisy[2, INNER[3], 1] = 4
    refused(dump(ours()), CorruptArtifactError, "tree 2: an inner node has counts")


def test_a_forest_that_was_not_fitted_is_unsupported(dump):
    for kind in (LaplaceForestClassifier, GaussianForestClassifier):
        refused(dump(kind()), UnsupportedArtifactError, f"a {kind.__name__} that was not fitted")


@pytest.mark.parametrize("summed", [False, True])
def test_exact_counts_behind_a_declared_epsilon_are_read_as_an_ordinary_forest(
    summed, ours, at_leaves, true_counts, dump
):
    artifact = read(dump(ours(counts_=true_counts if summed else at_leaves)))
    assert artifact.holds.endswith("epsilon 3 (but exact counts)")
    assert artifact.forest.observation.privacy.exact
    assert artifact.forest.observation.privacy.epsilon == 3.0
    assert_counts(artifact.forest, true_counts)


def test_one_count_that_differs_makes_them_not_exact(ours, at_leaves, dump):
    at_leaves[1, LEAVES[0], 0] += 1
    assert not read(dump(ours(counts_=at_leaves))).forest.observation.privacy.exact


def test_totals_that_noise_makes_agree_by_chance_are_not_taken_for_exact(ours, at_leaves, structure, dump):
    # One tree agrees with itself, and with weak noise two trees often do.
    feature, threshold = structure
    for n_trees in (1, 2):
        model = ours(
            counts_=at_leaves[:n_trees],
            feature_=feature[:n_trees],
            threshold_=threshold[:n_trees],
            epsilon_=50.0,
            scale_=n_trees / 50.0,
        )
        assert not read(dump(model)).forest.observation.privacy.exact


@pytest.mark.nightly
def test_weak_noise_seldom_looks_exact(ours, at_leaves, random, dump):
    # int(n + Y) is n - 1 half the time, however small Y is.
    leaf = (LEFT < 0)[:, None]
    found = 0
    for _ in range(50):
        noise = random.laplace(scale=0.01, size=at_leaves.shape)
        counts = np.where(leaf, np.trunc(at_leaves + noise), 0).astype(np.int64)
        found += read(dump(ours(counts_=counts, epsilon_=600.0, scale_=0.01))).forest.observation.privacy.exact
    assert found == 0


def test_reading_does_not_import_the_estimators(ours, dump, monkeypatch):
    path = dump(ours())
    monkeypatch.setitem(sys.modules, "pytest_draft.dp", None)
    assert read(path).forest.n_trees == N_TREES


# Forests of diffprivlib


@pytest.mark.parametrize("name", ["model.joblib", "model.pkl"])
def test_labels_are_read_as_labels(name, theirs, labels, dump):
    artifact = read(dump(theirs(labels), name))
    expected = "RandomForestClassifier of diffprivlib, 6 trees, 5 columns, 2 classes, epsilon 0.5 (labels only)"
    assert artifact.holds == expected
    forest = artifact.forest
    assert forest.kind == "RandomForestClassifier of diffprivlib"
    assert forest.observation == ReleasedLabels(privacy=Privacy("permute-and-flip", 0.5, broken_by=(REPLAYED,)))
    assert forest.n_samples is None
    for t in range(N_TREES):
        assert (forest.released(t) == labels[t, LEAVES]).all()


def test_stored_seeds_break_the_declared_privacy(theirs, labels, dump):
    assert read(dump(theirs(labels))).forest.observation.privacy.broken_by == (REPLAYED,)
    unseeded = theirs(labels, inside={"random_state": None})
    assert read(dump(unseeded)).forest.observation.privacy.broken_by == ()
    warm = theirs(labels, inside={"random_state": None}, warm_start=True)
    assert read(dump(warm)).forest.observation.privacy.broken_by == (WARM_START,)


def test_a_single_tree_of_diffprivlib_is_read(theirs, labels, dump):
    tree = theirs.tree(0, labels[0], random_state=None, classes_=np.array(["a", "b"]))
    artifact = read(dump(tree))
    assert artifact.holds.startswith("DecisionTreeClassifier of diffprivlib, 1 tree, 5 columns")
    assert artifact.forest.classes == ("a", "b")
    assert artifact.forest.observation.privacy.broken_by == ()


def test_the_largest_epsilon_of_the_trees_counts(theirs, labels, dump):
    model = theirs(labels)
    model.estimators_[2].epsilon = 4
    assert read(dump(model)).forest.observation.privacy.epsilon == 4.0


@pytest.mark.parametrize("epsilon", [0, -1, float("inf"), "1", True, None])
def test_an_epsilon_that_makes_no_sense_is_corrupt(epsilon, theirs, labels, dump):
    refused(dump(theirs(labels, inside={"epsilon": epsilon})), CorruptArtifactError, "epsilon")


@pytest.mark.parametrize("summed", [False, True])
def test_counts_filled_into_diffprivlibs_trees_are_exact(summed, theirs, at_leaves, true_counts, dump):
    artifact = read(dump(theirs(true_counts if summed else at_leaves)))
    assert artifact.holds.endswith("epsilon 0.5 (but exact counts)")
    assert artifact.forest.observation.privacy.exact
    assert_counts(artifact.forest, true_counts)


def test_values_that_are_neither_labels_nor_exact_counts_are_refused(theirs, noisy, true_counts, labels, dump):
    fractions = true_counts / true_counts.sum(axis=2, keepdims=True).clip(1)
    with_inner = np.where((LEFT < 0)[:, None], labels, 1)
    one_off = true_counts.copy()
    one_off[0, 0, 0] += 1
    for values in (noisy, fractions, 2 * labels - 1, with_inner, one_off, np.zeros_like(labels)):
        refused(dump(theirs(values)), UnsupportedArtifactError, "neither diffprivlib's labels nor exact counts")


def test_one_tree_with_counts_at_its_leaves_only_is_refused(theirs, at_leaves, dump):
    refused(dump(theirs(at_leaves[:1])), UnsupportedArtifactError, "with what noise is not in the file")


def test_numbers_of_rows_beside_labels_are_refused(theirs, labels, true_counts, dump):
    model = theirs(labels, inside={"n_node_samples": true_counts[0].sum(axis=1)})
    refused(dump(model), CorruptArtifactError, "which no private forest does")


@pytest.mark.parametrize("classes", [[1, 2], ["a", "b"], [-1, 1]], ids=str)
def test_a_forest_of_diffprivlib_that_mixed_up_its_classes_is_refused(classes, theirs, labels, dump):
    model = theirs(labels, classes_=np.array(classes), inside={"classes_": np.array(classes)})
    refused(dump(model), UnsupportedArtifactError, "train it again on classes 0, 1 and so on")


def test_a_forest_of_diffprivlib_of_other_trees_is_refused(theirs, labels, fitted, dump):
    model = theirs(labels)
    model.estimators_[0] = fitted.estimators_[0]
    refused(dump(model), UnsupportedArtifactError, "a RandomForestClassifier of a DecisionTreeClassifier")


def test_files_of_private_forests_hold_nothing_that_is_run(theirs, labels, dump):
    path = dump(pickle.dumps(theirs(labels)), "model.pkl")
    for name in ("diffprivlib", "diffprivlib.models", "diffprivlib.models.forest"):
        del sys.modules[name]
    assert read(path).forest.n_trees == N_TREES
    assert "diffprivlib" not in sys.modules
