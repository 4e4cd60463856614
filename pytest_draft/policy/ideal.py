"""What attackers get who guess as well as can be, held against thresholds: in go bars, out come outcomes.

No search can change these. A bar is a bar for every attacker that is considered (`Attacker`), with one exception: who
crosses it without the file, too, may cross it where the file brings them at most a tenth closer.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_draft.facts.ambiguity import Ideal
from pytest_draft.facts.findings import Findings, Part
from pytest_draft.facts.informed import Informed
from pytest_draft.policy.rule import Outcome

ADDED = 0.1
"""Whoever crosses a bar may do so only where the file brings them closer by at most this share of their error without
it, and gives them at most this share of the rows that they do not meet without it."""

ENOUGH_BITS = 60.0
"""Of ambiguity: 10^18 datasets cannot be told apart by growing the forest again from each of them."""

DEVIATIONS = 2.0
"""The most rows that anybody can expect to meet are a mean over datasets, of which the truth is one: an attack can meet
more by chance, by about so many standard deviations of rows that are met one by one."""

GUESSED = 0.9
"""What somebody gets who knows all other rows is that of some guessers; another one may come to so many times their
error, and to as much more of the rows."""

_ROUNDING = 1e-9
_MOST = 1e6


def ideals_of(part: Part) -> list[Ideal]:
    """Return all that is known of the most that anybody gets of a part: what any of them excludes nobody can.

    What somebody gets who knows all other rows is told by what other people's rows get, so without that it is no bound.
    """
    error, rows = part.split_half.error, part.split_half.perfect_rows
    known = [] if part.ideal is None else [part.ideal]
    if part.informed is None or error is None or rows is None:
        return known
    return [_of_informed(part, part.informed, error, rows), *known]


def by_any(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the first outcome that passes, as one bound is enough; else the last."""
    return next((outcome for outcome in outcomes if outcome.result == "passed"), outcomes[-1])


def _of_informed(part: Part, informed: Informed, split_half: float, base: float) -> Ideal:
    """Return what somebody gets who knows all other rows, as whoever does not is measured.

    As many times the part's own split-half error as theirs is of theirs, among as many rows as an attack rebuilds; and
    what the file adds to their rows, of those that other people's rows leave. The attack is one of their guessers.
    """
    exact = None
    if informed.exact_numeric is not None and part.exact is not None:
        added = _added(informed.exact_numeric, informed.exact_numeric_without_file or 0.0)
        exact = max(part.exact.split_half + added * (1 - part.exact.split_half), part.exact.share)
    among_all = informed.shrinks * split_half
    guessed = min(informed.of_split_half, _MOST) * among_all
    most = base + _added(informed.near_rows, informed.near_rows_without_file) * (part.n_rows - base)
    return Ideal(
        least_error=GUESSED * min(guessed, part.error.upper),
        most_perfect_rows=max(most, float(part.most_perfect_rows or part.perfect_rows)),
        error_without_file=GUESSED * min(informed.of_split_half_without_file, _MOST) * among_all,
        most_exact=exact,
    )


def _added(share: float, without_file: float) -> float:
    """Return the most that a file adds, as a share of what is not there without it."""
    beyond = (share - without_file) / (1 - without_file) if without_file < 1 else 0.0
    return min(max(beyond, 0.0) / GUESSED, 1.0)


def error_of_ideal(attack: Outcome, ideal: Ideal, reached: float, bar: float) -> Outcome:
    """Hold a bar against the least error that anybody can expect.

    Parameters
    ----------
    attack : Outcome
        What the same bar says of the attack's error.
    reached : float
        The attack's error, at most.
    """
    least = f"{ideal.least_error:.4f}"
    if reached < ideal.least_error - _ROUNDING:
        return _distrusted(attack, f"an error of {least}")
    crossing = [one for one in ideal.attackers or (ideal,) if one.least_error <= bar + _ROUNDING]
    added = [
        one
        for one in crossing
        if (without := one.error_without_file) is None or one.least_error < (1 - ADDED) * without - _ROUNDING
    ]
    if attack.result != "passed" or added:
        nearest = min(added, default=ideal, key=lambda one: one.least_error)
        without = nearest.error_without_file
        beside = "" if without is None else f", beside {without:.4f} without it"
        least = f"{nearest.least_error:.4f}{beside}"
        return Outcome("inconclusive", f"{attack.sentence}; whoever searches better may get as close as {least}")
    said = f"{attack.sentence}; whoever has the file gets no closer than {least}"
    return Outcome(
        "passed", said + _excepted([f"{one.least_error:.4f} beside {one.error_without_file:.4f}" for one in crossing])
    )


def rows_of_ideal(attack: Outcome, ideal: Ideal, reached: int, n_rows: int, bar: float) -> Outcome:
    """Hold a number of rows against the most that anybody can expect to meet perfectly.

    Parameters
    ----------
    attack : Outcome
        What the same bar says of the attack's rows.
    reached : int
        The attack's perfect rows, at least.
    """
    most = f"{ideal.most_perfect_rows:.1f}"
    expected = min(ideal.most_perfect_rows, float(n_rows))
    by_chance = DEVIATIONS * (expected * (1 - expected / n_rows)) ** 0.5 if n_rows else 0.0
    if reached > expected + 1 + by_chance:
        return _distrusted(attack, f"{most} rows")
    crossing = [one for one in ideal.attackers or (ideal,) if one.most_perfect_rows > bar + _ROUNDING]
    added = [
        one
        for one in crossing
        if (without := one.perfect_rows_without_file) is None
        or one.most_perfect_rows > without + ADDED * (n_rows - without) + _ROUNDING
    ]
    if attack.result != "passed" or added:
        meets_most = max(added, default=ideal, key=lambda one: one.most_perfect_rows)
        without = meets_most.perfect_rows_without_file
        beside = "" if without is None else f", beside {without:.1f} without it"
        most = f"{meets_most.most_perfect_rows:.1f}{beside}"
        return Outcome("inconclusive", f"{attack.sentence}; whoever searches better may rebuild {most}")
    said = f"{attack.sentence}; whoever has the file rebuilds no more than {most}"
    return Outcome(
        "passed",
        said
        + _excepted([f"{one.most_perfect_rows:.1f} beside {one.perfect_rows_without_file:.1f}" for one in crossing]),
    )


def _excepted(crossing: Sequence[str]) -> str:
    """Say of whom it is no matter that they cross a bar: what they get with the file, and without."""
    if not crossing:
        return ""
    return f", and the file brings whoever crosses it at most a tenth closer than without it ({', '.join(crossing)})"


def _distrusted(attack: Outcome, thought: str) -> Outcome:
    return Outcome(
        "inconclusive",
        f"{attack.sentence}; that is more than was thought possible ({thought}), so that no pass rests on it",
    )


def of_bits(findings: Findings) -> Outcome | None:
    """Return why so few datasets explain the file that an attacker can try them all; None where there are enough."""
    known = [found.bits for found in (findings.ambiguity, findings.informed) if found is not None]
    if not known or max(known) >= ENOUGH_BITS:
        return None
    return Outcome(
        "inconclusive",
        f"it is only known that 2^{max(known):.0f} datasets explain the file, which an attacker can go through by "
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
