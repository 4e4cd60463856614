"""Compiled search for everything that the rows of a block can be while all other rows are fixed.

The other rows leave a few draws of each class in a few leaves. A candidate is a class and a box: the common part of a
leaf of each tree that saw the row, all of which have room for it (`_list`). An assignment takes so many candidates that
all draws and all distinct rows of these leaves are used up, which is an exact cover with multiplicities: the search
branches on what fewest candidates can cover, and a candidate that was tried stays out of the branches after it, so that
every multiset comes once (`_cover`; after Knuth, Dancing Links, 2000). Whether a value must occur as often as in the
truth is asked by forbidding just that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pytest_draft.ambiguity.boxes import LeafBoxes, Words
from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.attack.redacted import redacted

UNDECIDED, FIXED, OTHER = 0, 1, 2
"""Of a value: the search did not end; it occurs at least as often in every assignment; another assignment was found."""

MOST_ROWS = 127
"""Most rows of a block: its leaves are numbered in 8 bits."""

_ENDED, _FOUND, _STOPPED = 0, 1, 2

_TRY = 20
"""Work of narrowing a box to a leaf, where looking at a leaf of a candidate is 1: about a nanosecond."""


@redacted
class Fixed(NamedTuple):
    """What stays the same for all blocks."""

    leaf: LeafBoxes
    row_leaf: Int32Array
    """Shape (n_rows, n_trees)."""
    times: Int32Array
    """Shape (n_rows, n_trees). How often each tree saw each row."""
    label: IntArray
    """Shape (n_rows,)."""
    n_classes: int
    kind: IntArray
    """Shape (n_rows,). Rows of equal occurrences and known values have equal numbers: they are exchangeable."""
    start_words: Words
    """Shape (n_rows, n_words)."""
    start_spans: Int32Array
    """Shape (n_rows, n_spans, 3). The box of what is known of each row."""
    words: Words
    spans: Int32Array
    """`words` and `spans`, of the same shapes: the bins of each row."""
    single: Words
    """Shape (n_words,). Bits of bins that hold one value, and of known attributes."""
    counted: Words
    """Shape (n_words,). Bits of attributes whose values are asked for."""
    first_bin: IntArray
    """Shape (n_spans + 1,)."""
    bin_low: FloatArray
    bin_high: FloatArray
    """`bin_low` and `bin_high`, shape (n_bins of all spans,): bounds of the spans' bins."""
    value: FloatArray
    """Shape (n_rows, n_spans). The rows' values in spans."""
    tolerance: FloatArray
    """Shape (n_spans,). Values that differ by no more are one; infinite where they are known, or not asked for."""
    identity: IntArray
    """Shape (n_rows,). Rows that are equal in what is asked for have equal numbers."""


@redacted
class Room(NamedTuple):
    """What the other rows leave: each tree's leaves that hold a row of the block, in a numbering of its own."""

    leaf: Int32Array
    """Shape (n_trees, n_block)."""
    n_leaves: IntArray
    """Shape (n_trees,)."""
    draws: Int32Array
    """Shape (n_trees, n_block, n_classes)."""
    total: Int32Array
    distinct: Int32Array
    """`total` and `distinct`, shape (n_trees, n_block): draws of all classes, and distinct rows."""


@redacted
class Candidates(NamedTuple):
    """What the rows of a block can be."""

    leaf: NDArray[np.int8]
    """Shape (n_candidates, n_trees). In the numbering of `Room`; -1 in trees that did not see the row."""
    group: IntArray
    """Shape (n_candidates,). The rows that can be this candidate: those of one `Fixed.kind`."""
    label: IntArray
    """Shape (n_candidates,)."""
    value: IntArray
    """Shape (n_candidates,). The value of the block that fills its whole box; -1 where there is none."""


@njit(cache=True, nogil=True)
def _room(fixed: Fixed, block: IntArray) -> tuple[Room, NDArray[np.int8]]:
    """Return what the others leave, and the leaf of each row of the block in its numbering."""
    n_trees, n = fixed.row_leaf.shape[1], len(block)
    leaf = np.full((n_trees, n), -1, dtype=np.int32)
    n_leaves = np.zeros(n_trees, dtype=np.int64)
    draws = np.zeros((n_trees, n, fixed.n_classes), dtype=np.int32)
    total, distinct = np.zeros((n_trees, n), dtype=np.int32), np.zeros((n_trees, n), dtype=np.int32)
    own = np.full((n, n_trees), -1, dtype=np.int8)
    for t in range(n_trees):
        for i in range(n):
            row = block[i]
            times = fixed.times[row, t]
            if times == 0:
                continue
            j = 0
            while j < n_leaves[t] and leaf[t, j] != fixed.row_leaf[row, t]:
                j += 1
            if j == n_leaves[t]:
                leaf[t, j] = fixed.row_leaf[row, t]
                n_leaves[t] += 1
            own[i, t] = j
            draws[t, j, fixed.label[row]] += times
            total[t, j] += times
            distinct[t, j] += 1
    return Room(leaf, n_leaves, draws, total, distinct), own


