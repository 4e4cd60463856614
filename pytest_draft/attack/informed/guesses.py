"""Guesses of somebody who knows all other rows, within what the file holds of each row.

Nobody can try every guesser. So several are tried, and the best one is taken for each column: an attacker who knows the
other rows can find out which that is, because it does best on them, too.

- *Inside*: the middle of the other rows' values that lie in the box; of a category the commonest.
- *Neighbours*: the same of those rows that lie nearest to the whole box, so that columns which go together inform each
  other.
- *Together*: a Gaussian copula of the other rows, cut to the box.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.informed.boxes import Held
from pytest_draft.compiling import compiled
from pytest_draft.domain import Attribute, Domain
from pytest_draft.matching import Weights, differences, encoded_weights
from pytest_draft.timebox import TimeBox

NEAREST = 10
"""How many of the rows nearest to a box are used."""

_FEWEST = 10
"""Fewest rows to learn from."""

_SHRINK = 0.02
"""Least shrinkage of correlations; more where there are many columns and few rows."""

_SWEEPS, _STILL = 30, 1e-7
"""Most sweeps over all columns, and what changes next to nothing, in standard deviations."""

_SINGULAR = 1e-12
"""What is nothing of the largest eigenvalue."""

_FOLDS = 5
"""Parts of the rows, of which each is guessed by what was learnt from the others."""

_INSIDE_WEIGHT = 0.01
"""Weight of a row's distance to the inside guess relative to its distance to the box, which is often 0."""


@dataclass(frozen=True, eq=False, repr=False)
class Guesser:
    """Guesses some rows from others. Its repr shows no row."""

    held: Held
    """Of the rows that are guessed, and of others to learn from."""
    rows: Rows
    """Shape (n_training_rows, n_columns)."""
    donors: IntArray
    """Shape (n_donors,). Positions of the rows that are known: a row that is guessed is left out for itself."""
    weights: Weights

    def inside(self) -> Rows:
        """Return the middle of the values of others that a box holds, shape (n_rows, n_columns)."""
        guess = np.empty((len(self.held.rows), self.rows.shape[1]), dtype=np.float32)
        is_donor = np.isin(self.held.rows, self.donors)
        for a, attribute in enumerate(self.held.domain.attributes):
            columns = list(attribute.columns)
            known, own = self.rows[:, columns][self.donors], self.rows[:, columns][self.held.rows]
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

    def commonest(self, inside: Rows) -> Rows:
        """Return what is most often exact: of a numeric column the commonest of the values of others in a box."""
        guess = inside.copy()
        is_donor = np.isin(self.held.rows, self.donors)
        for attribute in self.held.domain.attributes:
            column = attribute.columns[0]
            if attribute.kind != "numeric":
                continue
            known = self.rows[self.donors, column]
            values, times = np.unique(known[~np.isnan(known)].astype(np.float64), return_counts=True)
            own = np.where(is_donor, self.rows[self.held.rows, column].astype(np.float64), np.nan)
            found = _commonest_value(self.held.lower[:, column], self.held.upper[:, column], values, times, own)
            some = ~np.isnan(found) & ~np.isnan(inside[:, column])
            guess[some, column] = found[some]
        return guess

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
            own, max(number, 0), _INSIDE_WEIGHT,
        )  # fmt: skip

    def neighbours(self, inside: Rows, near: IntArray) -> Rows:
        """Return the middle of the values that the nearest rows have in a box, where there are any."""
        guess = inside.copy()
        if not near.shape[1]:
            return guess
        for a, attribute in enumerate(self.held.domain.attributes):
            columns = list(attribute.columns)
            theirs = self.rows[:, columns][self.donors[near]]
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

    def together(self, inside: Rows, labels: IntArray, timebox: TimeBox | None = None) -> Rows:
        """Return what columns reveal of each other that are normal together, each as a rank, in ordered columns.

        A Gaussian copula of the known rows, with the label as further columns: each value in turn is the middle of what
        its box holds of its distribution given all others (mean field). No row that is guessed may be a donor.

        Parameters
        ----------
        inside : ndarray of float32, shape (n_rows, n_columns)
        labels : ndarray of int64, shape (n_training_rows,)
            Those of the rows that are guessed are known, too: of the leaves.

        Raises
        ------
        OutOfTimeError
        """
        ordered, known = self._ordered, self.rows[self.donors].astype(np.float64)
        if len(known) < _FEWEST or not ordered:
            return inside.copy()
        n_columns, classes = inside.shape[1], labels[:, None] == np.unique(labels)[1:]
        values = [np.sort(column[~np.isnan(column)]) for column in known.T]
        score = np.column_stack([_scores(values, known, ("left", "right")), classes[self.donors]])
        spread = score.std(axis=0)
        centre, spread = score.mean(axis=0), np.where(spread > 0, spread, 1.0)
        shrink = _SHRINK * (1 + score.shape[1] / (score.shape[1] + len(score)))
        factor = _of_precision((score - centre) / spread, shrink)
        bounds = _scores(values, self.held.lower, ("left",)), _scores(values, self.held.upper, ("right",))
        low, high = ((end(*bounds) - centre[:n_columns]) / spread[:n_columns] for end in (np.minimum, np.maximum))
        place = np.column_stack(
            [np.clip(0.0, low, high), (classes[self.held.rows] - centre[n_columns:]) / spread[n_columns:]]
        )
        _settle(place, low, high, factor, 1 / shrink, timebox or TimeBox(math.inf))
        guess = inside.copy()
        for a in ordered:
            c = self.held.domain.attributes[a].columns[0]
            if not len(values[c]):
                continue
            level = ndtr(place[:, c] * spread[c] + centre[c])
            said = self._left(a, np.interp(level, (np.arange(len(values[c])) + 0.5) / len(values[c]), values[c]))
            guess[:, c] = np.where(np.isnan(guess[:, c]), np.nan, said)
        return guess

    @property
    def _ordered(self) -> list[int]:
        """Positions of the attributes that are numbers or codes."""
        kinds = [made.kind for made in self.held.domain.attributes]
        return [a for a, kind in enumerate(kinds) if kind in ("numeric", "ordinal")]

    def _left(self, attribute: int, said: FloatArray) -> FloatArray:
        """Return the values of an ordered attribute that are left and nearest to some numbers."""
        made = self.held.domain.attributes[attribute]
        low, high = self.held.lower[:, made.columns[0]], self.held.upper[:, made.columns[0]]
        if made.kind == "numeric":
            return np.clip(said, low, np.maximum(low, high))
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


