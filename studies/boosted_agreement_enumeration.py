"""All tables that satisfy a small booster's statements, by enumeration: its scores and sums are computed anew here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import special

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import BoostedSums
from studies.agreement_enumeration import TooManyError
from studies.paper_models.published import reached

MOST_STEPS = 5_000_000
"""Numbers of rows that are tried before an enumeration is given up, and another instance is drawn."""

MOST_TABLES = 20_000
"""Tables that are listed at most."""


@dataclass(frozen=True, eq=False, repr=False)
class Listed:
    """Kinds of rows, which of them no statement tells apart, and all tables."""

    vectors: Rows
    cell: IntArray
    """Shape (n_vectors,). Vectors of one cell reach the same leaves."""
    single: BoolArray
    """Shape (n_cells,). Cells of one vector."""
    group: IntArray
    """Shape (n_cells, n_classes). Kinds of one group count alike in all statements."""
    tables: IntArray
    """Shape (n_tables, n_groups). Rows of each group, in every table that satisfies all statements and counts."""

    @classmethod
    def of(cls, forest: Forest, vectors: Rows, n_rows: int) -> Listed:
        """List all tables of so many rows.

        Raises
        ------
        TooManyError
        """
        matrix, total, tolerance, signature = _statements(forest, vectors, n_rows)
        _, first, cell = np.unique(signature, axis=0, return_index=True, return_inverse=True)
        cell = cell.reshape(-1)
        kinds = matrix[:, first].reshape(len(matrix), -1)  # of cells and classes
        _, place, group = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
        order = np.argsort(place, kind="stable")  # as cells go, so that leaves are full or empty early
        rank = np.argsort(order)
        equations = np.ascontiguousarray(kinds[:, place[order]])
        tables, steps = _tables(equations, total, tolerance, n_rows, MOST_STEPS, MOST_TABLES)
        if steps < 0:
            raise TooManyError
        return cls(
            vectors,
            cell,
            np.bincount(cell) == 1,
            rank[group.reshape(-1)].reshape(len(first), -1).astype(np.int64),
            tables,
        )

    def kinds(self, rows: Rows, labels: IntArray) -> IntArray:
        """Return how many rows are of each cell and class, shape (n_cells, n_classes)."""
        same = (rows[:, None] == self.vectors).all(axis=2)
        if not same.any(axis=1).all():
            raise ValueError("a row is outside the domain")
        found = np.zeros(self.group.shape, dtype=np.int64)
        np.add.at(found, (self.cell[same.argmax(axis=1)], labels), 1)
        return found

    def listed(self, kinds: IntArray) -> bool:
        """Return whether numbers of rows, shape (n_cells, n_classes), are one of the tables."""
        own = np.bincount(self.group.ravel(), kinds.ravel(), minlength=self.tables.shape[1])
        return bool((self.tables == own).all(axis=1).any())

    @property
    def _alone(self) -> BoolArray:
        """Which groups are one kind, shape (n_groups,)."""
        alone: BoolArray = np.bincount(self.group.ravel(), minlength=self.tables.shape[1]) == 1
        return alone

    @property
    def only(self) -> bool:
        """Whether there is one table, as vectors and classes."""
        if len(self.tables) != 1:
            return False
        held = self.tables[0] > 0
        return bool(self._alone[held].all()) and bool(self.single[held[self.group].any(axis=1)].all())

    def least_kinds(self) -> IntArray:
        """Return how many rows of each cell and class are in every table, shape (n_cells, n_classes)."""
        least: IntArray = np.where(self._alone, self.tables.min(axis=0, initial=10**6), 0)[self.group]
        return least

    def least_cells(self) -> IntArray:
        """Return how many rows of each cell, whatever their class, are in every table, shape (n_cells,)."""
        least: IntArray = self._of_cells().min(axis=0)
        return least

    def _of_cells(self) -> IntArray:
        """Return rows of each cell in each table that cannot be of another, shape (n_tables, n_cells)."""
        n_groups = self.tables.shape[1]
        inside = np.zeros((n_groups, len(self.group)), dtype=np.int64)
        for cell, groups in enumerate(self.group):
            inside[groups, cell] = 1
        own = inside * (inside.sum(axis=1) == 1)[:, None]
        found: IntArray = self.tables @ own
        return found

    def least_shared(self, kinds: IntArray) -> int:
        """Return the fewest rows, as cell and class, that any table shares with one, shape (n_cells, n_classes)."""
        here = np.full(self.tables.shape[1], 10**6)
        np.minimum.at(here, self.group.ravel(), kinds.ravel())  # all rows of a group can be of its rarest kind
        return int(np.minimum(self.tables, here).sum(axis=1).min())

    def least_vectors_shared(self, kinds: IntArray) -> int:
        """Return the fewest vectors of cells that hold one that any table surely shares with one."""
        here = kinds.sum(axis=1)
        return int((np.minimum(self._of_cells(), here) * self.single).sum(axis=1).min())


def _statements(forest: Forest, vectors: Rows, n_rows: int) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Return what each vector and class counts in each statement, the number of rows first, and what is stated.

    Returns
    -------
    ndarray of float64, shape (n_statements, n_vectors, n_classes)
    ndarray of float64, shape (n_statements,)
        Totals.
    ndarray of float64, shape (n_statements,)
        Tolerances.
    ndarray of int64, shape (n_vectors, n_trees)
        Leaves of each vector.
    """
    said = forest.observation
    if not isinstance(said, BoostedSums):
        raise ValueError("these trees are not boosted")
    labels = np.arange(forest.n_classes) if forest.classes is not None else np.zeros(1, dtype=np.int64)
    kind = np.float32 if said.single else np.float64
    scores = np.tile(said.base.astype(kind)[:, None], len(vectors))
    parts, totals, tolerances = [np.ones((len(vectors), len(labels)))], [float(n_rows)], [1e-9]
    leaves = []
    p = hessian = np.empty(0)
    for t, tree in enumerate(forest.trees):
        k = t % len(said.base)
        if k == 0:
            p, hessian = _first_and_second(said.loss, scores.astype(np.float64))
        wanted = (labels == k) if said.loss == "softmax" else labels
        gradient = p[k][:, None] - wanted
        inside = reached(tree, vectors)
        own = said.statements[t]
        for node, (a, b, c, d), total, tolerance in zip(own.node, own.weight, own.total, own.tolerance, strict=True):
            if forest.classes is None and (b or d):
                continue
            each = a + b * gradient + c * hessian[k][:, None] + d * gradient**2
            parts.append(each * inside[node][:, None])
            totals.append(total)
            tolerances.append(tolerance)
        if said.counted:
            for leaf in range(tree.n_nodes):
                parts.append(np.repeat(inside[leaf][:, None].astype(np.float64), len(labels), axis=1))
                totals.append(float(tree.n_distinct[leaf]))
                tolerances.append(1e-9)
        at = inside[tree.leaves].argmax(axis=0)
        leaves.append(at)
        scores[k] += tree.value[tree.leaves, 0].astype(kind)[at]
    return np.stack(parts), np.array(totals), np.array(tolerances), np.stack(leaves, axis=1)


