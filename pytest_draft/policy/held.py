"""Thresholds of one rule on all that it judges: in go the whole, parts, labels and slices, out comes one `Outcome`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pytest_draft.errors import one_line
from pytest_draft.facts.ambiguity import Ideal
from pytest_draft.facts.findings import WITH_LABELS, Findings, Measure
from pytest_draft.facts.slices import LEAST_ROWS, Measured, SliceFigures
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.ideal import of_bits
from pytest_draft.policy.rule import Outcome, Thresholds, combined, first_speaks

_WITH_LABELS = "_with_labels"


@dataclass(frozen=True)
class Held:
    """One threshold, held against one figure."""

    attack: Outcome
    """What it says of what the attack reached."""
    best: tuple[Outcome, ...] | None = None
    """What it says of each bound of the best possible attack, of which any that passes is enough; empty where nobody
    gets more than it. None without a bound: then only an attack that converged passes.
    """

    @classmethod
    def by(
        cls,
        attack: Outcome,
        bar: Bar | None,
        ideals: Sequence[Ideal],
        of_ideal: Callable[[Outcome, Bar, Ideal], Outcome],
    ) -> Held:
        """Return what is said of an attack and of each ideal; without a bar, as its baseline is missing, the same."""
        return cls(attack, tuple(attack if bar is None else of_ideal(attack, bar, one) for one in ideals) or None)


def by_attack(held: Sequence[Held]) -> Outcome:
    """Return the gravest of what is said of the attack."""
    return first_speaks([one.attack for one in held])


def by_best_attack(findings: Findings, held: Sequence[Held], converged: bool) -> Outcome:
    """Return the gravest of what is said of the best possible attack; where it is not known, of one that converged."""
    outcomes = of_bits(findings)
    for one in held:
        if one.best is None:
            outcomes.append(one.attack if converged else _unless_converged(one.attack))
        else:
            outcomes.append(first_passed(one.best or (one.attack,)))
    return first_speaks(outcomes)


def first_passed(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the first outcome that passes, as one bound is enough; else the first. All passes must be close for it."""
    passed = [outcome for outcome in outcomes if outcome.result == "passed"]
    return replace(passed[0], close=all(outcome.close for outcome in passed)) if passed else outcomes[0]


def deciding(ideals: Sequence[Ideal], bar: Bar | None, of_ideal: Callable[[Outcome, Bar, Ideal], Outcome]) -> Ideal:
    """Return the ideal by which a figure is judged: the first whose bound passes, else, or without a bar, the first."""
    if bar is None:
        return ideals[0]
    judged = [of_ideal(Outcome("passed", ""), bar, one) for one in ideals]
    return ideals[next((place for place, one in enumerate(judged) if one.result == "passed"), 0)]


def of_parts(findings: Findings, judge: Callable[[Measure], list[Held]]) -> list[Held]:
    """Return what is held against the whole and its parts.

    Of rows in which nothing is guessed, the best attack gets those that can be certain: they need no bound.
    """
    held = []
    for part in findings.measures:
        certain = part.of == "fully_determined"
        held += [replace(one, best=()) if certain and one.best is None else one for one in judge(part)]
    return held


def of_labelled(
    findings: Findings, thresholds: Thresholds, judge: Callable[[Measure, Thresholds], list[Held]]
) -> list[Held]:
    """Return what is held against rows with their labels; nothing, where a policy has no such threshold.

    A label is no attribute of a row, and errors leave it out. But somebody whose features are public may have nothing
    to hide but the label. Each such threshold is named as the one that it is like, but for `_WITH_LABELS`.
    """
    meant = {key.replace(_WITH_LABELS, ""): at for key, at in thresholds.items() if _WITH_LABELS in key}
    if not meant:
        return []
    if findings.labelled is None:
        return [Held(Outcome("inconclusive", f"nothing is known of rows{WITH_LABELS}: no labels were rebuilt"))]
    return judge(findings.labelled.measure, meant)


def _unless_converged(outcome: Outcome) -> Outcome:
    if outcome.result != "passed":
        return outcome
    return Outcome("inconclusive", f"{outcome.sentence}; an attack that converges may get more")


def of_slices(
    findings: Findings,
    judge: Callable[[SliceFigures, Measured], list[Outcome]],
    spared: Callable[[Measured], float],
) -> list[Held]:
    """Return the gravest outcome of all slices that were measured, and one for those that were not.

    Parameters
    ----------
    judge : callable
        Returns outcomes of a slice, where thresholds are meant for its scale.
    spared : callable
        Returns a number by which the slice that the attack spares least comes first.
    """
    measured = [(spared(one.measured), one, one.measured) for one in findings.slices if one.measured is not None]
    by_closeness = sorted(measured, key=lambda entry: entry[0])
    judged = [(one.name, judge(one, figures)) for _, one, figures in by_closeness]
    found = [(name, combined(several)) for name, several in judged if several]
    outcomes = []
    if found:
        by_slice = [outcome for _, outcome in found]
        gravest = by_slice[0] if {outcome.result for outcome in by_slice} == {"passed"} else combined(by_slice)
        alike = {name for name, outcome in found if outcome.result == gravest.result}
        outcomes.append(_among(gravest, len(alike), len({name for name, _ in found})))
    if small := [one for one in findings.slices if one.measured is None]:
        said = ", ".join(map(named, small))
        outcomes.append(
            Outcome(
                "inconclusive",
                f"{said}: fewer than {LEAST_ROWS} rows are too few to judge; make the slice wider, or take it out of "
                "the policy",
            )
        )
    return [Held(outcome) for outcome in outcomes]


def named(figures: SliceFigures) -> str:
    """Return how a sentence names a slice."""
    return f"slice '{one_line(figures.name, 80)}'{figures.on}"


def _among(gravest: Outcome, alike: int, number: int) -> Outcome:
    """Return an outcome that says for how many slices it speaks."""
    if number == 1:
        return gravest
    said = {
        "failed": f"{alike:,} of {number:,} slices fail",
        "inconclusive": f"{alike:,} of {number:,} slices are undecided",
        "passed": f"the closest of {number:,} slices",
    }
    return replace(gravest, sentence=f"{gravest.sentence}; {said[gravest.result]}")
