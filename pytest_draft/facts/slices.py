"""Slices that a policy names, and the figures on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_draft.errors import PolicyError, one_line
from pytest_draft.facts.checks import require_not_negative, require_rising, require_shares
from pytest_draft.facts.entropy import Between
from pytest_draft.facts.figures import Distance
from pytest_draft.facts.rules import ListedRule, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    BoolArray = NDArray[np.bool_]
    IntArray = NDArray[np.int64]
    Rows = NDArray[np.float32]

LEAST_ROWS = 10
"""A slice with fewer rows is not measured."""


@dataclass(frozen=True)
class Slice:
    """Rows that a policy names: those of which all tests hold, or those of one class.

    A missing value is none of those that a test asks for, and none of those that it leaves out.
    """

    name: str
    """As the policy writes it, or the class."""
    columns: tuple[str, ...] = ()
    """Names of the encoded columns that are tested."""
    literals: tuple[Literal, ...] = ()
    """Tests; their positions are in `columns`."""
    places: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Where the policy tests each of the columns: its file, line and key. No part of what a slice is."""
    label: int | None = None
    """Index of the class; None for all."""

    def __post_init__(self) -> None:
        if any(literal.column >= len(self.columns) for literal in self.literals):
            raise ValueError("a test of a column that the slice does not name")

    def require_columns(self, columns: Sequence[str]) -> None:
        """Refuse a test of a column that there is not.

        Parameters
        ----------
        columns : sequence of str
            Names of all encoded columns.

        Raises
        ------
        PolicyError
        """
        for column, place in zip(self.columns, self.places, strict=True):
            if column not in columns:
                raise PolicyError(f"{place}: there is no column {one_line(column)!r} in the encoded training data")

    def holds(self, rows: Rows, labels: IntArray | None, columns: Sequence[str]) -> BoolArray:
        """Return which rows are in the slice.

        Parameters
        ----------
        rows : ndarray of float32, shape (n_rows, n_columns)
        labels : ndarray of int64, shape (n_rows,), or None
            Classes; where they are not known, no row is known to be of one.
        columns : sequence of str, length n_columns

        Returns
        -------
        ndarray of bool, shape (n_rows,)
        """
        inside = ListedRule(self.literals, None).holds(rows[:, [columns.index(column) for column in self.columns]])
        if self.label is None:
            return inside
        return inside & False if labels is None else inside & (labels == self.label)


def by_class(classes: Sequence[object] | None) -> tuple[Slice, ...]:
    """Return a slice for each class.

    Parameters
    ----------
    classes : sequence of object or None
        The model's; None for a regressor.

    Raises
    ------
    PolicyError
        For a regressor.
    """
    if classes is None:
        raise PolicyError("the policy says by_class, and a regressor has no classes: leave it out, or name slices")
    return tuple(Slice(f"class {one_line(label, 60)}", label=index) for index, label in enumerate(classes))


@dataclass(frozen=True)
class SliceBaseline:
    """Means over draws, weighted by the true rows of the slice in each."""

    error: float | None
    """None where the time was out before the first draw."""
    perfect_share: float | None
    """As in `Measured`."""
    draws: int
    """How many the means are over."""

    def __post_init__(self) -> None:
        require_not_negative(error=self.error, draws=self.draws)
        require_shares(perfect_share=self.perfect_share)


NOT_DRAWN = SliceBaseline(None, None, 0)


@dataclass(frozen=True)
class Measured:
    """How close a reconstruction comes to the rows of a slice."""

    rebuilt_rows: int
    """Rebuilt rows that are in the slice."""
    error: Distance
    """Without a matching, because the time was out or there are too many rows, nothing is known of it."""
    perfect_rows: int
    """True rows of the slice that are rebuilt perfectly."""
    perfect_share: Between
    """The mean of their share and that of the rebuilt rows in the slice that are true rows."""
    singled_out_rows: int
    """Perfect rows that are unique in all of the training data; with numeric columns, the most that a matching meets.
    """
    unique_rows: int
    """True rows of the slice that are unique in all of the training data."""
    random: SliceBaseline = NOT_DRAWN
    split_half: SliceBaseline = NOT_DRAWN
    """`random` and `split_half`: of the same slice."""

    def __post_init__(self) -> None:
        require_not_negative(rebuilt_rows=self.rebuilt_rows, perfect_rows=self.perfect_rows)
        require_rising(singled_out_rows=self.singled_out_rows, unique_rows=self.unique_rows)


@dataclass(frozen=True)
class SliceFigures:
    """The figures on one slice."""

    name: str
    """As in `Slice`."""
    rows: int | None
    """Rows of the slice that were to be rebuilt; where it is known which rows no tree has seen, without these. None for
    fewer than `LEAST_ROWS`: who is alone in a slice, or that nobody is in it, is never reported.
    """
    measured: Measured | None
    """None for fewer than `LEAST_ROWS` rows."""
    on: str = ""
    """Another scale of numeric values than the range, as it is written after the name."""

    def __post_init__(self) -> None:
        require_not_negative(rows=self.rows)
        if (self.rows is None) != (self.measured is None):
            raise ValueError("the number of rows of a slice is told where it is measured, and nowhere else")
