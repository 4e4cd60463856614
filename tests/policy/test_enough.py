"""When a verdict is certain, and when it is in sight, on facts by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import FINDINGS, INFORMED, PART, changed, examination
from pytest_draft.facts.ambiguity import Ideal
from pytest_draft.facts.examination import EVERY_RULE
from pytest_draft.facts.figures import Baseline, Distance, Exact
from pytest_draft.policy.enough import Enough
from pytest_draft.policy.held import first_passed
from pytest_draft.policy.ideal import GUESSED, ideals_of
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.rule import Outcome
from pytest_draft.policy.rules import COMPARED

GIVEN = {"given-all-other-rows": {"max_error_of_split_half": 0.25}}
ERROR = {"reconstruction-error": {"max_error_of_split_half": 0.5}}
ROWS = {"perfect-rows": {"max_share_beyond_split_half": 0.5}}
FAR = replace(INFORMED, matched_error=0.17, told_rows=0.0, near_rows=0.21)
"""0.85 of the split-half error, of which 0.9 is beyond the default bar."""
SLOW = "the attack did not converge"


def enough(*rules, **severities) -> Enough:
    merged = {name: thresholds for rule in rules for name, thresholds in rule.items()}
    return Enough(
        Policy("ours", "ours.toml", merged, severities={name.replace("_", "-"): s for name, s in severities.items()})
    )


def seen(informed=INFORMED, findings=None, reasons=(), short=()):
    if findings is not None:
        findings = changed(findings, informed=informed)
    return examination(informed=informed, findings=findings, reasons=reasons, shortfalls=short)


@pytest.mark.parametrize(
    ("matched", "rules", "promised"),
    [
        (0.05, (GIVEN, ERROR), False),  # it fails, which is decided
        (0.110, (GIVEN, ERROR), False),
        (0.112, (GIVEN, ERROR), True),  # 0.9 of it is beyond half of 0.2
        (0.112, (GIVEN,), False),  # nothing here passes by that
        (0.112, (ERROR,), True),
        (0.112, (ROWS,), False),
    ],
)
def test_a_pass_is_in_sight_where_nobody_gets_within_the_bar(matched, rules, promised):
    assert enough(*rules).promises(seen(replace(INFORMED, matched_error=matched))) == promised


def test_nothing_is_in_sight_without_figures_without_rules_or_where_an_earlier_report_is_compared_with():
    compared = {COMPARED.id: {"max_error_drop": 0.1}}
    assert not enough(GIVEN, ERROR).promises(seen(None))
    assert not enough().promises(seen(FAR))
    assert not enough(GIVEN, ERROR, compared).promises(seen(FAR))
    assert enough(GIVEN).decided(seen()) == "given-all-other-rows"
    assert enough(GIVEN, compared).decided(seen()) is None


def test_somebody_who_knows_more_than_the_adversary_decides_no_failure():
    assert enough(GIVEN).decided(seen(replace(INFORMED, proved=False))) is EVERY_RULE


def test_a_failure_decides_with_or_without_an_attack():
    why = "given-all-other-rows"
    assert enough(GIVEN, ERROR).decided(seen()) == why
    assert enough(GIVEN, ERROR).decided(seen(findings=FINDINGS, reasons=(SLOW,), short=(SLOW,))) == why


def test_what_only_warns_or_is_open_decides_nothing():
    assert enough(GIVEN, ERROR, given_all_other_rows="warning").decided(seen(reasons=(SLOW,))) is None
    assert enough(GIVEN, ERROR).decided(seen(FAR, reasons=(SLOW,))) is None


def test_a_pass_decides_where_every_rule_has_passed_for_good():
    away = changed(FINDINGS, error=Distance(0.3, 0.3, 0.4), perfect=2, singled_out=1)
    assert enough(GIVEN, ERROR, ROWS).decided(seen(FAR, away, (SLOW,), (SLOW,))) == EVERY_RULE
    near = replace(FAR, matched_error=0.1)
    assert enough(GIVEN, ERROR, ROWS).decided(seen(near, away, (SLOW,), (SLOW,))) is None
    met = replace(FAR, near_rows=0.9)
    assert enough(GIVEN, ERROR, ROWS).decided(seen(met, away, (SLOW,), (SLOW,))) is None


def test_a_pass_with_a_warning_that_could_not_be_checked_is_not_decided():
    away = changed(FINDINGS, error=Distance(0.3, 0.3, 0.4), perfect=2, singled_out=1)
    near = replace(FAR, near_rows=0.9)
    found = seen(near, away, (SLOW,), (SLOW,))
    assert enough(GIVEN, ERROR, ROWS, perfect_rows="warning").decided(found) is None


def test_a_warning_that_more_time_does_not_decide_keeps_no_pass_waiting():
    away = changed(FINDINGS, error=Distance(0.3, 0.3, 0.4), perfect=2, singled_out=1)
    found, members = seen(FAR, away, (SLOW,), (SLOW,)), {"membership": {"max_auc": 0.6}}
    assert enough(GIVEN, ERROR, ROWS, members, membership="warning").decided(found) == EVERY_RULE
    assert enough(GIVEN, ERROR, ROWS, members, membership="error").decided(found) is None


def test_too_few_datasets_are_no_pass_however_far_the_guesses():
    away = changed(FINDINGS, error=Distance(0.3, 0.3, 0.4), perfect=2, singled_out=1)
    few = replace(FAR, bits=12.0)
    assert enough(GIVEN, ERROR, ROWS).decided(seen(few, away, (SLOW,), (SLOW,))) is None


UNSOLVED = changed(PART, error=Distance(1.0, 1.0, 1.0), perfect=0)


def ideal_of(part=UNSOLVED, **informed) -> Ideal:
    (ideal,) = ideals_of(changed(part, informed=replace(INFORMED, **informed)))
    return ideal


def test_an_error_is_the_same_share_of_the_parts_own_split_half_error_less_what_better_guessers_get():
    part = changed(UNSOLVED, split_half=Baseline(0.1, 4.0, 20, 10))
    assert ideal_of(part).least_error == pytest.approx(GUESSED * 0.25 * 0.1)
    assert ideal_of(part, matched_error=0.15).least_error == pytest.approx(GUESSED * 0.75 * 0.1)
    assert ideal_of(part, matched_error=0.15, shrinks=0.8).least_error == pytest.approx(GUESSED * 0.75 * 0.1 * 0.8)
    assert ideal_of(part).error_without_file == pytest.approx(GUESSED * 0.9 * 0.1)


def test_the_attack_is_a_guesser_too():
    solved = changed(UNSOLVED, error=Distance(0.01, 0.01, 0.02), perfect=17, exact=Exact(60, 0.5, 0.2))
    found = ideal_of(solved, exact_numeric=0.3, exact_numeric_without_file=0.3)
    assert found.least_error == pytest.approx(GUESSED * 0.01)
    assert (found.most_perfect_rows, found.most_exact) == (17, 0.5)


def test_rows_are_the_baselines_and_what_the_file_adds_of_the_others():
    added = (0.3 - 0.2) / (1 - 0.2)
    assert ideal_of().most_perfect_rows == pytest.approx(4 + added / GUESSED * 16)
    assert ideal_of(near_rows=0.2).most_perfect_rows == 4
    assert ideal_of(near_rows=1.0).most_perfect_rows == 20
    assert ideal_of(near_rows=1.0, near_rows_without_file=1.0).most_perfect_rows == 4


def test_numbers_are_bounded_where_there_are_some_on_this_scale():
    part = changed(UNSOLVED, exact=Exact(60, 0.1, 0.2))
    assert ideal_of(part).most_exact is None
    assert ideal_of(exact_numeric=0.5).most_exact is None
    most = ideal_of(part, exact_numeric=0.5, exact_numeric_without_file=0.375).most_exact
    assert most == pytest.approx(0.2 + 0.2 / GUESSED * 0.8)


def test_a_part_without_baseline_has_no_bound_of_rows_from_it():
    part = changed(PART, split_half=Baseline(None, None, 0, 10), informed=INFORMED)
    assert ideals_of(part) == []
    ideal = Ideal(0.1, 3.0, 20)
    assert ideals_of(changed(part, ideal=ideal)) == [ideal]


def test_every_bound_is_held_and_any_is_enough():
    ideal = Ideal(0.1, 3.0, 20)
    assert ideals_of(PART) == []
    assert ideals_of(changed(UNSOLVED, ideal=ideal)) == [ideal]
    both = ideals_of(changed(UNSOLVED, ideal=ideal, informed=INFORMED))
    assert both[1:] == [ideal]
    assert both[0] == ideal_of()
    passed, other, open_ = Outcome("passed", "a"), Outcome("passed", "b"), Outcome("inconclusive", "c")
    assert first_passed([passed, open_]) == first_passed([open_, passed]) == first_passed([passed, other]) == passed
    assert first_passed([open_, Outcome("inconclusive", "last")]) == open_


def test_a_pass_by_rules_that_heed_no_doubt_is_not_decided_while_something_is_in_doubt():
    assert enough(GIVEN).decided(seen(FAR)) is EVERY_RULE
    assert enough(GIVEN).decided(seen(FAR, reasons=("0 of 9 random thresholds are decoded",))) is None
    assert enough(GIVEN).decided(seen(FAR, reasons=(SLOW,), short=(SLOW,))) is EVERY_RULE
    assert enough(GIVEN).decided(seen(reasons=("0 of 9 random thresholds are decoded",))) == "given-all-other-rows"
