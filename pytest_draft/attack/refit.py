"""Evidence without the truth: in goes a rebuilt dataset, out comes how many trees it grows again.

A tree is a pure function of its rows, its parameters and its stored seed. Datasets that agree with every count
still grow different trees, so refitting tells them apart (design, section 5, step 6). It is evidence, not
proof: with few shallow trees a changed value often leaves all trees alike.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.attack.problem import Groups, IntArray

_GROWN_BY: dict[str, type[DecisionTreeClassifier]] = {
    "RandomForestClassifier": DecisionTreeClassifier,
    "ExtraTreesClassifier": ExtraTreeClassifier,
}
_PARAMETERS = (
    "criterion",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "ccp_alpha",
)

MOST_ROWS = 500_000
"""Most rows times trees that are refitted: a second or so for one dataset."""

Evidence = Callable[[NDArray[np.float32], IntArray], int]


def evidence_by_refitting(forest: Forest, groups: Groups) -> Evidence | None:
    """Return a function that counts the trees that a dataset grows again.

    Parameters
    ----------
    forest : Forest
    groups : Groups
        Whose weights are the rows' occurrences.

    Returns
    -------
    callable or None
        Takes encoded rows, shape (n_rows, n_columns), and class indices, shape (n_rows,); returns a number
        from 0 to `forest.n_trees`. None where the file does not hold what refitting needs, or
        refitting once would take more than about a second.
    """
    grow = _GROWN_BY.get(forest.kind)
    if grow is None or any(tree.seed is None for tree in forest.trees):
        return None
    if forest.n_trees * groups.n_rows > MOST_ROWS:
        return None
    parameters = {name: forest.parameters[name] for name in _PARAMETERS if name in forest.parameters}

    def count(rows: NDArray[np.float32], labels: IntArray) -> int:
        same = 0
        for t, tree in enumerate(forest.trees):
            weight = groups.weight[t, groups.of_row].astype(np.float64) if forest.bootstrap else None
            try:
                grown = grow(**parameters, random_state=tree.seed).fit(rows, labels, sample_weight=weight)
            except ValueError:  # parameters of another version: no evidence
                return 0
            same += _equal(tree, grown)
        return same

    return count


def _equal(tree: Tree, grown: DecisionTreeClassifier) -> bool:
    """Return whether two trees have the same splits and sizes."""
    other = grown.tree_
    return bool(
        other.node_count == tree.n_nodes
        and np.array_equal(other.children_left, tree.left)
        and np.array_equal(np.where(other.feature < 0, -1, other.feature), tree.feature)
        and np.array_equal(other.threshold, tree.threshold)
        and np.array_equal(other.n_node_samples, tree.n_distinct)
    )
