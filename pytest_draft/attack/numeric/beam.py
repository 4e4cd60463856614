"""One row placed in all its trees at once, compiled: in go messages of the leaves, out come boxes that the row may be.

A row begins as a box of all values in each component (`Marginals`). It is joined with tree after tree: each leaf that a
box reaches cuts a part out of it, which weighs the share of the prior mass that it keeps, times how likely the leaf's
counts become when the row is there, given what is believed of all other rows. The parts with the most weight are kept
by optimal resampling (Fearnhead and Clifford, 2003, "On-line inference for hidden Markov models via particle filters",
section 3.2), so that their weights stay unbiased. A row that moves column by column does not get out of a wrong place;
a box that is joined with trees never was in one.

What is believed of the other rows enters by tables of each leaf: the exact distribution of a class's draws and
different rows, by convolution, and where that has too many states a normal one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.attack.moves import uniform
from pytest_draft.attack.numeric.energy import NodeArrays
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled

MOST_STATES = 100
"""Most states of a table; a leaf with more is told by mean and variance."""

IMPOSSIBLE = -40.0
"""Log-evidence of a leaf that cannot hold the row: it has fewer draws of its class."""


class Leaves(NamedTuple):
    """The leaves of all trees, tree by tree, and what the file says of each."""

    first: IntArray
    """Shape (n_trees + 1,). Where each tree's leaves begin."""
    of_node: Int32Array
    """Shape (n_nodes,). A node's place among the leaves; -1 for others."""
    node: Int32Array
    """Shape (n_leaves,)."""
    parent: Int32Array
    """Shape (n_nodes,). -1 at roots."""
    count: Int32Array  # type: ignore[assignment]
    """Shape (n_leaves, n_classes)."""
    distinct: Int32Array
    """Shape (n_leaves,). Different rows; 0 throughout where that says nothing beside the draws."""
    by_class: BoolArray
    """Shape (n_leaves,). As in `NodeArrays`."""
    table: IntArray
    """Shape (n_leaves, n_classes). Where a class's table begins; -1 where it has no draws, -2 where it is normal."""
    start: FloatArray
    """Shape (n_leaves, n_classes). The share of a class's draws that a tree has in each of its leaves."""

    def __repr__(self) -> str:
        return f"Leaves({len(self.node)} of {len(self.first) - 1} trees)"


@redacted
class Marginals(NamedTuple):
    """How likely each state is, by class and component of the rows, each attribute for itself."""

    start: Int32Array
    """Shape (n_attributes + 1,). Where each attribute's states begin."""
    one_hot: BoolArray
    missing: Int32Array
    """`one_hot` and `missing`, shape (n_attributes,): as in `Attributes`."""
    below: FloatArray
    """Shape (n_classes, n_components, n_states + n_attributes). What all states before one have, from `start` plus the
    number of the attribute; the last of an attribute is 1.
    """
    share: FloatArray
    """Shape (n_classes, n_components). How many of a class's rows are of each component."""


@redacted
class Messages(NamedTuple):
    """What is believed of all rows, and what follows for each leaf."""

    belief: NDArray[np.float32]
    """Shape (n_rows, n_leaves). How likely each row is in each leaf."""
    label: Int32Array
    """Shape (n_rows,)."""
    table: FloatArray
    """The tables of all leaves, one after the other: by draws of a class, then by different rows."""
    moments: FloatArray
    """Shape (n_leaves, n_classes, 5). Mean and variance of the draws and of the different rows of a class, and their
    covariance.
    """


