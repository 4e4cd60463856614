"""Forests without counts by class, with the counts that the true rows give them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.nodes import ForestNodes
from pytest_draft.artifact.observations import Answers, BoostedSums, ClassCounts, RowNumbers
from pytest_draft.attack.boosted.staged import missed
from pytest_draft.attack.descent import leaf_positions


def counted_by(forest: Forest, rows: Rows, labels: IntArray) -> Forest | None:
    """Return a forest with the counts that the true rows have, each seen once by every tree.

    Parameters
    ----------
    forest : Forest
        Of one that was trained with bootstrap, all rows are counted, and not its draws. Of boosted trees each sum
        leaves, given all other rows, what the one row adds, and so the leaf and the class that counts tell.
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)

    Returns
    -------
    Forest or None
        None where they do not explain what the leaves say.
    """
    said, gaps = forest.observation, forest.gaps
    columns, trees = np.ascontiguousarray(rows.T), []
    if isinstance(said, BoostedSums):
        if missed(forest, columns.astype(np.float64), labels):
            return None
        gaps = _gaps(forest)
    elif not isinstance(said, Answers):
        raise ValueError("this forest holds counts")
    exact = RowNumbers(also=said.also) if forest.classes is None else ClassCounts("totals", also=said.also)
    for tree in forest.trees:
        leaf = leaf_positions(tree, columns)
        leaves = np.zeros((len(tree.leaves), forest.n_classes))
        np.add.at(leaves, (leaf, labels), 1.0)
        if isinstance(said, Answers) and not (
            leaves.sum(axis=1).all() and said.explained(leaves, tree.value[tree.leaves]).all()
        ):
            return None
        counts = ForestNodes.of([tree]).summed_up(leaves)
        weight = counts.sum(axis=1)
        distinct = weight.astype(np.int64)
        no_midpoint = np.full(tree.n_nodes, True) if forest.draws.drawn else tree.no_midpoint
        trees.append(replace(tree, value=counts, weight=weight, n_distinct=distinct, no_midpoint=no_midpoint))
    return replace(
        forest,
        trees=tuple(trees),
        observation=exact,
        draws=replace(forest.draws, rows="all", per_tree=None, sample_weight=None),
        n_samples=len(rows),
        gaps=gaps,
    )


def _gaps(forest: Forest) -> tuple[tuple[int, FloatArray], ...]:
    """Return the thresholds of boosted trees, by column, where they were chosen among the values of all rows."""
    if forest.splitter == "best":
        return ()
    nodes = ForestNodes.of(forest.trees)
    tested = np.isfinite(nodes.threshold) & (nodes.left >= 0)
    columns = np.unique(nodes.feature[tested]).tolist()
    return tuple((column, np.unique(nodes.threshold[tested & (nodes.feature == column)])) for column in columns)
