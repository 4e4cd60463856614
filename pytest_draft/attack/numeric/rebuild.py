"""The attack on numeric and mixed data: in goes a `NumericProblem`, out comes a `Reconstruction`.

Several chains anneal from random starts (`anneal`), each with a prior that it learns on the way (`prior`); what they
visit when they are cold are samples, and the guess is the dataset that is closest to all of them. How strong the prior
is, is chosen by the file itself: by how well short runs foresee the counts of trees that they were not shown. Where a
regressor's targets tell which row is in which leaf, there is nothing to search: the guess follows from `Bounds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from pytest_draft.attack.numeric.anneal import NONE, Dataset, Nodes, exchange, fill, missed, sweep, tested
from pytest_draft.attack.numeric.midpoints import Bounds
from pytest_draft.attack.numeric.prior import EVERY, Prior
from pytest_draft.attack.numeric.problem import NumericProblem
from pytest_draft.attack.numeric.states import attributes_of
from pytest_draft.attack.reconstruction import Reconstruction
from pytest_draft.attack.search import Search
from pytest_draft.errors import OutOfTimeError
from pytest_draft.timebox import TimeBox

Int32 = NDArray[np.int32]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

STRENGTHS = (0.0, 0.5, 1.0)
"""Powers of the prior that are tried."""

_FEW, _MANY, _SWEEPS_A_CHAIN = 2, 24, 40
_PILOT_SHARE, _ANNEAL_SHARE = 0.12, 0.96
_HELD_OUT, _LEAST_TREES = 5, 10  # every fifth tree is hidden, of so many at least
_HOTTEST, _COLDEST = 3.0, 0.3
_BY_COUNTS, _HALF, _COLD = 0.1, 0.5, 0.85  # shares of an annealing: splits count, the best is kept, samples are drawn
_OF_MIDPOINTS, _OF_EXTREMES = 1.0, 2.0
_EXCHANGES = 3  # tried for each row in a sweep
_SAMPLES = 20  # kept of a chain that misses nothing
_TOGETHER, _CUBES = (24, 72), 2e9  # samples of all chains that are matched, and rows to the third power in all
_MOST_ALIGNED, _ROUNDS = 1_000, 3
_ENOUGH_MET = 4  # chains that miss nothing, for the result not to hang on a single one
_SLICE = 0.2  # seconds between two looks at the clock
_NOT_TOLD = 0.02  # how likely a state between decimals or decoded values is, where one of these is 1
_SECONDS_A_WALK, _SECONDS_AN_EXCHANGE = 5e-8, 1.8e-7


@dataclass(frozen=True)
class _Window:
    """A part of a time box: how much of it has passed, by the clock or, where that is limited, by the effort."""

    box: TimeBox
    since: float
    until: float
    units: float

    @classmethod
    def of(cls, box: TimeBox, seconds: float, units: float) -> _Window:
        """Return the window of the next seconds, or units of work where these are limited."""
        return cls(box, box.elapsed, box.elapsed + seconds, units)

    def passed(self, spent: float) -> float:
        """Return the share that has passed after some work."""
        by_clock = (self.box.elapsed - self.since) / max(self.until - self.since, 1e-9)
        if np.isfinite(self.units):
            return 1.0 if self.box.remaining <= 0 else spent / max(self.units, 1e-9)
        return by_clock


class _Chain:
    """A dataset that is annealed, the best one that it was, and what it was when it was cold."""

    def __init__(self, problem: NumericProblem, nodes: Nodes, prior: Prior, seed: Sequence[int]) -> None:
        self.problem, self.nodes, self.prior = problem, nodes, prior
        self.rng = np.random.default_rng(seed)
        self.attributes, self.copula = prior.nothing(attributes_of(problem.states), problem.n_classes)
        self.data = _start(problem, prior, self.rng)
        self.known = problem.state >= 0
        self.samples: list[Int32] = []
        self.best: tuple[int, Int32, Int32] | None = None
        self.sweeps = 0.0
        self.spent = 0.0
        fill(nodes, self.attributes, self.data, problem.times)

    def cool(self, window: _Window) -> None:
        """Anneal until a window is over, or until nothing is missed and there are enough samples."""
        rows = np.arange(self.problem.n_unknown)
        unit = _units_of_a_sweep(self.problem)
        chunk = max(1, min(len(rows), int(len(rows) * _SLICE / max(unit, 1e-9))))
        sampled_every = 1
        turn = 0
        while True:
            order = self.rng.permutation(rows)
            for first in range(0, len(rows), chunk):
                share = window.passed(self.spent)
                if share >= 1:
                    return
                if self.best is not None and self.best[0] == 0:
                    share = max(share, _COLD)
                self._step(order[first : first + chunk], _temperature(share), self._penalty(share))
                done = len(order[first : first + chunk]) / len(rows)
                self.spent += unit * done
                self.sweeps += done
            turn += 1
            if turn % EVERY == 0 and self.prior.strength > 0:
                self.attributes, self.copula = self.prior.learn(self.attributes, self.data, self.problem.n_classes)
            if share >= _HALF:
                self._keep_best()
            if share >= _COLD and turn % sampled_every == 0:
                self.samples.append(self.data.state[: self.problem.n_unknown].copy())
                if len(self.samples) > 2 * _SAMPLES:
                    self.samples, sampled_every = self.samples[::2], 2 * sampled_every
                if self.best is not None and self.best[0] == 0 and len(self.samples) >= _SAMPLES:
                    return

    def _penalty(self, share: float) -> float:
        """Return what a contradicted split costs: at first nothing: it would keep rows from where they count."""
        if share < _BY_COUNTS:
            return 0.0
        return _OF_MIDPOINTS if self.problem.extremes is None else _OF_EXTREMES

    def _step(self, rows: IntArray, temperature: float, penalty: float) -> None:
        problem = self.problem
        sweep(
            self.nodes,
            self.attributes,
            self.copula,
            self.data,
            problem.times,
            problem.label_known,
            self.known,
            rows,
            temperature,
            penalty,
        )
        if _told_apart(problem):
            pairs = self._pairs(np.tile(rows, _EXCHANGES))
            exchange(self.nodes, self.attributes, self.data, problem.times, self.known, pairs, temperature, penalty)

    def _pairs(self, rows: IntArray) -> IntArray:
        """Return each row beside another drawn at random: of the same label, where labels are not searched for."""
        label = np.zeros_like(self.data.label)
        if self.problem.label_known:
            label = self.data.label
        order = np.argsort(label, kind="stable")
        size = np.bincount(label)
        first = np.cumsum(size) - size
        of_row = label[rows]
        place = first[of_row] + (self.rng.random(len(rows)) * size[of_row]).astype(np.int64)
        return np.stack([rows, order[place]], axis=1)

    def _keep_best(self) -> None:
        lacks = sum(missed(self.nodes, self.attributes, self.data))
        if self.best is None or lacks < self.best[0]:
            self.best = (lacks, self.data.state.copy(), self.data.label.copy())

    def finish(self) -> None:
        """Keep what there is, where time was too short for anything else."""
        if self.best is None:
            self._keep_best()
        if not self.samples:
            self.samples.append(self.data.state[: self.problem.n_unknown].copy())


def rebuild_numeric(problem: NumericProblem, search: Search) -> Reconstruction:
    """Rebuild the training data of numeric and mixed columns, anytime.

    Parameters
    ----------
    problem : NumericProblem
    search : Search

    Returns
    -------
    Reconstruction
        ``consistent`` where nothing is missed: no count, no midpoint, no extreme; else ``not converged``. Of a
        regressor whose rows are identified, the residual is that of the counts alone.

    Raises
    ------
    OutOfTimeError
        Before there was any dataset.
    """
    figures = search.clock.figures
    figures.update(nodes=len(problem.nodes.left), states=int(problem.states.n_states.sum()))
    if problem.replayed is not None and problem.extremes is not None:
        figures["nodes in sync"] = problem.replayed.nodes_in_sync
        figures["trees in sync"] = problem.replayed.trees_in_sync
        figures["nodes decodable"] = problem.extremes.decodable
        figures["nodes decoded"] = problem.extremes.decoded
    seen = np.any(problem.times[:, : problem.n_unknown] > 0, axis=0)
    if problem.bounds is not None:
        figures["leaves identified"] = float(problem.leaves_known)
        if problem.rows_identified:
            return _from_bounds(problem, problem.bounds, seen, figures)
    if search.timebox.over:
        raise OutOfTimeError
    prior = _prior(problem)
    with search.clock("compile"):
        _Chain(problem, problem.nodes, prior, [search.seed, 20])._step(np.arange(1), 1.0, 1.0)
    with search.clock("pilot"):
        strength, n_chains = _pilot(problem, prior, search)
    prior = replace(prior, strength=strength)
    figures["prior strength"] = strength
    chains = [_Chain(problem, problem.nodes, prior, [search.seed, 21, c]) for c in range(n_chains)]
    with search.clock("anneal"):
        box = search.timebox
        _run(chains, search, box.remaining * _ANNEAL_SHARE, box.effort_left)
    chains = [chain for chain in chains if chain.best is not None]
    if not chains:
        raise OutOfTimeError
    best = min(chains, key=lambda chain: _best(chain)[0])
    residual, state, label = _best(best)
    search.clock.note("residual", residual)
    figures["sweeps"] = float(sum(chain.sweeps for chain in chains))
    with search.clock("agree"):
        guess, n_samples = _agreed(problem, best, chains, np.random.default_rng([search.seed, 23]))
    figures["samples"] = float(n_samples)
    n = problem.n_unknown
    free = ~tested(problem.nodes, best.attributes, _of(best.data, state, label), problem.times)[:n]
    free &= (problem.state[:n] < 0) & (problem.states.n_states > 1)
    certain = None
    if problem.bounds is not None:
        guess = np.clip(guess, problem.bounds.lower, problem.bounds.upper).astype(np.float32)
        certain = _by_attribute(problem, problem.bounds.certain)
    return Reconstruction(
        status="consistent" if residual == 0 else "not converged",
        rows=guess,
        consistent=_rows(problem, _guessed(problem, state[:n])),
        labels=label[:n].astype(np.int64),
        cells=None,
        free=free,
        ordered=problem.ordered,
        residual=residual,
        cut_short=sum(_best(chain)[0] == 0 for chain in chains) < min(_ENOUGH_MET, len(chains)),
        seen=seen,
        certain=certain,
        proved_values=problem.proved_values or None,
        statistics=figures,
    )


def _from_bounds(problem: NumericProblem, bounds: Bounds, seen: BoolArray, figures: dict[str, float]) -> Reconstruction:
    """Return rows whose leaves are known everywhere, so that there is nothing to search."""
    middle = np.empty(problem.state.shape)
    for a, attribute in enumerate(problem.domain.attributes):
        columns = list(attribute.columns)
        support = (bounds.lower + bounds.upper)[:, columns]
        middle[:, a] = support.argmax(axis=1)
        if attribute.dropped:
            middle[support.max(axis=1) <= 0, a] = len(columns)
        if attribute.kind != "one-hot":
            low, high = bounds.lower[:, columns[0]], bounds.upper[:, columns[0]]
            middle[:, a] = np.clip(problem.states.rounded(a, (low + high) / 2), low, high)
    rows = _rows(problem, middle)
    whole = np.ptp(np.stack([bounds.lower, bounds.upper]), axis=0) == problem.domain.ranges
    residual = _missed_counts(problem, rows)
    return Reconstruction(
        status="not converged" if residual else "consistent",
        rows=rows,
        consistent=rows,
        labels=problem.label.astype(np.int64),
        cells=None,
        free=_by_attribute(problem, whole) & (problem.states.n_states > 1),
        ordered=problem.ordered,
        residual=residual,
        cut_short=not bounds.complete,
        seen=seen,
        certain=_by_attribute(problem, bounds.certain),
        proved_values=problem.proved_values or None,
        statistics=figures,
    )


def _missed_counts(problem: NumericProblem, rows: NDArray[np.float32]) -> int:
    """Return how far rows are from the counts at the leaves."""
    attributes = attributes_of(problem.states)
    data = _start(problem, _prior(problem), np.random.default_rng(0))
    data.state[:] = np.maximum(problem.states.of_rows(rows), 0)
    fill(problem.nodes, attributes, data, problem.times)
    return int(missed(problem.nodes, attributes, data)[0])


def _by_attribute(problem: NumericProblem, of_column: BoolArray) -> BoolArray:
    """Return what holds of all columns of each attribute, shape (n_rows, n_attributes)."""
    attributes = problem.domain.attributes
    return np.stack([of_column[:, list(attribute.columns)].all(axis=1) for attribute in attributes], axis=1)


def _run(chains: Sequence[_Chain], search: Search, seconds: float, units: float) -> None:
    """Anneal chains, as many at a time as there are threads; each has its part of the time."""
    side_by_side = min(search.workers, len(chains))
    rounds = -(-len(chains) // side_by_side)

    def cool(chain: _Chain) -> None:
        chain.cool(_Window.of(search.timebox, seconds / rounds, units / len(chains)))
        if chain.sweeps:
            chain.finish()

    with ThreadPoolExecutor(side_by_side) as pool:
        list(pool.map(cool, chains))
    search.timebox.spend(sum(chain.spent for chain in chains))


def _pilot(problem: NumericProblem, prior: Prior, search: Search) -> tuple[float, int]:
    """Return the strength with which short runs best foresee the counts of hidden trees, and how many chains to run.

    Several chains that are cooled fast have a better median than few that are cooled slowly: on breast cancer, 100
    rows, 8 chains of 60 sweeps came to .118, single ones of 60 to .125 and of 1,500 to .124. Where extremes were
    decoded, rows are nearly determined, and it is the other way round: on iris, 400 sweeps came to .009, 53 to .035.
    """
    n_trees = len(problem.nodes.root) - 1
    box = search.timebox
    seconds, units = box.remaining * _PILOT_SHARE, box.effort_left * _PILOT_SHARE
    sweep_units = _units_of_a_sweep(problem)
    if sweep_units * 20 * len(STRENGTHS) > min(seconds * search.workers, units):
        return STRENGTHS[1], _FEW
    hidden = np.zeros(n_trees, dtype=bool)
    if n_trees >= _LEAST_TREES:
        hidden[_HELD_OUT - 1 :: _HELD_OUT] = True
    nodes, of_hidden = _without(problem.nodes, hidden)
    chains = [_Chain(problem, nodes, replace(prior, strength=s), [search.seed, 22]) for s in STRENGTHS]
    _run(chains, search, seconds, units)
    sweeps = sum(chain.sweeps for chain in chains) * (1 / _PILOT_SHARE - 1)
    n_chains = _FEW if problem.extremes is not None else int(np.clip(sweeps / _SWEEPS_A_CHAIN, _FEW, _MANY))
    if not hidden.any() or any(chain.best is None for chain in chains):
        return STRENGTHS[1], n_chains
    surprise = [_surprise(problem, chain, of_hidden) for chain in chains]
    return STRENGTHS[int(np.argmin(surprise))], n_chains


def _without(nodes: Nodes, hidden: BoolArray) -> tuple[Nodes, BoolArray]:
    """Return nodes of which those of some trees weigh nothing, and which they are."""
    of_tree = np.repeat(np.arange(len(nodes.root) - 1), np.diff(nodes.root))
    gone = hidden[of_tree]
    return nodes._replace(
        weight=np.where(gone, 0.0, nodes.weight),
        twice=np.where(gone, np.nan, nodes.twice),
        lowest=np.where(gone, NONE, nodes.lowest).astype(np.int32),
        highest=np.where(gone, NONE, nodes.highest).astype(np.int32),
    ), gone


def _surprise(problem: NumericProblem, chain: _Chain, hidden: BoolArray) -> float:
    """Return how far the mean of a chain's samples is from the counts at the leaves of hidden trees."""
    leaves = hidden & (problem.nodes.left < 0)
    total = np.zeros((int(leaves.sum()), problem.n_classes))
    for sample in chain.samples:
        state = np.concatenate([sample, chain.data.state[problem.n_unknown :]])
        total += _of(chain.data, state, chain.data.label, chain).found[leaves]
    return float(np.abs(total / len(chain.samples) - problem.nodes.count[leaves]).sum())


