"""The problem that chains of datasets sample: what leaves say of unknown rows, and what is known of these rows.

A slot stands for a row; where the number of rows is not known, some slots stay empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, Int32Array, IntArray
from pytest_draft.attack.evidence.evidence import LeafModel
from pytest_draft.attack.states import States
from pytest_draft.domain import Domain
from pytest_draft.errors import DataError, one_line


@dataclass(frozen=True, eq=False, repr=False)
class RowProblem:
    """What leaves say, and what the adversary knows of the rows behind them. Its repr shows no row."""

    domain: Domain
    """Of the rows as they are written."""
    states: States | None
    """Of its numeric attributes; None where there are none."""
    model: LeafModel
    """In the domain with numbers of states in place of numeric values."""
    value: Int32Array
    """Shape (n_slots, n_attributes). Index of each value that the adversary knows; -1 where it doesn't."""
    label: IntArray
    """Shape (n_slots,). Index of each label that it knows; -1 where it doesn't."""
    n_rows: tuple[int, int]
    """The fewest and the most rows: equal where the adversary knows how many there are, and then as many slots."""
    seen: BoolArray | None = field(default=None, kw_only=True)
    """Shape (n_slots, n_trees). Which trees have seen the row; None for all."""

    prior_rows: ClassVar[float] = 8.0
    """Rows that the prior of an attribute's values is worth at most; each value at most one."""

    @property
    def known(self) -> BoolArray:
        """Which slots hold a row that the adversary knows whole, shape (n_slots,)."""
        whole: BoolArray = (self.value >= 0).all(axis=1) & (self.label >= 0)
        return whole

    def indices(self, rows: NDArray[np.float32]) -> Int32Array:
        """Return the index of each value of rows as they are written, shape (n_rows, n_attributes).

        Raises
        ------
        DataError
            Where a value is outside of the domain.
        """
        return indices_of(self.domain, self.states, rows)

    def written(self, value: Int32Array) -> NDArray[np.float32]:
        """Return rows as they are written; of numeric columns a value inside of the state."""
        rows = self.model.domain.encoded(value)
        if self.states is not None:
            for a, attribute in enumerate(self.domain.attributes):
                if attribute.kind == "numeric":
                    rows[:, attribute.columns[0]] = self.states.guess(a, value[:, a].astype(np.int64))
        return rows


def indices_of(
    domain: Domain, states: States | None, rows: NDArray[np.float32], attributes: Sequence[int] | None = None
) -> Int32Array:
    """Return the index of each value of rows as they are written; -1 for attributes that are not asked for.

    Parameters
    ----------
    states : States or None
        As in `RowProblem`.
    rows : ndarray of float32, shape (n_rows, n_columns)
    attributes : sequence of int or None
        Positions; None for all.

    Raises
    ------
    DataError
        Where a value is outside of the domain.
    """
    found = np.full((len(rows), len(domain.attributes)), -1, dtype=np.int32)
    for a in range(len(domain.attributes)) if attributes is None else attributes:
        attribute = domain.attributes[a]
        columns = rows[:, list(attribute.columns)]
        if states is not None and attribute.kind == "numeric":
            found[:, a] = states.holding(a, columns[:, 0].astype(np.float64))
        else:
            found[:, a] = attribute.index(columns)
        if ((found[:, a] < 0) | attribute.outside(columns.astype(np.float64))).any():
            raise DataError(
                f"the domain of {one_line(domain.source)} excludes values of attribute {one_line(attribute.name)!r} "
                "that training rows hold: correct the domain"
            )
    return found
