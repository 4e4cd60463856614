"""Small domains: enumerates all vectors and builds a `Problem` from forest, domain and groups.

Enumeration and domain reduction are one pass over the trees, so that a vector that no group can hold any more costs
nothing in the trees that follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.attack.best_splits import midpoints_of, partners
from pytest_draft.attack.counts.kinds import Kinds
from pytest_draft.attack.descent import Passing, descend, leaf_positions
from pytest_draft.attack.filling import prior_mass
from pytest_draft.attack.groups import Groups, KnownValues
from pytest_draft.attack.observations import observations
from pytest_draft.attack.problem import Problem, equal_columns, merged_cells
from pytest_draft.domain import Domain
from pytest_draft.errors import InfeasibleError, NotCoveredError, OutOfTimeError
from pytest_draft.timebox import TimeBox

MAX_VECTORS = 4_000_000
"""Largest domain that is enumerated."""

MAX_BYTES = 1024**3
"""Most memory that the table of what each group can be may take."""

MAX_CANDIDATES = 3_000_000
"""Most (group, cell, class) triples of which all are listed."""

LISTED_CANDIDATES = 1_000_000
"""About how many are listed where there are more: of each group the likeliest by the histogram."""

MAX_COEFFICIENTS = 300_000_000
"""Most coefficients of the equations, where all are listed."""

_HISTOGRAM_SHARE = 0.2
"""Share of the time that is left after which that histogram must be there."""

_PRIOR_SHARE = 0.1
"""How much of it is the prior."""

_UNLIKELY = 1e-9
"""Chance, for one row, of not being drawn in more trees than the limit that follows from it allows."""

_COMPACT_BELOW = 0.7
"""Share of vectors still possible below which the others are dropped from memory: copying costs, too."""


_SLACK = 1e-6
"""Relative difference up to which a midpoint is one: a wide margin for rounding, which can only exclude less."""


@dataclass(frozen=True, eq=False, repr=False)
class Gap:
    """Of each node of a tree, the open interval of its column that holds no value of the node's rows.

    A best split's threshold is the midpoint of the two values next to it. Of a code book only some pairs of values have
    that midpoint, and no row of the node lies inside the narrowest of them.
    """

    low: FloatArray
    high: FloatArray
    """`low` and `high`, shape (n_nodes,): infinite and empty where nothing is excluded."""

    def crossed(self, tree: Tree, columns: NDArray[np.float32]) -> BoolArray:
        """Return which vectors some node on their way excludes.

        Parameters
        ----------
        columns : ndarray of float32, shape (n_columns, n_vectors)

        Returns
        -------
        ndarray of bool, shape (n_vectors,)
        """
        found = np.zeros(columns.shape[1], dtype=np.bool_)

        def watch(level: Passing) -> None:
            found[level.vector] |= (level.value > self.low[level.node]) & (level.value < self.high[level.node])

        descend(tree, columns, watch)
        return found


def gaps_of(forest: Forest, domain: Domain) -> tuple[Gap | None, ...]:
    """Return what each tree excludes; None for a tree that excludes nothing.

    Parameters
    ----------
    domain : Domain
        Without numeric attributes or missing values.
    """
    books = {
        attribute.columns[0]: attribute.book.astype(np.float32).astype(np.float64)
        for attribute in domain.attributes
        if attribute.kind == "ordinal" and attribute.n_values > 2
    }
    return tuple(_gap(tree, here, books) for tree, here in zip(forest.trees, midpoints_of(forest), strict=True))


def _gap(tree: Tree, is_midpoint: BoolArray, books: dict[int, FloatArray]) -> Gap | None:
    gap = Gap(np.full(tree.n_nodes, np.inf), np.full(tree.n_nodes, -np.inf))
    for column in np.unique(tree.feature[is_midpoint]).tolist():
        if column in books:
            for node in np.flatnonzero(is_midpoint & (tree.feature == column)).tolist():
                gap.low[node], gap.high[node] = _narrowest(books[column], float(tree.threshold[node]))
    return gap if np.isfinite(gap.low).any() else None


def _narrowest(book: FloatArray, threshold: float) -> tuple[float, float]:
    """Return the narrowest pair of a book's values with a midpoint; an empty interval where nothing lies inside."""
    place = int(np.searchsorted(book, threshold, side="right"))
    below, above = book[:place][::-1], book[place:]
    slack = _SLACK * max(1.0, abs(threshold), float(np.abs(book[[0, -1]]).max()))
    if not len(below) or not len(above):
        return np.inf, -np.inf
    partner, fits = partners(below, above, threshold, slack)
    if not fits.any():  # no row of the domain explains this threshold
        return np.inf, -np.inf
    nearest = int(np.argmax(fits))
    if nearest == 0 and partner[0] == 0:
        return np.inf, -np.inf
    return float(below[nearest]), float(above[partner[nearest]])


