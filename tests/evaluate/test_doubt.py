"""Whatever makes an attack look weaker than it is, is never a pass."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.errors import OutOfTimeError
from pytest_draft.evaluate import parts
from pytest_draft.examine import alternatives, counted, limits
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.facts.certificate import Bounds, Certificate
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.informed import CUT_SHORT
from pytest_draft.policy.policy import Policy, default_policy
from pytest_draft.policy.rules import RULES
from pytest_draft.policy.verdict import judge, overall

pytestmark = pytest.mark.nightly

STORES_WEIGHTS = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)


@pytest.fixture
def examined(tmp_path):
    """Return a function that trains a forest on rows and examines its file."""

    def run(
        rows: np.ndarray,
        weights=None,
        untested=0,
        shuffled=False,
        adversary="artifact",
        domain: str | None = None,
        **parameters,
    ) -> Examination:
        table = pd.DataFrame(rows, columns=[f"c{index}" for index in range(rows.shape[1])])
        labels = np.random.default_rng(1).integers(0, 2, len(rows))
        forest = RandomForestClassifier(random_state=0, **parameters)
        shown = table.copy()
        shown.iloc[:, rows.shape[1] - untested :] = 0  # no tree can test these, whatever the rows hold there
        joblib.dump(forest.fit(shown, labels, weights), tmp_path / "model.joblib")
        table = table.assign(label=labels)
        if shuffled:
            table = table.sample(frac=1, random_state=0)
        table.to_csv(tmp_path / "train.csv", index=False)
        paths = (str(tmp_path / "model.joblib"), str(tmp_path / "train.csv"))
        case = Case(*paths, "label", adversary=adversary)
        if domain is not None:  # taken as it stands
            (tmp_path / "domain.toml").write_text(domain)
            digest = hashlib.sha256(domain.encode()).hexdigest()
            case = replace(case, domain=str(tmp_path / "domain.toml"), domain_sha256=digest)
        return examine(case)[0]

    return run


def verdict(examination, policy=None):
    """Return the verdict by what the attack finds, in the default policy or another."""
    checks = judge(examination, policy or default_policy())
    return overall(check.result for check in checks if RULES[check.rule].attack)


def without(examination, *parts):
    """Return what was found out but for the figures on some parts."""
    return replace(examination, findings=replace(examination.findings, **dict.fromkeys(parts)))


BOUNDS = ("ambiguity", "informed")
"""What is known of anybody, however long they search."""


@pytest.mark.parametrize("constants", [1, 3])
def test_columns_that_are_always_one_never_hide_that_all_else_is_rebuilt(examined, constants):
    rows = np.random.default_rng(0).integers(0, 2, (60, 6))
    rows = np.hstack([rows, np.ones((60, constants), int)])
    assert examined(rows, n_estimators=50).findings.whole.perfect.lower == 60
    found = examined(rows, n_estimators=50, domain='others = "binary"\n')
    assert found.findings.whole.perfect.lower == 0  # no tree tests the constant columns, and they are guessed wrong
    assert (found.findings.by_name["informative"].columns, found.findings.by_name["informative"].perfect.lower) == (
        6,
        60,
    )
    assert verdict(found) == "failed"


def test_a_column_that_varies_counts_even_where_no_tree_tests_it(examined):
    rows = np.random.default_rng(0).integers(0, 2, (60, 6))
    found = examined(rows, n_estimators=1, max_depth=1)
    assert found.findings.by_name.get("informative") is None
    assert verdict(found) == "passed"


@pytest.mark.parametrize("bootstrap", [True, False])
def test_half_of_the_columns_that_is_given_away_fails_though_the_other_half_is_guessed(examined, bootstrap):
    rows = np.random.default_rng(0).integers(0, 2, (60, 14))
    found = examined(rows, untested=7, n_estimators=50, bootstrap=bootstrap)
    part = found.findings.by_name["mostly_determined"]
    assert (part.columns, part.rows, part.perfect.lower, part.error.exact) == (7, 60, 60, 0)
    assert found.findings.values.determined.error == 0
    assert found.findings.values.free.error > 0.3
    assert verdict(found) == "failed"
    assert verdict(without(found, "mostly_determined")) == "passed"
    (sentence,) = [check.sentence for check in judge(found, default_policy()) if check.rule == "reconstruction-error"]
    assert " on 7 columns (those that trees test in most rows); " in sentence


def test_one_column_that_is_given_away_is_a_frequency_and_nobodys_row(examined, monkeypatch):
    rows = np.random.default_rng(0).integers(0, 2, (60, 14))
    found = examined(rows, untested=13, n_estimators=50)
    assert found.findings.by_name.get("mostly_determined") is None
    assert verdict(found) == "passed"
    monkeypatch.setattr(parts, "LIMITS", replace(parts.LIMITS, most_met=1.0))
    assert examined(rows, untested=13, n_estimators=50).findings.by_name["mostly_determined"].error.exact == 0


STRICT = Policy("strict", "by hand", {"reconstruction-error": {"max_error": 0.05}})


@pytest.mark.skipif(not STORES_WEIGHTS, reason="before scikit-learn 1.9 a forest does not store its weights")
@pytest.mark.parametrize("bootstrap", [True, False], ids=["bootstrap", "all rows"])
@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
def test_rows_that_no_tree_has_seen_never_hide_that_all_others_are_rebuilt(examined, bootstrap, shuffled):
    rows = np.random.default_rng(0).integers(0, 2, (60, 10))
    weights = np.repeat([1.0, 0.0], [20, 40])
    found = examined(rows, weights, shuffled=shuffled, n_estimators=50, bootstrap=bootstrap)
    assert found.findings.identity.status == ("order differs" if shuffled else "confirmed")
    part = found.findings.by_name["seen"]
    assert (part.rows, part.columns, part.perfect.lower, part.error.exact) == (20, 10, 20, 0)
    assert part.split_half.error > 0.1
    assert verdict(found) == verdict(found, STRICT) == "failed"
    hidden = replace(without(found, "seen", "informative", "certain_unique_rows"), informed=None)
    assert "failed" not in (verdict(hidden), verdict(hidden, STRICT))


@pytest.mark.parametrize(
    ("adversary", "lacks"),
    [
        ("artifact", "its rows are off by 3 from the forest's counts (the right rows by 0)"),
        ("published", "the leaves have no place for 3 of its rows (the right rows all fit)"),
    ],
)
def test_an_attack_that_did_not_converge_says_what_its_rows_lack(examined, monkeypatch, adversary, lacks):
    whole = counted.reconstruct
    stopped = {"status": "not converged", "residual": 3, "certificate": None}
    monkeypatch.setattr(counted, "reconstruct", lambda *arguments: replace(whole(*arguments), **stopped))
    rows = np.random.default_rng(0).integers(0, 2, (60, 6))
    found = examined(rows, adversary=adversary, n_estimators=2, max_depth=1)
    assert verdict(without(found, *BOUNDS)) == "inconclusive"
    (reason,) = [reason for reason in found.reasons if "did not converge" in reason]
    assert lacks in reason


@pytest.fixture
def stopped(examined, monkeypatch):
    """Return a function that examines a forest by an attack that does not converge, after so long; and its reason."""
    whole = counted.reconstruct

    def run(seconds=0.0, **changes) -> str:
        def ending(problem, search, *told):
            found = whole(problem, search, *told)
            while search.timebox.elapsed < seconds:
                time.sleep(0.01)
            return replace(found, **{"status": "not converged", "residual": 3, "certificate": None, **changes})

        monkeypatch.setattr(counted, "reconstruct", ending)
        found = examined(np.random.default_rng(0).integers(0, 2, (60, 6)), n_estimators=2, max_depth=1)
        if found.findings is not None:
            found = without(found, *BOUNDS)
        assert verdict(found) == "inconclusive"
        (reason,) = [reason for reason in found.reasons if "attack" in reason]
        return reason

    return run


def test_an_attack_that_ended_by_itself_is_not_said_to_have_had_all_its_time(stopped):
    reason = stopped()
    assert reason.startswith("the attack did not converge in its last search: ")
    assert reason.endswith("another --draft-seed may help, or try --draft-budget 240")
    cut = stopped(status="consistent", residual=0, cut_short=True)
    assert cut.startswith("the attack was stopped after its last search, ")


def test_an_attack_that_the_clock_ended_is_said_to_have_had_all_its_time(stopped, monkeypatch):
    monkeypatch.setattr(limits, "ATTACK_SHARE", 0.05)
    reason = stopped(seconds=3.01)
    assert reason.startswith("the attack did not converge in 3 s (its share of the 60 s in all): ")
    assert reason.endswith("try --draft-budget 240")


def test_an_attack_without_a_dataset_tells_how_long_it_took(stopped):
    nothing = dict.fromkeys(("rows", "consistent", "labels", "cells", "free", "seen", "residual"))
    reason = stopped(status="no solution", **nothing)
    assert reason.startswith("the attack found no dataset: a step that it needs took too long")


def test_a_certificate_that_the_truth_contradicts_is_an_internal_error_and_no_pass(examined, monkeypatch):
    whole = counted.reconstruct
    rows = np.random.default_rng(0).integers(0, 2, (60, 6))
    parameters = {"n_estimators": 1, "max_depth": 1, "bootstrap": False}
    assert verdict(examined(rows, **parameters)) == "passed"
    wrong = Certificate(60, *[Bounds(60, 60)] * 5)
    monkeypatch.setattr(counted, "reconstruct", lambda *arguments: replace(whole(*arguments), certificate=wrong))
    found = examined(rows, **parameters)
    assert verdict(found) == "inconclusive"
    (reason,) = found.reasons
    assert reason.startswith("internal error: 60 rows were proved to be certain")


def test_an_attack_that_the_clock_has_cut_short_is_no_pass(examined, monkeypatch):
    rows = np.random.default_rng(0).integers(0, 2, (60, 6))
    whole = counted.reconstruct
    assert verdict(examined(rows, n_estimators=1, max_depth=1)) == "passed"
    monkeypatch.setattr(counted, "reconstruct", lambda *arguments: replace(whole(*arguments), cut_short=True))
    found = examined(rows, n_estimators=1, max_depth=1)
    assert verdict(without(found, *BOUNDS)) == "inconclusive"
    assert verdict(found) == "passed"  # nobody gets closer, however long they search
    assert found.shortfalls == found.reasons
    assert "stopped after" in found.reasons[0]
    assert verdict(examined(rows, n_estimators=50)) == "failed"


def test_a_machine_too_slow_to_find_out_how_close_anybody_gets_makes_no_pass(examined, monkeypatch):
    def slow(*_, **__):
        raise OutOfTimeError

    rows = np.random.default_rng(0).integers(0, 2, (60, 6))
    monkeypatch.setattr(alternatives, "alternatives_to", slow)
    found = examined(rows, n_estimators=1, max_depth=1)
    assert found.findings.ambiguity is None
    assert verdict(replace(found, findings=replace(found.findings, informed=None))) == "inconclusive"
    assert "how close any attacker could get" in found.reasons[0]


@pytest.mark.parametrize("parameters", [{"n_estimators": 50}, {"n_estimators": 1, "max_depth": 1}])
def test_what_all_other_rows_tell_is_no_pass_where_no_time_was_left_to_ask(examined, monkeypatch, parameters):
    def slow(*_, **__):
        raise OutOfTimeError

    monkeypatch.setattr(alternatives, "known_others", slow)
    found = examined(np.random.default_rng(0).integers(0, 2, (60, 6)), **parameters)
    (check,) = [one for one in judge(found, default_policy()) if one.rule == "given-all-other-rows"]
    assert found.informed is None
    assert check.result == "inconclusive"
    assert check.sentence.startswith(f"{CUT_SHORT}: --draft-budget ")
