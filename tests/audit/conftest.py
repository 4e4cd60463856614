"""Models that are fitted for one test."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

from pytest_draft.artifact import read
from pytest_draft.artifact.forest import Forest
from pytest_draft.data import training_data
from pytest_draft.domain import Domain, infer


@pytest.fixture
def people():
    """Return 60 rows of six binary columns, and labels that depend on three of them."""
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 2, (60, 6)).astype(np.float32)
    return rows, (rows[:, :3].sum(axis=1) + (rng.random(60) < 0.2) > 1).astype(int)


@pytest.fixture
def saved(tmp_path, people):
    """Return a function that fits an estimator and returns its forest, the rows and their domain."""

    def fitted(estimator, *table) -> tuple[Forest, object, Domain]:
        table = table or people
        joblib.dump(estimator.fit(*table), tmp_path / "model.joblib")
        forest = read(tmp_path / "model.joblib").forest
        data = training_data(table, forest)
        return forest, data, infer(data.columns, data.rows.astype(float))

    return fitted
