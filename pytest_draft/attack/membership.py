"""Whether a row is among those that a model was trained on, by what the leaves that it reaches say.

The seeds say how often each tree drew each position among the training rows. The row at a position has room, in each
tree that drew it, in the leaf that it reaches: where it has none at any position, it is proved to be no training row.
Where it has, what speaks for a position is a likelihood. Of d rows and n draws in a leaf, one was drawn m times with
the probability C(n, m) S(n - m, d - 1) / (d S(n, d)), where S are Stirling numbers of the second kind; and the trees
that drew a row answer it more truly than the others do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array, IntArray, Rows
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.observations import BoostedSums, ClassCounts, RowNumbers, Shares, TargetMeans
from pytest_draft.attack.boosted.staged import stages
from pytest_draft.attack.counts.occupancy import log_stirling
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.leaf_answers import Model, alone_in_boosted, answers_of, room_of, rounding_of, shares_of
from pytest_draft.domain import Domain
from pytest_draft.errors import NotCoveredError
from pytest_draft.timebox import TimeBox

BY_DRAWS, BY_TREES, ANSWER, LEAVES, SIZES = (
    "the likelihood of the draws",
    "trees that drew it beside the others",
    "the model's answer",
    "what each leaf says",
    "the sizes of leaves",
)
"""The scores, by name; the first two take the seeds."""

_NONE = -1e4
"""The logarithm of what is impossible: finite, so that products with 0 stay numbers."""

_LARGEST_LEAF = 200
"""Draws of a leaf beyond which how often one row was drawn says nothing worth a look."""

_MOST_TIMES = 3
"""So often drawn, or more often: the trees beside which others are held differ hardly."""

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
    answer, leaves = _answer(model, rows, answers), _leaves(model, rows, answers, n_training_rows, timebox)
    possible = np.asarray((leaves.most > 0).all(axis=1) | _unseen_by_trees(model))
    scores = {ANSWER: answer, LEAVES: np.log(_positive(leaves.closeness)).mean(axis=1)}
    if leaves.draws.any():
        scores[SIZES] = -np.log(np.maximum(leaves.draws, 1)).mean(axis=1)
    if isinstance(model, Forest) and times is not None and (model.draws.drawn or model.draws.times is not None):
        possible, by_draws, by_trees = _by_positions(leaves, times, timebox)
        scores |= {BY_DRAWS: by_draws, BY_TREES: by_trees}
    scores = {name: np.where(possible, score, -np.inf) for name, score in scores.items()}
    return Membership(possible, _certain(model, rows, answers, leaves, domain, timebox), scores)


def _unseen_by_trees(model: Model) -> bool:
    """Return whether some training row may be in no tree, or in none whose leaves hold it."""
    if not isinstance(model, Forest):
        return False
    return model.draws.drawn or not model.draws.stored or model.draws.uneven


def _answer(model: Model, rows: Rows, answers: FloatArray) -> FloatArray:
    """Return how well a model's answer is that of each row."""
    mean = answers_of(model, rows).mean(axis=0)
    if model.classes is None:
        return np.asarray(-np.abs(mean[:, 0] - answers))
    return np.asarray(mean[np.arange(len(rows)), answers.astype(np.int64)])


def _positive(closeness: FloatArray) -> FloatArray:
    """Return shares, or how near a target is to what its leaves say, as numbers from 0 to 1."""
    if closeness.min(initial=0.0) < 0:
        scale = np.median(np.abs(closeness)) or 1.0
        closeness = 1 / (1 + np.exp(np.clip(-closeness / scale, -30, 30)))
    return np.asarray(np.clip(closeness, 0.01, 1.0))


