"""Which examples a property test runs: in goes the number that the test names, out comes that of the profile.

The same ones each time, so that a check of a change tells something of the change; new ones every night.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import settings

_FULL = 100

settings.register_profile("nightly", max_examples=_FULL, deadline=None)
settings.register_profile("quick", max_examples=_FULL // 3, derandomize=True, deadline=None)


def is_nightly() -> bool:
    """Return whether everything runs."""
    return settings().max_examples >= _FULL


def examples(full: int, least: int = 1) -> int:
    """Return how many examples run: all that a test names with ``--hypothesis-profile=nightly``, else a third.

    Where fewer of them would show nothing, `least` run.
    """
    return max(least, full * settings().max_examples // _FULL)


def all_or(few: Sequence[Any], everything: Sequence[Any]) -> Sequence[Any]:
    """Return what a test runs for: all with ``--hypothesis-profile=nightly``, else the few that stand for them."""
    return everything if is_nightly() else few
