"""Damage of bytes and of texts: in goes a content and chance, out comes a content that is a little wrong."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Sequence

Chance = random.Random
Damage = Callable[[bytes, Chance, Sequence[bytes]], bytes]
"""From a content, chance and the contents of other files of its kind to a damaged content."""

NUMBERS = (0, 1, -1, 2, 127, 128, 255, 256, 2**15, 2**16, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**62, 2**63, 2**64)
"""Whole numbers at which something may change."""

FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e300, 5e-324, float("inf"), float("-inf"), float("nan"), -2.0, 1e16)

NAMES = (
    "",
    "a",
    "a\nb",
    "\x1b[31mred",
    "::error::x",
    "##[group]x",
    "\u202e\u00e4",
    "x" * 500,
    "%n%s{0}",
    "../x",
    "__class__",
    "nan",
    "1e999",
    "\ud800",
    "\x00",
    "=1+1",
)
"""Texts that somebody may take for more than that."""

_LONGEST = 2**17
"""Bytes above which a mutant does not grow any more."""


def bytes_damaged(content: bytes, chance: Chance, others: Sequence[bytes]) -> bytes:
    """Flip, cut, insert, copy, overwrite or join with another file, at one place."""
    result = bytearray(content)
    at = chance.randrange(len(result) + 1)
    length = min(chance.choice((1, 1, 2, 4, 8, 16, 64, 256)), max(len(result) - at, 0))
    action = chance.randrange(8)
    if action == 0 and at < len(result):
        result[at] ^= 1 << chance.randrange(8)
    elif action == 1:
        del result[at : at + length]
    elif action == 2:
        result[at:at] = chance.randbytes(max(length, 1))
    elif action == 3:
        result[at:at] = result[at : at + length] * chance.choice((1, 1, 2, 50))
    elif action == 4:
        number = chance.choice(NUMBERS) & (2**64 - 1)
        packed = struct.pack(chance.choice("<>") + "Q", number)
        width = chance.choice((1, 2, 4, 8))
        result[at : at + width] = packed[:width]
    elif action == 5:
        result[at : at + length] = struct.pack("<d", chance.choice(FLOATS))
    elif action == 6:
        other = chance.choice(others)
        start = chance.randrange(len(other) + 1)
        result[at:] = other[start:]
    else:
        del result[at:]
    return bytes(result[:_LONGEST])


_TOKEN = re.compile(
    r"[+-]?\d+\.?\d*(?:[eE][+-]?\d+)?|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[\w\-:]+|[\[\]{}(),=;~\n]|[^\w\s]", re.ASCII
)

_LITERALS = (
    "true",
    "false",
    "null",
    "nan",
    "inf",
    "-inf",
    "NaN",
    "[]",
    "{}",
    '""',
    "1979-05-27",
    "07:32:00",
    "0x10",
    "1_0",
)


def text_damaged(content: bytes, chance: Chance, others: Sequence[bytes]) -> bytes:
    """Replace, drop, repeat or swap a token or a line, or nest something deep."""
    text = content.decode("utf-8", "surrogateescape")
    action = chance.randrange(8)
    if action < 3:
        lines = text.splitlines(keepends=True) or [""]
        one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        if action == 0:
            lines.insert(other, lines[one] * chance.choice((1, 1, 2, 30)))
        elif action == 1:
            del lines[one]
        else:
            lines[one], lines[other] = lines[other], lines[one]
        text = "".join(lines)
    else:
        found = list(_TOKEN.finditer(text))
        if not found:
            return bytes_damaged(content, chance, others)
        token = chance.choice(found)
        text = text[: token.start()] + _instead(token[0], text, found, chance, others) + text[token.end() :]
    return text.encode("utf-8", "surrogateescape" if chance.random() < 0.9 else "surrogatepass")[:_LONGEST]


def _instead(token: str, text: str, found: list[re.Match[str]], chance: Chance, others: Sequence[bytes]) -> str:
    """Return what stands in place of a token."""
    action = chance.randrange(9)
    if action == 0:
        return str(chance.choice(NUMBERS))
    if action == 1:
        return repr(chance.choice(FLOATS))
    if action == 2:
        return chance.choice(_LITERALS)
    if action == 3:
        return '"' + chance.choice(NAMES).replace("\ud800", "\\ud800") + '"'
    if action == 4:
        return chance.choice(found)[0]
    if action == 5:
        return ""
    if action == 6:
        opening, closing = chance.choice((("[", "]"), ("{a=", "}"), ('{"a":', "}"), ("(", ")"), ("a.", "")))
        depth = chance.choice((1, 2, 50, 2000))
        return opening * depth + token + closing * depth
    if action == 7:
        return token * chance.choice((2, 2, 3, 1000))
    tokens = list(_TOKEN.finditer(chance.choice(others).decode("utf-8", "replace"))) or found
    return chance.choice(tokens)[0]
