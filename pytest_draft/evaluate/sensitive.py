"""What a file tells of a column to somebody who knows a person's others and the label: guesses, the truth, and figures.

Each value that the column can have completes the row, and what the file says of it fits the label better or worse
(Fredrikson et al., USENIX Security 2014; Yeom et al., CSF 2018). What counts is what that adds to what the other
columns tell of anybody.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.leaf_answers import Model, possible_classes, scores_of
from pytest_draft.data import Holdout, TrainingData
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError
from pytest_draft.evaluate.label_told import MOST_ROWS, Tried, figures_of, truth_of
from pytest_draft.evaluate.outsiders import predicted
from pytest_draft.facts.label_told import Sensitive
from pytest_draft.matching import encoded_weights
from pytest_draft.scales import inner_bounds, near
from pytest_draft.timebox import TimeBox

_MOST_KNOWN, _MOST_VALUES = 20_000, 100
"""Rows that predictors are chosen from, and values that are tried: of more numbers, steps of what counts as right."""

_WEIGHTS = (0.1, 1.0, 10.0, 1e6)
"""How much what the file says counts beside what other columns tell."""

_GAP, _ROOM = -1e30, 1e9
"""In place of a missing value; the weight of what leaves have room for."""

_MOST_ANSWERS, _MOST_WORK = 20_000_000, 4_000_000_000
"""Answers of trees that are held at once; completed rows times trees, classes and positions that need room."""


def sensitive_told(
    name: str,
    columns: Sequence[int],
    model: Model,
    domain: Domain,
    data: TrainingData,
    holdout: Holdout | None,
    times: IntArray | None,
    seed: int,
    timebox: TimeBox,
) -> Sensitive:
    """Return what a file tells of the columns that a raw one has become, of training rows and of a holdout.

    For `times` and what is raised see `label_told`.
    """
    columns, random = list(columns), np.random.default_rng([seed, 74])
    kept = random.permutation(data.n_rows)[:_MOST_KNOWN]
    n_known, rows, answers = len(kept), data.rows[kept], truth_of(model, data)[kept]
    if holdout is not None and holdout.answers is not None:
        usable = random.permutation(np.flatnonzero(~np.isnan(holdout.answers)))[:MOST_ROWS]
        rows, answers = np.vstack([rows, holdout.rows[usable]]), np.append(answers, holdout.answers[usable])
    tolerances = near(encoded_weights(domain), data.rows).tolerance[columns]
    values, tried, numbers = _values(rows[:, columns], tolerances)
    tolerance = float(tolerances.max())
    work = _held(model) * len(tried) * (1 if times is None else times.shape[1])
    everyone, most = np.arange(len(rows)), max(100, min(MOST_ROWS, _MOST_WORK // work))
    looked_at = np.append(everyone[:n_known][:most], everyone[n_known:][:most])
    members = looked_at < n_known
    known, truth = np.column_stack([np.delete(rows, columns, axis=1), answers]).astype(np.float32), values[looked_at]
    given = np.where(values == _GAP, np.median(values), values)
    guesses = predicted(model, known, given, looked_at, seed, timebox, numbers=tolerance > 0)
    common = numbers[np.bincount(np.abs(numbers - values[:, None]).argmin(axis=1)).argmax()]
    by_others = Tried.of({**guesses, "the commonest value": np.array(common)}, truth, members)

    def right(guess: FloatArray, value: FloatArray) -> BoolArray:
        return np.asarray(np.abs(guess - value) <= tolerance)

    without, predictor = by_others.best(right)
    guess = by_others.values[by_others.names.index(predictor)]
    apart, alike = np.abs(guess[:, None] - numbers), right(numbers[:, None], numbers).astype(np.float64)
    unsure, frequent = max(tolerance, np.median(np.abs(guess - truth))), right(numbers[:, None], values).mean(axis=1)
    expected = np.exp(-apart / unsure) if tolerance else (apart == 0) + frequent
    scores, allowed = _scores(model, rows[looked_at], columns, answers[looked_at], tried, times, data.n_rows, timebox)
    by_file = {}
    for how, score in scores.items():
        for weight in _WEIGHTS:
            likely = np.exp(weight * (score - score.max(axis=1, keepdims=True))) * (expected + 1e-9)
            by_file[f"{how}, times {weight:g}"] = numbers[(likely @ alike).argmax(axis=1)]
    told, how = Tried.of(by_file, truth, members).best(right)
    certain = None
    if allowed is not None and (right(numbers, truth[:, None]) & allowed)[members].any(axis=1).all() and not tolerance:
        certain = allowed.sum(axis=1) == 1
    others = None if members.all() else figures_of("", ~members, told, without)
    names = {domain.attributes[domain.attribute_of_column[column]].name: None for column in columns}
    return Sensitive(name, tuple(names), figures_of("", members, told, without, certain), others, how, predictor)


def _values(rows: Rows, tolerances: FloatArray) -> tuple[FloatArray, Rows, FloatArray]:
    """Return the value of each row as a number, or as a code; those that are tried, as columns, and as such numbers.

    Where one of several columns is numeric, the others are taken to be what they are beside the nearest number.
    """
    filled, main = np.where(np.isnan(rows), _GAP, rows.astype(np.float64)), int(tolerances.argmax())
    if tolerances.any():
        values, numbers = filled[:, main], np.unique(filled[:, main])
        if len(numbers) > _MOST_VALUES:
            low, high = inner_bounds(rows[:, main]) or (0.0, 0.0)
            numbers = np.append(np.linspace(low, high, _MOST_VALUES + 1), numbers[0])
        tried = filled[np.abs(values[:, None] - numbers).argmin(axis=0)]
        tried[:, main] = numbers
    else:
        different, code = np.unique(filled, axis=0, return_inverse=True)
        if len(different) > 2 * _MOST_VALUES:
            raise NotCoveredError(f"more than {2 * _MOST_VALUES} different values that are no numbers are not tried")
        values, numbers, tried = code.reshape(-1).astype(np.float64), np.arange(float(len(different))), different
    return values, np.where(tried == _GAP, np.nan, tried).astype(np.float32), numbers


def _held(model: Model) -> int:
    return model.n_classes * (model.n_trees if isinstance(model, Forest) else 1)


def _scores(
    model: Model,
    rows: Rows,
    columns: Sequence[int],
    answers: FloatArray,
    tried: Rows,
    times: IntArray | None,
    n_training_rows: int,
    timebox: TimeBox,
) -> tuple[dict[str, FloatArray], BoolArray | None]:
    """Return how well each value of each row fits what the file says, by name, and which values leaves have room for.

    All of shape (n_rows, n_values).
    """
    scores: dict[str, FloatArray] = {}
    allowed, shape = None, (len(rows), len(tried))
    at_once = max(1, _MOST_ANSWERS // (max(_held(model), rows.shape[1]) * len(tried)))
    for some in (slice(begin, begin + at_once) for begin in range(0, len(rows), at_once)):
        timebox.require()
        completed, wanted = np.repeat(rows[some], len(tried), axis=0), np.repeat(answers[some], len(tried))
        completed[:, columns] = np.tile(tried, (len(rows[some]), 1))
        found = scores_of(model, completed, wanted)
        room = None if model.classes is None else possible_classes(model, completed, times, n_training_rows, timebox)
        if room is not None:
            has_room = room[np.arange(len(room)), wanted.astype(np.int64)]
            allowed = np.zeros(shape, dtype=np.bool_) if allowed is None else allowed
            allowed[some] = has_room.reshape(-1, len(tried))
            found |= {f"{how}, where there is room": score + _ROOM * has_room for how, score in found.items()}
        for how, score in found.items():
            scores.setdefault(how, np.empty(shape))[some] = score.reshape(-1, len(tried))
    return scores, allowed
