"""Files of XGBoost: a booster as JSON or as Universal Binary JSON."""

from __future__ import annotations

from pytest_draft.artifact.booster_model import BoosterModel
from pytest_draft.artifact.budget import Limits


def read_xgboost(packed: bytes, limits: Limits) -> BoosterModel | None:
    """Read a booster of XGBoost; None where the bytes are no such file."""
    return None
