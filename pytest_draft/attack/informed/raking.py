"""Reweights other people's rows until they sum up to what a file says of its own rows.

Somebody who knows the population, and nobody's row in the file, expects each kind of row as often as other people have
it. The file says how many rows of each class lie in each leaf, or what their targets sum to. Given these sums, the most
likely frequencies are those of a normal distribution with the mean and the covariance of a sample: one linear system.
(Raking, or iterative proportional fitting, solves the same for counts that are exact: Deming and Stephan, Annals of
Mathematical Statistics 1940. This also solves it for rows that were drawn at random.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg, sparse

from pytest_draft.arrays import FloatArray, IntArray, Rows

_LEAST_VARIANCE = 1e-2
"""Rows squared that are added to each variance, so that sums which follow from others do no harm."""


def raked(
    leaves: Sequence[IntArray],
    values: FloatArray,
    weight: FloatArray,
    n_rows: int,
    sums: Sequence[FloatArray],
    noise: FloatArray,
) -> FloatArray:
    """Return the expected number of rows of each kind, given what the rows of each leaf sum to.

    Parameters
    ----------
    leaves : sequence of ndarray of int64, shape (n_kinds,)
        By tree, the leaf of each kind of row.
    values : ndarray of float64, shape (n_kinds, n_values)
        What a row of each kind adds to the sums of its leaf: a one for its class, or a one and its target.
    weight : ndarray of float64, shape (n_kinds,)
        How frequent each kind is; only the proportions matter.
    n_rows : int
        Rows behind the sums.
    sums : sequence of ndarray of float64, shape (n_leaves, n_values)
        By tree. Where rows were drawn at random, scaled to an average of one draw of each row.
    noise : ndarray of float64, shape (n_trees,)
        By tree, how much the draws vary: the mean of (draws of a row - 1) squared; 0 where it saw each row once.

    Returns
    -------
    ndarray of float64, shape (n_kinds,)
        Not negative.
    """
    share = weight / weight.sum()
    tables, observed, of_tree = [], [], []
    kinds = np.arange(len(share))
    for t, (leaf, given) in enumerate(zip(leaves, sums, strict=True)):
        for value, column in zip(values.T, given.T, strict=True):
            tables.append(sparse.csr_array((value, (leaf, kinds)), shape=(len(given), len(share))))
            observed.append(column)
            of_tree.append(np.full(len(given), t))
    table, tree = sparse.vstack(tables).tocsr(), np.concatenate(of_tree)
    weighted = table.multiply(share).tocsr()
    mean = weighted.sum(axis=1)
    covariance = n_rows * ((weighted @ table.T).toarray() - np.outer(mean, mean))
    scale = np.sqrt(np.maximum(np.diag(covariance) / n_rows, 1e-12))  # sums of targets have any unit
    scale = np.where(scale > 1, scale, 1.0)
    covariance += noise[tree][:, None] * covariance * (tree[:, None] == tree)
    covariance += np.diag(_LEAST_VARIANCE * scale**2)
    excess = (np.concatenate(observed) - n_rows * mean) / scale
    multiplier = linalg.solve(covariance / np.outer(scale, scale), excess, assume_a="pos") / scale
    shift = table.T @ multiplier
    frequency: FloatArray = np.maximum(n_rows * share * (1 + shift - share @ shift), 0.0)
    return frequency


def rounded(frequency: FloatArray, n_rows: int, order: IntArray | None = None) -> IntArray:
    """Return whole numbers of rows that sum to `n_rows`, near to frequencies in proportion.

    Parameters
    ----------
    frequency : ndarray of float64, shape (n_kinds,)
        Not negative, and not all zero.
    order : ndarray of int64, shape (n_kinds,), or None
        The kinds, with similar ones next to each other. Rows are given out along this order whenever the frequencies so
        far add up to one more, so that a group of neighbours keeps its size even if each of them has less than a row.
        None gives the remaining rows to the largest remainders.
    """
    frequency = np.ldexp(frequency, -int(np.frexp(frequency.max())[1]))  # exact, and no sum is too small to divide by
    exact = frequency * (n_rows / frequency.sum())
    if order is not None:
        ends = np.floor(np.cumsum(exact[order]) + 0.5)
        ends[-1] = n_rows
        number = np.empty(len(exact), dtype=np.int64)
        number[order] = np.diff(ends, prepend=0.0)
        return number
    whole: IntArray = np.floor(exact + 1e-9).astype(np.int64)
    left = n_rows - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[: max(left, 0)]] += 1
    return whole


def leaf_sums(leaf: IntArray, values: FloatArray, times: FloatArray, n_leaves: int) -> FloatArray:
    """Return what rows sum to in each leaf, shape (n_leaves, n_values)."""
    columns = [np.bincount(leaf, value * times, minlength=n_leaves) for value in values.T]
    return np.column_stack(columns)


def repeated(rows: Rows, number: IntArray) -> Rows:
    """Return each kind of row so many times, shape (n_rows, n_columns)."""
    copies: Rows = np.repeat(rows, number, axis=0)
    return copies
