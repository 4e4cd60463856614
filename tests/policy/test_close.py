"""What a check says whose figure lies close to its threshold, on facts by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import FINDINGS, INFORMED, PART, changed, examination
from pytest_draft.facts.ambiguity import Ambiguity, Attacker, Ideal
from pytest_draft.facts.figures import Baseline, Distance, Exact
from pytest_draft.facts.findings import Findings
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.rule import Outcome, combined
from pytest_draft.policy.verdict import Check, check_rule

CLOSE = "; close to the limit: the same settings with another random_state may come out otherwise"
AWAY = changed(FINDINGS, error=Distance(0.3, 0.3, 0.4), perfect=4, singled_out=1)
OTHERS = Ambiguity(("population", "uniform"), 8, 0.1, 400.0, 0.2, 0)
FAR = Ideal(0.18, 4.0, 40, error_without_file=0.2, perfect_rows_without_file=4.0)


def checked(rule: str, findings: Findings | None = AWAY, reasons=(), informed=None, **thresholds: float) -> Check:
    judged = examination(findings=findings, informed=informed, reasons=reasons)
    return check_rule(judged, Policy("ours", "ours.toml", {rule: thresholds}), rule)


def is_close(check: Check) -> bool:
    assert check.sentence.count("close to the limit") == check.sentence.endswith(CLOSE)
    return check.sentence.endswith(CLOSE)


def at(error: float) -> Findings:
    return changed(AWAY, error=Distance(error, error, 0.4))


@pytest.mark.parametrize(
    ("error", "result", "close"),
    [
        (0.3, "passed", False),
        (0.12, "passed", False),
        (0.114, "passed", True),
        (0.1, "failed", True),
        (0.086, "failed", True),
        (0.084, "failed", False),
        (0.0, "failed", False),
    ],
)
def test_an_error_within_15_percent_of_its_bar_is_called_close_on_both_sides(error, result, close):
    check = checked("reconstruction-error", at(error), max_error_of_split_half=0.5)
    assert (check.result, is_close(check)) == (result, close)


def test_it_is_said_once_of_a_check_and_not_where_another_threshold_fails_it_anyhow():
    part = changed(PART, error=Distance(0.113, 0.113, 0.4), perfect=4)
    both = checked("reconstruction-error", changed(at(0.112), seen=part), max_error_of_split_half=0.5)
    assert (both.result, is_close(both)) == ("passed", True)
    worse = changed(part, error=Distance(0.0, 0.0, 0.0))
    found = checked("reconstruction-error", changed(at(0.099), seen=worse), max_error_of_split_half=0.5)
    assert (found.result, is_close(found)) == ("failed", False)


def test_nothing_is_called_close_that_is_inconclusive():
    check = checked("reconstruction-error", at(0.112), ("these are other rows",), max_error_of_split_half=0.5)
    assert check.result == "inconclusive"
    assert "close to" not in check.sentence


@pytest.mark.parametrize(
    ("rows", "result", "close"),
    [
        (4, "passed", False),
        (19, "passed", False),
        (20, "passed", True),
        (22, "passed", True),
        (24, "failed", True),
        (26, "failed", False),
        (40, "failed", False),
    ],
)
def test_rows_count_from_those_that_other_rows_like_these_match(rows, result, close):
    """Of 40 rows others match 4, so that 22 are allowed: 15 % of the 18 between are 2.7."""
    check = checked("perfect-rows", changed(AWAY, perfect=rows), max_share_beyond_split_half=0.5)
    assert (check.result, is_close(check)) == (result, close)


@pytest.mark.parametrize(("met", "perfect", "close"), [(36.0, 36, False), (36.0, 38, True), (39.0, 39, False)])
def test_where_others_match_nearly_all_rows_as_many_as_they_match_are_not_close(met, perfect, close):
    table = changed(AWAY, perfect=perfect, split_half=Baseline(0.2, met, 20, 20))
    assert is_close(checked("perfect-rows", table, max_share_beyond_split_half=0.5)) == close


@pytest.mark.parametrize(
    ("rule", "key", "field"),
    [
        ("singled-out-rows", "max_singled_out_rows", "singled_out"),
        ("perfect-rows", "max_perfect_rows", "perfect"),
    ],
)
@pytest.mark.parametrize(
    ("figure", "most", "close"),
    [(0, 0, False), (1, 0, False), (1, 1, True), (2, 1, False), (10, 10, True), (0, 1, False)],
)
def test_no_row_is_as_far_from_a_limit_as_can_be(rule, key, field, figure, most, close):
    found = changed(AWAY, **{"singled_out": 0, field: figure})
    assert is_close(checked(rule, found, **{key: most})) == close


@pytest.mark.parametrize(
    ("rule", "key"), [("certain-rows", "max_certain_rows"), ("perfect-rows", "max_certain_unique_rows")]
)
@pytest.mark.parametrize("rows", [7, 20])
def test_a_proof_that_crosses_a_limit_is_not_called_close_and_one_that_keeps_it_is(rule, key, rows):
    proved = changed(AWAY, rows=rows, perfect=0, certain_rows=rows, certain_unique=rows)
    failed, passed = (checked(rule, proved, **{key: most}) for most in (rows - 1, rows))
    assert (failed.result, is_close(failed)) == ("failed", False)
    assert (passed.result, is_close(passed)) == ("passed", True)


@pytest.mark.parametrize(
    ("told", "result", "close"), [(0.6, "passed", False), (0.7, "passed", True), (0.76, "failed", False)]
)
def test_determined_rows_are_close_where_few_more_would_fail(told, result, close):
    check = checked("determined-rows", informed=replace(INFORMED, told_rows=told), max_determined_share=0.75)
    assert (check.result, is_close(check)) == (result, close)


@pytest.mark.parametrize(
    ("matched", "without", "result", "close"),
    [
        (0.12, 0.18, "passed", False),
        (0.07, 0.18, "passed", True),
        (0.06, 0.18, "failed", True),
        (0.05, 0.18, "failed", False),
        (0.02, 0.02, "passed", False),  # the file does not help
        (0.0186, 0.02, "passed", False),
        (0.0182, 0.02, "passed", True),  # by 9 %, where a tenth is allowed
        (0.0178, 0.02, "failed", True),
        (0.017, 0.02, "failed", False),
    ],
)
def test_what_somebody_gets_who_knows_all_other_rows_is_held_against_what_decides(matched, without, result, close):
    informed = replace(INFORMED, matched_error=matched, matched_error_without_file=without)
    check = checked("given-all-other-rows", informed=informed, max_error_of_split_half=0.33)
    assert (check.result, is_close(check)) == (result, close)


@pytest.mark.parametrize(
    ("exact", "result", "close"), [(0.3, "passed", False), (0.45, "passed", True), (0.48, "failed", True)]
)
def test_shares_count_from_those_that_are_guessed_without_the_file(exact, result, close):
    """A fifth is guessed without it, so that .464 are allowed: 15 % of what lies between are .04."""
    informed = replace(INFORMED, exact_numeric=exact, exact_numeric_without_file=0.2)
    check = checked("given-all-other-rows", informed=informed, max_exact_values_share=0.33)
    assert (check.result, is_close(check)) == (result, close)


@pytest.mark.parametrize(
    ("least", "without", "close"),
    [
        (0.18, 0.2, False),
        (0.12, 0.2, False),
        (0.11, 0.2, True),
        (0.11, 0.115, False),
        (0.085, 0.09, False),
        (0.082, 0.09, True),  # by 8.9 %, where a tenth is allowed
        (0.11, 0.1205, True),
    ],
)
def test_the_limit_for_every_attacker_is_held_against_the_bar_unless_they_need_no_file(least, without, close):
    one = Attacker("uniform", least, 4.0, without, 4.0)
    ideal = Ideal(least, 4.0, 40, error_without_file=without, perfect_rows_without_file=4.0, attackers=(one,))
    found = changed(AWAY, ideal=ideal, ambiguity=OTHERS)
    check = checked("reconstruction-error", found, max_error_of_split_half=0.5)
    assert (check.result, is_close(check)) == ("passed", close)


def test_a_limit_that_is_close_does_not_count_where_another_one_is_not():
    near = replace(INFORMED, matched_error=0.123, shrinks=1.0)  # nine tenths of that are .111
    found = changed(AWAY, informed=near, ideal=replace(FAR, least_error=0.11), ambiguity=OTHERS)
    assert is_close(checked("reconstruction-error", found, max_error_of_split_half=0.5))
    safe = changed(found, ideal=FAR)
    assert not is_close(checked("reconstruction-error", safe, max_error_of_split_half=0.5))


def test_values_that_come_back_exactly_count_from_those_that_others_have_right():
    for share, close in ((0.2, False), (0.38, True)):
        part = changed(
            PART, of="everything", scale="rank", exact=Exact(60, share, 0.2), error=Distance(0.3, 0.3, 0.4), perfect=2
        )
        found = changed(AWAY, rescaled=(part,))
        assert is_close(checked("perfect-rows", found, max_exact_values_beyond_split_half=0.25)) == close


@pytest.mark.parametrize(("rule", "key", "figure"), [("smallest-leaf", "min_rows", 5), ("time-box", "min_seconds", 60)])
def test_no_seed_changes_what_a_rule_says_of_the_file_or_the_run_itself(rule, key, figure):
    assert "close to" not in checked(rule, **{key: figure}).sentence


def test_outcomes_together_are_close_where_one_pass_or_every_failure_is():
    near, far = Outcome("passed", "near", close=True), Outcome("passed", "far")
    assert combined([far, near]).close
    assert not combined([far, far]).close
    failed = replace(near, result="failed"), replace(far, result="failed")
    assert combined([failed[0], near]).close
    assert not combined(list(failed)).close
    assert Bar(0.2, "").close_to(0.19)
    assert not Bar(0.2, "", base=0.15).close_to(0.19)
