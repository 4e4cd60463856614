"""What is known so far of one examination: facts, notes and doubts, and an `Examination` of them at any time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from pytest_draft.examine.limits import TimeLimits
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import EVERY_RULE, Examination, unexamined
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.status import SolverStatus
from pytest_draft.progress import ProgressListener, StageClock


class Stopping(Protocol):
    """Says when an examination has found out all that matters."""

    def decided(self, examination: Examination) -> str | None:
        """Return by which rule, or by `EVERY_RULE`, nothing can change the verdict any more; None where more can."""

    def promises(self, examination: Examination) -> bool:
        """Return whether a pass is in sight that needs no attack."""


class FlowRecord:
    """Collects the results of an examination: the only object that its stages change. All others are frozen.

    Parameters
    ----------
    listener : callable or None
        Gets a `Progress` at each stage.
    keep : callable or None
        Gets the examination as it stands, at each call of `keep_known`.

    Attributes
    ----------
    facts : Examination
        Without the facts that `examination` takes from the reconstruction.
    reconstruction : Reconstruction or None
    limits : TimeLimits
    clock : StageClock
    """

    def __init__(
        self, case: Case, listener: ProgressListener | None = None, keep: Callable[[Examination], None] | None = None
    ) -> None:
        self.facts = unexamined(case)
        self.reconstruction: Reconstruction | None = None
        self.limits = TimeLimits(case, self._doubt_once)
        self.clock = StageClock(self.limits.total, listener)
        self._keep = keep

    def note(self, *notes: str) -> None:
        """Add notes for the reader of a result."""
        self.facts = replace(self.facts, notes=(*self.facts.notes, *notes))

    def doubt(self, *reasons: str) -> None:
        """Add reasons why the outcome is inconclusive unless a budget is crossed."""
        self.facts = replace(self.facts, reasons=(*self.facts.reasons, *reasons))

    def fall_short(self, *reasons: str) -> None:
        """Add reasons why the attack's error is only an upper bound; they matter until there is a better bound."""
        self.doubt(*reasons)
        self.facts = replace(self.facts, shortfalls=(*self.facts.shortfalls, *reasons))

    def decide(self, rule: str) -> None:
        """Note by which rule the verdict is certain, or by `EVERY_RULE`, and since when."""
        self.facts = replace(self.facts, decided_by=rule, decided_after=self.limits.total.elapsed)

    def settle(self) -> None:
        """Replace the shortfalls by the one that the attack went no further, as the verdict is certain."""
        if self.facts.solver_status == "no data":
            self.status("not asked")
        short, facts = self.facts.shortfalls, self.facts
        if short or facts.findings is None:
            every = facts.decided_by == EVERY_RULE
            why = "no threshold can be crossed" if every else f"{facts.decided_by} has failed already"
            ended = f"{'no attack was run' if facts.findings is None else 'the attack was cut short'}, as {why}"
            reasons = tuple(reason for reason in facts.reasons if reason not in short)
            self.facts = replace(facts, reasons=(*reasons, ended), shortfalls=(ended,))

    def _doubt_once(self, reason: str) -> None:
        if reason not in self.facts.reasons:
            self.doubt(reason)

    def status(self, status: SolverStatus, *reasons: str) -> None:
        """Set how the examination ended, or stands, and why."""
        self.facts = replace(self.facts, solver_status=status)
        self.doubt(*reasons)

    def keep_known(self) -> None:
        """Pass on the examination as it would be if it ended here."""
        if self._keep is not None:
            self._keep(self.examination())

    def examination(self) -> Examination:
        """Return all that was found out."""
        rebuilt = self.reconstruction
        return replace(
            self.facts,
            notes=(*self.facts.notes, *self.limits.notes),
            residual=rebuilt.residual if rebuilt else None,
            reproduced_trees=rebuilt.reproduced_trees if rebuilt else None,
            certificate=rebuilt.certificate if rebuilt else None,
            statistics={**(rebuilt.statistics if rebuilt else {}), **self.limits.spent, **self.clock.compiling},
            seconds=self.limits.total.elapsed,
        )
