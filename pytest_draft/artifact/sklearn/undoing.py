"""Finds the fitted transformers of a file: its objects go in, its `Contents` come out with a `Transformer` for each.

The audit undoes them, so that it recognises scaled copies of the data too. Each is read by itself, wherever it stands:
whoever has the file has all of them, and rows in another model behind a scaler are rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.encoder import Projection, Transformer
from pytest_draft.artifact.objects import Object
from pytest_draft.artifact.records import Array, Record
from pytest_draft.artifact.sklearn.curves import CURVES
from pytest_draft.artifact.sklearn.pipeline import COLUMNS, EncoderReader
from pytest_draft.artifact.sklearn.selection import SELECTIONS
from pytest_draft.artifact.sklearn.transformers import READERS
from pytest_draft.artifact.walking import records_in
from pytest_draft.artifact.world.contents import Contents
from pytest_draft.errors import ArtifactError

_MOST = 24
"""Most transformers, and most lists of column names, that are taken from one file: a search over pipelines keeps only
its best one.
"""

_PROJECTIONS = {
    ("sklearn.decomposition._pca", "PCA"),
    ("sklearn.decomposition._incremental_pca", "IncrementalPCA"),
    ("sklearn.decomposition._truncated_svd", "TruncatedSVD"),
    ("sklearn.random_projection", "GaussianRandomProjection"),
}
"""Classes whose transform is a projection; they are covered here, and not in front of a forest."""


def with_transformers(contents: Contents, root: object, budget: Budget) -> Contents:
    """Return the contents of a file with its fitted transformers, and the column names that its objects store."""
    found: list[Transformer] = []
    names: dict[tuple[str, ...], None] = {}
    complete = True
    for path, record in records_in(root, budget):
        if (transformer := _transformer(record, path, budget)) is not None:
            complete = complete and len(found) < _MOST
            if complete:
                found.append(transformer)
        if (listed := _names(record)) and len(names) < _MOST:
            names[listed] = None
    return replace(contents, transformers=tuple(found), all_undone=complete, names=tuple(names))


def _names(record: Record) -> tuple[str, ...]:
    """Return the column names that an object stores; none where some are not text."""
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
    """Return a fitted projection, scaled back where it whitens; None where its arrays do not fit together."""
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
    """Return a stored array of finite numbers; None for anything else."""
    data = stored.data if isinstance(stored, Array) else None
    if data is None or data.dtype.kind != "f" or data.ndim != n_axes or not np.isfinite(data).all():
        return None
    numbers: FloatArray = data.astype(np.float64)
    return numbers
