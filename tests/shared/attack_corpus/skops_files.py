"""Hostile .skops files: nothing goes in, out come `Hostile` files."""

from __future__ import annotations

import io
import json
import struct
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from attack_corpus.entry import Hostile, corrupt, forest, too_big, unsupported

EMPTY = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": []}


@cache
def honest() -> bytes:
    import skops.io

    return skops.io.dumps(forest())


def rewritten(
    content: bytes,
    change: Callable[[dict], object] = lambda schema: None,
    members: Callable[[dict], dict] = lambda held: held,
    method: int = zipfile.ZIP_STORED,
) -> bytes:
    """Return a file whose schema and members were changed."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(held["schema.json"])
    schema = change(schema) or schema
    held["schema.json"] = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    return archived(list(members(held).items()), method)


def archived(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", method) as archive:
        warnings.simplefilter("ignore")
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def planted(node: object) -> Callable[[dict], None]:
    """Return a change that adds an attribute to the forest."""

    def change(schema: dict) -> None:
        content = schema["content"]
        content["content"]["extra"] = node
        content["key_types"]["content"].append({**content["key_types"]["content"][0], "__id__": None})

    return change


def node_of(loader: str, module: str, name: str, content: object = None) -> dict[str, Any]:
    return {"__class__": name, "__module__": module, "__loader__": loader, "content": content or EMPTY, "attrs": EMPTY}


def keyed(kind: str, key: str) -> dict[str, Any]:
    """Return a dict with a key of a type."""
    types = node_of("ListNode", "builtins", "list", [node_of("TypeNode", "numpy", kind, "x") | {"content": None}])
    return {**node_of("DictNode", "builtins", "dict", {key: EMPTY}), "key_types": types}


def objects(length: int, items: list[Any]) -> dict[str, Any]:
    """Return an array of objects."""
    shape = node_of("TupleNode", "builtins", "tuple", [{"__loader__": "JsonNode", "content": str(length)}])
    return {**node_of("NdArrayNode", "numpy", "ndarray", items), "type": "json", "shape": shape}


def first_array(schema: dict) -> dict:
    nodes: list[Any] = [schema]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            if node.get("type") == "numpy":
                return node
            nodes.extend(node.values())
        elif isinstance(node, list):
            nodes.extend(node)
    raise AssertionError


def npy(descr: str, shape: str = "(1,)", content: bytes = b"\0" * 8, order: str = "False") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


def with_array(content: bytes) -> bytes:
    """Return a file with such content in place of an array's."""
    name: list[str] = []
    return rewritten(
        honest(), lambda schema: name.append(first_array(schema)["file"]), lambda held: {**held, name[0]: content}
    )


def files() -> Iterator[Hostile]:
    yield from _nodes()
    yield from _arrays()
    yield from _schemas()
    yield from _archives()


