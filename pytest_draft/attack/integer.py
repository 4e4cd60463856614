"""Whole datasets: in goes a fractional or a wrong one, out comes a whole one that fits the observations better.

Rounding keeps each group's size; descent then moves one row at a time to where the squared residual falls
most; CP-SAT decides what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from pytest_draft.attack.problem import IntArray, System
from pytest_draft.timebox import TimeBox

_SCALE = 1000


def rounded(mass: NDArray[np.float64], group: IntArray, size: IntArray) -> IntArray:
    """Round to whole numbers that keep each group's size (largest remainders).

    Parameters
    ----------
    mass : ndarray of float64, shape (n_candidates,)
        Sums to `size` within each group.
    group : ndarray of int64, shape (n_candidates,)
    size : ndarray of int64, shape (n_groups,)

    Returns
    -------
    ndarray of int64, shape (n_candidates,)
    """
    rows = np.floor(mass + 1e-9).astype(np.int64)
    missing = size - np.bincount(group, rows, minlength=len(size)).astype(np.int64)
    order = np.lexsort((rows - mass, group))
    first = np.searchsorted(group[order], np.arange(len(size)))
    rank = np.arange(len(mass)) - first[group[order]]
    rows[order[rank < missing[group[order]]]] += 1
    return rows


def descend(system: System, rows: IntArray, group: IntArray, rng: np.random.Generator, timebox: TimeBox) -> IntArray:
    """Move single rows within their group while that lowers the squared residual.

    Parameters
    ----------
    system : System
    rows : ndarray of int64, shape (n_candidates,)
    group : ndarray of int64, shape (n_candidates,)
        Ascending.
    rng : numpy.random.Generator
        Draws the order of the moves.
    timebox : TimeBox

    Returns
    -------
    ndarray of int64, shape (n_candidates,)
        A dataset that no single move improves, or the best one when the time is out.
    """
    rows = rows.copy()
    pointer, equation = system.matrix.indptr, system.matrix.indices
    weight = system.matrix.data.astype(np.int64)
    square = np.add.reduceat(weight**2, pointer[:-1])
    start = np.searchsorted(group, group, side="left")
    stop = np.searchsorted(group, group, side="right")
    residual = system.matrix @ rows - system.observed
    moved = True
    while moved and residual.any():
        moved = False
        for here in rng.permutation(np.repeat(np.arange(len(rows)), rows)):
            if timebox.over:
                return rows
            mine = slice(pointer[here], pointer[here + 1])
            residual[equation[mine]] -= weight[mine]
            first, last = start[here], stop[here]
            span = slice(pointer[first], pointer[last])
            pull = np.add.reduceat(weight[span] * residual[equation[span]], pointer[first:last] - pointer[first])
            cost = 2 * pull + square[first:last]
            best = first + int(np.argmin(cost))
            if cost[best - first] < cost[here - first]:
                rows[here] -= 1
                rows[best] += 1
                moved = True
                mine = slice(pointer[best], pointer[best + 1])
            residual[equation[mine]] += weight[mine]
    return rows


@dataclass(frozen=True, eq=False)
class Answer:
    """What CP-SAT says.

    Attributes
    ----------
    status : str
        ``OPTIMAL``, ``FEASIBLE``, ``INFEASIBLE`` or ``UNKNOWN``.
    rows : ndarray of int64, shape (n_candidates,), or None
        A dataset with residual 0, where one was found.
    """

    status: str
    rows: IntArray | None


def solve(
    system: System,
    upper: IntArray,
    *,
    hint: IntArray,
    effort: float,
    seed: int,
    workers: int,
    timebox: TimeBox,
    near: NDArray[np.float64] | None = None,
    other_than: Sequence[IntArray] = (),
) -> Answer:
    """Find a dataset with residual 0 by CP-SAT.

    Parameters
    ----------
    system : System
    upper : ndarray of int64, shape (n_candidates,)
    hint : ndarray of int64, shape (n_candidates,)
        Where the search starts.
    effort : float
        CP-SAT's deterministic time, in its units (about seconds on one core).
    seed, workers : int
    timebox : TimeBox
    near : ndarray of float64, shape (n_candidates,), or None
        If given, the sum of absolute differences to it is minimised.
    other_than : sequence of ndarray of int64, shape (n_candidates,)
        Datasets that the answer must differ from; totals are equal, so somewhere the answer has fewer rows
        than each of them.

    Returns
    -------
    Answer
    """
    if timebox.over:
        return Answer("UNKNOWN", None)
    model = cp_model.CpModel()
    variables = [model.new_int_var(0, int(most), "") for most in upper]
    rows_of = system.matrix.tocsr()
    for i in range(rows_of.shape[0]):
        part = slice(rows_of.indptr[i], rows_of.indptr[i + 1])
        terms = [variables[j] for j in rows_of.indices[part]]
        if terms or system.observed[i]:
            model.add(cp_model.LinearExpr.weighted_sum(terms, rows_of.data[part].tolist()) == int(system.observed[i]))
    for variable, value in zip(variables, hint.tolist(), strict=True):
        model.add_hint(variable, value)
    if near is not None:
        _minimise_distance(model, variables, upper, near)
    for known in other_than:
        _differ(model, variables, upper, known)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(timebox.remaining, 1e-3)
    solver.parameters.max_deterministic_time = effort
    solver.parameters.num_workers = workers
    solver.parameters.interleave_search = workers > 1  # several workers, and still the same answer every time
    solver.parameters.random_seed = seed % 2**31
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    rows = np.array([solver.value(variable) for variable in variables], dtype=np.int64) if found else None
    return Answer(solver.status_name(status), rows)


def _minimise_distance(
    model: cp_model.CpModel, variables: list[cp_model.IntVar], upper: IntArray, near: NDArray[np.float64]
) -> None:
    """Minimise the sum of |h - near|."""
    single = upper == 1
    terms = [variables[j] for j in np.flatnonzero(single)]
    costs = np.rint(_SCALE * (1 - 2 * np.minimum(near[single], 1.0))).astype(np.int64).tolist()
    for j in np.flatnonzero(~single):
        distance = model.new_int_var(0, int(upper[j]), "")
        nearest = int(np.rint(near[j]))
        model.add(distance >= variables[j] - nearest)
        model.add(distance >= nearest - variables[j])
        terms.append(distance)
        costs.append(_SCALE)
    model.minimize(cp_model.LinearExpr.weighted_sum(terms, costs))


def _differ(model: cp_model.CpModel, variables: list[cp_model.IntVar], upper: IntArray, known: IntArray) -> None:
    """Ask for fewer rows than `known` has in at least one candidate."""
    fewer = []
    for j in np.flatnonzero(known):
        if upper[j] == 1:
            fewer.append(variables[j].negated())
            continue
        literal = model.new_bool_var("")
        model.add(variables[j] < int(known[j])).only_enforce_if(literal)
        fewer.append(literal)
    model.add_bool_or(fewer)
