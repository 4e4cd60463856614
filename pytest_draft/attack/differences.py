"""What the files of several versions tell by their difference: the label or target of the one row that only one has.

Where trees of two files have a node of the same box, and one of them holds one row more there, that row's label is the
difference of their counts, and its target that of their sums (linear models: Bertran et al., Reconstruction Attacks on
Machine Unlearning, NeurIPS 2024). It takes nothing but the two files.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Tree
from pytest_draft.artifact.forest.nodes import ForestNodes, levels
from pytest_draft.artifact.forest.together import ForestOfSeveral


def told_by_difference(forest: ForestOfSeveral, rows: Rows) -> FloatArray:
    """Return the label, or target, of each row that some difference is of, shape (n_rows,); NaN where none is.

    Of files that drew rows for each tree nothing is said.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    """
    found, nodes, trees = np.full(len(rows), np.nan), ForestNodes.of(forest.trees), forest.trees
    keys = np.random.default_rng(0).integers(1, 2**63, (2, forest.n_features), dtype=np.uint64)
    number, box = (
        np.concatenate([tree.weight for tree in trees]),
        np.concatenate([_boxes(tree, keys) for tree in trees]),
    )
    total = np.concatenate([tree.value if forest.classes else tree.value * tree.weight[:, None] for tree in trees])
    sizes = [sum(tree.n_nodes for tree in part.forest.trees) for part in forest.parts]
    file, parent = np.repeat(np.arange(len(sizes)), sizes), nodes.parent
    whole = [k for k, part in enumerate(forest.parts) if (part.times == 1).all()]
    for mine, its in combinations([np.flatnonzero(file == k) for k in whole], 2):
        _, here, there = np.intersect1d(box[mine], box[its], return_indices=True)
        here, there = mine[here], its[there]
        more = number[here] - number[there]
        for at in np.flatnonzero(np.abs(more) == 1):
            said = (total[here[at]] - total[there[at]]) * more[at]
            if forest.classes is None or (said >= 0).all():  # else somebody was added there, and others removed
                inside = _inside(nodes, parent, int(here[at]), rows)
                found[inside] = said[0] if forest.classes is None else said.argmax()
    return found


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


def _inside(nodes: ForestNodes, parent: IntArray, node: int, rows: Rows) -> BoolArray:
    """Return which rows reach a node, shape (n_rows,)."""
    inside = np.ones(len(rows), dtype=np.bool_)
    while (above := int(parent[node])) >= 0:
        value = rows[:, nodes.feature[above]]
        left = np.where(np.isnan(value), nodes.missing_left[above], value <= nodes.threshold[above])
        inside &= left == (nodes.left[above] == node)
        node = above
    return inside
