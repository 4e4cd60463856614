"""The replay of scikit-learn's splitter: in goes a forest, out come the columns that each node drew, where certain.

A tree's ``random_state`` seeds a small generator that draws, node by node in the order of growth (`growth`), the
columns to try and, in random splitters, their thresholds. What was drawn depends on which columns were constant among a
node's rows, which the file does not tell: all hypotheses are followed (`draws.follow`), and what is not practically
certain in the end is not told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.missing import COUNTED_SINCE
from pytest_draft.attack.best_splits import float32_at_most
from pytest_draft.attack.numeric.draws import (
    SKIPPED,
    Grown,
    Splitter,
    follow,
)
from pytest_draft.attack.numeric.growth import Growth, depths, growth_of
from pytest_draft.attack.numeric.parameters import REPLAY
from pytest_draft.attack.redacted import redacted
from pytest_draft.errors import NotCoveredError
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True, eq=False, repr=False)
class TreeReplay:
    """What the nodes of one tree drew."""

    in_sync: BoolArray
    """Shape (n_nodes,). Whether the columns drawn at a node are certain; of a leaf that drew none, whether that is."""
    start: IntArray
    """Shape (n_nodes + 1,). Where each node's draws begin; a node that is not in sync has none."""
    feature: IntArray
    """Shape (n_drawn,). Columns in the order of the draw, without those that a node above had found constant."""
    uniform: IntArray
    """Shape (n_drawn,). The number behind each threshold tried; -1 for best splitters, and where it is not certain."""
    constant: BoolArray
    """Shape (n_drawn,). Whether the column was certainly found constant, so that no threshold was tried."""
    winner: IntArray
    """Shape (n_nodes,). The number behind the node's own threshold, -1 where there is none or it is not certain; it can
    be certain at nodes that are not in sync.
    """

    @property
    def is_in_sync(self) -> bool:
        """Whether all nodes are in sync."""
        return bool(self.in_sync.all())


@dataclass(frozen=True, eq=False)
class Replay:
    """What the nodes of all trees drew."""

    trees: tuple[TreeReplay, ...]
    reason: str | None = None
    """Why nothing was replayed; None where something was."""

    @property
    def trees_in_sync(self) -> float:
        """Share of trees of which all nodes are in sync."""
        return float(np.mean([tree.is_in_sync for tree in self.trees]))

    @property
    def nodes_in_sync(self) -> float:
        """Share of nodes that are in sync, over all trees."""
        return float(np.concatenate([tree.in_sync for tree in self.trees]).mean())


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


def replay(forest: Forest, timebox: TimeBox, hints: Hints | None = None, *, missing: bool = False) -> Replay:
    """Replay the draws of all nodes.

    Parameters
    ----------
    timebox : TimeBox
        Trees that it leaves no time for are not in sync.
    hints : Hints, optional
        A random threshold that they explain by a draw speaks for a hypothesis.
    missing : bool
        Whether rows may have missing values: random splitters then draw where those go, which is not followed.
    """
    try:
        rules = [growth_of(forest, index) for index in range(forest.n_trees)]
        if missing and any(rule.random for rule in rules):
            raise NotCoveredError("random splits among missing values are not replayed")
        if missing and (forest.sklearn_minor or (0, 0)) < COUNTED_SINCE:
            raise NotCoveredError("splits among missing values before scikit-learn 1.9 are not replayed")
    except NotCoveredError as error:
        return Replay(tuple(_unknown(tree) for tree in forest.trees), str(error))
    if hints is None:
        unbounded = np.tile([-np.inf, np.inf], (forest.n_features, 1))
        hints = Hints(unbounded, np.zeros(forest.n_features), (np.empty(0),) * forest.n_features)
    ties = _Ties(forest)
    sample = np.unique(np.linspace(0, forest.n_trees - 1, min(forest.n_trees, REPLAY.sampled)).astype(np.int64))
    for _ in range(REPLAY.rounds):
        for index in sample.tolist():
            if not timebox.over:
                _follow(forest, index, rules[index], ties, hints, timebox)
        ties.learn()
    return Replay(
        tuple(
            _unknown(tree) if timebox.over else _follow(forest, index, rules[index], ties, hints, timebox)
            for index, tree in enumerate(forest.trees)
        )
    )


