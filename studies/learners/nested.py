"""Trees of zeros and ones as nested splits: in go the splits and rows with labels, out comes the `Tree` with counts."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from pytest_draft.artifact.forest import Tree
from studies.learners.width_one import BoolArray

Nested: TypeAlias = "tuple[int, Nested, Nested] | None"
"""A column and what follows where it is 0 and where it is 1; None for a leaf."""


def tree_of(root: Nested, features: BoolArray, labels: BoolArray) -> Tree:
    """Return a tree with the counts of some rows.

    Parameters
    ----------
    features : ndarray of bool, shape (n_rows, n_columns)
    labels : ndarray of bool, shape (n_rows,)
    """
    left: list[int] = []
    right: list[int] = []
    feature: list[int] = []
    counts: list[tuple[int, int]] = []

    def add(node: Nested, inside: BoolArray) -> int:
        index, ones = len(left), int(labels[inside].sum())
        left.append(-1)
        right.append(-1)
        feature.append(-1)
        counts.append((int(inside.sum()) - ones, ones))
        if node is not None:
            column, zero, one = node
            feature[index] = column
            left[index] = add(zero, inside & ~features[:, column])
            right[index] = add(one, inside & features[:, column])
        return index

    add(root, np.ones(len(labels), dtype=bool))
    value, tested = np.array(counts, dtype=np.float64), np.array(feature, dtype=np.int64)
    return Tree(
        left=np.array(left, dtype=np.int64),
        right=np.array(right, dtype=np.int64),
        feature=tested,
        threshold=np.where(tested >= 0, 0.5, -2.0),
        missing_left=np.zeros(len(left), dtype=bool),
        value=value,
        weight=value.sum(axis=1),
        n_distinct=value.sum(axis=1).astype(np.int64),
        seed=None,
    )
