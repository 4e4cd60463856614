"""Rule ``label-told``: of how many people a file may tell the label, or the target, beyond what any model predicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_draft.facts.examination import Examination
from pytest_draft.facts.label_told import LabelTold, Told, lower_end
from pytest_draft.facts.slices import LEAST_ROWS
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.remedies import smaller
from pytest_draft.policy.rule import (
    Key,
    NotApplicable,
    Outcome,
    Rule,
    Thresholds,
    combined,
    not_found_out,
    unless_doubted,
)

LEAST_PEOPLE = 5
"""Fewer people whose label or target the file tells fail nothing by their share of the rest: some rest is small."""

_SURELY = 2 / 3
"""Where surely so much of the rest is told, it counts however few of all people the rest is."""

_SHARED = ", so that more people share each leaf, and judge the new file; taking counts and seeds out does not help"


def check(examination: Examination, thresholds: Thresholds) -> Outcome:
    """Fail when labels or targets are told of more people than could be told without their rows in the file."""
    found, artifact = examination.label_told, examination.artifact
    if found is None:
        return not_found_out(examination, examination.label_not_told)
    outcome = combined(list(_outcomes(found, thresholds)))
    remedy = None if artifact.n_trees is None else f"{smaller(artifact)}{_SHARED}"
    return unless_doubted(replace(outcome, remedy=remedy), found.doubts)


def _outcomes(found: LabelTold, thresholds: Thresholds) -> Iterator[Outcome]:
    if found.of == "targets":
        yield from _exactly(found, thresholds)
    for part in (found.told, *found.parts):
        of = "the people" + (f" of {part.name}" if part.others else f" in {part.name}" if part.name else "")
        sure, share = part.certain_gained, thresholds.get("max_certain_share")
        if share is not None and sure is None and "max_told_share" not in thresholds:  # what is certain is told, too
            yield Outcome("inconclusive", f"it is not known of how many of {of} the label is certain")
        if share is not None and sure is not None:
            shown = f"the file tells with certainty the label of {sure:,} of the {part.missed:,} of {of} whose label"
            shown = f"{shown} cannot be told without their rows; limit: {100 * share:g} %"
            if sure >= _least(found) and lower_end(sure, part.missed) > share:
                yield Outcome("failed", shown)
            elif not part.name and found.of == "labels":
                yield Outcome("passed", shown)
        if (share := thresholds.get("max_told_share")) is not None:
            counts = counting(part, thresholds["least_difference"])
            if counts or not part.name:  # of a part only a failure is said
                what, near = found.of[:-1], " to within 1 % of the range" if found.exact else ""
                yield beyond(part, f"the {what}{near}", of, found, share, counts)


def _exactly(found: LabelTold, thresholds: Thresholds) -> Iterator[Outcome]:
    exact, told = found.exact, found.highest_exact
    if (share := thresholds.get("max_exact_share")) is not None:
        if exact is None:
            yield Outcome("inconclusive", "it is not known of how many people the file tells the target exactly")
        else:
            surely = exact.gained >= _least(found) and exact.least_beyond > share
            yield beyond(exact, "the target", "the people exactly", found, share, surely)
    if (most := thresholds.get("max_highest_targets")) is not None:
        if found.highest is None or told is None:
            yield Outcome("inconclusive", "it is not known whether the file tells the highest targets")
        elif found.highest:
            highest = f"the {found.highest} people with the highest targets"
            shown = f"of {highest}, only the file tells that of {told} exactly"
            yield Bar(most, f"limit: {most}").judge(told, shown)


def _least(found: LabelTold) -> int:
    """Return how many people count by their share: of few people a third."""
    return min(LEAST_PEOPLE, -(-found.of_rows // 3))


def counting(part: Told, least: float) -> bool:
    """Return whether what is told of a part is surely more than without the file."""
    if part.others:
        return part.gained >= LEAST_ROWS and part.least_difference > least
    return part.least_difference > least or (part.gained >= LEAST_PEOPLE and part.least_beyond > _SURELY)


def beyond(
    part: Told, what: str, of: str, found: LabelTold, share: float, counts: bool, known: str = "features"
) -> Outcome:
    """Judge a share beside that without the file: so much of the rest is allowed, and more where it is not sure."""
    sampled = f" (tried on {part.rows:,} of {found.of_rows:,}, drawn at random)" * (found.rows < found.of_rows)
    certain = "" if part.certain is None else f", with certainty for {part.share_certain:.1%}"
    alarms = [f" (wrongly: {one:.1%} of the others)" for one in part.both_alarms] or ["", ""]
    shown = (
        f"somebody who knows a person's {known} reads {what} of {part.share:.1%} of {of}{alarms[0]} from the file"
        f"{certain}{sampled}; without their rows, {part.share_without:.1%}{alarms[1]} can be told"
    )
    least, less = part.reached_without, "less what is wrong, " if part.others else ""
    most = least + share * (1 - least)
    said = f"{less}limit: {most:.1%} ({least:.1%} and {100 * share:g} % of the rest)"
    bar = Bar(most, said)
    if counts or not bar.crossed_by(part.reached):
        return bar.judge(part.reached, shown)
    return Outcome("passed", f"{shown}; {bar.said}, which is not surely crossed")


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
        "max_certain_share": Key.share(
            "fail when the label is certain of a larger share of them", unless=(NotApplicable.NO_CLASSES,)
        ),
        "max_exact_share": Key.share(
            "fail when a regressor's target is told exactly of a larger share of them",
            unless=(NotApplicable.NO_TARGETS,),
        ),
        "max_highest_targets": Key.rows(
            "fail when the target is told exactly of more of the five people with the highest ones",
            unless=(NotApplicable.NO_TARGETS,),
        ),
    },
    check=check,
    attacker="somebody who knows a person's features",
    unless=(NotApplicable.NO_LABELS,),
    rationale=(
        "Features are often known: age, address, employer. What a model is trained to tell is the secret: a diagnosis, "
        "a debt, a salary. A leaf of one person holds it to the digit, and a leaf of one class tells that of everybody "
        "in it. What a model tells of people whom it has never seen is no leak; what it tells of its training rows "
        "beyond that is (attribute inference: Yeom et al., Privacy Risk in Machine Learning, CSF 2018)."
    ),
    remedy="retrain with fewer and shorter rules, so that more people share each, and judge the new file",
)
