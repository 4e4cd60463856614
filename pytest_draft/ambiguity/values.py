"""Whole rows from sampled states: a value for every column, encoded as the domain says.

Trees do not tell the values of a state apart, so each is drawn as the population has them, between the bounds that
follow from all midpoints and decoded extremes, given the leaves (`pytest_draft.attack.numeric.midpoints`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.descent import descend
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.attack.numeric.midpoints import ABSENT, propagate_thresholds
from pytest_draft.attack.states import States
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True, eq=False, repr=False)
class StateValues:
    """How states become values. Its repr shows no row."""

    states: States
    fixed: BoolArray
    """Shape (n_rows, n_attributes). What the adversary knows."""
    times: Int32Array | None
    """Shape (n_trees, n_rows). How often each tree saw each row; None where nobody knows it, and midpoints are not
    heeded.
    """
    rows: Rows
    """Shape (n_rows, n_columns). The true ones: what the population has, and what rows keep that the adversary knows.
    """
    forest: Forest
    extremes: Extremes | None

    def __repr__(self) -> str:
        return f"StateValues({len(self.rows)} rows, not shown)"

    def of(self, state: IntArray, rng: np.random.Generator, timebox: TimeBox, *, with_file: bool = True) -> Rows | None:
        """Return values drawn for the states of all rows.

        Parameters
        ----------
        state : ndarray of int, shape (n_rows, n_attributes)
        timebox : TimeBox
            Of the bounds from midpoints.
        with_file : bool
            Whether the file's midpoints narrow the values.

        Returns
        -------
        ndarray of float32, shape (n_rows, n_columns), or None
            None where the time was out before all midpoints were heeded: values would be too far apart.
        """
        states, rows = self.states, np.empty_like(self.rows)
        numeric = []
        for a, attribute in enumerate(states.domain.attributes):
            own = state[:, a].astype(np.int64)
            columns = list(attribute.columns)
            if attribute.kind == "one-hot":
                rows[:, columns] = attribute.encoded(own)
            elif attribute.kind == "numeric":
                numeric.append((a, columns[0]))
            else:
                rows[:, columns[0]] = states.middle[a][own]
        for a, column in numeric:
            own = state[:, a].astype(np.int64)
            rows[:, column] = self._between(column, states.low[a][own], states.high[a][own], rng)
        if numeric and with_file and self.times is not None:
            narrowed = self._narrowed(rows, state, self.times, numeric, rng, timebox)
            if not narrowed:
                return None
        known = self.fixed
        if known.any():
            for a, attribute in enumerate(states.domain.attributes):
                for column in attribute.columns:
                    rows[known[:, a], column] = self.rows[known[:, a], column]
        return rows

    def _narrowed(
        self,
        rows: Rows,
        state: IntArray,
        times: Int32Array,
        numeric: list[tuple[int, int]],
        rng: np.random.Generator,
        timebox: TimeBox,
    ) -> bool:
        """Draw, in place, the values again that midpoints narrow further; say whether there was time for all."""
        states = self.states
        columns = np.ascontiguousarray(rows.T)
        leaves = np.stack(
            [np.where(times[t] > 0, descend(tree, columns), ABSENT) for t, tree in enumerate(self.forest.trees)]
        )
        found = propagate_thresholds(self.forest, states.domain, leaves, timebox, extremes=self.extremes)
        for a, column in numeric:
            if column in found.contradictory:
                continue
            own = state[:, a].astype(np.int64)
            low = np.maximum(states.low[a][own], found.lower[:, column])
            high = np.minimum(states.high[a][own], found.upper[:, column])
            fits = (low <= high) & ((low > states.low[a][own]) | (high < states.high[a][own]))
            rows[fits, column] = self._between(column, low[fits], high[fits], rng)
        return found.complete

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
