"""What somebody guesses who knows all other rows: in goes what a file holds of each, out come guesses.

Nobody can try every guesser, so several are, and the one that does best in a column is taken for it: whoever knows the
other rows can find out which, because it does best on them, too.

- *Inside*: the middle of the other rows' values that lie in the box; of a category the commonest.
- *Neighbours*: the same of those rows that lie nearest to the whole box, so that columns which go together tell of each
  other.
- *Lines*: a ridge regression on what boxes leave of all columns, fitted on the other rows, whose boxes are known, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.attack.informed.boxes import Held
from pytest_draft.domain import Attribute
from pytest_draft.matching import Weights

NEAREST = 10
"""Rows near a box whose values are looked at."""

_RIDGE = 0.01
"""Of standardised columns, for each row."""

_BESIDE = 0.01
"""How much a row's distance to the guess inside counts beside its distance to the box, which is 0 for many."""


@dataclass(frozen=True, eq=False, repr=False)
class Guesser:
    """Whoever guesses some rows from others. Its repr shows no row.

    Attributes
    ----------
    held : Held
        Of the rows that are guessed, and of others to learn from.
    rows : ndarray of float32, shape (n_training_rows, n_columns)
    donors : ndarray of int64, shape (n_donors,)
        Positions of the rows that are known: a row that is guessed is left out for itself.
    weights : Weights
    """

    held: Held
    rows: Rows
    donors: IntArray
    weights: Weights

    def __repr__(self) -> str:
        return f"Guesser({len(self.held.rows)} rows, not shown)"

    def inside(self) -> Rows:
        """Return the middle of the values of others that a box holds, shape (n_rows, n_columns)."""
        guess = np.empty((len(self.held.rows), self.rows.shape[1]), dtype=np.float32)
        is_donor = np.isin(self.held.rows, self.donors)
        for a, attribute in enumerate(self.held.domain.attributes):
            columns = list(attribute.columns)
            known, own = self.rows[self.donors][:, columns], self.rows[self.held.rows][:, columns]
            if attribute.kind == "numeric":
                guess[:, columns[0]] = self._middle(
                    attribute, known[:, 0].astype(np.float64), own[:, 0].astype(np.float64), is_donor
                )
                continue
            left = self.held.states(a)
            number = np.tile(np.bincount(_state(attribute, known), minlength=attribute.n_states), (len(own), 1))
            number[is_donor, _state(attribute, own)[is_donor]] -= 1
            guess[:, columns] = _encoded(attribute, _commonest(attribute, left, number))
        return guess

    def _middle(self, attribute: Attribute, known: FloatArray, own: FloatArray, is_donor: BoolArray) -> FloatArray:
        """Return the median of a numeric column's known values in each box, without the row's own."""
        column = attribute.columns[0]
        low, high = self.held.lower[:, column], self.held.upper[:, column]
        values, missing = np.sort(known[~np.isnan(known)]), np.isnan(known).sum()
        left, right = np.searchsorted(values, low, side="left"), np.searchsorted(values, high, side="right")
        inside = is_donor & (low <= own) & (own <= high)
        number = right - left - inside
        at = left + (np.maximum(number, 1) - 1) // 2
        at += inside & (at >= np.searchsorted(values, own, side="left"))
        guess = (np.minimum(low, 3e38) + np.maximum(high, -3e38)) / 2
        if len(values):
            guess = np.where(number > 0, values[np.minimum(at, len(values) - 1)], guess)
        others_missing = missing - (is_donor & np.isnan(own))
        is_missing = self.held.may_miss[:, column] & ((others_missing > number) | (low > high))
        middle: FloatArray = np.where(is_missing, np.nan, np.clip(guess, low, np.maximum(low, high)))
        return middle

    def near(self, inside: Rows, number: int = NEAREST) -> IntArray:
        """Return the donors that lie nearest to each box, the nearest first, shape (n_rows, at most `number`)."""
        measured, guess = (self.weights.measured(rows) for rows in (self.rows[self.donors], inside))
        low, high = (self.weights.measured(np.clip(bound, -3e38, 3e38)) for bound in (self.held.lower, self.held.upper))
        own = np.full(len(self.held.rows), -1, dtype=np.int64)
        place = np.full(len(self.rows), -1, dtype=np.int64)
        place[self.donors] = np.arange(len(self.donors))
        own[:] = place[self.held.rows]
        number = min(number, len(self.donors) - int((own >= 0).any()))
        return _nearest(
            low, high, self.held.may_miss, measured, np.nan_to_num(guess), self.weights.columns, self.weights.missing,
            own, max(number, 0), _BESIDE,
        )  # fmt: skip

    def neighbours(self, inside: Rows, near: IntArray) -> Rows:
        """Return the middle of the values that the nearest rows have in a box, where there are any."""
        guess = inside.copy()
        if not near.shape[1]:
            return guess
        for a, attribute in enumerate(self.held.domain.attributes):
            columns = list(attribute.columns)
            theirs = self.rows[self.donors][near][:, :, columns]
            if attribute.kind == "numeric":
                column = columns[0]
                low, high = self.held.lower[:, [column]], self.held.upper[:, [column]]
                value = np.where((low <= theirs[:, :, 0]) & (theirs[:, :, 0] <= high), theirs[:, :, 0], np.nan)
                some = ~np.isnan(value).all(axis=1) & ~np.isnan(inside[:, column])
                guess[some, column] = np.nanmedian(value[some], axis=1)
                continue
            left, state = self.held.states(a), _state(attribute, theirs.reshape(-1, len(columns))).reshape(near.shape)
            counted = np.zeros(left.shape, dtype=np.int64)
            np.add.at(counted, (np.arange(len(near))[:, None], state), 1)
            some = np.asarray((counted * left).any(axis=1))
            encoded = _encoded(attribute, _commonest(attribute, left, counted))
            guess[:, columns] = np.where(some[:, None], encoded, guess[:, columns])
        return guess

    def lines(self, inside: Rows, learners: BoolArray) -> Rows:
        """Return what a ridge regression says, in numeric and ordinal columns: of the latter the nearest that is left.

        Of a learner that is guessed, its own value stays among those that the others' middles are taken of.

        Parameters
        ----------
        inside : ndarray of float32, shape (n_rows, n_columns)
        learners : ndarray of bool, shape (n_rows,)
            Which rows of `held` are known: it is fitted on these, without the row that is guessed.
        """
        guess = inside.copy()
        kinds = [made.kind for made in self.held.domain.attributes]
        ordered = [a for a, kind in enumerate(kinds) if kind in ("numeric", "ordinal")]
        n_features = 3 * inside.shape[1]
        if not ordered or learners.sum() <= n_features:
            return guess
        centre = np.nan_to_num(inside.astype(np.float64))
        bounds = (np.clip(bound, -3e38, 3e38) for bound in (self.held.lower, self.held.upper))
        features = np.column_stack([centre, *bounds])
        spread = features[learners].std(axis=0)
        features = (features - features[learners].mean(axis=0)) / np.where(spread > 0, spread, np.inf)
        features = np.column_stack([np.ones(len(features)), features])
        known = features[learners]
        inverse = np.linalg.inv(known.T @ known + _RIDGE * len(known) * np.eye(features.shape[1]))
        leverage = ((features @ inverse) * features).sum(axis=1) * learners
        for a in ordered:
            column = self.held.domain.attributes[a].columns[0]
            target = self.rows[self.held.rows, column].astype(np.float64)
            filled = np.where(np.isnan(target), centre[:, column], target)
            said = features @ (inverse @ (known.T @ filled[learners]))
            said = np.where(learners, said - leverage * (filled - said) / (1 - leverage), said)
            low, high = self.held.lower[:, column], self.held.upper[:, column]
            present = ~np.isnan(inside[:, column])
            said = np.clip(said, low, np.maximum(low, high)) if kinds[a] == "numeric" else self._nearest_left(a, said)
            guess[present, column] = said[present]
        return guess

    def _nearest_left(self, attribute: int, said: FloatArray) -> FloatArray:
        """Return the values of an ordered attribute that are left and nearest to some numbers."""
        made = self.held.domain.attributes[attribute]
        value = made.encoded(np.arange(made.n_states - made.missing))[:, 0].astype(np.float64)
        left = self.held.states(attribute)[:, : len(value)]
        nearest: FloatArray = value[np.where(left, np.abs(value - said[:, None]), np.inf).argmin(axis=1)]
        return nearest

    def copied(self, inside: Rows, near: IntArray, rng: np.random.Generator) -> Rows:
        """Return for each row one of the nearest others, with what the box does not hold as it is inside."""
        if not near.shape[1]:
            return inside.copy()
        drawn = near[np.arange(len(near)), rng.integers(near.shape[1], size=len(near))]
        guess = self.rows[self.donors][drawn]
        for a, attribute in enumerate(self.held.domain.attributes):
            columns = list(attribute.columns)
            if attribute.kind == "numeric":
                low, high = self.held.lower[:, columns[0]], self.held.upper[:, columns[0]]
                value = guess[:, columns[0]]
                fits = np.where(np.isnan(value), self.held.may_miss[:, columns[0]], (low <= value) & (value <= high))
            else:
                fits = self.held.states(a)[np.arange(len(guess)), _state(attribute, guess[:, columns])]
            guess[:, columns] = np.where(fits[:, None], guess[:, columns], inside[:, columns])
        return guess


