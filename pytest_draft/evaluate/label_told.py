"""What a file tells of labels and targets to somebody who knows features: guesses from it and the truth, and figures.

What counts is what the file adds to what can be told of people whose rows are not in it (`outsiders`): a model that
predicts well is no leak. The guess is chosen for each row by the other rows, so that it gains nothing by its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.observations import BoostedSums, ClassCounts, RowNumbers, Shares
from pytest_draft.artifact.rule_list import RuleList
from pytest_draft.attack.boosted.staged import missed
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.leaf_answers import guesses_of, possible_classes, rounding_of
from pytest_draft.data import Holdout, TrainingData
from pytest_draft.errors import NotCoveredError
from pytest_draft.evaluate.outsiders import predicted
from pytest_draft.facts.figures import TOLERANCE
from pytest_draft.facts.label_told import HIGHEST, LabelTold, Told
from pytest_draft.facts.slices import LEAST_ROWS, Slice, by_class
from pytest_draft.scales import inner_bounds
from pytest_draft.timebox import TimeBox

Model = Forest | RuleList
Guesses = Mapping[str, FloatArray]
Judge = Callable[[FloatArray, FloatArray], BoolArray]
"""Says which guesses are right, beside the truth."""

MOST_ROWS = 1_000
"""Of more rows than this, as many are looked at, drawn at random."""

MOST_OF_CLASS = 100
"""Rows of a class that are looked at, where it is rare among these."""

_MOST_WORK = 4_000_000_000
"""Pairs of a row and a position among the training rows, times trees and classes, that are asked for room."""

_MOST_ANSWERS = 30_000_000
"""Answers of trees, one for each row and class, that are held at once."""

_STRANGERS = (
    "its leaves contradict the {} of these rows, so these are not just the rows that it was trained on: give the table "
    "as fit() got it"
)


def label_told(
    model: Model,
    data: TrainingData,
    holdout: Holdout | None,
    slices: Sequence[Slice],
    times: IntArray | None,
    seed: int,
    timebox: TimeBox,
) -> LabelTold:
    """Return what a file tells of the labels or targets of its training rows.

    Parameters
    ----------
    times : ndarray of int64, shape (n_trees, n_positions), or None
        How often each tree saw each position among the training rows; None where the adversary does not know.

    Raises
    ------
    NotCoveredError
        Where the classes in the file's leaves are not read, or the table has no targets.
    OutOfTimeError
    """
    of_labels, answers = model.classes is not None, _answers(model, data)
    rng, n_rows = np.random.default_rng([seed, 73]), data.n_rows
    most = _most_rows(model, 1 if times is None else times.shape[1])
    drawn = np.arange(n_rows) if n_rows <= most else np.sort(rng.choice(n_rows, most, replace=False))
    highest = _highest(answers)
    looked_at = np.union1d(drawn, _of_rare_classes(answers, drawn, rng) if of_labels else highest)
    rows, labels, truth = data.rows[looked_at], data.labels[looked_at], answers[looked_at]
    is_drawn = np.isin(looked_at, drawn)
    timebox.require()
    guesses, certain, has_room = guesses_of(model, rows), None, True
    if of_labels and (allowed := possible_classes(model, rows, times, n_rows)) is not None:
        certain = allowed.sum(axis=1) == 1
        has_room = bool(allowed[np.arange(len(labels)), labels].all())
        guesses = {name: np.where(certain, allowed.argmax(axis=1), guess) for name, guess in guesses.items()}
    others = predicted(model, data.rows, answers, looked_at, seed, timebox) | _constants(answers, of_labels=of_labels)
    judge = _same if of_labels else _Near.of(model, answers)
    told, guess = _best(guesses, truth, judge)
    without, predictor = _best(others, truth, judge)
    parts = []
    for one in dict.fromkeys((*slices, *(by_class(model.classes) if of_labels else ()))):
        is_class = one.label is not None
        inside = one.holds(rows, labels, data.columns) & (is_drawn | is_class)
        if inside.sum() >= LEAST_ROWS:
            parts.append(_figures(one.name, inside, told, without, certain, is_class=is_class))
    contradicted, in_leaves = _against_leaves(model, data, times, timebox)
    found = LabelTold(
        of="labels" if of_labels else "targets",
        rows=len(drawn),
        of_rows=n_rows,
        guess=guess,
        predictor=predictor,
        told=_figures("", is_drawn, told, without, certain),
        parts=tuple(parts),
        exact_in_leaves=in_leaves,
        doubts=() if has_room and not contradicted else (_STRANGERS.format("labels" if of_labels else "targets"),),
    )
    if isinstance(judge, _Near):
        exact, exact_without = (_best(one, truth, judge.exactly)[0] for one in (guesses, others))
        top = np.isin(looked_at, highest)
        found = replace(
            found,
            exact=_figures("", is_drawn, exact, exact_without),
            highest=int(top.sum()),
            highest_near=int((told & ~without)[top].sum()),
            highest_exact=int((exact & ~exact_without)[top].sum()),
        )
    return _with_holdout(found, model, holdout, guess, judge)


def _answers(model: Model, data: TrainingData) -> FloatArray:
    """Return the true labels as numbers, or the targets."""
    if isinstance(model, Forest) and isinstance(model.observation, RowNumbers):
        raise NotCoveredError(f"what the leaves of its {model.kind} say of classes is not read")
    if model.classes is not None:
        return data.labels.astype(np.float64)
    if data.targets is None:
        raise NotCoveredError(
            "the training data have no column of numbers that is known to be the target: name it with --draft-target"
        )
    return data.targets


def _most_rows(model: Model, n_positions: int) -> int:
    n_trees = model.n_trees if isinstance(model, Forest) else 1
    work, held = n_trees * n_positions * model.n_classes, n_trees * model.n_classes
    return max(1, min(MOST_ROWS, max(100, _MOST_WORK // work), _MOST_ANSWERS // held))


def _highest(targets: FloatArray) -> IntArray:
    """Return the people with the highest targets; none of a target that so many have that it singles nobody out."""
    top = np.argsort(-targets, kind="stable")[:HIGHEST]
    shared = (targets[:, None] == targets[top]).sum(axis=0)
    return np.asarray(top[shared < HIGHEST])


def _of_rare_classes(labels: FloatArray, drawn: IntArray, rng: np.random.Generator) -> IntArray:
    """Return further rows of classes that are rare among those that were drawn."""
    rest, more = np.setdiff1d(np.arange(len(labels)), drawn), []
    for label in np.unique(labels[rest]):
        own = rest[labels[rest] == label]
        missing = MOST_OF_CLASS - int((labels[drawn] == label).sum())
        more.append(rng.choice(own, min(max(0, missing), len(own)), replace=False))
    return np.concatenate([np.empty(0, np.int64), *more])


def _constants(answers: FloatArray, *, of_labels: bool) -> dict[str, FloatArray]:
    """Return what can be guessed of everybody."""
    values, times = np.unique(answers, return_counts=True)
    found = {"the commonest label" if of_labels else "the commonest target": values[times.argmax()]}
    if not of_labels:
        width = 2 * _tolerance(answers)
        ends = np.searchsorted(values, values + width, side="right")
        number = np.append(0, np.cumsum(times))[ends] - np.cumsum(times) + times
        found["the best constant"] = values[number.argmax()] + width / 2
    return {name: np.asarray(value) for name, value in found.items()}


def _tolerance(targets: FloatArray) -> float:
    """Return how far a target may be off that is told to within 1 % of the range without far-out ones."""
    low, high = inner_bounds(targets) or (0.0, 0.0)
    return TOLERANCE * (high - low)


def _same(guess: FloatArray, truth: FloatArray) -> BoolArray:
    return np.asarray(guess == truth)


@dataclass(frozen=True)
class _Near:
    """Says which targets are told: whoever knows that they are multiples of a step guesses the nearest one."""

    tolerance: float
    rounding: float
    step: float

    @classmethod
    def of(cls, model: Model, targets: FloatArray) -> _Near:
        rounding = rounding_of(targets, model if isinstance(model, Forest) else None)
        steps = [step for step in 10.0 ** np.arange(6, -5, -1) if step > 4 * rounding]
        on = (step for step in steps if (np.abs(targets - np.rint(targets / step) * step) <= rounding).all())
        return cls(_tolerance(targets), rounding, next(on, 0.0))

    def exactly(self, guess: FloatArray, truth: FloatArray) -> BoolArray:
        return np.asarray(np.abs(guess - truth) < max(self.step / 2, self.rounding))

    def __call__(self, guess: FloatArray, truth: FloatArray) -> BoolArray:
        return np.asarray((np.abs(guess - truth) <= self.tolerance) | self.exactly(guess, truth))


def _best(guesses: Guesses, truth: FloatArray, judge: Judge) -> tuple[BoolArray, str]:
    """Return which rows are told by the guess that is right most often in other rows, and the best one's name."""
    right = np.stack([judge(np.broadcast_to(guess, truth.shape), truth) for guess in guesses.values()])
    number = right.sum(axis=1)
    by_others = (number[:, None] - right).argmax(axis=0)
    return right[by_others, np.arange(len(truth))], list(guesses)[int(number.argmax())]


