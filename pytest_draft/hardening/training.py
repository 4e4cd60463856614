"""The rows that a model was trained on, read from a table as the model takes them."""

from __future__ import annotations

import os
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from pytest_draft.data.files import IN_MEMORY, place_of
from pytest_draft.data.labels import finder
from pytest_draft.data.tables import Table, read_table
from pytest_draft.errors import DataError, UsageError, nearest_of, one_line
from pytest_draft.hardening.rows import features_of

__tracebackhide__ = True  # frames here hold rows


def table_of(data: object, target: str | None) -> Table:
    """Return the training data as a table."""
    if isinstance(data, (str, os.PathLike)):
        table = read_table(data)
        return replace(table, frame=table.as_written)
    if isinstance(data, pd.DataFrame):
        return Table(data, None, IN_MEMORY)
    if isinstance(data, tuple) and len(data) == 2:
        features = data[0] if isinstance(data[0], pd.DataFrame) else pd.DataFrame(np.asarray(data[0]))
        return Table(features, None, IN_MEMORY, {"y": np.asarray(data[1])})
    raise UsageError(
        f"the data are a {one_line(type(data).__name__)}: give a path, a pandas DataFrame or a pair (X, y)"
    )


def target_of(columns: SimpleNamespace, table: Table, target: str | None) -> str | None:
    """Return the name of the label column: the only one that is no feature, where none is given."""
    if target is not None or table.targets is not None:
        return target
    others = set(map(str, table.frame.columns)) - set(
        map(str, () if columns.feature_names_in_ is None else columns.feature_names_in_)
    )
    if len(others) != 1:
        raise UsageError(f"{place_of(table.source)}: name the label column with --target")
    return others.pop()


def columns_of(fitted: Any) -> SimpleNamespace:
    """Return what tells which columns a model was trained on; without names where its library has made them."""
    names = getattr(fitted, "feature_names_in_", getattr(fitted, "feature_names_", None))
    if names is not None and any(
        list(names) == [f"{begin}{i}" for i in range(len(names))] for begin in ("Column_", "")
    ):
        names = None
    return SimpleNamespace(
        feature_names_in_=names,
        n_features_in_=getattr(fitted, "n_features_in_", None) or None,
        classes_=getattr(fitted, "classes_", None),
    )


def features_in(columns: SimpleNamespace, table: Table, target: str | None) -> Any:
    """Return the columns that a model takes, as it takes them."""
    if table.targets is None and target not in table.frame.columns:
        nearest = nearest_of(target, map(str, table.frame.columns))
        raise UsageError(f"{place_of(table.source)}: there is no column {one_line(target)!r} for --target{nearest}")
    if columns.n_features_in_ is None and columns.feature_names_in_ is None:  # not fitted yet
        return table.frame if table.targets is not None else table.frame.drop(columns=target)
    found = features_of(columns, table.frame, target)
    return found.to_numpy() if table.targets is not None and hasattr(found, "to_numpy") else found


def labels_in(columns: SimpleNamespace, table: Table, target: str | None, is_class: bool) -> Any:
    """Return the labels as the model was trained on them."""
    where = place_of(table.source)
    if table.targets is None:
        column = table.frame[target]
    else:
        name = target or "y"
        given = table.targets.get(name)
        if given is None:
            raise UsageError(f"{where}: there is no array {one_line(name)!r} of numbers or text for --target")
        if given.shape not in ((len(table.frame),), (len(table.frame), 1)):
            raise DataError(f"{where}: the labels have shape {given.shape}; there must be one for each row")
        column = pd.Series(given.ravel())
    missing = int(column.isna().sum())
    if missing:
        raise DataError(f"{where}: {missing} of {len(column)} rows have no label; give the rows that trained the model")
    if not is_class:
        if not pd.api.types.is_numeric_dtype(column.dtype):
            raise UsageError(f"{where}: the column {one_line(target)!r} holds no numbers, which a regressor needs")
        return column.to_numpy()
    labels = column.to_numpy()
    if labels.dtype.kind not in "biuf":
        labels = labels.astype(object)
    return _as_trained(labels, columns.classes_, where) if isinstance(columns.classes_, np.ndarray) else labels


def _as_trained(labels: Any, classes: Any, where: str) -> Any:
    """Return labels as the model's classes have them, so that what is trained again predicts the same values."""
    class_of = finder(tuple(classes.tolist()))
    places = {value: class_of(value) for value in pd.unique(pd.Series(labels)).tolist()}
    unknown = sum(place < 0 for place in places.values())
    if unknown:
        raise UsageError(
            f"{where}: {unknown} labels are none of the model's classes; give the rows and the --target that the model "
            "was trained on"
        )
    return classes[[places[value] for value in labels.tolist()]]
