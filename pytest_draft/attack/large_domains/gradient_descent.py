"""Finds a whole dataset by gradient descent, given `Regions`, groups and what each row can be.

For each row and attribute there is a belief, a distribution over the attribute's bins. It makes every tree soft: a row
goes on to a node's child with the probability that its belief gives, so that the expected counts of a whole forest are
smooth in the beliefs, at inner nodes as at leaves. Adam (Kingma and Ba, ICLR 2015) lowers their distance to what was
published, the nodes near the roots guide the way, and the likeliest value of each belief makes a whole dataset.
Nothing is proved by it; whether a dataset meets the counts is seen by counting.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray
from pytest_draft.attack.large_domains.belief_propagation import Marginals, propagate_beliefs
from pytest_draft.attack.large_domains.domain_reduction import Reach
from pytest_draft.attack.large_domains.regions import Regions
from pytest_draft.attack.search import Each, Search
from pytest_draft.compiling import compiled
from pytest_draft.timebox import TimeBox

Beliefs = FloatArray
"""One row for each bin (or class), one column for each row of the dataset: chances, their logarithms or gradients."""


@dataclass(frozen=True)
class GradientDescentParameters:
    """How beliefs about rows move."""

    rate: float = 0.1
    """Adam's step."""
    first_moment: float = 0.9
    """Adam's decay of the mean slope."""
    second_moment: float = 0.99
    """Adam's decay of the mean squared slope."""
    spread: float = 1.0
    """Standard deviation of the noise that tells rows of one group apart in the beginning."""
    check_every: int = 20
    """Steps between two roundings."""
    patience: int = 10
    """Roundings without progress after which a minimum counts as local."""
    kept: float = 3.0
    """Largest belief, as a logarithm, that is kept over a new start."""
    worst: float = 0.6
    """Share of the largest fault from which on a row starts anew."""
    drawn_steps: int = 600
    """Steps where occurrences are unknown: no residual shows when to end."""
    rounds_together: int = 3
    """Rounds of belief propagation between two roundings."""
    rounds_patience: int = 6
    """Roundings without progress after which belief propagation ends."""
    chunks: int = 4
    """Parts of the trees, one for each thread at a time; fixed, so that sums do not depend on the threads."""
    sure: float = 0.02
    """Least chance of each class that a row begins with, where classes are not proved."""
    most_solved: int = 2_000_000
    """Most trees times rows for which the classes are solved for."""
    units_per_visit: float = 4e-9
    """Measured: one row at one node."""
    impossible: float = -1e3
    """Logarithm of a belief that domain reduction has ruled out."""


_PARAMETERS = GradientDescentParameters()


@dataclass(frozen=True, eq=False, repr=False)
class Descent:
    """The best whole dataset that was met, and what is believed."""

    bins: IntArray
    """Shape (n_rows, n_attributes)."""
    labels: IntArray
    """Shape (n_rows,)."""
    belief: Beliefs
    """Shape (n_bins of all attributes, n_rows). The last one."""
    residual: int
    """Sum of absolute differences between the leaves' published counts and the dataset's."""


