"""Checks the two arrays of a decoded tree and returns `Nodes` or a `Tree` that the rest of the code can rely on.

Whatever contradicts itself in structure, or is no number, is corrupt. Where numbers of rows do not add up,
`pytest_draft.artifact.sklearn.outputs` says what else the nodes reveal: somebody may have removed them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np

from pytest_draft.arrays import AnyArray, BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest.forest import Tree
from pytest_draft.artifact.objects import numbers_of
from pytest_draft.errors import CorruptArtifactError

Values = Literal["shares", "totals", "means"]
Array = TypeVar("Array", bound=np.ndarray[Any, Any])

_TOLERANCE = 1e-6
"""How far sums of weights and of class fractions may be off, relative to the weight: what rounding adds up to."""

_FIELDS = {
    "left_child": "i",
    "right_child": "i",
    "feature": "i",
    "threshold": "f",
    "impurity": "f",
    "n_node_samples": "i",
    "weighted_n_node_samples": "f",
}
_OPTIONAL_FIELDS = {"missing_go_to_left": "u"}


@dataclass(frozen=True)
class RawTree:
    """A tree as its file describes it, before any check."""

    index: int
    """Its place in the forest, for messages."""
    nodes: AnyArray
    """Records, shape (n_nodes,)."""
    values: AnyArray
    """Of float64, shape (n_nodes, 1, n_values)."""
    node_count: int
    max_depth: int
    """`node_count` and `max_depth`: as stored."""
    n_features: int
    """Number of columns that the tree was trained on."""
    n_values: int = 1
    """Number of classes; 1 for regressors."""
    features: IntArray | None = None
    """Shape (n_tree_features,). The forest's column of each of the tree's columns, where they differ."""
    seed: int | None = None


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a tree whose structure is sound, and whose numbers are numbers; they need not add up."""

    index: int
    """The tree's place in the forest, for messages."""
    tree: Tree
    """Its value, weight and number of rows as they stand in the file."""
    impurity: FloatArray
    """Shape (n_nodes,)."""


def checked_nodes(raw: RawTree, *, classifier: bool) -> Nodes:
    """Check the structure and the numbers of a tree."""
    columns = _columns(raw)
    left, right = columns["left_child"].astype(np.int64), columns["right_child"].astype(np.int64)
    _check_structure(raw, left, right)
    inner = left >= 0
    _check_depth(raw, left, right)
    feature = _checked_feature(raw, columns["feature"].astype(np.int64), inner)
    threshold = columns["threshold"].astype(np.float64)
    missing_left = _checked_missing(raw, columns.get("missing_go_to_left"), threshold, inner)
    weight = columns["weighted_n_node_samples"].astype(np.float64)
    n_distinct = columns["n_node_samples"].astype(np.int64)
    impurity = columns["impurity"].astype(np.float64)
    _check_impurity(raw, impurity, classifier=classifier)
    value = raw.values[:, 0, :].astype(np.float64)
    if not np.isfinite(value).all():
        _require(raw.index, np.asarray(np.isfinite(value).all(axis=1)), "its value is not a number")
    _require(raw.index, np.isfinite(weight), "its weight is not a number")
    for array in (left, right, feature, threshold, missing_left, value, weight, n_distinct, impurity):
        array.setflags(write=False)
    published = None if classifier else impurity
    tree = Tree(left, right, feature, threshold, missing_left, value, weight, n_distinct, raw.seed, published)
    return Nodes(raw.index, tree, impurity)


def frozen(array: Array) -> Array:
    """Return an array that nobody can write into any more."""
    array.setflags(write=False)
    return array


def without_rows(tree: Tree) -> Tree:
    """Return a tree whose nodes say nothing of how many rows they hold."""
    weight, n_distinct = frozen(np.zeros(tree.n_nodes)), frozen(np.zeros(tree.n_nodes, np.int64))
    return replace(tree, weight=weight, n_distinct=n_distinct)


def counted(nodes: Nodes, *, classifier: bool) -> frozenset[Values]:
    """Check that the numbers of rows in a tree's nodes add up.

    Returns
    -------
    frozenset of {"shares", "totals", "means"}
        What its values can be; both shares and totals where every node has weight 1.
    """
    _check_sums(nodes)
    return _checked_meanings(nodes, classifier=classifier)