def _of(data: Dataset, state: Int32, label: Int32, chain: _Chain | None = None) -> Dataset:
    """Return another dataset of the same size; filled in where a chain is given."""
    other = Dataset(*map(np.zeros_like, data))._replace(state=state, label=label)
    if chain is not None:
        fill(chain.nodes, chain.attributes, other, chain.problem.times)
    return other


def _prior(problem: NumericProblem) -> Prior:
    """Return what is likely before anything is learnt: each interval between thresholds as any other."""
    base, smooth = [], []
    for a, attribute in enumerate(problem.domain.attributes):
        share = np.ones(problem.states.n_states[a])
        if attribute.kind == "numeric":
            low, high = problem.states.low[a], problem.states.high[a]
            point = low == high
            if attribute.columns[0] not in problem.proved_values:
                inside = np.searchsorted(problem.states.cuts[a], high, side="left")
                share /= np.bincount(inside, point if point.any() else None, len(inside) + 1)[inside].clip(1)
            if point.any():
                share[~point & ~np.isnan(low)] = _NOT_TOLD
        base.append(share / share.sum())
        smooth.append(attribute.kind == "numeric" and not attribute.missing)
    return Prior(0.0, tuple(base), tuple(smooth))


def _temperature(share: float) -> float:
    """Return the temperature after a share of an annealing."""
    return _HOTTEST * (_COLDEST / _HOTTEST) ** min(1.0, share / _COLD)  # type: ignore[no-any-return]


