"""Forests that release labels only: in go each leaf's label and a domain, out come rows that explain them.

diffprivlib's ``RandomForestClassifier`` trains each tree on rows of its own, on a random structure that never sees the
data, and releases for each leaf one label that permute-and-flip (McKenna and Sheldon, NeurIPS 2020) chooses by the
leaf's class counts; an empty leaf gets any label with the same chance. With scores ``u``, sensitivity 1 and
``p_s = exp(-epsilon (max u - u_s))`` label ``r`` is chosen with probability

    p_r * integral over z from 0 to 1 of  prod_{s != r} (1 - p_s z)

(candidates arrive at uniform times; each before ``r`` was turned down), a polynomial that Gauss's rule integrates
exactly. A leaf that holds more rows than another isn't more likely to have a given label, if the classes are equally
frequent: what labels tell of attributes they tell through unequal shares of the classes and through what all trees say
of the one population that their rows come from. So the prior is that of a population with unknown shares, and whole
datasets are drawn from the posterior row by row, each row's leaf, class and values at once (blocked Gibbs sampling).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numba import njit
from scipy.special import gammaln

from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.attack.consensus import MOST_ROWS, closest_to_all, consensus
from pytest_draft.attack.filling import INDICATOR_ODDS
from pytest_draft.attack.problem import leaf_positions
from pytest_draft.attack.reconstruction import Reconstruction
from pytest_draft.attack.search import Search
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError
from pytest_draft.facts.privacy import Privacy
from pytest_draft.timebox import TimeBox

_PRIOR_ROWS = 10.0
_CHAINS = 4
_SWEEPS = (20, 1_000)
_EFFORT = 10.0
_TEMPERATURES = (0.7, 0.1)
_COOLING_SWEEPS = 12
_SAMPLES = 32
_SAMPLING_SHARE = 0.6
_IMAGINED = 8
_PART_SECONDS = 0.2
_SECONDS_PER_TERM = 1.5e-9  # measured: one value of one condition of one leaf
_SECONDS_PER_LEAF = 6e-8  # measured: one class at one leaf


def label_log_probability(scores: IntArray, label: IntArray, epsilon: float) -> FloatArray:
    """Return how likely permute-and-flip is to choose labels (sensitivity 1, monotonic scores), as logs.

    Parameters
    ----------
    scores : ndarray of int64, shape (n_leaves, n_classes)
    label : ndarray of int64, shape (n_leaves,)
    epsilon : float

    Returns
    -------
    ndarray of float64, shape (n_leaves,)
    """
    value: FloatArray = _log_labels(np.ascontiguousarray(scores), label, epsilon, *_gauss(scores.shape[1]))
    return value


def _gauss(n_classes: int) -> tuple[FloatArray, FloatArray]:
    """Return points and weights that integrate polynomials of degree ``n_classes - 1`` over [0, 1] exactly."""
    points, weights = np.polynomial.legendre.leggauss((n_classes + 1) // 2)
    return (points + 1) / 2, weights / 2


@njit(cache=True, nogil=True)
def _log_label(
    rows: IntArray,
    label: int,
    epsilon: float,
    points: FloatArray,
    weights: FloatArray,
    chance: FloatArray,
) -> float:
    """Return the log-probability of one leaf's label; `chance` is overwritten."""
    top = rows.max()
    for s in range(len(rows)):
        chance[s] = math.exp(-epsilon * (top - rows[s]))
    total = 0.0
    for q in range(len(points)):
        product = weights[q]
        for s in range(len(chance)):
            if s != label:
                product *= 1.0 - chance[s] * points[q]
        total += product
    return float(math.log(total) - epsilon * (top - rows[label]))


