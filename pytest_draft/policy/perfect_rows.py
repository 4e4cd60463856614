"""Rule ``perfect-rows``: how many rows of the training data the attack may rebuild perfectly."""

from __future__ import annotations

from pytest_draft.evaluate.findings import Findings, Part
from pytest_draft.matching import TOLERANCE
from pytest_draft.policy.rule import Key, Outcome, Rule, Thresholds, combined


def check(findings: Findings, thresholds: Thresholds) -> Outcome:
    """Fail when more rows are perfect, whole or on a part of the columns, than a threshold allows."""
    return combined([outcome for part in findings.judged for outcome in _of_part(part, thresholds)])


def _of_part(part: Part, thresholds: Thresholds) -> list[Outcome]:
    outcomes = []
    if "max_perfect_rows" in thresholds and part.absolute:
        outcomes.append(_against(part, thresholds["max_perfect_rows"], ""))
    if "max_share_beyond_split_half" in thresholds:
        share, baseline = thresholds["max_share_beyond_split_half"], part.split_half.perfect_rows
        if baseline is None:
            outcomes.append(_without_baseline(part))
        else:
            most = baseline + share * (part.n_rows - baseline)
            where_from = f" (the split-half baseline of {baseline:.1f} and {share:g} of the rest)"
            outcomes.append(_against(part, most, where_from))
    return outcomes


def _against(part: Part, most: float, where_from: str) -> Outcome:
    perfect, n_rows = part.perfect_rows, part.n_rows
    allowed = f"at most {most:.4g} are allowed{where_from}"
    on = within(part.numeric) + part.on
    if perfect > most or (where_from and perfect == n_rows):
        return Outcome(
            "failed",
            f"the attack rebuilds {perfect:,} of {n_rows:,} rows perfectly{on}; {allowed}, "
            f"crossed by {perfect - most:.4g}",
        )
    if part.most_perfect_rows is not None and part.most_perfect_rows > most:
        return Outcome(
            "inconclusive",
            f"between {perfect:,} and {part.most_perfect_rows:,} of {n_rows:,} rows are rebuilt perfectly{on}, which "
            f"is all that is known where very many rows are close, or the time is out; {allowed}",
        )
    return Outcome("passed", f"{perfect:,} of {n_rows:,} rows are rebuilt perfectly{on}; {allowed}")


def within(numeric: bool) -> str:
    """Say what a perfect row is where some column is numeric."""
    return f" (numeric columns to within {TOLERANCE:.0%} of the range)" if numeric else ""


def _without_baseline(part: Part) -> Outcome:
    """Judge without a baseline: nothing is worse than every row."""
    if part.perfect_rows == part.n_rows:
        return Outcome(
            "failed", f"the attack rebuilds all {part.n_rows:,} rows perfectly{within(part.numeric)}{part.on}"
        )
    return Outcome(
        "inconclusive",
        f"the split-half baseline{part.on} is missing: the time was out, or the data have too few rows for it",
    )


RULE = Rule(
    id="perfect-rows",
    needs=Findings,
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
        "A perfect row is a person's record, all attributes right (numeric ones to within 1 % of the range). Some "
        "rows are common enough to be met by chance, so the number is read beside what other people's rows get."
    ),
)
