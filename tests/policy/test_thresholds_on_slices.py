"""Slices in policies: how they are written, and how thresholds are held against them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from builders import FINDINGS, changed
from pytest_draft.errors import PolicyError
from pytest_draft.facts.entropy import Between
from pytest_draft.facts.figures import Baseline, Distance
from pytest_draft.facts.slices import Measured, SliceBaseline, SliceFigures
from pytest_draft.policy.policy import Policy, default_policy, read_policy
from pytest_draft.policy.rules import RULES

HEAD = 'schema_version = 1\nname = "ours"\n'
RULE = "[rules.reconstruction-error]\nmax_error_of_split_half = 0.5\n"
SPARED = Measured(
    20,
    Distance(0.2, 0.2, 0.5),
    5,
    Between(0.25, 0.25),
    2,
    10,
    SliceBaseline(0.5, 0.01, 20),
    SliceBaseline(0.25, 0.2, 20),
)
ALL = changed(
    FINDINGS,
    rows=100,
    error=Distance(0.2, 0.2, 0.5),
    original_error=Distance(0.2, 0.2, 0.5),
    random=Baseline(0.5, 1.0, 100, 100),
    split_half=Baseline(0.25, 20.0, 20, 50),
)


@pytest.fixture
def written(tmp_path):
    """Return a function that reads a policy of this text."""

    def read(text: str) -> Policy:
        path = tmp_path / "policy.toml"
        path.write_text(HEAD + text, encoding="utf-8")
        return read_policy(path)

    return read


def judged(rule: str, thresholds: dict[str, float], **slices: Measured | None):
    """Return what a rule says of slices by name, of which those without figures are too small."""
    figures = [SliceFigures(name, one and 20, one) for name, one in slices.items()]
    return RULES[rule].check(replace(ALL, slices=tuple(figures)), thresholds)


def test_a_slice_is_written_in_the_words_of_a_rule_list(written):
    policy = written(
        RULE
        + "[[slice]]\nname = 'young women'\nif = {woman = true, age = {at_least = 18, below = 25, not = [20, 21]}}\n"
    )
    (one,) = policy.slices
    assert (one.name, one.columns, one.label) == ("young women", ("woman", "age"), None)
    woman, age, *left_out = one.literals
    assert (woman.column, woman.low, woman.high) == (0, math.nextafter(1.0, 0.0), 1.0)
    assert (age.column, age.low < 18 < age.high < 25) == (1, True)
    assert [(literal.column, literal.high, literal.negated) for literal in left_out] == [(1, 20, True), (1, 21, True)]
    assert one.places[1].endswith("policy.toml: line 7: slice.0.if.age")


def test_classes_are_slices_where_the_policy_says_so(written):
    assert not written(RULE).by_class
    assert written("by_class = true\n" + RULE).by_class
    assert not default_policy().by_class
    assert not default_policy().slices


def test_budgets_of_a_marker_leave_slices_as_they_are(written):
    policy = written("by_class = true\n" + RULE + "[[slice]]\nname = 'a'\nif = {b = 1}\n")
    tightened = policy.tightened({"reconstruction-error": {"max_error": 0.1}})
    assert (tightened.slices, tightened.by_class) == (policy.slices, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("by_class = 1\n", "line 3: by_class: 1 is not of type 'boolean'"),
        ("[[slice]]\nname = 'a'\n", "slice.0: 'if' is a required property"),
        ("[[slice]]\nif = {a = 1}\n", "slice.0: 'name' is a required property"),
        ("[[slice]]\nname = ''\nif = {a = 1}\n", "line 4: slice.0.name: '' should be non-empty"),
        ("[[slice]]\nname = 'a'\nif = {}\n", "line 5: slice.0.if: {} should be non-empty"),
        (
            "[[slice]]\nname = 'a'\nif = {b = {under = 3}}\n",
            "line 5: slice.0.if.b: there is no key 'under'; known are: above, at_least, ",
        ),
        ("[[slice]]\nname = 'a'\nif = {b = 'x'}\n", "line 5: slice.0.if.b: 'x' is not of type"),
        ("[[slice]]\nname = 'a'\nif = {b = nan}\n", "line 5: slice.0.if.b: nan is not of type"),
        ("[[slice]]\nname = 'a'\nif = {b = 1}\nrows = 3\n", "line 6: slice.0: there is no key 'rows'; known are: name"),
        ("[[slice]]\nname = 'a'\nif = {b = {above = 3, at_most = 2}}\n", "line 5: slice.0.if.b: can never hold"),
        (
            "[[slice]]\nname = 'a'\nif = {b = {above = 3, at_least = 2}}\n",
            "line 5: slice.0.if.b: has both above and at_",
        ),
        (
            "[[slice]]\nname = 'a'\nif = {b = 1}\n[[slice]]\nname = 'a'\nif = {b = 0}\n",
            "line 7: slice.1.name: another slice has this name",
        ),
    ],
)
def test_a_broken_slice_is_refused_with_its_key_and_line(text, message, written):
    with pytest.raises(PolicyError) as error:
        written(text + RULE)
    assert message in str(error.value)
    assert "policy.toml: " in str(error.value)


@pytest.mark.parametrize(
    ("thresholds", "fails"),
    [
        ({"max_error": 0.05}, False),
        ({"max_error": 0.06}, True),
        ({"max_error_of_split_half": 0.2}, False),
        ({"max_error_of_split_half": 0.24}, True),
        ({"max_error_of_random": 0.1}, False),
        ({"max_error_of_random": 0.12}, True),
    ],
)
def test_each_threshold_of_the_error_is_held_against_a_slice_and_its_own_baselines(thresholds, fails):
    close = replace(SPARED, error=Distance(0.06, 0.06, 0.2))
    outcome = judged("reconstruction-error", thresholds, men=SPARED, women=close)
    assert outcome.result == ("failed" if fails else "passed")
    assert "with an error of 0.0600 in slice 'women'" in outcome.sentence or not fails


def test_the_slice_that_is_closest_beside_its_own_baseline_is_told_and_how_many_fail():
    closer = replace(SPARED, error=Distance(0.05, 0.05, 0.2), split_half=SliceBaseline(0.11, 0.2, 20))
    closest = replace(SPARED, error=Distance(0.06, 0.06, 0.2))
    outcome = judged("reconstruction-error", {"max_error_of_split_half": 0.5}, a=SPARED, b=closer, c=closest)
    assert outcome.result == "failed"
    assert "in slice 'c'; limit: 0.1250 (0.5 x" in outcome.sentence
    assert outcome.sentence.endswith("; 2 of 3 slices fail")


def test_a_pass_tells_of_all_rows_and_that_slices_are_far_enough():
    closest = replace(SPARED, error=Distance(0.15, 0.15, 0.2))
    outcome = judged("reconstruction-error", {"max_error_of_split_half": 0.5}, a=SPARED, b=closest)
    assert outcome.result == "passed"
    assert "slice" not in outcome.sentence.partition("; the other limit ")[0]
    assert outcome.sentence.endswith("; the other limit (for a part, a slice, a scale or labels) holds, too")


@pytest.mark.parametrize(("share", "result"), [(0.60, "passed"), (0.61, "failed")])
def test_perfect_rows_of_a_slice_are_held_against_what_other_peoples_rows_leave(share, result):
    found = replace(SPARED, perfect_rows=12, perfect_share=Between(share, share))
    outcome = judged("perfect-rows", {"max_share_beyond_split_half": 0.5}, men=SPARED, women=found)
    assert outcome.result == result
    if result == "failed":
        assert "12 of the 20 rows of slice 'women' are rebuilt perfectly; with the 20 rebuilt rows" in outcome.sentence
        assert "limit: 60.0% (the 20.0%" in outcome.sentence


def test_a_slice_all_of_whose_rows_are_perfect_fails_whatever_else_is_in_it():
    found = replace(SPARED, rebuilt_rows=200, perfect_rows=20, perfect_share=Between(0.55, 0.55))
    assert judged("perfect-rows", {"max_share_beyond_split_half": 0.5}, women=found).result == "failed"


def test_a_share_that_is_only_bounded_is_undecided():
    found = replace(SPARED, perfect_share=Between(0.4, 0.9))
    assert judged("perfect-rows", {"max_share_beyond_split_half": 0.5}, women=found).result == "inconclusive"


def test_numbers_of_perfect_rows_are_not_held_against_slices():
    assert "slice" not in judged("perfect-rows", {"max_perfect_rows": 50}, women=SPARED, few=None).sentence


@pytest.mark.parametrize(
    "rule", [("reconstruction-error", "max_error_of_split_half"), ("perfect-rows", "max_share_beyond_split_half")]
)
def test_slices_that_are_too_small_are_undecided_and_beaten_by_a_failure(rule):
    rule_id, key = rule
    outcome = judged(rule_id, {key: 0.5}, women=SPARED, few=None, none=None)
    assert outcome.result == "inconclusive"
    assert outcome.sentence.startswith("slice 'few', slice 'none': fewer than 10 rows")
    leaking = replace(SPARED, error=Distance(0.0, 0.0, 0.0), perfect_rows=20, perfect_share=Between(1.0, 1.0))
    assert judged(rule_id, {key: 0.5}, women=leaking, few=None).result == "failed"


@pytest.mark.parametrize(
    "rule", [("reconstruction-error", "max_error_of_split_half"), ("perfect-rows", "max_share_beyond_split_half")]
)
def test_without_a_baseline_a_slice_is_undecided_unless_all_of_it_is_rebuilt(rule):
    rule_id, key = rule
    lost = replace(SPARED, split_half=SliceBaseline(None, None, 0))
    assert judged(rule_id, {key: 0.5}, women=lost).result == "inconclusive"
    whole = replace(lost, error=Distance(0.0, 0.0, 0.0), perfect_rows=20, perfect_share=Between(1.0, 1.0))
    assert judged(rule_id, {key: 0.5}, women=whole).result == "failed"


def test_an_error_that_is_not_known_is_undecided():
    lost = replace(SPARED, error=Distance(0.0, 1.0, None))
    assert judged("reconstruction-error", {"max_error_of_split_half": 0.5}, women=lost).result == "inconclusive"


def test_singled_out_rows_name_the_slice_that_loses_most_of_its_unique_rows():
    most = replace(SPARED, singled_out_rows=3, unique_rows=5)
    outcome = judged("singled-out-rows", {"max_singled_out_rows": 3}, men=SPARED, women=most, few=None)
    assert outcome.result == "failed"
    assert "4 of 30 rows that are unique in the training data perfectly, 3 of 5 in slice 'women'" in outcome.sentence


@pytest.mark.parametrize(
    ("text", "key"), [("by_class = true\n", "by_class"), ("[[slice]]\nname = 'a'\nif = {b = 1}\n", "slice")]
)
def test_slices_that_no_rule_looks_at_are_refused(text, key, written):
    with pytest.raises(
        PolicyError, match=rf"{key}: no rule of this policy looks at slices: name one of label-told, perfect-rows"
    ):
        written(text + "[rules.certain-rows]\nmax_certain_rows = 0\n")


def test_a_name_of_a_slice_stays_in_its_line():
    outcome = judged("reconstruction-error", {"max_error": 0.1}, **{"a\n::error::b": SPARED})
    assert "\n" not in outcome.sentence
    assert "::" not in outcome.sentence