def _leaves(model: Model, rows: Rows, answers: FloatArray, n_training_rows: int, timebox: TimeBox) -> _Leaves:
    """Return what the leaves that rows reach say of them."""
    if not isinstance(model, Forest):
        label, at = answers.astype(np.int64), model.captured(rows)
        share = answers_of(model, rows)[0][np.arange(len(rows)), label][:, None]
        number = np.ones((len(rows), 1), np.int64) if model.counts is None else model.counts[at, label][:, None]
        whole = np.zeros_like(number) if model.counts is None else model.counts[at].sum(axis=1)[:, None]
        return _Leaves(share, np.minimum(number, 1), np.minimum(number, 1), whole, whole)
    if isinstance(model.observation, RowNumbers):
        raise NotCoveredError(f"what the leaves of its {model.kind} say of classes is not read")
    columns, found = np.ascontiguousarray(rows.T), []
    of_boosted = _boosted(model, rows, answers) if isinstance(model.observation, BoostedSums) else None
    for t, tree in enumerate(model.trees):
        timebox.require()
        leaf = leaf_positions(tree, columns)
        draws, distinct = _sizes(model, t)
        if of_boosted is not None:
            most = (~of_boosted[1][t]).astype(np.int64)
            found.append((of_boosted[0][t], most, most, draws[leaf], distinct[leaf]))
        elif model.classes is None:
            least, most = _room_for_target(model, tree, leaf, answers, draws[leaf], distinct[leaf])
            found.append(
                (-np.abs(tree.value[tree.leaves][leaf, 0] - answers), least, most, draws[leaf], distinct[leaf])
            )
        else:
            value, label = tree.value[tree.leaves], answers.astype(np.int64)
            least, most = _room_for_class(model, t, n_training_rows, draws, distinct)
            of_class = shares_of(value)[leaf, label]
            found.append((of_class, least[leaf, label], most[leaf, label], draws[leaf], distinct[leaf]))
    return _Leaves(*(np.stack(part, axis=1) for part in zip(*found, strict=True)))


def _sizes(forest: Forest, index: int) -> tuple[IntArray, IntArray]:
    """Return the draws and the different rows in each leaf of a tree; 0 where that is not known."""
    tree, unknown = forest.trees[index], np.zeros(len(forest.trees[index].leaves), np.int64)
    number, said = tree.n_distinct[tree.leaves], forest.observation
    if isinstance(said, BoostedSums):
        return (number, number) if said.counted else (unknown, unknown)
    if not isinstance(said, (ClassCounts, TargetMeans)):
        return unknown, unknown
    try:
        draws = forest.counts(index)[tree.leaves].sum(axis=1)
    except NotCoveredError:  # weights that are not in the file
        return unknown, unknown
    return draws, draws if forest.draws.each_once else number


def _room_for_class(
    forest: Forest, index: int, n_training_rows: int, draws: IntArray, distinct: IntArray
) -> tuple[IntArray, IntArray]:
    """Return how often a row of each class in each leaf of a tree was drawn at least and at most."""
    said = forest.observation
    counts = forest.trees[index].value[forest.trees[index].leaves]
    if not isinstance(said, (ClassCounts, Shares)):
        return np.ones(counts.shape, np.int64), np.full(counts.shape, n_training_rows)
    most = room_of(forest, index, n_training_rows)
    if not draws.any() or not distinct.any():
        return np.minimum(most, 1), most
    alone = (most > 0).sum(axis=1) == distinct  # one row of each class
    least = np.where(alone[:, None], most, np.minimum(most, 1))
    return least, np.minimum(most, (draws - distinct + 1)[:, None])