def descend_softly(reach: Reach, known: IntArray, search: Search, box: TimeBox) -> Descent:
    """Return a whole dataset whose counts are close to the published ones, anytime.

    Rows that can be told apart start from what belief propagation makes of them, others at random. Adam moves the
    logarithms of beliefs; now and then the likeliest dataset is counted (`SoftTrees.rounded`). Where it has come no
    closer for a while, that is a local minimum, and the rows at leaves whose counts are not met start again.

    Parameters
    ----------
    reach : Reach
        What the rows can be.
    known : ndarray of int64, shape (n_nodes, n_classes)
        With unknown occurrences: the rows at each node that the adversary knows; else 0.
    search : Search
        Its seed and threads; the answer is the same for any number of threads.
    """
    regions, groups = reach.regions, reach.groups
    rng = np.random.default_rng([search.seed, 21])
    of_row = np.sort(groups.of_row)
    trees = SoftTrees(regions, groups.weight[:, of_row], not groups.draws_known, known)
    chance = _class_chances(reach, rng)
    open_bins = reach.allowed[of_row].T
    values, barred = np.zeros(open_bins.shape), np.where(open_bins, 0.0, _PARAMETERS.impossible)
    classes = np.log(np.maximum(chance, 1e-9))
    fixed = bool((chance.max(axis=0) > 1 - 1e-6).all())
    one_class = np.array([0, regions.n_classes])
    best = least = None  # the best dataset of all, and the least residual since rows last started again
    alike = np.ones(len(of_row), dtype=bool)
    if groups.n_groups > 1 and not trees.drawn:
        marginals_found, best = _best_marginals(trees, reach, chance, fixed, box)
        if marginals_found is not None:
            values, classes = (
                np.clip(marginals_found.values, -_PARAMETERS.kept, _PARAMETERS.kept),
                marginals_found.classes,
            )
            alike = groups.size[of_row] > 1
    values[:, alike] += _PARAMETERS.spread * rng.normal(size=(len(values), int(alike.sum())))
    moves = [_Adam(values), _Adam(classes)]
    waited = step = 0  # roundings without progress, and steps
    with search.threads() as each:
        while True:
            belief = _softmax(values + barred, regions.first_bin)
            chance = chance if fixed else _softmax(classes, one_class)
            if step % _PARAMETERS.check_every == 0:
                found = trees.rounded(belief, chance)
                waited = 0 if least is None or found.residual < least else waited + 1
                least = found.residual if not waited else least
                if best is None or found.residual < best.residual or trees.drawn:
                    best = found
                search.clock.note("residual", best.residual)
                if not best.residual or box.over or (trees.drawn and step >= _PARAMETERS.drawn_steps):
                    return best
                if waited > _PARAMETERS.patience:
                    _start_again(values, trees.fault(found), rng)
                    moves = [_Adam(values), _Adam(classes)]
                    waited, least = 0, None
            slope, class_slope = trees.slopes(belief, chance, each)
            box.spend(trees.units)
            moves[0].move(_through_softmax(belief, slope, regions.first_bin))
            if not fixed:
                moves[1].move(_through_softmax(chance, class_slope, one_class))
            step += 1


def _start_again(values: Beliefs, fault: FloatArray, rng: np.random.Generator) -> None:
    """Forget, in place, what the rows that fit worst are believed to be, and how sure all others are."""
    wrong = fault >= _PARAMETERS.worst * fault.max()
    np.clip(values, -_PARAMETERS.kept, _PARAMETERS.kept, out=values)
    values[:, wrong] = _PARAMETERS.spread * rng.normal(size=(len(values), int(wrong.sum())))


def _best_marginals(
    trees: SoftTrees, reach: Reach, chance: Beliefs, classes_known: bool, box: TimeBox
) -> tuple[Marginals | None, Descent | None]:
    """Return the marginals of belief propagation whose likeliest dataset is best, and it; None without any round."""
    of_row = np.sort(reach.groups.of_row)
    open_bins, possible = reach.allowed[of_row].T, reach.possible[of_row]
    bounds, one_class = reach.regions.first_bin, np.array([0, len(chance)])
    marginals_found = best = None
    waited = 0
    rounds = propagate_beliefs(
        reach.regions, trees.weight, possible, open_bins, chance, classes_known=classes_known, timebox=box
    )
    for turn, marginals in enumerate(rounds):
        if turn % _PARAMETERS.rounds_together:
            continue
        found = trees.rounded(_softmax(marginals.values, bounds), _softmax(marginals.classes, one_class))
        waited += 1
        if best is None or found.residual < best.residual:
            marginals_found, best, waited = Marginals(marginals.values.copy(), marginals.classes.copy()), found, 0
        if not best.residual or waited > _PARAMETERS.rounds_patience:
            break
    return marginals_found, best


