"""What a forest's nodes say of its rows: counts where they are consistent, else the answers of its leaves.

A model predicts by the shares of the classes in its leaves alone, so whoever releases one can take the counts out of
it. What stands in their place may be zero, the same everywhere, one row a leaf with sums above, or anything that does
not add up: such numbers are taken for no counts, and never for damage. The leaves then hold shares, exactly or rounded,
or labels. Where anything else is left of the counts, `Observation.also` says so, and the file cannot pass.

Rounded shares are told from exact ones by their decimals. A share is a quotient of two whole numbers. A few of these
are short decimals by themselves (a half, four fifths, one eighth), and most are not: of shares with such denominators
alone there is no natural explanation once there are many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.arrays import AnyArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import (
    Answers,
    ClassCounts,
    MeanTargets,
    Observation,
    Shares,
    TargetMeans,
    WinningLabels,
)
from pytest_draft.artifact.forest.validate import Nodes, Values, counted, frozen, without_rows
from pytest_draft.errors import CorruptArtifactError

_TOLERANCE = 1e-6
"""How far sums may be off, relative to a node's weight."""

_MOST_OFTEN = 16
"""How often one row is drawn for one tree at most: in a bootstrap, more happens less than once in 10^13 cases."""


@dataclass(frozen=True)
class Size:
    """What a file says of the number of rows, apart from its trees."""

    draws: Draws
    total: int | None
    """What the weight of each tree's root must be, where the file says so."""
    weighted: bool
    """Whether class or sample weights may have scaled the weights."""
    averages: bool = True
    """Whether values are means, of targets or of classes, so that a node's follows from its children's."""


@dataclass(frozen=True, eq=False)
class Observed:
    """What the trees of a forest say of their rows; the fields are those of `Forest`."""

    trees: tuple[Tree, ...]
    observation: Observation


def observe(forest: Sequence[Nodes], size: Size, *, classifier: bool) -> Observed:
    """Say what the trees of a forest say of their rows."""
    values = None if _one_row_each(forest, size) else _counted(forest, size, classifier=classifier)
    if values is not None and not any(_rows_made_up(nodes.tree, size, classifier=classifier) for nodes in forest):
        counts = TargetMeans() if values == "means" else ClassCounts(values)
        return Observed(tuple(nodes.tree for nodes in forest), counts)
    answers = [_shares(nodes) if classifier else nodes.tree.value for nodes in forest]
    old = [nodes.tree for nodes in forest]
    observation = _answers(old, answers, _left_over(forest), drawn=size.draws.drawn, classifier=classifier)
    trees = (_without_counts(tree, answer) for tree, answer in zip(old, answers, strict=True))
    return Observed(tuple(trees), observation)


def copied(forest: Forest) -> Forest | None:
    """Return a forest as a perfect copy holds it that was made by asking it: its splits, and what each leaf answers.

    Its seeds, counts and impurities are left out. A forest averages its trees, so that this is the most that can be
    found by asking. None where the leaves of its kind are not known to answer just this.
    """
    said, classifier = forest.observation, forest.classes is not None
    if not isinstance(said, ClassCounts | TargetMeans | Answers) or forest.kind == "IsolationForest":
        return None
    values = [tree.value for tree in forest.trees]
    if isinstance(said, ClassCounts) and said.stored == "totals":
        values = [value / np.maximum(value.sum(axis=1, keepdims=True), 1e-300) for value in values]
    answers = said
    if not isinstance(said, Answers):
        answers = _answers(forest.trees, values, said.also, drawn=forest.draws.drawn, classifier=classifier)
    trees = (_without_counts(tree, value) for tree, value in zip(forest.trees, values, strict=True))
    return replace(
        forest,
        trees=tuple(replace(tree, seed=None, impurity=None) for tree in trees),
        observation=replace(answers, privacy=said.privacy),
        draws=replace(forest.draws, per_tree=None),
        n_samples=None,
        parameters={name: one for name, one in forest.parameters.items() if name != "random_state"},
    )


def more_left(trees: Sequence[Tree], complete: Sequence[int]) -> bool:
    """Return whether where trees send missing values reveals which child of a node more rows reached in training.

    Where a column had no missing value at a node, scikit-learn sends them to the left if more different rows went
    there, and else to the right (best splits since 1.3, random ones since 1.6; before, always to the right, which
    reveals nothing). Whoever removes that writes zeros; where all are zero, nothing is taken from them.

    Parameters
    ----------
    complete : sequence of int
        Columns without missing values in training.
    """
    return any(bool((tree.missing_left & np.isin(tree.feature, complete)).any()) for tree in trees)


# Counts as they stand in the file


