"""Where boosters of XGBoost stand: files of JSON or Universal Binary JSON, and objects in pickles and skops files."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.json_text import json_content
from pytest_draft.artifact.objects import Object, described, is_atom, plain_classes, with_article
from pytest_draft.artifact.read_forest import ReadForest
from pytest_draft.artifact.records import Record
from pytest_draft.artifact.xgboost.model import booster_of
from pytest_draft.artifact.xgboost.ubjson import decode
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError

_TOP = rb"(?:learner|version|Config|Model)"
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\s*\"" + _TOP + rb"\"\s*:")
_UBJSON = re.compile(rb"\{(?:[iU]|I\0|l\0{3}|L\0{7})[\x05-\x07]" + _TOP)
_INSIDE = b"gradient_booster"
"""A name that stands in every booster, and in no other file that begins like one."""

_OLD = (b"binf", b"bs64", b"CONFIG-offset:")

_BOOSTERS = {("xgboost.core", "Booster")}
_WRAPPERS = {
    ("xgboost.sklearn", name)
    for name in ("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor", "XGBRanker")
}
XGBOOST = frozenset(_BOOSTERS | _WRAPPERS)
"""The classes of XGBoost whose instances are read."""

_MISSING = (
    "it was trained with missing={}, so that other values than NaN were taken for missing, which is not covered: put "
    "NaN in their place and train it without"
)
_OBJECTIVE = (
    "it was trained with an objective of one's own, which is not covered: train it with one of XGBoost's to have it "
    "judged"
)


def read_xgboost(packed: bytes, budget: Budget) -> ReadForest | None:
    """Read a booster that XGBoost saved by ``save_model``; None where the bytes are no such file.

    Raises
    ------
    ArtifactError
        If it is damaged, too big, or of a kind that is not covered.
    """
    if not is_xgboost(packed):
        return None
    return booster_in_bytes(packed, budget, "XGBoost booster")


def is_xgboost(packed: bytes) -> bool:
    """Return whether bytes are a booster of XGBoost, by how they begin and one name in them."""
    if packed.startswith(_OLD):
        return True
    return bool(_JSON.match(packed) or _UBJSON.match(packed)) and _INSIDE in packed


def booster_in_bytes(packed: bytes, budget: Budget, kind: str, **known: Any) -> ReadForest:
    """Read a booster from the bytes of a file, or from those inside a pickle.

    Parameters
    ----------
    kind : str
        As in `Forest`.
    **known
        As in `booster_of`.

    Raises
    ------
    ArtifactError
        As `read_xgboost`.
    """
    if packed.startswith(_OLD):
        raise UnsupportedArtifactError(
            "it holds a booster of XGBoost in a format that XGBoost has given up: load it and save it again as .json"
        )
    content = decode(packed, budget) if _UBJSON.match(packed) else json_content(packed, budget, finite=False, digits=9)
    if not isinstance(content, dict):
        raise CorruptArtifactError("its booster is no object of JSON")
    config = content.get("Config") if "Model" in content else None
    return booster_of(content.get("Model", content), config, budget, kind, **known)


def read_xgboost_record(model: Object, budget: Budget) -> tuple[ReadForest, list[Object]]:
    """Read a model of one of the classes in `XGBOOST`.

    Returns
    -------
    ReadForest, list of Object
        The booster, and the inner objects that were looked at.

    Raises
    ------
    UnsupportedArtifactError
        If it was not fitted, or holds no trees.
    ArtifactError
        As `read_xgboost`.
    """
    if model.record.cls.key in _BOOSTERS:
        return booster_in_bytes(_bytes(model), budget, "XGBoost booster"), []
    model.is_fitted("_Booster")
    record = model.get("_Booster")
    if not isinstance(record, Record) or record.cls.key not in _BOOSTERS:
        raise UnsupportedArtifactError(
            f"it holds {with_article(model.kind)} of {described(record)}: fit it before saving it"
        )
    booster = Object(record, f"{model.path}_Booster.")
    classes = plain_classes(model.get("classes_")) if model.get("classes_") is not None else None
    found = booster_in_bytes(_bytes(booster), budget, model.kind, classes=classes, not_covered=_not_covered(model))
    n_classes = model.optional_integer("n_classes_")
    if found.forest.classes is not None:
        known = len(found.forest.classes)
        if n_classes not in (None, known) or found.forest.classes != tuple(range(known)):
            raise CorruptArtifactError(f"{model.path}n_classes_ or classes_ are not those of its trees")
    parameters = {name: value for name, value in model.parameters().items() if not _is_nan(value)}
    not_read = tuple(f"{booster.path}{name}" for name in found.not_read)
    forest = replace(found.forest, parameters=parameters)
    contents = replace(found.contents, opaque=not_read)
    return replace(found, forest=forest, not_read=not_read, contents=contents), [booster]


def _not_covered(model: Object) -> str | None:
    """Return why a wrapper's trees are not judged; None where nothing is against it."""
    missing, objective = model.get("missing"), model.get("objective")
    if missing is not None and not _is_nan(missing):
        return _MISSING.format(missing if type(missing) in (int, float) else "(not a number)")
    return None if is_atom(objective) else _OBJECTIVE


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _bytes(booster: Object) -> bytes:
    """Return the bytes in which a booster holds its trees."""
    booster.is_fitted("handle")
    handle = booster.get("handle")
    if handle is None:
        raise UnsupportedArtifactError("it holds a booster of XGBoost that was not fitted: fit it before saving it")
    if not isinstance(handle, (bytes, bytearray, memoryview)):
        raise CorruptArtifactError(f"{booster.path}handle is not bytes")
    return bytes(handle)