def _state(attribute: Attribute, columns: Rows) -> IntArray:
    """Return the place of each value among a discrete attribute's, a missing one as the last."""
    if not attribute.missing:
        return attribute.index(columns)
    value = columns[:, 0].astype(np.float64)
    is_missing = np.isnan(value)
    book = attribute.book
    state = np.searchsorted((book[1:] + book[:-1]) / 2, np.where(is_missing, book[0], value))
    return np.where(is_missing, len(book), state).astype(np.int64)


def _encoded(attribute: Attribute, state: IntArray) -> Rows:
    """Return the encoded columns of such places."""
    is_missing = np.full(len(state), attribute.missing) & (state == attribute.n_states - 1)
    encoded = attribute.encoded(np.where(is_missing, 0, state))
    encoded[is_missing] = np.nan
    return encoded


def _commonest(attribute: Attribute, left: BoolArray, number: IntArray) -> IntArray:
    """Return the middle of ordered values, the commonest of others, among those that are left, shape (n_rows,)."""
    weight = np.where(left, number + 1e-6, 0.0)
    if attribute.kind != "ordinal" or attribute.missing:
        return np.asarray(weight.argmax(axis=1), dtype=np.int64)
    below = np.cumsum(weight, axis=1)
    return np.asarray((below >= below[:, -1:] / 2).argmax(axis=1), dtype=np.int64)


@njit(cache=True, nogil=True)
def _nearest(
    low: FloatArray,
    high: FloatArray,
    may_miss: BoolArray,
    known: FloatArray,
    guess: FloatArray,
    weight: FloatArray,
    missing: FloatArray,
    own: IntArray,
    number: int,
    beside: float,
) -> IntArray:
    """Return the known rows that are nearest to each box, ties by their distance to the guess."""
    found = np.empty((len(low), number), dtype=np.int64)
    reached = np.empty(number)
    for i in range(len(low)):
        reached[:] = np.inf
        for j in range(len(known)):
            if j == own[i]:
                continue
            far = 0.0
            for f in range(known.shape[1]):
                value = known[j, f]
                if np.isnan(value):
                    far += 0.0 if may_miss[i, f] else missing[f]
                else:
                    outside = max(low[i, f] - value, value - high[i, f], 0.0)
                    far += weight[f] * (outside + beside * abs(value - guess[i, f]))
                if number and far >= reached[-1]:
                    break
            if not number or far >= reached[-1]:
                continue
            at = number - 1
            while at and reached[at - 1] > far:
                reached[at], found[i, at] = reached[at - 1], found[i, at - 1]
                at -= 1
            reached[at], found[i, at] = far, j
    return found
