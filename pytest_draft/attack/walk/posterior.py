"""Samples the posterior of a `RowProblem` and returns one guess for all samples: a `Posterior`.

Many datasets are about as likely as the right one, and the likeliest of them is a poor guess: it explains the chance in
what the leaves say, too. So several chains cool to the posterior, from new starts and twice as slowly each round while
that leads to likelier datasets; what they then draw are samples, and the guess is their consensus, which has the least
expected error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, IntArray
from pytest_draft.attack.compiled_trees import values_left
from pytest_draft.attack.consensus import MOST_ROWS, closest_to_all, consensus
from pytest_draft.attack.search import Search
from pytest_draft.attack.walk.chain import Dataset, RowChain
from pytest_draft.attack.walk.problem import RowProblem
from pytest_draft.attack.walk.sweeps import JumpCandidates
from pytest_draft.errors import InfeasibleError, OutOfTimeError
from pytest_draft.matching import row_identities


@dataclass(frozen=True)
class PosteriorParameters:
    """How chains are cooled and sampled, and how long that takes."""

    chains: int = 4
    """Chains side by side."""
    hot: float = 8.0
    """First temperature; the last one is 1, that of the posterior."""
    first_sweeps: int = 200
    """Sweeps of the first round of cooling; each round has twice as many."""
    most_rounds: int = 6
    """Most rounds of cooling."""
    steps: int | None = 8
    """Steps of cooling, between which the time is looked at; None for one each sweep."""
    resized_sweeps: int = 50
    """Sweeps of a chain whose number of rows was changed to that of the others."""
    samples: int = 10
    """Datasets that each chain keeps."""
    sample_every: int = 5
    """Sweeps between two of them."""
    jump_every: int = 4
    """Steps of cooling between two jumps of whole rows to candidates."""
    enough: float = 1.0
    """Rise of the mean log-likelihood from round to round up to which cooling has settled."""
    chance: float = 1.0
    """A rise of so many standard errors of that mean is none, either."""
    apart: float = np.inf
    """Chains whose log-likelihood is farther below the best one's than so many of its deviations are stuck."""
    cooling_share: float = 1.0
    """Share of the time that cooling may take, and share of the rest that sampling may take."""
    value_seconds: float = 1.2e-8
    """Measured: one value that a row can have, in one tree."""
    attribute_seconds: float = 0.0
    """Measured: one attribute of one row in one tree, however many values it has."""
    candidate_seconds: float = 2e-9
    """Measured: one row at one leaf of a candidate."""
    units_per_cube: float = 2e-10
    """Of a matching, for the cube of its rows, as in `consensus`."""
    consensus_rounds: int = 4
    """Most times that the consensus is matched with the samples anew."""
    most_rivals: int = 4
    """About so many samples are compared with the consensus."""

    def sweep_seconds(self, problem: RowProblem) -> float:
        """Return about how long one sweep of one chain takes."""
        attributes = problem.model.domain.attributes
        values = sum(attribute.n_values for attribute in attributes)
        step = self.value_seconds * values + self.attribute_seconds * len(attributes)
        places = problem.n_rows[1] * problem.model.n_trees if problem.seen is None else int(problem.seen.sum())
        return step * places


Start = Callable[[np.random.Generator], Dataset | int]
"""Returns what a `RowChain` begins with."""


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """What the sampler makes of a problem. Its repr shows no row."""

    guess: NDArray[np.float32]
    """Shape (n_rows, n_columns). The consensus of the samples: encoded rows, those included that the adversary knows.
    """
    guessed_label: IntArray
    """Shape (n_rows,). Labels of the guess."""
    likeliest: Dataset
    """The likeliest dataset that was met."""
    log_likelihood: float
    """Of that dataset."""
    level: float
    spread: float
    """`level` and `spread`: mean and standard deviation of the log-likelihood among the samples."""
    free: BoolArray
    """Shape (n_rows, n_attributes). Attributes that no tree tests on the way of a row of the guess; all unknown ones
    where trees have seen different rows.
    """
    open: BoolArray
    """Shape (n_rows, n_attributes). Attributes of which the leaves of a row of the guess leave several values."""
    settled: bool
    """Whether longer cooling no longer led to likelier datasets."""
    complete: bool
    """Whether the time box was enough for all that follows cooling."""
    agreeing: tuple[int, int]
    """How many chains are about as likely as the best one, of how many."""
    figures: dict[str, float]


