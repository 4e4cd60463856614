"""What the files of several versions tell by their difference: the label or target of the one row that only one has.

Where trees of two files have a node of the same box, and one of them holds one row more there, that row's label is the
difference of their counts, and its target that of their sums (linear models: Bertran et al., Reconstruction Attacks on
Machine Unlearning, NeurIPS 2024). It takes nothing but the two files.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Tree
from pytest_draft.artifact.forest.nodes import levels
from pytest_draft.artifact.forest.together import ForestOfSeveral


class _Nodes(NamedTuple):
    """The nodes of one file's trees, one for each box."""

    box: NDArray[np.uint64]
    tree: IntArray
    node: IntArray
    rows: FloatArray
    """`box` (a hash), `tree`, `node` and `rows`, shape (n_boxes,)."""
    total: FloatArray
    """Shape (n_boxes, n_classes). Rows by class; of a regressor the sum of targets."""
    people: IntArray
    """Shape (n_rows,). Whose rows the file has."""

    def __repr__(self) -> str:
        return f"_Nodes({len(self.box)} boxes)"


def told_by_difference(forest: ForestOfSeveral, rows: Rows) -> FloatArray:
    """Return the label, or target, of each row that some difference is of, shape (n_rows,); NaN where none is.

    Of files that drew rows for each tree nothing is said, nor of nodes where some were added, and others removed.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
        Of all people.
    """
    found = np.full(len(rows), np.nan)
    for one, other in permutations(_files(forest), 2):
        only_here, only_there = np.setdiff1d(one.people, other.people), np.setdiff1d(other.people, one.people)
        _, here, there = np.intersect1d(one.box, other.box, return_indices=True)
        by_one = np.flatnonzero(one.rows[here] - other.rows[there] == 1)
        difference = (one.total[here] - other.total[there])[by_one]
        for place, said in zip(here[by_one], difference, strict=True):
            tree, node = forest.trees[one.tree[place]], int(one.node[place])
            if not len(_inside(tree, node, rows, only_there)):
                found[_inside(tree, node, rows, only_here)] = said[0] if forest.classes is None else said.argmax()
    return found


def _files(forest: ForestOfSeveral) -> Iterator[_Nodes]:
    """Yield the nodes of each file whose trees saw all of its rows once."""
    keys = np.random.default_rng(0).integers(1, 2**63, (2, forest.n_features), dtype=np.uint64)
    first = 0
    for part in forest.parts:
        mine = range(first, first := first + part.forest.n_trees)
        if (part.times != 1).any():
            continue
        trees = [forest.trees[t] for t in mine]
        box = np.concatenate([_boxes(tree, keys) for tree in trees])
        tree, node = (np.concatenate(one) for one in zip(*_numbers(trees, mine.start), strict=True))
        total = np.concatenate([one.value if forest.classes else one.value * one.weight[:, None] for one in trees])
        rows = np.concatenate([one.weight for one in trees])
        _, kept = np.unique(box, return_index=True)
        yield _Nodes(box[kept], tree[kept], node[kept], rows[kept], total[kept], part.rows)


def _numbers(trees: list[Tree], first: int) -> Iterator[tuple[IntArray, IntArray]]:
    for t, tree in enumerate(trees, first):
        yield np.full(tree.n_nodes, t), np.arange(tree.n_nodes)


def _boxes(tree: Tree, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of the box of each node, shape (n_nodes,): of the least and the greatest value of each column."""
    bounds = np.full((tree.n_nodes, *keys.shape), np.inf)
    for level in levels(tree.left, tree.right):
        inner = level[tree.left[level] >= 0]
        column, at = tree.feature[inner], tree.threshold[inner]
        for child, side, bound in ((tree.left[inner], 0, at), (tree.right[inner], 1, -at)):
            bounds[child] = bounds[inner]
            bounds[child, side, column] = np.minimum(bounds[child, side, column], bound)
    bits = np.ascontiguousarray(bounds.reshape(tree.n_nodes, -1) + 0.0).view(np.uint64)
    box: NDArray[np.uint64] = bits @ keys.reshape(-1)
    return box


def _inside(tree: Tree, node: int, rows: Rows, among: IntArray) -> IntArray:
    """Return which rows reach a node."""
    above = np.flatnonzero((tree.left == node) | (tree.right == node))
    if not len(above):
        return among
    parent = int(above[0])
    among = _inside(tree, parent, rows, among)
    value = rows[among, tree.feature[parent]]
    left = np.where(np.isnan(value), tree.missing_left[parent], value <= tree.threshold[parent])
    inside: IntArray = among[left == (tree.left[parent] == node)]
    return inside
