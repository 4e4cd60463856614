"""Divides the time box of a `Case` among its searches, and says what to do when one of them ends."""

from __future__ import annotations

import math
from collections.abc import Callable

from pytest_draft.facts.case import Case
from pytest_draft.timebox import TimeBox

ATTACK_SHARE = 0.6
"""Share of the time box that reading and attacking may take; the rest is for evaluation."""

INFORMED_SHARE = 0.5
"""Share of the time box after which it must be known what somebody gets who knows all other rows."""

INFORMED_SHARE_OF_LARGE = 0.85
"""`INFORMED_SHARE` of tables with numeric columns and more than `MOST_SWEPT` rows, whose attack would not use the
rest.
"""

MOST_SWEPT = 10_000
"""Most rows with numeric columns over which the attack makes a sweep in a time box of a minute."""

HURRIED_SHARE, HURRIED = 0.05, 2.0
"""Share of the effort, and the most units of it, that an attack may take once the verdict is certain or in sight."""

LABELS_SHARE = 0.2
"""Share of the time box that it may take to find out what the file tells of labels: a second or two, mostly."""

SENSITIVE_SHARE = 0.25
"""Share of the time box that it may take to find out what the file tells of all columns that the policy names."""

MEMBERSHIP_SHARE = 0.1
"""Share of the time box that it may take to find out how well the file tells its training rows from others."""

NUMERIC_SHARE = 0.55
"""Share of the time box for the attack on numeric columns and at most `SMALL` rows, which are evaluated in no time."""

AUDIT_SHARE = 0.1
"""Share of the time box that the entropy audit may take where an attack follows it."""

SEEDS_SHARE = 0.15
"""Share of the time box that the search for a random_state whose seeds were removed may take."""

USUAL_SEARCH, SEARCH_SHARE = 3.0, 0.1
"""Seconds, and besides them a share of the time box, that the search for training rows in a raw table may take."""

INSPECT_SHARE = 0.1
"""Share of the time box that comparing what stands in the file with the training data may take."""

ALTERNATIVES_SHARE = 0.15
"""Share of the time box that it may take to draw other datasets, once the attack has ended: a second or two, mostly."""

IDENTITY_SHARE = 0.7
"""Share of the time box after which the identity check must have ended."""

_LEFT = 3.0
"""How many times as long as by when it was ended a step takes whose time is proportional to its work, at most."""

SMALL = 1_000
"""Most training rows that are evaluated in so little time that the attack can have more of it."""


