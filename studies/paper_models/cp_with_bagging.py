"""The papers' CP model with bagging: in go a forest, a domain and N, out comes the likeliest dataset.

DRAFT (ICML 2024), section 6 and appendix C, whose letters are kept. Without given occurrences, these are variables
too, and their log-likelihood is maximised. With given ones they are fixed, as in the experiments on the impact of
bagging (appendix E, figure 5), and what remains is to find a dataset that meets the counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError
from pytest_draft.timebox import TimeBox
from studies.paper_models.cp_rows import RowVariables, solved
from studies.paper_models.likelihood import log_chances, log_likelihood
from studies.paper_models.published import ModelDataset, ModelOutcome, RowModelInput, residual_of

MOST_OCCURRENCES = 7
"""The papers let a tree see a row at most so often: of 100 rows, one is seen more often with a chance of about 1e-5."""

_SCALE = 1_000_000
"""Whole numbers to one unit of log-likelihood: CP-SAT maximises whole numbers."""


def solve(
    forest: Forest,
    domain: Domain,
    n_rows: int,
    timebox: TimeBox,
    *,
    occurrences: IntArray | None = None,
    most_occurrences: int = MOST_OCCURRENCES,
    seed: int = 0,
    forbidden: Sequence[ModelDataset] = (),
) -> ModelOutcome:
    """Find the dataset and the occurrences of the largest likelihood that meet every leaf's counts.

    Parameters
    ----------
    forest : Forest
        Grown on bootstrap samples drawn with replacement and with equal chances.
    n_rows : int
        N.
    occurrences : ndarray of int64, shape (n_trees, n_rows), or None
        How often each tree saw each row, where that is known.
    most_occurrences : int
        Largest number of times that a tree may see a row, where the occurrences are unknown.
    seed : int
        Of CP-SAT.
    forbidden : sequence of ModelDataset
        Datasets that are left out, whatever the order of rows that nothing tells apart.

    Returns
    -------
    ModelOutcome
        ``infeasible`` holds for `most_occurrences`. The objective is exact; CP-SAT maximises it with coefficients
        rounded to 1e-6, so an optimal one is at most that times half the number of trees x rows below its bound.

    Raises
    ------
    NotCoveredError
        Without bagging, for samples drawn otherwise, where weights have scaled the counts and cannot be undone, and
        where the model becomes too large.
    DataError
        Where the domain is not that of the forest's columns.
    """
    if not forest.draws.uniform:
        raise NotCoveredError(
            "this model of the papers is for bootstrap samples drawn with replacement and with equal chances; "
            "this forest's are not"
        )
    if occurrences is not None and occurrences.shape != (forest.n_trees, n_rows):
        raise ValueError(f"occurrences of shape {occurrences.shape} for {forest.n_trees} trees and {n_rows} rows")
    published = RowModelInput.of(forest, domain)
    published.require_size(n_rows, per_node=1 + published.n_classes)
    model = _Model(published, n_rows)
    group = np.zeros(n_rows, np.int64)
    if occurrences is not None:
        model.fix(occurrences)
        group = np.unique(occurrences, axis=1, return_inverse=True)[1].reshape(-1)
    elif not model.maximise(most_occurrences):
        return ModelOutcome("infeasible")
    model.rows.forbid(published, forbidden, model.z, group)
    status, solver = solved(model.model, timebox, seed)
    if status in ("infeasible", "no solution"):
        return ModelOutcome(status)
    times = _values(solver, model.eta)
    dataset = ModelDataset(published.decoded(model.rows.found(solver)), _values(solver, model.z).argmax(axis=1))
    objective = bound = log_likelihood(times)
    if occurrences is None:
        bound = max(objective, (solver.best_objective_bound + 0.5 * times.size) / _SCALE)
    return ModelOutcome(status, dataset, times, objective, bound, residual_of(forest, dataset, times))


class _Model:
    """All constraints but those on the occurrences, which are either fixed or maximised over."""

    def __init__(self, published: RowModelInput, n_rows: int) -> None:
        self.published = published
        self.model = cp_model.CpModel()
        self.rows = RowVariables(self.model, published, n_rows)
        shape = (n_rows, published.n_classes)
        self.z = np.array([self.model.new_bool_var("") for _ in range(n_rows * shape[1])], dtype=object).reshape(shape)
        most = [[int(part.counts[0].sum())] * n_rows for part in published.trees]
        self.eta = np.array([[self.model.new_int_var(0, draws, "") for draws in row] for row in most], dtype=object)
        self._used: list[list[list[cp_model.IntVar]]] = [[[] for _ in range(shape[1])] for _ in range(n_rows)]
        for t in range(len(published.trees)):
            self._place(t)
        for of_class, by_class in zip(self.z, self._used, strict=True):
            self.model.add_exactly_one(of_class.tolist())
            for z, used in zip(of_class, by_class, strict=True):
                self.model.add(cp_model.LinearExpr.sum(used) == 0).only_enforce_if(~z)

    def _place(self, t: int) -> None:
        """Place each row in leaves of tree t as often as eta_tk says.

        A leaf without a draw of a class has no y_tvkc for it.
        """
        model, part = self.model, self.published.trees[t]
        captured: dict[tuple[int, int], list[cp_model.IntVar]] = {}
        for k, eta in enumerate(self.eta[t]):
            mine: list[cp_model.IntVar] = []
            for v in part.tree.leaves.tolist():
                w, classes = model.new_bool_var(""), np.flatnonzero(part.counts[v]).tolist()
                self.rows.require(w, k, part.low[v], part.high[v])
                y = [model.new_int_var(0, int(part.counts[v, c]), "") for c in classes]
                model.add(cp_model.LinearExpr.sum(y) >= 1).only_enforce_if(w)
                for c, times in zip(classes, y, strict=True):
                    model.add(times == 0).only_enforce_if(~w)
                    captured.setdefault((v, c), []).append(times)
                    self._used[k][c].append(times)
                mine += y
            model.add(cp_model.LinearExpr.sum(mine) == eta)
        for (v, c), draws in captured.items():
            model.add(cp_model.LinearExpr.sum(draws) == int(part.counts[v, c]))

    def fix(self, occurrences: IntArray) -> None:
        """Fix how often each tree saw each row."""
        for eta, times in zip(self.eta.ravel(), occurrences.ravel().tolist(), strict=True):
            self.model.add(eta == times)

    def maximise(self, most_occurrences: int) -> bool:
        """Ask for the likeliest occurrences of at most so many; return whether any are possible at all."""
        terms: list[cp_model.IntVar] = []
        gains: list[int] = []
        for eta, part in zip(self.eta, self.published.trees, strict=True):
            chances = log_chances(len(eta), int(part.counts[0].sum()))[: most_occurrences + 1]
            possible = np.flatnonzero(np.isfinite(chances))
            if not len(possible):
                return False
            for times in eta:
                q = [self.model.new_bool_var("") for _ in chances]
                self.model.add_map_domain(times, q)
                self.model.add_exactly_one([q[b] for b in possible])
                terms += [q[b] for b in possible]
                gains += np.rint(_SCALE * chances[possible]).astype(np.int64).tolist()
        self.model.maximize(cp_model.LinearExpr.weighted_sum(terms, gains))
        return True


def _values(solver: cp_model.CpSolver, variables: NDArray[np.object_]) -> IntArray:
    """Return the values of variables, in their shape."""
    return np.array([solver.value(variable) for variable in variables.ravel()], dtype=np.int64).reshape(variables.shape)
