"""What each attribute can be: every value in exactly one state, and no tree parts the values of a state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import occurrences
from pytest_draft.artifact.forest.nodes import depth_first
from pytest_draft.attack.compiled_trees import Walks
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.groups import group_by_occurrences
from pytest_draft.attack.numeric.energy import nodes_of
from pytest_draft.attack.numeric.problem import build_numeric
from pytest_draft.attack.states import (
    decimal_step,
    states_of,
    thresholds_of,
)
from pytest_draft.domain import Attribute, Domain, infer
from pytest_draft.timebox import TimeBox
from studies.numeric_agreement import filled, generated

pytestmark = pytest.mark.nightly


def numeric(low, high, missing=False):
    return Domain(("c0",), (Attribute("c0", "numeric", (0,), low, high, missing),), "declared")


def forest_of(published, values, model=None):
    """Return a forest of one column, whose classes change with every value."""
    rows = np.asarray(values, float)[:, None]
    model = RandomForestClassifier(10, random_state=0) if model is None else model
    classes = np.random.default_rng(0).integers(2, size=len(rows))
    return published(model.fit(rows, classes), rows)[0]


def values_between(low, high, n=2_000):
    """Return float32 values of a range, its bounds among them."""
    random = np.random.default_rng(1)
    return np.unique(np.float32(np.append(random.uniform(low, high, n), [low, high]))).clip(low, high).astype(float)


def states_holding(states, values):
    return ((states.low[0] <= values[:, None]) & (values[:, None] <= states.high[0])).sum(axis=1)


@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e8, 1e-30])
def test_each_float32_value_is_in_one_state_and_thresholds_part_no_state(published, scale):
    values = np.float32(np.random.default_rng(0).normal(size=40) * scale).astype(float)
    forest = forest_of(published, values)
    low, high = values.min(), values.max()

    states = states_of(forest, numeric(low, high), {})

    assert (states.low[0][0], states.high[0][-1]) == (low, high)
    assert (states.low[0] == np.float32(states.low[0])).all()
    assert (states.high[0] == np.float32(states.high[0])).all()
    assert (states.low[0][1:] == np.nextafter(np.float32(states.high[0][:-1]), np.float32(np.inf))).all()
    cuts = thresholds_of(forest)[0][:, None]
    assert ((states.high[0] <= cuts) | (states.low[0] > cuts)).all()
    between = values_between(low, high)
    held = states.holding(0, between)
    assert (states_holding(states, between) == 1).all()
    assert ((states.low[0][held] <= between) & (between <= states.high[0][held])).all()


def test_thresholds_that_float32_does_not_tell_apart_leave_no_empty_state_between_them(published):
    values = 1e8 + np.append(np.random.default_rng(0).integers(0, 50, 40), [0, 50]) * 8
    forest = forest_of(published, values, ExtraTreesClassifier(20, random_state=0))
    low, high = values.min(), values.max()

    states = states_of(forest, numeric(low, high), {})

    cuts = thresholds_of(forest)[0]
    assert states.n_states[0] < len(cuts)
    assert (states.low[0] <= states.high[0]).all()
    assert ((states.high[0] <= cuts[:, None]) | (states.low[0] > cuts[:, None])).all()
    assert (states_holding(states, low + 8.0 * np.arange(51)) == 1).all()


def test_told_values_are_states_of_their_own_and_the_others_stay_possible(published):
    values = np.float32(np.random.default_rng(0).normal(size=30)).astype(float)
    forest = forest_of(published, values, ExtraTreesClassifier(5, random_state=0))
    low, high = values.min(), values.max()
    neighbours = [values[3], np.nextafter(np.float32(values[3]), np.float32(9)), values[5], low, high]
    told = np.array([*neighbours, low - 1, high + 1], dtype=float)

    states = states_of(forest, numeric(low, high), {0: told})

    own = states.holding(0, told)
    assert (states.low[0][own[:5]] == told[:5]).all()
    assert (states.high[0][own[:5]] == told[:5]).all()
    assert (own[5:] == -1).all()
    assert (states_holding(states, values_between(low, high)) == 1).all()


def test_values_outside_of_the_domain_are_in_no_state(published):
    states = states_of(forest_of(published, np.linspace(0.013, 0.97, 20)), numeric(0.1, 0.9), {})

    assert (states.holding(0, np.array([0.0, 1.0, np.nan])) == -1).all()
    assert states.n_states.tolist() == [len(states.low[0])]


def test_decimals_that_thresholds_show_are_states_each(published):
    values = np.append(np.random.default_rng(0).integers(0, 60, 80), [0, 60]) / 10
    forest = forest_of(published, values)

    states = states_of(forest, numeric(0.0, 6.0), {})
    intervals = states_of(forest, numeric(0.0, 6.0), {}, points=False)

    own = states.holding(0, np.float32(values).astype(float))
    assert (own >= 0).all()
    assert (states.low[0][own] == states.high[0][own]).all()
    assert (states_holding(states, values_between(0.0, 6.0)) == 1).all()
    assert np.allclose(states.rounded(0, np.array([0.31, 0.36])), [0.3, 0.4], rtol=1e-12)
    assert intervals.step[0] == states.step[0]
    assert len(intervals.low[0]) == len(thresholds_of(forest)[0]) + 1


def test_a_guess_lies_inside_its_state_also_between_two_decimals(published):
    values = np.append(np.random.default_rng(0).integers(0, 60, 80), [0, 60]) / 10
    states = states_of(forest_of(published, values), numeric(0.0, 6.0), {}, points=False)
    every = np.arange(states.n_states[0])

    guess = states.guess(0, every)

    between = np.abs(guess - np.rint(guess * 10) / 10) > 1e-9
    assert (states.holding(0, guess.astype(np.float32).astype(float)) == every).all()
    assert 0 < between.mean() < 0.5


@pytest.mark.parametrize(
    ("values", "bounds", "step"),
    [
        (np.arange(3, 40), (0, 40), 1.0),
        (np.arange(3, 40) / 10, (0, 4), 0.1),
        (np.float32(np.arange(3, 40) / 1000), (0, 0.04), 0.001),
        (np.arange(3, 40) / 7, (0, 6), None),
        (np.append(np.arange(3, 40), 4.5), (0, 40), 0.1),
        (np.append(np.arange(3, 40), 1 / 3), (0, 40), None),
        (np.arange(3, 40), (0.25, 40), 0.01),
        (np.array([4.0]), (0, 40), None),
        (np.empty(0), (0, 40), None),
        (1e9 + np.arange(30) * 64, (1e9, 1e9 + 6400), None),
    ],
)
def test_a_step_is_what_all_values_are_multiples_of_and_no_coincidence(values, bounds, step):
    attribute = Attribute("c0", "numeric", (0,), *map(float, bounds))

    found = decimal_step(attribute, np.asarray(values, float))

    assert np.isnan(found) if step is None else np.isclose(found, step)


def test_a_missing_value_is_the_last_state():
    attributes = (
        Attribute("c0", "numeric", (0,), 0.0, 1.0, missing=True),
        Attribute("c1", "ordinal", (1,), -1.0, 2.0, missing=True),
        Attribute("c2", "binary", (2,)),
    )
    domain = Domain(("c0", "c1", "c2"), attributes, "declared")
    forest = generated([0]).forest
    forest = replace(
        forest, n_features=3, trees=tuple(replace(t, feature=np.minimum(t.feature, 2)) for t in forest.trees)
    )

    states = states_of(forest, domain, {})

    rows = np.array([[np.nan, np.nan, 1], [0.5, -1, 0]], dtype=np.float32)
    last = states.n_states - 1
    assert states.n_states[1:].tolist() == [5, 2]
    assert (states.of_rows(rows)[0] == last).all()
    assert states.of_rows(rows)[1, 1:].tolist() == [0, 0]
    assert Walks.of(forest, domain, states.ends).missing.tolist() == [last[0], 4, -1]


MODELS = {
    "random forest": RandomForestClassifier(8, random_state=0),
    "no bagging, depth 4": RandomForestClassifier(8, max_depth=4, bootstrap=False, random_state=0),
    "best first": RandomForestClassifier(8, max_leaf_nodes=9, random_state=0),
    "extra trees": ExtraTreesClassifier(8, random_state=0),
    "best first extra trees": ExtraTreesClassifier(8, max_leaf_nodes=9, bootstrap=True, random_state=0),
    "bagging of columns": BaggingClassifier(DecisionTreeClassifier(), 8, max_features=0.6, random_state=0),
    "regressor": RandomForestRegressor(8, min_samples_leaf=3, random_state=0),
}


def mixed_rows(gaps):
    random = np.random.default_rng(0)
    rows = np.column_stack(
        [
            random.normal(size=60),
            random.normal(size=60).round(1),
            random.integers(-1, 3, 60),
            random.integers(2, size=60),
            np.eye(3)[random.integers(3, size=60)],
        ]
    ).astype(np.float32)
    if gaps:
        rows[random.random((60, 7)) < [0.3, 0, 0.2, 0.2, 0, 0, 0]] = np.nan
    domain = infer(["a", "b", "c", "d", "e_x", "e_y", "e_z"], rows.astype(float))
    assert [attribute.kind for attribute in domain.attributes] == ["numeric", "numeric", "ordinal", "binary", "one-hot"]
    return rows, domain, random


@pytest.mark.parametrize("gaps", [False, True], ids=["no gaps", "gaps"])
@pytest.mark.parametrize("name", MODELS)
def test_states_reach_the_leaves_and_counts_of_their_rows(published, name, gaps):
    rows, domain, random = mixed_rows(gaps)
    labels = random.integers(2, size=60)
    regressor = name == "regressor"
    forest, _ = published(MODELS[name].fit(rows, random.normal(size=60) if regressor else labels), np.nan_to_num(rows))
    times = occurrences(forest)
    problem = build_numeric(forest, domain, group_by_occurrences(times), TimeBox(60, effort=0.1))

    data = filled(problem, problem.states.of_rows(rows), labels * (not regressor))

    for t, tree in enumerate(forest.trees):
        order, _ = depth_first(tree.left, tree.right)
        place = np.argsort(order)
        reached = place[tree.leaves[leaf_positions(tree, np.ascontiguousarray(rows.T))]] + problem.nodes.walks.root[t]
        assert (data.leaf[t] == np.where(times[t] > 0, reached, -1)).all()
        here = slice(problem.nodes.walks.root[t], problem.nodes.walks.root[t + 1])
        assert (data.draws[here] == forest.counts(t)[order]).all()
        assert (data.present[here] == tree.n_distinct[order]).all()
        told = tree.n_distinct[order] if forest.draws.drawn else -1
        assert (problem.nodes.distinct[here] == told).all()
        assert (problem.nodes.walks.end[here][[0, -1]] == problem.nodes.walks.root[t + 1]).all()


def test_thresholds_beside_gaps_alone_tell_no_midpoint(published):
    rows = np.array([[0.3], [0.3], [np.nan], [np.nan]], dtype=np.float32)
    forest, _ = published(RandomForestClassifier(2, bootstrap=False).fit(rows, [0, 0, 1, 1]), np.nan_to_num(rows))
    states = states_of(forest, numeric(0.0, 1.0, missing=True), {})

    nodes = nodes_of(forest, states)

    assert np.isnan(nodes.twice).all()
    assert states.n_states.tolist() == [2]


def test_no_value_is_in_the_text_of_states(published):
    states = states_of(forest_of(published, np.arange(8) / 7), numeric(0.0, 1.0), {})

    assert repr(states) == f"States({states.n_states[0]} states of 1 attributes)"
