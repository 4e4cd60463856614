"""A dataset in step with the nodes, compiled: in goes a row or out, and the counts and nearest states follow.

A sweep (`anneal`) takes a row out of all its trees, changes it, and puts it in again: every node knows at any time how
many draws and rows reach it, and which states are nearest to its threshold on both sides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled

NONE = -1
"""Stands for no node, no row and, below every state, no nearest one."""

FAR = 2**30
"""Above every state: no nearest one on the right."""


class NodeArrays(NamedTuple):
    """All nodes of all trees, each tree in preorder."""

    root: Int32Array
    """Shape (n_trees + 1,). First node of each tree; after the last, the number of nodes."""
    left: Int32Array
    right: Int32Array
    """`left` and `right`, shape (n_nodes,): -1 at leaves."""
    end: Int32Array
    """Shape (n_nodes,). The node after the last of a node's subtree."""
    attribute: Int32Array
    """Shape (n_nodes,)."""
    cut: Int32Array
    """Shape (n_nodes,). A state goes left when it is at most this; ``-2 - j`` sends all states but ``j`` left (one-hot
    groups).
    """
    missing_left: BoolArray
    """Shape (n_nodes,)."""
    twice: FloatArray
    """Shape (n_nodes,). Twice the threshold of a best split; NaN where it tells nothing."""
    lowest: Int32Array
    highest: Int32Array
    """`lowest` and `highest`, shape (n_nodes,): states of the decoded extremes of the tested attribute; -1 where
    unknown.
    """
    weight: FloatArray
    """Shape (n_nodes,)."""
    count: Int32Array  # type: ignore[assignment]
    """Shape (n_nodes, n_classes)."""
    distinct: Int32Array
    """Shape (n_nodes,). How many different rows reach a node; -1 at the first where that says nothing that `count`
    doesn't.
    """
    by_class: BoolArray
    """Shape (n_nodes,). Whether `count` is by class; else it holds all draws in place of the first class."""

    def __repr__(self) -> str:
        return f"NodeArrays({len(self.left)} nodes of {len(self.root) - 1} trees)"


@redacted
class Attributes(NamedTuple):
    """The states of all attributes, one after the other."""

    start: Int32Array
    """Shape (n_attributes + 1,)."""
    low: FloatArray
    high: FloatArray
    """`low` and `high`, shape (n_states,): least and greatest value of a state."""
    log_prior: FloatArray
    """Shape (n_states,)."""
    one_hot: BoolArray
    """Shape (n_attributes,)."""
    missing: Int32Array
    """Shape (n_attributes,). The state of a missing value, counted within the attribute; -1 where none can be missing.
    """
    score: FloatArray
    """Shape (n_states,). Where a state lies among all, as a normal score: what the copula compares."""


@redacted
class Copula(NamedTuple):
    """A Gaussian prior of each attribute given the others, on normal scores."""

    strength: float
    """0 switches it off."""
    mean: FloatArray
    """Shape (n_classes, n_attributes)."""
    slope: FloatArray
    """Shape (n_attributes, n_attributes). Row by row: how much an attribute's mean moves with each of the others."""
    deviation: FloatArray
    """Shape (n_attributes,)."""


class Dataset(NamedTuple):
    """A dataset that is being changed, and what follows from it."""

    state: Int32Array
    """Shape (n_rows, n_attributes)."""
    label: Int32Array
    """Shape (n_rows,)."""
    draws: Int32Array
    """Shape (n_nodes, n_classes). Draws of each class that reach a node."""
    present: Int32Array
    """Shape (n_nodes,). Rows that reach it."""
    below: Int32Array
    above: Int32Array
    """`below` and `above`, shape (n_nodes,): nearest states on both sides of a best split."""
    n_below: Int32Array
    n_above: Int32Array
    """`n_below` and `n_above`, shape (n_nodes,): rows that have them; with decoded extremes, rows that take the lowest
    and the highest.
    """
    leaf: Int32Array
    """Shape (n_trees, n_rows). Where each row is; -1 where a tree has not seen it."""
    first: Int32Array
    """Shape (n_nodes,). A row of each leaf."""
    after: Int32Array
    before: Int32Array
    """`after` and `before`, shape (n_trees, n_rows): the next row of the same leaf, and the one before."""
    random: NDArray[np.uint64]
    """Shape (1,)."""

    @classmethod
    def of(cls, nodes: NodeArrays, times: Int32Array, state: Int32Array, label: Int32Array, seed: int) -> Dataset:
        """Return rows that no tree has seen yet; `fill` brings them in step with the nodes.

        Parameters
        ----------
        times : ndarray of int32, shape (n_trees, n_rows)
        state, label : ndarray of int32
            As the fields; they are changed in place.
        seed : int
            From 0 to 2**64 - 1.
        """
        present, below, above, n_below, n_above, first = np.zeros((6, len(nodes.left)), dtype=np.int32)
        leaf, after, before = np.zeros((3, *times.shape), dtype=np.int32)
        draws, random = np.zeros_like(nodes.count), np.array([seed], dtype=np.uint64)
        return cls(state, label, draws, present, below, above, n_below, n_above, leaf, first, after, before, random)

    def __repr__(self) -> str:
        return f"Dataset({len(self.state)} rows, not shown)"


