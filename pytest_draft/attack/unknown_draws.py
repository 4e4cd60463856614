"""Rebuilds rows where nobody knows how often each tree drew each: in goes a `Problem`, out a `Reconstruction`."""

from __future__ import annotations

import numpy as np

from pytest_draft.arrays import IntArray
from pytest_draft.attack.consensus import MOST_ROWS, Ways, agreed
from pytest_draft.attack.counts.likeliest import find_likeliest, posterior_of
from pytest_draft.attack.counts.occupancy import LeafDraws
from pytest_draft.attack.draft import filling_of, in_row_order
from pytest_draft.attack.filling import prior_mass
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.search import Search
from pytest_draft.errors import OutOfTimeError
from pytest_draft.facts.reconstruction import Reconstruction


def log_posterior(problem: Problem, chosen: IntArray) -> float:
    """Return what `Reconstruction.log_posterior` would be of the dataset whose rows are some candidates.

    Parameters
    ----------
    problem : Problem
        With unknown occurrences.
    chosen : ndarray of int64, shape (n_rows,)
    """
    return posterior_of(problem, draws_of(problem), prior_mass(problem), chosen)


def draws_of(problem: Problem) -> LeafDraws:
    """Return what a problem with unknown occurrences observes."""
    n_known = 0 if problem.known is None else int(problem.known[0].sum())
    return LeafDraws.of(problem.counts, problem.distinct, problem.groups.n_rows + n_known)


def from_draws(problem: Problem, search: Search) -> Reconstruction:
    """Rebuild the training data where the occurrences are unknown."""
    figures = search.clock.figures
    try:
        likely = find_likeliest(problem, draws_of(problem), prior_mass(problem), search)
    except OutOfTimeError:
        return Reconstruction("no solution", None, None, None, None, False, None, statistics=figures)
    with search.clock("fill"):
        filling = filling_of(problem, likely.expected)
        cells = in_row_order(problem, problem.cell[likely.chosen])
        rows = guess = filling.nearest_to_all(cells, np.random.default_rng([search.seed, 3]), search.timebox)
        if len(rows) <= MOST_ROWS and len(likely.samples):
            rng = np.random.default_rng([search.seed, 7])
            sampled = [in_row_order(problem, problem.cell[sample]) for sample in likely.samples]
            ways = Ways([filling.likeliest(cell) for cell in sampled], [filling.drawn(cell, rng) for cell in sampled])
            likeliest, groups = filling.likeliest(cells), problem.groups.of_row
            guess = agreed(rows, likeliest, ways, groups, problem.domain, search.timebox)
    return Reconstruction(
        status="not converged" if likely.missing else "likeliest",
        rows=guess,
        consistent=rows,
        labels=in_row_order(problem, problem.label[likely.chosen]),
        cells=cells,
        free=~problem.cells.determined[cells],
        ordered=False,
        residual=likely.missing,
        cut_short=search.timebox.over,
        log_posterior=likely.log_posterior,
        statistics=figures,
    )
