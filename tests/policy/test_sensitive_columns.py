"""The rule on columns that a policy names, on facts by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import INFORMED, examination
from pytest_draft.errors import PolicyError
from pytest_draft.facts.case import Case
from pytest_draft.facts.informed import InformedColumn
from pytest_draft.facts.label_told import LabelTold, Sensitive, Told
from pytest_draft.policy.policy import Policy, read_policy
from pytest_draft.policy.rule import NotApplicable, Outcome
from pytest_draft.policy.rules import RULES

RULE = RULES["sensitive-columns"]
LABELS = LabelTold("labels", 200, 200, "the model's answer", "a forest", Told("", 200, 180, 150, 30))
ILL = Sensitive(
    "ill", ("ill", "ill[1]"), Told("", 200, told=180, without=140, gained=45, certain=100, certain_gained=30)
)
QUIET = replace(ILL, name="town", attributes=("town",), told=Told("", 200, 140, 140, 0))
TOLD = {"max_told_share": 0.33}
GIVEN = {"max_told_given_others_share": 0.33}


def outcome(*sensitive: Sensitive, labels: LabelTold | None = LABELS, told=None, thresholds=TOLD, **more) -> Outcome:
    """Return what the rule says; of 200 people, half are guessed, and so many are told given all other rows."""
    informed = None
    if told is not None:
        columns = InformedColumn("ill", told / 200, max(0.5, told / 200), 0.5), InformedColumn("ill[1]", 0.5, 0.5, 0.5)
        informed = replace(INFORMED, rows=200, of_rows=200, half_rows=100, columns=columns, bits_ended=True)
    one = examination(
        sensitive=sensitive, label_told=labels, informed=informed, case=Case("m", sensitive=("ill",)), **more
    )
    return RULE.check(one, RULE.in_force(thresholds))


def test_a_column_fails_where_it_is_told_of_more_of_the_rest_than_allowed_and_any_that_fails_is_named():
    assert outcome(QUIET).result == "passed"
    failed = outcome(QUIET, ILL)
    assert failed.result == "failed"
    assert failed.sentence == (
        "ill: somebody who knows a person's other columns and label reads it of 90.0% of the people from the file, "
        "with certainty for 50.0%; without their rows, 70.0% can be told; limit: 79.9% (70.0% and 33 % of the rest)"
    )
    assert outcome(ILL, thresholds={"max_told_share": 0.7}).result == "passed"


def test_it_counts_where_it_is_surely_more_as_for_labels():
    few = replace(ILL, told=Told("", 200, told=190, without=185, gained=8))
    assert "not surely crossed" in outcome(few, thresholds={"max_told_share": 0.1}).sentence


def test_the_label_is_judged_as_what_features_tell():
    label = Sensitive("y", (), ILL.told)
    assert outcome(label).sentence.startswith("y: somebody who knows a person's features reads it of 90.0%")
    assert outcome(label, thresholds=GIVEN).result == "inconclusive"  # it judges nothing


@pytest.mark.parametrize(("told", "result"), [(104, "passed"), (105, "passed"), (145, "failed")])
def test_what_is_proved_given_all_other_rows_counts_beyond_what_is_guessed_anyhow(told, result):
    one = outcome(ILL, told=told, thresholds=GIVEN)
    assert one.result == result
    assert one.sentence.startswith(
        f"ill: the file proves it of {told / 200:.1%} of the people to somebody who knows all"
    )


def test_what_is_not_known_is_no_pass():
    unknown = replace(QUIET, told=None, not_told="the time ran out")
    assert outcome(unknown).sentence == "town: it is not known what the file tells of it: the time ran out"
    assert outcome(QUIET, labels=None, label_not_told="it ran out").result == "inconclusive"
    assert outcome(QUIET, labels=replace(LABELS, doubts=("they are strangers",))).sentence == "town: they are strangers"
    given = outcome(ILL, thresholds=GIVEN, not_informed="sums are not read")
    assert (given.result, given.sentence.endswith("is not known: sums are not read")) == ("inconclusive", True)
    assert outcome(ILL, told=100, thresholds=GIVEN, not_informed="it may be more").result == "inconclusive"
    assert outcome(reasons=("refused",)) == Outcome("inconclusive", "refused")
    assert outcome() == Outcome("inconclusive", 'the policy names no such column: add, say, sensitive = ["diagnosis"]')


def test_a_failure_stays_one_whatever_is_in_doubt():
    assert outcome(ILL, labels=replace(LABELS, doubts=("they are strangers",))).result == "failed"


def test_given_all_other_rows_is_left_out_where_the_adversary_knows_them():
    assert NotApplicable.OTHERS_KNOWN in RULE.keys["max_told_given_others_share"].unless
    assert Policy("ours", "by hand", {RULE.id: GIVEN}).needs_attack


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("sensitive = []\n", "line 3: sensitive"),
        ('sensitive = ["a", "a"]\n', "line 3: sensitive"),
        ("sensitive = [3]\n", "line 3: sensitive.0"),
    ],
)
def test_a_policy_names_the_columns_that_the_rule_judges(text, wrong, tmp_path):
    rule = "[rules.sensitive-columns]\nmax_told_share = 0.1\n"
    path = tmp_path / "ours.toml"
    path.write_text(f'schema_version = 1\nname = "ours"\n{text}{rule}', encoding="utf-8")
    with pytest.raises(PolicyError) as refused:
        read_policy(path)
    assert wrong in str(refused.value)
    path.write_text(f'schema_version = 1\nname = "ours"\nsensitive = ["ill"]\n{rule}', encoding="utf-8")
    assert read_policy(path).sensitive == ("ill",)
