"""Class weights: what one draw of each class weighs, from what a file says of them.

The rules are those of ``sklearn.utils.class_weight``. What more than one reading would explain is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.errors import NotCoveredError

WHOLE = 1e-3
"""How far from a whole number a sum of weights may be, once it is divided by one draw's."""

_INDEPENDENT = 1e-6
"""Least singular value, as a share of the greatest, by which equations for the class weights have one solution."""

_CLOSE = 1e-9
"""How far, relative to it, a weight in double precision may be off."""

_CLOSE_SINGLE = 1e-6
"""How far, relative to it, a weight in single precision may be off."""

_DIGITS = 12
"""Decimals to which shares are rounded before they are told apart."""

_MOST_DRAWS = 500_000
"""Most draws for a tree of which shares are taken for fractions: between fractions with denominators d and e lies at
least 1 / de, which has to exceed rounding."""

_MOST_WEIGHTS = 1_000
"""Most different weights, and greatest common denominator of their ratios, that are taken for small whole numbers."""


def named_weights(by_class: Mapping[object, object], classes: Sequence[object]) -> FloatArray:
    """Return the weight of each class by a ``class_weight`` dict, shape (n_classes,).

    Parameters
    ----------
    by_class : mapping of class to weight
        A class that it leaves out has weight 1.
    classes : sequence
        As scikit-learn sees them: a bagging ensemble's trees see their numbers.

    Raises
    ------
    NotCoveredError
        Where a weight is not positive: its rows leave no count.
    """
    weights = np.array([_weight(by_class.get(_key(value), 1.0)) for value in classes])
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise NotCoveredError("a class weight is not a positive number: its rows leave no count that can be undone")
    return weights


def _key(value: object) -> object:
    """Return what scikit-learn looks a class up by: a whole number where it can be made one, else a text."""
    try:
        return int(value)  # type: ignore[call-overload]
    except ValueError:
        return str(value)


def _weight(value: object) -> float:
    return float(value) if isinstance(value, (bool, int, float)) else np.nan


def balanced_weights(totals: Sequence[FloatArray], rows: Sequence[FloatArray], n_rows: int) -> FloatArray:
    """Return the weight of each class under ``class_weight="balanced"``: n_rows / (n_classes * its rows).

    The rows of each class are not in the file. They solve linear equations: each node's total of a class is its
    draws times the weight, and the draws of some nodes are known.

    The shape is (n_classes,).

    Parameters
    ----------
    totals : sequence of ndarray of float64, shape (n_nodes, n_classes)
        Weighted totals by class of nodes whose draws are known, tree by tree.
    rows : sequence of ndarray of float64, shape (n_nodes,)
        Their draws.
    n_rows : int
        Training rows.

    Raises
    ------
    NotCoveredError
        Where several class frequencies, or none, explain the totals.
    """
    n_classes = totals[0].shape[1]
    # Unknown: each class's share of the rows, times n_classes, which is one over its weight.
    triangle = np.append(np.full(n_classes, n_rows / n_classes), n_rows)[None]
    for table, drawn in zip(totals, rows, strict=True):
        rows_above = np.vstack([triangle, np.column_stack([table, drawn])])
        triangle = np.asarray(np.linalg.qr(rows_above, mode="r"))
    left, values, right = np.linalg.svd(triangle[:, :-1], full_matrices=False)
    if len(values) < n_classes or values[-1] <= _INDEPENDENT * values[0]:
        raise NotCoveredError(
            "its class weights are balanced, and several class frequencies explain its totals: not covered"
        )
    per_weight = right.T @ ((left.T @ triangle[:, -1]) / values)
    exact = per_weight * n_rows / n_classes
    of_class = np.rint(exact)
    if (np.abs(exact - of_class) > WHOLE).any() or (of_class < 1).any() or of_class.sum() != n_rows:
        raise NotCoveredError(
            "its class weights are balanced, and no class frequencies explain its totals: other weights scaled them"
        )
    weights: FloatArray = n_rows / (n_classes * of_class)
    return weights