@dataclass(eq=False, repr=False)
class _ChainRun:
    """One chain and what was drawn from it. Its repr shows no row."""

    chain: RowChain
    kept: list[Dataset] = field(default_factory=list)
    reached: list[float] = field(default_factory=list)
    top: tuple[float, Dataset] | None = None

    def keep(self) -> None:
        """Keep the dataset as it is."""
        self.kept.append(self.chain.dataset)
        self.reached.append(self.chain.log_likelihood)
        if self.top is None or self.reached[-1] > self.top[0]:
            self.top = self.reached[-1], self.kept[-1]


def sample_posterior(
    problem: RowProblem,
    search: Search,
    parameters: PosteriorParameters,
    start: Start | None = None,
    candidates: JumpCandidates | None = None,
) -> Posterior:
    """Draw datasets from the posterior and return their consensus, anytime.

    Parameters
    ----------
    start : callable or None
        None for values drawn evenly, of about as many rows as there can be.
    candidates : JumpCandidates or None
        Vectors that rows jump to while chains cool.

    Raises
    ------
    OutOfTimeError
        Before there was any dataset.
    InfeasibleError
        Where the adversary knows more rows than there can be.
    """
    if problem.known.sum() > problem.n_rows[1]:
        raise InfeasibleError
    if search.timebox.over:
        raise OutOfTimeError
    start = start or (lambda _: sum(problem.n_rows) // 2)
    with search.clock("anneal"):
        runs, settled, n_sweeps = _cooled(problem, start, candidates, search, parameters)
    with search.clock("sample"):
        _sample(problem, runs, search, parameters)
    best = max(runs, key=lambda run: np.mean(run.reached))
    lowest = np.mean(best.reached) - parameters.apart * max(1.0, float(np.std(best.reached)))
    agreeing = [run for run in runs if np.mean(run.reached) >= lowest]
    with search.clock("agree"):
        guess, label = _agreed(problem, agreeing, search, parameters)
        # A time box that allows one more matching at the end allowed each one before.
        complete = search.timebox.allows(parameters.units_per_cube * min(len(guess), MOST_ROWS) ** 3)
    highest, likeliest = max((run.top for run in agreeing if run.top is not None), key=lambda top: top[0])
    reached = np.concatenate([run.reached for run in agreeing])
    n_samples = sum(len(run.kept) for run in agreeing)
    figures = {"chains": float(len(runs)), "sweeps": float(n_sweeps), "samples": float(n_samples)}
    free = open_values = problem.value[: len(guess)] < 0
    if problem.seen is None:
        sizes = np.array([attribute.n_values for attribute in problem.model.domain.attributes])
        left = values_left(problem.model.walks, sizes, problem.indices(guess))
        free, open_values = free & (left == sizes), free & (left > 1)
    return Posterior(
        guess, label, likeliest, highest, float(reached.mean()), float(reached.std()), free, open_values, settled,
        complete,
        (len(agreeing), len(runs)), figures,
    )  # fmt: skip


def _runs(problem: RowProblem, start: Start, n_chains: int, seed: Sequence[int]) -> list[_ChainRun]:
    seeds = [[*seed, number] for number in range(n_chains)]
    return [_ChainRun(RowChain(problem, start(np.random.default_rng(one)), one)) for one in seeds]


def _cooled(
    problem: RowProblem,
    start: Start,
    candidates: JumpCandidates | None,
    search: Search,
    parameters: PosteriorParameters,
) -> tuple[list[_ChainRun], bool, int]:
    """Return chains that were cooled, whether more of it changes nothing, and the sweeps of each."""
    box = search.timebox.part(parameters.cooling_share)
    hot, seconds = parameters.hot, parameters.sweep_seconds(problem)
    if candidates is not None:
        places = len(candidates.value) * problem.model.n_classes * problem.model.n_trees
        seconds += parameters.candidate_seconds * problem.n_rows[1] * places / parameters.jump_every
    best: list[_ChainRun] = []
    level, settled, n_sweeps, n_chains = -np.inf, False, parameters.first_sweeps, parameters.chains
    if n_chains * n_sweeps * seconds > search.workers * box.remaining / 2:
        n_chains = min(n_chains, 2)
    n_sweeps = int(np.clip(box.effort_left / (n_chains * seconds), parameters.steps or 2, n_sweeps))
    with box.flag() as stop, search.threads() as each:
        for turn in range(parameters.most_rounds):
            cost = n_chains * n_sweeps * seconds
            if best and (cost > box.effort_left or cost / min(search.workers, n_chains) > box.remaining):
                break
            runs = _runs(problem, start, n_chains, [search.seed, 8, turn])
            n_steps = parameters.steps or n_sweeps
            n_each = n_sweeps // n_steps
            last_sweep = n_steps * n_each - 1
            since, left, hurried = box.elapsed, max(box.remaining, 1e-9), False
            for step in range(n_steps):
                if box.over:
                    break
                # Where time is short, the last sweeps are left out, and those before cool faster.
                gone = (box.elapsed - since) / left
                hurried |= gone > (step + 1) / n_steps
                ends = step * n_each, (step + 1) * n_each - 1
                begin, end = (hot ** (1.0 - min(1.0, max(sweep / last_sweep, gone))) for sweep in ends)
                if candidates is not None and step % parameters.jump_every == 0:
                    each(lambda run, begin=begin: run.chain.jump(candidates, begin, stop=stop), runs)
                schedule = n_each, begin, end
                each(lambda run, schedule=schedule: run.chain.sweep(*schedule, stop=stop), runs)
                box.spend(cost / n_steps)
            if best and (box.over or hurried):
                break  # the last ones were cooled as slowly as time allows
            best = runs
            reached = np.array([run.chain.log_likelihood for run in runs])
            search.clock.note("log-likelihood", float(reached.mean()))
            if box.over:
                break
            chance = parameters.chance * float(reached.std()) / np.sqrt(n_chains)
            settled = float(reached.mean()) <= level + max(parameters.enough, chance)
            if settled:
                break
            level, n_sweeps = max(level, float(reached.mean())), 2 * n_sweeps
    return best, settled, n_sweeps


def _sample(problem: RowProblem, runs: Sequence[_ChainRun], search: Search, parameters: PosteriorParameters) -> None:
    """Draw datasets of one size from all chains."""
    size = int(np.median([run.chain.n_rows for run in runs]))
    cost = len(runs) * parameters.sample_every * parameters.sweep_seconds(problem)
    box = search.timebox.part(parameters.cooling_share)
    with box.flag() as stop, search.threads() as each:

        def resize(run: _ChainRun) -> None:
            if run.chain.n_rows != size:
                run.chain.resize(size)
                run.chain.sweep(parameters.resized_sweeps, 2.0, 1.0, fixed=True, stop=stop)

        def draw(run: _ChainRun) -> None:
            run.chain.sweep(parameters.sample_every, 1.0, 1.0, fixed=True, stop=stop)
            run.keep()

        each(resize, runs)
        for number in range(parameters.samples):
            if number and box.over:
                break
            each(draw, runs)
            box.spend(cost)


def _agreed(
    problem: RowProblem, runs: Sequence[_ChainRun], search: Search, parameters: PosteriorParameters
) -> tuple[NDArray[np.float32], IntArray]:
    """Return the consensus of all samples, or a sample that is closer to all on average, and labels of its rows."""
    datasets = [dataset for run in runs for dataset in run.kept]
    samples = [problem.written(value) for value, _ in datasets]
    label = datasets[-1][1]
    if len(samples[-1]) > MOST_ROWS:
        return samples[-1], label
    (together,) = row_identities(
        np.column_stack([problem.value[: len(label)], problem.label[: len(label)]]).astype(np.float32)
    )
    guess = samples[-1]
    for _ in range(parameters.consensus_rounds):
        agreed = consensus(guess, samples, together, problem.domain, search.timebox)
        if search.timebox.over or (agreed == guess).all():
            break
        guess = agreed
    rivals = samples[:: max(1, len(samples) // parameters.most_rivals)]
    chosen = closest_to_all([guess, *rivals], samples[1 :: max(1, len(samples) // 8)], problem.domain, search.timebox)
    for (_, theirs), rows in zip(datasets, samples, strict=True):
        if chosen is rows:
            label = theirs
    return chosen, label
