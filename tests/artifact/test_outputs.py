"""What a file without counts tells: shares, rounded ones, labels; and counts, where they were removed by halves."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pytest_draft.artifact import read
from pytest_draft.artifact.forest.observations import ClassCounts, MeanTargets, Shares, WinningLabels
from pytest_draft.artifact.model import published
from pytest_draft.artifact.sklearn.outputs import more_left, rounded_to
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError
from stripping import stripped

FILES = Path(__file__).parent / "files"

MODELS = {
    "forest": RandomForestClassifier(6, random_state=0),
    "no bootstrap": RandomForestClassifier(6, bootstrap=False, random_state=0),
    "extra": ExtraTreesClassifier(6, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "bagging": BaggingClassifier(n_estimators=6, random_state=0),
    "pasting": BaggingClassifier(n_estimators=6, bootstrap=False, max_samples=0.7, random_state=0),
}


def table(n_classes: int, n_rows: int = 100, seed: int = 0):
    """Return rows of few values, many of them alike, so that leaves hold several classes."""
    random = np.random.default_rng(seed)
    rows = random.integers(0, 3, (n_rows, 4)).astype(float)
    labels = (rows[:, 0] + rows[:, 1] + random.integers(0, 3, n_rows)).astype(int) * n_classes // 7
    return rows, labels


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def given(request):
    return table(request.param)


@pytest.fixture(params=MODELS.values(), ids=MODELS)
def model(request, given):
    return pickle.loads(pickle.dumps(request.param)).fit(*given)


def trees_of(model):
    return [tree.tree_ for tree in getattr(model, "estimators_", [model])]


def assert_counts(forest, model) -> None:
    """Assert that all counts are those of a model."""
    assert forest.observation.exact
    for index, (tree, other) in enumerate(zip(forest.trees, trees_of(model), strict=True)):
        true = np.rint(other.value[:, 0, :] * other.weighted_n_node_samples[:, None]).astype(int)
        assert forest.counts(index).tolist() == true.tolist()
        if tree.n_distinct[0]:
            assert tree.n_distinct.tolist() == other.n_node_samples.tolist()


# Nothing left


@pytest.mark.nightly(quick=5)
@pytest.mark.parametrize("counts", ["canonical", "zeros", "ones"])
def test_a_file_without_counts_is_read_as_the_shares_in_its_leaves(counts, model, dump):
    forest = read(dump(stripped(model, "counts", counts=counts))).forest
    assert forest.observation == Shares(None, 2.0**-52, more_left=False)
    assert (forest.n_samples, forest.draws.per_tree) == (None, None)
    for tree, other in zip(forest.trees, trees_of(model), strict=True):
        leaf = tree.left < 0
        assert np.abs(tree.value[leaf] - other.value[leaf, 0, :]).max() < 1e-15
        assert not tree.value[~leaf].any()
        assert not tree.weight.any()
        assert not tree.n_distinct.any()
    with pytest.raises(ValueError, match="no counts"):
        forest.counts(0)
    assert published(read(dump(stripped(model, "counts")))).answers == "shares"


@pytest.mark.nightly(quick=8)
@pytest.mark.parametrize("decimals", [1, 2, 3])
def test_rounded_shares_are_told_from_exact_ones(decimals, model, dump):
    outputs = read(dump(stripped(model, f"decimals:{decimals}"))).forest.observation
    assert isinstance(outputs, Shares)
    if outputs.decimals is None:  # a few leaves that are the same in each tree, of one decimal, can be exact
        assert decimals == 1
        assert not getattr(model, "bootstrap", False)
    else:
        assert outputs.decimals == decimals
        assert outputs.tolerance == pytest.approx(0.5 * 10**-decimals)


@pytest.mark.nightly(quick=2)
def test_labels_may_be_pure_leaves_where_no_two_side_by_side_are_alike(model, dump):
    path = dump(stripped(model, "labels"))
    assert read(path).forest.observation == WinningLabels(more_left=False, may_be_pure=True)
    assert published(read(path)) == replace(published(read(path)), counts=None, answers="labels", certain_leaves=0)
    unmerged = stripped(model, "labels", left=("n_node_samples",), counts="zeros")
    for tree in trees_of(unmerged):
        state = tree.__getstate__()
        state["nodes"]["n_node_samples"] = 0
        tree.__setstate__(state)
    assert not read(dump(unmerged)).forest.observation.may_be_pure


def test_the_shares_of_a_fully_grown_tree_without_duplicates_can_be_labels(dump):
    rows = np.random.default_rng(1).normal(size=(80, 3))
    grown = RandomForestClassifier(5, random_state=0).fit(rows, rows[:, 0] > rows[:, 1])
    assert read(dump(stripped(grown, "counts"))).forest.observation.named == "labels"
    assert read(dump(stripped(grown, "counts"))).forest.observation.may_be_pure


SHARES = {
    "halves": ([1, 1, 2, 1], [2, 2, 2, 2]),
    "fifths": ([1, 2, 3, 4], [5, 5, 5, 5]),
    "one of ten": ([1], [10]),
    "quarters and eighths": ([1, 3, 1, 5], [4, 4, 8, 8]),
    "any of up to twelve": (list(range(1, 12)), list(range(2, 13))),
}


@pytest.mark.parametrize(("shares", "rows"), SHARES.values(), ids=SHARES)
def test_a_few_exact_shares_that_happen_to_be_short_are_not_taken_for_rounded_ones(shares, rows):
    first = np.array(shares) / np.array(rows)
    assert all(rounded_to(np.column_stack((first, 1 - first)), drawn=drawn)[0] is None for drawn in (False, True))


def test_shares_of_single_precision_are_as_exact_as_that():
    first = (np.arange(1, 30) / np.arange(3, 32)).astype(np.float32).astype(float)
    assert rounded_to(np.column_stack((first, 1 - first)).astype(np.float32).astype(float), drawn=True) == (
        None,
        2.0**-24,
    )


def test_rounded_shares_that_do_not_add_up_were_rounded():
    assert rounded_to(np.array([[0.33, 0.33, 0.33]]), drawn=True) == (2, pytest.approx(0.005))


# By halves

HALF_WAY = {
    "weights": (("weighted_n_node_samples",), "weighted_n_node_samples"),
    "numbers of rows": (("n_node_samples",), "n_node_samples"),
    "inner fractions": (("inner fractions",), "the values of inner nodes"),
    "impurity": (("impurity",), "impurities"),
    "inner fractions and rows": (("inner fractions", "n_node_samples"), "the values of inner nodes and n_node_samples"),
    "seeds and weights": (("weighted_n_node_samples", "seeds"), "weighted_n_node_samples"),
}


@pytest.mark.nightly(quick=4)
@pytest.mark.parametrize("counts", ["canonical", "zeros", "ones"])
@pytest.mark.parametrize(("left", "words"), HALF_WAY.values(), ids=HALF_WAY)
def test_what_was_left_of_the_counts_is_said(left, words, counts, model, dump):
    for level in ("counts", "decimals:2", "labels"):
        artifact = read(dump(stripped(model, level, left=left, counts=counts)))
        assert not artifact.forest.observation.exact
        assert artifact.forest.observation.also.startswith(f"its file holds no counts, but {words} are left")
        assert published(artifact).left


def numbered(model, name, numbers):
    """Return a copy without counts, in which a field of each tree's nodes holds numbers."""
    file = stripped(model, "counts")
    for tree in trees_of(file):
        state = tree.__getstate__()
        state["nodes"][name] = numbers(state["nodes"])
        tree.__setstate__(state)
    return file


