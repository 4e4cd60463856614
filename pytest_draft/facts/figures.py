"""Single figures and their baselines: distances, closeness of numeric columns, individuals, the leak p-value."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace

from pytest_draft.facts.checks import require_not_negative, require_rising, require_shares

TOLERANCE = 0.01
"""Two values of a numeric column are close when their difference is at most this share of its range.

With true rows at hand, of the range without far-out values (`pytest_draft.scales.near`).
"""


@dataclass(frozen=True)
class Distance:
    """The mean distance of two sets of rows after minimum-cost matching."""

    lower: float
    upper: float
    """`lower` and `upper`: bounds; equal where the matching is exact."""
    worst: float | None
    """Largest distance of a matched pair; None where the matching is not exact."""

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper:
            raise ValueError(f"bounds out of order: {self.lower} and {self.upper}")
        require_not_negative(worst=self.worst)

    @property
    def exact(self) -> float | None:
        """The distance, where it is known exactly."""
        return self.lower if self.worst is not None else None


@dataclass(frozen=True)
class Baseline:
    """What is got without the attack: means over draws of other rows."""

    error: float | None
    """Mean error on encoded columns; None where the time was out before the first draw."""
    perfect_rows: float | None
    """Expected perfect rows, for all rows that are rebuilt; in proportion, where fewer were measured."""
    draws: int
    """How many draws the means are taken over."""
    rows: int
    """Rows that the error was measured on."""
    error_range: tuple[float, float] | None = None
    perfect_range: tuple[float, float] | None = None
    """`error_range` and `perfect_range`: the lowest and the highest of the draws; None where these were not kept."""

    def __post_init__(self) -> None:
        for low, high in filter(None, (self.error_range, self.perfect_range)):
            require_rising(low=low, high=high)
        require_not_negative(error=self.error, perfect_rows=self.perfect_rows, draws=self.draws, rows=self.rows)


NOT_DRAWN = Baseline(None, None, 0, 0)
"""Of a baseline that was not measured."""


@dataclass(frozen=True)
class Individuals:
    """The figures on the inliers, or on the outliers, among the rows that were to be rebuilt."""

    number: int
    """How many rows that is."""
    error: float | None
    """Their mean distance in the matching that was found; another matching of the same cost can distribute the error
    differently. None without a row or an exact matching.
    """
    perfect_rows: int
    """How many of its rows are rebuilt perfectly."""

    def __post_init__(self) -> None:
        require_not_negative(error=self.error)
        require_rising(perfect_rows=self.perfect_rows, rows=self.number)


@dataclass(frozen=True)
class Closeness:
    """How close guesses come to true rows; values are those of unknown numeric columns, in the matching found."""

    error: float | None = None
    """By range, on all unknown encoded columns: the reconstruction error. None where it is not known exactly."""
    iqr_error: float | None = None
    """Mean difference over the interquartile range of the true column; a missing value beside a present one differs by
    the range. None without a matching, as for the next two.
    """
    close_values: float | None = None
    """Share of values to within `TOLERANCE` of the range without far-out values (`scales.near`)."""
    exact_values: float | None = None
    """Share of values that are equal as float32 numbers."""
    close_rows: float | None = None
    """Share of rows that are perfect: all numeric columns to within `TOLERANCE`, all others right."""
    exact_rows: float | None = None
    """Share of rows that are equal in all columns: the multiset intersection."""

    def beyond(self, baseline: Closeness) -> Closeness:
        """Return the figures corrected for what a baseline gets; None where that leaves nothing to be better at."""

        def of(mine: float | None, theirs: float | None, perfect: float) -> float | None:
            if mine is None or theirs is None or theirs == perfect:
                return None
            return (mine - theirs) / (perfect - theirs)

        perfect = (0.0, 0.0, 1.0, 1.0, 1.0, 1.0)
        return Closeness(*map(of, astuple(self), astuple(baseline), perfect))


@dataclass(frozen=True)
class Numeric:
    """The figures on numeric columns."""

    columns: int
    """Unknown numeric columns with a range."""
    without_spread: int
    """How many of them have an interquartile range of 0; there, differences are taken over the range."""
    in_order: bool
    """Whether the attack's values are compared row by row, in the order that it knows, as the time does not suffice to
    match so many rows.
    """
    attack: Closeness
    random: Closeness
    median: Closeness
    """`attack`, `random` and `median`: `random` is of uniform guesses, on samples where there are many rows."""
    median_guess: Baseline
    """Of guessing the median: error and perfect rows over its draws."""

    def __post_init__(self) -> None:
        require_rising(columns_without_spread=self.without_spread, columns=self.columns)

    def with_random(self, baseline: Baseline) -> Numeric:
        """Return the figures with the random error and perfect rows, which are of more draws.

        Parameters
        ----------
        baseline : Baseline
            Of as many rows as the median guess.
        """
        n_rows, perfect = self.median_guess.rows, baseline.perfect_rows
        close_rows = None if perfect is None else perfect / n_rows
        return replace(self, random=replace(self.random, error=baseline.error, close_rows=close_rows))


@dataclass(frozen=True)
class Exact:
    """Numeric values that come back as they are, in rows that are matched by rank.

    A value is exact if it is at most `SAME` ranks from the true one (`scales.by_rank`): a last digit makes no
    difference, and no other person's value is as near.
    """

    values: int
    """Values of unknown numeric columns in the rows that were compared: all of the part, or a sample of many."""
    share: float
    """Share of the compared values that are exact."""
    split_half: float
    """Share of exact values where other rows like these are compared, in place of rebuilt ones."""

    def __post_init__(self) -> None:
        require_not_negative(values=self.values)
        require_shares(share=self.share, split_half=self.split_half)

    @property
    def beyond(self) -> float:
        """The share of those values exact that other rows like these do not have right; 0 where they have them all."""
        return (self.share - self.split_half) / (1 - self.split_half) if self.split_half < 1 else 0.0


@dataclass(frozen=True)
class Significance:
    """How close datasets of the same population come to a reconstruction, beside the training data. No row is in it."""

    draws: int
    """Datasets that were drawn from the holdout; fewer than `DRAWS` where the time was out."""
    rows: int
    """Rows of each, and of the training data, that were matched into the reconstruction."""
    rebuilt_rows: int
    """All rows of the reconstruction."""
    error: float
    """Mean distance of the training data's rows on encoded columns, unknown attributes only; the reconstruction error
    where all rows are compared.
    """
    mean: float
    deviation: float
    """`mean` and `deviation`: of the same distance of the draws; the deviation divides by their number, as in the
    paper.
    """
    as_close: int
    """Draws at most as far as the training data."""
    p_value: float | None
    """The distribution function, at `error`, of the normal distribution of this mean and deviation (appendix D); None
    where all draws are equally far.
    """
    holdout_rows: int
    """Rows of the holdout."""
    shared_rows: int
    """Training rows that the holdout holds too, each as often as both do."""
    shared_by_chance: float
    """The mean number where all of these rows are divided at random."""
    overlaps: bool
    """Whether more are shared than chance explains."""

    def __post_init__(self) -> None:
        require_rising(as_close=self.as_close, draws=self.draws)
        require_rising(shared_rows=self.shared_rows, holdout_rows=self.holdout_rows)
        require_not_negative(rows=self.rows, rebuilt_rows=self.rebuilt_rows, shared_by_chance=self.shared_by_chance)
        require_not_negative(error=self.error, mean=self.mean, deviation=self.deviation)
        require_shares(p_value=self.p_value)

    @property
    def rank(self) -> float:
        """The empirical p-value: the share of draws at most as far, the training data counted as one of them."""
        return (1 + self.as_close) / (1 + self.draws)
