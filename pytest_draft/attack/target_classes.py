"""How many draws of each target are in each node of a regressor: `TargetCounts` of a forest.

A leaf stores how many draws it holds, their mean and, by squared error, their impurity: the number, the sum and the sum
of squares of some targets. A leaf without impurity holds one target only. Where targets repeat, as counts, ratings and
rounded numbers do, only one multiset of them explains most other leaves, too. Then it is known how many draws of each
target are in each node, and whatever rebuilds rows from counts by class rebuilds them from these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.nodes import ForestNodes
from pytest_draft.artifact.forest.observations import ClassCounts, TargetMeans
from pytest_draft.errors import NotCoveredError

SQUARED = frozenset({"squared_error", "mse", "friedman_mse"})
"""Criteria whose impurity is the variance of the targets in a node."""

MEANS = SQUARED | {"poisson"}
"""Criteria by which a node's value is the mean of its targets."""

_ROUNDING = 2.0**-45
"""How far sums are off at most, relative to the largest that they can be."""

_APART = 1_000
"""How many times farther than rounding two targets must lie apart to be told apart."""

_MOST_COUNTS = 20_000_000
"""Most numbers of draws, one for each node and target: each takes 20 bytes until rows are rebuilt."""

_LEAST_ON_GRID = 20
"""Least leaves whose sums must be multiples of a step for all targets to be: each is by chance every second time."""

_LISTED_IN_A_TRY = 20
"""Measured: so many candidates are listed in the time of one try."""

_MOST_TRIED, _MOST_TRIED_ONCE = 100_000, 20_000
"""Most values that are tried to explain all leaves, and one of them: the first takes two seconds or so."""


@dataclass(frozen=True, eq=False, repr=False)
class TargetCounts:
    """How many draws of each target are in each node. Its repr shows no target."""

    targets: FloatArray
    """Shape (n_targets,). Ascending; up to rounding."""
    counts: tuple[IntArray, ...]
    """Each of shape (n_nodes, n_targets). By tree; where they are not known, all draws in place of the first target."""
    known: tuple[BoolArray, ...]
    """Each of shape (n_nodes,). By tree, where they are known."""

    @property
    def complete(self) -> bool:
        """Whether they are known everywhere."""
        return all(bool(known[0]) for known in self.known)

    def classifier(self, forest: Forest) -> Forest:
        """Return a regressor as a classifier whose classes are its targets, where they are known everywhere."""
        unit = forest.draw_weight[:, 0].tolist()
        trees = tuple(
            replace(tree, value=counts * one) for tree, counts, one in zip(forest.trees, self.counts, unit, strict=True)
        )
        return replace(forest, trees=trees, classes=tuple(self.targets.tolist()), observation=ClassCounts("totals"))


def target_counts(forest: Forest, times: IntArray) -> TargetCounts | None:
    """Return how many draws of each target are in each node of a regressor.

    Parameters
    ----------
    times : ndarray of int64, shape (n_trees, n_rows)
        How often each tree saw each row; rows that none tells apart may be given once.

    Returns
    -------
    TargetCounts or None
        None of a classifier, where no leaf reveals its targets, or where these are too many to be counted.
    """
    if forest.observation != TargetMeans():
        return None
    try:
        draws = [forest.counts(t)[tree.leaves, 0] for t, tree in enumerate(forest.trees)]
    except NotCoveredError:  # weights that cannot be undone
        return None
    criterion = str(forest.parameters.get("criterion", forest.parameters.get("estimator__criterion")))
    leaves = _Leaves.of(forest, draws, criterion)
    end = np.cumsum([0, *(len(found) for found in draws)])
    if (pure := leaves.targets) is None:
        return None
    targets, held = pure, dict[int, dict[float, int]]()
    if criterion in MEANS:
        held = leaves.on_grid()
        targets = _joined(pure, {value for found in held.values() for value in found}, leaves.rounding)
        open_leaves = np.setdiff1d(np.flatnonzero(~leaves.is_pure), list(held))
        is_whole = np.bincount(np.searchsorted(end, open_leaves, side="right") - 1, minlength=len(draws)) == 0
        if (times[is_whole] > 0).any(axis=0).all():  # so there are no other targets
            held |= leaves.decoded(open_leaves, lambda _: targets)
    if not 0 < len(targets) * sum(tree.n_nodes for tree in forest.trees) <= _MOST_COUNTS:
        return None
    table, known = leaves.table(targets, held)
    nodes = ForestNodes.of(forest.trees)
    counts, unknown = nodes.summed_up(table), nodes.summed_up(~known)  # unknown is where one leaf below is
    total = counts[unknown].sum(axis=1)
    counts[unknown], counts[unknown, 0] = 0, total
    return TargetCounts(targets, nodes.by_tree(counts), nodes.by_tree(~unknown))


