"""The search for other datasets that explain a file, which runs beside the attack.

It runs in a thread of its own, and shares nothing with the attack. The truth is where it begins; nothing of it reaches
the attack.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.ambiguity.sampled import Sampled
from pytest_draft.errors import OutOfTimeError
from pytest_draft.facts.ambiguity import Ambiguity
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True, eq=False, repr=False)
class Alternatives:
    """Other datasets, and figures of them. Its repr shows no row."""

    sampled: tuple[Sampled, ...]
    facts: Ambiguity

    def __repr__(self) -> str:
        return f"Alternatives({', '.join(map(repr, self.sampled))})"


class NotExplainedError(Exception):
    """The true rows, in their order, do not explain the file: there is nothing to begin at."""


class Stop:
    """When to stop: somebody asked for it, or the time is out.

    Parameters
    ----------
    timebox : TimeBox

    Attributes
    ----------
    flag : ndarray of uint8, shape (1,)
        For compiled code: raised where somebody asked for an end and, while an `AlternativesSearch` runs, where the
        time is out.
    """

    def __init__(self, timebox: TimeBox) -> None:
        self.timebox = timebox
        self.by_clock = replace(timebox, effort=math.inf)  # a few samples are always taken
        self.flag = np.zeros(1, dtype=np.uint8)
        self.asked = False

    def ask(self) -> None:
        """Say that nobody waits for the result any more."""
        self.asked = True
        self.flag[0] = 1

    def require(self) -> None:
        """Raise where the time is out, or nobody waits for the result.

        Raises
        ------
        OutOfTimeError
        """
        if self.asked:
            raise OutOfTimeError
        self.timebox.require()

    def now(self, timebox: TimeBox) -> bool:
        """Return whether to stop, within a share of the time box."""
        return self.asked or timebox.over


class AlternativesSearch:
    """The search, which begins when it is made.

    Parameters
    ----------
    look : callable
        Gets a `Stop`, and returns `Alternatives`, or None where there were too few samples; raises `NotExplainedError`,
        or `OutOfTimeError` for None.
    timebox : TimeBox
        Ends it, wherever it is.

    Attributes
    ----------
    explained : bool
        Whether the true rows explain the file.
    """

    def __init__(self, look: Callable[[Stop], Alternatives | None], timebox: TimeBox) -> None:
        self._look, self._stop = look, Stop(timebox)
        self.explained = True
        self._found: Alternatives | None = None
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """End the search, and wait until it has ended."""
        self._stop.ask()
        self._thread.join()

    def result(self) -> Alternatives | None:
        """Wait until there are enough samples, or the time is out, and return them; None where there are too few."""
        self._thread.join()
        if self._failed is not None:
            raise self._failed
        return self._found

    def _run(self) -> None:
        try:
            with self._stop.timebox.flag(self._stop.flag):
                self._found = self._look(self._stop)
        except NotExplainedError:
            self.explained = False
        except OutOfTimeError:
            self._found = None
        except BaseException as error:  # raised again for whoever asks for the result
            self._failed = error
