"""The attack: in goes a `Problem`, out comes a `Reconstruction` with its status and residual.

Reduce, propagate, relax, round, repair, prove (design, section 5); every step is anytime.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from pytest_draft.attack.integer import descend, rounded, solve
from pytest_draft.attack.problem import BoolArray, InfeasibleError, IntArray, OutOfTimeError, Problem, System
from pytest_draft.attack.propagate import propagate
from pytest_draft.attack.relax import relax
from pytest_draft.timebox import TimeBox

Status = Literal["unique", "consistent", "not converged", "infeasible", "no solution"]

INDICATOR_ODDS = 0.4
"""Prior odds of a one in a binary column that the forest leaves open: indicators are mostly zero."""

_UPDATES = 25
_MOST_ROUNDS = 80
_PATIENCE = 8
_CP_SAT_CANDIDATES = 100_000
_FIRST_CANDIDATES = 1_000
_WIDEN = 3
_FIRST_EFFORT = 1.0
_PRUNE_ABOVE = 1_000_000
_PROOF_CANDIDATES = 5_000
_NEAR_EFFORT = 1.0
_PROOF_EFFORT = 2.0


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction:
    """What the attack rebuilt. Its repr shows no row.

    Attributes
    ----------
    status : str
        ``unique``: residual 0, and proved that the domain allows no other dataset with residual 0;
        ``consistent``: residual 0; ``not converged``: a dataset with a residual; ``infeasible``: proved that
        no dataset of the domain has residual 0; ``no solution``: the time was out before there was one.
    rows : ndarray of float32, shape (n_rows, n_columns), or None
        Encoded feature vectors.
    labels : ndarray of int64, shape (n_rows,), or None
        Indices into the forest's classes.
    free : ndarray of bool, shape (n_rows, n_attributes), or None
        Attributes that the row's cell leaves open: filled with their likeliest value, never recovered.
    ordered : bool
        Whether row ``i`` stands for training row ``i``.
    residual : int or None
        Sum of absolute differences between the file's leaf counts and the reconstruction's.
    statistics : mapping of str to float
        Sizes of the problem and seconds of each stage.
    """

    status: Status
    rows: NDArray[np.float32] | None
    labels: IntArray | None
    free: BoolArray | None
    ordered: bool
    residual: int | None
    statistics: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        n_rows = 0 if self.rows is None else len(self.rows)
        return f"<Reconstruction: {self.status}, {n_rows} rows, residual {self.residual}>"


def reconstruct(problem: Problem, *, seed: int, workers: int, timebox: TimeBox) -> Reconstruction:
    """Rebuild the training data of a problem with exact noise.

    Parameters
    ----------
    problem : Problem
    seed : int
        Of every random choice.
    workers : int
        Solver threads.
    timebox : TimeBox

    Returns
    -------
    Reconstruction
    """
    clock = _StageClock()
    statistics = clock.seconds
    statistics.update(
        cells=problem.cells.n_cells, candidates=problem.n_candidates, groups=problem.groups.n_groups
    )
    size = problem.groups.size
    try:
        with clock("propagate"):
            lower, upper = propagate(problem.system, size[problem.group], timebox)
    except InfeasibleError:
        return _without_rows(problem, "infeasible", statistics)
    except OutOfTimeError:
        return _without_rows(problem, "no solution", statistics)
    chosen = lower.copy()
    free = np.flatnonzero(lower < upper)
    statistics["candidates left by propagation"] = len(free)
    expected = chosen.astype(np.float64)
    unique = True
    if free.size:
        rest = problem.system.only(free, lower)
        room = (upper - lower)[free]
        prior = _prior(problem)[free]
        for part in _components(rest):
            piece = _Piece.of(rest, part, problem.group[free], size, lower, problem.group, room, prior)
            rng = np.random.default_rng([seed, int(free[part[0]])])
            outcome = piece.solve(rng=rng, seed=seed, workers=workers, timebox=timebox, clock=clock)
            if outcome is None:
                return _without_rows(problem, "infeasible", statistics)
            rows, mass, alone = outcome
            chosen[free[part]] += rows
            expected[free[part]] += mass
            unique &= alone
    with clock("fill"):
        cell, label = _placed(problem, chosen)
        rows, open_attributes = _filled(problem, cell, expected)
    residual = problem.system.missed(chosen)
    status: Status = "not converged" if residual else "consistent"
    if not residual and unique and not open_attributes.any():
        status = "unique"
    return Reconstruction(
        status, rows, label, open_attributes, problem.groups.ordered, residual, dict(statistics)
    )


@dataclass(frozen=True, eq=False)
class _Piece:
    """A connected part of the equations that propagation left open."""

    system: System
    group: IntArray
    size: IntArray
    room: IntArray
    prior: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        rest: System,
        part: IntArray,
        group: IntArray,
        size: IntArray,
        lower: IntArray,
        group_of_lower: IntArray,
        room: IntArray,
        prior: NDArray[np.float64],
    ) -> _Piece:
        """Cut out the equations that some column of `part` is in."""
        matrix = rest.matrix[:, part].tocsr()
        touched = np.flatnonzero(np.diff(matrix.indptr))
        system = System(matrix[touched].tocsc(), rest.observed[touched])
        groups, renumbered = np.unique(group[part], return_inverse=True)
        left = size - np.bincount(group_of_lower, lower, minlength=len(size)).astype(np.int64)
        return cls(system, renumbered.astype(np.int64), left[groups], room[part], prior[part])

    def solve(
        self, *, rng: np.random.Generator, seed: int, workers: int, timebox: TimeBox, clock: _StageClock
    ) -> tuple[IntArray, NDArray[np.float64], bool] | None:
        """Return (rows, expected rows, whether they are proved the only ones), or None where there are none."""
        with clock("relax"):
            best, mass = self._relax_and_round(timebox)
        gap = self.system.missed(best)
        if gap:
            with clock("repair"):
                best = min(
                    (best, descend(self.system, best, self.group, rng, timebox)),
                    key=lambda rows: self.system.missed(rows),
                )
                exact = self._complete(best, mass, seed, workers, timebox)
            if exact is None:
                return None
            best, gap = exact, self.system.missed(exact)
        if gap or len(best) > _PROOF_CANDIDATES:
            return best, mass, False
        with clock("prove"):
            another = solve(
                self.system,
                self.room,
                hint=best,
                seconds=timebox.remaining,
                effort=_PROOF_EFFORT,
                seed=seed,
                workers=workers,
                other_than=best,
            )
        return best, mass, another.status == "INFEASIBLE"

    def _relax_and_round(self, timebox: TimeBox) -> tuple[IntArray, NDArray[np.float64]]:
        """Return the best rounding that was met, and the last relaxed dataset."""
        best = rounded(_within(self.prior, self.group, self.size), self.group, self.size)
        least = self.system.missed(best)
        mass = self.prior
        waited = 0
        search = relax(self.system, self.prior, self.group, self.size, every=_UPDATES, prune=self.system.matrix.nnz > _PRUNE_ABOVE)
        for relaxed in search:
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

    def _complete(
        self, best: IntArray, mass: NDArray[np.float64], seed: int, workers: int, timebox: TimeBox
    ) -> IntArray | None:
        """Return a dataset with residual 0 near the relaxed one, else `best`; None where there is none.

        CP-SAT first sees only the likeliest candidates, then more and more of them: a small search that
        succeeds is worth more than a large one that doesn't end, and only the whole one can prove that there
        is no dataset.
        """
        order = np.lexsort((-mass, best == 0))
        limit = _FIRST_CANDIDATES
        while True:
            whole = limit >= len(order)
            if whole and len(order) > _CP_SAT_CANDIDATES:
                return best
            columns = np.sort(order[:limit])
            part = self.system.only(columns)
            run = partial(solve, part, self.room[columns], seed=seed, workers=workers)
            exact = best[columns]
            if part.missed(exact):
                effort = np.inf if whole else _FIRST_EFFORT * limit / _FIRST_CANDIDATES
                answer = run(hint=exact, seconds=timebox.remaining, effort=effort)
                if whole and answer.status == "INFEASIBLE":
                    return None
                if answer.rows is None:
                    if whole or timebox.over:
                        return best
                    limit *= _WIDEN
                    continue
                exact = answer.rows
            nearer = run(hint=exact, seconds=timebox.remaining, effort=_NEAR_EFFORT, near=mass[columns])
            found = np.zeros_like(best)
            found[columns] = exact if nearer.rows is None else nearer.rows
            return found


class _StageClock:
    """Adds up the seconds of each stage, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._running = ""
        self._since = 0.0

    def __call__(self, stage: str) -> _StageClock:
        self._running = f"{stage} seconds"
        return self

    def __enter__(self) -> None:
        self._since = time.monotonic()

    def __exit__(self, *_: object) -> None:
        spent = time.monotonic() - self._since
        self.seconds[self._running] = self.seconds.get(self._running, 0.0) + spent


