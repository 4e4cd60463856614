"""Likelier values where trees test nothing: what they reveal by the columns that they did not choose.

A node tests the best of the columns that it drew. So every column that would have split it better was not drawn, and
an impure leaf where growth was not limited had nothing left to split. How probable that is follows from how many
columns a node draws (``max_features``), without any seed, and it depends on values that no test fixes: a column that
varies in impure nodes is tested sooner or later, so one that is never tested is most likely constant. Open values are
drawn from this likelihood and an urn prior by Gibbs sampling; which values fit best is confirmed by refitting, where
the file has its seeds (`refit`). The columns of a node are drawn as in ``sklearn.tree._splitter``: in random order,
until ``max_features`` are visited and one of them is not constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.occurrences import drawn_columns
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.node_choices import (
    CRITERIA,
    IMPURE,
    INNER,
    LIMITED,
    ChoiceRules,
    ChoosingNodes,
    ColumnIndicators,
    OpenValues,
)
from pytest_draft.attack.numeric.draws import ALL_CONSTANT, SPLIT, TRIED
from pytest_draft.attack.numeric.growth import columns_drawn, least_in_leaf, outcomes
from pytest_draft.attack.problem import Problem
from pytest_draft.errors import NotCoveredError
from pytest_draft.timebox import TimeBox

MOST_COUNTS = 20_000_000
"""Most numbers that are kept of what nodes hold; of a larger forest only the first trees are asked."""

MANY = 10
"""Of fewer trees it says little that a dataset grows them again."""

_LIMITS = ("min_weight_fraction_leaf", "min_impurity_decrease", "max_leaf_nodes")
"""Other parameters by which scikit-learn can keep a node from being split."""

_SETTLE, _BETWEEN, _DESCEND = 6, 2, 3
"""Sweeps before the first dataset that is drawn, between two, and of the search for the likeliest one."""

_UNITS_PER_VISIT = 1e-7
"""Measured: one value of one row at one node."""


@dataclass(frozen=True, eq=False, repr=False)
class Choices:
    """What a forest's nodes chose, to be explained by what rows are."""

    forest: Forest
    problem: Problem
    """With exact noise."""
    columns: tuple[IntArray, ...]
    """By tree, the columns that it was given."""
    drawn: tuple[int, ...]
    """By tree, ``max_features``."""
    least: int
    """Fewest distinct rows in a leaf."""
    outcome: tuple[IntArray, ...]
    """By tree, what became of its nodes (`draws`)."""

    @classmethod
    def of(cls, forest: Forest, problem: Problem, *, seeds_known: bool) -> Choices | None:
        """Return what a forest's choices can reveal.

        Parameters
        ----------
        seeds_known : bool
            Whether the adversary has the seeds, which say what columns a bagging ensemble's trees were given.

        Returns
        -------
        Choices or None
            None where trees did not look at the data, or the file does not say how they did.
        """
        parameters = forest.tree_parameters
        everything = np.unique(forest.columns_of_file)
        some = forest.draws.draws_columns(len(forest.columns_of_file))
        if forest.observation.released or forest.classes is None or not problem.groups.draws_known:
            return None
        if parameters.get("criterion") not in CRITERIA or (some and not seeds_known):
            return None
        if parameters.get("ccp_alpha", 0.0) != 0.0:
            return None
        if forest.splitter != "best" and any(attribute.kind == "ordinal" for attribute in problem.domain.attributes):
            return None  # random thresholds: another could have been better
        try:
            columns = tuple(drawn_columns(forest, t) if some else everything for t in range(forest.n_trees))
            if any(len(np.unique(given)) < len(given) for given in columns):
                return None
            drawn = tuple(columns_drawn(forest, len(given)) for given in columns)  # as if written once
            n_samples = _n_samples(problem)
            least = least_in_leaf(forest, n_samples)
            outcome = tuple(outcomes(forest, tree, n_samples) for tree in forest.trees)
            return cls(forest, problem, columns, drawn, least, outcome)
        except NotCoveredError:
            return None

    @property
    def many_grown_out(self) -> bool:
        """Whether there are `MANY` trees, all grown out: it says much that such a dataset grows all of them again."""
        return self.forest.n_trees >= MANY and self.grown_out

    @cached_property
    def grown_out(self) -> bool:
        """Whether all trees were grown until nothing was left to split.

        Else few nodes had a choice, and what they say of open values is less than what the spread of the others says.
        """
        return all(
            bool(((outcome == SPLIT) | (outcome == ALL_CONSTANT) | (_pure(tree) & (tree.left < 0))).all())
            for tree, outcome in zip(self.forest.trees, self.outcome, strict=True)
        )

    @cached_property
    def _coded(self) -> ColumnIndicators:
        domain = self.problem.domain
        value = np.arange(max(made.n_values for made in domain.attributes))[:, None]
        of_column = [domain.attributes[a] for a in domain.attribute_of_column]
        holds = [
            value == [place] if made.kind == "one-hot" else value > np.arange(made.n_values - 1)
            for made, place in zip(of_column, domain.place_of_column, strict=True)
        ]
        size = [part.shape[1] for part in holds]
        number = np.array([len(made.columns) for made in domain.attributes])
        return ColumnIndicators(
            np.cumsum([0, *size]),
            np.concatenate(holds, axis=1),
            np.repeat(domain.attribute_of_column, size),
            np.cumsum([0, *number[:-1]]),
            number,
            np.array([column for made in domain.attributes for column in made.columns]),
        )

    @cached_property
    def _rules(self) -> ChoiceRules:
        forest = self.forest
        given = np.zeros((forest.n_trees, forest.n_features), dtype=np.bool_)
        none_of = np.zeros((forest.n_trees, forest.n_features + 2))
        number = np.arange(forest.n_features + 2)
        for t, (columns, drawn) in enumerate(zip(self.columns, self.drawn, strict=True)):
            given[t, columns] = True
            some = number[number <= len(columns) - drawn]
            none_of[t, some] = np.exp(_log_ways(len(columns) - some, drawn) - _log_ways(len(columns), drawn))
        return ChoiceRules(CRITERIA[str(forest.tree_parameters["criterion"])], self.least, given, none_of)

    def filled(
        self,
        cells: IntArray,
        labels: IntArray,
        rows: NDArray[np.float32],
        belief: tuple[FloatArray, ...],
        n_samples: int,
        rng: np.random.Generator,
        timebox: TimeBox,
    ) -> tuple[NDArray[np.float32], ...]:
        """Return datasets with other open values, drawn about as likely as they are, the likeliest one first.

        Parameters
        ----------
        cells : ndarray of int64, shape (n_rows,)
        labels : ndarray of int64, shape (n_rows,)
        rows : ndarray of float32, shape (n_rows, n_columns)
            A dataset in these cells, to begin with.
        belief : tuple of ndarray of float64, shape (n_values of the attribute,)
            How often each value occurs besides: an urn of so many rows, which the open values are drawn from too.

        Returns
        -------
        tuple of ndarray of float32, shape (n_rows, n_columns)
            Only `rows` where that would take longer than the time box allows.
        """
        problem, known = self.problem, self.problem.groups.known
        open_values = np.ascontiguousarray(np.argwhere(~problem.cells.determined[cells]))
        if not len(open_values):
            return (rows,)
        nodes = self._nodes(cells, labels)
        n_values = np.array([attribute.n_values for attribute in problem.domain.attributes])
        visits = float((np.diff(nodes.start)[open_values[:, 0]] * n_values[open_values[:, 1]]).sum())
        units = _UNITS_PER_VISIT * visits * (_SETTLE + _BETWEEN * n_samples + _DESCEND)
        if not timebox.allows(units):
            return (rows,)
        timebox.spend(units)
        everyone = rows if known is None else np.concatenate([rows, known.rows])
        all_labels = labels if known is None else np.concatenate([labels, known.labels])
        value = np.ascontiguousarray(problem.domain.indices(everyone))  # in one order, for which numba compiles
        chain = OpenValues(nodes, self._coded, self._rules, value, all_labels)
        urns = np.zeros((len(n_values), n_values.max()))
        for a, urn in enumerate(belief):
            urns[a, : len(urn)] = urn
        offsets, allowed = problem.cells.offsets, problem.cells.allowed[cells]
        np.add.at(urns, (open_values[:, 1], value[open_values[:, 0], open_values[:, 1]]), 1.0)
        found = []
        for number in range(n_samples):
            for _ in range(_BETWEEN if number else _SETTLE):
                chain.sweep(rng.permutation(open_values), allowed, offsets, urns, rng, greedy=False)
            found.append(problem.domain.encoded(chain.kept.value[: len(rows)]))
        for _ in range(_DESCEND):
            chain.sweep(open_values, allowed, offsets, urns, rng, greedy=True)
        return (problem.domain.encoded(chain.kept.value[: len(rows)]), *found)

    def _nodes(self, cells: IntArray, labels: IntArray) -> ChoosingNodes:
        """Return the nodes that rows in some cells reach."""
        problem, known, forest = self.problem, self.problem.groups.known, self.forest
        weight = problem.groups.weight[:, problem.groups.of_row]
        labels = labels if known is None else np.concatenate([labels, known.labels])
        n_indicators = max(1, len(self._coded.attribute))
        parts: list[tuple[NDArray[Any], ...]] = []
        room, first = MOST_COUNTS, 0
        for t, tree in enumerate(forest.trees):
            place = problem.cells.signature[t, cells].astype(np.int64)
            times = weight[t]
            if known is not None:
                place = np.append(place, leaf_positions(tree, np.ascontiguousarray(known.rows.T)))
                times = np.append(times, known.weight[t])
            inner = tree.left >= 0
            kind = np.full(tree.n_nodes, -1)
            kind[inner] = INNER
            impure = ~inner & ~_pure(tree)
            kind[impure & (self.outcome[t] == ALL_CONSTANT)] = IMPURE
            if self._only_small_leaves_stop:
                kind[impure & (self.outcome[t] == TRIED)] = LIMITED
            kept = np.flatnonzero(kind >= 0)
            room -= len(kept) * n_indicators * (forest.n_classes + 1)
            if room < 0 and parts:
                break
            member = _ancestors(tree.left, tree.right)[:, tree.leaves[np.maximum(place, 0)]].T  # rows x nodes
            member &= (times > 0)[:, None]
            add = times * forest.draw_weight[t, labels]
            totals = np.stack([(member * (add * (labels == c))[:, None]).sum(0) for c in range(forest.n_classes)], 1)
            target = np.full(tree.n_nodes, -np.inf)
            target[inner] = _quality(totals[tree.left[inner]], self._rules.criterion)
            target[inner] += _quality(totals[tree.right[inner]], self._rules.criterion)
            row, node = np.nonzero(member[:, kept])
            chosen = np.where(inner, tree.feature, -1)[kept]
            tables = (kind[kept], np.full(len(kept), t), chosen, target[kept], totals[kept], member[:, kept].sum(0))
            parts.append((*tables, row, node + first, add[row]))
            first += len(kept)
        joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.argsort(joined[6], kind="stable")
        start = np.searchsorted(joined[6][order], np.arange(len(labels) + 1))
        kinds, tree_of, chosen, target, totals, n_rows, _, node, add = joined
        return ChoosingNodes(
            kinds, tree_of, chosen, target, totals, n_rows, start, node[order], add[order].astype(np.float64)
        )

    @cached_property
    def _only_small_leaves_stop(self) -> bool:
        """Whether nothing but ``min_samples_leaf`` kept a node that was tried from being split."""
        parameters = self.forest.tree_parameters
        limits = [parameters.get(name) for name in _LIMITS]
        return limits == [0.0, 0.0, None]


