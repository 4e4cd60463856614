"""Every level on every kind of model and table: what is answered as before, and what is in the file no more."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor

from fitted_models import KINDS, TABLES, fitted, stored
from pytest_draft.hardening.model import hardened

LEVELS = ("seeds", "counts", "decimals:1", "labels")
ON_ALL_TABLES = ("forest", "random splits", "tree", "bagging", "regressor", "calibrated")
NODES = {"left_child", "right_child", "impurity", "n_node_samples", "weighted_n_node_samples"}


def _models(level):
    for kind in KINDS:
        for name in TABLES:
            if name in ("missing", "text") and kind not in ON_ALL_TABLES:
                continue
            if level == "seeds" and name in ("numeric", "missing"):
                continue  # nothing else than for the other two
            yield pytest.param(kind, name, level, id=f"{kind}, {name}, {level}")


def _trees(model):
    """Return each tree's nodes and values, as a pickle stores them."""
    states = [one for _, one in stored(model) if isinstance(one, dict) and "nodes" in one and "values" in one]
    return [(state["nodes"], state["values"], state["max_depth"]) for state in states]


def _said(model, frame):
    methods = [name for name in ("predict", "predict_proba", "score_samples") if hasattr(model, name)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: np.asarray(getattr(model, name)(frame)) for name in methods}


def _assert_no_seeds(model):
    for name, one in stored(model):
        assert not isinstance(one, (np.random.RandomState, np.random.Generator, np.random.BitGenerator))
        if name is not None and name.split("__")[-1] in ("random_state", "param_random_state"):
            assert one is None
        assert name not in ("_seeds", "_sample_weight", "_n_samples", "_n_samples_bootstrap")
        assert name is None or not (name.startswith("oob_") and name.endswith("_"))


@pytest.mark.nightly(quick=4)
@pytest.mark.parametrize("kind, name, level", [case for level in LEVELS[:2] for case in _models(level)])
def test_without_seeds_and_counts_every_answer_is_bit_for_bit_the_same(kind, name, level):
    model, frame, _ = fitted(kind, name)
    before, stored_before = _said(model, frame), pickle.dumps(model)
    new, result = hardened(model, level, frame)
    after = _said(pickle.loads(pickle.dumps(new)), frame)
    assert before.keys() == after.keys()
    for method, said in before.items():
        assert said.tobytes() == after[method].tobytes()
    assert result.identical and result.differences
    _assert_no_seeds(new)
    assert pickle.dumps(model) == stored_before  # the given one is left as it was


@pytest.mark.nightly(quick=4)
@pytest.mark.parametrize("kind, name, level", [case for level in LEVELS[1:] for case in _models(level)])
def test_no_count_impurity_or_inner_value_is_left_in_any_tree(kind, name, level):
    model, frame, _ = fitted(kind, name)
    new, _ = hardened(model, level, frame)
    _assert_no_seeds(new)
    trees = _trees(new)
    assert len(trees) >= len(_trees(model)) > 0 or kind == "search"
    for nodes, values, depth in trees:
        assert set(nodes.dtype.names) >= NODES
        left, right = nodes["left_child"], nodes["right_child"]
        leaves = left < 0
        assert (nodes["impurity"] == 0).all()
        assert (values[~leaves] == 0).all()
        for counts in (nodes["n_node_samples"], nodes["weighted_n_node_samples"]):
            assert (counts[leaves] == 1).all()
            assert (counts[~leaves] == counts[left[~leaves]] + counts[right[~leaves]]).all()
        assert (nodes["missing_go_to_left"][leaves] == 0).all()
        assert depth == _depth(left, right)
        assert _preorder(left, right) == list(range(len(nodes)))
        if kind in ("isolation", "regressor"):
            continue
        fractions = values[leaves, 0]
        assert np.allclose(fractions.sum(axis=1), 1)
        if level == "decimals:1":
            assert np.array_equal(fractions, np.round(fractions, 1))
        if level == "labels":
            assert set(np.unique(fractions)) <= {0.0, 1.0}
            inner = np.flatnonzero(~leaves)
            both = inner[leaves[left[inner]] & leaves[right[inner]]]
            assert (values[left[both]] != values[right[both]]).any(axis=(1, 2)).all()


