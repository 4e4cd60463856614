"""What a model file tells of the draws and the counts behind its leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Published:
    """What a file tells besides the splits of its trees.

    Attributes
    ----------
    seeded : int
        Trees whose random draws its seeds replay: stored with each tree, or following from the ensemble's own.
    draws : {"rows", "thresholds", "noise"} or None
        What was drawn for each tree: its rows; on all rows, its thresholds, between the lowest and the highest value at
        each node; or the noise of a forest that declares privacy. None for nothing that tells of rows.
    counts : {"rows of each class", "rows and mean targets"} or None
        What it tells exactly of its leaves' or rules' training rows.
    restored : {"weights", "numbers of rows", "class totals", "inner fractions", "impurity"} or None
        What these counts were restored from, where somebody had removed them in part.
    answers : {"shares", "rounded shares", "labels", "mean targets"} or None
        What its leaves tell in place of counts; None where there are counts, noise, or none.
    decimals : int or None
        Of rounded shares.
    left : bool
        Whether something of its counts is left besides these answers.
    certain_leaves : int
        Leaves whose shares say that all their rows are of one class; of a regressor all, which may have one target.
    found : int or None
        The number that the file's random_state was, where its seeds were removed and it can be found again; `seeded`
        counts those that follow.
    tried : int
        How many numbers were tried to find it.
    """

    seeded: int
    draws: Literal["rows", "thresholds", "noise"] | None
    counts: Literal["rows of each class", "rows and mean targets"] | None
    restored: Literal["weights", "numbers of rows", "class totals", "inner fractions", "impurity"] | None = None
    answers: Literal["shares", "rounded shares", "labels", "mean targets"] | None = None
    decimals: int | None = None
    left: bool = False
    certain_leaves: int = 0
    found: int | None = None
    tried: int = 0

    def __post_init__(self) -> None:
        if self.seeded < 0:
            raise ValueError("a number of trees below 0")
