"""Reads an ONNX file: its bytes go in, a `Graph` of nodes, inputs and constants comes out. Nothing is computed.

Fields are asked for by their numbers in onnx.proto (github.com/onnx/onnx). What is not needed is not decoded.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import AnyArray, FloatArray, IntArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.protobuf import Message, as_text
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError

_FIRST_BYTES = re.compile(rb"\x08[\x01-\x20][\x12\x1a\x22\x28\x2a\x32\x3a\x42\x72]")
"""A model's first field is the version of the format, and the next is one of its others."""

_TENSOR_TYPES = {1: "<f4", 2: "u1", 3: "i1", 5: "<i2", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8", 13: "<u8"}
_IN_INTEGERS = {2: 5, 3: 5, 5: 5, 6: 5, 9: 5, 7: 7, 13: 11}
"""Which field holds a tensor's whole numbers, by its type, where they are not raw bytes."""

_STRING = 8
_MOST_DIMENSIONS = 32
_LONG_TEXT = 200
"""A table could stand in texts longer than this."""

_MOST_DESCRIBED = 400
"""Most bytes of descriptions of values for each operation; a table could stand in longer ones."""

_KNOWN_OF_MODEL = frozenset((1, 2, 3, 4, 5, 6, 7, 8, 14))
_KNOWN_OF_GRAPH = frozenset((1, 2, 5, 10, 11, 12, 13))
_KNOWN_OF_ATTRIBUTE = frozenset((1, 2, 3, 4, 5, 7, 8, 9, 13, 20))
"""The fields of a ModelProto, a GraphProto and an AttributeProto that are read or known to hold no data."""

_BESIDE = (6, 9, 10)
"""The fields of a NodeProto that change nothing of what it does: doc_string, metadata_props, device_configurations."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A constant: `values` of its shape, texts as objects; None where it is of a type that is not read."""

    name: str
    values: AnyArray | None


class NodeAttribute:
    """An attribute of a node; what it holds is decoded when it is asked for."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self.name = message.text(1)

    @property
    def integer(self) -> int:
        """A whole number; 0 where it has none."""
        return self._message.integer(3)

    @property
    def text(self) -> str:
        """A text; empty where it has none."""
        return self._message.text(4)

    @property
    def integers(self) -> IntArray:
        """Whole numbers."""
        return self._message.integers(8)

    @property
    def floats(self) -> FloatArray:
        """Numbers in single precision."""
        return self._message.floats(7)

    @property
    def texts(self) -> list[str]:
        """Texts."""
        return [as_text(part) for part in self._message.parts(9)]

    @property
    def labels(self) -> list[memoryview]:
        """The same texts as their bytes, not decoded, where there is one for each node of a tree."""
        return self._message.parts(9)

    @property
    def tensor(self) -> Tensor | None:
        """A constant."""
        found = self._message.message(5)
        return None if found is None else _tensor(found)

    @property
    def is_opaque(self) -> bool:
        """Whether it holds graphs of its own, constants that are not read, or a long text beside what it holds."""
        return bool(self._message.field_numbers - _KNOWN_OF_ATTRIBUTE) or len(self._message.text(13)) > _LONG_TEXT


@dataclass(frozen=True, eq=False)
class Node:
    """An operation: `kind` of `domain`, the names of what goes in and out, and its attributes by name."""

    domain: str
    kind: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, NodeAttribute]
    beside: tuple[memoryview, ...]
    """What the fields of `_BESIDE` hold, as bytes."""


@dataclass(frozen=True, eq=False)
class Graph:
    """An ONNX model."""

    name: str
    """skl2onnx writes ``ONNX(...)`` with the class of the model."""
    nodes: tuple[Node, ...]
    inputs: dict[str, int | None]
    """The number of columns of each input, by name and in order; None where the file does not say."""
    constants: dict[str, Tensor]
    not_read: tuple[str, ...]
    """What else it holds, in words for the report."""


def is_onnx(packed: bytes) -> bool:
    """Return whether a file begins like an ONNX model; the format has no mark of its own."""
    return _FIRST_BYTES.match(packed[:3]) is not None


def read_graph(packed: bytes, budget: Budget) -> Graph:
    """Read the graph of an ONNX file.

    Raises
    ------
    CorruptArtifactError
        If it is damaged or contradicts itself.
    UnsupportedArtifactError
        If it holds no graph.
    """
    model = Message(memoryview(packed), budget)
    graph = model.message(7)
    if graph is None:
        raise UnsupportedArtifactError("it begins like an ONNX model and holds no graph")
    constants = {tensor.name: tensor for tensor in map(_tensor, graph.messages(5))}
    if len(constants) != len(graph.parts(5)):
        raise CorruptArtifactError("its ONNX has two constants of one name")
    nodes = tuple(map(_node, graph.messages(1)))
    for node in nodes:
        given = node.attributes.get("value")
        if node.kind == "Constant" and given is not None and node.outputs and (held := given.tensor) is not None:
            constants[node.outputs[0]] = Tensor(node.outputs[0], held.values)
    inputs = {}
    for found in graph.messages(11):
        if (name := found.text(1)) not in constants:  # old files list their constants among the inputs too
            inputs[name] = _width(found)
    unknown = model.field_numbers - _KNOWN_OF_MODEL | graph.field_numbers - _KNOWN_OF_GRAPH
    extra = ["(functions, training or fields that are not known)"] * bool(unknown)
    used = {name for node in nodes for name in node.inputs}
    extra += ["(constants that no operation takes)"] * any(name not in used for name in constants)
    extra += ["(descriptions of values)"] * (
        sum(len(part) for part in graph.parts(13)) > _MOST_DESCRIBED * (1 + len(nodes))
    )
    beside = [*model.parts(6), *model.parts(14), *graph.parts(10), *(part for node in nodes for part in node.beside)]
    extra += ["(documentation or metadata)"] * any(len(part) > _LONG_TEXT for part in beside)
    return Graph(graph.text(2), nodes, inputs, constants, tuple(extra))


def _node(message: Message) -> Node:
    """Read an operation."""
    found = [NodeAttribute(part) for part in message.messages(5)]
    attributes = {attribute.name: attribute for attribute in found}
    if len(attributes) != len(found):
        raise CorruptArtifactError("a node of its ONNX has two attributes of one name")
    inputs, outputs = (tuple(map(as_text, message.parts(number))) for number in (1, 2))
    beside = tuple(part for number in _BESIDE for part in message.parts(number))
    return Node(message.text(7), message.text(4), message.text(3), inputs, outputs, attributes, beside)


def _width(value: Message) -> int | None:
    """Return the number of columns of an input of two dimensions."""
    kind = value.message(2)
    tensor = None if kind is None else kind.message(1)
    shape = None if tensor is None else tensor.message(2)
    dimensions = [] if shape is None else shape.messages(1)
    if len(dimensions) != 2:
        return None
    width = dimensions[1].integer(1)
    return width if 0 < width < 2**31 else None


def _tensor(message: Message) -> Tensor:
    """Read a constant; one of a type that trees do not need, or in another file, without its values."""
    kind = message.integer(2)
    shape = tuple(message.integers(1).tolist())
    if len(shape) > _MOST_DIMENSIONS or any(not 0 <= length < 2**31 for length in shape):
        raise CorruptArtifactError("a constant of its ONNX has a malformed shape")
    name, values = message.text(8), None
    if 13 in message or message.integer(14):
        return Tensor(name, None)
    if kind == _STRING:
        values = np.array([as_text(part) for part in message.parts(6)], dtype=object)
    elif kind in _TENSOR_TYPES and 9 in message:
        raw = message.parts(9)[-1:]
        if not raw or len(raw[0]) % np.dtype(_TENSOR_TYPES[kind]).itemsize:
            raise CorruptArtifactError("a constant of its ONNX does not have the bytes of its shape")
        values = np.frombuffer(raw[0], _TENSOR_TYPES[kind])
    elif kind in _IN_INTEGERS:
        values = message.integers(_IN_INTEGERS[kind]).astype(_TENSOR_TYPES[kind])
    elif kind in (1, 11):
        values = message.floats(4) if kind == 1 else message.floats(10, "<f8")
    if values is None:
        return Tensor(name, None)
    if values.size != math.prod(shape):
        raise CorruptArtifactError("a constant of its ONNX does not have the numbers of its shape")
    return Tensor(name, values.reshape(shape))
