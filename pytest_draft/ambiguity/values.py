"""Whole rows from sampled states: a value for every column, encoded as the domain says.

Trees do not tell the values of a state apart, so each is drawn as the population has them, between the bounds that
follow from all midpoints and decoded extremes, given the leaves (`pytest_draft.attack.numeric.midpoints`). Rows stay in
their leaves, so these bounds are the same for all datasets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_draft.ambiguity.explained import ExplainedRows
from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.descent import descend
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.attack.numeric.midpoints import ABSENT, propagate_thresholds
from pytest_draft.attack.states import States
from pytest_draft.errors import OutOfTimeError
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True, eq=False, repr=False)
class StateValues:
    """How states become values. Its repr shows no row."""

    states: States
    fixed: BoolArray
    """Shape (n_rows, n_attributes). What the adversary knows."""
    rows: Rows
    """Shape (n_rows, n_columns). The true ones: what the population has, and what rows keep that the adversary knows.
    """
    lower: FloatArray
    upper: FloatArray
    """`lower` and `upper`, shape (n_rows, n_columns): what follows of each row's values from all midpoints."""

    @classmethod
    def behind(
        cls, truth: ExplainedRows, rows: Rows, forest: Forest, extremes: Extremes | None, timebox: TimeBox
    ) -> StateValues:
        """Find out what midpoints tell of rows that stay in their leaves, once for all datasets.

        Raises
        ------
        OutOfTimeError
            Where not all midpoints were heeded: values would be too far apart.
        """
        columns, numeric = np.ascontiguousarray(rows.T), any(one.kind == "numeric" for one in truth.domain.attributes)
        lower, upper = np.full(rows.shape, -np.inf), np.full(rows.shape, np.inf)
        if numeric:
            leaves = [
                np.where(seen > 0, descend(tree, columns), ABSENT)
                for seen, tree in zip(truth.times, forest.trees, strict=True)
            ]
            found = propagate_thresholds(forest, truth.domain, np.stack(leaves), timebox, extremes=extremes)
            if not found.complete:
                raise OutOfTimeError
            sound = np.setdiff1d(np.arange(rows.shape[1]), list(found.contradictory))
            lower[:, sound], upper[:, sound] = found.lower[:, sound], found.upper[:, sound]
        return cls(truth.states, truth.fixed, rows, lower, upper)

    def __repr__(self) -> str:
        return f"StateValues({len(self.rows)} rows, not shown)"

    def of(self, state: IntArray, rng: np.random.Generator, *, with_file: bool = True) -> Rows:
        """Return values drawn for the states of all rows, shape (n_rows, n_columns).

        Parameters
        ----------
        state : ndarray of int, shape (n_rows, n_attributes)
        with_file : bool
            Whether the file's midpoints narrow the values.
        """
        states, rows = self.states, np.empty_like(self.rows)
        for a, attribute in enumerate(states.domain.attributes):
            own, columns = state[:, a].astype(np.int64), list(attribute.columns)
            if attribute.kind == "one-hot":
                rows[:, columns] = attribute.encoded(own)
            elif attribute.kind != "numeric":
                rows[:, columns[0]] = states.middle[a][own]
            else:
                (column,), low, high = columns, states.low[a][own], states.high[a][own]
                if with_file:
                    least, most = np.maximum(low, self.lower[:, column]), np.minimum(high, self.upper[:, column])
                    fits = least <= most
                    low, high = np.where(fits, least, low), np.where(fits, most, high)
                rows[:, column] = self._between(column, low, high, rng)
            rows[:, columns] = np.where(self.fixed[:, [a]], self.rows[:, columns], rows[:, columns])
        return rows

    def _between(self, column: int, low: FloatArray, high: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return values between bounds, missing ones where these are, drawn as the column's own are spread."""
        own = np.sort(self.rows[~np.isnan(self.rows[:, column]), column].astype(np.float64))
        if not len(own):
            return (low + high) / 2
        rank = (np.arange(len(own)) + 0.5) / len(own)
        left, right = np.searchsorted(own, low, side="left"), np.searchsorted(own, high, side="right")
        below = np.interp(low, own, rank)
        # Ties are steps: from below the first to above the last of equal values.
        below = np.where(right > left, np.minimum(below, (left + 0.0) / len(own)), below)
        above = np.interp(high, own, rank)
        above = np.where(right > left, np.maximum(above, (right + 0.0) / len(own)), above)
        level = below + (above - below) * rng.random(len(low))
        value = np.interp(level, rank, own)
        even = low + (high - low) * rng.random(len(low))
        value = np.where((right > left) & (above > below), value, even)
        drawn: FloatArray = np.clip(value, low, high)
        return drawn
