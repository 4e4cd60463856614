"""The papers' CP model without bagging: in go a forest, a domain and N, out comes a dataset that meets all counts.

DRAFT (ICML 2024), section 6, "Model simplifications when bagging is deactivated": the classes z_kc are fixed, each
row falls into exactly one leaf of each tree, the objective is constant.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ortools.sat.python import cp_model

from pytest_draft.artifact.forest import Forest
from pytest_draft.domain import Domain
from pytest_draft.timebox import TimeBox
from studies.paper_models.cp_rows import RowVariables, solved
from studies.paper_models.published import ModelDataset, ModelOutcome, RowModelInput, residual_of


def solve(
    forest: Forest,
    domain: Domain,
    n_rows: int,
    timebox: TimeBox,
    *,
    seed: int = 0,
    forbidden: Sequence[ModelDataset] = (),
) -> ModelOutcome:
    """Find a dataset that meets every leaf's counts.

    Parameters
    ----------
    forest : Forest
        Grown without bagging.
    n_rows : int
        N.
    seed : int
        Of CP-SAT.
    forbidden : sequence of ModelDataset
        Datasets that are left out, whatever the order of their rows.

    Returns
    -------
    ModelOutcome
        Never ``feasible``: all datasets that meet the counts are equally good.

    Raises
    ------
    NotCoveredError
        With bagging, where weights have scaled the counts and cannot be undone, and where the model becomes too large.
    DataError
        Where the domain is not that of the forest's columns.
    """
    published = RowModelInput.without_bagging(forest, domain)
    published.require_size(n_rows, per_node=1)
    labels = published.root_labels
    if len(labels) != n_rows:
        return ModelOutcome("infeasible")
    model = cp_model.CpModel()
    rows = RowVariables(model, published, n_rows)
    for part in published.trees:
        taken: list[list[cp_model.IntVar]] = [[] for _ in range(n_rows)]
        for v in part.tree.leaves:
            for c, number in enumerate(part.counts[v].tolist()):
                captured = []
                for k in np.flatnonzero(labels == c).tolist() if number else ():
                    y = model.new_bool_var("")
                    rows.require(y, k, part.low[v], part.high[v])
                    taken[k].append(y)
                    captured.append(y)
                model.add_linear_constraint(cp_model.LinearExpr.sum(captured), number, number)
        for mine in taken:
            model.add_exactly_one(mine)
    is_class = np.equal.outer(labels, np.arange(published.n_classes)).astype(object)
    rows.forbid(published, forbidden, is_class, np.zeros(n_rows, np.int64))
    status, solver = solved(model, timebox, seed)
    if status in ("infeasible", "no solution"):
        return ModelOutcome(status)
    dataset = ModelDataset(published.decoded(rows.found(solver)), labels)
    once = np.ones((forest.n_trees, n_rows), np.int64)
    return ModelOutcome("optimal", dataset, once, 0.0, 0.0, residual_of(forest, dataset, once))
