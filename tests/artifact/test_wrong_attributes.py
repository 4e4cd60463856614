"""Each attribute of each part of a model, replaced by what does not belong there: the file is valid or refused."""

from __future__ import annotations

import pickle
import random
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectFromModel, SelectKBest, SelectPercentile, VarianceThreshold, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, Normalizer, PolynomialFeatures, RobustScaler
from sklearn.tree import DecisionTreeClassifier

from profiles import examples
from pytest_draft.artifact import read
from pytest_draft.errors import CorruptArtifactError
from studies.fuzz.make_seeds import pipeline, private, table
from studies.fuzz.targets import SEEDS
from studies.fuzz.worker import said

LIBRARIES = ("xgboost", "lightgbm")
TREE = DecisionTreeClassifier(max_depth=2, random_state=1)
FEW = {"max_iter": 2, "max_leaf_nodes": 4, "min_samples_leaf": 2, "early_stopping": False}
NUMERIC = {
    "forest": RandomForestClassifier(2, max_depth=2, class_weight="balanced", random_state=1),
    "tree": TREE,
    "bagging": BaggingClassifier(TREE, n_estimators=2, max_features=0.7, random_state=1),
    "isolation": IsolationForest(n_estimators=2, max_samples=8, random_state=1),
    "gradients": GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=1),
    "gradients of a regressor": GradientBoostingRegressor(n_estimators=2, max_depth=2, random_state=1),
    "histograms": HistGradientBoostingClassifier(**FEW),
    "histograms of a regressor": HistGradientBoostingRegressor(**FEW),
    "regressor": ExtraTreesRegressor(2, max_depth=2, random_state=1),
    "best": make_pipeline(SelectKBest(f_classif, k=2), MinMaxScaler(), TREE),
    "share": make_pipeline(SelectPercentile(percentile=70), RobustScaler(), TREE),
    "by model": make_pipeline(SelectFromModel(LogisticRegression()), FunctionTransformer(np.sqrt), TREE),
    "by tree": make_pipeline(SelectFromModel(TREE, threshold="0.5*mean"), VarianceThreshold(), TREE),
    "by forest": make_pipeline(SelectFromModel(RandomForestClassifier(2, max_depth=2)), TREE),
    "not covered": make_pipeline(Normalizer(), TREE),
}


@pytest.fixture(scope="module")
def fitted_models():
    frame = table()
    labels = frame["label"].to_numpy(dtype=str)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = {
            name: clone(model).fit(
                frame[["a", "b", "c"]].to_numpy(), labels if "regressor" not in name else np.arange(24.0)
            )
            for name, model in NUMERIC.items()
        }
        models["pipeline"] = pipeline().fit(frame.drop(columns="label"), labels)
    models["private"] = private()
    for name in LIBRARIES:
        models[name] = pickle.loads((SEEDS / f"{name}-two.pkl").read_bytes()) if find_spec(name) else None
    return {name: pickle.dumps(model) for name, model in models.items()}


def parts(model):
    """Return each estimator in a model with the names of its attributes, once each."""
    found, seen, todo = [], set(), [model]
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, BaseEstimator):
            found += [(one, name) for name in vars(one)]
            todo += vars(one).values()
        elif isinstance(one, (list, tuple)):
            todo += one
        elif isinstance(one, dict):
            todo += one.values()
    return found


def wrong_values(before):
    """Return what does not belong in an attribute, or not beside the others."""
    values = [
        None,
        True,
        -1,
        0,
        3,
        2.5,
        np.nan,
        10**30,
        2**1024 - 1,
        "x",
        "0.5*x",
        [],
        {},
        (1, 2),
        np.zeros(0),
        np.zeros((2, 3)),
    ]
    values += [np.array(["x", None], object), np.array([np.nan, -1.0, 0.0]), [None, "x"], b"x", LogisticRegression()]
    if isinstance(before, np.ndarray) and before.size:
        values += [before[:-1] if before.ndim else before, np.zeros_like(before), before[None], before.astype(object)]
        values += [
            np.full(before.shape, np.nan),
            np.full(before.shape, 1e300),
            np.repeat(before, 2, axis=0) if before.ndim else 0,
        ]
    if isinstance(before, list) and before:
        values += [before[:-1], before[::-1], before * 2, [before]]
    return values


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*NUMERIC, "pipeline", "private", *LIBRARIES])
def test_a_wrong_attribute_is_refused_in_one_clear_line_or_the_model_is_valid(name, fitted_models, tmp_path):
    if name in LIBRARIES:
        pytest.importorskip(name)
    chance = random.Random(name)
    n_parts = len(parts(pickle.loads(fitted_models[name])))
    trials = []
    for place in range(n_parts):
        owner, attribute = parts(pickle.loads(fitted_models[name]))[place]
        trials += [(place, index) for index in range(len(wrong_values(getattr(owner, attribute))))]
    ended = set()
    for place, index in chance.sample(trials, min(len(trials), examples(300 if name == "pipeline" else 600))):
        model = pickle.loads(fitted_models[name])
        owner, attribute = parts(model)[place]
        vars(owner)[attribute] = wrong_values(getattr(owner, attribute))[index]
        found, _ = said("pickles", f"{name}.pkl", pickle.dumps(model), tmp_path)
        assert not found.startswith("!"), (type(owner).__name__, attribute, index, found)
        ended.add(found)
    assert {"accepted", "corrupt"} <= ended


@pytest.mark.parametrize(
    ("selection", "attribute", "value", "words"),
    [
        (SelectPercentile(percentile=70), "percentile", -1, "out of range"),
        (SelectPercentile(percentile=70), "percentile", 100.5, "out of range"),
        (SelectKBest(k=2), "k", -1, "out of range"),
        (SelectFromModel(LogisticRegression()), "norm_order", 10**30, "norm_order is not a number"),
    ],
)
def test_a_selection_by_what_is_out_of_range_is_corrupt(selection, attribute, value, words, dump):
    frame = table()
    model = make_pipeline(selection, TREE).fit(frame[["a", "b", "c"]].to_numpy(), frame["label"].to_numpy(dtype=str))
    setattr(model[0], attribute, value)
    with pytest.raises(CorruptArtifactError, match=words):
        read(dump(model))


@pytest.mark.parametrize("degree", [65, 2**31, 2**40])
def test_products_of_a_degree_without_an_end_are_not_counted(degree, dump):
    frame = table()
    model = make_pipeline(PolynomialFeatures(), TREE).fit(frame[["a", "b"]].to_numpy(), frame["c"])
    model[0]._max_degree = degree
    assert "very many columns" in read(dump(model)).not_covered
