"""What each row had left to be explained before each tree: scores, gradients and hessians, stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.draws import RoundDraws
from pytest_draft.artifact.forest.observations import DRAWS, WEIGHTS, BoostedSums, Statements, sensitivities
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
        k = said.score_of(t)
        if t % (said.n_scores * said.in_parallel) == 0:  # all trees of a round see the same scores
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
    everyone, each, drawn = np.arange(columns.shape[1]), said.weights(label), drawn_rows(forest)
    can_be_less = None if said.unknown is None else 1.0 if said.unknown == DRAWS else np.inf
    for stage in stages(forest, columns):
        if watch is not None:
            watch(stage)
        tree, own = forest.trees[stage.tree], said.statements[stage.tree]
        gradient = stage.gradient[everyone, label] if forest.classes is not None else stage.gradient[:, 0]
        gradient = gradient if targets is None else gradient - targets
        there = np.ones(len(label)) if drawn is None else drawn[stage.tree].astype(np.float64)
        if said.counted:
            number = np.rint(at_nodes(tree.left, tree.right, stage.leaf, there))
            n_missed += int(
                (number < tree.n_distinct if forest.draws.drawn and drawn is None else number != tree.n_distinct).sum()
            )
        of_row = np.stack([np.ones(len(label)), gradient, stage.hessian, gradient**2])
        of_row = of_row * there if each is None else of_row * (there * each)
        if can_be_less is None:
            sums = np.stack([at_nodes(tree.left, tree.right, stage.leaf, one) for one in of_row])
            found = np.einsum("sk,ks->s", own.weight, sums[:, own.node])
            decided = np.abs(found - own.total) > own.tolerance
        else:
            low, high = _reach(tree, own, stage.leaf, of_row)
            with np.errstate(invalid="ignore"):
                low, high = np.nan_to_num(low * can_be_less), np.nan_to_num(high * can_be_less)
            decided = (own.total < low - own.tolerance) | (own.total > high + own.tolerance)
        if forest.classes is None and targets is None:
            decided &= (own.weight[:, [1, 3]] == 0).all(axis=1)
        n_missed += int(decided.sum())
    return n_missed


def drawn_rows(forest: Forest) -> BoolArray | None:
    """Return which rows each tree drew, shape (n_trees, n_rows); None where each drew all, or it is not known."""
    drawn = forest.draws.of_trees
    return None if drawn is None else drawn > 0


def known_amounts(forest: Forest, n_rows: int) -> IntArray | None:
    """Return how often each tree saw each row, shape (n_trees, n_rows); None where its leaves do not tell whose."""
    said, drawn = boosted(forest), drawn_rows(forest)
    if said.unknown is not None and (not said.counted or (drawn is None and forest.draws.drawn)):
        return None
    return np.ones((forest.n_trees, n_rows), dtype=np.int64) if drawn is None else drawn.astype(np.int64)


def with_amounts(forest: Forest, columns: NDArray[np.floating[Any]], label: IntArray) -> Forest:
    """Return a boosted forest with what all of its rows tell of how much each adds to its sums.

    Draws are known if one of the ways to replay them explains all sums. Otherwise they are not known; nor are weights
    where those by class do not explain the sums beside numbers of rows.

    Parameters
    ----------
    columns : ndarray of floats, shape (n_columns, n_rows)
        As in `missed`.
    """
    said, draws = boosted(forest), forest.draws
    if isinstance(draws, RoundDraws) and (said.unknown == DRAWS or said.counted):
        for replay in draws.replays:
            first, drawn = forest.trees[: said.n_scores], replay(label)
            known = replace(
                forest,
                draws=replace(draws, of_trees=drawn),
                observation=replace(said, unknown=None if said.unknown == DRAWS else said.unknown),
                n_samples=len(label),
            )
            if not missed(replace(known, trees=first), columns, label) and not missed(known, columns, label):
                return known
    if said.class_weight is not None and said.counted and missed(forest, columns, label):
        unknown = said.unknown or WEIGHTS
        return replace(forest, observation=replace(said, class_weight=None, unknown=unknown), n_samples=None)
    return forest


def _reach(tree: Tree, own: Statements, leaf: Int32Array, of_row: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return between what each statement's sum lies, whichever rows add to it; `of_row` is of shape (4, n_rows)."""
    low, high = np.zeros((2, len(own.node)))
    parent, inner = np.full(tree.n_nodes, -1), np.flatnonzero(tree.left >= 0)
    parent[tree.left[inner]] = parent[tree.right[inner]] = inner
    order = np.argsort(own.node, kind="stable")
    number = np.bincount(own.node, minlength=tree.n_nodes)
    first = np.cumsum(number) - number
    at, rows = tree.leaves[leaf], np.arange(len(leaf))
    while len(rows):
        for place in range(int(number[at].max(initial=0))):
            there = number[at] > place
            which = order[first[at[there]] + place]
            amount = np.einsum("rk,kr->r", own.weight[which], of_row[:, rows[there]])
            low += np.bincount(which, np.minimum(amount, 0.0), len(low))
            high += np.bincount(which, np.maximum(amount, 0.0), len(high))
        at = parent[at]
        at, rows = at[at >= 0], rows[at >= 0]
    return low, high


def at_nodes(left: IntArray, right: IntArray, leaf: Int32Array, amount: FloatArray) -> FloatArray:
    """Return the sum of what rows have, at each node of a tree, shape (n_nodes,)."""
    sums = np.zeros(len(left))
    leaves = np.flatnonzero(left < 0)
    sums[leaves] = np.bincount(leaf, amount, minlength=len(leaves))
    for node in np.flatnonzero(left >= 0)[::-1]:
        sums[node] = sums[left[node]] + sums[right[node]]
    return sums
