"""What the nodes of an XGBoost model say of sums over their rows, and how far rounding can put it off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact.forest import Tree
from pytest_draft.artifact.forest.observations import Loss, Statements, sensitivities
from pytest_draft.artifact.sklearn.boosted_estimators import UNKNOWN_ROWS
from pytest_draft.artifact.xgboost.parts import number
from pytest_draft.artifact.xgboost.rates import SINGLE, Rates
from pytest_draft.artifact.xgboost.trees import XGBoostTree
from pytest_draft.errors import CorruptArtifactError

Link = Literal["logit", "log", "none"]
"""What makes a score of ``base_score``."""

_BETWEEN = 1e-6
"""From version 3.1 on, a probability that is a base score stays so far from 0 and 1."""

_WHOLE = 0.2
"""How far a number of rows may be off a whole one; where rounding alone can do that, nothing is decided by it."""

_ULPS = 2.0
"""How many times the rounding of a number near 1 a row's gradient or hessian can be off."""


@dataclass(frozen=True)
class Ways:
    """How trees were trained."""

    n_scores: int
    in_parallel: int
    """Trees that each round adds to each score."""
    drawn: float
    """Share of the rows that each tree draws."""
    of_class_one: float
    """Weight of each row of the second of two classes."""


@dataclass(frozen=True, eq=False, repr=False)
class Counted:
    """What the first trees say of numbers of rows."""

    is_whole: bool
    """Whether all that can be told are whole."""
    n_rows: int | None
    """How many rows there are, where that can be told."""
    about: float
    """How many rows there are, as far as that can be told."""
    trees: Sequence[Tree]
    """With numbers of rows where hessians are these; else as they were."""
    scale: float
    """How large a score can be."""


def base_score(written: str, n_scores: int, link: Link, version: tuple[int, ...]) -> FloatArray:
    """Return each score before the first tree, of what ``base_score`` says: a number, or from version 3.1 on a list.

    Raises
    ------
    CorruptArtifactError
        If it is neither, or out of its range.
    """
    found = [number(one.strip()) for one in written.strip().removeprefix("[").removesuffix("]").split(",", n_scores)]
    given = [one for one in found if one is not None]
    if len(given) != len(found) or len(given) not in (1, n_scores):
        raise CorruptArtifactError("learner_model_param: base_score does not have a number for each score")
    score = np.full(n_scores, given, np.float32)
    if link == "logit":
        if version[:2] >= (3, 1):
            score = np.clip(score, np.float32(_BETWEEN), np.float32(1) - np.float32(_BETWEEN))
        if not ((score > 0) & (score < 1)).all():
            raise CorruptArtifactError("learner_model_param: base_score is no probability")
        score = -np.log(np.float32(1) / score - np.float32(1))
    elif link == "log":
        if not (score > 0).all():
            raise CorruptArtifactError("learner_model_param: base_score is no positive number")
        score = np.log(score)
    if not np.isfinite(score).all():
        raise CorruptArtifactError("learner_model_param: base_score is out of range")
    return score.astype(np.float64)


def counted_in(
    trees: Sequence[XGBoostTree], ways: Ways, loss: Loss, base: FloatArray, factor: float, rates: Rates | None
) -> Counted:
    """Count the rows of nodes where all rows have one hessian: in the first round, and by squared errors always.

    Parameters
    ----------
    factor : float
        What XGBoost multiplies hessians by.
    rates : Rates or None
        To count the rows of a class, too; None where they are not known.
    """
    first, hessian = sensitivities(loss, base)
    is_whole, roots, filled, of_class_one = True, [], [], ways.of_class_one
    for index, tree in enumerate(trees if loss == "squared" else trees[: ways.n_scores * ways.in_parallel]):
        k = index // ways.in_parallel % ways.n_scores
        count = tree.hessian / (factor * hessian[k])
        error = count * (SINGLE if loss == "squared" else 8 * SINGLE)
        if of_class_one == 1:
            is_whole &= _are_whole(count, error)
        roots.append((float(count[0]), float(error[0])))
        if loss in ("logistic", "softmax") and rates is not None:
            gradient, of_rounding = gradients(tree, rates)
            own = (count * first[k] - gradient) / of_class_one
            is_whole &= _are_whole(own, (error + of_rounding) / of_class_one)
            if of_class_one != 1:
                is_whole &= _are_whole(count - own * of_class_one, 2 * error + of_rounding)
        rounded = np.rint(np.minimum(count, 2.0**53))
        filled.append(replace(tree.tree, weight=rounded, n_distinct=rounded.astype(np.int64)))
    if loss == "squared":
        is_whole &= all(map(_adds_up, filled))
    about, error_of_root = roots[0]
    if ways.drawn == 1:
        is_whole &= all(abs(one - about) <= max(0.5, 2 * error_of_root) for one, _ in roots)
    scale = float(np.abs(base).max()) + sum(float(np.abs(tree.tree.value).max()) for tree in trees)
    n_rows = round(about) if is_whole and error_of_root <= _WHOLE else None
    return Counted(is_whole, n_rows, about / ways.drawn, filled, scale)


