"""Rule ``given-all-other-rows``: how much a file may tell of each row to somebody who knows all the others."""

from __future__ import annotations

from dataclasses import replace

from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.informed import Informed, cut_short
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.ideal import ADDED
from pytest_draft.policy.rule import Key, NotApplicable, Outcome, Rule, Thresholds, combined

_ROUNDING = 1e-9  # errors are sums of fractions


def check(examination: Examination, thresholds: Thresholds) -> Outcome:
    """Fail when guesses by the file come too close, or when it tells too many rows whole, or numbers exactly."""
    informed = examination.informed
    if informed is None:
        why = "; ".join(dict.fromkeys(examination.reasons)) if examination.not_informed is None else ""
        return Outcome("inconclusive", why or _not_known(examination))
    outcomes = []
    if (share := thresholds.get("max_error_of_split_half")) is not None:
        outcomes += [_error(found, on, share) for found, on in _judged(examination, informed)]
    if (share := thresholds.get("max_row_error_of_without_file")) is not None:
        outcomes.append(_row_by_row(informed, share))
    if (share := thresholds.get("max_told_rows_share")) is not None:
        outcomes.append(_determined(informed, share))
    if (share := thresholds.get("max_exact_values_share")) is not None:
        outcomes.append(_exact(informed, share))
    outcome = combined([as_known(examination, informed, one) for one in outcomes])
    late = cut_short(examination.shortfalls)
    if outcome.result == "passed" and (late or examination.not_informed):  # it is of somebody who knows less
        return Outcome("inconclusive", late or _not_known(examination))
    if outcome.result == "passed" and not informed.proved and _not_told(examination) not in outcome.sentence:
        bound = f"that is of somebody who also knows {_not_told(examination)}"
        return replace(outcome, sentence=f"{outcome.sentence}; {bound}")
    return outcome


def _not_known(examination: Examination) -> str:
    why = examination.not_informed
    return "what somebody gets who knows all other rows was not found out" + (f": {why}" if why else "")


def _judged(examination: Examination, informed: Informed) -> list[tuple[Informed | None, str]]:
    """Return the figures of all columns, and without those that are constant and not tested, which would dilute them.

    Not of the columns that a forest determines in most rows: given all others, five trees of depth 2 determine those
    that they test.
    """
    part = None if examination.findings is None else examination.findings.informative
    return [(informed, ""), *([] if part is None else [(part.informed, part.on)])]


def _error(informed: Informed | None, on: str, share: float) -> Outcome:
    """Judge guesses after matching, beside other rows like these and what is guessed without the file."""
    if informed is None:
        return Outcome("inconclusive", f"what somebody gets{on} who knows all other rows was not found out")
    others = informed.split_half_error
    without = min(informed.matched_error_without_file, informed.without_file * others)
    reached = min(informed.matched_error, without)
    at, base, where_from = share * others, 0.0, f"{share:g} x {others:.4f}, that of other rows like these"
    if (1 - ADDED) * without < at:
        at, base = (1 - ADDED) * without, without
        where_from = f"{1 - ADDED:g} x {without:.4f}, what somebody gets without the file"
    shown = (
        f"knowing all other rows, an attacker guesses each row with an error of {reached:.4f} after "
        f"matching{on}{_sample_note(informed)}; without the file: {without:.4f}"
    )
    if not on:
        shown += f" (row by row: {informed.error:.4f}, and {informed.error_without_file:.4f} without)"
    fails_at = f"the check fails at {at:.4f} or less ({where_from})"
    bar = Bar(at, fails_at, fails="at most", rounding=_ROUNDING, base=base)
    if reached >= (1 - ADDED) * without:
        helps = f"{shown}, so the file helps by at most a tenth after matching; {bar.said}"
        return Outcome("passed", helps, close=bar.close_to(reached))
    return bar.judge(reached, shown)


def _row_by_row(informed: Informed, share: float) -> Outcome:
    """Judge guesses of each row beside the row itself, which no matching pairs with another one."""
    at = share * informed.error_without_file
    shown = (
        f"knowing all other rows, an attacker guesses each row with an error of {informed.error:.4f}, row by row"
        f"{_sample_note(informed)}; without the file: {informed.error_without_file:.4f}"
    )
    return Bar(at, f"the check fails at {at:.4f} or less ({share:g} x that)", fails="at most").judge(
        informed.error, shown
    )


