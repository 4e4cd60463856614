"""What attackers get who guess as well as can be, held against thresholds: in go bars, out come outcomes.

No search can change these. A bar is a bar for every attacker that is considered (`Attacker`), with one exception: who
crosses it without the file, too, may cross it where the file brings them at most a tenth closer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from pytest_draft.facts.ambiguity import Attacker, Ideal
from pytest_draft.facts.findings import Findings, Measure
from pytest_draft.facts.informed import Informed, OtherPeople
from pytest_draft.policy.bar import CLOSE, Bar
from pytest_draft.policy.rule import Outcome

ADDED = 0.1
"""Whoever crosses a bar may do so only where the file brings them closer by at most this share of their error without
it, and gives them at most this share of the rows that they do not meet without it."""

ENOUGH_BITS = 60.0
"""Of ambiguity: 10^18 datasets cannot be told apart by growing the forest again from each of them."""

DEVIATIONS = 2.0
"""The most rows that anybody can expect to meet are a mean over datasets, of which the truth is one: an attack can meet
more by chance, by about so many standard deviations of rows that are met one by one."""

FORESEEN = 0.95
"""What somebody gets who knows other people's rows is a mean over tables: on one table they may come to so many times
that error."""

LIMIT = 0.75
"""The error that a report calls a limit is at most so many times that: with the file or without, what other people's
rows get differs from table to table."""

GUESSED = 0.9
"""What somebody gets who knows all other rows is that of some guessers; another one may come to so many times their
error, and to as much more of the rows."""

_ROUNDING = 1e-9
_MOST = 1e6


def ideals_of(part: Measure) -> list[Ideal]:
    """Return all that is known of the most that anybody gets of a part: what any of them excludes nobody can.

    What somebody gets who knows all other rows is told by what other rows like these get, so without that it is
    no bound.
    """
    error, rows = part.split_half.error, part.split_half.perfect_rows
    known = [] if part.ideal is None else [part.ideal]
    if part.informed is None or error is None or rows is None:
        return known
    people = _people(part, part.informed, error)
    return [_with(one, people) for one in (_informed_ideal(part, part.informed, error, rows), *known)]


def _with(ideal: Ideal, people: Sequence[Attacker]) -> Ideal:
    """Return an ideal that is no limit for some attackers, with these: nobody's limit excludes what they get."""
    if not people:
        return ideal
    nearest = min(people, key=lambda one: one.least_error)
    most = max(one.most_perfect_rows for one in people)
    closer = LIMIT * nearest.least_error < ideal.least_error
    return replace(
        ideal,
        least_error=min(ideal.least_error, LIMIT * nearest.least_error),
        error_without_file=LIMIT * nearest.error_without_file if closer else ideal.error_without_file,
        most_perfect_rows=max(ideal.most_perfect_rows, most),
        attackers=(*ideal.attackers, *people),
    )


def by_error(part: Measure) -> list[Ideal]:
    """Return the same for errors, the tightest limit first, and last those that the attack shows to be wrong."""
    reached = part.error.upper
    return sorted(ideals_of(part), key=lambda one: (_too_high(one, reached), -one.least_error))


def by_rows(part: Measure) -> list[Ideal]:
    """Return the same for perfect rows."""
    return sorted(
        ideals_of(part),
        key=lambda one: (_too_few(one, part.perfect.lower, part.rows), one.most_perfect_rows),
    )


def _informed_ideal(part: Measure, informed: Informed, split_half: float, base: float) -> Ideal:
    """Return what somebody gets who knows all other rows, as whoever does not is measured.

    As many times the part's own split-half error as theirs is of theirs, among as many rows as an attack rebuilds; and
    what the file adds to their rows, of those that other rows like these leave. The attack is one of their guessers.
    """
    exact = None
    if informed.exact_numeric is not None and part.exact is not None:
        added = _added(informed.exact_numeric, informed.exact_numeric_without_file or 0.0)
        exact = max(part.exact.split_half + added * (1 - part.exact.split_half), part.exact.share)
    among_all, n_rows = informed.shrinks * split_half, float(part.rows)
    alone = GUESSED * min(informed.without_file, _MOST) * among_all
    plain = part.rows_without_file
    guessed = GUESSED * min(min(informed.of_split_half, informed.without_file, _MOST) * among_all, part.error.upper)
    most = base + _added(informed.near_rows, informed.near_rows_without_file) * (n_rows - base)
    knows_all = Attacker(
        prior="all other rows",
        least_error=min(guessed, alone),
        most_perfect_rows=max(most, plain, float(part.perfect.upper)),
        error_without_file=alone,
        perfect_rows_without_file=plain,
    )
    return Ideal.of((knows_all,), part.rows, exact)


