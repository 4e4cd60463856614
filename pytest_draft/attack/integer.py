"""Whole datasets: in goes a fractional or a wrong one, out comes a whole one that fits the observations better.

Rounding keeps each group's size; descent then moves one row at a time to where the squared residual falls
most; mixed-integer programming and CP-SAT decide what is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model
from scipy.optimize import Bounds, LinearConstraint, milp

from pytest_draft.attack.problem import IntArray, System
from pytest_draft.timebox import TimeBox

_SCALE = 1000
_MOST_NODES = 100
_SECONDS_PER_COEFFICIENT = 1e-5
_PROVED_INFEASIBLE = 2


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


def program(
    system: System,
    lower: IntArray,
    upper: IntArray,
    cost: NDArray[np.float64],
    timebox: TimeBox,
    *,
    gap: float = 0.02,
) -> Answer:
    """Find the dataset with residual 0 and the least cost, or one nearly as cheap, by mixed-integer programming.

    With costs from a relaxed dataset (`-log` of its mass), the linear relaxation has few fractional columns or none,
    and HiGHS ends where constraint programming does not.

    Parameters
    ----------
    system : System
    lower, upper : ndarray of int64, shape (n_candidates,)
        Bounds.
    cost : ndarray of float64, shape (n_candidates,)
    timebox : TimeBox
    gap : float
        How much dearer than the cheapest, relatively, a dataset may be.

    Returns
    -------
    Answer
    """
    if timebox.over:
        return Answer("UNKNOWN", None)
    found = milp(
        cost,
        constraints=LinearConstraint(system.matrix.astype(np.float64), system.observed, system.observed),
        integrality=np.ones(len(cost)),
        bounds=Bounds(lower, upper),
        options={"time_limit": max(timebox.remaining, 1e-3), "node_limit": _MOST_NODES, "mip_rel_gap": gap},
    )
    timebox.spend(_SECONDS_PER_COEFFICIENT * system.matrix.nnz * (1 + 0.1 * (found.mip_node_count or 0)))
    if found.x is None:
        return Answer("INFEASIBLE" if found.status == _PROVED_INFEASIBLE else "UNKNOWN", None)
    rows = np.rint(found.x).astype(np.int64)
    if system.missed(rows):  # beyond its tolerances
        return Answer("UNKNOWN", None)
    return Answer("FEASIBLE", rows)


class Model:
    """The equations as a CP-SAT model, built once and asked several times.

    Parameters
    ----------
    system : System
    upper : ndarray of int64, shape (n_candidates,)
    """

    def __init__(self, system: System, upper: IntArray) -> None:
        self._upper = upper
        self._model = cp_model.CpModel()
        self._variables = [self._model.new_int_var(0, int(most), "") for most in upper]
        equations = system.matrix.tocsr()
        for i, observed in enumerate(system.observed.tolist()):
            part = slice(equations.indptr[i], equations.indptr[i + 1])
            terms = [self._variables[j] for j in equations.indices[part]]
            if terms or observed:
                total = cp_model.LinearExpr.weighted_sum(terms, equations.data[part].tolist())
                self._model.add(total == observed)

    def prefer(self, near: NDArray[np.float64]) -> None:
        """From now on, minimise the sum of absolute differences to `near`, shape (n_candidates,)."""
        single = self._upper == 1
        terms = [self._variables[j] for j in np.flatnonzero(single)]
        costs = np.rint(_SCALE * (1 - 2 * np.minimum(near[single], 1.0))).astype(np.int64).tolist()
        for j in np.flatnonzero(~single):
            distance = self._model.new_int_var(0, int(self._upper[j]), "")
            nearest = int(np.rint(near[j]))
            self._model.add(distance >= self._variables[j] - nearest)
            self._model.add(distance >= nearest - self._variables[j])
            terms.append(distance)
            costs.append(_SCALE)
        self._model.minimize(cp_model.LinearExpr.weighted_sum(terms, costs))

    def exclude(self, known: IntArray) -> None:
        """From now on, leave out a dataset: totals are equal, so any other has fewer rows than it somewhere."""
        fewer = []
        for j in np.flatnonzero(known):
            if self._upper[j] == 1:
                fewer.append(self._variables[j].negated())
                continue
            literal = self._model.new_bool_var("")
            self._model.add(self._variables[j] < int(known[j])).only_enforce_if(literal)
            fewer.append(literal)
        self._model.add_bool_or(fewer)

    def solve(self, *, hint: IntArray, effort: float, seed: int, workers: int, timebox: TimeBox) -> Answer:
        """Find a dataset with residual 0.

        Parameters
        ----------
        hint : ndarray of int64, shape (n_candidates,)
            Where the search starts.
        effort : float
            CP-SAT's deterministic time, in its units (about seconds on one core).
        seed, workers : int
        timebox : TimeBox

        Returns
        -------
        Answer
        """
        if timebox.over:
            return Answer("UNKNOWN", None)
        self._model.clear_hints()  # type: ignore[no-untyped-call]
        for variable, value in zip(self._variables, hint.tolist(), strict=True):
            self._model.add_hint(variable, value)
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = max(timebox.remaining, 1e-3)
        solver.parameters.max_deterministic_time = min(effort, timebox.effort_left)
        solver.parameters.num_workers = workers
        solver.parameters.interleave_search = workers > 1  # several workers, and still the same answer every time
        solver.parameters.random_seed = seed % 2**31
        status = solver.solve(self._model)
        timebox.spend(solver.response_proto.deterministic_time)
        found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        rows = np.array([solver.value(variable) for variable in self._variables], dtype=np.int64) if found else None
        return Answer(solver.status_name(status), rows)
