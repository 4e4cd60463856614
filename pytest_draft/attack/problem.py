"""The one problem of all settings: in go a forest, a domain and groups, out comes a `Problem`.

Variables belong to what a row can be, not to which row it is: ``h[g, k, c]`` counts the rows of group ``g``
that are of cell ``k`` and class ``c``. Enumeration and domain reduction are one pass over the trees, so that
a vector that no group can hold any more costs nothing in the trees that follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse, stats

from pytest_draft.arrays import BoolArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.attack.gaps import Gap, gaps_of
from pytest_draft.domain import Domain
from pytest_draft.errors import InfeasibleError, NotCoveredError, OutOfTimeError
from pytest_draft.matching import row_identities
from pytest_draft.timebox import TimeBox

MAX_VECTORS = 4_000_000
"""Largest domain that is enumerated."""

MAX_BYTES = 1024**3
"""Most memory that the table of what each group can be may take."""

MAX_CANDIDATES = 3_000_000
"""Most (group, cell, class) triples that a problem may keep after domain reduction."""

MAX_COEFFICIENTS = 300_000_000
"""Most coefficients of the equations; each takes about 20 bytes while they are solved."""

MAX_TRIPLES = 30_000_000
"""Most (group, vector, class) triples that may be left before vectors are merged into cells."""

_UNLIKELY = 1e-9

_COMPACT_BELOW = 0.7
_CHUNK = 50_000


Observations = tuple[tuple[IntArray, ...], tuple[IntArray, ...] | None, tuple[IntArray, ...] | None]
"""What `Problem` has as `counts`, `distinct` and `known`."""

Noise = Literal["exact", "multinomial"]
"""How the published counts come from the rows: the occurrences are known, or drawn with replacement and unknown."""


@dataclass(frozen=True, eq=False, repr=False)
class KnownValues:
    """Attributes whose value the adversary knows in every row (DRAFT, ICML 2024, appendix G).

    Attributes
    ----------
    attributes : tuple of int
        Positions among the domain's attributes.
    columns : tuple of int
        Their encoded columns.
    of_group : ndarray of float32, shape (n_groups, len(columns))
        What the rows of each group hold there.
    """

    attributes: tuple[int, ...]
    columns: tuple[int, ...]
    of_group: NDArray[np.float32]

    def __repr__(self) -> str:
        return f"KnownValues({len(self.attributes)} attributes, values not shown)"


@dataclass(frozen=True, eq=False, repr=False)
class KnownRows:
    """Rows that the adversary knows whole, with their labels.

    Attributes
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)
    weight : ndarray of int64, shape (n_trees, n_rows)
        How often each tree saw each row, as far as the adversary knows: ones where the occurrences are unknown.
    """

    rows: NDArray[np.float32]
    labels: IntArray
    weight: IntArray

    def __repr__(self) -> str:
        return f"KnownRows({len(self.rows)} rows, values not shown)"

    def at_leaves(self, tree: Tree, times: IntArray, n_classes: int) -> IntArray:
        """Return how often each leaf of a tree holds each class when each row is counted some times.

        Parameters
        ----------
        tree : Tree
        times : ndarray of int64, shape (n_rows,)
        n_classes : int

        Returns
        -------
        ndarray of int64, shape (n_leaves, n_classes)
        """
        table = np.zeros((len(tree.leaves), n_classes), dtype=np.int64)
        np.add.at(table, (leaf_positions(tree, np.ascontiguousarray(self.rows.T)), self.labels), times)
        return table


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Sets of exchangeable rows: nothing that the adversary knows tells the rows of a group apart.

    Attributes
    ----------
    of_row : ndarray of int64, shape (n_rows,)
        Group of each row that the adversary does not know whole.
    size : ndarray of int64, shape (n_groups,)
    weight : ndarray of int64, shape (n_trees, n_groups)
        How often each tree saw each row of a group.
    values : KnownValues or None
        What the adversary knows of each group's rows.
    known : KnownRows or None
        The rows that are in no group because the adversary knows them whole.
    noise : {"exact", "multinomial"}
        With unknown occurrences the weights are ones.
    """

    of_row: IntArray
    size: IntArray
    weight: IntArray
    values: KnownValues | None = None
    known: KnownRows | None = None
    noise: Noise = "exact"

    def __repr__(self) -> str:
        return f"Groups({self.n_rows} rows, {self.n_groups} groups, {self.values}, {self.known})"

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
        """Whether the occurrences tell some rows apart, so that a reconstruction has a row order."""
        return bool((self.weight != self.weight[:, :1]).any())


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


