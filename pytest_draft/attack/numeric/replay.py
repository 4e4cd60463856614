"""The replay of scikit-learn's random splitter: in goes a forest, out come the draws behind its thresholds.

A tree's ``random_state`` seeds a small generator that draws, node by node in the order of growth (`growth`), the
columns to try and their thresholds. What was drawn depends on which columns were constant among a node's rows, which
the file does not tell: all hypotheses are followed (`draws.follow`), and what is not practically certain in the end is
not told.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.nodes import levels
from pytest_draft.attack.numeric.draws import SKIPPED, Grown, Splitter, follow
from pytest_draft.attack.numeric.growth import Growth, depths, growth_of
from pytest_draft.attack.numeric.parameters import REPLAY
from pytest_draft.attack.redacted import redacted
from pytest_draft.errors import NotCoveredError
from pytest_draft.timebox import TimeBox


@redacted
class Hints(NamedTuple):
    """What tells whether a draw explains a random threshold."""

    bounds: FloatArray
    """Shape (n_columns, 2). Least and greatest value of each column."""
    finest: FloatArray
    """Shape (n_columns,). The finest decimal grid that a column's values lie on, in places per unit (a power of ten);
    0: unknown.
    """
    known: tuple[FloatArray, ...]
    """By column, values that occur, ascending."""


def replay(forest: Forest, timebox: TimeBox, hints: Hints, *, missing: bool = False) -> tuple[IntArray, ...]:
    """Return the number behind each node's threshold, by tree.

    Parameters
    ----------
    timebox : TimeBox
        Of trees that it leaves no time for nothing is told.
    hints : Hints
        A random threshold that they explain by a draw speaks for a hypothesis.
    missing : bool
        Whether rows may have missing values: random splitters then draw where those go, which is not followed.

    Returns
    -------
    tuple of ndarray of int64, each of shape (n_nodes,)
        -1 where there is no threshold, or the number is not certain.
    """
    nothing = [np.full(tree.n_nodes, -1) for tree in forest.trees]
    try:
        rules = [growth_of(forest, index) for index in range(forest.n_trees)]
    except NotCoveredError:
        return tuple(nothing)
    if missing:
        return tuple(nothing)
    ties = _Ties(forest)
    sample = np.unique(np.linspace(0, forest.n_trees - 1, min(forest.n_trees, REPLAY.sampled)).astype(np.int64))
    for _ in range(REPLAY.rounds):
        for index in sample.tolist():
            if not timebox.over:
                _follow(forest.trees[index], rules[index], ties, hints, timebox)
        ties.learn()
    return tuple(
        nothing[index] if timebox.over else _follow(tree, rules[index], ties, hints, timebox)
        for index, tree in enumerate(forest.trees)
    )


def boxes(tree: Tree, low: FloatArray, high: FloatArray, bounds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what the tested column's values cannot leave at each node, by thresholds and extremes above.

    Parameters
    ----------
    low, high : ndarray of float64, shape (n_nodes,)
        Least and greatest value of the tested column, NaN where unknown.
    bounds : ndarray of float64, shape (n_columns, 2)
        At the root; single precision is made of them.

    Returns
    -------
    least, most : ndarray of float64, shape (n_nodes,)
        Of leaves without a meaning.
    """
    inside = np.empty((tree.n_nodes, 2, len(bounds)))
    inside[0] = bounds.astype(np.float32).T
    least, most = np.zeros((2, tree.n_nodes))
    for level in levels(tree.left, tree.right):
        node = level[tree.left[level] >= 0]
        column, threshold = tree.feature[node], tree.threshold[node]
        box = inside[node, :, column]
        least[node], most[node] = box.T
        found = ~np.isnan(low[node])
        box[found, 0], box[found, 1] = low[node[found]], high[node[found]]
        inside[node, :, column] = box
        left, right = tree.left[node], tree.right[node]
        inside[left] = inside[right] = inside[node]
        # A value above a threshold that single precision holds is at least the next one; less room is not claimed.
        inside[left, 1, column], inside[right, 0, column] = (
            np.minimum(box[:, 1], threshold),
            np.maximum(box[:, 0], threshold),
        )
    return least, most


def _tested_below(tree: Tree, n_columns: int) -> BoolArray:
    """Return which columns are tested at a node or below, shape (n_nodes, n_columns)."""
    tested = np.zeros((tree.n_nodes, n_columns), dtype=np.bool_)
    for node in np.flatnonzero(tree.left >= 0)[::-1].tolist():
        tested[node] = tested[tree.left[node]] | tested[tree.right[node]]
        tested[node, tree.feature[node]] = True
    return tested


