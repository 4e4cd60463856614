"""Fitted models as their files show them, beside what the splitter really did."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest

from pytest_draft.artifact import read
from pytest_draft.artifact.forest.occurrences import occurrences
from pytest_draft.attack.numeric.midpoints import ABSENT


@pytest.fixture(scope="session")
def splitter():
    """Return the module `splitter` beside this file."""
    spec = importlib.util.spec_from_file_location("splitter_reference", Path(__file__).with_name("splitter.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def published(tmp_path_factory, splitter):
    """Return a function that writes a fitted model to a file and reads it back: the forest, and its trees as grown."""
    path = tmp_path_factory.mktemp("published") / "model.joblib"

    def written(model, rows):
        joblib.dump(model, path)
        return read(path).forest, splitter.grown(model, rows)

    return written


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """Return a function that fits a model and returns its forest as a file tells it, the draws and the rows' leaves."""
    path = tmp_path_factory.mktemp("fitted") / "model.joblib"

    def fit(model, rows, target):
        joblib.dump(model.fit(rows, target), path)
        forest = read(path).forest
        trees = getattr(model, "estimators_", [model])
        columns = getattr(model, "estimators_features_", [slice(None)] * len(trees))
        leaves = np.stack(
            [tree.apply(rows[:, own].astype(np.float32)) for tree, own in zip(trees, columns, strict=True)]
        )
        draws = occurrences(forest)
        return forest, draws, np.where(draws > 0, leaves, ABSENT).astype(np.int64)

    return fit
