"""One tree's draws of columns, under every hypothesis at once: compiled search for `replay`.

Which columns were constant among a node's rows is not in the file, and steers the generator. So the draws are followed
for all hypotheses together, node by node in the order in which the tree was grown: a layer holds the distinct states
that the splitter can be in, an edge what one node drew between two of them. Hypotheses die where the tested column was
not drawn. A pass back over the edges then gives each node's draws their probability.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.attack.numeric.equation import evidence
from pytest_draft.attack.redacted import redacted

SKIPPED, SPLIT, ALL_CONSTANT, TRIED, UNKNOWN_IF_ALL_CONSTANT, UNKNOWN_IF_TRIED = range(6)
"""What became of a node: a leaf without any draw; split; a leaf because all columns were constant; a leaf although some
may not have been; a leaf of which it is unknown whether it drew."""

UNEXPLAINED = -1
"""Stands for the next state of a hypothesis that was dropped."""


@redacted
class Grown(NamedTuple):
    """A tree in the order in which its nodes were tried, with what is known of each."""

    outcome: IntArray
    """Shape (n_nodes,). `SKIPPED` and so on."""
    tested: IntArray
    """Shape (n_nodes,). Tested column, -1 at leaves."""
    depth: IntArray
    """Shape (n_nodes,). 0 throughout where known constants are not handed down (best first)."""
    constant: FloatArray
    """Shape (n_nodes, n_columns). Log-probability that a column is the first found constant at a node; minus infinity
    where it is tested below.
    """
    varying: FloatArray
    """Shape (n_nodes, n_columns). The log-probability of the opposite."""
    threshold: FloatArray
    least: FloatArray
    most: FloatArray
    """`threshold`, `least` and `most`, shape (n_nodes,): of the tested column: its threshold, and what the node's
    values cannot leave.
    """


@redacted
class Splitter(NamedTuple):
    """What the draws of all nodes have in common."""

    max_features: int
    random: bool
    """Whether thresholds are drawn."""
    best_first: bool
    finest: FloatArray
    """Shape (n_columns,). Finest decimal grid of each column, in places per unit; 0 where none is known."""
    first: IntArray
    """Shape (n_columns + 1,). Where each column's known values begin."""
    known: FloatArray
    """Shape (n_known,). Values that occur, ascending in each column."""


@njit(cache=True, nogil=True)
def _next(state):  # type: ignore[no-untyped-def]
    """Return the xorshift generator's next state; the number drawn is its lower 31 bits."""
    state = state & np.int64(0xFFFFFFFF)
    if state == 0:
        state = np.int64(1)
    state ^= (state << 13) & np.int64(0xFFFFFFFF)
    state ^= state >> 17
    state ^= (state << 5) & np.int64(0xFFFFFFFF)
    return state


@njit(cache=True, nogil=True)
def _mixed(code, value):  # type: ignore[no-untyped-def]
    """Return a hash with one more number in it."""
    code = (code ^ (value + np.int64(0x1E3779B97F4A7C15))) * np.int64(0x3F58476D1CE4E5B9)
    return code ^ ((code >> 29) & np.int64(0x7FFFFFFFF))


@njit(cache=True, nogil=True)
def _grown(array, size):  # type: ignore[no-untyped-def]
    """Return a one-dimensional array with room for at least `size`."""
    if size <= len(array):
        return array
    larger = np.empty(max(size, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def _log_sum(a, b):  # type: ignore[no-untyped-def]
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))


@njit(cache=True, nogil=True)
def _strongest(weight, number):  # type: ignore[no-untyped-def]
    """Return whether each of the weights is among so many highest."""
    kept = np.zeros(len(weight), np.bool_)
    kept[np.argsort(-weight, kind="mergesort")[:number]] = True
    return kept


