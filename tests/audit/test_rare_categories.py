"""A value that few people have is told by the names of columns and classes as it is by an encoder, in every library."""

from __future__ import annotations

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, OrdinalEncoder, StandardScaler

from pytest_draft.artifact import read
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.data import training_data
from pytest_draft.errors import DraftError
from pytest_draft.facts.contents import CLASSES, COLUMN_NAMES, Rarest
from pytest_draft.policy import verbatim_data
from pytest_draft.timebox import TimeBox
from studies.fuzz.targets import SEEDS

N_ROWS = 80


@pytest.fixture(scope="module")
def raw() -> pd.DataFrame:
    random = np.random.default_rng(5)
    towns = random.choice(["Oslo", "Rome", "Wien"], N_ROWS).astype(object)
    towns[[7, 8, 9]] = ["Hamlet163", "Nome", "Nome"]
    frame = pd.DataFrame({"age": random.integers(18, 80, N_ROWS), "fare": random.gamma(2, 20, N_ROWS), "town": towns})
    return frame.assign(label=(frame["age"] + random.integers(0, 40, N_ROWS) > 60).astype(int))


@pytest.fixture(scope="module")
def encoded(raw) -> pd.DataFrame:
    return pd.get_dummies(raw, columns=["town"], dtype=float)


@pytest.fixture
def told(tmp_path):
    """Return a function that says which rare values a model's file names."""

    def of(model, table, name: str = "model.joblib") -> tuple[Rarest, ...]:
        path = tmp_path / name
        if isinstance(model, (str, bytes)):
            path.write_bytes(model.encode() if isinstance(model, str) else model)
        elif name == "model.joblib":
            joblib.dump(model, path)
        else:
            model.save_model(str(path))
        artifact, data = read(path), None
        if artifact.not_covered is None:
            try:
                data = training_data(table, artifact.model, "label", artifact.encoder)
            except DraftError:
                data = None
        return inspect_contents(artifact, table, data, TimeBox(60.0)).rarest

    return of


def forest_of(table: pd.DataFrame):
    return RandomForestClassifier(3, max_depth=3, random_state=0).fit(table.drop(columns="label"), table["label"])


@pytest.mark.parametrize("between", ["_", "=", ".", "__", ": ", "[", " is "])
def test_a_column_named_after_the_value_of_one_person_is_found_whatever_stands_between(between, raw, told):
    table = pd.get_dummies(raw, columns=["town"], prefix_sep=between)
    assert told(forest_of(table), table) == (Rarest(COLUMN_NAMES, 1, 1),)


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("least", [1, 2, 3, 12, 40])
def test_the_verdict_is_the_same_with_an_encoder_in_the_file_and_without(least, raw, encoded, told):
    columns = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    inside = make_pipeline(columns, RandomForestClassifier(3)).fit(raw.drop(columns="label"), raw["label"])
    outcomes = [
        verbatim_data._judge_categories(told(model, table), least).result
        for model, table in ((inside, raw), (forest_of(encoded), encoded))
    ]
    assert outcomes[0] == outcomes[1] == ("passed" if least < 2 else "failed")


def with_columns(table: pd.DataFrame, **columns) -> pd.DataFrame:
    return pd.concat([pd.DataFrame(columns, index=table.index).astype(float), table], axis=1)


def people(*which: int) -> np.ndarray:
    return np.isin(np.arange(N_ROWS), which)


FLAGS = {
    "a lone flag": {"twins": people(3, 4, 5)},
    "two flags": {"has_twins": people(3), "has_boat": people(9, 40)},
    "verbs": {"is_old": people(1), "is_member": people(*range(40)), "is_far": people(*range(20, 60))},
    "a step of a pipeline": {"remainder__a": people(1), "remainder__b": people(2, 3), "remainder__c": people(9, 30)},
    "numbers": {"f_1": people(1), "f_2": people(*range(30)), "f_3": people(*range(20, 50))},
    "no flags": {"pay_1": np.arange(N_ROWS), "pay_2": np.arange(N_ROWS) % 3, "pay_3": np.arange(N_ROWS) % 7},
}


@pytest.mark.parametrize("kind", FLAGS)
def test_flags_are_no_names_of_values(kind, raw, told):
    table = with_columns(raw.drop(columns="town"), **FLAGS[kind])
    assert told(forest_of(table), table) == ()


