"""Datasets behind noisy counts: in goes a `NoisyProblem`, out come datasets that explain it well and their consensus.

With noise many datasets are about as likely as the right one, and the likeliest of them is a poor guess: it explains
the noise too. So whole datasets are drawn from the posterior, by heat-bath sweeps that are cooled from several starts
(`sweeps`), and the guess is their consensus, which has the least expected error. Against DRAFT-DP (SaTML 2026),
which takes one optimum of the likelihood, the error is lower most where the noise is strong.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, Flag, Int32Array, IntArray
from pytest_draft.attack.compiled_trees import Walks, leaves_of, tested_anywhere, tests_of
from pytest_draft.attack.consensus import MOST_ROWS, closest_to_all, consensus
from pytest_draft.attack.filling import INDICATOR_ODDS
from pytest_draft.attack.private.noisy_problem import NoisyProblem, values_of
from pytest_draft.attack.private.sweeps import GO_ON, Counts, Evidence, Mixture, SampledRows, all_gains, sweep_dataset
from pytest_draft.attack.search import Search
from pytest_draft.errors import InfeasibleError, OutOfTimeError
from pytest_draft.matching import row_identities


@dataclass(frozen=True)
class SamplerParameters:
    """The prior of rows, and how chains are cooled and sampled."""

    components: int = 5
    """Components of the mixture that rows are drawn from."""
    concentration: float = 1.0
    """Rows that the prior of the components' shares is worth."""
    weight_of_a_value: float = 1.0
    """Rows that the prior of each value is worth, on average."""
    chains: int = 4
    """Chains side by side."""
    first_sweeps: int = 200
    """Sweeps of the first round of cooling; each round has twice as many."""
    most_rounds: int = 6
    """Most rounds of cooling."""
    hot: float = 8.0
    """First temperature."""
    cold: float = 1.0
    """Last temperature: that of the posterior."""
    samples: int = 10
    """Datasets that each chain keeps."""
    sample_every: int = 5
    """Sweeps between two of them."""
    enough: float = 1.0
    """Rise of the mean log-likelihood from round to round up to which cooling has settled."""
    slices: int = 8
    """Steps of cooling, between which the time is looked at."""
    seconds_per_step: float = 1.2e-8
    """Measured: one value of one row in one tree."""
    units_per_cube: float = 2e-10
    """Of a matching, for the cube of its rows, as in `consensus`."""
    consensus_rounds: int = 4
    """Most times that the consensus is matched with the samples anew."""
    most_rivals: int = 4
    """About so many samples are compared with the consensus."""


_PARAMETERS = SamplerParameters()


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """What the sampler makes of a problem. Its repr shows no row."""

    guess: NDArray[np.float32]
    """Shape (n_rows, n_columns). The consensus of the samples: encoded rows, those included that the adversary knows.
    """
    value: Int32Array
    """Shape (n_rows, n_attributes)."""
    label: IntArray
    """Shape (n_rows,). The likeliest dataset that was met."""
    log_likelihood: float
    """Of that dataset."""
    level: float
    spread: float
    """`level` and `spread`: mean and standard deviation of the log-likelihood among the samples."""
    free: BoolArray
    """Shape (n_rows, n_attributes). Attributes that no tree tests on the way of a row of the guess."""
    settled: bool
    """Whether longer cooling no longer led to likelier datasets, and the time box was enough for all that follows it.
    """
    figures: dict[str, float]

    def __repr__(self) -> str:
        return f"<Posterior: {len(self.guess)} rows, log-likelihood {self.log_likelihood:.1f}>"