def _people(part: Measure, informed: Informed, split_half: float) -> list[Attacker]:
    """Return what those get who know other people's rows, among as many rows as an attack rebuilds."""
    attackers = []
    for one in informed.population:
        reached, without = _of_people(part, informed, one, split_half)
        attackers.append(
            Attacker(
                prior="other rows",
                least_error=min(FORESEEN * reached, without),
                most_perfect_rows=one.near_rows * part.rows,
                error_without_file=without,
                perfect_rows_without_file=one.near_rows_without_file * part.rows,
            )
        )
    return attackers


def _of_people(part: Measure, informed: Informed, people: OtherPeople, split_half: float) -> tuple[float, float]:
    """Return the error with and without the file of those who know other people's rows, on as many rows as a part.

    As a share of that of other rows like these; or as it is, if that is less and of as many rows.
    """
    unit = informed.shrinks * split_half
    smaller = 1.0
    if people.rows == part.rows and people.of_others * unit > 0:
        smaller = min(1.0, people.error / (people.of_others * unit))
    return people.of_others * unit * smaller, people.of_others_without_file * unit * smaller


def by_other_people(part: Measure, bar: Bar) -> list[Outcome]:
    """Return the failures by those who have guessed the training rows from a holdout's, as an attack does.

    What was tried on drawn rows fails nothing: it says how such attackers fare, and not on these rows.
    """
    informed, split_half = part.informed, part.split_half.error
    if informed is None or split_half is None or not informed.proved or not part.absolute:
        return []
    failed = []
    for one in informed.population:
        reached, without = _of_people(part, informed, one, split_half)
        if one.measured and bar.crossed_by(reached) and reached < (1 - ADDED) * without:
            shown = (
                f"somebody who has the holdout's rows makes them fit the file, and comes as close as {reached:.4f}"
                f"{part.on}; without the file: {without:.4f}"
            )
            failed.append(bar.judge(reached, shown))
    return failed


def _added(share: float, without_file: float) -> float:
    """Return the most that a file adds, as a share of what is not there without it."""
    beyond = (share - without_file) / (1 - without_file) if without_file < 1 else 0.0
    return min(max(beyond, 0.0) / GUESSED, 1.0)


class _Gets(NamedTuple):
    """What one attacker gets with the file, and without; None where that is not known."""

    with_file: float
    without: float | None


class _Words(NamedTuple):
    """How a sentence says what attackers get."""

    may: str
    passes: str
    passing: Callable[[float], str]
    crossing: Callable[[float], str]


def error_of_ideal(attack: Outcome, bar: Bar, ideal: Ideal, reached: float) -> Outcome:
    """Hold a bar against the least error that anybody can expect, beside what it says of the attack's."""
    if _too_high(ideal, reached):
        return _distrusted(attack, f"an error of {ideal.least_error:.4f}")
    best, *each = [_Gets(one.least_error, one.error_without_file) for one in (ideal, *(ideal.attackers or (ideal,)))]
    words = _Words("may get as close as", "gets closer than", *2 * ("{:.4f}".format,))
    return _of_attackers(attack, replace(bar, rounding=_ROUNDING), best, each, words, missing=lambda error: error)


def rows_of_ideal(attack: Outcome, bar: Bar, ideal: Ideal, part: Measure) -> Outcome:
    """Hold a bar against the most rows that anybody can expect to meet, beside what it says of the attack's.

    Numbers of rows are whole: what passes is rounded down, and up what may cross the bar.
    """
    if _too_few(ideal, part.perfect.lower, part.rows):
        return _distrusted(attack, f"{_fewer(ideal.most_perfect_rows)} rows")
    attackers = (ideal, *(ideal.attackers or (ideal,)))
    best, *each = [_Gets(one.most_perfect_rows, one.perfect_rows_without_file) for one in attackers]
    words = _Words("may rebuild", "rebuilds more than", _fewer, _more)
    bar = replace(bar, rounding=_ROUNDING)
    return _of_attackers(attack, bar, best, each, words, missing=lambda rows: part.rows - rows)


