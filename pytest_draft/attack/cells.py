"""Cells: vectors that no tree distinguishes, because they reach the same leaves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, Int32Array, IntArray
from pytest_draft.domain import Domain


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
