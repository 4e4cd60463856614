"""Compares rebuilt rows with true ones: their distance, and the rows that they share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import IntArray, Rows
from pytest_draft.errors import OutOfTimeError
from pytest_draft.evaluate.close_rows import Met, close_one_by_one, close_rows
from pytest_draft.facts.figures import Distance
from pytest_draft.matching import (
    MOST_ROWS,
    Weights,
    matched,
    matched_distance,
    paired_distance,
    row_identities,
    unmatched,
)
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True)
class Comparison:
    """Rows are matched; or, where each was attacked by itself, compared one by one."""

    alone: bool = False
    """Whether each row was attacked by itself (an informed adversary)."""
    share: float = 1.0
    """Of the guessed rows only this share counts, the first ones: each is matched to a true row of its own, and the
    other true rows are left over.
    """

    def distance(self, truth: Rows, guess: Rows, weights: Weights, timebox: TimeBox) -> Distance:
        """Return the mean distance of two equally large sets of rows."""
        if self.alone:
            return paired_distance(truth, guess, weights)
        if self.share == 1.0:
            return matched_distance(truth, guess, weights, timebox)
        guess = self._counting(guess)
        partners = self.partners(truth, guess, weights, timebox)
        if partners is None:
            return Distance(0.0, 1.0, None)
        return paired_distance(truth[partners], guess, weights)

    def partners(self, truth: Rows, guess: Rows, weights: Weights, timebox: TimeBox) -> IntArray | None:
        """Return the true row that each guess is compared with: the matching of least cost that distances come from.

        Parameters
        ----------
        truth : ndarray of float32, shape (n_rows, n_columns)
        guess : ndarray of float32, shape (n_guesses, n_columns)
            At most as many.

        Returns
        -------
        ndarray of int64, shape (n_guesses,), or None
            None where a matching takes too much memory, or the time did not suffice.
        """
        if self.alone:
            return np.arange(len(guess), dtype=np.int64)
        mine, theirs = row_identities(truth, guess)
        here, there = unmatched(mine, theirs)  # equal rows belong together, also where true rows are left over
        if len(here) * len(there) > MOST_ROWS**2:
            return None
        try:
            nearest = matched(guess[there], truth[here], _deciding_ties(weights, len(guess)), timebox)
        except OutOfTimeError:
            return None
        partners = np.empty(len(guess), dtype=np.int64)
        same, equal = np.setdiff1d(np.arange(len(truth)), here), np.setdiff1d(np.arange(len(guess)), there)
        partners[equal[np.argsort(theirs[equal])]] = same[np.argsort(mine[same])]
        partners[there] = here[nearest]
        return partners

    def met(self, truth: Rows, guess: Rows, weights: Weights, timebox: TimeBox) -> Met:
        """Return the true rows that are guessed perfectly: numeric columns to within a tolerance, all others right."""
        if not weights.tolerance.any():
            rows = self.perfect(truth, guess)
            return Met(rows, len(rows))
        if not self.alone:
            return close_rows(truth, self._counting(guess), weights.tolerance, timebox)
        rows = close_one_by_one(truth, guess, weights.tolerance)
        return Met(rows, len(rows))

    def perfect(self, truth: Rows, guess: Rows) -> IntArray:
        """Return the positions of true rows that are guessed perfectly, all columns right to the last bit."""
        guess = self._counting(guess)
        mine, theirs = row_identities(truth, guess)
        if self.alone:
            return np.flatnonzero(mine == theirs).astype(np.int64)
        missed = unmatched(mine, theirs)[0]
        return np.setdiff1d(np.arange(len(truth), dtype=np.int64), missed)

    def _counting(self, guess: Rows) -> Rows:
        return guess[: max(1, round(self.share * len(guess)))]


def _deciding_ties(weights: Weights, n_rows: int) -> Weights:
    """Return weights by which, of the cheapest matchings, the closest one on counted columns is the cheapest."""
    if weights.counted.all():
        return weights
    # Too small a share to change which matchings cost the least, and a power of two, as in `matched_distance`.
    share = 0.5 ** (math.ceil(math.log2(max(weights.total * n_rows, 1.0))) + 1)
    return weights.scaled(1 + share * weights.counted)
