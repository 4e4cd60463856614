"""Groups of exchangeable rows, which neither occurrences nor side knowledge distinguishes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest import Tree
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.matching import row_identities


@dataclass(frozen=True, eq=False, repr=False)
class KnownValues:
    """Attributes whose value the adversary knows in every row (DRAFT, ICML 2024, appendix G)."""

    attributes: tuple[int, ...]
    """Positions among the domain's attributes."""
    columns: tuple[int, ...]
    """Their encoded columns."""
    of_group: NDArray[np.float32]
    """Shape (n_groups, len(columns)). What the rows of each group hold there."""


@dataclass(frozen=True, eq=False, repr=False)
class KnownRows:
    """Rows that the adversary knows whole, with their labels."""

    rows: NDArray[np.float32]
    """Shape (n_rows, n_columns)."""
    labels: IntArray
    """Shape (n_rows,)."""
    weight: IntArray
    """Shape (n_trees, n_rows). How often each tree saw each row, as far as the adversary knows: ones where the
    occurrences are unknown.
    """

    def at_leaves(self, tree: Tree, times: IntArray, n_classes: int) -> IntArray:
        """Return how often each leaf of a tree holds each class when each row is counted some times.

        Parameters
        ----------
        times : ndarray of int64, shape (n_rows,)

        Returns
        -------
        ndarray of int64, shape (n_leaves, n_classes)
        """
        table = np.zeros((len(tree.leaves), n_classes), dtype=np.int64)
        np.add.at(table, (leaf_positions(tree, np.ascontiguousarray(self.rows.T)), self.labels), times)
        return table


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Sets of exchangeable rows: nothing that the adversary knows tells the rows of a group apart."""

    of_row: IntArray
    """Shape (n_rows,). Group of each row that the adversary does not know whole."""
    size: IntArray
    """Shape (n_groups,)."""
    weight: IntArray
    """Shape (n_trees, n_groups). How often each tree saw each row of a group."""
    values: KnownValues | None = None
    """What the adversary knows of each group's rows."""
    known: KnownRows | None = None
    """The rows that are in no group because the adversary knows them whole."""
    draws_known: bool = True
    """Whether it is known how often each tree saw each row; else rows were drawn with replacement; weights are 1."""

    def __post_init__(self) -> None:
        # one order in memory: numba compiles each function once more for any other
        object.__setattr__(self, "weight", np.ascontiguousarray(self.weight))

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
    """Return rows grouped by how often each tree saw them.

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
    weight, of_row, size = _equal_columns(occurrences)
    return Groups(of_row, size, weight)


def _equal_columns(numbers: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the different columns in the order of their numbers, which of them each column is, and how often each is.

    Numbers are not negative, and columns are compared as strings of bytes, which have the same order: ``np.unique``
    with an axis compares number by number, with several copies of 8 bytes each.
    """
    kind = np.min_scalar_type(int(numbers.max(initial=0))).newbyteorder(">")
    columns = np.ascontiguousarray(numbers.astype(kind).T)
    as_one = columns.view(np.dtype((np.void, columns.shape[1] * kind.itemsize))).reshape(-1)
    different, of_column, size = np.unique(as_one, return_inverse=True, return_counts=True)
    table = different.view(kind).reshape(len(different), -1).T
    return table.astype(np.int64, order="C"), of_column.reshape(-1).astype(np.int64), size.astype(np.int64)


def split_by_values(
    groups: Groups, attributes: tuple[int, ...], columns: tuple[int, ...], values: NDArray[np.float32]
) -> Groups:
    """Return groups of rows that also agree in what the adversary knows of them.

    Parameters
    ----------
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
