"""All datasets that explain a small forest, by enumeration: in goes an instance, out come the datasets row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_draft.artifact.forest import Tree
from pytest_draft.domain import Domain
from studies.agreement_instances import Instance, IntArray
from studies.paper_models.published import ModelDataset, reached

MOST_STEPS = 200_000
"""Rows that are placed before an enumeration is given up, and another instance is drawn."""


class TooManyError(Exception):
    """Enumeration would take too many steps."""


@dataclass(frozen=True, eq=False, repr=False)
class Enumeration:
    """The equations of one instance over (vector, class) pairs, row by row."""

    vectors: NDArray[np.float32]
    """Shape (n_vectors, n_columns)."""
    adds: IntArray
    """Shape (n_rows, n_pairs, n_equations). What each row would add to the counts as each pair; pair ``vector *
    n_classes + class``.
    """
    observed: IntArray
    """Shape (n_equations,)."""
    group: IntArray
    """Shape (n_rows,). Ascending; rows of one group can change places."""
    excluded: NDArray[np.bool_]
    """Shape (n_trees, n_pairs). Whether some threshold of a tree contradicts that a row which it saw is a pair."""
    possible: NDArray[np.bool_]
    """Shape (n_rows, n_pairs). Whether no threshold contradicts that a row is a pair."""
    order: IntArray
    """Shape (n_rows,). The instance's row of each row here."""
    n_classes: int

    @classmethod
    def of(cls, instance: Instance, *, distinct: bool, thresholds: bool = False) -> Enumeration:
        """Return the equations for known occurrences; with the distinct rows of each leaf, or without.

        With `thresholds`, no row is possible that lies between the values which a midpoint lies between.
        """
        forest, vectors = instance.forest, instance.domain.vectors()
        group = np.unique(instance.occurrences, axis=1, return_inverse=True)[1].reshape(-1)
        order = np.argsort(group, kind="stable")
        n_classes = forest.n_classes
        of_class = np.eye(n_classes, dtype=np.int64)
        adds, observed = [], []
        excluded = np.zeros((forest.n_trees, len(vectors) * n_classes), dtype=np.bool_)
        for t, tree in enumerate(forest.trees):
            leaf = reached(tree, vectors)[tree.leaves].T.astype(np.int64)
            pairs = np.einsum("vl,cd->vcld", leaf, of_class).reshape(len(vectors) * n_classes, -1)
            times = instance.occurrences[t][order][:, None, None]
            adds.append(times * pairs)
            observed.append(forest.counts(t)[tree.leaves].ravel())
            if distinct:
                adds.append((times > 0) * np.repeat(leaf, n_classes, axis=0))
                observed.append(tree.n_distinct[tree.leaves])
            if thresholds and forest.kind.startswith("RandomForest"):
                excluded[t] = np.repeat(_excluded(tree, instance.domain, vectors), n_classes)
        possible = ~((instance.occurrences[:, order] > 0).T.astype(np.int64) @ excluded).astype(np.bool_)
        adds_of_all, counted = np.concatenate(adds, axis=2), np.concatenate(observed)
        return cls(vectors, adds_of_all, counted, group[order], excluded, possible, order, n_classes)

    def datasets(self, most_steps: int = MOST_STEPS) -> IntArray:
        """Return every dataset that meets the equations: the pair of each row, shape (n_datasets, n_rows).

        Parameters
        ----------
        most_steps : int
            Rows that are placed before it is given up.

        Raises
        ------
        TooManyError
        """
        found: list[list[int]] = []
        chosen: list[int] = []
        steps = 0

        def place(left: IntArray) -> None:
            nonlocal steps
            k = len(chosen)
            if k == len(self.group):
                if not left.any():
                    found.append(chosen.copy())
                return
            first = chosen[-1] if k and self.group[k] == self.group[k - 1] else 0
            fits = (self.adds[k, first:] <= left).all(axis=1) & self.possible[k, first:]
            for pair in (first + np.flatnonzero(fits)).tolist():
                steps += 1
                if steps > most_steps:
                    raise TooManyError
                chosen.append(pair)
                place(left - self.adds[k, pair])
                chosen.pop()

        place(self.observed)
        return np.array(found, dtype=np.int64).reshape(len(found), len(self.group))

    def position(self, dataset: ModelDataset) -> IntArray:
        """Return a dataset in the form of `datasets`, shape (n_rows,)."""
        rows, labels = dataset.rows[self.order], dataset.labels[self.order]
        same = (rows[:, None] == self.vectors).all(axis=2)
        pair = np.where(same.any(axis=1), same.argmax(axis=1) * self.n_classes + labels, -1)
        return pair[np.lexsort((pair, self.group))]


def _excluded(tree: Tree, domain: Domain, vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which vectors lie strictly inside each pair of values whose midpoint is some threshold on their way."""
    excluded = np.zeros(len(vectors), dtype=np.bool_)
    through = reached(tree, vectors)
    for attribute in domain.attributes:
        if attribute.kind != "ordinal":
            continue
        value = vectors[:, attribute.columns[0]].astype(np.float64)
        for v in np.flatnonzero(tree.feature == attribute.columns[0]):
            pairs = [(a, b) for a in attribute.book for b in attribute.book if a < b and a + b == 2 * tree.threshold[v]]
            if pairs:
                excluded |= through[v] & np.logical_and.reduce([(a < value) & (value < b) for a, b in pairs])
    return excluded
