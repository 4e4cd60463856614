"""Right rows of a booster are not told to be others."""

from __future__ import annotations

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


def told(path, table: pd.DataFrame) -> tuple[int | None, tuple[str, ...]]:
    """Return the number of rows that a file is taken to be trained on, and what is in doubt."""
    artifact = read(path)
    data = None if artifact.not_covered else training_data(table, artifact.model, "label")
    return artifact.forest.n_samples, inspect_contents(artifact, table, data, TimeBox(60.0)).doubts


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
