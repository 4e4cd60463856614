"""The energy of a dataset, compiled: in go nodes, a dataset and a row that is out of it, out comes what it would cost.

The energy of a dataset is, summed over the nodes of all trees (`NodeArrays`):

- how far the counts by class, and of different rows, lie from the published ones, weighted by `NodeArrays.weight`;
- a penalty where the nearest values on both sides of a best split cannot have its threshold as their midpoint;
- a penalty for each row outside the node's decoded extremes, and for each extreme that no row takes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import FloatArray, Int32Array
from pytest_draft.attack.best_splits import cannot_meet
from pytest_draft.attack.numeric.dataset import FAR, NONE, lies_left
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled


@redacted
class CostScratch(NamedTuple):
    """Room that every step of a sweep uses again."""

    on_path: Int32Array
    """Shape (n_attributes, n_trees). The first node of each attribute on the row's way, as `trace` notes it."""
    change: FloatArray
    """Shape (most_states + 1,). How much more each state costs than the one before."""
    stack: Int32Array
    """Shape (deepest + 1, 3). Nodes still to be walked from, with a range of states."""
    costs: FloatArray
    """Shape (deepest + 1,). What was added up on the way to each of them."""


@compiled
def reach_cost(away, times, present, distinct):  # type: ignore[no-untyped-def]
    """Return how much farther from what is published the counts of a node are when a row reaches it.

    Parameters
    ----------
    away : int
        How far the count lies above the published one.
    times : int
        Draws of the row.
    present, distinct : int
        Rows that reach the node, and as many as are published; -1 where that is not.
    """
    cost = abs(away + times) - abs(away)
    if distinct >= 0:
        cost += 1 if present >= distinct else -1
    return cost


@compiled
def _split_cost(s, cut, twice, below, above, n_below, n_above, lowest, highest, start, low, high):  # type: ignore[no-untyped-def]
    """What a row of a state adds to what the rows of a node contradict about its split."""
    cost = 0.0
    if not np.isnan(twice):
        if s <= cut:
            if s <= below or above == FAR:
                return 0.0
            cost += cannot_meet(low, high, start + s, start + above, twice)
        else:
            if s >= above or below == NONE:
                return 0.0
            cost += cannot_meet(low, high, start + below, start + s, twice)
        if below != NONE and above != FAR:
            cost -= cannot_meet(low, high, start + below, start + above, twice)
        return cost
    if lowest >= 0:
        if s < lowest:
            cost += 1.0
        elif s == lowest and n_below == 0:
            cost -= 1.0
    if highest >= 0:
        if s > highest:
            cost += 1.0
        elif s == highest and n_above == 0:
            cost -= 1.0
    return cost


@compiled
def trace(k, changed, times, state, nodes, attributes, on_path, path, n_path):  # type: ignore[no-untyped-def]
    """Note the first node of each attribute on a row's way through each tree; only where a changed one was tested."""
    root, left, right, attribute = nodes.root, nodes.left, nodes.right, nodes.attribute
    cut, missing_left = nodes.cut, nodes.missing_left
    missing = attributes.missing
    for t in range(len(root) - 1):
        if changed != NONE and on_path[changed, t] == NONE:
            continue
        for i in range(n_path[t]):
            on_path[path[t, i], t] = NONE
        n = 0
        v = root[t]
        while times[t, k] > 0 and left[v] >= 0:
            a = attribute[v]
            if on_path[a, t] == NONE:
                on_path[a, t] = v
                path[t, n] = a
                n += 1
            v = left[v] if lies_left(cut[v], state[k, a], missing[a], missing_left[v]) else right[v]
        n_path[t] = n


@compiled
def _add_split_costs(  # type: ignore[no-untyped-def]
    low, high, penalty, change, cut, twice, below, above, n_below, n_above, lowest, highest, start,
    value_low, value_high,
):  # fmt: skip
    """Add what each state of the tested attribute from `low` to `high` costs at a node itself."""
    if not np.isnan(twice):  # values behind the nearest ones change nothing
        for s in range(max(low, below + 1), min(high, above - 1) + 1):
            cost = penalty * _split_cost(
                s, cut, twice, below, above, n_below, n_above, lowest, highest, start, value_low, value_high
            )
            change[s] += cost
            change[s + 1] -= cost
        return
    if lowest >= 0:
        if low < lowest:
            change[low] += penalty
            change[min(high + 1, lowest)] -= penalty
        if low <= lowest <= high and n_below == 0:
            change[lowest] -= penalty
            change[lowest + 1] += penalty
    if highest >= 0:
        if high > highest:
            change[max(low, highest + 1)] += penalty
            change[high + 1] -= penalty
        if low <= highest <= high and n_above == 0:
            change[highest] -= penalty
            change[highest + 1] += penalty


