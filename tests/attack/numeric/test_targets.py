"""Rows by the targets in the leaves: none is ever put into a wrong leaf, and at full depth all are found."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_regression
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

from pytest_draft.attack.numeric.midpoints import ABSENT, UNKNOWN, propagate_thresholds
from pytest_draft.attack.numeric.targets import identify_rows
from pytest_draft.domain import infer
from pytest_draft.timebox import TimeBox

pytestmark = pytest.mark.nightly


def narrowed_by(forest, rows):
    """Return a function from known leaves to bounds; of the rows it takes the domain only."""
    domain = infer([f"c{column}" for column in range(rows.shape[1])], rows)
    return lambda leaves: propagate_thresholds(forest, domain, leaves, TimeBox(60))


def agrees(found, leaves):
    """Return which true rows each found row's leaves can be of, shape (n_found, n_rows)."""
    return np.array([((own == UNKNOWN) | (own == leaves.T)).all(axis=1) for own in found.leaf.T])


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(40, random_state=0),
        RandomForestRegressor(40, random_state=0, criterion="absolute_error"),
        ExtraTreesRegressor(40, random_state=0, bootstrap=True),
        BaggingRegressor(n_estimators=40, random_state=0, max_features=0.5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_rows_with_targets_of_their_own_are_found_in_their_order(fitted, model):
    random = np.random.default_rng(0)
    rows, target = random.normal(size=(50, 4)), random.normal(size=50) / 3
    forest, draws, leaves = fitted(model, rows, target)

    found = identify_rows(forest, draws, TimeBox(60), narrowed_by(forest, rows))

    assert found.in_order.all()
    assert (found.leaf == leaves).all()


def test_most_values_of_a_regressor_of_default_parameters_are_certain_and_none_is_wrong(fitted):
    rows, target = make_regression(100, 30, n_informative=10, noise=5, random_state=0)
    forest, draws, _ = fitted(RandomForestRegressor(random_state=0), rows, target)

    bounds = narrowed_by(forest, rows)(identify_rows(forest, draws, TimeBox(60), narrowed_by(forest, rows)).leaf)

    truth = rows.astype(np.float32)
    assert ((bounds.lower <= truth) & (truth <= bounds.upper)).all()
    assert (bounds.lower == truth)[bounds.certain].all()
    assert bounds.certain.mean() > 0.9


@pytest.mark.parametrize("model", [DecisionTreeRegressor(random_state=0), ExtraTreesRegressor(20, random_state=0)])
def test_without_bootstrap_each_number_stands_for_one_row(fitted, model):
    random = np.random.default_rng(0)
    rows, target = random.normal(size=(40, 3)), random.normal(size=40)
    forest, draws, leaves = fitted(model, rows, target)

    found = identify_rows(forest, draws, TimeBox(60), narrowed_by(forest, rows))

    assert found.known == 1.0
    assert (agrees(found, leaves).sum(axis=0) == 1).all()
    assert (agrees(found, leaves).sum(axis=1) == 1).all()


@pytest.mark.parametrize("limits", [{}, {"max_depth": 6}, {"min_samples_leaf": 2}, {"max_leaf_nodes": 30}])
@pytest.mark.parametrize("kind", ["few", "close", "repeated"])
def test_equal_targets_and_shared_leaves_are_never_put_wrong(fitted, kind, limits):
    random = np.random.default_rng(0)
    rows = random.normal(size=(60, 3))
    target = random.normal(size=60)
    if kind == "few":
        target = random.integers(0, 30, 60).astype(float)
    elif kind == "close":
        target[30:] = np.nextafter(target[:30], np.inf)
    else:
        rows[30:45], target[30:45] = rows[:15], target[:15]
    forest, draws, leaves = fitted(RandomForestRegressor(40, random_state=0, **limits), rows, target)

    found = identify_rows(forest, draws, TimeBox(60), narrowed_by(forest, rows))

    assert ((found.leaf == leaves) | (found.leaf == UNKNOWN)).all()
    assert ((found.leaf == ABSENT) == (draws == 0)).all()
    if not limits:
        assert found.known > 0.9


def test_rows_of_equal_targets_are_told_apart_by_what_leaves_tell_of_their_values(fitted):
    rows, target = load_diabetes(return_X_y=True)
    rows, target = rows[:150], target[:150]
    forest, draws, leaves = fitted(RandomForestRegressor(50, random_state=0), rows, target)

    found = identify_rows(forest, draws, TimeBox(60), narrowed_by(forest, rows))

    assert found.known > 0.99
    assert ((found.leaf == leaves) | (found.leaf == UNKNOWN)).all()


def test_draws_of_other_trees_put_no_row_anywhere(fitted):
    random = np.random.default_rng(0)
    rows = random.normal(size=(40, 3))
    forest, draws, _ = fitted(RandomForestRegressor(20, random_state=0), rows, random.normal(size=40))

    found = identify_rows(forest, draws[::-1].copy(), TimeBox(60), narrowed_by(forest, rows))

    assert found.known == 0


def test_when_the_time_is_over_open_leaves_stay_open(fitted):
    random = np.random.default_rng(0)
    rows, target = random.normal(size=(40, 3)), random.normal(size=40)
    forest, draws, leaves = fitted(RandomForestRegressor(20, random_state=0), rows, target)
    over = TimeBox(60, effort=1e-9)
    over.spend(1)

    found = identify_rows(forest, draws, over, narrowed_by(forest, rows))

    assert ((found.leaf == leaves) | (found.leaf == UNKNOWN)).all()
    assert found.known == 0


def test_no_target_is_shown(fitted):
    rows = np.arange(3.0)[:, None]
    forest, draws, _ = fitted(DecisionTreeRegressor(), rows, np.array([0.25, 1.75, 7.5]))

    shown = repr(identify_rows(forest, draws, TimeBox(60), narrowed_by(forest, rows)))

    assert shown == "RowLeaves(3 rows, 1 trees, 100.0% of the leaves known)"
