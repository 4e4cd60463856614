"""Rule ``certain-rows``: how many training rows the file alone may prove."""

from __future__ import annotations

from pytest_draft.facts.examination import Examination
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.remedies import smaller
from pytest_draft.policy.rule import Key, NotApplicable, Outcome, Rule, Thresholds


def check(examination: Examination, thresholds: Thresholds) -> Outcome:
    """Fail when more rows are proved than allowed; pass where no more can be, and nothing else is in doubt."""
    most, findings = thresholds["max_certain_rows"], examination.findings
    known = None if findings is None else findings.values.certain_rows
    if examination.certificate is not None:
        known = examination.certificate.certain_vectors
    if known is None:
        why = "; ".join(examination.reasons)
        return Outcome("inconclusive", why or "on such a file, the attack proves no single rows")
    proved, at_most = known.lower, known.upper
    rows = f"{proved:,} row{'s are' if proved != 1 else ' is'} in the training data"
    shown, least = f"the file alone proves that {rows}", f"the file alone proves that at least {rows}"
    bar = Bar(most, f"limit: {most:,}", by_proof=True)
    if examination.reasons and not bar.crossed_by(proved):
        return Outcome("inconclusive", "; ".join(examination.reasons))
    remedy = f"{smaller(examination.artifact)}, so that other datasets explain the file too, and judge the new file"
    return bar.judge((proved, at_most), shown, between=f"{least}; it can be {at_most:,}", remedy=remedy)


RULE = Rule(
    id="certain-rows",
    needs=Examination,
    keys={"max_certain_rows": Key.rows("fail when more rows than this are proved by the file alone")},
    check=check,
    rationale=(
        "A guess can be denied, a proof cannot. A row that is in every dataset which explains the file is known to "
        "whoever has the file, with certainty and without any training data (Article 29 Working Party, Opinion "
        "05/2014: inference; DRAFT, ICML 2024, section 3)."
    ),
    remedy="retrain with fewer or shallower trees, so that other datasets explain the file too, and judge the new file",
    attack=True,
    unless=(NotApplicable.NOISE, NotApplicable.FREQUENCIES),
)
