"""What is believed of each row while all are placed: in go a problem and a window of time, out come draws of rows.

Round by round each row is believed anew in the boxes that `beam` finds, given what is believed of all the others. Rows
of a batch are independent, and one thread takes some of them each. A part of each row counts as not placed yet, less
from round to round. How likely each value is, is learnt from the boxes (as `prior` does from datasets): by class and by
component, of which each takes an equal part of the rows along the line on which these differ the most. So columns that
go together need not be independent; a box begins in one component and keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_draft.arrays import Flag, FloatArray, Int32Array, IntArray
from pytest_draft.attack.numeric.beam import Marginals, Messages, all_values, believe, leaves_of, tabulate
from pytest_draft.attack.numeric.chain import Window, random_start
from pytest_draft.attack.numeric.dataset import fill
from pytest_draft.attack.numeric.parameters import BELIEFS
from pytest_draft.attack.numeric.prior import Prior, smoothed
from pytest_draft.attack.numeric.problem import NumericProblem
from pytest_draft.attack.search import Each, Search

_PSEUDO = 0.3
"""How many rows the base counts as, for each row, when the values of all rows are learnt."""

_OF_ALL = 10.0
"""How many rows all together count as for the values of a component, and a component's rows for those of a class."""


class Beliefs:
    """In which leaves each row is believed, and rows drawn from that."""

    def __init__(self, problem: NumericProblem, prior: Prior, seed: Sequence[int]) -> None:
        self.problem, self.prior = problem, prior
        self.rounds = 0
        self.spent = 0.0
        self.leaves, table_size = leaves_of(problem.nodes)
        self._rng = np.random.default_rng(seed)
        walks, self._start = problem.nodes.walks, problem.nodes.start
        self._one_hot, self._missing = walks.one_hot, walks.missing
        n_rows, n_leaves = problem.times.shape[1], len(self.leaves.node)
        data = random_start(problem, prior, self._rng)
        belief = self.leaves.start[:, data.label].T.astype(np.float32)
        known = np.arange(problem.n_unknown, n_rows)
        if len(known):
            fill(problem.nodes, data)
            belief[known] = 0.0
            for at in data.leaf:
                seen = known[at[known] >= 0]
                belief[seen, self.leaves.of_node[at[seen]]] = 1.0
        self._messages = Messages(belief, data.label, np.zeros(table_size), np.zeros((n_leaves, problem.n_classes, 5)))
        self._drawn = np.repeat(data.state[None], BELIEFS.drawn, axis=0)
        self._marginals = self._learnt()

    @staticmethod
    def apply(problem: NumericProblem, units: float) -> bool:
        """Return whether rows are told apart by their draws, so that there is something to believe, and it fits.

        Parameters
        ----------
        units : float
            Units of work that there are for it.
        """
        told_apart = bool((problem.times != problem.times[:, :1]).any())
        n_leaves = int(problem.nodes.walks.leaves.sum())
        fits = problem.times.shape[1] * n_leaves <= BELIEFS.most_entries
        return told_apart and fits and units >= BELIEFS.fewest_rounds * units_of_a_round(problem)

    def improve(self, window: Window, search: Search) -> None:
        """Believe anew of all rows, round by round, until a window is over or there were enough rounds."""
        unit = units_of_a_round(self.problem)
        n = self.problem.n_unknown
        batch = _batch_of(n)
        with window.box.flag() as stop, search.threads() as each:
            while self.rounds < BELIEFS.most_rounds:
                share = max(self.rounds / BELIEFS.most_rounds, min(1.0, window.passed(self.spent)))
                first, last = BELIEFS.background
                background = np.zeros(self.problem.times.shape[1])
                background[:n] = first * (last / first) ** share
                power = min(1.0, BELIEFS.weakest + (1 - BELIEFS.weakest) * share / BELIEFS.full)
                order = self._rng.permutation(n)
                for at in range(0, n, batch):
                    if window.passed(self.spent) >= 1 or stop[0]:
                        return
                    rows = order[at : at + batch]
                    self._batch(rows, background, power, stop, search.workers, each)
                    self.spent += unit * len(rows) / n
                self.rounds += 1
                self._marginals = self._learnt()

    def _batch(
        self, rows: IntArray, background: FloatArray, power: float, stop: Flag, workers: int, each: Each
    ) -> None:
        problem, messages = self.problem, self._messages
        cuts = np.linspace(0, len(self.leaves.node), workers + 1).astype(np.int64)

        def table(w: int) -> None:
            tabulate(self.leaves, messages, problem.times, background, cuts[w], cuts[w + 1])

        seeds = self._rng.integers(2**63, size=len(rows)).astype(np.uint64)
        changed = np.empty((len(rows), messages.belief.shape[1]), dtype=np.float32)
        label = np.empty(len(rows), dtype=np.int32)
        settings = (BELIEFS.width, BELIEFS.clip, BELIEFS.gap, BELIEFS.jitter, power)

        def place(w: int) -> None:
            here = slice(w, None, workers)
            own, own_label = np.empty_like(changed[here]), np.empty_like(label[here])
            whole = all_values(problem.state[rows[here]], self._marginals)
            its_rows, its_seeds = np.ascontiguousarray(rows[here]), np.ascontiguousarray(seeds[here])
            believe(
                problem.nodes, self.leaves, self._marginals, messages, problem.times, whole, its_rows,
                problem.label_known, settings, BELIEFS.step, background, its_seeds, own, own_label, self._drawn,
                stop,
            )  # fmt: skip
            changed[here], label[here] = own, own_label

        each(table, range(workers))
        each(place, range(workers))
        messages.belief[rows], messages.label[rows] = changed, label

    def _learnt(self) -> Marginals:
        """Return how likely each state is in each class and component, by the rows drawn last."""
        drawn, n_classes, n_components = self._drawn, self.problem.n_classes, BELIEFS.components
        n_drawn, n_rows, n_attributes = drawn.shape
        label, component = np.broadcast_to(self._messages.label, (n_drawn, n_rows)), self._components()
        below = np.zeros((n_classes, n_components, self._start[-1] + n_attributes))
        share = np.ones((n_classes, n_components))
        if self.rounds:
            np.add.at(share, (label, component), 1 / n_drawn)
        for a, base in enumerate(self.prior.base):
            size = len(base)
            found = np.zeros((n_classes, n_components, size))
            if self.rounds:
                np.add.at(found, (label, component, drawn[:, :, a]), 1 / n_drawn)
            of_all = found.sum(axis=(0, 1)) + _PSEUDO * n_rows * base
            of_component = found.sum(axis=0) + _OF_ALL * of_all / of_all.sum()
            found += _OF_ALL * of_component / of_component.sum(axis=1, keepdims=True)
            if self.prior.smooth[a]:
                found = np.apply_along_axis(smoothed, 2, found, base)
            found /= found.sum(axis=2, keepdims=True)
            mass = base * (np.maximum(found, 1e-12) / base) ** self.prior.strength
            at = self._start[a] + a
            below[:, :, at + 1 : at + size + 1] = np.cumsum(mass / mass.sum(axis=2, keepdims=True), axis=2)
        return Marginals(self._start, self._one_hot, self._missing, below, share / share.sum(axis=1, keepdims=True))

    def _components(self) -> IntArray:
        """Return the component of each drawn row: equal parts along the line on which the ranks lie most apart."""
        drawn, ranked = self._drawn, np.flatnonzero(self.prior.smooth)
        if not len(ranked):
            return np.zeros(drawn.shape[:2], dtype=np.int64)
        common = [np.cumsum(np.bincount(drawn[:, :, a].ravel())) / drawn[:, :, a].size for a in ranked]
        rank = np.stack([share[drawn[:, :, a]] for a, share in zip(ranked, common, strict=True)], axis=2)
        rank -= rank.mean(axis=(0, 1))
        line = np.linalg.eigh(np.einsum("dka,dkb->ab", rank, rank))[1][:, -1]
        place: FloatArray = rank @ line
        return np.searchsorted(np.quantile(place, np.linspace(0, 1, BELIEFS.components + 1)[1:-1]), place)

    def draw(self, rng: np.random.Generator) -> tuple[Int32Array, Int32Array]:
        """Return states of all rows, drawn from what is believed of each, and their labels."""
        n_rows = self._drawn.shape[1]
        state = self._drawn[rng.integers(len(self._drawn), size=n_rows), np.arange(n_rows)]
        return state.copy(), self._messages.label.copy()


def _batch_of(n_rows: int) -> int:
    """Return how many rows are placed from the same tables: filling these takes a time for all rows, each time."""
    return max(BELIEFS.batch, -(-n_rows // BELIEFS.most_batches))


def units_of_a_round(problem: NumericProblem) -> float:
    """Return the units of work of one round: what leaves say of rows, boxes joined with trees, and tables."""
    n_leaves, n_trees = float(problem.nodes.walks.leaves.sum()), problem.nodes.walks.n_trees
    seen = float((problem.times > 0).sum())
    labels = 1 if problem.label_known else problem.n_classes
    n_batches = -(-problem.n_unknown // _batch_of(problem.n_unknown))
    boxes = seen * BELIEFS.width * BELIEFS.seconds_a_box
    said = seen * n_leaves / n_trees * labels * BELIEFS.seconds_a_leaf
    tables = n_batches * float(problem.times.shape[1]) * n_leaves * BELIEFS.seconds_a_state
    return boxes + said + tables
