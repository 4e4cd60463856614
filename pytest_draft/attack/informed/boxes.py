"""The boxes that a file leaves for each row when all other rows are known: `Held`.

Given all other rows, a row must lie in its own leaf of every tree that drew it: moving it anywhere else would change
that leaf's count. The counts leave exactly the intersection of these leaves' boxes, in one pass over the trees. Where
the others leave a threshold unexplained, the row itself is one of its two neighbours, and its value is twice the
threshold less the other one. So every row is used to find its own box; but the box is a function of the file and of the
other rows alone, which is tested by trying every value that a row can have.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.informed.ends import Ends
from pytest_draft.attack.informed.gaps import gaps_of
from pytest_draft.attack.informed.splits import (
    ROUNDING,
    Splits,
    all_splits,
    alone,
    missed_by,
    of_tree,
    sent_through,
    tested_ordered,
)
from pytest_draft.attack.informed.told import narrow_by_values
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.domain import Domain
from pytest_draft.timebox import TimeBox

_MOST_THREADS = 8


@dataclass(frozen=True, eq=False, repr=False)
class Held:
    """What a file leaves of some rows, of each by itself. Its repr shows no row."""

    domain: Domain
    rows: IntArray
    """Shape (n_rows,). Which of the training rows these are."""
    lower: FloatArray
    upper: FloatArray
    """`lower` and `upper`, shape (n_rows, n_columns): between which the encoded values lie, both included; the same
    where the value is determined.
    """
    may_miss: BoolArray
    """Shape (n_rows, n_columns). Where it may be missing instead."""

    def only(self, which: IntArray) -> Held:
        """Return what is held of some of the rows, given by their places here."""
        lower, upper = self.lower[which], self.upper[which]
        return replace(self, rows=self.rows[which], lower=lower, upper=upper, may_miss=self.may_miss[which])

    def with_known(self, rows: Rows, known: Sequence[int]) -> Held:
        """Return what is left where some attributes are known in every row.

        Parameters
        ----------
        rows : ndarray of float32, shape (n_training_rows, n_columns)
        """
        columns = self.domain.columns_of(known)
        if not columns:
            return self
        lower, upper, may_miss = self.lower.copy(), self.upper.copy(), self.may_miss.copy()
        value = rows[self.rows][:, columns].astype(np.float64)
        missing = np.isnan(value)
        lower[:, columns], upper[:, columns] = np.where(missing, np.inf, value), np.where(missing, -np.inf, value)
        may_miss[:, columns] = missing
        return replace(self, lower=lower, upper=upper, may_miss=may_miss)

    def states(self, attribute: int) -> BoolArray:
        """Return which values of a discrete attribute are left, shape (n_rows, n_states), a missing one as the last."""
        made = self.domain.attributes[attribute]
        columns = list(made.columns)
        value = made.encoded(np.arange(made.n_states - made.missing)).astype(np.float64)
        low, high = self.lower[:, None, columns], self.upper[:, None, columns]
        left = np.asarray(((low <= value) & (value <= high)).all(axis=2))
        return np.column_stack([left, self.may_miss[:, columns[0]]]) if made.missing else left

    def determined(self) -> BoolArray:
        """Return which values have no other value left, shape (n_rows, n_attributes)."""
        determined = np.empty((len(self.rows), len(self.domain.attributes)), dtype=bool)
        for a, attribute in enumerate(self.domain.attributes):
            column = attribute.columns[0]
            if attribute.kind != "numeric":
                determined[:, a] = self.states(a).sum(axis=1) <= 1
                continue
            low, high = self.lower[:, column], self.upper[:, column]
            determined[:, a] = np.where(self.may_miss[:, column], low > high, low >= high)
        return determined


def held_of(
    forest: Forest,
    domain: Domain,
    everyone: KnownRows,
    rows: IntArray,
    extremes: Extremes | None = None,
    ends: Ends | None = None,
    timebox: TimeBox | None = None,
) -> Held | None:
    """Return what a file holds of some rows, of each when all others are known.

    Parameters
    ----------
    forest : Forest
        With exact counts.
    everyone : KnownRows
        All training rows, with how often each tree drew them.
    rows : ndarray of int64, shape (n_rows,)
        Positions of those that are asked about.
    extremes : Extremes or None
        Of the nodes of random splits.
    ends : Ends or None
        Of midpoints, where it is not known which rows each tree drew. (The forest's counts are then those of all rows
        in all trees, which reveal more of each than there is to know.)
    timebox : TimeBox or None
        Looked at before each tree.

    Returns
    -------
    Held or None
        None where the rows do not explain the file, so that nothing follows from them.

    Raises
    ------
    OutOfTimeError
    """
    if domain.outside(everyone.rows.astype(np.float64)):
        return None
    narrowed = _narrowed(forest, domain, everyone, rows, extremes, timebox)
    if narrowed is None:
        return None
    bounds, is_pinned, may_miss = narrowed
    if ends is not None:
        ends.narrow(rows, bounds, is_pinned)
    value = everyone.rows[rows].astype(np.float64)
    lower, upper = np.where(is_pinned, value, -bounds[:, :, 1]), np.where(is_pinned, value, bounds[:, :, 0])
    narrow_by_values(forest, domain, everyone, rows, lower, upper)
    for column, gaps in gaps_of(forest, domain, everyone.rows):
        is_pinned[:, column] |= gaps.leave(value[:, column], lower[:, column], upper[:, column])
    return Held(domain, rows, lower, upper, may_miss & ~is_pinned)


_Narrowed = tuple[FloatArray, BoolArray, BoolArray]
"""As `alone` narrows them: `bound`, `is_pinned` and `may_miss`."""


def _narrowed(
    forest: Forest,
    domain: Domain,
    everyone: KnownRows,
    rows: IntArray,
    extremes: Extremes | None,
    timebox: TimeBox | None,
) -> _Narrowed | None:
    """Return what all trees leave of some rows, each tree walked once; None where the rows contradict one."""
    columns, times = np.ascontiguousarray(everyone.rows.T), np.ascontiguousarray(everyone.weight)
    labels = everyone.labels if forest.n_classes > 1 else np.zeros_like(everyone.labels)
    tells_more = np.zeros(domain.n_columns, dtype=np.bool_)
    tells_more[domain.columns_of(tested_ordered(forest, domain))] = True
    is_missing, contradicted = domain.by_column(lambda attribute: attribute.missing), threading.Event()

    def by_some(trees: range) -> _Narrowed:
        may_miss = np.tile(is_missing, (len(rows), 1))
        bounds, is_pinned = np.tile(domain.reach, (len(rows), 1, 1)), np.zeros_like(may_miss)
        for t in trees:
            if contradicted.is_set():
                break
            if timebox is not None:
                timebox.require()
            one, beside = of_tree(forest, t, extremes)
            splits = all_splits(one, columns, times[t : t + 1], beside)
            splits = splits._replace(is_midpoint=splits.is_midpoint & tells_more[splits.feature])
            sent = sent_through(forest.trees[t], splits)
            if _missed_counts(forest, t, sent.node, labels, times[t]) or not _explains(splits, sent.top):
                contradicted.set()
                break
            alone(splits, sent.top, sent.takers, rows, bounds, is_pinned, may_miss)
        return bounds, is_pinned, may_miss

    n_threads = min(os.cpu_count() or 1, forest.n_trees, _MOST_THREADS)
    with ThreadPoolExecutor(n_threads) as pool:
        found = list(pool.map(by_some, (range(first, forest.n_trees, n_threads) for first in range(n_threads))))
    if contradicted.is_set():
        return None
    bounds, is_pinned, may_miss = zip(*found, strict=True)
    return np.minimum.reduce(bounds), np.logical_or.reduce(is_pinned), np.logical_and.reduce(may_miss)


def _missed_counts(forest: Forest, tree: int, node: IntArray, labels: IntArray, times: IntArray) -> bool:
    """Return whether rows that reach some leaves miss a tree's counts there, or its numbers of different rows."""
    stored, seen = forest.trees[tree], np.flatnonzero(node >= 0)
    counts, leaf = forest.counts(tree), node[seen]
    number = np.bincount(leaf * counts.shape[1] + labels[seen], times[seen], counts.size).reshape(counts.shape)
    if (number[stored.leaves] != counts[stored.leaves]).any():
        return True
    told = not forest.draws.each_once and forest.trees[0].n_distinct[0] > 0
    return told and bool((np.bincount(leaf, minlength=len(counts)) != stored.n_distinct)[stored.leaves].any())


def _explains(splits: Splits, top: FloatArray) -> bool:
    """Return whether rows have the values next to thresholds that these say."""
    # A column that stands for one that repeats it has that one's thresholds, on its own scale but for rounding.
    slack = np.where(splits.is_midpoint, ROUNDING * np.abs(top).max(axis=1, initial=0.0), 0.0)
    return bool((missed_by(splits, top) <= slack)[splits.is_midpoint | splits.is_decoded].all())
