"""Holdouts: rows with the training data's columns that the model was not trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact.encoder import Encoder
from pytest_draft.data.encoding import encode
from pytest_draft.data.files import place_of
from pytest_draft.data.labels import class_indices, target_numbers
from pytest_draft.data.tables import Table, lacking, matched, require_distinct
from pytest_draft.data.training import TrainingData, encoded_columns
from pytest_draft.errors import DataError, one_line

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too


@dataclass(frozen=True, eq=False, repr=False)
class Holdout:
    """Rows of the population that the training data were drawn from. Its repr shows no row."""

    rows: NDArray[np.float32]
    """Shape (n_rows, n_columns). Encoded as the training data's, in the same order of columns. Missing values, in
    columns where training rows have some too, are NaN; none is infinite.
    """
    sha256: str | None
    source: str
    """As in `TrainingData`."""
    unused: tuple[str, ...] = ()
    """Columns of the table that are no features, such as the label."""
    answers: FloatArray | None = None
    """Shape (n_rows,). Labels, as indices into the model's classes, or targets; None where not all rows have one."""

    def __repr__(self) -> str:
        return f"Holdout({len(self.rows)} rows, {one_line(self.source)}, values not shown)"


def holdout_of(
    table: Table,
    data: TrainingData,
    target: str | None = None,
    encoder: Encoder | None = None,
    classes: tuple[object, ...] | None = None,
) -> Holdout:
    """Return a table's rows in the columns of the training data; a label column may be among the others.

    Columns are matched by name. Where the table, or the training data, have no names they are taken by position.

    Parameters
    ----------
    target : str or None
        Name of the label column, which is left out where columns are taken by position.
    encoder : Encoder or None
        The file's. Where it encoded the training data, the holdout is raw too.
    classes : tuple or None
        The model's; None for a regressor's.

    Raises
    ------
    DataError
        Where a column is missing, or holds text, infinite values, or missing ones where no training row has any. The
        message never shows a value of a row.
    """
    where = f"holdout {place_of(table.source)}"
    require_distinct(table.frame, where)
    names = table.names
    if encoder is not None and data.by_encoder:
        sources = range(encoder.n_inputs) if encoder.names is None else encoder.sources
        positions = _positions(table, names, tuple(map(encoder.name, sources)), target, where)
        raw = {s: table.column(position, encoder.known(s)) for s, position in zip(sources, positions, strict=True)}
        rows = encode(encoder, raw, where)
    else:
        positions = _positions(table, names, data.columns, target, where)
        rows = encoded_columns(table.frame, positions, data.columns, where)
    complete = ~np.isnan(data.rows).any(axis=0)
    if missing := int(np.isnan(rows[:, complete]).any(axis=1).sum()):
        raise DataError(
            f"{where}: {missing} of {len(rows)} rows have missing values where no training row has any; "
            "leave these rows out"
        )
    rows.flags.writeable = False
    unused = tuple(name for position, name in enumerate(names) if position not in set(positions))
    return Holdout(rows, table.sha256, table.source, unused, _answers(table, names, unused, target, classes))


def _answers(
    table: Table, names: list[str], unused: tuple[str, ...], target: str | None, classes: tuple[object, ...] | None
) -> FloatArray | None:
    """Return the labels or targets of a holdout, in the column of this name or the only one that is no feature."""
    labels: Any = (table.targets or {}).get(target or "y")
    name = target or "".join(unused[:1])
    if labels is None and name in unused and (target or len(unused) == 1):
        labels = table.frame.iloc[:, names.index(name)]
    if labels is None or classes is None:
        return None if labels is None else target_numbers(labels, len(table.frame))
    try:
        return class_indices(labels, classes, "model", len(table.frame), "holdout").astype(np.float64)
    except DataError:  # it need not have any
        return None


def _positions(table: Table, names: list[str], wanted: tuple[str, ...], target: str | None, where: str) -> list[int]:
    """Return where the table holds each column that the training data have."""
    names = matched(names, wanted, target)
    position_of = {name: position for position, name in enumerate(names)}
    missing = [name for name in wanted if name not in position_of]
    if not missing:
        return [position_of[name] for name in wanted]
    features = [position for position, name in enumerate(names) if name != target]
    numbered = wanted == tuple(f"x{index}" for index in range(len(wanted)))
    if len(features) == len(wanted) and (numbered or not any(isinstance(c, str) for c in table.frame.columns)):
        return features
    lacks = lacking(names, wanted, target, "of the training data")
    raise DataError(f"{where}: {lacks}; encode the holdout as the training data are")
