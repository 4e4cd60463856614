"""Narrows what each row can be where the domain cannot be enumerated: regions from `Regions` and groups.

Two steps, and everything that they conclude is proved. *Narrow*: for each group and class, every tree keeps the leaves
that the rows can still be in, and a region holds all that these leaves have in common with it; the counts of every
node, inner nodes too, strike out leaves, until nothing changes. *Join*: depth-first over the trees, the one with the
fewest leaves left first (Knuth's dynamic ordering), list every combination of one leaf for each tree whose leaves have
a vector in common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import BoolArray, IntArray
from pytest_draft.attack.enumeration import MAX_BYTES, TooManyError
from pytest_draft.attack.groups import Groups
from pytest_draft.attack.large_domains.regions import Regions, Words
from pytest_draft.compiling import compiled
from pytest_draft.errors import InfeasibleError, OutOfTimeError
from pytest_draft.timebox import TimeBox

_UNITS_PER_LEAF = 2e-8
"""Measured: what one leaf of one group and class counts for in the work of a pass."""

_UNITS_OF_A_STEP = 5e-9
"""Measured: what one leaf counts for in the work of a step while cells are listed."""

_MOST_UNITS = 5.0
"""Most work of listing the cells of one group and class."""


@dataclass(frozen=True, eq=False, repr=False)
class Reach:
    """What the rows of each group can still be, by class."""

    regions: Regions
    groups: Groups
    possible: BoolArray
    """Shape (n_groups, n_classes, n_leaves). The leaves, of trees that saw the rows, that they can be in."""
    box: Words
    """Shape (n_groups, n_classes, n_words). A region that holds all that they can be."""
    alive: BoolArray
    """Shape (n_groups, n_classes). The classes that they can be of."""

    @classmethod
    def of(cls, regions: Regions, groups: Groups) -> Reach:
        """Return what the counts of each leaf by itself leave: as many draws of the class as the row has.

        Parameters
        ----------
        groups : Groups
            Of rows whose occurrences are known.

        Raises
        ------
        TooManyError
            Where this would take too much memory.
        """
        n_groups, n_classes, n_leaves = groups.n_groups, regions.n_classes, len(regions.box)
        if n_groups * n_classes * (n_leaves + 8 * len(regions.full_box)) > MAX_BYTES:
            raise TooManyError(
                f"{n_groups:,} rows that the adversary tells apart x {n_leaves:,} leaves take too much memory"
            )
        weight = np.repeat(groups.weight, np.diff(regions.leaf_start), axis=0).T  # by group and leaf
        enough = regions.counts[regions.leaf_node].T[None] >= weight[:, None]
        box = np.repeat(regions.with_values(groups.values, n_groups)[:, None], n_classes, axis=1)
        possible = np.ascontiguousarray(enough & (weight > 0)[:, None])  # in one order, for which numba compiles
        return cls(regions, groups, possible, box, np.ones((n_groups, n_classes), dtype=bool))

    def tighten(self, timebox: TimeBox, *, by_counts: bool = True) -> None:
        """Strike out, in place, what is impossible, until nothing changes.

        Parameters
        ----------
        by_counts : bool
            Whether the rows are weighed against each other, node by node; else each is looked at by itself.

        Raises
        ------
        InfeasibleError
            Where some row can be nothing.
        OutOfTimeError
        """
        regions, weight = self.regions, self.groups.weight
        changed = 1
        while changed:
            if timebox.over:
                raise OutOfTimeError
            timebox.spend(_UNITS_PER_LEAF * self.possible.size)
            changed = 0
            if by_counts:
                changed += _weigh(
                    self.possible,
                    self.alive,
                    weight,
                    self.groups.size,
                    regions.nodes.first,
                    regions.leaf_start,
                    regions.first_leaf,
                    regions.last_leaf,
                    regions.counts,
                    regions.distinct,
                )
            changed += _fit(
                self.possible,
                self.alive,
                self.box,
                weight,
                regions.leaf_start,
                regions.box,
                regions.entry_start,
                regions.entry,
                regions.word_attribute,
            )
            if not self.alive.any(axis=1).all():
                raise InfeasibleError

    def join(self, most: int, timebox: TimeBox) -> tuple[IntArray, IntArray, Words] | None:
        """List all that the rows can be: one leaf for each tree that saw them.

        Parameters
        ----------
        most : int
            Most triples that may be found.

        Returns
        -------
        group, label : ndarray of int64, shape (n_found,)
        box : ndarray of uint64, shape (n_found, n_words)
            The common part of the leaves. None in place of all three: there are more, or the time was out.
        """
        regions = self.regions
        group, label = np.nonzero(self.alive)
        spread = np.unpackbits(self.box[group, label].view(np.uint8), axis=1).sum(axis=1)
        found: list[Words] = [np.empty((0, len(regions.full_box)), dtype=np.uint64)] * len(group)
        n_words = len(regions.full_box)
        room = min(most, MAX_BYTES // (32 * n_words))
        if 16 * regions.n_trees * len(regions.box) > MAX_BYTES:
            return None
        for pair in np.argsort(-spread, kind="stable").tolist():  # the widest first: too many are noticed soon
            g, c = int(group[pair]), int(label[pair])
            units = _UNITS_OF_A_STEP * max(len(regions.box), 1)
            steps = int(min(timebox.remaining, timebox.effort_left, _MOST_UNITS) / units)
            boxes, steps_left = _combine(
                self.possible[g, c],
                self.box[g, c],
                self.groups.weight[:, g],
                regions.leaf_start,
                regions.box,
                regions.entry_start,
                regions.entry,
                regions.word_attribute,
                room,
                steps,
            )
            timebox.spend(units * (steps - steps_left))
            if steps_left < 0 or len(boxes) > room:
                return None
            room -= len(boxes)
            found[pair] = boxes
        number = [len(boxes) for boxes in found]
        return np.repeat(group, number), np.repeat(label, number), np.concatenate(found)


@compiled
def _meets(leaf: int, box: Words, leaf_box: Words, entry_start: IntArray, entry: IntArray, owner: IntArray) -> bool:
    """Return whether a leaf and a region have a vector in common: in every attribute some bin."""
    stop = entry_start[leaf + 1]
    i = entry_start[leaf]
    while i < stop:
        a, some = owner[entry[i]], False
        while i < stop and owner[entry[i]] == a:
            some |= (box[entry[i]] & leaf_box[leaf, entry[i]]) != 0
            i += 1
        if not some:
            return False
    return True


@compiled
def _shrink(
    leaves: IntArray,
    n_leaves: int,
    box: Words,
    leaf_box: Words,
    entry_start: IntArray,
    entry: IntArray,
    union: Words,
    times: IntArray,
) -> bool:
    """Take from a region what none of some leaves, all of one tree, holds; return whether that was something.

    `union` and `times`, of one entry a word, are zero before and after.
    """
    changed = False
    for i in range(n_leaves):
        for j in range(entry_start[leaves[i]], entry_start[leaves[i] + 1]):
            union[entry[j]] |= leaf_box[leaves[i], entry[j]]
            times[entry[j]] += 1
    for i in range(n_leaves):
        for j in range(entry_start[leaves[i]], entry_start[leaves[i] + 1]):
            word = entry[j]
            if times[word] == n_leaves and box[word] & ~union[word]:
                box[word] &= union[word]
                changed = True
            union[word] = np.uint64(0)
            times[word] = 0
    return changed


@compiled
def _fit(
    possible: BoolArray,
    alive: BoolArray,
    box: Words,
    weight: IntArray,
    leaf_start: IntArray,
    leaf_box: Words,
    entry_start: IntArray,
    entry: IntArray,
    owner: IntArray,
) -> int:
    """Make each group's leaves and region agree; return how many leaves were struck out."""
    n_groups, n_classes, n_words = box.shape
    union, times = np.zeros(n_words, dtype=np.uint64), np.zeros(n_words, dtype=np.int64)
    leaves = np.empty(possible.shape[2], dtype=np.int64)
    struck = 0
    for g in range(n_groups):
        for c in range(n_classes):
            again = alive[g, c]
            while again:
                again = False
                for t in range(len(leaf_start) - 1):
                    if weight[t, g] == 0:
                        continue
                    n_leaves = 0
                    for leaf in range(leaf_start[t], leaf_start[t + 1]):
                        if not possible[g, c, leaf]:
                            continue
                        if _meets(leaf, box[g, c], leaf_box, entry_start, entry, owner):
                            leaves[n_leaves] = leaf
                            n_leaves += 1
                        else:
                            possible[g, c, leaf] = False
                            struck += 1
                    if n_leaves == 0:
                        alive[g, c] = False
                        possible[g, c] = False
                        struck += 1
                        again = False
                        break
                    if _shrink(leaves, n_leaves, box[g, c], leaf_box, entry_start, entry, union, times):
                        again = True
    return struck


