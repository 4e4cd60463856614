"""The rule on what a file tells of labels and targets, on facts by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import examination
from pytest_draft.documents import rules_folder
from pytest_draft.facts.examination import EVERY_RULE
from pytest_draft.facts.label_told import LabelTold, Told, lower_end
from pytest_draft.policy.enough import Enough
from pytest_draft.policy.policy import Policy, read_policy
from pytest_draft.policy.rule import Outcome
from pytest_draft.policy.rules import RULES

RULE = RULES["label-told"]
SHARE = {"max_told_share": 0.33}
CERTAIN = {"max_certain_share": 0.33}
TOLD = Told("", 200, told=160, without=140, gained=30, certain=20, certain_gained=2)
"""A fifth more of what is missed without: 60 people, of whom 30 are gained and 10 of the others lost."""
LABELS = LabelTold("labels", 200, 200, "the model's answer", "a forest", TOLD)
EXACT = Told("", 200, told=30, without=4, gained=28)
TARGETS = replace(LABELS, of="targets", told=Told("", 200, 30, 20, 15), exact=EXACT, highest=5, highest_exact=2)


def outcome(found: LabelTold | None, reasons=(), kind="RandomForestClassifier", why=None, **thresholds) -> Outcome:
    one = examination(label_told=found, label_not_told=why, reasons=reasons)
    one = replace(one, artifact=replace(one.artifact, kind=kind, n_trees=3))
    return RULE.check(one, RULE.in_force(thresholds))


def told(**changes) -> LabelTold:
    return replace(LABELS, told=replace(TOLD, **changes))


@pytest.mark.parametrize(
    ("share", "result"), [(0.0, "failed"), (0.3332, "failed"), (0.3334, "passed"), (1.0, "passed")]
)
def test_more_labels_than_the_share_of_the_rest_fail(share, result):
    found = told(told=160, without=140, gained=20)
    assert outcome(found, max_told_share=share, least_difference=0.05).result == result


@pytest.mark.parametrize(("least", "result"), [(0.05, "failed"), (0.07, "passed")])
def test_what_is_told_counts_where_it_is_surely_more(least, result):
    found = told(told=165, without=140, gained=30)
    assert 0.05 < found.told.least_difference < 0.07
    one = outcome(found, **SHARE, least_difference=least)
    assert one.result == result
    assert ("not surely crossed" in one.sentence) == (result == "passed")


def test_where_labels_are_easy_what_is_left_must_surely_be_told():
    few, nearly_all = told(told=198, without=190, gained=9), told(told=200, without=190, gained=10)
    assert outcome(few, **SHARE).result == "passed"
    assert outcome(nearly_all, **SHARE).result == "failed"
    assert outcome(told(told=200, without=197, gained=3), **SHARE).result == "passed"  # three people


@pytest.mark.parametrize(
    ("gained", "missed", "result"), [(4, 4, "passed"), (5, 5, "failed"), (26, 60, "passed"), (40, 60, "failed")]
)
def test_certain_labels_fail_where_they_are_surely_more_of_the_rest_and_not_two_or_three(gained, missed, result):
    found = told(told=200, without=200 - missed, gained=missed, certain=100, certain_gained=gained)
    one = outcome(found, **CERTAIN)
    assert one.result == result
    if result == "failed":
        assert one.sentence.startswith(
            f"the file tells with certainty the label of {gained} of the {missed} of the people"
        )


def test_a_sentence_says_the_deciding_share_first_and_what_is_allowed():
    assert outcome(told(told=200, without=136, gained=64, certain=190, certain_gained=60), **SHARE).sentence == (
        "somebody who knows a person's features reads the label of 100.0% of the people from the file, with certainty "
        "for 95.0%; without their rows, 68.0% can be told; limit: 78.6% (68.0% and 33 % of the rest)"
    )
    sampled = replace(LABELS, of_rows=5_000)
    assert (
        "from the file, with certainty for 10.0% (tried on 200 of 5,000, drawn at random)"
        in outcome(sampled, **SHARE).sentence
    )


@pytest.mark.parametrize(("share", "result"), [(0.05, "failed"), (0.09, "failed"), (0.11, "passed")])
def test_exact_targets_have_a_share_of_their_own(share, result):
    one = outcome(TARGETS, max_exact_share=share)
    assert one.result == result
    assert one.sentence.startswith(
        "somebody who knows a person's features reads the target of 15.0% of the people exactly"
    )
    assert outcome(LABELS, max_exact_share=0.0, **SHARE).result == "passed"  # there are none


@pytest.mark.parametrize(("most", "result"), [(0, "failed"), (1, "failed"), (2, "passed")])
def test_the_highest_targets_have_a_threshold_of_their_own(most, result):
    one = outcome(TARGETS, max_highest_targets=most)
    assert one.result == result
    assert "of the 5 people with the highest targets, only the file tells that of 2 exactly" in one.sentence


RARE = Told("class ill", 60, told=54, without=12, gained=42, others=940, alarms=9, alarms_without=9)


@pytest.mark.parametrize(
    ("part", "result"),
    [
        (RARE, "failed"),
        (replace(RARE, alarms=600), "passed"),  # whoever says it of everybody tells nothing
        (replace(RARE, rows=12, told=12, without=3, gained=9), "passed"),  # nine people
    ],
)
def test_a_class_fails_by_itself_where_it_is_told_from_the_others(part, result):
    one = outcome(replace(LABELS, told=replace(TOLD, told=140, gained=0), parts=(part,)), **SHARE)
    assert one.result == result
    if result == "failed":
        assert "of 90.0% of the people of class ill (wrongly: 1.0% of the others) from the file" in one.sentence


def test_slices_fail_by_themselves():
    part = Told("young", 50, told=50, without=30, gained=20)
    one = outcome(replace(LABELS, told=replace(TOLD, told=140, gained=0), parts=(part,)), **SHARE)
    assert (one.result, "of 100.0% of the people in young from" in one.sentence) == ("failed", True)


def test_what_is_in_doubt_is_no_pass_and_no_excuse():
    doubted = replace(LABELS, doubts=("other rows",))
    assert outcome(doubted, max_told_share=1.0) == Outcome("inconclusive", "other rows")
    assert outcome(doubted, max_told_share=0.0, least_difference=0.0).result == "failed"


def test_nothing_that_was_not_found_out_passes():
    assert outcome(None, reasons=("the file is damaged",)).sentence == "the file is damaged"
    assert outcome(None, why="no targets", reasons=("slow",)).sentence == "no targets"
    assert outcome(None).result == "inconclusive"


def test_the_remedy_is_about_leaves_and_not_about_counts():
    starts = {
        "RandomForestClassifier": "n_estimators=30, max_leaf_nodes=4",
        "XGBRegressor": "n_estimators=10, max_depth=2",
    }
    for kind, start in starts.items():
        one = outcome(told(told=200, gained=60), kind=kind, **SHARE)
        assert f"retrain with fewer and smaller trees: start with {start}" in one.remedy
        assert "so that more people share each leaf" in one.remedy


@pytest.mark.parametrize(
    "name", ["default", "partner-release", "public-release", "special-category", "dp-release", "interpretable"]
)
def test_every_policy_fails_a_full_tree_and_passes_what_tells_little(name):
    policy = read_policy(rules_folder() / f"{name}.toml")
    full = told(told=200, without=136, gained=64, certain=200, certain_gained=64)
    for found, result in (
        (full, "failed"),
        (told(told=145, without=140, gained=15, certain=0, certain_gained=0), "passed"),
    ):
        assert RULE.check(examination(label_told=found), policy.rules["label-told"]).result == result
    assert policy.severities["label-told"] == "error"


def test_what_stays_in_the_house_is_only_told():
    policy = read_policy(rules_folder() / "internal.toml")
    assert policy.severities["label-told"] == "warning"


def test_a_failure_ends_the_run_without_an_attack():
    policy = Policy("ours", "ours.toml", {"label-told": SHARE})
    failed = examination(label_told=told(told=200, without=136, gained=64))
    assert Enough(policy).decided(failed) == "label-told"
    assert Enough(policy).decided(examination(label_told=LABELS)) is EVERY_RULE


@pytest.mark.parametrize(("number", "of", "low"), [(0, 0, 0.0), (0, 10, 0.0), (10, 10, 0.7225), (17, 36, 0.3202)])
def test_the_lower_end_is_wilsons(number, of, low):
    assert lower_end(number, of) == pytest.approx(low, abs=1e-3)


@pytest.mark.parametrize(
    "wrong",
    [{"gained": 170}, {"told": 210}, {"certain": 1, "certain_gained": 2}, {"without": 210}, {"others": 1, "alarms": 2}],
)
def test_figures_that_contradict_each_other_are_refused(wrong):
    with pytest.raises(ValueError):
        replace(TOLD, **wrong)
