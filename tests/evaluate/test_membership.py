"""How well a file tells its people from others: figures by hand, strangers, and what cannot be compared."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.artifact.forest.observations import BoostedSums
from pytest_draft.attack.boosted.staged import with_amounts
from pytest_draft.data import Holdout, TrainingData
from pytest_draft.domain import infer
from pytest_draft.errors import NotCoveredError, OutOfTimeError
from pytest_draft.evaluate import membership as evaluated
from pytest_draft.evaluate.membership import _told_apart, area_of, found_of, membership
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.hardening.model import hardened
from pytest_draft.knowledge import known_occurrences, knows_occurrences
from pytest_draft.timebox import TimeBox


def people(n_rows: int = 160, seed: int = 0):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    return rows, (rows.a + rng.normal(size=n_rows) > 0).to_numpy().astype(int)


@pytest.fixture
def found(tmp_path):
    """Return a function that saves a fitted model, and returns how well its file tells rows from those of others."""

    def of(model, rows, truth, others=None, adversary="artifact", seconds=600):
        joblib.dump(model, tmp_path / "model.joblib")
        file = read(tmp_path / "model.joblib").forest
        given = [
            (one.to_numpy(np.float32), np.asarray(its)) for one, its in [(rows, truth), *([others] if others else [])]
        ]
        of_classes = file.classes is not None
        labels = given[0][1].astype(np.int64) if of_classes else np.zeros(len(rows), np.int64)
        targets = None if of_classes else given[0][1].astype(float)
        data = TrainingData(given[0][0], labels, tuple(rows.columns), None, "given in memory", targets=targets)
        holdout = Holdout(given[1][0], None, "given in memory", answers=given[1][1].astype(float)) if others else None
        if isinstance(file.observation, BoostedSums):
            file = with_amounts(file, np.ascontiguousarray(data.rows.T.astype(np.float64)), labels)
        domain = infer(data.columns, data.rows.astype(np.float64))

        def times(one):
            return known_occurrences(one, adversary) if knows_occurrences(one, adversary) else None

        return membership(file, data, holdout, domain, times, 0, TimeBox(seconds))

    return of


def forest(**parameters) -> RandomForestClassifier:
    return RandomForestClassifier(30, random_state=0, **parameters)


def test_figures_by_hand():
    members, strangers = np.array([3.0, 1.0, -np.inf, 2.0]), np.array([2.0, 1.0, 0.0, -np.inf])
    assert area_of(members, strangers) == (4 + 2.5 + 0.5 + 3.5) / 16
    assert found_of(members, strangers, 0.01) == 0.25
    assert found_of(members, strangers, 0.25) == 0.5  # the second highest is 1
    assert found_of(members, np.arange(100.0), 0.01) == 0.0
    assert found_of(np.array([98.5, 98.0]), np.arange(100.0), 0.01) == 0.5


@pytest.mark.parametrize(("number", "found", "surely"), [(99, False, False), (100, True, False), (1_000, True, True)])
def test_rates_take_enough_strangers(number, found, surely):
    rng = np.random.default_rng(0)
    told = _told_apart(rng.normal(1, 1, 200), rng.normal(0, 1, number), rng)
    assert (told.found is not None, told.found_surely is not None) == (found, surely)
    assert told.auc.low < told.auc.value < told.auc.high


def test_those_left_out_are_like_those_of_a_holdout(found):
    rows, labels = people(600)
    model = forest().fit(rows[:200], labels[:200])
    by_holdout = found(model, rows[:200], labels[:200], (rows[200:], labels[200:]))
    by_refits = found(model, rows[:200], labels[:200])
    assert (by_holdout.others, by_refits.others) == ("of the holdout", "left out of refits")
    assert (by_holdout.strangers, by_refits.strangers, by_refits.rows) == (400, 200, 200)
    assert by_refits.everyone.auc.value == pytest.approx(by_holdout.everyone.auc.value, abs=0.06)
    assert by_holdout.everyone.auc.low > 0.7
    assert by_holdout.proved_out > 100
    assert by_holdout.draws_known
    assert by_holdout.most_exposed < 0.01
    assert not by_holdout.doubts
    assert found(model, rows[:200], labels[:200]) == by_refits


@pytest.mark.nightly
def test_without_the_seeds_less_is_told(found):
    rows, labels = people(600)
    model = forest().fit(rows[:200], labels[:200])
    usual = found(model, rows[:200], labels[:200], adversary="published")
    assert not usual.draws_known
    assert usual.proved_out == 0
    assert usual.everyone.auc.value < found(model, rows[:200], labels[:200]).everyone.auc.value


def test_rows_that_equal_a_members_are_no_strangers(found):
    rows, labels = people(140)
    model = forest().fit(rows[:80], labels[:80])
    others = (pd.concat([rows[80:], rows[:60]]), np.append(labels[80:], labels[:60]))
    assert found(model, rows[:80], labels[:80], others).strangers == 60
    flipped = (pd.concat([rows[80:], rows[:60]]), np.append(labels[80:], 1 - labels[:60]))
    assert found(model, rows[:80], labels[:80], flipped).strangers == 120


def test_members_of_whom_others_share_the_row_are_no_unique_people(found):
    rows, labels = people(120)
    twice = pd.concat([rows, rows[:40]], ignore_index=True), np.append(labels, labels[:40])
    others = people(300, seed=1)
    told = found(forest().fit(*twice), *twice, others)
    assert (told.everyone.members, told.unique.members) == (160, 80)
    assert found(forest().fit(rows, labels), rows, labels, others).unique is None


def test_rows_that_have_no_place_are_a_doubt(found):
    rows, labels = people()
    wrong = labels.copy()
    wrong[:30] = 1 - wrong[:30]
    told = found(forest().fit(rows, labels), rows, wrong, people(200, seed=1))
    assert any("no room" in doubt for doubt in told.doubts)


@pytest.mark.parametrize(
    "change",
    [
        lambda model: hardened(model, "counts")[0],
        pytest.param(lambda model: hardened(model, "decimals:2")[0], marks=pytest.mark.nightly),
        pytest.param(lambda model: hardened(model, "labels")[0], marks=pytest.mark.nightly),
        pytest.param(lambda model: hardened(model, "seeds")[0], marks=pytest.mark.nightly),
    ],
)
def test_hardened_files_are_compared_with_hardened_ones(found, change):
    rows, labels = people(600)
    model = change(forest().fit(rows[:200], labels[:200]))
    told = found(model, rows[:200], labels[:200])
    beside = found(model, rows[:200], labels[:200], (rows[200:], labels[200:]))
    assert not told.draws_known
    assert told.everyone.auc.value == pytest.approx(beside.everyone.auc.value, abs=0.08)


@pytest.mark.nightly
def test_targets_and_boosted_trees_are_told(found):
    rows, _ = people(300)
    target = (rows.a + rows.b).round(3).to_numpy()
    told = found(RandomForestRegressor(20, random_state=0).fit(rows, target), rows, target)
    assert told.everyone.auc.value > 0.99
    assert told.share_out > 0.95
    labels = people(300)[1]
    boosted = GradientBoostingClassifier(subsample=0.5, n_estimators=30, random_state=0).fit(rows, labels)
    told = found(boosted, rows, labels)
    assert told.draws_known
    assert told.everyone.auc.low > 0.5


def test_what_is_not_compared_is_said(found):
    rows, labels = people()
    with pytest.raises(NotCoveredError, match=r"fewer than 20 rows are known .* --draft-holdout"):
        found(DecisionTreeClassifier(max_depth=2).fit(rows[:12], labels[:12]), rows[:12], labels[:12])
    with pytest.raises(OutOfTimeError):
        found(forest().fit(rows, labels), rows, labels, seconds=1e-9)


def test_an_examination_notes_it(tmp_path):
    rows, labels = people(60)
    for model, noted in ((forest().fit(rows, labels), True), (IsolationForest(random_state=0).fit(rows), False)):
        joblib.dump(model, tmp_path / "model.joblib")
        examined, _ = examine(Case(str(tmp_path / "model.joblib"), seconds=600, attack=False), (rows, labels))
        assert (examined.membership is not None, examined.not_membership) == (noted, None)


@pytest.mark.nightly
def test_settings_that_give_another_model_are_not_compared(found, monkeypatch):
    rows, labels = people(300)
    monkeypatch.setattr(evaluated, "own_estimator", lambda *_: DecisionTreeClassifier(max_depth=1))
    with pytest.raises(NotCoveredError, match="not like it"):
        found(forest().fit(rows, labels), rows, labels)
    monkeypatch.setattr(evaluated, "own_estimator", lambda *_: None)
    with pytest.raises(NotCoveredError, match="fitted anew"):
        found(forest().fit(rows, labels), rows, labels)
