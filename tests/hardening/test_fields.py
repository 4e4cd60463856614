"""Fields beside the trees: seeds wherever they stand, vectors by row, models that only chose columns."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, IsolationForest, RandomForestClassifier, RandomTreesEmbedding
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier

from fitted_models import fitted, stored, table
from pytest_draft.errors import DataError
from pytest_draft.hardening.model import hardened


def _changed(result):
    return {change.field: change for change in result.changes}


def test_what_is_removed_is_said_with_its_number():
    model, frame, _ = fitted("forest", "discrete")
    _, result = hardened(model, "counts", frame)
    said = [str(change) for change in result.changes]
    assert "random_state: 5 trees, set to None" in said
    assert "random_state: 1 set to None (RandomForestClassifier)" in said
    assert {"oob_score_", "oob_decision_function_", "_n_samples", "_n_samples_bootstrap", "_sample_weight"} <= set(
        _changed(result)
    )
    n_nodes = sum(tree.tree_.node_count for tree in model.estimators_)
    assert f"n_node_samples, weighted_n_node_samples: {n_nodes} nodes: 1 at a leaf, sums above" in said


def test_seeds_alone_leave_the_trees_as_they_are():
    model, frame, _ = fitted("forest", "numeric")
    new, result = hardened(model, "seeds", frame)
    for old, tree in zip(model.estimators_, new.estimators_, strict=True):
        was, now = old.tree_.__getstate__(), tree.tree_.__getstate__()
        assert np.array_equal(was["values"], now["values"])
        for name in was["nodes"].dtype.names:
            assert np.array_equal(was["nodes"][name], now["nodes"][name])
    assert any("all counts" in line for line in result.stays)


def test_bagging_keeps_its_columns_and_loses_its_seeds():
    model, frame, _ = fitted("bagging", "numeric")
    new, result = hardened(model, "counts", frame)
    assert {"_seeds", "_n_samples", "_max_samples", "_sample_weight"} <= set(_changed(result))
    for old, kept in zip(model.estimators_features_, new.estimators_features_, strict=True):
        assert np.array_equal(old, kept)
    with pytest.raises(AttributeError):
        _ = new.estimators_samples_


def test_generators_and_seeds_of_splitters_and_transformers_are_gone():
    frame, labels = table("numeric")
    model = make_pipeline(
        QuantileTransformer(n_quantiles=5, random_state=3),
        GridSearchCV(
            BaggingClassifier(DecisionTreeClassifier(random_state=1), 2, random_state=np.random.RandomState(0)),
            {"random_state": [1, 2], "estimator__random_state": [3]},
            cv=KFold(2, shuffle=True, random_state=4),
        ),
    ).fit(frame, labels)
    model.steps[0][1].kept_ = np.random.default_rng(0)
    new, _ = hardened(model, "seeds", frame)
    for name, one in stored(new):
        assert not isinstance(one, np.random.RandomState | np.random.Generator)
        if name is not None and name.split("__")[-1] in ("random_state", "param_random_state"):
            assert one is None
    assert isinstance(model.steps[0][1].kept_, np.random.Generator)


def test_a_label_for_each_row_goes_with_the_seeds():
    frame, labels = table("discrete")
    labels = np.where(np.arange(len(labels)) % 3 == 0, -1, labels)
    model = SelfTrainingClassifier(RandomForestClassifier(3, random_state=0)).fit(frame, labels)
    new, result = hardened(model, "seeds", frame)
    assert {"transduction_", "labeled_iter_"} <= set(_changed(result))
    assert not any(isinstance(one, np.ndarray) and one.shape[:1] == labels.shape for _, one in stored(new))


def test_an_array_by_row_that_is_left_is_named():
    model, frame, _ = fitted("voting", "discrete")
    model = pickle.loads(pickle.dumps(model))
    model.kept_ = np.arange(len(frame))
    _, result = hardened(model, "counts", frame)
    assert any("kept_" in line and "as many entries" in line for line in result.stays)


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("name", ["discrete", "missing"])
@pytest.mark.parametrize("settings", [{}, {"max_features": 2, "threshold": -np.inf}, {"threshold": "1.5*mean"}])
def test_a_forest_that_chose_columns_is_replaced_by_its_choice(settings, name):
    frame, labels = table(name)
    chosen = SelectFromModel(RandomForestClassifier(4, random_state=0), **settings)
    model = make_pipeline(chosen, RandomForestClassifier(4, random_state=1)).fit(frame, labels)
    new, result = hardened(model, "counts", frame)
    assert np.array_equal(new[0].get_support(), chosen.get_support())
    assert list(new[0].get_feature_names_out()) == list(chosen.get_feature_names_out())
    assert new.predict_proba(frame).tobytes() == model.predict_proba(frame).tobytes()
    assert _changed(result)["SelectFromModel"].count == 4
    assert len([1 for _, one in stored(new) if isinstance(one, dict) and "nodes" in one]) == 4


def test_a_tree_of_a_selection_that_stores_its_choice_goes_where_it_is_not_asked():
    frame, labels = table("discrete")
    chosen = RFE(DecisionTreeClassifier(random_state=0), n_features_to_select=2)
    model = make_pipeline(chosen, DecisionTreeClassifier(random_state=0)).fit(frame, labels)
    for rows in (frame, None):
        new, result = hardened(model, "counts", rows)
        assert result.identical and np.array_equal(new[0].get_support(), chosen.support_)
        assert len([1 for _, one in stored(new) if isinstance(one, dict) and "nodes" in one]) == 1
    alone = RFE(DecisionTreeClassifier(random_state=0), n_features_to_select=2).fit(frame, labels)
    new, result = hardened(alone, "counts", frame)  # this one predicts
    assert result.identical and np.array_equal(new.predict(frame), alone.predict(frame))
    assert not any("THRESHOLDS" in line for line in result.stays)


@pytest.mark.parametrize("kind", [SelectFromModel, RFE])
def test_without_data_a_selection_behind_text_is_compared_by_its_columns(kind):
    frame, labels = table("text")
    encoder = make_column_transformer((OneHotEncoder(), ["word"]), remainder="passthrough")
    model = make_pipeline(encoder, kind(RandomForestClassifier(3)), DecisionTreeClassifier(max_depth=2))
    model.fit(frame, labels)
    new, result = hardened(model)
    assert result.identical
    assert {one.method for one in result.differences} >= {"steps[1][1].transform", "steps[2][1].predict"}
    assert np.array_equal(model.predict(frame), new.predict(frame))


def test_models_that_look_up_nodes_by_number_keep_them():
    frame, labels = table("numeric")
    model = make_pipeline(RandomTreesEmbedding(4, max_leaf_nodes=5, random_state=0), LogisticRegression())
    model.fit(frame, labels)
    new, result = hardened(model, "counts", frame)
    assert result.identical and np.array_equal(model[0].apply(frame), new[0].apply(frame))


def test_an_isolation_forest_keeps_what_its_scores_need_of_leaves_and_no_more():
    frame, _ = table("numeric")
    model = IsolationForest(n_estimators=4, contamination=0.1, random_state=0).fit(frame)
    new, result = hardened(model, "counts", frame)
    assert new.decision_function(frame).tobytes() == model.decision_function(frame).tobytes()
    for tree, lengths in zip(new.estimators_, new._average_path_length_per_tree, strict=True):
        assert not tree.tree_.value.any()  # targets that were drawn from the seed
        assert not lengths[tree.tree_.children_left >= 0].any()
    assert any("_average_path_length_per_tree" in line for line in result.stays)


def test_a_seed_that_was_a_number_is_said_to_be_found_again():
    frame, labels = table("discrete")
    for seed, said in ((3, True), (None, False), (np.random.RandomState(1), False)):
        model = RandomForestClassifier(3, random_state=seed).fit(frame, labels)
        _, result = hardened(model, "counts", frame)
        assert any("random_state was a number" in line for line in result.stays) is said


def test_what_transformers_have_learned_is_named():
    model, frame, _ = fitted("forest", "text")
    _, result = hardened(model, "counts", frame)
    line = next(line for line in result.stays if "other parts have learned" in line)
    assert "OneHotEncoder" in line and "StandardScaler" in line


@pytest.mark.filterwarnings("ignore:invalid value")
def test_importances_are_said_to_be_what_they_are():
    for kind, expected in (("forest", "NaN"), ("tree", "0")):
        model, frame, _ = fitted(kind, "discrete")
        new, result = hardened(model, "counts", frame)
        assert f"feature_importances_ is {expected}" in "".join(result.stops)
        values = new.feature_importances_
        assert np.isnan(values).all() if expected == "NaN" else not values.any()


def test_a_model_without_trees_or_with_a_tree_apart_is_refused():
    frame, labels = table("discrete")
    with pytest.raises(DataError, match="LogisticRegression: no fitted scikit-learn trees"):
        hardened(LogisticRegression().fit(frame, labels))
    with pytest.raises(DataError, match="nothing to harden"):
        hardened(RandomForestClassifier())
    model = DecisionTreeClassifier().fit(frame, labels)
    model.apart = [DecisionTreeClassifier().fit(frame, labels).tree_]
    with pytest.raises(DataError, match=r"apart\[0\]: a tree that is no estimator's attribute"):
        hardened(model)


def test_models_in_dicts_and_lists_are_all_hardened():
    forest, frame, _ = fitted("forest", "discrete")
    tree, _, _ = fitted("tree", "discrete")
    new, result = hardened({"forest": forest, "rest": [tree, "a note"]}, "counts", frame)
    assert new["rest"][1] == "a note"
    assert {one.method.rpartition(".")[0] for one in result.differences} == {"['forest']", "['rest'][0]"}
    assert all(part.n_rows == len(frame) and part.identical for part in result.differences)
    assert new["forest"].estimators_[0].tree_.impurity.sum() == 0 == new["rest"][0].tree_.impurity.sum()


def test_hardening_twice_changes_nothing_more():
    model, frame, _ = fitted("forest", "numeric")
    once, _ = hardened(model, "counts", frame)
    twice, result = hardened(once, "counts", frame)
    assert pickle.dumps(once) == pickle.dumps(twice)
    assert result.changes == ()
