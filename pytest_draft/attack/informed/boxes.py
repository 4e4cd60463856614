"""The boxes that a file leaves for each row when all other rows are known: `Held`.

Given all other rows, a row must lie in its own leaf of every tree that drew it: moving it anywhere else would change
that leaf's count. The counts leave exactly the intersection of these leaves' boxes, in one pass over the trees. Where
the others leave a threshold unexplained, the row itself is one of its two neighbours, and its value is twice the
threshold less the other one. So every row is used to find its own box; but the box is a function of the file and of the
other rows alone, which is tested by trying every value that a row can have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.informed.ends import Ends
from pytest_draft.attack.informed.gaps import gaps_of
from pytest_draft.attack.informed.splits import alone, sides_of, splits_of
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.attack.observations import unexplained
from pytest_draft.domain import Domain


@dataclass(frozen=True, eq=False, repr=False)
class Held:
    """What a file leaves of some rows, of each by itself. Its repr shows no row."""

    domain: Domain
    rows: IntArray
    """Shape (n_rows,). Which of the training rows these are."""
    lower: FloatArray
    upper: FloatArray
    """`lower` and `upper`, shape (n_rows, n_columns): between which the encoded values lie, both included; the same
    where the value is determined.
    """
    may_miss: BoolArray
    """Shape (n_rows, n_columns). Where it may be missing instead."""

    def __repr__(self) -> str:
        return f"Held({len(self.rows)} rows, not shown)"

    def only(self, which: IntArray) -> Held:
        """Return what is held of some of the rows, given by their places here."""
        lower, upper = self.lower[which], self.upper[which]
        return replace(self, rows=self.rows[which], lower=lower, upper=upper, may_miss=self.may_miss[which])

    def with_known(self, rows: Rows, known: Sequence[int]) -> Held:
        """Return what is left where some attributes are known in every row.

        Parameters
        ----------
        rows : ndarray of float32, shape (n_training_rows, n_columns)
        """
        columns = self.domain.columns_of(known)
        if not columns:
            return self
        lower, upper, may_miss = self.lower.copy(), self.upper.copy(), self.may_miss.copy()
        value = rows[self.rows][:, columns].astype(np.float64)
        missing = np.isnan(value)
        lower[:, columns], upper[:, columns] = np.where(missing, np.inf, value), np.where(missing, -np.inf, value)
        may_miss[:, columns] = missing
        return replace(self, lower=lower, upper=upper, may_miss=may_miss)

    def states(self, attribute: int) -> BoolArray:
        """Return which values of a discrete attribute are left, shape (n_rows, n_states), a missing one as the last."""
        made = self.domain.attributes[attribute]
        columns = list(made.columns)
        value = made.encoded(np.arange(made.n_states - made.missing)).astype(np.float64)
        low, high = self.lower[:, None, columns], self.upper[:, None, columns]
        left = np.asarray(((low <= value) & (value <= high)).all(axis=2))
        return np.column_stack([left, self.may_miss[:, columns[0]]]) if made.missing else left

    def determined(self) -> BoolArray:
        """Return which values have no other value left, shape (n_rows, n_attributes)."""
        determined = np.empty((len(self.rows), len(self.domain.attributes)), dtype=bool)
        for a, attribute in enumerate(self.domain.attributes):
            column = attribute.columns[0]
            if attribute.kind != "numeric":
                determined[:, a] = self.states(a).sum(axis=1) <= 1
                continue
            low, high = self.lower[:, column], self.upper[:, column]
            determined[:, a] = np.where(self.may_miss[:, column], low > high, low >= high)
        return determined


def held_of(
    forest: Forest,
    domain: Domain,
    everyone: KnownRows,
    rows: IntArray,
    extremes: Extremes | None = None,
    ends: Ends | None = None,
) -> Held | None:
    """Return what a file holds of some rows, of each when all others are known.

    Parameters
    ----------
    forest : Forest
        With exact counts.
    everyone : KnownRows
        All training rows, with how often each tree drew them.
    rows : ndarray of int64, shape (n_rows,)
        Positions of those that are asked about.
    extremes : Extremes or None
        Of the nodes of random splits.
    ends : Ends or None
        Of midpoints, where it is not known which rows each tree drew. (The forest's counts are then those of all rows
        in all trees, which reveal more of each than there is to know.)

    Returns
    -------
    Held or None
        None where the rows do not explain the file, so that nothing follows from them.
    """
    if domain.outside(everyone.rows.astype(np.float64)) or unexplained(forest, everyone):
        return None
    splits = splits_of(forest, domain, everyone.rows, everyone.weight, extremes)
    if splits is None:
        return None
    may_miss = np.tile(domain.by_column(lambda attribute: attribute.missing), (len(rows), 1))
    bounds, is_pinned = np.tile(domain.reach, (len(rows), 1, 1)), np.zeros_like(may_miss)
    alone(splits, sides_of(splits), rows, bounds, is_pinned, may_miss)
    if ends is not None:
        ends.narrow(rows, bounds, is_pinned)
    value = everyone.rows[rows].astype(np.float64)
    lower, upper = np.where(is_pinned, value, -bounds[:, :, 1]), np.where(is_pinned, value, bounds[:, :, 0])
    for column, gaps in gaps_of(forest, domain, everyone.rows):
        is_pinned[:, column] |= gaps.leave(value[:, column], lower[:, column], upper[:, column])
    return Held(domain, rows, lower, upper, may_miss & ~is_pinned)
