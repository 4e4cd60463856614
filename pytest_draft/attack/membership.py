"""Whether a row is among those that a model was trained on, by what the leaves that it reaches say.

The seeds say how often each tree drew each position among the training rows. The row at a position has room, in each
tree that drew it, in the leaf that it reaches: where it has none at any position, it is proved to be no training row.
Where it has, what speaks for a position is a likelihood. Of d rows and n draws in a leaf, one was drawn m times with
the probability C(n, m) S(n - m, d - 1) / (d S(n, d)), where S are Stirling numbers of the second kind; and the trees
that drew a row answer it more truly than the others do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray, Rows
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.observations import BoostedSums, ClassCounts, RowNumbers, Shares, TargetMeans
from pytest_draft.attack.boosted.staged import boosted, stages
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.evidence.answers import log_stirling
from pytest_draft.attack.leaf_answers import Model, alone_in_boosted, answers_of, room_of, rounding_of, shares_of
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError
from pytest_draft.timebox import TimeBox

DRAWS, ANSWER, LEAVES, SIZES = "draws", "the model's answer", "what each leaf says", "the sizes of leaves"
"""The scores, by name. The first is the likelihood of the draws, and takes the seeds."""

_NONE = -1e4
"""The logarithm of what is impossible: finite, so that products with 0 stay numbers."""

_LARGEST_LEAF = 200
"""Draws of a leaf beyond which how often one row was drawn says nothing worth a look."""

_MOST_TIMES = 3
"""Rows that were drawn so often, or more often, count alike where trees that drew them are held beside others."""

_LITTLE = 1e-6
"""Of the score by sizes, so that it decides between answers that are all alike."""

_ENTRIES = 4_000_000
"""Pairs of a row and a position that are looked at together."""


@dataclass(frozen=True, eq=False, repr=False)
class Membership:
    """What a file says of rows that may have been in its data. Its repr shows none."""

    possible: BoolArray
    """Shape (n_rows,). False where it is proved that no training row has these features and this label or target."""
    certain: BoolArray
    """Shape (n_rows,). Where it is proved that one has them."""
    scores: dict[str, FloatArray]
    """By name, shape (n_rows,): the higher, the likelier; what is not possible is least likely by each."""


@dataclass(frozen=True, eq=False, repr=False)
class _Leaves:
    """The leaves that some rows reach, each array of shape (n_rows, n_trees). Its repr shows none."""

    closeness: FloatArray
    """How well a leaf answers the row's own label or target."""
    least: IntArray
    most: IntArray
    """`least` and `most`: how often a tree that drew the row can have drawn it."""
    draws: IntArray
    distinct: IntArray
    """`draws` and `distinct`: draws in a leaf, and rows among them; 0 where that is not known."""


def membership(
    model: Model,
    rows: Rows,
    answers: FloatArray,
    times: IntArray | None,
    n_training_rows: int,
    domain: Domain,
    timebox: TimeBox,
) -> Membership:
    """Return what a file says of whether rows are among its training rows.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    answers : ndarray of float64, shape (n_rows,)
        Their labels, as indices into the model's classes, or targets.
    times : ndarray of int64, shape (n_trees, n_positions), or None
        How often each tree saw each position among the training rows; None where that is not known.

    Raises
    ------
    NotCoveredError
        Where what leaves say of classes is not read.
    OutOfTimeError
    """
    label = np.zeros(len(rows), np.int64) if model.classes is None else answers.astype(np.int64)
    answer = answers_of(model, rows).mean(axis=0)[np.arange(len(rows)), label]
    leaves = _leaves(model, rows, answers, label, n_training_rows, timebox)
    usual = float(np.median(np.abs(leaves.closeness))) or 1.0
    sizes = -np.log(np.maximum(leaves.draws, 1)).mean(axis=1)
    scores = {
        ANSWER: (-np.abs(answer - answers) if model.classes is None else answer) + _LITTLE * sizes,
        LEAVES: np.tanh(leaves.closeness / usual).mean(axis=1) + _LITTLE * sizes,
        SIZES: sizes,
    }
    possible = np.asarray((leaves.most > 0).all(axis=1))
    if isinstance(model, Forest) and times is not None and (model.draws.drawn or model.draws.times is not None):
        possible, scores[DRAWS] = _by_positions(leaves, times, timebox)
    elif isinstance(model, Forest) and (model.draws.drawn or not model.draws.stored or model.draws.uneven):
        possible[:] = True  # some row may be in no tree
    scores = {name: np.where(possible, score, -np.inf) for name, score in scores.items()}
    certain = _certain(model, rows, leaves, domain, timebox) if isinstance(model, Forest) else ~possible & possible
    return Membership(possible, certain, scores)


