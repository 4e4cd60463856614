"""Bounds by thresholds: the truth is inside, what is certain is right, and no other value fits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from pytest_draft.attack.numeric.midpoints import UNKNOWN, propagate_thresholds
from pytest_draft.domain import Attribute, Domain, infer
from pytest_draft.timebox import TimeBox

pytestmark = pytest.mark.nightly


@dataclass(frozen=True)
class Known:
    """Extremes of nodes, as `propagate_thresholds` takes them."""

    low: tuple
    high: tuple


def domain_of(rows):
    return infer([f"c{column}" for column in range(rows.shape[1])], rows)


def true_extremes(forest, leaves, rows):
    """Return the least and the largest tested value of each node's rows."""
    low, high = [], []
    for tree, leaf in zip(forest.trees, leaves, strict=True):
        held = leaf == np.arange(tree.n_nodes)[:, None]
        for node in reversed(range(tree.n_nodes)):
            if tree.left[node] >= 0:
                held[node] = held[tree.left[node]] | held[tree.right[node]]
        tested = np.where(held, rows.astype(np.float32)[:, tree.feature].T.astype(float), np.nan)
        inner = tree.left >= 0
        low.append(np.where(inner, np.nanmin(tested, axis=1), np.nan))
        high.append(np.where(inner, np.nanmax(tested, axis=1), np.nan))
    return Known(tuple(low), tuple(high))


def mistakes(bounds, rows):
    """Return how many cells are outside of their bounds, and how many are certain and wrong."""
    truth = rows.astype(np.float32).astype(np.float64)
    outside = np.count_nonzero((truth < bounds.lower) | (truth > bounds.upper))
    return outside, np.count_nonzero(bounds.certain & (bounds.lower != truth))


def awkward_column(random, n_rows):
    """Return a column of one of many kinds: few values, huge and tiny ones, none that float32 holds exactly."""
    return [
        lambda: random.normal(size=n_rows),
        lambda: random.integers(0, 5, n_rows) * 1.0,
        lambda: random.normal(size=n_rows).round(1),
        lambda: np.full(n_rows, 0.1),
        lambda: 10.0 ** random.integers(-12, 12, n_rows) * random.choice([-1, 1], n_rows),
        lambda: 1e8 + random.integers(0, 50, n_rows) * 8.0,
        lambda: random.normal(size=n_rows) * 1e-7,
        lambda: np.where(random.random(n_rows) < 0.5, 0.0, random.exponential(size=n_rows)),
    ][random.integers(8)]()


def awkward_model(random, seed):
    limits = {"max_depth": random.choice([None, 3, 6]), "min_samples_leaf": random.choice([1, 1, 2])}
    return [
        RandomForestRegressor(20, random_state=seed, **limits),
        RandomForestRegressor(10, random_state=seed, bootstrap=False, max_features=0.5, **limits),
        RandomForestRegressor(10, random_state=seed, criterion="absolute_error"),
        ExtraTreesRegressor(10, random_state=seed, **limits),
        DecisionTreeRegressor(random_state=seed, criterion="friedman_mse", **limits),
        BaggingRegressor(DecisionTreeRegressor(**limits), n_estimators=10, random_state=seed, max_features=0.7),
    ][random.integers(6)]


