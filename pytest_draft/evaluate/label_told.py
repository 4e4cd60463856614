"""What a file tells of labels and targets to somebody who knows features: guesses from it and the truth, and figures.

What counts is what the file adds to what can be told of people whose rows are not in it (`outsiders`): a model that
predicts well is no leak. Of a few guesses the one counts that is right most often, with the file and without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import BoostedSums, ClassCounts, RowNumbers, Shares
from pytest_draft.artifact.forest.together import ForestOfSeveral
from pytest_draft.attack.boosted.staged import missed
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.differences import told_by_difference
from pytest_draft.attack.leaf_answers import ANSWER, Model, guesses_of, possible_classes, rounding_of
from pytest_draft.data import Holdout, TrainingData
from pytest_draft.errors import NotCoveredError
from pytest_draft.evaluate.outsiders import predicted
from pytest_draft.facts.figures import TOLERANCE
from pytest_draft.facts.label_told import HIGHEST, LabelTold, Told
from pytest_draft.facts.slices import LEAST_ROWS, Slice, by_class
from pytest_draft.scales import inner_bounds
from pytest_draft.timebox import TimeBox

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

_DIFFERENCE = "the difference of the files"

_STRANGERS = (
    "its leaves contradict the {} of these rows: give the table as fit() got it, with nothing but the rows that it was "
    "trained on, and the labels or targets as its trees saw them"
)


def label_told(
    model: Model,
    data: TrainingData,
    holdout: Holdout | None,
    slices: Sequence[Slice],
    times: IntArray | None,
    seed: int,
    timebox: TimeBox,
    among: IntArray | None = None,
    predictor: str | None = None,
) -> LabelTold:
    """Return what a file tells of the labels or targets of its training rows.

    Parameters
    ----------
    times : ndarray of int64, shape (n_trees, n_positions), or None
        How often each tree saw each position among the training rows; None where the adversary does not know.
    among : ndarray of int64, shape (n_some,), or None
        The rows that count; None for all.
    predictor : str or None
        What predicts best without the rows, known of others; None to find out of these.

    Raises
    ------
    NotCoveredError
        Where the classes in the file's leaves are not read, or the table has no targets.
    OutOfTimeError
    """
    of_labels, answers = model.classes is not None, truth_of(model, data)
    everyone = np.arange(len(answers)) if among is None else among
    drawn, looked_at = _looked_at(model, answers, everyone, 1 if times is None else times.shape[1], seed)
    rows, labels, truth = data.rows[looked_at], data.labels[looked_at], answers[looked_at]
    timebox.require()
    contradicted, in_leaves = _against_leaves(model, data, times, timebox)
    guesses, certain = guesses_of(model, rows), None
    by_difference = np.full(len(truth), np.nan)
    if isinstance(model, ForestOfSeveral):
        by_difference = told_by_difference(model, data.rows, timebox)[looked_at]
        guesses[_DIFFERENCE] = np.where(np.isnan(by_difference), guesses[ANSWER], by_difference)
    if of_labels and (allowed := possible_classes(model, rows, times, data.n_rows, timebox)) is not None:
        contradicted |= not allowed[np.arange(len(labels)), labels].all()
        told, certain = ~np.isnan(by_difference), allowed.sum(axis=1) == 1
        by_leaves = np.where(certain, allowed.argmax(axis=1), by_difference)
        certain |= told
        guesses = {name: np.where(certain, by_leaves, guess) for name, guess in guesses.items()}
    others = predicted(model, data.rows, answers, looked_at, seed, timebox) | _constants(answers, of_labels=of_labels)
    judge = _same if of_labels else _Near.of(model, answers)
    by_file, by_others = (Tried.of(tried, truth, drawn) for tried in (guesses, others))
    (told, guess), (without, predictor) = by_file.best(judge), by_others.best(judge, predictor)
    certain = None if contradicted else certain
    parts = []
    for one in dict.fromkeys((*slices, *(by_class(model.classes) if of_labels else ()))):
        inside = one.holds(rows, labels, data.columns) & (drawn | (one.label is not None))
        if inside.sum() >= LEAST_ROWS:
            if one.label is None:
                parts.append(figures_of(one.name, inside, told, without, certain))
            else:
                said, beside = by_file.best_on_class(one.label), by_others.best_on_class(one.label)
                parts.append(figures_of(one.name, inside, said, beside, certain, others=~inside, known=without))
    found = LabelTold(
        of="labels" if of_labels else "targets",
        rows=int(drawn.sum()),
        of_rows=len(everyone),
        guess=guess,
        predictor=predictor,
        told=figures_of("", drawn, told, without, certain),
        parts=tuple(parts),
        exact_in_leaves=in_leaves,
        doubts=(_STRANGERS.format("labels" if of_labels else "targets"),) if contradicted else (),
    )
    if isinstance(judge, _Near):
        exact, exact_without = (one.best(judge.exactly)[0] for one in (by_file, by_others))
        highest = np.isin(looked_at, everyone[_highest(answers[everyone])])
        told_exactly = int((exact & ~exact_without)[highest].sum())
        exactly = figures_of("", drawn, exact, exact_without)
        found = replace(found, exact=exactly, highest=int(highest.sum()), highest_exact=told_exactly)
    if holdout is None or holdout.answers is None:
        return found
    of_holdout = guesses_of(model, holdout.rows[: 5 * MOST_ROWS])
    right = judge(of_holdout.get(guess, of_holdout[ANSWER]), holdout.answers[: 5 * MOST_ROWS])
    return replace(found, holdout_rows=len(right), holdout_told=int(right.sum()))  # no verdict goes by that


def truth_of(model: Model, data: TrainingData) -> FloatArray:
    """Return the true labels as numbers, or the targets.

    Raises
    ------
    NotCoveredError
        As `label_told`.
    """
    if isinstance(model, Forest) and isinstance(model.observation, RowNumbers):
        raise NotCoveredError(f"what the leaves of its {model.kind} say of classes is not read")
    if model.classes is not None:
        return data.labels.astype(np.float64)
    if data.targets is None:
        raise NotCoveredError(
            "the training data have no column of numbers that is known to be the target: name it with --draft-target"
        )
    return data.targets


def _looked_at(
    model: Model, answers: FloatArray, everyone: IntArray, n_positions: int, seed: int
) -> tuple[BoolArray, IntArray]:
    """Return rows, and which of them were drawn from all; others have a rare class, or the highest targets."""
    rng = np.random.default_rng([seed, 73])
    held = model.n_classes * (model.n_trees if isinstance(model, Forest) else 1)
    most = max(1, min(MOST_ROWS, max(100, _MOST_WORK // (held * n_positions)), _MOST_ANSWERS // held))
    order = rng.permutation(everyone)
    drawn, rest = order[:most], order[most:]
    more = [everyone[_highest(answers[everyone])]] if model.classes is None else [np.empty(0, np.int64)]
    for label in np.unique(answers[rest]) if model.classes is not None else ():
        missing = max(0, MOST_OF_CLASS - int((answers[drawn] == label).sum()))
        more.append(rest[answers[rest] == label][:missing])
    looked_at = np.union1d(drawn, np.concatenate(more))
    return np.isin(looked_at, drawn), looked_at


def _highest(targets: FloatArray) -> IntArray:
    """Return the people with the highest targets; none of a target that so many have that it singles nobody out."""
    top = np.argsort(-targets, kind="stable")[:HIGHEST]
    return np.asarray(top[(targets[:, None] == targets[top]).sum(axis=0) < HIGHEST])


def _constants(answers: FloatArray, *, of_labels: bool) -> dict[str, FloatArray]:
    """Return what can be guessed of everybody: the commonest label; of targets also what is near to most of them."""
    values, times = np.unique(answers, return_counts=True)
    if of_labels:
        return {"the commonest label": values[times.argmax()]}
    width = 2 * _tolerance(answers)
    ends = np.searchsorted(values, values + width, side="right")
    number = np.append(0, np.cumsum(times))[ends] - np.cumsum(times) + times
    near = values[number.argmax()] + width / 2
    return {"the commonest target": values[times.argmax()], "the best constant": near}


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

    @classmethod
    def of(cls, model: Model, targets: FloatArray) -> _Near:
        rounding = rounding_of(targets, model)
        steps = (step for step in 10.0 ** np.arange(6, -5, -1) if step > 4 * rounding)
        on = (step for step in steps if (np.abs(targets - np.rint(targets / step) * step) <= rounding).all())
        return cls(_tolerance(targets), max(rounding, next(on, 0.0) / 2))

    def exactly(self, guess: FloatArray, truth: FloatArray) -> BoolArray:
        return np.asarray(np.abs(guess - truth) < self.rounding)

    def __call__(self, guess: FloatArray, truth: FloatArray) -> BoolArray:
        return np.asarray(np.abs(guess - truth) <= max(self.tolerance, self.rounding))


@dataclass(frozen=True, eq=False, repr=False)
class Tried:
    """Several guesses of each row. Its repr shows none."""

    names: tuple[str, ...]
    values: FloatArray
    """Shape (n_guesses, n_rows)."""
    truth: FloatArray
    counted: BoolArray
    """`truth` and `counted`, shape (n_rows,): the latter are the rows by which a guess is chosen."""

    @classmethod
    def of(cls, tried: Mapping[str, FloatArray], truth: FloatArray, counted: BoolArray) -> Tried:
        """Return guesses by their names; one number is the same guess of each row."""
        values = np.stack([np.broadcast_to(values, truth.shape) for values in tried.values()])
        return cls(tuple(tried), values, truth, counted)

    def best(self, judge: Judge, name: str | None = None) -> tuple[BoolArray, str]:
        """Return of which rows the guess of a name is right, else that which is so most often, and its name."""
        right = judge(self.values, self.truth)
        chosen = int(right[:, self.counted].sum(axis=1).argmax()) if name not in self.names else self.names.index(name)
        return right[chosen], self.names[chosen]

    def best_on_class(self, label: int) -> BoolArray:
        """Return which rows are said to be of a class by the guess that tells it best from others (Youden, 1950)."""
        said, own = self.values == label, self.truth == label
        apart = said[:, own].mean(axis=1) - (0.0 if own.all() else said[:, ~own].mean(axis=1))
        return np.asarray(said[apart.argmax()])


def figures_of(
    name: str,
    inside: BoolArray,
    told: BoolArray,
    without: BoolArray,
    certain: BoolArray | None = None,
    others: BoolArray | None = None,
    known: BoolArray | bool = False,
) -> Told:
    """Return figures of some rows, and of others that are said to be of their class.

    Whoever has the file may act as if they had not, so no less is told than `without` it. What is certain is no gain
    where it is `known` by another predictor.
    """

    def reached(said: BoolArray) -> float:
        return float(said[inside].mean() - (0.0 if others is None or not others.any() else said[others].mean()))

    if reached(told) < reached(without):
        told = without
    counted = {"rows": inside, "told": told, "without": without, "gained": told & ~without}
    if certain is not None:
        counted |= {"certain": certain, "certain_gained": certain & ~(without | known)}
    number = {key: int((inside & those).sum()) for key, those in counted.items()}
    if others is not None:
        beside = {"others": others, "alarms": others & told, "alarms_without": others & without}
        number |= {key: int(those.sum()) for key, those in beside.items()}
    return Told(name, **number)


def _against_leaves(
    model: Model, data: TrainingData, times: IntArray | None, timebox: TimeBox
) -> tuple[bool, int | None]:
    """Return whether leaves contradict these rows, and of how many some leaf holds the exact target.

    Whatever was drawn and weighted, a leaf's mean lies between the targets of rows that reach it, and each class that
    it holds is one of theirs; all of theirs are there where each tree saw all rows (`possible_classes`).
    """
    labels, targets, said = data.labels, data.targets, getattr(model, "observation", None)
    if not isinstance(model, Forest):
        return model.counts is not None and bool((model.counts_of(data.rows, labels) != model.counts).any()), None
    columns = np.ascontiguousarray(data.rows.T)
    if isinstance(said, BoostedSums):
        given = targets if model.classes is None else None
        return missed(model, columns.astype(np.float64), labels, given) > 0, None
    if model.classes is not None and not isinstance(said, (ClassCounts, Shares)):
        return False, None
    contradicted, in_leaves, seen = False, np.zeros(data.n_rows, dtype=np.bool_), np.ones(data.n_rows, dtype=np.bool_)
    for t, tree in enumerate(model.trees):
        timebox.require()
        leaf, value = leaf_positions(tree, columns), tree.value[tree.leaves]
        if model.classes is not None or targets is None:
            held = np.bincount(leaf * value.shape[1] + labels, minlength=value.size).reshape(value.shape) > 0
            contradicted |= bool(((value > 0) & ~held).any())
            continue
        rounding, (low, high) = rounding_of(targets), _ends(leaf, targets, len(value))
        contradicted |= bool(((value[:, 0] < low - rounding) | (value[:, 0] > high + rounding)).any())
        if times is not None and times.shape[1] == data.n_rows:
            seen = times[t] > 0
            low, high = _ends(leaf[seen], targets[seen], len(value))
        in_leaves |= seen & (low == high)[leaf] & (np.abs(value[leaf, 0] - targets) <= rounding)
    return contradicted, int(in_leaves.sum()) if model.classes is None else None


def _ends(leaf: Int32Array, targets: FloatArray, n_leaves: int) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and highest target in each leaf; of none, infinite ones the wrong way round."""
    low, high = np.full(n_leaves, np.inf), np.full(n_leaves, -np.inf)
    np.minimum.at(low, leaf, targets)
    np.maximum.at(high, leaf, targets)
    return low, high
