"""A model as an outsider reads it: in goes a fitted model, out comes its `Forest` by way of a file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import joblib

from pytest_draft.artifact import Forest, read


def through_file(model: Any) -> Forest:
    """Write a fitted model to a file, and read that.

    Parameters
    ----------
    model : object
        What ``joblib`` writes.
    """
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "model.joblib"
        joblib.dump(model, path)
        return read(path).forest