_SIZES = np.array([2, 3, 4, 6, 10, 20, 50])
"""Numbers of rows up to which constant columns are counted apart, and one rate for all above."""


class _Ties:
    """How often a column is constant among so many rows: first a guess, then learned from the replay."""

    def __init__(self, forest: Forest) -> None:
        self._shape = (forest.n_features, len(_SIZES) + 1)
        # Few rows may well be equal; the prior counts as two draws at each size.
        guess = np.append(0.1 / (_SIZES - 1.0), 1e-3)
        self._prior = np.tile(2 * guess, (forest.n_features, 1))
        self._constant, self._drawn = np.zeros(self._shape), np.zeros(self._shape)
        self.rate = self._prior / 2

    def of(self, tree: Tree) -> FloatArray:
        """Return each column's rate at each node, shape (n_nodes, n_columns)."""
        rate: FloatArray = self.rate[:, self.bins(tree)].T
        return rate

    @staticmethod
    def bins(tree: Tree) -> IntArray:
        """Return which of the sizes each node has."""
        return np.searchsorted(_SIZES, tree.n_distinct)

    def count(self, column: IntArray, size: IntArray, weight: FloatArray, constant: BoolArray) -> None:
        """Add what was drawn, each with its probability."""
        np.add.at(self._drawn, (column, size), weight)
        np.add.at(self._constant, (column, size), weight * constant)

    def learn(self) -> None:
        """Take what was counted as the rates, and start counting again."""
        self.rate = np.clip((self._prior + self._constant) / (2 + self._drawn), 1e-9, 0.99)
        self._constant, self._drawn = np.zeros(self._shape), np.zeros(self._shape)


def _follow(tree: Tree, rules: Growth, ties: _Ties, hints: Hints, timebox: TimeBox) -> IntArray:
    """Return the number behind each threshold of a tree; count how often columns were constant."""
    own = np.full(tree.n_nodes, -1)
    # Nothing tells what the leaves after the last split have drawn.
    drew = np.flatnonzero(rules.outcome != SKIPPED)
    drew = drew[drew <= np.flatnonzero(tree.left >= 0).max(initial=-1)]
    if not len(drew):
        return own
    n_columns = len(hints.bounds)
    local = np.full(n_columns + 1, -1, dtype=np.int64)
    local[rules.columns] = np.arange(len(rules.columns))
    unknown = np.full(tree.n_nodes, np.nan)
    least, most = boxes(tree, unknown, unknown, hints.bounds)
    rate = np.where(_tested_below(tree, n_columns), 0.0, ties.of(tree))[drew]
    rate = np.ascontiguousarray(rate[:, rules.columns])  # in one order, for which numba compiles
    with np.errstate(divide="ignore"):
        grown = Grown(
            outcome=rules.outcome[drew],
            tested=np.where(tree.left[drew] >= 0, local[tree.feature[drew]], -1),
            depth=np.zeros(len(drew), np.int64) if rules.best_first else depths(tree)[drew],
            constant=np.log(rate),
            varying=np.log1p(-rate),
            threshold=tree.threshold[drew],
            least=least[drew],
            most=most[drew],
        )
    known = [hints.known[column] for column in rules.columns]
    splitter = Splitter(
        rules.max_features,
        rules.best_first,
        hints.finest[rules.columns],
        np.cumsum([0, *map(len, known)]),
        np.concatenate(known),
    )
    with timebox.flag() as stop:
        found = follow(rules.seed, grown, splitter, REPLAY.width, REPLAY.floor, REPLAY.most_edges, stop)
    timebox.spend(1e-6 * len(found.share))
    node = np.repeat(drew[: len(found.layer) - 1], np.diff(found.layer))
    of_drawn = np.repeat(np.arange(len(node)), np.diff(found.start))
    ties.count(rules.columns[found.column], ties.bins(tree)[node[of_drawn]], found.share[of_drawn], found.constant)
    for begin, end in pairwise(found.layer.tolist()):
        winner, share = found.winner[begin:end], found.share[begin:end]
        likeliest = winner[share.argmax()]
        if share[winner == likeliest].sum() >= 1 - REPLAY.doubt:
            own[node[begin]] = likeliest
    return own
