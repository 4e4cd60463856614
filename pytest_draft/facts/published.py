"""What a model file publishes of the draws and the counts behind its leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Drawn = Literal["rows", "thresholds", "noise"] | None
"""What was drawn for each tree: its rows; on all rows, its thresholds, between the lowest and the highest value at each
node; or the noise of a forest that declares privacy. None for nothing that reveals rows."""

CountsPublished = Literal[
    "rows of each class", "rows and mean targets", "rows and sums of gradients", "sums of gradients"
]
"""What counts are of. Of boosted trees, sums of gradients give the rows back as counts do, also without these."""


@dataclass(frozen=True)
class Published:
    """What a file publishes besides the splits of its trees."""

    seeded: int
    """Trees whose random draws its seeds replay: stored with each tree, or following from the ensemble's own."""
    draws: Drawn
    """What was drawn for each tree."""
    counts: CountsPublished | None
    """What it publishes exactly of its leaves' or rules' training rows."""
    answers: str | None = None
    """What its leaves answer in place of counts, such as "shares", "rounded shares", "labels" or "mean targets"; None
    where there are counts, noise, or none.
    """
    decimals: int | None = None
    """Of rounded shares."""
    left: bool = False
    """Whether something of its counts is left besides these answers."""
    certain_leaves: int = 0
    """Leaves whose shares say that all their rows are of one class; of a regressor all, which may have one target."""
    found: int | None = None
    """The number that the file's random_state was, where its seeds were removed and it can be found again; `seeded`
    counts those that follow.
    """
    tried: int = 0
    """How many numbers were tried to find it."""

    @property
    def of_sums(self) -> bool:
        """Whether it publishes the sums of boosted trees."""
        return self.counts in ("rows and sums of gradients", "sums of gradients")

    def __post_init__(self) -> None:
        if self.seeded < 0:
            raise ValueError("a number of trees below 0")
