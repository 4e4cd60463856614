"""Forests without counts by class, with the counts that the true rows give them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from pytest_draft.ambiguity.gaps import were_rewritten
from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.nodes import ForestNodes
from pytest_draft.artifact.forest.observations import Answers, BoostedSums, ClassCounts, RowNumbers
from pytest_draft.attack.boosted.staged import Stage, drawn_rows, missed
from pytest_draft.attack.descent import leaf_positions, sent_down
from pytest_draft.attack.evidence.answers import rows_drawn
from pytest_draft.attack.informed.ends import Ends, possible_ends
from pytest_draft.attack.informed.splits import Splits, all_splits, tested_ordered
from pytest_draft.attack.informed.told import kinds_of
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.decimals import shortest_decimal
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError
from pytest_draft.timebox import TimeBox


def counted_by(forest: Forest, rows: Rows, labels: IntArray, timebox: TimeBox | None = None) -> Forest | None:
    """Return a forest with the counts that the true rows have, each seen once by every tree.

    Those of the last rows are kept for as long as the forest is: several parts of a judgement ask for them.

    Parameters
    ----------
    forest : Forest
        Of one that was trained with bootstrap, all rows are counted, and not its draws. Of boosted trees each sum
        leaves, given all other rows, what the one row adds, and so the leaf and the class that counts tell.
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)
    timebox : TimeBox or None
        Looked at before each tree.

    Returns
    -------
    Forest or None
        None where they do not explain what the leaves say.

    Raises
    ------
    OutOfTimeError
    """
    known = _COUNTED.get(forest)
    if known is None or known[0] is not rows or known[1] is not labels:
        known = _COUNTED[forest] = rows, labels, _counted_by(forest, rows, labels, timebox)
    return known[2]


_COUNTED: WeakKeyDictionary[Forest, tuple[Rows, IntArray, Forest | None]] = WeakKeyDictionary()


def _counted_by(forest: Forest, rows: Rows, labels: IntArray, timebox: TimeBox | None) -> Forest | None:
    said, columns = forest.observation, np.ascontiguousarray(rows.T)
    if isinstance(said, BoostedSums):
        counts, drawn = list[FloatArray](), drawn_rows(forest)

        def count(stage: Stage) -> None:
            if timebox is not None:
                timebox.require()
            n_leaves = len(forest.trees[stage.tree].leaves)
            seen = None if drawn is None else drawn[stage.tree]
            counts.append(_numbers(stage.leaf, labels, n_leaves, forest.n_classes, seen))

        if missed(forest, columns, labels, watch=count):
            return None
        known = forest if drawn is None and forest.draws.drawn else replace(forest, draws=Draws())
        return replace(_counted(known, counts, len(rows)), gaps=_gaps(forest))
    if not isinstance(said, Answers):
        raise ValueError("this forest holds counts")
    kind, values = kinds_of(said.reads, rows, labels, forest.n_classes)
    shape = len(values), forest.n_classes
    by_kind = [one.reshape(-1, *shape) for one in _at_leaves(forest, columns, kind, math.prod(shape), timebox)]
    if not all(
        leaves.any(axis=(1, 2)).all() and said.explained_by_kind(leaves, values, tree.value[tree.leaves]).all()
        for leaves, tree in zip(by_kind, forest.trees, strict=True)
    ):
        return None
    return _counted(forest, [leaves.sum(axis=1) for leaves in by_kind], len(rows))


def in_all_trees(forest: Forest, domain: Domain, rows: Rows, labels: IntArray, timebox: TimeBox) -> Forest | None:
    """Return a classifier's forest with the counts of all rows in all trees, whichever were drawn for which.

    Thresholds on numeric columns only mark gaps (`thresholds_only_mark_gaps`).

    Parameters
    ----------
    forest : Forest
        With `Answers`, or with counts of draws that nobody knows.
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)
    timebox : TimeBox
        Looked at before each tree.

    Returns
    -------
    Forest or None
        None where a leaf says something of a class, or of any rows, of which no row is there.

    Raises
    ------
    OutOfTimeError
    """
    at_leaves = _at_leaves(forest, np.ascontiguousarray(rows.T), labels, forest.n_classes, timebox)
    for counts, tree in zip(at_leaves, forest.trees, strict=True):
        if ((tree.value[tree.leaves] > 0) & (counts == 0)).any() or not counts.sum(axis=1).all():
            return None
    nodes, numeric = (
        ForestNodes.of(forest.trees),
        [one.columns[0] for one in domain.attributes if one.kind == "numeric"],
    )
    gaps = _by_column(nodes, np.isfinite(nodes.threshold) & np.isin(nodes.feature, numeric))
    return replace(_counted(forest, at_leaves, len(rows)), gaps=gaps, moved=bool(gaps))


OTHER_ROWS = "the given rows do not explain its leaves and thresholds, or there are too few of them"

_RANDOM = (
    "its thresholds were drawn between values of rows that were drawn: release what python -m pytest_draft harden "
    "writes with --data, which moves them"
)


class SeenByAll(NamedTuple):
    """A forest with the counts that all rows have in all of its trees, whichever were drawn for which.

    Whatever leaves say of a row's features follows from its leaf in each tree. So whoever has these counts gets no less
    than whoever has the file. What thresholds say besides is bounded, too.
    """

    forest: Forest
    ends: Ends | None = None
    """Of midpoints."""
    extremes: Extremes | None = None
    """Of random thresholds, as if they told those of all rows."""


def seen_by_all(
    forest: Forest, domain: Domain, rows: Rows, labels: IntArray, timebox: TimeBox | None = None
) -> SeenByAll:
    """Return what somebody would know who had the counts of all rows in all trees.

    Parameters
    ----------
    forest : Forest
        With `Answers`, or with counts of draws that nobody knows.
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)
    timebox : TimeBox or None
        Looked at before each tree is counted.

    Raises
    ------
    NotCoveredError
        Where rows do not explain what leaves say, and for random thresholds between values of draws.
    OutOfTimeError
    """
    columns, drawn = np.ascontiguousarray(rows.T), forest.draws.drawn
    at_leaves = _at_leaves(forest, columns, labels, forest.n_classes, timebox)
    if not all(one.sum(axis=1).all() for one in at_leaves) or not (drawn or counted_by(forest, rows, labels, timebox)):
        raise NotCoveredError(OTHER_ROWS)
    if isinstance(forest.observation, BoostedSums):
        sums = counted_by(forest, rows, labels, timebox)
        if sums is None:
            raise NotCoveredError(OTHER_ROWS)
        if forest.splitter != "best":
            return SeenByAll(sums)
    counted, ordered = _counted(forest, at_leaves, len(rows)), domain.columns_of(tested_ordered(forest, domain))
    splits = all_splits(forest, columns, np.ones((forest.n_trees, len(rows)), dtype=np.int64), None)
    of_repeats = [
        np.zeros(tree.n_nodes, bool) if tree.no_midpoint is None else tree.no_midpoint for tree in forest.trees
    ]
    asked = np.isfinite(splits.threshold) & np.isin(splits.feature, ordered) & ~np.concatenate(of_repeats)
    counted = replace(counted, trees=tuple(replace(t, no_midpoint=np.ones(t.n_nodes, bool)) for t in counted.trees))
    if were_rewritten(forest, ordered, rows):
        return SeenByAll(replace(counted, gaps=_by_column(splits, asked), moved=True))
    if forest.splitter == "random" and asked.any():
        if drawn:
            raise NotCoveredError(_RANDOM)
        return SeenByAll(counted, extremes=_extremes(counted, splits, asked))
    ends = possible_ends(splits, asked, _most_left_out(forest, len(rows)))
    unexplained = asked & ~ends.found
    if unexplained.any() and forest.splitter != "best":
        raise NotCoveredError(_RANDOM)
    return SeenByAll(replace(counted, gaps=_by_column(splits, unexplained), moved=True), ends)


CHANCE = 1e-12
"""Rows of a node that are as unlikely to have been left out, all of them by one tree's draws, are taken for drawn."""


