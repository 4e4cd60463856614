"""How many rows a booster was trained on is right, or not known; right rows are not told to be others."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest

from pytest_draft.artifact import read
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.data import training_data
from pytest_draft.timebox import TimeBox

N_ROWS = 120


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    random = np.random.default_rng(6)
    frame = pd.DataFrame(random.normal(size=(N_ROWS, 3)).round(2), columns=list("abc"))
    return frame.assign(label=(frame["a"] + random.normal(size=N_ROWS) > 0).astype(int))


XGB = {"n_estimators": 3, "n_jobs": 1, "max_depth": 2}
LGB = {"n_estimators": 3, "n_jobs": 1, "verbose": -1, "min_child_samples": 5}
BAGGED = {"subsample": 0.6, "subsample_freq": 1}
CAT = {"iterations": 3, "thread_count": 1, "verbose": 0, "allow_writing_files": False, "depth": 2}

NOT_KNOWN = {
    "scale_pos_weight": ("xgboost", "XGBClassifier", {**XGB, "scale_pos_weight": 3}),
    "subsample": ("xgboost", "XGBClassifier", {**XGB, "subsample": 0.8}),
    "a forest": ("xgboost", "XGBRFClassifier", XGB),
    "a forest of numbers": ("xgboost", "XGBRFRegressor", XGB),
    "another loss": ("xgboost", "XGBClassifier", {**XGB, "objective": "binary:hinge"}),
    "bagging": ("lightgbm", "LGBMClassifier", {**LGB, **BAGGED}),
    "bagging of a class": ("lightgbm", "LGBMClassifier", {**LGB, "pos_bagging_fraction": 0.5, "bagging_freq": 1}),
    "rows by gradients": ("lightgbm", "LGBMClassifier", {**LGB, "data_sample_strategy": "goss", "learning_rate": 1.0}),
    "a random forest": ("lightgbm", "LGBMClassifier", {**LGB, **BAGGED, "boosting_type": "rf"}),
    "weights of classes": ("catboost", "CatBoostClassifier", {**CAT, "class_weights": [1, 2]}),
    "weights of one class": ("catboost", "CatBoostClassifier", {**CAT, "scale_pos_weight": 3}),
    "a part held out": ("catboost", "CatBoostClassifier", {**CAT, "eval_fraction": 0.2}),
}
KNOWN = {
    "as it is": ("xgboost", "XGBClassifier", XGB),
    "values of leaves cut": ("xgboost", "XGBClassifier", {**XGB, "reg_alpha": 1.0}),
    "no bagging without a frequency": ("lightgbm", "LGBMClassifier", {**LGB, "subsample": 0.8}),
    "weights, but counts": ("lightgbm", "LGBMClassifier", {**LGB, "scale_pos_weight": 3}),
    "drawn for splits": ("catboost", "CatBoostClassifier", {**CAT, "subsample": 0.5, "bootstrap_type": "Bernoulli"}),
}


def told(path, table: pd.DataFrame) -> tuple[int | None, tuple[str, ...]]:
    """Return the number of rows that a file is taken to be trained on, and what is in doubt."""
    artifact = read(path)
    data = None if artifact.not_covered else training_data(table, artifact.model, "label")
    return artifact.forest.n_samples, inspect_contents(artifact, table, data, TimeBox(60.0)).doubts


@pytest.mark.parametrize("kind", [*NOT_KNOWN, *KNOWN])
def test_the_number_of_rows_is_right_or_not_known(kind, table, tmp_path):
    library, name, settings = {**NOT_KNOWN, **KNOWN}[kind]
    model = getattr(pytest.importorskip(library), name)(**settings).fit(table[list("abc")], table["label"])
    joblib.dump(model, tmp_path / "model.joblib")
    assert told(tmp_path / "model.joblib", table) == (N_ROWS if kind in KNOWN else None, ())


@pytest.mark.parametrize("hidden", ["weights", "weights of numbers", "subsample"])
def test_a_number_that_weights_can_have_made_is_not_stated_as_one_of_rows(hidden, table, tmp_path):
    library = pytest.importorskip("xgboost")
    x, y = table[list("abc")], table["label"]
    if hidden == "subsample":
        model = library.XGBClassifier(**XGB, subsample=0.8).fit(x, y)
    else:
        kind = library.XGBClassifier if hidden == "weights" else library.XGBRegressor
        model = kind(**XGB).fit(x, y, sample_weight=np.arange(N_ROWS) % 3 + 1)
    model.save_model(tmp_path / "model.json")
    n_rows, (doubt,) = told(tmp_path / "model.json", table)
    assert doubt == (
        f"the data have {N_ROWS} rows, and the sums of this forest are those of {n_rows} rows, or of others with "
        "weights or subsample: give all rows that it was trained on"
    )


def test_a_setting_is_shown_as_it_was_given(table, tmp_path):
    library = pytest.importorskip("xgboost")
    joblib.dump(
        library.XGBClassifier(**XGB, subsample=0.8).fit(table[list("abc")], table["label"]), tmp_path / "m.joblib"
    )
    assert "subsample=0.8," in (read(tmp_path / "m.joblib").not_covered or "")
