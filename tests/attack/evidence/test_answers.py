"""The likelihood of leaves without counts: against enumeration of all draws, and of sets of counts."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import factorial, log

import numpy as np
import pytest

from leaf_ways import stirling, ways
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import ClassCounts, Shares, WinningLabels
from pytest_draft.attack.evidence.answers import (
    COUNTED,
    FLOOR,
    LABEL,
    LISTED,
    MOST_DRAWS,
    PENALTY,
    PURE,
    RATIO,
    counted_leaves,
    grown_to_the_end,
    leaf_outputs,
    log_stirling,
    rows_drawn,
)
from pytest_draft.attack.evidence.evidence import model_of
from pytest_draft.domain import declared
from pytest_draft.errors import NotCoveredError

TWO = declared(["a", "b"], {"a": {"kind": "binary"}, "b": {"kind": "binary"}}, "test")
EXACT = Shares(None, 1e-12, more_left=False)
LABELS = WinningLabels(more_left=False)


def rounded(decimals):
    return Shares(decimals, 0.5 * 10.0**-decimals, more_left=False)


@pytest.fixture(scope="session")
def answering(by_hand):
    """Return a function that makes a forest whose file holds no counts, from counts at leaves."""

    def forest(*trees, outputs=EXACT, bootstrap=True, n_columns=2):
        counted = by_hand(n_columns, *trees)
        stripped = []
        for tree in counted.trees:
            share = outputs.answered(tree.value)
            value = np.where((tree.left < 0)[:, None], share, 0.0)
            nothing = np.zeros(tree.n_nodes)
            stripped.append(replace(tree, value=value, weight=nothing, n_distinct=nothing.astype(np.int64)))
        return replace(
            counted,
            trees=tuple(stripped),
            observation=outputs,
            draws=Draws(rows="with replacement" if bootstrap else "all"),
            n_samples=None,
        )

    return forest


def says(shares, outputs, draws):
    """Whether draws by class give what a leaf says."""
    if sum(draws) == 0:
        return False
    told = np.array(draws) / sum(draws)
    if isinstance(outputs, WinningLabels):
        return told.argmax() == np.argmax(shares)
    return np.abs(told - shares).max() <= outputs.tolerance + 1e-12


def summed(shares, outputs, rows, most):
    """The log-probability of what a leaf says, all draws of Poisson variables up to a number summed."""
    total = 0.0
    for draws in product(range(most + 1), repeat=len(rows)):
        if sum(draws) <= most and says(shares, outputs, draws):
            chance = 1.0
            for drawn, mean in zip(draws, rows, strict=True):
                chance *= np.exp(-mean) * mean**drawn / factorial(drawn)
            total += chance
    return log(total)


@pytest.mark.nightly
@pytest.mark.parametrize("outputs", [EXACT, LABELS, rounded(1), rounded(2)], ids=["exact", "labels", "1", "2"])
@pytest.mark.parametrize("leaf", [[3, 0], [1, 2], [2, 4], [5, 5], [1, 0, 2], [0, 2, 0], [3, 1, 2]], ids=str)
def test_a_leafs_likelihood_is_the_sum_over_all_draws_that_answer_so(answering, leaf, outputs):
    forest = answering([*leaf], outputs=outputs, n_columns=2)
    model = model_of(forest, TWO, 30)
    shares = forest.trees[0].value[0]
    for rows in ([2.0, 3.0, 1.0], [5.0, 1.0, 4.0], [1.0, 1.0, 1.0]):
        here = rows[: len(leaf)]
        assert model.total(np.array(here)) == pytest.approx(summed(shares, outputs, here, 30), abs=1e-6)


@pytest.mark.nightly
def test_the_likelihood_of_a_dataset_is_the_sum_over_leaves_and_trees(answering):
    forest = answering((0, [2, 0], [1, 1]), (1, [1, 2], [0, 3]))
    model = model_of(forest, TWO, 12)
    value = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    label = np.array([0, 0, 0, 1])
    at_leaves = [[2, 0], [1, 1], [2, 0], [1, 1]]
    shares = [tree.value[leaf] for tree in forest.trees for leaf in tree.leaves]
    expected = 0.0
    for rows, share in zip(at_leaves, shares, strict=True):
        here = [max(one, FLOOR) for one in rows]
        expected += summed(share, EXACT, here, 12) + sum(here) - sum(rows)
    assert model.log_likelihood(value, label) == pytest.approx(expected, abs=1e-2)


def test_without_bootstrap_the_right_rows_are_feasible_and_each_misfit_costs(answering):
    value = np.array([[0, 0], [0, 0], [1, 0], [1, 1], [1, 1]], dtype=np.int32)
    label = np.array([0, 0, 0, 1, 1])
    for outputs in (EXACT, LABELS, rounded(2)):
        model = model_of(answering((0, [2, 0], [1, 2]), (1, [3, 0], [0, 2]), outputs=outputs, bootstrap=False), TWO, 5)
        assert model.log_likelihood(value, label) == 0.0
        assert model.lacking(model.rows_at_leaves(value, label)) == 0
        wrong = label.copy()
        wrong[:2] = 1  # no row of the first class is left on the left
        lacking = model.lacking(model.rows_at_leaves(value, wrong))
        assert lacking > 0
        assert model.log_likelihood(value, wrong) == pytest.approx(-PENALTY * lacking)


def test_with_bootstrap_a_class_with_draws_and_no_row_is_lacking(answering):
    model = model_of(answering((0, [2, 0], [1, 2])), TWO, 5)
    value = np.array([[0, 0], [1, 0], [1, 1]], dtype=np.int32)
    right, wrong = np.array([0, 0, 1]), np.array([0, 0, 0])
    assert model.lacking(model.rows_at_leaves(value, right)) == 0
    assert model.lacking(model.rows_at_leaves(value, wrong)) == 1
    assert model.log_likelihood(value, wrong) < model.log_likelihood(value, right)


def test_what_leaves_say_is_told_apart(answering):
    found = leaf_outputs(answering((0, [3, 0], (1, [2, 4], [1, 2]))), 100)
    assert found.kind.tolist() == [PURE, RATIO, RATIO]
    assert found.vectors[found.first[1]].tolist() == [1, 2]
    assert found.said[1] == found.said[2] != found.said[0]
    assert (leaf_outputs(answering([3, 1], outputs=LABELS), 100).kind == LABEL).all()


def test_a_rounded_fraction_may_hide_a_draw_of_another_class(answering):
    few, many = (leaf_outputs(answering([3, 0], outputs=rounded(1)), n) for n in (9, 40))
    assert few.kind[0] == PURE
    assert many.kind[0] == LISTED
    assert [38, 2] in many.vectors.tolist()


def test_single_precision_gives_the_same_ratios(answering):
    forest = answering([3, 7], [333, 667])
    trees = tuple(replace(tree, value=tree.value.astype(np.float32).astype(np.float64)) for tree in forest.trees)
    found = leaf_outputs(replace(forest, trees=trees, observation=Shares(None, 6e-8, more_left=False)), 1_500)
    assert [found.vectors[first].tolist() for first in found.first] == [[3, 7], [333, 667]]


def test_fractions_of_more_rows_than_there_are_are_refused_in_one_line(answering):
    with pytest.raises(NotCoveredError, match="those of no 5 draws or fewer") as refused:
        leaf_outputs(answering([3, 7]), 5)
    assert "\n" not in str(refused.value)


def test_weights_and_draws_without_replacement_are_not_covered(answering):
    forest = answering([3, 7])
    with pytest.raises(NotCoveredError, match="weighted"):
        model_of(replace(forest, draws=Draws(class_weight="balanced")), TWO, 10)
    with pytest.raises(NotCoveredError, match="without replacement"):
        model_of(replace(forest, draws=Draws(rows="without replacement")), TWO, 10)


@pytest.mark.parametrize(("given", "draws"), [(None, 50), (0.5, 25), (7, 7), (0.001, 1)])
def test_the_number_of_draws_follows_from_the_parameters(answering, given, draws):
    assert rows_drawn(replace(answering([3, 7]), parameters={"max_samples": given}), 50) == draws


def test_a_forest_is_grown_to_the_end_only_where_its_file_says_so(answering):
    forest, told = answering([3, 7]), {
        "max_depth": None, "max_leaf_nodes": None, "min_samples_leaf": 1, "min_samples_split": 2,
        "min_weight_fraction_leaf": 0.0, "min_impurity_decrease": 0.0, "ccp_alpha": 0.0,
    }  # fmt: skip
    assert not grown_to_the_end(forest)
    assert grown_to_the_end(replace(forest, parameters=told))
    assert grown_to_the_end(replace(forest, parameters={f"estimator__{name}": one for name, one in told.items()}))
    assert not grown_to_the_end(replace(forest, parameters={**told, "max_depth": 5}))


def counted(answering, leaf, distinct):
    """Return a forest of one leaf with counts of draws that nobody knows, and of different rows among them."""
    forest = answering([*leaf])
    (tree,) = forest.trees
    tree = replace(
        tree,
        value=np.array([leaf], dtype=np.float64),
        weight=np.array([float(sum(leaf))]),
        n_distinct=np.array([distinct]),
    )
    draws = replace(forest.draws, per_tree=sum(leaf))
    return replace(forest, trees=(tree,), observation=ClassCounts("totals"), draws=draws)


def poisson(n_rows, n_draws, distinct):
    """The chance that rows that are drawn Poisson each are drawn so often together, so many different ones."""
    chance = 0.0
    for draws in product(range(n_draws + 1), repeat=n_rows):
        if sum(draws) == n_draws and sum(one > 0 for one in draws) == distinct:
            one = 1.0
            for drawn in draws:
                one *= np.exp(-1) / factorial(drawn)
            chance += one
    return chance


@pytest.mark.parametrize(("n_draws", "distinct"), [(4, 2), (5, 3), (3, 3)])
def test_counts_with_different_rows_are_as_likely_for_each_number_of_rows_as_their_ways(answering, n_draws, distinct):
    forest = counted(answering, [n_draws, 0], distinct)
    model = model_of(forest, TWO, n_draws)
    told = [model.total(np.array([float(rows), 0.0])) for rows in range(distinct, 6)]
    chances = [log(poisson(rows, n_draws, distinct)) for rows in range(distinct, 6)]
    assert np.diff(told) == pytest.approx(np.diff(chances), abs=1e-6)
    assert told[0] - model.total(np.array([distinct - 1.0, 0.0])) > 5
    assert model.lacking(np.array([distinct - 1.0, 0.0])) == 1
    assert model.lacking(np.array([float(distinct), 0.0])) == 0


@pytest.mark.parametrize(
    ("counts", "distinct"), [((3, 2), 3), ((4, 1), 2), ((1, 5), 4), ((2, 2, 3), 4), ((1, 3, 2), 6), ((0, 4, 2), 3)]
)
def test_different_rows_of_several_classes_are_shared_out_in_all_ways(answering, counts, distinct):
    forest = replace(counted(answering, counts, distinct), classes=tuple(range(len(counts))))
    model = model_of(forest, TWO, sum(counts))
    told, exact = [], []
    for rows in product(range(1, 5), repeat=len(counts)):
        if found := ways(rows, counts, distinct):
            told.append(model.total(np.array(rows, dtype=np.float64)))
            exact.append(log(found) - sum(rows))
            assert model.lacking(np.array(rows, dtype=np.float64)) == 0
        else:
            assert model.lacking(np.array(rows, dtype=np.float64)) > 0
    assert np.diff(told) == pytest.approx(np.diff(exact), abs=1e-4)


def test_stirling_numbers_are_exact_to_rounding():
    table = log_stirling(60)
    assert all(
        table[n, d] == pytest.approx(log(stirling(n, d)), rel=1e-12) for n in range(1, 61) for d in range(1, n + 1)
    )


def test_a_leaf_of_several_classes_and_too_many_draws_keeps_its_counts_only():
    outputs = counted_leaves(np.array([[MOST_DRAWS + 1, 1], [MOST_DRAWS + 1, 0]]), np.array([900, 900]))
    assert outputs.distinct.tolist() == [0, 900]


def test_counts_without_different_rows_are_poisson(answering):
    forest = counted(answering, [3, 1], 0)
    model = model_of(forest, TWO, 4)
    for rows in ([2.0, 1.0], [5.0, 2.0]):
        chance = [-mean + drawn * log(mean) - log(factorial(drawn)) for drawn, mean in zip((3, 1), rows, strict=True)]
        assert model.total(np.array(rows)) == pytest.approx(sum(chance))
    assert model.lacking(np.array([3.0, 0.0])) == 1


def test_leaves_that_tell_the_same_counts_share_one_vector(answering):
    forest = counted(answering, [3, 1], 2)
    outputs = leaf_outputs(replace(forest, trees=forest.trees * 2), 4)
    assert outputs.kind.tolist() == [COUNTED, COUNTED]
    assert outputs.said.tolist() == [0, 0]
    assert outputs.vectors.tolist() == [[3, 1]]
    assert outputs.distinct.tolist() == [2, 2]
