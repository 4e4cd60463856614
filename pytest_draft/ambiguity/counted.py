"""Forests without counts, with the counts that the true rows give them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_draft.arrays import IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.observations import Answers, ClassCounts, RowNumbers
from pytest_draft.attack.descent import descend


def counted_by(forest: Forest, rows: Rows, labels: IntArray) -> Forest | None:
    """Return a forest with the counts that the true rows have, each seen once by every tree.

    Parameters
    ----------
    forest : Forest
        Of one that was trained with bootstrap, all rows are counted, and not its draws.
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)

    Returns
    -------
    Forest or None
        None where they do not explain what the leaves say.
    """
    answers = forest.observation
    if not isinstance(answers, Answers):
        raise ValueError("this forest holds counts")
    exact = RowNumbers(also=answers.also) if forest.classes is None else ClassCounts("totals", also=answers.also)
    columns, trees = np.ascontiguousarray(rows.T), []
    for tree in forest.trees:
        leaf = descend(tree, columns)
        counts = np.zeros((tree.n_nodes, forest.n_classes))
        np.add.at(counts, (leaf, labels), 1.0)
        leaves = counts[tree.leaves]
        if not leaves.sum(axis=1).all():
            return None
        if not answers.explained(leaves, tree.value[tree.leaves]).all():
            return None
        for node in np.flatnonzero(tree.left >= 0)[::-1]:
            counts[node] = counts[tree.left[node]] + counts[tree.right[node]]
        weight = counts.sum(axis=1)
        distinct, of_drawn = weight.astype(np.int64), np.full(tree.n_nodes, True) if forest.bootstrap else None
        trees.append(replace(tree, value=counts, weight=weight, n_distinct=distinct, no_midpoint=of_drawn))
    return replace(
        forest,
        trees=tuple(trees),
        observation=exact,
        bootstrap=False,
        replacement=False,
        n_samples=len(rows),
        n_draws=None,
        sample_weight=None,
    )
