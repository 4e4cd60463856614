"""What each attribute can be, as far as the forest tells values apart: in go forest and domain, out come states.

A numeric attribute's states are the intervals between its thresholds or, where the thresholds show that its values are
decimals and there are few of them, these decimals. Values that are known to occur are states of their own. All bounds
are values that float32, in which trees compare, can hold: a state has no value that some tree sends elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.best_splits import float32_at_most, midpoints_of
from pytest_draft.domain import Attribute, Domain, nearest

MOST_POINTS = 256
"""Most values that a numeric attribute's states are, rather than intervals."""

_GRIDS = tuple(10.0**-p for p in range(7))
"""Steps of the decimal grids that thresholds are looked for on, the coarsest first."""

_COINCIDENCE = 1e-9
"""Most chance that all thresholds lie on a grid by coincidence."""


@dataclass(frozen=True, eq=False, repr=False)
class States:
    """The states of each attribute."""

    domain: Domain
    low: tuple[FloatArray, ...]
    high: tuple[FloatArray, ...]
    """`low` and `high`: by attribute: least and greatest value of each state, ascending, a missing value last (NaN). Of
    a one-hot group the positions of its columns, and one more where a value has none.
    """
    cuts: tuple[FloatArray, ...]
    """By attribute: thresholds on its one column, ascending; empty for a one-hot group."""
    step: FloatArray
    """Shape (n_attributes,). What the values are multiples of; NaN where that is not known, and for code books that are
    not whole numbers.
    """

    def __repr__(self) -> str:
        return f"States({sum(map(len, self.low)):,} states of {len(self.low)} attributes)"

    @cached_property
    def n_states(self) -> IntArray:
        """Number of states of each attribute, shape (n_attributes,)."""
        return np.array([len(low) for low in self.low])

    @cached_property
    def ends(self) -> tuple[FloatArray, ...]:
        """The greatest value of each state but a missing one, by attribute: what thresholds part (`cuts_of`)."""
        return tuple(high[~np.isnan(high)] for high in self.high)

    def guess(self, a: int, state: IntArray) -> FloatArray:
        """Return a value for states of a numeric attribute: the middle or, where it is inside, the nearest multiple.

        No multiple may be inside: what lies between two of them can be a state, though no training row has it.
        """
        low, high = self.low[a][state], self.high[a][state]
        middle = (low + high) / 2
        multiple = self.rounded(a, middle)
        stored = multiple.astype(np.float32)
        return np.where((low <= stored) & (stored <= high), multiple, middle)

    def rounded(self, a: int, value: FloatArray) -> FloatArray:
        """Return values of an attribute's one column as codes of its book or, where known, as multiples of its step."""
        attribute, step = self.domain.attributes[a], self.step[a]
        if attribute.values is not None:
            return np.where(np.isnan(value), np.nan, attribute.book[nearest(attribute.book, value)])
        if np.isnan(step) or attribute.low == attribute.high:
            return value
        multiple: FloatArray = np.clip(np.rint(value / step) * step, attribute.low, attribute.high)
        return multiple

    @cached_property
    def middle(self) -> tuple[FloatArray, ...]:
        """A value in the middle of each state, by attribute."""
        return tuple((low + high) / 2 for low, high in zip(self.low, self.high, strict=True))

    def holding(self, a: int, value: FloatArray) -> IntArray:
        """Return the state that holds each value of an attribute's one column; -1 for none."""
        low, high = self.low[a], self.high[a]
        known = ~np.isnan(low)
        place = np.searchsorted(low[known], value, side="right") - 1
        inside = (place >= 0) & (value <= high[known][np.maximum(place, 0)])
        state = np.where(inside, place, -1)
        return np.where(np.isnan(value) & ~known.all(), len(low) - 1, state).astype(np.int64)

    def of_rows(self, rows: NDArray[np.float32]) -> IntArray:
        """Return the state of each attribute of encoded rows, shape (n_rows, n_attributes); -1 for none."""
        found = np.empty((len(rows), len(self.low)), dtype=np.int64)
        for a, attribute in enumerate(self.domain.attributes):
            columns = rows[:, list(attribute.columns)]
            is_group = attribute.kind == "one-hot"
            found[:, a] = attribute.index(columns) if is_group else self.holding(a, columns[:, 0].astype(np.float64))
        return found


