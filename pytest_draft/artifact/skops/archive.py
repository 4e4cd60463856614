"""Reads files of skops.io: a zip archive becomes one inert record, as `interpreter` makes of a pickle.

A ``.skops`` file is an archive of ``schema.json``, a tree of nodes that each name a class and a loader, and of arrays
in NumPy's own format. What a pickle of the same object would be turned into, its nodes are turned into; what the pickle
interpreter refuses to call is refused here too.
"""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from collections.abc import Callable
from typing import Any, TypeVar

from pytest_draft.artifact.budget import Budget, Limits
from pytest_draft.artifact.json_text import is_as_written
from pytest_draft.artifact.pickle.arrays import read_npy, set_shape
from pytest_draft.artifact.pickle.calls import CALLS
from pytest_draft.artifact.records import Array, Dtype, Global, Items, Mapping, Record
from pytest_draft.artifact.skops.zip_archive import ENTRY, MAGIC, Archive
from pytest_draft.errors import (
    ArtifactTooBigError,
    CorruptArtifactError,
    UnsupportedArtifactError,
    one_line,
)

_SCHEMA = "schema.json"
_PROTOCOLS = range(3)
_SPARSE = ("csr", "csc", "coo", "bsr", "dia")
_LONGEST_NUMBER = 400
"""Most characters of a dictionary's key that is a number."""

_KEYS: dict[str, set[str]] = {
    "JsonNode": {"content", "is_json"},
    "DictNode": {"content", "key_types"},
    "NdArrayNode": {"content", "file", "shape", "type"},
    "SparseMatrixNode": {"file", "type"},
    "CachedNode": set(),
    "BytesNode": {"file"},
    "BytearrayNode": {"file"},
}
"""What nodes hold besides their class and number; all others a content, or a way to be made. Loading drops the rest."""

_FILE = re.compile(r"(?:\d{1,20}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?:\.np[yz]|\.bin)?", re.ASCII)
"""What skops calls a member: by a node's number, or at random."""

_PLAIN = re.compile(
    r"builtins\.(?:slice|bytes|bytearray)|numpy\.ma\.(?:core\.)?MaskedArray|"
    r"numpy\.(?:ndarray|memmap|dtype|bool_?|(?:u?int|float|complex)\d{1,3}|(?:str|bytes|void|longdouble|datetime64)_?)"
)
_WITHOUT_CLASS = ("NdArrayNode", "MaskedArrayNode", "DTypeNode", "SliceNode", "BytesNode", "BytearrayNode")
"""The class of a node whose loader says all that is to be known."""

Node = dict[str, Any]
_Kind = TypeVar("_Kind")


def is_archive(packed: bytes) -> bool:
    """Return whether a file is a zip archive, by its first bytes."""
    return packed.startswith(MAGIC)


def is_skops(packed: bytes, limits: Limits) -> bool:
    """Return whether a zip archive has what skops.io writes; also where it is damaged, which `read_skops` says."""
    if packed.count(ENTRY) > limits.members:
        return True
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            return _SCHEMA in archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, struct.error, OSError):
        return True


def read_skops(packed: bytes, limits: Limits) -> tuple[object, Budget]:
    """Read a file of skops.io, a zip archive; return what `interpret` does of a pickle, and a budget for the rest."""
    archive = Archive(packed, limits)
    budget = Budget(limits, archive.size, len(packed))
    schema = _parsed(archive.read(_SCHEMA), budget, limits.steps(archive.size, len(packed)))
    protocol = schema.get("protocol")
    if type(protocol) is not int or protocol not in _PROTOCOLS:
        shown = protocol if type(protocol) is int and abs(protocol) < 10**6 else "that is not known"
        raise UnsupportedArtifactError(f"it has a skops protocol {shown}; supported are 0 to {_PROTOCOLS[-1]}")
    if not archive.is_as_written:
        budget.note("headers or directory of the archive")
    more = {name: schema.pop(name) for name in ("protocol", "_skops_version") if name in schema}
    if not re.fullmatch(r"[\w.+]{1,24}", str(more.get("_skops_version", "0")), re.ASCII):
        budget.note("the version in its schema.json")
    root = _SchemaReader(archive, budget).node(schema)
    if archive.unread:
        raise CorruptArtifactError(
            f"it has {archive.unread} members that its schema.json does not name: save it again with skops.io.dump"
        )
    return root, budget