def _start(problem: NumericProblem, prior: Prior, rng: np.random.Generator) -> Dataset:
    """Return random rows, known values as they are."""
    n_rows, n_attributes = problem.state.shape
    state = np.empty((n_rows, n_attributes), dtype=np.int32)
    for a, base in enumerate(prior.base):
        state[:, a] = rng.choice(len(base), n_rows, p=base)
    state = np.where(problem.state >= 0, problem.state, state)
    n_nodes, times = len(problem.nodes.left), problem.times
    present, below, above, n_below, n_above, first = np.zeros((6, n_nodes), dtype=np.int32)
    leaf, after, before = np.zeros((3, *times.shape), dtype=np.int32)
    seed = rng.integers(2**63, size=1).astype(np.uint64)
    found = np.zeros_like(problem.nodes.count)
    label = problem.label.copy()
    return Dataset(state, label, found, present, below, above, n_below, n_above, leaf, first, after, before, seed)


def _told_apart(problem: NumericProblem) -> bool:
    """Return whether occurrences or known values tell rows apart, so that it matters which is which."""
    return problem.ordered or bool((problem.state[: problem.n_unknown] >= 0).any())


def _units_of_a_sweep(problem: NumericProblem) -> float:
    """Return the units of work of one sweep: each tree is walked again from where an attribute is first tested."""
    seen = float((problem.times > 0).sum())
    n_nodes = np.diff(problem.nodes.root)
    depth = float(np.log2(np.maximum(n_nodes, 2)).mean()) + 1
    return seen * depth * (_SECONDS_A_WALK * depth + _SECONDS_AN_EXCHANGE * _EXCHANGES * _told_apart(problem))


