"""Exact counts by rounding and integer programs: a whole dataset that meets the equations of a problem.

Propagate, split, relax, round, repair, prove; every step is anytime: the best dataset so far and its residual are
always at hand. Bounds propagation proves what it concludes: a column whose bounds meet has the same value in every
solution, and `InfeasibleError` means that there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.attack.counts.integer import Answer, Model, anneal, local_search, program, rounded
from pytest_draft.attack.counts.relax import relax
from pytest_draft.attack.problem import System
from pytest_draft.attack.search import Search
from pytest_draft.errors import InfeasibleError, OutOfTimeError
from pytest_draft.timebox import TimeBox

MOST_ALTERNATIVES = 16
"""Most datasets that are listed for a part of the equations that has several."""


@dataclass(frozen=True)
class ExactParameters:
    """How hard each step of the search tries. Efforts are in units of about one second on one core."""

    updates: int = 25
    """Updates of the relaxed dataset between two roundings of it."""
    patience: int = 8
    """Roundings in a row that may be no better before rounding ends."""
    prune_above: int = 1_000_000
    """Coefficients of a part above which hopeless candidates leave its relaxation; below, it is fast enough with all.
    """
    first_candidates: int = 1_000
    """Candidates that the first integer program of a part sees, the likeliest ones."""
    widen: int = 3
    """How many times as many the next one sees."""
    most_candidates: int = 100_000
    """Most candidates that are given to constraint programming."""
    proof_candidates: int = 5_000
    """Most candidates of a part whose other datasets are listed."""
    first_effort: float = 1.0
    """Of constraint programming on `first_candidates`; more in proportion to more candidates."""
    least_mass: float = 1e-6
    """Expected rows below which all candidates count as equally unlikely: keeps logarithms finite."""
    most_coefficients: int = 1_000_000
    """Most coefficients of an integer program."""
    per_rank: int = 5
    """So many candidates of each group are taken before further ones of any group."""
    sampling_effort: float = 2.0
    """Of drawing other datasets, over all parts."""
    sampling_gap: float = 0.1
    """How much dearer than the cheapest, relatively, a drawn dataset may be."""
    most_groups_drawn: int = 8
    """With more groups no other datasets are drawn, and repairs anneal: integer programs are hard then."""
    descent_effort: float = 1.0
    """Of local search after rounding."""
    proof_effort: float = 1.0
    """Of the first search for another dataset of a part; each later one has less in proportion to those found."""


_PARAMETERS = ExactParameters()


_COMPACT_ABOVE = 0.1
"""Share of columns that must be fixed before they leave the matrix, which has to be made anew for that."""


def propagate_bounds(system: System, upper: IntArray, timebox: TimeBox) -> tuple[IntArray, IntArray]:
    """Tighten ``0 <= h <= upper`` by each equation in turn until nothing changes.

    For an equation ``sum_j a_j h_j = b`` with whole ``a_j > 0``, each term leaves to the others at least what
    they need and at most what they can take: ``h_j <= l_j + (b - sum a l) / a_j`` and
    ``h_j >= u_j - (sum a u - b) / a_j``, both rounded towards the inside.

    Parameters
    ----------
    system : System
        Every column in at least one equation.
    upper : ndarray of int64, shape (n_candidates,)

    Returns
    -------
    lower, upper : ndarray of int64, shape (n_candidates,)

    Raises
    ------
    InfeasibleError
        The equations contradict each other.
    OutOfTimeError
    """
    lower, upper = np.zeros_like(upper), upper.copy()
    active = np.arange(len(upper))
    matrix, rest = system.matrix, system.observed
    low, high = lower.copy(), upper.copy()
    while True:
        if timebox.over:
            raise OutOfTimeError
        slack = rest - matrix @ low
        excess = matrix @ high - rest
        if (slack < 0).any() or (excess < 0).any():
            raise InfeasibleError
        new_high = np.minimum(high, low + _least_share(matrix, slack))
        new_low = np.maximum(low, high - _least_share(matrix, excess))
        if (new_low > new_high).any():
            raise InfeasibleError
        unchanged = (new_low == low).all() and (new_high == high).all()
        low, high = new_low, new_high
        lower[active], upper[active] = low, high
        if unchanged or not active.size:
            return lower, upper
        fixed = low == high
        if fixed.mean() > _COMPACT_ABOVE:
            rest = rest - matrix[:, fixed] @ low[fixed]
            matrix, active, low, high = matrix[:, ~fixed], active[~fixed], low[~fixed], high[~fixed]


def _least_share(matrix: sparse.csc_array, spare: IntArray) -> IntArray:
    """Return, per column, the least of ``spare / coefficient`` over its equations, rounded down."""
    if not matrix.shape[1]:
        return np.empty(0, dtype=np.int64)
    share = spare[matrix.indices]
    heavy = np.flatnonzero(matrix.data > 1)  # division is slow, and most coefficients are 1
    share[heavy] //= matrix.data[heavy]
    least: IntArray = np.minimum.reduceat(share, matrix.indptr[:-1])
    return least


@dataclass(frozen=True, eq=False, repr=False)
class ExactDatasets:
    """The datasets that are known to meet a connected part of the equations."""

    columns: IntArray
    """Shape (n_columns,). The part's columns."""
    rows: tuple[IntArray, ...]
    """Each of shape (n_columns,). The chosen dataset first."""
    complete: bool
    """Whether it is proved that there are no others."""


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """A whole dataset for a system of equations."""

    rows: IntArray
    """Shape (n_candidates,)."""
    expected: FloatArray
    """Shape (n_candidates,). The relaxed dataset: expected rows of each candidate."""
    residual: int
    """0 where the dataset meets every equation."""
    lower: IntArray
    upper: IntArray
    """`lower` and `upper`, shape (n_candidates,): bounds that propagation proved."""
    parts: tuple[ExactDatasets, ...]
    """The parts of the equations that propagation left open, each candidate with ``lower < upper`` in one of them."""
    unique: bool
    """Proved: no other dataset meets every equation."""
    samples: tuple[IntArray, ...] = ()
    """Each of shape (n_candidates,). Other datasets, spread as the relaxed one says; parts of them repeat where time
    was short.
    """


