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

from pytest_draft.artifact import occurrences, read
from pytest_draft.artifact.forest import Outputs
from pytest_draft.artifact.outputs import more_left
from pytest_draft.artifact.published import published
from pytest_draft.artifact.rounding import rounded_to
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


def pairs(tree, other, node: int = 0, place: int = 0):
    """Yield the nodes of a tree that may have lost some, each with the same one of the whole tree."""
    yield node, place
    if tree.left[node] >= 0:
        yield from pairs(tree, other, tree.left[node], other.children_left[place])
        yield from pairs(tree, other, tree.right[node], other.children_right[place])


def assert_counts(forest, model) -> float:
    """Assert that all counts are those of a model, and return the share of its nodes that they are of."""
    assert forest.outputs is None
    found = whole = 0
    for index, (tree, other) in enumerate(zip(forest.trees, trees_of(model), strict=True)):
        counts = forest.counts(index)
        true = np.rint(other.value[:, 0, :] * other.weighted_n_node_samples[:, None]).astype(int)
        for node, place in pairs(tree, other):
            assert counts[node].tolist() == true[place].tolist()
            if tree.n_distinct[0]:
                assert tree.n_distinct[node] == other.n_node_samples[place]
        found, whole = found + tree.n_nodes, whole + other.node_count
    return found / whole


# Nothing left


@pytest.mark.nightly(quick=23)
@pytest.mark.parametrize("counts", ["canonical", "zeros", "ones"])
def test_a_file_without_counts_is_read_as_the_shares_in_its_leaves(counts, model, dump):
    forest = read(dump(stripped(model, "counts", counts=counts))).forest
    assert forest.outputs == Outputs("fractions", None, 2.0**-52, more_left=False)
    assert (forest.n_samples, forest.n_draws, forest.restored, forest.also_tells) == (None, None, None, None)
    for tree, other in zip(forest.trees, trees_of(model), strict=True):
        leaf = tree.left < 0
        assert np.abs(tree.value[leaf] - other.value[leaf, 0, :]).max() < 1e-15
        assert not tree.value[~leaf].any()
        assert not tree.weight.any()
        assert not tree.n_distinct.any()
    with pytest.raises(ValueError, match="no counts"):
        forest.counts(0)
    assert published(read(dump(stripped(model, "counts")))).answers == "shares"


@pytest.mark.parametrize("decimals", [1, 2, 3])
def test_rounded_shares_are_told_from_exact_ones(decimals, model, dump):
    outputs = read(dump(stripped(model, f"decimals:{decimals}"))).forest.outputs
    assert outputs.kind == "fractions"
    if outputs.decimals is None:  # a few leaves that are the same in each tree, of one decimal, can be exact
        assert decimals == 1
        assert not getattr(model, "bootstrap", False)
    else:
        assert outputs.decimals == decimals
        assert outputs.tolerance == pytest.approx(0.5 * 10**-decimals)


def test_labels_may_be_pure_leaves_where_no_two_side_by_side_are_alike(model, dump):
    path = dump(stripped(model, "labels"))
    assert read(path).forest.outputs == Outputs("labels", None, 0.0, more_left=False, may_be_pure=True)
    assert published(read(path)) == replace(published(read(path)), counts=None, answers="labels", certain_leaves=0)
    unmerged = stripped(model, "labels", left=("n_node_samples",), counts="zeros")
    for tree in trees_of(unmerged):
        state = tree.__getstate__()
        state["nodes"]["n_node_samples"] = 0
        tree.__setstate__(state)
    assert not read(dump(unmerged)).forest.outputs.may_be_pure


def test_the_shares_of_a_fully_grown_tree_without_duplicates_can_be_labels(dump):
    rows = np.random.default_rng(1).normal(size=(80, 3))
    grown = RandomForestClassifier(5, random_state=0).fit(rows, rows[:, 0] > rows[:, 1])
    assert read(dump(stripped(grown, "counts"))).forest.outputs.kind == "labels"
    assert read(dump(stripped(grown, "counts"))).forest.outputs.may_be_pure


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
    "weights": ("weighted_n_node_samples",),
    "rows and weights": ("n_node_samples", "weighted_n_node_samples"),
    "inner fractions": ("inner fractions",),
    "inner fractions and rows": ("inner fractions", "n_node_samples"),
    "inner fractions and impurity": ("inner fractions", "impurity"),
    "seeds and inner fractions": ("inner fractions", "seeds"),
}