@njit(cache=True, nogil=True, inline="always")
def _has_room(room: Room, t: int, j: int, label: int, times: int) -> bool:
    """Return whether a leaf has room for a row that a tree saw so often, and what is left could be other rows'."""
    if room.draws[t, j, label] < times or room.distinct[t, j] < 1:
        return False
    draws, rows = room.total[t, j] - times, room.distinct[t, j] - 1
    return bool(draws >= rows and (rows > 0 or draws == 0))


@njit(cache=True, nogil=True)
def _start(fixed: Fixed, row: int, words: Words, spans: Int32Array) -> None:
    """Write the box of what is known of a row to depth 0."""
    for w in range(words.shape[1]):
        words[0, w] = fixed.start_words[row, w]
    for s in range(spans.shape[1]):
        for i in range(3):
            spans[0, s, i] = fixed.start_spans[row, s, i]


@njit(cache=True, nogil=True)
def _narrow(leaf: LeafBoxes, k: int, words: Words, spans: Int32Array, depth: int) -> bool:
    """Write the common part of a leaf and the box at a depth to the next depth; return whether there is any."""
    for w in range(words.shape[1]):
        words[depth + 1, w] = words[depth, w]
    is_any = False
    for e in range(leaf.first_bits[k], leaf.first_bits[k + 1]):
        kept = words[depth, leaf.word[e]] & leaf.held[e]
        is_any |= kept != 0
        if leaf.is_last[e]:
            if not is_any:
                return False
            is_any = False
        words[depth + 1, leaf.word[e]] = (words[depth + 1, leaf.word[e]] & ~leaf.mask[e]) | kept
    for s in range(spans.shape[1]):
        for i in range(3):
            spans[depth + 1, s, i] = spans[depth, s, i]
    for e in range(leaf.first_spans[k], leaf.first_spans[k + 1]):
        at = leaf.span[e, 0]
        low = max(spans[depth, at, 0], leaf.span[e, 1])
        high = min(spans[depth, at, 1], leaf.span[e, 2])
        missing = spans[depth, at, 2] & leaf.span[e, 3]
        if low > high and missing == 0:
            return False
        spans[depth + 1, at, 0], spans[depth + 1, at, 1], spans[depth + 1, at, 2] = low, high, missing
    return True


@njit(cache=True, nogil=True)
def _same_value(fixed: Fixed, words: Words, spans: Int32Array, depth: int, row: int) -> bool:
    """Return whether all that is in the box at a depth is the value of a row."""
    for w in range(words.shape[1]):
        differs = (words[depth, w] ^ fixed.words[row, w]) | (words[depth, w] & ~fixed.single[w])
        if differs & fixed.counted[w] != 0:
            return False
    for s in range(spans.shape[1]):
        if fixed.tolerance[s] == np.inf:
            continue
        low, high, first = spans[depth, s, 0], spans[depth, s, 1], fixed.first_bin[s]
        is_missing = low > high
        if is_missing != (fixed.spans[row, s, 2] != 0) or (not is_missing and spans[depth, s, 2] != 0):
            return False
        if is_missing:
            continue
        most = max(fixed.bin_high[first + high], fixed.value[row, s])
        least = min(fixed.bin_low[first + low], fixed.value[row, s])
        if most - least > fixed.tolerance[s]:
            return False
    return True


@njit(cache=True, nogil=True)
def _order(fixed: Fixed, room: Room, row: int, label: int, order: IntArray, n_open: IntArray) -> int:
    """Order the trees that saw a row, those with fewest leaves that have room first; return how many, or -1."""
    n = 0
    for t in range(len(room.n_leaves)):
        if fixed.times[row, t] == 0:
            continue
        found = 0
        for j in range(room.n_leaves[t]):
            found += _has_room(room, t, j, label, fixed.times[row, t])
        if found == 0:
            return -1
        k = n
        while k > 0 and n_open[k - 1] > found:
            order[k], n_open[k] = order[k - 1], n_open[k - 1]
            k -= 1
        order[k], n_open[k] = t, found
        n += 1
    return n


