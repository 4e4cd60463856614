"""Rules of other distributions: in goes an id, out comes the `Rule` that an entry point of that name gives.

Nothing is imported before a policy names its rule, so that what is broken stops those who rely on it, and nobody else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pytest_draft.errors import PolicyError, one_line
from pytest_draft.policy.rule import Evidence, NotApplicable, Outcome, Rule, Thresholds

GROUP = "pytest_draft.rules"
"""The group of entry points; each is named by its rule's id."""


def distributions_of(rule: str) -> tuple[str, ...]:
    """Return the distributions that have a rule of that id."""
    return tuple(map(_distribution, _named(rule, tuple(sys.path))))


def own_ids() -> tuple[str, ...]:
    """Return the ids of all rules of other distributions, in order."""
    return tuple(sorted({entry.name for entry in entry_points(group=GROUP)}))


def own_rule(rule: str) -> Rule[Any] | None:
    """Return the rule of that id; None where no distribution has one.

    Raises
    ------
    PolicyError
        Where what the entry point leads to cannot be imported, is no rule of that id, or is not the only one.
    """
    return _loaded(rule, tuple(sys.path))


@cache
def _named(rule: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points of that name; `path` is what they depend on."""
    return tuple(entry_points(group=GROUP, name=rule))


@cache
def _loaded(rule: str, path: tuple[str, ...]) -> Rule[Any] | None:
    found = _named(rule, path)
    if not found:
        return None
    if len(found) > 1:
        names = ", ".join(sorted(map(_distribution, found)))
        raise PolicyError(f"rule {one_line(rule)!r}: {names} have one of that id each: remove all but one")
    where = f"rule {one_line(rule)!r} of {_distribution(found[0])}"
    try:
        loaded = found[0].load()
    except Exception as error:  # whatever another distribution does wrong
        raise PolicyError(f"{where}: it cannot be imported ({type(error).__name__}): correct or remove it") from None
    if wrong := _wrong(loaded, rule):
        raise PolicyError(f"{where}: {wrong}: correct or remove it")
    given: Rule[Any] = loaded
    return replace(given, check=_guarded(given.check, where))


def _wrong(loaded: object, rule: str) -> str | None:
    """Return what is wrong with what an entry point gives; None where it is a rule."""
    if not isinstance(loaded, Rule):
        return f"the entry point gives a {type(loaded).__name__}, not a pytest_draft.policy.rule.Rule"
    if loaded.id != rule:
        return f"its id is {one_line(loaded.id)!r}, not the name of its entry point"
    if loaded.needs not in Evidence.__constraints__:
        known = ", ".join(kind.__name__ for kind in Evidence.__constraints__)
        return f"it needs none of {known}"
    reasons = [*loaded.unless, *(one for key in loaded.keys.values() for one in key.unless)]
    if not all(isinstance(one, NotApplicable) for one in reasons):
        return "it names a reason why it is not applicable that is none of NotApplicable"
    if loaded.severity not in ("error", "warning"):  # it would stop nothing
        return f"its severity is {one_line(loaded.severity)!r}, neither error nor warning"
    return None


def _guarded(check: Callable[[Any, Thresholds], Outcome], where: str) -> Callable[[Any, Thresholds], Outcome]:
    """Return a check that answers whatever happens: what raises, or is no outcome, is inconclusive."""

    def guarded(evidence: Any, thresholds: Thresholds) -> Outcome:
        try:
            outcome = check(evidence, thresholds)
        except Exception as error:
            return Outcome("inconclusive", f"{where} raised {type(error).__name__}")
        if not isinstance(outcome, Outcome) or outcome.result not in ("passed", "failed", "inconclusive"):
            return Outcome("inconclusive", f"{where} gave no outcome")
        return replace(outcome, sentence=one_line(outcome.sentence, 2_000))

    return guarded


def _distribution(entry: EntryPoint) -> str:
    return one_line(entry.dist.name if entry.dist is not None else entry.value)