def _preorder(left, right):
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if left[node] >= 0:
            waiting += [right[node], left[node]]
    return order


def _depth(left, right, node=0):
    return 0 if left[node] < 0 else 1 + max(_depth(left, right, left[node]), _depth(left, right, right[node]))


@pytest.mark.nightly(quick=3)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("kind", ["forest", "shallow forest", "tree", "bagging"])
def test_rounding_and_labels_change_answers_by_as_much_as_is_said(kind, name):
    model, frame, _ = fitted(kind, name)
    for level in LEVELS[2:]:
        new, result = hardened(model, level, frame)
        said = {one.method: one for one in result.differences}
        before, after = model.predict_proba(frame), new.predict_proba(frame)
        assert said["predict_proba"].largest == pytest.approx(np.abs(before - after).max())
        assert said["predict_proba"].changed == (before != after).any(axis=1).mean()
        assert said["predict"].changed == (model.predict(frame) != new.predict(frame)).mean()
        assert said["predict"].largest is None
        if level == "decimals:1":
            assert said["predict_proba"].largest <= 0.1 + 1e-9  # by the largest remainder, below one unit a leaf


@pytest.mark.nightly
@given(
    st.integers(0, 2**31),
    st.sampled_from([RandomForestClassifier, ExtraTreesClassifier, RandomForestRegressor]),
    st.fixed_dictionaries(
        {
            "max_depth": st.sampled_from([None, 1, 4]),
            "max_leaf_nodes": st.sampled_from([None, 7]),
            "bootstrap": st.booleans(),
            "max_features": st.sampled_from([None, 1, "sqrt"]),
            "ccp_alpha": st.sampled_from([0.0, 0.02]),
        }
    ),
    st.sampled_from([1e-30, 1.0, 1e30]),
    st.booleans(),
)
def test_whatever_a_forest_is_made_of_its_predictions_stay(seed, make, settings, scale, with_data):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 3)) * scale
    rows[:, 1] = rng.integers(0, 3, 40)
    rows[rng.random(40) < rng.choice([0, 0.2]), 2] = np.nan
    model = make(3, random_state=seed % 2**31, **settings).fit(rows, rng.integers(0, 3, 40))
    new, result = hardened(model, "counts", rows if with_data else None)
    assert result.identical
    others = rows if with_data else rng.normal(size=(40, 3)) * scale
    for method in ("predict", "predict_proba"):
        if hasattr(model, method):
            assert getattr(model, method)(others).tobytes() == getattr(new, method)(others).tobytes()


def test_labels_vote_each_tree_once():
    model, frame, _ = fitted("shallow forest", "numeric")
    new, _ = hardened(model, "labels", frame)
    votes = np.mean([tree.predict(frame.to_numpy()) for tree in model.estimators_], axis=0)
    assert np.allclose(new.predict_proba(frame)[:, 1], votes)


@pytest.mark.parametrize("kind", KINDS)
def test_without_data_answers_thresholds_and_directions_stay(kind):
    model, frame, _ = fitted(kind, "numeric")
    new, result = hardened(model)
    assert result.identical and "drawn" in result.compared_on
    for (old, _, _), (nodes, _, _) in zip(_trees(model), _trees(new), strict=False):
        assert sorted(old["threshold"]) == sorted(nodes["threshold"])
    before, after = _said(model, frame), _said(new, frame)
    assert all(before[method].tobytes() == after[method].tobytes() for method in before)
    assert any("THRESHOLDS" in line and "--data" in line for line in result.stays)


def test_without_data_a_pipeline_of_text_is_compared_where_numbers_come_in():
    model, _, _ = fitted("forest", "text")
    _, result = hardened(model)
    assert result.identical
    assert {one.method for one in result.differences} == {"steps[1][1].predict", "steps[1][1].predict_proba"}
