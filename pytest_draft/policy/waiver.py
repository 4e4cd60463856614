"""Waivers: somebody answers, until a date, for a rule that one model file does not keep."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from pytest_draft.errors import one_line
from pytest_draft.foreign_text import harmless


@dataclass(frozen=True)
class Waiver:
    """One rule, waived for one model file."""

    rule: str
    artifact_sha256: str
    """Of exactly the file that it is for, in lower case."""
    reason: str
    owner: str
    """`reason` and `owner`: why, and who answers for it."""
    expires: date
    """The last day on which it holds."""

    @property
    def text(self) -> str:
        """All that a reader of a report should know."""
        return one_line(waived(self.expires.isoformat(), self.owner, self.reason), None)


def waived(expires: str, owner: str, reason: str) -> str:
    """Return who answers for a check that did not pass, until when and why."""
    return harmless(f"waived until {expires} by {owner}: {reason}")