@njit(cache=True, nogil=True)
def _list(  # noqa: PLR0912
    fixed: Fixed, room: Room, example: IntArray, values: IntArray, most: int, limit: int
) -> tuple[Candidates, bool, int]:
    """List all that rows can be, given a row of each group and of each value; also whether that ended, and the work."""
    n_trees, n_words, n_spans = len(room.n_leaves), fixed.words.shape[1], fixed.spans.shape[1]
    leaf = np.empty((most, n_trees), dtype=np.int8)
    group, label = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    value = np.empty(most, dtype=np.int64)
    words = np.empty((n_trees + 1, n_words), dtype=np.uint64)
    spans = np.empty((n_trees + 1, n_spans, 3), dtype=np.int32)
    chosen, order = np.empty(n_trees + 1, dtype=np.int64), np.empty(n_trees, dtype=np.int64)
    n_open = np.empty(n_trees, dtype=np.int64)
    n, work = 0, 0
    for g in range(len(example)):
        row = example[g]
        for c in range(fixed.n_classes):
            n_seen = _order(fixed, room, row, c, order, n_open)
            if n_seen < 0:
                continue
            _start(fixed, row, words, spans)
            depth = 0
            chosen[0] = -1
            while depth >= 0:
                if depth == n_seen:
                    if n == most:
                        return Candidates(leaf, group, label, value), False, work
                    for t in range(n_trees):
                        leaf[n, t] = -1
                    for d in range(n_seen):
                        leaf[n, order[d]] = chosen[d]
                    group[n], label[n], value[n] = g, c, -1
                    for v in range(len(values)):
                        if _same_value(fixed, words, spans, depth, values[v]):
                            value[n] = v
                            break
                    n += 1
                    depth -= 1
                    continue
                t = order[depth]
                chosen[depth] += 1
                j = chosen[depth]
                if j == room.n_leaves[t]:
                    depth -= 1
                    continue
                work += _TRY
                if work > limit:
                    return Candidates(leaf[:n], group[:n], label[:n], value[:n]), False, work
                if _has_room(room, t, j, c, fixed.times[row, t]) and _narrow(
                    fixed.leaf, room.leaf[t, j], words, spans, depth
                ):
                    depth += 1
                    chosen[depth] = -1
    return Candidates(leaf[:n], group[:n], label[:n], value[:n]), True, work


@njit(cache=True, nogil=True)
def _fits(room: Room, these: Candidates, times: Int32Array, k: int) -> bool:
    """Return whether there is room for a candidate in all trees."""
    label = these.label[k]
    for t in range(times.shape[1]):
        j = these.leaf[k, t]
        if j >= 0 and not _has_room(room, t, j, label, times[these.group[k], t]):
            return False
    return True


@njit(cache=True, nogil=True)
def _take(room: Room, these: Candidates, times: Int32Array, k: int, sign: int) -> None:
    """Use up what a candidate takes; with a sign of -1 give it back."""
    for t in range(times.shape[1]):
        j = these.leaf[k, t]
        if j >= 0:
            used = sign * times[these.group[k], t]
            room.draws[t, j, these.label[k]] -= used
            room.total[t, j] -= used
            room.distinct[t, j] -= sign


@njit(cache=True, nogil=True)
def _scarcest(
    room: Room, these: Candidates, sizes: IntArray, viable: Int32Array, depth: int, n_viable: int, support: Int32Array
) -> tuple[int, int, int, int]:
    """Return what fewest candidates can cover, and how many: a group (-1, group, 0), or draws (tree, leaf, class)."""
    n_groups = len(sizes)
    by_group = np.zeros(n_groups, dtype=np.int64)
    for t in range(support.shape[0]):
        for j in range(room.n_leaves[t]):
            for c in range(support.shape[2]):
                support[t, j, c] = 0
    for i in range(n_viable):
        k = viable[depth, i]
        by_group[these.group[k]] += 1
        label = these.label[k]
        for t in range(these.leaf.shape[1]):
            if these.leaf[k, t] >= 0:
                support[t, these.leaf[k, t], label] += 1
    t_best, j_best, c_best, fewest = -1, 0, 0, n_viable + 1
    for g in range(n_groups):
        if sizes[g] > 0 and by_group[g] < fewest:
            j_best, fewest = g, by_group[g]
    for t in range(len(room.n_leaves)):
        for j in range(room.n_leaves[t]):
            for c in range(room.draws.shape[2]):
                if room.draws[t, j, c] > 0 and support[t, j, c] < fewest:
                    t_best, j_best, c_best, fewest = t, j, c, support[t, j, c]
    return t_best, j_best, c_best, fewest


