"""What the leaves that rows reach say of their labels or targets, and guesses from that.

They are those of somebody who knows a person's features, and knows or supposes that they are in the data: no label and
no target enters here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import BoostedSums, ClassCounts, Shares
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.attack.boosted.staged import boosted, stages
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.errors import NotCoveredError
from pytest_draft.timebox import TimeBox

Model = Forest | RuleList

ANSWER, COMMONEST, ALLOWED = "the model's answer", "what most leaves say", "what the leaves allow"
RARE, EACH = "rare labels first", "what each tree says"
"""The guesses, by name. `RARE` is the label whose share is largest beside how frequent it is."""

_ROUNDING = {False: 1e-9, True: 2e-6}
"""How far equal targets are apart at most, relative to the largest, by whether sums are in single precision."""

_UNLIKELY = 0.01
"""Added to shares, of which none is impossible."""

_ANY = 1 << 30
"""Room for any number of draws."""

_AT_ONCE = 50
"""Rows that are asked about between two looks at the clock."""


def guesses_of(model: Model, rows: Rows) -> dict[str, FloatArray]:
    """Return guesses of the label (its index among the classes) or target of each row, shape (n_rows,), by name.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    """
    answers = answers_of(model, rows)
    if isinstance(model, Forest) and model.classes is None:
        if not isinstance(model.observation, BoostedSums):
            return guesses_by_trees(answers[:, :, 0])
        answer, rounding = answers[0, :, 0], rounding_of(answers, model)
        alone, least = alone_in_boosted(model, rows), 1 if model.observation.counted else 2
        return {ANSWER: answer, ALLOWED: _commonest(alone, rounding, answer, least)}
    mean = answers.mean(axis=0)
    scores = {ANSWER: mean, RARE: mean / np.maximum(mean.mean(axis=0), 1e-300)}
    if len(answers) > 1:
        scores[COMMONEST] = np.eye(answers.shape[2])[answers.argmax(axis=2)].sum(axis=0) + mean / 2
        scores[ALLOWED] = (answers > 0).sum(axis=0) + mean / 2
    return {name: score.argmax(axis=1).astype(np.float64) for name, score in scores.items()}


def scores_of(model: Model, rows: Rows, answers: FloatArray) -> dict[str, FloatArray]:
    """Return how well what the file says of each row fits its label or target, shape (n_rows,), by name.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    answers : ndarray of float64, shape (n_rows,)
        Labels, as indices into the model's classes, or targets.
    """
    said = answers_of(model, rows)
    if model.classes is not None:
        share = said[:, np.arange(len(rows)), answers.astype(np.int64)]
        scores = {ANSWER: np.log(share.mean(axis=0) + _UNLIKELY)}
        each, same = np.log(share + _UNLIKELY).sum(axis=0), share > 0
    else:
        apart = np.abs(said[:, :, 0] - answers)
        scale = max(float(apart.mean()), 1e-300)
        scores = {ANSWER: -np.abs(said[:, :, 0].mean(axis=0) - answers) / scale}
        each, same = -apart.sum(axis=0) / scale, apart <= rounding_of(answers, model)
    return scores | ({EACH: each, ALLOWED: same.sum(axis=0).astype(np.float64)} if len(said) > 1 else {})


def guesses_by_trees(answers: FloatArray) -> dict[str, FloatArray]:
    """Return guesses of targets, by name, from what each tree answers, shape (n_trees, n_rows)."""
    mean = answers.mean(axis=0)
    several = {COMMONEST: _commonest(answers, rounding_of(answers), mean)} if len(answers) > 1 else {}
    return {ANSWER: mean, **several}


def rounding_of(targets: FloatArray, model: Model | None = None) -> float:
    """Return how far equal targets are apart at most."""
    said = model.observation if isinstance(model, Forest) else None
    return _ROUNDING[isinstance(said, BoostedSums) and said.single] * max(float(np.abs(targets).max()), 1e-300)


def answers_of(model: Model, rows: Rows) -> FloatArray:
    """Return what each tree says of each class, or the target, shape (n_trees, n_rows, n_values): boosted ones as one.

    Of classes their shares, or probabilities.
    """
    if isinstance(model, RuleList):
        counts = model.counts
        if counts is None:
            counts = np.array([[one == rule.prediction for one in model.classes] for rule in model.rules], np.int64)
        return shares_of(counts[model.captured(rows)].astype(np.float64))[None]
    columns, said = np.ascontiguousarray(rows.T), model.observation
    found = [tree.value[tree.leaves][leaf_positions(tree, columns)] for tree in model.trees]
    if not said.of_labels:
        raise NotCoveredError(f"what the leaves of its {model.kind} say of labels is not read")
    if not isinstance(said, BoostedSums):
        return np.stack(found) if model.classes is None else shares_of(np.stack(found))
    scores = np.concatenate(
        [base + sum(one for t, one in enumerate(found) if said.score_of(t) == k) for k, base in enumerate(said.base)],
        axis=1,
    )
    if model.classes is not None:
        scores = softmax(np.hstack([0 * scores, scores]) if said.n_scores == 1 else scores, axis=1)
    return (np.exp(scores) if said.loss == "poisson" else scores)[None]


def shares_of(values: FloatArray) -> FloatArray:
    """Return values by class as shares: negative counts are none, and nothing is all classes alike."""
    values = np.maximum(values, 0.0)
    total = values.sum(axis=-1, keepdims=True)
    return np.where(total > 0, values / np.where(total > 0, total, 1.0), 1.0 / values.shape[-1])


def _commonest(values: FloatArray, rounding: float, otherwise: FloatArray, least: int = 2) -> FloatArray:
    """Return the value that stands most often in each column, at least so often, or another one; NaN is none."""
    found, most, times = otherwise.copy(), np.full(len(otherwise), least - 1), np.zeros(len(otherwise), np.int64)
    last = np.full(len(otherwise), np.nan)
    for value in np.sort(values, axis=0):
        times = np.where(np.isnan(value), 0, np.where(value - last <= rounding, times + 1, 1))
        more = times > most
        found[more], most[more], last = value[more], times[more], value
    return found


def alone_in_boosted(forest: Forest, rows: Rows) -> FloatArray:
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
        stated = (at[node] >= 0) & ((tree.n_distinct[node] == 1) | (not said.counted))
        weight, total = own.weight[at[node[stated]]], own.total[at[node[stated]]]
        target = np.full(len(node), np.nan)
        rest = weight[:, 0] + weight[:, 2] * stage.hessian[stated] - total
        target[stated] = stage.gradient[stated, 0] + rest / weight[:, 1]
        found.append(target)
    return np.stack(found)


def possible_classes(
    model: Model, rows: Rows, times: IntArray | None, n_training_rows: int, timebox: TimeBox | None = None
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

    Raises
    ------
    OutOfTimeError
    """
    if isinstance(model, RuleList):
        return None if model.counts is None else model.counts[model.captured(rows)] > 0
    if times is None or not isinstance(model.observation, (ClassCounts, Shares)):
        return None
    columns = np.ascontiguousarray(rows.T)
    leaves = [leaf_positions(tree, columns) for tree in model.trees]
    room = np.stack([room_of(model, t, n_training_rows)[leaf] for t, leaf in enumerate(leaves)])
    times = times if model.draws.drawn else np.unique(times, axis=1)
    top = int(times.max(initial=0))
    fits = np.stack([_bits_of(times <= most) for most in range(top)] + [_bits_of(np.ones_like(times, dtype=np.bool_))])
    possible: BoolArray = np.zeros(room.shape[1:], dtype=np.bool_)
    for begin in range(0, len(possible), _AT_ONCE):
        if timebox is not None:
            timebox.require()
        some = slice(begin, begin + _AT_ONCE)
        left = fits[top, 0]  # positions that no tree drew more often than it has room
        for t, here in enumerate(np.minimum(room[:, some], top)):
            left = left & fits[here, t]
        possible[some] = left.any(axis=-1)
    return possible


def _bits_of(flags: BoolArray) -> NDArray[np.uint64]:
    """Return flags as bits of words, shape (n_trees, n_words); those after the last are 0."""
    packed = np.packbits(flags, axis=1)
    return np.pad(packed, [(0, 0), (0, -packed.shape[1] % 8)]).view(np.uint64)


def room_of(forest: Forest, index: int, n_training_rows: int) -> IntArray:
    """Return how many draws of each class each leaf of a tree can hold, shape (n_leaves, n_classes)."""
    tree, said, least = forest.trees[index], forest.observation, 0.0
    if not isinstance(said, Shares):
        try:
            return forest.counts(index)[tree.leaves]
        except NotCoveredError:  # weights that are not in the file: what has some weight is there
            pass
    elif said.decimals is not None:  # a share of 0 can be one of few draws, or of a small weight
        scaled = forest.draws.may_scale(forest.sklearn_minor)
        least = -1.0 if scaled else 1.0 / n_training_rows - said.tolerance
    return np.where(tree.value[tree.leaves] > least, _ANY, 0)
