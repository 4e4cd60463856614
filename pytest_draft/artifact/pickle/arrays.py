"""NumPy's data types and arrays, from the arguments that a file stores for them: `Dtype` and `Array`.

NumPy's own `dtype.__setstate__` trusts its state, so it is never given one: a data type is built from
a short list of exact patterns instead. The header of an ``.npy`` member is parsed here, too.
"""

from __future__ import annotations

import ast
import re
from typing import Any, TypeGuard

import numpy as np

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.container import Stream
from pytest_draft.artifact.records import Array, Dtype, Global, Mapping, Record
from pytest_draft.errors import ArtifactNotAllowedError, CorruptArtifactError, UnsupportedArtifactError

MAX_FIELDS = 64
"""Most fields of a record; those of scikit-learn's nodes have 7 or 8."""

_MAX_DIMENSIONS = 32
"""Most dimensions of an array; NumPy itself allowed as many before 2.0."""

_MAX_ITEM = 2**20
"""Most bytes of one item of an array."""

_USUAL = frozenset((None, *range(-1, 5), 8, 16, 24, 27, 63, 144, b"b", "b", b"D", b"ns", b"us", b"s"))
_USUAL_NAMES = frozenset(("MaskedArray", "matrix", "memmap", "ndarray", "object", "recarray"))
"""What NumPy, joblib and copyreg write where loading does not look: versions, alignments, flags, units, classes."""

_NUMBER = re.compile(r"b1|[iu][1248]|f(?:2|4|8|12|16)|c(?:8|16|24|32)", re.ASCII)
_SIZED = re.compile(r"[SUV](\d{1,7})", re.ASCII)
# Dates are kept as their 64-bit integers: nothing here needs their unit.
_DATE = re.compile(r"[Mm]8", re.ASCII)
_OBJECT = re.compile(r"O[48]?", re.ASCII)


def new_dtype(code: object) -> Dtype:
    """Return the record for ``numpy.dtype(code, ...)``.

    Parameters
    ----------
    code : object
        The call's first argument, such as ``"f8"``; `fill_dtype` adds byte order and fields.
    """
    if not isinstance(code, str):
        raise CorruptArtifactError("a data type's code is not a text")
    if _OBJECT.fullmatch(code):
        return Dtype(code, None, is_object=True)
    if _NUMBER.fullmatch(code):
        return Dtype(code, _built(code), is_object=False)
    if _DATE.fullmatch(code):
        return Dtype(code, np.dtype("i8"), is_object=False)
    sized = _SIZED.fullmatch(code)
    if sized and int(sized[1]) * (4 if code[0] == "U" else 1) <= _MAX_ITEM:
        return Dtype(code, _built(code), is_object=False)
    raise UnsupportedArtifactError("it has an array of a data type that no supported model needs")


def _built(code: str) -> np.dtype[Any]:
    try:
        return np.dtype(code)
    except TypeError:
        # Extended precision: which sizes exist depends on the platform.
        raise UnsupportedArtifactError("it has an array of a data type that this platform does not have") from None


def fill_dtype(dtype: Dtype, state: object) -> None:
    """Set a data type's byte order and fields, as ``dtype.__setstate__(state)`` would.

    Parameters
    ----------
    state : object
        ``(version, byte order, subarray, names, fields, item size, alignment, flags, ...)``.
    """
    if not isinstance(state, tuple) or not 8 <= len(state) <= 9 or dtype.is_filled:
        raise CorruptArtifactError("a data type's state is malformed")
    dtype.is_filled = True
    if any(isinstance(part, Mapping) and part.pairs for part in _flat(state[8:])):
        raise UnsupportedArtifactError("it has an array of a data type with metadata, which no model needs")
    _, order, subarray, names, fields, size, _, _ = state[:8]
    if order not in ("<", ">", "|", "="):
        raise CorruptArtifactError("a data type's byte order is malformed")
    if subarray is not None:
        raise UnsupportedArtifactError("it has an array whose items are arrays, which no supported model needs")
    if names is not None:
        dtype.layout = _record_layout(names, fields, size)
    elif fields is not None:
        raise CorruptArtifactError("a data type has fields without names")
    elif dtype.layout is not None and size not in (-1, dtype.layout.itemsize):
        raise CorruptArtifactError("a data type's size is malformed")
    elif dtype.layout is not None and order in ("<", ">"):
        dtype.layout = dtype.layout.newbyteorder(order)


def is_usual(*values: object) -> bool:
    """Return whether values that loading does not look at are such as are always there."""
    for value in values:
        if isinstance(value, Global):
            usual = value.name in _USUAL_NAMES and value.module in ("builtins", "numpy", "numpy.ma")
        elif isinstance(value, (tuple, Mapping)):
            usual = is_usual(*value) if isinstance(value, tuple) else not value.pairs
        else:
            usual = isinstance(value, (int, str, bytes, type(None))) and value in _USUAL
        if not usual:
            return False
    return True


