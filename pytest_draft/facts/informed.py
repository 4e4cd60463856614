"""What somebody who has the file and knows all other rows gets of each row: aggregates only.

Whoever knows less gets no more. So a file is cleared if even these figures are harmless, and convicted if they
determine rows, whatever an attack has reached.

A value is *told* if it is proved that the file and the other rows determine it, and *near* if it is guessed right, a
numeric one to within a tolerance. A row is told or near if all of its unknown values are.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pytest_draft.facts.checks import require_not_negative, require_rising, require_shares

_DEVIATIONS = 3.0
"""Standard deviations to the limits of a sampled share: the true one is above the upper limit in one sample of 700."""

CUT_SHORT = "the time ran out before it was known what somebody guesses who knows all other rows"
"""The beginning of this reason; what follows is how much time would be enough."""


def cut_short(reasons: Iterable[str]) -> str | None:
    """Return the reason that begins with `CUT_SHORT`, if there is one."""
    return next((one for one in reasons if one.startswith(CUT_SHORT)), None)


def _share_of(error: float, others: float) -> float:
    """Return an error as a share of that of other rows; 1 where both are 0, as for rows that are all alike."""
    if not others:
        return 1.0 if not error else float("inf")
    return error / others


def _require_no_worse(found: InformedSlice | Informed | OtherPeople) -> None:
    """Refuse figures that are worse with the file than without it: whoever has the file can ignore it."""
    require_rising(error=found.error, error_without_file=found.error_without_file)
    require_rising(near_rows_without_file=found.near_rows_without_file, near_rows=found.near_rows)
    require_shares(near_rows=found.near_rows)


@dataclass(frozen=True)
class InformedColumn:
    """What they get of one column."""

    name: str
    """Of the attribute: a one-hot group is one."""
    told: float
    """Share of its values that are told."""
    near: float
    near_without_file: float
    """`near` and `near_without_file`: shares of its values that are near."""

    def __post_init__(self) -> None:
        require_shares(told=self.told, near=self.near)
        require_rising(near_without_file=self.near_without_file, near=self.near)


@dataclass(frozen=True)
class InformedSlice:
    """What they get of the rows of one slice."""

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
        require_not_negative(rows=self.rows)
        require_shares(told_values=self.told_values, told_rows=self.told_rows)
        _require_no_worse(self)


@dataclass(frozen=True)
class OtherPeople:
    """What somebody gets who knows the population, and nobody's row: other people's rows, made to fit the file."""

    rows: int
    """Rows that are guessed."""
    error: float
    error_without_file: float
    """`error` and `error_without_file`: after matching, of the nearest guess with the file, and without it."""
    others_error: float
    """Error of as many other people's rows as they are."""
    near_rows: float
    near_rows_without_file: float
    """`near_rows` and `near_rows_without_file`: shares that are guessed right."""
    measured: bool
    """Whether the training rows were guessed from a holdout; else rows and other people were drawn from a model."""

    def __post_init__(self) -> None:
        require_not_negative(rows=self.rows)
        require_rising(error_without_file=self.error_without_file, others_error=self.others_error)
        _require_no_worse(self)

    @property
    def of_others(self) -> float:
        """The error with the file, as a share of that of other people's rows as they are."""
        return _share_of(self.error, self.others_error)

    @property
    def of_others_without_file(self) -> float:
        """The error without the file, as such a share."""
        return _share_of(self.error_without_file, self.others_error)


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
    half, of guesses with the file, of guesses without it, and of the other half's rows themselves.
    """
    shrinks: float
    """The split-half error as a share of that among half as many rows: among more rows, the nearest one is nearer."""
    told_values: float
    told_rows: float
    """`told_values` and `told_rows`: shares of the values, and of the rows, that are told."""
    near_values: float
    near_rows: float
    near_values_without_file: float
    near_rows_without_file: float
    """`near_values`, `near_rows`, `near_values_without_file` and `near_rows_without_file`: shares that are near."""
    proved: bool
    """Whether the adversary knows which rows were drawn for which tree, and so knows what is told. If not, only
    somebody who knows these draws does.
    """
    bits: float | None
    """Lower bound of the logarithm, to base 2, of how many datasets explain the file; None where it is not known."""
    exact_numeric: float | None = None
    exact_numeric_without_file: float | None = None
    """`exact_numeric` and `exact_numeric_without_file`: share of the numeric values that are guessed exactly; None
    without any.
    """
    bits_ended: bool = True
    """False if time ran out while they were counted, so that there may be many more. They are not counted at all if the
    verdict is certain without them.
    """
    told_of_all: int | None = None
    """How many of all rows are told, where all were looked at and not only a sample."""
    row_errors: tuple[float, ...] | None = None
    """Length 101. Quantiles of the rows' errors, as in `Findings.row_errors`."""
    columns: tuple[InformedColumn, ...] = ()
    """Of each unknown attribute, in the domain's order; empty where a part is looked at."""
    slices: tuple[InformedSlice, ...] = ()
    """Those that the policy names and that have enough rows; empty where a part is looked at."""
    population: tuple[OtherPeople, ...] = ()
    """What somebody gets who knows other people's rows in place of these; empty where an adversary knows columns."""

    def __post_init__(self) -> None:
        require_rising(half_rows=self.half_rows, rows=self.rows, of_rows=self.of_rows)
        require_not_negative(split_half_error=self.split_half_error, bits=self.bits or 0.0)
        _require_no_worse(self)
        require_rising(
            matched_error=self.matched_error,
            matched_error_without_file=self.matched_error_without_file,
            split_half_error=self.split_half_error,
        )
        require_shares(
            shrinks=self.shrinks,
            told_values=self.told_values,
            told_rows=self.told_rows,
            near_values=self.near_values,
            exact_numeric=self.exact_numeric,
        )
        require_rising(
            near_values_without_file=self.near_values_without_file,
            near_values=self.near_values,
        )
        if self.exact_numeric is not None:
            require_rising(exact_without_file=self.exact_numeric_without_file, exact_numeric=self.exact_numeric)
        if self.row_errors is not None and len(self.row_errors) != 101:
            raise ValueError(f"{len(self.row_errors)} quantiles, not 101")

    def column(self, attributes: Collection[str]) -> InformedColumn | None:
        """Return the column to which the file adds most, of those of some attributes; None where there is none."""
        found = [one for one in self.columns if one.name in attributes]
        return max(found, key=lambda one: one.near - one.near_without_file, default=None)

    @property
    def of_split_half(self) -> float:
        """The matched error as a share of the split-half one; 1 where both are 0, as for rows that are all alike."""
        return _share_of(self.matched_error, self.split_half_error)

    @property
    def of_split_half_without_file(self) -> float:
        """The same without the file."""
        return _share_of(self.matched_error_without_file, self.split_half_error)

    @property
    def without_file(self) -> float:
        """The least error that anybody considered gets without the file, as a share of that of as many other rows.

        Not of a holdout: one that holds training rows would excuse a file that gives them away.
        """
        drawn = (one.of_others_without_file for one in self.population if not one.measured)
        return min([self.of_split_half_without_file, *drawn])

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
        if self.told_of_all is not None:
            return self.told_of_all / self.of_rows
        share, n = self.told_rows, self.rows
        half = math.sqrt(share * (1 - share) / n + (deviations / (2 * n)) ** 2)
        limit = (share + deviations**2 / (2 * n) + deviations * half) / (1 + deviations**2 / n)
        return min(1.0, max(0.0, limit))