class _Adam:
    """Moves an array, in place, against its gradients."""

    def __init__(self, place: Beliefs) -> None:
        self._place = place
        self._mean, self._square = np.zeros_like(place), np.zeros_like(place)
        self._step = 0

    def move(self, slope: Beliefs) -> None:
        """Go one step."""
        self._step += 1
        self._mean += (1 - _PARAMETERS.first_moment) * (slope - self._mean)
        self._square += (1 - _PARAMETERS.second_moment) * (slope**2 - self._square)
        mean = self._mean / (1 - _PARAMETERS.first_moment**self._step)
        square = self._square / (1 - _PARAMETERS.second_moment**self._step)
        self._place -= _PARAMETERS.rate * mean / (np.sqrt(square) + 1e-8)


class SoftTrees:
    """The expected counts of a forest's nodes, and how they change with the beliefs."""

    def __init__(self, regions: Regions, weight: IntArray, drawn: bool, known: IntArray) -> None:
        self.drawn = drawn
        self.units = _PARAMETERS.units_per_visit * len(regions.nodes.left) * weight.shape[1] * (1 + regions.n_classes)
        self._regions = regions
        self.weight = np.ascontiguousarray(weight)
        self._times = self.weight.astype(np.float32)
        self._known = known
        self._chunks = [chunk for chunk in np.array_split(np.arange(regions.n_trees), _PARAMETERS.chunks) if len(chunk)]

    def slopes(self, belief: Beliefs, chance: Beliefs, each: Each) -> tuple[Beliefs, Beliefs]:
        """Return the gradients by the beliefs in values and in classes."""
        regions = self._regions
        soft, classes = belief.astype(np.float32), chance.astype(np.float32)

        def work(chunk: IntArray) -> tuple[Beliefs, Beliefs]:
            slope, class_slope = np.zeros_like(soft), np.zeros_like(classes)
            _add_slopes(
                soft,
                classes,
                self._times,
                int(chunk[0]),
                int(chunk[-1]) + 1,
                regions.nodes.left,
                regions.nodes.right,
                regions.attribute,
                regions.low,
                regions.high,
                regions.inverted,
                regions.nodes.first,
                regions.first_bin,
                regions.counts,
                regions.distinct,
                self._known,
                self.drawn,
                slope,
                class_slope,
            )
            return slope.astype(np.float64), class_slope.astype(np.float64)

        parts = each(work, self._chunks)  # as many parts on any number of threads, added up in one order
        return np.sum([part[0] for part in parts], axis=0), np.sum([part[1] for part in parts], axis=0)

    def rounded(self, belief: Beliefs, chance: Beliefs) -> Descent:
        """Return the likeliest dataset with its residual."""
        bounds = self._regions.first_bin
        parts = [np.argmax(belief[bounds[a] : bounds[a + 1]], axis=0) for a in range(len(bounds) - 1)]
        bins, labels = np.stack(parts, axis=1).astype(np.int64), np.argmax(chance, axis=0).astype(np.int64)
        signature = self._regions.signature(self._regions.of_vectors(bins))
        residual = sum(int(np.abs(self._gaps(t, signature[t], labels)).sum()) for t in range(self._regions.n_trees))
        return Descent(bins, labels, belief, residual)

    def fault(self, descent: Descent) -> FloatArray:
        """Return how badly each row fits: the share of the trees that saw it whose leaf there is at fault.

        A leaf is at fault where the dataset and the counts differ. A wrong row is at fault nearly everywhere, a right
        one only where it shares a leaf with a wrong one.
        """
        signature = self._regions.signature(self._regions.of_vectors(descent.bins))
        at_fault = np.zeros(len(descent.labels))
        for t in range(self._regions.n_trees):
            wrong: BoolArray = np.any(self._gaps(t, signature[t], descent.labels), axis=1)
            at_fault += wrong[signature[t]] & (self.weight[t] > 0)
        share: FloatArray = at_fault / np.maximum((self.weight > 0).sum(axis=0), 1)
        return share

    def _gaps(self, t: int, leaf: Int32Array, labels: IntArray) -> IntArray:
        """Return how far counts by class, and distinct rows, are off at a tree's leaves, by column.

        With unknown occurrences: whether a leaf lacks a row of a class that was drawn there.
        """
        regions = self._regions
        nodes = np.arange(regions.nodes.first[t], regions.nodes.first[t + 1])
        nodes = nodes[regions.nodes.left[nodes] < 0]
        seen = np.zeros((len(nodes), regions.n_classes + 1), dtype=np.int64)
        np.add.at(seen, (leaf, labels), self.weight[t])
        if self.drawn:
            seen[:, :-1] = (seen[:, :-1] + self._known[nodes] == 0) & (regions.counts[nodes] > 0)
            return seen
        seen[:, :-1] -= regions.counts[nodes]
        if regions.distinct[nodes[0]] >= 0:
            seen[:, -1] = np.bincount(leaf, self.weight[t] > 0, minlength=len(nodes)) - regions.distinct[nodes]
        return seen