def _flat(state: tuple[object, ...]) -> list[object]:
    """Return what stands in a tuple, and in the tuples right in it."""
    return [part for item in state for part in (item if isinstance(item, tuple) else (item,))]


def _record_layout(names: object, fields: object, size: object) -> np.dtype[Any]:
    if not isinstance(names, tuple) or not isinstance(fields, Mapping) or not _is_size(size):
        raise CorruptArtifactError("a record's data type is malformed")
    described = fields.texts()
    if not 0 < len(names) <= MAX_FIELDS or len(described) != len(names):
        raise CorruptArtifactError(f"a record's data type does not have 1 to {MAX_FIELDS} fields")
    if any(type(name) is not str for name in names) or len(set(names)) != len(names):
        raise CorruptArtifactError("a record's data type has fields that are not named, each differently")
    placed = [_field(described.get(name), size) for name in names]
    layouts, offsets = [layout for layout, _ in placed], [offset for _, offset in placed]
    try:
        layout: np.dtype[Any] = np.dtype(
            {"names": list(names), "formats": layouts, "offsets": offsets, "itemsize": size}
        )
    except (TypeError, ValueError):
        raise CorruptArtifactError("a record's data type is malformed") from None
    return layout


def _field(description: object, size: int) -> tuple[np.dtype[Any], int]:
    if not isinstance(description, tuple) or len(description) != 2:
        raise CorruptArtifactError("a record's field is malformed")
    dtype, offset = description[:2]
    if not isinstance(dtype, Dtype) or not _is_size(offset):
        raise CorruptArtifactError("a record's field is malformed")
    if dtype.layout is None or dtype.layout.names is not None:
        raise UnsupportedArtifactError("it has an array with a field that is not a number or a text")
    if offset + dtype.layout.itemsize > size:
        raise CorruptArtifactError("a record's field lies outside its record")
    return dtype.layout, offset


