"""Rule ``singled-out-rows``: how many rows that are unique in the training data may be rebuilt perfectly."""

from __future__ import annotations

from pytest_draft.facts.findings import Findings
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.held import named
from pytest_draft.policy.perfect_rows import NOT_MATCHED, within
from pytest_draft.policy.rule import Key, Outcome, Rule, Thresholds


def check(findings: Findings, thresholds: Thresholds) -> Outcome:
    """Fail when more unique rows are perfect than allowed."""
    most = thresholds["max_singled_out_rows"]
    single = findings.singled_out
    found = f"{single.lower:,} of {findings.unique_rows:,} rows that are unique in the training data"
    on = within(findings.whole.numeric) + _judge_slice(findings)
    return Bar(most, f"limit: {most:,}").judge(
        (single.lower, single.upper),
        f"{found} are rebuilt perfectly{on}",
        f"the attack rebuilds {found} perfectly{on}",
        f"at least {found} are rebuilt perfectly{on}, and at most {single.upper:,} ({NOT_MATCHED})",
    )


def _judge_slice(findings: Findings) -> str:
    """Say of which slice most of the unique rows are; a slice has no more of them than all rows, so no own budget."""
    by_range = [(one, one.measured) for one in findings.slices if not one.on and one.measured is not None]
    measured = [(one, found) for one, found in by_range if found.unique_rows]
    if not measured:
        return ""
    worst, found = max(measured, key=lambda entry: entry[1].singled_out_rows / entry[1].unique_rows)
    return f", {found.singled_out_rows:,} of {found.unique_rows:,} in {named(worst)}"


RULE = Rule(
    id="singled-out-rows",
    needs=Findings,
    keys={"max_singled_out_rows": Key.rows("fail when more unique rows than this are perfect")},
    check=check,
    rationale=(
        "A row that is unique in the training data singles out one person (GDPR, recital 26; Article 29 "
        "Working Party, Opinion 05/2014): nobody else's record is like it."
    ),
)
