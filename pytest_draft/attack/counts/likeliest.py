"""Counts of unknown draws: the likeliest whole dataset, and others that are nearly as likely.

Expectation maximisation for the marginal multinomial likelihood finds the active candidates (DRAFT, ICML 2024,
maximises over the occurrences jointly, a weaker proxy); a second ascent adds what the distinct rows say; annealed
heat-bath sweeps, from several starts, then search the whole datasets, and sweeps at temperature 1 draw from their
posterior.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import Flag, FloatArray, Int32Array, IntArray
from pytest_draft.attack.counts.integer import rounded
from pytest_draft.attack.counts.occupancy import LeafDraws, pull, push, sweep_rows
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.search import Search
from pytest_draft.errors import OutOfTimeError


@dataclass(frozen=True)
class LikeliestParameters:
    """How long each step takes, and how it moves."""

    em_steps: int = 200
    """Steps of expectation maximisation by the counts alone."""
    ascent_steps: int = 200
    """Steps after them that follow the slope with distinct rows, where these are published."""
    negligible: float = 1e-6
    """Share of its group's largest mass below which a candidate is dropped from the relaxation."""
    damping: float = 0.5
    """Exponent of a step along the slope; 1 would be a full step."""
    check_every: int = 10
    """Steps between two looks for candidates to drop."""
    most_active: int = 5_000
    """Most candidates that chains choose among, besides the likeliest of each group."""
    chains: int = 4
    """Chains that are cooled."""
    sweeps: tuple[int, int] = (10, 80)
    """Fewest and most sweeps of a chain."""
    temperatures: tuple[float, float] = (4.0, 0.3)
    """First and last one; 1 draws from the posterior."""
    samples: int = 32
    """Datasets that are drawn for the consensus."""
    sample_every: int = 2
    """Sweeps between two of them."""
    annealing_share: float = 0.7
    """Share of the time that is left after which cooling ends, so that there is time for samples."""
    chain_effort: float = 8.0
    """Units of work of all chains, within `sweeps`."""
    seconds_per_addition: float = 1.2e-9
    """Measured: one entry of one candidate."""
    seconds_per_term: float = 1e-8
    """Measured: one term of a leaf's likelihood."""


_PARAMETERS = LikeliestParameters()


@dataclass(frozen=True, eq=False, repr=False)
class Likely:
    """Whole datasets that explain the draws well."""

    chosen: IntArray
    """Shape (n_rows,). The candidate of each row of the likeliest one."""
    samples: IntArray
    """Shape (n_samples, n_rows). Others, drawn from the posterior around it."""
    expected: FloatArray
    """Shape (n_candidates,). The relaxed dataset."""
    missing: int
    """Rows that leaves lack in the likeliest one: 0 where all counts are possible."""
    log_posterior: float
    """Of the likeliest one, up to a constant; minus infinity where rows are missing."""


def find_likeliest(problem: Problem, draws: LeafDraws, prior: FloatArray, search: Search) -> Likely:
    """Return the likeliest whole dataset that was found, anytime.

    Parameters
    ----------
    problem : Problem
        With unknown occurrences.
    prior : ndarray of float64, shape (n_candidates,)
        Positive; only proportions within a group matter.

    Raises
    ------
    OutOfTimeError
        Before there was any dataset.
    """
    candidates = _Candidates.of(problem, draws, prior)
    with search.clock("relax"):
        active, mass = _relaxed(candidates, draws, search)
    expected = np.zeros(len(prior))
    expected[active] = mass
    largest = active[np.argsort(-mass, kind="stable")[: _PARAMETERS.most_active]]
    near = candidates.only(np.sort(np.union1d(largest, candidates.likeliest_of_each_group(expected))))
    start = near.rows(rounded(near.scaled(expected[near.origin]), near.group, near.size))
    with search.clock("anneal"):
        found = _annealed(near, draws, start, search)
    found = near.origin[found]
    if search.timebox.allows(candidates.sweep_units):
        with search.clock("polish"), search.timebox.flag() as stop:
            chain = _Chain(candidates, draws, found, np.random.default_rng([search.seed, 5]))
            chain.sweep(0.0, stop)
            found = chain.best
            search.timebox.spend(candidates.sweep_units)
    around = candidates.only(np.union1d(near.origin, found))
    with search.clock("sample"):
        samples = _sampled(around, draws, np.searchsorted(around.origin, found), search)
    missing = draws.missing(candidates.table(draws, found))
    return Likely(found, around.origin[samples], expected, missing, candidates.posterior(draws, found))


