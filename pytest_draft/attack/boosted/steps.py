"""Labels behind leaves whose values were found in several Newton steps, as CatBoost finds them.

Once the rows of each cell are known, a leaf's value rises with the number of its rows of class 1, so it tells that
number. The file does not say which trees took shorter or fewer steps, so a tree counts only where all of its leaves
tell whole numbers.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse, special

from pytest_draft.arrays import FloatArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import NewtonSteps
from pytest_draft.attack.boosted.equations import OF_COUNTS, Equations, Kinds
from pytest_draft.attack.boosted.staged import boosted, stages
from pytest_draft.errors import OutOfTimeError
from pytest_draft.timebox import TimeBox

_MOST_TREES = 150
"""Trees whose leaves are asked: they know the same labels."""

_HALVINGS = 45
"""Of the interval in which a leaf's number of rows of class 1 lies."""

_WHOLE = 1e-4
"""How near to a whole number each leaf's must be."""


def label_equations(forest: Forest, kinds: Kinds, by_cell: IntArray, timebox: TimeBox) -> Equations:
    """Return what leaves tell of labels, beside the rows of each cell.

    Parameters
    ----------
    forest : Forest
        Whose leaves took several steps, and which has two classes.
    by_cell : ndarray of int64, shape (n_cells,)
        Rows of each cell.

    Returns
    -------
    Equations
        Over the kinds of all cells that have rows, class 0 first.

    Raises
    ------
    OutOfTimeError
    """
    steps, held = boosted(forest).steps, np.flatnonzero(by_cell)
    if steps is None:
        raise ValueError("the leaves of this forest took one step")
    rows, n_cells = by_cell[held].astype(np.float64), len(held)
    either = sparse.eye_array(n_cells, format="csr")
    parts, totals = [sparse.hstack([either, either], format="csr")], [rows]
    trees = set(np.unique(np.linspace(0, forest.n_trees - 1, _MOST_TREES).astype(np.int64)).tolist())
    for stage in stages(forest, kinds.columns[:, held]):
        if stage.tree not in trees:
            continue
        if timebox.over:
            raise OutOfTimeError
        tree = forest.trees[stage.tree]
        score = special.logit(np.clip(stage.gradient[:, 0], 1e-15, 1 - 1e-15))
        number = _of_class_one(steps, tree.value[tree.leaves, 0], stage.leaf, score, rows)
        if np.isnan(number).any() or np.abs(number - np.rint(number)).max() > _WHOLE:
            continue
        of_leaf = sparse.csr_array(
            (np.ones(n_cells), (stage.leaf, np.arange(n_cells))), shape=(len(tree.leaves), n_cells)
        )
        filled = np.flatnonzero(np.diff(of_leaf.indptr))
        parts.append(sparse.hstack([sparse.csr_array(of_leaf.shape), of_leaf], format="csr")[filled])
        totals.append(np.rint(number[filled]))
    total = np.concatenate(totals)
    return Equations(sparse.vstack(parts, format="csc"), total, np.full(len(total), OF_COUNTS))


def _of_class_one(
    steps: NewtonSteps, value: FloatArray, leaf: Int32Array, score: FloatArray, rows: FloatArray
) -> FloatArray:
    """Return how many rows of class 1 each leaf must have for its value, shape (n_leaves,); of empty ones 0.

    Parameters
    ----------
    value : ndarray of float64, shape (n_leaves,)
        What each adds to the score.
    leaf, score, rows : ndarray, shape (n_cells,)
        Of each cell: its leaf, its score so far, its number of rows.
    """
    n_leaves = len(value)
    most = np.bincount(leaf, rows, minlength=n_leaves)
    low, high = np.full(n_leaves, -0.5), most + 0.5
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = value_of(steps, middle, leaf, score, rows) > value
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    number = (low + high) / 2
    return np.where(most > 0, number, 0.0)


def value_of(
    steps: NewtonSteps, of_class_one: FloatArray, leaf: Int32Array, score: FloatArray, rows: FloatArray
) -> FloatArray:
    """Return what leaves add to the score by all their steps at full length, shape (n_leaves,)."""
    n_leaves = len(of_class_one)
    moved = np.zeros(n_leaves)
    for _ in range(steps.steps):
        p = special.expit(score + moved[leaf])
        gradient = of_class_one - np.bincount(leaf, rows * p, minlength=n_leaves)
        hessian = np.bincount(leaf, rows * p * (1 - p), minlength=n_leaves)
        moved += gradient / (hessian + steps.l2)
    return moved * steps.learning_rate
