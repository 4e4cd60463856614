"""What the files of several versions tell by their difference: labels or targets of people who are only in one.

Where trees of two files have a node of the same box, and one of them holds more people there, all of one class, that is
their label; of one person the target is the difference of the sums. It takes nothing but the two files, and what these
people's features are. (Linear models: Bertran et al., Reconstruction Attacks on Machine Unlearning, NeurIPS 2024.)
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Tree
from pytest_draft.artifact.forest.nodes import ForestNodes, levels
from pytest_draft.artifact.forest.together import ForestOfSeveral
from pytest_draft.timebox import TimeBox

_PRIME = np.uint64(2**61 - 1)
"""By this, numbers such as 0.5, whose last bits are all 0, have others: else products lose the bits of their keys."""


def told_by_difference(forest: ForestOfSeveral, rows: Rows, timebox: TimeBox) -> FloatArray:
    """Return the label, or target, of each row that some difference is of, shape (n_rows,); NaN where none is.

    Of files that drew rows for each tree nothing is said, nor of nodes where some were added, and others removed.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
        Of all people.

    Raises
    ------
    OutOfTimeError
    """
    found, nodes, trees = np.full(len(rows), np.nan), ForestNodes.of(forest.trees), forest.trees
    keys = np.random.default_rng(0).integers(1, 2**63, (2, forest.n_features), dtype=np.uint64)
    box, by_class = np.concatenate([_boxes(tree, keys) for tree in trees]), forest.classes is not None
    total = np.concatenate([tree.value if by_class else tree.value * tree.weight[:, None] for tree in trees])
    number, parent = np.concatenate([tree.weight for tree in trees]), nodes.parent
    sizes = [sum(tree.n_nodes for tree in part.forest.trees) for part in forest.parts]
    files = zip(np.split(np.arange(len(box)), np.cumsum(sizes)[:-1]), forest.parts, strict=True)
    whole = [(own, part.rows) for own, part in files if (part.times == 1).all()]
    for (mine, people), (its, others) in permutations(whole, 2):
        only_here, only_there = np.setdiff1d(people, others), np.setdiff1d(others, people)
        _, here, there = np.intersect1d(box[mine], box[its], return_indices=True)
        here, there = mine[here], its[there]
        difference, more = total[here] - total[there], number[here] - number[there]
        alike = (difference == more[:, None]).any(axis=1) if by_class else more == 1
        for at in np.flatnonzero((more > 0) & alike):
            timebox.require()
            node = int(here[at])
            if not len(_inside(nodes, parent, node, rows, only_there)):
                inside = _inside(nodes, parent, node, rows, only_here)
                found[inside] = difference[at].argmax() if by_class else difference[at, 0]
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
    box: NDArray[np.uint64] = (bits % _PRIME) @ keys.reshape(-1)
    return box


def _inside(nodes: ForestNodes, parent: IntArray, node: int, rows: Rows, among: IntArray) -> IntArray:
    """Return which of some rows reach a node."""
    while (above := int(parent[node])) >= 0:
        value = rows[among, nodes.feature[above]]
        left = np.where(np.isnan(value), nodes.missing_left[above], value <= nodes.threshold[above])
        among, node = among[left == (nodes.left[above] == node)], above
    return among