def _n_samples(problem: Problem) -> int:
    """Return how many rows trained the forest."""
    known = problem.groups.known
    return problem.groups.n_rows + (0 if known is None else len(known.rows))


def _pure(tree: Tree) -> BoolArray:
    """Return which nodes hold one class only, shape (n_nodes,)."""
    pure: BoolArray = np.count_nonzero(tree.value, axis=1) <= 1
    return pure


def _log_ways(n: IntArray | int, k: int) -> FloatArray:
    """Return the logarithm of the binomial coefficient."""
    ways: FloatArray = gammaln(np.asarray(n) + 1.0) - math.lgamma(k + 1.0) - gammaln(np.asarray(n) - k + 1.0)
    return ways


def _ancestors(left: IntArray, right: IntArray) -> BoolArray:
    """Return whether each node (rows) is on the path to each node (columns), itself included."""
    above = np.eye(len(left), dtype=np.bool_)
    for node in np.flatnonzero(left >= 0).tolist():  # parents come first
        above[:, left[node]] |= above[:, node]
        above[:, right[node]] |= above[:, node]
    return above


def _quality(totals: FloatArray, criterion: int) -> FloatArray:
    """Return what a child adds to the quality of a split, shape (n_nodes,)."""
    drawn = totals.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if criterion == 0:
            added = (totals**2).sum(axis=1) / drawn
        else:
            added = np.where(totals > 0, totals * np.log(totals), 0.0).sum(axis=1) - drawn * np.log(drawn)
    result: FloatArray = np.where(drawn > 0, added, 0.0)
    return result
