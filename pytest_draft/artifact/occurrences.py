"""How often each training row was drawn for each tree of a `Forest`: the papers' m_tk.

The draws are replayed from the stored seeds by the rule of the scikit-learn version that wrote the file.

The rules are those of ``sklearn.ensemble._forest._generate_sample_indices``,
``sklearn.ensemble._bagging._generate_bagging_indices`` and ``sklearn.utils.random``, written again over
NumPy's `RandomState`, whose streams never change.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import RandomState

from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.errors import NotCoveredError

_OLDEST, NEWEST = (0, 24), (1, 9)
"""The versions of scikit-learn whose rules of drawing are known."""

_MAX_ENTRIES = 2**30
"""Most pairs of a tree and a row, and most draws for a tree: 8 bytes each."""


def occurrences(forest: Forest, in_time: Callable[[], None] | None = None) -> IntArray:
    """Return how often each row was drawn for each tree.

    Parameters
    ----------
    in_time : callable or None
        Called before each tree is replayed; it can raise `OutOfTimeError`.

    Returns
    -------
    ndarray of int64, shape (n_trees, n_samples)
        Without bootstrap all ones, or `Forest.row_times`.

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
    if not forest.bootstrap:
        times = np.ones(n_samples, np.int64) if forest.row_times is None else forest.row_times
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
    return forest.bootstrap and all(tree.seed is None for tree in forest.trees)


def draws_are_known(forest: Forest) -> bool:
    """Return whether the rules are known by which the version that wrote the file draws."""
    version = forest.sklearn_minor
    return version is not None and _OLDEST <= version <= NEWEST


def drawn_columns(forest: Forest, index: int) -> IntArray:
    """Return the forest's column of each column that one tree was trained on, in its order.

    Returns
    -------
    ndarray of int64, shape (n_tree_features,)
        All columns but for bagging ensembles. A column that others in the file repeat is there as often.

    Raises
    ------
    NotCoveredError
        If the file lacks the seed, or the replayed columns are not those that the tree tests.
    """
    if forest.seeds_from != "ensemble":
        return forest.columns_of_file
    tree = forest.trees[index]
    if tree.seed is None:
        raise _without_seed(index)
    columns = _columns(forest, RandomState(tree.seed))
    _check_columns(forest, tree, index, columns)
    return columns


def _check_version(forest: Forest) -> None:
    version = forest.sklearn_minor
    if version is None:
        raise NotCoveredError("the file does not tell which scikit-learn wrote it, so its draws cannot be replayed")
    if not _OLDEST <= version <= NEWEST:
        release = f"scikit-learn {version[0]}.{version[1]}"
        raise NotCoveredError(f"how {release} draws rows is not known here: update this plugin")


def _rows(forest: Forest, tree: Tree, index: int) -> IntArray:
    """Return the rows drawn for one tree, in the order of the draw."""
    if tree.seed is None or forest.seeds_from is None:
        raise _without_seed(index)
    if forest.n_samples is None or forest.n_draws is None or forest.n_draws > _MAX_ENTRIES:
        raise NotCoveredError("the file does not tell how many rows were drawn for each tree")
    random = RandomState(tree.seed)
    if forest.seeds_from == "ensemble":
        # One generator draws the columns first, then the rows.
        _check_columns(forest, tree, index, _columns(forest, random))
    if forest.sample_weight is not None:
        chance = forest.sample_weight / np.sum(forest.sample_weight)
        return random.choice(forest.n_samples, forest.n_draws, replace=forest.replacement, p=chance)
    return _draw(random, forest.n_samples, forest.n_draws, replacement=forest.replacement)


def _columns(forest: Forest, random: RandomState) -> IntArray:
    of_file = forest.columns_of_file
    if forest.max_features is None or not (forest.bootstrap_features or forest.max_features <= len(of_file)):
        raise NotCoveredError("the file does not tell how many columns were drawn for each tree")
    return of_file[_draw(random, len(of_file), forest.max_features, replacement=forest.bootstrap_features)]


def _draw(random: RandomState, population: int, size: int, *, replacement: bool) -> IntArray:
    if replacement:
        return random.randint(0, population, size, dtype=np.int64)
    return _without_replacement(random, population, size)


def _without_replacement(random: RandomState, population: int, size: int) -> IntArray:
    """Choose by the share as ``sklearn.utils.random.sample_without_replacement`` does."""
    share = size / population
    if 0.01 < share < 0.99:
        return random.permutation(population)[:size]
    if share < 0.2:
        return _by_tracking(random, population, size)
    return _by_reservoir(random, population, size)


def _by_tracking(random: RandomState, population: int, size: int) -> IntArray:
    """Draw until there are `size` different ones."""
    chosen: dict[int, None] = {}
    while len(chosen) < size:
        chosen[int(random.randint(population))] = None
    return np.fromiter(chosen, np.int64, size)


def _by_reservoir(random: RandomState, population: int, size: int) -> IntArray:
    """Start from the first `size`; let each later one take a random place, or none."""
    chosen = np.arange(size, dtype=np.int64)
    for later in range(size, population):
        place = int(random.randint(0, later + 1))
        if place < size:
            chosen[place] = later
    return chosen


def _check_columns(forest: Forest, tree: Tree, index: int, columns: IntArray) -> None:
    tested = tree.feature[tree.left >= 0]
    if not np.isin(tested, columns).all():
        raise NotCoveredError(f"the stored seeds do not explain the columns that tree {index} tests")


def _check_root(forest: Forest, tree: Tree, index: int, drawn: IntArray) -> None:
    """Check the replayed rows against a tree's root: how many different ones, and how many draws."""
    if not tree.n_distinct[0]:  # removed from the file
        return
    distinct = drawn > 0
    if forest.sample_weight is not None:
        distinct &= forest.sample_weight > 0
    if np.count_nonzero(distinct) != tree.n_distinct[0]:
        raise _unexplained(forest, index)
    if not _is_weighted(forest) and float(drawn.sum()) != tree.weight[0]:
        raise _unexplained(forest, index)


def _is_weighted(forest: Forest) -> bool:
    """Return whether class or sample weights have scaled the roots, so that they are not draws."""
    if forest.class_weight is not None:
        return True
    if forest.sample_weight is not None and not forest.bootstrap:
        return True
    return any(not float(tree.weight[0]).is_integer() for tree in forest.trees)


def _without_seed(index: int) -> NotCoveredError:
    return NotCoveredError(f"tree {index} has no stored seed, so its draw cannot be replayed")


def _unexplained(forest: Forest, index: int) -> NotCoveredError:
    what = "the stored seeds do" if forest.bootstrap else "one row for each of its rows does"
    return NotCoveredError(f"{what} not explain the root of tree {index}: other data, weights or a warm start")
