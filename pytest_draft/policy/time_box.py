"""Rule ``time-box``: how long an attack must have had at least."""

from __future__ import annotations

from pytest_draft.facts.examination import Examination
from pytest_draft.policy.rule import Key, NotApplicable, Outcome, Rule, Thresholds


def check(examination: Examination, thresholds: Thresholds) -> Outcome:
    """Fail when the time box was shorter than asked for."""
    least, given = thresholds["min_seconds"], examination.case.seconds
    sentence = f"the time budget was {given:g} s; the policy asks for at least {least:g} s"
    remedy = f"run it with --draft-budget {least:g} or more"
    return Outcome("failed" if given < least else "passed", sentence, remedy)


RULE = Rule(
    id="time-box",
    needs=Examination,
    keys={"min_seconds": Key(False, None, max, "fail when the time budget is shorter than this")},
    check=check,
    rationale=(
        "An attacker is in no hurry. A policy that others run sets how long the attack must be given, so that nobody "
        "passes by asking briefly (EU AI Act, article 15: testing appropriate to the risk)."
    ),
    remedy="run it with a longer --draft-budget",
    unless=(NotApplicable.NO_ATTACK,),
)
