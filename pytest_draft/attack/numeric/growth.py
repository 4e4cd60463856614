"""How trees were grown: in goes a forest, out come its splitter's parameters and what became of each node.

The rules are those of ``sklearn.tree._splitter``, ``sklearn.tree._tree`` and ``BaseDecisionTree._fit`` of scikit-learn
1.3 to 1.9, which differ in nothing that matters here but missing values.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState

from pytest_draft.arrays import BoolArray, IntArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.nodes import levels
from pytest_draft.artifact.forest.occurrences import drawn_columns
from pytest_draft.attack.numeric.draws import (
    ALL_CONSTANT,
    SKIPPED,
    SPLIT,
    TRIED,
    UNKNOWN_IF_ALL_CONSTANT,
    UNKNOWN_IF_TRIED,
)
from pytest_draft.attack.numeric.equation import RAND_R_MAX
from pytest_draft.attack.redacted import redacted
from pytest_draft.errors import NotCoveredError

_OLDEST, _NEWEST = (1, 3), (1, 9)
"""The versions of scikit-learn whose splitter was read and follows these rules."""


@redacted
class Growth(NamedTuple):
    """How one tree was grown; `columns` are the forest's, in the order of the tree's own."""

    seed: int
    columns: IntArray
    max_features: int
    best_first: bool
    outcome: IntArray


def growth_of(forest: Forest, index: int) -> Growth:
    """Return how a tree was grown.

    Raises
    ------
    NotCoveredError
        Where the file does not tell it.
    """
    version = forest.sklearn_minor
    if version is None or not _OLDEST <= version <= _NEWEST:
        raise NotCoveredError("how the scikit-learn that wrote the file grows trees is not known here")
    tree = forest.trees[index]
    if tree.seed is None or forest.observation.released:
        raise NotCoveredError(f"tree {index} has no stored seed, so its splitter cannot be replayed")
    own = forest.draws.own_seed(tree.seed)
    columns = drawn_columns(forest, index)
    if len(np.unique(columns)) < len(columns):
        raise NotCoveredError(f"tree {index} was given a column twice, so its draws cannot be replayed")
    parameters = forest.tree_parameters
    if parameters.get("ccp_alpha", 0.0) != 0.0:
        raise NotCoveredError("its trees were pruned, so their draws cannot be replayed")
    if forest.splitter != "random":
        raise NotCoveredError("the file does not tell that its thresholds were drawn, so they cannot be replayed")
    n_samples = forest.n_samples if forest.n_samples is not None else int(tree.n_distinct[0])
    return Growth(
        seed=int(RandomState(own).randint(0, RAND_R_MAX)),
        columns=columns,
        max_features=columns_drawn(forest, len(columns)),
        best_first=_parameter(parameters, "max_leaf_nodes") is not None,
        outcome=outcomes(forest, tree, n_samples),
    )


def _parameter(parameters: dict[str, object], name: str) -> object:
    if name not in parameters:
        raise NotCoveredError(f"the file does not tell {name}, so its trees' draws cannot be replayed")
    return parameters[name]


def columns_drawn(forest: Forest, n_columns: int) -> int:
    """Return how many columns a node draws at least, among so many.

    Raises
    ------
    NotCoveredError
        Where the file does not tell it.
    """
    return _max_features(_parameter(forest.tree_parameters, "max_features"), n_columns)


def least_in_leaf(forest: Forest, n_samples: int) -> int:
    """Return how many rows a leaf has at least, by ``min_samples_leaf``.

    Raises
    ------
    NotCoveredError
        Where the file does not tell it.
    """
    return _least_rows(_parameter(forest.tree_parameters, "min_samples_leaf"), n_samples, "min_samples_leaf")


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


def outcomes(forest: Forest, tree: Tree, n_samples: int) -> IntArray:
    """Return what became of each node (`draws.SKIPPED` and so on), shape (n_nodes,).

    Raises
    ------
    NotCoveredError
        Where the file does not tell it.
    """
    parameters = forest.tree_parameters
    in_leaf = least_in_leaf(forest, n_samples)
    given = _parameter(parameters, "min_samples_split")
    to_split = max(_least_rows(given, n_samples, "min_samples_split"), 2, 2 * in_leaf)
    share = _parameter(parameters, "min_weight_fraction_leaf")
    decrease = _parameter(parameters, "min_impurity_decrease")
    deepest = _parameter(parameters, "max_depth")
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
    free = in_leaf > 1 or share != 0 or decrease != 0 or _parameter(parameters, "max_leaf_nodes") is not None
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
    integer_weights = bool((tree.weight == np.rint(tree.weight)).all()) and tree.weight[0] < 2**26
    nothing = np.zeros(tree.n_nodes, dtype=np.bool_)
    return (one_class, nothing) if integer_weights else (nothing, one_class)


def depths(tree: Tree) -> IntArray:
    """Return how many nodes are above each node, shape (n_nodes,)."""
    depth = np.zeros(tree.n_nodes, dtype=np.int64)
    for number, level in enumerate(levels(tree.left, tree.right)):
        depth[level] = number
    return depth
