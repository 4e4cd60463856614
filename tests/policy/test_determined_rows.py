"""The rule on rows that a file determines, on facts by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import FINDINGS, INFORMED, changed, examination
from pytest_draft.facts.ambiguity import Ambiguity
from pytest_draft.facts.figures import Distance
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.informed import CUT_SHORT, Informed
from pytest_draft.policy.rule import Outcome
from pytest_draft.policy.rules import RULES

SLOW = "the attack did not converge in 36 s"
OTHERS = Ambiguity(("population", "uniform"), 8, 0.1, 400.0, 0.2, 0)


def outcome(
    informed: Informed | None = INFORMED,
    findings: Findings | None = FINDINGS,
    *,
    doubts: tuple[str, ...] = (),
    short: tuple[str, ...] = (),
    most: float = 0.75,
) -> Outcome:
    judged = examination(informed=informed, findings=findings, reasons=(*doubts, *short), shortfalls=short)
    return RULES["determined-rows"].check(judged, {"max_determined_share": most})


def told(share: float, **changes) -> Informed:
    return replace(INFORMED, told_rows=share, **changes)


@pytest.mark.parametrize(
    ("share", "most", "result"),
    [(0.76, 0.75, "failed"), (0.75, 0.75, "passed"), (0.2, 0.1, "failed"), (1.0, 1.0, "passed"), (0.01, 0.0, "failed")],
)
def test_more_rows_that_are_told_to_whoever_knows_all_others_than_the_policy_allows_fail(share, most, result):
    assert outcome(told(share), most=most).result == result


def test_a_failure_says_how_many_rows_and_the_limit():
    assert outcome(told(0.81)).sentence == (
        "somebody who knows all rows but one reads that one out of the file with certainty: 81.0% of the rows; limit: "
        "75.0%"
    )


@pytest.mark.parametrize(
    ("share", "result"), [(0.70, "passed"), (0.74, "inconclusive"), (0.76, "inconclusive"), (0.80, "failed")]
)
def test_of_a_sample_the_limits_for_all_rows_are_judged_and_said(share, result):
    sampled = outcome(told(share, rows=1_000, of_rows=20_000))
    assert sampled.result == result
    assert f"{share:.1%} of 1,000 rows, drawn at random (" in sampled.sentence
    assert "of all); limit: 75.0%" in sampled.sentence


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_limits_of_a_sample_hold_its_share_and_those_of_all_rows_are_the_share(share):
    sampled = told(share, rows=100, of_rows=1_000)
    assert 0 <= sampled.least_determined_rows <= share <= sampled.most_determined_rows + 1e-9 <= 1 + 1e-9
    assert sampled.least_determined_rows < sampled.most_determined_rows
    assert told(share).least_determined_rows == told(share).most_determined_rows == share


def test_whoever_knows_more_than_the_adversary_clears_a_file_and_convicts_none():
    assert outcome(told(0.9, proved=False)).result == "passed"
    assert "and the file does not tell" in outcome(told(0.9, proved=False)).sentence
    assert "10.0% of the rows" in outcome(told(0.1, proved=False)).sentence


@pytest.mark.parametrize("findings", [None, FINDINGS, changed(FINDINGS, ambiguity=OTHERS)])
def test_what_somebody_is_told_who_knows_all_others_needs_no_attack_that_converged(findings):
    assert outcome(told(0.1), findings, short=(SLOW,)).result == "passed"
    assert outcome(told(0.9), findings, short=(SLOW,)).result == "failed"


@pytest.mark.parametrize("informed", [told(0.1), told(0.1, proved=False)])
def test_no_pass_rests_on_figures_that_the_time_cut_short_nor_on_what_is_in_doubt(informed):
    found = changed(FINDINGS, ambiguity=OTHERS)
    assert outcome(informed, found, short=(SLOW,)).result == "passed"
    assert outcome(informed, found, short=(CUT_SHORT,)) == Outcome("inconclusive", CUT_SHORT)
    doubted = outcome(informed, found, doubts=("these are other rows",), short=(SLOW,))
    assert doubted == Outcome("inconclusive", f"these are other rows; {SLOW}")


@pytest.mark.parametrize("doubts", [("these are other rows",), (CUT_SHORT,)])
def test_a_failure_stands_whatever_is_in_doubt(doubts):
    assert outcome(told(0.9), doubts=doubts).result == "failed"
    assert outcome(told(0.9), short=doubts).result == "failed"


@pytest.mark.parametrize(("rows", "result"), [(30, "passed"), (31, "failed")])
def test_rows_that_the_file_alone_proves_are_determined_whatever_others_are_told(rows, result):
    proved = changed(FINDINGS, certain_rows=rows, certain_unique=rows)
    found = outcome(told(0.5), proved)
    assert found.result == result
    assert ("the file alone proves 31 of 40 rows (77.5%)" in found.sentence) == (result == "failed")
    assert outcome(told(0.5), changed(proved, certain_unique=None)).result == "passed"  # proofs of other rows
    assert outcome(None, proved).result == "inconclusive"  # nothing was found out
    unknown = outcome(None, changed(proved, ambiguity=OTHERS)).result
    assert unknown == ("failed" if result == "failed" else "inconclusive")


@pytest.mark.parametrize(("most", "result"), [(0.99, "failed"), (1.0, "passed")])
def test_an_attack_that_rebuilds_all_rows_shows_that_all_are_determined(most, result):
    whole = changed(FINDINGS, error=Distance(0.0, 0.0, 0.0), perfect=40, singled_out=30)
    assert outcome(told(0.1), whole, most=most).result == result


@pytest.mark.parametrize("short", [(), (SLOW,)])
def test_what_is_not_measured_is_no_pass_whatever_the_attack_has_come_to(short):
    found = outcome(None, short=short)
    assert found.result == "inconclusive"
    assert found.sentence.startswith("how many rows the file determines was not found out")


def test_nothing_that_was_rebuilt_is_no_pass():
    assert outcome(None, None, doubts=("no dataset in 60 s",)).sentence.endswith("not found out: no dataset in 60 s")
    assert outcome(None, None).result == "inconclusive"