def _without_rows(problem: Problem, status: Status, statistics: Mapping[str, float]) -> Reconstruction:
    return Reconstruction(status, None, None, None, problem.groups.ordered, None, dict(statistics))


def _components(system: System) -> list[IntArray]:
    """Return the columns of each connected part of the equations, the smallest part first."""
    pattern = sparse.block_array([[None, system.matrix], [system.matrix.T, None]])
    _, part = csgraph.connected_components(pattern, directed=False)
    part = part[system.matrix.shape[0] :]
    order = np.argsort(part, kind="stable")
    pieces = np.split(order, np.flatnonzero(np.diff(part[order])) + 1)
    return sorted((piece.astype(np.int64) for piece in pieces), key=len)


def _within(
    mass: NDArray[np.float64], group: IntArray, size: IntArray
) -> NDArray[np.float64]:
    """Scale to the groups' sizes."""
    scaled: NDArray[np.float64] = mass * (size / np.bincount(group, mass, minlength=len(size)))[group]
    return scaled


def _prior(problem: Problem) -> NDArray[np.float64]:
    """Return the prior mass of each candidate: its cell's share of a domain with sparse indicators."""
    cells, mass = problem.cells, np.ones(problem.cells.n_cells)
    for a, attribute in enumerate(problem.domain.attributes):
        allowed = cells.allowed[:, cells.offsets[a] : cells.offsets[a + 1]]
        if attribute.kind == "binary":
            odds = np.array([1.0, INDICATOR_ODDS])
            mass *= allowed @ (odds / odds.sum())
        else:
            mass *= allowed.mean(axis=1)
    return mass[problem.cell]


