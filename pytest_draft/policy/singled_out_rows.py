"""Rule ``singled-out-rows``: how many rows that are unique in the training data may be rebuilt perfectly."""

from __future__ import annotations

from pytest_draft.evaluate.findings import Findings
from pytest_draft.policy.rule import Key, Outcome, Rule, Thresholds


def check(findings: Findings, thresholds: Thresholds) -> Outcome:
    """Fail when more unique rows are perfect than allowed."""
    most = thresholds["max_singled_out_rows"]
    found = f"{findings.singled_out_rows:,} of {findings.unique_rows:,} rows that are unique in the training data"
    if findings.singled_out_rows > most:
        return Outcome(
            "failed",
            f"the attack rebuilds {found} perfectly; at most {most:g} are allowed, "
            f"crossed by {findings.singled_out_rows - most:g}",
        )
    return Outcome("passed", f"{found} are rebuilt perfectly; at most {most:g} are allowed")


RULE = Rule(
    id="singled-out-rows",
    needs=Findings,
    keys={"max_singled_out_rows": Key(True, None, min, "fail when more unique rows than this are perfect")},
    check=check,
    rationale=(
        "A row that is unique in the training data singles out one person (GDPR, recital 26; Article 29 "
        "Working Party, Opinion 05/2014): nobody else's record is like it."
    ),
)