def _leaves(
    model: Model, rows: Rows, answers: FloatArray, label: IntArray, n_training_rows: int, timebox: TimeBox
) -> _Leaves:
    """Return what the leaves that rows reach say of them."""
    everyone, found = np.arange(len(rows)), []
    if not isinstance(model, Forest):
        counts = np.ones((len(model.rules), model.n_classes), np.int64) if model.counts is None else model.counts
        number = counts[model.captured(rows)]
        most, whole = np.minimum(number[everyone, label], 1)[:, None], number.sum(axis=1)[:, None]
        return _Leaves(answers_of(model, rows)[0][everyone, label][:, None], most, most, whole, whole)
    if isinstance(model.observation, RowNumbers) or not model.observation.of_labels:
        raise NotCoveredError(f"what the leaves of its {model.kind} say of classes is not read")
    columns, one = np.ascontiguousarray(rows.T), np.ones(len(rows), np.int64)
    if isinstance(model.observation, BoostedSums):
        steps, excluded = _boosted(model, rows, answers, label)
    for t, tree in enumerate(model.trees):
        timebox.require()
        leaf = leaf_positions(tree, columns)
        value = tree.value[tree.leaves][leaf]
        draws, distinct = (size[leaf] for size in _sizes(model, t))
        if isinstance(model.observation, BoostedSums):
            closeness, room = steps[t], (one, one - excluded[t])
        elif model.classes is None:
            closeness, room = (
                -np.abs(value[:, 0] - answers),
                _room_for_target(model, tree, leaf, answers, draws, distinct),
            )
        elif isinstance(model.observation, (ClassCounts, Shares)):
            closeness, own = shares_of(value)[everyone, label], room_of(model, t, n_training_rows)[leaf]
            alone = (own > 0).sum(axis=1) == distinct  # one row of each class, if rows are known
            most = np.where(distinct > 0, np.minimum(own[everyone, label], draws - distinct + 1), own[everyone, label])
            room = np.where(alone & (distinct > 0), most, 1), most
        else:
            closeness, room = shares_of(value)[everyone, label], (one, n_training_rows * one)
        found.append((closeness, *room, draws, distinct))
    return _Leaves(*(np.stack(part, axis=1) for part in zip(*found, strict=True)))


def _sizes(forest: Forest, index: int) -> tuple[IntArray, IntArray]:
    """Return the draws and the different rows in each leaf of a tree; 0 where that is not known."""
    tree, said = forest.trees[index], forest.observation
    number = tree.n_distinct[tree.leaves]
    if isinstance(said, BoostedSums):
        return number, number
    try:
        counted = isinstance(said, (ClassCounts, TargetMeans))
        draws = forest.counts(index)[tree.leaves].sum(axis=1) if counted else 0 * number
    except NotCoveredError:  # weights that are not in the file
        draws = 0 * number
    return draws, np.where(draws > 0, draws if forest.draws.each_once else number, 0)


def _room_for_target(
    forest: Forest, tree: Tree, leaf: Int32Array, targets: FloatArray, draws: IntArray, distinct: IntArray
) -> tuple[IntArray, IntArray]:
    """Return how often rows were drawn at least and at most, by means and variances of the leaves they reach.

    Of n draws with a variance v, at most n v / (v + d²) lie as far as d from the mean.
    """
    if not isinstance(forest.observation, TargetMeans) or not draws.all():
        return np.ones(len(leaf), np.int64), np.full(len(leaf), 1 << 30)
    most = np.where(distinct > 0, draws - distinct + 1, draws)
    least, given = np.where(distinct == 1, most, 1), forest.tree_parameters
    if given.get("monotonic_cst") is not None:
        return least, most
    value = tree.value[tree.leaves][leaf, 0]
    largest = np.abs(np.append(value, targets)).max()
    off = np.maximum(np.abs(value - targets) - rounding_of(np.array([largest])), 0.0)
    of_squares = given.get("criterion", "squared_error") in ("squared_error", "friedman_mse", "mse")
    if of_squares and tree.impurity is not None and tree.impurity.any():
        variance = np.maximum(tree.impurity[tree.leaves][leaf], 0.0) + 1e-10 * largest**2
        most = np.minimum(most, np.floor(draws * variance / (variance + off**2) + 1e-6).astype(np.int64))
    return least, np.where((distinct == 1) & (off > 0), 0, most)


def _boosted(forest: Forest, rows: Rows, answers: FloatArray, label: IntArray) -> tuple[FloatArray, BoolArray]:
    """Return how far each tree leads rows to their own labels or targets, and which of them it excludes.

    The shapes are (n_trees, n_rows). A row alone in a leaf has the target that the leaf tells.
    """
    said, steps = boosted(forest), []
    for stage in stages(forest, np.ascontiguousarray(rows.T).astype(np.float64)):
        gradient = stage.gradient[np.arange(len(rows)), label] - (answers if forest.classes is None else 0.0)
        tree = forest.trees[stage.tree]
        steps.append(-gradient * tree.value[tree.leaves, 0][stage.leaf])
    if not said.counted or said.class_weight is not None or said.unknown is not None or said.loss == "softmax":
        return np.stack(steps), np.zeros((len(steps), len(rows)), dtype=np.bool_)
    rounding = 1e3 * rounding_of(answers, forest) if forest.classes is None else 0.1
    return np.stack(steps), np.abs(alone_in_boosted(forest, rows) - answers) > rounding  # never of NaN


