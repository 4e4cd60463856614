"""What leaves that tell of values say of a row when all other rows are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import Answers
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.groups import KnownRows
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError

_MOST_KINDS = 1_000
"""Most values, of all columns that leaves tell of together, that a row is tried with."""


def kinds_of(
    reads: Sequence[int], rows: Rows, labels: IntArray, n_classes: int, values: FloatArray | None = None
) -> tuple[IntArray, FloatArray]:
    """Return the kind of each row, ``value * n_classes + class``, and the values of some columns.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)
    values : ndarray of float64, shape (n_values_read, n_columns_read), or None
        None for those that rows hold.
    """
    held = rows[:, list(reads)].astype(np.float64)
    values = np.unique(held, axis=0) if values is None else values
    _, at = np.unique(np.concatenate([values, held]), axis=0, return_inverse=True)
    place = np.empty(at.max() + 1, dtype=np.int64)
    place[at.reshape(-1)[: len(values)]] = np.arange(len(values))
    return place[at.reshape(-1)[len(values) :]] * n_classes + labels, values


def narrow_by_values(
    forest: Forest, domain: Domain, everyone: KnownRows, rows: IntArray, lower: FloatArray, upper: FloatArray
) -> None:
    """Narrow, in place, what rows can be to the values with which leaves would say the same.

    Parameters
    ----------
    forest : Forest
        With the counts of all rows in all trees, whose leaves have `told` of values.
    lower, upper : ndarray of float64, shape (n_rows, n_columns)
        As in `Held`, of the rows that are asked about.

    Raises
    ------
    NotCoveredError
        Where they tell of numeric columns, or of too many values.
    """
    told = forest.told
    if not isinstance(told, Answers):
        return
    attributes = sorted({int(domain.attribute_of_column[column]) for column in told.reads})
    columns, values = domain.columns_of(attributes), _values_of(domain, attributes)
    at = [columns.index(column) for column in told.reads]
    n_classes, columns_of_rows = forest.n_classes, np.ascontiguousarray(everyone.rows.T)
    own, _ = kinds_of(columns, everyone.rows, everyone.labels, n_classes, values)
    fits = np.ones((len(rows), len(values)), dtype=bool)
    for tree in forest.trees:
        leaf = leaf_positions(tree, columns_of_rows)
        counts = np.zeros((len(tree.leaves), len(values) * n_classes))
        np.add.at(counts, (leaf, own), 1.0)
        said = told.answered_by_kind(counts.reshape(-1, len(values), n_classes), values[:, at])
        pairs, of_row = np.unique(np.column_stack([leaf[rows], own[rows]]), axis=0, return_inverse=True)
        for number, (here, kind) in enumerate(pairs.tolist()):
            tried = np.tile(counts[here], (len(values), 1))
            tried[:, kind] -= 1.0
            tried[np.arange(len(values)), np.arange(len(values)) * n_classes + kind % n_classes] += 1.0
            same = told.explained_by_kind(
                tried.reshape(-1, len(values), n_classes), values[:, at], np.tile(said[here], (len(values), 1))
            )
            fits[of_row.reshape(-1) == number] &= same
    inside = np.where(fits[:, :, None], values, np.nan)
    lower[:, columns] = np.fmax(lower[:, columns], np.nanmin(inside, axis=1))
    upper[:, columns] = np.fmin(upper[:, columns], np.nanmax(inside, axis=1))


def _values_of(domain: Domain, attributes: Sequence[int]) -> FloatArray:
    """Return all that the columns of some attributes can hold together, shape (n_values, n_columns)."""
    made = [domain.attributes[a] for a in attributes]
    if any(one.kind == "numeric" or one.missing for one in made):
        raise NotCoveredError("its leaves tell of values of numeric columns, or of such as may be missing")
    if np.prod([float(one.n_values) for one in made]) > _MOST_KINDS:
        raise NotCoveredError("its leaves tell of too many values at once")
    places = np.indices([one.n_values for one in made]).reshape(len(made), -1)
    return np.column_stack([one.encoded(place).astype(np.float64) for one, place in zip(made, places, strict=True)])
