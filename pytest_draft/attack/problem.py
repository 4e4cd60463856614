"""The problem that all settings of counts share: candidates and equations from groups, cells and published counts.

Variables belong to what a row can be, not to which row it is: ``h[g, k, c]`` counts the rows of group ``g``
that are of cell ``k`` and class ``c``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from pytest_draft.arrays import IntArray
from pytest_draft.attack.cells import Cells
from pytest_draft.attack.groups import Groups
from pytest_draft.attack.system import System
from pytest_draft.domain import Domain

_CHUNK = 50_000
"""Candidates whose equations are written down at once: bounds the memory of that step, not its result."""


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
    start: IntArray | None = None
    """Shape (n_candidates,). Rows of each candidate in a dataset that is already known, where they are not complete."""

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
        pairs, of_candidate = np.unique(self.group * n_cells + self.cell, return_inverse=True)
        start = None
        if self.start is not None:
            start = np.bincount(of_candidate, self.start, len(pairs)).astype(np.int64)
        known = None if self.known is None else tuple(_together(table) for table in self.known)
        return replace(
            self,
            counts=tuple(_together(table) for table in self.counts),
            group=pairs // n_cells,
            cell=pairs % n_cells,
            label=np.zeros(len(pairs), np.int64),
            known=known,
            start=start,
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
