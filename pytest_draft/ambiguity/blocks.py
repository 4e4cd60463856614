"""Blocks of rows: from a forest and its true rows, which rows of a block no other rows can replace.

First all that a block can be by its counts is searched (`block_search`). Then midpoints narrow what is left open
(`pytest_draft.attack.informed.splits`): of one row by itself, which shows that it can move, and of all rows of a block
whose leaves are certain. An assignment with other leaves is not checked against thresholds of ordered columns, nor
against a regressor's means: where the file says so much, it proves nothing, and the rows stay undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_draft.ambiguity.block_search import (
    FIXED,
    OTHER,
    UNDECIDED,
    Fixed,
    closed_rows,
    examine_block,
    is_only_assignment,
)
from pytest_draft.ambiguity.boxes import Boxes, boxes_of, leaves_of_rows
from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.informed.splits import Splits, alone, narrow_block, sides_of, splits_of, tested_ordered
from pytest_draft.attack.observations import unexplained
from pytest_draft.domain import Domain
from pytest_draft.matching import Weights, encoded_weights, row_identities
from pytest_draft.scales import near
from pytest_draft.timebox import TimeBox

_MOST_CANDIDATES = 20_000
"""Most (rows, class, box) triples of a block that are listed."""

_LIMIT = 20_000_000
"""Most units of work of one search in a block: about 20 ms."""

_UNITS = 1e9
"""Units of the compiled search's work in one of a time box."""

_UNITS_PER_PASS = 2e-8
"""Of finding what the extremes of all nodes are: for each tree and row."""


