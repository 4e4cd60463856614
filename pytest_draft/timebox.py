"""When to stop: one time box for every stage of a judgement, made of a wall clock and a deterministic effort.

The wall clock guards: a judgement never takes longer, but for what is compiled once on each machine. The effort counts
the work that was done, in units that do not depend on the machine's speed or load, so a search that the effort ends is
the same on every run; where the clock ends one instead, that is noted (`TimeBox.by_clock`).

No step begins or stays away because of how long it should take. Each begins while there is time, and looks whether the
box has ended: between two chunks of NumPy's or SciPy's work at the box itself, in compiled code, which holds no lock of
the interpreter, at a flag that a thread raises (`TimeBox.flag`).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_draft.errors import OutOfTimeError

if TYPE_CHECKING:
    from pytest_draft.arrays import Flag

LOOK_SECONDS = 0.02
"""Between two looks of the thread that raises flags; compiled code looks at its flag at least as often."""


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
    def is_stopped(self) -> bool:
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
            self._notify()

    def go(self) -> None:
        """Undo a `stop`."""
        with self._lock:
            self._stops -= 1
            last = not self._stops
            if last:
                self._stood += self._clock() - self._since
        if last:
            self._notify()

    @contextmanager
    def heard_by(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call a listener whenever the clock stops or goes on, until the ``with`` block ends."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def _notify(self) -> None:
        for listener in tuple(self._listeners):
            listener()


CLOCK = Stopwatch()
"""The clock of all time boxes of this process."""


class Meter:
    """The work done so far, in units of about one second on one core; all boxes of a judgement share one.

    Attributes
    ----------
    spent : float
    by_clock : bool
        Whether the clock has ended one of the boxes before the effort did, and somebody has seen that.
    """

    def __init__(self) -> None:
        self.spent = 0.0
        self.by_clock = False


class _Watch:
    """Raises flags when their boxes end, in a thread of its own, which runs while there are any."""

    def __init__(self) -> None:
        self._flags: dict[int, tuple[TimeBox, Flag]] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, timebox: TimeBox, flag: Flag) -> None:
        """Raise a flag when a box has ended."""
        with self._changed:
            self._flags[id(flag)] = timebox, flag
            if self._thread is None or not self._thread.is_alive():  # as after a fork
                self._thread = threading.Thread(target=self._look, daemon=True)
                self._thread.start()
            self._changed.notify()

    def remove(self, flag: Flag) -> None:
        """Leave a flag as it is from now on."""
        with self._changed:
            self._flags.pop(id(flag), None)

    def _look(self) -> None:
        while True:
            with self._changed:
                while not self._flags:
                    self._changed.wait()
                for timebox, flag in self._flags.values():
                    if timebox.remaining <= 0.0:
                        flag[0] = 1
            time.sleep(LOOK_SECONDS)


_WATCH = _Watch()


@dataclass(frozen=True)
class TimeBox:
    """Seconds, and units of work, for a whole judgement: reading, building, solving, matching."""

    seconds: float
    """The length of the box on the wall clock."""
    effort: float = math.inf
    """The most units of work; infinite where only the clock counts."""
    clock: Callable[[], float] = CLOCK
    """Monotonic clock, in seconds, that stands still while code is compiled; another one can be given in tests."""
    start: float = field(default=float("nan"))
    """When the box was opened, on `clock`."""
    meter: Meter = field(default_factory=Meter)
    """What was spent, also by boxes that were cut out of this one."""

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
        if self.effort_left <= 0.0:
            return True
        if self.remaining > 0.0:
            return False
        self.meter.by_clock = True
        return True

    @property
    def clock_ended(self) -> bool:
        """Whether the wall clock is what ended the box: another run may get further, or less far."""
        return self.effort_left > 0.0 and self.remaining <= 0.0

    @property
    def by_clock(self) -> bool:
        """Whether the clock has ended this box, or has been seen to end one that was cut out of it."""
        return self.meter.by_clock or self.clock_ended

    @contextmanager
    def flag(self) -> Iterator[Flag]:
        """Yield a flag for compiled code, 0 until the wall clock ends the box."""
        import numpy as np

        flag: Flag = np.zeros(1, dtype=np.uint8)
        if self.remaining <= 0.0:
            flag[0] = 1
        _WATCH.add(self, flag)
        try:
            yield flag
        finally:
            _WATCH.remove(flag)
            self.meter.by_clock |= self.clock_ended

    def spend(self, units: float) -> None:
        """Add to the work done."""
        self.meter.spent += units

    def allows(self, units: float) -> bool:
        """Return whether the effort suffices for so many more units of work, and the time is not out.

        However long they may take: what begins looks whether the time is out.
        """
        return units <= self.effort_left and not self.over

    def require(self) -> None:
        """Raise where the wall clock has ended the box.

        It is for what has to be done, however little effort is allowed.

        Raises
        ------
        OutOfTimeError
        """
        if self.remaining <= 0.0:
            self.meter.by_clock = True
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
