"""Rule ``worst-row``: how well even the row may be rebuilt that the attack rebuilds worst."""

from __future__ import annotations

from pytest_draft.facts.figures import Distance
from pytest_draft.facts.findings import Findings
from pytest_draft.policy.rule import Key, Outcome, Rule, Thresholds, combined

_ROUNDING = 1e-12  # one distance, not a sum of many: an equal one fails, whatever its last digit


def check(findings: Findings, thresholds: Thresholds) -> Outcome:
    """Fail when no row is farther from its reconstruction than allowed, by the range or on a scale without outliers.

    One far-out value that nobody guesses is wrong by most of its column's range, and hides that all else is exact.
    """
    bar = thresholds["max_error_of_worst_row"]
    rescaled = [
        part for part in findings.rescaled if (part.n_rows, part.columns) == (findings.n_rows, findings.n_columns)
    ]
    return combined([_of_scale(findings.error, "", bar), *(_of_scale(part.error, part.on, bar) for part in rescaled)])


def _of_scale(error: Distance, on: str, bar: float) -> Outcome:
    fails_at = f"the check fails at an error of at most {bar:.4f}"
    if (worst := error.worst) is None:
        not_known = f"the rows were not matched exactly, so the worst one is not known{on}"
        return Outcome("inconclusive", f"{not_known}; {fails_at}")
    shown = f"the row that is rebuilt worst has an error of {worst:.4f}{on}"
    if worst <= bar + _ROUNDING:
        return Outcome("failed", f"even {shown}; {fails_at}, crossed by {max(0.0, bar - worst):.4f}")
    return Outcome("passed", f"{shown}; {fails_at}")


RULE = Rule(
    id="worst-row",
    needs=Findings,
    keys={
        "max_error_of_worst_row": Key(
            False, 1.0, max, "fail when even the worst rebuilt row has an error of at most this"
        )
    },
    check=check,
    rationale=(
        "A mean hides whom the attack spares. Where even the row that is rebuilt worst is close, nobody in the "
        "training data is protected (DRAFT-DP, SaTML 2026, section IV-B, result 5: outliers are rebuilt worst)."
    ),
)
