"""Progress of a judgement: the stages of its search and their figures, as `Progress` messages.

Aggregates only: a stage's name, one figure, seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pytest_draft.timebox import CLOCK, TimeBox

COMPILING = "compiling (once on each machine)"
"""The stage in which the time box stands still."""


@dataclass(frozen=True)
class Progress:
    """Where a judgement stands."""

    stage: str
    figure: str | None
    """What `value` is, such as ``residual`` or ``log-likelihood``; None where there is none yet."""
    value: float | None
    elapsed: float
    """Seconds since the judgement began; while its time box stands still, those for which it has done so."""
    seconds: float
    """Its time box."""
    is_stopped: bool = False
    """Whether the time box stands still, while code is compiled."""

    def __str__(self) -> str:
        if self.is_stopped:
            return f"{self.stage}, {self.elapsed:.0f} s"
        figure = "" if self.value is None else f", {self.figure} {self.value:,.10g}"
        return f"{self.stage}{figure}, {self.elapsed:.0f} of {self.seconds:g} s"


ProgressListener = Callable[[Progress], None]


class StageClock:
    """Adds up the seconds of each stage, by name, beside other figures of a search; reports where it stands.

    Parameters
    ----------
    timebox : TimeBox or None
        Of the whole judgement; needed where there is something to report.
    listener : callable or None
        Gets a `Progress` whenever a stage begins and a figure is noted; it should be quick.
    """

    def __init__(self, timebox: TimeBox | None = None, listener: ProgressListener | None = None) -> None:
        self.figures: dict[str, float] = {}
        self._timebox = timebox
        self._listener = listener
        self._stood = CLOCK.stood
        self._stage = ""
        self._figure: str | None = None
        self._value: float | None = None

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Run a ``with`` block as the stage of this name; stages can lie in one another."""
        outer, self._stage = self._stage, stage
        self.notify()
        since = CLOCK()
        try:
            yield
        finally:
            name = f"{stage} seconds"
            self.figures[name] = self.figures.get(name, 0.0) + CLOCK() - since
            self._stage = outer or stage  # what is noted between two stages belongs to the first

    @property
    def compiling(self) -> dict[str, float]:
        """Seconds for which the time box has stood still since this clock was made, by name; empty without any."""
        stood = CLOCK.stood - self._stood
        return {"compile seconds": stood} if stood else {}

    def note(self, figure: str, value: float) -> None:
        """Note the best value so far of what the search improves, under the figure's name."""
        self._figure, self._value = figure, float(value)
        self.notify()

    def notify(self) -> None:
        """Report where it stands."""
        if self._listener is not None and self._timebox is not None:
            box = self._timebox
            if CLOCK.is_stopped:
                self._listener(Progress(COMPILING, None, None, CLOCK.stood - self._stood, box.seconds, is_stopped=True))
                return
            self._listener(Progress(self._stage, self._figure, self._value, box.elapsed, box.seconds))