def _counted(forest: Sequence[Nodes], size: Size, *, classifier: bool) -> Values | None:
    """Return what the values mean, where all numbers of rows add up and agree with them; else None."""
    meanings: frozenset[Values] | None = None
    for nodes in forest:
        try:
            found = counted(nodes, classifier=classifier)
        except CorruptArtifactError:
            return None
        meanings = found if meanings is None else meanings & found
    # Both hold where every node has weight 1; then they are the same.
    preferred: tuple[Values, ...] = ("shares", "totals", "means")
    values = next((meaning for meaning in preferred if meanings is not None and meaning in meanings), None)
    if values is None or not all(_agrees(nodes, values, size) for nodes in forest):
        return None
    return values


def _agrees(nodes: Nodes, values: Values, size: Size) -> bool:
    """Return whether each inner node's value is that of its children together, as it is by their true weights."""
    tree = nodes.tree
    inner = np.flatnonzero(tree.left >= 0)
    if not len(inner):
        return True
    if not size.averages:  # medians, of which no more can be said
        return bool(tree.value[inner].any() or nodes.impurity[inner].any())
    totals = tree.value if values == "totals" else tree.value * tree.weight[:, None]
    below = (totals.take(child.take(inner), axis=0) for child in (tree.left, tree.right))
    off = np.abs(totals.take(inner, axis=0) - next(below) - next(below))
    scale = 1.0 if values != "means" else float(np.abs(tree.value).max())
    return bool((off <= _TOLERANCE * scale * np.maximum(1.0, tree.weight[inner])[:, None]).all())


def _one_row_each(forest: Sequence[Nodes], size: Size) -> bool:
    """Return whether all trees are one leaf with one row and no seed, as where counts were removed, and no size is."""
    trees = [nodes.tree for nodes in forest]
    alone = all(tree.n_nodes == 1 and tree.n_distinct[0] == 1 and tree.seed is None for tree in trees)
    return alone and size.total is None


def _rows_made_up(tree: Tree, size: Size, *, classifier: bool) -> bool:
    """Return whether one row a leaf stands in place of the numbers of different rows, where weights say otherwise."""
    leaves = tree.leaves
    if (tree.n_distinct[leaves] != 1).any():
        return False
    if classifier and ((tree.value[leaves] > 0).sum(axis=1) > 1).any():
        return True
    if size.draws.rows != "with replacement" and not size.weighted:
        return len(leaves) > 1 and bool((tree.weight[leaves] != 1).any())
    return len(leaves) > 1 and not size.weighted and bool((tree.weight[leaves] > _MOST_OFTEN).any())


# What leaves answer


def _left_over(forest: Sequence[Nodes]) -> str | None:
    """Say what inner nodes still reveal, or leaves, besides what leaves answer; None for nothing."""
    left = []
    inner = [nodes.tree.left >= 0 for nodes in forest]
    if any(bool((nodes.tree.value[those] != 0).any()) for nodes, those in zip(forest, inner, strict=True)):
        left.append("the values of inner nodes")
    if any(bool((nodes.impurity != 0).any()) for nodes in forest):
        left.append("impurities")
    trees = [nodes.tree for nodes in forest]
    if _are_left(trees, [tree.weight for tree in trees]):
        left.append("weighted_n_node_samples")
    if _are_left(trees, [tree.n_distinct for tree in trees]):
        left.append("n_node_samples")
    if not left:
        return None
    them = " and ".join(left)
    return f"its file holds no counts, but {them} are left, and not used yet: whoever uses them gets closer"


def _are_left(trees: Sequence[Tree], field: Sequence[AnyArray]) -> bool:
    """Return whether numbers at nodes say more than the shape of trees: not where all are equal, or count leaves."""
    if len(np.unique(np.concatenate(field))) == 1:
        return False
    for tree, numbers in zip(trees, field, strict=True):
        inner = np.flatnonzero(tree.left >= 0)
        summed = numbers[tree.left[inner]] + numbers[tree.right[inner]]
        if (numbers[tree.leaves] != 1).any() or (numbers[inner] != summed).any():
            return True
    return False


def _shares(nodes: Nodes) -> FloatArray:
    """Return a tree's values, where those of its leaves are shares of classes."""
    tree = nodes.tree
    shares = tree.value[tree.leaves]
    good = (shares >= 0).all(axis=1)
    if not good.all():
        leaf = int(tree.leaves[np.argmin(good)])
        raise CorruptArtifactError(f"tree {nodes.index}, node {leaf}: it has a negative number of rows of a class")
    good = np.abs(shares.sum(axis=1) - 1) <= ROUNDING * shares.shape[1]
    if not good.all():
        leaf = int(tree.leaves[np.argmin(good)])
        raise CorruptArtifactError(f"tree {nodes.index}, node {leaf}: its classes do not add up to 1 or to its weight")
    return tree.value


