"""Optimal trees of zeros and ones: in go rows with labels, out come proven `Tree`, one for each limit of depth.

The tree with the fewest mistakes on the training rows, and of those with as few the one with the fewest splits, where
each leaf holds at least so many rows. There are far fewer sets of rows that splits can lead to than ways to lead there.
So all sets are found first, layer by layer, one for each depth; a set is known by its *dead* tests, those that hold for
none of its rows. Then the best tree of depth 1, 2, ... below each set follows from those below its parts.

This is the dynamic program of DL8 (Nijssen and Fromont, KDD 2007) over sets of rows. It needs no bounds, by which
pydl8.5 0.1.8 loses the best trees, and finds the trees of all depths at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pytest_draft.artifact.forest import Tree
from pytest_draft.errors import DataError
from pytest_draft.timebox import TimeBox
from studies.learners.width_one import BoolArray, IntArray

Masks = NDArray[np.uint64]
Int32 = NDArray[np.int32]

MOST_COLUMNS = 32
"""Most columns that divide the rows differently: two tests for each, as the bits of one machine word."""

MOST_SETS = 4_000_000
"""Most sets that are held: some gigabytes."""

_CHUNK = 4096  # sets that are extended between two looks at the time box
_MISTAKE = np.int64(2**32)  # a mistake outweighs any number of splits
_UNITS = 7e-10  # measured: one column of one feature vector of one set

Nested: TypeAlias = "tuple[int, Nested, Nested] | None"
"""A column and what follows where it is 0 and where it is 1; None for a leaf."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best tree of at most some depth."""

    tree: Tree
    mistakes: int
    """Training rows that it gets wrong."""
    bound: int
    """No tree of that depth makes fewer mistakes: proven."""

    @property
    def certified(self) -> bool:
        """Whether the tree is proven to be optimal."""
        return self.bound == self.mistakes


class _Layer(NamedTuple):
    """The sets of rows that a number of splits, and no smaller one, leads to."""

    counts: IntArray
    """Shape (n_sets, 2). Rows of each class."""
    parts: Int32
    """Shape (n_sets, n_columns, 2). Where each column is 0 and 1, counted through all layers; -1 where a part would be
    too small.
    """


def learn(features: BoolArray, labels: BoolArray, max_depth: int, min_rows: int, box: TimeBox) -> tuple[Optimum, ...]:
    """Return the best tree of a depth of at most 1, 2, ..., `max_depth`.

    Parameters
    ----------
    features : ndarray of bool, shape (n_rows, n_columns)
    labels : ndarray of bool, shape (n_rows,)
    min_rows : int
        Least number of rows of a leaf.
    box : TimeBox
        Where it ends, or there are more than `MOST_SETS` sets, the best tree of a smaller depth stands for the deeper.

    Returns
    -------
    tuple of Optimum, length max_depth

    Raises
    ------
    DataError
        Where there are more than `MOST_COLUMNS` different columns.
    """
    columns = _different(features, min_rows)
    bits = features[:, columns] * np.uint64(1) + ~features[:, columns] * np.uint64(2)
    masks = (bits << (2 * np.arange(len(columns), dtype=np.uint64))).sum(axis=1, dtype=np.uint64)
    holds, which = np.unique(masks, return_inverse=True)
    ones = np.bincount(which[labels], minlength=len(holds))
    counts = np.stack([np.bincount(which, minlength=len(holds)) - ones, ones], axis=1)
    layers = _layers(holds, counts, len(columns), max_depth, max(1, min_rows), box)
    splits, mistakes = _best_splits(layers)
    unavoidable, result = int(counts.min(axis=1).sum()), []
    for depth in range(1, max_depth + 1):
        known = min(depth, len(layers) - 1)
        tree = _grown(known, splits, layers, columns, features, labels)
        result.append(
            Optimum(tree, mistakes[known], mistakes[known] if known == depth else min(mistakes[known], unavoidable))
        )
    return tuple(result)


def _different(features: BoolArray, min_rows: int) -> IntArray:
    """Return the first of all columns that divide the rows alike, and into parts that are large enough."""
    ones = features.sum(axis=0)
    enough = np.flatnonzero(np.minimum(ones, len(features) - ones) >= min_rows)
    _, first = np.unique(features[:, enough] ^ features[:1, enough], axis=1, return_index=True)
    if len(first) > MOST_COLUMNS:
        raise DataError(f"{len(first)} different columns; optimal trees are covered up to {MOST_COLUMNS}")
    return enough[np.sort(first)].astype(np.int64)


def _layers(
    holds: Masks, counts: IntArray, n_columns: int, max_depth: int, min_rows: int, box: TimeBox
) -> list[_Layer]:
    """Return the sets by the number of splits that lead to them; none but complete layers."""
    dead = ~np.bitwise_or.reduce(holds, keepdims=True)
    known, number = dead, np.zeros(1, dtype=np.int32)
    layers: list[_Layer] = []
    for depth in range(max_depth + 1):
        n_tried = n_columns if depth < max_depth else 0
        found = [(np.zeros((0, 2), dtype=np.int64), np.zeros((0, n_tried, 2), dtype=np.uint64))]
        for begin in range(0, len(dead), _CHUNK):
            if layers and (box.over or len(known) > MOST_SETS):
                return layers
            chunk = dead[begin : begin + _CHUNK]
            box.spend(_UNITS * len(chunk) * len(holds) * (n_tried + 1))
            found.append(_divided(holds, counts, n_tried, min_rows, chunk))
        own, parts = (np.concatenate(some) for some in zip(*found, strict=True))
        divided = parts[..., 0] != parts[..., 1]
        dead = np.setdiff1d(parts[divided], known)
        order = np.argsort(np.concatenate([known, dead]), kind="stable")
        number = np.concatenate([number, len(known) + np.arange(len(dead), dtype=np.int32)])[order]
        known = np.concatenate([known, dead])[order]
        at = np.full(parts.shape, -1, dtype=np.int32)
        at[divided] = number[np.searchsorted(known, parts[divided])]
        layers.append(_Layer(own, at))
    return layers


