"""What the threshold of a best split says: in goes what is known of one value next to it, out comes more of the other.

A best split's threshold is ``a / 2 + b / 2`` in float64, with `a` the largest value of the tested column among the
node's rows that went left and `b` the smallest among those that went right, both float32. Half of each is exact, so
that ``a + b``, rounded, is twice the threshold. Left and right are alike but for the sign: `a` is the largest of ``x``,
``-b`` the largest of ``-x``, and half of one less half of the other is the threshold.

Source: ``sklearn.tree._splitter`` (``node_split_best``), 1.3 to 1.9. (Where the middle would round to `b`, the
threshold is `a`: of two different float32 values it never does.)
"""

from __future__ import annotations

import math

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.compiling import compiled, inlined

ROUNDING = 2.0**-50
"""A share of the numbers that go into a sum, above all that its rounding in float64 adds up to."""


def midpoints_of(forest: Forest) -> list[BoolArray]:
    """Return, by tree, at which nodes the threshold is known to be the midpoint of neighbouring values.

    It is infinite where present values all go left.
    """
    best = forest.splitter == "best"
    found = []
    for tree in forest.trees:
        here = best & (tree.left >= 0) & np.isfinite(tree.threshold)
        found.append(here if tree.no_midpoint is None else here & ~tree.no_midpoint)
    return found


def off_middle(low: FloatArray, high: FloatArray, threshold: FloatArray | float) -> FloatArray:
    """Return how far thresholds lie from the middle of two values each."""
    return np.asarray(np.abs(low / 2 + high / 2 - threshold))


def partners(below: FloatArray, above: FloatArray, threshold: float, slack: float) -> tuple[IntArray, BoolArray]:
    """Return, of each value below a threshold, the one above that mirrors it, and whether the threshold is midway.

    Parameters
    ----------
    below, above : ndarray of float64
        Neither is empty; `above` is ascending.
    slack : float
        How far off the middle the threshold may be.

    Returns
    -------
    partner : ndarray of int64, shape (n_below,)
        Positions in `above`.
    fits : ndarray of bool, shape (n_below,)
    """
    partner = np.minimum(np.searchsorted(above, 2 * threshold - below - 2 * slack), len(above) - 1)
    return partner, off_middle(below, above[partner], threshold) <= slack


def float32_at_most(values: FloatArray) -> FloatArray:
    """Return the greatest float32 value that is at most each value: the last one that goes left of a threshold."""
    near = values.astype(np.float32)
    return np.where(near > values, np.nextafter(near, np.float32(-np.inf)), near).astype(np.float64)


@inlined
def snapped(value: float, is_number: bool) -> float:
    """Return the largest float32, or whole number, that is at most a value."""
    nearest = np.float32(value)
    if nearest > value:
        nearest = np.nextafter(nearest, np.float32(-np.inf))
    return float(math.floor(nearest)) if is_number else float(nearest)


@inlined
def most_beside(threshold: float, other: float, is_number: bool) -> float:
    """Return how large one extreme, ``a`` or ``-b``, can be at most, given how large the other can be.

    Parameters
    ----------
    threshold : float
        With the sign of the extreme that is asked for.
    """
    guess = 2 * threshold + other
    value = snapped(guess + 2.0**-51 * (abs(2 * threshold) + abs(guess)), is_number)
    for _ in range(2):
        if value / 2 - other / 2 <= threshold:
            break
        value = snapped(np.float64(np.nextafter(np.float32(value), np.float32(-np.inf))), is_number)
    return value


@compiled
def cannot_meet(left, right, twice):  # type: ignore[no-untyped-def]
    """Whether no two values have a threshold as their midpoint, one of each of two intervals.

    Parameters
    ----------
    left, right : tuple of float
        Least and greatest values on both sides of the threshold.
    twice : float
        Twice the threshold.
    """
    return left[0] + right[0] > twice or left[1] + right[1] < twice
