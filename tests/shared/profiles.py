"""Which examples a property test runs: in goes the number that the test names, out comes that of the profile.

The same ones each time, so that a check of a change tells something of the change; new ones every night.
"""

from __future__ import annotations

from hypothesis import settings

_FULL = 100

settings.register_profile("nightly", max_examples=_FULL, deadline=None)
settings.register_profile("quick", max_examples=_FULL // 3, derandomize=True, deadline=None)


def examples(full: int) -> int:
    """Return how many examples run: all that a test names with ``--hypothesis-profile=nightly``, else a third."""
    return max(1, full * settings().max_examples // _FULL)
