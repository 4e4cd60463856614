"""Samples whole datasets behind released labels, sweep by sweep.

Each row's leaf, class and values are drawn anew at once, given all other rows (blocked Gibbs sampling). Compiled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numba import njit

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.private.leaf_labels import (
    PRIOR_ROWS,
    LabelPopulation,
    LeafLabels,
    gauss,
    leaves_of_rows,
    log_label,
)
from pytest_draft.domain import Domain
from pytest_draft.timebox import TimeBox


@njit(cache=True, nogil=True)
def _sweep(  # noqa: PLR0912
    order: IntArray,
    level: FloatArray,
    temperature: float,
    bounds: IntArray,
    possible: BoolArray,
    first: IntArray,
    attribute: IntArray,
    allowed: BoolArray,
    published: IntArray,
    epsilon: float,
    points: FloatArray,
    weights: FloatArray,
    of_class: FloatArray,
    urn: FloatArray,
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
    temperature : float
        1 draws from the posterior.
    bounds : ndarray of int64, shape (n_rows, 2)
        The leaves of each row's tree.
    possible, first, attribute, allowed, published, epsilon
        As in `LeafLabels`; `published` are its labels.
    points, weights : ndarray of float64
        Of the integral.
    of_class, urn : ndarray of float64, shapes (n_classes,) and (n_classes, n_attributes, most_values)
        Prior plus rows; are changed.
    leaf, label, value : ndarray of int64, shapes (n_rows,), (n_rows,) and (n_rows, n_attributes)
        The dataset; is changed.
    """
    n_leaves = len(possible)
    n_classes, n_attributes, most = urn.shape
    table = np.zeros((n_leaves, n_classes), dtype=np.int64)
    for row in range(len(leaf)):
        table[leaf[row], label[row]] += 1
    chance, gain = np.empty(n_classes), np.empty((n_leaves, n_classes))
    for v in range(n_leaves):
        _refresh(v, table, published, epsilon, points, weights, chance, gain)
    heat = 1.0 / temperature
    power, power_sum = np.empty(urn.shape), np.empty((n_classes, n_attributes))
    for c in range(n_classes):
        for a in range(n_attributes):
            for k in range(most):
                power[c, a, k] = urn[c, a, k] ** heat
            power_sum[c, a] = power[c, a].sum()
    base = np.empty(n_classes)
    weight = np.empty((int((bounds[:, 1] - bounds[:, 0]).max()), n_classes))
    for i in range(len(order)):
        row = order[i]
        old, was = leaf[row], label[row]
        table[old, was] -= 1
        _refresh(old, table, published, epsilon, points, weights, chance, gain)
        _count(-1.0, was, value[row], of_class, urn, power, power_sum, heat)
        low, high = bounds[row]
        top = -np.inf
        for c in range(n_classes):
            # The chance of a class, and of its attributes anywhere; at temperature 1 the rest adds up to 0.
            base[c] = heat * (math.log(of_class[c]) - n_attributes * math.log(urn[c, 0].sum()))
            for a in range(n_attributes):
                base[c] += math.log(power_sum[c, a])
        for v in range(low, high):
            for c in range(n_classes):
                weight[v - low, c] = -np.inf
                if possible[v]:
                    mass = base[c] + heat * gain[v, c]
                    for r in range(first[v], first[v + 1]):
                        a, inside = attribute[r], 0.0
                        for k in range(most):
                            if allowed[r, k]:
                                inside += power[c, a, k]
                        mass += math.log(inside / power_sum[c, a])
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
        _draw_values(level[i], power[chosen], attribute, allowed, first[new], first[new + 1], value[row])
        leaf[row], label[row] = new, chosen
        table[new, chosen] += 1
        _refresh(new, table, published, epsilon, points, weights, chance, gain)
        _count(1.0, chosen, value[row], of_class, urn, power, power_sum, heat)


@njit(cache=True, nogil=True)
def _draw_values(
    level: FloatArray,
    power: FloatArray,
    attribute: IntArray,
    allowed: BoolArray,
    first: int,
    last: int,
    value: IntArray,
) -> None:
    """Draw a row's values at a leaf, given its class; the first random number is not for it."""
    n_attributes, most = power.shape
    condition = np.full(n_attributes, -1)
    for r in range(first, last):
        condition[attribute[r]] = r
    for a in range(n_attributes):
        r = condition[a]
        inside = 0.0
        for k in range(most):
            if r < 0 or allowed[r, k]:
                inside += power[a, k]
        left = level[1 + a] * inside
        for k in range(most):
            if left >= 0 and power[a, k] > 0 and (r < 0 or allowed[r, k]):
                left -= power[a, k]
                value[a] = k


@njit(cache=True, nogil=True)
def _count(
    number: float,
    label: int,
    value: IntArray,
    of_class: FloatArray,
    urn: FloatArray,
    power: FloatArray,
    power_sum: FloatArray,
    heat: float,
) -> None:
    """Add a row to the urns, or take it out, and bring their tempered shares up to date."""
    of_class[label] += number
    for a in range(len(value)):
        k = value[a]
        urn[label, a, k] += number
        power[label, a, k] = urn[label, a, k] ** heat
        power_sum[label, a] = power[label, a].sum()


@njit(cache=True, nogil=True)
def _refresh(
    leaf: int,
    table: IntArray,
    published: IntArray,
    epsilon: float,
    points: FloatArray,
    weights: FloatArray,
    chance: FloatArray,
    gain: FloatArray,
) -> None:
    """Bring up to date by how much one more row of each class raises the log-probability of a leaf's label."""
    rows, label = table[leaf], published[leaf]
    without = log_label(rows, label, epsilon, points, weights, chance)
    for c in range(len(rows)):
        rows[c] += 1
        gain[leaf, c] = log_label(rows, label, epsilon, points, weights, chance) - without
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
        points, weights = gauss(published.n_classes)
        of_class, urn = self._population.urns(self.value, self.label)
        order = self._rng.permutation(len(self.value))
        for part in np.array_split(order, n_parts):
            if timebox.over:
                return
            _sweep(
                part,
                self._rng.random((len(part), 1 + n_attributes)),
                temperature,
                self._bounds,
                published.possible,
                published.first,
                published.attribute,
                published.allowed,
                published.label,
                published.epsilon,
                points,
                weights,
                of_class,
                urn,
                self._leaf,
                self.label,
                self.value,
            )
        self.trace.append(self._log_posterior())
        if self.trace[-1] > self.best_log_posterior:
            self.best, self.best_log_posterior = self.sample(), self.trace[-1]

    def sample(self) -> tuple[IntArray, IntArray]:
        """Return the dataset as it is: values and classes."""
        return self.value.copy(), self.label.copy()

    def _log_posterior(self) -> float:
        prior = self._population.log_probability(self.value, self.label)
        return prior + self._published.log_likelihood(self._leaf, self.label)
