"""The replay of scikit-learn's splitter: in goes a forest, out come the columns that each node drew, where certain.

A tree's ``random_state`` seeds a small generator that draws, node by node in the order of growth, the columns to try
and, in random splitters, their thresholds. What was drawn depends on which columns were constant among a node's rows,
which the file does not tell: all hypotheses are followed (`draws.follow`), and what is not practically certain in the
end is not told.

The rules are those of ``sklearn.tree._splitter``, ``sklearn.tree._tree`` and ``BaseDecisionTree._fit`` of scikit-learn
1.3 to 1.9, which differ in nothing that matters here but missing values.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.occurrences import drawn_columns
from pytest_draft.attack.numeric.draws import (
    ALL_CONSTANT,
    SKIPPED,
    SPLIT,
    TRIED,
    UNKNOWN_IF_ALL_CONSTANT,
    UNKNOWN_IF_TRIED,
    Grown,
    Splitter,
    follow,
)
from pytest_draft.attack.numeric.equation import RAND_R_MAX
from pytest_draft.attack.redacted import redacted
from pytest_draft.errors import NotCoveredError
from pytest_draft.timebox import TimeBox

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

DOUBT = 1e-6
"""Most probability that what is told of a node is wrong, were the rates of constant columns as estimated."""

_OLDEST, _NEWEST = (1, 3), (1, 9)
_EPSILON = float(np.finfo(np.float64).eps)
_WIDTH = 512
_FLOOR = -30.0
_MOST = 100_000
_ROUNDS = 2
_SAMPLED = 20
_SIZES = np.array([2, 3, 4, 6, 10, 20, 50])


@dataclass(frozen=True, eq=False, repr=False)
class TreeReplay:
    """What the nodes of one tree drew.

    Attributes
    ----------
    in_sync : ndarray of bool, shape (n_nodes,)
        Whether the columns drawn at a node are certain; of a leaf that drew none, whether that is.
    start : ndarray of int64, shape (n_nodes + 1,)
        Where each node's draws begin; a node that is not in sync has none.
    feature : ndarray of int64, shape (n_drawn,)
        Columns in the order of the draw, without those that a node above had found constant.
    uniform : ndarray of int64, shape (n_drawn,)
        The number behind each threshold tried; -1 for best splitters, and where it is not certain.
    constant : ndarray of bool, shape (n_drawn,)
        Whether the column was certainly found constant, so that no threshold was tried.
    winner : ndarray of int64, shape (n_nodes,)
        The number behind the node's own threshold, -1 where there is none or it is not certain; it can be certain
        at nodes that are not in sync.
    """

    in_sync: BoolArray
    start: IntArray
    feature: IntArray
    uniform: IntArray
    constant: BoolArray
    winner: IntArray

    @property
    def is_in_sync(self) -> bool:
        """Whether all nodes are in sync."""
        return bool(self.in_sync.all())


@dataclass(frozen=True, eq=False)
class Replay:
    """What the nodes of all trees drew.

    Attributes
    ----------
    trees : tuple of TreeReplay
    reason : str or None
        Why nothing was replayed; None where something was.
    """

    trees: tuple[TreeReplay, ...]
    reason: str | None = None

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
    """What tells whether a draw explains a random threshold.

    Attributes
    ----------
    bounds : ndarray of float64, shape (n_columns, 2)
        Least and greatest value of each column.
    finest : ndarray of float64, shape (n_columns,)
        The finest decimal grid that a column's values lie on, in places per unit (a power of ten); 0: unknown.
    known : tuple of ndarray of float64
        By column, values that occur, ascending.
    """

    bounds: FloatArray
    finest: FloatArray
    known: tuple[FloatArray, ...]


def replay(forest: Forest, timebox: TimeBox, hints: Hints | None = None, *, missing: bool = False) -> Replay:
    """Replay the draws of all nodes.

    Parameters
    ----------
    forest : Forest
    timebox : TimeBox
        Trees that it leaves no time for are not in sync.
    hints : Hints, optional
        A random threshold that they explain by a draw speaks for a hypothesis.
    missing : bool
        Whether rows may have missing values: random splitters then draw where those go, which is not followed.

    Returns
    -------
    Replay
    """
    try:
        rules = [_rules(forest, index) for index in range(forest.n_trees)]
        if missing and any(rule.random for rule in rules):
            raise NotCoveredError("random splits among missing values are not replayed")
    except NotCoveredError as error:
        return Replay(tuple(_unknown(tree) for tree in forest.trees), str(error))
    if hints is None:
        whole = np.tile([-np.inf, np.inf], (forest.n_features, 1))
        hints = Hints(whole, np.zeros(forest.n_features), (np.empty(0),) * forest.n_features)
    ties = _Ties(forest)
    sample = np.unique(np.linspace(0, forest.n_trees - 1, min(forest.n_trees, _SAMPLED)).astype(np.int64))
    for _ in range(_ROUNDS):
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


@redacted
class _Rules(NamedTuple):
    """How one tree was grown; `columns` are the forest's, in the order of the tree's own."""

    seed: int
    columns: IntArray
    max_features: int
    random: bool
    best_first: bool
    outcome: IntArray


def _rules(forest: Forest, index: int) -> _Rules:
    """Return how a tree was grown.

    Raises
    ------
    NotCoveredError
        Where the file does not tell it.
    """
    match = re.match(r"(\d{1,4})\.(\d{1,4})(?!\d)", forest.sklearn_version or "", re.ASCII)
    if match is None or not _OLDEST <= (int(match[1]), int(match[2])) <= _NEWEST:
        raise NotCoveredError("how the scikit-learn that wrote the file grows trees is not known here")
    tree = forest.trees[index]
    if tree.seed is None or forest.is_private:
        raise NotCoveredError(f"tree {index} has no stored seed, so its splitter cannot be replayed")
    nested = "estimator__" if forest.seeds_from == "ensemble" else ""
    seed = RandomState(tree.seed).randint(RAND_R_MAX) if nested else tree.seed
    columns = drawn_columns(forest, index)
    if len(np.unique(columns)) < len(columns):
        raise NotCoveredError(f"tree {index} was given a column twice, so its draws cannot be replayed")
    parameters = forest.parameters
    if parameters.get(f"{nested}ccp_alpha", 0.0) != 0.0:
        raise NotCoveredError("its trees were pruned, so their draws cannot be replayed")
    if _splitter(forest) not in ("best", "random"):
        raise NotCoveredError("the file does not tell its trees' splitter, so their draws cannot be replayed")
    n_samples = forest.n_samples if forest.n_samples is not None else int(tree.n_distinct[0])
    return _Rules(
        seed=int(RandomState(seed).randint(0, RAND_R_MAX)),
        columns=columns,
        max_features=columns_drawn(forest, nested, len(columns)),
        random=has_random_splits(forest),
        best_first=_told(parameters, f"{nested}max_leaf_nodes") is not None,
        outcome=outcomes(forest, tree, nested, n_samples),
    )


def has_random_splits(forest: Forest) -> bool:
    """Return whether thresholds were drawn at random, by what the file tells."""
    return _splitter(forest) == "random"


def _splitter(forest: Forest) -> object:
    if forest.kind.startswith(("RandomForest", "ExtraTrees")):
        return "random" if forest.kind.startswith("ExtraTrees") else "best"
    return forest.parameters.get("estimator__splitter" if forest.seeds_from == "ensemble" else "splitter")


def _told(parameters: dict[str, object], name: str) -> object:
    if name not in parameters:
        raise NotCoveredError(f"the file does not tell {name}, so its trees' draws cannot be replayed")
    return parameters[name]


def columns_drawn(forest: Forest, nested: str, n_columns: int) -> int:
    """Return how many columns a node draws at least, among so many.

    Raises
    ------
    NotCoveredError
        Where the file does not tell it.
    """
    return _max_features(_told(forest.parameters, f"{nested}max_features"), n_columns)


def least_in_leaf(forest: Forest, nested: str, n_samples: int) -> int:
    """Return how many rows a leaf has at least, by ``min_samples_leaf``.

    Raises
    ------
    NotCoveredError
        Where the file does not tell it.
    """
    return _least_rows(_told(forest.parameters, f"{nested}min_samples_leaf"), n_samples, "min_samples_leaf")


def _max_features(given: object, n_columns: int) -> int:
    if given is None:
        return n_columns
    if given in ("sqrt", "log2"):
        return max(1, int(np.sqrt(n_columns) if given == "sqrt" else np.log2(n_columns)))
    if type(given) is int:
        return given
    if type(given) is float and given > 0:
        return max(1, int(given * n_columns))
    raise NotCoveredError("its max_features is not understood, so its trees' draws cannot be replayed")


def _least_rows(given: object, n_samples: int, name: str) -> int:
    if type(given) is int:
        return given
    if type(given) is float:
        return math.ceil(given * n_samples)
    raise NotCoveredError(f"its {name} is not understood, so its trees' draws cannot be replayed")


def outcomes(forest: Forest, tree: Tree, nested: str, n_samples: int) -> IntArray:
    """Return what became of each node (`draws.SKIPPED` and so on), shape (n_nodes,).

    Raises
    ------
    NotCoveredError
        Where the file does not tell it.
    """
    parameters = forest.parameters
    in_leaf = least_in_leaf(forest, nested, n_samples)
    told = _told(parameters, f"{nested}min_samples_split")
    to_split = max(_least_rows(told, n_samples, "min_samples_split"), 2, 2 * in_leaf)
    share = _told(parameters, f"{nested}min_weight_fraction_leaf")
    decrease = _told(parameters, f"{nested}min_impurity_decrease")
    deepest = _told(parameters, f"{nested}max_depth")
    if not (
        isinstance(share, (int, float))
        and isinstance(decrease, (int, float))
        and isinstance(deepest, (int, type(None)))
    ):
        raise NotCoveredError("its limits to growth are not understood, so its trees' draws cannot be replayed")
    inner = tree.left >= 0
    skipped = tree.n_distinct < to_split
    if deepest is not None:
        skipped |= depths(tree) >= deepest
    least_weight = 2.0 * share * tree.weight[0]
    skipped |= tree.weight < least_weight * (1 - 1e-9)
    unsure = ~skipped & (tree.weight < least_weight * (1 + 1e-9))
    pure, maybe = _purity(forest, tree)
    skipped |= pure
    unsure |= maybe & ~skipped
    free = in_leaf > 1 or share != 0 or decrease != 0 or _told(parameters, f"{nested}max_leaf_nodes") is not None
    outcome = np.full(tree.n_nodes, TRIED if free else ALL_CONSTANT, dtype=np.int64)
    outcome[unsure] = UNKNOWN_IF_TRIED if free else UNKNOWN_IF_ALL_CONSTANT
    outcome[skipped] = SKIPPED
    outcome[inner] = SPLIT
    return outcome


def _purity(forest: Forest, tree: Tree) -> tuple[BoolArray, BoolArray]:
    """Return which nodes were surely leaves for their impurity, and which perhaps.

    Rounding decides where a regressor's targets tie or weights are not whole: scikit-learn takes up to 2^-52 for pure.
    """
    if forest.classes is None:
        return np.zeros(tree.n_nodes, dtype=np.bool_), tree.n_distinct > 1
    one_class = np.count_nonzero(tree.value, axis=1) <= 1
    whole = bool((tree.weight == np.rint(tree.weight)).all()) and tree.weight[0] < 2**26
    nothing = np.zeros(tree.n_nodes, dtype=np.bool_)
    return (one_class, nothing) if whole else (nothing, one_class)


def depths(tree: Tree) -> IntArray:
    """Return how many nodes are above each node, shape (n_nodes,)."""
    depth = np.zeros(tree.n_nodes, dtype=np.int64)
    for node in np.flatnonzero(tree.left >= 0).tolist():
        depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
    return depth


def boxes(tree: Tree, bounds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return which values of each column the thresholds above a node leave.

    Parameters
    ----------
    tree : Tree
    bounds : ndarray of float64, shape (n_columns, 2)
        At the root; single precision is made of them.

    Returns
    -------
    least, most : ndarray of float64, shape (n_nodes, n_columns)
        Values that single precision can hold, both included.
    """
    least, most = np.empty((2, tree.n_nodes, len(bounds)))
    least[0], most[0] = bounds.astype(np.float32).T
    for node in np.flatnonzero(tree.left >= 0).tolist():
        left, right, column = tree.left[node], tree.right[node], tree.feature[node]
        least[[left, right]], most[[left, right]] = least[node], most[node]
        below = np.float32(tree.threshold[node])
        if below > tree.threshold[node]:
            below = np.nextafter(below, np.float32(-np.inf))
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
    rules: _Rules,
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
    lost, total, layer, weight, code, winner, start, drawn, uniform, constant = follow(
        rules.seed, grown, splitter, _WIDTH, _FLOOR, _MOST
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
        if tree.left[node] >= 0 and share[edges[winner[edges] == winner[likeliest]]].sum() >= 1 - DOUBT:
            own[node] = winner[likeliest]
        same = edges[code[edges] == code[likeliest]]
        in_sync[node] = share[same].sum() >= 1 - DOUBT
        if not in_sync[node]:
            continue
        length = start[likeliest + 1] - start[likeliest]
        places = start[same][:, None] + np.arange(length)
        weight = share[same][:, None]
        mine = uniform[places[same == likeliest][0]]
        features.append(rules.columns[drawn[places[0]]])
        uniforms.append(np.where((weight * (uniform[places] == mine)).sum(axis=0) >= 1 - DOUBT, mine, -1))
        constants.append((weight * constant[places]).sum(axis=0) >= 1 - DOUBT)
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
