"""The informed adversary on counts: guesses each row from all others.

What the other rows leave of the observations is the missing row's part of them. The domain is enumerated once for all
of these attacks: each has the same candidates, and scores every one of them by its own leftover. Among candidates
that the observations don't tell apart, the likeliest is guessed, given the other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.search import Search
from pytest_draft.domain import Domain
from pytest_draft.errors import InfeasibleError, OutOfTimeError
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.status import SolverStatus

RowLikelihood = Callable[[int, IntArray], FloatArray]
"""Log-likelihood of what was observed, up to a constant, when one row is each of some candidates.

Takes a row of the problem and positions of candidates, shape (n,); returns an array of shape (n,), -inf for a
candidate that is excluded. All other rows are known.
"""

_PRIOR_ROWS = 1.0
"""Rows that the prior, in which attributes are independent, is worth beside the known ones."""

_TIED = 1e-9
"""Difference of log-likelihoods up to which candidates are equally likely: rounding."""


def exact_likelihood(forest: Forest, problem: Problem, everyone: KnownRows, unknown: IntArray) -> RowLikelihood:
    """Return the likelihood without noise: 0 for a candidate that the other rows leave room for, else -inf.

    Parameters
    ----------
    problem : Problem
        Of the unknown rows, with the whole counts.
    everyone : KnownRows
        All training rows. Of each unknown row nothing is used in its own attack.
    unknown : ndarray of int64, shape (n_unknown,)
        Positions of the problem's rows among all training rows.

    Raises
    ------
    InfeasibleError
        Where what some row's others leave is not the part of a single row.
    """
    n_rows, n_classes = len(unknown), forest.n_classes
    columns = np.ascontiguousarray(everyone.rows[unknown].T)
    places = np.full((forest.n_trees, n_rows), -1, dtype=np.int64)  # leaf and class; -1 where the tree says nothing
    for t, tree in enumerate(forest.trees):
        times = everyone.weight[t, unknown]
        mine = leaf_positions(tree, columns).astype(np.int64) * n_classes + everyone.labels[unknown]
        rest = (problem.counts[t] - everyone.at_leaves(tree, everyone.weight[t], n_classes)).ravel()
        left = np.tile(rest, (n_rows, 1))
        left[np.arange(n_rows), mine] += times  # the row is not among its others
        place = np.argmax(left, axis=1)
        left[np.arange(n_rows), place] -= times
        if left.any():
            raise InfeasibleError
        places[t, times > 0] = place[times > 0]

    def likelihood(row: int, candidates: IntArray) -> FloatArray:
        seeing = np.flatnonzero(places[:, row] >= 0)
        leaf = problem.cells.signature[np.ix_(seeing, problem.cell[candidates])]
        fits = (leaf * n_classes + problem.label[candidates] == places[seeing, row][:, None]).all(axis=0)
        return np.where(fits, 0.0, -np.inf)

    return likelihood


def rebuild_alone(
    problem: Problem, everyone: KnownRows, unknown: IntArray, likelihood: RowLikelihood, search: Search
) -> Reconstruction:
    """Rebuild each row of a problem from all the others.

    Parameters
    ----------
    everyone : KnownRows
        All training rows. Of each unknown row nothing is used in its own attack.
    unknown : ndarray of int64, shape (n_unknown,)
        Positions of the problem's rows among all training rows.

    Returns
    -------
    Reconstruction
        One row for each attack; ``unique`` where each of these rows is the only one that the domain allows.

    Raises
    ------
    InfeasibleError
        Where a row can be no candidate.
    OutOfTimeError
    """
    figures = search.clock.figures
    figures.update(cells=problem.cells.n_cells, candidates=problem.n_candidates, groups=problem.groups.n_groups)
    cells, domain = problem.cells, problem.domain
    known = _KnownVectors.of(domain, everyone.rows)
    bounds = np.searchsorted(problem.group, np.arange(problem.groups.n_groups + 1))
    rows = np.empty((len(unknown), domain.n_columns), dtype=np.float32)
    free = np.empty((len(unknown), len(domain.attributes)), dtype=bool)
    chosen = np.empty(len(unknown), dtype=np.int64)
    with search.clock("informed"):
        for row, position in enumerate(unknown.tolist()):
            if search.timebox.over:
                raise OutOfTimeError
            group = problem.groups.of_row[row]
            candidates = np.arange(bounds[group], bounds[group + 1])
            score = likelihood(row, candidates)
            if not len(score) or score.max() == -np.inf:
                raise InfeasibleError
            possible = score > -np.inf
            candidates, score = candidates[possible], score[possible]
            allowed = cells.allowed[problem.cell[candidates]]
            best, values = known.without(position).likeliest(allowed, score)
            chosen[row] = candidates[best]
            for a, attribute in enumerate(domain.attributes):
                rows[row, list(attribute.columns)] = attribute.encoded(values[a : a + 1])[0]
            tied = allowed[score >= score.max() - _TIED].any(axis=0)
            free[row] = np.add.reduceat(tied, cells.offsets[:-1], dtype=np.int64) > 1
    status: SolverStatus = "consistent" if free.any() else "unique"
    return Reconstruction(
        status=status,
        rows=rows,
        consistent=rows,
        labels=problem.label[chosen],
        cells=problem.cell[chosen],
        free=free,
        ordered=False,
        residual=0,
        statistics=figures,
    )


@dataclass(frozen=True, eq=False, repr=False)
class _KnownVectors:
    """How likely one more row of the same population is each vector, given those that are known.

    The predictive distribution of a Dirichlet process: a vector is as likely as it is frequent among the known rows,
    plus `_PRIOR_ROWS` rows that are spread as if the attributes were independent.
    """

    sizes: IntArray
    """Shape (n_attributes,). Number of values of each attribute."""
    vectors: IntArray
    """Shape (n_distinct, n_attributes). The distinct rows, as indices of their values."""
    times: IntArray
    """Shape (n_distinct,). How many rows hold each."""
    of_row: IntArray
    """Shape (n_rows,). The vector of each row."""

    @classmethod
    def of(cls, domain: Domain, rows: NDArray[np.float32]) -> _KnownVectors:
        """Return the distribution that encoded rows of a domain, shape (n_rows, n_columns), support."""
        vectors, of_row, times = np.unique(domain.indices(rows), axis=0, return_inverse=True, return_counts=True)
        sizes = np.array([attribute.n_values for attribute in domain.attributes], dtype=np.int64)
        return cls(sizes, vectors, times.astype(np.int64), of_row.reshape(-1).astype(np.int64))

    def without(self, row: int) -> _KnownVectors:
        """Return the distribution that all rows but one support."""
        times = self.times.copy()
        times[self.of_row[row]] -= 1
        return replace(self, times=times)

    def likeliest(self, allowed: BoolArray, score: FloatArray) -> tuple[int, IntArray]:
        """Return the likeliest candidate, and its likeliest vector as indices of values.

        Parameters
        ----------
        allowed : ndarray of bool, shape (n_candidates, n_values)
            As in `Cells.allowed`.
        score : ndarray of float64, shape (n_candidates,)
            Log-likelihood of each candidate.
        """
        starts = np.cumsum([0, *self.sizes[:-1]])
        place = self.vectors + starts
        found = np.bincount(place.ravel(), np.repeat(self.times, len(starts)), minlength=allowed.shape[1])
        share = (found + _PRIOR_ROWS / np.repeat(self.sizes, self.sizes)) / (self.times.sum() + _PRIOR_ROWS)
        log_share = np.where(allowed, np.log(share), -np.inf)
        unseen = score + np.log(_PRIOR_ROWS) + np.maximum.reduceat(log_share, starts, axis=1).sum(axis=1)
        best = int(np.argmax(unseen))
        value = np.array([np.argmax(part) for part in np.split(log_share[best], starts[1:])], dtype=np.int64)
        most = unseen[best]
        seen = np.flatnonzero(self.times)
        bonus = np.log(self.times[seen])
        for candidate in np.flatnonzero(score + bonus.max(initial=-np.inf) > most):
            inside = allowed[candidate][place[seen]].all(axis=1)
            here = np.where(inside, score[candidate] + bonus, -np.inf)
            if here.max() > most:
                most, best, value = here.max(), int(candidate), self.vectors[seen[np.argmax(here)]]
        return best, value
