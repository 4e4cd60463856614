"""Damage of pickles: in goes a stream of instructions, out comes another one, changed by whole instructions."""

from __future__ import annotations

import io
import pickletools
import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.budget import DEFAULT_LIMITS, Budget
from pytest_draft.artifact.container import Stream
from pytest_draft.artifact.pickle.interpreter import interpret
from pytest_draft.artifact.records import Array, Mapping, Record
from pytest_draft.errors import ArtifactError
from studies.fuzz.damage import FLOATS, NAMES, NUMBERS, Chance, bytes_damaged

_HOSTILE = (
    b"cos\nsystem\n",
    b"cbuiltins\neval\n",
    b"cnumpy\ndtype\n",
    b"csklearn.tree._tree\nTree\n",
    b"c_codecs\nencode\n",
    b"cnumpy._core.multiarray\n_reconstruct\n",
    b"cnumpy._core.multiarray\nscalar\n",
    b"cnumpy._core.numeric\n_frombuffer\n",
    b"ccopyreg\n_reconstructor\n",
    b"cjoblib.numpy_pickle\nNumpyArrayWrapper\n",
    b"cbuiltins\nslice\n",
    b"cpandas.core.indexes.base\n_new_Index\n",
)
"""Names that a file may hold, or may not call. None of them is imported or called by whoever reads a mutant."""

_SHORTEST = 8
"""Bytes of an array that is told from others by its content."""

_MOST_PADDING = 16
"""Bytes before an array of joblib; no instruction is one of these numbers."""

_PLAIN = tuple(code.code.encode("latin-1") for code in pickletools.opcodes if code.arg is None and code.name != "STOP")
"""Instructions without an argument."""


@lru_cache(maxsize=256)
def instructions(content: bytes) -> tuple[bytes, ...]:
    """Return the instructions of a pickle that can be read, each with its argument and joblib's bytes behind it."""
    starts = {start: end for start, end, _ in arrays_in(content)} if b"NumpyArrayWrapper" in content else {}
    stream = io.BytesIO(content)
    found: list[bytes] = []
    while stream.tell() < len(content):  # an array of objects is a pickle of its own
        for _, _, position in pickletools.genops(stream):
            at = stream.tell()
            if b"NumpyArrayWrapper" in content and content[at : at + 1] and content[at] <= _MOST_PADDING:
                start = at + 1 + content[at]  # joblib's array, behind the number of bytes before it
                stream.seek(starts.get(start, start))  # an empty one stands nowhere
            found.append(content[position or 0 : stream.tell()])
    return tuple(found)


@lru_cache(maxsize=256)
def arrays_in(content: bytes) -> tuple[tuple[int, int, np.dtype[Any]], ...]:
    """Return where the arrays of a readable pickle stand: their first byte, the byte behind them, and their type."""
    budget = Budget(DEFAULT_LIMITS, len(content))
    try:
        root = interpret(Stream(content, line_bytes=DEFAULT_LIMITS.line_bytes, unpacked=False), budget)
    except ArtifactError:
        return ()
    found = []
    base = np.frombuffer(content, np.uint8).ctypes.data
    for array in _arrays(root):
        raw, at = array.tobytes("A"), array.ctypes.data - base  # joblib's arrays are read where they stand
        if not 0 <= at < len(content):
            at = content.find(raw) if len(raw) >= _SHORTEST else -1
        if at >= 0:
            found.append((at, at + len(raw), array.dtype))
    return tuple(found)


def _arrays(root: object) -> Iterator[AnyArray]:
    """Yield the arrays of numbers, texts and records below a record."""
    seen: set[int] = set()
    todo: list[object] = [root]
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Array):
            if one.data is not None:
                yield one.data
            todo += one.items or ()
        elif isinstance(one, Record):
            todo += (one.state, one.set_items, *one.args, *one.appended)
        elif isinstance(one, Mapping):
            todo += (value for _, value in one.pairs)
        elif isinstance(one, (list, tuple)):
            todo += one