@pytest.mark.nightly(quick=20)
@pytest.mark.parametrize("left", HALF_WAY.values(), ids=HALF_WAY)
def test_counts_are_restored_from_what_was_left_of_them(left, model, dump):
    made_up = "canonical" if len(model.classes_) == 2 else "zeros"
    forest = read(dump(stripped(model, "counts", left=left, counts=made_up))).forest
    n_nodes = assert_counts(forest, model)
    assert forest.restored == "numbers of rows" or forest.restored in {"weights", "inner fractions"}
    assert (n_nodes == 1) == (forest.also_tells is None)
    assert n_nodes > 0.95
    whole = read(dump(model)).forest
    assert forest.n_draws == whole.n_draws
    if forest.n_samples is not None:
        assert forest.n_samples == whole.n_samples
    assert forest.tells_distinct == (forest.bootstrap and ("n_node_samples" in left or not forest.replacement))


def test_numbers_of_rows_are_counts_where_each_row_counts_once(given, dump):
    for kind in ("no bootstrap", "extra", "tree"):
        model = pickle.loads(pickle.dumps(MODELS[kind])).fit(*given)
        forest = read(dump(stripped(model, "counts", left=("n_node_samples",)))).forest
        assert forest.restored == "numbers of rows"
        assert assert_counts(forest, model) == 1


def test_numbers_of_different_rows_alone_never_pass(given, dump):
    model = pickle.loads(pickle.dumps(MODELS["forest"])).fit(*given)
    forest = read(dump(stripped(model, "counts", left=("n_node_samples",)))).forest
    assert forest.outputs is not None
    assert "n_node_samples are left" in forest.also_tells


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("level", ["counts", "decimals:2", "labels"])
def test_what_impurities_tell_is_restored_or_said(level, criterion, dump):
    for n_classes in (2, 3):
        rows, labels = table(n_classes, 60)
        model = RandomForestClassifier(8, max_depth=3, criterion=criterion, random_state=1).fit(rows, labels)
        forest = read(dump(stripped(model, level, left=("impurity",)))).forest
        if forest.outputs is None:
            assert forest.restored == "impurity"
            assert assert_counts(forest, model) > 0.9
        else:
            assert "impurities are left" in forest.also_tells


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_impurities_of_a_shallow_forest_of_three_classes_give_its_counts_back(criterion, dump):
    rows, labels = table(3, 120, seed=4)
    model = ExtraTreesClassifier(15, max_depth=2, criterion=criterion, random_state=1).fit(rows, labels)
    forest = read(dump(stripped(model, "counts", left=("impurity",)))).forest
    assert forest.restored == "impurity"
    assert assert_counts(forest, model) > 0.9


def test_impurities_of_leaves_undo_rounding(dump):
    rows, labels = table(2)
    model = RandomForestClassifier(8, random_state=1).fit(rows, labels)
    for level in ("decimals:1", "labels"):
        forest = read(dump(stripped(model, level, left=("impurity", "inner fractions")))).forest
        assert forest.restored == "inner fractions"
        assert assert_counts(forest, model) > 0.95


def test_inner_fractions_above_rounded_leaves_are_said(dump):
    rows, labels = table(2)
    model = RandomForestClassifier(8, random_state=1).fit(rows, labels)
    for level in ("decimals:2", "labels"):
        forest = read(dump(stripped(model, level, left=("inner fractions",)))).forest
        assert forest.outputs is not None
        assert "values of inner nodes are left" in forest.also_tells
        assert published(read(dump(stripped(model, level, left=("inner fractions",))))).left


def test_rounded_shares_of_known_weights_are_counts(given, dump):
    model = pickle.loads(pickle.dumps(MODELS["forest"])).fit(*given)
    forest = read(dump(stripped(model, "decimals:2", left=("weighted_n_node_samples",)))).forest
    assert forest.restored == "weights"
    assert assert_counts(forest, model) == 1


def test_class_totals_are_counts_whatever_stands_beside_them(given, dump):
    """As scikit-learn wrote its values before 1.3."""
    model = pickle.loads(pickle.dumps(MODELS["no bootstrap"])).fit(*given)
    old = stripped(model, "counts", left=("inner fractions",))
    for tree, other in zip(trees_of(old), trees_of(model), strict=True):
        state = tree.__getstate__()
        totals = np.rint(other.value * other.weighted_n_node_samples[:, None, None])
        tree.__setstate__(state | {"values": totals})
    forest = read(dump(old)).forest
    assert forest.restored == "class totals"
    assert assert_counts(forest, model) == 1


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
        assert forest.outputs is not None
        assert f"{name} are left" in forest.also_tells