def gradients(tree: XGBoostTree, rates: Rates) -> tuple[FloatArray, FloatArray]:
    """Return the sum of gradients of each node, and how far rounding of what is stored can put it off."""
    is_leaf = tree.tree.left < 0
    step = np.where(is_leaf, tree.tree.value[:, 0] / rates.learning_rate, tree.step)
    total = tree.hessian + rates.reg_lambda
    relative = np.where(is_leaf, 2 * SINGLE + rates.learning_rate_error / rates.learning_rate, SINGLE)
    error = np.abs(step) * (total * relative + tree.hessian * SINGLE + rates.reg_lambda_error)
    return -step * total, error


def statements_of(
    tree: XGBoostTree, loss: Loss, factor: float, rates: Rates, limit: float | None, counted: Counted
) -> Statements:
    """Return what a tree says: of each node its sums of hessians (unless these are counts) and of gradients.

    Parameters
    ----------
    limit : float or None
        ``max_delta_step``: where a step has this size, it was cut off, and says nothing.
    """
    hessian = tree.hessian
    gradient, error = gradients(tree, rates)
    if loss == "poisson":
        of_hessian = 8 * SINGLE * hessian
        error = error + SINGLE * (10 * hessian / factor + np.abs(gradient))
    elif loss == "squared":
        of_hessian = SINGLE * hessian
        error = error + SINGLE * 2 * counted.scale * hessian
    else:
        of_rows = _ULPS * SINGLE * counted.about
        of_hessian = SINGLE * 2 * hessian + factor * of_rows
        error = error + of_rows
    nodes = np.arange(tree.tree.n_nodes)
    kept = np.ones(len(nodes), np.bool_)
    if limit:
        step = np.where(tree.tree.left < 0, tree.tree.value[:, 0] / rates.learning_rate, tree.step)
        kept = np.abs(step) < limit * (1 - 1e-5)
    parts = [Statements.of(nodes[kept], (0, 1, 0, 0), gradient[kept], error[kept])]
    if loss != "squared":
        parts.insert(0, Statements.of(nodes, (0, 0, factor, 0), hessian, of_hessian))
    return Statements.joined(parts)


def statements_of_values(tree: XGBoostTree, factor: float, rates: Rates) -> Statements:
    """Return what the leaves of a tree say by their values alone, where its sums were removed."""
    leaves = tree.tree.leaves
    step = tree.tree.value[leaves, 0] / rates.learning_rate
    off = (
        _ULPS * SINGLE * UNKNOWN_ROWS * (1 + (2 + factor) * np.abs(step)) + 2 * SINGLE * np.abs(step) * rates.reg_lambda
    )
    return Statements.of(leaves, (0, 1, factor * step, 0), -step * rates.reg_lambda, off)


def _are_whole(number_: FloatArray, error: FloatArray) -> bool:
    """Return whether numbers are whole and not negative, as far as their errors let it be told."""
    off = np.abs(number_ - np.rint(number_))
    clear = error <= _WHOLE
    return bool((off[clear] <= np.maximum(error[clear], 1e-4)).all() and (number_ >= -_WHOLE - error).all())


def _adds_up(tree: Tree) -> bool:
    """Return whether each node's number of rows is its children's together."""
    inner = np.flatnonzero(tree.left >= 0)
    below = tree.n_distinct[tree.left[inner]] + tree.n_distinct[tree.right[inner]]
    return bool((tree.n_distinct[inner] == below).all())