NAMED = {
    "codes of a town": {f"town_{i}": people(*range(i * 26, 26 * i + (26 if i < 3 else 2))) for i in range(4)},
    "two that make a whole": {"job_mayor": people(0, 1), "job_other": ~people(0, 1)},
    "scaled": {f"town_{name}": 2.5 * people(*which) - 0.3 for name, which in {
        "Oslo": range(40), "Rome": range(40, 78), "Nome": (78, 79)
    }.items()},
    "diagnoses of which people have several": {
        "dx_flu": people(*range(30)), "dx_gout": people(*range(10, 50)), "dx_porphyria": people(5, 12)
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", NAMED)
def test_values_of_one_variable_are_found_by_what_people_have(kind, raw, told):
    table = with_columns(raw.drop(columns="town"), **NAMED[kind])
    assert told(forest_of(table), table) == (Rarest(COLUMN_NAMES, 2, 2),)


def test_columns_before_a_transformer_and_a_list_beside_a_model_tell_their_names_too(encoded, told):
    scaled = make_column_transformer((StandardScaler(), ["age", "fare"]), remainder="passthrough")
    model = make_pipeline(scaled, RandomForestClassifier(3)).fit(encoded.drop(columns="label"), encoded["label"])
    bare = RandomForestClassifier(3).fit(encoded.drop(columns="label").to_numpy(), encoded["label"])
    listed = {"model": bare, "columns": list(encoded.columns.drop("label"))}
    for saved in (model, listed):
        assert told(saved, encoded) == (Rarest(COLUMN_NAMES, 1, 1),)
    assert told(bare, encoded) == ()


def booster(library: str, table: pd.DataFrame, **settings):
    x, y = table.drop(columns="label"), table["label"]
    if library == "xgboost":
        return pytest.importorskip(library).XGBClassifier(n_estimators=2, n_jobs=1, **settings).fit(x, y).get_booster()
    if library == "lightgbm":
        model = pytest.importorskip(library).LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1, **settings)
        return model.fit(x, y).booster_
    model = pytest.importorskip(library).CatBoostClassifier(
        iterations=2, thread_count=1, verbose=0, allow_writing_files=False
    )
    return model.fit(x, y)


@pytest.mark.parametrize(
    ("library", "name"),
    [("xgboost", "m.json"), ("xgboost", "m.ubj"), ("lightgbm", "m.txt"), ("catboost", "m.cbm"), ("catboost", "m.json")],
)
def test_names_in_files_of_boosters_are_judged(library, name, encoded, told):
    assert told(booster(library, encoded), encoded, name) == (Rarest(COLUMN_NAMES, 1, 1),)


@pytest.mark.parametrize("name", ["m.json", "m.ubj"])
def test_categories_that_xgboost_keeps_are_judged_where_no_tree_tests_them(name, raw, told):
    table = raw.assign(town=raw["town"].astype("category"))
    model = booster("xgboost", table, enable_categorical=True, max_depth=1)
    assert told(model, raw, name)[0] == Rarest("cats[2]", 1, 1)


def test_categories_in_a_text_of_lightgbm_are_judged(raw, told):
    towns = json.dumps([["Hamlet163", "Nome", "Oslo", "Rome", "Wien"]])
    text = (SEEDS / "lightgbm-two.txt").read_text()
    before = text.index("pandas_categorical:")
    found = told(f"{text[:before]}pandas_categorical:{towns}\n", raw, "m.txt")
    assert Rarest("pandas_categorical[0]", 1, 1) in found


def test_categories_of_histogram_boosting_are_judged(raw, told):
    table = raw.assign(town=raw["town"].astype("category"))
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features="from_dtype", early_stopping=False)
    found = told(model.fit(table.drop(columns="label"), table["label"]), raw)
    assert Rarest("_preprocessor.transformers_[0][1].categories_[0]", 1, 1) in found


def test_a_class_of_one_person_is_found_and_numbers_of_classes_are_no_names(raw, told):
    table = raw[["age", "fare"]].assign(label=raw["town"])
    model = forest_of(table)
    assert told(model, table) == (Rarest(CLASSES, 1, 1),)
    numbered = table.assign(label=LabelEncoder().fit_transform(table["label"]))
    assert told(forest_of(numbered), numbered) == ()


def test_a_class_of_one_person_is_found_by_the_table_where_the_model_is_not_covered(raw, told):
    table = raw[["age", "fare"]].assign(label=raw["town"])
    model = RandomForestClassifier(3).fit(table[["age"]].to_numpy(), table["label"])
    model.n_features_in_ = 1
    assert Rarest(CLASSES, 1, 1) in told(model, table)


