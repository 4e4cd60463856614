"""What can be told of the label or target of people whose rows are not in the file: predictions by cross-validation.

Predictors are scikit-learn's own estimator with the parameters in the file, where it has one, and a forest that
predicts well on most tables: whatever either tells of rows that it was not trained on is no leak.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn import ensemble, tree
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.observations import BoostedSums
from pytest_draft.artifact.rule_list import RuleList
from pytest_draft.attack.leaf_answers import target_guesses
from pytest_draft.errors import OutOfTimeError
from pytest_draft.timebox import TimeBox

FOLDS = 5
MOST_TRAINED = 4_000
"""Rows that a predictor is trained on, at most: more of them tell hardly more of other rows."""

MOST_TREES, MOST_ROUNDS = 50, 100
"""Trees of a forest, and rounds of boosting, at most: more predict hardly better."""

_SAME, _FIXED, _BOOSTED = (f"{which}, cross-validated" for which in ("its own settings", "a forest", "boosting"))
_NOT_TAKEN = frozenset({"n_estimators", "max_iter", "random_state", "n_jobs", "verbose", "warm_start", "oob_score"})
_SLOW = 1_000
"""More rows than this are not fitted by absolute errors, which take the square of their number."""


def folds_of(rows: Rows, answers: FloatArray, seed: int) -> tuple[IntArray, IntArray]:
    """Return the fold of each row, of which each has its share of each label, and an order of the rows.

    Both go by what rows hold, not by where they stand. A row that is written several times must not teach its own
    label: copies are in one fold where all rows of the same features have one label, or all rows are written equally
    often. (Else people of the same features are different people.)

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    answers : ndarray of float64, shape (n_rows,)
        Labels or targets.

    Returns
    -------
    fold, order : ndarray of int64, shape (n_rows,)
    """
    filled = np.where(np.isnan(rows), np.finfo(np.float32).min, rows)
    order = np.lexsort((answers, *filled.T))
    other_row = (np.diff(filled[order], axis=0) != 0).any(axis=1)
    other_answer = np.diff(answers[order]) != 0
    starts = other_row if (other_row | ~other_answer).all() else other_row | other_answer
    group = np.append(0, np.cumsum(starts))
    copies = int(np.gcd.reduce(np.bincount(group)))
    if starts is not other_row:
        group = np.arange(len(rows)) // copies
    first = np.flatnonzero(np.diff(group, prepend=-1))
    shuffled = np.random.default_rng([seed, 71]).permutation(len(first))
    shuffled = shuffled[np.argsort(answers[order][first][shuffled], kind="stable")]
    fold = np.empty(len(first), dtype=np.int64)
    fold[shuffled] = np.arange(len(first)) % FOLDS
    found = np.empty(len(rows), dtype=np.int64)
    found[order] = fold[group]
    return found, order


def predicted(
    model: Forest | RuleList, rows: Rows, answers: FloatArray, looked_at: IntArray, seed: int, timebox: TimeBox
) -> dict[str, FloatArray]:
    """Return predictions for rows from other rows alone, shape (n_looked_at,), by name of the predictor.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    answers : ndarray of float64, shape (n_rows,)
        Labels, as indices into the model's classes, or targets.
    looked_at : ndarray of int64, shape (n_looked_at,)
    timebox : TimeBox
        A predictor that has not told all rows when it ends is left out; where there is none, that is an error.

    Raises
    ------
    OutOfTimeError
    """
    n_classes = 0 if model.classes is None else model.n_classes
    fold, order = folds_of(rows, answers, seed)
    found: dict[str, FloatArray] = {}
    for name, make in _predictors(model, n_classes, len(rows), seed):
        told: dict[str, FloatArray] = {}
        random = np.random.default_rng([seed, 72])
        try:
            for number in range(FOLDS):
                timebox.require()
                mine, others = np.flatnonzero(fold[looked_at] == number), order[fold[order] != number]
                if not len(mine) or not len(others):
                    continue
                if len(others) > MOST_TRAINED:
                    others = others[np.sort(random.choice(len(others), MOST_TRAINED, replace=False))]
                for guess, values in _told_by(make(), rows, answers, others, looked_at[mine], n_classes).items():
                    told.setdefault(f"{name}{guess}", np.full(len(looked_at), np.nan))[mine] = values
        except (ValueError, TypeError):  # parameters of another version, or missing values that this one can't have
            continue
        except OutOfTimeError:
            if not found:
                raise
            break
        found |= told
    return found


def _predictors(
    model: Forest | RuleList, n_classes: int, n_rows: int, seed: int
) -> Iterator[tuple[str, Callable[[], BaseEstimator]]]:
    ending = "Classifier" if n_classes else "Regressor"
    yield _FIXED, lambda: getattr(ensemble, f"RandomForest{ending}")(MOST_TREES, max_features="sqrt", random_state=seed)
    if isinstance(model, RuleList):
        return
    if isinstance(model.observation, BoostedSums):
        rounds = min(MOST_ROUNDS, model.n_trees // model.observation.n_scores)
        boosting = getattr(ensemble, f"HistGradientBoosting{ending}")
        yield _BOOSTED, lambda: boosting(max_iter=rounds, early_stopping=False, random_state=seed)
    kind = getattr(ensemble, model.kind, getattr(tree, model.kind, None))
    if isinstance(kind, type) and issubclass(kind, BaseEstimator):
        yield _SAME, lambda: _with_parameters(kind, model, n_classes, n_rows, seed)


def _with_parameters(kind: Any, model: Forest, n_classes: int, n_rows: int, seed: int) -> BaseEstimator:
    """Return an estimator with the parameters that a file has, as far as they are plain and fit."""
    given = {name: value for name, value in model.parameters.items() if name not in _NOT_TAKEN}
    if "estimator" in kind().get_params():
        own = tree.DecisionTreeClassifier if n_classes else tree.DecisionTreeRegressor
        inner = {name: value for name, value in model.tree_parameters.items() if name not in _NOT_TAKEN}
        given["estimator"] = own(**_fitting(own(), inner, model, n_rows))
    estimator = kind(**_fitting(kind(), given, model, n_rows))
    most = MOST_ROUNDS if isinstance(model.observation, BoostedSums) else MOST_TREES
    number = min(most, model.n_trees)
    sizes = {"n_estimators": number, "max_iter": number, "random_state": seed}
    return estimator.set_params(**{name: value for name, value in sizes.items() if name in estimator.get_params()})


def _fitting(estimator: BaseEstimator, given: dict[str, object], model: Forest, n_rows: int) -> dict[str, object]:
    known = estimator.get_params(deep=False)
    fitting = {name: value for name, value in given.items() if name in known}
    weights = fitting.get("class_weight")
    if isinstance(weights, dict) and model.classes is not None:
        fitting["class_weight"] = {i: weights[one] for i, one in enumerate(model.classes) if one in weights}
    if fitting.get("criterion") in ("absolute_error", "mae") and n_rows > _SLOW:
        del fitting["criterion"]
    return fitting


def _told_by(
    estimator: Any, rows: Rows, answers: FloatArray, others: IntArray, mine: IntArray, n_classes: int
) -> dict[str, FloatArray]:
    """Return what an estimator that is fitted on other rows tells of these, by the guess after its name."""
    with warnings.catch_warnings(), threadpool_limits(1):  # threads that wait for each other take longer
        warnings.simplefilter("ignore")
        estimator.fit(rows[others], answers[others])
        told = {"": estimator.predict(rows[mine]).astype(np.float64)}
        inner = getattr(estimator, "estimators_", None)
        if n_classes or not isinstance(inner, list) or hasattr(estimator, "estimators_features_"):
            return told
        by_tree = np.stack([one.predict(rows[mine]) for one in inner])
    for name, values in target_guesses(by_tree).items():
        told[f" ({name})"] = values
    return told
