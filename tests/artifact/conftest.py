"""Small data, an honest forest, and a place to write model files to."""

from __future__ import annotations

import pickle
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

N_ROWS = 60


@pytest.fixture(scope="session")
def columns():
    random = np.random.RandomState(7)
    return np.hstack((random.randint(0, 2, (N_ROWS, 4)), random.normal(size=(N_ROWS, 2)).round(2)))


@pytest.fixture(scope="session")
def classes(columns):
    return np.array(["no", "perhaps", "yes"])[columns[:, :2].sum(axis=1).astype(int)]


@pytest.fixture(scope="session")
def numbers(columns):
    return columns @ np.arange(1.0, 7.0)


@pytest.fixture(scope="session")
def fitted(columns, classes):
    return RandomForestClassifier(3, max_depth=4, random_state=5).fit(columns, classes)


@pytest.fixture
def forest(fitted):
    """An honest forest that a test may change."""
    return pickle.loads(pickle.dumps(fitted))


@pytest.fixture
def dump(tmp_path):
    """Return a function that writes a model, or bytes, and returns the file's path."""

    def write(model, name: str = "model.joblib", **options) -> Path:
        path = tmp_path / name
        if isinstance(model, bytes):
            path.write_bytes(model)
        elif name.endswith(".pkl"):
            path.write_bytes(pickle.dumps(model, **options))
        else:
            joblib.dump(model, path, **options)
        return path

    return write
