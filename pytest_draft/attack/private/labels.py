"""The attack on forests that release labels only: rows that explain each leaf's label.

A leaf that holds more rows than another isn't more likely to have a given label, if the classes are equally
frequent: labels reveal attributes only through unequal shares of the classes and through what all trees say
of the one population that their rows come from. So the prior is that of a population with unknown shares, and whole
datasets are drawn from the posterior (`pytest_draft.attack.evidence.labels`): each row's leaf, class and values at
once, given all other rows (blocked Gibbs sampling).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.consensus import MOST_ROWS, closest_to_all, consensus
from pytest_draft.attack.evidence.labels import (
    PRIOR_ROWS,
    LabelPopulation,
    LeafLabels,
    leaves_of_rows,
    log_label,
    parts_by_size,
)
from pytest_draft.attack.redacted import redacted
from pytest_draft.attack.search import Search
from pytest_draft.compiling import compiled
from pytest_draft.domain import Domain
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True)
class LabelSamplerParameters:
    """How many datasets are drawn, and how long chains are cooled."""

    chains: int = 4
    """Chains side by side."""
    sweeps: tuple[int, int] = (20, 1_000)
    """Fewest and most sweeps of a chain at the posterior's temperature."""
    effort: float = 10.0
    """Units of work of all chains, within `sweeps`."""
    temperatures: tuple[float, float] = (0.7, 0.1)
    """First and last one of cooling for the likeliest dataset."""
    cooling_sweeps: int = 12
    """Sweeps of cooling."""
    samples: int = 32
    """Datasets of all chains that are kept, from the later half of the sweeps."""
    sampling_share: float = 0.6
    """Share of what is left of the time box that sampling may take."""
    imagined: int = 8
    """Samples that guesses are compared with."""
    part_seconds: float = 0.2
    """About so long a part of a sweep takes, between which the time is looked at."""


_PARAMETERS = LabelSamplerParameters()


