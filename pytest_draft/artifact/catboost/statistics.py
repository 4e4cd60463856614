"""What a CatBoost model keeps of its categories: of how many training rows each is, and with which labels.

No reader uses these tables, and they are data all the same: a category of one row, or a combination of categories of
one row, is somebody, with their label.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.catboost.flatbuffers import Table
from pytest_draft.artifact.world.contents import Contents, stored_categories
from pytest_draft.errors import ArtifactError, UnsupportedArtifactError

_BY_LABEL = ("Borders", "Buckets")
_TYPES = (*_BY_LABEL, "BinarizedTargetMeanValue", "FloatTargetMeanValue", "Counter", "FeatureFreq")
"""Tables by CatBoost's numbers: rows by class; sums of targets and rows, twice; rows, twice."""

_EMPTY = str(2**64 - 1)
"""The hash of an empty place."""


def refused(tables: list[tuple[str, list[int]]], values: list[str], n_columns: int) -> UnsupportedArtifactError:
    """Return the refusal of a model of categories, with what it keeps of them.

    Parameters
    ----------
    tables : list of (str, list of int)
        Each table's type, and the rows of each category or combination.
    values : list of str
        The categories by name.
    n_columns : int
        Columns of categories.
    """
    rows = [[one for one in counts if one > 0] for _, counts in tables]
    counted = tuple((f"ctr_data[{index}]", min(counts)) for index, counts in enumerate(rows) if counts)
    known = stored_categories("features_info.cat_features_hash", [values] if n_columns == 1 else [])
    said = (
        "it holds a CatBoost model of categories, texts or embeddings, which is not covered: train it on numbers "
        "(one-hot, for example)"
    )
    if counted:
        labels = " and with which labels" if any(kind in _BY_LABEL for kind, _ in tables) else ""
        said += (
            f"; {len(counted):,} tables in it say of how many training rows each of {sum(map(len, rows)):,} categories "
            f"and combinations is{labels} (the fewest: {min(least for _, least in counted):,})"
        )
    return UnsupportedArtifactError(said, beside=Contents(arrays=known, counted=counted))


def of_json(stored: Any, features: dict[str, Any]) -> UnsupportedArtifactError:
    """Return the refusal of a model in JSON by its ``ctr_data``; what is malformed is left out."""
    tables = [_json_table(name, one) for name, one in (stored.items() if isinstance(stored, dict) else ())]
    hashes = features.get("cat_features_hash")
    names = [one.get("value") for one in hashes if isinstance(one, dict)] if isinstance(hashes, list) else []
    columns = features.get("categorical_features")
    n_columns = len(columns) if isinstance(columns, list) else 0
    return refused(tables, [name for name in names if type(name) is str], n_columns)


def _json_table(name: str, stored: Any) -> tuple[str, list[int]]:
    try:
        kind = str(json.loads(name)["type"])
        width, flat = int(stored["hash_stride"]), stored["hash_map"]
        entries = [flat[at + 1 : at + width] for at in range(0, len(flat), width) if flat[at] != _EMPTY]
        return kind, [_rows(kind, entry) for entry in entries]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return "", []


def _rows(kind: str, entry: list[Any]) -> int:
    numbers = np.array(entry, np.float64)
    return int(numbers.sum() if kind in _BY_LABEL else numbers[-1]) if len(numbers) else 0


def of_cbm(behind: bytes, budget: Budget) -> UnsupportedArtifactError:
    """Return the refusal of a ``.cbm`` file by the tables behind its trees; what is malformed is left out."""
    tables: list[tuple[str, list[int]]] = []
    try:
        (count,) = struct.unpack_from("<I", behind)
        at = 4
        for _ in range(count):
            (size,) = struct.unpack_from("<I", behind, at)
            if size > len(behind) - at - 4:
                break
            tables.append(_cbm_table(Table.root(behind[at + 4 : at + 4 + size], budget)))
            at += 4 + size
    except (ArtifactError, struct.error):
        pass
    return refused(tables, [], 0)


def _cbm_table(table: Table) -> tuple[str, list[int]]:
    base = table.table(0)
    kind = _TYPES[int(base.number(1, "<b", 0)) % len(_TYPES)] if base is not None else _TYPES[0]
    width = int(table.number(4, "<i", 0)) if kind in _BY_LABEL else 2 if "Mean" in kind else 1
    stored = table.vector(2, "<u1").tobytes()
    if width < 1 or len(stored) % (4 * width):
        return kind, []
    entries = np.frombuffer(stored, "<i4").reshape(-1, width).astype(np.int64)
    return kind, (entries.sum(axis=1) if kind in _BY_LABEL else entries[:, -1]).tolist()
