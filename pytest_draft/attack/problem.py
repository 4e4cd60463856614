"""The one problem of all settings: in go a forest, a domain and groups, out comes a `Problem`.

Variables belong to what a row can be, not to which row it is: ``h[g, k, c]`` counts the rows of group ``g``
that are of cell ``k`` and class ``c``. Enumeration and domain reduction are one pass over the trees, so that
a vector that no group can hold any more costs nothing in the trees that follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError
from pytest_draft.timebox import TimeBox

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

MAX_VECTORS = 4_000_000
"""Largest domain that is enumerated."""

MAX_BYTES = 1024**3
"""Most memory that the table of what each group can be may take."""

MAX_CANDIDATES = 3_000_000
"""Most (group, cell, class) triples that a problem may keep after domain reduction."""

MAX_COEFFICIENTS = 200_000_000
"""Most coefficients of the equations; each takes about 20 bytes while they are solved."""

MAX_TRIPLES = 30_000_000
"""Most (group, vector, class) triples that may be left before vectors are merged into cells."""

_COMPACT_BELOW = 0.7
_CHUNK = 50_000


class InfeasibleError(Exception):
    """No dataset of the domain is consistent with the observations."""


class OutOfTimeError(Exception):
    """The time box ended before the problem was built."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Sets of exchangeable rows: nothing that the adversary knows tells the rows of a group apart.

    Attributes
    ----------
    of_row : ndarray of int64, shape (n_rows,)
        Group of each row.
    size : ndarray of int64, shape (n_groups,)
    weight : ndarray of int64, shape (n_trees, n_groups)
        How often each tree saw each row of a group.
    """

    of_row: IntArray
    size: IntArray
    weight: IntArray

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.size)

    @property
    def n_rows(self) -> int:
        """Number of rows in all groups."""
        return len(self.of_row)

    @property
    def ordered(self) -> bool:
        """Whether some rows can be told apart, so that a reconstruction has a row order."""
        return self.n_groups > 1


def group_by_occurrences(occurrences: IntArray) -> Groups:
    """Return rows grouped by how often each tree saw them (design: groups x cells).

    Parameters
    ----------
    occurrences : ndarray of int64, shape (n_trees, n_rows)

    Returns
    -------
    Groups
        One group without bagging; with bagging, rows that no tree tells apart share a group.
    """
    if (occurrences == 1).all():
        n_trees, n_rows = occurrences.shape
        everyone = np.array([n_rows], dtype=np.int64)
        return Groups(np.zeros(n_rows, dtype=np.int64), everyone, np.ones((n_trees, 1), dtype=np.int64))
    weight, of_row, size = np.unique(occurrences, axis=1, return_inverse=True, return_counts=True)
    return Groups(of_row.reshape(-1).astype(np.int64), size.astype(np.int64), weight)


@dataclass(frozen=True, eq=False)
class Cells:
    """Sets of feature vectors that no tree tells apart. Each is a product of per-attribute value sets.

    Attributes
    ----------
    signature : ndarray of int32, shape (n_trees, n_cells)
        Position of the cell's leaf among each tree's leaves.
    n_vectors : ndarray of int64, shape (n_cells,)
    allowed : ndarray of bool, shape (n_cells, n_values)
        Which values of each attribute the cell holds; the attributes' values stand side by side, attribute
        ``a`` from ``offsets[a]``.
    offsets : ndarray of int64, shape (n_attributes + 1,)
    """

    signature: NDArray[np.int32]
    n_vectors: IntArray
    allowed: BoolArray
    offsets: IntArray

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


@dataclass(frozen=True, eq=False)
class System:
    """Linear equations ``matrix @ h = observed`` over whole numbers ``h >= 0``.

    Attributes
    ----------
    matrix : sparse array of int32, in columns, shape (n_equations, n_candidates)
    observed : ndarray of int64, shape (n_equations,)
    """

    matrix: sparse.csc_array
    observed: IntArray

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


@dataclass(frozen=True, eq=False)
class Problem:
    """Groups x cells x classes against the published counts, with exact noise.

    Attributes
    ----------
    domain : Domain
    cells : Cells
    groups : Groups
    counts : tuple of ndarray of int64, each of shape (n_leaves of the tree, n_classes)
        Observed rows (draws) of each class at each leaf.
    distinct : tuple of ndarray of int64, each of shape (n_leaves of the tree,), or None
        Observed distinct rows at each leaf, where they say more than the counts (bagging).
    group, cell, label : ndarray of int64, shape (n_candidates,)
        The candidates: triples that domain reduction left possible.
    """

    domain: Domain
    cells: Cells
    groups: Groups
    counts: tuple[IntArray, ...]
    distinct: tuple[IntArray, ...] | None
    group: IntArray
    cell: IntArray
    label: IntArray

    @property
    def n_candidates(self) -> int:
        """Number of candidates."""
        return len(self.group)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts[0].shape[1])

    @cached_property
    def system(self) -> System:
        """The linear system ``A h = b`` over the candidates, with exact noise.

        Its equations are the leaf counts by class, tree by tree, each followed by the distinct rows by leaf
        where those are observed; then the group sizes.
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
            equation[:, -1] = base[-1] + group
            used = weight > 0
            pointer = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
            shape = (int(base[-1]) + self.groups.n_groups, len(group))
            parts.append(sparse.csc_array((weight[used], equation[used], pointer), shape=shape))
        matrix = parts[0] if len(parts) == 1 else sparse.hstack(parts, format="csc")
        return System(matrix, np.concatenate([*(table.ravel() for table in tables), self.groups.size]))