def _determined(informed: Informed, share: float) -> Outcome:
    shown = (
        f"knowing all other rows, an attacker can work out {informed.told_rows:.1%} of the rows with certainty"
        f"{_sample_note(informed)}, and {informed.told_values:.1%} of the values"
    )
    return _beyond(shown, "rows", informed.told_rows, informed.near_rows_without_file, share, by_proof=True)


def _exact(informed: Informed, share: float) -> Outcome:
    if (reached := informed.exact_numeric) is None:
        return Outcome("inconclusive", "how many numbers somebody guesses exactly who knows all others is not known")
    sampled = _sample_note(informed)
    shown = f"knowing all other rows, an attacker guesses {reached:.1%} of the numeric values exactly{sampled}"
    return _beyond(shown, "values", reached, informed.exact_numeric_without_file or 0.0, share)


def _beyond(shown: str, what: str, reached: float, guessed: float, share: float, *, by_proof: bool = False) -> Outcome:
    """Judge a share beside that of the same guesses without the file: so much of the rest is allowed."""
    most = guessed + share * (1 - guessed)
    allowed = (
        f"the policy allows at most {most:.1%} (the {guessed:.1%} of the {what} that are guessed without the file, and "
        f"{100 * share:g} % of the rest)"
    )
    return Bar(most, allowed, ".1%", base=guessed, by_proof=by_proof).judge(reached, shown)


def as_known(examination: Examination, informed: Informed, outcome: Outcome) -> Outcome:
    """Return an outcome, which is no failure where the adversary does not know what makes it true."""
    if outcome.result != "failed" or informed.proved:
        return outcome
    but = f"but that takes somebody who knows {_not_told(examination)}"
    published = examination.artifact.published
    if published is not None and published.seeded and Adversary.parse(examination.case.adversary).name != "published":
        seeds = f"follow from its random_state, {published.found}" if published.found is not None else "are in the file"
        return Outcome(
            "inconclusive", f"{outcome.sentence}; {but}: the seeds {seeds}, and what else they tell is not known"
        )
    return Outcome("passed", f"{outcome.sentence}; {but}, and the file does not tell")


def _not_told(examination: Examination) -> str:
    return "which rows each tree drew" if examination.artifact.bootstrap else "how many rows of each class a leaf holds"


def _sample_note(informed: Informed) -> str:
    sampled = informed.rows < informed.of_rows
    return f" (tried on {informed.rows:,} of {informed.of_rows:,} rows, drawn at random)" if sampled else ""


RULE = Rule(
    id="given-all-other-rows",
    needs=Examination,
    keys={
        "max_error_of_split_half": Key.error(
            "fail when whoever knows all other rows guesses each within this share of the split-half error"
        ),
        "max_row_error_of_without_file": Key.error(
            "fail when whoever knows all other rows guesses each, row by row, within this share of their error without "
            "the file"
        ),
        "max_told_rows_share": Key.share(
            "fail when whoever knows all others is told a larger share whole of the rows not guessed without the file"
        ),
        "max_exact_values_share": Key.share(
            "fail when whoever knows all others guesses more numbers exactly, of those not guessed without the file",
            unless=(NotApplicable.NO_NUMBERS,),
        ),
    },
    check=check,
    attacker="somebody who knows all other rows",
    attack=True,
    unless=(NotApplicable.NOISE, NotApplicable.OTHERS_KNOWN, NotApplicable.FREQUENCIES),
    rationale=(
        "What a file holds of a person shows when everything else is known: the row must lie in its own leaf of every "
        "tree that drew it, and a threshold that the others do not explain is its value. No attack has to find it, so "
        "the figure is the file's, not a search's. Whoever knows less gets less; what is published cannot be taken "
        "back, and others may know more than we think (the informed adversary: Balle, Cherubin, Hayes, IEEE S&P 2022)."
    ),
)
