"""What an ideal attacker gets, held against thresholds: in go bars, out come outcomes that no search can change.

An ideal attacker may know the population, and so come close without the file. A file is judged by what it adds: where
the best guess without it is nearer than a bar, the bar is half of that guess's error, and half of the rows that it
leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_draft.facts.ambiguity import Ideal
from pytest_draft.facts.findings import Findings, Part
from pytest_draft.policy.rule import Outcome

ADDED = 0.5
"""The file may not bring the best guess closer than this share of its error without the file, nor give more than this
share of the rows that it leaves: as near as the default policy lets an attack come to what other people's rows get."""

ENOUGH_BITS = 60.0
"""Of ambiguity: 10^18 datasets cannot be told apart by growing the forest again from each of them."""

DEVIATIONS = 2.0
"""The most rows that anybody can expect to meet are a mean over datasets, of which the truth is one: an attack can meet
more by chance, by about so many standard deviations of rows that are met one by one."""

_ROUNDING = 1e-9


def error_of_ideal(attack: Outcome, ideal: Ideal, reached: float, bar: float) -> Outcome:
    """Hold a bar against the least error that anybody can expect.

    Parameters
    ----------
    attack : Outcome
        What the same bar says of the attack's error.
    ideal : Ideal
    reached : float
        The attack's error, at most.
    bar : float
    """
    without = ideal.error_without_file
    held = bar if without is None else min(bar, ADDED * without)
    least = f"{ideal.least_error:.4f}"
    if held < bar:
        least += f", beside {without:.4f} without it: the file may not bring it below {held:.4f}"
    if reached < ideal.least_error - _ROUNDING:
        return _distrusted(attack, f"an error of {least}")
    if attack.result == "passed" and ideal.least_error > held + _ROUNDING:
        return Outcome("passed", f"{attack.sentence}; whoever has the file gets no closer than {least}")
    return Outcome("inconclusive", f"{attack.sentence}; whoever searches better may get as close as {least}")


def rows_of_ideal(attack: Outcome, ideal: Ideal, reached: int, n_rows: int, bar: float) -> Outcome:
    """Hold a number of rows against the most that anybody can expect to meet perfectly.

    Parameters
    ----------
    attack : Outcome
        What the same bar says of the attack's rows.
    ideal : Ideal
    reached : int
        The attack's perfect rows, at least.
    n_rows : int
    bar : float
    """
    without = ideal.perfect_rows_without_file
    held = bar if without is None else max(bar, without + ADDED * (n_rows - without))
    most = f"{ideal.most_perfect_rows:.1f}"
    if held > bar:
        most += f", beside {without:.1f} without it: the file may not bring it above {held:.1f}"
    expected = min(ideal.most_perfect_rows, float(n_rows))
    by_chance = DEVIATIONS * (expected * (1 - expected / n_rows)) ** 0.5 if n_rows else 0.0
    if reached > expected + 1 + by_chance:
        return _distrusted(attack, f"{most} rows")
    if attack.result == "passed" and ideal.most_perfect_rows <= held + _ROUNDING:
        return Outcome("passed", f"{attack.sentence}; whoever has the file rebuilds no more than {most}")
    return Outcome("inconclusive", f"{attack.sentence}; whoever searches better may rebuild {most}")


def _distrusted(attack: Outcome, thought: str) -> Outcome:
    return Outcome(
        "inconclusive",
        f"{attack.sentence}; that is more than was thought possible ({thought}), so that no pass rests on it",
    )


def of_bits(findings: Findings) -> Outcome | None:
    """Return why so few datasets explain the file that an attacker can try them all; None where there are enough."""
    ambiguity = findings.ambiguity
    if ambiguity is None or ambiguity.bits >= ENOUGH_BITS:
        return None
    return Outcome(
        "inconclusive",
        f"it is only known that 2^{ambiguity.bits:.0f} datasets explain the file, which an attacker can go through by "
        f"growing the forest again from each; a pass needs 2^{ENOUGH_BITS:.0f}",
    )


def without_ideal(findings: Findings, part: Part, converged: bool, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes of a part of which it is not known what the best attack gets.

    Rows in which nothing is guessed are left out: of the best attack, they are those that can be certain.
    """
    if part is findings.fully_determined:
        return []
    return list(outcomes) if converged else unless_converged(outcomes)


def unless_converged(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return outcomes of which none passes, as only an attack that converged could tell."""
    return [
        outcome
        if outcome.result != "passed"
        else Outcome("inconclusive", f"{outcome.sentence}; this is known of an attack that converged only")
        for outcome in outcomes
    ]