@njit(cache=True, nogil=True)
def _log_labels(
    table: IntArray, label: IntArray, epsilon: float, points: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return the log-probability of each leaf's label."""
    value, chance = np.empty(len(table)), np.empty(table.shape[1])
    for v in range(len(table)):
        value[v] = _log_label(table[v], label[v], epsilon, points, weights, chance)
    return value


def parts_by_size(n_rows: int, n_trees: int) -> IntArray:
    """Return the tree of each place in diffprivlib's order of the rows, ascending, shape (n_rows,)."""
    return (np.arange(n_rows) // (n_rows / n_trees)).astype(np.int64)


def parts_of(forest: Forest, n_rows: int) -> IntArray | None:
    """Return the tree that each training row went to.

    Parameters
    ----------
    forest : Forest
    n_rows : int

    Returns
    -------
    ndarray of int64, shape (n_rows,), or None
        None where the rows were shuffled before they were dealt out.
    """
    return None if forest.parameters.get("shuffle") else parts_by_size(n_rows, forest.n_trees)


def reveals(forest: Forest) -> tuple[str, ...]:
    """Say what a file with labels only reveals, in aggregates.

    Parameters
    ----------
    forest : Forest
        That releases labels.

    Returns
    -------
    tuple of str
        One sentence each.
    """
    privacy = _privacy_of(forest)
    n_leaves = sum(len(tree.leaves) for tree in forest.trees)
    return (
        f"{n_leaves:,} leaves in {forest.n_trees:,} trees hold one label each and no counts: "
        f"at most {math.floor(n_leaves * math.log2(forest.n_classes)):,} bits about the training data",
        f"each label was chosen by permute-and-flip with an epsilon of {privacy.epsilon:g}; "
        "an empty leaf has a random one, and nothing says which leaves are empty",
        f"each tree saw about one in {forest.n_trees:,} of the rows, and each row went to one tree",
        *privacy.broken_by,
    )


def _privacy_of(forest: Forest) -> Privacy:
    if forest.privacy is None or forest.privacy.counts or forest.privacy.exact:
        raise ValueError("this forest does not release labels")
    return forest.privacy


@dataclass(frozen=True, eq=False, repr=False)
class _Labels:
    """Each leaf's label and box, all trees in one list.

    Attributes
    ----------
    label : ndarray of int64, shape (n_leaves,)
    start : ndarray of int64, shape (n_trees + 1,)
        First leaf of each tree.
    possible : ndarray of bool, shape (n_leaves,)
        Whether the domain has a vector there.
    first : ndarray of int64, shape (n_leaves + 1,)
        First condition of each leaf.
    attribute : ndarray of int64, shape (n_conditions,)
    allowed : ndarray of bool, shape (n_conditions, most_values)
        Values of the attribute that lead to the leaf. Attributes without a condition are open.
    n_classes : int
    epsilon : float
    """

    label: IntArray
    start: IntArray
    possible: BoolArray
    first: IntArray
    attribute: IntArray
    allowed: BoolArray
    n_classes: int
    epsilon: float

    @classmethod
    def of(cls, forest: Forest, domain: Domain) -> _Labels:
        privacy = _privacy_of(forest)
        if forest.parameters.get("warm_start"):
            raise NotCoveredError("with warm_start nobody can tell which rows each tree saw")
        n_values = [attribute.n_values for attribute in domain.attributes]
        label, first, attributes, masks, possible, start = [], [0], [], [], [], [0]
        for t, tree in enumerate(forest.trees):
            label.append(forest.released(t).argmax(axis=1))
            for box in _boxes(tree, domain):
                for attribute, mask in box.items():
                    attributes.append(attribute)
                    masks.append(np.pad(mask, (0, max(n_values) - len(mask))))
                first.append(len(attributes))
                possible.append(all(mask.any() for mask in box.values()))
            start.append(len(possible))
        return cls(
            np.concatenate(label),
            np.array(start),
            np.array(possible),
            np.array(first),
            np.array(attributes, dtype=np.int64),
            np.array(masks, dtype=np.bool_).reshape(len(masks), max(n_values)),
            forest.n_classes,
            privacy.epsilon,
        )

    def sweep_seconds(self, parts: IntArray) -> float:
        """Return about how long it takes to draw each row anew, given its tree."""
        conditions = np.diff(self.first[self.start]) * self.allowed.shape[1]
        leaves = np.diff(self.start)
        of_tree = self.n_classes * (_SECONDS_PER_TERM * conditions + _SECONDS_PER_LEAF * leaves)
        return float(of_tree[parts].sum())

    def log_likelihood(self, leaf: IntArray, label: IntArray) -> float:
        """Return the log-probability of all labels, given each row's leaf and class."""
        n_classes = self.n_classes
        table = np.bincount(leaf * n_classes + label, minlength=len(self.label) * n_classes).reshape(-1, n_classes)
        return float(_log_labels(table, self.label, self.epsilon, *_gauss(n_classes)).sum())


def _boxes(tree: Tree, domain: Domain) -> list[dict[int, BoolArray]]:
    """Return, for each leaf, the values that each tested attribute can have there."""
    encoded = [attribute.encoded(np.arange(attribute.n_values)) for attribute in domain.attributes]
    box: dict[int, dict[int, BoolArray]] = {0: {}}
    for node in range(tree.n_nodes):  # a child's index is above its parent's
        if tree.left[node] < 0:
            continue
        here, column = box.pop(node), int(tree.feature[node])
        a, place = int(domain.attribute_of_column[column]), int(domain.place_of_column[column])
        below = encoded[a][:, place] <= tree.threshold[node]
        held = here.get(a, np.ones(len(below), dtype=np.bool_))
        box[int(tree.left[node])] = {**here, a: held & below}
        box[int(tree.right[node])] = {**here, a: held & ~below}
    return [box[leaf] for leaf in tree.leaves.tolist()]


@dataclass(frozen=True, eq=False, repr=False)
class _Population:
    """Rows of one population whose shares nobody knows: of each class, and of each attribute's values in each class.

    Given the class the attributes are independent. All shares have Dirichlet priors, and are integrated out.

    Attributes
    ----------
    prior : ndarray of float64, shape (n_attributes, most_values)
        Rows that each value is worth beforehand: `_PRIOR_ROWS` for an attribute, spread evenly, in binary columns by
        `INDICATOR_ODDS`; 0 for values that an attribute doesn't have.
    class_prior : ndarray of float64, shape (n_classes,)
        One row for each class.
    """

    prior: FloatArray
    class_prior: FloatArray

    @classmethod
    def of(cls, domain: Domain, n_classes: int) -> _Population:
        n_values = [attribute.n_values for attribute in domain.attributes]
        prior = np.zeros((len(n_values), max(n_values)))
        for a, attribute in enumerate(domain.attributes):
            odds = np.array([1.0, INDICATOR_ODDS]) if attribute.kind == "binary" else np.ones(n_values[a])
            prior[a, : n_values[a]] = _PRIOR_ROWS * odds / odds.sum()
        return cls(prior, np.ones(n_classes))

    def urns(self, value: IntArray, label: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return prior plus rows: of each class, and of each class, attribute and value."""
        n_classes, (n_attributes, most) = len(self.class_prior), self.prior.shape
        place = (label[:, None] * n_attributes + np.arange(n_attributes)) * most + value
        rows = np.bincount(place.ravel(), minlength=n_classes * n_attributes * most)
        of_class = self.class_prior + np.bincount(label, minlength=n_classes)
        return of_class, self.prior + rows.reshape(n_classes, n_attributes, most)

    def log_probability(self, value: IntArray, label: IntArray) -> float:
        """Return the log-probability of rows in their order, shares integrated out."""
        of_class, urn = self.urns(value, label)
        return _log_urn(of_class, self.class_prior) + _log_urn(urn, np.broadcast_to(self.prior, urn.shape))


def _log_urn(urn: FloatArray, prior: FloatArray) -> float:
    """Return the log-probability of rows drawn from Polya urns along the last axis."""
    held = prior > 0
    each = gammaln(urn[held]).sum() - gammaln(prior[held]).sum()
    return float(each + (gammaln(prior.sum(axis=-1)) - gammaln(urn.sum(axis=-1))).sum())


def _leaf_of(forest: Forest, start: IntArray, rows: Rows, parts: IntArray) -> IntArray:
    """Return the leaf of each row in its own tree, among the leaves of all trees."""
    leaf = np.empty(len(rows), dtype=np.int64)
    for t, tree in enumerate(forest.trees):
        mine = np.flatnonzero(parts == t)
        leaf[mine] = start[t] + leaf_positions(tree, np.ascontiguousarray(rows[mine].T))
    return leaf


def labels_log_posterior(forest: Forest, domain: Domain, rows: Rows, labels: IntArray, parts: IntArray | None) -> float:
    """Return what `Reconstruction.log_posterior` would be of some dataset.

    Parameters
    ----------
    forest : Forest
        That releases labels.
    domain : Domain
        Without numeric attributes.
    rows : ndarray of float32, shape (n_rows, n_columns)
    labels : ndarray of int64, shape (n_rows,)
        Indices into the forest's classes.
    parts : ndarray of int64, shape (n_rows,), or None
        Tree of each row, as `parts_of` tells it. Where nobody knows it (None), an upper bound over all ways to deal
        the rows out: the probability of no label is above 1.

    Returns
    -------
    float
        Up to no constant: log-probability of the labels given the rows plus that of the rows in their order. Minus
        infinity where the domain doesn't hold some row.
    """
    if domain.outside(rows.astype(np.float64)):
        return -math.inf
    published = _Labels.of(forest, domain)
    prior = _Population.of(domain, published.n_classes).log_probability(domain.indices(rows), labels)
    if parts is None:
        return prior
    return prior + published.log_likelihood(_leaf_of(forest, published.start, rows, parts), labels)


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
        As in `_Labels`; `published` are its labels.
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
    power, whole = np.empty(urn.shape), np.empty((n_classes, n_attributes))
    for c in range(n_classes):
        for a in range(n_attributes):
            for k in range(most):
                power[c, a, k] = urn[c, a, k] ** heat
            whole[c, a] = power[c, a].sum()
    base = np.empty(n_classes)
    weight = np.empty((int((bounds[:, 1] - bounds[:, 0]).max()), n_classes))
    for i in range(len(order)):
        row = order[i]
        old, was = leaf[row], label[row]
        table[old, was] -= 1
        _refresh(old, table, published, epsilon, points, weights, chance, gain)
        _count(-1.0, was, value[row], of_class, urn, power, whole, heat)
        low, high = bounds[row]
        top = -np.inf
        for c in range(n_classes):
            # The chance of a class, and of its attributes anywhere; at temperature 1 the rest adds up to 0.
            base[c] = heat * (math.log(of_class[c]) - n_attributes * math.log(urn[c, 0].sum()))
            for a in range(n_attributes):
                base[c] += math.log(whole[c, a])
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
                        mass += math.log(inside / whole[c, a])
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
        _count(1.0, chosen, value[row], of_class, urn, power, whole, heat)


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
    whole: FloatArray,
    heat: float,
) -> None:
    """Add a row to the urns, or take it out, and bring their tempered shares up to date."""
    of_class[label] += number
    for a in range(len(value)):
        k = value[a]
        urn[label, a, k] += number
        power[label, a, k] = urn[label, a, k] ** heat
        whole[label, a] = power[label, a].sum()


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
    without = _log_label(rows, label, epsilon, points, weights, chance)
    for c in range(len(rows)):
        rows[c] += 1
        gain[leaf, c] = _log_label(rows, label, epsilon, points, weights, chance) - without
        rows[c] -= 1


class _Chain:
    """A whole dataset that sweeps change, and the likeliest one that was met."""

    def __init__(
        self,
        published: _Labels,
        population: _Population,
        forest: Forest,
        domain: Domain,
        parts: IntArray,
        seed: Sequence[int],
    ) -> None:
        self._published, self._population = published, population
        self._rng = np.random.default_rng(seed)
        n_rows = len(parts)
        share = population.prior / _PRIOR_ROWS
        self.value = np.stack([self._rng.choice(len(p), n_rows, p=p / p.sum()) for p in share], axis=1).astype(np.int64)
        self.label = self._rng.integers(published.n_classes, size=n_rows)
        self._leaf = _leaf_of(forest, published.start, domain.encoded(self.value), parts)
        self._bounds = np.stack([published.start[parts], published.start[parts + 1]], axis=1)
        self.trace: list[float] = []
        self.best, self.best_log_posterior = self.sample(), self._log_posterior()

    def sweep(self, temperature: float, n_parts: int, timebox: TimeBox) -> None:
        """Draw each row anew; fewer when the time is out in between."""
        published, n_attributes = self._published, self.value.shape[1]
        points, weights = _gauss(published.n_classes)
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
    search : Search

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
    published = _Labels.of(forest, domain)
    population = _Population.of(domain, published.n_classes)
    parts = parts_by_size(n_rows, forest.n_trees)
    figures.update(leaves=len(published.label), rows=n_rows)
    if search.timebox.over:
        return Reconstruction("no solution", None, None, None, None, False, None, statistics=figures)
    chains = [_Chain(published, population, forest, domain, parts, [search.seed, 8, c]) for c in range(_CHAINS)]
    cost = published.sweep_seconds(parts)
    n_parts = math.ceil(cost / _PART_SECONDS)
    box = _most_of(search.timebox)
    n_sweeps = int(np.clip(min(_EFFORT, box.effort_left) / _CHAINS / cost, *_SWEEPS))
    every = math.ceil(n_sweeps * _CHAINS / (2 * _SAMPLES))
    samples = []
    with ThreadPoolExecutor(search.workers) as pool:

        def sweep(temperature: float, timebox: TimeBox) -> None:
            list(pool.map(lambda chain: chain.sweep(temperature, n_parts, timebox), chains))
            timebox.spend(_CHAINS * cost)
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
            for temperature in np.geomspace(*_TEMPERATURES, _COOLING_SWEEPS).tolist():
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


def _most_of(timebox: TimeBox) -> TimeBox:
    """Return the box that leaves some of what is left for the steps after sampling."""
    seconds = timebox.elapsed + _SAMPLING_SHARE * timebox.remaining
    return replace(timebox, seconds=seconds, effort=timebox.meter.spent + _SAMPLING_SHARE * timebox.effort_left)


def _agreed(samples: Sequence[Rows], parts: IntArray, domain: Domain, timebox: TimeBox) -> Rows:
    """Return the guess with the least expected error: a sample, or a consensus, within each tree's rows or of all."""
    if len(parts) > MOST_ROWS:
        return samples[0]
    imagined, others = samples[: len(samples) // 2][:_IMAGINED], samples[len(samples) // 2 :]
    agreed = [consensus(others[0], others[1:], group, domain, timebox) for group in (parts, np.zeros_like(parts))]
    return closest_to_all([*agreed, others[0]], imagined, domain, timebox)


def _disagreement(traces: Sequence[Sequence[float]]) -> float | None:
    """Return by how much chains differ in their log-posterior: Gelman and Rubin's R-hat, 1 if alike; None for few."""
    length = min(len(trace) for trace in traces)
    kept = np.array([trace[length // 2 : length] for trace in traces])
    if kept.shape[1] < 2 or not kept.var(axis=1).all():
        return None
    return float(np.sqrt(1 + kept.mean(axis=1).var(ddof=1) / kept.var(axis=1, ddof=1).mean()))