def _room_for_target(
    forest: Forest, tree: Tree, leaf: Int32Array, targets: FloatArray, draws: IntArray, distinct: IntArray
) -> tuple[IntArray, IntArray]:
    """Return how often a row with each target was drawn at least and at most, by the leaf's mean and variance.

    Of n draws with a variance v, at most n v / (v + d²) lie as far as d from the mean.
    """
    one, any_number = np.ones(len(leaf), np.int64), np.full(len(leaf), 1 << 30)
    if not isinstance(forest.observation, TargetMeans) or not draws.any():
        return one, any_number
    most = np.where(distinct > 0, draws - distinct + 1, draws)
    least = np.where(distinct == 1, most, 1)
    parameters = forest.tree_parameters
    if parameters.get("monotonic_cst") is not None:
        return least, most
    value = tree.value[tree.leaves][leaf, 0]
    largest = max(float(np.abs(value).max()), float(np.abs(targets).max()))
    off = np.maximum(np.abs(value - targets) - rounding_of(np.array([largest])), 0.0)
    criterion = parameters.get("criterion", "squared_error")
    if tree.impurity is not None and tree.impurity.any() and criterion in ("squared_error", "friedman_mse", "mse"):
        variance = np.maximum(tree.impurity[tree.leaves][leaf], 0.0) + 1e-10 * largest**2
        most = np.minimum(most, np.floor(draws * variance / (variance + off**2) + 1e-6).astype(np.int64))
    return least, np.where((distinct == 1) & (off > 0), 0, most)


