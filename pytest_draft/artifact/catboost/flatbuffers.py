"""FlatBuffers: a table's bytes become its fields by number, each checked to lie inside. The caller knows the schema.

The layout alone (flatbuffers.dev/internals): a table begins with the distance back to its list of offsets; vectors and
texts begin with their length; whatever is no number is reached by an offset from where that offset stands.
"""

from __future__ import annotations

import struct

import numpy as np

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.errors import CorruptArtifactError

_WIDEST = 8
"""Bytes of the widest field."""

_OF_TABLE = 16
"""As how many steps a table counts."""


class Table:
    """A table.

    Parameters
    ----------
    content : bytes
        Of the whole buffer.
    at : int
        Where the table begins.
    budget : Budget
        Charged for each table, and for vectors and texts by their size.

    Raises
    ------
    ArtifactError
        If it is damaged, too big, or of a kind that is not covered.
    """

    def __init__(self, content: bytes, at: int, budget: Budget, read: list[tuple[int, int]] | None = None) -> None:
        budget.spend_opcode(_OF_TABLE)
        self._content = content
        self._at = at
        self._budget = budget
        self._read = [(0, 4)] if read is None else read
        self._offsets = at - int(self._number(at, "<i"))
        self._size = int(self._number(self._offsets, "<H"))
        if self._size < 4 or self._size % 2 or self._offsets + self._size > len(content):
            raise _damaged()
        width, *fields = np.frombuffer(content, "<u2", self._size // 2 - 1, self._offsets + 2).tolist()
        if 0 <= width - max(fields, default=4) <= _WIDEST:
            self._read.append((self._offsets + 2, self._offsets + 4))

    @classmethod
    def root(cls, content: bytes, budget: Budget) -> Table:
        """Return a buffer's outermost table."""
        if len(content) < 4:
            raise _damaged()
        return cls(content, int(struct.unpack_from("<I", content)[0]), budget)

    @property
    def unread(self) -> int | None:
        """The place of the first byte of the whole buffer that nobody has read and that is not 0; None for none."""
        rest = np.frombuffer(self._content, np.uint8) != 0
        for start, end in self._read:
            rest[start:end] = False
        return int(np.argmax(rest)) if rest.any() else None

    def number(self, field: int, kind: str, default: float) -> float:
        """Return a number.

        Parameters
        ----------
        kind : str
            As `struct` names it: ``<i``, ``<d``, ``<b`` and so on.
        default : float
            What stands for it where it is not stored.
        """
        at = self._field(field)
        return default if at is None else self._number(at, kind)

    def vector(self, field: int, kind: str) -> AnyArray:
        """Return a vector of numbers, empty where it is not stored; the kind is NumPy's, such as ``<f8``."""
        start, count = self._limits(field, np.dtype(kind).itemsize)
        self._budget.spend_copy(count * 8)
        return np.frombuffer(self._content, kind, count, start)

    def text(self, field: int) -> str:
        """Return a text, empty where it is not stored."""
        start, count = self._limits(field, 1)
        self._budget.spend_copy(count)
        try:
            return self._content[start : start + count].decode("utf-8")
        except UnicodeDecodeError:
            raise CorruptArtifactError("a text in its FlatBuffers is not UTF-8") from None

    def table(self, field: int) -> Table | None:
        """Return a table, None where it is not stored."""
        at = self._field(field)
        return None if at is None else Table(self._content, at + int(self._number(at, "<I")), self._budget, self._read)

    def tables(self, field: int) -> list[Table]:
        """Return the tables of a vector."""
        start, count = self._limits(field, 4)
        places = range(start, start + 4 * count, 4)
        return [Table(self._content, at + int(self._number(at, "<I")), self._budget, self._read) for at in places]

    def length(self, field: int) -> int:
        """Return how many items a vector has, of whatever kind; 0 where it is not stored."""
        return self._limits(field, 0)[1]

    @property
    def n_fields(self) -> int:
        """How many fields its list of offsets has room for."""
        return self._size // 2 - 2

    def _limits(self, field: int, width: int) -> tuple[int, int]:
        """Return where the items of a vector begin, and how many they are."""
        at = self._field(field)
        if at is None:
            return 0, 0
        start = at + int(self._number(at, "<I"))
        count = int(self._number(start, "<I"))
        if count * width > len(self._content) - start - 4:
            raise _damaged()
        self._read.append((start + 4, start + 4 + count * width))
        return start + 4, count

    def _field(self, field: int) -> int | None:
        """Return where a field stands, None where it is not stored."""
        place = 4 + 2 * field
        if place + 2 > self._size:
            return None
        offset = int(self._number(self._offsets + place, "<H"))
        return self._at + offset if offset else None

    def _number(self, at: int, kind: str) -> float:
        if not 0 <= at <= len(self._content) - struct.calcsize(kind):
            raise _damaged()
        value: float = struct.unpack_from(kind, self._content, at)[0]
        self._read.append((at, at + struct.calcsize(kind)))
        return value


def _damaged() -> CorruptArtifactError:
    return CorruptArtifactError("its FlatBuffers are damaged: copy or save it again")