def private_tree(raw: RawTree) -> Tree:
    """Check a tree whose values are what a mechanism of differential privacy released: any finite numbers."""
    tree = checked_nodes(raw, classifier=True).tree
    without_numbers = (tree.weight == 0) & (tree.n_distinct == 0)
    _require(raw.index, without_numbers, "it tells its number of rows, which no private forest does")
    return tree


def check_arguments(arguments: tuple[object, ...], index: int, n_features: int, n_values: int, n_outputs: int) -> None:
    """Check a tree's arguments, ``Tree(n_features, n_classes, n_outputs)``, against its forest."""
    if len(arguments) != 3 or arguments[2] != n_outputs or arguments[0] != n_features:
        raise CorruptArtifactError(f"tree {index} does not have the forest's columns and outputs")
    classes = numbers_of(arguments[1], "iu", f"the classes of tree {index}")
    if classes[:1].tolist() != [n_values] or len(classes) != n_outputs:
        raise CorruptArtifactError(f"tree {index} does not have the forest's {n_values} classes")


def _corrupt(raw: RawTree, what: str) -> CorruptArtifactError:
    return CorruptArtifactError(f"tree {raw.index}: {what}")


def _require(tree: int, good: BoolArray, what: str) -> None:
    """Raise, naming the first node that is not good."""
    if not good.all():
        raise CorruptArtifactError(f"tree {tree}, node {int(np.argmin(good))}: {what}")


def _columns(raw: RawTree) -> Mapping[str, AnyArray]:
    """Return the fields of the nodes by name, after checking the shapes and kinds of both arrays."""
    nodes, values = raw.nodes, raw.values
    names = nodes.dtype.names or ()
    if nodes.ndim != 1 or not set(_FIELDS) <= set(names) <= set(_FIELDS) | set(_OPTIONAL_FIELDS):
        raise _corrupt(raw, "its nodes do not have the fields of scikit-learn's")
    for name in names:
        kind = (_FIELDS | _OPTIONAL_FIELDS)[name]
        size = nodes.dtype[name].itemsize
        if nodes.dtype[name].kind != kind or size not in {"i": (4, 8), "f": (8,), "u": (1,)}[kind]:
            raise _corrupt(raw, f"the field {name} of its nodes is not of scikit-learn's type")
    if len(nodes) < 1:
        raise _corrupt(raw, "it has no nodes")
    if raw.node_count != len(nodes):
        raise _corrupt(raw, f"it says that it has {raw.node_count} nodes, and has {len(nodes)}")
    if values.dtype.kind != "f" or values.dtype.itemsize != 8 or values.shape != (len(nodes), 1, raw.n_values):
        raise _corrupt(raw, "its values do not have a number for each node and class")
    return {name: nodes[name] for name in names}


def _check_structure(raw: RawTree, left: IntArray, right: IntArray) -> None:
    """Check that the nodes are one binary tree, each above its children."""
    if is_sound(left, right):
        return
    n = len(left)
    index = np.arange(n)
    _require(raw.index, (left == -1) == (right == -1), "it has one child only")
    inner = left != -1
    for child in (left, right):
        _require(raw.index, ~inner | ((child > index) & (child < n)), "a child's index is out of order or range")
    parents = np.bincount(np.concatenate((left[inner], right[inner])), minlength=n)
    _require(
        raw.index, parents[1:] <= 1 if n > 1 else np.ones(1, np.bool_), "it, or the node after it, has two parents"
    )
    # Every child comes after its parent and has one: n - 1 children make one tree without cycles.
    if int(parents.sum()) != n - 1:
        raise _corrupt(raw, "it has nodes that are not below its root")


def is_sound(left: IntArray, right: IntArray) -> bool:
    """Return whether the nodes are one binary tree: all in one go, since almost every tree is."""
    n = len(left)
    inner = np.flatnonzero(left != -1)
    if 2 * len(inner) != n - 1 or np.count_nonzero(right != -1) != len(inner):
        return False
    is_child = np.zeros(n, np.bool_)
    for child in (left.take(inner), right.take(inner)):
        if not ((child > inner) & (child < n)).all():
            return False
        is_child[child] = True
    return int(np.count_nonzero(is_child)) == n - 1