class TimeLimits:
    """The time box of a case, and the boxes that are cut out of it.

    Parameters
    ----------
    doubt : callable
        Gets a reason where the clock has ended what effort should have.

    Attributes
    ----------
    whole : TimeBox
        For everything; limited by the clock alone.
    attack : TimeBox
    """

    def __init__(self, case: Case, doubt: Callable[[str], None]) -> None:
        self.total = TimeBox(case.seconds)
        self._seconds, self._effort, self._doubt, self._longer = case.seconds, case.effort, doubt, case.longer
        self.give_attack(ATTACK_SHARE)
        self._ended: bool | None = None
        self._by_clock: list[str] = []

    def box(self, share: float) -> TimeBox:
        """Return the box of one search: a share of the seconds, and the whole effort for itself."""
        effort = math.inf if self._effort is None else self._effort
        return TimeBox(self._seconds * share, effort, start=self.total.start)

    def within(self, share: float) -> TimeBox:
        """Return a box that begins now and takes a share of the seconds, where so many are left."""
        return TimeBox(max(1e-3, min(self._seconds * share, self.total.remaining)))

    def search(self) -> TimeBox:
        """Return the box of the search for training rows, which begins now."""
        return TimeBox(max(1e-3, min(USUAL_SEARCH + self._seconds * SEARCH_SHARE, 0.5 * self.total.remaining)))

    def give_attack(self, share: float) -> None:
        """Give the attack another share of the seconds, of which nothing is spent."""
        self.attack, self._hurried = self.box(share), False

    def hurry_attack(self) -> None:
        """Give the attack a small share of the seconds and the effort, from now on."""
        effort = HURRIED_SHARE * (self._seconds if self._effort is None else self._effort)
        seconds = 2 * min(HURRIED_SHARE * self._seconds, HURRIED)  # so that the effort ends it, on most machines
        self._hurried = True
        self.attack = TimeBox(max(1e-3, min(seconds, self.total.remaining)), min(effort, HURRIED))

    def end_attack(self) -> None:
        """Note when the attack has ended: what comes after it is not of its time."""
        self._ended = self.attack.over
        if not self._hurried:
            self.note_clock(self.attack, "attack")

    @property
    def spent(self) -> dict[str, float]:
        """The attack's figures besides its own."""
        return {} if self._effort is None else {"effort spent": self.attack.meter.spent}

    def note_clock(self, timebox: TimeBox, what: str) -> None:
        """Note that the clock has ended something: a doubt where the effort alone should have, else a note."""
        if not timebox.by_clock:
            return
        if self._effort is None:
            self._by_clock += [what] * (what not in self._by_clock)
        else:
            self._doubt(
                f"the clock ended the {what} before its effort of {self._effort:g} units was spent, so another run can "
                "differ: give it more time with --draft-budget, or less effort with --draft-effort"
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """What depended on the clock, where no effort is given."""
        if not self._by_clock:
            return ()
        first, last = ", the ".join(self._by_clock[:-1]), self._by_clock[-1]
        what = f"{first} and the {last}" if first else last
        return (
            f"the clock decided how long the {what} ran: figures can differ from run to run; with --draft-effort every "
            "run is the same",
        )

    def enough_for(self, share: float) -> str:
        """Say which time box would do for a step whose time is proportional to its work, and which the clock has ended.

        Parameters
        ----------
        share : float
            Of the time box, by the end of which it has to be done.
        """
        return f"--draft-budget {_rounded(_LEFT * self.total.elapsed / share)} should do"

    @property
    def longer(self) -> str:
        """Which longer time box to try for a search, which can end at any time."""
        if self._effort is not None:
            return f"try --draft-effort {4 * self._effort:g}"
        return f"try --draft-budget {self._longer:g}"

    def attack_limit(self) -> tuple[str, str]:
        """Say what the attack had spent when it ended, and what may get it further."""
        if not self._attack_was_ended():
            return "its last search", f"another --draft-seed may decide it, or {self.longer}"
        if self._effort is not None and not self.attack.clock_ended:
            return f"{self._effort:g} units of effort", self.longer
        return self._share(), self.longer

    def not_converged(self, lacks: str) -> str:
        """Say that the attack did not converge, by what, and what may get it further."""
        limit, remedy = self.attack_limit()
        return f"the attack did not get to the end in {limit}: {lacks}; {remedy}"

    def before_a_dataset(self) -> str:
        """Say what ended before there was a dataset."""
        if self._effort is not None and not self.attack.effort_left:
            return f"the attack found no dataset in {self._effort:g} units of effort: {self.longer}"
        self.note_clock(self.attack, "attack")
        if self._attack_was_ended():
            return f"the attack found no dataset in {self._share()}: {self.longer}"
        return (
            "the attack found no dataset: a step that it needs took too long, or nothing was left to try; "
            f"{self.longer}"
        )

    def _attack_was_ended(self) -> bool:
        """Return whether its limit ended the attack, or would by now."""
        return self.attack.over if self._ended is None else self._ended

    def _share(self) -> str:
        return f"{self.attack.seconds:g} s (its share of the {self._seconds:g} s in all)"


def _rounded(seconds: float) -> str:
    """Return seconds rounded up to two digits."""
    step = 10.0 ** max(0, math.floor(math.log10(seconds)) - 1)
    return f"{math.ceil(seconds / step) * step:g}"


def too_little_memory(cap: int | None) -> str:
    """Say that there is not enough memory, and which cap there is."""
    if cap is None:
        return "this machine has too little memory for this forest and domain"
    return f"the memory cap of {cap:,} MB is too little for this forest and domain: raise it with --draft-memory"
