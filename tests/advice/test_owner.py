"""What of an owner's file can be trained again, and how; what cannot be is refused in one line."""

from __future__ import annotations

import itertools

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.advice import families
from pytest_draft.advice.code import SECRET, release_commands, training_code
from pytest_draft.advice.facts import Secret, Setting
from pytest_draft.advice.owner import n_leaves, owner_of
from pytest_draft.errors import ArtifactError, DataError, UsageError

SMALL = Setting("max_leaf_nodes", 4, 5, (("max_leaf_nodes", 4), ("n_estimators", 5)))
TREE = Setting("single tree", 3, 1, (("max_leaf_nodes", 3),), "tree")


@pytest.fixture
def table() -> pd.DataFrame:
    random = np.random.default_rng(7)
    columns = {name: random.integers(0, 2, 80) for name in "abcdef"}
    return pd.DataFrame(columns).assign(y=lambda t: (t.a + t.b + random.random(80) > 1.2).astype(int))


@pytest.fixture
def mixed(table) -> pd.DataFrame:
    return table.assign(job=np.where(table.a == 1, "baker", "smith"), note=range(80), y=np.where(table.y, "yes", "no"))


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Return a function that fits a model to a table, writes both, and returns their owner."""
    monkeypatch.chdir(tmp_path)

    def save(model, table, target="y", columns=None, as_arrays=False):
        features = table[columns] if columns else table.drop(columns=target)
        model.fit(features.to_numpy() if as_arrays else features, table[target])
        joblib.dump(model, "model.joblib")
        table.to_csv("train.csv", index=False)
        return owner_of("model.joblib", "train.csv", target)

    return save


def pipeline() -> Pipeline:
    encoder = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["a", "b"]))
    return Pipeline([("encode", encoder), ("clf", RandomForestClassifier(20, max_features=0.5, random_state=3))])


def same_trees(one, other) -> bool:
    from pytest_draft.advice.owner import trees_in

    pairs = list(zip(trees_in(one), trees_in(other), strict=True))
    return bool(pairs) and all(
        np.array_equal(a.tree_.threshold, b.tree_.threshold) and np.array_equal(a.tree_.value, b.tree_.value)
        for a, b in pairs
    )


def cases():
    forest = RandomForestClassifier(12, min_samples_split=4, class_weight="balanced", random_state=0)
    yield "forest", forest, None, False
    yield "arrays", RandomForestClassifier(6, random_state=0), None, True
    yield "tree", DecisionTreeClassifier(random_state=0), None, False
    yield "pipeline", pipeline(), ["job", "a", "b"], False
    yield "calibrated", CalibratedClassifierCV(RandomForestClassifier(6, random_state=0), cv=3), None, False
    yield "search", GridSearchCV(RandomForestClassifier(6, random_state=0), {"max_depth": [2, 3]}, cv=2), None, False
    inside = make_pipeline(StandardScaler(), GridSearchCV(RandomForestClassifier(6), {"max_depth": [2, 3]}, cv=2))
    yield "search in a pipeline", inside, None, False
    yield "bagged trees", BaggingClassifier(DecisionTreeClassifier(), 6, random_state=0), None, False
    yield "odd step names", Pipeline([("my-clf", RandomForestClassifier(6, random_state=0))]), None, False


@pytest.mark.parametrize(
    ("name", "model", "columns", "as_arrays"), list(cases()), ids=lambda v: v if isinstance(v, str) else ""
)
@pytest.mark.parametrize("setting", [SMALL, TREE], ids=["fewer leaves", "one tree"])
def test_the_code_that_is_printed_runs_and_trains_the_same_model(
    saved, mixed, table, tmp_path, name, model, columns, as_arrays, setting
):
    if name == "tree":
        setting = Setting("max_leaf_nodes", 4, 1, (("max_leaf_nodes", 4),))
    owner = saved(model, mixed if columns else table, columns=columns, as_arrays=as_arrays)
    secret = Secret.drawn()
    trained = owner.fitted(setting, secret)
    code = training_code(owner, setting, secret)
    exec(compile(code, "printed", "exec"), {})
    again = joblib.load(tmp_path / "model-advised.joblib")
    assert type(again) is type(trained)
    assert same_trees(again, trained)
    assert n_leaves(again) == n_leaves(trained)
    assert SECRET in code
    assert max(map(len, code.splitlines())) < 80
    assert str(secret.words[0]) not in training_code(owner, setting, None)


def test_the_owners_other_parameters_and_the_whole_pipeline_stay(saved, mixed):
    owner = saved(pipeline(), mixed, columns=["job", "a", "b"])
    assert (owner.place, owner.n_trees, owner.holds) == ("clf", 20, "Pipeline of RandomForestClassifier")
    made = owner.made(SMALL, 5)
    assert [name for name, _ in made.steps] == ["encode", "clf"]
    assert made["clf"].max_features == 0.5
    assert (made["clf"].max_leaf_nodes, made["clf"].n_estimators, made["clf"].random_state) == (4, 5, 5)
    assert not hasattr(made["clf"], "estimators_")
    assert isinstance(owner.made(TREE, 5)["clf"], DecisionTreeClassifier)
    assert list(owner.features.columns) == ["job", "a", "b"]


def test_columns_by_npz_and_memory(tmp_path, table, monkeypatch):
    monkeypatch.chdir(tmp_path)
    features, labels = table.drop(columns="y").to_numpy(), table.y.to_numpy()
    model = RandomForestClassifier(4, random_state=0).fit(features, labels)
    joblib.dump(model, "model.joblib")
    np.savez("train.npz", X=features, y=labels)
    owner = owner_of("model.joblib", "train.npz", None)
    exec(training_code(owner, SMALL, 9), {})
    assert same_trees(joblib.load("model-advised.joblib"), owner.fitted(SMALL, 9))
    for data, target in ((table, "y"), ((features, labels), None)):
        there = owner_of(model, data, target)
        names = {"model": model, "X": there.features, "y": there.labels}
        exec(training_code(there, SMALL, 9), names)
        assert same_trees(names["model"], there.fitted(SMALL, 9))
        assert release_commands(there, SMALL, "counts", None) == ()


def test_labels_keep_the_type_that_the_model_predicts(tmp_path, table, monkeypatch):
    monkeypatch.chdir(tmp_path)
    features = table.drop(columns="y")
    for labels in (table.y.astype(str), table.y.astype(bool), table.y.astype(float)):
        model = RandomForestClassifier(3, random_state=0).fit(features, labels)
        joblib.dump(model, "model.joblib")
        table.to_csv("train.csv", index=False)
        owner = owner_of("model.joblib", "train.csv", "y")
        assert owner.fitted(SMALL, 1).classes_.tolist() == model.classes_.tolist()
        assert type(owner.fitted(SMALL, 1).classes_.tolist()[0]) is type(model.classes_.tolist()[0])
        exec(training_code(owner, SMALL, 1), {})
        assert joblib.load("model-advised.joblib").classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (LogisticRegression(), "this is a LogisticRegression"),
        (
            GradientBoostingClassifier(n_estimators=2),
            "this is a GradientBoostingClassifier; retrain boosted trees with fewer and shallower trees "
            "(n_estimators, max_depth, min_samples_leaf), and judge the new file",
        ),
        (AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=2), "a tree inside AdaBoostClassifier"),
        (
            VotingClassifier([("a", RandomForestClassifier(2)), ("b", RandomForestClassifier(2))]),
            "this has 2: a, b",
        ),
        (
            CalibratedClassifierCV(GridSearchCV(RandomForestClassifier(2), {"max_depth": [1]}, cv=2), cv=2),
            "it holds a search at 'estimator'",
        ),
    ],
)
def test_what_cannot_be_handled_is_refused_in_one_line(saved, table, model, said):
    with pytest.raises(UsageError, match=r"^model\.joblib: ") as raised:
        saved(model, table)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("target", "columns", "said"),
    [
        ("z", list("abcdef"), "there is no column 'z' for --target"),
        ("a", list("abcdef"), "1 of the model's 6 columns are missing: 'a'"),
        (None, list("abcdefg"), "name the label column with --target"),
        ("y", list("abcd"), "2 of the model's 6 columns are missing: 'e', 'f'"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(tmp_path, table, target, columns, said):
    joblib.dump(RandomForestClassifier(2).fit(table[list("abcdef")], table.y), tmp_path / "m.joblib")
    table.assign(g=0)[[*columns, "y"]].to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(UsageError) as raised:
        owner_of(tmp_path / "m.joblib", tmp_path / "t.csv", target)
    assert said in str(raised.value)


def test_the_only_column_that_is_no_feature_holds_the_labels(tmp_path, table):
    joblib.dump(RandomForestClassifier(2).fit(table[list("abcdef")], table.y), tmp_path / "m.joblib")
    table.to_csv(tmp_path / "t.csv", index=False)
    assert owner_of(tmp_path / "m.joblib", tmp_path / "t.csv", None).target == "y"


def test_other_labels_than_the_models_are_refused(tmp_path, table):
    joblib.dump(RandomForestClassifier(2).fit(table[list("abcdef")], table.y), tmp_path / "m.joblib")
    table.assign(y=table.y + 5).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(UsageError, match="2 labels are none of the model's classes"):
        owner_of(tmp_path / "m.joblib", tmp_path / "t.csv", "y")
    table.assign(y=table.y.astype(float).where(table.index > 2)).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match="3 of 80 rows have no label"):
        owner_of(tmp_path / "m.joblib", tmp_path / "t.csv", "y")


def test_files_that_hold_no_model_are_refused(tmp_path, table):
    table.to_csv(tmp_path / "t.csv", index=False)
    joblib.dump({"a": 1}, tmp_path / "m.joblib")
    with pytest.raises(ArtifactError, match="it holds a dict, and no scikit-learn model in it"):
        owner_of(tmp_path / "m.joblib", tmp_path / "t.csv", "y")
    (tmp_path / "m.joblib").write_bytes(b"nothing")
    with pytest.raises(ArtifactError, match="joblib cannot load it"):
        owner_of(tmp_path / "m.joblib", tmp_path / "t.csv", "y")
    with pytest.raises(UsageError, match="no such file"):
        owner_of(tmp_path / "none.joblib", tmp_path / "t.csv", "y")


class Holder:
    """An object of nobody's library that holds a model."""

    def __init__(self, model: object) -> None:
        self.scores, self.model = [0.5], model


