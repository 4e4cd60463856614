"""The operations before the trees in an ONNX graph: which columns of a table reach the trees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import IntArray
from pytest_draft.artifact.onnx.graph import Graph, Node
from pytest_draft.errors import CorruptArtifactError, NotCoveredError, listed, one_line

INSTEAD = "judge the joblib or .skops file that it was converted from, which tells all that it tells"
"""What to do with an ONNX file that is not judged, for messages."""


_MOVING = {"Identity", "Cast", "Concat", "Gather", "ArrayFeatureExtractor", "Reshape", "FeatureVectorizer"}


@dataclass(frozen=True, eq=False)
class Columns:
    """What goes into an ensemble."""

    chosen: IntArray | None
    """Which columns of the table; None for all."""
    width: int | None
    """The number of columns of the table; None where it is not known."""
    names: tuple[str, ...] | None
    """Their names, where each is an input of its own."""


class ColumnWalk:
    """What stands before an ensemble, followed from its input back to those of the graph.

    Attributes
    ----------
    read : set of str
        The constants that were understood.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._made = {output: node for node in graph.nodes for output in node.outputs}
        self.read: set[str] = set()

    def columns(self, name: str) -> Columns:
        """Return which columns a value holds.

        Raises
        ------
        NotCoveredError
            Where something computes on them, or the file does not say how many there are.
        """
        chosen: list[IntArray] = []
        for _ in range(len(self._graph.nodes) + 1):
            node = self._made.get(name)
            if node is None:
                return self._inputs((name,), chosen)
            if node.kind == "Concat" and all(inner not in self._made for inner in map(self._uncast, node.inputs)):
                return self._inputs(tuple(map(self._uncast, node.inputs)), chosen)
            if node.kind == "Gather" and len(node.inputs) == 2 and _integer(node, "axis") == 1:
                chosen.append(self._constant(node.inputs[1]))
            elif not _hands_on(node):
                raise NotCoveredError(
                    f"it has {listed(self._computing(name))} before its trees, which is not covered: convert the "
                    f"forest alone and give it the data as that step encodes them, or {INSTEAD}"
                )
            name = node.inputs[0]
        raise CorruptArtifactError("the nodes of its ONNX go round in a circle")

    def _computing(self, name: str) -> list[str]:
        """Return the operations before a value that compute something, or else those that move columns."""
        kinds: dict[str, None] = {}
        ahead, seen = [name], {name}
        while ahead:
            node = self._made.get(ahead.pop())
            if node is not None:
                kinds[one_line(node.kind, 40)] = None
                ahead += [inner for inner in node.inputs if inner not in seen]
                seen.update(node.inputs)
        return sorted(kinds.keys() - _MOVING) or sorted(kinds)

    def _uncast(self, name: str) -> str:
        """Return what was cast or handed on to a value."""
        for _ in range(len(self._graph.nodes)):
            node = self._made.get(name)
            if node is None or not _hands_on(node):
                break
            name = node.inputs[0]
        return name

    def _constant(self, name: str) -> IntArray:
        tensor = self._graph.constants.get(name)
        if tensor is None or tensor.values is None or tensor.values.dtype.kind != "i" or tensor.values.ndim > 1:
            raise CorruptArtifactError("a choice of columns in its ONNX is not a constant list of positions")
        self.read.add(name)
        return tensor.values.ravel().astype(np.int64)

    def _inputs(self, names: tuple[str, ...], chosen: list[IntArray]) -> Columns:
        """Return the columns of the graph's inputs; each has to come once and in order."""
        widths = [self._graph.inputs.get(name) for name in names]
        if names != tuple(self._graph.inputs) or None in widths:
            raise NotCoveredError(
                "its ONNX does not tell which columns go into its trees, and in which order: convert it with the "
                "number of columns in its initial_types"
            )
        width = sum(size for size in widths if size is not None)
        columns = np.arange(width)
        for positions in reversed(chosen):
            if not len(positions) or positions.min() < 0 or positions.max() >= len(columns):
                raise CorruptArtifactError(f"a choice of columns in its ONNX is not one of {len(columns)}")
            columns = columns[positions]
        named = len(names) == width > 1
        return Columns(columns if chosen else None, width, tuple(map(one_line, names)) if named else None)


def _hands_on(node: Node) -> bool:
    """Return whether a node does not change numbers."""
    if len(node.inputs) != 1:
        return False
    return node.kind == "Identity" or (node.kind == "Cast" and _integer(node, "to") in (1, 11))


def _integer(node: Node, name: str) -> int:
    found = node.attributes.get(name)
    return 0 if found is None else found.integer