def _most_left_out(forest: Forest, n_rows: int) -> int:
    """Return how many rows of a node one tree's draws may have left out."""
    if not forest.draws.drawn:
        return 0
    drawn = rows_drawn(forest, n_rows)
    left_out = (1 - 1 / n_rows) ** drawn if forest.draws.rows == "with replacement" else 1 - drawn / n_rows
    if forest.draws.uneven or forest.draws.class_weight is not None or left_out >= 1:
        return n_rows
    return int(np.log(CHANCE) / np.log(max(left_out, CHANCE)))


def _at_leaves(
    forest: Forest, columns: Rows, kind: IntArray, n_kinds: int, timebox: TimeBox | None = None
) -> list[FloatArray]:
    """Return how many rows of each kind are at each leaf, shape (n_leaves, n_kinds), by tree."""
    found = []
    for tree in forest.trees:
        if timebox is not None:
            timebox.require()
        found.append(_numbers(leaf_positions(tree, columns), kind, len(tree.leaves), n_kinds))
    return found


def _numbers(
    leaf: Int32Array, labels: IntArray, n_leaves: int, n_classes: int, seen: BoolArray | None = None
) -> FloatArray:
    """Return how many rows of each class are at each leaf, of those that are `seen`, shape (n_leaves, n_classes)."""
    number = np.bincount(leaf * np.int64(n_classes) + labels, weights=seen, minlength=n_leaves * n_classes)
    return number.reshape(n_leaves, n_classes).astype(np.float64)


