"""How one row can move, whatever is said of it: compiled walks through all trees that saw the row.

To draw one value of a row, each tree that tests the attribute on the row's way is walked once, from the first node that
does, with a range of values that is parted where the attribute is tested again. So what *every* value would change is
known at once. What a row adds at a node, on both sides of a split and at a leaf, the evidence says (`evidence`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array
from pytest_draft.attack.compiled_trees import NONE, Walks, goes_right
from pytest_draft.attack.evidence.evidence import ending, mixed, parting, passing
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled, inlined


@redacted
class Scratch(NamedTuple):
    """Room that every move uses again."""

    weight: FloatArray
    """Shape (most,). Log-weights of what is drawn."""
    change: FloatArray
    """Shape (most + 1,). What each value adds, up to what all add."""
    first: Int32Array
    """Shape (n_attributes, n_trees). The first node that tests each attribute on the row's way; -1 for none."""
    path: Int32Array
    """Shape (n_trees, n_attributes). The attributes that are tested, in this order."""
    n_path: Int32Array
    """Shape (n_trees,). How many these are."""
    leaf: Int32Array
    """Shape (n_trees,). Where the row is."""
    stack: Int32Array
    """Shape (deepest + 2, 3). Nodes still to be walked from, each with a range of values."""
    so_far: FloatArray
    """Shape (deepest + 2,). What was added up on the way to each of them."""

    @classmethod
    def of(cls, walks: Walks, most: int) -> Scratch:
        """Return room for trees, and for so many values or labels at most."""
        n_trees, n_attributes = walks.n_trees, len(walks.one_hot)
        deepest = int(np.diff(walks.root).max()) + 2
        first, path = np.full((n_attributes, n_trees), NONE, np.int32), np.zeros((n_trees, n_attributes), np.int32)
        n_path, leaf = np.zeros((2, n_trees), np.int32)
        stack = np.zeros((deepest, 3), np.int32)
        return cls(np.zeros(most), np.zeros(most + 1), first, path, n_path, leaf, stack, np.zeros(deepest))


@inlined
def drawn(weight, n, level):  # type: ignore[no-untyped-def]
    """Draw an index by log-weights, which are used up, with a random number from 0 to 1."""
    highest = weight[:n].max()
    total = 0.0
    for index in range(n):
        weight[index] = math.exp(weight[index] - highest)
        total += weight[index]
    left = level * total
    for index in range(n - 1):
        left -= weight[index]
        if left < 0:
            return index
    return n - 1


@compiled
def trace(walks, values, times, changed, scratch):  # type: ignore[no-untyped-def]
    """Follow a row through each tree that saw it; where one attribute was changed, only from its first test on."""
    attribute, right, child = walks.attribute, walks.right, walks.child
    first, path, n_path, leaf = scratch.first, scratch.path, scratch.n_path, scratch.leaf
    for tree in range(len(n_path)):
        node, n = walks.root[tree], 0
        if changed != NONE:
            node = first[changed, tree]
            if node == NONE:
                continue
            while path[tree, n] != changed:
                n += 1
        for i in range(n, n_path[tree]):
            first[path[tree, i], tree] = NONE
        while times[tree] > 0 and attribute[node] >= 0:
            a = attribute[node]
            if first[a, tree] == NONE:
                first[a, tree] = node
                path[tree, n] = a
                n += 1
            node = child[2 * node + goes_right(right, node, values[a])]
        n_path[tree], leaf[tree] = n, -1 - attribute[node]


def attributes_tested(walks: Walks, values: Int32Array, times: Int32Array | None = None) -> BoolArray:
    """Return whether some tree tests each attribute on each row's way, shape (n_rows, n_attributes).

    Parameters
    ----------
    times : ndarray of int32, shape (n_trees, n_rows), or None
        Trees that saw a row no time are left out; None for none.
    """
    scratch, tested = Scratch.of(walks, 1), np.zeros(values.shape, dtype=np.bool_)
    times = np.ones((walks.n_trees, len(values)), dtype=np.int32) if times is None else times
    for row in range(len(values)):
        trace(walks, values[row], times[:, row], NONE, scratch)
        tested[row] = (scratch.first != NONE).any(axis=1)
    return tested


