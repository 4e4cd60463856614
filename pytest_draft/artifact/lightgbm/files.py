"""Where boosters of LightGBM stand: files of text, and objects in pickles and skops files, which hold the text."""

from __future__ import annotations

from dataclasses import replace

from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.lightgbm.model import lightgbm_in_text
from pytest_draft.artifact.lightgbm.text import is_lightgbm
from pytest_draft.artifact.objects import Object, described, is_atom, plain_classes, with_article
from pytest_draft.artifact.read_forest import ReadForest
from pytest_draft.artifact.records import Mapping, Record
from pytest_draft.artifact.sklearn.boosted_estimators import class_weight_of
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError

_BOOSTERS = {("lightgbm.basic", "Booster")}
_WRAPPERS = {("lightgbm.sklearn", name) for name in ("LGBMClassifier", "LGBMRegressor", "LGBMRanker")}
LIGHTGBM = frozenset(_BOOSTERS | _WRAPPERS)
"""The classes of LightGBM whose instances are read."""

_OBJECTIVE = (
    "it was trained with an objective of one's own, which is not covered: train it with one of LightGBM's to have it "
    "judged"
)
_HANDLES = ("_handle", "handle")
"""What a booster calls its text, from version 4 on and before."""


def read_lightgbm(packed: bytes, budget: Budget) -> ReadForest | None:
    """Read a booster that LightGBM saved as text; None where the bytes are no such file.

    Raises
    ------
    ArtifactError
        As `lightgbm_in_text`.
    """
    if not is_lightgbm(packed):
        return None
    try:
        text = packed.decode("utf-8")
    except UnicodeDecodeError:
        raise CorruptArtifactError("its LightGBM text is not UTF-8") from None
    return lightgbm_in_text(text, budget, "LightGBM booster")


def read_lightgbm_record(model: Object, budget: Budget) -> tuple[ReadForest, list[Object]]:
    """Read a model of one of the classes in `LIGHTGBM`.

    Returns
    -------
    ReadForest, list of Object
        The booster, and the inner objects that were looked at.

    Raises
    ------
    UnsupportedArtifactError
        If it was not fitted.
    ArtifactError
        As `read_lightgbm`.
    """
    if model.record.cls.key in _BOOSTERS:
        return lightgbm_in_text(_text(model), budget, "LightGBM booster"), []
    record = model.get("_Booster")
    if not isinstance(record, Record) or record.cls.key not in _BOOSTERS:
        found_in = "nothing" if record is None else described(record)
        raise UnsupportedArtifactError(
            f"it holds {with_article(model.kind)} with {found_in} for a booster: fit it before saving it"
        )
    booster = Object(record, f"{model.path}_Booster.")
    classifier = {"LGBMClassifier": True, "LGBMRegressor": False}.get(model.record.cls.name)
    classes, inner = _classes(model) if classifier else (None, [])
    given = model.parameters().get("class_weight")
    weights = None if given is None or classes is None else class_weight_of(given, classes)
    found = lightgbm_in_text(_text(booster), budget, model.kind, classes, classifier=classifier, class_weight=weights)
    if found.forest.n_features != model.optional_integer("_n_features", minimum=1):
        raise CorruptArtifactError(f"{model.path}_n_features is not the number of columns of its trees")
    return (
        replace(
            found,
            forest=replace(found.forest, parameters=model.parameters()),
            not_covered=found.not_covered if is_atom(model.get("objective")) else _OBJECTIVE,
            not_read=tuple(f"{booster.path}{name}" for name in found.not_read),
        ),
        [booster, *inner],
    )


def _classes(model: Object) -> tuple[tuple[object, ...], list[Object]]:
    """Return a classifier's classes, by their numbers, and the encoder that says the same."""
    classes = plain_classes(model.get("_classes"))
    if classes != tuple(sorted(classes)):  # type: ignore[type-var]
        raise CorruptArtifactError(f"{model.path}_classes are not in order")
    numbers = model.get("_class_map")
    if isinstance(numbers, Mapping) and numbers.pairs != list(zip(classes, range(len(classes)), strict=True)):
        raise CorruptArtifactError(f"{model.path}_class_map does not number its classes")
    record = model.get("_le")
    inner = [Object(record, f"{model.path}_le.")] if isinstance(record, Record) else []
    for encoder in inner:
        if encoder.get("classes_") is not None and plain_classes(encoder.get("classes_")) != classes:
            raise CorruptArtifactError(f"{encoder.path}classes_ are not its classes")
    return classes, inner


def _text(booster: Object) -> str:
    """Return the text in which a booster holds its trees."""
    found = [booster.get(name) for name in _HANDLES if name in booster]
    text = found[0] if found else None
    if text is None:
        raise UnsupportedArtifactError("it holds a booster of LightGBM that was not trained: train it before saving it")
    if type(text) is not str:
        raise CorruptArtifactError(f"{booster.path}{_HANDLES[0]} is not a text")
    return text
