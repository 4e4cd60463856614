"""Damage of protocol buffers: in goes a message, out comes one whose fields, lengths or wire types are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from studies.fuzz.damage import NUMBERS, Chance, bytes_damaged

_DEEPEST = 6
_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5


@dataclass(frozen=True)
class _Field:
    """One field: its number, its wire type, and what it holds; of a message its fields."""

    number: int
    wire: int
    content: bytes
    inner: tuple[_Field, ...] | None = None

    def written(self) -> bytes:
        content = self.content if self.inner is None else b"".join(field.written() for field in self.inner)
        length = varint(len(content)) if self.wire == _LENGTH else b""
        return varint(self.number << 3 | self.wire) + length + content


def varint(value: int) -> bytes:
    """Return a whole number as a varint."""
    value &= 2**64 - 1
    result = bytearray()
    while value > 127:
        result.append(value & 127 | 128)
        value >>= 7
    result.append(value)
    return bytes(result)


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _fields(content: bytes, depth: int = 0) -> tuple[_Field, ...] | None:
    """Return the fields of a message; None for what is none."""
    found: list[_Field] = []
    at = 0
    try:
        while at < len(content):
            tag, at = _read_varint(content, at)
            start = at
            if tag & 7 == _VARINT:
                _, at = _read_varint(content, at)
            elif tag & 7 == _LENGTH:
                length, start = _read_varint(content, at)
                at = start + length
            elif tag & 7 in (_EIGHT, _FOUR):
                at += 8 if tag & 7 == _EIGHT else 4
            else:
                return None
            if at > len(content) or not 0 < tag >> 3 < 2000:
                return None
            held = content[start:at]
            inner = _fields(held, depth + 1) if tag & 7 == _LENGTH and depth < _DEEPEST and len(held) > 1 else None
            found.append(_Field(tag >> 3, tag & 7, held, inner))
    except IndexError:
        return None
    return tuple(found)


def protobuf_damaged(content: bytes, chance: Chance, others: Sequence[bytes]) -> bytes:
    """Drop, repeat, swap, renumber, resize, retype, nest or replace a field at some depth."""
    fields = _fields(content)
    if not fields or chance.random() < 0.15:
        return bytes_damaged(content, chance, others)
    return b"".join(part if isinstance(part, bytes) else part.written() for part in _damaged(fields, chance))


def _damaged(fields: tuple[_Field, ...], chance: Chance) -> list[_Field | bytes]:
    at = chance.randrange(len(fields))
    field = fields[at]
    if field.inner and chance.random() < 0.85:
        parts = _damaged(field.inner, chance)
        written = b"".join(part if isinstance(part, bytes) else part.written() for part in parts)
        return [*fields[:at], replace(field, content=written, inner=None), *fields[at + 1 :]]
    return [*fields[:at], *_instead(field, fields, chance), *fields[at + 1 :]]


def _instead(field: _Field, fields: tuple[_Field, ...], chance: Chance) -> list[_Field | bytes]:
    """Return what stands in place of a field."""
    action = chance.randrange(10)
    if action == 0:
        return []
    if action == 1:
        return [field] * chance.choice((2, 3, 500))
    if action == 2:
        return [chance.choice(fields), field]
    if action == 3:
        return [replace(field, number=chance.choice((1, 2, 4, 7, 8, 9, 15, 16, 19000, 2**29 - 1, 2**29)))]
    if action == 4:
        return [replace(field, wire=chance.randrange(8))]
    if action == 5:  # a length that lies
        length = max(len(field.content) + chance.choice((-1, 1, 2**31, 2**63, 2**64 - 1)), 0)
        return [varint(field.number << 3 | _LENGTH) + varint(length) + field.content]
    if action == 6:
        for _ in range(chance.choice((1, 10, 1000))):
            field = replace(field, content=field.written()[:100_000], inner=None, wire=_LENGTH)
        return [field]
    if action == 7:
        return [varint(field.number << 3 | field.wire) + b"\xff" * chance.randrange(1, 12)]
    if action == 8 and field.wire == _VARINT:
        return [replace(field, content=varint(chance.choice(NUMBERS)))]
    content = bytearray(field.content or b"\0")
    at = chance.randrange(len(content))
    content[at] = chance.randrange(256)
    return [replace(field, content=bytes(content), inner=None)]