def summed(nodes, leaf, at_inner=1):
    """Return numbers that are `leaf` at leaves and, times another, the sum of their children above."""
    found = np.where(nodes["left_child"] < 0, leaf, 0)
    for node in np.flatnonzero(nodes["left_child"] >= 0)[::-1]:
        found[node] = found[nodes["left_child"][node]] + found[nodes["right_child"][node]]
    return np.where(nodes["left_child"] < 0, found, at_inner * found)


@pytest.mark.parametrize("name", ["n_node_samples", "weighted_n_node_samples"])
@pytest.mark.parametrize(("leaf", "at_inner"), [(5, 1), (0, 0), (1, 1), (1, 2)], ids=str)
def test_equal_numbers_at_leaves_are_left_where_they_count_more_than_leaves(name, leaf, at_inner, given, dump):
    """As of trees whose leaves all hold as many rows, or of whoever looked at leaves, or at inner nodes, alone."""
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(*given)
    forest = read(dump(numbered(model, name, lambda nodes: summed(nodes, leaf, at_inner)))).forest
    assert (forest.observation.also is not None) == ((leaf, at_inner) in {(5, 1), (1, 2)})


def test_numbers_of_inner_nodes_above_leaves_without_any_are_left(given, dump):
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(*given)

    def only_inner(nodes):
        return np.where(nodes["left_child"] < 0, 0, summed(nodes, 3))

    for name in ("n_node_samples", "weighted_n_node_samples"):
        assert f"{name} are left" in read(dump(numbered(model, name, only_inner))).forest.observation.also


