"""Heat-bath sweeps over what each row can be, compiled: in go nodes, rows and a temperature, out come changed rows.

The energy of a dataset is, summed over the nodes of all trees (`Nodes`):

- how far the counts by class, and of different rows, lie from the published ones, weighted by `Nodes.weight`;
- `Nodes.penalty` where the nearest values on both sides of a best split cannot have its threshold as their midpoint;
- `Nodes.penalty` for each row outside the node's decoded extremes, and for each extreme that no row takes.

One row is taken out; then, attribute by attribute, all its trees are walked once with the other attributes as they are,
which gives the energy of *every* state of that attribute at once, and one is drawn from exp(-energy / temperature).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pytest_draft.attack.redacted import redacted

Int32 = NDArray[np.int32]
Float64 = NDArray[np.float64]

NONE = -1
FAR = 2**30


class Nodes(NamedTuple):
    """All nodes of all trees, each tree in preorder.

    Attributes
    ----------
    root : ndarray of int32, shape (n_trees + 1,)
        First node of each tree; after the last, the number of nodes.
    left, right : ndarray of int32, shape (n_nodes,)
        -1 at leaves.
    end : ndarray of int32, shape (n_nodes,)
        The node after the last of a node's subtree.
    attribute : ndarray of int32, shape (n_nodes,)
    cut : ndarray of int32, shape (n_nodes,)
        A state goes left when it is at most this; ``-2 - j`` sends all states but ``j`` left (one-hot groups).
    missing_left : ndarray of bool, shape (n_nodes,)
    twice : ndarray of float64, shape (n_nodes,)
        Twice the threshold of a best split; NaN where it tells nothing.
    lowest, highest : ndarray of int32, shape (n_nodes,)
        States of the decoded extremes of the tested attribute; -1 where unknown.
    weight : ndarray of float64, shape (n_nodes,)
    count : ndarray of int32, shape (n_nodes, n_classes)
    distinct : ndarray of int32, shape (n_nodes,)
        How many different rows reach a node; -1 at the first where that says nothing that `count` doesn't.
    """

    root: Int32
    left: Int32
    right: Int32
    end: Int32
    attribute: Int32
    cut: Int32
    missing_left: NDArray[np.bool_]
    twice: Float64
    lowest: Int32
    highest: Int32
    weight: Float64
    count: Int32  # type: ignore[assignment]
    distinct: Int32

    def __repr__(self) -> str:
        return f"Nodes({len(self.left)} nodes of {len(self.root) - 1} trees)"


@redacted
class Attributes(NamedTuple):
    """The states of all attributes, one after the other.

    Attributes
    ----------
    start : ndarray of int32, shape (n_attributes + 1,)
    low, high : ndarray of float64, shape (n_states,)
        Least and greatest value of a state.
    log_prior : ndarray of float64, shape (n_states,)
    one_hot : ndarray of bool, shape (n_attributes,)
    missing : ndarray of int32, shape (n_attributes,)
        The state of a missing value, counted within the attribute; -1 where none can be missing.
    score : ndarray of float64, shape (n_states,)
        Where a state lies among all, as a normal score: what the copula compares.
    """

    start: Int32
    low: Float64
    high: Float64
    log_prior: Float64
    one_hot: NDArray[np.bool_]
    missing: Int32
    score: Float64


@redacted
class Copula(NamedTuple):
    """A Gaussian prior of each attribute given the others, on normal scores.

    Attributes
    ----------
    strength : float
        0 switches it off.
    mean : ndarray of float64, shape (n_classes, n_attributes)
    slope : ndarray of float64, shape (n_attributes, n_attributes)
        Row by row: how much an attribute's mean moves with each of the others.
    deviation : ndarray of float64, shape (n_attributes,)
    """

    strength: float
    mean: Float64
    slope: Float64
    deviation: Float64


class Dataset(NamedTuple):
    """A dataset that is being changed, and what follows from it.

    Attributes
    ----------
    state : ndarray of int32, shape (n_rows, n_attributes)
    label : ndarray of int32, shape (n_rows,)
    found : ndarray of int32, shape (n_nodes, n_classes)
        Draws of each class that reach a node.
    present : ndarray of int32, shape (n_nodes,)
        Rows that reach it.
    below, above : ndarray of int32, shape (n_nodes,)
        Nearest states on both sides of a best split.
    n_below, n_above : ndarray of int32, shape (n_nodes,)
        Rows that have them; with decoded extremes, rows that take the lowest and the highest.
    leaf : ndarray of int32, shape (n_trees, n_rows)
        Where each row is; -1 where a tree has not seen it.
    first : ndarray of int32, shape (n_nodes,)
        A row of each leaf.
    after, before : ndarray of int32, shape (n_trees, n_rows)
        The next row of the same leaf, and the one before.
    random : ndarray of uint64, shape (1,)
    """

    state: Int32
    label: Int32
    found: Int32
    present: Int32
    below: Int32
    above: Int32
    n_below: Int32
    n_above: Int32
    leaf: Int32
    first: Int32
    after: Int32
    before: Int32
    random: NDArray[np.uint64]

    def __repr__(self) -> str:
        return f"Dataset({len(self.state)} rows, not shown)"


_compiled = njit(cache=True, nogil=True)


@_compiled
def _uniform(random):  # type: ignore[no-untyped-def]
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.float64(z >> np.uint64(11)) / 9007199254740992.0


@_compiled
def _goes_left(cut, s, missing, missing_left):  # type: ignore[no-untyped-def]
    if cut <= -2:
        return s != -2 - cut
    if s == missing:
        return missing_left
    return s <= cut


@_compiled
def _cannot_meet(low, high, below, above, twice):  # type: ignore[no-untyped-def]
    """Whether no two values of these states, given by their places among all, have the threshold as their midpoint."""
    return low[below] + low[above] > twice or high[below] + high[above] < twice


@_compiled
def _split_cost(s, cut, twice, below, above, n_below, n_above, lowest, highest, start, low, high):  # type: ignore[no-untyped-def]
    """What a row of a state adds to what the rows of a node contradict about its split."""
    cost = 0.0
    if not np.isnan(twice):
        if s <= cut:
            if s <= below or above == FAR:
                return 0.0
            cost += _cannot_meet(low, high, start + s, start + above, twice)
        else:
            if s >= above or below == NONE:
                return 0.0
            cost += _cannot_meet(low, high, start + below, start + s, twice)
        if below != NONE and above != FAR:
            cost -= _cannot_meet(low, high, start + below, start + above, twice)
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


@_compiled
def put(nodes, attributes, data, times, k):  # type: ignore[no-untyped-def]  # noqa: PLR0912
    """Put a row that is out into all its trees."""
    root, left, right, attribute = nodes.root, nodes.left, nodes.right, nodes.attribute
    cut, missing_left, twice, lowest = nodes.cut, nodes.missing_left, nodes.twice, nodes.lowest
    highest = nodes.highest
    missing = attributes.missing
    state, found, below, above = data.state, data.found, data.below, data.above
    present = data.present
    n_below, n_above, at_leaf, first = data.n_below, data.n_above, data.leaf, data.first
    after, before = data.after, data.before
    label = data.label[k]
    for t in range(len(root) - 1):
        m = times[t, k]
        if m == 0:
            continue
        v = root[t]
        while True:
            found[v, label] += m
            present[v] += 1
            if left[v] < 0:
                break
            a = attribute[v]
            s = state[k, a]
            goes_left = _goes_left(cut[v], s, missing[a], missing_left[v])
            if s != missing[a]:
                if not np.isnan(twice[v]):
                    if goes_left:
                        if s > below[v]:
                            below[v], n_below[v] = s, 1
                        elif s == below[v]:
                            n_below[v] += 1
                    elif s < above[v]:
                        above[v], n_above[v] = s, 1
                    elif s == above[v]:
                        n_above[v] += 1
                else:
                    if s == lowest[v]:
                        n_below[v] += 1
                    if s == highest[v]:
                        n_above[v] += 1
            v = left[v] if goes_left else right[v]
        at_leaf[t, k] = v
        head = first[v]
        after[t, k], before[t, k] = head, NONE
        if head != NONE:
            before[t, head] = k
        first[v] = k


@_compiled
def take(nodes, attributes, data, times, k):  # type: ignore[no-untyped-def]  # noqa: PLR0912
    """Take a row out of all its trees."""
    root, left, right, attribute = nodes.root, nodes.left, nodes.right, nodes.attribute
    cut, missing_left, twice, lowest = nodes.cut, nodes.missing_left, nodes.twice, nodes.lowest
    highest = nodes.highest
    missing = attributes.missing
    state, found, below, above = data.state, data.found, data.below, data.above
    present = data.present
    n_below, n_above, at_leaf, first = data.n_below, data.n_above, data.leaf, data.first
    after, before = data.after, data.before
    label = data.label[k]
    for t in range(len(root) - 1):
        m = times[t, k]
        if m == 0:
            continue
        at = at_leaf[t, k]
        nxt, prv = after[t, k], before[t, k]
        if prv != NONE:
            after[t, prv] = nxt
        else:
            first[at] = nxt
        if nxt != NONE:
            before[t, nxt] = prv
        v = root[t]
        while True:
            found[v, label] -= m
            present[v] -= 1
            if left[v] < 0:
                break
            a = attribute[v]
            s = state[k, a]
            goes_left = _goes_left(cut[v], s, missing[a], missing_left[v])
            if s != missing[a]:
                if not np.isnan(twice[v]):
                    if goes_left and s == below[v]:
                        n_below[v] -= 1
                        if n_below[v] == 0:
                            _look_again(nodes, attributes, data, t, v, True)
                    elif not goes_left and s == above[v]:
                        n_above[v] -= 1
                        if n_above[v] == 0:
                            _look_again(nodes, attributes, data, t, v, False)
                else:
                    if s == lowest[v]:
                        n_below[v] -= 1
                    if s == highest[v]:
                        n_above[v] -= 1
            v = left[v] if goes_left else right[v]


@_compiled
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


@_compiled
def _trace(k, changed, times, state, nodes, attributes, on_path, path, n_path):  # type: ignore[no-untyped-def]
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
            v = left[v] if _goes_left(cut[v], state[k, a], missing[a], missing_left[v]) else right[v]
        n_path[t] = n


@_compiled
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


@_compiled
def _add_costs(  # type: ignore[no-untyped-def]
    first, last, only, a, k, times, on_path, label, penalty, row, change, stack, costs,
    left, right, attribute, cut, missing_left, twice, lowest, highest, weight, count, distinct,
    start, value_low, value_high, missing, one_hot, found, present, below, above, n_below, n_above,
):  # fmt: skip
    """Add what each state of an attribute from `first` to `last` costs, in each tree from where it is first tested.

    It is added to `change`: how much more a state costs than the one before. With `only` these are the one state
    `first`: a column of a one-hot group, or a missing value.
    """
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
                lacks = found[v, label] - count[v, label]
                so_far += weight[v] * (abs(lacks + m) - abs(lacks))
                if distinct[0] >= 0:
                    so_far += weight[v] if present[v] >= distinct[v] else -weight[v]
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
                v = left[v] if _goes_left(cut[v], s, missing[b], missing_left[v]) else right[v]
            change[low] += so_far
            change[high + 1] -= so_far


@_compiled
def _draw(random, cost, n_states, temperature):  # type: ignore[no-untyped-def]
    least = np.inf
    for s in range(n_states):
        least = min(least, cost[s])
    total = 0.0
    for s in range(n_states):
        cost[s] = np.exp(-(cost[s] - least) / temperature)
        total += cost[s]
    left = _uniform(random) * total
    for s in range(n_states):
        left -= cost[s]
        if left < 0:
            return s
    return n_states - 1


@_compiled
def sweep(nodes, attributes, copula, data, times, fixed_label, known, rows, temperature, penalty):  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0915
    """Draw the attributes, and the label where it is not fixed, of some rows, one row after the other.

    Parameters
    ----------
    nodes : Nodes
    attributes : Attributes
    copula : Copula
    data : Dataset
        Changed in place.
    times : ndarray of int32, shape (n_trees, n_rows)
        How often each tree saw each row.
    fixed_label : bool
    known : ndarray of bool, shape (n_rows, n_attributes)
        Which values stay as they are.
    rows : ndarray of int64, shape (n,)
    temperature : float
    penalty : float
        Of a split that the rows contradict; 0 leaves these out.
    """
    root, left, right, _, attribute, cut, missing_left, twice, lowest, highest, weight, count, distinct = nodes
    start, value_low, value_high, log_prior, one_hot, missing, score = attributes
    state, label_of, found, present, below, above, n_below, n_above = data[:8]
    random = data.random
    n_attributes, n_trees, n_classes = len(start) - 1, len(root) - 1, count.shape[1]
    most, deepest = n_classes, 0
    for a in range(n_attributes):
        most = max(most, start[a + 1] - start[a])
    for t in range(n_trees):
        deepest = max(deepest, root[t + 1] - root[t])
    cost, change = np.empty(most), np.empty(most + 1)
    stack, costs = np.empty((deepest + 1, 3), np.int32), np.empty(deepest + 1)
    order = np.arange(n_attributes)
    on_path = np.full((n_attributes, n_trees), NONE, np.int32)
    path, n_path = np.empty((n_trees, n_attributes), np.int32), np.zeros(n_trees, np.int32)
    for k in rows:
        take(nodes, attributes, data, times, k)
        _trace(k, NONE, times, state, nodes, attributes, on_path, path, n_path)
        row = state[k]
        if not fixed_label:
            cost[:n_classes] = 0.0
            for t in range(n_trees):
                m = times[t, k]
                if m == 0:
                    continue
                v = root[t]
                while True:
                    for c in range(n_classes):
                        lacks = found[v, c] - count[v, c]
                        cost[c] += weight[v] * (abs(lacks + m) - abs(lacks))
                    if left[v] < 0:
                        break
                    b = attribute[v]
                    v = left[v] if _goes_left(cut[v], row[b], missing[b], missing_left[v]) else right[v]
            label_of[k] = _draw(random, cost, n_classes, temperature)
        label = label_of[k]
        for i in range(n_attributes - 1, 0, -1):
            j = int(_uniform(random) * (i + 1))
            order[i], order[j] = order[j], order[i]
        for a in order:  # type: ignore[assignment]
            first = start[a]
            n_states = start[a + 1] - first
            if n_states < 2 or known[k, a]:
                continue
            for s in range(n_states):
                cost[s] = -temperature * log_prior[first + s]
                change[s] = 0.0
            change[n_states] = 0.0
            if copula.strength > 0:
                mean = copula.mean[label, a]
                for b in range(n_attributes):
                    if b != a:
                        mean += copula.slope[a, b] * (score[start[b] + row[b]] - copula.mean[label, b])
                for s in range(n_states):
                    away = (score[first + s] - mean) / copula.deviation[a]
                    cost[s] += temperature * copula.strength * 0.5 * away * away
            n_ranged = 0 if one_hot[a] else n_states - (missing[a] >= 0)
            if n_ranged:
                _add_costs(
                    0, n_ranged - 1, False, a, k, times, on_path, label, penalty, row, change, stack, costs,
                    left, right, attribute, cut, missing_left, twice, lowest, highest, weight, count, distinct,
                    start, value_low, value_high, missing, one_hot, found, present, below, above, n_below, n_above,
                )  # fmt: skip
            for s in range(n_ranged, n_states):
                _add_costs(
                    s, s, True, a, k, times, on_path, label, penalty, row, change, stack, costs,
                    left, right, attribute, cut, missing_left, twice, lowest, highest, weight, count, distinct,
                    start, value_low, value_high, missing, one_hot, found, present, below, above, n_below, n_above,
                )  # fmt: skip
            level = 0.0
            for s in range(n_states):
                level += change[s]
                cost[s] += level
            new = _draw(random, cost, n_states, temperature)
            if new != row[a]:
                row[a] = new
                _trace(k, a, times, state, nodes, attributes, on_path, path, n_path)
        put(nodes, attributes, data, times, k)


@_compiled
def fill(nodes, attributes, data, times):  # type: ignore[no-untyped-def]
    """Put all rows in, from nothing."""
    data.found[:], data.present[:] = 0, 0
    data.below[:], data.above[:] = NONE, FAR
    data.n_below[:], data.n_above[:] = 0, 0
    data.first[:], data.leaf[:] = NONE, NONE
    for k in range(len(data.state)):
        put(nodes, attributes, data, times, k)


@_compiled
def missed(nodes, attributes, data):  # type: ignore[no-untyped-def]  # noqa: PLR0912
    """Return what a dataset misses: counts at leaves, and splits that it contradicts."""
    counts, splits = 0, 0
    for t in range(len(nodes.root) - 1):
        for v in range(nodes.root[t], nodes.root[t + 1]):
            if nodes.left[v] < 0:
                for c in range(nodes.count.shape[1]):
                    counts += abs(data.found[v, c] - nodes.count[v, c])
                if nodes.distinct[0] >= 0:
                    counts += abs(data.present[v] - nodes.distinct[v])
                continue
            a = nodes.attribute[v]
            if not np.isnan(nodes.twice[v]):
                below, above = data.below[v], data.above[v]
                if below != NONE and above != FAR:
                    start = attributes.start[a]
                    splits += _cannot_meet(
                        attributes.low, attributes.high, start + below, start + above, nodes.twice[v]
                    )
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


@_compiled
def _cost_of(nodes, attributes, data, times, k, penalty):  # type: ignore[no-untyped-def]
    """What a row that is out would add to the energy."""
    root, left, right, attribute = nodes.root, nodes.left, nodes.right, nodes.attribute
    cut, missing_left, twice, lowest = nodes.cut, nodes.missing_left, nodes.twice, nodes.lowest
    highest, weight, count, distinct = nodes.highest, nodes.weight, nodes.count, nodes.distinct
    start, value_low, value_high, one_hot = attributes.start, attributes.low, attributes.high, attributes.one_hot
    missing = attributes.missing
    state, found, below, above = data.state, data.found, data.below, data.above
    present, n_below, n_above = data.present, data.n_below, data.n_above
    cost = 0.0
    label = data.label[k]
    for t in range(len(root) - 1):
        m = times[t, k]
        if m == 0:
            continue
        v = root[t]
        while True:
            lacks = found[v, label] - count[v, label]
            cost += weight[v] * (abs(lacks + m) - abs(lacks))
            if distinct[0] >= 0:
                cost += weight[v] if present[v] >= distinct[v] else -weight[v]
            if left[v] < 0:
                break
            a = attribute[v]
            s = state[k, a]
            if penalty > 0 and not one_hot[a] and s != missing[a]:
                cost += penalty * _split_cost(
                    s, cut[v], twice[v], below[v], above[v], n_below[v], n_above[v],
                    lowest[v], highest[v], start[a], value_low, value_high,
                )  # fmt: skip
            goes_left = _goes_left(cut[v], s, missing[a], missing_left[v])
            v = left[v] if goes_left else right[v]
    return cost


@_compiled
def _change_places(data, known, k, other):  # type: ignore[no-untyped-def]
    for a in range(data.state.shape[1]):
        if not known[k, a] and not known[other, a]:
            data.state[k, a], data.state[other, a] = data.state[other, a], data.state[k, a]
    data.label[k], data.label[other] = data.label[other], data.label[k]


@_compiled
def _cost_of_both(nodes, attributes, data, times, k, other, penalty):  # type: ignore[no-untyped-def]
    cost = _cost_of(nodes, attributes, data, times, k, penalty)
    put(nodes, attributes, data, times, k)
    return cost + _cost_of(nodes, attributes, data, times, other, penalty)


@_compiled
def exchange(nodes, attributes, data, times, known, pairs, temperature, penalty):  # type: ignore[no-untyped-def]
    """Let two rows change places, but for known values, where that lowers the energy, or by chance (Metropolis).

    Returns how many did.
    """
    done = 0
    for i in range(len(pairs)):
        k, other = pairs[i, 0], pairs[i, 1]
        if k == other:
            continue
        take(nodes, attributes, data, times, k)
        take(nodes, attributes, data, times, other)
        cost = -_cost_of_both(nodes, attributes, data, times, k, other, penalty)
        take(nodes, attributes, data, times, k)
        _change_places(data, known, k, other)
        cost += _cost_of_both(nodes, attributes, data, times, k, other, penalty)
        if cost > 0 and _uniform(data.random) >= np.exp(-cost / temperature):
            take(nodes, attributes, data, times, k)
            _change_places(data, known, k, other)
            put(nodes, attributes, data, times, k)
        else:
            done += 1
        put(nodes, attributes, data, times, other)
    return done


@_compiled
def tested(nodes, attributes, data, times):  # type: ignore[no-untyped-def]
    """Return which attributes of each row are tested on its way through some tree, shape (n_rows, n_attributes)."""
    found = np.zeros(data.state.shape, np.bool_)
    for t in range(len(nodes.root) - 1):
        for k in range(len(data.state)):
            if times[t, k] == 0:
                continue
            v = nodes.root[t]
            while nodes.left[v] >= 0:
                a = nodes.attribute[v]
                found[k, a] = True
                left = _goes_left(nodes.cut[v], data.state[k, a], attributes.missing[a], nodes.missing_left[v])
                v = nodes.left[v] if left else nodes.right[v]
    return found
