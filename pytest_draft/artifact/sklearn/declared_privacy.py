"""The privacy that a file really has: its declared `Privacy`, checked against its trees.

Counts behind a declared mechanism can turn out to be exact: somebody filled them in after the mechanism. What is taken
for exact here and is not will not explain the training rows later, so that mistake ends inconclusive; the other one
would let a leak pass.

The forests of `pytest_draft.dp` store complete trees as plain arrays, which become checked trees here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pytest_draft.arrays import AnyArray, FloatArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.forest import Tree
from pytest_draft.artifact.forest.nodes import ForestNodes
from pytest_draft.artifact.forest.validate import RawTree, frozen, private_tree
from pytest_draft.artifact.objects import Object, data_of
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError
from pytest_draft.facts.privacy import Privacy

REPLAYED = "the stored seeds replay the mechanism's random draws"
WARM_START = "warm_start trained on the same rows again, and each fit spent its own epsilon"

_CLOSE = 1e-9
"""How far, relative to it, a stored scale may be from that of the declared budget: rounding of a few operations."""

_CLOSE_DELTA = 1e-3
"""By what share Gaussian noise may need more than the declared delta: diffprivlib finds the scale numerically."""

_MOST_VALUE = 2.0**53
"""From here on float64 does not tell whole numbers apart."""

_CHANCE = 0.01
"""Counts are taken for exact where noise would have left all trees' totals equal with at most this probability."""


def privacy_of_noisy_counts(trees: Sequence[Tree], declared: Privacy) -> Privacy:
    """Check a forest of `pytest_draft.dp` against the noise on counts that it declares.

    Returns
    -------
    Privacy
        Exact where all trees have as many rows of each class, none a negative count, and noise as declared makes
        the totals agree with a chance of at most 1 % (by a bound that is far above the true chance).
    """
    _check_scale(declared, len(trees))
    for index, tree in enumerate(trees):
        if not _is_whole(tree):
            raise CorruptArtifactError(f"tree {index}: its released counts are not whole")
    totals = _common_totals(trees)
    if totals is not None and _chance(declared) ** ((len(trees) - 1) * int((totals > 0).sum())) <= _CHANCE:
        return replace(declared, exact=True)
    for index, tree in enumerate(trees):
        if tree.value[tree.left >= 0].any():
            raise CorruptArtifactError(f"tree {index}: an inner node has counts, which this forest never releases")
    return declared


def privacy_of_labels(trees: Sequence[Tree], declared: Privacy) -> Privacy:
    """Tell labels by permute-and-flip from counts in a forest of diffprivlib.

    Returns
    -------
    Privacy
        Exact where the nodes hold counts that agree with each other.
    """
    if all(_has_labels(tree) for tree in trees):
        return declared
    summed = all(tree.value[tree.left >= 0].any() for tree in trees if tree.n_nodes > 1)
    if all(_is_whole(tree) for tree in trees) and (summed or len(trees) > 1) and _common_totals(trees) is not None:
        return replace(declared, exact=True)
    raise UnsupportedArtifactError(
        "its leaves hold neither diffprivlib's labels nor exact counts: with what noise is not in the file; "
        "release noisy counts by a forest of pytest_draft.dp"
    )


def with_counts(tree: Tree) -> Tree:
    """Return a tree with exact counts at its leaves as one that has them, and their sums, at all nodes."""
    value = ForestNodes.of([tree]).summed_up(tree.value[tree.leaves])
    weight = value.sum(axis=1)
    if weight[0] > _MOST_VALUE:
        raise CorruptArtifactError("its leaves hold more rows than can be counted")
    return replace(tree, value=frozen(value), weight=frozen(weight), n_distinct=frozen(weight.astype(np.int64)))


def gaussian_delta(scale: float, epsilon: float) -> float:
    """Return the least delta for which Gaussian noise on a count is (epsilon, delta)-differentially private.

    Parameters
    ----------
    scale : float
        Standard deviation, in rows; a row changes the count by 1.

    References
    ----------
    B. Balle and Y.-X. Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018, theorem 8.
    """
    half, shift = 1 / (2 * scale), epsilon * scale
    return math.exp(_log_tail(shift - half)) - math.exp(epsilon + _log_tail(shift + half))


def proves_delta(scale: float, epsilon: float, delta: float) -> bool:
    """Return whether Gaussian noise on a count is (epsilon, delta)-differentially private, to a thousandth of delta."""
    return gaussian_delta(scale, epsilon) <= delta * (1 + _CLOSE_DELTA)


def _log_tail(x: float) -> float:
    """Return the logarithm of a standard normal's probability above `x`."""
    if x < 30:
        return math.log(math.erfc(x / math.sqrt(2)) / 2)
    # The next term of the asymptotic series is below 1e-7.
    return -x * x / 2 - math.log(x * math.sqrt(2 * math.pi)) + math.log1p((3 / x / x - 1) / x / x)


