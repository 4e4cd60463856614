"""Conjunctions of tests of columns: what a rule list asks of a row, and what a policy names a slice by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_draft.errors import CorruptArtifactError

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Literal:
    """A test of one column: whether ``low < value <= high``, or, negated, whether not.

    Attributes
    ----------
    column : int
        Position in `RuleList.columns`.
    low, high : float
        May be infinite; `low` is below `high`.
    negated : bool
    """

    column: int
    low: float
    high: float
    negated: bool = False

    def __post_init__(self) -> None:
        if self.column < 0 or not self.low < self.high:
            raise CorruptArtifactError(f"a test of column {self.column} for values from {self.low} to {self.high}")

    def holds(self, values: NDArray[np.floating]) -> BoolArray:
        """Return whether it holds for values of its column, shape (n,)."""
        exact = values.astype(np.float64)  # NumPy would round the bounds to the precision of the values
        inside: BoolArray = (self.low < exact) & (exact <= self.high)
        return ~inside if self.negated else inside


@dataclass(frozen=True)
class Rule:
    """A conjunction of tests and what follows; without a test, the default.

    Attributes
    ----------
    literals : tuple of Literal
    prediction : object
        A class, as a plain Python value.
    counts : tuple of int or None
        Training rows of each class that it captured; None where the file does not tell.
    """

    literals: tuple[Literal, ...]
    prediction: object
    counts: tuple[int, ...] | None = None

    def holds(self, rows: NDArray[np.floating]) -> BoolArray:
        """Return for which rows all its tests hold, shape (n_rows,)."""
        result = np.ones(len(rows), dtype=bool)
        for literal in self.literals:
            result &= literal.holds(rows[:, literal.column])
        return result
