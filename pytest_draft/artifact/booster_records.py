"""Models of libraries of boosted trees inside pickles and skops files, by their classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_draft.artifact.booster_model import BoosterModel
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.catboost.records import CATBOOST, read_catboost_record
from pytest_draft.artifact.lightgbm.records import LIGHTGBM, read_lightgbm_record
from pytest_draft.artifact.objects import Object
from pytest_draft.artifact.xgboost.records import XGBOOST, read_xgboost_record

RecordReader = Callable[[Object, Budget], tuple[BoosterModel, list[Object]]]
"""Takes a model's record; returns the booster and the inner objects that were looked at."""

READERS: Mapping[tuple[str, str], RecordReader] = {
    **dict.fromkeys(XGBOOST, read_xgboost_record),
    **dict.fromkeys(LIGHTGBM, read_lightgbm_record),
    **dict.fromkeys(CATBOOST, read_catboost_record),
}
"""How each class is read."""
