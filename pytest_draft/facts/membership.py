"""How well a file tells the people whose rows are in it from others: aggregates only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_draft.facts.checks import require_rising, require_shares

LEAST_STRANGERS = {0.01: 100, 0.001: 1_000}
"""How many strangers there must be at least for the share of members found at a share of false alarms: one alarm."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval, by resampling members and strangers."""

    value: float
    low: float
    high: float
    """`value`, `low` and `high`: the figure, and the ends of its interval."""

    def __post_init__(self) -> None:
        require_shares(value=self.value, low=self.low, high=self.high)
        require_rising(low=self.low, high=self.high)


@dataclass(frozen=True)
class ToldApart:
    """How well some members are told from strangers: by the score that does it best on other rows."""

    members: int
    """How many."""
    auc: Estimate
    """How often a member scores higher than a stranger; of equal scores half count (area under the ROC curve)."""
    found: Estimate | None
    """Members that score higher than 99 % of strangers; None where strangers are too few."""
    found_surely: Estimate | None
    """Members that score higher than 99.9 % of strangers."""


@dataclass(frozen=True)
class Membership:
    """What somebody learns who has the file and a person's row, and asks whether that row is in the data."""

    others: Literal["of the holdout", "left out of refits"]
    """Who the strangers are."""
    rows: int
    of_rows: int
    """`rows` and `of_rows`: training rows that were looked at, and how many there are."""
    strangers: int
    """Rows that equal no member's, features and label."""
    draws_known: bool
    """Whether they know which rows each tree drew."""
    score: str
    """By what they are told apart."""
    everyone: ToldApart
    """Of all members that were looked at."""
    unique: ToldApart | None
    """Of members whose row no other member has; None where they are too few, or everyone."""
    proved_in: int
    """Members of whom the file proves that they are in the data."""
    proved_out: int
    """Strangers of whom it proves that they are not."""
    most_exposed: float
    """The share of strangers that score at least as high as the member who scores highest."""
    doubts: tuple[str, ...] = ()
    """Why no file passes by this."""

    def __post_init__(self) -> None:
        require_rising(proved_in=self.proved_in, rows=self.rows, of_rows=self.of_rows)
        require_rising(proved_out=self.proved_out, strangers=self.strangers)
        require_shares(most_exposed=self.most_exposed)

    @property
    def share_in(self) -> float:
        """Share of members who are proved to be in the data."""
        return self.proved_in / self.rows

    @property
    def share_out(self) -> float:
        """Share of strangers who are proved not to be in it."""
        return self.proved_out / self.strangers