@compiled
def _has_room(counts: IntArray, distinct: int, c: int, times: int) -> bool:
    """Return whether a node's draws can hold a row of a class that was drawn so many times.

    Each class that has other draws needs another row, and each other row needs a draw.
    """
    draws, others = -times, 0
    for k in range(len(counts)):
        draws += counts[k]
        others += counts[k] > (times if k == c else 0)
    return counts[c] >= times and (distinct < 0 or others <= distinct - 1 <= draws)


@compiled
def _weigh(  # noqa: PLR0912, PLR0915 - compiled as one
    possible: BoolArray,
    alive: BoolArray,
    weight: IntArray,
    size: IntArray,
    start: IntArray,
    leaf_start: IntArray,
    first_leaf: IntArray,
    last_leaf: IntArray,
    counts: IntArray,
    distinct: IntArray,
) -> int:
    """Strike out leaves by the counts of each node; return how many, and classes.

    With the draws of rows that must be at a node, and of those that can be: a row for which there is no room besides
    the former is elsewhere; a row without which the latter are too few is there. The same for distinct rows.
    """
    n_groups, n_classes, _ = possible.shape
    below = np.zeros((n_groups, n_classes, np.diff(leaf_start).max() + 1), dtype=np.int32)
    here, there = np.zeros((n_groups, n_classes), np.bool_), np.zeros((n_groups, n_classes), np.bool_)
    must, can = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    struck = 0
    for t in range(len(start) - 1):
        first, last = leaf_start[t], leaf_start[t + 1]
        for g in range(n_groups):
            for c in range(n_classes):
                for leaf in range(first, last):
                    below[g, c, leaf - first + 1] = below[g, c, leaf - first] + possible[g, c, leaf]
        for node in range(start[t], start[t + 1]):
            low, high = first_leaf[node], last_leaf[node]
            must[:] = 0
            can[:] = 0
            rows_must, rows_can = 0, 0
            for g in range(n_groups):
                if weight[t, g] == 0:
                    continue
                n_alive, some_here, some_there = 0, False, False
                for c in range(n_classes):
                    inside = below[g, c, high - first] - below[g, c, low - first]
                    here[g, c] = alive[g, c] and inside > 0
                    there[g, c] = alive[g, c] and below[g, c, last - first] > inside
                    n_alive += alive[g, c]
                    some_here |= here[g, c]
                    some_there |= there[g, c]
                rows_can += size[g] * some_here
                rows_must += size[g] * (some_here and not some_there)
                for c in range(n_classes):
                    if here[g, c]:
                        can[c] += size[g] * weight[t, g]
                        if n_alive == 1 and not there[g, c]:
                            must[c] += size[g] * weight[t, g]
            for g in range(n_groups):
                times = weight[t, g]
                if times == 0:
                    continue
                n_alive, some_here, some_there = 0, False, False
                for c in range(n_classes):
                    n_alive += alive[g, c]
                    some_here |= here[g, c]
                    some_there |= there[g, c]
                full = distinct[node] >= 0 and some_there and rows_must >= distinct[node]
                scarce = distinct[node] >= 0 and some_here and some_there and rows_can <= distinct[node]
                for c in range(n_classes):
                    if not alive[g, c] or not (here[g, c] or scarce):
                        continue
                    settled = n_alive == 1 and not there[g, c]
                    out = here[g, c] and not settled
                    out &= full or counts[node, c] - must[c] < times
                    out |= here[g, c] and not _has_room(counts[node], distinct[node], c, times)
                    needed = here[g, c] and can[c] - times < counts[node, c]
                    if needed:
                        for other in range(n_classes):
                            if other != c and alive[g, other]:
                                alive[g, other] = False
                                possible[g, other] = False
                                struck += 1
                    for leaf in range(first, last):
                        inside = low <= leaf < high
                        if possible[g, c, leaf] and ((inside and out) or (not inside and (needed or scarce))):
                            possible[g, c, leaf] = False
                            struck += 1
    return struck


