"""What somebody gets of each row who has the file and knows all other rows: aggregates only.

Whoever knows less gets no more. So these figures clear a file where even they are harmless, and convict it where they
pin the rows, whatever an attack has come to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pytest_draft.facts.checks import require_not_negative, require_rising, require_shares

_DEVIATIONS = 3.0
"""Of a share in a sample: it exceeds its upper limit in one sample of 700."""

CUT_SHORT = (
    "the time ran out before it was known what somebody guesses who knows all other rows: give it more with "
    "--draft-budget"
)
"""Why no file passes by what they guess."""


@dataclass(frozen=True)
class InformedColumn:
    """The same of one column."""

    name: str
    """Of the attribute: a one-hot group is one."""
    told: float
    """Share of its values of which nothing else is left."""
    near: float
    near_without_file: float
    """`near` and `near_without_file`: shares that are guessed right, numeric values to within a tolerance."""

    def __post_init__(self) -> None:
        require_shares(told=self.told, near=self.near, near_without_file=self.near_without_file)


@dataclass(frozen=True)
class InformedSlice:
    """The same of the rows of one slice."""

    name: str
    """As in the policy."""
    rows: int
    """Those of its rows that were looked at, at least `LEAST_ROWS`."""
    error: float
    error_without_file: float
    told_values: float
    told_rows: float
    near_rows: float
    near_rows_without_file: float
    """`error`, `error_without_file`, `told_values`, `told_rows`, `near_rows` and `near_rows_without_file`: as in
    `Informed`.
    """

    def __post_init__(self) -> None:
        require_not_negative(rows=self.rows, error=self.error, error_without_file=self.error_without_file)
        require_shares(
            told_values=self.told_values,
            told_rows=self.told_rows,
            near_rows=self.near_rows,
            near_rows_without_file=self.near_rows_without_file,
        )


@dataclass(frozen=True)
class Informed:
    """The best of several guesses of each row, with all others known, beside the same guess without the file."""

    rows: int
    """Rows that were looked at, each by itself: all, or a random sample."""
    of_rows: int
    """How many there are."""
    error: float
    error_without_file: float
    """`error` and `error_without_file`: row beside row."""
    half_rows: int
    """Rows of a half whose values are guessed from those of the other half alone, so that no row stands in a guess."""
    matched_error: float
    matched_error_without_file: float
    split_half_error: float
    """`matched_error`, `matched_error_without_file` and `split_half_error`: errors after matching to the rows of a
    half:
    of guesses with the file, of guesses without it, and of the other half's rows themselves.
    """
    shrinks: float
    """By what the split-half error of twice as many rows is smaller than that of half as many, as a share of it: among
    more rows one that is near is found more easily.
    """
    told_values: float
    told_rows: float
    """`told_values` and `told_rows`: shares of the values, and of the rows, of which nothing else is left: proved,
    given all others.
    """
    near_values: float
    near_rows: float
    near_values_without_file: float
    near_rows_without_file: float
    """`near_values`, `near_rows`, `near_values_without_file` and `near_rows_without_file`: shares that are guessed
    right, numeric values to within a tolerance.
    """
    proved: bool
    """Whether the adversary knows which rows were drawn for which tree, so that what is determined is known to it; else
    to somebody who knows more.
    """
    bits: float
    """Lower bound of the logarithm, to base 2, of how many datasets explain the file."""
    exact_numeric: float | None = None
    exact_numeric_without_file: float | None = None
    """`exact_numeric` and `exact_numeric_without_file`: share of the numeric values that are guessed exactly; None
    without any.
    """
    bits_ended: bool = True
    """Whether counting them ended; else the time cut it short, and there may be many more."""
    row_errors: tuple[float, ...] | None = None
    """Length 101. Quantiles of the rows' errors, as in `Findings.row_errors`."""
    columns: tuple[InformedColumn, ...] = ()
    """Of each unknown attribute, in the domain's order; empty where a part is looked at."""
    slices: tuple[InformedSlice, ...] = ()
    """Those that the policy names and that have enough rows; empty where a part is looked at."""

    def __post_init__(self) -> None:
        require_rising(half_rows=self.half_rows, rows=self.rows, of_rows=self.of_rows)
        require_not_negative(
            error=self.error,
            error_without_file=self.error_without_file,
            matched_error=self.matched_error,
            matched_error_without_file=self.matched_error_without_file,
            split_half_error=self.split_half_error,
            bits=self.bits,
        )
        require_shares(
            shrinks=self.shrinks,
            told_values=self.told_values,
            told_rows=self.told_rows,
            near_values=self.near_values,
            near_rows=self.near_rows,
            near_values_without_file=self.near_values_without_file,
            near_rows_without_file=self.near_rows_without_file,
            exact_numeric=self.exact_numeric,
            exact_numeric_without_file=self.exact_numeric_without_file,
        )
        if self.row_errors is not None and len(self.row_errors) != 101:
            raise ValueError(f"{len(self.row_errors)} quantiles, not 101")

    @property
    def of_split_half(self) -> float:
        """The matched error as a share of the split-half one; 1 where both are 0, as for rows that are all alike."""
        return self._of_split_half(self.matched_error)

    @property
    def of_split_half_without_file(self) -> float:
        """The same without the file."""
        return self._of_split_half(self.matched_error_without_file)

    def _of_split_half(self, error: float) -> float:
        if not self.split_half_error:
            return 1.0 if not error else float("inf")
        return error / self.split_half_error

    @property
    def least_determined_rows(self) -> float:
        """The least that `told_rows` can be of all rows: Wilson's lower limit where these are a sample."""
        return self._of_all_rows(-_DEVIATIONS)

    @property
    def most_determined_rows(self) -> float:
        """The most that `told_rows` can be of all rows: Wilson's upper limit where these are a sample."""
        return self._of_all_rows(_DEVIATIONS)

    def _of_all_rows(self, deviations: float) -> float:
        if self.rows == self.of_rows:
            return self.told_rows
        share, n = self.told_rows, self.rows
        half = math.sqrt(share * (1 - share) / n + (deviations / (2 * n)) ** 2)
        limit = (share + deviations**2 / (2 * n) + deviations * half) / (1 + deviations**2 / n)
        return min(1.0, max(0.0, limit))