def _by_positions(leaves: _Leaves, times: IntArray, timebox: TimeBox) -> tuple[BoolArray, FloatArray]:
    """Return which rows have room at some position, and the likelihood of their draws: a logarithm, over positions."""
    n_trees, n_positions = times.shape
    often = [(times == m).astype(np.float32) for m in range(int(times.max(initial=0)) + 1)]
    chance = np.array([number.sum(dtype=np.float64) for number in often]) / max(1, np.count_nonzero(times))
    beside = np.minimum(times, _MOST_TIMES) - np.minimum(times, _MOST_TIMES).mean(axis=0)
    beside = (beside / np.maximum(np.linalg.norm(beside, axis=0), 1e-9)).astype(np.float32)
    least_spread = 0.05**2 * n_trees * leaves.closeness.var() + 1e-300
    possible, score = np.zeros(len(leaves.most), dtype=np.bool_), np.empty(len(leaves.most))
    at_once = max(1, _ENTRIES // n_positions)
    for begin in range(0, len(score), at_once):
        timebox.require()
        some = slice(begin, begin + at_once)
        likelihood = np.zeros((len(score[some]), n_positions), np.float32)
        for m in range(1, len(often)):
            room = (leaves.least[some] <= m) & (m <= leaves.most[some])
            of_leaf = _log_chance(m, leaves.draws[some], leaves.distinct[some], np.log(max(chance[m], 1e-12)))
            likelihood += np.where(room, of_leaf, _NONE).astype(np.float32) @ often[m]
        closeness = leaves.closeness[some] - leaves.closeness[some].mean(axis=1, keepdims=True)
        closeness /= np.sqrt((closeness**2).sum(axis=1, keepdims=True) + least_spread)
        alike = closeness.astype(np.float32) @ beside
        total = likelihood - n_trees / 2 * np.sign(alike) * np.log1p(-np.minimum(alike**2, 0.999))
        total[likelihood < _NONE / 2] = -np.inf
        possible[some], score[some] = np.isfinite(total).any(axis=1), logsumexp(total, axis=1) - np.log(n_positions)
    return possible, score


_STIRLING = log_stirling(_LARGEST_LEAF)


def _log_chance(m: int, draws: IntArray, distinct: IntArray, usual: float) -> FloatArray:
    """Return how much likelier it is that a row of a leaf was drawn m times than of any: a logarithm, 0 if unknown."""
    known = (distinct > 1) & (m < draws) & (draws <= _LARGEST_LEAF)
    n, d = np.where(known, draws, m + 2), np.where(known, distinct, 2)
    ways = gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1)
    chance = ways + _STIRLING[n - m, d - 1] - np.log(d) - _STIRLING[n, d]
    alone = np.where((distinct == 1) & (draws == m), -usual, 0.0)
    return np.asarray(np.where(known, np.maximum(chance - usual, -50.0), alone))


def _certain(forest: Forest, rows: Rows, leaves: _Leaves, domain: Domain, timebox: TimeBox) -> BoolArray:
    """Return which rows must be in the data: a leaf that no other kind of row reaches holds their label or target."""
    said, found = forest.observation, np.zeros(len(rows), dtype=np.bool_)
    surely = isinstance(said, (ClassCounts, TargetMeans)) or (isinstance(said, Shares) and said.decimals is None)
    if not surely or np.isnan(rows).any() or any(one.kind == "numeric" or one.missing for one in domain.attributes):
        return found
    holds = (leaves.most > 0) & ((leaves.distinct == 1) | (forest.classes is not None))
    columns = np.ascontiguousarray(rows.T)
    for t in np.flatnonzero(holds.any(axis=0)):
        timebox.require()
        found |= holds[:, t] & _of_one_kind(forest.trees[t], domain)[leaf_positions(forest.trees[t], columns)]
    return np.asarray(found & (domain.encoded(domain.indices(rows)) == rows).all(axis=1))


def _of_one_kind(tree: Tree, domain: Domain) -> BoolArray:
    """Return which leaves only one kind of row can reach."""
    sizes = [one.n_values for one in domain.attributes]
    ends, owner = np.cumsum([0, *sizes]), np.repeat(np.arange(len(sizes)), sizes)
    value = np.zeros((domain.n_columns, ends[-1]), np.float32)
    for a, one in enumerate(domain.attributes):
        value[list(one.columns), ends[a] : ends[a + 1]] = one.encoded(np.arange(sizes[a])).T
    inside = np.ones((tree.n_nodes, ends[-1]), dtype=np.bool_)
    nodes = np.zeros(1, np.int64)
    while len(nodes := nodes[tree.left[nodes] >= 0]):
        column = tree.feature[nodes]
        left, other = (
            value[column] <= tree.threshold[nodes][:, None],
            owner != domain.attribute_of_column[column][:, None],
        )
        inside[tree.left[nodes]], inside[tree.right[nodes]] = (
            inside[nodes] & (left | other),
            inside[nodes] & (~left | other),
        )
        nodes = np.concatenate([tree.left[nodes], tree.right[nodes]])
    return np.asarray((np.add.reduceat(inside[tree.leaves], ends[:-1], axis=1) == 1).all(axis=1))
