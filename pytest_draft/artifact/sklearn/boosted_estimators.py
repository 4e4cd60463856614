"""What the readers of scikit-learn's boosted trees share: the forest of what was read, whether counts add up, and what
follows about the two children of a node from what a file says of all three, apart from its linear equations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.forest import Forest, Tree, minor_of
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import BoostedSums, ClassWeight
from pytest_draft.artifact.forest.validate import Nodes, RawTree, check_arguments, counted, frozen, without_rows
from pytest_draft.artifact.forest.weights import named_weights
from pytest_draft.artifact.objects import Object, data_of
from pytest_draft.artifact.origin import HeldBack
from pytest_draft.artifact.read_forest import ReadForest
from pytest_draft.artifact.records import Record
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError, one_line

EPSILON = float(np.finfo(np.float64).eps)
UNKNOWN_ROWS = 10_000
"""Rows at a node for which rounding is allowed where their number is not in the file."""

_OLDEST, _NEWEST = (1, 1), (1, 9)
"""Versions of scikit-learn whose boosted trees were compared with the rows that they were trained on."""


ALL = Draws()


def read_boosted(
    estimator: Object,
    trees: tuple[Tree, ...],
    classes: tuple[object, ...] | None,
    observation: BoostedSums,
    parameters: dict[str, object],
    why: str | None,
    held_back: HeldBack | None = None,
    draws: Draws = ALL,
) -> ReadForest:
    """Return the forest of a boosted ensemble, without names of columns and a version.

    Parameters
    ----------
    why : str or None
        Why no equations follow from its trees, and what to do; None where they do.
    """
    known = observation.counted and why is None
    forest = Forest(
        kind=estimator.record.cls.name,
        trees=trees,
        n_features=estimator.integer("n_features_in_", minimum=1),
        feature_names=None,
        classes=classes,
        observation=observation,
        draws=draws,
        n_samples=int(trees[0].n_distinct[0]) if known and not draws.drawn else None,
        sklearn_version=None,
        parameters=parameters,
    )
    return ReadForest(forest, why, held_back=held_back)


def raw_tree(
    estimator: Object,
    index: int,
    budget: Budget,
    *,
    n_features: int,
    n_values: int = 1,
    n_outputs: int = 1,
    features: IntArray | None = None,
    seed: int | None = None,
) -> tuple[Object, RawTree]:
    """Return the ``tree_`` of an estimator of one tree, as it is stored; of several outputs, the values of the first.

    All numbers are those of the forest (`RawTree`).
    """
    record = estimator.get("tree_")
    if not isinstance(record, Record) or record.cls.key != ("sklearn.tree._tree", "Tree"):
        raise CorruptArtifactError(f"tree {index} has no nodes, or was not fitted")
    tree = Object(record, f"{estimator.path}tree_.")
    check_arguments(record.args, index, n_features, n_values, n_outputs)
    values = data_of(tree.get("values"), f"the values of tree {index}")
    if n_outputs > 1:
        if values.ndim != 3 or values.shape[1] != n_outputs or values.shape[2] < n_values:
            raise CorruptArtifactError(f"tree {index} does not have the forest's outputs")
        values = values[:, :1, :n_values]
    nodes = data_of(tree.get("nodes"), f"the nodes of tree {index}")
    budget.spend_copy(nodes.nbytes + values.nbytes)
    counts = tree.integer("node_count"), tree.integer("max_depth")
    return tree, RawTree(index, nodes, values, *counts, n_features, n_values, features, seed)


def counted_or_bare(forest: Sequence[Nodes]) -> tuple[list[Nodes], bool]:
    """Return trees with their counts, or without any where these were removed; and whether they have them.

    Removed are counts that say no more than 0 or 1 of each leaf, and weights that are no numbers of rows.
    """
    removed = all((nodes.tree.n_distinct[nodes.tree.leaves] <= 1).all() for nodes in forest)
    for nodes in () if removed else forest:
        _require_sums(nodes)
    try:
        for nodes in forest:
            counted(nodes, classifier=False)
            if (nodes.tree.n_distinct < 1).any():
                return [_bare(other) for other in forest], False
    except CorruptArtifactError:
        return [_bare(nodes) for nodes in forest], False
    first = forest[0].tree.n_distinct[0]
    for nodes in forest:
        if nodes.tree.n_distinct[0] != first:
            if removed:
                return [_bare(other) for other in forest], False
            raise CorruptArtifactError(f"tree {nodes.index} has another number of rows than tree 0")
    return list(forest), True


def _require_sums(nodes: Nodes) -> None:
    left, right, rows = nodes.tree.left, nodes.tree.right, nodes.tree.n_distinct
    inner = np.flatnonzero(left >= 0)
    wrong = inner[rows[inner] != rows[left[inner]] + rows[right[inner]]]
    if len(wrong):
        raise CorruptArtifactError(f"tree {nodes.index}, node {wrong[0]}: its rows are not its children's together")


def rows_of(tree: Tree) -> Tree:
    """Return a tree in which each row weighs 1."""
    return replace(tree, weight=frozen(tree.n_distinct.astype(np.float64)))


def with_steps(tree: Tree, step: FloatArray) -> Tree:
    """Return a tree whose values are what its leaves add to a score; of inner nodes they are 0."""
    return replace(tree, value=frozen(np.where(tree.left < 0, step, 0.0)[:, None]), impurity=None)


def reach(base: FloatArray, steps: Sequence[FloatArray]) -> FloatArray:
    """Return how far from 0 any score can be before each tree, shape (n_trees,)."""
    farthest = np.array([np.abs(step).max() for step in steps])
    farthest = farthest.reshape(-1, len(base)).max(axis=1)
    before = np.abs(base).max() + np.concatenate(([0.0], np.cumsum(farthest)[:-1]))
    return np.repeat(before, len(base))


def unknown_version(estimator: Object, known: Iterable[str]) -> str | None:
    """Say why a version's boosted trees are not covered: too old, or newer and with a parameter that is not known."""
    stored = estimator.get("_sklearn_version")
    version = minor_of(stored)
    if version is not None and version < _OLDEST:
        return (
            f"scikit-learn {version[0]}.{version[1]} wrote its {estimator.kind}, and boosted trees from "
            f"{_OLDEST[0]}.{_OLDEST[1]} on are covered: train it again with a newer version"
        )
    if version is not None and version <= _NEWEST:
        return None
    names = estimator.record.attributes()
    other = sorted(name for name in names if not name.startswith("_") and not name.endswith("_"))
    other = [name for name in other if name not in set(known)]
    if not other:
        return None
    return (
        f"its {estimator.kind} has a parameter {one_line(other[0], 60)}, which scikit-learn {_NEWEST[0]}.{_NEWEST[1]} "
        "does not have, and which may change what its trees say: train it with that version"
    )


