"""Belief propagation: how probable each possible vector is for each row, given `Regions` and groups.

Where trees saw rows different numbers of times, rows can be told apart, and each published count is an equation over
them. A tree holds two kinds of knowledge of a row: which leaf it is in, and, by the path there, its values. Messages go
back and forth (Pearl, 1988): from the values that all other trees believe in to the leaves of this one, from the leaves
of all other rows to this one's, each count a sum of many independent terms and so taken as normal (relaxed belief
propagation: Guo and Wang, ISIT 2007), and from the leaf back to the values. Nothing is proved by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.attack.enumeration import MAX_BYTES
from pytest_draft.attack.large_domains.regions import Regions
from pytest_draft.compiling import compiled
from pytest_draft.timebox import TimeBox

_DAMPING = 0.5
"""Share of the old message in a new one: without it messages swing."""

_LEAST_VARIANCE = 0.1
"""Least variance of a leaf's count: where all else is sure, the count speaks no louder than that."""

_LARGEST = 15.0
"""Largest log-odds that one leaf may state."""

_LEAST = 1e-7
"""Least chance that a tree's message states for a value."""

_IMPOSSIBLE = -60.0
"""Logarithm of the belief in what domain reduction has ruled out."""

_TINY = 1e-300
"""Sums are taken as at least so large before something is divided by them."""

_MOST_ROUNDS = 80
"""Most rounds over all trees."""

_SETTLED = 2e-3
"""Mean change of the beliefs' logarithms in a round below which they have settled."""

_UNITS_PER_VISIT = 6e-8
"""Measured: one row at one node."""


@dataclass(frozen=True, eq=False, repr=False)
class Marginals:
    """What is believed of each row: log-odds, up to a constant, of each attribute's bins and of the classes."""

    values: FloatArray
    """Shape (n_bins of all attributes, n_rows)."""
    classes: FloatArray
    """Shape (n_classes, n_rows)."""


def propagate_beliefs(
    regions: Regions,
    weight: IntArray,
    possible: BoolArray,
    allowed: BoolArray,
    classes: FloatArray,
    *,
    classes_known: bool,
    timebox: TimeBox,
) -> Iterator[Marginals]:
    """Yield what the counts of all trees together make of each row, round by round, until the beliefs settle.

    Nothing is yielded where it would take too much memory, and no more when the time is out.

    Parameters
    ----------
    weight : ndarray of int64, shape (n_trees, n_rows)
        How often each tree saw each row.
    possible : ndarray of bool, shape (n_rows, n_classes, n_leaves)
        The leaves, of trees that saw it, that a row can be in.
    allowed : ndarray of bool, shape (n_bins of all attributes, n_rows)
        What each row can be.
    classes : ndarray of float64, shape (n_classes, n_rows)
        How likely each class is to begin with.
    classes_known : bool
        Whether that is final.
    """
    n_bins, n_rows = allowed.shape
    n_classes = len(classes)
    widest = int(np.diff(regions.first_bin).max())
    needed = 8 * n_rows * (regions.n_trees * (n_bins + n_classes) + n_classes * len(regions.box))
    if needed + widest * len(regions.nodes.left) > MAX_BYTES:
        return
    values = np.where(allowed, 0.0, _IMPOSSIBLE)
    class_values = np.log(np.maximum(classes, np.exp(_IMPOSSIBLE)))
    to_values = np.zeros((regions.n_trees, n_bins, n_rows))
    to_classes = np.zeros((regions.n_trees, n_classes, n_rows))
    seen = np.repeat(weight > 0, np.diff(regions.leaf_start), axis=0)
    to_leaves = np.where(seen[:, None], possible.transpose(2, 1, 0), True).astype(np.float64)
    trees = _trees(regions, widest)
    units = _UNITS_PER_VISIT * len(regions.nodes.left) * n_rows
    for turn in range(_MOST_ROUNDS):
        before = values.copy()
        for t in np.random.default_rng([turn, 31]).permutation(regions.n_trees).tolist():
            if timebox.over:
                return
            timebox.spend(units / regions.n_trees)
            leaves = slice(regions.leaf_start[t], regions.leaf_start[t + 1])
            _pass_tree(
                values,
                class_values,
                to_values[t],
                to_classes[t],
                to_leaves[leaves],
                weight[t],
                regions.first_bin,
                classes_known,
                trees[t],
            )
        yield Marginals(values, class_values)
        if np.abs(values - before).mean() < _SETTLED:
            return