def leaf_positions(tree: Tree, columns: NDArray[np.float32]) -> NDArray[np.int32]:
    """Return the leaf that each vector reaches, as a position among the tree's leaves.

    Parameters
    ----------
    tree : Tree
    columns : ndarray of float32, shape (n_columns, n_vectors)
        The vectors, column by column.

    Returns
    -------
    ndarray of int32, shape (n_vectors,)
    """
    children = np.stack([tree.right, tree.left], axis=1).ravel()
    position = np.cumsum(tree.left < 0) - 1
    node = np.zeros(columns.shape[1], dtype=np.int64)
    active = np.arange(columns.shape[1]) if tree.left[0] >= 0 else np.empty(0, dtype=np.int64)
    while active.size:
        here = node[active]
        below = columns[tree.feature[here], active] <= tree.threshold[here]
        here = children[2 * here + below]
        node[active] = here
        active = active[tree.left[here] >= 0]
    return position[node].astype(np.int32)


def build(forest: Forest, domain: Domain, groups: Groups, timebox: TimeBox) -> Problem:
    """Enumerate the domain, reduce it tree by tree, and merge equal signatures into cells.

    A vector is possible for a row of group ``g`` and class ``c`` only if every tree that saw the row has at
    least ``weight[t, g]`` draws of class ``c`` at the vector's leaf.

    Parameters
    ----------
    forest : Forest
        A classifier's forest with whole counts.
    domain : Domain
        Without numeric attributes.
    groups : Groups
    timebox : TimeBox

    Returns
    -------
    Problem

    Raises
    ------
    NotCoveredError
        Where the domain is numeric or too large to enumerate, or too many candidates remain.
    InfeasibleError
        Where some row can be nothing that the domain allows.
    OutOfTimeError
    """
    if domain.n_vectors > MAX_VECTORS:
        raise NotCoveredError(
            f"the domain allows {domain.n_vectors:,} vectors, more than the {MAX_VECTORS:,} that are enumerated; "
            "larger domains are not covered yet"
        )
    if 8 * domain.n_vectors * domain.n_columns > MAX_BYTES:
        raise NotCoveredError(
            f"{domain.n_vectors:,} vectors of {domain.n_columns:,} columns are too many to enumerate; "
            "larger domains are not covered yet"
        )
    n_classes = forest.n_classes
    needed = domain.n_vectors / 8 * groups.n_groups * n_classes
    if needed > MAX_BYTES:
        raise NotCoveredError(
            f"{groups.n_groups:,} rows that the seeds tell apart x {domain.n_vectors:,} vectors would take "
            f"{needed / 1024**3:.1f} GiB; so many rows are not covered yet"
        )
    leaf_counts = tuple(forest.counts(t)[tree.leaves] for t, tree in enumerate(forest.trees))
    survivors = _Survivors(domain.vectors(), groups.n_groups, n_classes)
    for t, tree in enumerate(forest.trees):
        if timebox.over:
            raise OutOfTimeError
        survivors.pass_tree(tree, leaf_counts[t], groups.weight[t])
    group, label, vector = survivors.candidates()
    if len(np.unique(group)) < groups.n_groups:
        raise InfeasibleError
    cells, of_vector = _merge(domain, survivors.columns.T, survivors.leaves)
    triples = np.unique(
        (group * n_classes + label) * cells.n_cells + of_vector[vector]
    )  # vectors of one cell are possible for the same groups and classes
    if len(triples) > MAX_CANDIDATES:
        raise NotCoveredError(
            f"{len(triples):,} ways to place rows in cells remain, more than the {MAX_CANDIDATES:,} that are "
            "solved; so many rows with so few constraints are not covered yet"
        )
    coefficients = len(triples) * (forest.n_trees * (2 if forest.bootstrap else 1) + 1)
    if coefficients > MAX_COEFFICIENTS:
        raise NotCoveredError(
            f"{len(triples):,} ways to place rows in cells of {forest.n_trees:,} trees remain, more than are solved; "
            "so many rows with so few constraints are not covered yet"
        )
    group_label, cell = np.divmod(triples, cells.n_cells)
    distinct = None
    if forest.bootstrap:
        distinct = tuple(tree.n_distinct[tree.leaves] for tree in forest.trees)
    return Problem(
        domain, cells, groups, leaf_counts, distinct, group_label // n_classes, cell, group_label % n_classes
    )