def _counted(forest: Forest, at_leaves: Sequence[FloatArray], n_rows: int) -> Forest:
    """Return a forest with these counts in place of what it says."""
    also, trees = forest.observation.also, []
    for tree, leaves in zip(forest.trees, at_leaves, strict=True):
        counts = ForestNodes.of([tree]).summed_up(leaves)
        weight = counts.sum(axis=1)
        distinct = weight.astype(np.int64)
        no_midpoint = np.full(tree.n_nodes, True) if forest.draws.drawn else tree.no_midpoint
        trees.append(replace(tree, value=counts, weight=weight, n_distinct=distinct, no_midpoint=no_midpoint))
    return replace(
        forest,
        trees=tuple(trees),
        observation=RowNumbers(also=also) if forest.classes is None else ClassCounts("totals", also=also),
        told=forest.observation if forest.observation.reads else None,
        draws=replace(forest.draws, rows="all", per_tree=None, sample_weight=None, class_weight=None),
        n_samples=n_rows,
    )


def _extremes(forest: Forest, splits: Splits, asked: BoolArray) -> Extremes:
    """Return the least and the greatest value of the tested column at some nodes."""
    everyone, by_tree = np.arange(splits.columns.shape[1]), np.split(asked, splits.root[1:])
    of_trees = zip(forest.trees, by_tree, strict=True)
    top = np.concatenate([sent_down(tree, splits.columns, everyone, whole=those).top for tree, those in of_trees])
    known = np.where((asked & np.isfinite(top).all(axis=1))[:, None], top, np.nan)
    nodes = ForestNodes.of(forest.trees)
    low, high = nodes.by_tree(-known[:, 1]), nodes.by_tree(known[:, 0])
    return Extremes(low, high, int(asked.sum()), int(asked.sum()))


def also_moved(forest: Forest, domain: Domain, rows: Rows) -> Forest:
    """Return a forest beside whose thresholds those stand that hardening makes of them (``harden --data``)."""
    nodes, found = ForestNodes.of(forest.trees), list[tuple[int, FloatArray]]()
    tested = np.isfinite(nodes.threshold) & np.isin(nodes.feature, domain.columns_of(tested_ordered(forest, domain)))
    for column, thresholds in _by_column(nodes, tested):
        values = np.unique(rows[~np.isnan(rows[:, column]), column].astype(np.float64))
        above = np.searchsorted(values, thresholds, side="right")
        gaps = [values[place - 1 : place + 1].tolist() for place in above if 0 < place < len(values)]
        found.append((column, np.unique([shortest_decimal(*gap) for gap in gaps])))
    return replace(forest, gaps=tuple(found), moved=True)


def _by_column(splits: Splits | ForestNodes, those: BoolArray) -> tuple[tuple[int, FloatArray], ...]:
    """Return the thresholds of some nodes, by column."""
    columns = np.unique(splits.feature[those]).tolist()
    return tuple((column, np.unique(splits.threshold[those & (splits.feature == column)])) for column in columns)


def _gaps(forest: Forest) -> tuple[tuple[int, FloatArray], ...]:
    """Return the thresholds of boosted trees, by column, where they were chosen among the values of all rows."""
    if forest.splitter == "best":
        return ()
    nodes = ForestNodes.of(forest.trees)
    return _by_column(nodes, np.isfinite(nodes.threshold) & (nodes.left >= 0))
