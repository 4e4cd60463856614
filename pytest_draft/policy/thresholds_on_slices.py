"""What a rule says of slices: in go findings and how one slice is judged, out come outcomes that name the worst one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pytest_draft.errors import one_line
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.slices import LEAST_ROWS, Measured, SliceFigures
from pytest_draft.policy.held import Held
from pytest_draft.policy.rule import Outcome, combined


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
