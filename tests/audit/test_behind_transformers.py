"""Rows of other models in a file are found behind its transformers, some of them, and however they were scaled."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC

from pytest_draft.artifact import read
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.audit.scaled import enough, scaled_rows
from pytest_draft.data import training_data
from pytest_draft.errors import SeveralModelsError
from pytest_draft.timebox import TimeBox

N_ROWS = 120
NUMBERS = ["age", "wage", "hours", "way"]


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 66, N_ROWS).astype(float),
            "wage": random.gamma(4, 800, N_ROWS).round(2),
            "hours": random.normal(36, 5, N_ROWS).round(1),
            "way": random.gamma(2, 7, N_ROWS).round(3),
            "town": random.choice(["Oslo", "Rome", "Wien"], N_ROWS),
        }
    )
    return frame.assign(label=(frame["age"] + random.normal(0, 20, N_ROWS) > 42).astype(int))


@pytest.fixture
def stored(tmp_path, table):
    def of(model, table=table):
        joblib.dump(model, tmp_path / "model.joblib")
        try:
            artifact = read(tmp_path / "model.joblib")
        except SeveralModelsError as several:  # a Bagging that is refused by itself
            artifact = read(tmp_path / "model.joblib", place=several.places[0])
        data = training_data(table, artifact.model, "label", artifact.encoder)
        return inspect_contents(artifact, table, data, TimeBox(60.0))

    return of


def forest(table, columns=NUMBERS):
    return RandomForestClassifier(3, max_depth=2, random_state=0).fit(table[columns], table["label"])


BEFORE = {
    "a scaler": [StandardScaler()],
    "two scalers": [RobustScaler(), MinMaxScaler()],
    "the largest values": [MaxAbsScaler()],
    "powers": [PowerTransformer()],
    "components": [StandardScaler(), PCA(3)],
    "whitened components": [PCA(2, whiten=True)],
    "singular values": [TruncatedSVD(3, random_state=0)],
}


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("kind", ["SVC", "bagged neighbours", "calibrated neighbours"])
def test_rows_of_another_model_are_found_behind_what_it_was_fitted_behind(kind, before, stored, table):
    other = {
        "SVC": SVC(),
        "bagged neighbours": BaggingClassifier(KNeighborsClassifier(), 3, max_samples=0.4, random_state=0),
        "calibrated neighbours": CalibratedClassifierCV(KNeighborsClassifier(), cv=3),
    }[kind]
    fitted = make_pipeline(*BEFORE[before], other).fit(table[NUMBERS], table["label"])
    found = stored({"model": forest(table), "other": fitted})
    assert max(copy.rows for copy in found.copies) >= 35


def test_loose_transformers_are_undone_too(stored, table):
    scaler = StandardScaler().fit(table[NUMBERS])
    kernel = Nystroem(n_components=60, random_state=0).fit(scaler.transform(table[NUMBERS]))
    found = stored({"model": forest(table), "kernel": kernel, "scaler": scaler})
    assert max(copy.rows for copy in found.copies) == 60


@pytest.mark.nightly
def test_rows_of_one_class_behind_encoded_columns_are_found(stored, table):
    encoder = make_column_transformer((OneHotEncoder(), ["town"]), (StandardScaler(), NUMBERS))
    features = table.drop(columns="label")
    encoded = encoder.fit_transform(features)[(table["label"] == 0).to_numpy()]
    found = stored(
        {"model": forest(table), "encoder": encoder, "novelty": LocalOutlierFactor(novelty=True).fit(encoded)}
    )
    assert max(copy.rows for copy in found.copies) == len(encoded)


SCALED = {
    "standardised by all rows": lambda rows: StandardScaler().fit_transform(rows)[30:75],
    "standardised by themselves": lambda rows: StandardScaler().fit_transform(rows[30:75]),
    "between 0 and 1": lambda rows: MinMaxScaler().fit_transform(rows[30:75]),
    "minus their means": lambda rows: rows[30:75] - rows[30:75].mean(axis=0),
    "minus their means, in single precision": lambda rows: (rows - rows.mean(axis=0))[30:75].astype(np.float32),
    "turned round": lambda rows: (rows[30:75] - rows[30:75].mean(axis=0)).T.copy(),
    "in another unit": lambda rows: np.random.default_rng(0).permutation(rows[30:75]) * [12.0, 0.92, 60.0, 1.609],
}


@pytest.mark.parametrize("form", SCALED)
def test_some_rows_are_found_by_whatever_scale_and_centre(form, stored, table):
    model = forest(table)
    model.background_ = SCALED[form](table[NUMBERS].to_numpy())
    (copy,) = stored(model).copies
    assert (copy.path, copy.rows) == ("background_", 45)


@given(seed=st.integers(0, 2**32 - 1), kept=st.integers(5, 40), width=st.integers(2, 6))
def test_scaled_rows_are_all_found_and_other_rows_are_not(seed, kept, width):
    random = np.random.default_rng(seed)
    rows = random.gamma(2, 10, size=(80, width)).round(2)
    scale, centre = random.uniform(0.1, 10, width), random.normal(0, 50, width)
    found, bits = scaled_rows(list(rows.T), rows[:kept] * scale + centre)
    assert found == kept or len(np.unique(rows[:kept, 0])) < 5
    assert enough(found, bits) or width * kept < 20
    others = random.gamma(2, 10, size=(kept, width)).round(2)
    assert not enough(*scaled_rows(list(rows.T), others * scale + centre))


@pytest.mark.nightly(quick=4)
@pytest.mark.parametrize("number", [18, 60, 61, 100])
@pytest.mark.parametrize("method", ["inverted_cdf", "averaged_inverted_cdf", "linear"])
def test_as_many_quantiles_tell_as_much_whether_they_are_values_or_lie_between_two(number, method, stored, table):
    bins = KBinsDiscretizer(number - 1, encode="ordinal", quantile_method=method)
    transformer = QuantileTransformer(n_quantiles=number) if method == "linear" else bins
    people = pd.DataFrame({"way": np.random.default_rng(1).normal(size=N_ROWS), "label": table["label"]})
    model = make_pipeline(transformer, RandomForestClassifier(2, max_depth=2)).fit(people[["way"]], people["label"])
    found = stored(model, people).single_values
    assert found.places[0].startswith("steps[0][1].")
    assert found.share == pytest.approx(number / N_ROWS, abs=0.1)


def test_quantiles_of_what_nobody_can_undo_hold_rows_where_there_are_as_many(stored, table):
    logarithms = np.log1p(table[["wage", "way"]].to_numpy())
    few, many = (QuantileTransformer(n_quantiles=number).fit(logarithms) for number in (20, 100))
    assert stored({"model": forest(table), "outside": few}).kept == ()
    (place,) = stored({"model": forest(table), "outside": many}).kept
    assert (place.path, place.what) == ("[1].quantiles_", "aggregates of 100 groups of 120 rows")


def test_an_age_that_many_share_is_no_value_of_a_single_person(stored, table):
    model = make_pipeline(QuantileTransformer(n_quantiles=N_ROWS), RandomForestClassifier(2, max_depth=2))
    model.fit(table[["age"]], table["label"])
    found = stored({"model": forest(table), "ages": model[0]})
    assert found.single_values is None