def leaves_of(nodes: NodeArrays) -> tuple[Leaves, int]:
    """Return the leaves of nodes, and the size of all their tables together."""
    is_leaf, child = nodes.walks.leaves, nodes.walks.child
    node = np.flatnonzero(is_leaf)
    of_node = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)
    parent = np.full(len(is_leaf), -1)
    inner = np.flatnonzero(~is_leaf)
    parent[child[2 * inner]] = parent[child[2 * inner + 1]] = inner
    count = nodes.count[node].astype(np.int64)
    by_class = nodes.by_class[node]
    distinct = nodes.distinct[node] if nodes.distinct[0] >= 0 else np.zeros(len(node), dtype=np.int64)
    first = np.searchsorted(node, nodes.walks.root)
    size = (count + 1) * (distinct[:, None] + 1)
    size[count == 0] = 0
    normal: BoolArray = np.any(size > MOST_STATES, axis=1)
    size[normal] = 0
    table = np.where(count > 0, (np.cumsum(size) - size.ravel()).reshape(size.shape), -1)
    table[normal[:, None] & (count > 0)] = -2
    start = np.where(by_class[:, None], count, count[:, :1]).astype(np.float64)
    of_tree = np.repeat(np.arange(len(first) - 1), np.diff(first))
    total = np.add.reduceat(start, first[:-1])[of_tree]
    evenly = 1 / np.diff(first)[of_tree, None]
    start = np.where(total > 0, start / np.maximum(total, 1), evenly)
    as_int = np.int32
    leaves = Leaves(
        first, of_node.astype(as_int), node.astype(as_int), parent.astype(as_int), count.astype(as_int),
        distinct.astype(as_int), by_class, table, start,
    )  # fmt: skip
    return leaves, max(1, int(size.sum()))


@compiled
def _add(table, at, n_draws, n_distinct, m, q):  # type: ignore[no-untyped-def]
    """Convolve a table with a row that is in the leaf with probability `q`, drawn `m` times."""
    wide, step = n_distinct + 1, 1 if n_distinct else 0
    for d in range(n_draws, -1, -1):
        for e in range(n_distinct, -1, -1):
            i = at + d * wide + e
            moved = table[i - m * wide - step] if d >= m and e >= step else 0.0
            table[i] += q * (moved - table[i])


@compiled
def tabulate(leaves, messages, times, background, first, last):  # type: ignore[no-untyped-def]
    """Fill the tables and moments of some leaves, from `first` up to `last`, by all rows.

    Parameters
    ----------
    background : ndarray of float64, shape (n_rows,)
        Share of each row that counts as not placed yet: it is in each leaf by the leaf's share of the draws.
    """
    table_at, count, distinct, by_class = leaves.table, leaves.count, leaves.distinct, leaves.by_class
    start, first_of, belief, label = leaves.start, leaves.first, messages.belief, messages.label
    table, moments = messages.table, messages.moments
    for leaf in range(first, last):
        for c in range(count.shape[1]):
            moments[leaf, c, :] = 0.0
            at = table_at[leaf, c]
            if at >= 0:
                table[at : at + (count[leaf, c] + 1) * (distinct[leaf] + 1)] = 0.0
                table[at] = 1.0
    for k in range(len(label)):
        for t in range(len(first_of) - 1):
            m = times[t, k]
            if m == 0:
                continue
            for leaf in range(max(first, first_of[t]), min(last, first_of[t + 1])):
                c = label[k] if by_class[leaf] else 0
                at = table_at[leaf, c]
                if at == -1:
                    continue
                q = (1 - background[k]) * belief[k, leaf] + background[k] * start[leaf, label[k]]
                if at >= 0:
                    _add(table, at, count[leaf, c], distinct[leaf], m, q)
                else:
                    spread = q * (1 - q)
                    moments[leaf, c, 0] += m * q
                    moments[leaf, c, 1] += m * m * spread
                    moments[leaf, c, 2] += q
                    moments[leaf, c, 3] += spread
                    moments[leaf, c, 4] += m * spread