def rebuild_from_labels(forest: Forest, domain: Domain, n_rows: int, search: Search) -> Reconstruction:
    """Rebuild the rows of a forest that releases labels only.

    Parameters
    ----------
    forest : Forest
        That releases labels.
    domain : Domain
        Without numeric attributes.
    n_rows : int
        Of all trees together.

    Returns
    -------
    Reconstruction
        Its rows stand tree by tree. Nothing of it is determined: every attribute is free.

    Raises
    ------
    NotCoveredError
        For numeric attributes, and where nobody can tell how the rows were dealt out to the trees.
    """
    figures = search.clock.figures
    published = LeafLabels.of(forest, domain)
    population = LabelPopulation.of(domain, published.n_classes)
    parts = parts_by_size(n_rows, forest.n_trees)
    figures.update(leaves=len(published.label), rows=n_rows)
    if search.timebox.over:
        return Reconstruction("no solution", None, None, None, None, False, None, statistics=figures)
    chains = [
        LabelChain(published, population, forest, domain, parts, [search.seed, 8, c]) for c in range(_PARAMETERS.chains)
    ]
    cost = published.sweep_seconds(parts)
    n_parts = math.ceil(cost / _PARAMETERS.part_seconds)
    box = search.timebox.part(_PARAMETERS.sampling_share)
    n_sweeps = int(np.clip(min(_PARAMETERS.effort, box.effort_left) / _PARAMETERS.chains / cost, *_PARAMETERS.sweeps))
    every = math.ceil(n_sweeps * _PARAMETERS.chains / (2 * _PARAMETERS.samples))
    samples = []
    with search.threads() as each:

        def sweep(temperature: float, timebox: TimeBox) -> None:
            each(lambda chain: chain.sweep(temperature, n_parts, timebox), chains)
            timebox.spend(_PARAMETERS.chains * cost)
            search.clock.note("log-posterior", max(chain.best_log_posterior for chain in chains))

        with search.clock("sample"):
            for number in range(n_sweeps):
                if box.over:
                    break
                sweep(1.0, box)
                if number % every == every - 1:
                    samples += [chain.sample() for chain in chains]
        samples = samples[len(samples) // 2 :] or [chain.sample() for chain in chains]
        spread = _disagreement([chain.trace for chain in chains])
        if spread is not None:
            figures["disagreement of chains"] = spread
        with search.clock("cool"):
            for temperature in np.geomspace(*_PARAMETERS.temperatures, _PARAMETERS.cooling_sweeps).tolist():
                if search.timebox.over:
                    break
                sweep(temperature, search.timebox)
    best = max(chains, key=lambda chain: chain.best_log_posterior)
    with search.clock("agree"):
        guess = _agreed([domain.encoded(value) for value, _ in samples], parts, domain, search.timebox)
    value, label = best.best
    several = np.array([attribute.n_values > 1 for attribute in domain.attributes])
    return Reconstruction(
        status="likeliest",
        rows=guess,
        consistent=domain.encoded(value),
        labels=label,
        cells=None,
        free=np.tile(several, (n_rows, 1)),
        ordered=False,
        residual=None,
        cut_short=search.timebox.over,
        log_posterior=best.best_log_posterior,
        disagreement=spread,
        statistics=figures,
    )


def _agreed(samples: Sequence[Rows], parts: IntArray, domain: Domain, timebox: TimeBox) -> Rows:
    """Return the guess with the least expected error: a sample, or a consensus, within each tree's rows or of all."""
    if len(parts) > MOST_ROWS:
        return samples[0]
    imagined, others = samples[: len(samples) // 2][: _PARAMETERS.imagined], samples[len(samples) // 2 :]
    agreed = [consensus(others[0], others[1:], group, domain, timebox) for group in (parts, np.zeros_like(parts))]
    return closest_to_all([*agreed, others[0]], imagined, domain, timebox)


def _disagreement(traces: Sequence[Sequence[float]]) -> float | None:
    """Return by how much chains differ in their log-posterior: Gelman and Rubin's R-hat, 1 if alike; None for few."""
    length = min(len(trace) for trace in traces)
    kept = np.array([trace[length // 2 : length] for trace in traces])
    if kept.shape[1] < 2 or not kept.var(axis=1).all():
        return None
    return float(np.sqrt(1 + kept.mean(axis=1).var(ddof=1) / kept.var(axis=1, ddof=1).mean()))


@redacted
class _Urns(NamedTuple):
    """Prior plus rows, and what a temperature makes of them."""

    of_class: FloatArray
    """Shape (n_classes,)."""
    held: FloatArray
    """Shape (n_classes, n_attributes, most_values)."""
    power: FloatArray
    """Shape of `held`. To the power of `heat`."""
    total: FloatArray
    """Shape (n_classes, n_attributes). Sums of `power`."""
    heat: float
    """One over the temperature: 1 draws from the posterior."""


@compiled
def _sweep(  # noqa: PLR0912
    order: IntArray,
    level: FloatArray,
    bounds: IntArray,
    published: LeafLabels,
    urns: _Urns,
    leaf: IntArray,
    label: IntArray,
    value: IntArray,
) -> None:
    """Draw some rows of a dataset anew, each given all others (heat bath).

    Parameters
    ----------
    order : ndarray of int64, shape (n_drawn,)
        The rows.
    level : ndarray of float64, shape (n_drawn, 1 + n_attributes)
        Random numbers between 0 and 1.
    bounds : ndarray of int64, shape (n_rows, 2)
        The leaves of each row's tree.
    urns : _Urns
        Changed.
    leaf, label, value : ndarray of int64, shapes (n_rows,), (n_rows,) and (n_rows, n_attributes)
        The dataset; is changed.
    """
    n_leaves = len(published.possible)
    n_classes, n_attributes, _ = urns.held.shape
    table = np.zeros((n_leaves, n_classes), dtype=np.int64)
    for row in range(len(leaf)):
        table[leaf[row], label[row]] += 1
    gain = np.empty((n_leaves, n_classes))
    for v in range(n_leaves):
        _refresh(v, table, published, gain)
    base = np.empty(n_classes)
    weight = np.empty((int((bounds[:, 1] - bounds[:, 0]).max()), n_classes))
    for i in range(len(order)):
        row = order[i]
        table[leaf[row], label[row]] -= 1
        _refresh(leaf[row], table, published, gain)
        _count(-1.0, label[row], value[row], urns)
        low, high = bounds[row]
        for c in range(n_classes):
            # The chance of a class, and of its attributes anywhere; at temperature 1 the rest adds up to 0.
            base[c] = urns.heat * (math.log(urns.of_class[c]) - n_attributes * math.log(urns.held[c, 0].sum()))
            for a in range(n_attributes):
                base[c] += math.log(urns.total[c, a])
        top = -np.inf
        for v in range(low, high):
            for c in range(n_classes):
                weight[v - low, c] = -np.inf
                if published.possible[v]:
                    mass = base[c] + urns.heat * gain[v, c]
                    for r in range(published.first[v], published.first[v + 1]):
                        a = published.attribute[r]
                        mass += math.log(_inside(urns.power[c, a], published.allowed, r) / urns.total[c, a])
                    weight[v - low, c] = mass
                    top = max(top, mass)
        total = 0.0
        for v in range(high - low):
            for c in range(n_classes):
                weight[v, c] = math.exp(weight[v, c] - top)
                total += weight[v, c]
        left = level[i, 0] * total
        new, chosen = -1, 0
        for v in range(high - low):
            for c in range(n_classes):
                if left >= 0 and weight[v, c] > 0:
                    left -= weight[v, c]
                    new, chosen = low + v, c
        _draw_values(level[i], urns.power[chosen], published, new, value[row])
        leaf[row], label[row] = new, chosen
        table[new, chosen] += 1
        _refresh(new, table, published, gain)
        _count(1.0, chosen, value[row], urns)


@compiled
def _inside(power: FloatArray, allowed: BoolArray, condition: int) -> float:
    """Return what the values have that a condition allows; all of them where there is none (-1)."""
    total = 0.0
    for k in range(len(power)):
        if condition < 0 or allowed[condition, k]:
            total += power[k]
    return total


@compiled
def _draw_values(level: FloatArray, power: FloatArray, published: LeafLabels, leaf: int, value: IntArray) -> None:
    """Draw a row's values at a leaf, given its class; the first random number is not for it."""
    n_attributes, most = power.shape
    condition = np.full(n_attributes, -1)
    for r in range(published.first[leaf], published.first[leaf + 1]):
        condition[published.attribute[r]] = r
    for a in range(n_attributes):
        r = condition[a]
        left = level[1 + a] * _inside(power[a], published.allowed, r)
        for k in range(most):
            if left >= 0 and power[a, k] > 0 and (r < 0 or published.allowed[r, k]):
                left -= power[a, k]
                value[a] = k


@compiled
def _count(number: float, label: int, value: IntArray, urns: _Urns) -> None:
    """Add a row to the urns, or take it out."""
    urns.of_class[label] += number
    for a in range(len(value)):
        k = value[a]
        urns.held[label, a, k] += number
        urns.power[label, a, k] = urns.held[label, a, k] ** urns.heat
        urns.total[label, a] = urns.power[label, a].sum()


@compiled
def _refresh(leaf: int, table: IntArray, published: LeafLabels, gain: FloatArray) -> None:
    """Bring up to date by how much one more row of each class raises the log-probability of a leaf's label."""
    rows, label, chance = table[leaf], published.label[leaf], np.empty(table.shape[1])
    without = log_label(rows, label, published.mechanism, chance)
    for c in range(len(rows)):
        rows[c] += 1
        gain[leaf, c] = log_label(rows, label, published.mechanism, chance) - without
        rows[c] -= 1


class LabelChain:
    """A whole dataset that sweeps change, and the likeliest one that was met."""

    def __init__(
        self,
        published: LeafLabels,
        population: LabelPopulation,
        forest: Forest,
        domain: Domain,
        parts: IntArray,
        seed: Sequence[int],
    ) -> None:
        self._published, self._population = published, population
        self._rng = np.random.default_rng(seed)
        n_rows = len(parts)
        share = population.prior / PRIOR_ROWS
        self.value = np.stack([self._rng.choice(len(p), n_rows, p=p / p.sum()) for p in share], axis=1).astype(np.int64)
        self.label = self._rng.integers(published.n_classes, size=n_rows)
        self._leaf = leaves_of_rows(forest, published.start, domain.encoded(self.value), parts)
        self._bounds = np.stack([published.start[parts], published.start[parts + 1]], axis=1)
        self.trace: list[float] = []
        self.best, self.best_log_posterior = self.sample(), self._log_posterior()

    def sweep(self, temperature: float, n_parts: int, timebox: TimeBox) -> None:
        """Draw each row anew; fewer when the time is out in between."""
        published, n_attributes = self._published, self.value.shape[1]
        of_class, held = self._population.urns(self.value, self.label)
        power = held ** (1 / temperature)
        urns = _Urns(of_class, held, power, power.sum(axis=2), 1 / temperature)
        order = self._rng.permutation(len(self.value))
        for part in np.array_split(order, n_parts):
            if timebox.over:
                return
            level = self._rng.random((len(part), 1 + n_attributes))
            _sweep(part, level, self._bounds, published, urns, self._leaf, self.label, self.value)
        self.trace.append(self._log_posterior())
        if self.trace[-1] > self.best_log_posterior:
            self.best, self.best_log_posterior = self.sample(), self.trace[-1]

    def sample(self) -> tuple[IntArray, IntArray]:
        """Return the dataset as it is: values and classes."""
        return self.value.copy(), self.label.copy()

    def _log_posterior(self) -> float:
        prior = self._population.log_probability(self.value, self.label)
        return prior + self._published.log_likelihood(self._leaf, self.label)
