"""What a file tells of the label or target of a person whose features are known: aggregates only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from pytest_draft.facts.checks import require_rising

HIGHEST = 5
"""So many people with the highest targets are looked at by themselves."""

_DEVIATIONS = 1.96
"""To the ends of a 95 % interval."""

_ROUNDING = 1e-9
"""Of shares."""


@dataclass(frozen=True)
class Told:
    """Of how many of some rows the label, or target, is told: with the file, and without their rows in it."""

    name: str
    """Of the slice or class; empty for all rows."""
    rows: int
    """How many were looked at."""
    told: int
    """By the best guess from the file, or without it where that is better."""
    without: int
    """By the best predictor that was not trained on them."""
    gained: int
    """Rows that are told, and not without the file."""
    certain: int | None = None
    """Rows of which the file allows one class only; None where that is not known."""
    certain_gained: int | None = None
    """Of the rows that are `certain`, those that are not told without the file."""
    others: int = 0
    """Where these are the rows of one class: how many rows of other classes there are; else 0."""
    alarms: int = 0
    alarms_without: int = 0
    """`alarms` and `alarms_without`: how many of the others are said to be of this class, too."""

    def __post_init__(self) -> None:
        require_rising(gained=self.gained, told=self.told, rows=self.rows)
        require_rising(alarms=max(self.alarms, self.alarms_without), others=self.others)
        require_rising(lost=self.lost, without=self.without, rows=self.rows)
        require_rising(certain_gained=self.certain_gained, certain=self.certain, rows=self.rows)
        if self.reached < self.reached_without - _ROUNDING:
            raise ValueError("whoever has the file may act as if they had not")

    @property
    def missed(self) -> int:
        """Rows that are not told without the file."""
        return self.rows - self.without

    @property
    def lost(self) -> int:
        """Rows that are told without the file only."""
        return self.without - (self.told - self.gained)

    @property
    def share(self) -> float:
        """Share of the rows that is told with the file."""
        return self.told / self.rows

    @property
    def share_without(self) -> float:
        """Share that is told without it."""
        return self.without / self.rows

    @property
    def share_certain(self) -> float | None:
        """Share of which the file allows one class only."""
        return None if self.certain is None else self.certain / self.rows

    @property
    def both_alarms(self) -> tuple[float, ...]:
        """The shares of the others that are said to be of this class, with the file and without; empty for no class."""
        return (self.alarms / self.others, self.alarms_without / self.others) if self.others else ()

    @property
    def reached(self) -> float:
        """The share that is told; of a class, less that of the others that are said to be of it (Youden, 1950)."""
        return self.share - sum(self.both_alarms[:1])

    @property
    def reached_without(self) -> float:
        """What is reached without the file."""
        return self.share_without - sum(self.both_alarms[1:])

    @property
    def least_difference(self) -> float:
        """By how much more is surely reached with the file: the lower end of a 95 % interval."""
        squares = (self.gained + self.lost) / self.rows - (self.share - self.share_without) ** 2
        variance = max(0.0, squares) / self.rows + sum(one * (1 - one) / self.others for one in self.both_alarms)
        return self.reached - self.reached_without - _DEVIATIONS * math.sqrt(variance)

    @property
    def least_beyond(self) -> float:
        """What the file surely adds, as a share of the rows that are not told without it."""
        return lower_end(self.gained, self.missed) - self.lost / self.missed if self.missed else 0.0


@dataclass(frozen=True)
class LabelTold:
    """What somebody reads of labels, or of a regressor's targets, who knows all features and has the file."""

    of: Literal["labels", "targets"]
    """What is told of."""
    rows: int
    """Rows that were looked at: all, or a random sample."""
    of_rows: int
    """How many there are."""
    guess: str
    predictor: str
    """`guess` and `predictor`: which one is right most often, with the file and without the rows in it."""
    told: Told
    """Labels that are right; targets to within 1 % of their range without far-out ones."""
    exact: Told | None = None
    """Targets to the last digit; None for labels."""
    parts: tuple[Told, ...] = ()
    """`told` of the slices that the policy names and of the classes, where they have enough rows."""
    exact_in_leaves: int | None = None
    """Rows whose exact target some leaf holds that they reach alone or with people of the same target."""
    highest: int | None = None
    highest_exact: int | None = None
    """`highest` and `highest_exact`: how many people with the highest targets there are, at most `HIGHEST`, and of how
    many only the file tells the target exactly. None for labels.
    """
    holdout_rows: int | None = None
    holdout_told: int | None = None
    """`holdout_rows` and `holdout_told`: rows of a holdout, and of how many the same guess is right."""
    doubts: tuple[str, ...] = ()
    """Why no file passes by this."""

    def __post_init__(self) -> None:
        require_rising(rows=self.rows, of_rows=self.of_rows)
        require_rising(highest_exact=self.highest_exact, highest=self.highest)
        require_rising(holdout_told=self.holdout_told, holdout_rows=self.holdout_rows)


@dataclass(frozen=True)
class Sensitive:
    """What somebody reads of a column that a policy names, who knows all others and the label, and has the file."""

    name: str
    """As the policy writes it."""
    attributes: tuple[str, ...] = ()
    """What it is in the domain, as `Informed.columns` names it; empty for the label."""
    told: Told | None = None
    """Of training rows, values that are right; of the label as in `LabelTold`. None where that is not known."""
    others: Told | None = None
    """The same of a holdout, by the same guess; None without one."""
    guess: str | None = None
    predictor: str | None = None
    """`guess` and `predictor`: as in `LabelTold`."""
    not_told: str | None = None
    """Why there is no `told`."""


def lower_end(number: int, of: int) -> float:
    """Return the lower end of the 95 % interval of a share; 0 where it is of none."""
    return interval(number, of)[0]


def interval(number: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson, 1927); all shares where it is of none."""
    if not of:
        return 0.0, 1.0
    share, squared = number / of, _DEVIATIONS**2
    half = _DEVIATIONS * math.sqrt(share * (1 - share) / of + squared / (4 * of**2))
    middle = share + squared / (2 * of)
    return max(0.0, (middle - half) / (1 + squared / of)), min(1.0, (middle + half) / (1 + squared / of))
