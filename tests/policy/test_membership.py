"""The rule on how well members are told from others, on facts by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import examination
from pytest_draft.documents import rules_folder
from pytest_draft.facts.membership import Estimate, Membership, ToldApart
from pytest_draft.facts.privacy import Privacy
from pytest_draft.policy.policy import read_policy
from pytest_draft.policy.rule import NotApplicable, Outcome
from pytest_draft.policy.rules import RULES

RULE = RULES["membership"]
FOUND = Estimate(0.2, 0.1, 0.3)
APART = ToldApart(200, Estimate(0.7, 0.65, 0.75), FOUND, None)
TOLD = Membership("of the holdout", 200, 400, 500, True, "draws", APART, None, 10, 300, 0.0)


def outcome(found: Membership | None, reasons=(), why=None, **thresholds) -> Outcome:
    one = examination(membership=found, not_membership=why, reasons=reasons)
    one = replace(one, artifact=replace(one.artifact, kind="RandomForestClassifier", n_trees=3))
    return RULE.check(one, RULE.in_force(thresholds))


def told(**changes) -> Membership:
    return replace(TOLD, everyone=replace(APART, **changes))


@pytest.mark.parametrize(
    ("thresholds", "result"),
    [
        ({"max_found_share": 0.19}, "failed"),
        ({"max_found_share": 0.2}, "passed"),
        ({"max_auc": 0.69}, "failed"),
        ({"max_auc": 0.7}, "passed"),
        ({"max_proved_share": 0.049}, "failed"),
        ({"max_proved_share": 0.05}, "passed"),
        ({"max_found_share": 0.5, "max_auc": 0.5}, "failed"),
    ],
)
def test_more_than_each_limit_fails(thresholds, result):
    assert outcome(TOLD, **thresholds).result == result


def test_what_may_be_chance_is_no_failure_and_no_pass():
    by_chance = told(found=Estimate(0.2, 0.01, 0.3))
    assert outcome(by_chance, max_found_share=0.1).result == "inconclusive"
    assert "may be chance" in outcome(by_chance, max_found_share=0.1).sentence
    assert outcome(by_chance, max_found_share=0.2).result == "passed"


def test_too_few_strangers_decide_nothing_but_what_else_is_known():
    few = told(found=None)
    assert outcome(few, max_found_share=0.9).result == "inconclusive"
    assert "fewer than 100" in outcome(few, max_found_share=0.9).sentence
    assert outcome(few, max_found_share=0.9, max_auc=0.6).result == "failed"


def test_people_who_share_their_row_with_nobody_are_judged_apart():
    alone = replace(TOLD, unique=replace(APART, members=50, found=Estimate(0.6, 0.4, 0.8)))
    one = outcome(alone, max_found_share=0.5)
    assert one.result == "failed"
    assert "whose row nobody shares" in one.sentence
    assert (
        outcome(replace(TOLD, unique=replace(APART, found=Estimate(0.0, 0.0, 0.1))), max_found_share=0.1).result
        == "passed"
    )
    assert outcome(replace(TOLD, unique=replace(APART, found=None)), max_found_share=0.5).result == "inconclusive"


def test_a_doubt_stops_a_pass_and_no_failure():
    doubtful = replace(TOLD, doubts=("its leaves have no room",))
    assert outcome(doubtful, max_found_share=0.5).result == "inconclusive"
    assert outcome(doubtful, max_found_share=0.1).result == "failed"


def test_what_is_not_known_is_inconclusive_and_says_why():
    assert outcome(None, reasons=("a reason",), max_auc=0.5) == Outcome("inconclusive", "a reason")
    assert outcome(None, why="no holdout", max_auc=0.5).sentence == "no holdout"
    assert "no training data" in outcome(None, max_auc=0.5).sentence


def test_the_remedy_is_a_smaller_model_and_no_seeds_where_these_are_known():
    with_seeds, without = (outcome(replace(TOLD, draws_known=known), max_auc=0.5) for known in (True, False))
    assert "retrain" in without.remedy
    assert "harden" in with_seeds.remedy
    assert "harden" not in without.remedy


def test_where_noise_or_no_labels_it_is_not_applicable():
    assert RULE.unless == (NotApplicable.NO_LABELS, NotApplicable.NOISE)
    noisy = examination(membership=TOLD)
    noisy = replace(
        noisy,
        artifact=replace(
            noisy.artifact, sha256="text", holds="a forest", privacy=Privacy("laplace", 5.0, scale=2.0, rounding="sum")
        ),
    )
    assert RULE.applied({"max_auc": 0.5}, noisy)[1] is NotApplicable.NOISE


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("default", "warning"),
        ("internal", "warning"),
        ("partner-release", "warning"),
        ("public-release", "warning"),
        ("special-category", "error"),
    ],
)
def test_shipped_policies_name_it(name, severity):
    policy = read_policy(rules_folder() / f"{name}.toml")
    assert policy.severities["membership"] == severity
    assert policy.rules["membership"]["max_found_share"] <= 0.1