def _class_chances(reach: Reach, rng: np.random.Generator) -> Beliefs:
    """Return what the roots say of each row's class, shape (n_classes, n_rows), group by group.

    Without bagging, how many rows are of each class, and rows are exchangeable. With it, each tree's draws and distinct
    rows of a class are the sum over its rows, weighted as the tree saw them: linear equations, solved within 0 and 1.
    """
    regions, groups = reach.regions, reach.groups
    of_row, roots = np.sort(groups.of_row), regions.nodes.first[:-1]
    n_rows, draws = len(of_row), regions.counts[roots].sum(axis=0)
    share = draws / max(int(draws.sum()), 1)
    if groups.n_groups == 1:
        number = np.floor(share * n_rows + 1e-9).astype(np.int64)
        number[np.argsort(number - share * n_rows, kind="stable")[: n_rows - number.sum()]] += 1
        by_class: Beliefs = np.eye(regions.n_classes)[np.repeat(np.arange(regions.n_classes), number)].T
        return by_class
    chance = np.empty((regions.n_classes, n_rows))
    weight = groups.weight[:, of_row]
    if weight.size > _PARAMETERS.most_solved or not groups.draws_known:
        chance[:] = share[:, None] * np.exp(0.1 * rng.normal(size=chance.shape))
    else:
        leaf = regions.leaf_node
        pure = (regions.counts[leaf] > 0).sum(axis=1) <= 1
        sure = np.logical_and.reduceat(pure, regions.leaf_start[:-1]) & (regions.distinct[roots] >= 0)
        matrix = np.concatenate([weight, weight[sure] > 0]).astype(np.float64)
        totals = []
        for c in range(regions.n_classes):
            own = np.where(regions.counts[leaf, c] > 0, regions.distinct[leaf], 0)
            once = np.add.reduceat(own, regions.leaf_start[:-1])[sure]
            total = np.concatenate([regions.counts[roots, c], once]).astype(np.float64)
            chance[c] = lsq_linear(matrix, total, bounds=(0.0, 1.0)).x
            totals.append(total)
        likeliest: Beliefs = np.eye(regions.n_classes)[np.argmax(chance, axis=0)].T
        if np.array_equal(likeliest @ matrix.T, totals):
            return likeliest
    chance = np.clip(chance, _PARAMETERS.sure, 1.0) * reach.alive[of_row].T
    shares: Beliefs = chance / chance.sum(axis=0)
    return shares


def _softmax(values: Beliefs, bounds: IntArray) -> Beliefs:
    """Return distributions over each attribute's bins, column by column."""
    first = bounds[:-1]
    width = np.diff(bounds)
    largest = np.maximum.reduceat(values, first, axis=0)
    raised = np.exp(values - np.repeat(largest, width, axis=0))
    shares: Beliefs = raised / np.repeat(np.add.reduceat(raised, first, axis=0), width, axis=0)
    return shares


def _through_softmax(shares: Beliefs, slope: Beliefs, bounds: IntArray) -> Beliefs:
    """Return the gradient by what the distributions are made of."""
    weighted = shares * slope
    total = np.add.reduceat(weighted, bounds[:-1], axis=0)
    result: Beliefs = weighted - shares * np.repeat(total, np.diff(bounds), axis=0)
    return result


