"""The papers' own models in the engine's place, for study: in goes a forest's problem, out comes a `Reconstruction`.

They are slow and prove less; what they find is measured as the engine's answer is.
"""

from __future__ import annotations

import numpy as np

from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.occurrences import occurrences
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.papers import cp_with_bagging, cp_without_bagging, milp
from pytest_draft.attack.papers.published import ModelOutcome
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.reconstruct import seen_rows
from pytest_draft.attack.reconstruction import Reconstruction
from pytest_draft.attack.search import Search
from pytest_draft.errors import NotCoveredError
from pytest_draft.facts.status import SolverStatus


def rebuild_row_by_row(forest: Forest, problem: Problem, engine: str, search: Search) -> Reconstruction:
    """Rebuild the training data by a model of the papers.

    Parameters
    ----------
    forest : Forest
    problem : Problem
        Of the same forest; tells the domain, the rows and whether their occurrences are known.
    engine : {"cp", "milp"}
    search : Search

    Returns
    -------
    Reconstruction
        Never ``unique``: these models prove no such thing.

    Raises
    ------
    NotCoveredError
        For what the model does not cover: side knowledge, and bagging in the mixed-integer model.
    """
    groups = problem.groups
    if groups.values is not None or groups.known is not None:
        raise NotCoveredError(f"the engine {engine!r} knows no side knowledge: use --draft-engine cells")
    with search.clock(engine):
        outcome = _solved(forest, problem, engine, search)
    figures = search.clock.figures
    if outcome.dataset is None:
        status: SolverStatus = "infeasible" if outcome.status == "infeasible" else "no solution"
        return Reconstruction(status, None, None, None, None, False, None, statistics=figures)
    rows, labels = outcome.dataset.rows, outcome.dataset.labels
    columns = np.ascontiguousarray(rows.T)
    leaves = np.stack([leaf_positions(tree, columns) for tree in forest.trees])
    cell_of = {signature.tobytes(): k for k, signature in enumerate(np.ascontiguousarray(problem.cells.signature.T))}
    cells = np.array([cell_of.get(row.tobytes(), -1) for row in np.ascontiguousarray(leaves.T)], dtype=np.int64)
    converged: SolverStatus = "consistent" if groups.noise == "exact" else "likeliest"
    return Reconstruction(
        status="not converged" if outcome.residual else converged,
        rows=rows,
        consistent=rows,
        labels=labels,
        cells=cells,
        free=~problem.cells.determined[cells] & (cells >= 0)[:, None],
        ordered=groups.ordered,
        residual=outcome.residual,
        cut_short=search.timebox.over,
        seen=seen_rows(problem),
        statistics=figures,
    )


def _solved(forest: Forest, problem: Problem, engine: str, search: Search) -> ModelOutcome:
    n_rows = problem.groups.n_rows
    if engine == "milp":
        return milp.solve(forest, problem.domain, n_rows, search.timebox)
    if not forest.bootstrap:
        return cp_without_bagging.solve(
            forest, problem.domain, n_rows, search.timebox, seed=search.seed, workers=search.workers
        )
    known = occurrences(forest) if problem.groups.noise == "exact" else None
    return cp_with_bagging.solve(
        forest,
        problem.domain,
        n_rows,
        search.timebox,
        occurrences=known,
        seed=search.seed,
        workers=search.workers,
    )
