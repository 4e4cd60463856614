"""Rule ``worst-row``: how well even the row may be rebuilt that the attack rebuilds worst."""

from __future__ import annotations

from pytest_draft.facts.figures import Distance
from pytest_draft.facts.findings import Findings
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.rule import Key, NotApplicable, Outcome, Rule, Thresholds, combined

_ROUNDING = 1e-12  # one distance, not a sum of many: an equal one fails, whatever its last digit


def check(findings: Findings, thresholds: Thresholds) -> Outcome:
    """Fail when no row is farther from its reconstruction than allowed, by the range or on a scale without outliers.

    One far-out value that nobody guesses is wrong by most of its column's range, and hides that all else is exact.
    """
    most = thresholds["max_error_of_worst_row"]
    whole = (one for one in findings.measures if (one.of, one.rows) == ("everything", findings.whole.rows))
    return combined([_judge_scale(one.error, one.on, most) for one in whole])


def _judge_scale(error: Distance, on: str, most: float) -> Outcome:
    bar = Bar(most, f"limit: {most:.4f}", fails="at most", rounding=_ROUNDING)
    if (worst := error.worst) is None:
        not_known = f"the error of the worst rebuilt row is not known{on}, as the rows were not matched exactly"
        return Outcome("inconclusive", f"{not_known}; {bar.said}")
    shown = f"the row that is rebuilt worst has an error of {worst:.4f}{on}"
    return bar.judge(worst, shown, f"even {shown}")


RULE = Rule(
    id="worst-row",
    needs=Findings,
    keys={"max_error_of_worst_row": Key.error("fail when even the worst rebuilt row has an error of at most this")},
    check=check,
    unless=(NotApplicable.FREQUENCIES,),
    rationale=(
        "A mean hides whom the attack spares. Where even the row that is rebuilt worst is close, nobody in the "
        "training data is protected (DRAFT-DP, SaTML 2026, section IV-B, result 5: outliers are rebuilt worst)."
    ),
)
