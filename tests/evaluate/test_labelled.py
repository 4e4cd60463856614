"""Rows with their labels: figures by hand, and the thresholds that are held against them."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from builders import FINDINGS, changed
from by_hand import flags, measured
from pytest_draft.documents import rules_folder
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.facts.certificate import Bounds
from pytest_draft.facts.figures import Distance
from pytest_draft.facts.findings import WITH_LABELS, Labelled
from pytest_draft.policy.policy import read_policy
from pytest_draft.policy.rules import RULES
from pytest_draft.report.result import metrics_of
from pytest_draft.report.schema import METRICS
from pytest_draft.report.sentences import of_whole_rows

DOMAIN = flags("abcd")
TRUTH = [[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]]
REBUILT = [[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0], [1, 1, 0, 1]]


def found(labels, guessed, n_classes=2, truth=TRUTH, rebuilt=REBUILT, seen=None):
    """Return the findings on rows with labels."""
    more = {"labels": labels, "guessed": guessed, "n_classes": n_classes, "seen": seen}
    return measured(truth, rebuilt, DOMAIN, ordered=True, **more)


def test_rows_with_labels_are_those_counted_by_hand():
    told = found([0, 1, 1, 0, 0], [0, 1, 1, 0, 1]).labelled
    # 0000 twice, with labels 0 and 1, rebuilt with 1 and 1; 1000 with 1, rebuilt with 0
    assert (told.rows_without, told.measure.perfect.lower, told.measure.rows) == (3, 1, 5)
    assert told.commonest == 1  # of the three, one has label 0, the commonest of all five
    # one wrong label each of 0000 and 1000; a wrong column of 1110; of 1101 a wrong column and a wrong label
    assert told.measure.error.exact == pytest.approx((1 + 1 + 1 + 2) / 5 / 5)


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_wrong_label_is_one_wrong_value_whichever_it_is(n_classes):
    for wrong in range(1, n_classes):
        told = found([0] * 5, [wrong] * 5, n_classes, rebuilt=TRUTH).labelled
        assert told.measure.error.exact == pytest.approx(1 / 5)
        assert (told.rows_without, told.measure.perfect.lower) == (5, 0)


def test_all_else_stays_as_it_is_without_labels():
    with_labels, without = found([0, 1, 1, 0, 0], [0, 1, 1, 0, 1]), found([0, 1, 1, 0, 0], [0, 1, 1, 0, 1], None)
    assert without.labelled is None
    assert replace(with_labels, labelled=None) == without


@pytest.mark.nightly
def test_baselines_have_labels_too():
    rows = np.zeros((40, 4))
    told = found(np.arange(40) % 2, np.arange(40) % 2, truth=rows, rebuilt=rows).labelled
    assert 20 < told.measure.split_half.perfect_rows < 40  # the halves' labels differ by chance
    assert 0 < told.measure.split_half.error < 0.1
    same = found([0] * 40, [0] * 40, truth=rows, rebuilt=rows).labelled
    assert (same.measure.split_half.perfect_rows, same.measure.split_half.error) == (40, 0)


def test_rows_that_no_tree_has_seen_are_left_out():
    seen = np.array([True, True, False, False, False])
    told = found([0, 1, 1, 0, 0], [0, 1, 0, 1, 1], rebuilt=TRUTH, seen=seen).labelled
    assert (told.measure.rows, told.measure.perfect.lower, told.measure.error.exact) == (2, 2, 0)


BASE = found([0, 1, 1, 0, 0], [0, 1, 1, 0, 1])
LABELLED = Labelled(changed(FINDINGS.whole, on=WITH_LABELS, perfect=20), 25, 14)


@pytest.mark.parametrize(
    ("rule", "key", "crossed", "kept"),
    [
        ("reconstruction-error", "max_error_with_labels", 0.1, 0.09),
        ("reconstruction-error", "max_error_with_labels_of_split_half", 0.5, 0.49),
        ("perfect-rows", "max_perfect_rows_with_labels", 19, 20),
        ("perfect-rows", "max_share_with_labels_beyond_split_half", 0.4, 0.5),
    ],
)
def test_thresholds_with_labels_are_held_against_rows_with_labels(rule, key, crossed, kept):
    findings = replace(BASE, labelled=LABELLED)
    failed = RULES[rule].check(findings, {key: crossed})
    assert failed.result == "failed"
    assert "with the label as one more attribute; " in failed.sentence
    assert RULES[rule].check(findings, {key: kept}).result == "passed"
    measure = changed(LABELLED.measure, error=Distance(0.0, 1.0, None), perfect=Bounds(20, 40))
    bounds = replace(LABELLED, measure=measure)
    assert RULES[rule].check(replace(BASE, labelled=bounds), {key: kept}).result == "inconclusive"
    regressor = RULES[rule].check(replace(BASE, labelled=None), {key: crossed})
    assert regressor.result == "inconclusive"


@pytest.mark.nightly
def test_a_label_that_comes_back_fails_where_features_alone_pass():
    """Everybody's features are public and common; which label each vector has is what the file tells."""
    truth = np.repeat(np.eye(4), 15, axis=0)
    labels = np.random.default_rng(0).integers(0, 2, 60)
    rebuilt = truth.copy()
    rebuilt[::6] = 0  # a sixth of the rows is guessed wrong, so that the rest is not all
    findings = found(labels, labels, truth=truth, rebuilt=rebuilt)
    features = {"max_share_beyond_split_half": 0.5}
    assert RULES["perfect-rows"].check(findings, features).result == "passed"
    labelled = {"max_perfect_rows_with_labels": 40}
    assert RULES["perfect-rows"].check(findings, {**features, **labelled}).result == "failed"
    none = found(labels, 1 - labels, truth=truth, rebuilt=rebuilt)
    assert RULES["perfect-rows"].check(none, {**features, **labelled}).result == "passed"