def _containers():
    forest = RandomForestClassifier(6, random_state=0)
    search = GridSearchCV(forest, {"max_depth": [2]}, cv=2)
    yield "dict", forest, lambda model: {"model": model, "columns": list("abc"), "version": 3}
    yield "dict beside another model", forest, lambda model: {"scale": StandardScaler(), "kept": {"forest": model}}
    yield "tuple", forest, lambda model: (StandardScaler(), model)
    yield "list", forest, lambda model: ["a", [model]]
    yield "search in a dict", search, lambda model: {"model": model}
    yield "object", make_pipeline(StandardScaler(), forest), Holder


@pytest.mark.parametrize(("model", "put"), [pytest.param(*case[1:], id=case[0]) for case in _containers()])
def test_the_one_forest_in_a_container_is_changed(tmp_path, monkeypatch, table, model, put):
    monkeypatch.chdir(tmp_path)
    joblib.dump(put(model.fit(table.drop(columns="y"), table.y)), "model.joblib")
    table.to_csv("train.csv", index=False)
    owner = owner_of("model.joblib", "train.csv", "y")
    assert "is changed, and written alone to the new file" in owner.notes[0]
    exec(training_code(owner, SMALL, 5), {})
    assert same_trees(joblib.load("model-advised.joblib"), owner.fitted(SMALL, 5))


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (
            {"a": RandomForestClassifier(2), "b": [RandomForestClassifier(2)]},
            "it holds 2 models with forests (['a'] and ['b'][0])",
        ),
        ({"a": GradientBoostingClassifier()}, "this is a GradientBoostingClassifier; retrain boosted trees with fewer"),
        ([StandardScaler()], "this is a StandardScaler"),
    ],
)
def test_a_container_without_one_forest_is_refused_in_one_line(tmp_path, table, held, said):
    table.to_csv(tmp_path / "t.csv", index=False)
    joblib.dump(held, tmp_path / "m.joblib")
    with pytest.raises(UsageError) as raised:
        owner_of(tmp_path / "m.joblib", tmp_path / "t.csv", "y")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_boosters_own_file_is_refused_with_what_to_do(tmp_path, table):
    table.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "m.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match=r"advise reads files of joblib .* retrain boosted trees with fewer"):
        owner_of(tmp_path / "m.json", tmp_path / "t.csv", "y")


