"""Corners where a wrong number, a false proof or too much memory would come from."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.attack import enumeration as limits
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.groups import group_by_occurrences
from pytest_draft.attack.problem import equal_columns
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.domain import Attribute, Domain, declared, infer
from pytest_draft.errors import DataError, InfeasibleError, NotCoveredError
from pytest_draft.timebox import TimeBox


def binary(n_columns):
    names = [f"b{j}" for j in range(n_columns)]
    return declared(names, {name: {"kind": "binary"} for name in names}, "domain.toml")


def ordinal(low, high):
    return Domain(("age",), (Attribute("age", "ordinal", (0,), float(low), float(high)),), "domain.toml")


def attacked(forest, domain, times=None):
    groups = group_by_occurrences(np.ones((forest.n_trees, forest.n_samples), int) if times is None else times)
    return reconstruct(build(forest, domain, groups, TimeBox(60)), Search(TimeBox(60)))


def test_trees_of_a_single_leaf_tell_only_the_labels(by_hand):
    found = attacked(by_hand(2, [3, 2], [3, 2]), binary(2))
    assert found.status == "consistent"
    assert found.free.all()
    assert sorted(found.labels.tolist()) == [0, 0, 0, 1, 1]


def test_a_domain_of_one_vector_is_unique_without_any_split(by_hand):
    found = attacked(by_hand(1, [3]), ordinal(4, 4))
    assert found.status == "unique"
    assert found.rows.tolist() == [[4], [4], [4]]


def test_one_row_is_unique_where_one_path_tests_every_column(by_hand):
    found = attacked(by_hand(2, (0, [0, 0], (1, [0, 1], [0, 0]))), binary(2))
    assert found.status == "unique"
    assert (found.rows.tolist(), found.labels.tolist(), found.ordered) == ([[1, 0]], [1], False)


def test_a_class_that_no_row_has_is_never_given(by_hand):
    found = attacked(by_hand(1, (0, [1, 0, 0], [0, 0, 2])), binary(1))
    assert found.status == "unique"
    assert found.labels.tolist() == [0, 2, 2]


def test_leaves_that_no_row_of_the_domain_reaches_must_be_empty(by_hand):
    assert attacked(by_hand(1, (0, 7.5, [2, 1], [0, 0])), binary(1)).residual == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InfeasibleError):
            attacked(by_hand(1, (0, 7.5, [0, 0], [2, 1])), binary(1))
    assert attacked(by_hand(1, (0, 7.5, [1, 1], [1, 0])), binary(1)).status == "infeasible"


def test_trees_that_contradict_each_other_are_infeasible(by_hand):
    found = attacked(by_hand(2, (0, [2, 0], [0, 1]), (0, [1, 0], [1, 1])), binary(2))
    assert found.status == "infeasible"
    assert found.rows is None


def test_a_domain_without_the_truth_is_infeasible_not_a_reconstruction(by_hand):
    forest = by_hand(1, (0, 3.5, (0, 1.5, [1, 0], [0, 1]), [1, 0]))
    assert attacked(forest, ordinal(1, 4)).residual == 0
    with pytest.raises(InfeasibleError):  # only the leaf up to 1.5 would be left, for three rows
        attacked(by_hand(1, (0, 3.5, (0, 1.5, [0, 0], [0, 1]), [1, 0])), ordinal(0, 1))
    assert attacked(forest, ordinal(1, 3)).status == "infeasible"


def test_many_trees_that_say_the_same_say_no_more_than_one(by_hand):
    tree = (0, [3, 1], [2, 0])
    one = attacked(by_hand(3, tree), binary(3))
    many = attacked(by_hand(3, *[tree] * 1000), binary(3))
    assert one.status == many.status == "consistent"
    assert one.free.tolist() == many.free.tolist() == [[False, True, True]] * 6


@pytest.mark.nightly
def test_a_thousand_trees_give_the_exact_rows(publish):
    random = np.random.RandomState(0)
    rows, answers = random.randint(0, 4, (10, 3)).astype(float), random.randint(0, 2, 10)
    model = ExtraTreesClassifier(1000, max_depth=8, n_jobs=1, random_state=0).fit(rows, answers)
    found = publish(model, infer(list("abc"), rows)).attack()
    assert found.residual == 0
    if found.status == "unique":
        assert sorted(found.rows.tolist()) == sorted(rows.tolist())


@pytest.mark.nightly
def test_a_row_that_no_tree_drew_is_never_part_of_a_unique_dataset(publish):
    random = np.random.RandomState(0)
    rows, answers = random.randint(0, 2, (10, 3)).astype(float), random.randint(0, 2, 10)
    model = RandomForestClassifier(2, random_state=0).fit(rows, answers)
    published = publish(model, binary(3))
    never = ~np.isin(np.arange(10), np.concatenate(model.estimators_samples_))
    assert never.any()
    found = published.attack()
    assert (found.status, found.residual) == ("consistent", 0)
    hidden = np.flatnonzero(published.groups.weight[:, published.problem.group].sum(axis=0) == 0)
    assert len(hidden) == published.problem.cells.n_cells * 2  # each cell, each class


def test_a_row_that_no_tree_drew_makes_one_dataset_into_many(by_hand):
    # Column and class are known of the first row; the second one is in no bootstrap sample.
    forest = by_hand(1, (0, [1, 0], [0, 0]))
    assert attacked(forest, binary(1)).status == "unique"
    found = attacked(forest, binary(1), np.array([[1, 0]]))
    assert found.status == "consistent"
    assert found.rows[0].tolist() == [0]
    assert found.labels[0] == 0


def test_numbers_above_the_reach_of_float32_are_numeric_not_ordinal():
    # Whole days as numbers, as in 20260131: steps of 2 in float32, so neighbours cannot be told apart.
    days = 20260101.0 + np.arange(31.0)[:, None]
    assert infer(["day"], days).attributes[0].kind == "numeric"
    with pytest.raises(DataError, match="float32"):
        ordinal(20260101, 20260131)


def test_a_threshold_is_compared_in_float64_with_values_in_float32(by_hand):
    just_below = float(np.nextafter(3.0, 0.0))
    assert np.float32(just_below) == 3.0
    tree = by_hand(1, (0, just_below, [1, 0], [0, 1])).trees[0]
    vectors = np.array([[2.0, 3.0, 4.0]], np.float32)
    assert leaf_positions(tree, vectors).tolist() == [0, 1, 1]
    found = attacked(by_hand(1, (0, just_below, [1, 0], [0, 1])), ordinal(2, 3))
    assert found.status == "unique"
    assert found.rows.ravel().tolist() == [2, 3]


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_random_thresholds_on_ordinals_split_as_scikit_learn_does(criterion, publish, leaves):
    random = np.random.RandomState(1)
    rows, answers = random.randint(-9, 10, (30, 2)).astype(float), random.randint(0, 3, 30)
    model = ExtraTreesClassifier(20, criterion=criterion, random_state=0).fit(rows, answers)
    published = publish(model, infer(["x", "y"], rows))
    vectors = published.problem.domain.vectors()
    applied = leaves(model, vectors)
    for tree, leaf in zip(published.forest.trees, applied, strict=True):
        np.testing.assert_array_equal(tree.leaves[leaf_positions(tree, vectors.T)], leaf)


def test_cells_split_all_vectors_by_their_leaves_and_nothing_else(publish, leaves):
    random = np.random.RandomState(2)
    rows = np.column_stack([random.randint(0, 2, (25, 3)), random.randint(0, 5, 25)]).astype(float)
    model = RandomForestClassifier(4, max_depth=2, bootstrap=False, random_state=0)
    problem = publish(model.fit(rows, random.randint(0, 2, 25)), infer(list("abcd"), rows)).problem
    vectors = problem.domain.vectors()
    signatures, size = np.unique(leaves(model, vectors), axis=1, return_counts=True)
    assert problem.cells.n_cells <= signatures.shape[1]
    assert sorted(problem.cells.n_vectors.tolist()) <= sorted(size.tolist())
    widths = np.add.reduceat(problem.cells.allowed, problem.cells.offsets[:-1], axis=1, dtype=int)
    np.testing.assert_array_equal(widths.prod(axis=1), problem.cells.n_vectors)


def testequal_columns_are_found_also_where_their_hashes_collide(monkeypatch):
    class Zeros:
        def integers(self, *_, size, dtype):
            return np.zeros(size, dtype)

    matrix = np.random.RandomState(0).randint(0, 3, (3, 50)).astype(np.int32)
    expected, where = np.unique(matrix, axis=1, return_inverse=True)
    for collide in (False, True):
        with monkeypatch.context() as patched:
            if collide:
                patched.setattr(np.random, "default_rng", lambda _: Zeros())
            first, of_column = equal_columns(matrix)
        assert len(first) == expected.shape[1]
        np.testing.assert_array_equal(matrix[:, first[of_column]], matrix)
        assert len(set(zip(of_column.tolist(), where.ravel().tolist(), strict=True))) == len(first)


def test_numeric_columns_are_not_covered(by_hand):
    domain = declared(["x"], {"x": {"kind": "numeric", "low": 0, "high": 1}}, "domain.toml")
    with pytest.raises(NotCoveredError, match="column 'x' is numeric"):
        attacked(by_hand(1, (0, [1], [1])), domain)


def test_a_domain_too_large_to_enumerate_is_refused_before_it_is(by_hand):
    with pytest.raises(NotCoveredError, match=r"the domain allows 1,208,925,819,614,629,174,706,176 vectors"):
        attacked(by_hand(80, (0, [1], [1])), binary(80))


def test_a_table_of_rows_and_vectors_that_is_too_large_is_refused_before_it_is_made(by_hand, monkeypatch):
    monkeypatch.setattr(limits, "MAX_BYTES", 16)
    times = np.arange(70)[None]  # 70 groups x 2 vectors x 1 class: 17.5 bytes
    with pytest.raises(NotCoveredError, match="70 rows that the adversary tells apart x 2 vectors"):
        attacked(by_hand(1, (0, [15], [2400])), binary(1), times)


@pytest.mark.parametrize("limit", ["MAX_COEFFICIENTS", "MAX_CANDIDATES"])
def test_too_many_ways_to_place_rows_that_nothing_tells_apart_are_not_listed(limit, by_hand, monkeypatch):
    monkeypatch.setattr(limits, limit, 3)
    with pytest.raises(NotCoveredError, match="ways to place rows"):
        attacked(by_hand(4, (0, [6, 1], [4, 1])), binary(4))


STUMP = {"max_depth": 1, "random_state": 0}
BALANCED = STUMP | {"class_weight": "balanced"}
PASTED = DecisionTreeClassifier(**BALANCED)
WEIGHTED = {
    "balanced tree": (DecisionTreeClassifier(**BALANCED), None),
    "balanced forest": (RandomForestClassifier(3, bootstrap=False, **BALANCED), None),
    "balanced extra trees": (ExtraTreesClassifier(3, **BALANCED), None),
    "balanced trees, pasted": (BaggingClassifier(PASTED, 3, bootstrap=False, random_state=0), None),
    "weighted forest": (RandomForestClassifier(3, bootstrap=False, **STUMP), [1.4142, 0.7929, 0.7929]),
    "weighted extra trees": (ExtraTreesClassifier(3, **STUMP), [1.4142, 0.7929, 0.7929]),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_that_leave_the_sums_alone_are_refused_too(name, publish):
    # Weighted, both classes have 6 of 12 "rows"; there are 4 and 8. The weight of each node stays whole.
    model, weights = WEIGHTED[name]
    rows = np.array([[0], [0], [0], [1], [1], [1]] * 2, float)
    answers = np.array([0, 1, 1] * 4)
    model.fit(rows, answers, None if weights is None else np.tile(weights, 4))
    if weights is not None and not hasattr(model, "_sample_weight"):
        pytest.skip("before scikit-learn 1.9 a forest does not store its weights: nothing in it tells")
    with pytest.raises(NotCoveredError, match="weights"):
        publish(model, binary(1))


def test_rows_of_weight_zero_without_bootstrap_never_prove_a_contradiction(publish):
    # 12 rows, of which 9 count: the root has 9. "infeasible" would say that no dataset explains the file.
    rows = np.array([[0], [0], [0], [1], [1], [1]] * 2, float)
    model = RandomForestClassifier(3, bootstrap=False, random_state=0)
    model.fit(rows, np.array([0, 1, 1] * 4), np.repeat([0.0, 1.0], [3, 9]))
    if not hasattr(model, "_sample_weight"):
        with pytest.raises(NotCoveredError):
            publish(model, binary(1))
        return
    found = publish(model, binary(1)).attack()
    assert found.residual == 0
    assert found.free[:3].all()
    assert not found.free[3:].any()
