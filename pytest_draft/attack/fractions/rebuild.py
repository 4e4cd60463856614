"""The attack on a file without counts: in goes a `StrippedProblem`, out comes a `Reconstruction`.

Where the domain can be enumerated, expectation maximisation over vectors x class gives the start (`expectation`); else
it is drawn evenly. Several chains cool from there to the posterior (`chain`), twice as slowly each round while that
leads to datasets that explain the file better; what they then draw are samples, and the guess is their consensus.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import IntArray
from pytest_draft.attack.consensus import MOST_ROWS, closest_to_all, consensus
from pytest_draft.attack.fractions.chain import Chain, Dataset
from pytest_draft.attack.fractions.expectation import Expected, expected_rows
from pytest_draft.attack.fractions.problem import StrippedProblem
from pytest_draft.attack.fractions.sweeps import Candidates
from pytest_draft.attack.private.datasets import open_attributes
from pytest_draft.attack.search import Search
from pytest_draft.errors import InfeasibleError
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.matching import row_identities


@dataclass(frozen=True)
class AnnealingParameters:
    """How chains are cooled and sampled."""

    chains: int = 4
    hot: float = 3.0
    hot_alone: float = 30.0
    """`hot` and `hot_alone`: first temperature, with a start by expectation maximisation and without."""
    first_sweeps: int = 16
    """Sweeps of the first round of cooling; each round has twice as many."""
    most_rounds: int = 7
    samples: int = 8
    """Datasets that each chain keeps."""
    sample_every: int = 2
    """Sweeps between two of them."""
    jump_every: int = 4
    """Sweeps of cooling between two jumps of whole rows."""
    candidates: int = 1000
    """Most vectors that rows jump to."""
    enough: float = 3.0
    """Rise of the mean log-likelihood from round to round up to which cooling has settled."""
    apart: float = 4.0
    """Chains whose log-likelihood is farther below the best one's than so many of its deviations are stuck."""
    cooling_share: float = 0.5
    """Share of the time that cooling may take."""
    seconds_per_step: float = 5e-7
    """Measured: one attribute of one row in one tree."""
    seconds_per_look: float = 2e-9
    """Measured: one row at one leaf of a candidate."""
    consensus_rounds: int = 3
    most_rivals: int = 4
    """`consensus_rounds` and `most_rivals`: as in `attack.private.datasets`."""


_PARAMETERS = AnnealingParameters()


@dataclass(eq=False, repr=False)
class _Run:
    """One chain and what was drawn from it. Its repr shows no row."""

    chain: Chain
    kept: list[Dataset] = field(default_factory=list)
    reached: list[float] = field(default_factory=list)
    highest: float = -np.inf
    top: Dataset | None = None

    def __repr__(self) -> str:
        return f"<_Run: {len(self.kept)} samples>"

    def note(self) -> None:
        """Keep the dataset if it is the likeliest so far."""
        now = self.chain.log_likelihood
        if now > self.highest:
            self.highest, self.top = now, self.chain.dataset


def rebuild_from_outputs(problem: StrippedProblem, search: Search) -> Reconstruction:
    """Rebuild the rows that the adversary does not know, anytime.

    Parameters
    ----------
    problem : StrippedProblem
    search : Search

    Returns
    -------
    Reconstruction
        Its rows are the consensus of the samples; `consistent` is the likeliest dataset that was met, `log_posterior`
        its log-likelihood with one deviation of the samples'. ``not converged``: chains disagree and cooling more
        slowly still led to likelier datasets, or the likeliest one lacks rows at leaves that had draws.
    """
    figures = search.clock.figures
    if problem.known.sum() > problem.n_rows[1]:
        return Reconstruction("infeasible", None, None, None, None, False, None, statistics=figures)
    if search.timebox.over:
        return Reconstruction("no solution", None, None, None, None, False, None, statistics=figures)
    with search.clock("expect"):
        size, expected = _expected(problem, search)
    runs, settled, n_sweeps = _cooled(problem, size, expected, search)
    with search.clock("sample"):
        _sample(problem, runs, expected, search)
    best = max(runs, key=lambda run: np.mean(run.reached))
    spread = max(1.0, float(np.std(best.reached)))
    level = float(np.mean(best.reached))
    agreeing = [run for run in runs if np.mean(run.reached) >= level - _PARAMETERS.apart * spread]
    settled |= len(agreeing) == len(runs) > 1  # each from a start of its own
    with search.clock("agree"):
        guess, label = _agreed(problem, agreeing, search)
    top = max(agreeing, key=lambda run: run.highest)
    if top.top is None:
        raise InfeasibleError
    likeliest, likeliest_label = top.top
    lacking = problem.model.lacking(problem.model.rows_at_leaves(likeliest, likeliest_label))
    figures.update(
        {
            "chains": float(len(runs)),
            "chains that agree": float(len(agreeing)),
            "sweeps": float(n_sweeps),
            "samples": float(sum(len(run.kept) for run in agreeing)),
            "log-likelihood": top.highest,
            "rows": float(len(guess)),
        }
    )
    exact = problem.model.evidence.rate == 0.0
    unknown = ~problem.known[: len(guess)]
    free = _free(problem, guess)
    consistent = problem.written(likeliest)
    rows = guess[unknown]
    return Reconstruction(
        status="not converged" if lacking or not settled else "consistent" if exact else "likeliest",
        rows=rows,
        consistent=consistent[~problem.known[: len(consistent)]] if len(consistent) == len(guess) else None,
        labels=label[unknown],
        cells=None,
        free=free[unknown],
        ordered=False,
        residual=lacking,
        cut_short=not settled,
        log_posterior=top.highest + spread,
        log_likelihood=top.highest,
        statistics=figures,
    )


