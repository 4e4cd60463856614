"""Whole pipelines, judged from the raw table and from what their transformers make of it."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

pytestmark = pytest.mark.nightly

N_RAW = 36
EFFORT = ("--draft-effort=0.02", "--draft-budget=120")
OF_BOTH = {"reconstruction_error", "perfect_rows", "exact_values", "certain_values", "proved_values", "random_error"}

PIPELINES = {
    "one-hot, standard": lambda: make_pipeline(
        make_column_transformer((StandardScaler(), ["age", "fare"]), (OneHotEncoder(), ["town", "sex"])),
        RandomForestClassifier(6, random_state=0),
    ),
    "ordinal, remainder": lambda: make_pipeline(
        make_column_transformer((OrdinalEncoder(), ["town", "sex"]), remainder="passthrough", sparse_threshold=0),
        MinMaxScaler(),
        ExtraTreesClassifier(6, random_state=0),
    ),
    "nested, filled in": lambda: make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(add_indicator=True), MinMaxScaler()), ["gap", "fare"]),
            (OneHotEncoder(drop="first"), ["town"]),
        ),
        RandomForestClassifier(6, bootstrap=False, random_state=0),
    ),
}


@pytest.fixture
def raw() -> pd.DataFrame:
    """Return a raw table with its label."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, N_RAW),
            "fare": rng.gamma(2, 20, N_RAW).round(2),
            "gap": np.where(rng.random(N_RAW) < 0.2, np.nan, rng.normal(size=N_RAW)),
            "town": rng.choice(list("abcd"), N_RAW),
            "sex": rng.choice(["f", "m"], N_RAW),
        }
    )
    table["label"] = (table["age"] + table["fare"] + 10 * (table["sex"] == "f") > 90).map({True: "yes", False: "no"})
    return table


def encoded(model, raw: pd.DataFrame) -> pd.DataFrame:
    """Return what a pipeline's forest is given, with the label."""
    made = model[:-1].transform(raw.drop(columns="label"))
    return pd.DataFrame(made.toarray() if hasattr(made, "toarray") else made).assign(label=raw["label"])


@pytest.mark.parametrize("name", PIPELINES)
def test_the_raw_table_is_judged_as_the_encoded_one_is(project, raw, name):
    columns = ["gap", "fare", "town", "label"] if name.startswith("nested") else ["age", "fare", "town", "sex", "label"]
    raw = raw[columns]
    model = PIPELINES[name]()
    project.train(model, raw)
    encoded(model, raw).to_csv(project.path / "encoded.csv", index=False)
    judged = {}
    for data in ("other.csv", "encoded.csv"):
        project.judge("other.joblib", "--draft-target=label", *EFFORT, data=data)
        judged[data] = project.result()
    of_raw, of_encoded = judged.values()
    assert of_raw["verdict"] == of_encoded["verdict"]
    assert len(of_raw["reasons"]) == len(of_encoded["reasons"])  # columns have other names
    results = [{check["rule"]: check["result"] for check in result["checks"]} for result in judged.values()]
    categories = results[1].pop("verbatim-data", None)  # an encoder's values are in the raw table alone
    assert results[0].pop("verbatim-data", None) == categories or categories == "inconclusive"
    assert results[0] == results[1]
    for metric in OF_BOTH:
        assert of_raw["metrics"][metric] == of_encoded["metrics"][metric]
    assert of_raw["metrics"]["raw_columns"] == len(raw.columns) - 1
    assert of_encoded["metrics"]["raw_columns"] is None
    assert of_raw["notes"][0] == "the training data were encoded by the transformers in the file"


def test_the_error_on_raw_columns_has_a_line_and_counts_a_category_once(project, raw):
    project.train(PIPELINES["one-hot, standard"](), raw.drop(columns="gap"))
    result = project.judge("other.joblib", "--draft-target=label", "--draft-full", *EFFORT, data="other.csv")
    metrics = project.result()["metrics"]
    assert metrics["raw_columns"] == 4
    assert metrics["raw_error"] > metrics["reconstruction_error"] > 0  # two of eight columns are numeric, two of four
    result.stdout.fnmatch_lines([f"  on the 4 raw columns, each counted once, the error is {metrics['raw_error']:.4f}"])


def test_the_forest_alone_is_judged_as_its_pipeline_is(project, raw):
    model = PIPELINES["one-hot, standard"]()
    model.set_params(columntransformer__onehotencoder__sparse_output=False).set_output(transform="pandas")
    project.train(model, raw.drop(columns="gap"))
    joblib.dump(model[-1], project.path / "alone.joblib")
    encoded(model, raw.drop(columns="gap")).to_csv(project.path / "alone.csv", index=False)
    judged = []
    for name in ("other", "alone"):
        project.judge(f"{name}.joblib", "--draft-target=label", *EFFORT, data=f"{name}.csv")
        judged.append(project.result())
    assert judged[0]["verdict"] == judged[1]["verdict"]
    for metric in OF_BOTH:
        assert judged[0]["metrics"][metric] == judged[1]["metrics"][metric]


def test_scaled_columns_of_two_values_never_pass_while_the_attack_guesses_between_them(project, rows):
    project.train(make_pipeline(StandardScaler(), RandomForestClassifier(20, bootstrap=False, random_state=0)), rows)
    project.judge("other.joblib", data="other.csv")
    judged = project.result()
    assert judged["verdict"] != "passed"
    assert judged["verdict"] == "failed" or "hold few different values" in judged["reasons"][0]


def test_another_table_than_the_pipelines_is_told_by_its_column(project, raw):
    project.train(PIPELINES["one-hot, standard"](), raw.drop(columns="gap"))
    raw.drop(columns="town").to_csv(project.path / "narrow.csv", index=False)
    project.judge("other.joblib", "--draft-target=label", data="narrow.csv")
    assert "are missing: 'town' (the table has" in project.result()["reasons"][0]
