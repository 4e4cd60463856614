"""The time box that every stage of a judgement shares: one start, one length, one clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TimeBox:
    """Seconds for a whole judgement: reading, building, solving, matching.

    Attributes
    ----------
    seconds : float
        The length of the box.
    clock : callable
        Monotonic clock, in seconds; another one can be given in tests.
    start : float
        When the box was opened, on `clock`.
    """

    seconds: float
    clock: Callable[[], float] = time.monotonic
    start: float = field(default=float("nan"))

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise ValueError(f"a time box needs more than 0 seconds, not {self.seconds}")
        if self.start != self.start:  # not given
            object.__setattr__(self, "start", self.clock())

    @property
    def elapsed(self) -> float:
        """Seconds since the box was opened."""
        return self.clock() - self.start

    @property
    def remaining(self) -> float:
        """Seconds left, never below 0."""
        return max(0.0, self.seconds - self.elapsed)

    @property
    def over(self) -> bool:
        """Whether the time is out."""
        return self.remaining <= 0.0

    def first(self, share: float) -> TimeBox:
        """Return the box of the same start that ends after a share of this one's seconds."""
        return TimeBox(self.seconds * share, self.clock, self.start)
