"""What a file says of the rows at its nodes, in one form for all kinds of model: counts, and sums over rows.

Of a forest whose draws are known, the sums are those of each class (of a regressor, of targets) over the draws; of
boosted trees they are their `Statements`. Before the first round all rows of a class weigh alike, so statements are
solved there for the number of rows of each class (`_solved`), also at the nodes that have none of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import AnyArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.observations import BoostedSums, NewtonSteps, sensitivities
from pytest_draft.artifact.forest.occurrences import draws_are_known, lacks_seeds, occurrences
from pytest_draft.attack.boosted.staged import missed
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.observations import unexplained
from pytest_draft.errors import DraftError
from pytest_draft.timebox import TimeBox

__tracebackhide__ = True  # frames here hold labels

_CLOSE = 1e-7
"""How far sums of targets can be off by rounding, relative to the sum of their sizes."""


@dataclass(frozen=True, eq=False, repr=False)
class Claims:
    """What one tree says: the number of rows (draws) at each node, and weighted sums over them at some."""

    count: FloatArray
    """Shape (n_nodes,). NaN where it is not known."""
    begin: IntArray
    """Shape (n_nodes + 1,). Where the sums of each node begin."""
    weight: FloatArray
    """Shape (n_sums, n_amounts). What each amount of a row is multiplied by."""
    total: FloatArray
    tolerance: FloatArray
    """`total` and `tolerance`, shape (n_sums,)."""

    def fits(self, node: int, sums: AnyArray) -> AnyArray:
        """Return whether sums of amounts over rows, shape (..., n_amounts), are what the file says of a node."""
        part = slice(int(self.begin[node]), int(self.begin[node + 1]))
        off = np.abs(sums @ self.weight[part].T - self.total[part])
        return np.asarray((off <= self.tolerance[part]).all(axis=-1))


def _claims(count: FloatArray, node: IntArray, weight: FloatArray, total: FloatArray, tolerance: FloatArray) -> Claims:
    order = np.argsort(node, kind="stable")
    begin = np.searchsorted(node[order], np.arange(len(count) + 1))
    return Claims(count, begin, weight[order], total[order], tolerance[order])


class Told:
    """What a file says of rows in an order.

    Parameters
    ----------
    forest : Forest
        One whose trees saw all rows, or draws that can be replayed.

    Attributes
    ----------
    forest : Forest
    drawn : ndarray of int64, shape (n_trees, n_rows), or None
        How often each tree saw each row; None where each once, so that the order says nothing.
    """

    def __init__(self, forest: Forest, timebox: TimeBox) -> None:
        self.forest = forest
        self.drawn: IntArray | None = None
        if forest.draws.drawn or forest.draws.times is not None:
            self.drawn = occurrences(forest, timebox.require)
        self._boosted = forest.observation if isinstance(forest.observation, BoostedSums) else None
        self._known: dict[int, Claims] = {}

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 of a regressor."""
        return 0 if self.forest.classes is None else self.forest.n_classes

    @property
    def is_forest(self) -> bool:
        """Whether trees were trained by themselves, so that each says all of each node."""
        return self._boosted is None

    @property
    def by_round(self) -> int:
        """Trees that see the same scores; of a forest, each stands for itself."""
        return 1 if self._boosted is None else self._boosted.n_scores

    def roots(self) -> FloatArray | None:
        """Return what rows add up to at the roots, shape (n_trees, n_classes), of a regressor (n_trees, 1).

        Where each tree saw all rows, one tree stands for all. None where the file does not say it.
        """
        forest = self.forest
        if self._boosted is None:
            which = range(forest.n_trees if self.drawn is not None else 1)
            by_class = forest.observation.named == "counts" and len(forest.trees[0].value[0]) == forest.n_classes
            if forest.classes is not None and not by_class:
                return None
            found = [self._root(tree) for tree in which]
            return np.array(found, dtype=np.float64)
        base = np.asarray(self._boosted.base, dtype=np.float64)
        n_rows = forest.n_samples
        if forest.classes is None:
            known = self._boosted.loss == "squared" and n_rows is not None and base[0] != 0
            return np.array([[base[0] * n_rows]]) if known and n_rows else None
        of_class = [self._root(tree)[-1] for tree in range(len(base))]
        if not np.isfinite(of_class).all() or n_rows is None:
            if len(base) > 1 or n_rows is None or base[0] == 0:
                return None
            of_class = [np.rint(n_rows / (1 + np.exp(-base[0])))]
        return np.array([[n_rows - of_class[0], of_class[0]] if len(base) == 1 else of_class])

    def gives_targets(self, targets: FloatArray, roots: FloatArray | None) -> bool:
        """Return whether a regressor's targets, shape (n_rows,), add up to its roots, where these are known."""
        if roots is None:
            return True
        room = _CLOSE * float(np.abs(targets).sum() + 1)
        if self.drawn is None:
            return bool(abs(targets.sum() - roots[0, 0]) <= room)
        if abs(self.drawn[0] @ targets - roots[0, 0]) > 2 * room:
            return False
        return bool((np.abs(self.drawn @ targets - roots[:, 0]) <= 2 * room).all())

    def misses(self, rows: Rows, labels: IntArray, targets: FloatArray | None = None) -> bool:
        """Return whether rows, in their order, miss a count of the file, or a sum.

        Parameters
        ----------
        rows : ndarray of float32, shape (n_rows, n_columns)
        labels : ndarray of int64, shape (n_rows,)
        targets : ndarray of float64, shape (n_rows,), or None
            Of a regressor of boosted trees.
        """
        if self._boosted is not None:
            return bool(missed(self.forest, np.ascontiguousarray(rows.T.astype(np.float64)), labels, targets))
        times = np.ones((self.forest.n_trees, len(rows)), dtype=np.int64) if self.drawn is None else self.drawn
        return bool(unexplained(self.forest, KnownRows(rows, labels, times)))

    def _root(self, tree: int) -> FloatArray:
        claims = self.claims(tree)
        part = slice(int(claims.begin[0]), int(claims.begin[1]))
        if self._boosted is not None and claims.weight.shape[1] != 2:
            return np.array([np.nan])
        total: FloatArray = claims.total[part]
        return total if len(total) else np.array([np.nan])

    def claims(self, tree: int) -> Claims:
        """Return what a tree says."""
        if tree not in self._known:
            self._known[tree] = self._made(tree)
        return self._known[tree]

    def _made(self, index: int) -> Claims:
        tree, forest = self.forest.trees[index], self.forest
        nodes = np.arange(tree.n_nodes)
        if self._boosted is not None:
            count = tree.n_distinct.astype(np.float64) if self._boosted.counted else np.full(tree.n_nodes, np.nan)
            said = self._boosted.statements[index]
            if index < self._boosted.n_scores and (solved := self._solved(tree, index)) is not None:
                known = np.flatnonzero(np.isfinite(solved).all(axis=1))
                count = np.where(np.isnan(count), solved.sum(axis=1), count)
                two = np.repeat(known, 2)
                return _claims(count, two, np.tile(np.eye(2), (len(known), 1)), solved[known].ravel(), _halves(two))
            return _claims(count, said.node, said.weight, said.total, said.tolerance + 1e-9)
        if forest.classes is None:
            weight = tree.weight.astype(np.float64)
            total = weight * tree.value[:, 0]
            room = _CLOSE * weight * float(np.abs(tree.value[:, 0]).max())
            return _claims(weight, nodes, np.ones((len(nodes), 1)), total, room + 1e-12)
        try:
            counts = forest.counts(index).astype(np.float64)
        except ValueError:  # numbers of rows alone
            return _claims(tree.n_distinct.astype(float), nodes[:0], np.zeros((0, 1)), np.zeros(0), np.zeros(0))
        n_kinds = counts.shape[1]
        every = np.repeat(nodes, n_kinds)
        weight = np.tile(np.eye(n_kinds), (len(nodes), 1))
        return _claims(counts.sum(axis=1), every, weight, counts.ravel(), _halves(every))

    def _solved(self, tree: Tree, score: int) -> FloatArray | None:
        """Return how many rows are of other classes and of a score's own, shape (n_nodes, 2), before any tree.

        NaN where the file does not say so much. None for regressors.
        """
        said = self._boosted
        if said is None or self.forest.classes is None:
            return None
        gradient, hessian = sensitivities(said.loss, np.asarray(said.base, dtype=np.float64)[:, None])
        g, h = float(gradient[score, 0]), float(hessian[score, 0])
        kinds = np.array([[1.0, 1.0], [g, g - 1], [h, h], [g**2, (g - 1) ** 2]])
        own, found = said.statements[score], np.full((tree.n_nodes, 2), np.nan)
        order = np.argsort(own.node, kind="stable")
        begin = np.searchsorted(own.node[order], np.arange(tree.n_nodes + 1))
        if said.counted:
            found[tree.n_distinct == 0] = 0.0
        if said.steps is not None and len(base := np.asarray(said.base)) == 1:
            for leaf in tree.leaves:
                own_class = np.arange(tree.n_distinct[leaf] + 1)
                off = np.abs(_stepped(own_class, float(base[0]), said.steps) - tree.value[leaf, 0])
                found[leaf] = tree.n_distinct[leaf] - off.argmin(), off.argmin()
        for node in range(tree.n_nodes):
            part = order[begin[node] : begin[node + 1]]
            equations, totals = own.weight[part] @ kinds, own.total[part]
            if said.counted:
                equations, totals = np.r_[equations, [[1.0, 1.0]]], np.r_[totals, float(tree.n_distinct[node])]
            size = np.abs(equations).max(axis=1, initial=0.0)
            usable = size > 1e-12
            equations, totals = equations[usable] / size[usable, None], totals[usable] / size[usable]
            if len(equations) >= 2 and np.linalg.matrix_rank(equations, 1e-6) == 2:
                found[node] = np.rint(np.linalg.lstsq(equations, totals, rcond=None)[0])
        for node in np.flatnonzero(tree.left >= 0)[::-1]:
            if not np.isfinite(found[node]).all():
                found[node] = found[tree.left[node]] + found[tree.right[node]]
        return found

    def amounts(self, tree: int, labels: IntArray, targets: FloatArray | None, score: FloatArray | None) -> FloatArray:
        """Return what each row adds to the sums of a tree, shape (n_rows, n_amounts).

        Parameters
        ----------
        labels : ndarray of int64, shape (n_rows,)
        targets : ndarray of float64, shape (n_rows,), or None
            Of a regressor.
        score : ndarray of float64, shape (n_scores, n_rows), or None
            Of boosted trees, before the round.
        """
        if self._boosted is None:
            times = np.ones(len(labels)) if self.drawn is None else self.drawn[tree].astype(np.float64)
            if targets is not None:
                return np.asarray(times * targets)[:, None]
            n_kinds = self.claims(tree).weight.shape[1]
            kind = labels if n_kinds > 1 else np.zeros_like(labels)
            return np.asarray(times[:, None] * np.eye(n_kinds)[kind])
        own = tree % self._boosted.n_scores
        is_own = labels == (own if self._boosted.n_scores > 1 else 1)
        if self.claims(tree).weight.shape[1] == 2:
            return np.column_stack([~is_own, is_own]).astype(np.float64)
        assert score is not None
        gradient, hessian = sensitivities(self._boosted.loss, score)
        taken = is_own.astype(np.float64) if targets is None else targets
        g = gradient[own] - taken
        return np.column_stack([np.ones(len(g)), g, hessian[own], g**2])

    def first_score(self, n_rows: int) -> FloatArray | None:
        """Return each row's scores before the first tree, shape (n_scores, n_rows); None of a forest."""
        if self._boosted is None:
            return None
        return np.tile(np.asarray(self._boosted.base, dtype=np.float64)[:, None], (1, n_rows))


