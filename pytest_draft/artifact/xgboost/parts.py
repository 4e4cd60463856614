"""Parts of what XGBoost writes: objects, and parameters, which are numbers written as texts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from pytest_draft.arrays import AnyArray
from pytest_draft.errors import CorruptArtifactError

_LONGEST = 40
"""Most letters of a parameter that is a number."""

_WHOLE = re.compile(r"\d{1,18}", re.ASCII)


def part(holder: Mapping[str, Any], name: str, path: str) -> dict[str, Any]:
    """Return an object inside another one."""
    found = holder.get(name)
    if not isinstance(found, dict):
        raise CorruptArtifactError(f"{path}: {name} is missing, or no object")
    return found


def has_text(holder: Mapping[str, Any], name: str) -> bool:
    """Return whether an object has a parameter that is a text."""
    return isinstance(holder.get(name), str)


def text(holder: Mapping[str, Any], name: str, path: str) -> str:
    """Return a parameter."""
    found = holder.get(name)
    if not isinstance(found, str):
        raise CorruptArtifactError(f"{path}: {name} is missing, or no text")
    return found


def whole(holder: Mapping[str, Any], name: str, path: str) -> int:
    """Return a parameter that is a whole number of at least 0."""
    found = text(holder, name, path)
    if not _WHOLE.fullmatch(found):
        raise CorruptArtifactError(f"{path}: {name} is not a whole number")
    return int(found)


def number(written: str) -> float | None:
    """Return the number that a parameter is; None where it is none, or not finite."""
    try:
        found = float(written) if len(written) <= _LONGEST else math.nan
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def numbers(stored: object, length: int, kinds: str) -> AnyArray | None:
    """Return a list of so many numbers as an array; None where it is none. Each kind is NumPy's letter."""
    if not isinstance(stored, (list, np.ndarray)) or len(stored) != length:
        return None
    try:
        array = np.asarray(stored)
    except ValueError:  # lists of different lengths in it
        return None
    return array if array.ndim == 1 and array.dtype.kind in kinds and array.dtype.itemsize <= 8 else None