def instructions_damaged(content: bytes, chance: Chance, others: Sequence[bytes]) -> bytes:
    """Drop, repeat, swap, replace or insert instructions, or take some of another file."""
    try:
        codes = list(instructions(content))
    except ValueError:  # what is no pickle any more
        return bytes_damaged(content, chance, others)
    if len(codes) < 3:
        return bytes_damaged(content, chance, others)
    at = chance.randrange(1, len(codes) - 1)
    length = min(chance.choice((1, 1, 1, 2, 3, 8, 30)), len(codes) - 1 - at)
    action = chance.randrange(8)
    if action == 0:
        del codes[at : at + length]
    elif action == 1:
        to = chance.randrange(1, len(codes))
        codes[to:to] = codes[at : at + length] * chance.choice((1, 1, 2, 20))
    elif action == 2:
        to = chance.randrange(1, len(codes) - 1)
        codes[at], codes[to] = codes[to], codes[at]
    elif action == 3:
        codes[at] = chance.choice(codes)
    elif action == 4:
        other = instructions(chance.choice(others))
        start = chance.randrange(len(other))
        codes[at : at + chance.choice((0, length))] = other[start : start + length]
    elif action == 5:
        codes[at : at + chance.choice((0, 1))] = [chance.choice(_PLAIN)]
    else:
        atoms = [index for index, code in enumerate(codes[:-1]) if code[:1] in _ATOMS]
        at = chance.choice(atoms) if atoms else at
        codes[at] = _atom(chance)
    return b"".join(codes)


_ATOMS = frozenset(bytes([byte]) for byte in b"KMJ\x8aGX\x8cUN\x88\x89CB\x8ecI")
"""First bytes of numbers, texts, bytes, truth values, None and names."""


def _atom(chance: Chance) -> bytes:
    """Return an instruction that leaves one thing on the stack."""
    action = chance.randrange(6)
    if action == 0:
        number = chance.choice(NUMBERS) + chance.choice((-1, 0, 1))
        raw = number.to_bytes(9, "little", signed=True)
        return b"\x8a" + bytes([len(raw)]) + raw
    if action == 1:
        return b"K" + bytes([chance.randrange(16)])
    if action == 2:
        return b"G" + struct.pack(">d", chance.choice(FLOATS))
    if action == 3:
        raw = chance.choice(NAMES).encode("utf-8", "surrogatepass")
        return b"X" + struct.pack("<I", len(raw)) + raw
    if action == 4:
        return chance.choice(_HOSTILE)
    return chance.choice((b"N", b")", b"]", b"}", b"\x88", b"\x89", b"\x8f", b"C\x04abcd"))


def arrays_damaged(content: bytes, chance: Chance, others: Sequence[bytes]) -> bytes:
    """Change items of the arrays in a pickle: children, columns, thresholds, counts, values, names, classes."""
    found = [one for one in arrays_in(content) if one[1] > one[0]]
    if not found:
        return instructions_damaged(content, chance, others)
    result = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        start, end, dtype = chance.choice(found)
        held = result[start:end]  # changed in place: a copy of records would not copy what lies between their fields
        items = np.frombuffer(held, dtype)
        column = items[chance.choice(dtype.names)] if dtype.names else items
        one, other = chance.randrange(len(items)), chance.randrange(len(items))
        action = chance.randrange(6)
        if action == 0:
            column[[one, other]] = column[[other, one]]
        elif action == 1:
            column[one] = column[other]
        elif action == 2:
            items[[one, other]] = items[[other, one]]
        else:
            column[one] = _value(column, one, chance)
        result[start:end] = held
    return bytes(result)


def _value(column: AnyArray, at: int, chance: Chance) -> object:
    """Return what an item of an array becomes."""
    kind = column.dtype.kind
    if kind == "f":
        near = [float(column[at]) * factor for factor in (-1.0, 2.0, 1.0 + 2**-40, 1.0 + 2**-10)]
        return chance.choice((*FLOATS, *near, float(chance.choice(column))))
    if kind in "iu":
        limits = np.iinfo(column.dtype)
        number = chance.choice((*NUMBERS, int(column[at]) + 1, int(column[at]) - 1, chance.randrange(len(column) + 1)))
        return min(max(number, int(limits.min)), int(limits.max))
    if kind in "SU":
        return chance.choice(NAMES).encode("ascii", "ignore") if kind == "S" else chance.choice(NAMES[:-3])
    return np.frombuffer(chance.randbytes(column.dtype.itemsize), column.dtype)[0]