def test_what_is_advised_helps_and_no_name_is_shown(raw, encoded, told):
    outcome = verbatim_data._judge_categories(told(forest_of(encoded), encoded), 3)
    assert outcome.result == "failed"
    assert outcome.sentence == (
        "its list of column names holds a value that only 1 training row has; min_rows_of_a_category asks for at least "
        "3"
    )
    assert outcome.remedy == (
        "group rare values before they become columns, or fit without names (X.to_numpy()), and judge the new file"
    )
    rare = raw["town"].isin(["Hamlet163", "Nome"])
    grouped = pd.get_dummies(raw.assign(town=raw["town"].mask(rare, "other")), columns=["town"])
    assert verbatim_data._judge_categories(told(forest_of(grouped), grouped), 3).result == "passed"
    nameless = RandomForestClassifier(3).fit(encoded.drop(columns="label").to_numpy(), encoded["label"])
    assert told(nameless, encoded) == ()


# Encoders that stand beside a forest, which takes codes


def coded(raw: pd.DataFrame, names: list[str]) -> tuple[dict[str, LabelEncoder], pd.DataFrame]:
    """Return an encoder of each column, and the table in their codes."""
    encoders = {name: LabelEncoder().fit(raw[name]) for name in names}
    return encoders, raw.assign(**{name: encoder.transform(raw[name]) for name, encoder in encoders.items()})


def rarest_in(raw: pd.DataFrame, name: str) -> int:
    return int(raw[name].value_counts().min())


@pytest.mark.nightly(quick=4)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("how", ["as they are", "scaled", "fitted on more rows"])
def test_codes_tell_how_rare_the_values_of_an_encoder_beside_a_forest_are(seed, how, told):
    random = np.random.default_rng(seed)
    towns = random.choice(["Oslo", "Rome", "Wien", "Bern", "Lima"], 120, p=random.dirichlet(np.ones(5)))
    jobs = random.choice(["cook", "dean", "monk"], 120, p=random.dirichlet(np.ones(3)))
    raw = pd.DataFrame(
        {"town": towns, "flag": random.random(120) < 0.02, "job": jobs, "label": random.choice(["no", "yes"], 120)}
    )
    encoders, table = coded(raw, ["town", "job", "label"])
    kept = slice(None)
    if how == "fitted on more rows":
        kept = slice(0, 70)
        raw, table = raw[kept], table[kept]
    if how == "scaled":
        table[["town", "job"]] = StandardScaler().fit_transform(table[["town", "job"]])
    found = told({"model": forest_of(table), "encoders": encoders}, table)
    by_path = {one.path: one for one in found}
    for index, name in enumerate(["town", "job"]):
        assert by_path[f"[1][{index}].classes_"] == Rarest(f"[1][{index}].classes_", *[rarest_in(raw, name)] * 2)


def test_an_encoder_without_a_name_can_be_of_any_column_of_codes(raw, told):
    table = with_columns(raw.drop(columns="town"), male=people(*range(40)), old=people(3))
    encoder = LabelEncoder().fit(["no", "yes"])
    path = "[1].classes_"
    assert told({"model": forest_of(table), "le": encoder}, table)[0] == Rarest(path, 1, 40)
    table = table.drop(columns="old")
    rarest = min(40, rarest_in(table, "label"))
    assert told({"model": forest_of(table), "le": encoder}, table)[0].at_least == rarest


@pytest.mark.parametrize("encoder", ["one-hot", "many", "of a column that is not there"])
def test_what_codes_cannot_tell_is_never_asked_of_a_table_that_is_refused(encoder, raw, encoded, tmp_path):
    made, name = {
        "one-hot": (OneHotEncoder().fit(raw[["town"]]), "categories_[0]"),
        "many": (LabelEncoder().fit([f"c{index}" for index in range(700)]), "classes_"),
        "of a column that is not there": (
            OrdinalEncoder().fit(pd.DataFrame({"city": ["a", "b"]})),
            "categories_[0]",
        ),
    }[encoder]
    joblib.dump({"model": forest_of(encoded.drop(columns=["age"])), "encoder": made}, tmp_path / "model.joblib")
    artifact = read(tmp_path / "model.joblib")
    data = training_data(encoded.drop(columns=["age"]), artifact.model, "label")
    doubts = inspect_contents(artifact, encoded, data, TimeBox(60.0)).doubts
    assert doubts == (
        f"the values of [1].{name} are in no column of the data: save the forest alone (docs/how-to/pipelines.md, what "
        "stands beside a forest)",
    )


def test_an_ordinal_encoder_is_of_the_columns_that_it_was_fitted_on(raw, told):
    encoder = OrdinalEncoder().fit(raw[["town"]])
    table = with_columns(raw.assign(town=encoder.transform(raw[["town"]])[:, 0]), few=np.arange(N_ROWS) % 5)
    model = forest_of(table)
    assert Rarest("[1].categories_[0]", 1, 1) in told({"model": model, "any": encoder}, table)
