"""Fitted models as their files show them, beside what the splitter really did."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import joblib
import pytest

from pytest_draft.artifact import read


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