@compiled
def _combine(  # noqa: PLR0912, PLR0915 - compiled as one
    possible: BoolArray,
    box: Words,
    weight: IntArray,
    leaf_start: IntArray,
    leaf_box: Words,
    entry_start: IntArray,
    entry: IntArray,
    owner: IntArray,
    most: int,
    steps: int,
) -> tuple[Words, int]:
    """List the common parts of one leaf of each tree that are not empty; at most one more than `most`.

    Returns
    -------
    boxes : ndarray of uint64, shape (n_found, n_words)
    steps_left : int
        Below 0 where the steps did not suffice.
    """
    n_trees, n_words = len(leaf_start) - 1, len(box)
    found = np.empty((16, n_words), dtype=np.uint64)
    n_found = 0
    union, times = np.zeros(n_words, dtype=np.uint64), np.zeros(n_words, dtype=np.int64)
    # Of each level of the search: its region, its leaves tree by tree, the tree that it branches on and how far it is.
    boxes = np.empty((n_trees + 1, n_words), dtype=np.uint64)
    leaves = np.empty((n_trees + 1, leaf_start[-1]), dtype=np.int64)
    first = np.zeros((n_trees + 1, n_trees + 1), dtype=np.int64)
    branch, place = np.zeros(n_trees + 1, dtype=np.int64), np.zeros(n_trees + 1, dtype=np.int64)
    boxes[0] = box
    total = 0
    for t in range(n_trees):
        first[0, t] = total
        if weight[t] > 0:
            for leaf in range(leaf_start[t], leaf_start[t + 1]):
                if possible[leaf]:
                    leaves[0, total] = leaf
                    total += 1
    first[0, n_trees] = total
    level = 0
    entering = True
    while level >= 0:
        if entering:
            steps -= 1
            if steps < 0 or n_found > most:
                break
            again, empty = True, False
            while again and not empty:
                again = False
                total = 0
                begin = first[level, 0]
                for t in range(n_trees):
                    end = first[level, t + 1]
                    first[level, t] = total
                    for i in range(begin, end):
                        if _meets(leaves[level, i], boxes[level], leaf_box, entry_start, entry, owner):
                            leaves[level, total] = leaves[level, i]
                            total += 1
                    begin = end
                    n_left = total - first[level, t]
                    if n_left == 0 and weight[t] > 0:
                        empty = True
                        break
                    mine = leaves[level, first[level, t] : total]
                    if _shrink(mine, n_left, boxes[level], leaf_box, entry_start, entry, union, times):
                        again = True
                if not empty:
                    first[level, n_trees] = total
            if empty:
                level -= 1
                entering = False
                continue
            fewest = 0
            for t in range(n_trees):
                n_left = first[level, t + 1] - first[level, t]
                if n_left > 1 and (fewest == 0 or n_left < fewest):
                    fewest = n_left
                    branch[level] = t
            if fewest == 0:
                if n_found == len(found):
                    grown = np.empty((2 * n_found, n_words), dtype=np.uint64)
                    grown[:n_found] = found
                    found = grown
                found[n_found] = boxes[level]
                n_found += 1
                level -= 1
                entering = False
                continue
            place[level] = first[level, branch[level]]
        if place[level] == first[level, branch[level] + 1]:
            level -= 1
            entering = False
            continue
        leaf = leaves[level, place[level]]
        place[level] += 1
        boxes[level + 1] = boxes[level] & leaf_box[leaf]
        total = 0
        for t in range(n_trees):
            first[level + 1, t] = total
            if t == branch[level]:
                leaves[level + 1, total] = leaf
                total += 1
                continue
            for i in range(first[level, t], first[level, t + 1]):
                leaves[level + 1, total] = leaves[level, i]
                total += 1
        first[level + 1, n_trees] = total
        level += 1
        entering = True
    return found[:n_found].copy(), steps