@partial(compiled, fastmath=True)
def _add_slopes(  # noqa: PLR0912, PLR0915 - compiled as one
    belief: NDArray[np.float32],
    chance: NDArray[np.float32],
    times: NDArray[np.float32],
    first_tree: int,
    last_tree: int,
    left: IntArray,
    right: IntArray,
    attribute: IntArray,
    low: IntArray,
    high: IntArray,
    inverted: BoolArray,
    start: IntArray,
    first_bin: IntArray,
    counts: IntArray,
    distinct: IntArray,
    known: IntArray,
    drawn: bool,
    slope: NDArray[np.float32],
    class_slope: NDArray[np.float32],
) -> None:
    """Add to `slope` and `class_slope` how the distance to some trees' counts changes with `belief` and `chance`.

    The distance is, for known occurrences, ``(expected - observed)^2 / (observed + 1)`` over nodes and classes, and
    over nodes for distinct rows; for unknown ones, the Poisson log-likelihood of draws and distinct rows.
    """
    n_classes, n_rows = chance.shape
    expected = np.empty(n_classes, dtype=np.float32)
    error = np.empty(n_classes, dtype=np.float32)
    for t in range(first_tree, last_tree):
        root, n_nodes = start[t], start[t + 1] - start[t]
        reach = np.zeros((n_nodes, n_rows), dtype=np.float32)
        inside = np.zeros((n_nodes, n_rows), dtype=np.float32)  # the chance to go on to the left child
        pull = np.zeros((n_nodes, n_rows), dtype=np.float32)
        for r in range(n_rows):
            reach[0, r] = np.float32(times[t, r] > 0)
        for v in range(n_nodes):
            node = root + v
            if left[node] < 0:
                continue
            base = first_bin[attribute[node]]
            for b in range(base + low[node], base + high[node]):
                for r in range(n_rows):
                    inside[v, r] += belief[b, r]
            if inverted[node]:
                for r in range(n_rows):
                    inside[v, r] = np.float32(1) - inside[v, r]
            child, other = left[node] - root, right[node] - root
            for r in range(n_rows):
                part = reach[v, r] * inside[v, r]
                reach[child, r] = part
                reach[other, r] = reach[v, r] - part
        for v in range(n_nodes - 1, -1, -1):
            node = root + v
            there = np.float32(0)
            for r in range(n_rows):
                there += reach[v, r]
            draws = 0
            everyone = np.float32(0)
            for c in range(n_classes):
                total = np.float32(0)
                for r in range(n_rows):
                    total += times[t, r] * chance[c, r] * reach[v, r]
                expected[c] = total + known[node, c]
                draws += counts[node, c]
                everyone += expected[c]
            both = np.float32(0)
            if drawn:
                everyone = max(everyone, np.float32(0.05))
                spare = max(everyone - distinct[node] + np.float32(0.5), np.float32(0.05))
                # d/ds of log s! / (s - d)! - s, and of how the draws are shared among the classes
                steep = np.log((everyone + np.float32(0.5)) / spare) - np.float32(1)
                for c in range(n_classes):
                    share = counts[node, c] / max(expected[c], np.float32(0.05)) - draws / everyone
                    error[c] = -steep - share
            else:
                for c in range(n_classes):
                    error[c] = (expected[c] - counts[node, c]) / (counts[node, c] + np.float32(1))
                if distinct[node] >= 0:
                    both = (there - distinct[node]) / (distinct[node] + np.float32(1))
            for c in range(n_classes):
                for r in range(n_rows):
                    change = error[c] * times[t, r]
                    pull[v, r] += change * chance[c, r]
                    class_slope[c, r] += change * reach[v, r]
            for r in range(n_rows):
                pull[v, r] += both
            if left[node] < 0:
                continue
            child, other = left[node] - root, right[node] - root
            base = first_bin[attribute[node]]
            sign = np.float32(-1) if inverted[node] else np.float32(1)
            for r in range(n_rows):
                gap = pull[child, r] - pull[other, r]
                pull[v, r] += pull[other, r] + gap * inside[v, r]
                inside[v, r] = sign * reach[v, r] * gap
            for b in range(base + low[node], base + high[node]):
                for r in range(n_rows):
                    slope[b, r] += inside[v, r]
