"""What stands in a model file beside its trees: vectors by row, copies of training data, rare values."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_draft.facts.checks import require_not_negative


@dataclass(frozen=True)
class Vector:
    """An array with as many entries along one axis as there are training rows."""

    path: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Copy:
    """An array that holds training data.

    Attributes
    ----------
    path : str
    shape : tuple of int
    rows : int
        Training rows that stand in it, in any form or order: as they are, in half precision, or, where no column by
        itself tells more, all of them with their columns' values in the same ranks.
    columns : int
        Columns of it that are a training column: the same values in any order, scaled ones, or in the rows' order
        values that are equal, or greater, where the column's are.
    """

    path: str
    shape: tuple[int, ...]
    rows: int
    columns: int

    def __post_init__(self) -> None:
        if min(self.rows, self.columns) < 0 or not (self.rows or self.columns):
            raise ValueError(f"{self.rows} rows and {self.columns} columns are no copy")


@dataclass(frozen=True)
class Rarest:
    """The rarest value among those that an encoder knows of a column.

    Attributes
    ----------
    path : str
    at_least, at_most : int
        Training rows that have it; different where several columns can be the encoded one.
    """

    path: str
    at_least: int
    at_most: int

    def __post_init__(self) -> None:
        if not 0 < self.at_least <= self.at_most:
            raise ValueError(f"bounds out of order: {self.at_least} and {self.at_most}")


@dataclass(frozen=True)
class StoredFacts:
    """What stands in a file besides its trees: paths and numbers, no value.

    Attributes
    ----------
    arrays : int
        Arrays and lists that were looked at.
    n_rows : tuple of int
        Numbers of training rows that were looked for: the file's and the data's.
    by_row : tuple of Vector
    perhaps_by_row : tuple of Vector
        As long, for which there can be another reason, such as a number of columns.
    copies : tuple of Copy
    rarest : tuple of Rarest
    doubts : tuple of str
        Why a copy may have been missed; empty where all was compared.
    """

    arrays: int
    n_rows: tuple[int, ...]
    by_row: tuple[Vector, ...] = ()
    perhaps_by_row: tuple[Vector, ...] = ()
    copies: tuple[Copy, ...] = ()
    rarest: tuple[Rarest, ...] = ()
    doubts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_not_negative(arrays=self.arrays)
        if any(number < 1 for number in self.n_rows):
            raise ValueError(f"numbers of training rows: {self.n_rows}")