def _fewer(rows: float) -> str:
    return f"{math.floor(rows + _ROUNDING):,}"


def _more(rows: float) -> str:
    return f"{math.ceil(rows - _ROUNDING):,}"


def _too_high(ideal: Ideal, reached: float) -> bool:
    return reached < ideal.least_error - _ROUNDING


def _too_few(ideal: Ideal, reached: int, n_rows: int) -> bool:
    expected = min(ideal.most_perfect_rows, float(n_rows))
    by_chance = DEVIATIONS * (expected * (1 - expected / n_rows)) ** 0.5 if n_rows else 0.0
    return reached > expected + 1 + by_chance


def _of_attackers(
    attack: Outcome,
    bar: Bar,
    best: _Gets,
    each: Sequence[_Gets],
    words: _Words,
    missing: Callable[[float], float],
) -> Outcome:
    """Hold a bar against what each attacker gets; `missing` says what somebody does not get."""

    def gains(one: _Gets, share: float) -> bool:
        """Return whether the file brings somebody closer by more than a share of what is missing without it."""
        return one.without is None or missing(one.with_file) < (1 - share) * missing(one.without) - _ROUNDING

    crossing = [one for one in each if bar.crossed_by(one.with_file)]
    added = [one for one in crossing if gains(one, ADDED)]
    if attack.result != "passed" or added:
        nearest = min(added, default=best, key=lambda one: missing(one.with_file))
        may = f"the best possible attack {words.may} {words.crossing(nearest.with_file)}, so no answer"
        return Outcome("inconclusive", f"{attack.sentence}; {may}")
    said = f"{attack.sentence}; no attacker considered {words.passes} {words.passing(best.with_file)}"
    if crossing:
        pairs = [(words.crossing(one.with_file), words.passing(one.without or 0.0)) for one in crossing]
        listed = ", ".join(f"{reached} with it, {guessed} without" for reached, guessed in pairs)
        said += f"; whoever gets past the limit gets nearly as far without the file ({listed})"
    nearly = [one for one in each if one in crossing or bar.close_to(one.with_file)]
    close = attack.close or any(gains(one, (1 - CLOSE) * ADDED) for one in nearly)
    return Outcome("passed", said, close=close)


def _distrusted(attack: Outcome, thought: str) -> Outcome:
    why = f"nobody considered was expected to get past {thought}, so this expectation is wrong, and no pass rests on it"
    return Outcome("inconclusive", f"{attack.sentence}; {why}")


def of_bits(findings: Findings) -> list[Outcome]:
    """Return why so few datasets explain the file that an attacker can try them all; nothing where there are enough."""
    known = [found for found in (findings.ambiguity, findings.whole.informed) if found is not None]
    counted = [found.bits for found in known if found.bits is not None]
    most = max(counted, default=0.0)
    if not known or most >= ENOUGH_BITS:
        return []
    many = f"{f'2^{most:.0f}' if most >= 1 else '2'} tables" if most else "one table (yours)"
    needed = f"for a pass, at least 2^{ENOUGH_BITS:.0f} must be known"
    if (informed := findings.whole.informed) is not None and not informed.bits_ended:
        when = (
            f"when {many} {'were' if most else 'was'} known to" if counted else "before it was counted how many tables"
        )
        return [
            Outcome(
                "inconclusive", f"the time ran out {when} explain the file; {needed}: give it more with --draft-budget"
            )
        ]
    if not counted:
        why = f"how many tables explain the file was not counted, as the verdict was certain without; {needed}"
        return [Outcome("inconclusive", why)]
    why = f"only {many} {'are' if most else 'is'} known to explain this file; {needed}"
    return [Outcome("inconclusive", f"{why}: of fewer, an attacker can train on each and see which one gives it")]
