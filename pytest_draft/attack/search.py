"""What every step of a search shares: time box, seed and threads, in a `Search`."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_draft.progress import StageClock
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True)
class Search:
    """What every step of a search shares."""

    timebox: TimeBox
    seed: int = 0
    """Of every random choice."""
    workers: int = 1
    """Threads of what runs side by side; the result does not depend on it."""
    clock: StageClock = field(default_factory=StageClock)
