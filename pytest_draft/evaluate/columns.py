"""Which columns come back: the figures of each column of a comparison.

They are those of the matching that the error is taken of; another one of the same cost can divide it otherwise. A value
is right as it is in a perfect row: a numeric one to within a tolerance, any other exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, Rows
from pytest_draft.evaluate.baseline_draws import DRAW_NUMBERS, half_size, halvings
from pytest_draft.evaluate.compared import Compared
from pytest_draft.facts.findings import ColumnFigures
from pytest_draft.matching import gaps

_SPLITS = 5
"""Halvings that the share of others' right values is the mean of; of many rows one, which varies little."""


def column_figures(compared: Compared) -> tuple[ColumnFigures, ...]:
    """Return the figures of each attribute that is to be rebuilt, in the domain's order; none without a matching.

    Parameters
    ----------
    compared : Compared
        Of all rows and columns.
    """
    partners, distances = compared.partners, compared.distances
    if partners is None or distances is None:
        return ()
    truth = compared.rows[compared.unknown][partners]
    mine, others = _right(compared, truth, compared.rebuilt), _others_right(compared)
    counted = compared.domain.attribute_of_column[compared.weights.counted]
    return tuple(
        ColumnFigures(
            name=compared.domain.attributes[attribute].name,
            error=float(distances[:, counted == attribute].mean()),
            right=float(mine[place]),
            split_half=None if others is None else float(others[place]),
        )
        for place, attribute in enumerate(compared.unknown_attributes)
    )


def _right(compared: Compared, truth: Rows, guess: Rows) -> FloatArray:
    """Return the share of right values of each unknown attribute, in rows that belong together one by one."""
    apart, one_missing = gaps(truth, guess)
    close = (apart <= compared.weights.tolerance) & ~one_missing
    return np.array([_share(close, compared.domain.attributes[a].columns) for a in compared.unknown_attributes])


def _share(close: BoolArray, columns: Sequence[int]) -> float:
    """Return the share of rows that are close in all of some columns."""
    return float(close[:, list(columns)].all(axis=1).mean())


def _others_right(compared: Compared) -> FloatArray | None:
    """Return the same share where other rows like these are compared, in place of rebuilt ones; None without a draw."""
    rows, weights, unknown, comparison = compared.rows, compared.weights, compared.unknown, compared.comparison
    half = half_size(len(rows), len(unknown), weights, comparison)
    draws = halvings(rows, weights, compared.seed, compared.step, unknown, comparison, half)
    shares = []
    for positions, _, guess in islice(draws, _SPLITS if len(rows) <= DRAW_NUMBERS.many_rows else 1):
        partners = comparison.partners(rows[positions], guess, weights, compared.step)
        if partners is None:
            break
        shares.append(_right(compared, rows[positions][partners], guess))
    return np.mean(shares, axis=0) if shares else None
