"""Forests in ONNX files as skl2onnx writes them: a `Forest` without counts, and what else the file holds.

Seeds, how many rows a leaf held and whether each tree saw draws of the rows are not in such a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import Shares
from pytest_draft.artifact.objects import with_article
from pytest_draft.artifact.onnx.columns import INSTEAD, Columns, ColumnWalk
from pytest_draft.artifact.onnx.graph import Graph, read_graph
from pytest_draft.artifact.onnx.trees import Ensemble, distinct_classes
from pytest_draft.artifact.read_forest import ReadForest
from pytest_draft.artifact.world.contents import SMALL, Contents, Stored
from pytest_draft.errors import CorruptArtifactError, NotCoveredError, UnsupportedArtifactError, listed, one_line

_CLASSIFIER = "TreeEnsembleClassifier"
_TREES = (_CLASSIFIER, "TreeEnsembleRegressor", "TreeEnsemble")
_OF_TREES = frozenset(("post_transform", "base_values", "base_values_as_tensor")).union(
    (f"class_{name}" for name in ("ids", "nodeids", "treeids", "weights", "weights_as_tensor")),
    (f"classlabels_{name}" for name in ("int64s", "strings")),
    (f"nodes_{name}" for name in ("falsenodeids", "featureids", "hitrates", "missing_value_tracks_true", "modes")),
    (f"nodes_{name}" for name in ("nodeids", "treeids", "truenodeids", "values", "values_as_tensor")),
)
"""The attributes of an ensemble, which are read."""

_SINGLE = ("DecisionTreeClassifier", "ExtraTreeClassifier")
_SEVERAL = ("RandomForestClassifier", "ExtraTreesClassifier")
_BAGGING = "BaggingClassifier"
_DRAWING = ("RandomForestClassifier", _BAGGING)
"""Kinds that draw rows for each tree unless they are told otherwise."""

_AROUND = ("Pipeline", "GridSearchCV", "RandomizedSearchCV")
_NAMED = re.compile(r"ONNX\((\w{1,80})\)", re.ASCII)

_NAMES_OF_CLASSES = "classlabels"
_CATEGORIES = ("cats_", "keys_", "values_")
"""Beginnings of the names of attributes in which an encoder holds what it knows of a column."""


def read_onnx(packed: bytes, budget: Budget) -> tuple[ReadForest, str]:
    """Read the forest of an ONNX file, and list all else that it holds; and what is around it, in words.

    Raises
    ------
    ArtifactError
        If it is damaged, too big, or of a kind that is not covered.
    """
    graph = read_graph(packed, budget)
    forest, not_covered, understood = _forest_of(graph, budget)
    arrays = tuple(_arrays(graph, understood))
    opaque = (*graph.not_read, *(path for path, held in _constants(graph) if held is None))
    contents = Contents(arrays, frozenset((forest.n_features, forest.n_classes)), opaque)
    others = [node.kind for node in graph.nodes if node.kind not in _TREES]
    not_read = tuple(sorted({one_line(name, 80) for name in (*others, *opaque)}))
    before = "" if not_covered is None else ", behind operations that are not covered"
    return ReadForest(forest, not_covered, not_read, contents), f"{before}, in an ONNX file"


def _constants(graph: Graph) -> Iterator[tuple[str, AnyArray | None]]:
    """Return every constant and every list in an attribute that is no ensemble's, with its place."""
    for name, tensor in graph.constants.items():
        yield name or "(constant)", tensor.values
    for node in graph.nodes:
        for attribute in node.attributes.values():
            path = f"{node.name or node.kind}.{attribute.name}"
            if attribute.is_opaque:
                yield path, None
            elif node.kind in _TREES:
                if attribute.name not in _OF_TREES:
                    yield path, None
            elif attribute.labels:
                yield path, np.array(attribute.texts, dtype=object)
            elif (held := attribute.tensor) is not None and node.kind != "Constant":
                yield path, held.values
            else:
                yield path, attribute.floats if len(attribute.floats) else attribute.integers


