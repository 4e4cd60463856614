"""What thresholds tell of values: in go a forest, a domain and each row's leaves, out come bounds of every cell.

A threshold of a best split is the midpoint of the extremes on both its sides (`best_splits`). A random split's lies
between the least and the largest value of its node, which can be known too (`Extremes`). So every split says of a group
of rows what its extreme value is, or of two groups what their extremes add up to. Bounds are propagated through
all these equations of a column to a fixpoint (`column_bounds`). Bounds are float32 values and
closed: a cell whose bounds meet is certain, given that the leaves are right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.nodes import ForestNodes
from pytest_draft.attack.best_splits import midpoints_of
from pytest_draft.attack.numeric.column_bounds import (
    CHANGED,
    CONTRADICTORY,
    SETTLED,
    ColumnBounds,
    bare_splits,
    members_of,
    pass_once,
    settle,
    with_extremes,
)
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.domain import Domain
from pytest_draft.timebox import TimeBox

ABSENT, UNKNOWN = -1, -2
"""Stand for a leaf: the row is not in the tree, or it is not known where."""

_MOST_COMPARED = 1024
"""Most rows of which every two are compared."""


@dataclass(frozen=True, eq=False, repr=False)
class ValueBounds:
    """Between which values each cell lies."""

    lower: FloatArray
    upper: FloatArray
    """`lower` and `upper`, shape (n_rows, n_columns): closed bounds, all of them float32 values. In a column that may
    hold missing values: of those present.
    """
    certain: BoolArray
    """Shape (n_rows, n_columns). Cells that can have one value only, given the leaves; none where the leaves contradict
    the thresholds.
    """
    may_miss: BoolArray
    """Shape (n_columns,). Whether a column may hold missing values: the bounds tell nothing of where those go."""
    contradictory: tuple[int, ...]
    """Columns that no values fit: the leaves are not those of the training rows, or the domain is not theirs."""
    complete: bool
    """Whether little is left to propagate_thresholds; where the time ran out before, the bounds hold and are wider."""

    def __repr__(self) -> str:
        n_rows, n_columns = self.lower.shape
        return f"ValueBounds({n_rows} rows, {n_columns} columns, {int(self.certain.sum())} certain cells)"


def propagate_thresholds(
    forest: Forest,
    domain: Domain,
    leaves: IntArray,
    timebox: TimeBox,
    *,
    extremes: Extremes | None = None,
) -> ValueBounds:
    """Narrow every cell by all thresholds, given the rows' leaves.

    Parameters
    ----------
    forest : Forest
        With exact counts.
    leaves : ndarray of int64, shape (n_trees, n_rows)
        The node that each row reaches in each tree, `ABSENT` or `UNKNOWN`.
    timebox : TimeBox
        When it ends, the bounds so far are returned.
    extremes : Extremes, optional
        Of the nodes of random splits.
    """
    n_rows = leaves.shape[1]
    nodes, n_distinct = ForestNodes.of(forest.trees), np.concatenate([tree.n_distinct for tree in forest.trees])
    best, is_midpoint = forest.splitter == "best", np.concatenate(midpoints_of(forest))
    members = members_of(nodes.parent, np.where(leaves < 0, -1, leaves + nodes.first[:-1, None]))
    is_whole = np.diff(members.start) == n_distinct
    is_number = domain.by_column(lambda attribute: attribute.integers_only and attribute.low < attribute.high)
    may_miss = domain.by_column(lambda attribute: attribute.missing)
    bound = np.repeat(domain.reach[:, :, None], n_rows, axis=2)  # of x and -x, from above
    n_compared = n_rows if n_rows <= _MOST_COMPARED else 0
    columns, levels = [], nodes.levels()
    for f in range(domain.n_columns):
        tested = np.flatnonzero(nodes.feature == f)
        splits = bare_splits(nodes, levels, tested, bound[f], bool(is_number[f]))
        if not may_miss[f]:
            if best:
                threshold = np.where(is_midpoint[tested], nodes.threshold[tested], np.nan)
                splits = splits._replace(
                    threshold=(threshold[:, None] * (1, -1)).ravel(), is_whole=is_whole[splits.group]
                )
            if extremes is not None:
                splits = with_extremes(splits, nodes, tested, is_whole, extremes)
        columns.append(ColumnBounds(bound[f], np.zeros((n_compared, n_compared), np.bool_), splits, bool(is_number[f])))

    # Every column is looked at once, however short the time is.
    untouched = bound[may_miss].copy()
    state = np.array([pass_once(column, members) for column in columns])
    _forget_contradictions(bound, state, untouched, may_miss)
    groups = [(list(made.columns), made.dropped) for made in domain.attributes if made.kind == "one-hot"]
    while (state == CHANGED).any() and not timebox.over:
        for f in np.flatnonzero(state == CHANGED).tolist():
            state[f] = settle(columns[f], members, timebox)
        for group, dropped in groups:
            _link(bound, state, group, dropped)

    lower, upper = -bound[:, 1].T, bound[:, 0].T
    contradictory = np.flatnonzero((lower > upper).any(axis=0) | (state == CONTRADICTORY))
    is_sound = not len(contradictory) and not (np.diff(members.start) > n_distinct).any()
    certain = (lower == upper) & ~may_miss & is_sound
    return ValueBounds(lower, upper, certain, may_miss, tuple(contradictory.tolist()), not (state == CHANGED).any())


def _forget_contradictions(bound: FloatArray, state: IntArray, untouched: FloatArray, may_miss: BoolArray) -> None:
    """Give back their first bounds to cells that no value fits, in columns with missing values: theirs are missing."""
    narrowed = bound[may_miss]
    is_empty = narrowed[:, 0] < -narrowed[:, 1]
    bound[may_miss] = np.where(is_empty[:, None], untouched, narrowed)
    state[may_miss] = SETTLED


def _link(bound: FloatArray, state: IntArray, group: list[int], dropped: bool) -> None:
    """Narrow a one-hot group's bounds, shape (n_columns, 2, n_rows), and mark the columns that changed.

    One column of a group is 1 in every row, or none where one more value has no column.
    """
    upper, lower = bound[group, 0], -bound[group, 1]
    is_one, can_be_one = lower > 0, upper > 0
    n_ones, n_possible = is_one.sum(axis=0), can_be_one.sum(axis=0)
    upper = np.where((n_ones > 0) & ~is_one, np.minimum(upper, 0), upper)
    lower = np.where((n_possible == 1) & can_be_one & ~dropped, np.maximum(lower, 1), lower)
    changed = ((upper < bound[group, 0]) | (-lower < bound[group, 1])).any(axis=1)
    bound[group, 0], bound[group, 1] = upper, -lower
    these = np.array(group)
    state[these[changed & (state[these] == SETTLED)]] = CHANGED
    if (n_ones > 1).any() or (not dropped and (n_possible < 1).any()):
        state[these] = CONTRADICTORY
