"""When to stop: one time box for every stage of a judgement, made of a wall clock and a deterministic effort.

The wall clock guards: a judgement never takes longer, but for what is compiled once on each machine. The effort counts
the work that was done, in units that do not depend on the machine's speed or load, so a search that the effort ends is
the same on every run; where the clock ends one instead, that is told (`TimeBox.clock_ended`).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pytest_draft.errors import OutOfTimeError


class Stopwatch:
    """A monotonic clock, in seconds, that stands still while what no time box pays for is done.

    Parameters
    ----------
    clock : callable
        Goes on all the time; another one can be given in tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._stops = 0
        self._since = self._stood = 0.0
        self._listeners: list[Callable[[], None]] = []

    def __call__(self) -> float:
        """Return the time."""
        with self._lock:
            return (self._since if self._stops else self._clock()) - self._stood

    @property
    def stands(self) -> bool:
        """Whether it stands still."""
        return self._stops > 0

    @property
    def stood(self) -> float:
        """Seconds for which it has stood still so far."""
        with self._lock:
            return self._stood + (self._clock() - self._since if self._stops else 0.0)

    def stop(self) -> None:
        """Let it stand still until `go` was called as often."""
        with self._lock:
            self._stops += 1
            first = self._stops == 1
            if first:
                self._since = self._clock()
        if first:
            self._tell()

    def go(self) -> None:
        """Undo a `stop`."""
        with self._lock:
            self._stops -= 1
            last = not self._stops
            if last:
                self._stood += self._clock() - self._since
        if last:
            self._tell()

    @contextmanager
    def heard_by(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call a listener whenever the clock stops or goes on, until the ``with`` block ends."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()


CLOCK = Stopwatch()
"""The clock of all time boxes of this process."""


class Meter:
    """The work done so far, in units of about one second on one core; all boxes of a judgement share one."""

    def __init__(self) -> None:
        self.spent = 0.0


@dataclass(frozen=True)
class TimeBox:
    """Seconds, and units of work, for a whole judgement: reading, building, solving, matching.

    Attributes
    ----------
    seconds : float
        The length of the box on the wall clock.
    effort : float
        The most units of work; infinite where only the clock counts.
    clock : callable
        Monotonic clock, in seconds, that stands still while code is compiled; another one can be given in tests.
    start : float
        When the box was opened, on `clock`.
    meter : Meter
        What was spent, also by boxes that were cut out of this one.
    """

    seconds: float
    effort: float = math.inf
    clock: Callable[[], float] = CLOCK
    start: float = field(default=float("nan"))
    meter: Meter = field(default_factory=Meter)

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise ValueError(f"a time box needs more than 0 seconds, not {self.seconds}")
        if not self.effort > 0:
            raise ValueError(f"a time box needs an effort of more than 0, not {self.effort}")
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
    def effort_left(self) -> float:
        """Units of work left, never below 0; infinite without a limit."""
        return max(0.0, self.effort - self.meter.spent)

    @property
    def over(self) -> bool:
        """Whether the time or the effort is out."""
        return self.effort_left <= 0.0 or self.remaining <= 0.0

    @property
    def clock_ended(self) -> bool:
        """Whether the wall clock is what ended the box: another run may get further, or less far."""
        return self.effort_left > 0.0 and self.remaining <= 0.0

    def spend(self, units: float) -> None:
        """Add to the work done."""
        self.meter.spent += units

    def allows(self, units: float) -> bool:
        """Return whether work of so many units, about as many seconds, is expected to end inside."""
        return units <= self.effort_left and units <= self.remaining

    def require(self, units: float = 0.0) -> None:
        """Raise where work of about so many seconds is not expected to end before the wall clock does.

        It is for what has to be done, however little effort is allowed.

        Raises
        ------
        OutOfTimeError
        """
        if units >= self.remaining:
            raise OutOfTimeError

    def next(self, units: float) -> TimeBox:
        """Return the box that ends with this one, or when so many more units are spent."""
        return replace(self, effort=min(self.effort, self.meter.spent + units))

    def first(self, share: float) -> TimeBox:
        """Return the box of the same start that ends after a share of this one's seconds and effort."""
        return TimeBox(self.seconds * share, self.effort * share, self.clock, self.start, self.meter)

    def part(self, share: float) -> TimeBox:
        """Return the box that ends with a share of the seconds and the effort that are left of this one."""
        seconds = max(self.elapsed + share * self.remaining, 1e-9)
        return replace(self, seconds=seconds, effort=self.meter.spent + max(share * self.effort_left, 1e-9))
