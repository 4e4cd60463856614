"""How often each training row was drawn for each tree of a `Forest`: the papers' m_tk.

The draws are replayed from the stored seeds by the rule of the scikit-learn version that wrote the file.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import RandomState

from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest.draws import RoundDraws
from pytest_draft.artifact.forest.forest import Forest, Tree
from pytest_draft.errors import NotCoveredError

NEWEST = (1, 9)
"""The newest version of scikit-learn whose rules of drawing are known; for the oldest, see `Draws`."""

_MAX_ENTRIES = 2**30
"""Most pairs of a tree and a row, and most draws for a tree: 8 bytes each."""


def occurrences(forest: Forest, in_time: Callable[[], None] | None = None) -> IntArray:
    """Return how often each row was drawn for each tree, shape (n_trees, n_samples).

    Without bootstrap all are 1, or `Draws.times`.

    Parameters
    ----------
    in_time : callable or None
        Called before each tree is replayed; it can raise `OutOfTimeError`.

    Raises
    ------
    NotCoveredError
        If the file lacks a whole-number seed for a tree, the number of rows or of draws, or its
        version; or if the replayed rows do not explain the root of each tree.
    """
    n_samples = forest.n_samples
    if n_samples is None:
        raise NotCoveredError("the file does not tell the number of training rows, so its draws cannot be replayed")
    if forest.n_trees * n_samples > _MAX_ENTRIES:
        raise NotCoveredError(f"{forest.n_trees} trees times {n_samples} rows are too many to replay")
    draws = forest.draws
    if draws.of_trees is not None:
        counts = draws.of_trees.astype(np.int64)
    elif not draws.drawn:
        times = np.ones(n_samples, np.int64) if draws.times is None else draws.times
        counts = np.tile(times, (forest.n_trees, 1))
    else:
        _check_version(forest)
        counts = np.empty((forest.n_trees, n_samples), np.int64)
        for index, tree in enumerate(forest.trees):
            if in_time is not None:
                in_time()
            counts[index] = np.bincount(_rows(forest, tree, index), minlength=n_samples)
    for index, tree in enumerate(forest.trees):
        _check_root(forest, tree, index, counts[index])
    return counts


def lacks_seeds(forest: Forest) -> bool:
    """Return whether rows were drawn, and the file holds not one seed that a draw could be replayed from."""
    draws = forest.draws
    if draws.of_trees is not None or isinstance(draws, RoundDraws):
        return draws.of_trees is None
    return draws.drawn and all(tree.seed is None for tree in forest.trees)


def draws_are_known(forest: Forest) -> bool:
    """Return whether the rules are known by which the version that wrote the file draws."""
    version = forest.sklearn_minor
    return version is not None and forest.draws.oldest <= version <= NEWEST


def drawn_columns(forest: Forest, index: int) -> IntArray:
    """Return the forest's column of each column that one tree was trained on, in its order, shape (n_tree_features,).

    These are all columns but for bagging ensembles. A column that others in the file repeat is there as often.

    Raises
    ------
    NotCoveredError
        If the file lacks the seed, or the replayed columns are not those that the tree tests.
    """
    if not forest.draws.draws_columns(len(forest.columns_of_file)):
        return forest.columns_of_file
    tree = forest.trees[index]
    if tree.seed is None:
        raise _without_seed(index)
    return _columns(forest, tree, index, RandomState(tree.seed))


def _check_version(forest: Forest) -> None:
    version = forest.sklearn_minor
    if version is None:
        raise NotCoveredError("the file does not tell which scikit-learn wrote it, so its draws cannot be replayed")
    if not forest.draws.oldest <= version <= NEWEST:
        release = f"scikit-learn {version[0]}.{version[1]}"
        raise NotCoveredError(f"how {release} draws rows is not known here: update this plugin")


def _rows(forest: Forest, tree: Tree, index: int) -> IntArray:
    """Return the rows drawn for one tree, in the order of the draw."""
    size = forest.draws.per_tree
    if tree.seed is None or not forest.draws.seeded:
        raise _without_seed(index)
    if forest.n_samples is None or size is None or size > _MAX_ENTRIES:
        raise NotCoveredError("the file does not tell how many rows were drawn for each tree")
    random = RandomState(tree.seed)
    _columns(forest, tree, index, random)  # drawn first, by the same generator
    return forest.draws.drawn_rows(random, forest.n_samples, size)


def _columns(forest: Forest, tree: Tree, index: int, random: RandomState) -> IntArray:
    columns = forest.draws.columns(random, forest.columns_of_file)
    if not np.isin(tree.feature[tree.left >= 0], columns).all():
        raise NotCoveredError(f"the stored seeds do not explain the columns that tree {index} tests")
    return columns


def _check_root(forest: Forest, tree: Tree, index: int, drawn: IntArray) -> None:
    """Check the replayed rows against a tree's root: how many different ones, and how many draws."""
    if not tree.n_distinct[0]:  # removed from the file
        return
    if np.count_nonzero(forest.draws.seen(drawn)) != tree.n_distinct[0]:
        raise _unexplained(forest, index)
    if not _is_weighted(forest) and float(drawn.sum()) != tree.weight[0]:
        raise _unexplained(forest, index)


def _is_weighted(forest: Forest) -> bool:
    """Return whether class or sample weights may have scaled the roots, so that they are not draws."""
    whole = all(float(tree.weight[0]).is_integer() for tree in forest.trees)
    return not whole or forest.draws.may_scale(forest.sklearn_minor)


def _without_seed(index: int) -> NotCoveredError:
    return NotCoveredError(f"tree {index} has no stored seed, so its draw cannot be replayed")


def _unexplained(forest: Forest, index: int) -> NotCoveredError:
    what = "the stored seeds do" if forest.draws.drawn else "one row for each of its rows does"
    return NotCoveredError(f"{what} not explain the root of tree {index}: other data, weights or a warm start")
