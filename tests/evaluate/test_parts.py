"""A few rows that come back whole are no less given away because all others are guessed."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from builders import changed
from by_hand import flags, measured
from pytest_draft.evaluate import parts
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.facts.certificate import Bounds, Certificate
from pytest_draft.facts.findings import Findings
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.rules import RULES
from pytest_draft.policy.verdict import judge

N_COLUMNS = 10
COLUMNS = tuple(f"c{i}" for i in range(N_COLUMNS))
DOMAIN = flags(COLUMNS)


def people(n_rows: int, seed: int = 0) -> np.ndarray:
    """Return different rows."""
    vectors = np.random.default_rng(seed).choice(2**N_COLUMNS, n_rows, replace=False)
    return (vectors[:, None] >> np.arange(N_COLUMNS) & 1).astype(np.float32)


def evaluated(truth, rebuilt, free, **more):
    return measured(truth, rebuilt, DOMAIN, free=free, **more)


def partly(n_determined: int, n_right: int, n_rows: int = 60):
    """Return true rows, rebuilt ones of which some are determined and of these some right, and what is open."""
    truth = people(n_rows)
    rebuilt, free = people(n_rows, seed=1), np.ones((n_rows, N_COLUMNS), bool)
    where = np.random.default_rng(2).choice(n_rows, n_determined, replace=False)  # in any place and order
    free[where] = False
    rebuilt[where[:n_right]] = truth[-n_right:]
    return truth, rebuilt, free


def verdict_of(found: Findings) -> set[str]:
    """Judge by the default policy, but for its threshold on exact numeric values: these tables have none."""
    rules = default_policy().rules
    thresholds = {"reconstruction-error": rules["reconstruction-error"], "perfect-rows": dict(rules["perfect-rows"])}
    del thresholds["perfect-rows"]["max_exact_values_beyond_split_half"]
    found = changed(found, certain_unique=found.certain_unique or 0)
    return {RULES[rule].check(found, thresholds[rule]).result for rule in thresholds}


@pytest.mark.nightly
@pytest.mark.parametrize(("n_determined", "n_right"), [(21, 18), (6, 6), (25, 24)])
def test_rows_in_which_nothing_is_guessed_fail_though_the_mean_passes(n_determined, n_right):
    found = evaluated(*partly(n_determined, n_right))
    part = found.by_name.get("fully_determined")
    assert found.values.determined_rows == part.rows == n_determined
    assert part.perfect.lower >= n_right
    assert part.columns == N_COLUMNS
    assert not part.absolute
    assert part.split_half.perfect_rows < n_determined / 5
    assert part.error.exact < part.split_half.error / 3
    assert verdict_of(found) == {"failed"}
    sentence = RULES["perfect-rows"].check(found, {"max_share_beyond_split_half": 0.5}).sentence
    assert f"of {n_determined} rows perfectly on the rows in which nothing is guessed; limit: " in sentence


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(("n_determined", "n_right"), [(21, 18), (6, 6)])
def test_the_mean_of_these_rows_would_pass(n_determined, n_right):
    found = evaluated(*partly(n_determined, n_right))
    assert verdict_of(changed(found, fully_determined=None)) == {"passed"}


@pytest.mark.nightly
@pytest.mark.parametrize("n_determined", [5, 10, 20, 40])
@pytest.mark.parametrize("seed", range(5))
def test_other_peoples_rows_are_no_leak_however_few_are_determined(n_determined, seed):
    everyone = people(120, seed)
    free = np.arange(60)[:, None] >= n_determined
    found = evaluated(everyone[:60], everyone[60:], np.repeat(free, N_COLUMNS, axis=1))
    assert found.values.determined_rows == n_determined
    assert verdict_of(found) == {"passed"}


def test_one_to_four_rows_are_no_part_and_all_rows_are_the_whole():
    assert [evaluated(*partly(n, n)).by_name.get("fully_determined") for n in (1, 4)] == [None, None]
    assert evaluated(*partly(60, 30)).by_name.get("fully_determined") is None


@pytest.mark.nightly
def test_common_rows_that_others_meet_too_are_no_part():
    truth = np.vstack([np.zeros((40, N_COLUMNS)), people(20)]).astype(np.float32)
    free = np.zeros((60, N_COLUMNS), bool)
    free[20:] = True
    rebuilt = np.vstack([np.zeros((20, N_COLUMNS)), people(40, 7)]).astype(np.float32)
    found = evaluated(truth, rebuilt, free)
    assert found.values.determined_rows == 20
    assert found.by_name.get("fully_determined") is None  # twenty rows of zeros, all of them right


@pytest.mark.nightly
def test_rows_of_one_kind_are_measured_by_others_of_that_kind():
    rare = people(60)
    rare[:30, :7] = 1  # thirty people who differ in three columns only
    free = np.ones((60, N_COLUMNS), bool)
    free[:15] = False
    rebuilt = people(60, 8)
    rebuilt[:15] = np.ones(N_COLUMNS)
    rebuilt[:15, 7:] = people(15, 9)[:, 7:]  # what somebody would draw who knows their kind
    found = evaluated(rare, rebuilt, free)
    assert found.by_name.get("fully_determined") is None
    assert verdict_of(found) == {"passed"}


def test_of_very_many_rows_some_are_drawn_and_said_to_be(monkeypatch):
    monkeypatch.setattr(parts, "LIMITS", replace(parts.LIMITS, most_matched=15))
    found = evaluated(*partly(40, 40))
    part = found.by_name.get("fully_determined")
    assert (part.rows, part.perfect.lower, found.values.determined_rows) == (15, 15, 40)
    assert part.on == " on 15 of the 40 rows in which nothing is guessed"


CERTIFICATE = Certificate(60, *[Bounds(3, 5)] * 5)


@pytest.mark.nightly
def test_proved_rows_count_where_they_are_unique_in_the_training_data():
    truth = people(60)
    truth[1] = truth[0]
    proved = np.vstack([truth[[0, 0, 2, 3]], 1 - truth[[2]]])
    free = np.ones((60, N_COLUMNS), bool)
    some = {"certificate": CERTIFICATE, "proved": proved}
    found = evaluated(truth, people(60, 1), free, provable=np.vstack([proved, truth[[4]]]), **some)
    assert found.certain_unique == Bounds(2, 3)
    found = evaluated(truth, people(60, 1), free, provable=proved, **some)
    assert found.certain_unique == Bounds(2, 2)
    nothing = evaluated(truth, people(60, 1), free)
    assert nothing.certain_unique is None


def test_rows_whose_values_are_proved_one_by_one_count_too():
    truth, rebuilt, free = partly(4, 4)
    found = evaluated(truth, rebuilt, free, certain=~free)
    assert (found.values.certain_rows.lower, found.certain_unique) == (4, Bounds(4, 4))


@pytest.mark.parametrize(
    ("proved", "at_most", "most", "expected"),
    [
        (13, None, 2, "failed"),
        (3, 40, 2, "failed"),
        (2, None, 2, "passed"),
        (2, 3, 2, "inconclusive"),
        (0, 1, 0, "inconclusive"),
        (1, None, 0, "failed"),
        (None, None, 0, "inconclusive"),
    ],
)
def test_what_is_proved_by_now_fails_and_what_may_yet_be_is_no_pass(proved, at_most, most, expected):
    base = evaluated(people(60), people(60, 1), np.ones((60, N_COLUMNS), bool))
    found = changed(base, certain_unique=None if proved is None else Bounds(proved, at_most or proved))
    outcome = RULES["perfect-rows"].check(found, {"max_certain_unique_rows": most})
    assert outcome.result == expected


def screening(seed: int, share: float, columns: int, threshold: int, noise: float):
    """Return a table in which everybody with gate 0 has label 0, and others by further columns, with noise."""
    rng = np.random.default_rng(seed)
    rows = (rng.random((120, columns)) < 0.5).astype(int)
    rows[:, 0] = rng.random(120) < share
    by_rule = rows[:, 1 : 1 + threshold].sum(axis=1) >= (threshold + 1) // 2
    others = np.where(rng.random(120) < noise, rng.integers(0, 2, 120), by_rule)
    return pd.DataFrame(rows, columns=[f"c{i}" for i in range(columns)]), np.where(rows[:, 0] == 0, 0, others)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("table", "parameters", "others"),
    [
        ((1, 0.25, 10, 3, 0.3), {"max_features": None}, {"passed"}),
        ((1, 0.4, 10, 5, 0.2), {"max_features": None, "max_depth": 6}, {"passed", "failed"}),
        ((0, 0.35, 12, 3, 0.3), {"max_features": 0.6, "bootstrap": False}, {"passed", "failed"}),
    ],
    ids=["bootstrap", "limited depth", "all rows"],
)
def test_a_subgroup_that_comes_back_whole_fails_the_default_policy(table, parameters, others, tmp_path):
    rows, labels = screening(*table)
    forest = RandomForestClassifier(n_estimators=100, random_state=0, **parameters).fit(rows, labels)
    joblib.dump(forest, tmp_path / "model.joblib")
    found, _ = examine(Case(str(tmp_path / "model.joblib")), data=(rows, labels))
    part = found.findings.by_name["fully_determined"]
    assert 0.9 * part.rows <= part.perfect.lower <= part.rows < 60
    assert 20 < found.findings.certain_unique.lower <= found.certificate.certain_vectors.lower
    failed = {check.rule for check in judge(found, default_policy()) if check.result == "failed"}
    assert {"reconstruction-error", "perfect-rows"} <= failed
    hidden = changed(found.findings, fully_determined=None, certain_unique=0)
    assert verdict_of(hidden) == others  # the mean of all rows passes by both rules, or by one
