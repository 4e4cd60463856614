"""How many datasets explain leaves without counts about as well as the truth does, in bits.

The entropy of a posterior is at least the sum of the entropies of disjoint parts of a dataset, each given all else
(Han, 1978). It is taken at the truth, in two ways, of which the more counts. Parts are rows, which stay as they are or
change one value, and only to what is one change away from no other true row: so no two choices make the same dataset,
but for equal rows, whose exchanges are taken off. Or parts are pairs of vectors, of one label, that differ in one
value: so many rows as they have together are split between them in one way or another.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from scipy.special import gammaln

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.attack.compiled_trees import leaves_of, tests_of
from pytest_draft.attack.evidence.evidence import LeafModel, score
from pytest_draft.attack.walk.mixture import SampledRows
from pytest_draft.attack.walk.sweeps import Scratch, changes_of
from pytest_draft.compiling import compiled

MOST_MOVED = 30
"""Most rows that change between two vectors."""

MOST_PARTNERS = 8
"""Changes of a vector among which its partner is looked for, likeliest first."""

MOST_ROWS = 1_000
"""Bits are looked for in no more rows: there are enough long before."""


@compiled
def _gains(walks, counts, rows, offset, n_classes, scratch, found):  # type: ignore[no-untyped-def]
    """Write what each change of one open value of one row adds to the log-likelihood."""
    for row in range(len(rows.value)):
        for a in range(rows.value.shape[1]):
            if not rows.open_value[row, a]:
                continue
            n_values = offset[a + 1] - offset[a]
            changes_of(walks, counts, rows, row, a, n_values, n_classes, scratch)
            for value in range(n_values):
                found[row, offset[a] + value] = scratch.change[value]


@compiled
def _splits(evidence, rows, here, there, label, n_here, least, found, n_classes):  # type: ignore[no-untyped-def]
    """Write what each split of two vectors' rows adds to the log-likelihood, from `least` rows of the first on."""
    for place in range(len(found)):
        moved = float(least + place - n_here)
        for tree in range(len(here)):
            if here[tree] != there[tree]:
                rows[here[tree] * n_classes + label] += moved
                rows[there[tree] * n_classes + label] -= moved
                found[place] += score(evidence, rows, here[tree], n_classes)
                found[place] += score(evidence, rows, there[tree], n_classes)
                rows[here[tree] * n_classes + label] -= moved
                rows[there[tree] * n_classes + label] += moved


def bits_at(model: LeafModel[Any], value: Int32Array, label: IntArray, open_value: BoolArray) -> float:
    """Return about how many bits an attacker lacks at least who knows the likelihood of every dataset.

    Parameters
    ----------
    model : LeafModel
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
    row_key = keys[value + offset[:-1]].sum(axis=1)
    by_row = _bits_of_rows(gains, _alone(value, row_key, keys, offset, chosen), row_key[chosen])
    everyone_open = bool(open_value[chosen].all()) and len(chosen) == len(value)
    return max(by_row, _bits_of_pairs(model, value, label, gains, offset)) if everyone_open else by_row


def _bits_of_rows(gains: FloatArray, alone: BoolArray, row_key: IntArray) -> float:
    """Return the bits of rows that change one value, to what no other row is near to."""
    gains = np.where(alone, gains, -np.inf)
    entropy = _entropy(np.concatenate([np.zeros((len(gains), 1)), gains], axis=1))
    _, row, number = np.unique(row_key, return_inverse=True, return_counts=True)
    together = np.bincount(row.reshape(-1), entropy) - gammaln(number + 1) / np.log(2)
    return float(np.maximum(together, 0.0).sum())


def _bits_of_pairs(
    model: LeafModel[Any], value: Int32Array, label: IntArray, gains: FloatArray, offset: IntArray
) -> float:
    """Return the bits of how many rows are of the one, and how many of the other of two vectors, pair by pair."""
    size: Counter[tuple[int, ...]] = Counter(map(tuple, np.column_stack([value, label]).tolist()))
    attribute = np.repeat(np.arange(len(offset) - 1), offset[1:] - offset[:-1])
    state = np.arange(offset[-1]) - offset[attribute]
    own = value[:, attribute] == state
    gains = np.where(own, -np.inf, gains)
    rows, evidence, n_classes = model.counts(value, label).rows, model.evidence, model.n_classes
    taken: set[tuple[int, ...]] = set()
    bits = 0.0
    for row in np.argsort(-gains.max(axis=1), kind="stable").tolist():
        here = (*value[row].tolist(), int(label[row]))
        if here in taken:
            continue
        for change in np.argsort(-gains[row], kind="stable")[:MOST_PARTNERS].tolist():
            there = (*here[: attribute[change]], int(state[change]), *here[attribute[change] + 1 :])
            if there in taken or gains[row, change] == -np.inf:
                continue
            taken |= {here, there}
            n_here, together = size[here], size[here] + size[there]
            least, most = max(0, n_here - MOST_MOVED), min(together, n_here + MOST_MOVED)
            found = np.zeros(most - least + 1)
            both = leaves_of(model.walks, np.array([here[:-1], there[:-1]], dtype=np.int32))
            _splits(evidence, rows, both[0], both[1], here[-1], n_here, least, found, n_classes)
            first = np.arange(least, most + 1)
            orders = gammaln(first + 1) + gammaln(together - first + 1)
            bits += float(_entropy((found - orders)[None])[0])
            break
    return bits


def _entropy(log_weight: FloatArray) -> FloatArray:
    """Return the entropy, to base 2, of each row of shares that are given by their logarithms."""
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    share = weight / weight.sum(axis=1, keepdims=True)
    entropy: FloatArray = -np.where(share > 0, share * np.log2(np.where(share > 0, share, 1.0)), 0.0).sum(axis=1)
    return entropy


def _gains_of(
    model: LeafModel[Any], value: Int32Array, label: IntArray, open_value: BoolArray, chosen: IntArray, offset: IntArray
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
    found = np.full((len(chosen), int(offset[-1])), -np.inf)
    _gains(model.walks, model.counts(value, label), rows, offset, model.n_classes, scratch, found)
    return found


def _alone(value: Int32Array, row_key: IntArray, keys: IntArray, offset: IntArray, chosen: IntArray) -> BoolArray:
    """Return which changes of one value make a row that is one change away from no true row but its own.

    Two rows differ in one attribute at most where they are equal without it. A changed row is so equal to its own row
    without the attribute that was changed; to a true row that it equals, without any.
    """
    _, first = np.unique(row_key, return_index=True)
    attribute = np.repeat(np.arange(len(offset) - 1), offset[1:] - offset[:-1])
    before = keys[value[chosen] + offset[:-1]]
    mine = row_key[chosen, None] - before[:, attribute] + keys
    near = np.zeros(mine.shape, dtype=np.int64)
    for a in range(len(offset) - 1):
        without = np.sort(row_key[first] - keys[value[first, a] + offset[a]])
        here = np.where(attribute == a, keys, before[:, [a]])
        rest = mine - here
        near += np.searchsorted(without, rest, side="right") - np.searchsorted(without, rest, side="left")
    alone: BoolArray = near == 1
    return alone
