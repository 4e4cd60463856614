"""What is known so far of an examination: what is said of an attack that ended because the verdict is certain."""

from __future__ import annotations

import pytest

from pytest_draft.examine.limits import ATTACK_SHARE, NUMERIC_SHARE
from pytest_draft.examine.record import FlowRecord
from pytest_draft.facts.case import Case
from pytest_draft.timebox import TimeBox

WHY = "the rule given-all-other-rows has failed"
SLOW = "the attack did not converge in 3 s"


def settled(seconds: float, share: float = ATTACK_SHARE, **asked) -> FlowRecord:
    """Return the record of a hurried attack, after so many seconds of a box of 60 s."""
    record = FlowRecord(Case("m.joblib", seconds=60.0, **asked))
    start = record.limits.total.start
    record.limits.total = TimeBox(60.0, clock=lambda: start + seconds, start=start)
    record.limits.give_attack(share)
    record.limits.hurry_attack()
    record.fall_short(SLOW)
    record.settle(WHY)
    return record


@pytest.mark.parametrize("asked", [{}, {"effort": 1.0}])
@pytest.mark.parametrize(("seconds", "share"), [(5.0, ATTACK_SHARE), (32.0, ATTACK_SHARE), (35.0, 0.9)])
def test_an_attack_that_had_time_left_was_stopped_early(seconds, share, asked):
    facts = settled(seconds, share, **asked).facts
    assert facts.reasons == facts.shortfalls
    assert facts.reasons == (f"the attack was stopped early, because {WHY}: more of it would not change the verdict",)


@pytest.mark.parametrize("asked", [{}, {"effort": 1.0}])
@pytest.mark.parametrize(
    ("seconds", "share"), [(36.0, ATTACK_SHARE), (34.0, NUMERIC_SHARE), (59.0, 0.9), (60.9, ATTACK_SHARE)]
)
def test_an_attack_whose_time_was_out_was_not_stopped_early(seconds, share, asked):
    facts = settled(seconds, share, **asked).facts
    assert facts.reasons == facts.shortfalls
    assert facts.reasons == (f"no time was left for more of the attack, which would not change the verdict: {WHY}",)


def test_what_is_in_doubt_besides_stays():
    record = FlowRecord(Case("m.joblib"))
    record.doubt("these are other rows")
    record.settle(WHY)
    assert record.facts.reasons[0] == "these are other rows"
    assert record.facts.shortfalls == record.facts.reasons[1:]
