"""Decodes Universal Binary JSON, as XGBoost writes it, without recursion and within a budget."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pytest_draft.artifact.budget import Budget
from pytest_draft.errors import CorruptArtifactError, one_line

_NUMBERS = {
    mark: np.dtype(code)
    for mark, code in {
        b"i": "i1",
        b"U": "u1",
        b"I": ">i2",
        b"l": ">i4",
        b"L": ">i8",
        b"d": ">f4",
        b"D": ">f8",
    }.items()
}
_INTEGERS = {mark: kind.itemsize for mark, kind in _NUMBERS.items() if kind.kind in "iu"}
_PLAIN = {b"Z": None, b"T": True, b"F": False}
_NONE_YET = object()


class _Container:
    """An object or a list whose end has not come yet."""

    __slots__ = ("holds", "left")

    def __init__(self, holds: dict[str, Any] | list[Any], left: int | None) -> None:
        self.holds = holds
        self.left = left
        """How many values are still to come; None where a mark ends it."""


class _Decoder:
    def __init__(self, packed: bytes, budget: Budget) -> None:
        self._packed = packed
        self._view = memoryview(packed)
        self._budget = budget
        self._at = 0
        self._open: list[_Container] = []

    def document(self) -> object:
        """Return the one value that the bytes hold."""
        value = self._value(self._take(1))
        while self._open:
            value = self._next()
        if self._at != len(self._packed):
            raise CorruptArtifactError(f"{len(self._packed) - self._at} bytes follow the end of its UBJSON")
        return value

    def _next(self) -> object:
        """Read on in the innermost container; return it where that was its end, so at last the outermost one."""
        inner = self._open[-1]
        ends = inner.left == 0
        mark = b""
        if inner.left is None:
            mark = self._take(1)
            ends = mark == (b"}" if isinstance(inner.holds, dict) else b"]")
        if ends:
            self._open.pop()
            return inner.holds
        if inner.left is not None:
            inner.left -= 1
        if isinstance(inner.holds, dict):
            key = self._text(mark or self._take(1))
            if key in inner.holds:
                raise CorruptArtifactError(f"an object of its UBJSON has the key {one_line(key, 80)} twice")
            inner.holds[key] = self._value(self._take(1))
        else:
            inner.holds.append(self._value(mark or self._take(1)))
        return _NONE_YET

    def _value(self, mark: bytes) -> object:
        """Return the value behind a mark; of an object or a list its still empty beginning."""
        self._budget.spend_opcode()
        if mark in _PLAIN:
            return _PLAIN[mark]
        if mark in _NUMBERS:
            return self._number(mark)
        if mark == b"S":
            return self._text(self._take(1))
        if mark == b"C":
            return chr(self._take(1)[0])
        if mark == b"{":
            return self._begun({})
        if mark == b"[":
            return self._list()
        raise self._corrupt("a mark that stands for no value")

    def _list(self) -> object:
        kind = None
        if self._packed[self._at : self._at + 1] == b"$":
            self._at += 1
            kind = _NUMBERS.get(self._take(1))
            if kind is None or self._packed[self._at : self._at + 1] != b"#":
                raise self._corrupt("a typed list of no kind of number, or of no length")
        if self._packed[self._at : self._at + 1] != b"#":
            return self._begun([])
        self._at += 1
        count = self._length(self._take(1))
        if kind is None:
            return self._begun([], count)
        if kind == _NUMBERS[b"D"]:
            self._budget.note("numbers in double precision, which XGBoost writes in single", f"byte {self._at}")
        size = count * kind.itemsize
        if size > len(self._packed) - self._at:
            raise self._corrupt("a list that is longer than the rest of it")
        self._budget.spend_copy(size)
        numbers = np.frombuffer(self._view[self._at : self._at + size], kind)
        self._at += size
        return numbers.astype(kind.newbyteorder("="))

    def _begun(self, holds: dict[str, Any] | list[Any], left: int | None = None) -> object:
        if left is not None and left > len(self._packed) - self._at:
            raise self._corrupt("a list that is longer than the rest of it")
        self._open.append(_Container(holds, left))
        self._budget.visit(len(self._open))
        return holds

    def _number(self, mark: bytes) -> int | float:
        kind = _NUMBERS[mark]
        number: int | float = np.frombuffer(self._take(kind.itemsize), kind)[0].item()
        if isinstance(number, float) and not math.isfinite(number):
            raise self._corrupt("a number that is not finite")
        return number

    def _length(self, mark: bytes) -> int:
        size = _INTEGERS.get(mark)
        if size is None:
            raise self._corrupt("a length that is no whole number")
        length = int.from_bytes(self._take(size), "big", signed=mark != b"U")
        if length < 0:
            raise self._corrupt("a negative length")
        return length

    def _text(self, mark: bytes) -> str:
        raw = self._take(self._length(mark))
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            raise self._corrupt("a text that is not UTF-8") from None
        self._budget.spend_text(text)
        return text

    def _take(self, size: int) -> bytes:
        piece = self._packed[self._at : self._at + size]
        if len(piece) != size:
            raise CorruptArtifactError("its UBJSON ends too early: copy or train it again")
        self._at += size
        return piece

    def _corrupt(self, what: str) -> CorruptArtifactError:
        return CorruptArtifactError(f"its UBJSON has, at byte {self._at} of {len(self._packed)}, {what}")


def decode(packed: bytes, budget: Budget) -> object:
    """Return what Universal Binary JSON says.

    Parameters
    ----------
    packed : bytes
        One value, and nothing behind it.
    budget : Budget
        Steps, copied bytes and depth are counted.

    Returns
    -------
    object
        Dicts, lists, texts, numbers, booleans and None; a list of numbers of one type as an array in native byte
        order, whose numbers need not be finite.

    Raises
    ------
    ArtifactError
        If it is damaged, too big, or of a kind that is not covered.
    """
    return _Decoder(packed, budget).document()
