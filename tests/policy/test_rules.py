"""Each rule's three outcomes, on findings by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_draft.evaluate.baselines import Baseline
from pytest_draft.evaluate.findings import Findings, Part
from pytest_draft.evaluate.identity import Identity
from pytest_draft.matching import Distance
from pytest_draft.policy.rule import Outcome, combined
from pytest_draft.policy.rules import RULES

MISSING = Baseline(None, None, 0, 20)
FINDINGS = Findings(
    n_rows=40,
    n_columns=8,
    error=Distance(0.1, 0.1, 0.3),
    original_error=Distance(0.1, 0.1, 0.3),
    perfect_rows=10,
    singled_out_rows=4,
    unique_rows=30,
    rows_in_order=None,
    free_share=0.0,
    random=Baseline(0.4, 1.0, 100, 40),
    split_half=Baseline(0.2, 4.0, 20, 20),
    identity=Identity("confirmed", "by hand"),
)
BOUNDED = replace(FINDINGS, error=Distance(0.1, 0.2, None))
PERFECT = replace(FINDINGS, error=Distance(0.0, 0.0, 0.0), perfect_rows=40)


def outcome(rule: str, findings: Findings, **thresholds: float) -> Outcome:
    return RULES[rule].check(findings, thresholds)


@pytest.mark.parametrize(
    ("findings", "max_error", "expected"),
    [
        (FINDINGS, 0.11, "failed"),
        (FINDINGS, 0.1, "failed"),
        (FINDINGS, 0.09, "passed"),
        (FINDINGS, 0.0, "passed"),
        (PERFECT, 0.0, "failed"),
        (BOUNDED, 0.25, "failed"),
        (BOUNDED, 0.2, "failed"),
        (BOUNDED, 0.15, "inconclusive"),
        (BOUNDED, 0.1, "inconclusive"),
        (BOUNDED, 0.09, "passed"),
    ],
)
def test_an_error_of_at_most_the_budget_fails(findings, max_error, expected):
    assert outcome("reconstruction-error", findings, max_error=max_error).result == expected


@pytest.mark.parametrize(
    ("key", "share", "expected"),
    [
        ("max_error_of_split_half", 0.5, "failed"),
        ("max_error_of_split_half", 0.49, "passed"),
        ("max_error_of_random", 0.25, "failed"),
        ("max_error_of_random", 0.24, "passed"),
    ],
)
def test_an_error_is_measured_by_its_baseline(key, share, expected):
    found = outcome("reconstruction-error", FINDINGS, **{key: share})
    assert found.result == expected
    assert "baseline of" in found.sentence


@pytest.mark.parametrize("name", ["split_half", "random"])
def test_an_error_without_its_baseline_is_inconclusive_unless_it_is_zero(name):
    key = f"max_error_of_{name}"
    assert outcome("reconstruction-error", replace(FINDINGS, **{name: MISSING}), **{key: 0.5}).result == "inconclusive"
    assert outcome("reconstruction-error", replace(PERFECT, **{name: MISSING}), **{key: 0.5}).result == "failed"


def test_a_budget_that_is_crossed_fails_beside_one_without_its_baseline():
    findings = replace(FINDINGS, split_half=MISSING)
    both = {"max_error_of_split_half": 0.5}
    assert outcome("reconstruction-error", findings, max_error=0.1, **both).result == "failed"
    assert outcome("reconstruction-error", findings, max_error=0.0, **both).result == "inconclusive"


@pytest.mark.parametrize(("most", "expected"), [(9, "failed"), (10, "passed"), (40, "passed"), (0, "failed")])
def test_more_perfect_rows_than_the_budget_fail(most, expected):
    found = outcome("perfect-rows", FINDINGS, max_perfect_rows=most)
    assert found.result == expected
    assert "10 of 40 rows" in found.sentence


@pytest.mark.parametrize(
    ("perfect", "share", "expected"),
    [(22, 0.5, "passed"), (23, 0.5, "failed"), (4, 0.0, "passed"), (5, 0.0, "failed"), (39, 1.0, "passed")],
)
def test_perfect_rows_are_measured_by_what_the_baseline_leaves(perfect, share, expected):
    findings = replace(FINDINGS, perfect_rows=perfect)  # 4 by the baseline, 36 beyond it
    assert outcome("perfect-rows", findings, max_share_beyond_split_half=share).result == expected


def test_every_row_perfect_fails_whatever_share_is_allowed():
    assert outcome("perfect-rows", PERFECT, max_share_beyond_split_half=1.0).result == "failed"


def test_perfect_rows_without_the_baseline_are_inconclusive_unless_all_are():
    for findings, expected in ((FINDINGS, "inconclusive"), (PERFECT, "failed")):
        missing = replace(findings, split_half=MISSING)
        assert outcome("perfect-rows", missing, max_share_beyond_split_half=0.5).result == expected


@pytest.mark.parametrize(("most", "expected"), [(3, "failed"), (4, "passed")])
def test_more_singled_out_rows_than_the_budget_fail(most, expected):
    found = outcome("singled-out-rows", FINDINGS, max_singled_out_rows=most)
    assert found.result == expected
    assert "4 of 30" in found.sentence


@pytest.mark.parametrize(
    ("rule", "thresholds"),
    [
        ("reconstruction-error", {"max_error": 0.15}),
        ("perfect-rows", {"max_perfect_rows": 7}),
        ("singled-out-rows", {"max_singled_out_rows": 1}),
    ],
)
def test_a_failure_says_by_how_much_the_budget_is_crossed(rule, thresholds):
    by = {"reconstruction-error": "0.05", "perfect-rows": "3", "singled-out-rows": "3"}[rule]
    sentence = outcome(rule, FINDINGS, **thresholds).sentence
    assert f"crossed by {by}" in sentence
    assert "\n" not in sentence


PART = Part(
    on=" on a part",
    absolute=False,
    n_rows=20,
    columns=3,
    error=Distance(0.0, 0.0, 0.0),
    perfect_rows=19,
    random_error=0.4,
    split_half=Baseline(0.2, 4.0, 20, 10),
)
RELATIVE = [
    ("reconstruction-error", "max_error_of_split_half"),
    ("reconstruction-error", "max_error_of_random"),
    ("perfect-rows", "max_share_beyond_split_half"),
]
ABSOLUTE = [("reconstruction-error", "max_error", 0.05), ("perfect-rows", "max_perfect_rows", 15)]


@pytest.mark.parametrize("name", ["seen", "told", "mostly_determined"])
@pytest.mark.parametrize(("rule", "key"), RELATIVE)
def test_relative_thresholds_are_held_against_each_part_beside_its_own_baselines(rule, key, name):
    thresholds = {key: 0.2}
    assert outcome(rule, FINDINGS, **thresholds).result == "passed"
    crossed = outcome(rule, replace(FINDINGS, **{name: PART}), **thresholds)
    assert crossed.result == "failed"
    assert " on a part; " in crossed.sentence
    no_better = replace(PART, error=Distance(0.2, 0.2, 0.2), perfect_rows=4)
    kept = outcome(rule, replace(FINDINGS, **{name: no_better}), **thresholds)
    assert kept.result == "passed"
    assert " on a part; " in kept.sentence


@pytest.mark.parametrize(("rule", "key"), RELATIVE)
def test_a_part_without_its_baselines_is_never_a_pass(rule, key):
    missing = replace(PART, error=Distance(0.3, 0.3, 0.3), perfect_rows=0, random_error=None, split_half=MISSING)
    found = outcome(rule, replace(FINDINGS, told=missing), **{key: 0.2})
    assert found.result == "inconclusive"
    assert "baseline on a part is missing" in found.sentence


@pytest.mark.parametrize(("rule", "key", "budget"), ABSOLUTE)
def test_absolute_thresholds_are_held_against_parts_with_all_columns_only(rule, key, budget):
    assert outcome(rule, FINDINGS, **{key: budget}).result == "passed"
    assert outcome(rule, replace(FINDINGS, mostly_determined=PART), **{key: budget}).result == "passed"
    assert outcome(rule, replace(FINDINGS, seen=replace(PART, absolute=True)), **{key: budget}).result == "failed"


RESULTS = ("failed", "inconclusive", "passed")


@pytest.mark.parametrize("one", RESULTS)
@pytest.mark.parametrize("other", RESULTS)
def test_the_gravest_outcome_wins_whatever_the_order(one, other):
    expected = min(one, other, key=RESULTS.index)
    assert combined([Outcome(one, "one"), Outcome(other, "other")]).result == expected


def test_passes_are_told_together():
    assert combined([Outcome("passed", "one"), Outcome("passed", "other")]).sentence == "one; other"


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_says_why_it_exists_and_what_its_keys_mean(rule):
    assert RULES[rule].id == rule
    assert RULES[rule].rationale
    assert all(key.help and key.strictest in (min, max) for key in RULES[rule].keys.values())
