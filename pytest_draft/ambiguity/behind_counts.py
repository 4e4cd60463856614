"""The search for other datasets that explain exact counts as well as the truth does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pytest_draft.ambiguity.alternatives import Alternatives, AlternativesSearch, NotExplainedError, Stop
from pytest_draft.ambiguity.bounds import kept
from pytest_draft.ambiguity.explained import ExplainedRows, explained
from pytest_draft.ambiguity.population import Population, fitted, uniform
from pytest_draft.ambiguity.sampled import Sampled, facts_of
from pytest_draft.ambiguity.sampler import PARAMETERS, ExplainingChain, neighbours, unchanged
from pytest_draft.ambiguity.values import StateValues
from pytest_draft.arrays import IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.domain import Domain
from pytest_draft.facts.ambiguity import Prior
from pytest_draft.timebox import TimeBox

ENOUGH_SWEEPS = 300
"""So often each row was drawn anew, on average, where a chain is left off. Measured on COMPAS, Adult and Default Credit
(400 rows, 5 to 20 trees of depth 2 to 4): the distance to the truth had stopped growing by then."""

MOST_MOVING = 500
"""Of more rows than this, about so many move, in neighbourhoods of `NEIGHBOURHOOD` rows, where alternatives are
likeliest. All others are as they are, and whoever guesses knows them: on the safe side."""

NEIGHBOURHOOD = 25

LEAST_SAMPLES = 4
"""With fewer samples nothing is known. The fewer there are, the better the best guess fits them: on the safe side."""

MOVING_SHARE = 0.6
"""Share of its time box after which chains stop moving; the rest is for values between midpoints."""

_SECONDS_A_TURN = 0.05
"""Units of work of one turn of a chain."""


class _Look:
    """One search.

    Parameters
    ----------
    truth : ExplainedRows
    values : StateValues
    seed : int
    unknown : ndarray of int64, shape (n_unknown,)
        The rows that are to be rebuilt.
    within_cells : bool
        As of `ExplainingChain`.
    stop : Stop
    others : ndarray of float32, shape (n_others, n_columns), or None
    """

    def __init__(
        self,
        truth: ExplainedRows,
        values: StateValues,
        seed: int,
        unknown: IntArray,
        *,
        within_cells: bool,
        stop: Stop,
        others: Rows | None = None,
    ) -> None:
        self._truth, self._values, self._seed = truth, values, seed
        self._others = np.empty((0, truth.state.shape[1]), dtype=np.int64)
        if others is not None:
            state = truth.states.of_rows(others)
            self._others = state[(state >= 0).all(axis=1)]
        self._unknown, self._within_cells, self._stop = unknown, within_cells, stop

    def alternatives(self) -> Alternatives | None:
        """Move, and give values to what was met."""
        truth, values = self._truth, self._values
        if self._stop.asked:
            return None
        moving = self._moving(truth)
        priors: dict[Prior, Population] = {
            "population": fitted(truth.states, truth.state.astype(np.int64), self._seed, self._others),
            "uniform": uniform(truth.states, truth.n_rows),
        }
        chains = {
            name: ExplainingChain(
                truth, prior, self._seed, within_cells=self._within_cells, moving=moving, stop=self._stop.flag
            )
            for name, prior in priors.items()
        }
        box = self._stop.timebox.first(MOVING_SHARE)
        bits = max(chain.bits(lambda: self._stop.now(box)) for chain in chains.values())
        bits_ended = not self._stop.now(box)
        steps = 0
        few = LEAST_SAMPLES * PARAMETERS.rows_a_turn
        # A turn draws as many rows, however few there are: a small table takes as many turns as samples are kept.
        enough = max(ENOUGH_SWEEPS * len(moving), 2 * kept(len(moving)) * PARAMETERS.rows_a_turn)
        while steps < enough and not self._stop.now(box if steps >= few else self._stop.by_clock):
            for chain in chains.values():
                chain.turn()
            steps += PARAMETERS.rows_a_turn
            box.spend(len(chains) * _SECONDS_A_TURN)
        sampled = self._sampled(chains, priors, values, moving)
        if self._stop.asked or any(len(one.datasets) < LEAST_SAMPLES for one in sampled):
            return None
        left = unchanged(chains.values(), moving)
        facts = facts_of(sampled, truth.domain, values.rows, bits, left, self._stop.timebox)
        return Alternatives(sampled, replace(facts, bits_ended=bits_ended))

    def _moving(self, truth: ExplainedRows) -> IntArray:
        """Return the rows that move: all, or neighbourhoods of some."""
        unknown = self._unknown
        if len(unknown) <= MOST_MOVING:
            return unknown
        rng = np.random.default_rng([self._seed, 63])
        anchors = rng.choice(len(unknown), MOST_MOVING // NEIGHBOURHOOD, replace=False)
        return unknown[np.unique(neighbours(truth, unknown, NEIGHBOURHOOD, anchors))]

    def _sampled(
        self,
        chains: Mapping[Prior, ExplainingChain],
        priors: Mapping[Prior, Population],
        values: StateValues,
        moving: IntArray,
    ) -> tuple[Sampled, ...]:
        """Return the last datasets of each chain with all values, as many as there is time for."""
        truth, rngs = self._truth, {name: np.random.default_rng([self._seed, 64, len(name)]) for name in chains}
        datasets, without = ({name: list[Rows]() for name in chains} for _ in range(2))
        last = {name: chain.last for name, chain in chains.items()}
        for place in range(min(map(len, last.values()))):
            for name, rng in rngs.items():
                if self._stop.now(self._stop.by_clock):
                    break
                rows = values.of(last[name][place].astype(np.int64), rng, self._stop.by_clock)
                drawn = np.where(truth.fixed, truth.state, priors[name].drawn(truth.states, rng))
                other = values.of(drawn, rng, self._stop.by_clock, with_file=False)
                if rows is not None and other is not None:
                    datasets[name].append(rows[moving])
                    without[name].append(other[moving])
        return tuple(Sampled(name, tuple(datasets[name]), tuple(without[name]), moving) for name in chains)


def search(
    forest: Forest,
    domain: Domain,
    rows: Rows,
    labels: IntArray,
    times: IntArray,
    seed: int,
    timebox: TimeBox,
    *,
    unknown: IntArray,
    known: tuple[int, ...] = (),
    extremes: Extremes | None = None,
    others: Rows | None = None,
) -> AlternativesSearch:
    """Begin to look for other datasets that explain a file.

    Parameters
    ----------
    forest : Forest
        With exact counts.
    rows : ndarray of float32, shape (n_rows, n_columns)
        All training rows.
    labels : ndarray of int64, shape (n_rows,)
    times : ndarray of int64, shape (n_trees, n_rows)
        How often each tree saw each row.
    unknown : ndarray of int64, shape (n_unknown,)
        The rows that are to be rebuilt; the adversary knows the others whole.
    known : tuple of int
        Attributes that it knows in every row.
    extremes : Extremes or None
        Of the nodes of random splits.
    others : ndarray of float32, shape (n_others, n_columns), or None
        Rows of the population that were not trained on.
    """
    known_others = np.setdiff1d(np.arange(len(rows)), unknown)

    def look(stop: Stop) -> Alternatives | None:
        known_rows = known_others if len(known_others) else None
        truth = explained(forest, domain, rows, labels, times, known, known_rows, extremes, stop.require)
        if truth is None:
            raise NotExplainedError
        # The values of a regressor's leaves reveal more of a row than counts do: each row is held in all its leaves.
        within_cells = forest.classes is None
        values = StateValues(truth.states, truth.fixed, truth.times, rows, forest, extremes)
        look = _Look(truth, values, seed, unknown, within_cells=within_cells, stop=stop, others=others)
        return look.alternatives()

    return AlternativesSearch(look, timebox)