def _check_scale(declared: Privacy, n_trees: int) -> None:
    """Check the noise on each count against the budget of each tree (DRAFT-DP, section II-B and appendix C-B)."""
    epsilon = declared.epsilon / n_trees
    if declared.mechanism == "laplace":
        good = math.isclose(declared.scale, 1 / epsilon, rel_tol=_CLOSE) and declared.delta == 0
    else:
        good = proves_delta(declared.scale, epsilon, declared.delta / n_trees)
    if not good:
        raise CorruptArtifactError(f"noise of scale {declared.scale:g} is not that of its epsilon for {n_trees} trees")


def _chance(declared: Privacy) -> float:
    """Return a bound on the chance that noise gives one tree's total of a class a given positive value.

    A sum is no likelier to have a given value than its likeliest term. The likeliest noise is that which is cut to 0,
    of width 2. ``int(n + Y)`` cuts each positive count down with at least half the chance, and what a class without
    rows adds up to is symmetric about 0: neither gives a positive total with more than half the chance.
    """
    scale = declared.scale
    largest = -math.expm1(-1 / scale) if declared.mechanism == "laplace" else math.erf(1 / (scale * math.sqrt(2)))
    return min(largest, 0.5) if declared.rounding == "sum" else largest


def _is_whole(tree: Tree) -> bool:
    return bool((tree.value == np.rint(tree.value)).all() and (np.abs(tree.value) < _MOST_VALUE).all())


def _has_labels(tree: Tree) -> bool:
    """Return whether each leaf has a one for one class, and there is nothing else."""
    leaf = tree.left < 0
    return bool(((tree.value == 0) | (tree.value == 1)).all() and (tree.value.sum(axis=1) == leaf).all())


def _common_totals(trees: Sequence[Tree]) -> FloatArray | None:
    """Return the rows of each class, where all trees agree on them as exact counts do.

    Inner nodes have the sum of their children, or 0.
    """
    if any((tree.value < 0).any() for tree in trees):
        return None
    totals: FloatArray = with_counts(trees[0]).value[0]
    for tree in trees:
        summed = with_counts(tree).value
        kept = not tree.value[tree.left >= 0].any() or (tree.value == summed).all()
        if not kept or (summed[0] != totals).any():
            return None
    return totals if totals.any() else None


_NODE_ARRAYS = {
    "left_child": "children_left_",
    "right_child": "children_right_",
    "feature": "feature_",
    "threshold": "threshold_",
}
"""Fields of a node, and the arrays of a forest of `pytest_draft.dp` that hold them."""

_NODE = np.dtype(
    [
        *((name, np.float64 if name == "threshold" else np.int64) for name in _NODE_ARRAYS),
        *(("impurity", np.float64), ("n_node_samples", np.int64), ("weighted_n_node_samples", np.float64)),
    ]
)
"""A node as scikit-learn's trees store it, as far as `private_tree` looks at it."""


def trees_of_arrays(estimator: Object, n_features: int, n_classes: int, budget: Budget) -> tuple[Tree, ...]:
    """Return the trees of a forest, whose children are the same in each."""
    counts = _stored(estimator, "counts_", "i", 3)
    n_trees, n_nodes, n_values = counts.shape
    depth = (n_nodes + 1).bit_length() - 2
    if not n_trees or n_nodes != 2 ** (depth + 1) - 1 or n_values != n_classes:
        raise CorruptArtifactError("counts_ does not have a number for each tree, node and class")
    nodes = np.zeros((n_trees, n_nodes), _NODE)
    for field, name in _NODE_ARRAYS.items():
        column = _stored(estimator, name, *(("f", 2) if field == "threshold" else ("i", 1 if "child" in field else 2)))
        if column.shape != nodes.shape[-column.ndim :]:
            raise CorruptArtifactError(f"{name} does not have a number for each node")
        nodes[field] = column
    budget.spend_copy(2 * (nodes.nbytes + counts.nbytes))
    values = counts[:, :, None, :].astype(np.float64)
    read = zip(range(n_trees), nodes, values, strict=True)
    return tuple(private_tree(RawTree(*one, n_nodes, depth, n_features, n_classes)) for one in read)


def _stored(estimator: Object, name: str, kind: str, n_dimensions: int) -> AnyArray:
    """Return an array of 8-byte numbers in native byte order; the kind is NumPy's letter."""
    data = data_of(estimator.get(name), name)
    if data.ndim != n_dimensions or data.dtype.kind != kind or data.dtype.itemsize != 8:
        raise CorruptArtifactError(f"{name} is not an array of the forest's form")
    return data.astype(data.dtype.newbyteorder("="), copy=False)