def expected_rows(problem: Problem, draws: LeafDraws, prior: FloatArray, search: Search) -> FloatArray:
    """Return the relaxed dataset alone, as `Likely.expected`: the first and quickest step of `find_likeliest`.

    Raises
    ------
    OutOfTimeError
    """
    expected = np.zeros(len(prior))
    active, mass = _relaxed(_Candidates.of(problem, draws, prior), draws, search)
    expected[active] = mass
    return expected


@dataclass(frozen=True, eq=False, repr=False)
class _Candidates:
    """Some of a problem's candidates, with their entries in a table of leaves x classes."""

    leaves: Int32Array
    log_prior: FloatArray
    group: IntArray
    size: IntArray
    known: IntArray
    origin: IntArray
    terms: float

    @classmethod
    def of(cls, problem: Problem, draws: LeafDraws, prior: FloatArray) -> _Candidates:
        signature = problem.cells.signature[:, problem.cell].T
        entry = (signature + draws.start[:-1].astype(np.int32)) * draws.n_classes
        entry += problem.label[:, None].astype(np.int32)
        known = np.zeros_like(draws.counts) if problem.known is None else np.concatenate(problem.known)
        share = prior / np.bincount(problem.group, prior)[problem.group]
        leaves = np.ascontiguousarray(entry, dtype=np.int32)
        return cls(leaves, np.log(share), problem.group, problem.groups.size, known, np.arange(len(prior)), draws.terms)

    @property
    def sweep_units(self) -> float:
        """The units of work of one sweep."""
        of_row = _PARAMETERS.seconds_per_addition * self.leaves.size + 2 * _PARAMETERS.seconds_per_term * self.terms
        return of_row * int(self.size.sum())

    def only(self, kept: IntArray) -> _Candidates:
        """Return some of them, given in ascending order."""
        return replace(
            self,
            leaves=self.leaves[kept],
            log_prior=self.log_prior[kept],
            group=self.group[kept],
            origin=self.origin[kept],
        )

    def likeliest_of_each_group(self, mass: FloatArray) -> IntArray:
        order = np.lexsort((-mass, self.group))
        return order[np.searchsorted(self.group[order], np.arange(len(self.size)))]

    def scaled(self, mass: FloatArray) -> FloatArray:
        """Return masses that add up to the size of each group."""
        mass = np.maximum(mass, 1e-300)
        scale = self.size / np.bincount(self.group, mass, minlength=len(self.size))
        result: FloatArray = mass * scale[self.group]
        return result

    def rows(self, number: IntArray) -> IntArray:
        """Return the candidate of each row, group by group."""
        return np.repeat(np.arange(len(number)), number)

    def posterior(self, draws: LeafDraws, chosen: IntArray) -> float:
        return draws.log_likelihood(self.table(draws, chosen)) + float(self.log_prior[chosen].sum())

    def table(self, draws: LeafDraws, chosen: IntArray) -> IntArray:
        """Return how many rows lie at each leaf, those included that are known."""
        entries = self.leaves[chosen].ravel()
        return np.bincount(entries, minlength=draws.counts.size).reshape(draws.counts.shape) + self.known