def _trees(regions: Regions, widest: int) -> list[tuple[Any, ...]]:
    """Return each tree's own part of the nodes, as `_pass_tree` takes it."""
    trees = []
    for t in range(regions.n_trees):
        nodes = slice(regions.nodes.first[t], regions.nodes.first[t + 1])
        left, right = (
            np.where(side[nodes] < 0, -1, side[nodes] - regions.nodes.first[t])
            for side in (regions.nodes.left, regions.nodes.right)
        )
        tests = regions.attribute[nodes], regions.low[nodes], regions.high[nodes], regions.inverted[nodes]
        held = _held(left, right, *tests, np.diff(regions.first_bin), widest)
        leaf_of = regions.first_leaf[nodes] - regions.leaf_start[t]
        trees.append((left, right, *tests, held, leaf_of, regions.counts[nodes], regions.distinct[nodes]))
    return trees


@compiled
def _held(
    left: IntArray,
    right: IntArray,
    attribute: IntArray,
    low: IntArray,
    high: IntArray,
    inverted: BoolArray,
    n_bins: IntArray,
    widest: int,
) -> BoolArray:
    """Return which bins of the attribute that it tests can come to each node, shape (n_nodes, widest)."""
    held = np.zeros((len(left), widest), dtype=np.bool_)
    parent = np.full(len(left), -1, dtype=np.int64)
    for node in range(len(left)):
        if left[node] < 0:
            continue
        parent[left[node]] = parent[right[node]] = node
        held[node, : n_bins[attribute[node]]] = True
        below, above = node, parent[node]
        while above >= 0:
            if attribute[above] == attribute[node]:
                for b in range(n_bins[attribute[node]]):
                    goes_left = (low[above] <= b < high[above]) != inverted[above]
                    held[node, b] &= goes_left == (below == left[above])
            below, above = above, parent[above]
    return held


@compiled
def _without(total: FloatArray, own: FloatArray, bounds: IntArray) -> FloatArray:
    """Return the distributions that log-odds give without one of their parts, column by column."""
    shares = np.empty_like(total)
    for a in range(len(bounds) - 1):
        for r in range(total.shape[1]):
            largest, full = -np.inf, 0.0
            for b in range(bounds[a], bounds[a + 1]):
                shares[b, r] = total[b, r] - own[b, r]
                largest = max(largest, shares[b, r])
            for b in range(bounds[a], bounds[a + 1]):
                shares[b, r] = np.exp(shares[b, r] - largest)
                full += shares[b, r]
            for b in range(bounds[a], bounds[a + 1]):
                shares[b, r] /= full
    return shares