@compiled
def _of_all_but(leaves, messages, times, background, t, leaf, k, c, q, out):  # type: ignore[no-untyped-def]
    """Write a class's table by all rows but `k`, which is in the leaf with probability `q`, to `out`."""
    n_draws, n_distinct, at = leaves.count[leaf, c], leaves.distinct[leaf], leaves.table[leaf, c]
    wide, step = n_distinct + 1, 1 if n_distinct else 0
    if q < 0.5:
        for d in range(n_draws + 1):
            for e in range(wide):
                i, m = d * wide + e, times[t, k]
                moved = out[i - m * wide - step] if d >= m and e >= step else 0.0
                out[i] = max(0.0, (messages.table[at + i] - q * moved) / (1 - q))
        return
    # Of what the row most likely fills, a division would leave no digits.
    out[: (n_draws + 1) * wide] = 0.0
    out[0] = 1.0
    for j in range(len(messages.label)):
        own = messages.label[j]
        if j != k and times[t, j] > 0 and (own == c or not leaves.by_class[leaf]):
            other = (1 - background[j]) * messages.belief[j, leaf] + background[j] * leaves.start[leaf, own]
            _add(out, 0, n_draws, n_distinct, times[t, j], other)


@compiled
def _rest(leaves, messages, times, background, t, leaf, k, c, own, q, rest):  # type: ignore[no-untyped-def]
    """Write how likely all classes but `c` have their draws, by how many different rows these are, to `rest[0]`.

    Returns whether any other class has draws.
    """
    count, n_distinct, table_at = leaves.count, leaves.distinct[leaf], leaves.table
    rest[0, : n_distinct + 1] = 0.0
    rest[0, 0] = 1.0
    others = False
    for b in range(count.shape[1]):
        at = table_at[leaf, b]
        if b == c or at < 0:
            continue
        others = True
        row = count[leaf, b] * (n_distinct + 1)
        table = messages.table[at:]
        if b == own:
            table = rest[2]
            _of_all_but(leaves, messages, times, background, t, leaf, k, b, q, table)
        for e in range(n_distinct + 1):
            rest[1, e] = 0.0
            for i in range(e + 1):
                rest[1, e] += rest[0, e - i] * table[row + i]
        rest[0, : n_distinct + 1] = rest[1, : n_distinct + 1]
    return others


@compiled
def _normal(variance, var_distinct, covariance, off, off_distinct, m, with_distinct):  # type: ignore[no-untyped-def]
    """Return the log-ratio of a leaf's counts with the row and without it, by a normal distribution of the others.

    Parameters
    ----------
    off, off_distinct : float
        By how much the leaf's draws and different rows are more than those expected of the others.
    """
    variance += 0.25
    if not with_distinct:
        return (off * off - (off - m) * (off - m)) / (2 * variance)
    var_distinct += 0.25
    det = variance * var_distinct - covariance * covariance

    a, b = off, off_distinct
    without = (var_distinct * a * a - 2 * covariance * a * b + variance * b * b) / det
    a, b = off - m, off_distinct - 1
    with_row = (var_distinct * a * a - 2 * covariance * a * b + variance * b * b) / det
    return (without - with_row) / 2


@compiled
def _exact(leaves, messages, times, background, t, leaf, k, c, own, q, out, rest):  # type: ignore[no-untyped-def]
    """Return the log-ratio of a leaf's counts with a row of class `c` and without it, by the tables of all others.

    Parameters
    ----------
    own : int
        The class as which the row counts in the tables, with probability `q`.
    """
    n_draws, n_distinct, m = leaves.count[leaf, c], leaves.distinct[leaf], times[t, k]
    _of_all_but(leaves, messages, times, background, t, leaf, k, c, q if c == own else 0.0, out)
    wide, step = n_distinct + 1, 1 if n_distinct else 0
    with_row, without = 0.0, 0.0
    if n_distinct and _rest(leaves, messages, times, background, t, leaf, k, c, own, q, rest):
        for e in range(wide):
            without += out[n_draws * wide + n_distinct - e] * rest[0, e]
            if e < n_distinct:
                with_row += out[(n_draws - m) * wide + n_distinct - 1 - e] * rest[0, e]
    else:
        without = out[n_draws * wide + n_distinct]
        with_row = out[(n_draws - m) * wide + n_distinct - step]
    return np.log(max(with_row, 1e-300)) - np.log(max(without, 1e-300))


