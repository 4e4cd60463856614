"""The owner's model and rows: read from what people have, trained again, and refused in one line."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.advice.owner import owner_of
from pytest_draft.errors import DataError, DraftError, UsageError


@pytest.fixture
def table() -> pd.DataFrame:
    random = np.random.default_rng(7)
    columns = {name: random.integers(0, 9, 80) for name in "abcdef"}
    return pd.DataFrame(columns).assign(y=lambda t: (t.a + t.b + 6 * random.random(80) > 11).astype(int))


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Return a function that fits a model to a table, writes both, and returns their owner."""
    monkeypatch.chdir(tmp_path)

    def save(model, table, put=lambda model: model, as_arrays=False):
        features = table.drop(columns="y")
        joblib.dump(put(clone(model).fit(features.to_numpy() if as_arrays else features, table.y)), "model.joblib")
        table.to_csv("train.csv", index=False)
        return owner_of("model.joblib", "train.csv", "y")

    return save


def _models():
    forest = RandomForestClassifier(6, max_features=0.5, random_state=0)
    search = GridSearchCV(forest, {"max_depth": [2, 3]}, cv=2)
    yield "forest", forest, "", "max_leaf_nodes"
    yield "tree", DecisionTreeClassifier(random_state=0), "", "max_leaf_nodes"
    yield "pipeline", make_pipeline(StandardScaler(), forest), "randomforestclassifier__", "max_leaf_nodes"
    yield "calibrated", CalibratedClassifierCV(forest, cv=3), "estimator__", "max_leaf_nodes"
    yield "search", search, "", "max_leaf_nodes"
    yield "bagged trees", BaggingClassifier(DecisionTreeClassifier(), 6), "", "estimator__max_leaf_nodes"
    yield "bagged without a tree", BaggingClassifier(n_estimators=6), "", "estimator__max_leaf_nodes"
    yield "boosted stumps", AdaBoostClassifier(n_estimators=6), "", "estimator__max_leaf_nodes"
    yield "gradient boosting", GradientBoostingClassifier(n_estimators=6), "", "max_depth"
    yield "histograms", HistGradientBoostingClassifier(max_iter=6), "", "max_leaf_nodes"
    yield "odd step names", Pipeline([("my-clf", forest)]), "my-clf__", "max_leaf_nodes"


@pytest.mark.nightly(quick=3)
@pytest.mark.parametrize(("model", "place", "size"), [pytest.param(*one[1:], id=one[0]) for one in _models()])
@pytest.mark.parametrize("as_arrays", [False, True])
def test_a_setting_is_set_where_the_trees_are_and_all_else_stays(saved, table, model, place, size, as_arrays):
    owner = saved(model, table, as_arrays=as_arrays)
    start = owner.settings.start
    made, kept = owner.made(start).get_params(), owner.estimator.get_params()
    changed = {f"{place}{name}": value for name, value in start.parameters}
    assert f"{place}{size}" in changed
    assert {name: made[name] for name in changed} == changed
    free = ("random_state", "estimator", "early_stopping")
    others = {name for name in kept if not name.endswith(free)} - set(changed)
    plain = [name for name in others if isinstance(kept[name], (int, float, str, type(None)))]
    assert {name: made[name] for name in plain} == {name: kept[name] for name in plain}
    assert made.get(f"{place}random_state") is None
    fitted = owner.fitted(start)
    assert fitted.predict(owner.features).shape == (80,)
    assert hasattr(fitted, "feature_names_in_") is not as_arrays


def _boosters():
    yield "xgboost", "XGBClassifier", {"n_estimators": 7}, "model.json", {"n_estimators": 7}
    yield "xgboost", "XGBRegressor", {"n_estimators": 7}, "model.ubj", {"n_estimators": 7}
    yield "lightgbm", "LGBMClassifier", {"num_leaves": 5, "n_estimators": 7}, "model.txt", {"num_leaves": 5}
    yield "lightgbm", "LGBMRegressor", {"learning_rate": 0.3}, "model.txt", {"learning_rate": 0.3}
    yield "catboost", "CatBoostClassifier", {"iterations": 7, "depth": 3}, "model.cbm", {"iterations": 7, "depth": 3}
    yield "catboost", "CatBoostRegressor", {"iterations": 7, "depth": 3}, "model.cbm", {"iterations": 7, "depth": 3}


@pytest.mark.nightly
@pytest.mark.parametrize(("library", "kind", "given", "name", "kept"), list(_boosters()), ids=lambda v: str(v)[:20])
def test_a_boosters_own_file_is_read_and_written(tmp_path, table, monkeypatch, library, kind, given, name, kept):
    monkeypatch.chdir(tmp_path)
    quiet = {"catboost": {"verbose": 0, "allow_writing_files": False}, "lightgbm": {"verbose": -1}}.get(library, {})
    model = getattr(pytest.importorskip(library), kind)(**given, **quiet).fit(table.drop(columns="y"), table.y)
    getattr(model, "booster_", model).save_model(name)
    table.to_csv("train.csv", index=False)
    owner = owner_of(name, "train.csv", "y")
    assert (type(owner.estimator).__name__, owner.is_classifier) == (kind, kind.endswith("Classifier"))
    assert {one: owner.estimator.get_params()[one] for one in kept} == kept
    assert owner.suffix == name.removeprefix("model")
    owner.write(owner.fitted(owner.settings.start), f"again{owner.suffix}")
    again = owner_of(f"again{owner.suffix}", "train.csv", "y")
    assert again.columns.n_features_in_ in (None, 6)