def parted_at_gaps(forest: Forest, domain: Domain) -> Forest:
    """Return a forest in which the rows in each gap have a leaf of their own, which holds no draws.

    So no row that was drawn for a tree lies in a gap of it, and one that was not may.

    Parameters
    ----------
    forest : Forest
        With counts of draws.
    domain : Domain
        Without missing values.
    """
    trees = zip(forest.trees, gaps_of(forest, domain), strict=True)
    return replace(forest, trees=tuple(tree if gap is None else _parted(tree, gap) for tree, gap in trees))


def _parted(tree: Tree, gap: Gap) -> Tree:
    """Return a tree with two more nodes behind each with a gap: a test of the gap's other end, and the empty leaf."""
    has_gap = np.isfinite(gap.low)
    times = np.where(has_gap, 3, 1)
    of_node, place = np.repeat(np.arange(tree.n_nodes), times), np.cumsum(times) - times
    first = place[has_gap]
    test, leaf = first + 1, first + 2
    left, right = (np.where(child < 0, -1, place[child])[of_node] for child in (tree.left, tree.right))
    right[first], left[test], left[leaf], right[leaf] = test, leaf, -1, -1
    threshold, feature = tree.threshold[of_node], tree.feature[of_node]
    threshold[first], threshold[test] = gap.low[has_gap], np.nextafter(gap.high[has_gap], -np.inf)
    feature[leaf] = -1
    held = np.array(of_node)
    held[test] = tree.right[has_gap]  # what a test's rows are, as none lies in the gap
    value, weight, n_distinct = tree.value[held], tree.weight[held], tree.n_distinct[held]
    value[leaf], weight[leaf], n_distinct[leaf] = 0, 0, 0
    return replace(
        tree,
        left=left,
        right=right,
        feature=feature,
        threshold=threshold,
        missing_left=tree.missing_left[of_node],
        value=value,
        weight=weight,
        n_distinct=n_distinct,
        impurity=None,
        no_midpoint=None if tree.no_midpoint is None else tree.no_midpoint[of_node],
    )


