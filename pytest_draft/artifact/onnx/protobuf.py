"""Protocol buffers: a message's bytes become its fields by number. The caller knows what each field means.

The wire format alone (protobuf.dev/programming-guides/encoding): varints, numbers of 4 and 8 bytes, and what has a
length. Long runs of one numeric field, as trees are written in, are decoded by NumPy.
"""

from __future__ import annotations

import numpy as np

from pytest_draft.arrays import AnyArray, FloatArray, IntArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.errors import CorruptArtifactError

_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5
_LONGEST = 10
"""Most bytes of a varint."""

_OF_MESSAGE = 16
"""As how many fields a message counts by itself, and a look for a run."""

_OF_SHORT = 8
"""As how many fields a part counts that is so short that a small file can have very many."""

_SHORTEST = 4
"""Bytes of a part that counts as one field, such as the kind of a leaf."""

_FIRST = 256
"""Bytes of the first look for a run; each further look is at twice as many."""


class Message:
    """A message, split into its fields.

    Parameters
    ----------
    content : memoryview
        Exactly its bytes.
    budget : Budget
        Charged for each field, and for runs of numbers by their size.

    Raises
    ------
    ArtifactError
        If it is damaged, too big, or of a kind that is not covered.
    """

    def __init__(self, content: memoryview, budget: Budget) -> None:
        budget.spend_opcode(_OF_MESSAGE)
        self._content = content
        self._bytes = np.frombuffer(content, np.uint8)
        self._budget = budget
        self._numbers: dict[int, list[AnyArray]] = {}
        self._parts: dict[int, list[memoryview]] = {}
        at = 0
        while at < len(content):
            budget.spend_opcode()
            at = self._field(at)

    def __contains__(self, number: int) -> bool:
        return number in self._numbers or number in self._parts

    @property
    def field_numbers(self) -> frozenset[int]:
        """The numbers of the fields that it has."""
        return frozenset(self._numbers) | frozenset(self._parts)

    def parts(self, number: int) -> list[memoryview]:
        """Return what has a length, of a field that can be repeated."""
        return self._parts.get(number, [])

    def messages(self, number: int) -> list[Message]:
        """Return the messages of a field that can be repeated."""
        return [Message(part, self._budget) for part in self.parts(number)]

    def message(self, number: int) -> Message | None:
        """Return the message of a field, None where it is missing.

        Raises
        ------
        CorruptArtifactError
            If there are several: readers would not agree which one counts.
        """
        found = self.parts(number)
        if len(found) > 1:
            raise CorruptArtifactError("its ONNX has a part twice that can be there once")
        return Message(found[0], self._budget) if found else None

    def text(self, number: int) -> str:
        """Return a field's text, the last one as readers take it; empty where it is missing."""
        found = self.parts(number)
        return as_text(found[-1]) if found else ""

    def integers(self, number: int) -> IntArray:
        """Return a field's whole numbers, packed or one by one, as signed ones of 64 bits."""
        arrays = [array for array in self._numbers.get(number, []) if array.dtype == np.uint64]
        for part in self.parts(number):
            found = np.frombuffer(part, np.uint8)
            self._budget.spend_copy(8 * len(found))
            starts, ends = _limits(found)
            if len(found) and (not len(ends) or ends[-1] != len(found) - 1):
                raise _damaged()
            arrays.append(_varints(found, starts, ends))
        return np.concatenate(arrays).view(np.int64) if arrays else np.zeros(0, np.int64)

    def integer(self, number: int, default: int = 0) -> int:
        """Return a field's whole number, the last one as readers take it."""
        found = self.integers(number)
        return int(found[-1]) if len(found) else default

    def floats(self, number: int, kind: str = "<f4") -> FloatArray:
        """Return a field's floating-point numbers, packed or one by one, as numbers of 64 bits.

        Parameters
        ----------
        kind : {"<f4", "<f8"}
        """
        size = np.dtype(kind).itemsize
        arrays = [array.view(kind) for array in self._numbers.get(number, []) if array.dtype == f"V{size}"]
        for part in self.parts(number):
            if len(part) % size:
                raise _damaged()
            arrays.append(np.frombuffer(part, kind))
        self._budget.spend_copy(8 * sum(map(len, arrays)))
        return np.concatenate(arrays).astype(np.float64) if arrays else np.zeros(0)

    def _field(self, at: int) -> int:
        """Note the field, or the run of one field's numbers, at a position; return where it ends."""
        tag, start = self._varint(at)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 2**29:
            raise _damaged()
        if wire == _LENGTH:
            length, start = self._varint(start)
            if length > len(self._content) - start:
                raise _damaged()
            if length < _SHORTEST:
                self._budget.spend_opcode(_OF_SHORT)
            self._parts.setdefault(number, []).append(self._content[start : start + length])
            return start + length
        if wire == _VARINT:
            run, end = self._run_of_varints(at, tag, start)
        elif wire in (_EIGHT, _FOUR):
            run, end = self._run_of_numbers(at, tag, start, 8 if wire == _EIGHT else 4)
        else:
            raise _damaged()
        self._numbers.setdefault(number, []).append(run)
        return end

    def _varint(self, at: int) -> tuple[int, int]:
        if at < len(self._content) and self._content[at] < 128:
            return self._content[at], at + 1
        value = 0
        for index, byte in enumerate(self._content[at : at + _LONGEST]):
            value |= (byte & 127) << (7 * index)
            if byte < 128:
                if value >= 2**64:
                    break
                return value, at + index + 1
        raise _damaged()

    def _run_of_varints(self, at: int, tag: int, start: int) -> tuple[AnyArray, int]:
        """Return the whole numbers of one field that follow each other, and where they end."""
        value, end = self._varint(start)
        runs, size = [np.array([value], np.uint64)], _FIRST
        while tag < 128 and end < len(self._content) and self._content[end] == tag:
            self._budget.spend_opcode(_OF_MESSAGE)
            window = self._bytes[end : end + size]
            starts, ends = _limits(window)
            pairs = len(ends) // 2
            tags = starts[0 : 2 * pairs : 2]
            good = (ends[0 : 2 * pairs : 2] == tags) & (window[tags] == tag)
            count = pairs if good.all() else int(np.argmin(good))
            if not count:
                break
            self._budget.spend_copy(8 * count)
            runs.append(_varints(window, starts[1 : 2 * count : 2], ends[1 : 2 * count : 2]))
            end += int(ends[2 * count - 1]) + 1
            if count < pairs:
                break
            size *= 2
        return np.concatenate(runs), end

    def _run_of_numbers(self, at: int, tag: int, start: int, width: int) -> tuple[AnyArray, int]:
        """Return the numbers of 4 or 8 bytes of one field that follow each other, and where they end."""
        step = start - at + width
        if len(self._bytes) - at < step:
            raise _damaged()
        count, size = 1, _FIRST
        head = self._bytes[at:start]
        while step <= len(self._content) - at - count * step and self._content[at + count * step] == head[0]:
            self._budget.spend_opcode(_OF_MESSAGE)
            from_here = self._bytes[at + count * step :]
            window = from_here[: min(size, len(from_here) // step) * step].reshape(-1, step)
            good = (window[:, : start - at] == head).all(axis=1)
            found = len(good) if good.all() else int(np.argmin(good))
            count += found
            if not len(good) or found < len(good):
                break
            size *= 2
        records = self._bytes[at : at + count * step].reshape(count, step)[:, start - at :]
        self._budget.spend_copy(records.size)
        return np.ascontiguousarray(records).view(f"V{width}").ravel(), at + count * step


def as_text(part: memoryview) -> str:
    """Return a text.

    Raises
    ------
    CorruptArtifactError
        If it is not UTF-8.
    """
    try:
        return bytes(part).decode("utf-8")
    except UnicodeDecodeError:
        raise CorruptArtifactError("a text in its ONNX is not UTF-8") from None


def _limits(content: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return where each varint starts and ends (at its last byte); an incomplete one at the end is left out."""
    ends = np.flatnonzero(content < 128)
    return np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1)) if len(ends) else ends, ends


def _varints(content: AnyArray, starts: AnyArray, ends: AnyArray) -> AnyArray:
    """Return the varints between limits as unsigned whole numbers."""
    lengths = ends - starts + 1
    values = np.zeros(len(starts), np.uint64)
    longest = int(lengths.max(initial=0))
    if longest > _LONGEST:
        raise _damaged()
    for index in range(longest):
        longer = lengths > index
        values[longer] |= (content[starts[longer] + index] & 127).astype(np.uint64) << np.uint64(7 * index)
    return values


def _damaged() -> CorruptArtifactError:
    return CorruptArtifactError("its ONNX is damaged: copy or convert it again")
