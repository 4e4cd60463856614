"""What a forest's draws say: who drew what, how often rows count, and where weights scale."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import RandomState
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.artifact.forest.draws import BaggingDraws, Draws, ForestDraws

TREE = DecisionTreeClassifier()
WEIGHTS = np.tile([1.0, 2.0, 0.0], 20)
KINDS = {
    "one tree": (TREE, Draws, "all", None),
    "extra trees": (ExtraTreesClassifier(3), ForestDraws, "all", None),
    "forest": (RandomForestClassifier(3, max_samples=0.5), ForestDraws, "with replacement", 30),
    "bagging": (BaggingClassifier(TREE, 3), BaggingDraws, "with replacement", 60),
    "pasting": (BaggingClassifier(TREE, 3, bootstrap=False, max_samples=20), BaggingDraws, "without replacement", 20),
    "columns only": (BaggingClassifier(TREE, 3, bootstrap=False, max_features=2), BaggingDraws, "all", None),
}


@pytest.fixture
def drawn(columns, classes, dump):
    """Return a function that returns the draws of a model that was fitted, saved and read."""
    return lambda model, **given: read(dump(model.fit(columns, classes, **given))).forest.draws


@pytest.mark.parametrize("kind", KINDS)
def test_each_ensemble_draws_in_its_own_way(kind, drawn):
    model, by, rows, per_tree = KINDS[kind]
    draws = drawn(model)
    assert (type(draws), draws.rows, draws.per_tree, draws.stored) == (by, rows, per_tree, True)
    assert draws.seeded is (kind != "one tree")
    assert draws.drawn is (rows != "all")
    assert draws.each_once is (rows == "all")
    assert draws.uniform is not draws.at_most_once is (rows != "with replacement")


@pytest.mark.parametrize("model", [RandomForestClassifier(3), BaggingClassifier(TREE, 3, max_features=0.5)], ids=str)
def test_seeds_give_each_trees_columns_and_own_random_state(model, columns, classes, dump):
    forest = read(dump(model.fit(columns, classes))).forest
    for index, (tree, fitted) in enumerate(zip(forest.trees, model.estimators_, strict=True)):
        assert forest.draws.own_seed(tree.seed) == fitted.random_state
        given = forest.draws.columns(RandomState(tree.seed), np.arange(forest.n_features))
        theirs = getattr(model, "estimators_features_", [np.arange(forest.n_features)] * 3)[index]
        np.testing.assert_array_equal(given, theirs)
    assert forest.draws.draws_columns(forest.n_features) is isinstance(model, BaggingClassifier)


def test_sample_weights_scale_what_all_rows_add_and_drive_which_ones_are_drawn(drawn):
    scaling = drawn(RandomForestClassifier(3, bootstrap=False), sample_weight=WEIGHTS)
    assert (scaling.each_once, scaling.at_most_once, scaling.uneven, scaling.unit) == (False, False, True, 1.0)
    np.testing.assert_array_equal(scaling.times, WEIGHTS)
    np.testing.assert_array_equal(scaling.seen(np.ones(60, int)), WEIGHTS > 0)
    driving = drawn(RandomForestClassifier(3), sample_weight=WEIGHTS)
    assert (driving.times, driving.unit, driving.uniform, driving.uneven) == (None, 1.0, False, True)


@pytest.mark.filterwarnings("ignore:When fitting BaggingClassifier with sample_weight")
def test_chances_of_a_bagging_that_takes_all_rows_weigh_nothing(drawn):
    draws = drawn(BaggingClassifier(TREE, 3, bootstrap=False, max_features=2), sample_weight=WEIGHTS + 1)
    assert (draws.each_once, draws.uneven, draws.may_scale((1, 9))) == (True, False, False)


@pytest.mark.parametrize(
    ("draws", "scaled", "before", "since"),
    [
        (Draws(class_weight="balanced"), True, True, True),
        (BaggingDraws(rows="with replacement", class_weight={0: 2.0}, max_features=1), True, True, True),
        (ForestDraws(class_weight="balanced"), True, True, True),
        (ForestDraws(rows="with replacement", class_weight="balanced"), True, True, False),
        (ForestDraws(rows="with replacement", class_weight="balanced", sample_weight=WEIGHTS), False, True, False),
        (ForestDraws(rows="with replacement", class_weight="balanced_subsample"), True, True, True),
        (ForestDraws(rows="with replacement", sample_weight=WEIGHTS), False, False, False),
        (ForestDraws(sample_weight=WEIGHTS), False, True, True),
    ],
)
def test_class_weights_scale_counts_unless_they_drive_the_draw(draws, scaled, before, since):
    assert draws.scaled_by_class is scaled
    assert (draws.may_scale(None), draws.may_scale((1, 8)), draws.may_scale((1, 9))) == (before, before, since)
