"""What each row had left to be explained before each tree: scores, gradients and hessians, stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import FloatArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import BoostedSums, sensitivities
from pytest_draft.attack.descent import leaf_positions


@dataclass(frozen=True, eq=False, repr=False)
class Stage:
    """Rows before one tree is added. Its repr shows no row."""

    tree: int
    leaf: Int32Array
    """Shape (n_rows,). The leaf that each reaches in this tree, as a position among its leaves."""
    gradient: FloatArray
    """Shape (n_rows, n_classes). Of a row if its label were this class; of regressors (n_rows, 1), for the label 0:
    a label y takes y off.
    """
    hessian: FloatArray
    """Shape (n_rows,)."""

    def __repr__(self) -> str:
        return f"Stage({self.tree})"


def stages(forest: Forest, columns: NDArray[np.floating[Any]]) -> Iterator[Stage]:
    """Yield rows as they stand before each tree.

    Parameters
    ----------
    forest : Forest
        Whose observation is `BoostedSums`.
    columns : ndarray of floats, shape (n_columns, n_rows)
        As in `pytest_draft.attack.descent.descend`.

    Yields
    ------
    Stage
    """
    said = boosted(forest)
    kind = np.float32 if said.single else np.float64
    score = np.tile(said.base.astype(kind)[:, None], (1, columns.shape[1]))
    gradient = hessian = np.empty((0, 0))
    for t, tree in enumerate(forest.trees):
        k = t % said.n_scores
        if k == 0:  # all trees of a round see the same scores
            gradient, hessian = sensitivities(said.loss, score.astype(np.float64))
        leaf = leaf_positions(tree, columns)
        labels = np.zeros(1) if forest.classes is None else np.arange(forest.n_classes)
        taken = labels == k if said.loss == "softmax" else labels
        of_label = gradient[k][:, None] - taken
        yield Stage(t, leaf, of_label, hessian[k])
        score[k] += tree.value[tree.leaves, 0].astype(kind)[leaf]


def boosted(forest: Forest) -> BoostedSums:
    """Return what a boosted forest says.

    Raises
    ------
    ValueError
        Where it is no boosted one.
    """
    if not isinstance(forest.observation, BoostedSums):
        raise ValueError("these trees are not boosted")
    return forest.observation


def missed(
    forest: Forest,
    columns: NDArray[np.floating[Any]],
    label: IntArray,
    targets: FloatArray | None = None,
    watch: Callable[[Stage], None] | None = None,
) -> int:
    """Return how many of the statements and counts of a boosted forest some rows do not explain.

    Parameters
    ----------
    columns : ndarray of floats, shape (n_columns, n_rows)
    label : ndarray of int64, shape (n_rows,)
        Class of each row.
    targets : ndarray of float64, shape (n_rows,), or None
        A regressor's; without them only what holds for any target is looked at.
    watch : callable or None
        Is shown each stage before it is held against the file; it can raise `OutOfTimeError`.
    """
    said, n_missed = boosted(forest), 0
    everyone = np.arange(columns.shape[1])
    for stage in stages(forest, columns):
        if watch is not None:
            watch(stage)
        tree, own = forest.trees[stage.tree], said.statements[stage.tree]
        gradient = stage.gradient[everyone, label] if forest.classes is not None else stage.gradient[:, 0]
        gradient = gradient if targets is None else gradient - targets
        of_row = np.stack([np.ones(len(label)), gradient, stage.hessian, gradient**2])
        sums = np.stack([at_nodes(tree.left, tree.right, stage.leaf, one) for one in of_row])
        if said.counted:
            n_missed += int((np.rint(sums[0]) != tree.n_distinct).sum())
        found = np.einsum("sk,ks->s", own.weight, sums[:, own.node])
        decided = np.abs(found - own.total) > own.tolerance
        if forest.classes is None and targets is None:
            decided &= (own.weight[:, [1, 3]] == 0).all(axis=1)
        n_missed += int(decided.sum())
    return n_missed


def at_nodes(left: IntArray, right: IntArray, leaf: Int32Array, amount: FloatArray) -> FloatArray:
    """Return the sum of what rows have, at each node of a tree, shape (n_nodes,)."""
    sums = np.zeros(len(left))
    leaves = np.flatnonzero(left < 0)
    sums[leaves] = np.bincount(leaf, amount, minlength=len(leaves))
    for node in np.flatnonzero(left >= 0)[::-1]:
        sums[node] = sums[left[node]] + sums[right[node]]
    return sums
