"""The energy of a dataset, compiled: in go nodes, a dataset and a row that is out of it, out comes what it would add.

The energy of a dataset is, summed over the nodes of all trees (`NodeArrays`):

- how far the counts by class, and of different rows, lie from the published ones, weighted by `NodeArrays.weight`;
- a penalty where the nearest values on both sides of a best split cannot have its threshold as their midpoint;
- a penalty for each row outside the node's decoded extremes, and for each extreme that no row takes.

Minus the energy is to a temperature what the log-likelihood of other evidence is: what a row adds is written as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.nodes import ForestNodes, depth_first
from pytest_draft.attack.best_splits import cannot_meet, midpoints_of
from pytest_draft.attack.compiled_trees import NONE, Walks
from pytest_draft.attack.evidence.evidence import walked_by
from pytest_draft.attack.states import States, points_of
from pytest_draft.attack.target_classes import TargetCounts
from pytest_draft.compiling import compiled, inlined

INNER_WEIGHT = 0.1
"""How much a difference in counts weighs at a node that is no leaf, where a leaf weighs 1."""

FAR = 2**30
"""Above every state: no nearest one on the right."""


@compiled
def _split_cost(penalty, s, begin, twice, below, above, n_below, n_above, lowest, highest, own, left, right):  # type: ignore[no-untyped-def]  # noqa: PLR0912
    """Return what it costs that a row of a state, -1 for a missing value, contradicts a node's split.

    Parameters
    ----------
    own, left, right : tuple of float
        Least and greatest value of the row's state, and of the nearest ones on both sides.
    """
    if not penalty > 0 or s < 0:
        return 0.0
    cost = 0.0
    if not np.isnan(twice):
        if s < begin:
            if s <= below or above == FAR:
                return 0.0
            cost += cannot_meet(own, right, twice)
        else:
            if s >= above or below == NONE:
                return 0.0
            cost += cannot_meet(left, own, twice)
        if below != NONE and above != FAR:
            cost -= cannot_meet(left, right, twice)
        return penalty * cost
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
    return penalty * cost


@compiled
def _take_split_costs(  # type: ignore[no-untyped-def]
    low, high, penalty, change, begin, twice, below, above, n_below, n_above, lowest, highest, start,
    value_low, value_high,
):  # fmt: skip
    """Take off what each state of the tested attribute from `low` to `high` costs at a node itself."""
    if not penalty > 0:
        return
    if not np.isnan(twice):  # values behind the nearest ones change nothing
        last = len(value_low) - 1
        left = value_low[start + below], value_high[start + below]
        right = value_low[min(start + above, last)], value_high[min(start + above, last)]
        for s in range(max(low, below + 1), min(high, above - 1) + 1):
            cost = _split_cost(
                penalty, s, begin, twice, below, above, n_below, n_above, lowest, highest,
                (value_low[start + s], value_high[start + s]), left, right,
            )  # fmt: skip
            change[s] -= cost
            change[s + 1] += cost
        return
    if lowest >= 0:
        if low < lowest:
            change[low] -= penalty
            change[min(high + 1, lowest)] += penalty
        if low <= lowest <= high and n_below == 0:
            change[lowest] += penalty
            change[lowest + 1] -= penalty
    if highest >= 0:
        if high > highest:
            change[max(low, highest + 1)] -= penalty
            change[high + 1] += penalty
        if low <= highest <= high and n_above == 0:
            change[highest] += penalty
            change[highest + 1] -= penalty


# Numbers are taken out of their tuples in one line: across branches, each tuple counts references to all that it holds.


@compiled
def _passing(evidence, counts, node, attribute, value, begin, label, times):  # type: ignore[no-untyped-def]
    start, last = evidence.start[attribute], len(evidence.low) - 1
    own, left, right = start + value, start + counts.below[node], min(start + counts.above[node], last)
    return _ending(evidence, counts, node, 0, 0, label, times) - _split_cost(
        evidence.penalty, value, begin, evidence.twice[node], counts.below[node], counts.above[node],
        counts.n_below[node], counts.n_above[node], evidence.lowest[node], evidence.highest[node],
        (evidence.low[own], evidence.high[own]), (evidence.low[left], evidence.high[left]),
        (evidence.low[right], evidence.high[right]),
    )  # fmt: skip


@compiled
def _parting(evidence, counts, node, attribute, low, high, begin, label, times, change):  # type: ignore[no-untyped-def]
    _take_split_costs(
        low, high - 1, evidence.penalty, change, begin, evidence.twice[node], counts.below[node], counts.above[node],
        counts.n_below[node], counts.n_above[node], evidence.lowest[node], evidence.highest[node],
        evidence.start[attribute], evidence.low, evidence.high,
    )  # fmt: skip
    return _ending(evidence, counts, node, 0, 0, label, times)


@inlined
def _ending(evidence, counts, node, leaf, here, label, times):  # type: ignore[no-untyped-def]
    """Return how much nearer to what is published the counts of a node are when a row reaches it."""
    c, distinct, present = label * evidence.by_class[node], evidence.distinct[node], counts.present[node]
    away = counts.draws[node, c] - evidence.count[node, c]
    new = (distinct >= 0) * (1 - 2 * (present >= distinct))
    return evidence.weight[node] * (abs(away) - abs(away + times) + new)


@walked_by(_passing, _parting, _ending)
class NodeArrays(NamedTuple):
    """What is published of the nodes of all trees, in preorder, and what the states of attributes are."""

    walks: Walks
    """Over states."""
    start: Int32Array
    """Shape (n_attributes + 1,). First state of each attribute, where those of all stand side by side."""
    low: FloatArray
    high: FloatArray
    """`low` and `high`, shape (n_states,): least and greatest value of a state."""
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
    penalty: float = 1.0
    """Of a split that the rows contradict; 0 leaves these out."""

    def __repr__(self) -> str:
        return f"NodeArrays({len(self.weight)} nodes)"


@compiled
def missed(nodes, data):  # type: ignore[no-untyped-def]  # noqa: PLR0912
    """Return what a dataset misses: counts at leaves, and splits that it contradicts."""
    counts, splits = 0, 0
    attribute, child, missing = nodes.walks.attribute, nodes.walks.child, nodes.walks.missing
    for t in range(len(nodes.walks.root) - 1):
        for v in range(nodes.walks.root[t], nodes.walks.root[t + 1]):
            a = attribute[v]
            if a < 0:
                for c in range(nodes.count.shape[1]):
                    counts += abs(data.draws[v, c] - nodes.count[v, c])
                if nodes.distinct[0] >= 0:
                    counts += abs(data.present[v] - nodes.distinct[v])
                continue
            if not np.isnan(nodes.twice[v]):
                below, above = data.below[v], data.above[v]
                if below != NONE and above != FAR:
                    start = nodes.start[a]
                    left = nodes.low[start + below], nodes.high[start + below]
                    right = nodes.low[start + above], nodes.high[start + above]
                    splits += cannot_meet(left, right, nodes.twice[v])
            else:
                splits += nodes.lowest[v] >= 0 and data.n_below[v] == 0
                splits += nodes.highest[v] >= 0 and data.n_above[v] == 0
                if nodes.lowest[v] >= 0 or nodes.highest[v] >= 0:
                    for u in range(child[2 * v], nodes.walks.end[v]):
                        if attribute[u] >= 0:
                            continue
                        k = data.first[u]
                        while k != NONE:
                            s = data.state[k, a]
                            if s != missing[a]:
                                splits += (nodes.lowest[v] >= 0 and s < nodes.lowest[v]) or (
                                    nodes.highest[v] >= 0 and s > nodes.highest[v]
                                )
                            k = data.after[t, k]
    return counts, splits


def nodes_of(
    forest: Forest,
    states: States,
    extremes: tuple[Sequence[FloatArray], Sequence[FloatArray]] | None = None,
    in_time: Callable[[], None] | None = None,
    targets: TargetCounts | None = None,
) -> NodeArrays:
    """Return the nodes of all trees as the compiled sweeps take them.

    Parameters
    ----------
    extremes : pair of sequences of ndarray of float64, shape (n_nodes,), or None
        By tree: decoded least and greatest value of the tested column at each node, NaN where unknown.
    in_time : callable or None
        Called before each tree; it can raise `OutOfTimeError`.
    targets : TargetCounts or None
        What the nodes of a regressor hold of each target; then these are the classes.
    """
    nodes = ForestNodes.of(forest.trees)
    walks = Walks.of(forest, states.domain, states.ends)
    attribute = np.where(nodes.feature >= 0, states.domain.attribute_of_column[nodes.feature], -1)
    order, _ = depth_first(nodes.left, nodes.right, nodes.first[:-1])
    inner = nodes.left >= 0
    numeric = inner & np.array([made.kind != "one-hot" for made in states.domain.attributes])[attribute]
    lowest, highest = np.full((2, len(order)), -1)
    if extremes is not None:
        for a in np.unique(attribute[numeric]).tolist():
            here = np.flatnonzero(attribute == a)
            for found, values in zip((lowest, highest), extremes, strict=True):
                found[here] = points_of(states, a, np.concatenate(values)[here])
    counts = []
    for t in range(forest.n_trees):
        if in_time is not None:
            in_time()
        counts.append(forest.counts(t) if targets is None else targets.counts[t])
    distinct = [np.full(1, -1)] if forest.distinct is None else [tree.n_distinct for tree in forest.trees]
    return NodeArrays(
        walks,
        np.concatenate([[0], np.cumsum(states.n_states)]).astype(np.int32),
        np.concatenate(states.low),
        np.concatenate(states.high),
        twice=np.where(numeric & np.concatenate(midpoints_of(forest)), 2 * nodes.threshold, np.nan)[order],
        lowest=lowest[order].astype(np.int32),
        highest=highest[order].astype(np.int32),
        weight=np.where(inner, INNER_WEIGHT, 1.0)[order],
        count=np.concatenate(counts)[order].astype(np.int32),
        distinct=np.broadcast_to(np.concatenate(distinct), len(order))[order].astype(np.int32),
        by_class=np.ones(len(order), np.bool_) if targets is None else np.concatenate(targets.known)[order],
    )