@compiled
def with_prior(attributes, log_prior):  # type: ignore[no-untyped-def]
    """Return the same attributes with other prior probabilities."""
    return Attributes(
        attributes.start, attributes.low, attributes.high, log_prior, attributes.one_hot, attributes.missing,
        attributes.score,
    )  # fmt: skip


@compiled
def lies_left(cut, s, missing, missing_left):  # type: ignore[no-untyped-def]
    """Whether a state lies on the left of a cut, as `NodeArrays.cut` says."""
    if cut <= -2:
        return s != -2 - cut
    if s == missing:
        return missing_left
    return s <= cut


@compiled
def put(nodes, attributes, data, times, k):  # type: ignore[no-untyped-def]
    """Put a row that is out into all its trees."""
    for t in range(len(nodes.root) - 1):
        _put(nodes, attributes, data, times, t, k)


@compiled
def _put(nodes, attributes, data, times, t, k):  # type: ignore[no-untyped-def]
    """Put a row into one tree."""
    if times[t, k] == 0:
        return
    leaf = _count(nodes, attributes, data, t, k, times[t, k], 1)
    head = data.first[leaf]
    data.leaf[t, k], data.after[t, k], data.before[t, k] = leaf, head, NONE
    if head != NONE:
        data.before[t, head] = k
    data.first[leaf] = k


@compiled
def take(nodes, attributes, data, times, k):  # type: ignore[no-untyped-def]
    """Take a row out of all its trees."""
    for t in range(len(nodes.root) - 1):
        if times[t, k] == 0:
            continue
        behind, ahead = data.after[t, k], data.before[t, k]
        if ahead != NONE:
            data.after[t, ahead] = behind
        else:
            data.first[data.leaf[t, k]] = behind
        if behind != NONE:
            data.before[t, behind] = ahead
        _count(nodes, attributes, data, t, k, times[t, k], -1)


@compiled
def _count(nodes, attributes, data, t, k, m, by):  # type: ignore[no-untyped-def]
    """Count a row at all nodes on its way through a tree (1), or no longer (-1); return its leaf."""
    root, left, right, attribute = nodes.root, nodes.left, nodes.right, nodes.attribute
    cut, missing_left, twice, lowest = nodes.cut, nodes.missing_left, nodes.twice, nodes.lowest
    highest, by_class, missing = nodes.highest, nodes.by_class, attributes.missing
    state, draws, below, above = data.state, data.draws, data.below, data.above
    present, n_below, n_above = data.present, data.n_below, data.n_above
    label = data.label[k]
    v = root[t]
    while True:
        draws[v, label if by_class[v] else 0] += by * m
        present[v] += by
        if left[v] < 0:
            return v
        a = attribute[v]
        s = state[k, a]
        goes_left = lies_left(cut[v], s, missing[a], missing_left[v])
        if s == missing[a]:
            pass
        elif np.isnan(twice[v]):
            n_below[v] += by * (s == lowest[v])
            n_above[v] += by * (s == highest[v])
        elif goes_left and s >= below[v]:
            n_below[v] = n_below[v] + by if s == below[v] else 1
            below[v] = s
            if n_below[v] == 0:
                _look_again(nodes, attributes, data, t, v, True)
        elif not goes_left and s <= above[v]:
            n_above[v] = n_above[v] + by if s == above[v] else 1
            above[v] = s
            if n_above[v] == 0:
                _look_again(nodes, attributes, data, t, v, False)
        v = left[v] if goes_left else right[v]


@compiled
def _look_again(nodes, attributes, data, t, v, left):  # type: ignore[no-untyped-def]
    """Find the nearest state on one side of a split among the rows that are left."""
    a = nodes.attribute[v]
    missing = attributes.missing[a]
    child = nodes.left[v] if left else nodes.right[v]
    best, number = (NONE, 0) if left else (FAR, 0)
    for u in range(child, nodes.end[child]):
        if nodes.left[u] >= 0:
            continue
        k = data.first[u]
        while k != NONE:
            s = data.state[k, a]
            if s != missing:
                if s == best:
                    number += 1
                elif (s > best) == left:
                    best, number = s, 1
            k = data.after[t, k]
    if left:
        data.below[v], data.n_below[v] = best, number
    else:
        data.above[v], data.n_above[v] = best, number


@compiled
def fill(nodes, attributes, data, times):  # type: ignore[no-untyped-def]
    """Put all rows in, from nothing: into one tree after the other, whose nodes are all at hand then."""
    data.draws[:], data.present[:] = 0, 0
    data.below[:], data.above[:] = NONE, FAR
    data.n_below[:], data.n_above[:] = 0, 0
    data.first[:], data.leaf[:] = NONE, NONE
    for t in range(len(nodes.root) - 1):
        for k in range(len(data.state)):
            _put(nodes, attributes, data, times, t, k)


@compiled
def tested(nodes, attributes, data, times):  # type: ignore[no-untyped-def]
    """Return which attributes of each row are tested on its way through some tree, shape (n_rows, n_attributes)."""
    draws = np.zeros(data.state.shape, np.bool_)
    for t in range(len(nodes.root) - 1):
        for k in range(len(data.state)):
            if times[t, k] == 0:
                continue
            v = nodes.root[t]
            while nodes.left[v] >= 0:
                a = nodes.attribute[v]
                draws[k, a] = True
                left = lies_left(nodes.cut[v], data.state[k, a], attributes.missing[a], nodes.missing_left[v])
                v = nodes.left[v] if left else nodes.right[v]
    return draws