class Holder:
    """An object of nobody's library that holds a model."""

    def __init__(self, model: object) -> None:
        self.scores, self.model = [0.5], model


@pytest.mark.parametrize(
    "put",
    [
        lambda model: {"model": model, "columns": list("abc"), "version": 3},
        lambda model: {"scale": StandardScaler(), "kept": {"forest": model}},
        lambda model: (StandardScaler(), model),
        lambda model: ["a", [model]],
        Holder,
    ],
)
def test_the_one_model_in_a_container_is_changed(saved, table, put):
    owner = saved(RandomForestClassifier(6), table, put)
    assert "is changed, and written alone to the new file" in owner.notes[0]
    assert owner.fitted(owner.settings.start).n_estimators == 30


@pytest.mark.parametrize(
    ("model", "put", "said"),
    [
        (LogisticRegression(), lambda model: model, "this is a LogisticRegression"),
        (
            VotingClassifier([("a", RandomForestClassifier(2)), ("b", RandomForestClassifier(2))]),
            lambda model: model,
            "this has 2: a, b",
        ),
        (
            CalibratedClassifierCV(GridSearchCV(RandomForestClassifier(2), {"max_depth": [1]}, cv=2), cv=2),
            lambda model: model,
            "it holds a search at 'estimator'",
        ),
        (
            make_pipeline(StandardScaler(), GridSearchCV(RandomForestClassifier(2), {"max_depth": [1]}, cv=2)),
            lambda model: model,
            "it holds a search at 'gridsearchcv'",
        ),
        (RandomForestClassifier(2), lambda model: {"a": model, "b": [RandomForestClassifier(2)]}, "it holds 2 models"),
        (StandardScaler(), lambda model: [model], "this is a StandardScaler"),
        (StandardScaler(), lambda _: {"a": 1}, "this is a dict"),
    ],
)
def test_what_cannot_be_handled_is_refused_in_one_line(saved, table, model, put, said):
    with pytest.raises(UsageError, match=r"^model\.joblib: ") as raised:
        saved(model, table, put)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("target", "columns", "said"),
    [
        ("z", list("abcdef"), "there is no column 'z' for --target"),
        ("a", list("abcdef"), "the data lack 1 of the model's 6 columns, such as 'a'"),
        (None, list("abcdefg"), "name the label column with --target"),
        ("y", list("abcd"), "the data lack 2 of the model's 6 columns"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(tmp_path, table, target, columns, said):
    joblib.dump(RandomForestClassifier(2).fit(table[list("abcdef")], table.y), tmp_path / "m.joblib")
    table.assign(g=0)[[*columns, "y"]].to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DraftError) as raised:
        owner_of(tmp_path / "m.joblib", tmp_path / "t.csv", target)
    assert said in str(raised.value)


def test_labels_keep_the_type_that_the_model_predicts(saved, table):
    for kind in (str, bool, float):
        owner = saved(RandomForestClassifier(3, random_state=0), table.assign(y=table.y.astype(kind)))
        joblib.dump(RandomForestClassifier(3).fit(table.drop(columns="y"), table.y.astype(kind)), "model.joblib")
        table.to_csv("train.csv", index=False)  # which has numbers
        owner = owner_of("model.joblib", "train.csv", None)
        classes = owner.fitted(None).classes_.tolist()
        assert classes == [kind(0), kind(1)]
        assert type(classes[0]) is kind


def test_other_labels_than_the_models_are_refused(saved, table):
    owner = saved(RandomForestClassifier(2), table)
    with pytest.raises(UsageError, match="2 labels are none of the model's classes"):
        owner_of("model.joblib", table.assign(y=table.y + 5), "y")
    with pytest.raises(DataError, match="3 of 80 rows have no label"):
        owner_of("model.joblib", table.assign(y=table.y.astype(float).where(table.index > 2)), "y")
    assert repr(owner) == "Owner(RandomForestClassifier, 80 rows, values not shown)"


def test_rows_in_memory_and_in_npz(tmp_path, table, monkeypatch):
    monkeypatch.chdir(tmp_path)
    features, labels = table.drop(columns="y").to_numpy(), table.y.to_numpy()
    model = ExtraTreesRegressor(4).fit(features, labels)
    joblib.dump(model, "model.joblib")
    np.savez("train.npz", X=features, y=labels)
    for given, data, target in (("model.joblib", "train.npz", None), (model, (features, labels), None)):
        owner = owner_of(given, data, target)
        assert not owner.is_classifier
        assert owner.fitted(owner.settings.start).n_features_in_ == 6


def test_text_columns_go_through_the_pipeline(saved, table):
    encoder = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["a", "b"]))
    mixed = table.assign(job=np.where(table.a > 4, "baker", "smith"), y=np.where(table.y, "yes", "no"))
    owner = saved(Pipeline([("encode", encoder), ("clf", RandomForestClassifier(20))]), mixed)
    assert (owner.place, owner.holds) == ("clf", "Pipeline of RandomForestClassifier")
    assert owner.fitted(owner.settings.start).predict(owner.features)[0] in ("yes", "no")


def test_what_fitting_says_of_rows_is_not_passed_on(table):
    class Quoting(RandomForestClassifier):
        def fit(self, features, labels):
            raise ValueError(f"secret {features.iloc[0].tolist()}")

    with pytest.raises(DataError) as raised:
        owner_of(Quoting(3), table, "y").fitted(None)
    assert "secret" not in str(raised.value)
    assert raised.value.__context__ is None
