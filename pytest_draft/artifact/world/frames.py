"""Pickled data frames of pandas: blocks of one type each become the table that they are, with its columns' names."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.records import Array, Items, Mapping, Record

_MANAGER = "BlockManager"
_LEGACY = "0.14.1"
"""The key under which pandas up to 1.2 keeps a frame's blocks."""


def table_in(record: Record) -> tuple[AnyArray, tuple[str, ...]] | None:
    """Return the values of a data frame's columns, shape (n_rows, n_columns), and their names.

    None of any other record. Columns in a form that is not known here, such as categories, are left out.
    """
    if record.cls.name != _MANAGER or not record.cls.module.startswith("pandas."):
        return None
    try:
        axis, blocks = _parts(record)
        names = [str(name) for name in (axis.items if axis.items is not None else np.asarray(axis.data).tolist())]
        columns: dict[int, AnyArray] = {}
        for values, places in blocks:
            rows = _rows_of(values)
            if rows is not None and len(rows) == len(places):
                columns.update(zip(places, rows, strict=True))
        kept = [index for index in sorted(columns) if len(columns[index]) == len(columns[min(columns)])]
        if len(kept) < 2:
            return None
        return np.column_stack([columns[index] for index in kept]), tuple(names[index] for index in kept)
    except (TypeError, ValueError, IndexError, AttributeError, KeyError, MemoryError):
        return None


def _parts(record: Record) -> tuple[Array, Iterator[tuple[object, range | list[int]]]]:
    """Return the array of columns' names, and each block's values and places."""
    if record.args:
        blocks, axes = record.args[0], record.args[1]
        found = ((block.args[0], _places(block.args[1])) for block in blocks)  # type: ignore[attr-defined]
    else:
        state = next(part.texts() for part in record.state if isinstance(part, Mapping))  # type: ignore[attr-defined]
        legacy = state[_LEGACY].texts()  # type: ignore[attr-defined]
        axes = legacy["axes"]
        pairs = (block.texts() for block in legacy["blocks"])
        found = ((block["values"], _places(block["mgr_locs"])) for block in pairs)
    names = axes[0].args[1].texts()["data"]  # type: ignore[index]
    if not isinstance(names, Array):
        raise TypeError
    return names, found


def _places(said: object) -> range | list[int]:
    if isinstance(said, Record):
        return range(*(int(part) for part in said.args))  # type: ignore[call-overload]
    return [int(place) for place in said.data]  # type: ignore[attr-defined]


def _rows_of(values: object) -> AnyArray | None:
    """Return a block's values, a row for each of its columns; None where it is of another form."""
    if not isinstance(values, Array) or len(values.shape) != 2:
        return None
    if values.data is not None:
        return values.data.astype(object)
    if values.items is None or any(isinstance(item, (Record, Mapping, Items, list, tuple)) for item in values.items):
        return None
    rows = np.empty(len(values.items), dtype=object)
    rows[:] = values.items
    return rows.reshape(values.shape)
