"""Bounds of the best guess: from datasets that explain a file equally well, the error and the rows nobody can beat.

A guess is a dataset. Its *error* is its mean distance after matching to the sampled datasets. A near guess is looked
for from the samples, by turns of matching and taking medians. The best one can be nearer: measured where every guess
can be tried, what was found had at most 1.26 times its error (290 small files, 8 samples; 1.00 in all of 208 with all
their datasets). So `SEARCHED` times of it is reported, less two standard errors. That the guess is measured on the
samples that it was made from is on the safe side, and the more so, the fewer there are.

The *perfect rows* of a guess are counted exactly: a row that occurs in `c` of `k` samples, counted with its
multiplicity, can be met by one guessed row in `c` of them. Where close rows count as met, a guessed row that meets rows
of `c` samples lies near to each of them, so that these are near to each other within twice the tolerance: each of them
has at least `c` samples with such a neighbour, and takes at least `1 / c` of a guessed row. As many as can be are met
when those with the most neighbours are, until the guessed rows are used up: no guess meets more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.spatial import cKDTree

from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.errors import OutOfTimeError
from pytest_draft.matching import Weights, assigned, comparable, distances_of, row_identities
from pytest_draft.timebox import TimeBox

MOST_TURNS = 2
"""Turns of matching and medians; further ones change the error little."""

SEARCHED = 0.8
"""The guess that is found can have so many times the error of the best one, as was measured where that is known."""

_WORK_OF_STARTS = 2.5e8
"""From so many samples a guess is looked for as come to these rows to the third power, and from one at least."""


FEWEST_KEPT, MOST_KEPT = 8, 16
"""Samples that are drawn. A guess is measured on the samples that it was made from, and looks the better the fewer
there are: that is on the safe side, and 32 take four times as long to match as 16. Of 200 rows drawn from Adult without
any file, where the best guess has an error of .061, bounds were .033 from 8 samples, .040 from 16, and .044 from 32."""

_WORK_OF_SAMPLES = 1e9
"""Rows to the third power for each sample, so that guesses are matched to all of them in some tenths of a second."""


def kept(n_rows: int) -> int:
    """Return how many samples of so many rows are drawn."""
    return int(np.clip(_WORK_OF_SAMPLES / max(n_rows, 1) ** 3, FEWEST_KEPT, MOST_KEPT))


def least_error(samples: Sequence[Rows], weights: Weights, timebox: TimeBox) -> float | None:
    """Return an error that no guess is expected to better, over sampled datasets.

    Parameters
    ----------
    samples : sequence of ndarray of float32, shape (n_rows, n_columns)
        At least two.

    Returns
    -------
    float or None
        None where the time did not suffice for one guess.
    """
    n_rows = len(samples[0])
    stacked = _coordinates(samples, weights)
    best: float | None = None
    for place in range(int(np.clip(_WORK_OF_STARTS / (n_rows**3 * len(samples)), 1, len(stacked)))):
        found = _nearest_guess(stacked, place, timebox)
        if found is None:
            break
        best = found if best is None else min(best, found)
    if best is None:
        return None
    return SEARCHED * best / (n_rows * weights.total)


def _nearest_guess(stacked: Sequence[FloatArray], place: int, timebox: TimeBox) -> float | None:
    """Return the mean total distance of a guess that is looked for from one of the samples."""
    guess, best = stacked[place], None
    reached: FloatArray
    for _ in range(MOST_TURNS):
        try:
            matched = np.stack([_matched_to(guess, other, timebox) for other in stacked])
        except OutOfTimeError:
            break
        guess = np.sort(matched, axis=0)[(len(matched) - 1) // 2]  # of an even number the lower one: as good
        # The middle is no worse for this matching; the next matching is no worse for this middle.
        reached = np.abs(matched - guess).sum(axis=(1, 2))
        if best is not None and reached.mean() >= best.mean() - 1e-9:
            break
        best = reached
    if best is None:
        return None
    return max(0.0, float(best.mean() - 2 * best.std(ddof=1) / len(best) ** 0.5))


def _coordinates(samples: Sequence[Rows], weights: Weights) -> list[FloatArray]:
    """Return samples in coordinates whose absolute differences add up to the distance, also of missing values."""
    n_rows = len(samples[0])
    pooled = np.concatenate(samples)
    counted = replace(weights, columns=weights.columns * weights.counted, missing=weights.missing * weights.counted)
    coordinates, _ = comparable(pooled, pooled[:1], counted)
    kept = np.ptp(coordinates, axis=0) > 0
    return [coordinates[i : i + n_rows, kept] for i in range(0, len(pooled), n_rows)]


def _matched_to(guess: FloatArray, other: FloatArray, timebox: TimeBox) -> FloatArray:
    """Return rows in the order of the guesses that they are matched to."""
    if not guess.shape[1]:
        return other
    return other[assigned(distances_of(guess, other, timebox), timebox)]


def most_perfect_rows(samples: Sequence[Rows], weights: Weights) -> float:
    """Return how many rows no guess meets more of, in expectation over sampled datasets.

    Parameters
    ----------
    samples : sequence of ndarray of float32, shape (n_rows, n_columns)
    weights : Weights
        Numeric columns are met to within their tolerance.
    """
    close = _samples_with_neighbours(samples, weights) if weights.tolerance.any() else _samples_with_copies(samples)
    order = np.argsort(-close, kind="stable")
    spent = np.cumsum(1.0 / close[order])
    n_rows = len(samples[0])
    within = int(np.searchsorted(spent, n_rows + 1e-9, side="right"))
    rest = 0.0
    if within < len(order):
        rest = (n_rows - (spent[within - 1] if within else 0.0)) * float(close[order[within]])
    return float(min(n_rows, (within + rest) / len(samples)))


def _samples_with_copies(samples: Sequence[Rows]) -> IntArray:
    """Return for each row of each sample, the second of two equal ones apart, how many samples have it."""
    slots = []
    for identity in row_identities(*samples):
        order = np.argsort(identity, kind="stable")
        ranked = identity[order]
        copy = np.arange(len(order)) - np.searchsorted(ranked, ranked)
        slots.append(ranked * len(order) + copy)
    _, of_row, number = np.unique(np.concatenate(slots), return_inverse=True, return_counts=True)
    return number[of_row.reshape(-1)].astype(np.int64)


def _samples_with_neighbours(samples: Sequence[Rows], weights: Weights) -> IntArray:
    """Return for each row of each sample how many samples have a row that one guess can meet together with it."""
    near = weights.tolerance > 0
    pooled = np.concatenate(samples)
    n_rows = len(samples[0])
    scaled = np.nan_to_num(pooled[:, near].astype(np.float64) / (2 * weights.tolerance[near]), nan=1e9)
    rest = pooled[:, ~near & weights.counted]
    identity = row_identities(rest)[0] if rest.shape[1] else np.zeros(len(pooled), dtype=np.int64)
    points = np.column_stack([scaled, 10.0 * identity])  # other values than numeric ones must be equal
    number = np.zeros(len(pooled), dtype=np.int64)
    for i in range(0, len(pooled), n_rows):
        distance, _ = cKDTree(points[i : i + n_rows]).query(points, p=np.inf, distance_upper_bound=1 + 1e-6)
        number += np.isfinite(distance)
    return number
