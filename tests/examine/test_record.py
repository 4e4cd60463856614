"""What is known so far of an examination: what is said of an attack that ended because the verdict is certain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import FINDINGS
from pytest_draft.examine.record import FlowRecord
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import EVERY_RULE
from pytest_draft.timebox import TimeBox

RULE = "given-all-other-rows"
SLOW = "the attack did not converge in 3 s"


def settled(rule=RULE, findings=FINDINGS, seconds=5.0) -> FlowRecord:
    """Return the record of a verdict that was certain after so many seconds, and of a hurried attack."""
    record = FlowRecord(Case("m.joblib", seconds=60.0))
    start = record.limits.total.start
    record.limits.total = TimeBox(60.0, clock=lambda: start + seconds, start=start)
    record.decide(rule)
    record.facts = replace(record.facts, findings=findings)
    record.fall_short(SLOW)
    record.settle()
    return record


@pytest.mark.parametrize(
    ("rule", "findings", "said"),
    [
        (RULE, FINDINGS, f"the attack was cut short, as {RULE} has failed already"),
        (RULE, None, f"no attack was run, as {RULE} has failed already"),
        (EVERY_RULE, FINDINGS, "the attack was cut short, as no threshold can be crossed"),
    ],
)
def test_why_the_attack_went_no_further_is_said_in_place_of_what_it_lacks(rule, findings, said):
    facts = settled(rule, findings).facts
    assert facts.reasons == facts.shortfalls == (said,)
    assert (facts.decided_by, facts.decided_after) == (rule, 5.0)


def test_what_is_in_doubt_besides_stays():
    record = FlowRecord(Case("m.joblib"))
    record.doubt("these are other rows")
    record.decide(RULE)
    record.settle()
    assert record.facts.reasons[0] == "these are other rows"
    assert record.facts.shortfalls == record.facts.reasons[1:]


def test_an_attack_that_lacks_nothing_is_told_as_it_is():
    record = FlowRecord(Case("m.joblib"))
    record.decide(RULE)
    record.facts = replace(record.facts, findings=FINDINGS)
    record.settle()
    assert record.facts.reasons == ()


@pytest.mark.parametrize(("seconds", "effort", "most"), [(60.0, None, 2.0), (10.0, None, 0.5), (600.0, 4.0, 0.2)])
def test_once_the_verdict_is_certain_an_attack_gets_little_more(seconds, effort, most):
    limits = FlowRecord(Case("m.joblib", seconds=seconds, effort=effort)).limits
    limits.hurry_attack()
    assert limits.attack.effort == pytest.approx(most)
    assert limits.attack.seconds <= 4.0
