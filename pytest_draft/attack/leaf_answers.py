"""What the leaves that rows reach say of their labels or targets, and guesses from that.

They are those of somebody who knows a person's features, and knows or supposes that they are in the data: no label and
no target enters here. A guess has a name, so that a report can say whose the best one is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import softmax

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.observations import Answers, BoostedSums, ClassCounts, Shares
from pytest_draft.artifact.rule_list import RuleList
from pytest_draft.attack.boosted.staged import boosted, stages
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.errors import NotCoveredError

ANSWER, COMMONEST, ALLOWED = "the model's answer", "what most leaves say", "what the leaves allow"
"""The guesses."""

_ROUNDING = {False: 1e-9, True: 2e-6}
"""How far equal targets are apart at most, relative to the largest, by whether sums are in single precision."""

_ANY = 1 << 30
"""Room for any number of draws."""

_AT_ONCE = 2_000
"""Positions among the training rows that are tried at once."""


def guesses_of(model: Forest | RuleList, rows: Rows) -> dict[str, FloatArray]:
    """Return guesses of the label (as an index into the classes) or target of each row, shape (n_rows,), by name.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    """
    if isinstance(model, Forest) and model.classes is None:
        return target_guesses(target_answers(model, rows), model, rows)
    return class_guesses(class_answers(model, rows))


def class_answers(model: Forest | RuleList, rows: Rows) -> FloatArray:
    """Return the share of each class by each tree, shape (n_trees, n_rows, n_classes); boosted trees answer as one.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    """
    if isinstance(model, RuleList):
        counts = model.counts
        if counts is None:
            counts = np.array([[one == rule.prediction for one in model.classes] for rule in model.rules], np.int64)
        return _shares(counts.astype(np.float64))[model.captured(rows)][None]
    columns = np.ascontiguousarray(rows.T)
    if isinstance(model.observation, BoostedSums):
        score = _scores(model, columns)
        return np.asarray(softmax(np.vstack([0 * score, score]) if len(score) == 1 else score, axis=0).T[None])
    return np.stack([_shares(values) for values in _at_leaves(model, columns)])


def target_answers(forest: Forest, rows: Rows) -> FloatArray:
    """Return the target by each tree of a regressor, shape (n_trees, n_rows); boosted trees answer as one."""
    columns = np.ascontiguousarray(rows.T)
    if isinstance(forest.observation, BoostedSums):
        score = _scores(forest, columns)
        return np.exp(score) if forest.observation.loss == "poisson" else score
    return np.stack([values[:, 0] for values in _at_leaves(forest, columns)])


def _at_leaves(forest: Forest, columns: Rows) -> Iterator[FloatArray]:
    for tree in forest.trees:
        yield tree.value[tree.leaves][leaf_positions(tree, columns)]


def _scores(forest: Forest, columns: Rows) -> FloatArray:
    score = boosted(forest).base[:, None] + np.zeros(columns.shape[1])
    for t, values in enumerate(_at_leaves(forest, columns)):
        score[t % len(score)] += values[:, 0]
    return score


def _shares(values: FloatArray) -> FloatArray:
    """Return values by class as shares: negative counts are none, and nothing is all classes alike."""
    values = np.maximum(values, 0.0)
    total = values.sum(axis=-1, keepdims=True)
    return np.where(total > 0, values / np.where(total > 0, total, 1.0), 1.0 / values.shape[-1])


def class_guesses(answers: FloatArray) -> dict[str, FloatArray]:
    """Return guesses of the class of each row, shape (n_rows,), by name.

    Parameters
    ----------
    answers : ndarray of float64, shape (n_trees, n_rows, n_classes)
        As `class_answers` returns them.
    """
    mean = answers.mean(axis=0)
    scores = {ANSWER: mean}
    if len(answers) > 1:
        scores[COMMONEST] = np.eye(answers.shape[2])[answers.argmax(axis=2)].sum(axis=0) + mean / 2
        scores[ALLOWED] = (answers > 0).sum(axis=0) + mean / 2
    return {name: score.argmax(axis=1).astype(np.float64) for name, score in scores.items()}


def target_guesses(
    answers: FloatArray, forest: Forest | None = None, rows: Rows | None = None
) -> dict[str, FloatArray]:
    """Return guesses of the target of each row, shape (n_rows,), by name.

    Parameters
    ----------
    answers : ndarray of float64, shape (n_trees, n_rows)
        As `target_answers` returns them.
    forest, rows : Forest and ndarray of float32, shape (n_rows, n_columns), or None
        Boosted trees, and those rows: then what each leaf says of a row that is alone in it is looked at.
    """
    guesses = {ANSWER: answers.mean(axis=0)}
    if forest is not None and rows is not None and isinstance(forest.observation, BoostedSums):
        alone = _alone_in_boosted(forest, rows)
        least = 1 if forest.observation.counted else 2
        guesses[ALLOWED] = commonest(alone, rounding_of(answers, forest), guesses[ANSWER], least)
    elif len(answers) > 1:
        guesses[COMMONEST] = commonest(answers, rounding_of(answers, forest), guesses[ANSWER])
    return guesses


def rounding_of(values: FloatArray, forest: Forest | None) -> float:
    """Return how far equal targets are apart at most."""
    single = forest is not None and isinstance(forest.observation, BoostedSums) and forest.observation.single
    return _ROUNDING[single] * max(float(np.abs(values).max(initial=0.0)), float(np.finfo(np.float64).tiny))


def commonest(values: FloatArray, rounding: float, otherwise: FloatArray, least: int = 2) -> FloatArray:
    """Return the value that stands most often in each column, or another one where none is there often enough.

    Parameters
    ----------
    values : ndarray of float64, shape (n_values, n_columns)
        NaN for none.
    otherwise : ndarray of float64, shape (n_columns,)
    least : int
        How often it must be there.
    """
    values = np.sort(values, axis=0)
    found, most, times = otherwise.copy(), np.full(len(otherwise), least - 1), np.zeros(len(otherwise), np.int64)
    last = np.full(len(otherwise), np.nan)
    for value in values:
        times = np.where(np.isnan(value), 0, np.where(value - last <= rounding, times + 1, 1))
        more = times > most
        found[more], most[more], last = value[more], times[more], value
    return found


def _alone_in_boosted(forest: Forest, rows: Rows) -> FloatArray:
    """Return the target that each tree gives a row if it is alone in its leaf, shape (n_trees, n_rows).

    NaN where the file says that it is not, or nothing of it.
    """
    said, found = boosted(forest), []
    for stage in stages(forest, np.ascontiguousarray(rows.T).astype(np.float64)):
        tree, own = forest.trees[stage.tree], said.statements[stage.tree]
        usable = np.flatnonzero((own.weight[:, 1] != 0) & (own.weight[:, 3] == 0) & (tree.left[own.node] < 0))
        at = np.full(tree.n_nodes, -1)
        at[own.node[usable]] = usable
        node = tree.leaves[stage.leaf]
        stated = at[node] >= 0 if not said.counted else (at[node] >= 0) & (tree.n_distinct[node] == 1)
        target = np.full(len(node), np.nan)
        where = at[node[stated]]
        weight, total = own.weight[where], own.total[where]
        rest = weight[:, 0] + weight[:, 2] * stage.hessian[stated] - total
        target[stated] = stage.gradient[stated, 0] + rest / weight[:, 1]
        found.append(target)
    return np.stack(found)


def possible_classes(
    model: Forest | RuleList, rows: Rows, times: IntArray | None, n_training_rows: int
) -> BoolArray | None:
    """Return which classes a training row with these features can have, by what its leaves hold.

    A class is possible if for some position among the training rows each tree has room for it in the row's leaf, as
    often as it drew that position.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    times : ndarray of int64, shape (n_trees, n_positions), or None
        How often each tree saw each position; None where that is not known.
    n_training_rows : int
        Most draws that a leaf can hold.

    Returns
    -------
    ndarray of bool, shape (n_rows, n_classes), or None
        None where that is not known, so that nothing is certain.
    """
    if isinstance(model, RuleList):
        counts = model.counts
        return None if counts is None else counts[model.captured(rows)] > 0
    if times is None or not isinstance(model.observation, (ClassCounts, Shares)):
        return None
    columns = np.ascontiguousarray(rows.T)
    leaf = [leaf_positions(tree, columns) for tree in model.trees]
    room = np.stack([_room(model, t, n_training_rows)[leaf[t]] for t in range(model.n_trees)])
    return _with_room(room, np.unique(times, axis=1) if not model.draws.drawn else times)


def _room(forest: Forest, index: int, n_training_rows: int) -> IntArray:
    """Return how many draws of each class each leaf of a tree can hold, shape (n_leaves, n_classes)."""
    tree, said = forest.trees[index], forest.observation
    if not isinstance(said, Answers):
        try:
            return forest.counts(index)[tree.leaves]
        except NotCoveredError:  # weights that are not in the file: what has some weight is there
            return np.where(tree.value[tree.leaves] > 0, _ANY, 0)
    least = 0.0
    if isinstance(said, Shares) and said.decimals is not None:  # a share of 0 can be one of few draws
        scaled = forest.draws.may_scale(forest.sklearn_minor)
        least = -1.0 if scaled else 1.0 / n_training_rows - said.tolerance
    return np.where(tree.value[tree.leaves] > least, _ANY, 0)


def _with_room(room: IntArray, times: IntArray) -> BoolArray:
    """Return which classes have room in all leaves for the draws of some position, shape (n_rows, n_classes).

    Parameters
    ----------
    room : ndarray of int64, shape (n_trees, n_rows, n_classes)
    times : ndarray of int64, shape (n_trees, n_positions)
    """
    possible: BoolArray = np.zeros(room.shape[1:], dtype=np.bool_)
    for begin in range(0, times.shape[1], _AT_ONCE):
        drawn = times[:, begin : begin + _AT_ONCE]
        for label in range(room.shape[2]):
            open_rows = np.flatnonzero(~possible[:, label])
            held = room[:, open_rows, label].T
            lacking = np.zeros((len(open_rows), drawn.shape[1]), dtype=np.float32)
            for taken in range(int(drawn.max(initial=0))):
                lacking += (held <= taken).astype(np.float32) @ (drawn > taken).astype(np.float32)
            possible[open_rows, label] = (lacking == 0).any(axis=1)
    return possible
