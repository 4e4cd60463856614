"""The arrays of one boosted tree become a checked `Tree`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Tree
from pytest_draft.artifact.forest.observations import BoostedSums
from pytest_draft.artifact.forest.validate import is_sound
from pytest_draft.errors import CorruptArtifactError

STEPS = 40
"""As how many steps a tree counts, however small it is, in a format that is no pickle."""

_LARGEST_COUNT = 2**53
_LARGEST_SCORE = 1e30
"""Scores above this, and their squares, could not be added up in single and in double precision."""


@dataclass(frozen=True, eq=False)
class Splits:
    """The structure of a tree, as in `Tree`, before any check."""

    left: IntArray
    right: IntArray
    feature: IntArray
    """Shape (n_nodes,). Whatever stands at leaves is not looked at."""
    threshold: FloatArray
    missing_left: BoolArray


def checked_tree(index: int, splits: Splits, n_features: int, value: FloatArray, rows: IntArray | None) -> Tree:
    """Return a boosted tree whose structure is sound and whose numbers add up.

    Parameters
    ----------
    index : int
        Of the tree in its model, for messages.
    n_features : int
        Columns of the model.
    value : ndarray of float64, shape (n_nodes,)
        What a leaf adds to its score; whatever stands at inner nodes becomes 0.
    rows : ndarray of int64, shape (n_nodes,), or None
        Number of rows at each node; None where the file does not say it.

    Raises
    ------
    CorruptArtifactError
        Naming the tree.
    """
    left, right = splits.left, splits.right
    n_nodes, inner = len(left), np.flatnonzero(left >= 0)
    if not is_sound(left, right):
        raise _corrupt(index, "its nodes are not one binary tree")
    feature = np.where(left >= 0, splits.feature, -1)
    if ((feature[inner] < 0) | (feature[inner] >= n_features)).any():
        raise _corrupt(index, f"it tests none of the {n_features} columns")
    if not (splits.threshold[inner] > -np.inf).all():  # infinity parts missing values from all others
        raise _corrupt(index, "a threshold is not a number")
    if not np.isfinite(value[left < 0]).all():
        raise _corrupt(index, "a leaf's value is not a number")
    if rows is None:
        rows = np.zeros(n_nodes, np.int64)
    else:
        if (rows < 0).any() or not 1 <= rows[0] <= _LARGEST_COUNT:
            raise _corrupt(index, "its numbers of rows are out of range")
        if (rows[inner] != rows[left[inner]] + rows[right[inner]]).any():
            raise _corrupt(index, "a node's rows are not its children's together")
    tree = Tree(
        left=left.astype(np.int64),
        right=right.astype(np.int64),
        feature=feature.astype(np.int64),
        threshold=np.where(left >= 0, splits.threshold, 0.0),
        missing_left=np.asarray(splits.missing_left & (left >= 0)),
        value=np.where(left >= 0, 0.0, value)[:, None],
        weight=rows.astype(np.float64),
        n_distinct=rows.astype(np.int64),
        seed=None,
    )
    for array in (tree.left, tree.right, tree.feature, tree.threshold, tree.missing_left, tree.value, tree.weight):
        array.setflags(write=False)
    tree.n_distinct.setflags(write=False)
    return tree


def require_range(said: BoostedSums, trees: Sequence[Tree]) -> None:
    """Require that scores, and what trees say, stay within what can be computed with.

    Parameters
    ----------
    said : BoostedSums
        What the trees say.
    trees : sequence of Tree
        With what their leaves add.

    Raises
    ------
    CorruptArtifactError
        Also where a tolerance is so large that a statement would say nothing.
    """
    reach = float(np.abs(said.base).max(initial=0.0)) + sum(float(np.abs(tree.value).max()) for tree in trees)
    if not reach <= _LARGEST_SCORE:
        raise CorruptArtifactError("the scores of its trees are out of range")
    for index, own in enumerate(said.statements):
        if not all(np.isfinite(numbers).all() for numbers in (own.weight, own.total, own.tolerance)):
            raise _corrupt(index, "what it says of its rows is out of range")


def _corrupt(index: int, what: str) -> CorruptArtifactError:
    return CorruptArtifactError(f"tree {index}: {what}")
