"""One annealing chain: in go a problem and a window of time, out come its best dataset and cold samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import Flag, Int32Array, IntArray
from pytest_draft.attack.moves import Scratch
from pytest_draft.attack.numeric.anneal import exchange, sweep
from pytest_draft.attack.numeric.dataset import Dataset, fill
from pytest_draft.attack.numeric.energy import NodeArrays, missed
from pytest_draft.attack.numeric.parameters import ANNEALING, BELIEFS
from pytest_draft.attack.numeric.prior import EVERY, Prior
from pytest_draft.attack.numeric.problem import NumericProblem
from pytest_draft.errors import OutOfTimeError
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True)
class Window:
    """A part of a time box: how much of it has passed, by the clock or, where that is limited, by the effort."""

    box: TimeBox
    since: float
    until: float
    units: float

    @classmethod
    def of(cls, box: TimeBox, seconds: float, units: float) -> Window:
        """Return the window of the next seconds, or units of work where these are limited."""
        return cls(box, box.elapsed, box.elapsed + seconds, units)

    def passed(self, spent: float) -> float:
        """Return the share that has passed after some work."""
        by_clock = (self.box.elapsed - self.since) / max(self.until - self.since, 1e-9)
        if np.isfinite(self.units):
            return 1.0 if self.box.over else spent / max(self.units, 1e-9)
        return by_clock


class AnnealingChain:
    """A dataset that is annealed, the best one that it was, and what it was when it was cold.

    It begins with random rows, hot, or with `start`, states and labels of rows that are placed already, warm.
    """

    def __init__(
        self,
        problem: NumericProblem,
        nodes: NodeArrays,
        prior: Prior,
        seed: Sequence[int],
        start: tuple[Int32Array, Int32Array] | None = None,
    ) -> None:
        self.problem, self.nodes, self.prior = problem, nodes, prior
        self.rng = np.random.default_rng(seed)
        self.copula = prior.nothing(problem.n_classes)
        self.scratch = Scratch.of(nodes.walks, max(problem.n_classes, int(problem.states.n_states.max())))
        self.data = random_start(problem, prior, self.rng)
        self.placed = start is not None
        if start is not None:
            self.data.state[:], self.data.label[:] = start
        self.samples: list[Int32Array] = []
        self.best: tuple[int, Int32Array, Int32Array] | None = None
        self.sweeps = 0.0
        self.spent = 0.0
        self._filled = False

    def cool(self, window: Window) -> None:
        """Anneal until a window is over, or until nothing is missed and there are enough samples."""
        if window.box.over:
            return
        self._fill()
        with window.box.flag() as stop:
            self._cool(window, stop)

    def _cool(self, window: Window, stop: Flag) -> None:
        rows = np.arange(self.problem.n_unknown)
        unit = units_of_a_sweep(self.problem)
        chunk = max(1, min(len(rows), int(len(rows) * ANNEALING.slice / max(unit, 1e-9))))
        sampled_every = 1
        turn = 0
        while True:
            order = self.rng.permutation(rows)
            for first in range(0, len(rows), chunk):
                share = window.passed(self.spent)
                if share >= 1:
                    return
                if self.best is not None and self.best[0] == 0:
                    share = max(share, ANNEALING.cold)
                self._step(order[first : first + chunk], self._temperature(share), self._penalty(share), stop)
                done = len(order[first : first + chunk]) / len(rows)
                self.spent += unit * done
                self.sweeps += done
            turn += 1
            if turn % EVERY == 0 and self.prior.strength > 0:
                self.copula = self.prior.learn(self.nodes, self.data)
            if share >= ANNEALING.half:
                self._keep_best()
            if share >= ANNEALING.cold and turn % sampled_every == 0:
                self.samples.append(self.data.state[: self.problem.n_unknown].copy())
                if len(self.samples) > 2 * ANNEALING.samples:
                    self.samples, sampled_every = self.samples[::2], 2 * sampled_every
                if self.best is not None and self.best[0] == 0 and len(self.samples) >= ANNEALING.samples:
                    return

    def _fill(self) -> None:
        """Bring the first dataset in step with the nodes, once."""
        if not self._filled:
            fill(self.nodes, self.data)
            self._filled = True

    def _temperature(self, share: float) -> float:
        """Return the temperature after a share of an annealing."""
        hottest = BELIEFS.hottest if self.placed else ANNEALING.hottest
        return hottest * (ANNEALING.coldest / hottest) ** min(1.0, share / ANNEALING.cold)  # type: ignore[no-any-return]

    def _penalty(self, share: float) -> float:
        """Return what a contradicted split costs: at first nothing: it would keep rows from where they count."""
        if share < ANNEALING.by_counts and not self.placed:
            return 0.0
        return ANNEALING.of_midpoints if self.problem.extremes is None else ANNEALING.of_extremes

    def _step(self, rows: IntArray, temperature: float, penalty: float, stop: Flag) -> None:
        nodes, data = self.nodes._replace(penalty=penalty), self.data
        sweep(nodes, self.copula, data, self.problem.label_known, rows, temperature, self.scratch, stop)
        if _rows_differ(self.problem):
            exchange(nodes, data, self._pairs(np.tile(rows, ANNEALING.exchanges)), temperature, stop)

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
        lacks = sum(missed(self.nodes, self.data))
        if self.best is None or lacks < self.best[0]:
            self.best = (lacks, self.data.state.copy(), self.data.label.copy())

    def finish(self) -> None:
        """Keep what there is, where time was too short for anything else."""
        self._fill()
        if self.best is None:
            self._keep_best()
        if not self.samples:
            self.samples.append(self.data.state[: self.problem.n_unknown].copy())


def random_start(problem: NumericProblem, prior: Prior, rng: np.random.Generator) -> Dataset:
    """Return random rows, known values as they are."""
    n_rows, n_attributes = problem.state.shape
    state = np.empty((n_rows, n_attributes), dtype=np.int32)
    for a, base in enumerate(prior.base):
        state[:, a] = rng.choice(len(base), n_rows, p=base)
    state = np.where(problem.state >= 0, problem.state, state)
    seed = int(rng.integers(2**63))
    return Dataset.of(problem.nodes, problem.times, state, problem.label.copy(), seed, problem.state >= 0)


def _rows_differ(problem: NumericProblem) -> bool:
    """Return whether occurrences or known values tell rows apart, so that it matters which is which."""
    return problem.ordered or bool((problem.state[: problem.n_unknown] >= 0).any())


def units_of_a_sweep(problem: NumericProblem) -> float:
    """Return the units of work of one sweep: each tree is walked again from where an attribute is first tested."""
    seen = float((problem.times > 0).sum())
    n_nodes = np.diff(problem.nodes.walks.root)
    depth = float(np.log2(np.maximum(n_nodes, 2)).mean()) + 1
    return (
        seen
        * depth
        * (
            ANNEALING.seconds_a_walk * depth
            + ANNEALING.seconds_an_exchange * ANNEALING.exchanges * _rows_differ(problem)
        )
    )


def best_of(chain: AnnealingChain) -> tuple[int, Int32Array, Int32Array]:
    """Return what a chain's best dataset misses, its states and its labels."""
    if chain.best is None:
        raise OutOfTimeError
    return chain.best