def _is_size(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= _MAX_ITEM


def fill_array(array: Array, state: object) -> None:
    """Fill an array, as ``ndarray.__setstate__(state)`` would.

    Parameters
    ----------
    array : Array
        Made by ``_reconstruct`` and still empty.
    state : object
        ``(version, shape, dtype, is Fortran order, bytes or list of objects)``.
    """
    if not isinstance(state, tuple) or len(state) != 5:
        raise CorruptArtifactError("an array's state is malformed")
    _, shape, dtype, fortran, content = state
    if array.data is not None or array.items is not None:
        raise CorruptArtifactError("an array is filled twice")
    count = set_shape(array, shape)
    if not isinstance(dtype, Dtype) or type(fortran) is not bool:
        raise CorruptArtifactError("an array's state is malformed")
    if dtype.is_object:
        if not isinstance(content, list) or len(content) != count:
            raise CorruptArtifactError("an array of objects does not have as many objects as its shape says")
        array.items = content
    else:
        array.data = decode(content, dtype, array.shape, "F" if fortran else "C")


def set_shape(array: Array, shape: object) -> int:
    """Check and set an array's shape; return the number of its items."""
    if not isinstance(shape, tuple) or len(shape) > _MAX_DIMENSIONS:
        raise CorruptArtifactError("an array's shape is malformed")
    count = 1
    for length in shape:
        if type(length) is not int or not 0 <= length < 2**62:
            raise CorruptArtifactError("an array's shape is malformed")
        count *= length
    array.shape = shape
    return count


def decode(content: object, dtype: Dtype, shape: tuple[int, ...], order: str) -> AnyArray:
    """Return an array over bytes of the file, without copying them.

    It is read-only.

    Parameters
    ----------
    content : bytes-like
        Exactly the array's bytes.
    dtype : Dtype
        Not of objects.
    shape : tuple of int
        As `set_shape` has checked it.
    order : {"C", "F"}
    """
    if not isinstance(content, bytes | bytearray | memoryview):
        raise CorruptArtifactError("an array's content is not bytes")
    size = array_bytes(dtype, shape)
    if len(content) != size:
        raise CorruptArtifactError(f"an array has {len(content)} bytes instead of the {size} of its shape")
    layout = _layout(dtype)
    if size == 0:
        return _without_items(layout, shape)
    flat = np.frombuffer(content, layout)
    array = flat.reshape(shape, order="F" if order == "F" else "C")
    array.setflags(write=False)
    return array


def _layout(dtype: Dtype) -> np.dtype[Any]:
    if dtype.layout is None:
        raise ArtifactNotAllowedError("it makes objects from raw bytes: nothing was run")
    return dtype.layout


def array_bytes(dtype: Dtype, shape: tuple[int, ...]) -> int:
    """Return how many bytes an array has."""
    size = _layout(dtype).itemsize
    if size == 0 and 0 not in shape:
        raise UnsupportedArtifactError("it has an array whose items have no bytes")
    for length in shape:
        size *= length
    return size


def _without_items(layout: np.dtype[Any], shape: tuple[int, ...]) -> AnyArray:
    try:
        return np.zeros(shape, layout)
    except ValueError:
        raise CorruptArtifactError("an array's shape is malformed") from None


def from_buffer(content: object, dtype: object, shape: object, order: object) -> Array:
    """Return the array of ``numpy._core.numeric._frombuffer`` (protocol 5)."""
    array = Array()
    count = set_shape(array, shape)
    if not isinstance(dtype, Dtype) or order not in ("C", "F"):
        raise CorruptArtifactError("an array's state is malformed")
    if dtype.is_object and count:
        raise ArtifactNotAllowedError("it makes an array of objects from bytes: nothing was run")
    array.data = decode(content, dtype, array.shape, str(order))
    return array


def scalar(dtype: object, content: object, budget: Budget) -> object:
    """Return the plain Python value of ``numpy._core.multiarray.scalar(dtype, content)``."""
    if not isinstance(dtype, Dtype):
        raise CorruptArtifactError("a NumPy scalar is malformed")
    if dtype.layout is None:
        raise ArtifactNotAllowedError("it makes a NumPy scalar that is an object (a raw pointer): nothing was run")
    if dtype.layout.names is not None or dtype.code[0] == "V":
        raise UnsupportedArtifactError("it has a NumPy scalar that is a record, which no supported model needs")
    budget.spend_copy(dtype.layout.itemsize)
    value: object = decode(content, dtype, (), "C").item()
    return value


# joblib writes the bytes of an array after the instruction that fills its `NumpyArrayWrapper`.
WRAPPERS = {("joblib.numpy_pickle", "NumpyArrayWrapper")}
OLD_WRAPPERS = {
    (module, name)
    for module in ("joblib.numpy_pickle", "joblib.numpy_pickle_compat")
    for name in ("NDArrayWrapper", "ZNDArrayWrapper")
}


_OF_WRAPPERS = {"dtype", "order", "shape", "numpy_array_alignment_bytes", "allow_mmap", "subclass"}
_ALIGNED = 16


class Wrapped:
    """One joblib array: its description, before its bytes are read.

    Parameters
    ----------
    wrapper : Record
        A filled `NumpyArrayWrapper`.
    """

    def __init__(self, wrapper: Record) -> None:
        fields = wrapper.attributes()
        dtype = fields.get("dtype")
        order = fields.get("order")
        if not isinstance(dtype, Dtype) or order not in ("C", "F") or not isinstance(fields.get("subclass"), Global):
            raise CorruptArtifactError("a joblib array is malformed")
        self.array = Array()
        self.count = set_shape(self.array, fields.get("shape"))
        self.dtype = dtype
        self._order = str(order)
        self._padded = fields.get("numpy_array_alignment_bytes") is not None
        others = [value for name, value in fields.items() if name not in ("dtype", "order", "shape")]
        self.is_usual = fields.keys() <= _OF_WRAPPERS and is_usual(*others, *wrapper.args, *wrapper.appended)
        """Whether all that is not looked at is as joblib writes it; `read` looks at the bytes before the array, too."""

    def read(self, stream: Stream) -> Array:
        """Read the array's bytes; for an array of numbers, texts or records."""
        if self._padded:
            padding = stream.take(1, "an array's padding")[0]
            wanted = _ALIGNED - stream.tell() % _ALIGNED
            self.is_usual &= bytes(stream.take(padding, "an array's padding")) == b"\xff" * wanted
        size = array_bytes(self.dtype, self.array.shape)
        content = stream.take(size, f"an array of {_megabytes(size)}")
        self.array.data = decode(content, self.dtype, self.array.shape, self._order)
        return self.array


def _megabytes(size: int) -> str:
    return f"{size} bytes" if size < 10_000 else f"{size / 1e6:.4g} MB"


def reencoded(text: object, encoding: object, budget: Budget) -> bytes:
    """Return the bytes of ``_codecs.encode(text, "latin1")``, which is how protocol 2 spells bytes."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1", "iso-8859-1"):
        raise ArtifactNotAllowedError("it asks for a codec other than latin1: nothing was run")
    budget.spend_copy(len(text))
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise CorruptArtifactError("bytes are written as a text that is not latin1") from None


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