def boxes(tree: Tree, bounds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return which values of each column the thresholds above a node leave.

    Parameters
    ----------
    bounds : ndarray of float64, shape (n_columns, 2)
        At the root; single precision is made of them.

    Returns
    -------
    least, most : ndarray of float64, shape (n_nodes, n_columns)
        Values that single precision can hold, both included.
    """
    least, most = np.empty((2, tree.n_nodes, len(bounds)))
    least[0], most[0] = bounds.astype(np.float32).T
    highest_left = float32_at_most(tree.threshold)
    for node in np.flatnonzero(tree.left >= 0).tolist():
        left, right, column = tree.left[node], tree.right[node], tree.feature[node]
        least[[left, right]], most[[left, right]] = least[node], most[node]
        below = np.float32(highest_left[node])
        most[left, column] = min(most[left, column], below)
        least[right, column] = max(least[right, column], np.nextafter(below, np.float32(np.inf)))
    return least, most


def tested_below(tree: Tree, n_columns: int) -> BoolArray:
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


def _unknown(tree: Tree) -> TreeReplay:
    """Return the replay of a tree of which nothing is certain."""
    empty = np.empty(0, dtype=np.int64)
    return TreeReplay(
        np.zeros(tree.n_nodes, dtype=np.bool_),
        np.zeros(tree.n_nodes + 1, dtype=np.int64),
        empty,
        empty,
        np.empty(0, dtype=np.bool_),
        np.full(tree.n_nodes, -1, dtype=np.int64),
    )


def _follow(
    forest: Forest,
    index: int,
    rules: Growth,
    ties: _Ties,
    hints: Hints,
    timebox: TimeBox,
) -> TreeReplay:
    """Replay one tree."""
    tree = forest.trees[index]
    local = np.full(forest.n_features + 1, -1, dtype=np.int64)
    local[rules.columns] = np.arange(len(rules.columns))
    inner = tree.left >= 0
    least, most = boxes(tree, hints.bounds)
    column = np.where(inner, tree.feature, 0)
    # Nothing tells what the leaves after the last split have drawn.
    every = np.arange(np.flatnonzero(inner).max(initial=0) + 1)
    rate = ties.of(tree)
    rate = np.where(tested_below(tree, forest.n_features), 0.0, rate)[:, rules.columns]
    with np.errstate(divide="ignore"):
        grown = Grown(
            outcome=rules.outcome[every],
            tested=np.where(inner, local[tree.feature], -1)[every],
            depth=np.zeros(len(every), np.int64) if rules.best_first else depths(tree)[every],
            constant=np.log(rate[every]),
            varying=np.log1p(-rate[every]),
            threshold=tree.threshold[every],
            least=least[every, column[every]],
            most=most[every, column[every]],
        )
    known = [hints.known[c] for c in rules.columns]
    splitter = Splitter(
        rules.max_features,
        rules.random,
        rules.best_first,
        hints.finest[rules.columns],
        np.cumsum([0, *map(len, known)]),
        np.concatenate(known),
    )
    with timebox.flag() as stop:
        lost, total, layer, weight, code, winner, start, drawn, uniform, constant = follow(
            rules.seed, grown, splitter, REPLAY.width, REPLAY.floor, REPLAY.most_edges, stop
        )
    timebox.spend(1e-6 * len(weight))
    if total == -np.inf or len(layer) == 1:
        return _unknown(tree)
    share = np.exp(weight - np.logaddexp(lost, total))
    lengths = np.diff(start)
    owner = np.repeat(np.arange(len(weight)), lengths)
    node_of = np.repeat(every[: len(layer) - 1], np.diff(layer))
    ties.count(rules.columns[drawn], ties.bins(tree)[node_of[owner]], share[owner], constant)
    return _agreed(tree, rules, layer, share, code, winner, start, drawn, uniform, constant)


def _agreed(  # type: ignore[no-untyped-def]
    tree, rules, layer, share, code, winner, start, drawn, uniform, constant
) -> TreeReplay:
    """Return what (nearly) all of the probability agrees on, node by node."""
    in_sync = rules.outcome == SKIPPED
    own = np.full(tree.n_nodes, -1, dtype=np.int64)
    begins = np.zeros(tree.n_nodes + 1, dtype=np.int64)
    features, uniforms, constants = [], [], []
    for node in range(len(layer) - 1):
        edges = np.arange(layer[node], layer[node + 1])
        begins[node + 1] = begins[node]
        likeliest = edges[share[edges].argmax()]
        if tree.left[node] >= 0 and share[edges[winner[edges] == winner[likeliest]]].sum() >= 1 - REPLAY.doubt:
            own[node] = winner[likeliest]
        same = edges[code[edges] == code[likeliest]]
        in_sync[node] = share[same].sum() >= 1 - REPLAY.doubt
        if not in_sync[node]:
            continue
        length = start[likeliest + 1] - start[likeliest]
        places = start[same][:, None] + np.arange(length)
        weight = share[same][:, None]
        mine = uniform[places[same == likeliest][0]]
        features.append(rules.columns[drawn[places[0]]])
        uniforms.append(np.where((weight * (uniform[places] == mine)).sum(axis=0) >= 1 - REPLAY.doubt, mine, -1))
        constants.append((weight * constant[places]).sum(axis=0) >= 1 - REPLAY.doubt)
        begins[node + 1] += length
    begins[len(layer) :] = begins[len(layer) - 1]
    empty = np.empty(0, dtype=np.int64)
    return TreeReplay(
        in_sync,
        begins,
        np.concatenate([empty, *features]),
        np.concatenate([empty, *uniforms]),
        np.concatenate([empty.astype(np.bool_), *constants]),
        own,
    )