def guesses_of(
    held: Held, everyone: KnownRows, mine: IntArray, donors: IntArray, timebox: TimeBox | None = None
) -> tuple[Rows, ...]:
    """Return what each guesser says of some rows.

    Parameters
    ----------
    mine : ndarray of int64, shape (n_rows,)
        Which rows are guessed, by their places in `held`.
    donors : ndarray of int64, shape (n_donors,)
        Training rows that are known: for each row that is guessed, without itself.

    Returns
    -------
    tuple of ndarray of float32, shape (n_rows, n_columns)
    """
    weights = encoded_weights(held.domain)
    guesser = Guesser(held.only(mine), everyone.rows, donors, weights)
    inside = guesser.inside()
    neighbours = guesser.neighbours(inside, guesser.near(inside))
    together = inside.copy()
    # What is learnt from rows must not have learnt from the row itself: each fold is guessed from the others.
    n_folds = _FOLDS if np.isin(held.rows[mine], donors).any() else 1
    for fold in np.array_split(np.random.default_rng(71).permutation(len(mine)), n_folds):
        others = np.setdiff1d(donors, held.rows[mine[fold]])
        learnt = Guesser(held.only(mine[fold]), everyone.rows, others, weights)
        together[fold] = learnt.together(inside[fold], everyone.labels, timebox)
    return inside, neighbours, together


