"""What attackers get who guess as well as can be, held against thresholds: in go bars, out come outcomes.

No search can change these. A bar is a bar for every attacker that is considered (`Attacker`), with one exception: who
crosses it without the file, too, may cross it where the file brings them at most a tenth closer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from pytest_draft.facts.ambiguity import Ideal
from pytest_draft.facts.findings import Findings, Part
from pytest_draft.facts.informed import Informed
from pytest_draft.policy.bar import Bar
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

    What somebody gets who knows all other rows is told by what other rows like these get, so without that it is
    no bound.
    """
    error, rows = part.split_half.error, part.split_half.perfect_rows
    known = [] if part.ideal is None else [part.ideal]
    if part.informed is None or error is None or rows is None:
        return known
    return [_informed_ideal(part, part.informed, error, rows), *known]


def by_error(part: Part) -> list[Ideal]:
    """Return the same for errors, the tightest limit first, and last those that the attack shows to be wrong."""
    reached = part.error.upper
    return sorted(ideals_of(part), key=lambda one: (_too_high(one, reached), -one.least_error))


def by_rows(part: Part) -> list[Ideal]:
    """Return the same for perfect rows."""
    return sorted(
        ideals_of(part),
        key=lambda one: (_too_few(one, part.perfect_rows, part.n_rows), one.most_perfect_rows),
    )


def _informed_ideal(part: Part, informed: Informed, split_half: float, base: float) -> Ideal:
    """Return what somebody gets who knows all other rows, as whoever does not is measured.

    As many times the part's own split-half error as theirs is of theirs, among as many rows as an attack rebuilds; and
    what the file adds to their rows, of those that other rows like these leave. The attack is one of their guessers.
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
    of: str = ""
    """What a figure is of, where that is not what the attack's is of."""


def error_of_ideal(attack: Outcome, bar: Bar, ideal: Ideal, reached: float) -> Outcome:
    """Hold a bar against the least error that anybody can expect, beside what it says of the attack's."""
    if _too_high(ideal, reached):
        return _distrusted(attack, f"an error of {ideal.least_error:.4f}")
    best, *each = [_Gets(one.least_error, one.error_without_file) for one in (ideal, *(ideal.attackers or (ideal,)))]
    words = _Words("get as close as", "gets closer than", *2 * ("{:.4f}".format,))
    return _of_attackers(attack, replace(bar, rounding=_ROUNDING), best, each, words, missing=lambda error: error)


def rows_of_ideal(attack: Outcome, bar: Bar, ideal: Ideal, part: Part) -> Outcome:
    """Hold a bar against the most rows that anybody can expect to meet, beside what it says of the attack's.

    Numbers of rows are whole: what passes is rounded down, and up what may cross the bar.
    """
    of = f" of all {part.ideal_rows:,} rows" if ideal is part.ideal and part.ideal_rows is not None else ""
    if _too_few(ideal, part.perfect_rows, part.n_rows):
        return _distrusted(attack, f"{_fewer(ideal.most_perfect_rows)}{of or ' rows'}")
    attackers = (ideal, *(ideal.attackers or (ideal,)))
    best, *each = [_Gets(one.most_perfect_rows, one.perfect_rows_without_file) for one in attackers]
    words = _Words("rebuild", "rebuilds more than", _fewer, _more, of)
    bar = replace(bar, rounding=_ROUNDING)
    return _of_attackers(attack, bar, best, each, words, missing=lambda rows: part.n_rows - rows)


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
    helped = [
        one
        for one in each
        if one.without is None or missing(one.with_file) < (1 - ADDED) * missing(one.without) - _ROUNDING
    ]
    crossing = [one for one in each if bar.crossed_by(one.with_file)]
    added = [one for one in crossing if one in helped]
    if attack.result != "passed" or added:
        nearest = min(added, default=best, key=lambda one: missing(one.with_file))
        beside = "" if nearest.without is None else f" (without the file: {words.passing(nearest.without)})"
        may = f"a better attack might {words.may} {words.crossing(nearest.with_file)}{words.of}{beside}"
        return Outcome("inconclusive", f"{attack.sentence}; {may}")
    said = f"{attack.sentence}; no attacker {words.passes} {words.passing(best.with_file)}{words.of}"
    if crossing:
        pairs = [(words.crossing(one.with_file), words.passing(one.without or 0.0)) for one in crossing]
        listed = ", ".join(f"{reached} with it, {guessed} without" for reached, guessed in pairs)
        said += f"; whoever gets past the threshold gets nearly as far without the file ({listed})"
    return Outcome("passed", said, close=attack.close or any(bar.close_to(one.with_file) for one in helped))


def _distrusted(attack: Outcome, thought: str) -> Outcome:
    why = f"no attacker was expected to get past {thought}, so that limit is wrong, and no pass rests on it"
    return Outcome("inconclusive", f"{attack.sentence}; {why}")


def of_bits(findings: Findings) -> list[Outcome]:
    """Return why so few datasets explain the file that an attacker can try them all; nothing where there are enough."""
    known = [found for found in (findings.ambiguity, findings.informed) if found is not None]
    most = max((found.bits for found in known), default=ENOUGH_BITS)
    if most >= ENOUGH_BITS:
        return []
    many, needed = f"2^{most:.0f}" if most >= 1 else "2", f"a pass needs 2^{ENOUGH_BITS:.0f}"
    if not all(found.bits_ended for found in known):
        when = f"when {many} datasets were known to" if most else "before it was counted how many datasets"
        why = f"the time ran out {when} explain the file: give it more with --draft-budget; {needed}"
        return [Outcome("inconclusive", why)]
    few = (
        f"{many} datasets are known to explain the file"
        if most
        else "one dataset is known to explain the file, the true one"
    )
    tried = "if these are all" if most else "if there is no other"
    why = f"only {few}; {tried}, an attacker can train on each and see which one gives this file; {needed}"
    return [Outcome("inconclusive", why)]
