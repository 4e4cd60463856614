"""Pickled data frames of pandas: blocks of one type each become the table that they are, with its columns' names.

Texts may be pyarrow's arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.records import Array, Items, Mapping, Record

ARROW = ("pyarrow.lib", "_restore_array")
_ARROW_OFFSETS = {"string": "<i4", "large_string": "<i8"}
_MANAGER = "BlockManager"
_OF_VALUE = 8
"""Bytes of a value that is written out."""

_LEGACY = "0.14.1"
"""The key under which pandas up to 1.2 keeps a frame's blocks."""


def table_in(record: Record, budget: Budget) -> tuple[AnyArray, tuple[str, ...]] | None:
    """Return the values of a data frame's columns, shape (n_rows, n_columns), and their names.

    None of any other record, and where the budget has no room: a small file can name one block again and again. Columns
    in a form that is not known here, such as categories, are left out.
    """
    if record.cls.name != _MANAGER or not record.cls.module.startswith("pandas."):
        return None
    try:
        axis, blocks = _parts(record)
        names = [str(name) for name in _all_of(axis)]
        columns: dict[int, AnyArray] = {}
        for values, places in blocks:
            if isinstance(values, Array) and not budget.has_room(_OF_VALUE * math.prod(values.shape)):
                return None
            rows = _rows_of(values)
            if rows is not None and len(rows) == len(places):
                columns.update(zip(places, rows, strict=True))
        kept = [index for index in sorted(columns) if len(columns[index]) == len(columns[min(columns)])]
        if len(kept) < 2:
            return None
        return np.column_stack([columns[index] for index in kept]), tuple(names[index] for index in kept)
    except (TypeError, ValueError, IndexError, AttributeError, KeyError, MemoryError):
        return None


def _all_of(array: object) -> list[object]:
    """Return the values of an array of texts or numbers."""
    if isinstance(array, Record):
        texts = arrow_texts(array.attributes()["_pa_array"])  # type: ignore[arg-type]
        if texts is None:
            raise TypeError
        return texts
    if not isinstance(array, Array):
        raise TypeError
    return list(array.items) if array.items is not None else np.asarray(array.data).tolist()


def _parts(record: Record) -> tuple[object, Iterator[tuple[object, range | list[int]]]]:
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
    return axes[0].args[1].texts()["data"], found  # type: ignore[index]


def _places(said: object) -> range | list[int]:
    if isinstance(said, Record):
        return range(*(int(part) for part in said.args))  # type: ignore[call-overload]
    return [int(place) for place in said.data]  # type: ignore[attr-defined]


def _rows_of(values: object) -> AnyArray | None:
    """Return a block's values, a row for each of its columns; None where it is of another form."""
    if isinstance(values, Record) and "_pa_array" in values.named:
        texts = np.empty((1, len(held := _all_of(values))), dtype=object)
        texts[0] = held
        return texts
    if not isinstance(values, Array) or len(values.shape) != 2:
        return None
    if values.data is not None:
        return values.data.astype(object)
    if values.items is None or any(isinstance(item, (Record, Mapping, Items, list, tuple)) for item in values.items):
        return None
    rows = np.empty(len(values.items), dtype=object)
    rows[:] = values.items
    return rows.reshape(values.shape)


def arrow_texts(record: Record) -> list[object] | None:
    """Return an array of texts of pyarrow, a missing one as None; None where it is of another form."""
    try:
        kind, length, _, offset, (valid, ends, letters) = record.args[0][:5]  # type: ignore[index]
        limits = np.frombuffer(_buffer(ends), _ARROW_OFFSETS[kind.args[0]])[: length + 1]
        if offset != 0 or len(limits) != length + 1 or limits[0] != 0 or (np.diff(limits) < 0).any():
            return None
        content = bytes(_buffer(letters))
        texts: list[object] = [content[a:b].decode() for a, b in pairwise(limits.tolist())]
        if valid is not None:
            bits = np.unpackbits(np.frombuffer(_buffer(valid), np.uint8), bitorder="little")[:length].tolist()
            texts = [text if bit else None for text, bit in zip(texts, bits, strict=True)]
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return None
    return texts


def _buffer(record: object) -> memoryview:
    """Return the bytes of ``pyarrow.lib.py_buffer``."""
    while isinstance(record, Record) and record.args:
        record = record.args[0]
    if not isinstance(record, (bytes, bytearray, memoryview)):
        raise TypeError
    return memoryview(record)
