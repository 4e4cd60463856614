"""The DP paper's own model: in go a forest of noisy counts, a domain and N, out comes a likeliest dataset.

DRAFT-DP (SaTML 2026), section III, equations (1) to (9), and appendix A, (10) to (16), where N is not known. Each row
has its own variables; each count is a variable whose value is priced by the exact probability of what was released
(equation 9), within the interval of appendix B. Nothing here is shared with the groups x cells engine.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from ortools.sat.python import cp_model
from scipy import stats

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import ClassCounts, ReleasedCounts
from pytest_draft.domain import Domain
from pytest_draft.errors import DataError
from pytest_draft.facts.privacy import Privacy
from pytest_draft.timebox import TimeBox
from studies.paper_models.cp_rows import RowVariables, solved
from studies.paper_models.published import ModelDataset, ModelOutcome, RowModelInput, recounted

INTERVAL = 12
"""Counts are searched for within this many scales of the released ones (appendix B: gamma = 12 / epsilon_v)."""

_PER_NAT = 1_000_000
"""Whole numbers to one unit of log-likelihood: CP-SAT maximises whole numbers."""

_IMPOSSIBLE = -1e6
"""Least log-probability of a count, so that it stays a number."""


def solve(
    forest: Forest,
    domain: Domain,
    n_rows: int | tuple[int, int],
    timebox: TimeBox,
    *,
    seed: int = 0,
    workers: int = 1,
) -> ModelOutcome:
    """Find the dataset that makes the released counts likeliest.

    Parameters
    ----------
    forest : Forest
        Releases noisy counts of trees that all saw every row once.
    n_rows : int or tuple of two ints
        N; or the least and the most that it can be, then the likeliest one is found too.
    seed, workers : int
        Of CP-SAT.

    Returns
    -------
    ModelOutcome
        Its objective is the log-probability of the released counts given a recount of the dataset; its bound is proved
        for datasets whose counts lie within the interval, but for a rounding of `_PER_NAT` of each count's.

    Raises
    ------
    DataError
        Where the domain is not that of the forest's columns, or there is no row.
    NotCoveredError
        Where the model becomes too large.
    ValueError
        Where the forest releases no noisy counts.
    """
    least, most = (n_rows, n_rows) if isinstance(n_rows, int) else n_rows
    if least > most:
        raise DataError(f"the number of rows cannot lie between {least} and {most}")
    privacy, structure = _privacy(forest), _structure(forest, domain)
    structure.require_size(most, per_node=forest.n_classes)
    model = cp_model.CpModel()
    rows = RowVariables(model, structure, most)
    used = [model.new_constant(1) if k < least else model.new_bool_var("") for k in range(most)]
    for k in range(least, most - 1):
        model.add_implication(used[k + 1], used[k])
    is_class = [[model.new_bool_var("") for _ in range(forest.n_classes)] for _ in range(most)]
    for k in range(most):
        model.add(cp_model.LinearExpr.sum(is_class[k]) == used[k])  # (2); (11) to (13): a row that isn't used has none
    held: list[cp_model.IntVar] = []
    price: list[int] = []
    for t, part in enumerate(structure.trees):
        released, leaves = forest.released(t), part.tree.leaves
        in_leaf = [[[model.new_bool_var("") for _ in leaves] for _ in row] for row in is_class]  # y_tvkc
        for k, row in enumerate(is_class):
            for c, literal in enumerate(row):
                model.add(cp_model.LinearExpr.sum(in_leaf[k][c]) == literal)  # (3), and so (1)
                for place, v in enumerate(leaves):
                    rows.require(in_leaf[k][c][place], k, part.low[v], part.high[v])  # (5)
        for place, c in np.ndindex(released.shape):
            number = int(released[place, c])
            counts = _interval(number, privacy.scale, most)
            if not len(counts):
                return ModelOutcome("infeasible")
            is_count = [model.new_bool_var("") for _ in counts]
            model.add_exactly_one(is_count)
            inside = cp_model.LinearExpr.sum([in_leaf[k][c][place] for k in range(most)])
            model.add(inside == cp_model.LinearExpr.weighted_sum(is_count, counts.tolist()))  # (4)
            held += is_count
            price += np.rint(_PER_NAT * log_chance(privacy, number, counts)).astype(np.int64).tolist()
    model.maximize(cp_model.LinearExpr.weighted_sum(held, price))  # (9)
    status, solver = solved(model, timebox, seed, workers)
    if status in ("infeasible", "no solution"):
        return ModelOutcome(status)
    labels = np.array([[solver.value(literal) for literal in row] for row in is_class])
    here = labels.any(axis=1)
    found = ModelDataset(structure.decoded(rows.found(solver)[here]), labels[here].argmax(axis=1).astype(np.int64))
    once = np.ones((forest.n_trees, len(found.rows)), np.int64)
    return ModelOutcome(status, found, once, log_likelihood(forest, found), solver.best_objective_bound / _PER_NAT)


def log_likelihood(forest: Forest, dataset: ModelDataset) -> float:
    """Return the log-probability of all released counts given those of a dataset.

    Raises
    ------
    ValueError
        Where the forest releases no noisy counts.
    """
    privacy, total = _privacy(forest), 0.0
    once = np.ones(len(dataset.rows), np.int64)
    for t, tree in enumerate(forest.trees):
        counts = recounted(tree, dataset.rows, dataset.labels, once, forest.n_classes)[tree.leaves]
        for number, count in zip(forest.released(t).ravel().tolist(), counts.ravel(), strict=True):
            total += float(log_chance(privacy, number, np.array([count]))[0])
    return total


def log_chance(privacy: Privacy, released: int, counts: IntArray) -> FloatArray:
    """Return the log-probability of a released count given each of some true ones (section III).

    The noise fell between two whole numbers: what is cut to 0 was between -1 and 1, to another number between it and
    the next one away from 0.

    Parameters
    ----------
    privacy : Privacy
        Of noisy counts.
    counts : ndarray of int64, shape (n,)

    Returns
    -------
    ndarray of float64, shape (n,)
    """
    cut = released - counts if privacy.rounding == "noise" else np.full(len(counts), released)
    low = (released - counts - (cut <= 0)) / privacy.scale
    high = (released - counts + (cut >= 0)) / privacy.scale
    mirrored = low + high > 0  # below the median the distribution function keeps its digits
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    log_cdf = _log_laplace if privacy.mechanism == "laplace" else stats.norm.logcdf
    above = log_cdf(high)
    share: FloatArray = -np.expm1(np.minimum(log_cdf(low) - above, -1e-300))
    return np.maximum(above + np.log(share), _IMPOSSIBLE)


def _log_laplace(x: FloatArray) -> FloatArray:
    """Return the logarithm of Laplace's distribution function with scale 1."""
    below: FloatArray = np.minimum(x, 0.0) - np.log(2.0)
    return np.where(x <= 0, below, np.log1p(-0.5 * np.exp(-np.abs(x))))


def _interval(released: int, scale: float, most: int) -> IntArray:
    """Return the counts of up to `most` rows that are searched for, ascending (appendix B)."""
    width = math.ceil(INTERVAL * scale)
    return np.arange(max(0, released - width), min(most, released + width) + 1)


def _privacy(forest: Forest) -> Privacy:
    if not isinstance(forest.observation, ReleasedCounts) or forest.observation.privacy is None:
        raise ValueError("this forest releases no noisy counts")
    return forest.observation.privacy


def _structure(forest: Forest, domain: Domain) -> RowModelInput:
    """Return a forest's nodes, and the conditions that lead to them, without counts."""
    bare = tuple(replace(tree, value=np.zeros_like(tree.value)) for tree in forest.trees)
    return RowModelInput.of(replace(forest, observation=ClassCounts("totals"), trees=bare), domain)
