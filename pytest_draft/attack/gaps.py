"""Gaps: intervals of values that no row of a node can hold, because its threshold lies midway between two values.

A best split's threshold is the midpoint of the two values of its column next to it among the node's rows. Of a code
book only some pairs of values have that midpoint, and no row of the node lies inside the narrowest of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.attack.best_splits import midpoints_of, partners
from pytest_draft.attack.descent import Passing, descend
from pytest_draft.domain import Domain

_SLACK = 1e-6
"""Relative difference up to which a midpoint is one: a wide margin for rounding, which can only exclude less."""


@dataclass(frozen=True, eq=False, repr=False)
class Gap:
    """Of each node of a tree, the open interval of its column that holds no value of the node's rows."""

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
