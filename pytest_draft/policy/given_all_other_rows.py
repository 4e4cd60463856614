"""Rule ``given-all-other-rows``: how much a file may tell of each row to somebody who knows all the others."""

from __future__ import annotations

from dataclasses import replace

from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.informed import Informed, cut_short
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.ideal import ADDED
from pytest_draft.policy.rule import Key, NotApplicable, Outcome, Rule, Thresholds, combined, first_speaks

_ROUNDING = 1e-9  # errors are sums of fractions
_WHO = "somebody who knows all rows but one"


def check(examination: Examination, thresholds: Thresholds) -> Outcome:
    """Fail when guesses by the file come too close, or when it tells too many rows whole, or numbers exactly."""
    informed = examination.informed
    if informed is None:
        why = "; ".join(dict.fromkeys(examination.reasons)) if examination.not_informed is None else ""
        return Outcome("inconclusive", why or _not_known(examination))
    outcomes = []
    if (share := thresholds.get("max_error_of_split_half")) is not None:
        outcomes.append(first_speaks([_error(found, on, share) for found, on in _judged(examination, informed)]))
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
    part = None if examination.findings is None else examination.findings.by_name.get("informative")
    return [(informed, ""), *([] if part is None else [(part.informed, part.on)])]


def _error(informed: Informed | None, on: str, share: float) -> Outcome:
    """Judge guesses after matching, beside other rows like these and what is guessed without the file."""
    if informed is None:
        return Outcome("inconclusive", f"what somebody gets{on} who knows all other rows was not found out")
    others = informed.split_half_error
    without = min(informed.matched_error_without_file, informed.without_file * others)
    reached = min(informed.matched_error, without)
    at, base, where_from = share * others, 0.0, f"{share:g} x {others:.4f}, what other rows like these get"
    if (1 - ADDED) * without < at:
        at, base = (1 - ADDED) * without, without
        where_from = f"{1 - ADDED:g} x what they get without the file"
    shown = (
        f"{_WHO} rebuilds that one with an error of {reached:.4f}{on}{_sample_note(informed)}; "
        f"without the file: {without:.4f}"
    )
    bar = Bar(at, f"limit: {at:.4f} ({where_from})", fails="at most", rounding=_ROUNDING, base=base)
    if reached >= (1 - ADDED) * without:
        helps = "helps by at most a tenth" if reached < without else "does not help"
        return Outcome("passed", f"{shown}, so the file {helps}", close=bar.close_to(reached))
    return bar.judge(reached, shown)


def _row_by_row(informed: Informed, share: float) -> Outcome:
    """Judge guesses of each row beside the row itself, which no matching pairs with another one."""
    at = share * informed.error_without_file
    shown = (
        f"{_WHO} guesses that one, each beside the row itself, with an error of {informed.error:.4f}"
        f"{_sample_note(informed)}; without the file: {informed.error_without_file:.4f}"
    )
    return Bar(at, f"limit: {at:.4f} ({share:g} x that)", fails="at most").judge(informed.error, shown)


def _determined(informed: Informed, share: float) -> Outcome:
    shown = (
        f"{_WHO} reads that one out of the file with certainty: {informed.told_rows:.1%} of the rows"
        f"{_sample_note(informed)}, {informed.told_values:.1%} of the values"
    )
    return _beyond(shown, "rows", informed.told_rows, informed.near_rows_without_file, share, by_proof=True)


def _exact(informed: Informed, share: float) -> Outcome:
    if (reached := informed.exact_numeric) is None:
        return Outcome("inconclusive", "how many numbers somebody guesses exactly who knows all others is not known")
    sampled = _sample_note(informed)
    shown = f"{_WHO} guesses {reached:.1%} of its numbers exactly{sampled}"
    return _beyond(shown, "numbers", reached, informed.exact_numeric_without_file or 0.0, share)


def _beyond(shown: str, what: str, reached: float, guessed: float, share: float, *, by_proof: bool = False) -> Outcome:
    """Judge a share beside that of the same guesses without the file: so much of the rest is allowed."""
    most = guessed + share * (1 - guessed)
    allowed = (
        f"limit: {most:.1%} (the {guessed:.1%} of the {what} that are guessed without the file, and {100 * share:g} % "
        "of the rest)"
    )
    return Bar(most, allowed, base=guessed, by_proof=by_proof).judge(reached, shown)


def as_known(examination: Examination, informed: Informed, outcome: Outcome) -> Outcome:
    """Return an outcome, which is no failure where the adversary does not know what makes it true."""
    if outcome.result != "failed" or informed.proved:
        return outcome
    but = f"but that takes somebody who knows {_not_told(examination)}"
    published = examination.artifact.published
    if published is not None and published.of_sums:
        return Outcome("inconclusive", f"{outcome.sentence}; {but}, and whether its sums tell is not known")
    if published is not None and published.seeded and Adversary.parse(examination.case.adversary).name != "published":
        seeds, mend = "the file's seeds", "set them to None"
        if published.found is not None:
            seeds, mend = f"random_state={published.found} can be guessed, which", "train with random_state=None"
        return Outcome("inconclusive", f"{outcome.sentence}; {but}: {seeds} may give that away; {mend}")
    return Outcome("passed", f"{outcome.sentence}; {but}, and the file does not tell")


def _not_told(examination: Examination) -> str:
    published = examination.artifact.published
    if published is not None and published.of_sums and not examination.artifact.bootstrap:
        return "the weights of rows"
    return "which rows each tree drew" if examination.artifact.bootstrap else "how many rows of each class a leaf holds"


def _sample_note(informed: Informed) -> str:
    sampled = informed.rows < informed.of_rows
    return f" (tried on {informed.rows:,} of {informed.of_rows:,} rows, drawn at random)" if sampled else ""


RULE = Rule(
    id="given-all-other-rows",
    needs=Examination,
    keys={
        "max_error_of_split_half": Key.error(
            "fail when somebody who knows all rows but one guesses it with at most this share of the split-half error"
        ),
        "max_row_error_of_without_file": Key.error(
            "fail when their guess of each row, beside the row itself, has at most this share of their error without "
            "the file"
        ),
        "max_told_rows_share": Key.share(
            "fail when the file completes more than this share of the rows to somebody who knows the others"
        ),
        "max_exact_values_share": Key.share(
            "fail when more than this share of the numbers is guessed exactly only with the file",
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
