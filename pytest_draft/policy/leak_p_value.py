"""Rule ``leak-p-value``: whether what was rebuilt is closer to the training data than to others of their population."""

from __future__ import annotations

from pytest_draft.facts.findings import Findings
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.rule import Key, Outcome, Rule, Thresholds


def check(findings: Findings, thresholds: Thresholds) -> Outcome:
    """Fail when datasets of the same population rarely lie as close."""
    least = thresholds["min_p_value"]
    bar = f"the check fails below {least:g}"
    if findings.significance is None:
        return Outcome(
            "inconclusive", "there is no leak p-value: give rows that were not trained on with --draft-holdout"
        )
    found = findings.significance
    if found.p_value is None:
        return Outcome(
            "inconclusive", f"all datasets drawn from the holdout are equally far away, so there is no p-value; {bar}"
        )
    shown = f"{found.p_value:.2g}" if found.p_value else "below 1e-300"
    sentence = (
        f"the leak p-value is {shown}: {found.as_close:,} of {found.draws:,} datasets drawn from the holdout are as "
        f"close to the rebuilt rows as the training data; {bar}"
    )
    if found.overlaps:
        return Outcome("inconclusive", f"the holdout contains training rows, so it proves nothing: {sentence}")
    close = Bar(least, bar, fails="below").close_to(found.p_value)
    return Outcome("failed" if found.p_value < least else "passed", sentence, close=close)


RULE = Rule(
    id="leak-p-value",
    needs=Findings,
    keys={"min_p_value": Key(False, 1.0, max, "fail when the leak p-value is smaller than this")},
    check=check,
    rationale=(
        "A reconstruction can be close to the training data because it is close to everybody. Only where other "
        "people's data rarely lie as close does it tell something of these people (DRAFT-DP, SaTML 2026, section IV-B, "
        "result 4, and appendix D)."
    ),
)
