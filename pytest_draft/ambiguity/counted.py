"""Forests without counts, with the counts that the true rows give them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_draft.arrays import IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.nodes import ForestNodes
from pytest_draft.artifact.observations import Answers, ClassCounts, RowNumbers
from pytest_draft.attack.descent import leaf_positions


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
        leaf = leaf_positions(tree, columns)
        leaves = np.zeros((len(tree.leaves), forest.n_classes))
        np.add.at(leaves, (leaf, labels), 1.0)
        if not leaves.sum(axis=1).all():
            return None
        if not answers.explained(leaves, tree.value[tree.leaves]).all():
            return None
        counts = ForestNodes.of([tree]).summed_up(leaves)
        weight = counts.sum(axis=1)
        distinct, of_drawn = weight.astype(np.int64), np.full(tree.n_nodes, True) if forest.draws.drawn else None
        trees.append(replace(tree, value=counts, weight=weight, n_distinct=distinct, no_midpoint=of_drawn))
    return replace(
        forest,
        trees=tuple(trees),
        observation=exact,
        draws=replace(forest.draws, rows="all", per_tree=None, sample_weight=None),
        n_samples=len(rows),
    )