def _parsed(text: memoryview, budget: Budget, most: int) -> Node:
    """Return the JSON text of a schema, once it is known that it has not too many values to be held."""
    content = bytes(text)
    if sum(map(content.count, (b",", b"[", b"{"))) > most:
        raise ArtifactTooBigError(f"its schema.json has more than {most} values, which is too many for its size")
    budget.spend_copy(len(content) * (1 if content.isascii() else 4))
    try:
        node = json.loads(content.decode("utf-8"), object_pairs_hook=_unique)
    except ValueError:
        raise CorruptArtifactError("its schema.json is not JSON: copy or save it again") from None
    if not is_as_written(content):
        budget.note("spaces between the values of its schema.json")
    if type(node) is not dict:
        raise CorruptArtifactError("its schema.json is not an object")
    return node


def _unique(pairs: list[tuple[str, Any]]) -> Node:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise CorruptArtifactError("its schema.json has an object with a key twice")
    return result


class _SchemaReader:
    """Turns nodes into records."""

    def __init__(self, archive: Archive, budget: Budget) -> None:
        self._archive = archive
        self._budget = budget
        self._made: dict[int, tuple[Node, object]] = {}
        self._single: dict[object, int] = {}
        self._files: dict[str, tuple[Array, Dtype]] = {}

    def node(self, node: object) -> object:
        """Return what a node describes; the same thing where an equal one of the same id came before."""
        self._budget.spend_opcode()
        if type(node) is not dict:
            raise _malformed()
        loader, number = node.get("__loader__"), node.get("__id__")
        if type(loader) is not str or not (number is None or type(number) is int):
            raise _malformed()
        self._note_unused(node, loader)
        if loader == "JsonNode":
            return self._atom(node)
        if loader == "CachedNode":
            if number not in self._made:
                raise _malformed()
            return self._made[number][1]
        before = self._made.get(number) if number is not None else None
        if before is not None and self._are_same(before[0], node):
            return before[1]
        make = _LOADERS.get(loader) or (_SchemaReader._reduced if "__reduce__" in node else None)
        if make is None:
            raise UnsupportedArtifactError(f"it has a node of a kind that is not covered ({one_line(loader, 40)})")
        value = make(self, node)
        if number is not None:
            self._made[number] = (node, value)
        return value

    def _note_unused(self, node: Node, loader: str) -> None:
        """Note what loading does not look at in a node, and is not as skops writes it."""
        known = _KEYS.get(loader, {"content", "__reduce__"}) | {"__class__", "__id__", "__loader__", "__module__"}
        odd = not node.keys() <= known or node.get("is_json", True) is not True
        odd |= type(node.get("file")) is str and not _FILE.fullmatch(node["file"])
        cls, number = f"{node.get('__module__')}.{node.get('__class__')}", node.get("__id__")
        if loader == "JsonNode" or loader in _WITHOUT_CLASS:
            odd |= cls != "builtins.str" if loader == "JsonNode" else not _PLAIN.fullmatch(cls)
        # Numbers are addresses: of a class, and of None, there is one.
        single = (cls, node.get("content")) if loader == "TypeNode" or node.get("content") == "null" else number
        odd |= type(number) is int and (number % 8 != 0 or self._single.setdefault(single, number) != number)
        if odd:
            self._budget.note("values that loading reads and drops", _SCHEMA)

    def _are_same(self, one: object, other: object) -> bool:
        """Return whether two nodes describe the same: skops writes an object wherever it stands, and loads the first.

        What is made only to be written, such as a tree's arrays, has another id and another file each time.
        """
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            files = (one.get("file"), other.get("file"))
            if files != (None, None) and not self._have_same_bytes(*files):
                return False
            return all(self._are_same(one[key], other[key]) for key in one if key not in ("__id__", "file"))
        if isinstance(one, list) and isinstance(other, list):
            return len(one) == len(other) and all(map(self._are_same, one, other))
        return type(one) is type(other) and one == other

    def _have_same_bytes(self, one: object, other: object) -> bool:
        if type(one) is not str or type(other) is not str:
            raise _malformed()
        contents = self._archive.read(one), self._archive.read(other)
        self._budget.spend_copy(len(contents[0]))
        return one == other or contents[0] == contents[1]

    # What they are read with

    def _class(self, node: Node) -> Global:
        module, name = _field(node, "__module__", str), _field(node, "__class__", str)
        if max(len(module), len(name)) > self._budget.limits.line_bytes:
            raise ArtifactTooBigError("a name of too many characters in its schema.json")
        return Global(module, name)

    def _nodes(self, node: Node) -> list[object]:
        return [self.node(inner) for inner in _field(node, "content", list)]

    # One for each loader

    def _atom(self, node: Node) -> object:
        """Return a number, a text, a boolean or None, which are written as JSON inside JSON."""
        content = _field(node, "content", str)
        if content.lstrip()[:1] in ("[", "{"):
            raise _malformed()
        self._budget.spend_text(content)
        try:
            value = json.loads(content)
        except ValueError:
            raise _malformed() from None
        if not (value is None or type(value) in (bool, int, float, str)):
            raise _malformed()
        if json.dumps(value) != content:
            self._budget.note("spaces or digits", _SCHEMA)
        return self._checked_integer(value)

    def _checked_integer(self, value: object) -> object:
        if type(value) is int and value.bit_length() >= self._budget.limits.integer_bits:
            raise ArtifactTooBigError(f"an integer of {value.bit_length()} bits in its schema.json")
        return value

    def _list(self, node: Node) -> object:
        cls, items = self._class(node), self._nodes(node)
        if cls.key == ("builtins", "list"):
            return items
        record = Record(cls, ())
        record.appended = items
        return record

    def _tuple(self, node: Node) -> object:
        cls, items = self._class(node), tuple(self._nodes(node))
        return items if cls.key == ("builtins", "tuple") else Record(cls, items)

    def _set(self, node: Node) -> object:
        return Items(self._nodes(node))

    def _dict(self, node: Node) -> object:
        content, types = _field(node, "content", dict), self.node(node.get("key_types"))
        if not isinstance(types, list) or len(types) != len(content):
            raise _malformed()
        pairs = zip(content.items(), types, strict=True)
        mapping = Mapping((self._key(key, kind), self.node(inner)) for (key, inner), kind in pairs)
        cls = self._class(node)
        if cls.key == ("builtins", "dict"):
            return mapping
        record = Record(cls, ())
        record.set_items = mapping
        return record

    def _key(self, text: str, kind: object) -> object:
        """Return a dictionary's key, which JSON has made a text."""
        name = kind.name if isinstance(kind, Global) else ""
        try:
            if name == "NoneType":
                return None
            if name in ("bool", "bool_"):
                return {"true": True, "false": False}[text.lower()]
            if name.startswith(("int", "uint")) and len(text) <= _LONGEST_NUMBER:
                return self._checked_integer(int(text))
            if name.startswith("float") and len(text) <= _LONGEST_NUMBER:
                return float(text)
        except (ValueError, KeyError):
            raise _malformed() from None
        return text

    def _default_dict(self, node: Node) -> object:
        content = _field(node, "content", dict)
        main = self.node(content.get("main"))
        record = Record(self._class(node), tuple(self.node(content[key]) for key in content if key != "main"))
        record.set_items = main if isinstance(main, Mapping) else Mapping()
        return record

    def _object(self, node: Node) -> object:
        record = Record(self._class(node), ())
        if node.get("content") is not None:
            record.state = self.node(node["content"])
        return record

    def _reduced(self, node: Node) -> object:
        arguments = self.node(_field(node, "__reduce__", dict).get("args"))
        if not isinstance(arguments, tuple):
            raise _malformed()
        record = Record(self._class(node), arguments)
        record.state = self.node(node.get("content"))
        return record

    def _name(self, node: Node) -> object:
        content = node.get("content")
        if type(content) is dict:  # functions of protocol 0
            return self._class({"__module__": content.get("module_path"), "__class__": content.get("function")})
        return self._class(node)

    def _slice(self, node: Node) -> object:
        content = _field(node, "content", dict)
        limits = tuple(content.get(key) for key in ("start", "stop", "step"))
        if not all(limit is None or type(limit) is int for limit in limits):
            raise _malformed()
        return Record(Global("builtins", "slice"), tuple(map(self._checked_integer, limits)))

    def _bytes(self, node: Node) -> object:
        return self._archive.read(_field(node, "file", str))

    def _array(self, node: Node) -> object:
        if node.get("type") == "json":
            return self._array_of_objects(node)
        array, _ = self._stored(node)
        if self._class(node).name != "ndarray" and array.shape == () and array.data is not None:
            if array.data.dtype.names is not None or array.data.dtype.kind == "V":
                raise UnsupportedArtifactError("it has a NumPy scalar that is a record, which no supported model needs")
            value: object = array.data.item()
            return value
        return array

    def _stored(self, node: Node) -> tuple[Array, Dtype]:
        name = _field(node, "file", str)
        if node.get("type") != "numpy":
            raise _malformed()
        if name not in self._files:
            self._files[name] = read_npy(self._archive.read(name), self._budget)
        known, dtype = self._files[name]
        array = Array()
        array.shape, array.data = known.shape, known.data
        return array, dtype

    def _array_of_objects(self, node: Node) -> Array:
        array = Array()
        count = set_shape(array, self.node(node.get("shape")))
        rows: list[Any] = [node.get("content")]
        for depth, length in enumerate(array.shape):
            if not all(type(row) is list and len(row) == length for row in rows):
                raise _malformed()
            rows = [item if depth == len(array.shape) - 1 else _listed(item) for row in rows for item in row]
        if not array.shape or len(rows) != count:
            raise _malformed()
        array.items = [self.node(item) for item in rows]
        return array

    def _masked_array(self, node: Node) -> object:
        content = _field(node, "content", dict)
        record = Record(Global("numpy.ma.core", "MaskedArray"), ())
        record.state = Mapping((key, self.node(content.get(key))) for key in ("data", "mask"))
        return record

    def _dtype(self, node: Node) -> object:
        content = _field(node, "content", dict)
        return self._stored(content)[1] if content.get("type") == "numpy" else Dtype("O", None, is_object=True)

    def _generator(self, node: Node) -> object:
        """Return a random generator: nothing but its state."""
        record = Record(self._class(node), ())
        content = _field(node, "content", dict)
        is_node = "__loader__" in content
        inner = ((key, self.node(value)) for key, value in content.items())
        record.state = self.node(content) if is_node else Mapping(inner)
        return record

    def _sparse(self, node: Node) -> object:
        """Return a sparse matrix, which SciPy has saved as an archive of its arrays."""
        content = self._archive.read(_field(node, "file", str))
        inner = Archive(bytes(content), self._budget.limits)
        self._budget.spend_copy(len(content) + inner.size)
        if not inner.is_as_written:
            self._budget.note("headers or directory of a sparse matrix's archive")
        parts = {name.removesuffix(".npy"): read_npy(inner.read(name), self._budget)[0] for name in inner.names}
        layout, shape = (parts.pop(name, Array()).data for name in ("format", "shape"))
        if layout is None or shape is None or shape.dtype.kind not in "iu" or shape.size > 32:
            raise CorruptArtifactError("a sparse matrix is malformed")
        text = bytes(layout.item(0)).decode("ascii", "replace") if layout.dtype.kind == "S" and layout.size else ""
        if text not in _SPARSE:
            raise CorruptArtifactError("a sparse matrix is malformed")
        record = Record(Global(f"scipy.sparse._{text}", f"{text}_matrix"), ())
        record.state = Mapping([("_shape", tuple(shape.ravel().tolist())), *parts.items()])
        return record

    def _made_by_call(self, node: Node) -> object:
        cls = self._class(node)
        arguments = self.node(node.get("content"))
        if not isinstance(arguments, tuple):
            raise _malformed()
        if cls.key not in CALLS:
            self._budget.note_call(cls.shown, f" ({_SCHEMA})")
        return Record(cls, arguments)

    def _called(self, node: Node) -> object:
        """Describe a bound method, a partial function or the like, which is not run."""
        cls, content = self._class(node), node.get("content", node.get("attrs"))
        parts = [content] if type(content) is dict and "__loader__" in content else (content or ())
        inner = parts.values() if type(parts) is dict else parts
        self._budget.note_call(cls.shown, f" ({_SCHEMA})")
        return Record(cls, tuple(self.node(one) for one in inner if type(one) is dict))


