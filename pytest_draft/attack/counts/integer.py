"""Repairs datasets: a fractional or wrong one becomes a whole one that fits the observations better.

Rounding keeps each group's size; rows then move one at a time to where the squared residual falls, by heat-bath
sweeps that cool down where there are many groups; mixed-integer programming and CP-SAT decide what is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model
from scipy.optimize import Bounds, LinearConstraint, milp

from pytest_draft.arrays import Flag, FloatArray, Int32Array, IntArray
from pytest_draft.attack.problem import System
from pytest_draft.compiling import compiled
from pytest_draft.timebox import TimeBox

_PROVED_INFEASIBLE = 2
"""As SciPy numbers the status of a program."""


@dataclass(frozen=True)
class IntegerParameters:
    """How long datasets are annealed, and what integer programs may take."""

    seconds_per_step: float = 2e-9
    """Measured: one coefficient of one candidate, in a sweep."""
    annealing_effort: float = 30.0
    """Units of work of cooling, within `sweeps`."""
    sweeps: tuple[int, int] = (20, 1_000)
    """Fewest and most sweeps."""
    cooling: float = 50.0
    """The first temperature over the last one."""
    negligible: float = 1e-7
    """Where fewer rows are expected, none goes."""
    powers: tuple[float, ...] = (1.0, 0.5, 0.25)
    """Of what is expected, and of the first temperature, in each cooling: later ones go less far."""
    most_nodes: int = 100
    """Nodes of HiGHS's search tree at most: an end that does not depend on the clock."""
    seconds_per_coefficient: float = 2e-5
    """What one coefficient counts for in the work of a program."""


_PARAMETERS = IntegerParameters()


def rounded(mass: FloatArray, group: IntArray, size: IntArray) -> IntArray:
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


class Walk:
    """A whole dataset whose rows move one at a time, within their group and among given columns.

    Its energy is the squared residual.

    Parameters
    ----------
    rows : ndarray of int64, shape (n_candidates,)
    columns : ndarray of int64, shape (n_columns,)
        Where rows can be, ascending; those of `rows` among them.
    group : ndarray of int64, shape (n_candidates,)
        Ascending.
    log_odds : ndarray of float64, shape (n_columns,), or None
        How likely each column is before, up to a constant; None for all alike.
    """

    def __init__(
        self,
        system: System,
        rows: IntArray,
        columns: IntArray,
        group: IntArray,
        rng: np.random.Generator,
        log_odds: FloatArray | None = None,
    ) -> None:
        part = system.only(columns)
        self._pointer, self._equation = part.matrix.indptr.astype(np.int64), part.matrix.indices
        self._weight = part.matrix.data.astype(np.int64)
        self._residual = (part.matrix @ rows[columns] - part.observed).astype(np.int64)
        self._columns, self._size, self._rng = columns, len(rows), rng
        self._log_odds = np.zeros(len(columns)) if log_odds is None else log_odds
        self._chosen = np.repeat(np.arange(len(columns)), rows[columns])
        own = group[columns]
        self._first = np.searchsorted(own, own[self._chosen], side="left")
        self._last = np.searchsorted(own, own[self._chosen], side="right")
        tried = np.concatenate([[0], np.cumsum(np.diff(self._pointer))])
        self.sweep_units = _PARAMETERS.seconds_per_step * float((tried[self._last] - tried[self._first]).sum())

    @property
    def rows(self) -> IntArray:
        """The dataset as it is, shape (n_candidates,)."""
        return np.bincount(self._columns[self._chosen], minlength=self._size).astype(np.int64)

    def sweep(self, temperature: float, stop: Flag) -> int:
        """Draw each row anew, given all others (heat bath), until a flag is raised; at 0, move it to the least energy.

        Returns
        -------
        int
            Rows that moved.
        """
        n_rows = len(self._chosen)
        return int(
            _sweep(
                self._pointer,
                self._equation,
                self._weight,
                self._log_odds,
                self._first,
                self._last,
                self._chosen,
                self._residual,
                self._rng.permutation(n_rows),
                self._rng.random(n_rows),
                temperature,
                stop,
            )
        )

    def settle(self, timebox: TimeBox, stop: Flag) -> None:
        """Move rows to the least energy until no single move lowers it, or the time is out."""
        while timebox.allows(self.sweep_units):
            timebox.spend(self.sweep_units)
            if not self.sweep(0.0, stop):
                break


@compiled
def _sweep(
    pointer: IntArray,
    equation: Int32Array,
    weight: IntArray,
    log_odds: FloatArray,
    first: IntArray,
    last: IntArray,
    chosen: IntArray,
    residual: IntArray,
    order: IntArray,
    level: FloatArray,
    temperature: float,
    stop: Flag,
) -> int:
    """Change `chosen` and `residual`, row by row, until a flag is raised; return how many rows moved."""
    moved = 0
    score = np.empty((last - first).max())
    for r in range(len(order)):
        if stop[0] != 0:
            break
        row = order[r]
        old, low, high = chosen[row], first[row], last[row]
        for j in range(pointer[old], pointer[old + 1]):
            residual[equation[j]] -= weight[j]
        new, least = old, 0.0
        for k in range(low, high):
            energy = 0
            for j in range(pointer[k], pointer[k + 1]):
                energy += weight[j] * (2 * residual[equation[j]] + weight[j])
            score[k - low] = energy
            if k == low or energy < least:
                new, least = k, energy
        if temperature > 0:
            odds = log_odds[low:high] - score[: high - low] / temperature
            chance = np.cumsum(np.exp(odds - odds.max()))
            new = low + min(np.searchsorted(chance, level[r] * chance[-1], side="right"), high - low - 1)
        elif score[old - low] <= least:
            new = old
        moved += new != old
        chosen[row] = new
        for j in range(pointer[new], pointer[new + 1]):
            residual[equation[j]] += weight[j]
    return moved


