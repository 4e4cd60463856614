"""Evidence without the truth: how many of the forest's trees grow again from a rebuilt dataset.

A tree is a pure function of its rows, its parameters and its stored seed. Datasets that agree with every count
still grow different trees, so refitting tells them apart. It is evidence, not
proof: with few shallow trees a changed value often leaves all trees alike.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.occurrences import drawn_columns
from pytest_draft.attack.groups import Groups
from pytest_draft.errors import NotCoveredError

_PARAMETERS = (
    "splitter",
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
        A classifier, or a regressor whose classes are its targets (`TargetCounts.classifier`).
    groups : Groups
        Whose weights are the rows' occurrences. Rows that the adversary knows whole are refitted along.

    Returns
    -------
    callable or None
        Takes the unknown rows encoded, shape (n_rows, n_columns), and their class indices, shape (n_rows,);
        returns a number from 0 to `forest.n_trees`. None where the file does not hold what refitting needs, or
        refitting once would take more than about a second.
    """
    if forest.classes is None or any(tree.seed is None for tree in forest.trees):
        return None
    known = groups.known
    if forest.n_trees * (groups.n_rows + (0 if known is None else len(known.rows))) > MOST_ROWS:
        return None
    own = forest.tree_parameters
    parameters = {name: own[name] for name in _PARAMETERS if name in own}  # weights are handed to each tree instead
    try:
        columns = [_written(drawn_columns(forest, t)) for t in range(forest.n_trees)]
    except NotCoveredError:
        return None
    seeds = [forest.draws.own_seed(tree.seed) for tree in forest.trees]
    draw_weight = forest.draw_weight
    targets, learner = None, DecisionTreeClassifier
    if "Regressor" in forest.kind:
        targets, learner = np.array(forest.classes), DecisionTreeRegressor
    weighted = forest.draws.drawn or bool((groups.weight != 1).any() or (draw_weight != 1).any())

    def count(rows: NDArray[np.float32], labels: IntArray) -> int:
        same, weight = 0, groups.weight[:, groups.of_row]
        if known is not None:
            rows, labels = np.concatenate([rows, known.rows]), np.concatenate([labels, known.labels])
            weight = np.concatenate([weight, known.weight], axis=1)
        answers = labels if targets is None else targets[labels]
        for t, times in enumerate(weight):
            sample_weight = times * draw_weight[t, labels] if weighted else None
            for given in columns[t]:
                try:
                    grown = learner(**parameters, random_state=seeds[t])
                    grown.fit(rows[:, given], answers, sample_weight=sample_weight)
                except ValueError:  # parameters of another version: no evidence
                    return 0
                if _equal(forest.trees[t], grown, given):
                    same += 1
                    break
        return same

    return count


def _written(columns: IntArray) -> tuple[IntArray, ...]:
    """Return the columns that a tree was given, and where some of them repeat others the same without repeats."""
    once = np.unique(columns)
    return (columns,) if len(once) == len(columns) else (columns, once)


def _equal(tree: Tree, grown: DecisionTreeClassifier | DecisionTreeRegressor, columns: IntArray) -> bool:
    """Return whether two trees have the same splits and sizes."""
    other = grown.tree_
    return bool(
        other.node_count == tree.n_nodes
        and np.array_equal(other.children_left, tree.left)
        and np.array_equal(np.where(other.feature < 0, -1, columns[np.maximum(other.feature, 0)]), tree.feature)
        and np.array_equal(other.threshold, tree.threshold)
        and (np.array_equal(other.n_node_samples, tree.n_distinct) or not tree.n_distinct[0])
    )