def split_by_values(
    groups: Groups, attributes: tuple[int, ...], columns: tuple[int, ...], values: NDArray[np.float32]
) -> Groups:
    """Return groups of rows that also agree in what the adversary knows of them.

    Parameters
    ----------
    groups : Groups
    attributes, columns : tuple of int
        As in `KnownValues`.
    values : ndarray of float32, shape (n_rows, len(columns))
        Each row's.

    Returns
    -------
    Groups
        Without bagging one for each combination of values.
    """
    (identity,) = row_identities(values)
    _, first, of_row, size = np.unique(
        groups.of_row * len(values) + identity, return_index=True, return_inverse=True, return_counts=True
    )
    return replace(
        groups,
        of_row=of_row.reshape(-1).astype(np.int64),
        size=size.astype(np.int64),
        weight=groups.weight[:, groups.of_row[first]],
        values=KnownValues(attributes, columns, values[first]),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """Sets of feature vectors that no tree tells apart. Each is a product of per-attribute value sets.

    Attributes
    ----------
    signature : ndarray of int32, shape (n_trees, n_cells)
        Position of the cell's leaf among each tree's leaves; -1 where a tree, which did not see the rows that can be of
        the cell, tells its vectors apart.
    n_vectors : ndarray of int64, shape (n_cells,)
        No more than 2**62.
    allowed : ndarray of bool, shape (n_cells, n_values)
        Which values of each attribute the cell holds; the attributes' values stand side by side, attribute
        ``a`` from ``offsets[a]``.
    offsets : ndarray of int64, shape (n_attributes + 1,)
    """

    signature: Int32Array
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


@dataclass(frozen=True, eq=False, repr=False)
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


@dataclass(frozen=True, eq=False, repr=False)
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
    known : tuple of ndarray of int64, each of shape (n_leaves of the tree, n_classes), or None
        How many rows that the adversary knows whole lie at each leaf, whatever trees saw them. With exact noise
        `counts` and `distinct` are what these rows leave.
    group, cell, label : ndarray of int64, shape (n_candidates,)
        The candidates: triples that domain reduction left possible.
    complete : bool
        Whether all that a row can be is among the candidates. Else nothing can be proved with them.
    start : ndarray of int64, shape (n_candidates,), or None
        Rows of each candidate in a dataset that is already known, where they are not complete.
    """

    domain: Domain
    cells: Cells
    groups: Groups
    counts: tuple[IntArray, ...]
    distinct: tuple[IntArray, ...] | None
    group: IntArray
    cell: IntArray
    label: IntArray
    known: tuple[IntArray, ...] | None = None
    complete: bool = True
    start: IntArray | None = None

    @property
    def n_candidates(self) -> int:
        """Number of candidates."""
        return len(self.group)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts[0].shape[1])

    @cached_property
    def pool(self) -> IntArray:
        """The pool of each candidate, shape (n_candidates,), ascending: rows of one pool can change places.

        A pool is a group; where there is one group only and every tree tells how many of its rows are of each class,
        it is a class, and the classes decouple.
        """
        return self.label if self._by_class else self.group

    @cached_property
    def pool_size(self) -> IntArray:
        """Rows of each pool, shape (n_pools,)."""
        return self.counts[0].sum(axis=0) // int(self.groups.weight[0, 0]) if self._by_class else self.groups.size

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


def leaf_positions(tree: Tree, columns: NDArray[np.float32]) -> Int32Array:
    """Return the leaf that each vector reaches, as a position among the tree's leaves.

    Parameters
    ----------
    tree : Tree
    columns : ndarray of float32, shape (n_columns, n_vectors)
        The vectors, column by column. A missing value (NaN) goes where its node sends it.

    Returns
    -------
    ndarray of int32, shape (n_vectors,)
    """
    children = np.stack([tree.right, tree.left], axis=1).ravel()
    position = np.cumsum(tree.left < 0) - 1
    node = np.zeros(columns.shape[1], dtype=np.int64)
    active = np.arange(columns.shape[1]) if tree.left[0] >= 0 else np.empty(0, dtype=np.int64)
    some_missing = bool(np.isnan(columns.min(initial=0)))
    while active.size:
        here = node[active]
        value = columns[tree.feature[here], active]
        left = value <= tree.threshold[here]
        if some_missing:
            left |= np.isnan(value) & tree.missing_left[here]
        here = children[2 * here + left]
        node[active] = here
        active = active[tree.left[here] >= 0]
    return position[node].astype(np.int32)


def build(forest: Forest, domain: Domain, groups: Groups, timebox: TimeBox, *, thresholds: bool = True) -> Problem:
    """Enumerate the domain, reduce it tree by tree, and merge equal signatures into cells.

    A vector is possible for a row of group ``g`` and class ``c`` only if every tree that saw the row has at
    least ``weight[t, g]`` draws of class ``c`` at the vector's leaf, after those of the known rows are taken off,
    and would not have split elsewhere with such a row (`pytest_draft.attack.gaps`); and only if it has the group's
    known values. Cells that differ in known attributes are kept apart, as if one more tree told their values; so a
    cell fixes all that is known. So are those that other trees exclude.

    Parameters
    ----------
    forest : Forest
        A classifier's forest with whole counts.
    domain : Domain
        Without numeric attributes or missing values.
    groups : Groups
    timebox : TimeBox
    thresholds : bool
        Whether thresholds exclude vectors, too.

    Returns
    -------
    Problem

    Raises
    ------
    NotCoveredError
        Where the domain is numeric, has missing values or is too large to enumerate, or too many candidates remain.
    InfeasibleError
        Where some row can be nothing that the domain allows, or the known rows alone exceed what was observed.
    OutOfTimeError
    """
    n_classes = forest.n_classes
    reason = too_large(domain, groups, n_classes)
    if reason is not None:
        raise NotCoveredError(reason)
    leaf_counts, distinct, known = observations(forest, groups)
    survivors = _Survivors(domain, groups, n_classes)
    gaps = gaps_of(forest, domain) if thresholds else (None,) * forest.n_trees
    most_unseen = forest.n_trees if groups.noise == "exact" else _most_unseen(leaf_counts, groups)
    for t, tree in enumerate(forest.trees):
        if timebox.over:
            raise OutOfTimeError
        if groups.noise == "exact":
            survivors.pass_tree(tree, leaf_counts[t], groups.weight[t], gaps[t])
        else:
            survivors.pass_drawn_tree(tree, leaf_counts[t], most_unseen, gaps[t])
    group, label, vector = survivors.candidates()
    if len(np.unique(group)) < groups.n_groups:
        raise InfeasibleError
    cells, of_vector = _merge(domain, survivors.columns.T, survivors.leaves, survivors.told_apart())
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
    return Problem(
        domain, cells, groups, leaf_counts, distinct, group_label // n_classes, cell, group_label % n_classes, known
    )


def too_large(domain: Domain, groups: Groups, n_classes: int) -> str | None:
    """Return why a domain is not enumerated; None where it is.

    Raises
    ------
    NotCoveredError
        Where an attribute is numeric.
    """
    n_vectors = _n_vectors(domain, groups.values)
    if n_vectors > MAX_VECTORS:
        return f"the domain allows {n_vectors:,} vectors, more than the {MAX_VECTORS:,} that are enumerated"
    if 8 * n_vectors * domain.n_columns > MAX_BYTES:
        return f"{n_vectors:,} vectors of {domain.n_columns:,} columns are too many to enumerate"
    needed = n_vectors / 8 * groups.n_groups * n_classes
    if needed > MAX_BYTES:
        return (
            f"{groups.n_groups:,} rows that the adversary tells apart x {n_vectors:,} vectors would take "
            f"{needed / 1024**3:.1f} GiB; so many rows are not covered yet"
        )
    return None


def observations(forest: Forest, groups: Groups) -> Observations:
    """Return what a forest publishes of the rows, leaf by leaf, and the known rows there.

    Raises
    ------
    InfeasibleError
        Where the known rows alone exceed what was observed.
    """
    counts = tuple(forest.counts(t)[tree.leaves] for t, tree in enumerate(forest.trees))
    distinct = None
    if forest.bootstrap or forest.row_times is not None:  # else each row counts once
        distinct = tuple(tree.n_distinct[tree.leaves] for tree in forest.trees)
    if groups.known is None:
        return counts, distinct, None
    known = _known_at_leaves(forest, groups.known)
    if groups.noise == "exact":
        counts, distinct = _without_known(forest, groups.known, counts, distinct)
    return counts, distinct, known


def _most_unseen(counts: tuple[IntArray, ...], groups: Groups) -> int:
    """Return in how many trees some row was not drawn at most, but for a chance of `_UNLIKELY` a row."""
    n_rows = groups.n_rows + (0 if groups.known is None else len(groups.known.rows))
    missed = (1 - 1 / n_rows) ** min(int(table.sum()) for table in counts)
    return int(stats.binom.isf(_UNLIKELY, len(counts), missed))


def _n_vectors(domain: Domain, values: KnownValues | None) -> int:
    """Return how many vectors `_vectors` gives."""
    if values is None:
        return domain.n_vectors
    return len(np.unique(values.of_group, axis=0)) * domain.restricted(_unknown(domain, values)).n_vectors


def _unknown(domain: Domain, values: KnownValues) -> list[int]:
    """Return the positions of the attributes that are not known."""
    return [a for a in range(len(domain.attributes)) if a not in values.attributes]


def _vectors(
    domain: Domain, values: KnownValues | None, n_groups: int
) -> tuple[NDArray[np.float32], IntArray, IntArray]:
    """Return the vectors that agree with some group's known values, and which combination of them each has.

    Returns
    -------
    vectors : ndarray of float32, shape (n_vectors, n_columns)
    combination : ndarray of int64, shape (n_vectors,)
        All 0 where nothing is known.
    of_group : ndarray of int64, shape (n_groups,)
        The combination of each group.
    """
    if values is None:
        vectors = domain.vectors()
        return vectors, np.zeros(len(vectors), dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    combinations, of_group = np.unique(values.of_group, axis=0, return_inverse=True)
    positions = _unknown(domain, values)
    unknown, columns = domain.restricted(positions), domain.columns_of(positions)
    vectors = np.empty((len(combinations), unknown.n_vectors, domain.n_columns), dtype=np.float32)
    vectors[:, :, columns] = unknown.vectors()
    vectors[:, :, list(values.columns)] = combinations[:, None]
    combination = np.repeat(np.arange(len(combinations)), unknown.n_vectors)
    return vectors.reshape(-1, domain.n_columns), combination, of_group.reshape(-1).astype(np.int64)


def _known_at_leaves(forest: Forest, known: KnownRows) -> tuple[IntArray, ...]:
    """Return how many known rows of each class lie at each leaf of each tree."""
    once = np.ones(len(known.rows), dtype=np.int64)
    return tuple(known.at_leaves(tree, once, forest.n_classes) for tree in forest.trees)


def _without_known(
    forest: Forest, known: KnownRows, counts: tuple[IntArray, ...], distinct: tuple[IntArray, ...] | None
) -> tuple[tuple[IntArray, ...], tuple[IntArray, ...] | None]:
    """Return counts and distinct rows after those of the known rows are taken off."""
    seen = [known.at_leaves(tree, known.weight[t], forest.n_classes) for t, tree in enumerate(forest.trees)]
    counts = tuple(whole - part for whole, part in zip(counts, seen, strict=True))
    if distinct is not None:
        once = [
            known.at_leaves(tree, (known.weight[t] > 0).astype(np.int64), forest.n_classes).sum(axis=1)
            for t, tree in enumerate(forest.trees)
        ]
        distinct = tuple(whole - part for whole, part in zip(distinct, once, strict=True))
    if any((left < 0).any() for left in (*counts, *(distinct or ()))):
        raise InfeasibleError
    return counts, distinct


class _Survivors:
    """The vectors that some group can still hold, while trees are passed one by one."""

    def __init__(self, domain: Domain, groups: Groups, n_classes: int) -> None:
        vectors, self.combination, of_group = _vectors(domain, groups.values, groups.n_groups)
        self.columns = np.ascontiguousarray(vectors.T)
        self.leaves: list[Int32Array] = []
        self.crossed: list[BoolArray] = []
        self.unseen = np.zeros((n_classes, len(vectors)), dtype=np.uint16)
        agree = np.stack([np.packbits(self.combination == known) for known in range(int(of_group.max()) + 1)])
        self.alive = np.repeat(agree[of_group][:, None], n_classes, axis=1)  # bits over vectors

    def pass_tree(self, tree: Tree, counts: IntArray, weight: IntArray, gap: Gap | None) -> None:
        """Strike out what the tree's leaves and thresholds exclude."""
        leaf = self._leaf(tree)
        here = counts[leaf].T
        if gap is not None:
            here = np.where(self._crossed(tree, gap), 0, here)
        for times in np.unique(weight[weight > 0]):
            enough = np.packbits(here >= times, axis=1)
            members = weight == times
            if members.all():
                self.alive &= enough
            else:
                self.alive[members] &= enough
        self._compact()

    def pass_drawn_tree(self, tree: Tree, counts: IntArray, most_unseen: int, gap: Gap | None) -> None:
        """Strike out what would have been missed by the draws of too many trees."""
        leaf = self._leaf(tree)
        unseen = (counts[leaf] == 0).T
        if gap is not None:
            unseen = unseen | self._crossed(tree, gap)
        self.unseen += unseen
        self.alive &= np.packbits(self.unseen <= most_unseen, axis=1)
        self._compact()

    def _crossed(self, tree: Tree, gap: Gap) -> BoolArray:
        """Return which vectors the tree's thresholds exclude, and keep that."""
        crossed = gap.crossed(tree, self.columns)
        if crossed.any() and not crossed.all():
            self.crossed.append(crossed)
        return crossed

    def _leaf(self, tree: Tree) -> Int32Array:
        """Return the leaf of each vector, and keep it."""
        leaf = leaf_positions(tree, self.columns)
        self.leaves.append(leaf)
        if 8 * len(self.leaves) * len(leaf) > MAX_BYTES:
            raise NotCoveredError(
                f"the leaves of {len(leaf):,} vectors in {len(self.leaves):,} trees take too much memory; "
                "larger domains are not covered yet"
            )
        return leaf

    def _compact(self) -> None:
        n_vectors = self.columns.shape[1]
        if not n_vectors:
            return
        some = np.unpackbits(np.bitwise_or.reduce(self.alive, axis=(0, 1)), count=n_vectors).astype(bool)
        if some.mean() >= _COMPACT_BELOW:
            return
        self.columns = np.ascontiguousarray(self.columns[:, some])
        self.leaves = [leaf[some] for leaf in self.leaves]
        self.crossed = [crossed[some] for crossed in self.crossed]
        self.combination = self.combination[some]
        self.unseen = self.unseen[:, some]
        self.alive = _only_bits(self.alive, np.flatnonzero(some))

    def told_apart(self) -> IntArray:
        """Return a number for each vector: other ones where known values, or the trees that exclude it, are others."""
        if not self.crossed:
            return self.combination
        marks = np.stack([self.combination.astype(np.int32), *(crossed.astype(np.int32) for crossed in self.crossed)])
        return equal_columns(marks)[1]

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


@njit(cache=True, nogil=True)
def _only_bits(table: NDArray[np.uint8], kept: IntArray) -> NDArray[np.uint8]:
    """Return some of the packed bits of the last axis; unpacked, the table would be eight times larger."""
    result = np.zeros((*table.shape[:2], (len(kept) + 7) // 8), dtype=np.uint8)
    byte, shift = (kept >> 3).astype(np.int32), (7 - (kept & 7)).astype(np.int32)
    for g in range(table.shape[0]):
        for c in range(table.shape[1]):
            bits, packed = table[g, c], result[g, c]
            for last in range(0, len(kept), 8):
                eight = 0
                for place in range(last, min(last + 8, len(kept))):
                    eight |= ((bits[byte[place]] >> shift[place]) & 1) << (7 - (place - last))
                packed[last >> 3] = eight
    return result


def _merge(
    domain: Domain, vectors: NDArray[np.float32], leaves: list[Int32Array], told_apart: IntArray
) -> tuple[Cells, IntArray]:
    """Return the cells, and the cell of each vector; vectors with other numbers are never in one cell."""
    signature = np.stack([*leaves, told_apart.astype(np.int32)])
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
