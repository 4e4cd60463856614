"""Rule ``label-told``: of how many people a file may tell the label, or the target, beyond what any model predicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_draft.facts.examination import Examination
from pytest_draft.facts.label_told import LabelTold, Told
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.remedies import smaller
from pytest_draft.policy.rule import Key, Outcome, Rule, Thresholds, combined

LEAST_PEOPLE = 5
"""Fewer people whose label or target the file tells fail nothing by their share of the rest: some rest is small."""

_SURELY = 2 / 3
"""Where surely so much of the rest is told, it counts however few of all people the rest is."""

_UNLABELLED = "IsolationForest"
_NEAR = {"labels": "", "targets": " to within 1 % of the range"}


def check(examination: Examination, thresholds: Thresholds) -> Outcome:
    """Fail when labels or targets are told of more people than could be told without their rows in the file."""
    found, artifact = examination.label_told, examination.artifact
    if found is None:
        if artifact.kind == _UNLABELLED:
            return Outcome("passed", f"an {_UNLABELLED} is trained without labels, so its file tells none")
        why = "; ".join(dict.fromkeys(examination.reasons)) or "no training data are given to compare with"
        return Outcome("inconclusive", examination.label_not_told or why)
    outcome = combined(list(_outcomes(found, thresholds)))
    if outcome.result == "passed" and found.doubts:
        return Outcome("inconclusive", found.doubts[0])
    return replace(outcome, remedy=None if artifact.n_trees is None else f"{smaller(artifact)}{_SHARED}")


_SHARED = (
    ", so that more people share each leaf, and judge the new file; it does not help to take counts and seeds out of "
    "this one (harden)"
)


def _outcomes(found: LabelTold, thresholds: Thresholds) -> Iterator[Outcome]:
    if (share := thresholds.get("max_exact_share")) is not None and found.exact is not None:
        yield _exactly(found.exact, share)
    for part in (found.told, *found.parts):
        of = "the people" if not part.name else f"the people of {part.name}" if part.is_class else f"slice {part.name}"
        if "max_told_share" in thresholds and (outcome := _told(found, part, of, thresholds)) is not None:
            yield outcome
        if (share := thresholds.get("max_certain_share")) is not None and (outcome := _certain(part, of, share)):
            yield outcome
    if (most := thresholds.get("max_highest_targets")) is not None and found.highest:
        yield _highest(found, int(most))


def _told(found: LabelTold, part: Told, of: str, thresholds: Thresholds) -> Outcome | None:
    """Judge what is told; of a part only a failure is said.

    Of one class more is told by whoever says it more often: that counts only where no more is wrong in all.
    """
    share, told, without = thresholds["max_told_share"], part.share, part.share_without
    surely = "" if part.share_certain is None else f", with certainty for {part.share_certain:.1%}"
    shown = (
        f"somebody who knows a person's features reads the {found.of[:-1]}{_NEAR[found.of]} of {told:.1%} of {of} from "
        f"the file{surely}{_sampled(found)}; without their rows, {without:.1%} can be told ({found.predictor})"
    )
    most = without + share * (1 - without)
    bar = Bar(most, f"the policy allows at most {most:.1%} ({without:.1%} and {100 * share:g} % of the rest)", ".1%")
    counts = part.least_difference > thresholds["least_difference"]
    if part.is_class:
        counts = counts and found.told.difference >= 0
    else:
        counts = counts or (part.least_beyond > _SURELY and part.gained >= LEAST_PEOPLE)
    if counts and bar.crossed_by(told):
        return bar.judge(told, shown)
    if part.name:
        return None
    few = f", which is not surely more than {thresholds['least_difference']:.0%} of all" if bar.crossed_by(told) else ""
    return Outcome("passed", f"{shown}; {bar.said}{few}")


def _certain(part: Told, of: str, share: float) -> Outcome | None:
    """Fail when too many labels are certain of those that nobody tells without the rows."""
    if part.certain_gained is None or part.certain_gained < LEAST_PEOPLE or part.least_certain <= share:
        return None
    shown = (
        f"the file tells with certainty the label of {part.certain_gained:,} of the {part.missed:,} of {of} whose "
        f"label cannot be told without their rows ({part.certain_gained / part.missed:.1%})"
    )
    return Bar(share, f"the policy allows at most {100 * share:g} %", ".1%").judge(1.0, shown, surely=True)


def _exactly(exact: Told, share: float) -> Outcome:
    told, without = exact.share, exact.share_without
    shown = (
        f"somebody who knows a person's features reads the target of {told:.1%} of the people exactly from the file; "
        f"without their rows, {without:.1%} can be told"
    )
    most = without + share * (1 - without)
    said = f"the policy allows at most {most:.1%} ({without:.1%} and {100 * share:g} % of the rest)"
    crossed = exact.gained >= LEAST_PEOPLE and exact.least_beyond > share
    return Bar(most, said, ".1%").judge(told, shown) if crossed else Outcome("passed", f"{shown}; {said}")


def _highest(found: LabelTold, most: int) -> Outcome:
    told = found.highest_exact or 0
    shown = (
        f"of the {found.highest} people with the highest targets, the file tells the target of {told} exactly, which "
        "nobody could without their rows"
    )
    return Bar(most, f"the policy allows at most {most}", ",").judge(told, shown)


def _sampled(found: LabelTold) -> str:
    sampled = found.rows < found.of_rows
    return f" (tried on {found.rows:,} of {found.of_rows:,} people, drawn at random)" if sampled else ""


RULE = Rule(
    id="label-told",
    needs=Examination,
    keys={
        "max_told_share": Key.share(
            "fail when the label (the target to within 1 %) is told of a larger share of the people of whom it cannot "
            "be told without their rows"
        ),
        "least_difference": Key.share(
            "max_told_share counts where the share of all people that is told is surely larger by more than this, or "
            "where surely two thirds of the rest is told",
            default=0.1,
        ),
        "max_certain_share": Key.share("fail when the label is certain of a larger share of them"),
        "max_exact_share": Key.share("fail when a regressor's target is told exactly of a larger share of them"),
        "max_highest_targets": Key.rows(
            "fail when the target is told exactly of more of the five people with the highest ones"
        ),
    },
    check=check,
    rationale=(
        "Features are often known: age, address, employer. What a model is trained to tell is the secret: a diagnosis, "
        "a debt, a salary. A leaf of one person holds it to the digit, and a leaf of one class tells that of everybody "
        "in it. What a model tells of people whom it has never seen is no leak; what it tells of its training rows "
        "beyond that is (attribute inference: Yeom et al., Privacy Risk in Machine Learning, CSF 2018)."
    ),
    remedy="retrain with fewer and shorter rules, so that more people share each, and judge the new file",
)