@njit(cache=True, nogil=True)
def _cover(  # noqa: PLR0912, PLR0915
    room: Room,
    these: Candidates,
    times: Int32Array,
    sizes: IntArray,
    capped: IntArray,
    cap: int,
    taken: IntArray,
    limit: int,
) -> tuple[int, int]:
    """Look for an assignment with at most so many of the capped candidates; return how it ended, and the work.

    The candidates of the assignment are left in `taken`. `room` and `sizes` are used up, and are as before at the end
    unless an assignment was found or the search was stopped.
    """
    n, n_place, n_trees = len(these.group), int(sizes.sum()), these.leaf.shape[1]
    viable = np.empty((n_place + 1, n), dtype=np.int32)
    n_viable, at = np.zeros(n_place + 1, dtype=np.int64), np.zeros(n_place + 1, dtype=np.int64)
    item = np.zeros((n_place + 1, 3), dtype=np.int64)
    out = np.full(n, n_place + 1, dtype=np.int64)  # the depth at which a candidate was tried
    support = np.zeros(room.draws.shape, dtype=np.int32)
    depth, work, entering = 0, 0, True
    for k in range(n):
        viable[0, k] = k
    n_viable[0] = n
    while True:
        if entering:
            if depth == n_place:
                return _FOUND, work
            before = n_viable[max(depth - 1, 0)]
            kept = 0
            for i in range(before):
                k = viable[max(depth - 1, 0), i]
                if out[k] <= n_place or sizes[these.group[k]] == 0 or (capped[k] and cap == 0):
                    continue
                if _fits(room, these, times, k):
                    viable[depth, kept] = k
                    kept += 1
            n_viable[depth] = kept
            work += (before + kept) * n_trees + support.size
            if work > limit:
                return _STOPPED, work
            t, j, c, fewest = _scarcest(room, these, sizes, viable, depth, kept, support)
            item[depth, 0], item[depth, 1], item[depth, 2] = t, j, c
            at[depth] = 0 if fewest > 0 else kept
            entering = False
        else:  # take back what was tried here
            k = taken[depth]
            _take(room, these, times, k, -1)
            sizes[these.group[k]] += 1
            cap += capped[k]
            out[k] = depth
        t, j, c = item[depth, 0], item[depth, 1], item[depth, 2]
        i = at[depth]
        while i < n_viable[depth]:
            k = viable[depth, i]
            if (t < 0 and these.group[k] == j) or (t >= 0 and these.leaf[k, t] == j and these.label[k] == c):
                break
            i += 1
        if i < n_viable[depth]:
            k = viable[depth, i]
            at[depth] = i + 1
            taken[depth] = k
            _take(room, these, times, k, 1)
            sizes[these.group[k]] -= 1
            cap -= capped[k]
            depth += 1
            entering = True
            continue
        for i in range(n_viable[depth]):
            if out[viable[depth, i]] == depth:
                out[viable[depth, i]] = n_place + 1
        depth -= 1
        if depth < 0:
            return _ENDED, work


