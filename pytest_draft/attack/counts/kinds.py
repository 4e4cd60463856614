"""Kinds of rows: the candidates of a `Problem` regardless of the row, their histogram, and each row's choice.

A kind is a cell and a class. Where the occurrences tell rows apart, each row has candidates of its own, but they are
of the same kinds; and whoever ignores the occurrences has the problem of an adversary who doesn't know them
(`unordered`). What that problem's likelihood says of the histogram is where a search with occurrences begins.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import FloatArray, Int32Array, IntArray
from pytest_draft.attack.groups import Groups
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.redacted import redacted


@redacted
class Kinds(NamedTuple):
    """The rows of a problem, one by one, and what each can be. Rows are in the order of their groups."""

    entries: Int32Array
    """Shape (n_kinds, n_trees). Each kind's place in the table of leaves x classes of all trees."""
    of_candidate: Int32Array
    """Shape (n_candidates,). The kind of each of the problem's candidates, ascending within a group."""
    first: IntArray
    last: IntArray
    """`first` and `last`, shape (n_rows,): the candidates of each row."""
    times: Int32Array
    """Shape (n_rows, n_trees). How often each tree saw each row."""
    start: IntArray
    """Shape (n_trees + 1,). First leaf of each tree."""
    counts: FloatArray
    distinct: FloatArray
    """`counts` and `distinct`, shape (n_leaves * n_classes,) and (n_leaves,): what was observed."""
    n_classes: int

    @classmethod
    def of(cls, problem: Problem) -> Kinds:
        """Return the kinds of a problem whose occurrences are known.

        Parameters
        ----------
        problem : Problem
            With distinct rows.
        """
        if problem.distinct is None:
            raise ValueError("kinds are for bagged forests, whose distinct rows are known")
        n_classes = problem.n_classes
        n_cells = problem.cells.n_cells
        kind, of_candidate = np.unique(problem.label * n_cells + problem.cell, return_inverse=True)
        start = np.cumsum([0, *(len(table) for table in problem.counts)])
        entries = (problem.cells.signature[:, kind % n_cells].T + start[:-1].astype(np.int32)) * n_classes
        entries += (kind // n_cells).astype(np.int32)[:, None]
        group = np.sort(problem.groups.of_row)
        return cls(
            np.ascontiguousarray(entries, dtype=np.int32),
            of_candidate.reshape(-1).astype(np.int32),
            np.searchsorted(problem.group, group, side="left"),
            np.searchsorted(problem.group, group, side="right"),
            np.ascontiguousarray(problem.groups.weight[:, group].T, dtype=np.int32),
            start,
            np.concatenate(problem.counts).ravel().astype(np.float64),
            np.concatenate(problem.distinct).astype(np.float64),
            n_classes,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.first)

    @property
    def seen(self) -> float:
        """In how many trees a row is, on average."""
        return float((self.times > 0).sum(axis=1).mean())

    @property
    def additions(self) -> float:
        """How many entries of candidates one look at every row's candidates adds up."""
        return float(((self.last - self.first) * (self.times > 0).sum(axis=1)).sum())

    def residuals(self, chosen: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return by how much a dataset exceeds the counts and the distinct rows of each leaf.

        Parameters
        ----------
        chosen : ndarray of int64, shape (n_rows,)
            The candidate that each row is.
        """
        entries = self.entries[self.of_candidate[chosen]]
        count = np.bincount(entries.ravel(), self.times.ravel(), minlength=len(self.counts))
        present = (self.times > 0).ravel().astype(np.float64)
        distinct = np.bincount(entries.ravel() // self.n_classes, present, minlength=len(self.distinct))
        return count - self.counts, distinct - self.distinct

    def missed(self, chosen: IntArray) -> int:
        """Return the residual of a dataset: the sum of absolute differences to what was observed."""
        return int(sum(np.abs(part).sum() for part in self.residuals(chosen)))

    def histogram(self, chosen: IntArray) -> FloatArray:
        """Return how many rows of each kind there are in a dataset, or in several."""
        return np.bincount(self.of_candidate[chosen.ravel()], minlength=len(self.entries)).astype(np.float64)


def unordered(problem: Problem) -> Problem:
    """Return the problem of somebody who ignores the occurrences: what rows can be, and what was drawn.

    Parameters
    ----------
    problem : Problem
        Whose occurrences are known.

    Returns
    -------
    Problem
        With the same cells. Its groups are rows that agree in what is known of their values.
    """
    groups, values = problem.groups, problem.groups.values
    n_trees, of_group = len(groups.weight), np.zeros(groups.n_groups, dtype=np.int64)
    if values is not None:
        distinct, of_group = np.unique(values.of_group, axis=0, return_inverse=True)
        of_group, values = of_group.reshape(-1).astype(np.int64), replace(values, of_group=distinct)
    size = np.bincount(of_group, groups.size).astype(np.int64)
    together = Groups(
        of_group[groups.of_row], size, np.ones((n_trees, len(size)), dtype=np.int64), values, draws_known=False
    )
    n_classes, n_cells = problem.n_classes, problem.cells.n_cells
    triples = np.unique((of_group[problem.group] * n_classes + problem.label) * n_cells + problem.cell)
    group_label, cell = np.divmod(triples, n_cells)
    return replace(
        problem,
        groups=together,
        group=group_label // n_classes,
        cell=cell,
        label=group_label % n_classes,
        known=None,
        start=None,
    )