def _nodes() -> Iterator[Hostile]:
    written = "schema.json is not what skops.io writes"
    outside = {**node_of("NdArrayNode", "numpy", "ndarray"), "type": "numpy", "file": "../x"}
    for name, node, kind, words in (
        ("a node that is not known", node_of("ImaginaryNode", "os", "system"), "unsupported", "ImaginaryNode"),
        ("a loader's name", node_of("::error::\n", "os", "system"), "unsupported", "of a kind that is not covered"),
        ("a node of none", node_of("CachedNode", "os", "system"), "corrupt", written),
        ("a list of a tuple", node_of("ListNode", "builtins", "list"), "corrupt", written),
        ("JSON in JSON", {"__loader__": "JsonNode", "content": "[1, 2]"}, "corrupt", written),
        ("no JSON in JSON", {"__loader__": "JsonNode", "content": "{"}, "corrupt", written),
        ("a huge number", {"__loader__": "JsonNode", "content": "1" * 400}, "too big", "bits"),
        ("a member outside", outside, "corrupt", "a member that it does not have (../x)"),
        ("an absolute member", {**outside, "file": "/etc/passwd"}, "corrupt", "does not have (/etc/passwd)"),
        ("a member of no name", {**outside, "file": 1}, "corrupt", written),
        ("a list", [], "corrupt", written),
        ("a loader that is a number", {"__loader__": 1}, "corrupt", written),
        ("an id that is a text", {"__loader__": "TypeNode", "__id__": "1"}, "corrupt", written),
        ("a class that is a number", {"__loader__": "TypeNode", "__class__": 1}, "corrupt", written),
        ("a list of a number", {**node_of("ListNode", "builtins", "list"), "content": 1}, "corrupt", written),
        ("a number in JSON that is none", {"__loader__": "JsonNode", "content": 1}, "corrupt", written),
        ("a dict without types", {**node_of("DictNode", "builtins", "dict"), "key_types": EMPTY}, "corrupt", written),
        ("a dict's true that is none", keyed("bool", "perhaps"), "corrupt", written),
        ("a dict's number that is none", keyed("int64", "x"), "corrupt", written),
        ("a dict's huge number", keyed("int", "9" * 400), "too big", "bits"),
        ("a dict's share that is none", keyed("float64", "x"), "corrupt", written),
        ("a default dict of nothing", {**node_of("DefaultDictNode", "a", "b"), "content": []}, "corrupt", written),
        (
            "a slice of texts",
            {**node_of("SliceNode", "builtins", "slice"), "content": {"start": "a"}},
            "corrupt",
            written,
        ),
        (
            "a slice of huge numbers",
            {**node_of("SliceNode", "a", "b"), "content": {"start": 2**1100}},
            "too big",
            "bits",
        ),
        ("an object of a call of nothing", {**node_of("MyNode", "a", "b"), "__reduce__": 1}, "corrupt", written),
        ("an array by pickle", {**outside, "type": "pickle"}, "corrupt", written),
        ("an array of objects of no shape", {**outside, "type": "json", "shape": EMPTY}, "corrupt", written),
        ("an array of objects of another shape", objects(2, [EMPTY]), "corrupt", written),
        ("bytes of no member", {**node_of("BytesNode", "builtins", "bytes"), "file": "no"}, "corrupt", "does not have"),
        (
            "a sparse matrix of no archive",
            {**node_of("SparseMatrixNode", "a", "b"), "file": "schema.json"},
            "corrupt",
            "zip",
        ),
        ("a long name", {**node_of("TypeNode", "x" * 10_000, "y"), "content": None}, "too big", "too many characters"),
    ):
        yield Hostile(f"skops: {name}", rewritten(honest(), planted(node)), kind, (words,))


def _arrays() -> Iterator[Hostile]:
    for number, (array, kind, words) in enumerate(
        (
            (npy("'|O'"), "not allowed", "pickle"),
            (npy("[('a', '|O')]"), "not allowed", "objects"),
            (npy("'<i8'", "(549755813888,)"), "corrupt", "bytes"),
            (npy("'<i8'", "(4611686018427387904, 4611686018427387904)"), "corrupt", ""),
            (npy("'<i8'", "(1,)", b""), "corrupt", "bytes"),
            (npy("'<i8'", "(-1,)"), "corrupt", "header"),
            (npy("'<i8'", "(1.0,)"), "corrupt", "header"),
            (npy("'<i8'", "(" + "1," * 40 + ")"), "corrupt", ""),
            (npy("'<i8'", order="1"), "corrupt", "header"),
            (npy("__import__('os')"), "corrupt", "header"),
            (npy("(" * 500), "corrupt", "header"),
            (npy("[('a', '<i8', (2,))]"), "unsupported", "items are arrays"),
            (npy("'<q9'"), "unsupported", "data type"),
            (npy("[]"), "corrupt", "header"),
            (npy("[('a', '<i4'), ('a', '<i4')]"), "corrupt", "malformed"),
            (b"\x93NUMPY\x01\x00\xff\xff", "corrupt", "NumPy"),
            (b"\x93NUMPY\x09\x00\xff\xff" + bytes(20), "corrupt", "NumPy"),
            (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(20), "corrupt", "header"),
            (b"", "corrupt", "NumPy"),
        )
    ):
        yield Hostile(f"skops: array {number}, {array[10:70]!r}", with_array(array), kind, (words,))