@compiled
def evidence(leaves, messages, times, k, c_of_row, background, clip, found, scratch):  # type: ignore[no-untyped-def]
    """Write how much likelier each leaf's counts are when a row is there than when it is not, as a logarithm.

    Parameters
    ----------
    c_of_row : int
        The row's label.
    clip : float
        Most that one leaf can say either way.
    found : ndarray of float64, shape (n_leaves,)
        Written for the leaves of trees that saw the row.
    scratch : ndarray of float64, shape (4, at least `MOST_STATES`)
    """
    first, table_at, count, distinct = leaves.first, leaves.table, leaves.count, leaves.distinct
    by_class, start = leaves.by_class, leaves.start
    belief, moments, own_label = messages.belief, messages.moments, messages.label[k]
    out, rest = scratch[0], scratch[1:]
    for t in range(len(first) - 1):
        m = times[t, k]
        if m == 0:
            continue
        for leaf in range(first[t], first[t + 1]):
            c = c_of_row if by_class[leaf] else 0
            n_draws, n_distinct = count[leaf, c], distinct[leaf]
            if n_draws < m:
                found[leaf] = IMPOSSIBLE
                continue
            own = own_label if by_class[leaf] else 0
            q = (1 - background[k]) * belief[k, leaf] + background[k] * start[leaf, own_label]
            at = table_at[leaf, c]
            if at < 0:
                of_distinct, var_distinct = -q, -q * (1 - q)
                if n_distinct:
                    for b in range(count.shape[1]):
                        of_distinct += moments[leaf, b, 2]
                        var_distinct += moments[leaf, b, 3]
                mine = q if c == own else 0.0
                spread = mine * (1 - mine)
                mean = moments[leaf, c, 0] - m * mine
                value = _normal(
                    moments[leaf, c, 1] - m * m * spread, var_distinct, moments[leaf, c, 4] - m * spread,
                    n_draws - mean, n_distinct - of_distinct, m, n_distinct > 0,
                )  # fmt: skip
            else:
                value = _exact(leaves, messages, times, background, t, leaf, k, c, own, q, out, rest)
            found[leaf] = min(clip, max(-clip, value))


@compiled
def _order(leaves, times, k, label, found, jitter, random, order):  # type: ignore[no-untyped-def]
    """Write the trees that saw a row to `order`, the one whose leaves say most first; return how many these are."""
    first, start = leaves.first, leaves.start
    unclear = np.empty(len(order))
    n = 0
    for t in range(len(first) - 1):
        if times[t, k] == 0:
            continue
        most = -np.inf
        for leaf in range(first[t], first[t + 1]):
            most = max(most, found[leaf])
        total, sum_of = 0.0, 0.0
        for leaf in range(first[t], first[t + 1]):
            w = start[leaf, label] * np.exp(found[leaf] - most)
            if w > 0:
                total += w
                sum_of += w * np.log(w)
        unclear[n] = np.log(total) - sum_of / total + jitter * uniform(random) if total > 0 else 0.0
        order[n] = t
        n += 1
    order[:n] = order[:n][np.argsort(unclear[:n])]
    return n


@compiled
def _mass(below, start, a, low, high):  # type: ignore[no-untyped-def]
    """Return the prior mass of an attribute's states from `low` to `high`, in one class's row of `Marginals.below`."""
    at = start[a] + a
    return below[at + high + 1] - below[at + low]


@compiled
def _change_back(undo, first, last, box):  # type: ignore[no-untyped-def]
    """Undo the changes of a box from `first` up to `last`, the latest one first."""
    low, high, may_miss, gone = box
    for i in range(last - 1, first - 1, -1):
        a = undo[i, 0]
        if a < 0:
            gone[-1 - a] = 0
        else:
            low[a], high[a], may_miss[a] = undo[i, 1], undo[i, 2], undo[i, 3]


