"""Damage of what libraries of boosted trees write: in goes a content, out comes one changed by whole parts.

XGBoost's Universal Binary JSON, LightGBM's text, CatBoost's FlatBuffers, and any of them inside a pickle.
"""

from __future__ import annotations

import json
import pickletools
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pytest_draft.artifact.budget import DEFAULT_LIMITS, Budget
from pytest_draft.artifact.xgboost.ubjson import decode
from pytest_draft.errors import ArtifactError
from studies.fuzz.damage import FLOATS, NAMES, NUMBERS, Chance, Damage, bytes_damaged, text_damaged
from studies.fuzz.documents import json_damaged

_WORDS = (
    *("nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "1e999", "-0", "0x1p3", "1_0", "+1", "01", "1.0", ".5", "1e5"),
    *("", "true", "a", "\u0663", "-1", "1-", "2.5"),
)
_LETTERS = frozenset(range(32, 127))


def ubjson_damaged(content: bytes, chance: Chance, others: Sequence[bytes]) -> bytes:
    """Change a document as JSON is changed, and write it again; or change its bytes."""
    if chance.random() < 0.3:
        return bytes_damaged(content, chance, others)
    try:
        document = decode(content, Budget(DEFAULT_LIMITS, len(content)))
        damaged = json.loads(json_damaged(json.dumps(_listed(document)).encode(), chance, [b"[]"]))
        return _ubjson(damaged, chance)
    except (ArtifactError, ValueError, RecursionError, OverflowError):
        return bytes_damaged(content, chance, others)


def _listed(value: Any) -> Any:
    """Return a document with lists for its arrays."""
    if isinstance(value, dict):
        return {name: _listed(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_listed(inner) for inner in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _ubjson(value: Any, chance: Chance) -> bytes:
    """Return Universal Binary JSON, whose numbers are of any type that holds them."""
    if isinstance(value, dict):
        inner = b"".join(_length(name) + _ubjson(one, chance) for name, one in value.items())
        return b"{" + inner + b"}"
    if isinstance(value, list):
        if value and {type(one) for one in value} <= {int, float} and chance.random() < 0.9:
            whole = all(type(one) is int for one in value)
            mark, kind = chance.choice((("l", ">i4"), ("L", ">i8"))) if whole else ("d", ">f4")
            with np.errstate(all="ignore"):
                packed = np.array(value, np.float64 if not whole else None).astype(kind).tobytes()
            return b"[$" + mark.encode() + b"#L" + struct.pack(">q", len(value)) + packed
        return b"[#L" + struct.pack(">q", len(value)) + b"".join(_ubjson(one, chance) for one in value)
    if value is None or isinstance(value, bool):
        return {None: b"Z", True: b"T", False: b"F"}[value]
    if isinstance(value, str):
        return b"S" + _length(value)
    if isinstance(value, float):
        return b"D" + struct.pack(">d", value)
    return b"L" + struct.pack(">q", min(max(value, -(2**63)), 2**63 - 1))


def _length(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return b"L" + struct.pack(">q", len(raw)) + raw


def fields_damaged(content: bytes, chance: Chance, others: Sequence[bytes]) -> bytes:
    """Change the values of one field of a text of LightGBM, or the fields of one of its trees."""
    lines = content.split(b"\n")
    fields = [index for index, line in enumerate(lines) if b"=" in line and not line.startswith(b"[")]
    if not fields or chance.random() < 0.2:
        return text_damaged(content, chance, others)
    at = chance.choice(fields)
    name, _, value = lines[at].partition(b"=")
    values = value.split(b" ")
    one, other = chance.randrange(len(values)), chance.randrange(len(values))
    action = chance.randrange(10)
    if action == 0:
        del values[one]
    elif action == 1:
        values[one:one] = [values[other]] * chance.choice((1, 1, 2, 1000))
    elif action == 2:
        values[one], values[other] = values[other], values[one]
    elif action == 3:
        values[one] = str(chance.choice(NUMBERS)).encode()
    elif action == 4:
        values[one] = chance.choice(_WORDS).encode()
    elif action == 5:
        values[one] = chance.choice(NAMES).encode("utf-8", "replace")
    elif action == 6:
        values = lines[chance.choice(fields)].partition(b"=")[2].split(b" ")
    elif action == 7:
        values = []
    else:
        values[one] = _near(values[one], chance)
    lines[at] = name + b"=" + b" ".join(values)
    return b"\n".join(lines)


def _near(written: bytes, chance: Chance) -> bytes:
    """Return a number near another."""
    try:
        number = float(written)
    except ValueError:
        return chance.choice(_WORDS).encode()
    if number.is_integer() and abs(number) < 2**53:
        return str(int(number) + chance.choice((-2, -1, 1, 2))).encode()
    return repr(number * chance.choice((-1.0, 2.0, 1 + 2**-10, 1 + 2**-40))).encode()


def words_damaged(content: bytes, chance: Chance, others: Sequence[bytes]) -> bytes:
    """Change a word of FlatBuffers that is no text: an offset, a length, a number of four or eight bytes."""
    words = [at for at in range(0, len(content) - 7, 4) if not _LETTERS.issuperset(content[at : at + 4])]
    if not words or chance.random() < 0.2:
        return bytes_damaged(content, chance, others)
    result = bytearray(content)
    at, other = chance.choice(words), chance.choice(words)
    before = int.from_bytes(content[at : at + 4], "little")
    action = chance.randrange(7)
    if action == 0:
        result[at : at + 4] = content[other : other + 4]
    elif action == 1:
        result[at : at + 8] = content[other : other + 8]
    elif action == 2:
        result[at : at + 4] = ((before + chance.choice((-8, -4, -1, 1, 4, 8))) % 2**32).to_bytes(4, "little")
    elif action == 3:
        result[at : at + 4] = (chance.choice(NUMBERS) % 2**32).to_bytes(4, "little")
    elif action == 4:  # an offset to another place
        result[at : at + 4] = ((other - at) % 2**32).to_bytes(4, "little")
    elif action == 5:
        result[at : at + 2] = chance.randrange(0, 64, 2).to_bytes(2, "little")
    else:
        result[at : at + 8] = struct.pack("<d", chance.choice(FLOATS))
    return bytes(result)


def inside(damage: Damage) -> Damage:
    """Return what changes the longest text or the longest bytes in a pickle, which are a model in a format of its own.

    Whatever cannot be followed as a pickle is changed by its bytes.
    """

    def changed(content: bytes, chance: Chance, others: Sequence[bytes]) -> bytes:
        found = _longest(content)
        if found is None:
            return bytes_damaged(content, chance, others)
        start, end, pack, inner = found
        theirs = [one[3] for one in map(_longest, others) if one is not None]
        return content[:start] + pack(damage(inner, chance, theirs)) + content[end:]

    return changed


_PACKED: dict[str, Callable[[bytes], bytes]] = {
    **dict.fromkeys(("BINUNICODE", "BINUNICODE8", "SHORT_BINUNICODE"), lambda raw: _sized(b"\x8d", raw)),
    **dict.fromkeys(("BINBYTES", "BINBYTES8", "SHORT_BINBYTES"), lambda raw: _sized(b"\x8e", raw)),
    "BYTEARRAY8": lambda raw: _sized(b"\x96", raw),
}


def _sized(code: bytes, raw: bytes) -> bytes:
    return code + struct.pack("<Q", len(raw)) + raw


def _longest(content: bytes) -> tuple[int, int, Callable[[bytes], bytes], bytes] | None:
    """Return where the longest text or bytes of a pickle begin and end, how others are written, and what they are."""
    places: list[tuple[str, Any, int]] = []
    try:
        places += ((code.name, argument, position or 0) for code, argument, position in pickletools.genops(content))
    except ValueError:
        return None
    ends = [position for _, _, position in places[1:]]
    found = [
        (position, end, _PACKED[name], _raw(argument))
        for (name, argument, position), end in zip(places, ends, strict=False)
        if name in _PACKED and isinstance(argument, (str, bytes, bytearray))
    ]
    return max(found, key=lambda one: one[1] - one[0], default=None)


def _raw(argument: str | bytes | bytearray) -> bytes:
    return argument.encode("utf-8", "surrogatepass") if isinstance(argument, str) else bytes(argument)