def class_weight_of(given: object, classes: Sequence[object]) -> ClassWeight:
    """Return weights by class of a parameter ``class_weight`` that is not None."""
    if isinstance(given, dict):
        return tuple(named_weights(given, tuple(classes)).tolist())
    if given != "balanced":
        raise UnsupportedArtifactError("its parameter class_weight is neither 'balanced' nor a dict of numbers")
    return "balanced"


def class_of(stored: object) -> str:
    """Return the name of an object's class; empty where it is none."""
    return stored.cls.name if isinstance(stored, Record) else ""


def _bare(nodes: Nodes) -> Nodes:
    return replace(nodes, tree=without_rows(nodes.tree))


_EPSILON = float(np.finfo(np.float64).eps)
_ROUNDINGS = 32.0
_CLEARLY = 1e-6
"""By how much, for each row, a bound must be crossed before something is excluded."""
_SHARP = 1e-3
"""How much of a number may be rounding for it to be worth saying."""


class Means(NamedTuple):
    """Mean residuals of leaves."""

    node: IntArray
    mean: FloatArray
    off: FloatArray
    """How far each can be off by rounding."""


def means_of_pairs(tree: Tree, variance: FloatArray, factor: float) -> Means:
    """Return the mean residuals of leaves that are each other's sibling, where these are sure.

    The variance of the node above is that inside of its children and that between their means. So it gives the
    distance of the means, and the mean above gives both but for which is the larger one; mostly only one way agrees
    with the leaves' Newton steps, whose sums of hessians lie between 0 and a quarter for each row.

    Parameters
    ----------
    tree : Tree
        Of a `GradientBoostingClassifier`, with the values of its file: means at inner nodes, steps at leaves.
    variance : ndarray of float64, shape (n_nodes,)
        Of residuals.
    factor : float
        A step is this times the sum of residuals over that of hessians.
    """
    value, rows = tree.value[:, 0], tree.n_distinct.astype(np.float64)
    above = np.flatnonzero(tree.left >= 0)
    above = above[(tree.left[tree.left[above]] < 0) & (tree.left[tree.right[above]] < 0)]
    left, right = tree.left[above], tree.right[above]
    n, n_left, n_right = rows[above], rows[left], rows[right]
    mean = value[above]
    between = n * variance[above] - n_left * variance[left] - n_right * variance[right]
    # The sum of squares of the right child is what the left one leaves of their parent's, of which each row is rounded.
    parent = np.zeros(tree.n_nodes, np.int64)
    inner = np.flatnonzero(tree.left >= 0)
    parent[tree.left[inner]] = parent[tree.right[inner]] = inner
    source = parent[above]
    off = _EPSILON * (_ROUNDINGS + rows[source]) * rows[source] * (np.abs(variance[source]) + value[source] ** 2)
    scale = n / (n_left * n_right)
    distance = np.sqrt(np.maximum(between, 0) * scale)
    off = off * scale / (2 * distance)
    up = mean + n_right / n * distance, mean - n_left / n * distance
    down = mean - n_right / n * distance, mean + n_left / n * distance
    agree = [
        _agrees(one[0], value[left], n_left, variance[left], factor)
        & _agrees(one[1], value[right], n_right, variance[right], factor)
        for one in (up, down)
    ]
    with np.errstate(invalid="ignore"):
        sure = (agree[0] != agree[1]) & (off < _SHARP * distance)
    means = [np.where(agree[0], up[side], down[side])[sure] for side in (0, 1)]
    shares = (n_right / n)[sure], (n_left / n)[sure]
    offs = [share * off[sure] + _ROUNDINGS * _EPSILON for share in shares]
    return Means(np.concatenate((left[sure], right[sure])), np.concatenate(means), np.concatenate(offs))