def _first_and_second(loss: str, score: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return gradients of no label, and hessians, each of the shape of scores."""
    if loss == "logistic":
        p = special.expit(score)
    elif loss == "softmax":
        p = special.softmax(score, axis=0)
    elif loss == "squared":
        return score, np.ones_like(score)
    else:
        return np.exp(score), np.exp(score)
    return p, p - p**2


@njit(cache=True)
def _tables(
    equations: FloatArray, total: FloatArray, tolerance: FloatArray, n_rows: int, most_steps: int, most_tables: int
) -> tuple[NDArray[np.int64], int]:  # pragma: no cover - compiled
    """Return all numbers of 0 or more that satisfy equations, depth first, and the steps that it took; -1: too many."""
    n_equations, n = equations.shape
    most, least = np.zeros((n + 1, n_equations)), np.zeros((n + 1, n_equations))
    for k in range(n - 1, -1, -1):
        for e in range(n_equations):
            most[k, e] = equations[e, k] if k == n - 1 else max(most[k + 1, e], equations[e, k])
            least[k, e] = equations[e, k] if k == n - 1 else min(least[k + 1, e], equations[e, k])
    left, rest = np.empty((n + 1, n_equations)), np.empty(n + 1, np.int64)
    left[0], rest[0] = total, n_rows
    found = np.empty((most_tables, n), np.int64)
    n_found = steps = k = 0
    number = np.zeros(n, np.int64)
    number[0] = n_rows + 1
    while k >= 0:
        number[k] -= 1
        if number[k] < 0:
            k -= 1
            continue
        steps += 1
        if steps > most_steps:
            return found[:0], -1
        rows = rest[k] - number[k]
        fits = True
        for e in range(n_equations):
            now = left[k, e] - number[k] * equations[e, k]
            left[k + 1, e] = now
            if now > rows * most[k + 1, e] + tolerance[e] or now < rows * least[k + 1, e] - tolerance[e]:
                fits = False
                break
        if not fits:
            continue
        rest[k + 1] = rows
        if k + 1 < n:
            k += 1
            number[k] = rows + 1
            continue
        if n_found == most_tables:
            return found[:0], -1
        found[n_found] = number
        n_found += 1
    return found[:n_found].copy(), steps