def _best(chain: _Chain) -> tuple[int, Int32, Int32]:
    if chain.best is None:
        raise OutOfTimeError
    return chain.best


def _agreed(
    problem: NumericProblem, best: _Chain, chains: Sequence[_Chain], rng: np.random.Generator
) -> tuple[NDArray[np.float32], int]:
    """Return the dataset that is closest to all samples, after matching rows to rows, and how many samples that were.

    The error is measured after a matching, so that the median of what each row was is not the best guess: it draws
    rows together. Each round matches every sample to the guess, and takes the median of what was matched to each row.
    Of very many rows, or such that the adversary knows something of, each is taken for itself; where nothing tells them
    apart, of the best chain only. Where several rows are in one interval, they are spread over it: all in its middle
    would be farther away.
    """
    n = problem.n_unknown
    together = n <= _MOST_ALIGNED and not (problem.state[:n] >= 0).any()
    n_samples = int(np.clip(_CUBES / n**3, *_TOGETHER))
    drawn = []
    for chain in chains:
        if chain is best or problem.ordered or together:
            kept = np.unique(np.linspace(0, len(chain.samples) - 1, max(1, n_samples // len(chains))).round())
            drawn += [_spread(problem, chain.samples[int(i)], rng) for i in kept]
    guess = _median(problem, drawn) if problem.ordered or not together else _middle(problem, _best(best)[1][:n])
    for _ in range(_ROUNDS if together else 0):
        place = _scaled(problem, guess)
        partner = [linear_sum_assignment(cdist(place, _scaled(problem, one), "cityblock"))[1] for one in drawn]
        guess = _median(problem, [one[of_row] for one, of_row in zip(drawn, partner, strict=True)])
    for a, attribute in enumerate(problem.domain.attributes):
        if attribute.kind != "one-hot":
            guess[:, a] = problem.states.rounded(a, guess[:, a])
    return _rows(problem, guess), len(drawn)


def _median(problem: NumericProblem, drawn: Sequence[FloatArray]) -> FloatArray:
    """Return the median of each attribute of each row, missing where it mostly is; without an order the commonest."""
    middle = np.empty_like(drawn[0])
    for a, attribute in enumerate(problem.domain.attributes):
        of_attribute = np.stack([values[:, a] for values in drawn])
        if attribute.kind not in ("numeric", "ordinal"):
            middle[:, a] = _commonest(of_attribute)
            continue
        missing = np.isnan(of_attribute).mean(axis=0) > 0.5
        middle[~missing, a] = np.nanmedian(of_attribute[:, ~missing], axis=0)
        middle[missing, a] = np.nan
    return middle


def _scaled(problem: NumericProblem, middle: FloatArray) -> FloatArray:
    """Return encoded rows in units of the ranges; what is missing lies outside."""
    ranges = problem.domain.ranges
    rows: FloatArray = _rows(problem, middle) / np.where(ranges > 0, ranges, 1.0)
    return np.where(np.isnan(rows), np.nanmin(rows, axis=0, initial=0.0) - 1, rows)


def _commonest(values: FloatArray) -> FloatArray:
    """Return the commonest value of each row, shape (n_rows,), of samples of shape (n_samples, n_rows)."""
    result = np.empty(values.shape[1])
    for k in range(values.shape[1]):
        kinds, times = np.unique(values[:, k], return_counts=True, equal_nan=True)
        result[k] = kinds[times.argmax()]
    return result


def _middle(problem: NumericProblem, state: Int32) -> FloatArray:
    """Return the middle of each state, shape (n_rows, n_attributes)."""
    return np.stack([middle[state[:, a]] for a, middle in enumerate(problem.states.middle)], axis=1)


def _spread(problem: NumericProblem, state: Int32, rng: np.random.Generator) -> FloatArray:
    """Return a value of each state, evenly spread over the interval where several rows are in one."""
    values = _middle(problem, state)
    for a, attribute in enumerate(problem.domain.attributes):
        if attribute.kind != "numeric":
            continue
        here = state[:, a]
        order = rng.permutation(len(here))
        order = order[np.argsort(here[order], kind="stable")]
        first = np.searchsorted(here[order], here[order])
        share = (np.arange(len(here)) - first + 0.5) / np.bincount(here)[here[order]]
        low, high = problem.states.low[a][here[order]], problem.states.high[a][here[order]]
        values[order, a] = low + (high - low) * share
    return values


def _guessed(problem: NumericProblem, state: Int32) -> FloatArray:
    """Return a value that each state holds, shape (n_rows, n_attributes)."""
    values = _middle(problem, state)
    for a, attribute in enumerate(problem.domain.attributes):
        if attribute.kind == "numeric":
            values[:, a] = problem.states.guess(a, state[:, a].astype(np.int64))
    return values


def _rows(problem: NumericProblem, values: FloatArray) -> NDArray[np.float32]:
    """Return encoded rows, known values as they are; of a one-hot group, the value is the column's position."""
    rows = np.zeros((len(values), problem.domain.n_columns), dtype=np.float32)
    for a, attribute in enumerate(problem.domain.attributes):
        if attribute.kind == "one-hot":
            rows[:, list(attribute.columns)] = attribute.encoded(values[:, a].astype(np.int64))
        else:
            rows[:, attribute.columns[0]] = values[:, a]
    return np.where(np.isnan(problem.given), rows, problem.given)
