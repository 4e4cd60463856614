"""Thresholds that reveal less: the shortest decimal in the gap between the values that reach each one.

A best split's threshold is the middle of two training values. Any number between the two sends the same rows left, so
the shortest decimal takes its place: one for each gap between values of the whole table, wherever the gap is split.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_draft.arrays import AnyArray, BoolArray, FloatArray
from pytest_draft.decimals import shortest_decimal

Seen = list[Any]
"""What reaches a tree when its model predicts: tables of float32, shape (n_rows, n_features), some of them sparse."""

_ASKED = ("predict", "apply", "decision_path")
"""Methods of a tree that take rows."""


class ColumnValues:
    """Sorted values of tables' columns, worked out when they are asked for, and once for all trees of a forest."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[AnyArray, bool]] = {}
        self._alive: dict[int, Any] = {}  # so that no other table gets its number

    def of(self, tables: Sequence[Any], column: int) -> tuple[AnyArray, bool]:
        """Return a column's distinct values, ascending, of float32; and whether one is missing."""
        parts = [self._of_one(table, column) for table in tables]
        if len(parts) == 1:
            return parts[0]
        values = np.unique(np.concatenate([values for values, _ in parts]))
        return values, any(missing for _, missing in parts)

    def _of_one(self, table: Any, column: int) -> tuple[AnyArray, bool]:
        key = (id(table), column)
        if key not in self._known:
            self._alive[id(table)] = table
            part = table[:, column] if isinstance(table, np.ndarray) else table[:, [column]].toarray().ravel()
            missing = np.isnan(part)
            self._known[key] = np.unique(np.asarray(part, dtype=np.float32)[~missing]), bool(missing.any())
        return self._known[key]


def _same(rows: Any, table: Any) -> bool:
    """Whether two tables hold the same; each method of a model may convert its rows by itself."""
    if rows is table:
        return True
    return (
        isinstance(rows, np.ndarray) and isinstance(table, np.ndarray) and np.array_equal(rows, table, equal_nan=True)
    )


class _Recorder:
    """Stands in for a tree, and notes what it is asked."""

    def __init__(self, tree: Any, seen: Seen, lock: threading.Lock) -> None:
        self._tree, self._seen, self._lock = tree, seen, lock

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._tree, name)
        if name not in _ASKED:
            return found

        def noted(rows: Any) -> Any:
            with self._lock:
                if not any(_same(rows, table) for table in self._seen):
                    self._seen.append(rows)
            return found(rows)

        return noted


@contextmanager
def recording(owners: Sequence[Any]) -> Iterator[list[Seen]]:
    """Note what reaches the ``tree_`` of each estimator while the block runs; it stands there again afterwards."""
    trees = [owner.tree_ for owner in owners]
    seen: list[Seen] = [[] for _ in owners]
    lock = threading.Lock()
    try:
        for owner, tree, one in zip(owners, trees, seen, strict=True):
            owner.tree_ = _Recorder(tree, one, lock)
        yield seen
    finally:
        for owner, tree in zip(owners, trees, strict=True):
            owner.tree_ = tree


@dataclass(frozen=True)
class Shortened:
    """A tree's thresholds after shortening."""

    thresholds: FloatArray
    """Shape (n_nodes,)."""
    missing: BoolArray
    """Shape (n_features,). Columns in which a value was missing."""
    n_shortened: int
    """Thresholds that changed."""
    n_outside: int
    """Thresholds with no value on one side, which were left as they are."""
    watched: bool
    """Whether it is known what reaches the tree."""


def shortened(tree: Any, seen: Seen, values: ColumnValues) -> Shortened:
    """Replace each threshold of a tree by the shortest decimal between the values next to it that reach the tree."""
    thresholds = np.array(tree.threshold, dtype=np.float64)
    feature, inner = np.asarray(tree.feature), np.asarray(tree.children_left) >= 0
    missing = np.zeros(tree.n_features, dtype=np.bool_)
    n_outside = 0
    before = thresholds.copy()
    for column in np.unique(feature[inner]):
        present, missing[column] = values.of(seen, int(column))
        nodes = np.flatnonzero(inner & (feature == column) & np.isfinite(thresholds))
        # A row goes left when its value, a float32, is at most the threshold, a float64.
        above = np.searchsorted(present.astype(np.float64), thresholds[nodes], side="right")
        between = (above > 0) & (above < len(present))
        n_outside += int((~between).sum())
        gaps, which = np.unique(above[between], return_inverse=True)
        decimals = [shortest_decimal(float(present[gap - 1]), float(present[gap])) for gap in gaps]
        if decimals:
            thresholds[nodes[between]] = np.array(decimals)[which]
    return Shortened(thresholds, missing, int((before != thresholds).sum()), n_outside, True)


def unchanged(tree: Any) -> Shortened:
    """Return a tree's thresholds as they are, where nothing is known of what reaches it: anything can be missing."""
    return Shortened(np.array(tree.threshold, dtype=np.float64), np.ones(tree.n_features, dtype=np.bool_), 0, 0, False)