@compiled
def changes_of(walks, evidence, counts, values, label, times, leaf, a, n_values, out, scratch):  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0915
    """Write to `change` what each value of an attribute of a row that was traced adds, up to what all add.

    Parameters
    ----------
    values, times, leaf : ndarray
        Of the row: its values, how often each tree saw it, and its leaves as the evidence counts it.
    a, n_values : int
        The attribute, and how many values it has.
    out : bool
        Whether the row is taken out of the counts. If not, its own value adds nothing.
    """
    attribute, right, child = walks.attribute, walks.right, walks.child
    change, first, stack, so_far = scratch.change, scratch.first, scratch.stack, scratch.so_far
    gap, is_group, own = walks.missing, walks.one_hot[a], NONE if out else values[a]
    change[: n_values + 1] = 0.0  # how much more each value adds than the one before
    for tree in range(len(leaf)):
        if first[a, tree] == NONE:
            continue
        m, depth, of_others = times[tree], 1, 0.0
        stack[0, 0], stack[0, 1], stack[0, 2], so_far[0] = first[a, tree], 0, n_values, 0.0
        if gap[a] != NONE:
            stack[0, 2] = gap[a]
            stack[1, 0], stack[1, 1], stack[1, 2], so_far[1] = first[a, tree], gap[a], n_values, 0.0
            depth = 2
        while depth > 0:
            depth -= 1
            node, low, high, gain = stack[depth, 0], stack[depth, 1], stack[depth, 2], so_far[depth]
            is_range = high > low + 1
            while attribute[node] >= 0 and (is_range or is_group or low != own):
                b, begin, end = attribute[node], right[2 * node], right[2 * node + 1]
                if b != a or not is_range:
                    value = low if b == a else values[b]
                    present = NONE if value == gap[b] else value
                    gain += passing(evidence, counts, node, b, present, begin, label, m)
                    node = child[2 * node + ((begin <= value) & (value < end))]
                    continue
                gain += parting(evidence, counts, node, a, low, high, begin, label, m, change)
                if is_group and end == begin + 1:  # one value is parted from all others, which go on as a range
                    known = False
                    for i in range(depth):
                        known |= stack[i, 1] == begin
                    if not known:
                        stack[depth, 0], stack[depth, 1], stack[depth, 2] = child[2 * node + 1], begin, end
                        so_far[depth] = gain
                        depth += 1
                    node = child[2 * node]
                elif high <= begin or begin == end:
                    node = child[2 * node]
                elif low >= begin:
                    node = child[2 * node + 1]
                else:
                    stack[depth, 0], stack[depth, 1], stack[depth, 2] = child[2 * node + 1], begin, high
                    so_far[depth] = gain
                    depth += 1
                    node, high, is_range = child[2 * node], begin, begin > low + 1
            if low == own and not is_range and not is_group:
                continue
            gain += ending(evidence, counts, node, -1 - attribute[node], leaf[tree], label, m)
            if is_group and is_range:
                of_others = gain
            elif is_group:
                gain -= of_others
            change[low] += gain
            change[high] -= gain
    level = 0.0
    for value in range(n_values):
        level += change[value]
        change[value] = level


@compiled
def gain_of(walks, evidence, counts, values, label, times):  # type: ignore[no-untyped-def]
    """Return what a row that is out adds."""
    root, attribute, right, child, gap = walks.root, walks.attribute, walks.right, walks.child, walks.missing
    gain = 0.0
    for tree in range(len(times)):
        m, node = times[tree], root[tree]
        if m == 0:
            continue
        while attribute[node] >= 0:
            a = attribute[node]
            present = NONE if values[a] == gap[a] else values[a]
            gain += passing(evidence, counts, node, a, present, right[2 * node], label, m)
            node = child[2 * node + goes_right(right, node, values[a])]
        gain += ending(evidence, counts, node, -1 - attribute[node], NONE, label, m)
    return gain


@compiled
def uniform(random):  # type: ignore[no-untyped-def]
    """Return the next random number from 0 to 1 (splitmix64)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(mixed(random[0]) >> np.uint64(11)) / 9007199254740992.0