def _stepped(own_class: IntArray, base: float, steps: NewtonSteps) -> FloatArray:
    """Return the value of a leaf, by how many of its rows are of class 1: of the last so many as there can be."""
    whole, score = float(own_class[-1]), np.zeros(len(own_class))
    for _ in range(steps.steps):
        p = 1 / (1 + np.exp(-(base + score)))
        score -= (whole * p - own_class) / (whole * p * (1 - p) + steps.l2)
    return steps.learning_rate * score


def _halves(of: IntArray) -> FloatArray:
    return np.full(len(of), 0.5)


def told_by(forest: Forest, timebox: TimeBox) -> Told | None:
    """Return what a file says of rows in an order; None where that cannot be looked for.

    Its numbers of rows were removed or made noisy, its draws are not known, or weights have scaled them.
    """
    said = forest.observation
    if not (said.exact or isinstance(said, BoostedSums)) or said.privacy is not None:
        return None
    if isinstance(said, BoostedSums) and (said.unknown or said.class_weight or said.in_parallel > 1):
        return None
    if forest.draws.drawn and (lacks_seeds(forest) or not forest.draws.seeded or not draws_are_known(forest)):
        return None
    try:
        told = Told(forest, timebox)
        told.claims(0)
    except DraftError:
        return None
    return told
