"""What somebody gets of each row who has the file and knows all other rows: aggregates only.

Whoever knows less gets no more. So these figures clear a file where even they are harmless, and convict it where they
pin the rows, whatever an attack has come to.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_draft.facts.checks import require_not_negative, require_rising, require_shares


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
    """As in `Slice`."""
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
    split_half_error: float
    """`matched_error` and `split_half_error`: of such guesses, and of the other half's rows themselves, each matched to
    the rows of the first half.
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
    """Whether the adversary knows which rows were drawn for which tree, so that what is told is told to it; else to
    somebody who knows more.
    """
    bits: float
    """Lower bound of the logarithm, to base 2, of how many datasets explain the file."""
    near_numeric: float | None = None
    near_numeric_without_file: float | None = None
    """`near_numeric` and `near_numeric_without_file`: the same of numeric values alone; None without any."""
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
            split_half_error=self.split_half_error,
            bits=self.bits,
        )
        require_shares(
            told_values=self.told_values,
            told_rows=self.told_rows,
            near_values=self.near_values,
            near_rows=self.near_rows,
            near_values_without_file=self.near_values_without_file,
            near_rows_without_file=self.near_rows_without_file,
            near_numeric=self.near_numeric,
            near_numeric_without_file=self.near_numeric_without_file,
        )
        if self.row_errors is not None and len(self.row_errors) != 101:
            raise ValueError(f"{len(self.row_errors)} quantiles, not 101")

    @property
    def of_split_half(self) -> float:
        """The matched error as a share of the split-half one; 1 where both are 0, as for rows that are all alike."""
        if not self.split_half_error:
            return 1.0 if not self.matched_error else float("inf")
        return self.matched_error / self.split_half_error