def test_a_row_a_leaf_in_place_of_the_numbers_of_rows_is_seen_beside_true_weights(given, dump):
    left = ("weighted_n_node_samples", "inner fractions", "impurity", "seeds")
    for kind in ("forest", "bagging"):
        model = pickle.loads(pickle.dumps(MODELS[kind])).fit(*given)
        forest = read(dump(stripped(model, "counts", left=left))).forest
        assert forest.restored == "weights"
        assert not forest.tells_distinct
        assert assert_counts(forest, model) == 1
        assert occurrences(forest).shape == (6, 100)


def test_an_honest_file_is_no_half_way_one(model, dump):
    forest = read(dump(model)).forest
    assert (forest.outputs, forest.restored, forest.also_tells) == (None, None, None)
    assert assert_counts(forest, model) == 1


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
        assert forest.outputs is not None
        assert forest.shares_weighted is scaled


def test_weights_that_class_weights_have_scaled_are_still_counts(dump):
    rows, labels = table(2)
    model = ExtraTreesClassifier(5, class_weight={0: 1.0, 1: 3.0}, random_state=0).fit(rows, labels)
    whole = read(dump(model)).forest
    forest = read(dump(stripped(model, "counts", left=("weighted_n_node_samples", "n_node_samples")))).forest
    assert forest.restored == "weights"
    for index in range(5):
        assert forest.counts(index).tolist() == whole.counts(index).tolist()


def test_a_regressor_without_counts_is_read_as_the_means_in_its_leaves(dump):
    rows, _ = table(2)
    targets = rows @ np.array([1.0, 0.3, 0.7, 0.1]) + np.random.default_rng(0).normal(size=len(rows))
    for model in (RandomForestRegressor(5, random_state=0), DecisionTreeRegressor(max_depth=4)):
        model.fit(rows, targets)
        forest = read(dump(stripped(model, "counts"))).forest
        assert (forest.values, forest.outputs.kind) == ("means", "means")
        assert forest.also_tells is None
        assert published(read(dump(stripped(model, "counts")))).answers == "mean targets"
        left = read(dump(stripped(model, "counts", left=("inner fractions",)))).forest
        assert left.restored == "inner fractions"
        for tree, other in zip(left.trees, trees_of(model), strict=True):
            for node, place in pairs(tree, other):
                assert tree.weight[node] == other.weighted_n_node_samples[place]


def test_medians_and_small_targets_are_told_from_nothing(dump):
    rows, labels = table(2)
    rare = (labels * (rows[:, 2] == 0)).astype(float)  # all medians of inner nodes can be 0
    for criterion, targets in (("absolute_error", rare), ("squared_error", 1e-6 * rows.sum(axis=1))):
        model = DecisionTreeRegressor(max_depth=2, criterion=criterion).fit(rows, targets)
        assert read(dump(model)).forest.outputs is None
        assert read(dump(stripped(model, "counts"))).forest.outputs is not None


def test_what_a_file_holds_says_that_counts_are_gone_or_back(given, dump):
    model = pickle.loads(pickle.dumps(MODELS["forest"])).fit(*given)
    assert read(dump(stripped(model, "counts"))).holds.endswith("classes, no counts")
    left = read(dump(stripped(model, "counts", left=("inner fractions",))))
    assert left.holds.endswith("classes, counts restored from inner fractions")


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
    outputs = read(dump(stripped(model, "counts", left=("missing_go_to_left",)))).forest.outputs
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
    assert read(dump(stripped(model, "counts"))).forest.outputs.decimals is None


@pytest.mark.nightly(quick=4)
@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_exact_shares_are_never_taken_for_rounded_ones_nor_many_rounded_ones_for_exact(seed, bootstrap, dump):
    for limits in ({}, {"max_depth": 3}, {"min_samples_leaf": 5}):
        rows, labels = table(2, 120, seed)
        model = RandomForestClassifier(10, bootstrap=bootstrap, random_state=seed, **limits).fit(rows, labels)
        assert read(dump(stripped(model, "counts"))).forest.outputs.decimals is None
        for decimals in (2, 3):
            rounded = read(dump(stripped(model, f"decimals:{decimals}"))).forest.outputs
            assert rounded.decimals == decimals