def _malformed() -> CorruptArtifactError:
    return CorruptArtifactError("its schema.json is not what skops.io writes: save it again with skops.io.dump")


def _field(node: Node, name: str, kind: type[_Kind]) -> _Kind:
    """Return what a node holds by a name, which must be of this type."""
    value = node.get(name)
    if type(value) is not kind:
        raise _malformed()
    return value


def _listed(node: object) -> object:
    """Return what the node of a list holds: the rows of an array of objects are lists."""
    return node.get("content") if type(node) is dict and node.get("__loader__") == "ListNode" else None


_LOADERS: dict[str, Callable[[_SchemaReader, Node], object]] = {
    "ListNode": _SchemaReader._list,
    "TupleNode": _SchemaReader._tuple,
    "SetNode": _SchemaReader._set,
    "DictNode": _SchemaReader._dict,
    "DefaultDictNode": _SchemaReader._default_dict,
    "_DictWithDeprecatedKeysNode": _SchemaReader._default_dict,
    "ObjectNode": _SchemaReader._object,
    "TypeNode": _SchemaReader._name,
    "FunctionNode": _SchemaReader._name,
    "SliceNode": _SchemaReader._slice,
    "BytesNode": _SchemaReader._bytes,
    "BytearrayNode": _SchemaReader._bytes,
    "NdArrayNode": _SchemaReader._array,
    "MaskedArrayNode": _SchemaReader._masked_array,
    "DTypeNode": _SchemaReader._dtype,
    "RandomStateNode": _SchemaReader._generator,
    "RandomGeneratorNode": _SchemaReader._generator,
    "SparseMatrixNode": _SchemaReader._sparse,
    "ConstructorFromReduceNode": _SchemaReader._made_by_call,
    "PartialNode": _SchemaReader._called,
    "MethodNode": _SchemaReader._called,
    "OperatorFuncNode": _SchemaReader._called,
}
"""What makes a record of a node, by its loader; any other that has arguments is an object made with these."""
