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

_ROUNDING = 1e-9


def error_of_ideal(ideal: Ideal, attack: float, bar: float, on: str) -> Outcome:
    """Hold a bar against the least error that anybody can expect.

    Parameters
    ----------
    ideal : Ideal
    attack : float
        The attack's error, at most.
    bar : float
    on : str
        Of which part.
    """
    held = bar if ideal.error_without_file is None else min(bar, ADDED * ideal.error_without_file)
    without = "" if held == bar else f", half of what the best guess without the file gets, {2 * held:.4f}"
    if attack < ideal.least_error - _ROUNDING:
        return Outcome(
            "inconclusive", f"{_between(attack, attack, on)}; less than was thought possible: no pass rests on it"
        )
    if ideal.least_error > held + _ROUNDING:
        return Outcome(
            "passed",
            f"whoever has the file gets no closer than an error of {ideal.least_error:.4f}{on}, however long they "
            f"search; the bar is {held:.4f}{without}",
        )
    return Outcome(
        "inconclusive",
        f"{_between(ideal.least_error, attack, on)}; the bar is {held:.4f}{without}",
    )


def _between(least: float, attack: float, on: str) -> str:
    return f"the error of the best attack lies between {least:.4f} and {attack:.4f}{on}"


def rows_of_ideal(ideal: Ideal, attack: int, n_rows: int, bar: float, on: str) -> Outcome:
    """Hold a number of rows against the most that anybody can expect to meet perfectly.

    Parameters
    ----------
    ideal : Ideal
    attack : int
        The attack's perfect rows, at least.
    n_rows : int
    bar : float
    on : str
    """
    held, without = bar, ""
    if (baseline := ideal.perfect_rows_without_file) is not None and (
        own := baseline + ADDED * (n_rows - baseline)
    ) > bar:
        held, without = own, f" (of which {baseline:.1f} are met without the file)"
    if attack > ideal.most_perfect_rows + 1:
        return Outcome(
            "inconclusive",
            f"the attack rebuilds {attack:,} rows perfectly{on}, more than was thought possible: no pass rests on it",
        )
    if ideal.most_perfect_rows <= held + _ROUNDING:
        return Outcome(
            "passed",
            f"whoever has the file rebuilds no more than {ideal.most_perfect_rows:.1f} of {n_rows:,} rows perfectly"
            f"{on}; at most {held:.4g} are allowed{without}",
        )
    return Outcome(
        "inconclusive",
        f"the best attack rebuilds between {attack:,} and {ideal.most_perfect_rows:.1f} of {n_rows:,} rows "
        f"perfectly{on}; at most {held:.4g} are allowed{without}",
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