def build(forest: Forest, domain: Domain, groups: Groups, timebox: TimeBox, *, thresholds: bool = True) -> Problem:
    """Enumerate the domain, reduce it tree by tree, and merge equal signatures into cells.

    A vector is possible for a row of group ``g`` and class ``c`` only if every tree that saw the row has at
    least ``weight[t, g]`` draws of class ``c`` at the vector's leaf, after those of the known rows are taken off,
    and would not have split elsewhere with such a row (`Gap`); and only if it has the group's known values.
    Cells that differ in known attributes are kept apart, as if one more tree tested them; so a cell fixes all that is
    known. So are those that other trees exclude.

    Parameters
    ----------
    forest : Forest
        A classifier's forest with whole counts.
    domain : Domain
        Without numeric attributes or missing values.
    thresholds : bool
        Whether thresholds exclude vectors, too.

    Raises
    ------
    NotCoveredError
        Where the domain is numeric, has missing values or is too large to enumerate.
    TooManyError
        Where too many candidates remain, and rows are not told apart by occurrences that are known. Where they are,
        the likeliest of each row are listed, and the problem is not complete.
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
    for t, tree in enumerate(forest.trees):
        if timebox.over:
            raise OutOfTimeError
        survivors.pass_tree(tree, leaf_counts[t], groups.weight[t], gaps[t])
    cells, of_vector = merged_cells(domain, survivors.columns.T, survivors.leaves, survivors.kept_apart())
    _, first = np.unique(of_vector, return_index=True)  # all vectors of a cell are possible for the same rows
    alive = _only_bits(survivors.alive, first.astype(np.int64))
    number = np.array([np.unpackbits(bits).sum() for bits in alive], dtype=np.int64)
    if (number == 0).any():
        raise InfeasibleError

    def problem_of(groups: Groups, group: IntArray, label: IntArray, cell: IntArray) -> Problem:
        return Problem(domain, cells, groups, leaf_counts, distinct, group, cell, label, known)

    most = min(MAX_CANDIDATES, MAX_COEFFICIENTS // (forest.n_trees * (2 if forest.draws.drawn else 1) + 1))
    if number.sum() <= most:
        return problem_of(groups, *_listed(alive, cells.n_cells))
    if groups.n_groups == 1 or distinct is None:
        raise TooManyError(
            f"{number.sum():,} ways to place rows in cells remain, more than the {most:,} that are listed"
        )
    together = Groups(
        np.zeros(groups.n_rows, dtype=np.int64),
        np.array([groups.n_rows], dtype=np.int64),
        np.ones((forest.n_trees, 1), dtype=np.int64),
        draws_known=False,
    )
    _, label, cell = _listed(np.bitwise_or.reduce(alive, axis=0, keepdims=True), cells.n_cells)
    loose = replace(problem_of(together, np.zeros_like(cell), label, cell), known=None)
    score = np.zeros((n_classes, cells.n_cells))
    score[label, cell] = _histogram(loose, timebox)
    per_group = max(1, min(LISTED_CANDIDATES, most) // groups.n_groups)
    return replace(problem_of(groups, *_listed(alive, cells.n_cells, score, per_group)), complete=False)


class TooManyError(NotCoveredError):
    """Of a domain that can be enumerated too much is left, and nothing says what is likeliest for which row."""


def _histogram(loose: Problem, timebox: TimeBox) -> FloatArray:
    """Return how likely each candidate is for any row, by the counts and a prior."""
    prior, kinds = prior_mass(loose), Kinds.of(loose)
    prior /= prior.sum()
    likely = kinds.likely(kinds.of_each(prior), timebox.part(_HISTOGRAM_SHARE))[kinds.of_candidate]
    result: FloatArray = (1 - _PRIOR_SHARE) * likely + _PRIOR_SHARE * prior
    return result


def _listed(
    alive: NDArray[np.uint8], n_cells: int, score: FloatArray | None = None, most: int = 0
) -> tuple[IntArray, IntArray, IntArray]:
    """Return (group, label, cell) of all that is possible; with a score, of each group the `most` best."""
    found = []
    for g, bits in enumerate(alive):
        label, cell = np.nonzero(np.unpackbits(bits, axis=1, count=n_cells))
        if score is not None and len(cell) > most:
            best = np.sort(np.argpartition(-score[label, cell], most)[:most])
            label, cell = label[best], cell[best]
        found.append(np.stack([np.full(len(label), g), label, cell]))
    group, label, cell = np.concatenate(found, axis=1)
    return group, label, cell


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


class _Survivors:
    """The vectors that some group can still hold, while trees are passed one by one."""

    def __init__(self, domain: Domain, groups: Groups, n_classes: int) -> None:
        vectors, self.combination, of_group = _vectors(domain, groups.values, groups.n_groups)
        self.columns = np.ascontiguousarray(vectors.T)
        self.leaves: list[Int32Array] = []
        self.crossed: list[BoolArray] = []
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
        self.alive = _only_bits(self.alive, np.flatnonzero(some))

    def kept_apart(self) -> IntArray:
        """Return a number for each vector: other ones where known values, or the trees that exclude it, are others."""
        if not self.crossed:
            return self.combination
        marks = np.stack([self.combination.astype(np.int32), *(crossed.astype(np.int32) for crossed in self.crossed)])
        return equal_columns(marks)[1]


def _only_bits(table: NDArray[np.uint8], kept: IntArray) -> NDArray[np.uint8]:
    """Return some of the packed bits of the last axis, group by group: the whole, unpacked, is eight times larger."""
    return np.stack([np.packbits(np.unpackbits(bits, axis=1)[:, kept], axis=1) for bits in table])
