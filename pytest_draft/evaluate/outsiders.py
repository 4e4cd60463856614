"""How well labels or targets can be predicted for people whose rows are not in the file, by cross-validation.

Whatever a predictor says of rows that it was not trained on is no leak. The predictors are scikit-learn's estimator of
the file's kind with the file's parameters, if there is one, and others that predict well on most tables.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn import ensemble, tree
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_limits

from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import BoostedSums
from pytest_draft.attack.leaf_answers import RARE, Model, guesses_by_trees
from pytest_draft.errors import OutOfTimeError
from pytest_draft.timebox import TimeBox

FOLDS = 5
MOST_TRAINED = 4_000
"""Rows that a predictor is trained on, at most: more of them tell hardly more of other rows."""

MOST_TREES, MOST_ROUNDS = 50, 100
"""Trees of a forest, and rounds of boosting, at most: more predict hardly better."""

_SLOW = 1_000
"""More rows than this are not fitted by absolute errors, which take the square of their number."""

_NOT_TAKEN = frozenset({"random_state", "n_jobs", "verbose", "warm_start", "oob_score", "estimator"})


def predicted(
    model: Model,
    rows: Rows,
    answers: FloatArray,
    looked_at: IntArray,
    seed: int,
    timebox: TimeBox,
    numbers: bool | None = None,
) -> dict[str, FloatArray]:
    """Return predictions for rows from other rows alone, shape (n_looked_at,), by name of the predictor.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    answers : ndarray of float64, shape (n_rows,)
        Labels, as indices into the model's classes, or targets.
    looked_at : ndarray of int64, shape (n_looked_at,)
    timebox : TimeBox
        A predictor that has not predicted all rows in time is left out.
    numbers : bool or None
        Whether answers are numbers, else codes, of something else than what the model tells; None of that.

    Raises
    ------
    OutOfTimeError
        Where no predictor was in time.
    """
    fold, order = folds_of(rows, answers, seed)
    found: dict[str, FloatArray] = {}
    for name, estimator in _predictors(model, len(rows), seed, numbers):
        predictions: dict[str, FloatArray] = {}
        random = np.random.default_rng([seed, 72])
        try:
            for number in range(FOLDS):
                timebox.require()
                mine, others = np.flatnonzero(fold[looked_at] == number), order[fold[order] != number]
                if len(mine) and len(others):
                    chosen = random.permutation(len(others))[:MOST_TRAINED]
                    guesses = _guesses(estimator, rows, answers, others[np.sort(chosen)], looked_at[mine], timebox)
                    for guess, values in guesses.items():
                        predictions.setdefault(f"{name}{guess}", np.full(len(looked_at), np.nan))[mine] = values
        except (ValueError, TypeError):  # parameters of another version, or missing values that this one can't have
            continue
        except OutOfTimeError:
            if not found:
                raise
            break
        found |= predictions
    return found


def folds_of(rows: Rows, answers: FloatArray, seed: int) -> tuple[IntArray, IntArray]:
    """Return the fold of each row, and the order of the rows by what they hold, both of shape (n_rows,).

    Each fold has the same share of each label, and depends on what rows hold, not on where they stand. A row must not
    teach the label of its own copy, so copies share a fold. Equal rows are copies if all rows with the same features
    have the same label, or if the whole table is written several times. Otherwise they are different people.
    """
    filled = np.where(np.isnan(rows), np.finfo(np.float32).min, rows)
    order = np.lexsort((answers, *filled.T))
    other_row, other_answer = (np.diff(filled[order], axis=0) != 0).any(axis=1), np.diff(answers[order]) != 0
    copied = bool((other_row | ~other_answer).all())
    group = np.append(0, np.cumsum(other_row if copied else other_row | other_answer))
    if not copied:
        group = np.arange(len(rows)) // np.gcd.reduce(np.bincount(group))
    first = np.flatnonzero(np.diff(group, prepend=-1))
    shuffled = np.random.default_rng([seed, 71]).permutation(len(first))
    of_group, fold = np.empty(len(first), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    of_group[shuffled[np.argsort(answers[order][first][shuffled], kind="stable")]] = np.arange(len(first)) % FOLDS
    fold[order] = of_group[group]
    return fold, order


def _predictors(model: Model, n_rows: int, seed: int, numbers: bool | None) -> Iterator[tuple[str, BaseEstimator]]:
    ending = "Regressor" if (model.classes is None if numbers is None else numbers) else "Classifier"
    forest, boosting = (getattr(ensemble, f"{kind}{ending}") for kind in ("RandomForest", "HistGradientBoosting"))
    usual = forest(MOST_TREES, max_features="sqrt", random_state=seed, n_jobs=-1)
    yield "a forest, cross-validated", usual
    if numbers is not None:
        yield "a forest of large leaves, cross-validated", clone(usual).set_params(min_samples_leaf=10)
    if numbers:
        yield "a line, cross-validated", LinearRegression()
    if not isinstance(model, Forest) or numbers is not None:
        return
    if isinstance(model.observation, BoostedSums):
        rounds = min(MOST_ROUNDS, model.n_trees // model.observation.n_scores)
        yield "boosting, cross-validated", boosting(max_iter=rounds, early_stopping=False, random_state=seed)
    most = MOST_ROUNDS if isinstance(model.observation, BoostedSums) else MOST_TREES
    own = own_estimator(model, n_rows, seed, most)
    if own is not None and (type(own) is not forest or own.get_params() != usual.get_params()):
        yield "its own settings, cross-validated", own


def own_estimator(model: Forest, n_rows: int, seed: int, most: int | None = None) -> BaseEstimator | None:
    """Return scikit-learn's estimator of a file's kind with the file's parameters; None where there is none.

    Parameters
    ----------
    n_rows : int
        To be fitted on at most.
    most : int or None
        Trees, or rounds, at most; None for as many as the file has.
    """
    kind = getattr(ensemble, model.kind, getattr(tree, model.kind, None))
    if not (isinstance(kind, type) and issubclass(kind, BaseEstimator)):
        return None
    own = kind()
    if "estimator" in own.get_params(deep=False):  # Bagging
        inner = getattr(tree, f"DecisionTree{'Regressor' if model.classes is None else 'Classifier'}")()
        own.set_params(estimator=_with_parameters(inner, model.tree_parameters, model, n_rows))
    own = _with_parameters(own, model.parameters, model, n_rows)
    number = model.n_trees if most is None else min(most, model.n_trees)
    if most is None and isinstance(model.observation, BoostedSums):
        number //= model.observation.n_scores
    sizes = {"n_estimators": number, "max_iter": number, "random_state": seed, "n_jobs": -1}
    known = own.get_params(deep=False)
    return own.set_params(**{name: value for name, value in sizes.items() if name in known})


def _with_parameters(
    estimator: BaseEstimator, given: Mapping[str, object], model: Forest, n_rows: int
) -> BaseEstimator:
    """Return an estimator with the parameters that a file has, as far as they are plain and fit."""
    known = estimator.get_params(deep=False)
    fitting = {name: value for name, value in given.items() if name in known and name not in _NOT_TAKEN}
    weights = fitting.get("class_weight")
    if isinstance(weights, dict) and model.classes is not None:
        fitting["class_weight"] = {i: weights[one] for i, one in enumerate(model.classes) if one in weights}
    if fitting.get("criterion") in ("absolute_error", "mae") and n_rows > _SLOW:
        del fitting["criterion"]
    return estimator.set_params(**fitting)


def fitted_as(estimator: Any, rows: Rows, answers: FloatArray, timebox: TimeBox) -> Any:
    """Return an estimator that is fitted as `fit` does, with a look at the clock about once a second."""
    fitted, known = clone(estimator), estimator.get_params(deep=False)
    size = next((name for name in ("n_estimators", "max_iter") if name in known), None)
    stops = known.get("early_stopping", known.get("n_iter_no_change")) not in (None, False)
    if size is None or stops or "warm_start" not in known:
        return fitted.fit(rows, answers)
    number, whole, start = 0, known[size], timebox.elapsed
    while number < whole:
        timebox.require()
        number = min(whole, number + max(1, int(number / max(1e-3, timebox.elapsed - start))))
        fitted.set_params(**{size: number, "warm_start": True}).fit(rows, answers)
    return fitted.set_params(warm_start=False)


def _guesses(
    estimator: Any, rows: Rows, answers: FloatArray, others: IntArray, mine: IntArray, timebox: TimeBox
) -> dict[str, FloatArray]:
    """Fit an estimator on other rows, and return what it predicts for mine, by what follows the predictor's name."""
    with warnings.catch_warnings(), threadpool_limits(1):  # threads that wait for each other take longer
        warnings.simplefilter("ignore")
        fitted = fitted_as(estimator, rows[others], answers[others], timebox)
        if "n_jobs" in fitted.get_params(deep=False):
            fitted.set_params(n_jobs=1)  # threads add shares up in any order, which decides between equal ones
        trees = getattr(fitted, "estimators_", None)
        if hasattr(fitted, "classes_"):
            share, labels = fitted.predict_proba(rows[mine]), fitted.classes_
            frequency = np.unique(answers[others], return_counts=True)[1]
            guesses = {"": share, f" ({RARE})": share / frequency}
            return {name: labels[guess.argmax(axis=1)].astype(np.float64) for name, guess in guesses.items()}
        if not isinstance(trees, list) or hasattr(fitted, "estimators_features_"):
            return {"": fitted.predict(rows[mine]).astype(np.float64)}
        by_tree = np.stack([one.predict(rows[mine]) for one in trees])
    return {f" ({name})": values for name, values in guesses_by_trees(by_tree).items()}
