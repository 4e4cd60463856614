"""Reads an ONNX file: its bytes go in, a `Graph` of nodes, inputs and constants comes out. Nothing is computed.

Fields are asked for by their numbers in onnx.proto (github.com/onnx/onnx). What is not needed is not decoded.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_draft.arrays import AnyArray, FloatArray, IntArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.onnx.protobuf import Message, as_text
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError

_FIRST_BYTES = re.compile(rb"\x08[\x01-\x20][\x12\x1a\x22\x28\x2a\x32\x3a\x42\x72]")
"""A model's first field is the version of the format, and the next is one of its others."""

_TENSOR_TYPES = {1: "<f4", 2: "u1", 3: "i1", 5: "<i2", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8", 13: "<u8"}
_IN_INTEGERS = {2: 5, 3: 5, 5: 5, 6: 5, 9: 5, 7: 7, 13: 11}
"""Which field holds a tensor's whole numbers, by its type, where they are not raw bytes."""

_STRING = 8
_MOST_DIMENSIONS = 32
_NAME = r"[\w.:/+-]{0,80}"
_NAMES = (_NAME,)
_ANY = (None,)
_TENSOR_TYPE = {1: 20, 2: ({1: ({1: 2**31, 2: _NAME},)},)}
_TYPE = {1: _TENSOR_TYPE, 4: {1: {1: _TENSOR_TYPE, 5: {1: 20, 2: {1: _TENSOR_TYPE}}}}, 5: {1: 20, 2: {1: _TENSOR_TYPE}}}
_VALUE = {1: _NAME, 2: _TYPE, 3: ""}
_GRAPH = {1: _ANY, 2: r"[\w ()]{0,120}", 5: _ANY, 10: "", 11: (_VALUE,), 12: (_VALUE,), 13: (_VALUE,)}
_OPSETS = ({1: r"[a-z.]{0,32}", 2: 2**10},)
_MODEL = {1: 32, 2: r"[\w ]{0,24}", 3: r"[\w.+-]{0,24}", 4: _NAME, 5: 2**16, 6: "", 7: _GRAPH, 8: _OPSETS}
_NODE = {1: _NAMES, 2: _NAMES, 3: _NAME, 4: _NAME, 5: _ANY, 6: "", 7: _NAME}
_TENSOR = {1: _ANY, 2: 20, 4: _ANY, 5: _ANY, 6: _ANY, 7: _ANY, 8: _NAME, 9: _ANY, 10: _ANY, 11: _ANY, 12: ""}
_ATTRIBUTES = {1: 2, 2: 3, 3: 4, 4: 5, 6: 7, 7: 8, 8: 9}
"""What messages may hold, by the numbers of their fields: texts of a pattern, numbers below a limit, messages; once, or
in a tuple as often as they like; and whatever is read elsewhere. Last, the field that an attribute of each type has.
"""


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
        field = _ATTRIBUTES.get(message.integer(20), 0)
        repeated = _ANY if field > 5 else None
        self.is_opaque = _is_unlike(message, {1: _NAME, 13: "", 20: 20, field: repeated})
        """Whether it holds graphs of its own, constants that are not read, or something beside what it holds."""

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


@dataclass(frozen=True, eq=False)
class Node:
    """An operation: `kind` of `domain`, the names of what goes in and out, and its attributes by name."""

    domain: str
    kind: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, NodeAttribute]
    is_opaque: bool
    """Whether it holds anything beside."""


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
    ArtifactError
        If it is damaged, too big, or of a kind that is not covered.
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
    strange = _is_unlike(model, _MODEL) or any(node.is_opaque for node in nodes)
    strange |= any(_is_unlike(one, _TENSOR) for one in graph.messages(5))
    extra = ["(documentation, metadata, functions, training, or fields or names that are not known)"] * strange
    used = {name for node in nodes for name in node.inputs}
    extra += ["(constants that no operation takes)"] * any(name not in used for name in constants)
    outputs = {name for node in nodes for name in node.outputs}
    known = {found.text(1) for found in graph.messages(12)} | used
    extra += ["(operations and values that nothing uses)"] * (
        any(not known.intersection(node.outputs) for node in nodes)
        or bool(known - outputs - inputs.keys() - constants.keys() - {""})
        or any(found.text(1) not in outputs | known for found in graph.messages(13))
    )
    return Graph(graph.text(2), nodes, inputs, constants, tuple(extra))


def _node(message: Message) -> Node:
    """Read an operation."""
    found = [NodeAttribute(part) for part in message.messages(5)]
    attributes = {attribute.name: attribute for attribute in found}
    if len(attributes) != len(found):
        raise CorruptArtifactError("a node of its ONNX has two attributes of one name")
    inputs, outputs = (tuple(map(as_text, message.parts(number))) for number in (1, 2))
    return Node(
        message.text(7), message.text(4), message.text(3), inputs, outputs, attributes, _is_unlike(message, _NODE)
    )


def _is_unlike(message: Message, pattern: dict[int, Any]) -> bool:
    """Return whether a message holds what its pattern does not have, or something twice that readers take once."""
    for number in message.field_numbers:
        if number not in pattern:
            return True
        wanted = pattern[number][0] if isinstance(pattern[number], tuple) else pattern[number]
        parts = message.parts(number)
        numbers = message.integers(number) if isinstance(wanted, int) else ()
        if not isinstance(pattern[number], tuple) and len(parts) + len(numbers) > 1:
            return True
        if isinstance(wanted, str):
            fits = len(numbers) == 0 and all(re.fullmatch(wanted, as_text(part), re.ASCII) for part in parts)
        elif isinstance(wanted, dict):
            fits = not any(_is_unlike(inner, wanted) for inner in message.messages(number))
        else:
            fits = not isinstance(wanted, int) or all(0 <= one < wanted for one in numbers)
        if not fits:
            return True
    return False


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
