"""Other datasets that explain leaves without counts: in go a forest and true rows, out comes a `Search`.

Without bootstrap the true rows tell the counts that were removed, and datasets that explain these, too, are looked for:
whoever has the file knows less, and gets no closer. With it a chain of the posterior of what the leaves say begins at
the truth; before it has forgotten that, it lies nearer to it than it should. Both are on the safe side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pytest_draft.arrays import BoolArray, Int32Array, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.compiled_trees import leaves_of, tests_of
from pytest_draft.attack.descent import descend
from pytest_draft.attack.fractions.likelihood import Model
from pytest_draft.attack.fractions.sweeps import cuts_of, sweep
from pytest_draft.attack.numeric.states import States, states_of
from pytest_draft.attack.private.sweeps import Mixture, SampledRows
from pytest_draft.domain import Domain
from pytest_draft.evaluate.ambiguity import behind_counts
from pytest_draft.evaluate.ambiguity.alternatives import Alternatives, NotExplainedError, Search, Stop
from pytest_draft.evaluate.ambiguity.bits_of_outputs import bits_at
from pytest_draft.evaluate.ambiguity.population import fitted
from pytest_draft.evaluate.ambiguity.sampled import Sampled, facts_of
from pytest_draft.facts.ambiguity import Prior
from pytest_draft.timebox import TimeBox

ENOUGH_SWEEPS = 300
"""So often each value is drawn anew where a chain is left off, as in `behind_counts`."""

KEPT = 8
"""Samples that are kept; where there are twice as many, every second one goes."""

COMPONENTS = 8
"""Of the mixture that rows are drawn from where the population is known."""


class Chain:
    """A dataset on its way from the truth, through what the leaves say.

    Parameters
    ----------
    model : Model
    value : ndarray of int32, shape (n_rows, n_attributes)
        The truth's, as indices.
    label : ndarray of int64, shape (n_rows,)
    open_value : ndarray of bool, shape (n_rows, n_attributes)
        What is drawn anew; the label of a row is, where any of its values is.
    prior : {"population", "uniform"}
        Of each row: a mixture that all other rows make, or all values alike.
    seed : int

    Attributes
    ----------
    samples : list of ndarray of int32, shape (n_rows, n_attributes)
    changed : ndarray of bool, shape (n_rows,)
        Rows whose values some draw has changed.
    """

    def __init__(
        self, model: Model, value: Int32Array, label: IntArray, open_value: BoolArray, prior: Prior, seed: int
    ) -> None:
        self._model, self._truth = model, value
        self._rng = np.random.default_rng([seed, 66, len(prior)])
        sizes = np.array([attribute.n_values for attribute in model.domain.attributes])
        self._offset = np.concatenate([[0], np.cumsum(sizes)])
        self._components = COMPONENTS if prior == "population" else 1
        n_values, everyone = int(self._offset[-1]), np.ones(len(value), dtype=bool)
        self._rows = SampledRows(
            value.copy(),
            label.astype(np.int64).copy(),
            self._rng.integers(0, self._components, len(value)),
            everyone,
            open_value,
            np.asarray(open_value.any(axis=1)),
            ~everyone,
            leaves_of(model.walks, value),
            tests_of(model.walks, value),
        )
        self._counts = model.counts(value, label)
        self._mixture = self._mixed(sizes)
        shape = (0, 0) if prior == "population" else (model.n_classes, n_values)
        self._log_prior = np.zeros(shape)
        self._cut = cuts_of(model.walks, model.domain)
        self._one_hot = np.array([attribute.kind == "one-hot" for attribute in model.domain.attributes])
        self._sweeps, self._keep_every = 0, 1
        self.samples: list[Int32Array] = []
        self.changed: BoolArray = np.zeros(len(value), dtype=bool)

    @property
    def dataset(self) -> Int32Array:
        """The values as they are, shape (n_rows, n_attributes)."""
        return self._rows.value

    def turn(self) -> None:
        """Draw every open value and label anew, once, and keep what came of it."""
        n_rows, model = len(self._truth), self._model
        sweep(
            model.walks, self._cut, self._one_hot, model.evidence, self._counts, self._rows, self._mixture,
            self._log_prior, n_rows, n_rows, 1, 1.0, 1.0, self._rng,
        )  # fmt: skip
        self.changed |= (self._rows.value != self._truth).any(axis=1)
        self._sweeps += 1
        if self._sweeps % self._keep_every == 0:
            self.samples.append(self._rows.value.copy())
            if len(self.samples) >= 2 * KEPT:
                self.samples, self._keep_every = self.samples[1::2], 2 * self._keep_every

    def _mixed(self, sizes: IntArray) -> Mixture:
        rows, offset = self._rows, self._offset
        labels = np.zeros((self._components, self._model.n_classes), dtype=np.int64)
        np.add.at(labels, (rows.component, rows.label), 1)
        values = np.zeros((self._components, int(offset[-1])), dtype=np.int64)
        np.add.at(values, (rows.component[:, None], rows.value + offset[:-1]), 1)
        evenly = 1.0 / sizes
        return Mixture(labels.sum(axis=1), labels, values, offset, np.repeat(evenly, sizes), evenly * sizes, 1.0)


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
) -> Search | None:
    """Begin to look for other datasets that explain what leaves say.

    Parameters
    ----------
    forest : Forest
        With `Forest.outputs`.
    domain : Domain
    rows : ndarray of float32, shape (n_rows, n_columns)
        All training rows.
    labels : ndarray of int64, shape (n_rows,)
    seed : int
    timebox : TimeBox
    unknown : ndarray of int64, shape (n_unknown,)
        The rows that are to be rebuilt; the adversary knows the others whole.
    known : sequence of int
        Attributes that it knows in every row.

    Returns
    -------
    Search or None
        None where it is not known what the file tells: of numeric columns with bootstrap, whose thresholds lie midway
        between values of rows that were drawn.

    Raises
    ------
    NotCoveredError
        Where rows were weighted, or drawn without replacement.
    """
    if not forest.bootstrap:
        counted = counted_by(forest, rows, labels)
        if counted is None:
            return None
        times = np.ones((forest.n_trees, len(rows)), dtype=np.int64)
        return behind_counts.search(
            counted, domain, rows, labels, times, seed, timebox, unknown=unknown, known=tuple(known), prove=False
        )
    if any(attribute.kind == "numeric" for attribute in domain.attributes):
        return None
    model = Model.of(forest, domain, len(rows))

    def look(stop: Stop) -> Alternatives | None:
        value = domain.indices(rows).astype(np.int32)
        if model.lacking(model.counts(value, labels)):
            raise NotExplainedError
        return _alternatives(
            model, states_of(forest, domain, {}, points=False), rows, labels, seed, unknown, known, stop
        )

    return Search(look, timebox)


def counted_by(forest: Forest, rows: Rows, labels: IntArray) -> Forest | None:
    """Return a forest with the counts that the true rows have, each seen once by every tree.

    Parameters
    ----------
    forest : Forest
        Without bootstrap.
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)

    Returns
    -------
    Forest or None
        None where they do not explain what the leaves say.
    """
    outputs = forest.outputs
    if outputs is None:
        raise ValueError("this forest holds counts")
    columns, trees = np.ascontiguousarray(rows.T), []
    for tree in forest.trees:
        leaf = descend(tree, columns)
        counts = np.zeros((tree.n_nodes, forest.n_classes))
        np.add.at(counts, (leaf, labels), 1.0)
        leaves = counts[tree.leaves]
        if not leaves.sum(axis=1).all():
            return None
        shares, said = leaves / leaves.sum(axis=1, keepdims=True), tree.value[tree.leaves]
        if outputs.kind == "labels":
            explained = leaves[np.arange(len(leaves)), said.argmax(axis=1)] >= leaves.max(axis=1)
        else:
            explained = np.abs(shares - said).max(axis=1) <= outputs.tolerance + 1e-9
        if not explained.all():
            return None
        for node in np.flatnonzero(tree.left >= 0)[::-1]:
            counts[node] = counts[tree.left[node]] + counts[tree.right[node]]
        weight = counts.sum(axis=1)
        trees.append(replace(tree, value=counts, weight=weight, n_distinct=weight.astype(np.int64)))
    return replace(
        forest, trees=tuple(trees), values="totals", outputs=None, n_samples=len(rows), n_draws=None, sample_weight=None
    )


def _alternatives(
    model: Model,
    states: States,
    rows: Rows,
    labels: IntArray,
    seed: int,
    unknown: IntArray,
    known: Sequence[int],
    stop: Stop,
) -> Alternatives | None:
    """Let chains move, and give values to what was met."""
    value = model.domain.indices(rows).astype(np.int32)
    moving = unknown
    if len(moving) > behind_counts.MOST_MOVING:
        moving = np.sort(np.random.default_rng([seed, 67]).choice(unknown, behind_counts.MOST_MOVING, replace=False))
    open_value = np.zeros(value.shape, dtype=bool)
    open_value[moving] = True
    open_value[:, list(known)] = False
    names: tuple[Prior, ...] = ("population", "uniform")
    chains = {name: Chain(model, value, labels, open_value, name, seed) for name in names}
    bits = bits_at(model, value, labels, open_value)
    box = stop.timebox.first(behind_counts.MOVING_SHARE)
    turns = 0
    while turns < ENOUGH_SWEEPS and not stop.now(box if turns >= behind_counts.LEAST_SAMPLES else stop.by_clock):
        for chain in chains.values():
            chain.turn()
        turns += 1
        box.spend(len(chains) * len(moving) * model.n_trees * 1e-6)
    if stop.asked or turns < behind_counts.LEAST_SAMPLES:
        return None
    population = fitted(states, states.of_rows(rows).astype(np.int64), seed)
    rng = np.random.default_rng([seed, 68])
    sizes = np.array([attribute.n_values for attribute in model.domain.attributes])
    sampled = []
    for name, chain in chains.items():
        datasets, without = list[Rows](), list[Rows]()
        for sample in chain.samples[: -KEPT - 1 : -1]:
            datasets.append(model.domain.encoded(sample)[moving])
            drawn = population.drawn(states, rng) if name == "population" else rng.integers(0, sizes, value.shape)
            without.append(model.domain.encoded(np.where(open_value, drawn, value))[moving])
        sampled.append(Sampled(name, tuple(datasets), tuple(without), moving))
    changed = np.any([chain.changed for chain in chains.values()], axis=0)[moving]
    return Alternatives(
        tuple(sampled),
        facts_of(sampled, model.domain, rows, bits, float(1 - changed.mean()), stop.timebox),
    )