def _schemas() -> Iterator[Hostile]:
    deep = '{"protocol": 1, "__loader__": "ListNode", "content": [' * 50_000
    for schema, kind, words in (
        (b"{", "corrupt", "not JSON"),
        (b"\xff\xfe", "corrupt", "not JSON"),
        (b"", "corrupt", "not JSON"),
        (b"[]", "corrupt", "not an object"),
        (b'{"a": 1, "a": 2}', "corrupt", "twice"),
        (b'{"protocol": 99}', "unsupported", "protocol 99"),
        (b'{"protocol": true}', "unsupported", "not known"),
        (b'{"protocol": 2}', "corrupt", "schema.json"),
        (b"[" * 100_000, "too big", ""),
        (deep.encode(), "too big", ""),
        (b"1" * 10_000, "corrupt", "not JSON"),
    ):
        content = rewritten(honest(), lambda _, schema=schema: schema or b" ")
        yield Hostile(f"skops: the schema {schema[:50]!r}", content, kind, (words,))


def _archives() -> Iterator[Hostile]:
    whole = honest()
    more = rewritten(whole, members=lambda held: {**held, "rows.npy": b"rows"})
    yield corrupt("skops: a member besides", more, "1 members that its schema")
    outside = rewritten(whole, members=lambda held: {**held, "../../x": b"rows"})
    yield corrupt("skops: a member outside, besides", outside, "1 members that its schema")
    twice = archived([("schema.json", b"{}"), ("schema.json", b"{}")])
    yield corrupt("skops: two members of one name", twice, "one name")
    yield unsupported("skops: no schema", archived([("a", b"b")]), "holds no model")
    yield unsupported("skops: an empty archive", archived([]), "holds no model")
    yield corrupt("skops: bytes in front", b"PK\x03\x04" + b"rows" * 50 + whole, "other bytes")
    file = io.BytesIO(whole)
    with zipfile.ZipFile(file, "a") as archive:
        archive.comment = b"rows" * 100
    yield corrupt("skops: a comment", file.getvalue(), "comment")
    for cut in (5, 100, 1000, len(whole) // 2):
        yield corrupt(f"skops: without its last {cut} bytes", whole[:-cut], "zip")
    yield corrupt("skops: the start of a zip", b"PK\x03\x04", "zip directory")
    start = zipfile.ZipFile(io.BytesIO(whole)).infolist()[0]
    flipped = bytearray(whole)
    flipped[start.header_offset + 30 + len(start.filename) + 130] ^= 1
    yield corrupt("skops: a flipped bit", bytes(flipped), f"member {start.filename} is damaged")
    broken = bytearray(whole)
    broken[zipfile.ZipFile(io.BytesIO(whole)).infolist()[1].header_offset + 2] ^= 1
    yield corrupt("skops: a member's header that is none", bytes(broken), "zip directory")
    at = whole.index(b"PK\x01\x02")
    moved = whole[:at] + b"x" * 100 + whole[at:-6] + struct.pack("<IH", at + 100, 0)
    yield corrupt("skops: bytes behind the members", moved, "other bytes stand behind")
    yield too_big("skops: 100,001 members", b"PK\x03\x04" + b"PK\x01\x02" * 100_001, "more than 100000 members")
    encrypted = bytearray(whole)
    encrypted[whole.index(b"PK\x01\x02") + 8] |= 1
    yield unsupported("skops: encrypted", bytes(encrypted), "without a password")
    by_lzma = rewritten(whole, method=zipfile.ZIP_LZMA)
    yield unsupported("skops: packed by lzma", by_lzma, "packed in a way")
    for method, name in ((zipfile.ZIP_DEFLATED, "deflate"), (zipfile.ZIP_BZIP2, "bz2")):
        size = 80 * 2**20
        bomb = archived([("schema.json", bytes(size))], method)
        yield too_big(f"skops: a bomb by {name}", bomb, "unpack to more than")
        lying = bomb.replace(struct.pack("<I", size), struct.pack("<I", 2**10))
        yield too_big(f"skops: a bomb by {name} that lies", lying, "unpack to more than 1024 bytes")
    yield corrupt("skops: an archive in an archive", archived([("schema.json", whole)]), "not JSON")
