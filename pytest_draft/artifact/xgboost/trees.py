"""Trees of XGBoost: a tree's lists in its file become a checked `Tree`, and what its nodes say of their sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_draft.arrays import AnyArray, BoolArray, FloatArray, IntArray
from pytest_draft.artifact.boosted_tree import STEPS
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.forest import Tree
from pytest_draft.artifact.forest.validate import is_sound
from pytest_draft.artifact.xgboost.parts import has_text, numbers, part, whole
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError

_NO_PARENT = 2**31 - 1
_ADDS_UP = 1e-4
"""How far a sum of hessians may be off its children's, relative to it: many times what single precision makes of it."""


@dataclass(frozen=True, eq=False, repr=False)
class XGBoostTree:
    """A tree, and what its file says of each node besides. Its repr shows no number."""

    tree: Tree
    """Its values are what leaves add to the score; it has no numbers of rows."""
    hessian: FloatArray
    """Shape (n_nodes,). Sum of its rows' hessians, as rounded to single precision."""
    step: FloatArray
    """Shape (n_nodes,). ``base_weights``: of inner nodes -G / (H + lambda), with G and H the sums of gradients and
    hessians; at leaves in general what the leaf adds.
    """
    gain: FloatArray
    """Shape (n_nodes,). ``loss_changes``: what a split gains; 0 at leaves."""

    def __repr__(self) -> str:
        return f"<XGBoostTree: {self.tree.n_nodes} nodes>"

    @property
    def inner(self) -> IntArray:
        """Indices of the nodes that split."""
        return np.flatnonzero(self.tree.left >= 0)


def read_tree(content: object, index: int, n_features: int, budget: Budget) -> XGBoostTree:
    """Read one tree.

    Parameters
    ----------
    content : object
        An item of ``trees``.
    index : int
        Its place among them, for messages.

    Raises
    ------
    ArtifactError
        If it is damaged, too big, or of a kind that is not covered.
    """
    path = f"tree {index}"
    budget.spend_opcode(STEPS)
    if not isinstance(content, dict):
        raise CorruptArtifactError(f"{path} is no object")
    parameters = part(content, "tree_param", path)
    if has_text(parameters, "size_leaf_vector") and whole(parameters, "size_leaf_vector", path) > 1:
        raise UnsupportedArtifactError(
            "its trees have several outputs (multi_strategy='multi_output_tree'), which is not covered: train a model "
            "for each output"
        )
    n_nodes = whole(parameters, "num_nodes", path)
    if n_nodes < 1:
        raise CorruptArtifactError(f"{path}: it has no nodes")
    lists = _Lists(content, n_nodes, path)
    left, right = lists.integers("left_children"), lists.integers("right_children")
    lists.require((left == -1) == (right == -1), "it has one child only")
    order = np.arange(n_nodes) if is_sound(left, right) else _order(left, right, path, budget)
    n_deleted = whole(parameters, "num_deleted", path) if has_text(parameters, "num_deleted") else 0
    if len(order) + n_deleted != n_nodes:
        raise CorruptArtifactError(f"{path}: it has nodes that are not below its root")
    inner = left >= 0
    feature = lists.integers("split_indices")
    lists.require(~inner | ((feature >= 0) & (feature < n_features)), f"it tests none of the {n_features} columns")
    if "split_type" in content and (lists.integers("split_type")[inner] != 0).any():
        raise UnsupportedArtifactError(
            "it splits columns by categories (enable_categorical), which is not covered: encode them as numbers before"
        )
    condition, hessian, step = (lists.numbers(name) for name in ("split_conditions", "sum_hessian", "base_weights"))
    lists.require(hessian >= 0, "its sum of hessians is negative")
    below = hessian[left[inner]] + hessian[right[inner]]
    good = np.ones(n_nodes, np.bool_)
    good[inner] = np.abs(hessian[inner] - below) <= _ADDS_UP * hessian[inner]
    reached = np.zeros(n_nodes, np.bool_)
    reached[order] = True
    lists.require(good | ~reached, "its sum of hessians is not its children's together")
    # A row goes left when its value is below the condition: at most the number before it.
    threshold = np.nextafter(condition.astype(np.float32), np.float32(-np.inf)).astype(np.float64)
    lists.require(~inner | np.isfinite(threshold), "its threshold is not a number")
    default_left = lists.integers("default_left")
    lists.require(~inner | (default_left == 0) | (default_left == 1), "where it sends missing values is not yes or no")
    gain = lists.unread("loss_changes", 0.0)
    split, parent = np.flatnonzero(inner & reached), np.full(n_nodes, _NO_PARENT)
    parent[left[split]] = parent[right[split]] = split
    for what, good in (
        ("parents", lists.unread("parents", parent) == parent),
        ("split_type", lists.unread("split_type", 0.0) == 0),
        ("the split of a leaf", inner | ((gain == 0) & (default_left == 0) & (feature == 0))),
    ):
        if not (good | ~reached).all():
            budget.note(f"{what}, node {int(np.argmin(good | ~reached))}", path)
    if n_deleted:
        budget.note("nodes that pruning left (train it with tree_method='hist')", path, anew=False)
    place = np.zeros(n_nodes, np.int64)
    place[order] = np.arange(len(order))
    inner = inner[order]
    nothing = np.zeros(len(order))
    tree = Tree(
        left=np.where(inner, place[left[order]], -1),
        right=np.where(inner, place[right[order]], -1),
        feature=np.where(inner, feature[order], -1),
        threshold=np.where(inner, threshold[order], 0.0),
        missing_left=inner & (default_left[order] == 1),
        value=np.where(inner, 0.0, condition[order])[:, None],
        weight=nothing,
        n_distinct=nothing.astype(np.int64),
        seed=None,
    )
    for array in vars(tree).values():
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return XGBoostTree(tree, hessian[order], step[order], gain[order])