def _agrees(mean: FloatArray, step: FloatArray, rows: FloatArray, variance: FloatArray, factor: float) -> BoolArray:
    """Return whether leaves can have these mean residuals, by their steps; with r = y - p, |r| = r^2 + p (1 - p)."""
    hessian = factor * mean / step
    magnitude = variance + mean**2 + hessian
    good = np.isfinite(hessian) & (hessian > -_CLEARLY) & (hessian < 0.25 + _CLEARLY)
    return np.asarray(good & (np.abs(mean) < magnitude + _CLEARLY) & (magnitude < 1 + _CLEARLY))


class Hessians(NamedTuple):
    """Sums of hessians of leaves."""

    node: IntArray
    total: FloatArray
    off: FloatArray
    """How far each can be off by rounding, apart from that of its rows' hessians."""


def hessians_of_gains(tree: Tree, value: FloatArray, gain: FloatArray, l2: float) -> Hessians:
    """Return the sums of hessians of leaves that follow from what their splits gained, where they are sharp.

    With G and H sums of gradients and hessians, a node's value is v = -G / (H + l2), and the gain of its split is
    G v - G_left v_left - G_right v_right. Both children together have the sums of their parent, so these are two
    equations in the children's H. The root's value is stored as 0, so there the gain is the only one.

    Parameters
    ----------
    value : ndarray of float64, shape (n_nodes,)
        Without the learning rate.
    gain : ndarray of float64, shape (n_nodes,)
        Of the split of each inner node.
    l2 : float
        What was added to each sum of hessians.
    """
    hessian, off = np.full((2, len(value)), np.nan)
    inner = np.flatnonzero(tree.left >= 0)
    below = inner[inner > 0]
    left, right = tree.left[below], tree.right[below]
    for one, other in ((left, right), (right, left)):
        mine, its, above = value[one], value[other], value[below]
        apart = (its - mine) * (above - mine)
        hessian[one] = (gain[below] + l2 * above * its) / apart - l2
    together = np.abs(hessian[left]) + np.abs(hessian[right]) + l2
    for one, other in ((left, right), (right, left)):
        mine, its, above = value[one], value[other], value[below]
        largest = np.maximum(np.maximum(np.abs(mine), np.abs(its)), np.abs(above))
        lost = together * largest**2 / np.abs((its - mine) * (above - mine))
        lost += (hessian[one] + l2) * largest * (1 / np.abs(its - mine) + 1 / np.abs(above - mine))
        off[one] = _ROUNDINGS * _EPSILON * lost
    if len(inner):
        _under_root(tree, value, float(gain[0]), l2, hessian, off)
    leaves = tree.leaves
    sharp = (hessian[leaves] > 0) & (off[leaves] < _SHARP * hessian[leaves])
    leaves = leaves[sharp]
    return Hessians(leaves, hessian[leaves], off[leaves])


def _under_root(tree: Tree, value: FloatArray, gain: float, l2: float, hessian: FloatArray, off: FloatArray) -> None:
    """Fill in a leaf right below the root, from the gain there and its sibling, which has children of its own."""
    for leaf, other in ((tree.left[0], tree.right[0]), (tree.right[0], tree.left[0])):
        if tree.left[leaf] < 0 <= tree.left[other]:
            children = [tree.left[other], tree.right[other]]
            taken = value[other] ** 2 * (hessian[children].sum() + l2)
            hessian[leaf] = (gain - taken) / value[leaf] ** 2 - l2
            lost = value[other] ** 2 * off[children].sum() + _ROUNDINGS * _EPSILON * (gain + taken)
            off[leaf] = lost / value[leaf] ** 2 + _ROUNDINGS * _EPSILON * (hessian[leaf] + l2)
