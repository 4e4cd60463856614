"""Rule ``perfect-rows``: how many rows of the training data the attack may rebuild perfectly."""

from __future__ import annotations

from pytest_draft.evaluate.findings import Findings
from pytest_draft.policy.rule import Key, Outcome, Rule, Thresholds, combined


def check(findings: Findings, thresholds: Thresholds) -> Outcome:
    """Fail when more rows are perfect than a threshold allows."""
    outcomes = []
    if "max_perfect_rows" in thresholds:
        outcomes.append(_against(findings.perfect_rows, findings.n_rows, thresholds["max_perfect_rows"], ""))
    if "max_share_beyond_split_half" in thresholds:
        share, baseline = thresholds["max_share_beyond_split_half"], findings.split_half.perfect_rows
        if baseline is not None:
            outcomes.append(_beyond(findings.perfect_rows, findings.n_rows, share, baseline, ""))
        else:
            outcomes.append(_without_baseline(findings))
        told = findings.told
        if told is not None and told.split_half.perfect_rows is not None:
            on = f" on {told.columns} columns, without (nearly) constant ones that no tree tests"
            outcomes.append(_beyond(told.perfect_rows, findings.n_rows, share, told.split_half.perfect_rows, on))
    return combined(outcomes)


def _beyond(perfect: int, n_rows: int, share: float, baseline: float, on: str) -> Outcome:
    most = baseline + share * (n_rows - baseline)
    where_from = f" (the split-half baseline of {baseline:.1f} and {share:g} of the rest)"
    return _against(perfect, n_rows, most, where_from, on)


def _against(perfect: int, n_rows: int, most: float, where_from: str, on: str = "") -> Outcome:
    allowed = f"at most {most:.4g} are allowed{where_from}"
    if perfect > most or (where_from and perfect == n_rows):
        return Outcome(
            "failed",
            f"the attack rebuilds {perfect:,} of {n_rows:,} rows perfectly{on}; {allowed}, "
            f"crossed by {perfect - most:.4g}",
        )
    return Outcome("passed", f"{perfect:,} of {n_rows:,} rows are rebuilt perfectly{on}; {allowed}")


def _without_baseline(findings: Findings) -> Outcome:
    """Judge without a baseline: nothing is worse than every row."""
    if findings.perfect_rows == findings.n_rows:
        return Outcome("failed", f"the attack rebuilds all {findings.n_rows:,} rows perfectly")
    return Outcome(
        "inconclusive",
        "the split-half baseline is missing: the time was out, or the data have too few rows for it",
    )


RULE = Rule(
    id="perfect-rows",
    keys={
        "max_perfect_rows": Key(True, None, min, "fail when more rows than this are perfect"),
        "max_share_beyond_split_half": Key(
            False,
            1.0,
            min,
            "fail when more than this share of the rows that the split-half baseline leaves is perfect",
        ),
    },
    check=check,
    rationale=(
        "A perfect row is a person's record, all attributes right. Some rows are common enough to be met by "
        "chance, so the number is read beside what other people's rows get."
    ),
)