@njit(cache=True, nogil=True)
def follow(seed, grown, splitter, width, floor, most, stop):  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0915
    """Follow a tree's draws.

    Parameters
    ----------
    seed : int
        The generator's first state.
    grown : Grown
    splitter : Splitter
    width : int
        Most states that are kept at a node.
    floor : float
        Log-probability, relative to the layer's best, below which a hypothesis is dropped.
    most : int
        Most edges; nodes that take more are left out, from the first of them on.
    stop : ndarray of uint8, shape (1,)
        Looked at before each hypothesis. Where it is raised, nothing is left at the end.

    Returns
    -------
    lost : float
        Log-probability of all that was dropped before it was refuted.
    total : float
        Log-probability of all that is left at the end; minus infinity where nothing is.
    layer : ndarray of int64, shape (n_followed + 1,)
        Where each node's edges begin, of the nodes that were followed.
    weight : ndarray of float64, shape (n_edges,)
        Log-probability of all hypotheses through an edge.
    code : ndarray of int64, shape (n_edges,)
        Equal for edges of a node that draw the same.
    winner : ndarray of int64, shape (n_edges,)
        The draw behind the threshold, -1 where there is none.
    start : ndarray of int64, shape (n_edges + 1,)
    drawn, uniform : ndarray of int64, shape (n_drawn,)
        Of each edge the columns in the order of the draw, and the number behind the threshold tried (-1: none).
    constant : ndarray of bool, shape (n_drawn,)
    """
    n_nodes, n_columns = grown.constant.shape
    deepest = grown.depth.max() + 1
    order = np.empty((1, n_columns), np.int64)
    order[0] = np.arange(n_columns)
    known = np.zeros((1, deepest), np.int64)
    state = np.full(1, seed, np.int64)
    alpha = np.zeros(1)
    lost = -np.inf

    layer = np.zeros(n_nodes + 1, np.int64)
    n_edges = n_drawn = 0
    source, target = np.empty(1024, np.int64), np.empty(1024, np.int64)
    weight, code, winner = np.empty(1024), np.empty(1024, np.int64), np.empty(1024, np.int64)
    start = np.zeros(1025, np.int64)
    drawn, uniform = np.empty(8192, np.int64), np.empty(8192, np.int64)
    constant = np.empty(8192, np.bool_)

    # What waits to be followed within one node.
    w_order = np.empty((n_columns + 3, n_columns), np.int64)
    w_number = np.empty((n_columns + 3, 8), np.int64)
    w_weight = np.empty(n_columns + 3)
    w_list = np.empty((n_columns + 3, 3, n_columns), np.int64)
    sizes = np.zeros(n_nodes + 1, np.int64)
    sizes[0] = 1
    # The draws behind a node's threshold by some hypothesis, and what the threshold says of each.
    seen, speaks = np.empty(16, np.int64), np.empty(16)

    for node in range(n_nodes):
        if stop[0] != 0:
            return (
                lost, -np.inf, layer[:1], weight[:0], code[:0], winner[:0], start[:1], drawn[:0], uniform[:0],
                constant[:0],
            )  # fmt: skip
        layer[node] = n_edges
        n_states = len(alpha)
        outcome, tested, depth = grown.outcome[node], grown.tested[node], grown.depth[node]
        if outcome == SKIPPED:
            sizes[node + 1] = n_states
            for s in range(n_states):
                source, target = _grown(source, n_edges + 1), _grown(target, n_edges + 1)
                weight, code = _grown(weight, n_edges + 1), _grown(code, n_edges + 1)
                winner, start = _grown(winner, n_edges + 1), _grown(start, n_edges + 2)
                source[n_edges] = target[n_edges] = s
                weight[n_edges], code[n_edges], winner[n_edges] = 0.0, 0, -1
                start[n_edges + 1] = n_drawn
                n_edges += 1
            continue
        best = alpha.max()
        n_seen = 0
        room = 4 * n_states + 16
        n_new = 0
        new_order, new_known = np.empty((room, n_columns), np.int64), np.empty((room, deepest), np.int64)
        new_state, new_alpha = np.empty(room, np.int64), np.empty(room)
        table = np.full(1 << 12, -1, np.int64)
        hashes = np.empty(room, np.int64)
        for s in range(n_states):
            if n_edges > most or stop[0] != 0:
                break
            n_known = 0 if splitter.best_first or depth == 0 else known[s, depth - 1]
            n_waiting = 0
            may_skip = outcome in (UNKNOWN_IF_ALL_CONSTANT, UNKNOWN_IF_TRIED)
            w_order[0] = order[s]
            w_number[0, 0], w_number[0, 1], w_number[0, 2], w_number[0, 3] = n_columns, 0, 0, 0
            w_number[0, 4], w_number[0, 5], w_number[0, 6], w_number[0, 7] = 0, state[s], -1, 0
            w_weight[0] = alpha[s]
            n_waiting = 1
            if may_skip:
                w_order[1] = w_order[0]
                w_number[1] = w_number[0]
                w_number[1, 7] = 1
                w_weight[0] += np.log(0.5)
                w_weight[1] = w_weight[0]
                n_waiting = 2
            while n_waiting and stop[0] == 0:
                # The one on top is worked on in place; where it branches, the other is put below it.
                top = n_waiting - 1
                f_i, visited, found = w_number[top, 0], w_number[top, 1], w_number[top, 2]
                drawn_known, n_list = w_number[top, 3], w_number[top, 4]
                random, won, skipped = w_number[top, 5], w_number[top, 6], w_number[top, 7]
                branched = False
                while (
                    not skipped
                    and f_i > n_known + found
                    and (visited < splitter.max_features or visited <= found + drawn_known)
                ):
                    random = _next(random)
                    raw = random & 0x7FFFFFFF
                    place = drawn_known + raw % (f_i - found - drawn_known)
                    if place < n_known:
                        visited += 1
                        held = w_order[top, drawn_known]
                        w_order[top, drawn_known], w_order[top, place] = w_order[top, place], held
                        drawn_known += 1
                        continue
                    place += found
                    column = w_order[top, place]
                    as_constant = w_weight[top] + grown.constant[node, column]
                    as_varying = w_weight[top] + grown.varying[node, column]
                    if outcome in (ALL_CONSTANT, UNKNOWN_IF_ALL_CONSTANT):
                        as_constant, as_varying = w_weight[top], -np.inf
                    elif found > 0 and grown.constant[node, column] > -np.inf:
                        # Rows that tie in one column tie in others: nothing is taken to speak against it.
                        as_constant = as_varying = w_weight[top] + np.log(0.5)
                    if as_constant < best + floor:
                        lost = _log_sum(lost, as_constant)
                        as_constant = -np.inf
                    if as_varying < best + floor:
                        lost = _log_sum(lost, as_varying)
                        as_varying = -np.inf
                    if as_constant == -np.inf and as_varying == -np.inf:
                        branched = True
                        n_waiting -= 1
                        break
                    if as_constant > -np.inf and as_varying > -np.inf:
                        other = top + 1
                        w_order[other] = w_order[top]
                        w_list[other] = w_list[top]
                        total = n_known + found
                        w_order[other, place], w_order[other, total] = w_order[other, total], column
                        w_number[other, 0], w_number[other, 1], w_number[other, 2] = f_i, visited + 1, found + 1
                        w_number[other, 3], w_number[other, 4] = drawn_known, n_list + 1
                        w_number[other, 5], w_number[other, 6], w_number[other, 7] = random, won, 0
                        w_list[other, 0, n_list], w_list[other, 1, n_list] = column, -1
                        w_list[other, 2, n_list] = 1
                        w_weight[other] = as_constant
                        # The varying one goes on where the constant one was drawn from.
                        visited += 1
                        f_i -= 1
                        held = w_order[top, f_i]
                        w_order[top, f_i], w_order[top, place] = column, held
                        w_list[top, 0, n_list], w_list[top, 1, n_list], w_list[top, 2, n_list] = column, -1, 0
                        w_weight[top] = as_varying
                        if splitter.random:
                            random = _next(random)
                            w_list[top, 1, n_list] = random & 0x7FFFFFFF
                        if column == tested:
                            won = n_list
                        n_list += 1
                        w_number[top, 0], w_number[top, 1], w_number[top, 2] = f_i, visited, found
                        w_number[top, 3], w_number[top, 4] = drawn_known, n_list
                        w_number[top, 5], w_number[top, 6] = random, won
                        n_waiting += 1
                        branched = True
                        break
                    visited += 1
                    w_list[top, 0, n_list], w_list[top, 1, n_list] = column, -1
                    if as_constant > -np.inf:
                        total = n_known + found
                        w_order[top, place], w_order[top, total] = w_order[top, total], column
                        found += 1
                        w_list[top, 2, n_list] = 1
                        w_weight[top] = as_constant
                    else:
                        f_i -= 1
                        held = w_order[top, f_i]
                        w_order[top, f_i], w_order[top, place] = column, held
                        w_list[top, 2, n_list] = 0
                        w_weight[top] = as_varying
                        if splitter.random:
                            random = _next(random)
                            w_list[top, 1, n_list] = random & 0x7FFFFFFF
                        if column == tested:
                            won = n_list
                    n_list += 1
                if branched:
                    continue
                n_waiting -= 1
                edge_weight = w_weight[top] - alpha[s]
                raw = -1
                if outcome == SPLIT:
                    if won < 0:
                        continue
                    raw = w_list[top, 1, won]
                    if splitter.random:
                        place = 0
                        while place < n_seen and seen[place] != raw:
                            place += 1
                        if place == n_seen:
                            n_seen += 1
                            seen, speaks = _grown(seen, n_seen), _grown(speaks, n_seen)
                            seen[place] = raw
                            speaks[place] = evidence(
                                grown.threshold[node],
                                raw,
                                grown.least[node],
                                grown.most[node],
                                splitter.finest[tested],
                                splitter.known[splitter.first[tested] : splitter.first[tested + 1]],
                            )
                        edge_weight += speaks[place]
                reached = alpha[s] + edge_weight
                # Known constants stand in their old order for siblings and children.
                if not skipped:
                    for c in range(n_known):
                        w_order[top, c] = order[s, c]
                total = n_known + found
                mixed = _mixed(np.int64(0), random)
                for c in range(n_columns):
                    mixed = _mixed(mixed, w_order[top, c])
                if not splitter.best_first:
                    for d in range(depth):
                        mixed = _mixed(mixed, known[s, d])
                    if outcome == SPLIT:
                        mixed = _mixed(mixed, total)
                slot = mixed & (len(table) - 1)
                place = -1
                while table[slot] >= 0:
                    other = table[slot]
                    if hashes[other] == mixed and new_state[other] == random:
                        place = other
                        break
                    slot = (slot + 1) & (len(table) - 1)
                if place < 0:
                    place = n_new
                    if n_new == room:
                        room *= 2
                        larger_order, larger_known = (
                            np.empty((room, n_columns), np.int64),
                            np.empty((room, deepest), np.int64),
                        )
                        larger_order[:n_new], larger_known[:n_new] = new_order, new_known
                        new_order, new_known = larger_order, larger_known
                        new_state, new_alpha = _grown(new_state, room), _grown(new_alpha, room)
                        hashes = _grown(hashes, room)
                    new_order[place] = w_order[top]
                    new_known[place] = known[s]
                    if not splitter.best_first:
                        new_known[place, depth] = total
                    new_state[place], new_alpha[place], hashes[place] = random, reached, mixed
                    table[slot] = place
                    n_new += 1
                    if 2 * n_new > len(table):
                        table = np.full(2 * len(table), -1, np.int64)
                        for other in range(n_new):
                            slot = hashes[other] & (len(table) - 1)
                            while table[slot] >= 0:
                                slot = (slot + 1) & (len(table) - 1)
                            table[slot] = other
                else:
                    new_alpha[place] = _log_sum(new_alpha[place], reached)
                source, target = _grown(source, n_edges + 1), _grown(target, n_edges + 1)
                weight, code = _grown(weight, n_edges + 1), _grown(code, n_edges + 1)
                winner, start = _grown(winner, n_edges + 1), _grown(start, n_edges + 2)
                drawn, uniform = _grown(drawn, n_drawn + n_list), _grown(uniform, n_drawn + n_list)
                constant = _grown(constant, n_drawn + n_list)
                signature = _mixed(np.int64(1), n_list)
                for d in range(n_list):
                    drawn[n_drawn], uniform[n_drawn] = w_list[top, 0, d], w_list[top, 1, d]
                    constant[n_drawn] = w_list[top, 2, d] == 1
                    signature = _mixed(signature, w_list[top, 0, d])
                    n_drawn += 1
                source[n_edges], target[n_edges], weight[n_edges] = s, place, edge_weight
                code[n_edges], winner[n_edges] = signature, raw
                n_edges += 1
                start[n_edges] = n_drawn
        new_alpha = new_alpha[:n_new]
        if n_edges > most:
            # What was told so far stands without what the nodes from here on would say.
            n_edges = layer[node]
            n_drawn = start[n_edges]
            n_nodes = node
            break
        if n_new == 0:
            total_weight = -np.inf
            empty = np.empty(0, np.int64)
            return lost, total_weight, layer, np.empty(0), empty, empty, start[:1], empty, empty, constant[:0]
        kept = _strongest(new_alpha, width)
        number = np.cumsum(kept) - 1
        for n in range(n_new):
            if not kept[n]:
                lost = _log_sum(lost, new_alpha[n])
        for e in range(layer[node], n_edges):
            target[e] = number[target[e]] if kept[target[e]] else UNEXPLAINED
        order, known = new_order[:n_new][kept], new_known[:n_new][kept]
        state, alpha = new_state[:n_new][kept], new_alpha[kept]
        sizes[node + 1] = len(alpha)
    layer = layer[: n_nodes + 1]
    layer[n_nodes] = n_edges

    total_weight = -np.inf
    for s in range(len(alpha)):
        total_weight = _log_sum(total_weight, alpha[s])
    _through(layer, sizes, source, target, weight, total_weight)
    return (
        lost,
        total_weight,
        layer,
        weight[:n_edges],
        code[:n_edges],
        winner[:n_edges],
        start[: n_edges + 1],
        drawn[:n_drawn],
        uniform[:n_drawn],
        constant[:n_drawn],
    )


@njit(cache=True, nogil=True)
def _through(layer, sizes, source, target, weight, total):  # type: ignore[no-untyped-def]
    """Put the log-probability of all hypotheses through each edge in place of the edge's own."""
    n_nodes = len(layer) - 1
    first = np.zeros(n_nodes + 2, np.int64)
    first[1:] = np.cumsum(sizes[: n_nodes + 1])
    alpha, beta = np.full(first[-1], -np.inf), np.full(first[-1], -np.inf)
    alpha[0] = 0.0
    for node in range(n_nodes):
        for e in range(layer[node], layer[node + 1]):
            if target[e] >= 0:
                end = first[node + 1] + target[e]
                alpha[end] = _log_sum(alpha[end], alpha[first[node] + source[e]] + weight[e])
    beta[first[n_nodes] :] = 0.0
    for node in range(n_nodes - 1, -1, -1):
        for e in range(layer[node], layer[node + 1]):
            if target[e] >= 0:
                begin, end = first[node] + source[e], first[node + 1] + target[e]
                after = weight[e] + beta[end]
                beta[begin] = _log_sum(beta[begin], after)
                weight[e] = alpha[begin] + after
            else:
                weight[e] = -np.inf
