"""Scores: how well the model of a setting predicts rows that it was not trained on."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import (
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedShuffleSplit,
)

from pytest_draft.advice.facts import Score, Setting
from pytest_draft.advice.owner import Owner
from pytest_draft.arrays import AnyArray
from pytest_draft.data.files import place_of
from pytest_draft.errors import DataError, UsageError, known_are

__tracebackhide__ = True  # frames here hold rows

TEST_SHARE = 0.25
"""Of the rows, where no others are given: no score that chooses looks at them."""

FOLDS, REPEATS = 5, 2
RESAMPLES = 50
_CHEAPER = 0.4  # a setting beside the owner's, about: fewer trees, fewer leaves


class Scorer:
    """Scores settings on the same folds.

    Parameters
    ----------
    owner : Owner
    metric : str or None
        Name of a scorer of scikit-learn; None for the usual one of the model's kind.
    seed : int
        Of the folds, and of the models that are scored.
    holdout : tuple (X, y) or None
        Rows to test on in the end; None to set some of the owner's aside.

    Raises
    ------
    UsageError, DataError
    """

    def __init__(
        self, owner: Owner, metric: str | None = None, seed: int = 0, holdout: tuple[Any, Any] | None = None
    ) -> None:
        self.metric = metric or usual_metric(owner)
        if self.metric not in get_scorer_names():
            raise UsageError(f"--metric: there is no scorer {known_are(self.metric, _likely(owner, self.metric))}")
        self._score = get_scorer(self.metric)
        self._owner, self._seed, self.folds, self.repeats = owner, seed, FOLDS, REPEATS
        self._where = place_of(owner.data.source)
        n_rows = len(owner.labels)
        self._train: AnyArray = np.arange(n_rows)
        self._test: tuple[Any, Any] | None = holdout
        self.tested_on = "the holdout" if holdout is not None else ""
        least = self._least_of_class(self._train)
        if least < 2 or n_rows < 4:
            raise DataError(f"{self._where}: a class has {least} row: scores need at least 2 rows of each")
        if holdout is None and least >= 4 and n_rows >= 20:
            split = StratifiedShuffleSplit if owner.is_classifier else ShuffleSplit
            ((self._train, test),) = split(1, test_size=TEST_SHARE, random_state=seed).split(
                np.zeros(n_rows), owner.labels
            )
            self._test = (_rows(owner.features, test), owner.labels[test])
            self.tested_on = f"{len(test):,} rows set aside (models of the other {len(self._train):,})"
        self.folds = min(FOLDS, self._least_of_class(self._train))
        if self.folds < 2:
            raise DataError(f"{self._where}: too few rows of a class for scores: at least 2 are needed")

    def _least_of_class(self, rows: AnyArray) -> int:
        if not self._owner.is_classifier:
            return len(rows)
        return int(np.unique(self._owner.labels[rows].astype(str), return_counts=True)[1].min())

    def fit_within(self, seconds: float, setting: Setting, settings: int) -> None:
        """Take fewer repeats and folds where scoring so many settings would take longer, by the time of one fit."""
        since = time.monotonic()
        self._owner.fit(self._owner.made(setting, self._seed), *self._rows_of(self._train))
        each = time.monotonic() - since
        for repeats, folds in ((REPEATS, self.folds), (1, self.folds), (1, min(3, self.folds))):
            self.repeats, self.folds = repeats, folds
            if each * repeats * folds * settings * _CHEAPER <= seconds:
                break

    def cross_validated(self, setting: Setting) -> Score:
        """Return the mean over all folds; its standard error counts one repeat's folds as independent.

        Raises
        ------
        DataError
            Where no fold can be scored.
        """
        owner = self._owner
        split = RepeatedStratifiedKFold if owner.is_classifier else RepeatedKFold
        folds = split(n_splits=self.folds, n_repeats=self.repeats, random_state=self._seed)
        found = []
        for train, test in folds.split(self._train, owner.labels[self._train]):
            model = owner.fit(owner.made(setting, self._seed), *self._rows_of(self._train[train]))
            found.append(self._scored(model, *self._rows_of(self._train[test])))
        return Score(float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(self.folds)), len(found))

    def tested(self, setting: Setting) -> Score | None:
        """Return the score on rows that chose nothing; its standard error is that of resampled test rows."""
        if self._test is None:
            return None
        owner, (features, labels) = self._owner, self._test
        model = owner.fit(owner.made(setting, self._seed), *self._rows_of(self._train))
        found, draw = [], np.random.default_rng(self._seed)
        mean = self._scored(model, features, labels)
        for _ in range(RESAMPLES):
            rows = draw.integers(0, len(labels), len(labels))
            if not owner.is_classifier or set(np.unique(labels.astype(str))) == set(
                np.unique(labels[rows].astype(str))
            ):
                found.append(self._scored(model, _rows(features, rows), labels[rows]))
        return Score(mean, float(np.std(found, ddof=1)) if len(found) > 1 else 0.0, len(found))

    def _rows_of(self, rows: AnyArray) -> tuple[Any, Any]:
        return _rows(self._owner.features, rows), self._owner.labels[rows]

    def _scored(self, model: Any, features: Any, labels: Any) -> float:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                score = float(self._score(model, features, labels))
        except Exception as error:  # what it says could quote rows
            kind = type(error).__name__
        else:
            if np.isfinite(score):
                return score
            kind = "no finite score"
        raise DataError(f"{self._where}: the model cannot be scored by {self.metric} ({kind}): name another --metric")


def usual_metric(owner: Owner) -> str:
    """Return the metric of a model's kind."""
    if not owner.is_classifier:
        return "r2"
    return "roc_auc" if len(np.unique(owner.labels.astype(str))) == 2 else "roc_auc_ovr"


def _likely(owner: Owner, wrong: str) -> list[str]:
    kinds = (
        ("r2", "neg_") if not owner.is_classifier else ("roc_auc", "accuracy", "balanced", "f1", "average", "neg_log")
    )
    return [name for name in get_scorer_names() if name.startswith((*kinds, wrong[:3]))]


def _rows(features: Any, rows: AnyArray) -> Any:
    return features.iloc[rows] if hasattr(features, "iloc") else features[rows]