@compiled
def _reach(  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0915
    nodes, start, hot, one_hot, missing, of_node, below, root, box, found, own, undo, stack, gain, leaf_of,
    weight, n, most,
):  # fmt: skip
    """Append the leaves of a tree that a box reaches to `leaf_of`, with their weights.

    Parameters
    ----------
    box : tuple of ndarray
        Least and greatest state and whether a value may be missing, shape (n_attributes,), and which states of one-hot
        groups are ruled out. Changed and changed back.
    found : ndarray of float64, shape (n_leaves,)
        The factor by which each leaf's counts speak for the row.

    Returns
    -------
    n : int
        How many are in `leaf_of` now.
    most : float
        Their greatest weight.
    """
    attribute, right, child, _ = nodes
    low, high, may_miss, gone = box
    depth, n_undo = 1, 0
    stack[0, 0], stack[0, 1], stack[0, 2] = root, 0, 0
    gain[0] = own
    while depth > 0:
        depth -= 1
        v, keep, enters = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        w = gain[depth]
        _change_back(undo, keep, n_undo, box)
        n_undo = keep
        if enters:  # the right child of the node whose number was stored: its cut is applied now
            p = v
            a = attribute[p]
            undo[n_undo, 0], undo[n_undo, 1], undo[n_undo, 2], undo[n_undo, 3] = a, low[a], high[a], may_miss[a]
            n_undo += 1
            if one_hot[a]:
                low[a] = high[a] = right[2 * p]
            else:
                low[a] = max(low[a], right[2 * p])
                may_miss[a] = may_miss[a] if right[2 * p + 1] > missing[a] else 0
            v = child[2 * p + 1]
        while attribute[v] >= 0:
            a, s = attribute[v], right[2 * v] - 1
            if one_hot[a]:
                j = s + 1
                if low[a] == high[a]:
                    v = child[2 * v + (low[a] == j)]
                    continue
                if gone[hot[a] + j]:
                    v = child[2 * v]
                    continue
                total = 0.0
                for i in range(start[a + 1] - start[a]):
                    if not gone[hot[a] + i]:
                        total += _mass(below, start, a, i, i)
                of_right = _mass(below, start, a, j, j)
                of_left = total - of_right
                if of_left <= 1e-12 * total:
                    undo[n_undo, 0], undo[n_undo, 1], undo[n_undo, 2] = a, low[a], high[a]
                    undo[n_undo, 3] = may_miss[a]
                    n_undo += 1
                    low[a] = high[a] = j
                    v = child[2 * v + 1]
                    continue
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = v, n_undo, 1
                gain[depth] = w * of_right / total
                depth += 1
                undo[n_undo, 0] = -1 - (hot[a] + j)
                n_undo += 1
                gone[hot[a] + j] = 1
                w *= of_left / total
                v = child[2 * v]
                continue
            m, missing_left = may_miss[a], right[2 * v + 1] <= missing[a]
            is_range = low[a] <= high[a]
            goes_left = is_range and low[a] <= s
            goes_right = is_range and high[a] > s
            if m:
                if missing_left:
                    goes_left = True
                else:
                    goes_right = True
            if not goes_right:
                v = child[2 * v]
                continue
            if not goes_left:
                v = child[2 * v + 1]
                continue
            of_missing = _mass(below, start, a, missing[a], missing[a]) if m else 0.0
            of_left = _mass(below, start, a, low[a], min(s, high[a])) if is_range and low[a] <= s else 0.0
            of_right = _mass(below, start, a, max(s + 1, low[a]), high[a]) if is_range and high[a] > s else 0.0
            if missing_left:
                of_left += of_missing
            else:
                of_right += of_missing
            share = of_left / max(of_left + of_right, 1e-300)
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = v, n_undo, 1
            gain[depth] = w * (1 - share)
            depth += 1
            undo[n_undo, 0], undo[n_undo, 1], undo[n_undo, 2], undo[n_undo, 3] = a, low[a], high[a], m
            n_undo += 1
            high[a] = min(high[a], s)
            if not missing_left:
                may_miss[a] = 0
            w *= share
            v = child[2 * v]
        leaf = of_node[v]
        leaf_of[n], weight[n] = leaf, w * found[leaf]
        most = max(most, weight[n])
        n += 1
    _change_back(undo, 0, n_undo, box)
    return n, most