@compiled
def _reach(
    belief: FloatArray,
    left: IntArray,
    right: IntArray,
    attribute: IntArray,
    low: IntArray,
    high: IntArray,
    inverted: BoolArray,
    held: BoolArray,
    first_bin: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return each row's chance to come to each node of a tree, to go left from there, and to have a bin that can.

    All of shape (n_nodes, n_rows). A path that tests an attribute twice leaves some of its bins to the second test.
    """
    n_nodes, n_rows = len(left), belief.shape[1]
    reach, inside, open_share = np.ones((n_nodes, n_rows)), np.zeros((n_nodes, n_rows)), np.zeros((n_nodes, n_rows))
    for node in range(n_nodes):
        if left[node] < 0:
            continue
        base = first_bin[attribute[node]]
        for b in range(first_bin[attribute[node] + 1] - base):
            if held[node, b]:
                open_share[node] += belief[base + b]
                if (low[node] <= b < high[node]) != inverted[node]:
                    inside[node] += belief[base + b]
        open_share[node] = np.maximum(open_share[node], _TINY)
        inside[node] = np.minimum(inside[node] / open_share[node], 1.0)
        reach[left[node]] = reach[node] * inside[node]
        reach[right[node]] = reach[node] * (1 - inside[node])
    return reach, inside, open_share


@compiled
def _weigh_counts(
    to_leaves: FloatArray,
    chance: FloatArray,
    reach: FloatArray,
    times: IntArray,
    left: IntArray,
    leaf_of: IntArray,
    counts: IntArray,
    distinct: IntArray,
) -> None:
    """Bring up to date how each leaf's counts speak for and against each row and class being there.

    A count is the sum of what the rows add to it, each by its chance to be there as far as all else says: normal, with
    the mean and the variance of that sum. Being there must explain the count better than being elsewhere.
    """
    n_classes, n_rows = chance.shape
    leaves = np.flatnonzero(left < 0)
    total = np.zeros(n_rows)
    for node in leaves:
        for c in range(n_classes):
            for r in range(n_rows):
                total[r] += chance[c, r] * reach[node, r] * to_leaves[leaf_of[node], c, r]
    here, anyone = np.zeros((n_classes, n_rows)), np.zeros(n_rows)
    for node in leaves:
        leaf = leaf_of[node]
        anyone[:] = 0.0
        rows, rows_variance = 0.0, 0.0
        for r in range(n_rows):
            for c in range(n_classes):
                here[c, r] = 0.0
                if times[r] > 0 and to_leaves[leaf, c, r] > 0:
                    part = chance[c, r] * reach[node, r]
                    others = max(total[r] - part * to_leaves[leaf, c, r], 0.0)
                    here[c, r] = part / max(part + others, _TINY)
                    anyone[r] += here[c, r]
            anyone[r] = min(anyone[r], 1.0)
            rows += anyone[r]
            rows_variance += anyone[r] * (1 - anyone[r])
        for c in range(n_classes):
            draws, variance = 0.0, 0.0
            for r in range(n_rows):
                draws += times[r] * here[c, r]
                variance += times[r] ** 2 * here[c, r] * (1 - here[c, r])
            for r in range(n_rows):
                if times[r] == 0 or to_leaves[leaf, c, r] == 0:
                    continue
                spread = max(variance - times[r] ** 2 * here[c, r] * (1 - here[c, r]), 0.0) + _LEAST_VARIANCE
                elsewhere = counts[node, c] - draws + times[r] * here[c, r]
                speaks = (elsewhere**2 - (elsewhere - times[r]) ** 2) / (2 * spread)
                if distinct[node] >= 0:
                    spread = max(rows_variance - anyone[r] * (1 - anyone[r]), 0.0) + _LEAST_VARIANCE
                    elsewhere = distinct[node] - rows + anyone[r]
                    speaks += (elsewhere**2 - (elsewhere - 1) ** 2) / (2 * spread)
                speaks = min(max(speaks, -_LARGEST), _LARGEST)
                to_leaves[leaf, c, r] = np.exp(_DAMPING * np.log(to_leaves[leaf, c, r]) + (1 - _DAMPING) * speaks)


@compiled
def _damp(total: FloatArray, own: FloatArray, said: FloatArray, times: IntArray) -> None:
    """Move the messages of a tree towards likelihood ratios, and the totals with them."""
    for b in range(len(total)):
        for r in range(total.shape[1]):
            if times[r] > 0:
                new = _DAMPING * own[b, r] + (1 - _DAMPING) * np.log(max(said[b, r], _LEAST))
                total[b, r] += new - own[b, r]
                own[b, r] = new


@compiled
def _pass_tree(
    values: FloatArray,
    classes: FloatArray,
    to_values: FloatArray,
    to_classes: FloatArray,
    to_leaves: FloatArray,
    times: IntArray,
    first_bin: IntArray,
    classes_known: bool,
    tree: tuple[Any, ...],
) -> None:
    """Pass all messages of one tree, in place."""
    left, right, attribute, low, high, inverted, held, leaf_of, counts, distinct = tree
    n_classes, n_rows = classes.shape
    n_nodes = len(left)
    belief = _without(values, to_values, first_bin)
    chance = _without(classes, to_classes, np.array([0, n_classes]))
    reach, inside, open_share = _reach(belief, left, right, attribute, low, high, inverted, held, first_bin)
    _weigh_counts(to_leaves, chance, reach, times, left, leaf_of, counts, distinct)
    # How well the leaves below a node explain the counts, for a row of a class that has come so far.
    below = np.empty((n_classes, n_nodes, n_rows))
    for c in range(n_classes):
        for node in range(n_nodes - 1, -1, -1):
            if left[node] < 0:
                below[c, node] = to_leaves[leaf_of[node], c]
            else:
                share = inside[node]
                below[c, node] = share * below[c, left[node]] + (1 - share) * below[c, right[node]]
    total = np.zeros(n_rows)
    for c in range(n_classes):
        total += chance[c] * below[c, 0]
    total = np.maximum(total, _TINY)
    said = np.ones_like(values)
    for node in range(n_nodes):
        if left[node] < 0:
            continue
        by_left, by_right = np.zeros(n_rows), np.zeros(n_rows)
        for c in range(n_classes):
            by_left += chance[c] * (below[c, left[node]] - below[c, node])
            by_right += chance[c] * (below[c, right[node]] - below[c, node])
        # The path's own tests of the attribute are no evidence for a bin: they say whether it can come here at all.
        given_bin = reach[node] / open_share[node] / total
        base = first_bin[attribute[node]]
        for b in range(first_bin[attribute[node] + 1] - base):
            if held[node, b]:
                goes_left = (low[node] <= b < high[node]) != inverted[node]
                said[base + b] += given_bin * (by_left if goes_left else by_right)
    _damp(values, to_values, said, times)
    if not classes_known:
        _damp(classes, to_classes, below[:, 0] / total, times)
