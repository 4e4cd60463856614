"""Models of libraries of boosted trees: files in formats of their own, and objects in pickles and skops files."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.catboost.model import CATBOOST, read_catboost, read_catboost_record
from pytest_draft.artifact.lightgbm.files import LIGHTGBM, read_lightgbm, read_lightgbm_record
from pytest_draft.artifact.objects import Object
from pytest_draft.artifact.read_forest import ReadForest
from pytest_draft.artifact.xgboost.files import XGBOOST, read_xgboost, read_xgboost_record

Recogniser = Callable[[bytes, Budget], ReadForest | None]
"""Takes a file's bytes; returns None, quickly, where they are of another format. Raises an `ArtifactError` where they
are of this one and damaged, too big or not supported.
"""

RECOGNISERS: tuple[Recogniser, ...] = (read_xgboost, read_lightgbm, read_catboost)
"""One for each format; at most one of them returns anything of a file."""

RecordReader = Callable[[Object, Budget], tuple[ReadForest, list[Object]]]
"""Takes a model's record; returns the booster and the inner objects that were looked at."""

READERS: Mapping[tuple[str, str], RecordReader] = {
    **dict.fromkeys(XGBOOST, read_xgboost_record),
    **dict.fromkeys(LIGHTGBM, read_lightgbm_record),
    **dict.fromkeys(CATBOOST, read_catboost_record),
}
"""How the objects of each class are read."""


def booster_in(packed: bytes, budget: Budget) -> ReadForest | None:
    """Return the booster that a file holds; None where it is of none of the formats.

    Raises
    ------
    ArtifactError
        Of the format's reader.
    """
    for recognise in RECOGNISERS:
        if (found := recognise(packed, budget)) is not None:
            return found
    return None
