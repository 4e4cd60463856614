"""Models of CatBoost inside pickles and skops files, which hold their trees as the bytes of a cbm file."""

from __future__ import annotations

from dataclasses import replace

from pytest_draft.artifact.booster_model import BoosterModel
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.catboost.model import catboost_in_bytes
from pytest_draft.artifact.objects import Object, with_article
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError

CATBOOST = frozenset(
    ("catboost.core", name) for name in ("CatBoost", "CatBoostClassifier", "CatBoostRegressor", "CatBoostRanker")
)
"""The classes of CatBoost whose instances are read."""

_MODEL = "__model"
_CBM = b"CBM1"


def read_catboost_record(model: Object, budget: Budget) -> tuple[BoosterModel, list[Object]]:
    """Read a model of one of the classes in `CATBOOST`.

    Returns
    -------
    BoosterModel, list of Object
        The model, and no inner objects.

    Raises
    ------
    UnsupportedArtifactError
        If it was not fitted.
    ArtifactError
        As `pytest_draft.artifact.catboost.model.read_catboost`.
    """
    content = model.get(_MODEL)
    if content is None:
        raise UnsupportedArtifactError(
            f"it holds {with_article(model.kind)} that was not fitted: fit it before saving it"
        )
    if not isinstance(content, (bytes, bytearray, memoryview)) or bytes(content[:4]) != _CBM:
        raise CorruptArtifactError(f"{model.path}{_MODEL} is no model of CatBoost")
    found = catboost_in_bytes(bytes(content), budget, model.kind)
    is_classifier = found.forest.classes is not None
    if found.not_covered is None and is_classifier != {"CatBoostClassifier": True, "CatBoostRegressor": False}.get(
        model.record.cls.name, is_classifier
    ):
        raise CorruptArtifactError(f"{model.path}{_MODEL} is none of a {model.kind}")
    parameters = {**model.parameters(), **found.forest.parameters}
    parameters.pop(_MODEL, None)
    not_read = tuple(f"{model.path}{_MODEL}: {name}" for name in found.not_read)
    return replace(found, forest=replace(found.forest, parameters=parameters), not_read=not_read), []
