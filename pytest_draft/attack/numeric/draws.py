"""The draws of one tree of random splits, under every hypothesis at once: compiled search for `replay`.

Which columns were constant among a node's rows is not in the file, and steers the generator. So the draws are followed
for all hypotheses together, node by node in the order in which the tree was grown: a layer holds the distinct states
that the splitter can be in, an edge what one node drew between two of them. Hypotheses die where the tested column was
not drawn. A pass back over the edges then gives each node's draws their probability.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.attack.numeric.equation import evidence
from pytest_draft.attack.redacted import redacted
from pytest_draft.compiling import compiled

SKIPPED, SPLIT, ALL_CONSTANT, TRIED, UNKNOWN_IF_ALL_CONSTANT, UNKNOWN_IF_TRIED = range(6)
"""What became of a node: a leaf without any draw; split; a leaf because all columns were constant; a leaf although some
may not have been; a leaf of which it is unknown whether it drew."""

_UNEXPLAINED = -1
"""Stands for the next state of a hypothesis that was dropped."""

_LEFT, _VISITED, _FOUND, _PASSED, _LISTED, _RANDOM, _WON = range(7)
"""The numbers of a hypothesis that is followed: columns not yet found to vary, columns drawn, new constant ones, known
constant ones that were drawn, columns listed, the generator's state, and the draw behind the threshold (-1: none)."""

_THROUGH, _BRANCHED, _DROPPED = range(3)


@redacted
class Grown(NamedTuple):
    """The nodes of a tree that drew or may have, in the order in which they were tried, with what is known of each."""

    outcome: IntArray
    """Shape (n_nodes,). `SPLIT` and so on."""
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
    best_first: bool
    finest: FloatArray
    """Shape (n_columns,). Finest decimal grid of each column, in places per unit; 0 where none is known."""
    first: IntArray
    """Shape (n_columns + 1,). Where each column's known values begin."""
    known: FloatArray
    """Shape (n_known,). Values that occur, ascending in each column."""


@redacted
class Followed(NamedTuple):
    """What the nodes of a tree drew, by hypothesis: an edge is what one node drew in one of the splitter's states."""

    layer: IntArray
    """Shape (n_followed + 1,). Where each node's edges begin, of the nodes that were followed."""
    share: FloatArray
    """Shape (n_edges,). The probability of all hypotheses through an edge."""
    winner: IntArray
    """Shape (n_edges,). The draw behind the threshold, -1 where there is none."""
    start: IntArray
    """Shape (n_edges + 1,). Where each edge's columns begin."""
    column: IntArray
    constant: BoolArray
    """`column` and `constant`, shape (n_drawn,): in the order of the draw."""


@redacted
class _States(NamedTuple):
    """The states that the splitter can be in, each with the log-probability of all hypotheses that lead to it."""

    order: IntArray
    """Shape (n, n_columns). The columns as the splitter holds them: known constant ones first, then new ones."""
    known: IntArray
    """Shape (n, deepest). How many constant columns are known at each depth."""
    random: IntArray
    weight: FloatArray
    """`random` and `weight`, shape (n,)."""


@redacted
class _Waiting(NamedTuple):
    """Hypotheses of one node that are still to be followed, the last one first."""

    order: IntArray
    known: IntArray
    """`order` and `known`: as in `_States`."""
    number: IntArray
    """Shape (n, 7). `_LEFT` and so on."""
    column: IntArray
    constant: BoolArray
    """`column` and `constant`, shape (n, n_columns): in the order of the draw, as many as are listed."""
    weight: FloatArray
    """Shape (n,). Log-probability."""


@compiled
def _next(state):  # type: ignore[no-untyped-def]
    """Return the xorshift generator's next state; the number drawn is its lower 31 bits."""
    state = state & np.int64(0xFFFFFFFF)
    if state == 0:
        state = np.int64(1)
    state ^= (state << 13) & np.int64(0xFFFFFFFF)
    state ^= state >> 17
    state ^= (state << 5) & np.int64(0xFFFFFFFF)
    return state


