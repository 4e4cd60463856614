"""Whoever is taken to know more than the draws of boosted trees is told at least as much of each row."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from pytest_draft.ambiguity.counted import counted_by, seen_by_all
from pytest_draft.artifact import read
from pytest_draft.artifact.forest.observations import DRAWS
from pytest_draft.attack.boosted.staged import drawn_rows, known_amounts, with_amounts
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.informed.boxes import held_of
from pytest_draft.domain import infer
from pytest_draft.errors import NotCoveredError

N_ROWS = 120
RANDOM = np.random.RandomState(2)
ROWS = RANDOM.normal(size=(N_ROWS, 3)).round(2).astype(np.float32)
LABELS = (ROWS[:, 0] + RANDOM.normal(size=N_ROWS) > 0).astype(np.int64)
COLUMNS = np.ascontiguousarray(ROWS.T.astype(np.float64))
EVERYBODY = np.arange(N_ROWS)


def saved(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return folder / "model.joblib"


def fitted(library):
    if library == "gradient":
        model = GradientBoostingClassifier(n_estimators=10, subsample=0.6, random_state=4)
    elif library == "xgboost":
        model = pytest.importorskip("xgboost").XGBClassifier(n_estimators=10, subsample=0.6, n_jobs=1)
    else:
        settings = {"n_estimators": 10, "subsample": 0.6, "subsample_freq": 1, "min_child_samples": 5, "n_jobs": 1}
        model = pytest.importorskip("lightgbm").LGBMClassifier(verbose=-1, **settings)
    return model.fit(ROWS, LABELS)


@pytest.mark.parametrize("library", ["gradient", "xgboost", "lightgbm"])
def test_a_row_has_no_more_room_where_its_draws_are_not_known(library, tmp_path):
    forest, domain = read(saved(fitted(library), tmp_path)).forest, infer(["a", "b", "c"], ROWS.astype(np.float64))
    known = with_amounts(forest, COLUMNS, LABELS)
    times = known_amounts(known, N_ROWS)
    assert times is not None
    assert 0.4 < times.mean() < 0.8
    told = held_of(counted_by(known, ROWS, LABELS), domain, KnownRows(ROWS, LABELS, times), EVERYBODY)
    unknown = with_amounts(replace(forest, draws=replace(forest.draws, replays=())), COLUMNS, LABELS)
    assert unknown.observation.unknown == DRAWS
    assert known_amounts(unknown, N_ROWS) is None
    seen, once = seen_by_all(unknown, domain, ROWS, LABELS), np.ones_like(times)
    more = held_of(seen.forest, domain, KnownRows(ROWS, LABELS, once), EVERYBODY, seen.extremes, seen.ends)
    assert (more.lower >= told.lower - 1e-6).all()
    assert (more.upper <= told.upper + 1e-6).all()
    assert (more.upper - more.lower).sum() < (told.upper - told.lower).sum()


def test_others_rows_are_not_taken_for_those_of_unknown_draws(tmp_path):
    model = GradientBoostingClassifier(n_estimators=10, subsample=0.6).fit(ROWS, LABELS)
    forest = read(saved(model, tmp_path)).forest
    others, domain = np.random.default_rng(0).permuted(ROWS, axis=0), infer(["a", "b", "c"], ROWS.astype(np.float64))
    unknown = with_amounts(forest, np.ascontiguousarray(others.T.astype(np.float64)), LABELS)
    assert drawn_rows(unknown) is None
    assert counted_by(unknown, others, LABELS) is None
    with pytest.raises(NotCoveredError, match="do not explain"):
        seen_by_all(unknown, domain, others, LABELS)
