"""Files of XGBoost: a booster as JSON or as Universal Binary JSON, with or without its training configuration."""

from __future__ import annotations

import re
from typing import Any

from pytest_draft.artifact.booster_model import BoosterModel
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.json_text import json_content
from pytest_draft.artifact.xgboost.model import booster_of
from pytest_draft.artifact.xgboost.ubjson import decode
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError

_TOP = rb"(?:learner|version|Config|Model)"
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\s*\"" + _TOP + rb"\"\s*:")
_UBJSON = re.compile(rb"\{(?:[iU]|I\0|l\0{3}|L\0{7})[\x05-\x07]" + _TOP)
_INSIDE = b"gradient_booster"
"""A name that stands in every booster, and in no other file that begins like one."""

_OLD = (b"binf", b"bs64", b"CONFIG-offset:")


def read_xgboost(packed: bytes, budget: Budget) -> BoosterModel | None:
    """Read a booster that XGBoost saved by ``save_model``; None where the bytes are no such file.

    Raises
    ------
    UnsupportedArtifactError
        If it holds no trees, or some that are not covered.
    CorruptArtifactError
        If it is damaged or contradicts itself.
    ArtifactTooBigError
        If reading it would cross a limit.
    """
    if not is_xgboost(packed):
        return None
    return booster_in_bytes(packed, budget, "XGBoost booster")


def is_xgboost(packed: bytes) -> bool:
    """Return whether bytes are a booster of XGBoost, by how they begin and one name in them."""
    if packed.startswith(_OLD):
        return True
    return bool(_JSON.match(packed) or _UBJSON.match(packed)) and _INSIDE in packed


def booster_in_bytes(packed: bytes, budget: Budget, kind: str, **known: Any) -> BoosterModel:
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