@dataclass(frozen=True, eq=False, repr=False)
class _Leaves:
    """The leaves of all trees, one after the other."""

    value: FloatArray
    """Shape (n,)."""
    n_draws: IntArray
    n_rows: IntArray
    """`n_draws` and `n_rows`, shape (n,)."""
    variance: FloatArray
    """Shape (n,). Of the targets of the draws; NaN where the file does not say."""
    is_pure: BoolArray
    """Shape (n,). Whether they hold one target only."""

    @classmethod
    def of(cls, forest: Forest, draws: list[IntArray], criterion: str) -> _Leaves:
        """Return the leaves of a forest."""
        trees = forest.trees
        value = np.concatenate([tree.value[tree.leaves, 0] for tree in trees])
        n_draws = np.concatenate(draws)
        n_rows = np.concatenate([tree.n_distinct[tree.leaves] for tree in trees])
        n_rows = np.where(n_rows > 0, np.minimum(n_rows, n_draws), n_draws)
        squared = criterion in SQUARED
        impurity = np.concatenate(
            [
                tree.impurity[tree.leaves]
                if tree.impurity is not None and _is_sound(tree, squared=squared)
                else np.full(len(tree.leaves), np.nan)
                for tree in trees
            ]
        )
        none = _ROUNDING * float(np.abs(value).max()) ** (2 if squared else 1)
        is_pure = (n_rows == 1) | (impurity <= none)
        if criterion == "poisson":  # no target is negative, and of targets of 0 the impurity is infinite
            is_pure |= value == 0
        return cls(value, n_draws, n_rows, impurity if squared else np.full(len(value), np.nan), is_pure)

    @property
    def rounding(self) -> float:
        """How far a mean is off at most."""
        return _ROUNDING * max(float(np.abs(self.value).max()), np.finfo(np.float64).tiny)

    @property
    def least_gap(self) -> float:
        """How far two targets lie apart at least: of nearer ones the impurity of a leaf of both can look like none."""
        most = float(np.abs(self.value).max())
        return max(_APART * self.rounding, 4.0 * most * float(np.sqrt(_ROUNDING * self.n_draws.max())))

    @property
    def targets(self) -> FloatArray | None:
        """The targets of leaves that hold one only, ascending; None where it is not clear which of them are equal."""
        value = np.sort(self.value[self.is_pure])
        if not len(value):
            return value
        gap = np.diff(value)
        is_other = gap > self.rounding
        if (gap[is_other] < self.least_gap).any():
            return None
        first = np.flatnonzero(np.concatenate([[True], is_other]))
        found: FloatArray = value[first]
        return found

    def on_grid(self) -> dict[int, dict[float, int]]:
        """Return how often each target is drawn in leaves of several, by one multiset of a step's multiples alone."""
        step = self._step() if len(self.value) >= _LEAST_ON_GRID else None
        mixed = np.flatnonzero(~self.is_pure)
        return {} if step is None else self.decoded(mixed, lambda i: self._grid(i, step))

    def table(self, targets: FloatArray, held: dict[int, dict[float, int]]) -> tuple[IntArray, BoolArray]:
        """Return how many draws of each target are in each leaf, and where that is known."""
        table, known = np.zeros((len(self.value), len(targets)), np.int64), self.is_pure.copy()
        pure = np.flatnonzero(known)
        table[pure, _nearest(targets, self.value[pure])] = self.n_draws[pure]
        for i, found in held.items():
            table[i, _nearest(targets, np.array(list(found)))] = list(found.values())
        known[list(held)] = True
        table[~known, 0] = self.n_draws[~known]
        return table, known

    def decoded(self, leaves: IntArray, candidates: Callable[[int], FloatArray]) -> dict[int, dict[float, int]]:
        """Return how often each target is drawn in those of some leaves that candidates explain in one way."""
        seen: dict[tuple[float, ...], dict[float, int] | None] = {}
        held, left = {}, _MOST_TRIED
        for i in leaves.tolist():
            key = (self.value[i], self.n_draws[i], self.n_rows[i], self.variance[i])
            if key not in seen:
                if left <= 0:
                    break
                targets = candidates(i)
                seen[key], tried = self._only(i, targets, min(left, _MOST_TRIED_ONCE))
                left -= tried + len(targets) // _LISTED_IN_A_TRY
            if (found := seen[key]) is not None:
                held[i] = found
        return held

    def _step(self) -> float | None:
        """Return the largest power of ten that the sums of all leaves are multiples of; None for none."""
        total = self.value * self.n_draws
        slack = self.rounding * self.n_draws
        for step in 10.0 ** np.arange(3, -4, -1):
            fits = slack.max() * _APART < step and _are_multiples(total, step, slack).all()
            if fits and _are_multiples(self.value[self.is_pure], step, self.rounding).all():
                return float(step)
        return None

    def _grid(self, i: int, step: float) -> FloatArray:
        """Return the multiples of a step that a leaf's variance leaves possible."""
        variance = self.variance[i] + _ROUNDING * float(np.abs(self.value).max()) ** 2
        away = np.sqrt(max(0.0, variance) * (self.n_draws[i] - 1)) + step * 1e-6
        low, high = np.ceil((self.value[i] - away) / step), np.floor((self.value[i] + away) / step)
        if not high - low < _MOST_TRIED_ONCE:  # also where the variance is not known
            return np.empty(0)
        return np.asarray(np.arange(low, high + 1) * step)

    def _only(self, i: int, targets: FloatArray, most_tried: int) -> tuple[dict[float, int] | None, int]:
        """Return the only multiset of targets that a leaf can hold, None where there is none or a choice; and tries."""
        n, variance = int(self.n_draws[i]), float(self.variance[i])
        away = targets - self.value[i]
        slack = self.rounding * n, _ROUNDING * n * float(np.abs(self.value).max()) ** 2
        if not np.isnan(variance):
            near = away**2 <= (variance * n + slack[1]) * (n - 1) / n + slack[1]
            targets, away = targets[near], away[near]
        order = np.argsort(-np.abs(away), kind="stable")
        targets, away = targets[order], away[order]
        found: dict[float, int] | None = None
        n_rows, tried = int(self.n_rows[i]), 0
        for counts in _multisets(away, n, n_rows, 0.0, n * variance, slack):
            if counts is None:
                tried += 1
                if tried > most_tried:
                    return None, tried
            elif len(counts) > 1:
                if found is not None:
                    return None, tried
                found = {float(targets[k]): times for k, times in counts.items()}
        return found, tried


