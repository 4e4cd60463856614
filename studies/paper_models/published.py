"""What the papers' row-based models start from: in go a forest and a domain, out come counts and conditions by node.

Each column of a row becomes a whole number, the position of its value among those that the domain allows; a numeric
column takes one value for each interval between its splits (DRAFT, ICML 2024, appendix D). Nothing here is shared
with the groups x cells engine, so that the two can be tested against each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.domain import Attribute, Domain
from pytest_draft.errors import DataError, NotCoveredError

ModelStatus = Literal["optimal", "feasible", "infeasible", "no solution"]

MAX_VARIABLES = 20_000_000
"""Most variables that a row-based model may have; CP-SAT's Python wrapper ends at models of 2 GB (appendix F)."""


@dataclass(frozen=True, eq=False, repr=False)
class ModelDataset:
    """A whole dataset. Its repr shows no row."""

    rows: Rows
    """Shape (n_rows, n_columns). Encoded feature vectors."""
    labels: IntArray
    """Shape (n_rows,). Indices into the forest's classes."""

    def __repr__(self) -> str:
        return f"<ModelDataset: {len(self.rows)} rows>"


@dataclass(frozen=True, eq=False, repr=False)
class ModelOutcome:
    """What a model of the papers found. Its repr shows no row."""

    status: ModelStatus
    """``optimal``: no dataset of the model has a larger objective; ``feasible``: a dataset, the time was out before it
    was proved optimal; ``infeasible``: the model has no dataset; ``no solution``: none was found in time.
    """
    dataset: ModelDataset | None = None
    occurrences: IntArray | None = None
    """Shape (n_trees, n_rows). How often each tree saw each row."""
    objective: float | None = None
    bound: float | None = None
    """`objective` and `bound`: the log-likelihood of the occurrences (section 6), and what no dataset of the model
    exceeds.
    """
    residual: int | None = None
    """Sum of absolute differences between the published leaf counts and those of a recount without any solver."""

    def __repr__(self) -> str:
        return f"<ModelOutcome: {self.status}, objective {self.objective}, residual {self.residual}>"


@dataclass(frozen=True, eq=False, repr=False)
class Conditions:
    """One tree: how many rows of each class are published for its nodes, and what leads a row to them."""

    tree: Tree
    counts: IntArray
    """Shape (n_nodes, n_classes). n_tvc; with bagging, of draws."""
    n_left: IntArray
    """Shape (n_nodes,). How many of a column's values go left; 0 at leaves."""
    low: IntArray
    high: IntArray
    """`low` and `high`, shape (n_nodes, n_columns): first and last position of each column's values that lead to a
    node; low > high where none does.
    """


@dataclass(frozen=True, eq=False, repr=False)
class RowModelInput:
    """A forest and a domain as the row-based models need them."""

    values: tuple[NDArray[np.float32], ...]
    """By column, ascending: what a row can hold."""
    one_hot: tuple[tuple[int, ...], ...]
    """Columns of each one-hot group (``vects`` in the paper)."""
    trees: tuple[Conditions, ...]
    n_classes: int

    @classmethod
    def of(cls, forest: Forest, domain: Domain) -> RowModelInput:
        """Return what a forest publishes, over a domain.

        Raises
        ------
        DataError
            Where the domain is not that of the forest's columns.
        NotCoveredError
            Where weights have scaled the counts and cannot be undone.
        """
        if domain.n_columns != forest.n_features:
            raise DataError(
                f"the domain has {domain.n_columns} columns, the forest {forest.n_features}: correct the domain"
            )
        if any(attribute.dropped for attribute in domain.attributes):
            raise NotCoveredError("the papers' models know no one-hot group whose first level was dropped")
        values: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * domain.n_columns
        for attribute in domain.attributes:
            for column in attribute.columns:
                values[column] = _values_of(attribute, column, forest)
        one_hot = tuple(attribute.columns for attribute in domain.attributes if attribute.kind == "one-hot")
        trees = tuple(_conditions(tree, forest.counts(t), values) for t, tree in enumerate(forest.trees))
        return cls(tuple(values), one_hot, trees, forest.n_classes)

    @classmethod
    def without_bagging(cls, forest: Forest, domain: Domain) -> RowModelInput:
        """Return what a forest publishes whose trees all saw every row once.

        Raises
        ------
        NotCoveredError
            With bagging; and as `of`.
        """
        if forest.draws.drawn:
            raise NotCoveredError(
                "this model of the papers is without bagging, but each tree of this forest saw a sample of its own; "
                "use the model with bagging"
            )
        return cls.of(forest, domain)

    @property
    def root_labels(self) -> IntArray:
        """The class of each row, class by class, as the first tree's root counts them; for forests without bagging."""
        return np.repeat(np.arange(self.n_classes), self.trees[0].counts[0])

    @property
    def n_columns(self) -> int:
        """Number of encoded columns."""
        return len(self.values)

    def require_size(self, n_rows: int, per_node: int) -> None:
        """Refuse a model of too many variables, `per_node` for each row and node, and one without rows."""
        if n_rows < 1:
            raise DataError(f"a dataset needs at least one row, not {n_rows}")
        needed = n_rows * per_node * sum(len(tree.counts) for tree in self.trees)
        if needed > MAX_VARIABLES:
            raise NotCoveredError(
                f"a row-based model of {n_rows:,} rows needs about {needed:,} variables, more than {MAX_VARIABLES:,}; "
                "use the engine instead"
            )

    def decoded(self, positions: IntArray) -> Rows:
        """Return encoded rows, shape (n_rows, n_columns), of positions of the same shape."""
        return np.stack([values[positions[:, i]] for i, values in enumerate(self.values)], axis=1)

    def positions(self, rows: Rows) -> IntArray:
        """Return the position of each value of encoded rows; numeric ones by interval.

        Parameters
        ----------
        rows : ndarray of float32, shape (n_rows, n_columns)

        Returns
        -------
        ndarray of int64, shape (n_rows, n_columns)
        """
        found = np.empty(rows.shape, np.int64)
        for i, values in enumerate(self.values):
            found[:, i] = np.abs(rows[:, i, None] - values).argmin(axis=1)
        return found