@njit(cache=True, nogil=True)
def _divided(
    holds: Masks, counts: IntArray, n_columns: int, min_rows: int, dead: Masks
) -> tuple[IntArray, NDArray[np.uint64]]:
    """Return the rows of each class in some sets, and the parts that each column divides a set into.

    A part is known by its dead tests. Two zeros stand for parts of which one is too small.
    """
    one = np.uint64(1)
    own = np.zeros((len(dead), 2), dtype=np.int64)
    parts = np.zeros((len(dead), n_columns, 2), dtype=np.uint64)
    size = np.empty(n_columns, dtype=np.int64)  # rows where a column is 1
    for state in range(len(dead)):
        size[:] = 0
        for v in range(len(holds)):
            mask = holds[v]
            if mask & dead[state]:
                continue
            own[state] += counts[v]
            for column in range(n_columns):
                value = mask >> np.uint64(2 * column) & one
                parts[state, column, value] |= mask
                size[column] += value * (counts[v, 0] + counts[v, 1])
        total = own[state, 0] + own[state, 1]
        for column in range(n_columns):
            if min(size[column], total - size[column]) >= min_rows:
                parts[state, column] = ~parts[state, column]
            else:
                parts[state, column] = 0
    return own, parts


def _best_splits(layers: list[_Layer]) -> tuple[list[list[IntArray]], list[int]]:
    """Return the best first column of each set by depth and layer, -1 for a leaf, and the fewest mistakes by depth."""
    costs = [_MISTAKE * layer.counts.min(axis=1) for layer in layers]
    splits = [[np.full(len(cost), -1, dtype=np.int64) for cost in costs]]
    mistakes = [int(costs[0][0] // _MISTAKE)]
    for depth in range(1, len(layers)):
        below = np.concatenate(costs)
        columns, better = [], []
        for layer, cost in zip(layers[: len(layers) - depth], costs, strict=False):
            chosen, least = np.full(len(cost), -1, dtype=np.int64), _MISTAKE * layer.counts.min(axis=1)
            for column in range(layer.parts.shape[1]):
                parts = layer.parts[:, column]
                divided = np.where(parts[:, 0] >= 0, below[parts].sum(axis=1) + 1, np.iinfo(np.int64).max)
                chosen[divided < least] = column
                least = np.minimum(least, divided)
            columns.append(chosen)
            better.append(least)
        costs = better
        splits.append(columns)
        mistakes.append(int(costs[0][0] // _MISTAKE))
    return splits, mistakes


def _grown(
    depth: int,
    splits: list[list[IntArray]],
    layers: list[_Layer],
    columns: IntArray,
    features: BoolArray,
    labels: BoolArray,
) -> Tree:
    """Return the best tree of some depth, with the counts of the rows."""
    starts = np.cumsum([0, *(len(layer.counts) for layer in layers)])

    def nested(state: int, left: int) -> Nested:
        layer = int(np.searchsorted(starts, state, side="right")) - 1
        place = state - starts[layer]
        column = int(splits[left][layer][place])
        if column < 0:
            return None
        zero, one = layers[layer].parts[place, column]
        return int(columns[column]), nested(int(zero), left - 1), nested(int(one), left - 1)

    return _tree_of(nested(0, depth), features, labels)


def _tree_of(root: Nested, features: BoolArray, labels: BoolArray) -> Tree:
    """Return a tree with the counts of some rows.

    Parameters
    ----------
    features : ndarray of bool, shape (n_rows, n_columns)
    labels : ndarray of bool, shape (n_rows,)
    """
    left: list[int] = []
    right: list[int] = []
    feature: list[int] = []
    counts: list[tuple[int, int]] = []

    def add(node: Nested, inside: BoolArray) -> int:
        index, ones = len(left), int(labels[inside].sum())
        left.append(-1)
        right.append(-1)
        feature.append(-1)
        counts.append((int(inside.sum()) - ones, ones))
        if node is not None:
            column, zero, one = node
            feature[index] = column
            left[index] = add(zero, inside & ~features[:, column])
            right[index] = add(one, inside & features[:, column])
        return index

    add(root, np.ones(len(labels), dtype=bool))
    value, tested = np.array(counts, dtype=np.float64), np.array(feature, dtype=np.int64)
    return Tree(
        left=np.array(left, dtype=np.int64),
        right=np.array(right, dtype=np.int64),
        feature=tested,
        threshold=np.where(tested >= 0, 0.5, -2.0),
        missing_left=np.zeros(len(left), dtype=bool),
        value=value,
        weight=value.sum(axis=1),
        n_distinct=value.sum(axis=1).astype(np.int64),
        seed=None,
    )