def test_class_totals_without_weights_are_refused(given, dump):
    """As scikit-learn wrote its values before 1.3; with their weights they are counts."""
    model = pickle.loads(pickle.dumps(MODELS["no bootstrap"])).fit(*given)
    for left, refused in ((("inner fractions",), True), (("n_node_samples", "weighted_n_node_samples"), False)):
        old = stripped(model, "counts", left=left)
        for tree, other in zip(trees_of(old), trees_of(model), strict=True):
            state = tree.__getstate__()
            totals = np.rint(other.value * other.weighted_n_node_samples[:, None, None])
            tree.__setstate__(state | {"values": totals})
        if refused:
            with pytest.raises(CorruptArtifactError, match="do not add up to 1 or to its weight"):
                read(dump(old))
        else:
            assert_counts(read(dump(old)).forest, model)


def test_made_up_numbers_that_do_not_agree_with_the_shares_are_no_counts(given, dump):
    model = pickle.loads(pickle.dumps(MODELS["forest"])).fit(*given)
    random = np.random.default_rng(0)
    for name in ("n_node_samples", "weighted_n_node_samples"):
        file = stripped(model, "counts")
        for tree in trees_of(file):
            state = tree.__getstate__()
            state["nodes"][name] = random.integers(1, 50, len(state["nodes"]))
            tree.__setstate__(state)
        forest = read(dump(file)).forest
        assert not forest.observation.exact
        assert f"{name} are left" in forest.observation.also


def test_a_row_a_leaf_in_place_of_the_numbers_of_rows_is_seen_beside_true_weights(given, dump):
    left = ("weighted_n_node_samples", "inner fractions", "impurity", "seeds")
    for kind in ("forest", "bagging"):
        model = pickle.loads(pickle.dumps(MODELS[kind])).fit(*given)
        forest = read(dump(stripped(model, "counts", left=left))).forest
        assert not forest.observation.exact
        assert "weighted_n_node_samples are left" in forest.observation.also


def test_an_honest_file_is_no_half_way_one(model, dump):
    forest = read(dump(model)).forest
    assert forest.observation == ClassCounts("shares")
    assert_counts(forest, model)


# Weights, regressors, others


def test_shares_that_weights_may_have_scaled_are_said_to_be(dump):
    rows, labels = table(2)
    for balanced, scaled in (
        (RandomForestClassifier(3, class_weight="balanced_subsample", random_state=0), True),
        (ExtraTreesClassifier(3, class_weight="balanced", random_state=0), True),
        (DecisionTreeClassifier(class_weight={0: 1.0, 1: 3.0}), True),
        (RandomForestClassifier(3, random_state=0), False),
    ):
        forest = read(dump(stripped(balanced.fit(rows, labels), "counts"))).forest
        assert not forest.observation.exact
        assert forest.draws.may_scale(forest.sklearn_minor) is scaled


def test_a_regressor_without_counts_is_read_as_the_means_in_its_leaves(dump):
    rows, _ = table(2)
    targets = rows @ np.array([1.0, 0.3, 0.7, 0.1]) + np.random.default_rng(0).normal(size=len(rows))
    for model in (RandomForestRegressor(5, random_state=0), DecisionTreeRegressor(max_depth=4)):
        model.fit(rows, targets)
        forest = read(dump(stripped(model, "counts"))).forest
        assert forest.observation == MeanTargets(more_left=False)
        assert published(read(dump(stripped(model, "counts")))).answers == "mean targets"
        left = read(dump(stripped(model, "counts", left=("inner fractions",)))).forest
        assert "the values of inner nodes are left" in left.observation.also


