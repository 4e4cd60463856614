"""Rule ``training-data-mismatch``: whether the model was trained on the data that it is judged with."""

from __future__ import annotations

from pytest_draft.facts.findings import Findings
from pytest_draft.policy.rule import Outcome, Rule, Thresholds


def check(findings: Findings, thresholds: Thresholds) -> Outcome:
    """Fail when the given rows cannot have trained the model."""
    identity = findings.identity
    if identity.status == "mismatch":
        return Outcome("failed", identity.why)
    if identity.status == "unknown":
        return Outcome("inconclusive", identity.why)
    return Outcome("passed", identity.why)


RULE = Rule(
    id="training-data-mismatch",
    needs=Findings,
    keys={},
    check=check,
    rationale=(
        "Measured against a stranger's rows, a leaking model looks safe. Who releases a model must know what it was "
        "trained on (EU AI Act, article 10: data governance, and article 12: record-keeping)."
    ),
    blames_file=False,
    remedy="give the rows that this file was trained on, or train the model again on these, and judge it",
)
