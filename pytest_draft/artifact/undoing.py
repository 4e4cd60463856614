"""Transformers anywhere in a file, each read by itself, so that scaled copies of data can be scaled back.

Whoever has the file has them too, whatever they stand before: rows of another model behind a scaler are rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.contents import Contents
from pytest_draft.artifact.curves import CURVES
from pytest_draft.artifact.encoder import Projection, Transformer
from pytest_draft.artifact.objects import Object
from pytest_draft.artifact.pipeline import COLUMNS, EncoderReader
from pytest_draft.artifact.records import Array, Record
from pytest_draft.artifact.selection import SELECTIONS
from pytest_draft.artifact.transformers import READERS
from pytest_draft.artifact.walking import records_in
from pytest_draft.errors import ArtifactError

MOST = 24
"""Transformers of a file that are undone; a search of pipelines keeps the best one alone."""

_PROJECTIONS = {
    ("sklearn.decomposition._pca", "PCA"),
    ("sklearn.decomposition._incremental_pca", "IncrementalPCA"),
    ("sklearn.decomposition._truncated_svd", "TruncatedSVD"),
    ("sklearn.random_projection", "GaussianRandomProjection"),
}


def undone(contents: Contents, root: object, budget: Budget) -> Contents:
    """Return the contents of a file with its fitted transformers, and the names that its objects know of columns."""
    found: list[Transformer] = []
    names: dict[tuple[str, ...], None] = {}
    complete = True
    for path, record in records_in(root, budget):
        if (transformer := _transformer(record, path, budget)) is not None:
            complete = complete and len(found) < MOST
            found += [transformer] * complete
        if (listed := _names(record)) and len(names) < MOST:
            names[listed] = None
    return replace(contents, transformers=tuple(found), all_undone=complete, names=tuple(names))


def _names(record: Record) -> tuple[str, ...]:
    """Return the names that an object knows of its columns."""
    stored = record.named.get("feature_names_in_")
    items = stored.items if isinstance(stored, Array) and stored.items is not None else []
    return tuple(item for item in items if type(item) is str) if all(type(item) is str for item in items) else ()


def _transformer(record: Record, path: str, budget: Budget) -> Transformer | None:
    """Return what an object does, where it is a fitted transformer that is covered."""
    key = record.cls.key
    try:
        if key in _PROJECTIONS:
            return _projection(Object(record, f"{path}."), path)
        if key in READERS or key in CURVES or key in SELECTIONS or key == COLUMNS:
            reader = EncoderReader(budget)
            reader.add(record, f"{path}.")
            alone = reader.alone()
            return None if alone is None else Transformer(path, alone.n_inputs, alone)
    except ArtifactError:
        return None  # not fitted, or one that contradicts itself: whoever reads the model says so
    return None


def _projection(transformer: Object, path: str) -> Transformer | None:
    components = _numbers(transformer.get("components_"), 2)
    if components is None:
        return None
    mean = _numbers(transformer.get("mean_"), 1)
    variance = _numbers(transformer.get("explained_variance_"), 1) if transformer.get("whiten") is True else None
    mean = np.zeros(components.shape[1]) if mean is None else mean
    scale = np.ones(len(components)) if variance is None else np.sqrt(np.maximum(variance, 1e-300))
    if mean.shape != components.shape[1:] or scale.shape != components.shape[:1]:
        return None
    return Transformer(path, components.shape[1], Projection(components, mean, scale))


def _numbers(stored: object, n_axes: int) -> FloatArray | None:
    data = stored.data if isinstance(stored, Array) else None
    if data is None or data.dtype.kind != "f" or data.ndim != n_axes or not np.isfinite(data).all():
        return None
    numbers: FloatArray = data.astype(np.float64)
    return numbers
