"""How many datasets explain leaves without counts about alike: in goes the truth, out come bits.

The entropy of a posterior is at least the sum of the entropies of each row given all others (Han, 1978). It is taken
at the truth, of rows that stay as they are or change one value, and only to what is one change away from no other true
row: so no two choices make the same dataset, but for equal rows, whose exchanges are taken off.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.special import gammaln

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.attack.compiled_trees import leaves_of, tests_of
from pytest_draft.attack.fractions.likelihood import Model
from pytest_draft.attack.fractions.sweeps import Scratch, changes_of_group, changes_of_values, cuts_of
from pytest_draft.attack.private.sweeps import SampledRows

MOST_ROWS = 1_000
"""Bits are looked for in no more rows: there are enough long before."""


@njit(cache=True, nogil=True)
def _gains(walks, cut, one_hot, counts, rows, offset, n_classes, scratch, found):  # type: ignore[no-untyped-def]
    """Write what each change of one open value of one row adds to the log-likelihood."""
    for row in range(len(rows.value)):
        for a in range(rows.value.shape[1]):
            if not rows.open_value[row, a]:
                continue
            n_values = offset[a + 1] - offset[a]
            if one_hot[a]:
                changes_of_group(walks, counts, rows, row, a, n_values, n_classes, scratch)
            else:
                changes_of_values(walks, cut, counts, rows, row, a, n_values, n_classes, scratch)
            for value in range(n_values):
                found[row, offset[a] + value] = scratch.change[value]


def bits_of_neighbours(model: Model, value: Int32Array, label: IntArray, open_value: BoolArray) -> float:
    """Return about how many bits an attacker lacks at least who knows the likelihood of every dataset.

    Parameters
    ----------
    model : Model
    value : ndarray of int32, shape (n_rows, n_attributes)
        The truth's, as indices.
    label : ndarray of int64, shape (n_rows,)
    open_value : ndarray of bool, shape (n_rows, n_attributes)
        What is not known.

    Returns
    -------
    float
        To base 2.
    """
    sizes = np.array([attribute.n_values for attribute in model.domain.attributes])
    offset = np.concatenate([[0], np.cumsum(sizes)])
    chosen = np.flatnonzero(open_value.any(axis=1))[:MOST_ROWS]
    gains = _gains_of(model, value, label, open_value, chosen, offset)
    keys = np.random.default_rng(0).integers(-(2**62), 2**62, size=int(offset[-1]))
    whole = keys[value + offset[:-1]].sum(axis=1)
    alone = _alone(value, whole, keys, offset, chosen)
    gains = np.where(alone, gains, -np.inf)
    stays = np.zeros((len(chosen), 1))
    weight = np.exp(np.concatenate([stays, gains], axis=1) - np.maximum(gains.max(axis=1, initial=0.0), 0.0)[:, None])
    share = weight / weight.sum(axis=1, keepdims=True)
    entropy = -np.where(share > 0, share * np.log2(np.where(share > 0, share, 1.0)), 0.0).sum(axis=1)
    _, row, number = np.unique(whole[chosen], return_inverse=True, return_counts=True)
    together = np.bincount(row.reshape(-1), entropy) - gammaln(number + 1) / np.log(2)
    return float(np.maximum(together, 0.0).sum())


def _gains_of(
    model: Model, value: Int32Array, label: IntArray, open_value: BoolArray, chosen: IntArray, offset: IntArray
) -> FloatArray:
    """Return what each change of one value adds to the log-likelihood, shape (n_chosen, n_values); -inf for none."""
    mine = value[chosen]
    everyone = np.ones(len(chosen), dtype=bool)
    rows = SampledRows(
        mine.copy(), label[chosen].astype(np.int64), np.zeros(len(chosen), np.int64), everyone, open_value[chosen],
        ~everyone, ~everyone, leaves_of(model.walks, mine), tests_of(model.walks, mine),
    )  # fmt: skip
    n_values = int((offset[1:] - offset[:-1]).max())
    scratch = Scratch(np.empty(n_values + 1), np.empty(n_values + 1), np.empty((n_values + 1, 3), np.int64))
    one_hot = np.array([attribute.kind == "one-hot" for attribute in model.domain.attributes])
    found = np.full((len(chosen), int(offset[-1])), -np.inf)
    _gains(
        model.walks, cuts_of(model.walks, model.domain), one_hot, model.counts(value, label), rows, offset,
        model.n_classes, scratch, found,
    )  # fmt: skip
    return found


def _alone(value: Int32Array, whole: IntArray, keys: IntArray, offset: IntArray, chosen: IntArray) -> BoolArray:
    """Return which changes of one value make a row that is one change away from no true row but its own.

    Two rows differ in one attribute at most where they are equal without it. A changed row is so equal to its own row
    without the attribute that was changed; to a true row that it equals, without any.
    """
    _, first = np.unique(whole, return_index=True)
    attribute = np.repeat(np.arange(len(offset) - 1), offset[1:] - offset[:-1])
    before = keys[value[chosen] + offset[:-1]]
    mine = whole[chosen, None] - before[:, attribute] + keys
    near = np.zeros(mine.shape, dtype=np.int64)
    for a in range(len(offset) - 1):
        without = np.sort(whole[first] - keys[value[first, a] + offset[a]])
        here = np.where(attribute == a, keys, before[:, [a]])
        rest = mine - here
        near += np.searchsorted(without, rest, side="right") - np.searchsorted(without, rest, side="left")
    alone: BoolArray = near == 1
    return alone