def _placed(problem: Problem, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Return the cell and the class of each row; the rows of a group share its candidates in turn."""
    members = np.argsort(problem.groups.of_row, kind="stable")
    candidate = np.repeat(np.arange(problem.n_candidates), chosen)  # ascending, so group by group
    cell, label = np.empty_like(members), np.empty_like(members)
    cell[members], label[members] = problem.cell[candidate], problem.label[candidate]
    return cell, label


def _filled(
    problem: Problem, cell: IntArray, expected: NDArray[np.float64]
) -> tuple[NDArray[np.float32], BoolArray]:
    """Return encoded rows, each open attribute at its likeliest value, and which attributes are open.

    How likely a value is comes from the relaxed dataset's rows that fix the attribute; where none do, from the
    prior. Ordinal attributes take the middle of what the cell allows.
    """
    cells = problem.cells
    of_cell = np.bincount(problem.cell, expected, minlength=cells.n_cells)
    rows = np.empty((len(cell), problem.domain.n_columns), dtype=np.float32)
    for a, attribute in enumerate(problem.domain.attributes):
        allowed = cells.allowed[:, cells.offsets[a] : cells.offsets[a + 1]]
        if attribute.kind == "ordinal":
            n_allowed = allowed.sum(axis=1)
            middle = (allowed.cumsum(axis=1) > ((n_allowed - 1) // 2)[:, None]) & allowed
            value = middle.argmax(axis=1)
        else:
            fixed = cells.determined[:, a]
            likely = of_cell[fixed] @ allowed[fixed]
            if attribute.kind == "binary":
                likely = likely + np.array([1.0, INDICATOR_ODDS])
            value = np.where(allowed, likely + 1e-9, -1.0).argmax(axis=1)
        rows[:, list(attribute.columns)] = attribute.encoded(value[cell].astype(np.int64))
    return rows, ~cells.determined[cell]
