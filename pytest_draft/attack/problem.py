"""The problem that all settings of counts share: candidates and equations from groups, cells and published counts.

A cell holds vectors that no tree distinguishes, because they reach the same leaves.
Variables belong to what a row can be, not to which row it is: ``h[g, k, c]`` counts the rows of group ``g``
that are of cell ``k`` and class ``c``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pytest_draft.arrays import BoolArray, Int32Array, IntArray
from pytest_draft.attack.groups import Groups
from pytest_draft.domain import Domain

_CHUNK = 50_000
"""Candidates whose equations are written down at once: bounds the memory of that step, not its result."""


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """Sets of feature vectors that no tree tells apart. Each is a product of per-attribute value sets."""

    signature: Int32Array
    """Shape (n_trees, n_cells). Position of the cell's leaf among each tree's leaves; -1 where a tree, which did not
    see the rows that can be of the cell, tells its vectors apart.
    """
    n_vectors: IntArray
    """Shape (n_cells,). No more than 2**62."""
    allowed: BoolArray
    """Shape (n_cells, n_values). Which values of each attribute the cell holds; the attributes' values stand side by
    side, attribute ``a`` from ``offsets[a]``.
    """
    offsets: IntArray
    """Shape (n_attributes + 1,)."""

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return int(self.signature.shape[1])

    @cached_property
    def determined(self) -> BoolArray:
        """Whether the cell fixes each attribute, shape (n_cells, n_attributes)."""
        values = np.add.reduceat(self.allowed, self.offsets[:-1], axis=1, dtype=np.int64)
        fixed: BoolArray = values == 1
        return fixed


def merged_cells(
    domain: Domain, vectors: NDArray[np.float32], leaves: list[Int32Array], kept_apart: IntArray
) -> tuple[Cells, IntArray]:
    """Return the cells, and the cell of each vector; vectors with other numbers are never in one cell."""
    signature = np.stack([*leaves, kept_apart.astype(np.int32)])
    first, of_vector = equal_columns(signature)
    n_cells = len(first)
    values = []
    for attribute in domain.attributes:
        columns = vectors[:, list(attribute.columns)]
        if attribute.kind == "one-hot":
            named = columns.astype(bool)
            values.append(np.hstack([named, ~named.any(axis=1, keepdims=True)]) if attribute.dropped else named)
        else:
            # As encoded, so in float32: above 2**24 several whole numbers are one value to the forest.
            values.append(columns == attribute.encoded(np.arange(attribute.n_values)).ravel())
    order = np.argsort(of_vector, kind="stable")
    starts = np.searchsorted(of_vector[order], np.arange(n_cells))
    allowed = np.logical_or.reduceat(np.concatenate(values, axis=1)[order], starts, axis=0)
    offsets = np.cumsum([0, *(attribute.n_values for attribute in domain.attributes)])
    cells = Cells(signature[:-1, first], np.bincount(of_vector, minlength=n_cells), allowed, offsets)
    return cells, of_vector


def equal_columns(matrix: Int32Array) -> tuple[IntArray, IntArray]:
    """Return the first column of each set of equal columns, and the set of each column."""
    keys = np.random.default_rng(0).integers(1, 2**63, size=len(matrix), dtype=np.uint64)
    digest = np.zeros(matrix.shape[1], dtype=np.uint64)
    for key, row in zip(keys, matrix, strict=True):
        digest += key * row.astype(np.uint64)  # wraps around: a hash
    _, first, of_column = np.unique(digest, return_index=True, return_inverse=True)
    if any((row != row[first[of_column]]).any() for row in matrix):  # two signatures with one hash
        _, first, of_column = np.unique(matrix, axis=1, return_index=True, return_inverse=True)
    return first.astype(np.int64), of_column.reshape(-1).astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class System:
    """Linear equations ``matrix @ h = observed`` over whole numbers ``h >= 0``."""

    matrix: sparse.csc_array
    """Of int32, shape (n_equations, n_candidates)."""
    observed: IntArray
    """Shape (n_equations,)."""

    def missed(self, rows: IntArray) -> int:
        """Return the residual of a whole dataset: the sum of absolute differences to what was observed."""
        return int(np.abs(self.matrix @ rows - self.observed).sum())

    def with_totals(self, total_of: IntArray, totals: IntArray) -> System:
        """Return the system with one more equation for each total.

        Parameters
        ----------
        total_of : ndarray of int64, shape (n_candidates,)
            Which total each candidate counts towards.
        totals : ndarray of int64, shape (n_totals,)
        """
        n_candidates = len(total_of)
        ones = np.ones(n_candidates, dtype=np.int32)
        shape = (len(totals), n_candidates)
        extra = sparse.csc_array((ones, (total_of, np.arange(n_candidates))), shape=shape)
        matrix = sparse.vstack([self.matrix, extra], format="csc")
        return System(matrix, np.concatenate([self.observed, totals]))

    def only(self, columns: BoolArray | IntArray, rest: IntArray | None = None) -> System:
        """Return the system over some of the columns, after taking off what the others explain.

        Parameters
        ----------
        columns : ndarray of bool or int64
            Columns to keep.
        rest : ndarray of int64, shape (n_candidates,), or None
            Values of the columns that are left out (entries of kept columns must be 0); None for all 0.
        """
        observed = self.observed if rest is None else self.observed - self.matrix @ rest
        return System(self.matrix[:, columns], observed)


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """Groups x cells x classes against the published counts, with exact noise."""

    domain: Domain
    cells: Cells
    groups: Groups
    counts: tuple[IntArray, ...]
    """Each of shape (n_leaves of the tree, n_classes). Observed rows (draws) of each class at each leaf."""
    distinct: tuple[IntArray, ...] | None
    """Each of shape (n_leaves of the tree,). Observed distinct rows at each leaf, where they say more than the counts
    (bagging).
    """
    group: IntArray
    cell: IntArray
    label: IntArray
    """`group`, `cell` and `label`, shape (n_candidates,): the candidates: triples that domain reduction left possible.
    """
    known: tuple[IntArray, ...] | None = None
    """Each of shape (n_leaves of the tree, n_classes). How many rows that the adversary knows whole lie at each leaf,
    whatever trees saw them. With exact noise `counts` and `distinct` are what these rows leave.
    """
    complete: bool = True
    """Whether all that a row can be is among the candidates. Else nothing can be proved with them."""

    @property
    def n_candidates(self) -> int:
        """Number of candidates."""
        return len(self.group)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts[0].shape[1])

    @property
    def n_coefficients(self) -> int:
        """About how many coefficients the equations have, without writing them down."""
        per_tree = 1 if self.distinct is None else 2
        seen = (self.groups.weight > 0).sum(axis=0) * per_tree + 1
        return int(seen @ np.bincount(self.group, minlength=self.groups.n_groups))

    @cached_property
    def pool(self) -> IntArray:
        """The pool of each candidate, shape (n_candidates,), ascending: rows of one pool can change places.

        A pool is a group; where there is one group only and every tree shows how many of its rows are of each class,
        it is a class, and the classes decouple.
        """
        return self.label if self._by_class else self.group

    @cached_property
    def pool_size(self) -> IntArray:
        """Rows of each pool, shape (n_pools,)."""
        return self.counts[0].sum(axis=0) // int(self.groups.weight[0, 0]) if self._by_class else self.groups.size

    def without_classes(self) -> Problem:
        """Return the problem of the same counts, of all classes together."""
        n_cells = self.cells.n_cells
        pairs = np.unique(self.group * n_cells + self.cell)
        known = None if self.known is None else tuple(_together(table) for table in self.known)
        return replace(
            self,
            counts=tuple(_together(table) for table in self.counts),
            group=pairs // n_cells,
            cell=pairs % n_cells,
            label=np.zeros(len(pairs), np.int64),
            known=known,
        )

    @property
    def _by_class(self) -> bool:
        return self.groups.n_groups == 1 and bool((self.groups.weight > 0).all())

    @cached_property
    def system(self) -> System:
        """The linear system ``A h = b`` over the candidates, with exact noise.

        Its equations are the leaf counts by class, tree by tree, each followed by the distinct rows by leaf
        where those are observed; then the sizes of the pools.
        """
        tables = [
            (counts if self.distinct is None else np.column_stack([counts, self.distinct[t]]))
            for t, counts in enumerate(self.counts)
        ]
        base = np.cumsum([0, *(table.size for table in tables)])
        width = tables[0].shape[1]
        per_tree = 1 if self.distinct is None else 2
        parts = []
        for start in range(0, self.n_candidates, _CHUNK):
            group = self.group[start : start + _CHUNK]
            cell, label = self.cell[start : start + _CHUNK], self.label[start : start + _CHUNK]
            equation = np.empty((len(group), per_tree * len(tables) + 1), dtype=np.int32)
            weight = np.ones_like(equation)
            leaf = self.cells.signature[:, cell].T * width + base[:-1]
            seen = self.groups.weight[:, group].T
            equation[:, :-1:per_tree] = leaf + label[:, None]
            weight[:, :-1:per_tree] = seen
            if self.distinct is not None:
                equation[:, 1:-1:2] = leaf + self.n_classes
                weight[:, 1:-1:2] = seen > 0
            equation[:, -1] = base[-1] + self.pool[start : start + _CHUNK]
            used = weight > 0
            pointer = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
            shape = (int(base[-1]) + len(self.pool_size), len(group))
            parts.append(sparse.csc_array((weight[used], equation[used], pointer), shape=shape))
        matrix = parts[0] if len(parts) == 1 else sparse.hstack(parts, format="csc")
        return System(matrix, np.concatenate([*(table.ravel() for table in tables), self.pool_size]))


def _together(table: IntArray) -> IntArray:
    """Return counts of all classes together, shape (n_leaves, 1)."""
    total: IntArray = table.sum(axis=1, keepdims=True)
    return total