def _check_depth(raw: RawTree, left: IntArray, right: IntArray) -> None:
    level = np.zeros(1, np.int64)
    depth = 0
    while True:
        level = level.compress(left.take(level) >= 0)
        if not len(level):
            break
        level = np.concatenate((left.take(level), right.take(level)))
        depth += 1
        if depth > raw.max_depth:
            break
    if depth != raw.max_depth:
        raise _corrupt(raw, f"it says that its depth is {raw.max_depth}, which it is not")


def _checked_feature(raw: RawTree, feature: IntArray, inner: BoolArray) -> IntArray:
    _require(
        raw.index,
        ~inner | ((feature >= 0) & (feature < raw.n_features)),
        f"it tests none of the {raw.n_features} columns",
    )
    feature = np.where(inner, feature, -1)
    if raw.features is not None:
        feature = np.where(inner, raw.features[feature], -1)
    return feature


def _checked_missing(raw: RawTree, missing_left: AnyArray | None, threshold: FloatArray, inner: BoolArray) -> BoolArray:
    good = ~np.isnan(threshold) & (threshold != -np.inf)
    if missing_left is None:
        good &= threshold != np.inf
        missing_left = np.zeros(len(inner), np.uint8)
    _require(raw.index, ~inner | good, "its threshold is not a number")
    # At leaves the field is whatever was in memory.
    _require(raw.index, ~inner | (missing_left <= 1), "where it sends missing values is not yes or no")
    return np.asarray(inner & (missing_left == 1))


def _check_sums(nodes: Nodes) -> None:
    tree = nodes.tree
    weight, n_distinct = tree.weight, tree.n_distinct
    _require(nodes.index, n_distinct >= 0, "it has a negative number of rows")
    if weight[0] <= 0 or n_distinct[0] < 1:
        raise CorruptArtifactError(f"tree {nodes.index}: no rows reach its root")
    inner = np.flatnonzero(tree.left >= 0)
    below = tree.left.take(inner), tree.right.take(inner)
    good = np.ones(tree.n_nodes, np.bool_)
    good[inner] = n_distinct.take(inner) == n_distinct.take(below[0]) + n_distinct.take(below[1])
    _require(nodes.index, good, "its rows are not its children's together")
    above = weight.take(inner)
    difference = np.abs(above - weight.take(below[0]) - weight.take(below[1]))
    good[inner] = difference <= _TOLERANCE * np.maximum(1.0, np.abs(above))
    _require(nodes.index, good, "its weight is not its children's together")


def _check_impurity(raw: RawTree, impurity: FloatArray, *, classifier: bool) -> None:
    # A regressor's impurity is a difference of large numbers, and infinite for some Poisson nodes.
    good = np.isfinite(impurity) & (impurity >= -_TOLERANCE) if classifier else ~np.isnan(impurity)
    _require(raw.index, good, "its impurity is negative or not a number")


def _checked_meanings(nodes: Nodes, *, classifier: bool) -> frozenset[Values]:
    if not classifier:
        return frozenset(("means",))
    value, weight = nodes.tree.value, nodes.tree.weight
    if not (value >= 0).all():
        _require(nodes.index, np.asarray((value >= 0).all(axis=1)), "it has a negative number of rows of a class")
    sums = value @ np.ones(value.shape[1])  # much faster than a sum along rows of a few numbers
    fractions = np.abs(sums - 1) <= _TOLERANCE
    totals = np.abs(sums - weight) <= _TOLERANCE * np.maximum(1.0, weight)
    _require(nodes.index, fractions | totals, "its classes do not add up to 1 or to its weight")
    meanings: set[Values] = set()
    if fractions.all():
        meanings.add("shares")
    if totals.all():
        meanings.add("totals")
    if not meanings:
        raise CorruptArtifactError(
            f"tree {nodes.index}: some of its nodes have class fractions and some have class totals"
        )
    return frozenset(meanings)