def _boosted(forest: Forest, rows: Rows, answers: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return how far each tree leads a row to its own label or target, and whether it is excluded there.

    The shapes are (n_trees, n_rows). A row alone in a leaf has the target that the leaf tells.
    """
    said = forest.observation
    assert isinstance(said, BoostedSums)
    label = np.zeros(len(rows), np.int64) if forest.classes is None else answers.astype(np.int64)
    steps = []
    for stage in stages(forest, np.ascontiguousarray(rows.T).astype(np.float64)):
        gradient = stage.gradient[np.arange(len(rows)), label]
        tree = forest.trees[stage.tree]
        step = tree.value[tree.leaves, 0][stage.leaf]
        steps.append(-step * (gradient if forest.classes is not None else gradient - answers))
    excluded = np.zeros((forest.n_trees, len(rows)), dtype=np.bool_)
    if said.counted and said.class_weight is None and said.unknown is None and said.loss != "softmax":
        alone = alone_in_boosted(forest, rows)
        rounding = 0.1 if forest.classes is not None else 1e3 * rounding_of(answers, forest)
        excluded = np.abs(alone - answers) > rounding  # never of NaN
    return np.stack(steps), excluded


def _by_positions(leaves: _Leaves, times: IntArray, timebox: TimeBox) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Return which rows have room at some position, and two scores: a likelihood, and the largest correlation."""
    n_trees, n_positions = times.shape
    often = [(times == m).astype(np.float32) for m in range(int(times.max(initial=0)) + 1)]
    drawn = np.minimum(times, _MOST_TIMES).astype(np.float64)
    drawn -= drawn.mean(axis=0)
    drawn = (drawn / np.maximum(np.sqrt((drawn**2).sum(axis=0)), 1e-9)).astype(np.float32)
    scale = 0.05 * float(leaves.closeness.std()) + 1e-300
    chances, found = np.log(_chances(times)), []
    for some in _parts(len(leaves.most), n_positions):
        timebox.require()
        likelihood = np.zeros((some.stop - some.start, n_positions), np.float32)
        for m in range(1, len(often)):
            room = (leaves.least[some] <= m) & (m <= leaves.most[some])
            of_leaf = _log_chance(m, leaves.draws[some], leaves.distinct[some], chances[m])
            likelihood += np.where(room, of_leaf, _NONE).astype(np.float32) @ often[m]
        possible = likelihood > _NONE / 2
        closeness = leaves.closeness[some] - leaves.closeness[some].mean(axis=1, keepdims=True)
        closeness /= np.sqrt((closeness**2).sum(axis=1, keepdims=True) + n_trees * scale**2)
        correlation = closeness.astype(np.float32) @ drawn
        likelihood -= n_trees / 2 * np.sign(correlation) * np.log1p(-np.minimum(correlation**2, 0.999))
        total = np.where(possible, likelihood, -np.inf)
        found.append(
            (
                possible.any(axis=1),
                logsumexp(total, axis=1) - np.log(n_positions),
                np.where(possible, correlation, -1.0).max(axis=1, initial=-1.0),
            )
        )
    possible, by_draws, by_trees = (np.concatenate(part) for part in zip(*found, strict=True))
    return possible, by_draws, by_trees


def _parts(n_rows: int, n_positions: int) -> Iterator[slice]:
    size = max(1, _ENTRIES // n_positions)
    return (slice(begin, min(n_rows, begin + size)) for begin in range(0, n_rows, size))


def _chances(times: IntArray) -> FloatArray:
    """Return which share of the rows that a tree drew it drew so often, by how often; the first is of no use."""
    number = np.bincount(times.ravel()).astype(np.float64)
    return np.asarray(np.maximum(number / max(1.0, number[1:].sum()), 1e-12))


def _log_chance(m: int, draws: IntArray, distinct: IntArray, usual: float) -> FloatArray:
    """Return how much likelier it is that a row of a leaf was drawn m times than of any: a logarithm, 0 if unknown."""
    known = (distinct > 0) & (draws <= _LARGEST_LEAF) & (draws > m) & (distinct > 1)
    n, d = np.where(known, draws, 2), np.where(known, distinct, 2)
    ways = gammaln(n + 1) - gammaln(m + 1) - gammaln(n - np.minimum(m, n) + 1)
    chance = ways + _STIRLING[n - np.minimum(m, n), d - 1] - np.log(d) - _STIRLING[n, d]
    alone = (distinct == 1) & (draws == m)
    return np.asarray(np.where(known, np.maximum(chance - usual, -50.0), np.where(alone, -usual, 0.0)))


_STIRLING = log_stirling(_LARGEST_LEAF)


def _certain(
    model: Model, rows: Rows, answers: FloatArray, leaves: _Leaves, domain: Domain, timebox: TimeBox
) -> BoolArray:
    """Return which rows must be in the data: a leaf that no other kind of row reaches holds their label or target."""
    certain: BoolArray = np.zeros(len(rows), dtype=np.bool_)
    whole = all(one.kind != "numeric" and not one.missing for one in domain.attributes)
    said = model.observation if isinstance(model, Forest) else None
    counted = isinstance(said, (ClassCounts, TargetMeans)) or (isinstance(said, Shares) and said.decimals is None)
    if not (whole and counted) or not isinstance(model, Forest) or np.isnan(rows).any():
        return certain
    inside = (domain.encoded(domain.indices(rows)) == rows).all(axis=1)
    columns = np.ascontiguousarray(rows.T)
    here = leaves.most > 0
    if model.classes is None:
        here &= leaves.distinct == 1
    for t, tree in enumerate(model.trees):
        timebox.require()
        if here[:, t].any():
            certain |= here[:, t] & _of_one_cell(tree, domain)[leaf_positions(tree, columns)]
    return np.asarray(certain & inside)


def _of_one_cell(tree: Tree, domain: Domain) -> BoolArray:
    """Return which leaves only one kind of row can reach."""
    sizes = [one.n_values for one in domain.attributes]
    ends = np.cumsum([0, *sizes])
    value = np.zeros((domain.n_columns, ends[-1]))
    owner = np.repeat(np.arange(len(sizes)), sizes)
    for a, one in enumerate(domain.attributes):
        value[list(one.columns), ends[a] : ends[a + 1]] = one.encoded(np.arange(sizes[a])).T
    inside = np.ones((tree.n_nodes, ends[-1]), dtype=np.bool_)
    nodes = np.array([0])[tree.left[:1] >= 0]
    while len(nodes):
        column = tree.feature[nodes]
        goes = value[column].astype(np.float32) <= tree.threshold[nodes][:, None]
        other = owner != domain.attribute_of_column[column][:, None]
        inside[tree.left[nodes]] = inside[nodes] & (goes | other)
        inside[tree.right[nodes]] = inside[nodes] & (~goes | other)
        nodes = np.concatenate([tree.left[nodes], tree.right[nodes]])
        nodes = nodes[tree.left[nodes] >= 0]
    return np.asarray((np.add.reduceat(inside[tree.leaves], ends[:-1], axis=1) == 1).all(axis=1))
