"""The search for other datasets that explain leaves as well as the truth does, where nobody knows the draws.

Without counts and bootstrap the true rows determine the counts that were removed, and datasets that explain these, too,
are looked for: whoever has the file knows less, and gets no closer. So too of a regressor, whose rows are held in all
their leaves, however often they were drawn. Else, with counts or without, a chain of the posterior of what the leaves
say begins at the truth; before it has forgotten that, it lies nearer to it than it should. All are on the safe side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_draft.ambiguity import behind_counts
from pytest_draft.ambiguity.alternatives import Alternatives, AlternativesSearch, NotExplainedError, Stop
from pytest_draft.ambiguity.bits_of_outputs import bits_at
from pytest_draft.ambiguity.counted import counted_by
from pytest_draft.ambiguity.gaps import thresholds_only_mark_gaps
from pytest_draft.ambiguity.population import RowKinds, fitted, row_kinds, uniform
from pytest_draft.ambiguity.sampled import Sampled, facts_of
from pytest_draft.ambiguity.sampler import Visited, unchanged
from pytest_draft.ambiguity.values import StateValues
from pytest_draft.arrays import Flag, Int32Array, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.compiled_trees import leaves_of
from pytest_draft.attack.fractions.problem import build_stripped
from pytest_draft.attack.numeric.problem import is_numeric
from pytest_draft.attack.states import states_of
from pytest_draft.attack.walk.chain import GO_ON, RowChain
from pytest_draft.attack.walk.mixture import NO_PRIOR
from pytest_draft.attack.walk.problem import RowProblem, indices_of
from pytest_draft.attack.walk.sweeps import JumpCandidates
from pytest_draft.domain import Domain
from pytest_draft.facts.ambiguity import Prior
from pytest_draft.timebox import TimeBox

ENOUGH_SWEEPS = 300
"""So often each value is drawn anew where a chain is left off, as in `behind_counts`."""

JUMP_EVERY = 4
"""Whole rows are drawn anew every so many sweeps of values: it takes longer, and each goes as far as a row can."""

_SECONDS_A_VALUE = 1e-8
"""Of a sweep, for each value that one row can have, in each tree."""


class ChainFromTruth(Visited):
    """A chain that begins at the truth, and the datasets that it was.

    Parameters
    ----------
    problem : RowProblem
        Its open values are what moves.
    value : ndarray of int32, shape (n_rows, n_attributes)
        The truth's, as indices.
    label : ndarray of int64, shape (n_rows,)
    prior : {"population", "uniform", "other rows"}
        Of each row: a mixture that all other rows make, all values alike, or `kinds`.
    seed : int
    kinds : RowKinds or None
    """

    def __init__(
        self,
        problem: RowProblem,
        value: Int32Array,
        label: IntArray,
        prior: Prior,
        seed: int,
        kinds: RowKinds | None = None,
    ) -> None:
        n_values = sum(attribute.n_values for attribute in problem.model.domain.attributes)
        alike = np.zeros((problem.model.n_classes, n_values))
        super().__init__(value, int((problem.value < 0).any(axis=1).sum()))
        self._chain = RowChain(
            problem, (value, label), [seed, 66, len(prior)], alike if prior == "uniform" else NO_PRIOR
        )
        self._kinds: JumpCandidates | None = None
        if kinds is not None:
            states = np.ascontiguousarray(kinds.state, dtype=np.int32)
            self._kinds = JumpCandidates(states, leaves_of(problem.model.walks, states), kinds.log_prior)

    def turn(self, stop: Flag = GO_ON) -> Int32Array:
        """Draw every open value and label anew, once, until a flag is raised; return the values."""
        if self._kinds is None:
            self._chain.sweep(1, 1.0, 1.0, fixed=True, stop=stop)
        else:
            self._chain.jump(self._kinds, 1.0, stop=stop)
        value, _ = self._chain.dataset
        self.look(value)
        return value


def search(
    forest: Forest,
    domain: Domain,
    rows: Rows,
    labels: IntArray,
    seed: int,
    timebox: TimeBox,
    *,
    unknown: IntArray,
    known: Sequence[int] = (),
    others: Rows | None = None,
) -> AlternativesSearch | None:
    """Begin to look for other datasets that explain what leaves say.

    Parameters
    ----------
    forest : Forest
        With `Answers`, or with counts of draws that nobody knows.
    rows : ndarray of float32, shape (n_rows, n_columns)
        All training rows.
    labels : ndarray of int64, shape (n_rows,)
    unknown : ndarray of int64, shape (n_unknown,)
        The rows that are to be rebuilt; the adversary knows the others whole.
    known : sequence of int
        Attributes that it knows in every row.
    others : ndarray of float32, shape (n_others, n_columns), or None
        Rows of the population that were not trained on.

    Returns
    -------
    AlternativesSearch or None
        None where it is not known what the file reveals: of numeric columns with bootstrap whose thresholds lie midway
        between values of rows that were drawn, of counts of a regressor's draws, and where the true rows cannot be
        behind the file.

    Raises
    ------
    NotCoveredError
        Where rows were weighted, or drawn without replacement.
    """
    gaps_only = not is_numeric(domain) or thresholds_only_mark_gaps(forest, domain, rows)
    if forest.classes is None and forest.draws.drawn and not gaps_only:
        return None
    tells_counts = not forest.observation.exact and not forest.observation.reads
    if tells_counts and (not forest.draws.drawn or forest.classes is None):
        counted = counted_by(forest, rows, labels)
        if counted is None:
            return None
        times = np.ones((forest.n_trees, len(rows)), dtype=np.int64)
        return behind_counts.search(
            counted,
            domain,
            rows,
            labels,
            times,
            seed,
            timebox,
            unknown=unknown,
            known=tuple(known),
            others=others,
        )
    if not gaps_only or forest.classes is None:
        return None
    moving = unknown
    if len(moving) > behind_counts.MOST_MOVING:
        moving = np.sort(np.random.default_rng([seed, 67]).choice(unknown, behind_counts.MOST_MOVING, replace=False))
    fixed = np.ones((len(rows), len(domain.attributes)), dtype=bool)
    fixed[moving] = False
    fixed[:, list(known)] = True
    states = states_of(forest, domain, {}, points=False)
    value = indices_of(domain, states if is_numeric(domain) else None, rows)
    fully_fixed = fixed.all(axis=1)
    problem = build_stripped(
        forest,
        domain,
        len(rows),
        np.where(fixed, value, -1).astype(np.int32),
        np.where(fully_fixed, labels, -1),
    )

    def look(stop: Stop) -> Alternatives | None:
        if problem.model.lacking(problem.model.rows_at_leaves(value, labels)):
            raise NotExplainedError
        values = StateValues(states, fixed, None, rows, forest, None)
        inside = np.empty((0, value.shape[1]), dtype=np.int64) if others is None else states.of_rows(others)
        inside = inside[(inside >= 0).all(axis=1)]
        found = row_kinds(states, value.astype(np.int64), labels, problem.model.n_classes, seed, inside)
        return _alternatives(problem, values, value, labels, moving, seed, stop, found)

    return AlternativesSearch(look, timebox)


def _alternatives(
    problem: RowProblem,
    values: StateValues,
    value: Int32Array,
    labels: IntArray,
    moving: IntArray,
    seed: int,
    stop: Stop,
    of_population: RowKinds,
) -> Alternatives | None:
    """Let chains move, and give values to what was met."""
    names: tuple[Prior, ...] = ("population", "uniform")
    chains = {name: ChainFromTruth(problem, value, labels, name, seed) for name in names}
    chains["other rows"] = ChainFromTruth(problem, value, labels, "other rows", seed, of_population)
    bits = bits_at(problem.model, value, labels, problem.value < 0)
    box = stop.timebox.first(behind_counts.MOVING_SHARE)
    n_values = sum(attribute.n_values for attribute in problem.model.domain.attributes)
    turns, cost = 0, _SECONDS_A_VALUE * len(moving) * n_values * problem.model.n_trees
    while turns < ENOUGH_SWEEPS and not stop.now(
        box if turns >= behind_counts.LEAST_SAMPLES * JUMP_EVERY else stop.by_clock
    ):
        for name, chain in chains.items():
            if name != "other rows" or turns % JUMP_EVERY == 0:
                chain.turn(stop.flag)
        turns += 1
        box.spend(len(chains) * cost)
    if stop.asked or turns < behind_counts.LEAST_SAMPLES * JUMP_EVERY:
        return None
    states, rng = values.states, np.random.default_rng([seed, 68])
    priors = {"population": fitted(states, value.astype(np.int64), seed), "uniform": uniform(states, len(value))}
    sampled = []
    for name, chain in chains.items():
        datasets, without = list[Rows](), list[Rows]()
        for sample in chain.last:
            drawn = of_population.drawn(len(value), rng) if name not in priors else priors[name].drawn(states, rng)
            drawn = np.where(values.fixed, value, drawn)
            for found, state in ((datasets, sample), (without, drawn)):
                written = values.of(state.astype(np.int64), rng, stop.by_clock)
                if written is not None:
                    found.append(written[moving])
        sampled.append(Sampled(name, tuple(datasets), tuple(without), moving))
    left = unchanged(chains.values(), moving)
    facts = facts_of(sampled, problem.domain, values.rows, bits, left, stop.timebox)
    return Alternatives(tuple(sampled), facts)