def sample_posterior(
    problem: NoisyProblem, search: Search, start: tuple[Int32Array, IntArray] | None = None
) -> Posterior:
    """Draw datasets from the posterior and return their consensus, anytime.

    Cooling is repeated from new starts, twice as slowly each time, until the datasets that it ends in explain the
    counts no better than the last ones. From a given dataset there is nothing to cool.

    Parameters
    ----------
    problem : NoisyProblem
    search : Search
    start : tuple of ndarray, or None
        Values and labels of the unknown rows of a dataset to start from.

    Returns
    -------
    Posterior

    Raises
    ------
    OutOfTimeError
        Before there was any dataset.
    InfeasibleError
        Where the adversary knows more rows than there can be.
    """
    if problem.known.sum() > problem.n_rows[1]:
        raise InfeasibleError
    best, settled, n_sweeps = _cooled(problem, search) if start is None else _warmed(problem, start, search)
    with search.clock("sample"), ThreadPoolExecutor(search.workers) as pool:
        size = int(np.median([chain.n_rows for chain in best]))
        list(pool.map(lambda chain: chain.sample(size, search), best))
        search.timebox.spend(
            _PARAMETERS.chains * _PARAMETERS.samples * _PARAMETERS.sample_every * _sweep_seconds(problem)
        )
    with search.clock("agree"):
        guess = _agreed(problem, best, search)
        # A time box that allows one more matching at the end allowed each one before.
        settled &= search.timebox.allows(_PARAMETERS.units_per_cube * min(len(guess), MOST_ROWS) ** 3)
    top = max(best, key=lambda chain: chain.highest)
    figures = {"chains": float(len(best)), "sweeps": float(n_sweeps), "samples": float(sum(len(c.kept) for c in best))}
    value, label = top.top
    reached = np.concatenate([chain.reached for chain in best])
    free = open_attributes(problem.walks, values_of(problem.domain, guess))
    if len(problem.value) == len(guess):
        free &= problem.value < 0
    return Posterior(
        guess, value, label, top.highest, float(reached.mean()), float(reached.std()), free, settled, figures
    )


def _cooled(problem: NoisyProblem, search: Search) -> tuple[list[_Chain], bool, int]:
    """Return chains that were cooled, whether more of it changes anything, and the sweeps of each."""
    evidence = _evidence(problem)
    best: list[_Chain] = []
    level, settled, n_sweeps = -np.inf, False, _PARAMETERS.first_sweeps
    with search.clock("anneal"), ThreadPoolExecutor(search.workers) as pool:
        for turn in range(_PARAMETERS.most_rounds):
            cost = _PARAMETERS.chains * n_sweeps * _sweep_seconds(problem)
            lasts = cost / min(search.workers, _PARAMETERS.chains)
            if best and (cost > search.timebox.effort_left or lasts > search.timebox.remaining):
                break
            chains = [_Chain(problem, evidence, [search.seed, 8, turn, c]) for c in range(_PARAMETERS.chains)]
            steps = _steps(n_sweeps)
            done = _run(chains, steps, pool, search)
            search.timebox.spend(cost)
            ended = done == len(steps)
            if not done or (best and not ended):
                break  # the last ones were cooled as slowly as time allows
            best = chains
            reached = np.array([chain.log_likelihood for chain in chains])
            search.clock.note("log-likelihood", float(reached.mean()))
            if not ended:
                break
            chance = float(reached.std()) / np.sqrt(_PARAMETERS.chains)
            settled = float(reached.mean()) <= level + max(_PARAMETERS.enough, chance)
            if settled:
                break
            level, n_sweeps = max(level, float(reached.mean())), 2 * n_sweeps
    if not best:
        raise OutOfTimeError
    return best, settled, n_sweeps