def solve_exactly(
    system: System,
    group: IntArray,
    size: IntArray,
    prior: FloatArray,
    search: Search,
    *,
    alternatives: bool = False,
    n_samples: int = 0,
    mass: FloatArray | None = None,
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
    alternatives : bool
        Whether other datasets that meet the equations are listed, to choose among them or to prove that there are none.
    n_samples : int
        How many others are drawn at random where they are not unique.
    mass : ndarray of float64, shape (n_candidates,), or None
        Expected rows of each candidate, for parts with many groups; others are relaxed from the prior.

    Raises
    ------
    InfeasibleError
        Proved: no dataset meets the equations.
    OutOfTimeError
        The time was out before there was a dataset.
    """
    with search.clock("propagate"):
        lower, upper = propagate_bounds(system, size[group], search.timebox)
    rows, expected = lower.copy(), lower.astype(np.float64)
    free = np.flatnonzero(lower < upper)
    search.clock.figures["candidates left by propagation"] = len(free)
    parts: list[ExactDatasets] = []
    pieces: list[_Piece] = []
    if free.size:
        rest = system.only(free, lower)
        left = size - np.bincount(group, lower, minlength=len(size)).astype(np.int64)
        for part in _connected_parts(rest):
            columns = free[part]
            piece = _piece(rest, part, group[columns], left, (upper - lower)[columns], prior[columns])
            rng = np.random.default_rng([search.seed, int(columns[0])])
            known = None if mass is None or piece.has_few_groups else mass[columns] - lower[columns]
            placed, own = piece.solve(search, rng, known)
            rows[columns] += placed
            expected[columns] += own
            others, complete = piece.others(placed, search) if alternatives else ([placed], False)
            parts.append(ExactDatasets(columns, tuple(lower[columns] + other for other in others), complete))
            pieces.append(piece)
    residual = system.missed(rows)
    unique = not residual and all(part.complete and len(part.rows) == 1 for part in parts)
    samples = [rows.copy() for _ in range(0 if unique or residual else n_samples)]
    with search.clock("sample"):
        for listed, piece in zip(parts, pieces, strict=True):
            box, columns = search.timebox.next(_PARAMETERS.sampling_effort / len(parts)), listed.columns
            own, rng = expected[columns] - lower[columns], np.random.default_rng([search.seed, int(columns[0]), 1])
            for sample, other in zip(samples, piece.drawn(own, len(samples), rng, box), strict=False):
                sample[columns] = lower[columns] + other
    return Solution(rows, expected, residual, lower, upper, tuple(parts), unique, tuple(samples))


def _connected_parts(system: System) -> list[IntArray]:
    """Return the columns of each connected part of the equations, the smallest part first."""
    pattern = sparse.block_array([[None, system.matrix], [system.matrix.T, None]])
    _, part = csgraph.connected_components(pattern, directed=False)
    part = part[system.matrix.shape[0] :]
    order = np.argsort(part, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(part[order])) + 1)
    return sorted((columns.astype(np.int64) for columns in parts), key=len)


def _piece(rest: System, part: IntArray, group: IntArray, left: IntArray, room: IntArray, prior: FloatArray) -> _Piece:
    """Cut out one part: only equations that touch it, groups renumbered."""
    matrix = rest.matrix[:, part].tocsr()
    touched = np.flatnonzero(np.diff(matrix.indptr))
    groups, renumbered = np.unique(group, return_inverse=True)
    system = System(matrix[touched].tocsc(), rest.observed[touched])
    return _Piece(system, renumbered.astype(np.int64), left[groups], room, prior)


def _heat(system: System) -> float:
    """Return about what a wrong row costs: twice the equations of a candidate."""
    return float(2.0 * system.matrix.nnz / max(1, system.matrix.shape[1]))


def _rank(mass: FloatArray, group: IntArray) -> IntArray:
    """Return the place of each candidate in its group, the likeliest first; groups are ascending."""
    order = np.lexsort((-mass, group))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order)) - np.searchsorted(group, group[order])
    return rank


@dataclass(frozen=True, eq=False, repr=False)
class _Piece:
    """A connected part of the equations that propagation left open."""

    system: System
    group: IntArray
    size: IntArray
    room: IntArray
    prior: FloatArray

    @property
    def has_few_groups(self) -> bool:
        """Whether integer programs are easy, and draws hardly tell rows apart."""
        return len(self.size) <= _PARAMETERS.most_groups_drawn

    def solve(
        self, search: Search, rng: np.random.Generator, mass: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return whole rows and expected rows of each candidate."""
        with search.clock("relax"):
            rows, mass = self._relax_and_round(search.timebox) if mass is None else self._rounded(mass)
        search.clock.note("residual", self.system.missed(rows))
        if self.system.missed(rows):
            with search.clock("repair"):
                rows, mass = self._walked(rows, mass, search.timebox, rng)
                search.clock.note("residual", self.system.missed(rows))
                if self.system.missed(rows):
                    rows = self._complete(rows, mass, search)
        return rows, mass

    def _rounded(self, mass: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return whole rows near expected ones, and these as the groups' sizes have them."""
        mass = np.maximum(mass, _PARAMETERS.least_mass)
        mass = mass * (self.size / np.bincount(self.group, mass, minlength=len(self.size)))[self.group]
        return rounded(mass, self.group, self.size), mass

    def _walked(
        self, rows: IntArray, mass: FloatArray, timebox: TimeBox, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Return a dataset with a smaller residual, and the expected rows."""
        if self.has_few_groups:  # integer programming does the rest
            lower = local_search(self.system, rows, self.group, rng, timebox.next(_PARAMETERS.descent_effort))
            return min(rows, lower, key=self.system.missed), mass
        lower, mean = anneal(self.system, rows, mass, self.group, _heat(self.system), rng, timebox)
        return min(rows, lower, key=self.system.missed), mean

    def _relax_and_round(self, timebox: TimeBox) -> tuple[IntArray, FloatArray]:
        """Return the best rounding that was met, and the last relaxed dataset."""
        share = self.size / np.bincount(self.group, self.prior, minlength=len(self.size))
        mass = self.prior * share[self.group]
        best = rounded(mass, self.group, self.size)
        least = self.system.missed(best)
        waited = 0
        prune = self.system.matrix.nnz > _PARAMETERS.prune_above
        for relaxed in relax(
            self.system, self.prior, self.group, self.size, every=_PARAMETERS.updates, prune=prune, timebox=timebox
        ):
            mass = np.zeros(len(self.group))
            mass[relaxed.columns] = relaxed.mass
            rows = rounded(mass, self.group, self.size)
            gap = self.system.missed(rows)
            waited = 0 if gap < least else waited + 1
            if gap < least:
                best, least = rows, gap
            if not least or waited > _PARAMETERS.patience or timebox.over:
                break
        return best, mass

    def _complete(self, best: IntArray, mass: FloatArray, search: Search) -> IntArray:
        """Return a dataset with residual 0 near the relaxed one where one is found, else `best`.

        A search first sees only the likeliest candidates of each group, then more and more of them: a small search
        that succeeds is worth more than a large one that doesn't end, and only the whole one can prove that there is
        no dataset.
        """
        limit = _PARAMETERS.first_candidates
        while not search.timebox.over:
            columns = self._first_columns(mass, best, limit)
            all_columns = len(columns) == len(mass)
            if self._coefficients(columns) > _PARAMETERS.most_coefficients:
                break
            answer = self._near(mass, np.zeros_like(mass), columns, search.timebox)
            if answer.rows is None:
                part, room = self.system.only(columns), self.room[columns]
                cost = -np.log(np.maximum(mass[columns], _PARAMETERS.least_mass))
                answer = program(part, np.zeros_like(room), room, cost, search.timebox)
                if answer.status == "UNKNOWN" and len(columns) <= _PARAMETERS.most_candidates:
                    answer = Model(part, room).solve(
                        hint=best[columns],
                        effort=np.inf
                        if all_columns
                        else _PARAMETERS.first_effort * limit / _PARAMETERS.first_candidates,
                        seed=search.seed,
                        timebox=search.timebox,
                    )
            if answer.rows is not None:
                found = np.zeros_like(best)
                found[columns] = answer.rows
                return found
            if all_columns:
                if answer.status == "INFEASIBLE":
                    raise InfeasibleError
                break
            limit *= _PARAMETERS.widen
        return best

    def drawn(self, mass: FloatArray, number: int, rng: np.random.Generator, timebox: TimeBox) -> list[IntArray]:
        """Return datasets with residual 0 drawn about as the relaxed one says, again and again where time is short.

        Each is the likeliest after adding Gumbel noise to the log-odds: perturb and maximise. Of many groups none is
        drawn: then these programs are hard.
        """
        found: list[IntArray] = []
        if not self.has_few_groups:
            return found
        while len(found) < number and not timebox.over:
            noise = rng.gumbel(size=len(mass))
            score = np.log(np.maximum(mass, _PARAMETERS.least_mass)) + noise
            columns = self._first_columns(score, np.zeros(len(mass), dtype=np.int64), _PARAMETERS.first_candidates)
            if self._coefficients(columns) > _PARAMETERS.most_coefficients:
                break
            answer = self._near(mass, noise, columns, timebox, gap=_PARAMETERS.sampling_gap)
            if answer.rows is None:
                break
            found.append(np.zeros(len(mass), dtype=np.int64))
            found[-1][columns] = answer.rows
        return [found[i % len(found)] for i in range(number)] if found else []

    def _near(
        self,
        mass: FloatArray,
        noise: FloatArray,
        columns: IntArray,
        timebox: TimeBox,
        gap: float = 0.02,
    ) -> Answer:
        """Find the dataset with residual 0 that rounds each mass up or down and has the best log-odds, with noise."""
        lower = np.floor(mass[columns]).astype(np.int64)
        upper = np.minimum(lower + 1, self.room[columns])
        odds = np.clip(mass[columns] - lower, _PARAMETERS.least_mass, 1 - _PARAMETERS.least_mass)
        cost = np.log(1 - odds) - np.log(odds) - noise[columns]
        return program(self.system.only(columns), np.minimum(lower, upper), upper, cost, timebox, gap=gap)

    def _first_columns(self, score: FloatArray, rows: IntArray, limit: int) -> IntArray:
        """Return the best candidates of each group, ascending, those of a dataset among them."""
        order = np.lexsort((-score, _rank(score, self.group) // _PARAMETERS.per_rank, rows == 0))
        return np.sort(order[: max(limit, 2 * len(self.size))])

    def _coefficients(self, columns: IntArray) -> int:
        return int(np.diff(self.system.matrix.indptr)[columns].sum())

    def others(self, rows: IntArray, search: Search) -> tuple[list[IntArray], bool]:
        """List datasets with residual 0, `rows` first, and whether it is proved that these are all."""
        found = [rows]
        if self.system.missed(rows) or len(rows) > _PARAMETERS.proof_candidates or search.timebox.over:
            return found, False
        with search.clock("prove"):
            model = Model(self.system, self.room)
            while len(found) < MOST_ALTERNATIVES:
                model.exclude(found[-1])
                answer = model.solve(
                    hint=rows,
                    effort=_PARAMETERS.proof_effort / len(found),
                    seed=search.seed,
                    timebox=search.timebox,
                )
                if answer.rows is None:
                    return found, answer.status == "INFEASIBLE"
                found.append(answer.rows)
        return found, False