@compiled
def _longer(array, size):  # type: ignore[no-untyped-def]
    """Return an array with room for at least `size` along its first axis."""
    if size <= len(array):
        return array
    larger = np.empty((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


@compiled
def _list(waiting, i, place, constant, n_known, tested):  # type: ignore[no-untyped-def]
    """List the column at a place of a hypothesis as constant or varying, and move it in the splitter's order."""
    order, number = waiting.order[i], waiting.number[i]
    n, column = number[_LISTED], order[place]
    if constant:
        to = n_known + number[_FOUND]
        number[_FOUND] += 1
    else:
        number[_LEFT] -= 1
        to = number[_LEFT]
        number[_RANDOM] = _next(number[_RANDOM])
        if column == tested:
            number[_WON] = number[_RANDOM] & 0x7FFFFFFF
    waiting.column[i, n], waiting.constant[i, n] = column, constant
    order[place], order[to] = order[to], column
    number[_LISTED] += 1
    number[_VISITED] += 1


@compiled
def _go_on(waiting, i, grown, node, max_features, n_known, least, lost):  # type: ignore[no-untyped-def]
    """Follow the draws of a hypothesis to their end, or until a column may be constant or not: that one is put behind.

    Parameters
    ----------
    least : float
        Log-probability below which a hypothesis is dropped.
    lost : ndarray of float64, shape (1,)
        Log-probability of what was dropped, which is added to.
    """
    number, weight, outcome = waiting.number[i], waiting.weight, grown.outcome[node]
    while number[_LEFT] > n_known + number[_FOUND] and (
        number[_VISITED] < max_features or number[_VISITED] <= number[_FOUND] + number[_PASSED]
    ):
        number[_RANDOM] = _next(number[_RANDOM])
        passed = number[_PASSED]
        place = passed + (number[_RANDOM] & 0x7FFFFFFF) % (number[_LEFT] - number[_FOUND] - passed)
        order = waiting.order[i]
        if place < n_known:
            order[passed], order[place] = order[place], order[passed]
            number[_VISITED] += 1
            number[_PASSED] += 1
            continue
        place += number[_FOUND]
        column = order[place]
        as_constant, as_varying = weight[i] + grown.constant[node, column], weight[i] + grown.varying[node, column]
        if outcome in (ALL_CONSTANT, UNKNOWN_IF_ALL_CONSTANT):
            as_constant, as_varying = weight[i], -np.inf
        elif number[_FOUND] > 0 and grown.constant[node, column] > -np.inf:
            # Rows that tie in one column tie in others: nothing is taken to speak against it.
            as_constant = as_varying = weight[i] + np.log(0.5)
        if as_constant < least:
            lost[0] = np.logaddexp(lost[0], as_constant)
        if as_varying < least:
            lost[0] = np.logaddexp(lost[0], as_varying)
        if as_constant < least and as_varying < least:
            return _DROPPED
        if as_constant >= least and as_varying >= least:
            waiting.order[i + 1], waiting.number[i + 1] = order, number
            waiting.column[i + 1], waiting.constant[i + 1] = waiting.column[i], waiting.constant[i]
            weight[i + 1], weight[i] = as_constant, as_varying
            _list(waiting, i + 1, place, True, n_known, grown.tested[node])
            _list(waiting, i, place, False, n_known, grown.tested[node])
            return _BRANCHED
        constant = as_constant >= least
        weight[i] = as_constant if constant else as_varying
        _list(waiting, i, place, constant, n_known, grown.tested[node])
    return _THROUGH


@compiled
def _code(order, known):  # type: ignore[no-untyped-def]
    """Return a hash of columns in an order, and of how many known constant ones are handed down."""
    code = np.int64(0)
    for i in range(len(order) + len(known)):
        value = order[i] if i < len(order) else known[i - len(order)]
        code = (code ^ (value + np.int64(0x1E3779B97F4A7C15))) * np.int64(0x3F58476D1CE4E5B9)
        code ^= (code >> 29) & np.int64(0x7FFFFFFFF)
    return code


@compiled
def _strongest(states, width, target, lost):  # type: ignore[no-untyped-def]
    """Return so many states with the highest weights, and let edges lead to these."""
    kept = np.zeros(len(states.weight), np.bool_)
    kept[np.argsort(-states.weight, kind="mergesort")[:width]] = True
    for weight in states.weight[~kept]:
        lost[0] = np.logaddexp(lost[0], weight)
    place = np.cumsum(kept) - 1
    for e in range(len(target)):
        target[e] = place[target[e]] if kept[target[e]] else _UNEXPLAINED
    return _States(states.order[kept], states.known[kept], states.random[kept], states.weight[kept])


@compiled
def follow(seed, grown, splitter, width, floor, most, stop):  # type: ignore[no-untyped-def]  # noqa: PLR0915
    """Follow a tree's draws.

    Parameters
    ----------
    seed : int
        The generator's first state.
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
    Followed
        Of no node where the clock stopped it, or no hypothesis was left.
    """
    n_nodes, n_columns = grown.constant.shape
    deepest, order = grown.depth.max() + 1, np.arange(n_columns).reshape(1, n_columns)
    states = _States(order, np.zeros((1, deepest), np.int64), np.full(1, seed, np.int64), np.zeros(1))
    lost = np.full(1, -np.inf)
    layer, sizes = np.zeros(n_nodes + 1, np.int64), np.ones(n_nodes + 1, np.int64)
    source, target, winner = np.empty((3, most + 1), np.int64)
    weight, start = np.empty(most + 1), np.zeros(most + 2, np.int64)
    column, constant = np.empty(8192, np.int64), np.empty(8192, np.bool_)
    room = n_columns + 3
    waiting = _Waiting(
        np.empty((room, n_columns), np.int64), np.empty((room, deepest), np.int64), np.empty((room, 7), np.int64),
        np.empty((room, n_columns), np.int64), np.empty((room, n_columns), np.bool_), np.empty(room),
    )  # fmt: skip
    n_edges = n_drawn = n_followed = 0
    for node in range(n_nodes):
        outcome, tested, depth = grown.outcome[node], grown.tested[node], grown.depth[node]
        least, n_new, n_states = states.weight.max() + floor, 0, len(states.weight)
        new = _States(states.order.copy(), states.known.copy(), states.random.copy(), states.weight.copy())
        place_of = {(np.int64(0), np.int64(0)): np.int64(0)}
        said = {np.int64(-1): 0.0}
        place_of.clear()
        for s in range(n_states):
            n_known = 0 if splitter.best_first or depth == 0 else states.known[s, depth - 1]
            waiting.order[0], waiting.number[0], waiting.weight[0] = states.order[s], 0, states.weight[s]
            waiting.number[0, _LEFT], waiting.number[0, _RANDOM] = n_columns, states.random[s]
            waiting.number[0, _WON] = -1
            top = 0
            if outcome in (UNKNOWN_IF_ALL_CONSTANT, UNKNOWN_IF_TRIED):
                waiting.weight[0] += np.log(0.5)
                waiting.order[1], waiting.number[1], waiting.weight[1] = states.order[s], 0, waiting.weight[0]
                waiting.number[1, _RANDOM], waiting.number[1, _WON] = states.random[s], -1  # nothing left to draw
                top = 1
            while top >= 0 and n_edges <= most and stop[0] == 0:
                ended = _go_on(waiting, top, grown, node, splitter.max_features, n_known, least, lost)
                if ended == _BRANCHED:
                    top += 1
                    continue
                i, top = top, top - 1
                number = waiting.number[i]
                raw = number[_WON]
                if ended == _DROPPED or (outcome == SPLIT and raw < 0):
                    continue
                if outcome == SPLIT and raw not in said:
                    said[raw] = evidence(
                        grown.threshold[node], raw, grown.least[node], grown.most[node], splitter.finest[tested],
                        splitter.known[splitter.first[tested] : splitter.first[tested + 1]],
                    )  # fmt: skip
                weight[n_edges] = waiting.weight[i] - states.weight[s] + (said[raw] if outcome == SPLIT else 0.0)
                reached = states.weight[s] + weight[n_edges]
                # Known constants stand in their old order for siblings and children.
                waiting.order[i, :n_known] = states.order[s, :n_known]
                total = n_known + number[_FOUND]
                handed_down = depth + (outcome == SPLIT) if not splitter.best_first else 0
                waiting.known[i] = states.known[s]
                waiting.known[i, depth] = total
                key = (_code(waiting.order[i], waiting.known[i, :handed_down]), number[_RANDOM])
                if key in place_of:
                    place = place_of[key]
                    new.weight[place] = np.logaddexp(new.weight[place], reached)
                else:
                    place = place_of[key] = np.int64(n_new)
                    n_new += 1
                    new = _States(
                        _longer(new.order, n_new), _longer(new.known, n_new), _longer(new.random, n_new),
                        _longer(new.weight, n_new),
                    )  # fmt: skip
                    new.order[place], new.known[place] = waiting.order[i], waiting.known[i]
                    new.random[place], new.weight[place] = number[_RANDOM], reached
                source[n_edges], target[n_edges], winner[n_edges] = s, place, raw
                n_listed = number[_LISTED]
                column, constant = _longer(column, n_drawn + n_listed), _longer(constant, n_drawn + n_listed)
                column[n_drawn : n_drawn + n_listed] = waiting.column[i, :n_listed]
                constant[n_drawn : n_drawn + n_listed] = waiting.constant[i, :n_listed]
                n_drawn += n_listed
                n_edges += 1
                start[n_edges] = n_drawn
        if n_edges > most:  # what was told so far stands without what the nodes from here on would say
            break
        if n_new == 0 or stop[0] != 0:
            n_followed = 0
            break
        new = _States(new.order[:n_new], new.known[:n_new], new.random[:n_new], new.weight[:n_new])
        states = _strongest(new, width, target[layer[node] : n_edges], lost)
        n_followed = node + 1
        layer[n_followed], sizes[n_followed] = n_edges, len(states.weight)
    n_edges = layer[n_followed]
    layer = layer[: n_followed + 1]
    share = _shares(layer, sizes, source, target, weight[:n_edges], lost[0])
    return Followed(
        layer, share, winner[:n_edges], start[: n_edges + 1], column[: start[n_edges]], constant[: start[n_edges]]
    )


@compiled
def _shares(layer, sizes, source, target, weight, lost):  # type: ignore[no-untyped-def]
    """Return the probability of all hypotheses through each edge, given each edge's own weight."""
    n_nodes = len(layer) - 1
    first = np.zeros(n_nodes + 2, np.int64)
    first[1:] = np.cumsum(sizes[: n_nodes + 1])
    alpha, beta = np.full(first[-1], -np.inf), np.full(first[-1], -np.inf)
    alpha[0] = 0.0
    for node in range(n_nodes):
        for e in range(layer[node], layer[node + 1]):
            if target[e] >= 0:
                end = first[node + 1] + target[e]
                alpha[end] = np.logaddexp(alpha[end], alpha[first[node] + source[e]] + weight[e])
    total = lost
    for last in alpha[first[n_nodes] :]:
        total = np.logaddexp(total, last)
    beta[first[n_nodes] :] = 0.0
    share = np.zeros(len(weight))
    for node in range(n_nodes - 1, -1, -1):
        for e in range(layer[node], layer[node + 1]):
            if target[e] >= 0:
                begin, end = first[node] + source[e], first[node + 1] + target[e]
                after = weight[e] + beta[end]
                beta[begin] = np.logaddexp(beta[begin], after)
                share[e] = np.exp(alpha[begin] + after - total)
    return share