def thresholds_of(forest: Forest, which: Sequence[BoolArray] | None = None) -> list[FloatArray]:
    """Return the thresholds on each column, ascending, each once, without those that only part missing values off.

    Of some nodes of each tree, where these are given.
    """
    feature = np.concatenate([tree.feature for tree in forest.trees])
    threshold = np.concatenate([tree.threshold for tree in forest.trees])
    finite = np.isfinite(threshold)
    if which is not None:
        finite &= np.concatenate(which)
    feature, threshold = feature[finite], threshold[finite]
    order = np.argsort(feature, kind="stable")
    start = np.searchsorted(feature[order], np.arange(forest.n_features + 1))
    return [np.unique(threshold[order[start[f] : start[f + 1]]]) for f in range(forest.n_features)]


def states_of(forest: Forest, domain: Domain, known_values: Mapping[int, FloatArray], *, points: bool = True) -> States:
    """Return what each attribute can be.

    Parameters
    ----------
    known_values : mapping of int to ndarray of float64
        By column, values that are known to occur.
    points : bool
        Whether few decimals are states each; else only intervals are.
    """
    thresholds = thresholds_of(forest)
    midpoints = thresholds_of(forest, midpoints_of(forest)) if forest.splitter == "best" else None
    low, high = [], []
    step = np.array([1.0 if attribute.gapless else np.nan for attribute in domain.attributes])
    for a, attribute in enumerate(domain.attributes):
        if attribute.kind == "one-hot":
            bottom = top = np.arange(attribute.n_states, dtype=np.float64)
        elif attribute.kind in ("binary", "ordinal"):
            bottom = top = np.unique(attribute.book.astype(np.float32)).astype(np.float64)
            if attribute.missing:
                bottom = top = np.append(bottom, np.nan)
        else:
            column = attribute.columns[0]
            known = known_values.get(column, np.empty(0))
            step[a] = decimal_step(attribute, known if midpoints is None else midpoints[column] * 2)
            bottom, top = _numeric_states(attribute, thresholds[column], known, step[a] if points else np.nan)
        low.append(bottom)
        high.append(top)
    cuts = tuple(thresholds[a.columns[0]] if len(a.columns) == 1 else np.empty(0) for a in domain.attributes)
    return States(domain, tuple(low), tuple(high), cuts, step)


def decimal_step(attribute: Attribute, values: FloatArray) -> float:
    """Return the largest power of ten that some values are multiples of, but for float32; NaN for none.

    Parameters
    ----------
    attribute : Attribute
        Its bounds must be multiples too.
    values : ndarray of float64, shape (n,)
        Sums of two values of a column, or values.
    """
    bounds = np.array([attribute.low, attribute.high])
    slack = 2.0**-23 * np.maximum(np.abs(values), np.abs(bounds).max())
    for step in _GRIDS if len(values) else ():
        fits = np.abs(bounds - np.rint(bounds / step) * step) <= 2.0**-23 * np.abs(bounds)
        if not fits.all() or (np.abs(values - np.rint(values / step) * step) > slack).any():
            continue
        if np.prod(np.minimum(1.0, 2 * slack / step)) < _COINCIDENCE:
            return step
    return float("nan")


def _numeric_states(
    attribute: Attribute, thresholds: FloatArray, known: FloatArray, step: float
) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of a numeric attribute's states."""
    least, most = float(np.float32(attribute.low)), float(np.float32(attribute.high))
    inside = thresholds[(thresholds >= least) & (thresholds < most)]
    below = np.unique(float32_at_most(inside))
    top = np.append(below, most)
    bottom = np.insert(np.nextafter(below.astype(np.float32), np.float32(np.inf)).astype(np.float64), 0, least)
    if not np.isnan(step) and (most - least) / step < MOST_POINTS:
        points = np.float32(np.arange(np.rint(least / step), np.rint(most / step) + 1) * step).astype(np.float64)
        known = np.concatenate([known, np.clip(points, least, most)])
    known = np.unique(known[(known >= least) & (known <= most)])
    for value in known:
        place = int(np.searchsorted(bottom, value, side="right")) - 1
        if bottom[place] == top[place]:
            continue
        before, behind = (float(np.nextafter(np.float32(value), np.float32(end))) for end in (-np.inf, np.inf))
        pieces = [(bottom[place], before), (value, value), (behind, top[place])]
        kept = [(a, b) for a, b in pieces if a <= b]
        bottom = np.concatenate([bottom[:place], [a for a, _ in kept], bottom[place + 1 :]])
        top = np.concatenate([top[:place], [b for _, b in kept], top[place + 1 :]])
    if attribute.missing:
        bottom, top = np.append(bottom, np.nan), np.append(top, np.nan)
    return bottom, top


def points_of(states: States, a: int, values: FloatArray) -> IntArray:
    """Return the state of each value that is one by itself; -1 for all others."""
    state = np.where(np.isnan(values), -1, states.holding(a, values))
    low, high = states.low[a][state], states.high[a][state]
    return np.where((state >= 0) & (low == high), state, -1)