def test_an_owner_shows_no_row(saved, table):
    owner = saved(RandomForestClassifier(2), table)
    assert repr(owner) == "Owner(RandomForestClassifier, 80 rows, values not shown)"


def test_what_fitting_says_of_rows_is_not_passed_on(tmp_path, table):
    class Quoting(RandomForestClassifier):
        def fit(self, features, labels):
            raise ValueError(f"secret {features.iloc[0].tolist()}")

    owner = owner_of(Quoting(3), table, "y")
    with pytest.raises(DataError) as raised:
        owner.fitted(SMALL, 0)
    assert "secret" not in str(raised.value)
    assert raised.value.__context__ is None


@pytest.mark.nightly
def test_lines_have_ever_fewer_leaves_and_begin_with_what_is_there(saved, table):
    owner = saved(RandomForestClassifier(40, random_state=0), table)
    fitted = owner.fitted(families.own(owner), 0)
    found = families.lines(owner, fitted)
    assert {one[0].trees for one in found} == {40, 10, 1}
    for one in found:
        leaves = [n_leaves(owner.fitted(setting, 0)) for setting in one]
        assert all(more >= fewer * 0.85 for more, fewer in itertools.pairwise(leaves))
        assert all(number < n_leaves(fitted) for number in leaves[1:])
    assert {setting.family for one in found for setting in one} == {
        *("as it is", "max_leaf_nodes", "min_samples_leaf", "max_depth", "single tree")
    }