class _Survivors:
    """The vectors that some group can still hold, while trees are passed one by one."""

    def __init__(self, vectors: NDArray[np.float32], n_groups: int, n_classes: int) -> None:
        self.columns = np.ascontiguousarray(vectors.T)
        self.leaves: list[NDArray[np.int32]] = []
        everything = np.packbits(np.ones(len(vectors), dtype=bool))
        self.alive = np.tile(everything, (n_groups, n_classes, 1))  # bits over vectors

    def pass_tree(self, tree: Tree, counts: IntArray, weight: IntArray) -> None:
        """Strike out what the tree's leaves exclude."""
        leaf = leaf_positions(tree, self.columns)
        self.leaves.append(leaf)
        if 8 * len(self.leaves) * len(leaf) > MAX_BYTES:
            raise NotCoveredError(
                f"the leaves of {len(leaf):,} vectors in {len(self.leaves):,} trees take too much memory; "
                "larger domains are not covered yet"
            )
        here = counts[leaf].T
        for times in np.unique(weight[weight > 0]):
            enough = np.packbits(here >= times, axis=1)
            members = weight == times
            if members.all():
                self.alive &= enough
            else:
                self.alive[members] &= enough
        self._compact()

    def _compact(self) -> None:
        n_vectors = self.columns.shape[1]
        if not n_vectors:
            return
        some = np.unpackbits(np.bitwise_or.reduce(self.alive, axis=(0, 1)), count=n_vectors).astype(bool)
        if some.mean() >= _COMPACT_BELOW:
            return
        self.columns = np.ascontiguousarray(self.columns[:, some])
        self.leaves = [leaf[some] for leaf in self.leaves]
        kept = np.empty((*self.alive.shape[:2], (int(some.sum()) + 7) // 8), dtype=np.uint8)
        for g in range(len(self.alive)):  # group by group: the unpacked table would be eight times larger
            bits = np.unpackbits(self.alive[g], axis=1, count=n_vectors)
            kept[g] = np.packbits(bits[:, some], axis=1)
        self.alive = kept

    def candidates(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return (group, label, vector) of all that is still possible."""
        found = []
        room = MAX_TRIPLES
        for g in range(len(self.alive)):
            label, vector = np.nonzero(np.unpackbits(self.alive[g], axis=1, count=self.columns.shape[1]))
            room -= len(label)
            if room < 0:
                raise NotCoveredError(
                    f"more than {MAX_TRIPLES:,} ways to place rows remain; so many rows with so few constraints "
                    "are not covered yet"
                )
            found.append(np.stack([np.full(len(label), g), label, vector]))
        group, label, vector = np.concatenate(found, axis=1)
        return group, label, vector


def _merge(domain: Domain, vectors: NDArray[np.float32], leaves: list[NDArray[np.int32]]) -> tuple[Cells, IntArray]:
    """Return the cells, and the cell of each vector."""
    signature = np.stack(leaves)
    first, of_vector = _equal_columns(signature)
    n_cells = len(first)
    values = []
    for attribute in domain.attributes:
        columns = vectors[:, list(attribute.columns)]
        if attribute.kind == "one-hot":
            values.append(columns.astype(bool))
        else:
            # As encoded, so in float32: above 2**24 several whole numbers are one value to the forest.
            values.append(columns == attribute.encoded(np.arange(attribute.n_values)).ravel())
    order = np.argsort(of_vector, kind="stable")
    starts = np.searchsorted(of_vector[order], np.arange(n_cells))
    allowed = np.logical_or.reduceat(np.concatenate(values, axis=1)[order], starts, axis=0)
    offsets = np.cumsum([0, *(attribute.n_values for attribute in domain.attributes)])
    cells = Cells(signature[:, first], np.bincount(of_vector, minlength=n_cells), allowed, offsets)
    return cells, of_vector


def _equal_columns(matrix: NDArray[np.int32]) -> tuple[IntArray, IntArray]:
    """Return the first column of each set of equal columns, and the set of each column."""
    keys = np.random.default_rng(0).integers(1, 2**63, size=len(matrix), dtype=np.uint64)
    digest = np.zeros(matrix.shape[1], dtype=np.uint64)
    for key, row in zip(keys, matrix, strict=True):
        digest += key * row.astype(np.uint64)  # wraps around: a hash
    _, first, of_column = np.unique(digest, return_index=True, return_inverse=True)
    if any((row != row[first[of_column]]).any() for row in matrix):  # two signatures with one hash
        _, first, of_column = np.unique(matrix, axis=1, return_index=True, return_inverse=True)
    return first.astype(np.int64), of_column.reshape(-1).astype(np.int64)
