"""Reads ``.npy`` members: their bytes become an `Array`. The header is parsed here, not by NumPy."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.pickle.arrays import MAX_FIELDS, decode, new_dtype, set_shape
from pytest_draft.artifact.records import Array, Dtype
from pytest_draft.errors import ArtifactNotAllowedError, CorruptArtifactError, UnsupportedArtifactError

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10_000
"""Most bytes of a header; NumPy itself refuses longer ones."""

_MOST_SPACES = 128
_HEADER = re.compile(rb"[\w\s'\",:()\[\]{}<>|=]*", re.ASCII)
"""What a header is written in: no operators, so that it nests no deeper than its brackets."""

_DTYPE = re.compile(r"([<>|=])([biufcSUVMmO])(\d{0,7})(?:\[[\w/]{1,12}\])?", re.ASCII)


def read_npy(content: memoryview, budget: Budget) -> tuple[Array, Dtype]:
    """Read an array of numbers, texts or records, as a view of all of a member; note a header that is not NumPy's."""
    head = bytes(content[:12])
    if head[:6] != _MAGIC or len(head) < 12 or head[6] not in (1, 2, 3):
        raise CorruptArtifactError("an array is not in NumPy's format")
    width = 2 if head[6] == 1 else 4
    start = 8 + width
    length = int.from_bytes(head[8:start], "little")
    if length > _LONGEST_HEADER or start + length > len(content):
        raise CorruptArtifactError("an array's header is malformed")
    header = bytes(content[start : start + length])
    described = _described(header)
    usual = "{" + "".join(f"'{name}': {described[name]!r}, " for name in sorted(described)) + "}"
    spaces = len(header) - len(usual) - 1
    if head[7] or not 0 <= spaces < _MOST_SPACES or header != usual.encode() + b" " * spaces + b"\n":
        budget.note("the header of an array")
    array, dtype = Array(), _dtype(described["descr"])
    set_shape(array, described["shape"])
    fortran = described["fortran_order"]
    if type(fortran) is not bool:
        raise CorruptArtifactError("an array's header is malformed")
    if dtype.is_object:
        raise ArtifactNotAllowedError("it has a pickle inside an array: nothing was run; save it with skops.io.dump")
    array.data = decode(content[start + length :], dtype, array.shape, "F" if fortran else "C")
    return array, dtype


def _described(header: bytes) -> dict[str, object]:
    try:
        found = ast.literal_eval(header.decode("ascii").strip()) if _HEADER.fullmatch(header) else None
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        found = None
    if type(found) is not dict or set(found) != {"descr", "fortran_order", "shape"}:
        raise CorruptArtifactError("an array's header is malformed")
    return found


def _dtype(described: object) -> Dtype:
    if isinstance(described, str):
        return _simple(described)
    if not isinstance(described, list) or not 0 < len(described) <= 2 * MAX_FIELDS:
        raise CorruptArtifactError("an array's header is malformed")
    names: list[str] = []
    formats: list[np.dtype[Any]] = []
    offsets: list[int] = []
    size = 0
    for field in described:
        if not isinstance(field, tuple) or len(field) != 2 or type(field[0]) is not str or type(field[1]) is not str:
            raise UnsupportedArtifactError("it has an array whose items are arrays, which no supported model needs")
        layout = _simple(field[1]).layout
        if layout is None:
            raise ArtifactNotAllowedError("it has an array with a field of objects: nothing was run")
        if field[0]:  # without a name it is padding
            names.append(field[0])
            formats.append(layout)
            offsets.append(size)
        size += layout.itemsize
    try:
        layout = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})
    except (TypeError, ValueError):
        raise CorruptArtifactError("a record's data type is malformed") from None
    return Dtype(f"V{size}", layout, is_object=False)


def _simple(text: str) -> Dtype:
    match = _DTYPE.fullmatch(text)
    if match is None:
        raise UnsupportedArtifactError("it has an array of a data type that no supported model needs")
    dtype = new_dtype(match[2] + match[3])
    if dtype.layout is not None and match[1] in "<>":
        dtype.layout = dtype.layout.newbyteorder("<" if match[1] == "<" else ">")
    return dtype