def _arrays(graph: Graph, understood: frozenset[str]) -> Iterator[Stored]:
    for path, values in _constants(graph):
        if values is None or values.size < 2 or path in understood:
            continue
        name = path.rpartition(".")[2]
        knows = name.startswith((*_CATEGORIES, _NAMES_OF_CLASSES))
        yield Stored(one_line(path), values.shape, values.size <= SMALL, knows, _held=values)


def _forest_of(graph: Graph, budget: Budget) -> tuple[Forest, str | None, frozenset[str]]:
    """Read the tree ensemble of an ONNX file.

    Returns
    -------
    forest : Forest
    not_covered : str or None
        Why it is not known what the nodes before the trees make of raw columns; None where they hand them on.
    read : frozenset of str
        The names of the constants that were understood.

    Raises
    ------
    ArtifactError
        If it is damaged, too big, or of a kind that is not covered.
    """
    kind = _kind(graph)
    nodes = [node for node in graph.nodes if node.kind in _TREES]
    if not nodes:
        held = sorted({node.kind for node in graph.nodes})
        raise UnsupportedArtifactError(f"it is an ONNX model without trees (its operations: {listed(held)})")
    if any(node.kind != _CLASSIFIER for node in nodes):
        raise UnsupportedArtifactError(
            f"it is an ONNX model with a {next(node.kind for node in nodes if node.kind != _CLASSIFIER)}: only "
            f"{_CLASSIFIER} is covered; {INSTEAD}"
        )
    if len(nodes) > 1 and kind != _BAGGING:
        raise UnsupportedArtifactError(
            f"it is an ONNX model with {len(nodes)} tree ensembles: convert each model alone, or {INSTEAD}"
        )
    walk = ColumnWalk(graph)
    inputs, not_covered = [], None
    for node in nodes:
        try:
            inputs.append(walk.columns(node.inputs[0] if node.inputs else ""))
        except NotCoveredError as error:
            not_covered = str(error)
            inputs.append(Columns(None, None, None))
    parts = [Ensemble(node, budget) for node in nodes]
    trees = tuple(tree for part, given in zip(parts, inputs, strict=True) for tree in part.trees(given.chosen))
    classes = _classes(graph, parts)
    tolerance = max(part.tolerance for part in parts)
    width = inputs[0].width or 1 + max(int(tree.feature.max(initial=0)) for tree in trees)
    if any(tree.feature.max(initial=-1) >= width for tree in trees):
        raise CorruptArtifactError(f"a node tests none of the {width} columns")
    drawn = kind in _DRAWING or (kind == _CLASSIFIER and len(trees) > 1)
    forest = Forest(
        kind=kind,
        trees=trees,
        n_features=width,
        feature_names=inputs[0].names,
        classes=classes,
        observation=Shares(None, tolerance, more_left=False),
        draws=Draws(rows="with replacement" if drawn else "all", stored=False),
        n_samples=None,
        sklearn_version=None,
    )
    return forest, not_covered, frozenset(walk.read)


def _kind(graph: Graph) -> str:
    """Return the class of the model that was converted; the ensemble's own kind where it is not stored."""
    named = _NAMED.fullmatch(graph.name)
    if named is None or named[1] in _AROUND:
        return _CLASSIFIER
    if named[1] not in (*_SINGLE, *_SEVERAL, _BAGGING):
        raise UnsupportedArtifactError(
            f"it is an ONNX model of {with_article(named[1])}: covered are "
            f"{', '.join((*_SEVERAL, *_SINGLE, _BAGGING))}, alone or in a Pipeline; {INSTEAD}"
        )
    return named[1]


def _classes(graph: Graph, parts: list[Ensemble]) -> tuple[object, ...]:
    """Return the classes; a Bagging's trees know them by their numbers, and the graph names them at its end."""
    classes = parts[0].classes
    if len(parts) == 1:
        return classes
    if any(part.classes != classes for part in parts):
        raise CorruptArtifactError("the trees of its ONNX do not know the same classes")
    for node in graph.nodes:
        held = graph.constants.get(node.inputs[0]) if node.kind == "ArrayFeatureExtractor" and node.inputs else None
        if held is not None and held.values is not None and held.values.size == len(classes):
            return distinct_classes(tuple(held.values.ravel().tolist()))
    return classes