class _Lists:
    """The lists of a tree, each of a number for each node."""

    def __init__(self, content: Mapping[str, Any], n_nodes: int, path: str) -> None:
        self._content = content
        self._n_nodes = n_nodes
        self._path = path

    def _array(self, name: str, kinds: str) -> AnyArray:
        array = numbers(self._content.get(name), self._n_nodes, kinds)
        if array is None:
            raise CorruptArtifactError(f"{self._path}: {name} does not have a number for each of its nodes")
        return array

    def unread(self, name: str, otherwise: Any) -> FloatArray:
        """Return numbers that nobody needs; what stands for them where there are none, or others."""
        found = numbers(self._content.get(name), self._n_nodes, "biuf")
        return np.full(self._n_nodes, otherwise) if found is None else found.astype(np.float64)

    def integers(self, name: str) -> IntArray:
        """Return whole numbers."""
        array = self._array(name, "biu")
        if array.dtype.kind == "u" and array.dtype.itemsize == 8:
            raise CorruptArtifactError(f"{self._path}: {name} has a number that is out of range")
        return array.astype(np.int64)

    def numbers(self, name: str) -> FloatArray:
        """Return finite numbers, rounded to single precision, in which XGBoost has them."""
        array = self._array(name, "iuf").astype(np.float32).astype(np.float64)
        self.require(np.isfinite(array), f"{name} is not a finite number")
        return array

    def require(self, good: BoolArray, what: str) -> None:
        """Raise, naming the first node that is not good."""
        if not good.all():
            raise CorruptArtifactError(f"{self._path}, node {int(np.argmin(good))}: {what}")


def _order(left: IntArray, right: IntArray, path: str, budget: Budget) -> IntArray:
    """Return the nodes below the root, level by level: pruning leaves others in the file, and reuses their places."""
    n_nodes = len(left)
    seen = np.zeros(n_nodes, np.bool_)
    level = np.zeros(1, np.int64)
    levels: list[IntArray] = []
    while len(level):
        budget.visit(len(levels))
        if (level < 0).any() or (level >= n_nodes).any():
            raise CorruptArtifactError(f"{path}: a child's index is out of range")
        if seen[level].any() or len(np.unique(level)) != len(level):
            raise CorruptArtifactError(f"{path}: a node has two parents")
        seen[level] = True
        levels.append(level)
        split = level[left[level] != -1]
        level = np.concatenate((left[split], right[split]))
    return np.concatenate(levels)
