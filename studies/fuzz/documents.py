"""Damage of JSON, of NumPy's headers and of zip archives: in goes a content, out comes one changed by whole parts."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Sequence
from typing import Any

from studies.fuzz.damage import FLOATS, NAMES, NUMBERS, Chance, bytes_damaged, text_damaged

_STAMP = (1980, 1, 1, 0, 0, 0)
_SCHEMA = "schema.json"
_LOADERS = (
    "ListNode",
    "TupleNode",
    "SetNode",
    "DictNode",
    "DefaultDictNode",
    "ObjectNode",
    "TypeNode",
    "FunctionNode",
    "SliceNode",
    "BytesNode",
    "NdArrayNode",
    "MaskedArrayNode",
    "DTypeNode",
    "RandomStateNode",
    "RandomGeneratorNode",
    "SparseMatrixNode",
    "ConstructorFromReduceNode",
    "PartialNode",
    "MethodNode",
    "OperatorFuncNode",
    "JsonNode",
    "CachedNode",
    "TreeNode",
    "ImaginaryNode",
)
_DEPTHS = (1, 3, 200, 3000)


def json_damaged(content: bytes, chance: Chance, others: Sequence[bytes]) -> bytes:
    """Replace, drop, repeat, swap or nest a value of a document, or take one of another document."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):  # of what was damaged before
        return text_damaged(content, chance, others)
    places = _places(document)
    holder, key = chance.choice(places) if places else ([document], 0)
    action = chance.randrange(8)
    if action == 0:
        del holder[key]
    elif action == 1 and isinstance(holder, list):
        holder[key:key] = [holder[key]] * chance.choice((1, 2, 100))
    elif action == 2:
        theirs, their_key = chance.choice(places or [(holder, key)])
        holder[key] = json.loads(_written(theirs[their_key]))
    elif action == 3 and isinstance(holder, dict):
        holder[chance.choice((*NAMES, "__loader__", "file", "__id__"))] = holder.pop(key)
    elif action == 4:
        return _nested(document, holder, key, chance)
    else:
        holder[key] = _value(holder[key], chance)
    return _written(document).encode("utf-8")


def _written(document: Any) -> str:
    """Return a document's text; of one that is too deep to be written an empty one."""
    try:
        return json.dumps(document)
    except RecursionError:
        return "{}"


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Return each place of a document as what holds it and its key."""
    found: list[tuple[Any, Any]] = []
    todo = [document]
    while todo:
        one = todo.pop()
        keys: list[Any] = list(one) if isinstance(one, dict) else list(range(len(one))) if isinstance(one, list) else []
        found += [(one, key) for key in keys]
        todo += [one[key] for key in keys]
    return found


def _nested(document: Any, holder: Any, key: Any, chance: Chance) -> bytes:
    """Return a document with a value at the bottom of many lists or objects, which `json.dumps` may not write."""
    opening, closing = chance.choice(
        (("[", "]"), ('{"content": ', "}"), ('{"__loader__": "ListNode", "content": [', "]}"))
    )
    depth = chance.choice(_DEPTHS)
    inner, mark = _written(holder[key]), "here 4d0b1e"
    holder[key] = mark
    return _written(document).replace(json.dumps(mark), opening * depth + inner + closing * depth).encode("utf-8")


def _value(before: Any, chance: Chance) -> Any:
    """Return what a value becomes."""
    if isinstance(before, bool):
        return not before
    if isinstance(before, int) and chance.random() < 0.5:
        return before + chance.choice((-1, 1, 10**6))
    if isinstance(before, str) and before.endswith("Node") and chance.random() < 0.8:
        return chance.choice(_LOADERS)
    return chance.choice((None, True, [], {}, [[]], 10**400, *NUMBERS, *FLOATS, *(name for name in NAMES)))


def archive_damaged(content: bytes, chance: Chance, others: Sequence[bytes]) -> bytes:
    """Change the schema, a member, or what members there are; or the archive's own bytes."""
    if chance.random() < 0.15:
        return bytes_damaged(content, chance, others)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            held = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except Exception:  # what was damaged before
        return bytes_damaged(content, chance, others)
    schemas = [inner for name, inner in held if name == _SCHEMA]
    at = chance.randrange(len(held)) if held else 0
    action = chance.randrange(8)
    if action < 4 and schemas:
        held = [(n, json_damaged(inner, chance, schemas) if n == _SCHEMA else inner) for n, inner in held]
    elif action == 4 and held:
        held[at] = (held[at][0], chance.choice((bytes_damaged, npy_damaged))(held[at][1], chance, [held[0][1]]))
    elif action == 5 and held:
        held[at] = (chance.choice((*NAMES, "../x", "/etc/passwd", _SCHEMA, held[0][0])), held[at][1])
    elif action == 6 and held:
        held[at], held[0] = (held[at][0], held[0][1]), (held[0][0], held[at][1])
    else:
        held = held[: chance.randrange(len(held) + 1)]
    return _archive(held, chance)


def _archive(held: Sequence[tuple[str, bytes]], chance: Chance) -> bytes:
    file = io.BytesIO()
    method = chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")  # of two members with one name
        for name, inner in held:
            info = zipfile.ZipInfo(name.replace("\ud800", "?") or "empty", _STAMP)
            archive.writestr(info, inner, method)
    return file.getvalue()


def npy_damaged(content: bytes, chance: Chance, others: Sequence[bytes]) -> bytes:
    """Change the header of a NumPy file by its tokens."""
    if content[:6] != b"\x93NUMPY" or len(content) < 10:
        return bytes_damaged(content, chance, others)
    length = int.from_bytes(content[8:10], "little")
    header = text_damaged(content[10 : 10 + length], chance, others)[:60_000]
    return content[:8] + len(header).to_bytes(2, "little") + header + content[10 + length :]