@compiled
def _kept(weight, n, width, random, chosen, chosen_weight):  # type: ignore[no-untyped-def]
    """Choose at most so many by optimal resampling; return how many, their places in `chosen` and their weights.

    Parameters
    ----------
    weight : ndarray of float64
        The first `n` count; not logarithms.
    """
    if n <= width:
        for i in range(n):
            chosen[i], chosen_weight[i] = i, weight[i]
        return n
    # What is certainly kept has at least the level at which that and what is kept by chance are `width` together.
    certain, level = -1, np.inf
    while True:
        rest, above = 0.0, 0
        for i in range(n):
            if weight[i] >= level:
                above += 1
            else:
                rest += weight[i]
        if above <= certain or above >= width:
            break
        certain, level = above, rest / (width - above)
    offset = uniform(random)
    number, total = 0, 0.0
    for i in range(n):
        if weight[i] >= level:
            if number < width:
                chosen[number], chosen_weight[number] = i, weight[i]
                number += 1
            continue
        before = np.floor(total + offset)
        total += weight[i] / level
        if np.floor(total + offset) > before and number < width:
            chosen[number], chosen_weight[number] = i, level
            number += 1
    return number


@compiled
def _cut_out(nodes, hot, one_hot, parent, leaf, box):  # type: ignore[no-untyped-def]
    """Leave of a box what reaches a leaf."""
    attribute, right, child, missing = nodes
    low, high, may_miss, gone = box
    v = leaf
    while parent[v] >= 0:
        p = parent[v]
        a, begin, is_left = attribute[p], right[2 * p], child[2 * p] == v
        if one_hot[a]:
            if is_left:
                gone[hot[a] + begin] = 1
            else:
                low[a] = high[a] = begin
        else:
            if is_left:
                high[a] = min(high[a], begin - 1)
            else:
                low[a] = max(low[a], begin)
            if (right[2 * p + 1] <= missing[a]) != is_left:
                may_miss[a] = 0
        v = p


@compiled
def _state_in(below, start, hot, one_hot, missing, box, a, random):  # type: ignore[no-untyped-def]
    """Draw a state of an attribute from what a box has of it, by the prior."""
    low, high, may_miss, gone = box
    at = start[a] + a
    if one_hot[a]:
        if low[a] == high[a]:
            return low[a]
        total = 0.0
        last = 0
        for i in range(start[a + 1] - start[a]):
            if not gone[hot[a] + i]:
                total += below[at + i + 1] - below[at + i]
                last = i
        left = uniform(random) * total
        for i in range(start[a + 1] - start[a]):
            if not gone[hot[a] + i]:
                left -= below[at + i + 1] - below[at + i]
                if left < 0:
                    return i
        return last
    of_range = below[at + high[a] + 1] - below[at + low[a]] if low[a] <= high[a] else 0.0
    of_missing = below[at + missing[a] + 1] - below[at + missing[a]] if may_miss[a] else 0.0
    draw = uniform(random) * (of_range + of_missing)
    if low[a] > high[a] or (draw >= of_range > 0 and may_miss[a]):
        return missing[a]
    wanted = below[at + low[a]] + draw
    first, last = low[a], high[a]
    while first < last:
        middle = (first + last) // 2
        if below[at + middle + 1] > wanted:
            last = middle
        else:
            first = middle + 1
    return first


@compiled
def _draw_label(leaves, messages, times, k, background, clip, random, found, other, scratch):  # type: ignore[no-untyped-def]
    """Draw a row's label by how well each fits all leaves' counts, wherever the row is.

    Parameters
    ----------
    found : ndarray of float64, shape (n_leaves,)
        What the leaves say of the row with its label as it is.
    other : ndarray of float64, shape (n_leaves,)
        Room for what they say with another.
    """
    first, n_classes = leaves.first, leaves.count.shape[1]
    fits = np.zeros(n_classes)
    for c in range(n_classes):
        said = found
        if c != messages.label[k]:
            said = other
            evidence(leaves, messages, times, k, c, background, clip, said, scratch)
        for t in range(len(first) - 1):
            if times[t, k]:
                total = 0.0
                for leaf in range(first[t], first[t + 1]):
                    total += leaves.start[leaf, c] * np.exp(said[leaf])
                fits[c] += np.log(max(total, 1e-300))
    fits = np.exp(fits - fits.max())
    point = uniform(random) * fits.sum()
    for c in range(n_classes - 1):
        point -= fits[c]
        if point < 0:
            return c
    return n_classes - 1


