"""Waivers: somebody answers, until a date, for a rule that one model file does not keep."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from pytest_draft.errors import one_line


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
        return f"waived until {self.expires.isoformat()} by {one_line(self.owner)}: {one_line(self.reason)}"
