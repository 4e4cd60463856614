"""A dataset in step with the nodes, compiled: in goes a row or out, and the counts and nearest states follow.

A sweep (`anneal`) takes a row out of all its trees, changes it, and puts it in again: every node knows at any time how
many draws and rows reach it, and which states are nearest to its threshold on both sides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array
from pytest_draft.attack.compiled_trees import NONE, goes_right
from pytest_draft.attack.numeric.energy import FAR, NodeArrays
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled


@redacted
class Copula(NamedTuple):
    """A prior of each attribute: of its states alone, and a Gaussian one given the others, on normal scores."""

    log_prior: FloatArray
    """Shape (n_states,). The attributes' states stand side by side (`NodeArrays.start`)."""
    score: FloatArray
    """Shape (n_states,). Where a state lies among all, as a normal score: what the copula compares."""
    strength: float
    """0 switches the copula off."""
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
    times: Int32Array
    """Shape (n_trees, n_rows). How often each tree saw each row."""
    fixed: BoolArray
    """Shape (n_rows, n_attributes). Which values stay as they are."""
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
    def of(
        cls,
        nodes: NodeArrays,
        times: Int32Array,
        state: Int32Array,
        label: Int32Array,
        seed: int,
        fixed: BoolArray | None = None,
    ) -> Dataset:
        """Return rows that no tree has seen yet; `fill` brings them in step with the nodes.

        Parameters
        ----------
        times, state, label : ndarray of int32
            As the fields; `state` and `label` are changed in place.
        seed : int
            From 0 to 2**64 - 1.
        fixed : ndarray of bool or None
            As the field; None for none.
        """
        present, below, above, n_below, n_above, first = np.zeros((6, len(nodes.weight)), dtype=np.int32)
        leaf, after, before = np.zeros((3, *times.shape), dtype=np.int32)
        draws, random = np.zeros_like(nodes.count), np.array([seed], dtype=np.uint64)
        fixed = np.zeros(state.shape, dtype=np.bool_) if fixed is None else fixed
        return cls(
            state, label, times, fixed, draws, present, below, above, n_below, n_above, leaf, first, after, before,
            random,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Dataset({len(self.state)} rows, not shown)"


@compiled
def count_row(nodes, data, k, by):  # type: ignore[no-untyped-def]  # noqa: PLR0912
    """Put a row that is out into all its trees (1), or take it out of them (-1)."""
    attribute, right, child, missing = nodes.walks.attribute, nodes.walks.right, nodes.walks.child, nodes.walks.missing
    twice, lowest, highest, by_class = nodes.twice, nodes.lowest, nodes.highest, nodes.by_class
    state, draws, below, above = data.state, data.draws, data.below, data.above
    present, n_below, n_above = data.present, data.n_below, data.n_above
    first, after, before, label = data.first, data.after, data.before, data.label[k]
    root, times, leaf = nodes.walks.root, data.times, data.leaf
    for t in range(len(times)):
        m = times[t, k]
        if m == 0:
            continue
        if by < 0:
            behind, ahead = after[t, k], before[t, k]
            if ahead != NONE:
                after[t, ahead] = behind
            else:
                first[leaf[t, k]] = behind
            if behind != NONE:
                before[t, behind] = ahead
        v = root[t]
        while True:
            draws[v, label if by_class[v] else 0] += by * m
            present[v] += by
            a = attribute[v]
            if a < 0:
                break
            s = state[k, a]
            is_right = goes_right(right, v, s)
            if s == missing[a]:
                pass
            elif np.isnan(twice[v]):
                n_below[v] += by * (s == lowest[v])
                n_above[v] += by * (s == highest[v])
            elif not is_right and s >= below[v]:
                n_below[v] = n_below[v] + by if s == below[v] else 1
                below[v] = s
                if n_below[v] == 0:
                    _look_again(nodes, data, t, v, True)
            elif is_right and s <= above[v]:
                n_above[v] = n_above[v] + by if s == above[v] else 1
                above[v] = s
                if n_above[v] == 0:
                    _look_again(nodes, data, t, v, False)
            v = child[2 * v + is_right]
        if by > 0:
            head = first[v]
            leaf[t, k], after[t, k], before[t, k] = v, head, NONE
            if head != NONE:
                before[t, head] = k
            first[v] = k


@compiled
def _look_again(nodes, data, t, v, left):  # type: ignore[no-untyped-def]
    """Find the nearest state on one side of a split among the rows that are left."""
    a = nodes.walks.attribute[v]
    missing = nodes.walks.missing[a]
    child = nodes.walks.child[2 * v + (not left)]
    best, number = (NONE, 0) if left else (FAR, 0)
    for u in range(child, nodes.walks.end[child]):
        if nodes.walks.attribute[u] >= 0:
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
def fill(nodes, data):  # type: ignore[no-untyped-def]
    """Put all rows in, from nothing."""
    data.draws[:], data.present[:] = 0, 0
    data.below[:], data.above[:] = NONE, FAR
    data.n_below[:], data.n_above[:] = 0, 0
    data.first[:], data.leaf[:] = NONE, NONE
    for k in range(len(data.state)):
        count_row(nodes, data, k, 1)