def recounted(tree: Tree, rows: Rows, labels: IntArray, times: IntArray, n_classes: int) -> IntArray:
    """Return how many rows of each class reach each node, each row counted as often as the tree saw it.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)
    times : ndarray of int64, shape (n_rows,)

    Returns
    -------
    ndarray of int64, shape (n_nodes, n_classes)
    """
    return reached(tree, rows) @ (np.eye(n_classes, dtype=np.int64)[labels] * times[:, None])


def reached(tree: Tree, rows: Rows) -> BoolArray:
    """Return which rows pass each node, shape (n_nodes, n_rows)."""
    found = np.zeros((tree.n_nodes, len(rows)), dtype=bool)
    found[0] = True
    for v in np.flatnonzero(tree.left >= 0):
        left = rows[:, tree.feature[v]] <= tree.threshold[v]
        found[tree.left[v]], found[tree.right[v]] = found[v] & left, found[v] & ~left
    return found


def residual_of(forest: Forest, dataset: ModelDataset, occurrences: IntArray) -> int:
    """Return the sum of absolute differences between published and recounted leaf counts.

    Parameters
    ----------
    occurrences : ndarray of int64, shape (n_trees, n_rows)
    """
    missed = 0
    for t, tree in enumerate(forest.trees):
        counts = recounted(tree, dataset.rows, dataset.labels, occurrences[t], forest.n_classes)
        missed += int(np.abs(counts - forest.counts(t))[tree.leaves].sum())
    return missed


def _values_of(attribute: Attribute, column: int, forest: Forest) -> NDArray[np.float32]:
    """Return what one encoded column can hold, ascending."""
    if attribute.kind == "one-hot":
        return np.array([0, 1], np.float32)
    if attribute.missing or attribute.kind != "numeric":  # `n_values` refuses missing values
        return attribute.encoded(np.arange(attribute.n_values)).ravel()
    splits = np.concatenate([tree.threshold[tree.feature == column] for tree in forest.trees])
    inside = np.unique(splits[(splits >= attribute.low) & (splits < attribute.high)])
    return _middles(np.concatenate([[attribute.low], inside, [attribute.high]]))


def _middles(edges: FloatArray) -> NDArray[np.float32]:
    """Return a float32 value of each interval of (edge, next edge], the first one closed, that holds any."""
    above, most = edges[:-1].copy(), edges[1:]
    above[0] = np.nextafter(above[0], -np.inf)
    middle = ((edges[:-1] + edges[1:]) / 2).astype(np.float32)
    middle = np.where(middle > most, np.nextafter(middle, np.float32(-np.inf)), middle)
    middle = np.where(middle <= above, np.nextafter(middle, np.float32(np.inf)), middle)
    held: NDArray[np.float32] = middle[(middle > above) & (middle <= most)]
    return held


def _conditions(tree: Tree, counts: IntArray, values: list[NDArray[np.float32]]) -> Conditions:
    """Return the counts of one tree's nodes, and the values that lead to them."""
    n_left = np.zeros(tree.n_nodes, np.int64)
    low = np.zeros((tree.n_nodes, len(values)), np.int64)
    high = np.tile([len(column) - 1 for column in values], (tree.n_nodes, 1))
    for v in np.flatnonzero(tree.left >= 0):
        left, right, i = tree.left[v], tree.right[v], tree.feature[v]
        n_left[v] = np.count_nonzero(values[i] <= tree.threshold[v])
        low[[left, right]], high[[left, right]] = low[v], high[v]
        high[left, i] = min(high[v, i], n_left[v] - 1)
        low[right, i] = max(low[v, i], n_left[v])
    return Conditions(tree, counts, n_left, low, high)
