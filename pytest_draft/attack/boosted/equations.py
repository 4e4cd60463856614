"""What boosted trees say of the number of rows of each kind, as linear equations with a tolerance.

A kind is a cell and, of a classifier, a class. All vectors of a cell reach the same leaves, so they have the same score
before each tree, and each statement of a tree weighs all rows of a kind alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pytest_draft.arrays import FloatArray, Int32Array, IntArray, Rows
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.attack.boosted.staged import boosted, stages
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.problem import Cells, merged_cells
from pytest_draft.domain import Domain
from pytest_draft.errors import InfeasibleError, NotCoveredError, OutOfTimeError
from pytest_draft.timebox import TimeBox

MOST_VECTORS = 2_000_000
"""Vectors that are enumerated at most."""

MAX_BYTES = 2 * 1024**3
"""Most memory that their leaves may take."""

OF_COUNTS = 1e-6
"""How far a sum of numbers of rows can be off by rounding."""

_COMPACT_BELOW = 0.7
"""Vectors are left out where so small a share of them is still possible."""


@dataclass(frozen=True, eq=False, repr=False)
class Kinds:
    """What a row can be: cells, and a vector of each."""

    cells: Cells
    vectors: Rows
    """Shape (n_cells, n_columns). One of each cell."""
    n_classes: int
    """1 for regressors."""

    @property
    def columns(self) -> FloatArray:
        """The vectors, column by column, shape (n_columns, n_cells)."""
        return np.ascontiguousarray(self.vectors.T, dtype=np.float64)

    @property
    def n_kinds(self) -> int:
        """Number of kinds: kind ``label * n_cells + cell`` is that class in that cell."""
        return self.n_classes * self.cells.n_cells

    def by_cell(self, number: IntArray) -> IntArray:
        """Return numbers of kinds summed over classes, shape (n_cells,)."""
        total: IntArray = number.reshape(self.n_classes, -1).sum(axis=0)
        return total


def kinds_of(forest: Forest, domain: Domain, timebox: TimeBox) -> Kinds:
    """Return what rows can be, without what would lie in an empty leaf.

    Raises
    ------
    NotCoveredError
        Where the domain cannot be enumerated.
    InfeasibleError
        Where nothing is left.
    OutOfTimeError
    """
    if any(made.kind == "numeric" or made.missing for made in domain.attributes):
        raise NotCoveredError("the sums of boosted trees are not used for numeric columns or missing values yet")
    if domain.n_vectors > MOST_VECTORS:
        raise NotCoveredError(
            f"the domain allows {domain.n_vectors:,} vectors, more than the {MOST_VECTORS:,} that the sums of boosted "
            "trees are used for"
        )
    counted = boosted(forest).counted
    vectors = domain.vectors()
    leaves: list[Int32Array] = []
    columns = np.ascontiguousarray(vectors.T)
    alive = np.ones(len(vectors), dtype=bool)
    for tree in forest.trees:
        if timebox.over:
            raise OutOfTimeError
        leaf = leaf_positions(tree, columns)
        leaves.append(leaf)
        if 4 * len(leaves) * len(leaf) > MAX_BYTES:
            raise NotCoveredError(
                f"the leaves of {len(leaf):,} vectors in {len(leaves):,} trees take too much memory for the sums of "
                "boosted trees"
            )
        if counted:
            alive &= tree.n_distinct[tree.leaves][leaf] > 0
            if not alive.any():
                raise InfeasibleError
            if alive.mean() < _COMPACT_BELOW:
                vectors, leaves = vectors[alive], [one[alive] for one in leaves]
                columns, alive = np.ascontiguousarray(vectors.T), np.ones(int(alive.sum()), dtype=bool)
    vectors, leaves = vectors[alive], [one[alive] for one in leaves]
    cells, of_vector = merged_cells(domain, vectors, leaves, np.zeros(len(vectors), dtype=np.int64))
    first = np.unique(of_vector, return_index=True)[1]
    return Kinds(cells, vectors[first], forest.n_classes)


@dataclass(frozen=True, eq=False, repr=False)
class Equations:
    """Linear equations over the number of rows of each kind."""

    matrix: sparse.csc_array
    """Of float64, shape (n_equations, n_kinds)."""
    total: FloatArray
    """Shape (n_equations,)."""
    tolerance: FloatArray
    """Shape (n_equations,). How far the right rows can be off."""

    def scaled(self) -> Equations:
        """Return equations that say the same with coefficients of one size."""
        size = np.sqrt(np.asarray(self.matrix.power(2).sum(axis=1)).ravel())
        return self._times(1 / np.maximum(size, 1e-3))

    def sharp(self) -> Equations:
        """Return equations that are scaled by how exact they are: so a sum of few of them is off by little."""
        return self._times(np.clip(np.median(self.tolerance) / np.maximum(self.tolerance, 1e-300), 1e-3, 1e3))

    def _times(self, scale: FloatArray) -> Equations:
        return Equations((sparse.diags_array(scale) @ self.matrix).tocsc(), scale * self.total, scale * self.tolerance)

    def without(self, number: FloatArray) -> Equations:
        """Return what is left of the totals when some rows are taken off, shape (n_kinds,)."""
        return Equations(self.matrix, self.total - self.matrix @ number, self.tolerance)

    def missed(self, number: IntArray) -> int:
        """Return how many equations these numbers of rows miss, shape (n_kinds,)."""
        return int((np.abs(self.matrix @ number - self.total) > self.tolerance).sum())


def equations_of(forest: Forest, kinds: Kinds, n_rows: int, trees: Sequence[int], timebox: TimeBox) -> Equations:
    """Return what some trees say, and the number of rows.

    Parameters
    ----------
    n_rows : int
        Rows in all.
    trees : sequence of int
        Ascending.

    Raises
    ------
    OutOfTimeError
    """
    asked, parts = set(trees), [_total(kinds, n_rows)]
    last = max(asked, default=-1)
    for stage in stages(forest, kinds.columns):
        if stage.tree > last:
            break
        if timebox.over:
            raise OutOfTimeError
        if stage.tree not in asked:
            continue
        tree = forest.trees[stage.tree]
        node, weight, total, tolerance = _asked(forest, stage.tree, labelled=kinds.n_classes > 1)
        members = _members(tree, node, stage.leaf)
        row = np.repeat(np.arange(len(node)), np.diff(members.indptr))
        cell, blocks = members.indices, []
        for label in range(kinds.n_classes):
            gradient = stage.gradient[cell, label]
            value = weight[row, 0] + weight[row, 2] * stage.hessian[cell]
            value = value + weight[row, 1] * gradient + weight[row, 3] * gradient**2
            blocks.append(sparse.csr_array((value, cell, members.indptr), shape=members.shape))
        parts.append(Equations(sparse.hstack(blocks, format="csr"), total, tolerance))
    return Equations(
        sparse.vstack([part.matrix for part in parts], format="csc"),
        np.concatenate([part.total for part in parts]),
        np.concatenate([part.tolerance for part in parts]),
    )


def _total(kinds: Kinds, n_rows: int) -> Equations:
    """Return the equation that the rows are so many."""
    ones = sparse.csr_array(np.ones((1, kinds.n_kinds)))
    return Equations(ones, np.array([float(n_rows)]), np.array([OF_COUNTS]))


def _asked(forest: Forest, t: int, *, labelled: bool) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return node, weights, total and tolerance of all that one tree says of its rows, counts of leaves first."""
    said, tree = boosted(forest), forest.trees[t]
    own, leaves = said.statements[t], tree.leaves
    kept = np.ones(len(own.node), dtype=bool)
    if not labelled:  # nor are targets known
        kept = (own.weight[:, [1, 3]] == 0).all(axis=1)
    node, weight, total, tolerance = own.node[kept], own.weight[kept], own.total[kept], own.tolerance[kept]
    if not said.counted:
        return node, weight, total, tolerance
    counts = tree.n_distinct[leaves].astype(np.float64)
    itself = np.tile([1.0, 0.0, 0.0, 0.0], (len(leaves), 1))
    return (
        np.append(leaves, node),
        np.concatenate([itself, weight]),
        np.append(counts, total),
        np.append(np.full(len(leaves), OF_COUNTS), tolerance),
    )


def _members(tree: Tree, node: IntArray, leaf: Int32Array) -> sparse.csr_array:
    """Return which cells lie under each of some nodes, shape (n_nodes, n_cells)."""
    leaves, n_cells = tree.leaves, len(leaf)
    under = np.zeros((tree.n_nodes, len(leaves)), dtype=bool)
    under[leaves, np.arange(len(leaves))] = True
    for inner in np.flatnonzero(tree.left >= 0)[::-1]:
        under[inner] = under[tree.left[inner]] | under[tree.right[inner]]
    in_leaf = sparse.csr_array((np.ones(n_cells), (leaf, np.arange(n_cells))), shape=(len(leaves), n_cells))
    return (sparse.csr_array(under[node].astype(np.float64)) @ in_leaf).tocsr()