def all_values(known: Int32Array, marginals: Marginals) -> Int32Array:
    """Return boxes of all that rows may be: least and greatest state, and whether it may be missing.

    Parameters
    ----------
    known : ndarray of int32, shape (n_rows, n_attributes)
        Known states; -1 elsewhere.

    Returns
    -------
    ndarray of int32, shape (3, n_rows, n_attributes)
    """
    last, may_miss = np.diff(marginals.start) - 1, (marginals.missing >= 0) & ~marginals.one_hot
    is_missing = may_miss & (known == marginals.missing)
    low, high = np.where(known >= 0, known, 0), np.where(known >= 0, known, last - may_miss)
    box = np.where(is_missing, 1, low), np.where(is_missing, 0, high), np.where(known >= 0, is_missing, may_miss)
    return np.stack(box).astype(np.int32)


@compiled
def believe(  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0915
    nodes, leaves, marginals, messages, times, known, rows, fixed_label, settings, step, background, seeds,
    changed, new_label, drawn, stop,
):  # fmt: skip
    """Place some rows anew, each given what is believed of all others.

    Parameters
    ----------
    times : ndarray of int32, shape (n_trees, n_rows)
    known : ndarray of int32, shape (3, n, n_attributes)
        Of `all_values`.
    rows : ndarray of int64, shape (n,)
    settings : tuple of (int, float, float, float, float)
        Boxes that are kept, clip of the evidence, gap to the best beyond which a box goes, jitter of the trees' order,
        and the power of the evidence: below 1, what all others are believed to be says less.
    step : float
        Share of the new belief; the rest is the old one.
    background : ndarray of float64, shape (n_rows,)
    seeds : ndarray of uint64, shape (n,)
    changed : ndarray of float32, shape (n, n_leaves)
    new_label : ndarray of int32, shape (n,)
        `changed` and `new_label`: the rows' new beliefs and, where they are not fixed, labels are written there: what
        others read stays as it was.
    drawn : ndarray of int32, shape (n_drawn, n_rows, n_attributes)
        Written for these rows: states drawn from their boxes.
    stop : ndarray of uint8, shape (1,)
    """
    width, clip, gap, jitter, power = settings
    least = np.exp(-gap)
    of_nodes = (nodes.walks.attribute, nodes.walks.right, nodes.walks.child, marginals.missing)
    root = nodes.walks.root
    start, one_hot, missing = marginals.start, marginals.one_hot, marginals.missing
    share_of = marginals.share
    first, of_node, parent, node_of = leaves.first, leaves.of_node, leaves.parent, leaves.node
    belief, label = messages.belief, messages.label
    n_attributes, n_trees = len(start) - 1, len(first) - 1
    most_leaves, deepest = 1, 1
    for t in range(n_trees):
        most_leaves = max(most_leaves, first[t + 1] - first[t])
        deepest = max(deepest, root[t + 1] - root[t])
    found, other = np.empty(len(node_of)), np.empty(len(node_of))
    scratch = np.empty((4, MOST_STATES + 1))
    order = np.empty(n_trees, np.int64)
    low, high = np.empty((2, width, n_attributes), np.int32), np.empty((2, width, n_attributes), np.int32)
    may_miss = np.empty((2, width, n_attributes), np.int32)
    hot = np.zeros(n_attributes + 1, np.int32)
    for a in range(n_attributes):
        hot[a + 1] = hot[a] + (start[a + 1] - start[a] if one_hot[a] else 0)
    gone = np.zeros((2, width, hot[-1]), np.uint8)
    box_weight, component = np.empty(width), np.empty((2, width), np.int32)
    origin, at_leaf = np.empty((n_trees, width), np.int32), np.empty((n_trees, width), np.int32)
    undo, stack = np.empty((deepest + 1, 4), np.int32), np.empty((deepest + 1, 3), np.int32)
    gain = np.empty(deepest + 1)
    leaf_of, weight = np.empty(width * most_leaves, np.int32), np.empty(width * most_leaves)
    box_of = np.empty(width * most_leaves, np.int32)
    chosen, chosen_weight = np.empty(width, np.int64), np.empty(width)
    random = np.empty(1, np.uint64)
    new = np.empty(len(node_of))
    for row in range(len(rows)):
        k = rows[row]
        random[0] = seeds[row]
        c = label[k]
        changed[row] = belief[k]
        new_label[row] = c
        if stop[0] != 0:
            continue
        evidence(leaves, messages, times, k, c, background, clip, found, scratch)
        if not fixed_label:
            c = _draw_label(leaves, messages, times, k, background, clip, random, found, other, scratch)
            if c != label[k]:
                evidence(leaves, messages, times, k, c, background, clip, found, scratch)
        n_order = _order(leaves, times, k, c, found, jitter, random, order)
        for i in range(n_order):
            t = order[i]
            for leaf in range(first[t], first[t + 1]):
                found[leaf] = np.exp(power * found[leaf])
        below = marginals.below[c]
        now = 0
        n_boxes = len(share_of[c])
        for b in range(n_boxes):
            low[0, b], high[0, b], may_miss[0, b] = known[0, row], known[1, row], known[2, row]
            gone[0, b] = 0
            box_weight[b], component[0, b] = share_of[c, b], b
        for i in range(n_order):
            t = order[i]
            n, most = 0, 0.0
            for b in range(n_boxes):
                before = n
                box = (low[now, b], high[now, b], may_miss[now, b], gone[now, b])
                n, most = _reach(
                    of_nodes, start, hot, one_hot, missing, of_node, below[component[now, b]], root[t], box, found,
                    box_weight[b], undo, stack, gain, leaf_of, weight, n, most,
                )  # fmt: skip
                box_of[before:n] = b
            kept = 0
            for j in range(n):
                if weight[j] >= most * least:
                    leaf_of[kept], box_of[kept], weight[kept] = leaf_of[j], box_of[j], weight[j] / max(most, 1e-300)
                    kept += 1
            n_new = _kept(weight, kept, width, random, chosen, chosen_weight)
            for b in range(n_new):
                j = chosen[b]
                old = box_of[j]
                origin[i, b], at_leaf[i, b], component[1 - now, b] = old, leaf_of[j], component[now, old]
                low[1 - now, b], high[1 - now, b] = low[now, old], high[now, old]
                may_miss[1 - now, b], gone[1 - now, b] = may_miss[now, old], gone[now, old]
                box = (low[1 - now, b], high[1 - now, b], may_miss[1 - now, b], gone[1 - now, b])
                _cut_out(of_nodes, hot, one_hot, parent, node_of[leaf_of[j]], box)
                box_weight[b] = chosen_weight[b]
            n_boxes, now = n_new, 1 - now
        total = max(box_weight[:n_boxes].sum(), 1e-300)
        share = box_weight[:n_boxes] / total
        for t in order[:n_order]:
            new[first[t] : first[t + 1]] = 0.0
        for b in range(n_boxes):
            place = b
            for i in range(n_order - 1, -1, -1):
                new[at_leaf[i, place]] += share[b]
                place = origin[i, place]
        for i in range(n_order):
            t = order[i]
            for leaf in range(first[t], first[t + 1]):
                changed[row, leaf] = belief[k, leaf] + step * (new[leaf] - belief[k, leaf])
        new_label[row] = c
        for d in range(len(drawn)):
            point = uniform(random)
            b = 0
            while b < n_boxes - 1 and point >= share[b]:
                point -= share[b]
                b += 1
            box = (low[now, b], high[now, b], may_miss[now, b], gone[now, b])
            for a in range(n_attributes):
                drawn[d, k, a] = _state_in(below[component[now, b]], start, hot, one_hot, missing, box, a, random)
