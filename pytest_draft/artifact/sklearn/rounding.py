"""Tells rounded class shares from exact ones: the number of decimals that the shares at all leaves were cut to.

A share is a quotient of two whole numbers. A few of these are short decimals by themselves (a half, four fifths, one
eighth), and most are not: of shares with such denominators alone there is no natural explanation once there are many.
"""

from __future__ import annotations

import math

import numpy as np

from pytest_draft.arrays import FloatArray

ROUNDING = 0.05 + 1e-9
"""The most that a share is taken to be off: rounded to one decimal."""

_MOST_DECIMALS = 12
"""More say as much as all of them: shares of fewer than a million rows differ by more."""

_CHANCE = 1e-4
"""Shares that are this unlikely to be exact were rounded."""

_VOTES = 3
"""How many leaves with one share count, where trees saw the same rows."""

_EXACT = 2.0**-52
"""What rounding a share to double precision does."""

_LARGEST_LEAF = 4096
"""Shares with a power of two up to this as denominator are of single precision by nature."""

_SINGLE = 2.0**-24
"""What rounding a share to single precision does."""


def rounded_to(shares: FloatArray, *, drawn: bool) -> tuple[int | None, float]:
    """Tell rounded shares from exact ones.

    Where both can be, they are taken for exact: that adds nothing to what the file reveals, and where they were
    rounded all the same, no dataset fits, which is no pass.

    Parameters
    ----------
    shares : ndarray of float64, shape (n_leaves, n_classes)
    drawn : bool
        Whether each tree saw rows of its own.

    Returns
    -------
    decimals : int or None
        The smallest number of decimals to which all shares are rounded; None where they are as exact as their type.
    tolerance : float
        How far a share can be off.
    """
    mixed = shares[((shares > 0) & (shares < 1)).any(axis=1)]
    decimals = next((n for n in range(1, _MOST_DECIMALS + 1) if (np.round(mixed, n) == mixed).all()), None)
    if decimals is not None and _was_rounded(mixed, decimals, drawn=drawn):
        return decimals, 0.5 * 10.0**-decimals
    is_single = decimals is None and bool((mixed.astype(np.float32) == mixed).all())
    return None, _SINGLE if is_single and not ((mixed * _LARGEST_LEAF) % 1 == 0).all() else _EXACT


def _was_rounded(mixed: FloatArray, decimals: int, *, drawn: bool) -> bool:
    """Return whether shares of so many decimals are no exact ones: they do not add up, or there are too many."""
    if (np.abs(mixed.sum(axis=1) - 1) > 1e-9).any():
        return True
    shares, leaves = np.unique(np.sort(mixed, axis=1), axis=0, return_counts=True)
    if not drawn:  # trees of the same rows repeat their leaves
        leaves = np.minimum(leaves, _VOTES)
    scaled = np.rint(shares * 10.0**decimals).astype(np.int64)
    common = np.gcd.reduce(np.column_stack((scaled, np.full(len(scaled), 10**decimals))), axis=1)
    by_nature = [_share_of_short_ones(int(q), decimals) for q in 10**decimals // common]
    return float(np.dot(np.log(by_nature), leaves)) < math.log(_CHANCE)


def _share_of_short_ones(denominator: int, decimals: int) -> float:
    """Return how many of the denominators about as large as one have no more decimals."""
    if denominator == 2:
        return 1.0
    near = range(max(2, math.ceil(denominator / 1.6)), math.floor(denominator * 1.6) + 1)
    if len(near) > 10_000:
        return float(decimals**2 / denominator)
    short: int = sum(10**decimals % q == 0 for q in near)
    return short / len(near)