@dataclass(frozen=True, eq=False, repr=False)
class Blocks:
    """All that the search in a block needs. Its repr shows no row."""

    domain: Domain
    fixed: Fixed
    closed: BoolArray
    """Shape (n_rows,). Whether a row's leaves hold nothing but its value."""
    nearly: BoolArray
    """Shape (n_rows,). The same but for columns with midpoints."""
    moving: BoolArray
    """Shape (n_rows,). Whether a row can have another value while all others stay as they are, in the same leaves."""
    splits: Splits | None
    """None where midpoints say nothing, or thresholds are drawn."""
    beyond_counts: tuple[int, ...]
    """Attributes of which thresholds reveal more than counts do."""
    by_counts: bool
    """Whether counts are all that the file says of rows: only then an assignment that explains them is another truth.
    """
    tolerance: FloatArray
    """Shape (n_columns,)."""

    def __repr__(self) -> str:
        return f"Blocks({len(self.closed)} rows, {int(self.closed.sum())} of them closed)"

    @classmethod
    def of(
        cls,
        forest: Forest,
        domain: Domain,
        rows: Rows,
        labels: IntArray,
        times: IntArray,
        known: Sequence[int] = (),
        aside: Sequence[int] = (),
        in_time: Callable[[], None] | None = None,
    ) -> Blocks | None:
        """Read what blocks have in common; None where the true rows do not explain the counts.

        Parameters
        ----------
        forest : Forest
            With exact counts.
        domain : Domain
            Which allows all rows.
        rows : ndarray of float32, shape (n_rows, n_columns)
        labels : ndarray of int64, shape (n_rows,)
        times : ndarray of int64, shape (n_trees, n_rows)
        known : sequence of int
            Attributes that the adversary knows of every row.
        aside : sequence of int
            Attributes whose values are not asked for.
        in_time : callable or None
            Called between steps; it can raise `OutOfTimeError`.
        """
        require = in_time if in_time is not None else (lambda: None)
        require()
        boxes = boxes_of(forest, domain)
        weights = near(encoded_weights(domain, known), rows)
        fixed = _fixed(forest, boxes, rows, labels, times, known, aside, weights)
        if unexplained(forest, KnownRows(rows, labels, times)):
            return None
        everyone = np.arange(len(rows))
        require()
        closed = closed_rows(fixed, everyone)
        ordered = tested_ordered(forest, domain)
        if not ordered:
            return cls(domain, fixed, closed, closed, ~closed, None, (), forest.classes is not None, weights.tolerance)
        require()
        splits = splits_of(forest, domain, rows, times)
        if splits is not None and not splits.is_midpoint.any():
            splits = None
        require()
        beyond_counts = tuple(a for a in ordered if a not in (*known, *aside))
        present = tuple(a for a in beyond_counts if not domain.attributes[a].missing)
        nearly = closed_rows(_fixed(forest, boxes, rows, labels, times, (*known, *present), aside, weights), everyone)
        unordered = closed_rows(
            _fixed(forest, boxes, rows, labels, times, (*known, *beyond_counts), aside, weights), everyone
        )
        moving = ~unordered
        made = cls(domain, fixed, closed, nearly, moving, splits, beyond_counts, False, weights.tolerance)
        require()
        made._find_moving()
        return made

    def examined(self, block: IntArray, asked: BoolArray, timebox: TimeBox) -> IntArray:
        """Say of each row of a block whether its values occur at least as often in every assignment.

        Parameters
        ----------
        block : ndarray of int64, shape (n_block,)
        asked : ndarray of bool, shape (n_block,)
            The rows to answer for; for other rows, an answer is returned if it is found on the way.
        timebox : TimeBox
            What is spent on it is noted there.

        Returns
        -------
        ndarray of int64, shape (n_block,)
            `FIXED`, `OTHER` where another assignment is known, else `UNDECIDED`.
        """
        state = np.where(self.moving[block], OTHER, UNDECIDED)
        identity = self.fixed.identity[block]
        state[np.isin(identity, identity[self.moving[block]])] = OTHER  # not as often
        open_rows = asked & (state == UNDECIDED)
        if (open_rows & self.closed[block]).any():
            found, work = examine_block(
                self.fixed, block, open_rows, self.closed & ~self.moving, _MOST_CANDIDATES, _LIMIT
            )
            timebox.spend(work / _UNITS)
            if not self.by_counts:
                found = np.where(found == OTHER, UNDECIDED, found)
            state = np.where(state == UNDECIDED, found, state)
        left = open_rows & (state == UNDECIDED) & self.nearly[block]
        if self.splits is not None and left.any():
            is_only, work = is_only_assignment(self.fixed, block, _MOST_CANDIDATES, _LIMIT)
            timebox.spend(work / _UNITS)
            if is_only:
                timebox.spend(_UNITS_PER_PASS * self.fixed.times.size)
                state[left & self._narrowed(block, timebox)] = FIXED
        return state

    def _find_moving(self) -> None:
        """Note the rows of which a single ordered value can change while all others and the extremes stay."""
        if self.splits is None:
            return
        n_rows = len(self.closed)
        sides = sides_of(self.splits, np.zeros(n_rows, dtype=np.bool_))
        bound = np.tile(self.domain.reach, (n_rows, 1, 1))
        may_miss = np.tile(self.domain.by_column(lambda attribute: attribute.missing), (n_rows, 1))
        pinned = np.zeros_like(may_miss)
        alone(self.splits, sides, np.arange(n_rows), bound, pinned, may_miss)
        for a in self.beyond_counts:
            column = self.domain.attributes[a].columns[0]
            value = self.splits.rows[:, column].astype(np.float64)
            least, most = -bound[:, column, 1], bound[:, column, 0]
            other = ~self._is_same(a, value, least, most) | may_miss[:, column]
            other = np.where(np.isnan(value), self._holds_any(a, least, most), other)
            self.moving[:] |= other & ~pinned[:, column]

    def _is_same(self, a: int, value: FloatArray, least: FloatArray, most: FloatArray) -> BoolArray:
        """Return where all values of an attribute between two bounds, of which one is true, count as one."""
        attribute = self.domain.attributes[a]
        if attribute.kind == "numeric":
            wide = np.maximum(most, value) - np.minimum(least, value)
            return np.asarray(wide <= self.tolerance[attribute.columns[0]], dtype=np.bool_)
        book = attribute.book.astype(np.float32)
        inside = np.searchsorted(book, most, side="right") - np.searchsorted(book, least, side="left")
        return np.asarray(inside <= 1, dtype=np.bool_)

    def _holds_any(self, a: int, least: FloatArray, most: FloatArray) -> BoolArray:
        """Return where there is a value of an attribute between two bounds."""
        attribute = self.domain.attributes[a]
        if attribute.kind == "numeric":
            return np.asarray(least <= most, dtype=np.bool_)
        book = attribute.book.astype(np.float32)
        inside = np.searchsorted(book, most, side="right") > np.searchsorted(book, least, side="left")
        return np.asarray(inside, dtype=np.bool_)

    def _narrowed(self, block: IntArray, timebox: TimeBox) -> BoolArray:
        """Return which rows of a block midpoints give their values, if all rows of it are in their leaves."""
        if self.splits is None:
            raise ValueError("midpoints say nothing")
        bound = np.tile(self.domain.reach, (len(block), 1, 1))
        skipped = np.ones(self.domain.n_columns, dtype=np.bool_)
        present = [a for a in self.beyond_counts if not self.domain.attributes[a].missing]
        skipped[[self.domain.attributes[a].columns[0] for a in present]] = False
        values = self.splits.rows[block].astype(np.float64)
        known = np.array([f for f in range(self.domain.n_columns) if skipped[f]], dtype=np.int64)
        bound[:, known, 0], bound[:, known, 1] = values[:, known], -values[:, known]
        narrow_block(self.splits, block, skipped, bound, timebox)
        same = np.ones(len(block), dtype=np.bool_)
        for a in present:
            column = self.domain.attributes[a].columns[0]
            same &= self._is_same(a, values[:, column], -bound[:, column, 1], bound[:, column, 0])
        return same