@njit(cache=True, nogil=True)
def _numbered(number: IntArray, block: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Number what rows of a block share: return each row's number, and each number's first row and size."""
    own, example, size = np.empty_like(block), np.empty_like(block), np.zeros_like(block)
    n = 0
    for i in range(len(block)):
        k = 0
        while k < n and number[example[k]] != number[block[i]]:
            k += 1
        if k == n:
            example[n] = block[i]
            n += 1
        own[i] = k
        size[k] += 1
    return own, example[:n], size[:n]


@njit(cache=True, nogil=True)
def _times_of(fixed: Fixed, rows: IntArray) -> Int32Array:
    """Return how often each tree saw some rows."""
    times = np.empty((len(rows), fixed.times.shape[1]), dtype=np.int32)
    for g in range(len(rows)):
        for t in range(times.shape[1]):
            times[g, t] = fixed.times[rows[g], t]
    return times


@njit(cache=True, nogil=True)
def _search(
    room: Room,
    these: Candidates,
    times: Int32Array,
    sizes: IntArray,
    value: int,
    most: int,
    taken: IntArray,
    limit: int,
) -> tuple[int, int]:
    """Look for an assignment in which a value occurs no more often than so."""
    own = Room(room.leaf, room.n_leaves, room.draws.copy(), room.total.copy(), room.distinct.copy())
    capped = np.zeros(len(these.value), dtype=np.int64)
    for k in range(len(capped)):
        capped[k] = these.value[k] == value
    return _cover(own, these, times, sizes.copy(), capped, most, taken, limit)


@njit(cache=True, nogil=True)
def examine_block(
    fixed: Fixed, block: IntArray, asked: BoolArray, is_closed: BoolArray, most: int, limit: int
) -> tuple[IntArray, int]:
    """Say of each row of a block whether its value occurs at least as often in every assignment.

    Parameters
    ----------
    block : ndarray of int64, shape (n_block,)
    asked : ndarray of bool, shape (n_block,)
        The rows to answer for; for other rows, an answer is returned if it is found on the way.
    is_closed : ndarray of bool, shape (n_rows,)
        Whether a row's own leaves leave it only its value. Nothing is reported of other rows.
    most, limit : int
        Most candidates, and most units of work of one search.

    Returns
    -------
    state : ndarray of int64, shape (n_block,)
        `UNDECIDED`, `FIXED` or `OTHER`.
    work : int
    """
    state = np.full(len(block), UNDECIDED)
    room, _ = _room(fixed, block)
    value, example, multiplicity = _numbered(fixed.identity, block)
    _, group_example, sizes = _numbered(fixed.kind, block)
    these, is_listed, work = _list(fixed, room, group_example, example, most, limit)
    if not is_listed:
        return state, work
    times = _times_of(fixed, group_example)
    taken = np.empty(len(block) + 1, dtype=np.int64)
    found, count = np.full(len(example), UNDECIDED), np.zeros(len(example), dtype=np.int64)
    for i in range(len(block)):
        v = value[i]
        if not asked[i] or not is_closed[block[i]] or found[v] != UNDECIDED:
            continue
        ended, spent = _search(room, these, times, sizes, v, multiplicity[v] - 1, taken, limit)
        work += spent
        if ended == _ENDED:
            found[v] = FIXED
        elif ended == _FOUND:
            for other in range(len(example)):
                count[other] = 0
            for place in range(len(block)):
                if these.value[taken[place]] >= 0:
                    count[these.value[taken[place]]] += 1
            for other in range(len(example)):
                if count[other] < multiplicity[other] and found[other] == UNDECIDED:
                    found[other] = OTHER
    for i in range(len(block)):
        if is_closed[block[i]]:
            state[i] = found[value[i]]
    return state, work


@njit(cache=True, nogil=True)
def is_only_assignment(fixed: Fixed, block: IntArray, most: int, limit: int) -> tuple[bool, int]:
    """Return whether it is proved that the rows of a block are in their leaves in every assignment, and the work.

    Parameters are as in `examine_block`; rows of one kind may have changed places.
    """
    room, own = _room(fixed, block)
    group, group_example, sizes = _numbered(fixed.kind, block)
    listed, is_listed, work = _list(fixed, room, group_example, block[:0], most, limit)
    if not is_listed:
        return False, work
    true = np.empty(len(block), dtype=np.int64)
    for k in range(len(listed.group)):
        for i in range(len(block)):
            alike = listed.group[k] == group[i] and listed.label[k] == fixed.label[block[i]]
            for t in range(own.shape[1]):
                alike &= listed.leaf[k, t] == own[i, t]
            if alike:
                listed.value[k] = k
                true[i] = k
    _, example, multiplicity = _numbered(true, np.arange(len(block)))
    times = _times_of(fixed, group_example)
    taken = np.empty(len(block) + 1, dtype=np.int64)
    for v in range(len(example)):
        k = true[example[v]]
        ended, spent = _search(room, listed, times, sizes, k, multiplicity[v] - 1, taken, limit)
        work += spent
        if ended != _ENDED:
            return False, work
    return True, work


@njit(cache=True, nogil=True)
def closed_rows(fixed: Fixed, rows: IntArray) -> BoolArray:
    """Return whether all that is in the leaves of each of some rows is the row's value, shape (n_rows,)."""
    n_trees = fixed.row_leaf.shape[1]
    closed = np.empty(len(rows), dtype=np.bool_)
    words = np.empty((n_trees + 1, fixed.words.shape[1]), dtype=np.uint64)
    spans = np.empty((n_trees + 1, fixed.spans.shape[1], 3), dtype=np.int32)
    for i in range(len(rows)):
        row, depth = rows[i], 0
        _start(fixed, row, words, spans)
        for t in range(n_trees):
            if fixed.times[row, t] > 0:
                _narrow(fixed.leaf, fixed.row_leaf[row, t], words, spans, depth)
                depth += 1
        closed[i] = _same_value(fixed, words, spans, depth, row)
    return closed