def _answers(
    trees: Sequence[Tree], answers: Sequence[FloatArray], also: str | None, *, drawn: bool, classifier: bool
) -> Answers:
    sides = any(bool(tree.missing_left.any()) for tree in trees)
    if not classifier:
        return MeanTargets(more_left=sides, also=also)
    answered = np.concatenate([answer[tree.leaves] for tree, answer in zip(trees, answers, strict=True)])
    if ((answered == 0) | (answered == 1)).all():
        pairs = [_leaves_side_by_side(tree) for tree in trees]
        differ = all(
            bool((answer[a] != answer[b]).any(axis=1).all()) for answer, (a, b) in zip(answers, pairs, strict=True)
        )
        return WinningLabels(more_left=sides, may_be_pure=differ, also=also)
    # A leaf of all rows has their number as denominator, which often is round by itself.
    split = [answer[tree.leaves] for tree, answer in zip(trees, answers, strict=True) if tree.n_nodes > 1]
    decimals, tolerance = rounded_to(np.concatenate(split or [answered[:0]]), drawn=drawn)
    return Shares(decimals, tolerance, more_left=sides, also=also)


def _leaves_side_by_side(tree: Tree) -> tuple[IntArray, IntArray]:
    inner = np.flatnonzero(tree.left >= 0)
    pair = inner[(tree.left[tree.left[inner]] < 0) & (tree.left[tree.right[inner]] < 0)]
    return tree.left[pair], tree.right[pair]


def _without_counts(tree: Tree, answer: FloatArray) -> Tree:
    return replace(without_rows(tree), value=frozen(np.where((tree.left < 0)[:, None], answer, 0.0)))


ROUNDING = 0.05 + 1e-9
"""The most that a share is taken to be off: rounded to one decimal."""

_MOST_DECIMALS = 12
"""More say as much as all of them: shares of fewer than a million rows differ by more."""

_CHANCE = 1e-4
"""Shares that are this unlikely to be exact were rounded."""

_VOTES = 3
"""How many leaves with one share count, where trees saw the same rows."""

_EXACT = 2.0**-52
"""What rounding a share to double precision does."""

_LARGEST_LEAF = 4096
"""Shares with a power of two up to this as denominator are of single precision by nature."""

_SINGLE = 2.0**-24
"""What rounding a share to single precision does."""


def rounded_to(shares: FloatArray, *, drawn: bool) -> tuple[int | None, float]:
    """Tell rounded shares from exact ones.

    Where both can be, they are taken for exact: that adds nothing to what the file reveals, and where they were
    rounded all the same, no dataset fits, which is no pass.

    Parameters
    ----------
    shares : ndarray of float64, shape (n_leaves, n_classes)
    drawn : bool
        Whether each tree saw rows of its own.

    Returns
    -------
    decimals : int or None
        The smallest number of decimals to which all shares are rounded; None where they are as exact as their type.
    tolerance : float
        How far a share can be off.
    """
    mixed = shares[((shares > 0) & (shares < 1)).any(axis=1)]
    decimals = next((n for n in range(1, _MOST_DECIMALS + 1) if (np.round(mixed, n) == mixed).all()), None)
    if decimals is not None and _was_rounded(mixed, decimals, drawn=drawn):
        return decimals, 0.5 * 10.0**-decimals
    is_single = decimals is None and bool((mixed.astype(np.float32) == mixed).all())
    return None, _SINGLE if is_single and not ((mixed * _LARGEST_LEAF) % 1 == 0).all() else _EXACT


def _was_rounded(mixed: FloatArray, decimals: int, *, drawn: bool) -> bool:
    """Return whether shares of so many decimals are no exact ones: they do not add up, or there are too many."""
    if (np.abs(mixed.sum(axis=1) - 1) > 1e-9).any():
        return True
    shares, leaves = np.unique(np.sort(mixed, axis=1), axis=0, return_counts=True)
    if not drawn:  # trees of the same rows repeat their leaves
        leaves = np.minimum(leaves, _VOTES)
    scaled = np.rint(shares * 10.0**decimals).astype(np.int64)
    common = np.gcd.reduce(np.column_stack((scaled, np.full(len(scaled), 10**decimals))), axis=1)
    by_nature = [_share_of_short_ones(int(q), decimals) for q in 10**decimals // common]
    return float(np.dot(np.log(by_nature), leaves)) < math.log(_CHANCE)


def _share_of_short_ones(denominator: int, decimals: int) -> float:
    """Return how many of the denominators about as large as one have no more decimals."""
    if denominator == 2:
        return 1.0
    near = range(max(2, math.ceil(denominator / 1.6)), math.floor(denominator * 1.6) + 1)
    if len(near) > 10_000:
        return float(decimals**2 / denominator)
    short: int = sum(10**decimals % q == 0 for q in near)
    return short / len(near)
