"""How much of the uncertainty about training rows a model takes away, as shares between bounds."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_draft.facts.checks import require_not_negative, require_rising, require_shares

MOST_EXPOSED = 10
"""How many of the most exposed rows are named, by index."""


@dataclass(frozen=True)
class Between:
    """A share that is known to lie between two others."""

    lower: float
    upper: float
    """`lower` and `upper`: both proved; the same where it is known exactly."""

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper <= 1:
            raise ValueError(f"no bounds of a share: {self.lower} and {self.upper}")

    @property
    def exact(self) -> float | None:
        """The share; None where it is only bounded."""
        return self.lower if self.is_exact else None

    @property
    def is_exact(self) -> bool:
        """Whether the share is known."""
        return self.lower == self.upper

    @property
    def rest(self) -> Between:
        """What is missing to 1."""
        return Between(1 - self.upper, 1 - self.lower)


@dataclass(frozen=True)
class RowGroup:
    """The entropy ratios of some training rows."""

    name: str
    """Which rows: a class, inliers or outliers."""
    rows: int
    """At least one."""
    mean: float
    lowest: float
    """`mean` and `lowest`: of the rows' own ratios."""

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise ValueError("a group without a row")
        require_rising(lowest=self.lowest, mean=self.mean)
        require_shares(lowest=self.lowest, mean=self.mean)


@dataclass(frozen=True)
class Entropy:
    """How much uncertainty a model leaves about its training rows. All ratios: 1 reveals nothing, 0 reveals all."""

    bits: float
    """log2 of the number of vectors that the domain allows: the uncertainty of a row before."""
    ratio: Between
    """``Dist_G`` of the whole training data, by all that the model reveals."""
    lowest_row: Between
    """``Dist_G`` of the most exposed row."""
    dist: float | None
    """``Dist``, by what `measured_on` says; None where it could not be counted in time."""
    measured_on: str
    """What the figures on rows are about: the tree, the rule list, the most telling tree, or all trees together."""
    trees: tuple[float, float, float] | None
    """Lowest, mean and highest ``Dist_G`` of the trees by themselves; None for a rule list."""
    examined: int
    """How many trees these are."""
    quantiles: tuple[float, ...]
    """Length 101. Of the rows' ratios: the lowest, that of each further hundredth of the rows, the highest (the paper's
    figure 4).
    """
    groups: tuple[RowGroup, ...] = ()
    """By class, and by inliers and outliers; empty where it is not known which row is where."""
    most_exposed: tuple[int, ...] = ()
    """Indices of the rows with the lowest ratios, at most `MOST_EXPOSED`."""
    reasons: tuple[str, ...] = ()
    """Why no rule passes by this; empty where nothing stands in the way."""
    telling: bool = False
    """Whether a threshold can reveal more than its sides (`ordered_tests`), which only the lower bounds allow for."""

    def __post_init__(self) -> None:
        require_not_negative(bits=self.bits, examined=self.examined)
        require_shares(dist=self.dist)
        if len(self.quantiles) != 101:
            raise ValueError(f"{len(self.quantiles)} quantiles, not 101")
        if self.trees is not None:
            lowest, mean, highest = self.trees
            require_rising(lowest=lowest, mean=mean, highest=highest)
        if len(self.most_exposed) > MOST_EXPOSED:
            raise ValueError(f"more than {MOST_EXPOSED} rows are named")