def _figures(
    name: str,
    inside: BoolArray,
    told: BoolArray,
    without: BoolArray,
    certain: BoolArray | None = None,
    *,
    is_class: bool = False,
) -> Told:
    told, without = told[inside], without[inside]
    surely = None if certain is None else certain[inside]
    return Told(
        name=name,
        rows=len(told),
        told=int(told.sum()),
        without=int(without.sum()),
        gained=int((told & ~without).sum()),
        certain=None if surely is None else int(surely.sum()),
        certain_gained=None if surely is None else int((surely & ~without).sum()),
        is_class=is_class,
    )


def _against_leaves(
    model: Model, data: TrainingData, times: IntArray | None, timebox: TimeBox
) -> tuple[bool, int | None]:
    """Return whether leaves contradict these rows, and of how many some leaf holds the exact target.

    Whatever was drawn and weighted, a leaf's mean lies between the targets of rows that reach it, and each class that
    it holds is one of theirs; all of theirs are there where each tree saw all rows.
    """
    if isinstance(model, RuleList):
        counts = model.counts
        return counts is not None and bool((model.counts_of(data.rows, data.labels) != counts).any()), None
    said, targets, n_classes = model.observation, data.targets, model.n_classes
    columns = np.ascontiguousarray(data.rows.T)
    if isinstance(said, BoostedSums):
        given = targets if model.classes is None else None
        return missed(model, columns.astype(np.float64), data.labels, given) > 0, None
    if model.classes is not None and not isinstance(said, (ClassCounts, Shares)):
        return False, None
    contradicted, in_leaves = False, np.zeros(data.n_rows, dtype=np.bool_)
    saw_all = not model.draws.drawn and model.draws.times is None and getattr(said, "decimals", None) is None
    in_order = times is not None and times.shape[1] == data.n_rows
    for t, tree in enumerate(model.trees):
        timebox.require()
        leaf, value = leaf_positions(tree, columns), tree.value[tree.leaves]
        if model.classes is None and targets is not None:
            everyone, seen = _ends(leaf, targets, len(value)), np.ones(data.n_rows, dtype=np.bool_)
            if in_order and times is not None:
                seen = times[t] > 0
            rounding = rounding_of(targets, None)
            outside = (value[:, 0] < everyone[0] - rounding) | (value[:, 0] > everyone[1] + rounding)
            low, high = _ends(leaf[seen], targets[seen], len(value))
            in_leaves |= seen & (low == high)[leaf] & (np.abs(value[leaf, 0] - targets) <= rounding)
            contradicted |= bool(outside.any())
        else:
            held = np.bincount(leaf * n_classes + data.labels, minlength=value.size).reshape(value.shape) > 0
            contradicted |= bool(((value > 0) & ~held).any() or (saw_all and ((value <= 0) & held).any()))
    return contradicted, int(in_leaves.sum()) if model.classes is None else None


def _ends(leaf: Int32Array, targets: FloatArray, n_leaves: int) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and highest target in each leaf; of none, infinite ones the wrong way round."""
    low, high = np.full(n_leaves, np.inf), np.full(n_leaves, -np.inf)
    np.minimum.at(low, leaf, targets)
    np.maximum.at(high, leaf, targets)
    return low, high


def _with_holdout(found: LabelTold, model: Model, holdout: Holdout | None, guess: str, judge: Judge) -> LabelTold:
    """Return figures with those of a holdout, of which nobody is in the file: no verdict goes by them."""
    if holdout is None or holdout.answers is None:
        return found
    known = np.flatnonzero(~np.isnan(holdout.answers))[: 5 * MOST_ROWS]
    if not len(known):
        return found
    right = judge(guesses_of(model, holdout.rows[known])[guess], holdout.answers[known])
    return replace(found, holdout_rows=len(known), holdout_told=int(right.sum()))