def _expected(problem: StrippedProblem, search: Search) -> tuple[int, Expected | None]:
    """Return the number of rows to begin with, and what is expected of each vector where they can be enumerated."""
    least, most = problem.n_rows
    if least == most:
        return least, expected_rows(problem.model, least, search)
    expected = expected_rows(problem.model, (least + most) // 2, search, size_free=problem.model.evidence.rate > 0.0)
    if expected is None:
        return (2 * least + most) // 3, None
    return int(np.clip(round(float(expected.rows.sum())), least, most)), expected


def _start(problem: StrippedProblem, size: int, expected: Expected | None, rng: np.random.Generator) -> Dataset:
    """Return a dataset to begin with: rounded from what is expected, in slots whose known values they have."""
    model = problem.model
    sizes = np.array([attribute.n_values for attribute in model.domain.attributes])
    value = rng.integers(0, sizes, size=(size, len(sizes))).astype(np.int32)
    label = rng.integers(0, model.n_classes, size)
    if expected is None:
        return value, label
    given = problem.value[:size] >= 0
    partly = given.any(axis=1) | (problem.label[:size] >= 0)
    vectors, labels = expected.drawn(size, rng)
    order = rng.permutation(size)
    value, label = expected.value[vectors][order], labels[order].astype(np.int64)
    for slot in np.flatnonzero(partly & ~problem.known[:size]):
        fits = (expected.value[:, given[slot]] == problem.value[slot, given[slot]]).all(axis=1)
        chance = (expected.rows * fits[:, None]).ravel() + 1e-12 * np.repeat(fits, model.n_classes)
        if (known := problem.label[slot]) >= 0:
            chance = (chance.reshape(-1, model.n_classes) * (np.arange(model.n_classes) == known)).ravel()
        if chance.sum() > 0:
            chosen = int(rng.choice(len(chance), p=chance / chance.sum()))
            value[slot], label[slot] = expected.value[chosen // model.n_classes], chosen % model.n_classes
    return value, label


def _candidates(expected: Expected | None) -> Candidates | None:
    """Return the vectors that rows may jump to; None where nothing is known of them."""
    if expected is None:
        return None
    top = expected.likeliest(_PARAMETERS.candidates)
    return Candidates(np.ascontiguousarray(expected.value[top]), np.ascontiguousarray(expected.leaf[top]))


def _seconds(problem: StrippedProblem, candidates: Candidates | None) -> tuple[float, float]:
    """About how long one sweep and one jump of one chain take."""
    model, n_rows = problem.model, problem.n_rows[1]
    sweep = _PARAMETERS.seconds_per_step * n_rows * len(model.domain.attributes) * model.n_trees
    if candidates is None:
        return sweep, 0.0
    return sweep, _PARAMETERS.seconds_per_look * n_rows * len(candidates.value) * model.n_classes * model.n_trees


def _cooled(
    problem: StrippedProblem, size: int, expected: Expected | None, search: Search
) -> tuple[list[_Run], bool, int]:
    """Return chains that were cooled, whether more of it changes anything, and the sweeps of each."""
    candidates = _candidates(expected)
    hot = _PARAMETERS.hot_alone if expected is None else _PARAMETERS.hot
    box = search.timebox.part(_PARAMETERS.cooling_share)
    a_sweep, a_jump = _seconds(problem, candidates)
    best: list[_Run] = []
    level, settled, n_sweeps = -np.inf, False, _PARAMETERS.first_sweeps
    n_chains = _PARAMETERS.chains
    if n_chains * n_sweeps * (a_sweep + a_jump / _PARAMETERS.jump_every) > search.workers * box.remaining / 2:
        n_chains = min(n_chains, 2)
    threads = min(search.workers, n_chains)
    with search.clock("anneal"), box.flag() as stop, ThreadPoolExecutor(search.workers) as pool:
        for turn in range(_PARAMETERS.most_rounds):
            cost = n_chains * n_sweeps * (a_sweep + a_jump / _PARAMETERS.jump_every)
            if best and (cost > box.effort_left or cost / threads > box.remaining):
                break
            runs = []
            for number in range(n_chains):
                seed = [search.seed, 21, turn, number]
                runs.append(_Run(Chain(problem, _start(problem, size, expected, np.random.default_rng(seed)), seed)))
            late = bool(best)
            since, left = box.elapsed, max(box.remaining, 1e-9)
            for step in range(n_sweeps):
                if box.over:
                    break
                # Where time is short, the last sweeps are left out, and those before cool faster.
                cooled = max(step / (n_sweeps - 1), (box.elapsed - since) / left)

                def cool(run: _Run, step: int = step, temperature: float = hot ** (1.0 - min(1.0, cooled))) -> None:
                    if candidates is not None and step % _PARAMETERS.jump_every == 0:
                        run.chain.jump(candidates, temperature, stop=stop)
                    run.chain.sweep(1, temperature, temperature, stop=stop)

                list(pool.map(cool, runs))
                box.spend(cost / n_sweeps)
            if late and box.over:
                break  # the last ones were cooled as slowly as time allows
            best = runs
            reached = np.array([run.chain.log_likelihood for run in runs])
            search.clock.note("log-likelihood", float(reached.mean()))
            if box.over:
                break
            settled = float(reached.mean()) <= level + _PARAMETERS.enough
            if settled:
                break
            level, n_sweeps = max(level, float(reached.mean())), 2 * n_sweeps
    return best, settled, n_sweeps


def _sample(problem: StrippedProblem, runs: Sequence[_Run], expected: Expected | None, search: Search) -> None:
    """Draw datasets of one size from all chains."""
    size = int(np.median([run.chain.n_rows for run in runs]))
    cost = len(runs) * _PARAMETERS.sample_every * _seconds(problem, None)[0]
    box = search.timebox.part(_PARAMETERS.cooling_share)
    with box.flag() as stop, ThreadPoolExecutor(search.workers) as pool:
        for number in range(_PARAMETERS.samples):
            if number and box.over:
                break

            def draw(run: _Run, first: bool = number == 0) -> None:
                if first and run.chain.n_rows != size:
                    run.chain.resize(size)
                    run.chain.sweep(_PARAMETERS.first_sweeps, 2.0, 1.0, fixed=True, stop=stop)
                run.chain.sweep(_PARAMETERS.sample_every, 1.0, 1.0, fixed=True, stop=stop)
                run.kept.append(run.chain.dataset)
                run.reached.append(run.chain.log_likelihood)
                run.note()

            list(pool.map(draw, runs))
            box.spend(cost)


def _agreed(problem: StrippedProblem, runs: Sequence[_Run], search: Search) -> tuple[NDArray[np.float32], IntArray]:
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
    for _ in range(_PARAMETERS.consensus_rounds):
        agreed = consensus(guess, samples, together, problem.domain, search.timebox)
        if search.timebox.over or (agreed == guess).all():
            break
        guess = agreed
    rivals = samples[:: max(1, len(samples) // _PARAMETERS.most_rivals)]
    chosen = closest_to_all([guess, *rivals], samples[1 :: max(1, len(samples) // 8)], problem.domain, search.timebox)
    for (_, theirs), rows in zip(datasets, samples, strict=True):
        if chosen is rows:
            label = theirs
    return chosen, label


def _free(problem: StrippedProblem, guess: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which attributes no tree tests on the way of each row of the guess, shape (n_rows, n_attributes)."""
    free: NDArray[np.bool_] = open_attributes(problem.model.walks, problem.indices(guess))
    free &= problem.value[: len(guess)] < 0
    return free