def test_medians_and_small_targets_are_told_from_nothing(dump):
    rows, labels = table(2)
    rare = (labels * (rows[:, 2] == 0)).astype(float)  # all medians of inner nodes can be 0
    for criterion, targets in (("absolute_error", rare), ("squared_error", 1e-6 * rows.sum(axis=1))):
        model = DecisionTreeRegressor(max_depth=2, criterion=criterion).fit(rows, targets)
        assert read(dump(model)).forest.observation.exact
        assert not read(dump(stripped(model, "counts"))).forest.observation.exact


def test_what_a_file_holds_says_that_counts_are_gone(given, dump):
    model = pickle.loads(pickle.dumps(MODELS["forest"])).fit(*given)
    assert read(dump(stripped(model, "counts"))).holds.endswith("classes, no counts")


def test_a_model_of_which_only_numbers_of_rows_are_read_is_refused_without_them(given, dump):
    boosted = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3).fit(*given)
    with pytest.raises(UnsupportedArtifactError, match="removed or changed"):
        read(dump(stripped(boosted, "counts", counts="zeros")))


def test_what_holds_no_answers_either_is_corrupt(given, dump):
    file = stripped(pickle.loads(pickle.dumps(MODELS["forest"])).fit(*given), "counts")
    tree = trees_of(file)[3]
    state = tree.__getstate__()
    tree.__setstate__(state | {"values": np.zeros_like(state["values"])})
    with pytest.raises(CorruptArtifactError, match=r"tree 3, node \d+: its classes do not add up to 1"):
        read(dump(file))


def test_which_child_more_rows_reached_is_told_by_where_missing_values_go():
    """The version decides: for best splits since 1.3."""
    for version in ("1.3.2", "1.4.2", "1.6.1", "1.8.0"):
        forest = read(FILES / f"forest-{version}.joblib").forest
        for tree in forest.trees:
            inner = tree.left >= 0
            more = tree.n_distinct[tree.left[inner]] > tree.n_distinct[tree.right[inner]]
            assert tree.missing_left[inner].tolist() == more.tolist()
        assert more_left(forest.trees, range(forest.n_features))
        assert not more_left(forest.trees, ())


def test_sides_are_told_where_they_were_left(model, given, dump):
    outputs = read(dump(stripped(model, "counts", left=("missing_go_to_left",)))).forest.observation
    assert outputs.more_left
    for tree in trees_of(model):
        nodes = tree.__getstate__()["nodes"]
        inner = nodes[nodes["left_child"] >= 0]
        rows = nodes["n_node_samples"]
        more = rows[inner["left_child"]] > rows[inner["right_child"]]
        assert inner["missing_go_to_left"].tolist() == more.astype(int).tolist()


def test_shares_of_all_of_a_round_number_of_rows_are_exact(dump):
    random = np.random.default_rng(0)
    rows, labels = random.integers(0, 2, (100, 2)), random.integers(0, 2, 100)
    model = RandomForestClassifier(30, min_samples_leaf=45, random_state=0).fit(rows, labels)
    assert {tree.tree_.node_count for tree in model.estimators_} == {1}
    assert read(dump(stripped(model, "counts"))).forest.observation.decimals is None


@pytest.mark.nightly
@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_exact_shares_are_never_taken_for_rounded_ones_nor_many_rounded_ones_for_exact(seed, bootstrap, dump):
    for limits in ({}, {"max_depth": 3}, {"min_samples_leaf": 5}):
        rows, labels = table(2, 120, seed)
        model = RandomForestClassifier(10, bootstrap=bootstrap, random_state=seed, **limits).fit(rows, labels)
        assert read(dump(stripped(model, "counts"))).forest.observation.decimals is None
        for decimals in (2, 3):
            rounded = read(dump(stripped(model, f"decimals:{decimals}"))).forest.observation
            assert rounded.decimals == decimals
