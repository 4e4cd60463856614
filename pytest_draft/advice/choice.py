"""Chooses which of the tried settings to release, by the one-standard-error rule."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from pytest_draft.advice.facts import Line, Setting, Tried


def presumed(lines: Iterable[Line], tried: Mapping[Setting, Tried]) -> set[Setting]:
    """Return the settings taken to pass unjudged: they come after one that passed in their line, with fewer leaves."""
    found: set[Setting] = set()
    for line in lines:
        passed = False
        for setting in line:
            one = tried.get(setting)
            if one is not None and one.hardened is not None:
                passed = one.passed
            elif passed:
                found.add(setting)
    return found


def best(settings: Iterable[Tried]) -> Tried | None:
    """Return the setting with the best score; of equals the one with the fewest leaves. None without a score."""
    scored = [one for one in settings if one.score is not None]
    return max(scored, key=lambda one: (_mean(one), -_leaves(one)), default=None)


def pick(
    lines: Sequence[Line],
    tried: Mapping[Setting, Tried],
    without: Collection[Setting] = (),
) -> Tried | None:
    """Return the setting to release next: the fewest leaves within one standard error of the best that pass.

    Parameters
    ----------
    lines : sequence of tuple of Setting
    tried : mapping of Setting to Tried
    without : collection of Setting
        Settings to leave out.

    Returns
    -------
    Tried or None
        It may not have been judged yet, if a setting with more leaves in its line has passed.
    """
    behind = presumed(lines, tried)
    passing = [one for setting, one in tried.items() if (one.passed or setting in behind) and setting not in without]
    leading = best(passing)
    if leading is None or leading.score is None:
        return None
    bar = leading.score.mean - leading.score.error
    near = [one for one in passing if one.score is not None and one.score.mean >= bar]
    return min(near, key=lambda one: (_leaves(one), -_mean(one)))


def _mean(tried: Tried) -> float:
    return -math.inf if tried.score is None else tried.score.mean


def _leaves(tried: Tried) -> float:
    return math.inf if tried.leaves is None else tried.leaves