@pytest.mark.parametrize("name", ["special-category", "public-release"])
def test_stricter_policies_count_labels_and_any_proved_row(name):
    rules = read_policy(rules_folder() / f"{name}.toml").rules
    assert rules["reconstruction-error"]["max_error_with_labels_of_split_half"] == 0.5
    assert rules["perfect-rows"]["max_share_with_labels_beyond_split_half"] == 0.5
    assert rules["perfect-rows"]["max_certain_unique_rows"] == 0


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 2, (40, 5)), columns=list("abcde"))
    return rows, rng.integers(0, 3, 40)


@pytest.mark.nightly
@pytest.mark.parametrize("adversary", ["artifact", "artifact+columns:a,b", "artifact+rows:25%", "artifact+informed"])
def test_labels_are_rebuilt_whatever_the_adversary_knows_besides(adversary, table, tmp_path):
    rows, labels = table
    joblib.dump(RandomForestClassifier(40, random_state=0).fit(rows, labels), tmp_path / "model.joblib")
    examination, _ = examine(Case(str(tmp_path / "model.joblib"), adversary=adversary), data=(rows, labels))
    findings, told = examination.findings, examination.findings.labelled
    assert told.measure.perfect.lower == told.rows_without == findings.whole.perfect.lower == findings.whole.rows
    assert told.measure.error.exact == 0
    metrics = metrics_of(examination)
    assert set(metrics) == set(METRICS)
    assert metrics["perfect_rows_with_labels"] == metrics["labels_of_perfect_rows"] == findings.whole.rows
    assert metrics["majority_labels_of_perfect_rows"] == told.commonest < findings.whole.rows
    assert of_whole_rows(metrics)[-1] == (
        f"of {findings.whole.rows} perfect rows, {findings.whole.rows} have the right label too "
        f"(always guessing the most common label: {told.commonest})"
    )


@pytest.mark.nightly
def test_a_regressor_has_no_labels(table, tmp_path):
    rows, targets = table
    joblib.dump(RandomForestRegressor(5, max_depth=2, random_state=0).fit(rows, targets), tmp_path / "model.joblib")
    examination, _ = examine(Case(str(tmp_path / "model.joblib"), seconds=4), data=(rows, targets))
    assert examination.findings is not None
    assert examination.findings.labelled is None