def test_private_forests_are_a_line_where_they_can_be_trained(saved, table, monkeypatch):
    owner = saved(RandomForestClassifier(10, random_state=0), table)
    fitted = owner.fitted(families.own(owner), 0)
    monkeypatch.setattr(families, "find_spec", lambda name: None)
    assert not any(one[0].kind == "private" for one in families.lines(owner, fitted))
    monkeypatch.setattr(families, "has_private", lambda owner: True)
    (line,) = [one for one in families.lines(owner, fitted) if one[0].kind == "private"]
    assert [setting.value for setting in line] == [10.0, 3.0, 1.0]
    made = owner.made(line[0], 7)
    assert (made.epsilon, made.bounds, made.classes, made.max_depth) == (10.0, (0, 1), [0, 1], 5)
    code = training_code(owner, line[0], None)
    assert "from pytest_draft.dp import LaplaceForestClassifier" in code
    assert "bounds=(0, 1), classes=np.unique(y).tolist(), epsilon=10.0" in code
    compile(code, "printed", "exec")
    (judge,) = release_commands(owner, line[0], "counts", None)
    assert judge.startswith("pytest --draft-forest model-advised.joblib")


def test_lines_of_a_tree_and_of_a_regressor(saved, table):
    owner = saved(DecisionTreeClassifier(), table)
    assert {one[0].trees for one in families.lines(owner, owner.fitted(families.own(owner), 0))} == {1}
    numeric = table.assign(y=table.a + table.b * 0.5 + np.linspace(0, 1, 80))
    for model in (RandomForestRegressor(4), ExtraTreesRegressor(4)):
        owner = saved(model, numeric)
        assert not owner.is_classifier
        for one in families.lines(owner, owner.fitted(families.own(owner), 0)):
            owner.fitted(one[-1], 0)