def best_by_others(guesses: Sequence[Rows], truth: Rows, weights: Weights, domain: Domain) -> Rows:
    """Return of each value the guess of whoever does best on the other rows' values of that attribute.

    Parameters
    ----------
    guesses : sequence of ndarray of float32, shape (n_rows, n_columns)
    truth : ndarray of float32, shape (n_rows, n_columns)
    """
    best = guesses[0].copy()
    errors = np.stack([differences(truth, guess, weights) for guess in guesses])
    for attribute in domain.attributes:
        columns = list(attribute.columns)
        own = errors[:, :, columns].sum(axis=2)
        chosen = (own.sum(axis=1, keepdims=True) - own).argmin(axis=0)
        best[:, columns] = np.stack(guesses)[chosen, np.arange(len(truth))][:, columns]
    return best


def _scores(known: Sequence[FloatArray], values: FloatArray, sides: Sequence[Literal["left", "right"]]) -> FloatArray:
    """Return the normal scores of values by their ranks among each column's sorted ones; of a missing value 0."""
    rank = np.full(values.shape, 0.5)
    for c, (size, value) in enumerate(zip(known, values.T, strict=True)):
        if not len(size):
            continue
        place = sum(np.searchsorted(size, value, side=one) for one in sides) / len(sides)
        edge = 0.25 / len(size)
        rank[:, c] = np.where(np.isnan(value), 0.5, np.clip(place / len(size), edge, 1 - edge))
    found: FloatArray = ndtri(rank)
    return found


def _of_precision(standard: FloatArray, shrink: float) -> FloatArray:
    """Return F of the precision I / shrink - F @ F.T of shrunken correlations, shape (n_columns, at most n_rows)."""
    n_rows, n_columns = standard.shape
    if n_columns <= n_rows:
        size, axes = np.linalg.eigh(standard.T @ standard / n_rows)
    else:
        size, of_rows = np.linalg.eigh(standard @ standard.T / n_rows)
        of_rows, size = of_rows[:, size > _SINGULAR * size[-1]], size[size > _SINGULAR * size[-1]]
        axes = standard.T @ of_rows / np.sqrt(n_rows * size)
    told = (1 - shrink) * np.maximum(size, 0.0)
    return np.ascontiguousarray(axes * np.sqrt(told / (told + shrink) / shrink))


def _settle(
    place: FloatArray, low: FloatArray, high: FloatArray, factor: FloatArray, alone: float, timebox: TimeBox
) -> None:
    """Move each bounded column of each row to the middle of its distribution given all others, until all stay."""
    own = alone - (factor**2).sum(axis=1)
    rows, along = np.arange(len(place)), place @ factor
    for _ in range(_SWEEPS):
        farthest = np.zeros(len(rows))
        for c in range(low.shape[1]):
            timebox.require()
            before = place[rows, c]
            mean = before - (alone * before - along @ factor[c]) / own[c]
            moved = _middle(low[rows, c], high[rows, c], mean, own[c] ** -0.5) - before
            place[rows, c] += moved
            along += moved[:, None] * factor[c]
            farthest = np.maximum(farthest, np.abs(moved))
        left = farthest > _STILL
        rows, along = rows[left], along[left]
        if not len(rows):
            break


def _middle(low: FloatArray, high: FloatArray, mean: FloatArray, width: float) -> FloatArray:
    """Return the median of normal distributions between two bounds each."""
    half = (ndtr((low - mean) / width) + ndtr((high - mean) / width)) / 2
    inside = (half > 0) & (half < 1)
    middle = np.where(inside, mean + width * ndtri(np.where(inside, half, 0.5)), mean)
    return np.asarray(np.minimum(np.maximum(middle, low), high))


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


def _commonest_value(
    low: FloatArray, high: FloatArray, values: FloatArray, times: IntArray, own: FloatArray
) -> FloatArray:
    """Return the commonest of ascending values between bounds, where each row's own is taken out once; NaN for none."""
    found = np.full(len(low), np.nan)
    first, last = np.searchsorted(values, low), np.searchsorted(values, high, side="right")
    for i in np.flatnonzero(first < last):
        number = times[first[i] : last[i]] - (values[first[i] : last[i]] == own[i])
        if number.max() > 0:
            found[i] = values[first[i] + number.argmax()]
    return found


@compiled
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