def left_open(
    forest: Forest, domain: Domain, rows: Rows, times: IntArray, in_time: Callable[[], None] | None = None
) -> FloatArray:
    """Return, by attribute, the share of rows whose leaves hold other values of it too, midpoints left aside.

    Parameters
    ----------
    domain : Domain
        Which allows all rows.
    rows : ndarray of float32, shape (n_rows, n_columns)
    times : ndarray of int64, shape (n_trees, n_rows)
    in_time : callable or None
        Called before each attribute; it can raise `OutOfTimeError`.

    Returns
    -------
    ndarray of float64, shape (n_attributes,)
        1 for one that no tree tests.
    """
    if in_time is not None:
        in_time()
    boxes, everyone = boxes_of(forest, domain), np.arange(len(rows))
    weights = near(encoded_weights(domain), rows)
    fixed = _fixed(forest, boxes, rows, np.zeros(len(rows), dtype=np.int64), times, (), (), weights)
    spans = np.flatnonzero(~boxes.packed)
    share = np.empty(len(domain.attributes))
    for a in range(len(share)):
        if in_time is not None:
            in_time()
        tolerance = np.where(spans == a, fixed.tolerance, np.inf)
        alone_asked = fixed._replace(counted=boxes.bits([a]), tolerance=tolerance)
        share[a] = 1 - closed_rows(alone_asked, everyone).mean()
    return share


def _fixed(
    forest: Forest,
    boxes: Boxes,
    rows: Rows,
    labels: IntArray,
    times: IntArray,
    known: Sequence[int],
    aside: Sequence[int],
    weights: Weights,
) -> Fixed:
    """Return what stays the same for all blocks."""
    domain = boxes.states.domain
    attributes = range(len(domain.attributes))
    words, spans = boxes.of_rows(rows, attributes)
    start_words, start_spans = boxes.of_rows(rows, known)
    alike = np.column_stack([times.T, rows[:, domain.columns_of(known)]]).astype(np.float32)
    single = np.zeros(len(boxes.words), dtype=np.uint64)
    low, high, n_bins, tolerance, value = [np.empty(0)], [np.empty(0)], [0], [], [np.empty((len(rows), 0))]
    for a in attributes:
        bins, column = boxes.bin_of[a], domain.attributes[a].columns[0]
        if boxes.packed[a]:
            alone = np.bincount(bins) == 1
            single |= boxes.bits_of_bins(a, np.flatnonzero(alone | (a in known)))
            continue
        first = np.flatnonzero(np.append(True, bins[1:] != bins[:-1]))
        low.append(boxes.states.low[a][first])
        high.append(boxes.states.high[a][np.append(first[1:], len(bins)) - 1])
        n_bins.append(len(first))
        tolerance.append(np.inf if a in (*known, *aside) else weights.tolerance[column])
        value.append(rows[:, [column]].astype(np.float64))
    return Fixed(
        leaf=boxes.leaf,
        row_leaf=np.ascontiguousarray(leaves_of_rows(forest, boxes, rows).T),
        times=np.ascontiguousarray(times.T.astype(np.int32)),
        label=labels.astype(np.int64),
        n_classes=forest.n_classes,
        kind=row_identities(alike)[0],
        start_words=start_words,
        start_spans=start_spans,
        words=words,
        spans=spans,
        single=single,
        counted=boxes.bits(a for a in attributes if a not in aside),
        first_bin=np.cumsum(n_bins).astype(np.int64),
        bin_low=np.concatenate(low),
        bin_high=np.concatenate(high),
        value=np.ascontiguousarray(np.concatenate(value, axis=1)),
        tolerance=np.array(tolerance, dtype=np.float64),
        identity=row_identities(rows[:, domain.columns_of(a for a in attributes if a not in aside)])[0],
    )
