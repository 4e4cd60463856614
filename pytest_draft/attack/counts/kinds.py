"""Kinds of rows: the candidates of a `Problem` regardless of the row, their histogram, and each row's choice.

A kind is a cell and a class. Where the occurrences tell rows apart, each row has candidates of its own, but they are
of the same kinds. What the leaves say of the kinds' histogram is where beliefs about rows begin.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import FloatArray, Int32Array, IntArray
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.redacted import redacted
from pytest_draft.timebox import TimeBox

_STEPS = 200
"""Steps of the expectation maximisation."""

_PRUNE_EVERY, _NEGLIGIBLE = 10, 1e-6
"""After so many steps kinds are left out whose share is below that of the largest."""

_LEAST = 1e-12
"""Shares of a leaf are taken as at least so large before something is divided by them."""

_SECONDS_PER_ENTRY = 4e-9
"""Measured: an entry of a kind in a step."""


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

    def of_each(self, of_candidate: FloatArray) -> FloatArray:
        """Return what holds of the candidates of each kind, one for all others, as shares."""
        found = np.zeros(len(self.entries))
        found[self.of_candidate] = of_candidate
        found /= found.sum()
        return found

    def likely(self, prior: FloatArray, timebox: TimeBox) -> FloatArray:
        """Return the share of each kind that the leaves make likely, whichever rows these are.

        Expectation maximisation of how many rows are at each leaf, which is about in proportion to its distinct rows,
        and of its classes to their draws.

        Parameters
        ----------
        prior : ndarray of float64, shape (n_kinds,)
            Sums to 1.
        """
        leaf = np.arange(len(self.counts)) // self.n_classes
        rows = self.distinct[leaf] * self.counts / np.maximum(np.bincount(leaf, self.counts)[leaf], 1)
        first = self.start * self.n_classes
        trees = [slice(low, high) for low, high in pairwise(first.tolist())]
        kept, share = np.arange(len(prior)), prior
        entries = np.ascontiguousarray(self.entries.T)
        for step in range(_STEPS):
            units = _SECONDS_PER_ENTRY * entries.size
            if not timebox.allows(units):
                break
            timebox.spend(units)
            ratio = np.zeros(len(share))
            for entry, tree in zip(entries, trees, strict=True):
                expected = np.bincount(entry - tree.start, share, minlength=tree.stop - tree.start)
                ratio += (rows[tree] / np.maximum(expected, _LEAST))[entry - tree.start]
            share = share * ratio
            share /= share.sum()
            if step % _PRUNE_EVERY == _PRUNE_EVERY - 1:
                likely = np.flatnonzero(share > _NEGLIGIBLE * share.max())
                kept, share, entries = kept[likely], share[likely], np.ascontiguousarray(entries[:, likely])
        result = np.zeros(len(prior))
        result[kept] = share
        return result

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
