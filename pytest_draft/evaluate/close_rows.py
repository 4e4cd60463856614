"""Which true rows are met where columns are numeric: a maximum matching of true and guessed rows.

A guess meets a true row when each value is the same, or in numeric columns differs by no more than a tolerance. That is
not transitive, so equal rows cannot be paired off first: as many pairs as possible are a maximum matching of the graph
of close pairs, by augmenting paths (SciPy's takes minutes where a few thousand rows are close to most others). The
pairs are listed from the column that leaves the fewest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import Flag, FloatArray, IntArray, Rows
from pytest_draft.compiling import compiled
from pytest_draft.facts.certificate import Bounds
from pytest_draft.matching import gaps, row_identities, unmatched
from pytest_draft.timebox import TimeBox

MOST_PAIRS = 10_000_000
"""About as many close pairs are listed, the same number for each row: 4 bytes a pair, and time to match them."""


@dataclass(frozen=True, eq=False)
class Met:
    """True rows that were met."""

    rows: IntArray
    """Shape (n_met,). Their positions, in order."""
    most: int
    """No matching meets more; as many as `rows` where it is known to be a maximum one."""

    @property
    def number(self) -> Bounds:
        """How many are met."""
        return Bounds(len(self.rows), self.most)


def close_rows(truth: Rows, guess: Rows, tolerance: FloatArray, timebox: TimeBox) -> Met:
    """Match as many guessed rows as possible to true rows that are close.

    Parameters
    ----------
    truth : ndarray of float32, shape (n_rows, n_columns)
    guess : ndarray of float32, shape (n_guesses, n_columns)
    tolerance : ndarray of float64, shape (n_columns,)
        The largest difference of close values. A missing value is close to a missing one only.

    Returns
    -------
    Met
        Bounds where more than some `MOST_PAIRS` pairs are close, or the time did not suffice to list or match them;
        then equal rows are met.
    """
    if not len(truth):
        return Met(np.empty(0, dtype=np.int64), 0)
    left, right = _without_missing(truth, guess, tolerance)
    windows = [_window(left[:, c], np.sort(right[:, c]), tolerance[c]) for c in range(len(tolerance))]
    order = np.argsort([int((last - first).sum()) for first, last in windows], kind="stable")
    first, last = windows[order[0]]
    right = right[np.argsort(right[:, order[0]], kind="stable")]
    left, right = np.ascontiguousarray(left[:, order]), np.ascontiguousarray(right[:, order])
    rank = np.argsort(np.argsort(left[:, 0], kind="stable"), kind="stable")
    with timebox.flag() as stop:
        start, found, complete = _close(
            left, right, tolerance[order], first, last, rank, MOST_PAIRS // len(truth) + 1, stop
        )
        rows = np.flatnonzero(_matched(start, found, len(guess), stop) >= 0).astype(np.int64)
        stopped = bool(stop[0])
    if stopped:
        missed = unmatched(*row_identities(truth, guess))[0]
        equal = np.setdiff1d(np.arange(len(truth), dtype=np.int64), missed)
        return Met(max(equal, rows, key=len), min(len(truth), len(guess)))
    return Met(rows, len(rows) if complete else min(int((np.diff(start) > 0).sum()), len(guess)))


def close_one_by_one(truth: Rows, guess: Rows, tolerance: FloatArray) -> IntArray:
    """Return the positions of true rows that are close to the guess in the same place.

    Parameters
    ----------
    truth, guess : ndarray of float32, shape (n_rows, n_columns)
    tolerance : ndarray of float64, shape (n_columns,)
    """
    apart, one_missing = gaps(truth, guess)
    return np.flatnonzero(((apart <= tolerance) & ~one_missing).all(axis=1)).astype(np.int64)


def _without_missing(truth: Rows, guess: Rows, tolerance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rows with each missing value as one that is close to no present one."""
    both = np.concatenate([truth, guess]).astype(np.float64)
    present = np.where(np.isnan(both), -np.inf, both).max(axis=0)
    largest = np.where(np.isinf(present), 0.0, present)
    both = np.where(np.isnan(both), largest + np.abs(largest) + 2 * tolerance + 1.0, both)
    return both[: len(truth)], both[len(truth) :]


def _window(values: FloatArray, others: FloatArray, tolerance: float) -> tuple[IntArray, IntArray]:
    """Return the first and the last but one of the sorted others that can be close to each value."""
    slack = tolerance * (1 + 1e-9)  # sums round otherwise than differences, which decide
    first = np.searchsorted(others, np.nextafter(values - slack, -np.inf), side="left")
    last = np.searchsorted(others, np.nextafter(values + slack, np.inf), side="right")
    return first.astype(np.int64), last.astype(np.int64)


@compiled
def _close(
    left: FloatArray,
    right: FloatArray,
    tolerance: FloatArray,
    first: IntArray,
    last: IntArray,
    begin: IntArray,
    most: int,
    stop: Flag,
) -> tuple[IntArray, NDArray[np.int32], bool]:
    """Return where the close rows of each row start in the list of all, that list, and whether none was left out.

    Of each row at most so many are taken, and none after a stop. Each begins at its own place in its window, so that
    where many rows are close to all others, what is left out leaves room for as many pairs.
    """
    start, found = np.zeros(len(left) + 1, dtype=np.int64), np.empty(len(left) * most, dtype=np.int32)
    complete = True
    for i in range(len(left)):
        number = 0
        size = last[i] - first[i] if stop[0] == 0 else 0
        for step in range(size):
            j = first[i] + (begin[i] + step) % size
            close = True
            for c in range(left.shape[1]):
                if not abs(left[i, c] - right[j, c]) <= tolerance[c]:
                    close = False
                    break
            if close:
                if number == most:
                    complete = False
                    break
                found[start[i] + number] = j
                number += 1
        start[i + 1] = start[i] + number
    return start, found[: start[-1]], complete


@compiled
def _matched(start: IntArray, partner: NDArray[np.int32], n_guesses: int, stop: Flag) -> IntArray:
    """Return the guess of each row in a maximum matching, -1 where it has none; in a smaller one after a stop.

    Each row takes a guess that is free. For each that found none a shortest augmenting path is searched; what a search
    in vain has seen leads nowhere later, either.
    """
    n = len(start) - 1
    guess, owner = np.full(n, -1, dtype=np.int64), np.full(n_guesses, -1, dtype=np.int64)
    seen, trail, before = np.zeros(n_guesses, dtype=np.bool_), np.empty_like(owner), np.empty_like(owner)
    for i in range(n):
        for j in partner[start[i] : start[i + 1]]:
            if owner[j] < 0:
                guess[i], owner[j] = j, i
                break
    for root in np.flatnonzero(guess < 0):
        if stop[0] != 0:
            break
        row, head, tail, end = root, 0, 0, np.int64(-1)
        while end < 0 and head <= tail:
            for j in partner[start[row] : start[row + 1]]:
                if not seen[j]:
                    seen[j], before[j], trail[tail] = True, row, j
                    tail += 1
                    if owner[j] < 0:
                        end = np.int64(j)
                        break
            if head < tail:
                row = owner[trail[head]]
            head += 1
        if end >= 0:
            seen[trail[:tail]] = False
        while end >= 0:
            row = before[end]
            owner[end] = row
            end, guess[row] = guess[row], end
    return guess