@pytest.mark.filterwarnings("ignore:Value for `criterion` 'friedman_mse'", "ignore:.*friedman_mse.*")
@pytest.mark.parametrize("part", range(2))
def test_no_certain_value_is_wrong_and_the_truth_is_inside_all_bounds(fitted, part):
    n_certain = 0
    for seed in range(25 * part, 25 * part + 25):
        random = np.random.default_rng(seed)
        n_rows = int(random.integers(2, 40))
        rows = np.column_stack([awkward_column(random, n_rows) for _ in range(random.integers(1, 5))])
        rows[random.integers(n_rows, size=n_rows // 4)] = rows[0]
        forest, _, leaves = fitted(awkward_model(random, seed), rows, random.normal(size=n_rows))
        extremes = true_extremes(forest, leaves, rows) if "Extra" in forest.kind else None
        some = np.where((leaves >= 0) & (random.random(leaves.shape) < 0.3), UNKNOWN, leaves)
        for known in (leaves, some):
            bounds = propagate_thresholds(forest, domain_of(rows), known, TimeBox(60), extremes=extremes)

            assert mistakes(bounds, rows) == (0, 0)
            assert bounds.contradictory == ()
            n_certain += np.count_nonzero(bounds.certain)
    assert n_certain > 500


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_every_data_set_that_fits_and_certain_values_have_no_other(fitted, seed):
    random = np.random.default_rng(seed)
    rows = random.permutation(7)[:5, None].astype(float)
    forest, _, leaves = fitted(RandomForestRegressor(4, random_state=seed), rows, random.normal(size=5))
    domain = Domain(("c0",), (Attribute("c0", "ordinal", (0,), 0.0, 6.0),), "declared")

    bounds = propagate_thresholds(forest, domain, leaves, TimeBox(60))

    fitting = np.array([x for x in product(range(7), repeat=5) if explains(forest, leaves, np.array(x))])
    assert len(fitting)
    assert (bounds.lower[:, 0] <= fitting.min(axis=0)).all()
    assert (bounds.upper[:, 0] >= fitting.max(axis=0)).all()
    assert (fitting.min(axis=0) == fitting.max(axis=0))[bounds.certain[:, 0]].all()


def explains(forest, leaves, values):
    """Return whether each threshold is the midpoint between the values of the rows on its two sides."""
    for tree, leaf in zip(forest.trees, leaves, strict=True):
        held = leaf == np.arange(tree.n_nodes)[:, None]
        for node in reversed(range(tree.n_nodes)):
            if tree.left[node] >= 0:
                left, right = held[tree.left[node]], held[tree.right[node]]
                held[node] = left | right
                if values[left].max() / 2 + values[right].min() / 2 != tree.threshold[node]:
                    return False
                if values[left].max() > tree.threshold[node] or values[right].min() <= tree.threshold[node]:
                    return False
    return True


def test_three_sums_in_a_cycle_give_the_values(fitted):
    rows = np.array([[0.5], [1.0], [3.5], [10.0]])
    forest, _, leaves = fitted(RandomForestRegressor(40, random_state=0), rows, np.array([0.0, 5.0, 11.0, 30.0]))
    domain = Domain(("c0",), (Attribute("c0", "numeric", (0,), -100.0, 100.0),), "declared")

    bounds = propagate_thresholds(forest, domain, leaves, TimeBox(60))

    assert bounds.certain.all()
    assert (bounds.lower == rows).all()


def test_leaves_of_other_rows_make_nothing_certain(fitted):
    random = np.random.default_rng(0)
    rows = random.normal(size=(30, 3))
    forest, _, leaves = fitted(RandomForestRegressor(30, random_state=0), rows, random.normal(size=30))

    bounds = propagate_thresholds(forest, domain_of(rows), random.permuted(leaves, axis=1), TimeBox(60))

    assert bounds.contradictory
    assert not bounds.certain.any()


def test_bounds_hold_when_the_time_is_over_before_they_are_narrow(fitted):
    random = np.random.default_rng(0)
    rows = random.normal(size=(30, 3))
    forest, _, leaves = fitted(RandomForestRegressor(30, random_state=0), rows, random.normal(size=30))
    over = TimeBox(60, effort=1e-9)
    over.spend(1)

    early, late = (propagate_thresholds(forest, domain_of(rows), leaves, box) for box in (over, TimeBox(60)))

    assert not early.complete
    assert late.complete
    assert mistakes(early, rows) == (0, 0)
    assert (early.upper - early.lower).sum() > 2 * (late.upper - late.lower).sum()


def test_known_extremes_of_random_splits_fix_values_that_thresholds_alone_leave_open(fitted):
    random = np.random.default_rng(0)
    rows = random.normal(size=(30, 3))
    forest, _, leaves = fitted(ExtraTreesRegressor(30, random_state=0), rows, random.normal(size=30))

    without = propagate_thresholds(forest, domain_of(rows), leaves, TimeBox(60))
    bounds = propagate_thresholds(
        forest, domain_of(rows), leaves, TimeBox(60), extremes=true_extremes(forest, leaves, rows)
    )

    assert mistakes(bounds, rows) == (0, 0)
    assert not without.certain.any()
    assert bounds.certain.mean() > 0.9


def test_one_column_of_a_one_hot_group_is_one(fitted):
    random = np.random.default_rng(0)
    rows = np.eye(3)[random.integers(3, size=40)]
    forest, _, leaves = fitted(DecisionTreeRegressor(), rows, rows @ (1.0, 2.0, 5.0))
    domain = Domain(("a", "b", "c"), (Attribute("x", "one-hot", (0, 1, 2)),), "declared")

    bounds = propagate_thresholds(forest, domain, leaves, TimeBox(60))

    assert mistakes(bounds, rows) == (0, 0)
    assert bounds.certain.all()


def test_values_of_a_column_that_may_miss_some_are_never_certain(fitted):
    random = np.random.default_rng(0)
    rows = random.normal(size=(30, 2))
    rows[::5, 0] = np.nan
    forest, _, leaves = fitted(RandomForestRegressor(30, random_state=0), rows, random.normal(size=30))
    low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    attributes = tuple(Attribute(f"c{f}", "numeric", (f,), low[f], high[f], missing=f == 0) for f in range(2))
    domain = Domain(("c0", "c1"), attributes, "declared")

    bounds = propagate_thresholds(forest, domain, leaves, TimeBox(60))

    present = ~np.isnan(rows)
    truth = rows.astype(np.float32)
    assert bounds.contradictory == ()
    assert ((bounds.lower <= truth) & (truth <= bounds.upper))[present].all()
    assert not bounds.certain[:, 0].any()
    assert bounds.certain[:, 1].mean() > 0.5
    assert (bounds.lower == truth)[bounds.certain].all()


def test_the_leaves_of_a_classifier_serve_as_well(fitted):
    random = np.random.default_rng(0)
    rows = random.normal(size=(40, 4))
    forest, _, leaves = fitted(RandomForestClassifier(100, random_state=0), rows, random.integers(2, size=40))

    bounds = propagate_thresholds(forest, domain_of(rows), leaves, TimeBox(60))

    assert mistakes(bounds, rows) == (0, 0)
    assert bounds.certain.any()


def test_no_value_is_shown(fitted):
    rows = np.array([[0.25], [1.75], [7.5]])
    forest, _, leaves = fitted(DecisionTreeRegressor(), rows, np.arange(3.0))

    bounds = propagate_thresholds(forest, domain_of(rows), leaves, TimeBox(60))

    assert repr(bounds) == "ValueBounds(3 rows, 1 columns, 3 certain cells)"