def _relaxed(candidates: _Candidates, draws: LeafDraws, search: Search) -> tuple[IntArray, FloatArray]:
    """Return the active candidates and the expected rows of each."""
    active = candidates
    mass = active.scaled(np.exp(active.log_prior))
    counts = draws.counts.astype(np.float64)
    use_distinct = bool((draws.distinct >= 0).any())
    n_trees = len(draws.start) - 1
    for step in range(_PARAMETERS.em_steps + use_distinct * _PARAMETERS.ascent_steps):
        if search.timebox.over:
            if not step:
                raise OutOfTimeError
            break
        search.timebox.spend(2 * _PARAMETERS.seconds_per_addition * active.leaves.size)
        table = active.known.astype(np.float64)
        push(active.leaves, mass, table.reshape(-1))
        total = np.empty(len(mass))
        if step < _PARAMETERS.em_steps:
            slope = counts / np.maximum(table, 1e-9)
            pull(active.leaves, slope.reshape(-1), total)
            mass = active.scaled(mass * total / n_trees)
        else:
            pull(active.leaves, draws.slope(table).reshape(-1), total)
            mass = active.scaled(mass * np.maximum(total, 1e-9) ** _PARAMETERS.damping)
        if step % _PARAMETERS.check_every == _PARAMETERS.check_every - 1:
            largest = np.zeros(len(active.size))
            np.maximum.at(largest, active.group, mass)
            kept = np.flatnonzero(mass > _PARAMETERS.negligible * largest[active.group])
            if len(kept) < 0.9 * len(mass):
                active = active.only(kept)
                mass = active.scaled(mass[kept])
    return active.origin, mass


class _Chain:
    """A whole dataset that sweeps change, and the best one that was met."""

    def __init__(self, candidates: _Candidates, draws: LeafDraws, chosen: IntArray, rng: np.random.Generator) -> None:
        self._candidates = candidates
        self._draws = draws
        self._rng = rng
        self.chosen = chosen.copy()
        self._table = candidates.table(draws, chosen)
        group = candidates.group[chosen]
        self._first = np.searchsorted(candidates.group, group, side="left")
        self._last = np.searchsorted(candidates.group, group, side="right")
        self.best = chosen.copy()
        self.value = -np.inf

    def sweep(self, temperature: float, stop: Flag) -> None:
        """Draw each row anew, until a flag is raised."""
        draws, n_rows = self._draws, len(self.chosen)
        value = sweep_rows(
            self._candidates.leaves,
            self._candidates.log_prior,
            self._first,
            self._last,
            self.chosen,
            self._table,
            draws.counts,
            draws.distinct,
            draws.log_factorial,
            draws.log_stirling,
            self._rng.permutation(n_rows),
            self._rng.random(n_rows),
            temperature,
            stop,
        )
        if value > self.value:
            self.best, self.value = self.chosen.copy(), value


def _annealed(candidates: _Candidates, draws: LeafDraws, start: IntArray, search: Search) -> IntArray:
    """Return the best dataset of several chains, cooled at the same pace; how many threads run them is all one."""
    cost = candidates.sweep_units
    n_sweeps = int(np.clip(_PARAMETERS.chain_effort / max(cost, 1e-9) / _PARAMETERS.chains, *_PARAMETERS.sweeps))
    temperatures = [*np.geomspace(*_PARAMETERS.temperatures, n_sweeps).tolist(), 0.0, 0.0]
    chains = [
        _Chain(candidates, draws, start, np.random.default_rng([search.seed, 4, c])) for c in range(_PARAMETERS.chains)
    ]
    box = search.timebox.part(_PARAMETERS.annealing_share)
    if box.over:
        return start
    with box.flag() as stop, search.threads() as each:
        chains[0].sweep(0.0, stop)
        box.spend(cost)
        for temperature in temperatures:
            if box.over:
                break
            each(lambda chain, heat=temperature: chain.sweep(heat, stop), chains)
            box.spend(_PARAMETERS.chains * cost)
            search.clock.note("log-likelihood", max(chain.value for chain in chains))
    best: IntArray = max(chains, key=lambda chain: chain.value).best
    return best


def _sampled(candidates: _Candidates, draws: LeafDraws, start: IntArray, search: Search) -> IntArray:
    """Return datasets drawn from the posterior, one every few sweeps."""
    chain = _Chain(candidates, draws, start, np.random.default_rng([search.seed, 6]))
    samples = []
    with search.timebox.flag() as stop:
        for _ in range(_PARAMETERS.samples):
            if search.timebox.over:
                break
            for _ in range(_PARAMETERS.sample_every):
                chain.sweep(1.0, stop)
                search.timebox.spend(candidates.sweep_units)
            samples.append(chain.chosen.copy())
    return np.array(samples, dtype=np.int64).reshape(len(samples), len(start))
