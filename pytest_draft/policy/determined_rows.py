"""Rule ``determined-rows``: how large a share of the rows a file may determine, whatever an attack has come to."""

from __future__ import annotations

from pytest_draft.facts.examination import Examination
from pytest_draft.facts.informed import Informed, cut_short
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.given_all_other_rows import as_known
from pytest_draft.policy.rule import Key, NotApplicable, Outcome, Rule, Thresholds


def check(examination: Examination, thresholds: Thresholds) -> Outcome:
    """Fail when a larger share of the rows is proved: to whoever knows all others, or by the file alone."""
    bar = thresholds["max_determined_share"]
    allowed = Bar(bar, f"limit: {bar:.1%}", by_proof=True)
    outcome = _judged(examination, allowed)
    if outcome.result == "passed" and (examination.doubts or cut_short(examination.shortfalls)):
        return Outcome("inconclusive", "; ".join(dict.fromkeys(examination.reasons)))
    return outcome


def _judged(examination: Examination, allowed: Bar) -> Outcome:
    """Judge what is proved, whatever else is in doubt."""
    findings, informed = examination.findings, examination.informed
    whole = None if findings is None else findings.whole
    if whole is not None and whole.perfect.lower == whole.rows:
        return allowed.judge(1.0, f"the attack rebuilds all {whole.rows:,} rows")
    proved = _proved(examination)
    if whole is not None and proved and allowed.crossed_by(share := proved / whole.rows):
        rows = f"{proved:,} of {whole.rows:,} rows ({share:.1%})"
        return allowed.judge(share, f"the file alone proves {rows}: every dataset that explains it has them")
    if informed is not None:
        shown = f"somebody who knows all rows but one reads that one out of the file with certainty: {_told(informed)}"
        bounds = informed.least_determined_rows, informed.most_determined_rows
        outcome = as_known(examination, informed, allowed.judge(bounds, shown, between=shown))
        if outcome.result != "passed" or examination.not_informed is None:
            return outcome
    why = examination.not_informed or "; ".join(dict.fromkeys(examination.reasons))
    return Outcome("inconclusive", f"how many rows the file determines was not found out{': ' * bool(why)}{why}")


def _proved(examination: Examination) -> int:
    """Return how many rows are proved without knowing any other.

    Not where the proofs may be of other rows like these than those that were given; nor where an adversary takes all
    other rows as known, of whom the rule asks nothing.
    """
    findings = examination.findings
    if findings is None or findings.certain_unique is None:
        return 0
    asked = examination.informed is not None or findings.ambiguity is not None
    proved = findings.values.certain_rows
    return proved.lower if asked and proved is not None else 0


def _told(informed: Informed) -> str:
    least, most = informed.least_determined_rows, informed.most_determined_rows
    if least == most:
        return f"{least:.1%} of the rows"
    bounds = f"{least:.1%} to {most:.1%} of all"
    return f"{informed.told_rows:.1%} of {informed.rows:,} rows, drawn at random ({bounds})"


RULE = Rule(
    id="determined-rows",
    needs=Examination,
    keys={"max_determined_share": Key.share("fail when a larger share of the rows is proved to follow from the file")},
    check=check,
    attacker="somebody who knows all other rows",
    attack=True,
    unless=(NotApplicable.NOISE, NotApplicable.OTHERS_KNOWN, NotApplicable.FREQUENCIES),
    rationale=(
        "If only one row fits the file beside all others, the row is in the file, even if nobody gets it out today. "
        "Tested row by row, for somebody who knows the others."
    ),
)