def subsample_weights(totals: FloatArray, n_draws: int) -> FloatArray:
    """Return the weight of each class in a tree under ``class_weight="balanced_subsample"``, shape (n_classes,).

    It is n_draws / (classes drawn * draws of the class). The draws of a class are a common denominator of its
    nodes' shares, and add up to `n_draws`.

    It is 1 for a class that was not drawn.

    Parameters
    ----------
    totals : ndarray of float64, shape (n_nodes, n_classes)
        Weighted totals by class, the root first.

    Raises
    ------
    NotCoveredError
        Where several numbers of draws, or none, explain the shares.
    """
    drawn = np.flatnonzero(totals[0] > 0)
    other = NotCoveredError("its class weights are balanced by subsample, and other weights scaled its totals too")
    if n_draws > _MOST_DRAWS:
        raise NotCoveredError(f"its class weights are balanced by subsamples of more than {_MOST_DRAWS:,} draws")
    if not np.allclose(totals[0, drawn], n_draws / len(drawn), rtol=_CLOSE):
        raise other
    least = [_common_denominator(totals[:, c] / totals[0, c], n_draws) for c in drawn]
    if sum(least) > n_draws:
        raise other
    draws = _only_sum(least, n_draws)
    if draws is None:
        raise NotCoveredError(
            "its class weights are balanced by subsample, and not just one number of draws explains its shares"
        )
    weights = np.ones(totals.shape[1])
    weights[drawn] = n_draws / (len(drawn) * draws)
    return weights


def _common_denominator(shares: FloatArray, most: int) -> int:
    """Return the least common denominator; above `most` where there is none."""
    found = 1
    for share in np.unique(shares.round(_DIGITS)).tolist():
        found = lcm(found, Fraction(share).limit_denominator(most).denominator)
        if found > most:
            return found
    return found if (np.abs(shares * found - np.rint(shares * found)) <= WHOLE).all() else most + 1


def _only_sum(least: Sequence[int], total: int) -> IntArray | None:
    """Return the only positive multiples of `least` that add up to `total`; None for several or none."""
    rest = total - sum(least)
    ways = [np.zeros(rest + 1, dtype=np.int64)]
    ways[0][0] = 1
    for step in least:
        padded = np.pad(ways[-1], (0, -(rest + 1) % step)).reshape(-1, step)
        ways.append(np.minimum(padded.cumsum(axis=0).ravel()[: rest + 1], 2))  # 2 stands for several
    if ways[-1][rest] != 1:
        return None
    multiples = np.array(least, dtype=np.int64)
    for index in range(len(least) - 1, -1, -1):
        before = ways[index][rest :: -least[index]]
        taken = int(np.argmax(before > 0)) * least[index]
        multiples[index] += taken
        rest -= taken
    return multiples


def repeated_rows(sample_weight: FloatArray) -> tuple[IntArray, float]:
    """Return sample weights as whole multiples of one weight: rows that stand for several.

    Returns
    -------
    times : ndarray of int64, shape (n_rows,)
        0 for a row of weight 0.
    unit : float
        The weight of one.

    Raises
    ------
    NotCoveredError
        Where there is no such weight.
    """
    refused = NotCoveredError("its sample weights are no whole multiples of one weight, so they cannot be undone")
    least = float(np.min(sample_weight[sample_weight > 0]))
    ratios = sample_weight.astype(np.float64) / least
    distinct = np.unique(ratios)
    if len(distinct) > _MOST_WEIGHTS or distinct[-1] > _MOST_DRAWS:
        raise refused
    parts = 1
    for ratio in distinct.tolist():
        parts = lcm(parts, Fraction(ratio).limit_denominator(_MOST_WEIGHTS).denominator)
        if parts > _MOST_WEIGHTS:
            raise refused
    exact = ratios * parts
    times = np.rint(exact)
    close = _CLOSE_SINGLE if sample_weight.dtype == np.float32 else _CLOSE
    if not np.allclose(exact, times, rtol=close, atol=0):
        raise refused
    return times.astype(np.int64), least / parts


def is_by_class(sample_weight: FloatArray, weights: FloatArray, rows: FloatArray) -> bool:
    """Return whether stored per-row weights are those of the classes, and nothing else.

    Parameters
    ----------
    sample_weight : ndarray of float64, shape (n_rows,)
    weights : ndarray of float64, shape (n_classes,)
    rows : ndarray of float64, shape (n_classes,)
        Rows of each class.
    """
    expected = np.repeat(weights, np.rint(rows).astype(np.int64))
    return len(expected) == len(sample_weight) and np.allclose(np.sort(sample_weight), np.sort(expected), rtol=_CLOSE)