def local_search(
    system: System, rows: IntArray, group: IntArray, rng: np.random.Generator, timebox: TimeBox
) -> IntArray:
    """Move single rows within their group while that lowers the squared residual.

    Parameters
    ----------
    rows : ndarray of int64, shape (n_candidates,)
    group : ndarray of int64, shape (n_candidates,)
        Ascending.
    rng : numpy.random.Generator
        Draws the order of the moves.

    Returns
    -------
    ndarray of int64, shape (n_candidates,)
        A dataset that no single move improves, or the best one when the time is out.
    """
    walk = Walk(system, rows, np.arange(len(rows)), group, rng)
    with timebox.flag() as stop:
        walk.settle(timebox, stop)
    return walk.rows


def anneal(
    system: System,
    rows: IntArray,
    mass: FloatArray,
    group: IntArray,
    heat: float,
    rng: np.random.Generator,
    timebox: TimeBox,
) -> tuple[IntArray, FloatArray]:
    """Cool a dataset down to a smaller squared residual, by heat-bath moves of single rows.

    Parameters
    ----------
    rows : ndarray of int64, shape (n_candidates,)
    mass : ndarray of float64, shape (n_candidates,)
        Expected rows of each candidate; rows go nowhere else than where some are expected.
    group : ndarray of int64, shape (n_candidates,)
        Ascending.
    heat : float
        First temperature: about what a wrong row costs.

    Returns
    -------
    rows : ndarray of int64, shape (n_candidates,)
        The one with the smallest residual.
    mean : ndarray of float64, shape (n_candidates,)
        Over the colder half of the sweeps: sums over groups are sharper than in any single dataset.
    """
    columns = np.flatnonzero((mass > _PARAMETERS.negligible) | (rows > 0))
    log_odds = np.log(np.maximum(mass[columns], _PARAMETERS.negligible))
    best, least, total, counted = rows, system.missed(rows), np.zeros(len(rows)), 0
    with timebox.flag() as stop:
        for power in _PARAMETERS.powers:
            if not least:
                break
            walk = Walk(system, best, columns, group, rng, power * log_odds)
            effort = _PARAMETERS.annealing_effort / len(_PARAMETERS.powers)
            n_sweeps = int(np.clip(effort / max(walk.sweep_units, 1e-9), *_PARAMETERS.sweeps))
            for i, temperature in enumerate(np.geomspace(heat * power, heat * power / _PARAMETERS.cooling, n_sweeps)):
                if not timebox.allows(walk.sweep_units):
                    break
                timebox.spend(walk.sweep_units)
                walk.sweep(float(temperature), stop)
                if 2 * i >= n_sweeps:
                    total += walk.rows
                    counted += 1
            walk.settle(timebox, stop)
            found = system.missed(walk.rows)
            if found < least:
                best, least = walk.rows, found
    return best, total / counted if counted else best.astype(np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """What CP-SAT says."""

    status: str
    """``OPTIMAL``, ``FEASIBLE``, ``INFEASIBLE`` or ``UNKNOWN``."""
    rows: IntArray | None
    """Shape (n_candidates,). A dataset with residual 0, where one was found."""


def program(
    system: System,
    lower: IntArray,
    upper: IntArray,
    cost: FloatArray,
    timebox: TimeBox,
    *,
    gap: float = 0.02,
) -> Answer:
    """Find the dataset with residual 0 and the least cost, or one nearly as cheap, by mixed-integer programming.

    With costs from a relaxed dataset (`-log` of its mass), the linear relaxation has few fractional columns or none,
    and HiGHS ends where constraint programming does not.

    Parameters
    ----------
    lower, upper : ndarray of int64, shape (n_candidates,)
        Bounds.
    cost : ndarray of float64, shape (n_candidates,)
    gap : float
        How much dearer than the cheapest, relatively, a dataset may be.
    """
    if timebox.over:
        return Answer("UNKNOWN", None)
    found = milp(
        cost,
        constraints=LinearConstraint(system.matrix.astype(np.float64), system.observed, system.observed),
        integrality=np.ones(len(cost)),
        bounds=Bounds(lower, upper),
        options={"time_limit": max(timebox.remaining, 1e-3), "node_limit": _PARAMETERS.most_nodes, "mip_rel_gap": gap},
    )
    timebox.spend(_PARAMETERS.seconds_per_coefficient * system.matrix.nnz * (1 + 0.1 * (found.mip_node_count or 0)))
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

    def solve(self, *, hint: IntArray, effort: float, seed: int, timebox: TimeBox) -> Answer:
        """Find a dataset with residual 0.

        Parameters
        ----------
        hint : ndarray of int64, shape (n_candidates,)
            Where the search starts.
        effort : float
            CP-SAT's deterministic time, in its units (about seconds on one core).
        """
        if timebox.over:
            return Answer("UNKNOWN", None)
        self._model.clear_hints()  # type: ignore[no-untyped-call]
        for variable, value in zip(self._variables, hint.tolist(), strict=True):
            self._model.add_hint(variable, value)
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = max(timebox.remaining, 1e-3)
        solver.parameters.max_deterministic_time = min(effort, timebox.effort_left)
        solver.parameters.num_workers = 1  # another number of threads would be another search
        solver.parameters.random_seed = seed % 2**31
        status = solver.solve(self._model)
        timebox.spend(solver.response_proto.deterministic_time)
        found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        rows = np.array([solver.value(variable) for variable in self._variables], dtype=np.int64) if found else None
        return Answer(solver.status_name(status), rows)