def _multisets(
    away: FloatArray,
    n: int,
    n_values: int,
    total: float,
    squares: float,
    slack: tuple[float, float],
    first: int = 0,
) -> Iterator[dict[int, int] | None]:
    """Yield how often each value is taken so that n have a sum and a sum of squares; None for each that is tried.

    Parameters
    ----------
    away : ndarray of float64, shape (n_candidates,)
        The farthest from 0 first.
    n_values : int
        Most different values.
    squares : float
        NaN where it may be any.
    slack : tuple of float
        How far both may be off.
    first : int
        Values before this are not taken.
    """
    if n == 0:
        if abs(total) <= slack[0] and not abs(squares) > slack[1]:
            yield {}
        return
    if n_values == 0 or first == len(away):
        return
    if n_values == 1:
        yield None
        k = first + int(np.abs(away[first:] - total / n).argmin())
        if abs(n * away[k] - total) <= slack[0] and not abs(n * away[k] ** 2 - squares) > slack[1]:
            yield {k: n}
        return
    if squares < total * total / n - slack[1] - 2 * abs(total) * slack[0]:  # Cauchy and Schwarz
        return
    for k in range(first, len(away)):
        yield None
        square = away[k] ** 2
        if abs(total) > n * abs(away[k]) + slack[0] or squares > n * square + slack[1]:
            return  # as those that follow are nearer
        most = n if np.isnan(squares) or square == 0 else min(n, int((squares + slack[1]) / square))
        for times in range(most, 0, -1):
            left = total - times * away[k], squares - times * square
            for counts in _multisets(away, n - times, n_values - 1, *left, slack, k + 1):
                yield counts if counts is None else {k: times, **counts}


def _is_sound(tree: Tree, *, squared: bool) -> bool:
    """Return whether impurities are those of a tree's nodes, and not removed or changed.

    No node is split that has none; squared errors of a node are those of its children around its own mean.
    """
    impurity = tree.impurity
    inner = tree.left >= 0
    if impurity is None or not (impurity[inner] > 0).all():
        return False
    if not squared:
        return True
    mean = tree.value[:, 0]
    squares = tree.weight * (impurity + mean**2)
    off = np.abs(squares[inner] - squares[tree.left[inner]] - squares[tree.right[inner]])
    return bool((off <= _ROUNDING * tree.weight[inner] * np.abs(mean).max() ** 2 * 4).all())


def _are_multiples(values: FloatArray, step: float, slack: Any) -> BoolArray:
    """Return whether values are multiples of a step, but for rounding."""
    return np.asarray(np.abs(values - np.rint(values / step) * step) <= slack)


def _joined(targets: FloatArray, more: set[float], rounding: float) -> FloatArray:
    """Return targets with others, ascending, each once."""
    joined = np.sort(np.append(targets, sorted(more)))
    found: FloatArray = joined[np.diff(joined, prepend=-np.inf) > _APART * rounding]
    return found


def _nearest(targets: FloatArray, value: FloatArray) -> IntArray:
    """Return the place of the nearest target to each value."""
    middle = (targets[1:] + targets[:-1]) / 2
    return np.searchsorted(middle, value).astype(np.int64)
