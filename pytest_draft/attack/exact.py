"""Observations without noise: in go equations, groups and a prior, out comes a whole dataset that meets them.

Propagate, split, relax, round, repair, prove (design, section 5); every step is anytime: the best dataset so far
and its residual are always at hand.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from pytest_draft.attack.integer import Model, descend, rounded
from pytest_draft.attack.problem import InfeasibleError, IntArray, System
from pytest_draft.attack.propagate import propagate
from pytest_draft.attack.relax import relax
from pytest_draft.timebox import TimeBox

MOST_ALTERNATIVES = 16
"""Most datasets that are listed for a part of the equations that has several."""

_UPDATES = 25
_PATIENCE = 8
_PRUNE_ABOVE = 1_000_000  # coefficients: below, nothing needs to be dropped from the relaxation
_FIRST_CANDIDATES = 1_000
_WIDEN = 3
_MOST_CANDIDATES = 100_000
_PROOF_CANDIDATES = 5_000
_FIRST_EFFORT = 1.0
_NEAR_EFFORT = 1.0
_PROOF_EFFORT = 1.0


@dataclass(frozen=True, eq=False)
class Alternatives:
    """The other datasets that a connected part of the equations allows.

    Attributes
    ----------
    columns : ndarray of int64, shape (n_columns,)
        The part's columns.
    rows : tuple of ndarray of int64, shape (n_columns,)
        The chosen dataset first.
    complete : bool
        Whether it is proved that there are no others.
    """

    columns: IntArray
    rows: tuple[IntArray, ...]
    complete: bool


@dataclass(frozen=True, eq=False)
class Solution:
    """A whole dataset for a system of equations.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_candidates,)
    expected : ndarray of float64, shape (n_candidates,)
        The relaxed dataset: expected rows of each candidate.
    residual : int
        0 where the dataset meets every equation.
    open_parts : tuple of Alternatives
        The parts of the equations that are met and not proved to be met by this dataset alone.
    unique : bool
        Proved: no other dataset meets every equation.
    """

    rows: IntArray
    expected: NDArray[np.float64]
    residual: int
    open_parts: tuple[Alternatives, ...]
    unique: bool


class StageClock:
    """Adds up the seconds of each stage, by name, beside other figures of a search."""

    def __init__(self) -> None:
        self.figures: dict[str, float] = {}
        self._stage = ""
        self._since = 0.0

    def __call__(self, stage: str) -> StageClock:
        """Name the stage that a ``with`` block is about to run."""
        self._stage = f"{stage} seconds"
        return self

    def __enter__(self) -> None:
        self._since = time.monotonic()

    def __exit__(self, *_: object) -> None:
        spent = time.monotonic() - self._since
        self.figures[self._stage] = self.figures.get(self._stage, 0.0) + spent


@dataclass(frozen=True)
class Search:
    """What every step of a search shares.

    Attributes
    ----------
    timebox : TimeBox
    seed : int
        Of every random choice.
    workers : int
        CP-SAT's threads.
    clock : StageClock
    """

    timebox: TimeBox
    seed: int = 0
    workers: int = 1
    clock: StageClock = field(default_factory=StageClock)


def solve_exactly(
    system: System, group: IntArray, size: IntArray, prior: NDArray[np.float64], search: Search
) -> Solution:
    """Find a whole dataset with the smallest residual, near the relaxed one.

    Parameters
    ----------
    system : System
        Group sizes among its equations.
    group : ndarray of int64, shape (n_candidates,)
        Ascending.
    size : ndarray of int64, shape (n_groups,)
    prior : ndarray of float64, shape (n_candidates,)
        Positive.
    search : Search

    Returns
    -------
    Solution

    Raises
    ------
    InfeasibleError
        Proved: no dataset meets the equations.
    OutOfTimeError
        The time was out before there was a dataset.
    """
    with search.clock("propagate"):
        lower, upper = propagate(system, size[group], search.timebox)
    rows, expected = lower.copy(), lower.astype(np.float64)
    free = np.flatnonzero(lower < upper)
    search.clock.figures["candidates left by propagation"] = len(free)
    open_parts: list[Alternatives] = []
    unique = True
    if free.size:
        rest = system.only(free, lower)
        left = size - np.bincount(group, lower, minlength=len(size)).astype(np.int64)
        for part in _connected_parts(rest):
            columns = free[part]
            piece = _piece(rest, part, group[columns], left, (upper - lower)[columns], prior[columns])
            placed, mass = piece.solve(search, np.random.default_rng([search.seed, int(columns[0])]))
            rows[columns] += placed
            expected[columns] += mass
            others, complete = piece.others(placed, search) or ([placed], False)
            unique &= complete and len(others) == 1
            if len(others) > 1:
                open_parts.append(Alternatives(columns, tuple(lower[columns] + other for other in others), complete))
    residual = system.missed(rows)
    return Solution(rows, expected, residual, tuple(open_parts), unique and not residual)


def _connected_parts(system: System) -> list[IntArray]:
    """Return the columns of each connected part of the equations, the smallest part first."""
    pattern = sparse.block_array([[None, system.matrix], [system.matrix.T, None]])
    _, part = csgraph.connected_components(pattern, directed=False)
    part = part[system.matrix.shape[0] :]
    order = np.argsort(part, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(part[order])) + 1)
    return sorted((columns.astype(np.int64) for columns in parts), key=len)


def _piece(
    rest: System, part: IntArray, group: IntArray, left: IntArray, room: IntArray, prior: NDArray[np.float64]
) -> _Piece:
    """Cut out one part: only equations that touch it, groups renumbered."""
    matrix = rest.matrix[:, part].tocsr()
    touched = np.flatnonzero(np.diff(matrix.indptr))
    groups, renumbered = np.unique(group, return_inverse=True)
    system = System(matrix[touched].tocsc(), rest.observed[touched])
    return _Piece(system, renumbered.astype(np.int64), left[groups], room, prior)


@dataclass(frozen=True, eq=False)
class _Piece:
    """A connected part of the equations that propagation left open."""

    system: System
    group: IntArray
    size: IntArray
    room: IntArray
    prior: NDArray[np.float64]

    def solve(self, search: Search, rng: np.random.Generator) -> tuple[IntArray, NDArray[np.float64]]:
        """Return whole rows and expected rows of each candidate."""
        with search.clock("relax"):
            rows, mass = self._relax_and_round(search.timebox)
        if self.system.missed(rows):
            with search.clock("repair"):
                lower = descend(self.system, rows, self.group, rng, search.timebox)
                rows = min(rows, lower, key=self.system.missed)
                rows = self._complete(rows, mass, search)
        return rows, mass

    def _relax_and_round(self, timebox: TimeBox) -> tuple[IntArray, NDArray[np.float64]]:
        """Return the best rounding that was met, and the last relaxed dataset."""
        share = self.size / np.bincount(self.group, self.prior, minlength=len(self.size))
        mass = self.prior * share[self.group]
        best = rounded(mass, self.group, self.size)
        least = self.system.missed(best)
        waited = 0
        prune = self.system.matrix.nnz > _PRUNE_ABOVE
        for relaxed in relax(
            self.system, self.prior, self.group, self.size, every=_UPDATES, prune=prune, timebox=timebox
        ):
            mass = np.zeros(len(self.group))
            mass[relaxed.columns] = relaxed.mass
            rows = rounded(mass, self.group, self.size)
            gap = self.system.missed(rows)
            waited = 0 if gap < least else waited + 1
            if gap < least:
                best, least = rows, gap
            if not least or waited > _PATIENCE or timebox.over:
                break
        return best, mass

    def _complete(self, best: IntArray, mass: NDArray[np.float64], search: Search) -> IntArray:
        """Return a dataset with residual 0 near the relaxed one where CP-SAT finds one, else `best`.

        CP-SAT first sees only the likeliest candidates, then more and more of them: a small search that
        succeeds is worth more than a large one that doesn't end, and only the whole one can prove that there
        is no dataset.
        """
        order = np.lexsort((-mass, best == 0))
        limit = _FIRST_CANDIDATES
        while not search.timebox.over:
            whole = limit >= len(order)
            if whole and len(order) > _MOST_CANDIDATES:
                break
            columns = np.sort(order[:limit])
            part = self.system.only(columns)
            model = Model(part, self.room[columns])
            ask = partial(model.solve, seed=search.seed, workers=search.workers, timebox=search.timebox)
            exact = best[columns]
            if part.missed(exact):
                answer = ask(hint=exact, effort=np.inf if whole else _FIRST_EFFORT * limit / _FIRST_CANDIDATES)
                if whole and answer.status == "INFEASIBLE":
                    raise InfeasibleError
                if answer.rows is None:
                    limit *= _WIDEN
                    if whole:
                        break
                    continue
                exact = answer.rows
            model.prefer(mass[columns])
            nearer = ask(hint=exact, effort=_NEAR_EFFORT)
            found = np.zeros_like(best)
            found[columns] = exact if nearer.rows is None else nearer.rows
            return found
        return best

    def others(self, rows: IntArray, search: Search) -> tuple[list[IntArray], bool] | None:
        """List datasets with residual 0, `rows` first, and whether these are all; None where that was not tried."""
        if self.system.missed(rows) or len(rows) > _PROOF_CANDIDATES or search.timebox.over:
            return None
        found = [rows]
        with search.clock("prove"):
            model = Model(self.system, self.room)
            while len(found) < MOST_ALTERNATIVES:
                model.exclude(found[-1])
                answer = model.solve(
                    hint=rows,
                    effort=_PROOF_EFFORT / len(found),
                    seed=search.seed,
                    workers=search.workers,
                    timebox=search.timebox,
                )
                if answer.rows is None:
                    return found, answer.status == "INFEASIBLE"
                found.append(answer.rows)
        return found, False
