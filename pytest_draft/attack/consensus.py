"""One guess from many likely datasets: rows that are close to all of them on average.

The error is measured after matching, so the datasets are matched to each other before their attributes are put
together. Which guess is best is decided by the expected matched error, with the
datasets themselves in the truth's place: the truth has no part in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import IntArray, Rows
from pytest_draft.domain import Domain
from pytest_draft.errors import OutOfTimeError
from pytest_draft.matching import assigned, comparable, distances_of, encoded_weights, matched_distance
from pytest_draft.timebox import TimeBox

MOST_ROWS = 1_000
"""Above this many rows a single dataset is taken as it is."""

IMAGINED = 6
"""Sampled datasets that stand in the truth's place when guesses are compared."""


@dataclass(frozen=True, eq=False, repr=False)
class Ways:
    """Sampled datasets, with open values as they are likeliest and drawn."""

    likeliest: list[Rows]
    drawn: list[Rows]


def agreed(rows: Rows, likeliest: Rows, ways: Ways, group: IntArray, domain: Domain, timebox: TimeBox) -> Rows:
    """Return the guess with the least expected error: the rows, as they are likeliest, or a consensus with samples.

    It is measured with open values as they are likeliest, too. By drawn ones alone, drawn rows are always good guesses;
    but a value often hangs on others, and where a tree does not ask for it, there can be but one.

    Parameters
    ----------
    rows, likeliest : ndarray of float32, shape (n_rows, n_columns)
        A dataset as it was filled in, and with open values as they are likeliest.
    group : ndarray of int64, shape (n_rows,)
        Rows are only matched within their group.
    """
    guesses = [
        rows,
        likeliest,
        consensus(likeliest, ways.likeliest, group, domain, timebox),
        consensus(rows, ways.drawn, group, domain, timebox),
    ]
    most = IMAGINED if 2 * len(rows) <= MOST_ROWS else IMAGINED // 2
    imagined = [world for each in (ways.likeliest, ways.drawn) for world in each[-most:]]
    return closest_to_all(guesses, imagined, domain, timebox)


def consensus(first: Rows, others: Sequence[Rows], group: IntArray, domain: Domain, timebox: TimeBox) -> Rows:
    """Return the commonest value (ordinals: the median) of each attribute over datasets matched to the first.

    Parameters
    ----------
    first : ndarray of float32, shape (n_rows, n_columns)
    others : sequence of ndarray of float32, shape (n_rows, n_columns)
    group : ndarray of int64, shape (n_rows,)
        Rows are only matched within their group.
    timebox : TimeBox
        Fewer datasets are used when it is over.

    Returns
    -------
    ndarray of float32, shape (n_rows, n_columns)
    """
    weights = encoded_weights(domain)
    farther = 1.0 + float(weights.missing.sum())  # than any two rows are
    apart = (group[:, None] != group[None, :]) * farther
    matched = [first]
    for other in others:
        try:
            partner = assigned(distances_of(*comparable(first, other, weights), timebox) + apart, timebox)
        except OutOfTimeError:
            break
        matched.append(other[partner])
    stack = np.stack(matched)
    result = np.empty_like(first)
    for attribute in domain.attributes:
        columns = list(attribute.columns)
        if attribute.kind == "one-hot":
            value = np.stack([attribute.index(one) for one in stack[:, :, columns]])
            votes = (value[:, :, None] == np.arange(attribute.n_values)).sum(axis=0)
            result[:, columns] = attribute.encoded(votes.argmax(axis=1))
        else:
            middle = np.sort(stack[:, :, columns], axis=0)[len(stack) // 2]
            result[:, columns] = middle
    return result


def closest_to_all(guesses: Sequence[Rows], imagined: Sequence[Rows], domain: Domain, timebox: TimeBox) -> Rows:
    """Return the guess with the smallest mean matched error to datasets that may be true.

    Parameters
    ----------
    guesses, imagined : sequence of ndarray of float32, shape (n_rows, n_columns)
    timebox : TimeBox
        When it is over, the first guess is taken.

    Returns
    -------
    ndarray of float32, shape (n_rows, n_columns)
    """
    if len(guesses) == 1 or timebox.over:
        return guesses[0]
    return min(guesses, key=lambda guess: expected_error(guess, imagined, domain, timebox))


def expected_error(guess: Rows, imagined: Sequence[Rows], domain: Domain, timebox: TimeBox) -> float:
    """Return a guess's mean matched error to datasets that may be true.

    Parameters
    ----------
    guess : ndarray of float32, shape (n_rows, n_columns)
    imagined : sequence of ndarray of float32, shape (n_rows, n_columns)
    """
    weights = encoded_weights(domain)
    return sum(matched_distance(truth, guess, weights, timebox).upper for truth in imagined) / max(1, len(imagined))