def _warmed(
    problem: NoisyProblem, start: tuple[Int32Array, IntArray], search: Search
) -> tuple[list[_Chain], bool, int]:
    """Return chains that have left a given dataset for others that are about as likely."""
    evidence = _evidence(problem)
    with search.clock("warm"), ThreadPoolExecutor(search.workers) as pool:
        chains = [_Chain(problem, evidence, [search.seed, 9, c], start) for c in range(_PARAMETERS.chains)]
        steps = [
            (_PARAMETERS.first_sweeps // _PARAMETERS.slices, _PARAMETERS.cold, _PARAMETERS.cold)
        ] * _PARAMETERS.slices
        done = _run(chains, steps, pool, search)
        search.timebox.spend(_PARAMETERS.chains * _PARAMETERS.first_sweeps * _sweep_seconds(problem))
    return chains, done == len(steps), _PARAMETERS.first_sweeps


def _run(
    chains: Sequence[_Chain], steps: Sequence[tuple[int, float, float]], pool: ThreadPoolExecutor, search: Search
) -> int:
    """Sweep all chains step by step; return how many steps the time was enough for."""
    with search.timebox.flag() as stop:
        for done, step in enumerate(steps):
            if stop[0]:
                return done
            list(pool.map(lambda chain, step=step: chain.sweep(*step, stop=stop), chains))
        return len(steps) - bool(stop[0])


def _steps(n_sweeps: int) -> list[tuple[int, float, float]]:
    """Return numbers of sweeps, with first and last temperatures, that cool evenly."""
    return [
        (n_sweeps // _PARAMETERS.slices, *pair)
        for pair in pairwise(np.geomspace(_PARAMETERS.hot, _PARAMETERS.cold, _PARAMETERS.slices + 1).tolist())
    ]


def _evidence(problem: NoisyProblem) -> Evidence:
    released = problem.released.ravel().astype(np.int64)
    least = int(released.min()) - problem.n_rows[1] - 2
    table = problem.noise.table(least, int(released.max()) + 2)
    return Evidence(released, (np.sign(released) + 1).astype(np.int64), table, least)


def _sweep_seconds(problem: NoisyProblem) -> float:
    """About how long one sweep of one chain takes."""
    n_values = sum(attribute.n_values for attribute in problem.domain.attributes)
    return _PARAMETERS.seconds_per_step * problem.n_rows[1] * n_values * len(problem.walks.root)


class _Chain:
    """One dataset that sweeps change, and what was met on the way."""

    def __init__(
        self,
        problem: NoisyProblem,
        evidence: Evidence,
        seed: list[int],
        start: tuple[Int32Array, IntArray] | None = None,
    ) -> None:
        self._problem, self._evidence = problem, evidence
        self._rng = np.random.default_rng(seed)
        self._rows = self._started(start)
        self._counts = self._counted()
        self._mixture = self._mixed()
        self.kept: list[tuple[Int32Array, IntArray]] = []
        self.reached: list[float] = []
        self.highest = -np.inf
        self.top = self._dataset()

    def sample(self, size: int, search: Search) -> None:
        """Keep datasets of one size, one every few sweeps."""
        with search.timebox.flag() as stop:
            self._resize(size, stop)
            for _ in range(_PARAMETERS.samples):
                self.sweep(_PARAMETERS.sample_every, _PARAMETERS.cold, _PARAMETERS.cold, fixed=True, stop=stop)
                self.kept.append(self._dataset())
                self.reached.append(self.log_likelihood)
                if self.log_likelihood > self.highest:
                    self.highest, self.top = self.log_likelihood, self.kept[-1]
                if stop[0]:
                    break

    @property
    def log_likelihood(self) -> float:
        """Of the dataset as it is."""
        evidence = self._evidence
        return float(evidence.table[evidence.sign, evidence.released - self._counts.true - evidence.least].sum())

    @property
    def n_rows(self) -> int:
        """Number of its rows."""
        return int(self._rows.present.sum())

    def sweep(self, n_sweeps: int, hot: float, cold: float, *, fixed: bool = False, stop: Flag = GO_ON) -> None:
        """Sweep several times, cooling, until a flag is raised; the number of rows can be held fixed."""
        n_known = int((~self._rows.removable).sum())
        least, most = (size - n_known for size in self._problem.n_rows)
        if fixed:
            least = most = self.n_rows - n_known
        sweep_dataset(
            self._problem.walks, self._evidence, self._counts, self._rows, self._mixture, least, most, n_sweeps, hot,
            cold, self._rng, stop,
        )  # fmt: skip

    def _dataset(self) -> tuple[Int32Array, IntArray]:
        present = self._rows.present
        return self._rows.value[present].copy(), self._rows.label[present].copy()

    def _started(self, start: tuple[Int32Array, IntArray] | None) -> SampledRows:
        """Return a dataset whose unknown rows are given, or its unknown values drawn evenly."""
        problem, rng = self._problem, self._rng
        n_slots = len(problem.value)
        sizes = np.array([attribute.n_values for attribute in problem.domain.attributes])
        open_value, open_label = problem.value < 0, problem.label < 0
        value = np.where(open_value, rng.integers(0, sizes, size=problem.value.shape), problem.value).astype(np.int32)
        label = np.where(open_label, rng.integers(0, problem.n_classes, n_slots), problem.label)
        least, most = problem.n_rows
        removable = (open_value.any(axis=1) | open_label) & (least < most)
        present = np.arange(n_slots) < max((least + most) // 2, int((~removable).sum()))
        if start is not None:
            slots = np.flatnonzero(~problem.known)[: len(start[1])]
            value[slots], label[slots] = start
            present = problem.known.copy()
            present[slots] = True
        return SampledRows(
            value,
            label,
            rng.integers(0, _PARAMETERS.components, n_slots),
            present,
            open_value,
            open_label,
            removable,
            leaves_of(problem.walks, value),
            tests_of(problem.walks, value),
        )

    def _counted(self) -> Counts:
        true = self._problem.counts(*self._dataset())
        counts = Counts(true, np.empty(len(true)), np.empty(len(true)))
        all_gains(self._evidence, counts)
        return counts

    def _mixed(self) -> Mixture:
        problem, rows = self._problem, self._rows
        weight = [
            _PARAMETERS.weight_of_a_value
            * (
                np.array([1.0, INDICATOR_ODDS]) * 2 / (1 + INDICATOR_ODDS)
                if attribute.kind == "binary"
                else np.ones(attribute.n_values)
            )
            for attribute in problem.domain.attributes
        ]
        offset = np.cumsum([0, *(len(part) for part in weight)])
        k, value, label = rows.component[rows.present], rows.value[rows.present], rows.label[rows.present]
        labels = np.zeros((_PARAMETERS.components, problem.n_classes), dtype=np.int64)
        np.add.at(labels, (k, label), 1)
        values = np.zeros((_PARAMETERS.components, int(offset[-1])), dtype=np.int64)
        np.add.at(values, (k[:, None], value + offset[:-1]), 1)
        total = np.array([part.sum() for part in weight])
        return Mixture(
            labels.sum(axis=1), labels, values, offset, np.concatenate(weight), total, _PARAMETERS.concentration
        )

    def _resize(self, size: int, stop: Flag) -> None:
        """Empty or fill slots, by chance, until there are so many rows."""
        rows, missing = self._rows, size - self.n_rows
        if not missing:
            return
        slots = np.flatnonzero(rows.removable & (rows.present == (missing < 0)))
        rows.present[self._rng.permutation(slots)[: abs(missing)]] = missing > 0
        self._counts, self._mixture = self._counted(), self._mixed()
        self.sweep(_PARAMETERS.first_sweeps // 4, 2 * _PARAMETERS.cold, _PARAMETERS.cold, fixed=True, stop=stop)


def _agreed(problem: NoisyProblem, chains: Sequence[_Chain], search: Search) -> NDArray[np.float32]:
    """Return the consensus of all samples, or a sample that is closer to all on average."""
    samples = [problem.domain.encoded(value) for chain in chains for value, _ in chain.kept]
    if len(samples[-1]) > MOST_ROWS:
        return samples[-1]
    together = _together(problem, len(samples[-1]))
    guess = samples[-1]
    for _ in range(_PARAMETERS.consensus_rounds):
        agreed = consensus(guess, samples, together, problem.domain, search.timebox)
        if search.timebox.over or (agreed == guess).all():
            break
        guess = agreed
    rivals = samples[:: max(1, len(samples) // _PARAMETERS.most_rivals)]
    return closest_to_all([guess, *rivals], samples[1 :: max(1, len(samples) // 8)], problem.domain, search.timebox)


def _together(problem: NoisyProblem, n_rows: int) -> IntArray:
    """Return the rows' groups: of one group are those of which the adversary knows the same."""
    if len(problem.value) != n_rows:
        return np.zeros(n_rows, dtype=np.int64)
    (identity,) = row_identities(np.column_stack([problem.value, problem.label]).astype(np.float32))
    return identity


def open_attributes(walks: Walks, value: Int32Array) -> BoolArray:
    """Return which attributes no tree tests on the way of each row, shape (n_rows, n_attributes)."""
    return ~tested_anywhere(walks, value)
