"""The numbers of rows that boosted trees tell without any equation that is solved, as a forest of counts alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.draws import RoundDraws
from pytest_draft.artifact.forest.nodes import ForestNodes
from pytest_draft.artifact.forest.observations import WEIGHTS, RowNumbers, sensitivities
from pytest_draft.attack.boosted.staged import boosted
from pytest_draft.errors import NotCoveredError

_WHOLE = 0.05
"""How far a number of rows may be off a whole one."""


def row_numbers(forest: Forest) -> Forest:
    """Return a forest of which only the numbers of rows are left, with the trees of which these are known.

    Where the file does not say them, those of the first round follow: all rows have the same score before it, and so
    the same hessian, in a sum of which each row counts once. Where a hessian is always the same, so it is in all.

    Parameters
    ----------
    forest : Forest
        Whose observation is `BoostedSums`.

    Raises
    ------
    NotCoveredError
        Where they are known of no tree.
    """
    said, draws = boosted(forest), forest.draws
    known = dict(enumerate(forest.trees)) if said.counted else _by_hessians(forest)
    if not known:
        raise NotCoveredError(
            "its file tells neither numbers of rows nor sums of hessians, from which they would follow: such boosted "
            "trees are covered where columns hold few values, and without side knowledge"
        )
    trees = tuple(known.values())
    n_rows = forest.n_samples if draws.drawn else int(trees[0].n_distinct[0])
    if isinstance(draws, RoundDraws) and draws.of_trees is not None:
        draws = replace(draws, of_trees=draws.of_trees[list(known)])
    return replace(forest, trees=trees, classes=None, observation=RowNumbers(), n_samples=n_rows, draws=draws)


def _by_hessians(forest: Forest) -> dict[int, Tree]:
    """Return the trees, by their places, whose numbers of rows follow from sums of hessians that are all alike."""
    said = boosted(forest)
    found: dict[int, Tree] = {}
    if said.class_weight is not None or said.unknown == WEIGHTS:
        return found
    hessian = sensitivities(said.loss, said.base[:, None])[1][:, 0]
    first_round = said.n_scores * said.in_parallel
    for t, tree in enumerate(forest.trees if said.loss == "squared" else forest.trees[:first_round]):
        number = _at_leaves(forest, t, float(hessian[said.score_of(t)]))
        if number is None:
            continue
        n_rows = ForestNodes.of([tree]).summed_up(number[:, None].astype(np.float64))[:, 0]
        if found and n_rows[0] != next(iter(found.values())).weight[0] and not forest.draws.drawn:
            continue
        distinct = n_rows.astype(np.int64)
        found[t] = replace(tree, value=np.zeros((tree.n_nodes, 1)), weight=n_rows, n_distinct=distinct)
    return found


def _at_leaves(forest: Forest, t: int, hessian: float) -> IntArray | None:
    """Return the number of rows at each leaf of a tree of rows with one hessian; None where it does not follow."""
    tree, said = forest.trees[t], boosted(forest).statements[t]
    number = np.full(tree.n_nodes, np.nan)
    each = said.weight[:, 0] + said.weight[:, 2] * hessian
    telling = (said.weight[:, [1, 3]] == 0).all(axis=1) & (each != 0)
    number[said.node[telling]] = said.total[telling] / each[telling]
    leaves = number[tree.leaves]
    if not np.isfinite(leaves).all() or (np.abs(leaves - np.rint(leaves)) > _WHOLE).any() or leaves.sum() < 0.5:
        return None
    result: IntArray = np.rint(leaves).astype(np.int64)
    return result
