"""Greedy trees: in go rows of zeros and ones with labels, out comes the `Tree` of scikit-learn's CART."""

from __future__ import annotations

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact.forest import Tree
from studies.learners.width_one import BoolArray


def learn(features: BoolArray, labels: BoolArray, max_depth: int, min_rows: int, seed: int) -> Tree:
    """Return the tree that `DecisionTreeClassifier` grows by its defaults.

    Parameters
    ----------
    features : ndarray of bool, shape (n_rows, n_columns)
    labels : ndarray of bool, shape (n_rows,)
    min_rows : int
        Least number of rows of a leaf.
    seed : int
        Decides between splits that are equally good.
    """
    grower = DecisionTreeClassifier(max_depth=max_depth, min_samples_leaf=min_rows, random_state=seed)
    grown = grower.fit(features.astype(np.float32), labels).tree_
    inner = grown.children_left >= 0
    return Tree(
        left=grown.children_left.astype(np.int64),
        right=grown.children_right.astype(np.int64),
        feature=np.where(inner, grown.feature, -1).astype(np.int64),
        threshold=np.asarray(grown.threshold, dtype=np.float64),
        missing_left=np.zeros(grown.node_count, dtype=bool),
        value=np.asarray(grown.value[:, 0, :], dtype=np.float64),
        weight=np.asarray(grown.weighted_n_node_samples, dtype=np.float64),
        n_distinct=grown.n_node_samples.astype(np.int64),
        seed=seed,
    )