@compiled
def add_costs(nodes, attributes, data, times, k, a, first, last, only, penalty, scratch):  # type: ignore[no-untyped-def]
    """Add what each state of an attribute from `first` to `last` costs, in each tree from where it is first tested.

    It is added to `change`: how much more a state costs than the one before. With `only` these are the one state
    `first`: a column of a one-hot group, or a missing value.
    """
    left, right, attribute = nodes.left, nodes.right, nodes.attribute
    cut, missing_left, twice, lowest = nodes.cut, nodes.missing_left, nodes.twice, nodes.lowest
    highest, weight, count, distinct = nodes.highest, nodes.weight, nodes.count, nodes.distinct
    start, value_low, value_high, one_hot = attributes.start, attributes.low, attributes.high, attributes.one_hot
    missing, by_class = attributes.missing, nodes.by_class
    draws, below, above = data.draws, data.below, data.above
    present, n_below, n_above = data.present, data.n_below, data.n_above
    on_path, change, stack, costs = scratch.on_path, scratch.change, scratch.stack, scratch.costs
    row, label = data.state[k], data.label[k]
    for t in range(on_path.shape[1]):
        if on_path[a, t] == NONE:
            continue
        m = times[t, k]
        stack[0, 0], stack[0, 1], stack[0, 2] = on_path[a, t], first, last
        costs[0] = 0.0
        depth = 1
        while depth > 0:
            depth -= 1
            v, low, high, so_far = stack[depth, 0], stack[depth, 1], stack[depth, 2], costs[depth]
            while True:
                c = label if by_class[v] else 0
                so_far += weight[v] * reach_cost(draws[v, c] - count[v, c], m, present[v], distinct[v])
                if left[v] < 0:
                    break
                b = attribute[v]
                if b == a and not only:
                    if penalty > 0:
                        _add_split_costs(
                            low, high, penalty, change, cut[v], twice[v], below[v], above[v], n_below[v], n_above[v],
                            lowest[v], highest[v], start[a], value_low, value_high,
                        )  # fmt: skip
                    if high <= cut[v]:
                        v = left[v]
                    elif low > cut[v]:
                        v = right[v]
                    else:
                        stack[depth, 0], stack[depth, 1], stack[depth, 2] = right[v], cut[v] + 1, high
                        costs[depth] = so_far
                        depth += 1
                        high = cut[v]
                        v = left[v]
                    continue
                s = low if b == a else row[b]
                if penalty > 0 and not one_hot[b] and s != missing[b]:
                    so_far += penalty * _split_cost(
                        s, cut[v], twice[v], below[v], above[v], n_below[v], n_above[v], lowest[v], highest[v],
                        start[b], value_low, value_high,
                    )  # fmt: skip
                v = left[v] if lies_left(cut[v], s, missing[b], missing_left[v]) else right[v]
            change[low] += so_far
            change[high + 1] -= so_far


@compiled
def missed(nodes, attributes, data):  # type: ignore[no-untyped-def]  # noqa: PLR0912
    """Return what a dataset misses: counts at leaves, and splits that it contradicts."""
    counts, splits = 0, 0
    for t in range(len(nodes.root) - 1):
        for v in range(nodes.root[t], nodes.root[t + 1]):
            if nodes.left[v] < 0:
                for c in range(nodes.count.shape[1]):
                    counts += abs(data.draws[v, c] - nodes.count[v, c])
                if nodes.distinct[0] >= 0:
                    counts += abs(data.present[v] - nodes.distinct[v])
                continue
            a = nodes.attribute[v]
            if not np.isnan(nodes.twice[v]):
                below, above = data.below[v], data.above[v]
                if below != NONE and above != FAR:
                    start = attributes.start[a]
                    splits += cannot_meet(attributes.low, attributes.high, start + below, start + above, nodes.twice[v])
            else:
                splits += nodes.lowest[v] >= 0 and data.n_below[v] == 0
                splits += nodes.highest[v] >= 0 and data.n_above[v] == 0
                if nodes.lowest[v] >= 0 or nodes.highest[v] >= 0:
                    for u in range(nodes.left[v], nodes.end[v]):
                        if nodes.left[u] >= 0:
                            continue
                        k = data.first[u]
                        while k != NONE:
                            s = data.state[k, a]
                            if s != attributes.missing[a]:
                                splits += (nodes.lowest[v] >= 0 and s < nodes.lowest[v]) or (
                                    nodes.highest[v] >= 0 and s > nodes.highest[v]
                                )
                            k = data.after[t, k]
    return counts, splits


@compiled
def cost_of(nodes, attributes, data, times, k, penalty):  # type: ignore[no-untyped-def]
    """What a row that is out would add to the energy."""
    root, left, right, attribute = nodes.root, nodes.left, nodes.right, nodes.attribute
    cut, missing_left, twice, lowest = nodes.cut, nodes.missing_left, nodes.twice, nodes.lowest
    highest, weight, count, distinct = nodes.highest, nodes.weight, nodes.count, nodes.distinct
    start, value_low, value_high, one_hot = attributes.start, attributes.low, attributes.high, attributes.one_hot
    missing, by_class = attributes.missing, nodes.by_class
    state, draws, below, above = data.state, data.draws, data.below, data.above
    present, n_below, n_above = data.present, data.n_below, data.n_above
    cost = 0.0
    label = data.label[k]
    for t in range(len(root) - 1):
        m = times[t, k]
        if m == 0:
            continue
        v = root[t]
        while True:
            c = label if by_class[v] else 0
            cost += weight[v] * reach_cost(draws[v, c] - count[v, c], m, present[v], distinct[v])
            if left[v] < 0:
                break
            a = attribute[v]
            s = state[k, a]
            if penalty > 0 and not one_hot[a] and s != missing[a]:
                cost += penalty * _split_cost(
                    s, cut[v], twice[v], below[v], above[v], n_below[v], n_above[v],
                    lowest[v], highest[v], start[a], value_low, value_high,
                )  # fmt: skip
            goes_left = lies_left(cut[v], s, missing[a], missing_left[v])
            v = left[v] if goes_left else right[v]
    return cost
