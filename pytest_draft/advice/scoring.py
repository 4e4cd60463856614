"""Scores: how well the model of a setting predicts rows that it was not trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import (
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedShuffleSplit,
    cross_val_score,
)

from pytest_draft.advice.owner import Owner, quiet
from pytest_draft.arrays import AnyArray
from pytest_draft.data.files import place_of
from pytest_draft.errors import DataError, UsageError, known_are
from pytest_draft.policy.starting_settings import Setting

__tracebackhide__ = True  # frames here hold rows

TEST_SHARE = 0.25
"""Of the rows, where no others are given and there are at least `ENOUGH`: no score that chooses looks at them."""

ENOUGH = 400
FOLDS, REPEATS, RESAMPLES = 5, 2, 50


@dataclass(frozen=True)
class Score:
    """How well a setting predicts."""

    mean: float
    """By the metric; higher is better."""
    error: float
    """Its standard error."""

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.error:.3f}"


class Scorer:
    """Scores settings of an owner's model on the same folds, by the name of a scorer of scikit-learn.

    Without a holdout some of many rows are set aside, to test on in the end.

    Raises
    ------
    UsageError, DataError
    """

    def __init__(
        self, owner: Owner, metric: str | None = None, seed: int = 0, holdout: tuple[Any, Any] | None = None
    ) -> None:
        self.metric = metric or _usual_metric(owner)
        if self.metric not in get_scorer_names():
            likely = [name for name in get_scorer_names() if name[:3] == self.metric[:3]] or ["roc_auc", "r2"]
            raise UsageError(f"--metric: there is no scorer {known_are(self.metric, likely)}")
        self._owner, self._seed = owner, seed
        self._where = place_of(owner.data.source)
        self._train: AnyArray = np.arange(len(owner.labels))
        self._test, self.tested_on = holdout, "" if holdout is None else "the holdout"
        least = self._least_of_class()
        if holdout is None and least >= 2 and len(self._train) >= ENOUGH:
            split = StratifiedShuffleSplit if owner.is_classifier else ShuffleSplit
            parts = split(1, test_size=TEST_SHARE, random_state=seed)
            ((self._train, test),) = parts.split(self._train, owner.labels)
            self._test = _rows(owner.features, test), owner.labels[test]
            self.tested_on = f"{len(test):,} rows set aside (models of the other {len(self._train):,})"
            least = self._least_of_class()
        self._folds = min(FOLDS, least)
        if self._folds < 2:
            raise DataError(f"{self._where}: a class has {least} row: scores need at least 2 rows of each")

    def _least_of_class(self) -> int:
        if not self._owner.is_classifier:
            return len(self._train)
        return int(np.unique(self._owner.labels[self._train].astype(str), return_counts=True)[1].min())

    def cross_validated(self, setting: Setting | None) -> Score:
        """Return the mean over all folds; its standard error counts one repeat's folds as independent.

        Raises
        ------
        DataError
            Where a fold cannot be scored.
        """
        owner = self._owner
        split = RepeatedStratifiedKFold if owner.is_classifier else RepeatedKFold
        folds = split(n_splits=self._folds, n_repeats=REPEATS, random_state=self._seed)
        rows = _rows(owner.features, self._train), owner.labels[self._train]
        try:
            with quiet():
                found = cross_val_score(owner.made(setting), *rows, scoring=self.metric, cv=folds, error_score="raise")
            if not np.isfinite(found).all():
                raise ValueError
            return Score(float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(self._folds)))
        except Exception as error:  # what it says could quote rows
            kind = type(error).__name__
        raise DataError(
            f"{self._where}: the model cannot be trained on these rows and scored by {self.metric} ({kind}); give the "
            "rows that it was trained on, or another --metric"
        )

    def tested(self, setting: Setting | None) -> Score | None:
        """Return the score on rows that chose nothing, with the deviation of resampled ones; None without such rows."""
        if self._test is None:
            return None
        owner, (features, labels) = self._owner, self._test
        model = owner.fitted(setting, _rows(owner.features, self._train), owner.labels[self._train])
        draw, scorer = np.random.default_rng(self._seed), get_scorer(self.metric)
        try:
            with quiet():
                mean = float(scorer(model, features, labels))
                drawn = [draw.integers(0, len(labels), len(labels)) for _ in range(RESAMPLES)]
                found = [scorer(model, _rows(features, rows), labels[rows]) for rows in drawn]
                return Score(mean, float(np.nanstd(found, ddof=1)))
        except Exception:  # rows of one class only, or too few of them
            return None


def _usual_metric(owner: Owner) -> str:
    if not owner.is_classifier:
        return "r2"
    return "roc_auc" if len(np.unique(owner.labels.astype(str))) == 2 else "roc_auc_ovr"


def _rows(features: Any, rows: AnyArray) -> Any:
    return features.iloc[rows] if hasattr(features, "iloc") else features[rows]
