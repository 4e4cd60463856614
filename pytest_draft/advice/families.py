"""Families of settings to search: for an owner's model, lines of settings that begin with the most leaves."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from pytest_draft.advice.facts import AS_IT_IS, Line, Setting
from pytest_draft.advice.loading import TREES
from pytest_draft.advice.owner import Owner, trees_in

STEP = 1.6
"""From one value of a family to the next: close enough to meet the bar, and few enough to bisect in four steps."""

FEWER_TREES = (30, 10)
EPSILONS = (10.0, 3.0, 1.0)
PRIVATE_TREES, PRIVATE_DEPTH = 10, 5


def own(owner: Owner) -> Setting:
    """Return the setting that changes nothing."""
    return Setting(AS_IT_IS, None, owner.n_trees, ())


def lines(owner: Owner, fitted: object) -> list[Line]:
    """Return the lines of settings to search.

    Parameters
    ----------
    fitted : estimator
        The owner's model, trained as it is: what is asked for is smaller than that.

    Returns
    -------
    list of tuple of Setting
    """
    grown = [tree.tree_ for tree in trees_in(fitted)]
    most_leaves = max((int(tree.n_leaves) for tree in grown), default=2)
    depth = max((int(tree.max_depth) for tree in grown), default=1)
    n_rows = len(owner.labels)
    values = {
        "max_leaf_nodes": [size for size in _steps(2, most_leaves) if size < most_leaves],
        "min_samples_leaf": _steps(max(2, _least_in_leaf(owner, n_rows) + 1), n_rows // 4),
        "max_depth": [level for level in _steps(1, depth, 1.25) if level < depth],
    }
    values["max_leaf_nodes"].reverse()
    values["max_depth"].reverse()
    found: list[Line] = []
    for trees in _numbers_of_trees(owner):
        number = (("n_estimators", trees),) if trees != owner.n_trees else ()
        first = Setting(AS_IT_IS, None, trees, number)
        for family, sizes in values.items():
            rest = tuple(Setting(family, size, trees, ((family, size), *number)) for size in sizes)
            found.append((first, *rest))
    if owner.bag is None and not isinstance(owner.forest, TREES):
        sizes = [size for size in _steps(2, n_rows // 4) if size <= most_leaves]
        found.append(
            tuple(Setting("single tree", size, 1, (("max_leaf_nodes", size),), "tree") for size in reversed(sizes))
        )
    return [line for line in (*found, _private(owner)) if line]


def _steps(first: int, last: int, step: float = STEP) -> list[int]:
    """Return rising whole numbers, each about so many times the one before."""
    sizes = []
    size = float(first)
    while size <= last:
        sizes.append(round(size))
        size = max(round(size) + 1, size * step)
    return sizes


def _least_in_leaf(owner: Owner, n_rows: int) -> int:
    """Return how many rows the owner's leaves hold at least."""
    least = owner.forest.min_samples_leaf
    return int(np.ceil(least * n_rows)) if isinstance(least, float) else int(least)


def _numbers_of_trees(owner: Owner) -> list[int]:
    trees = owner.n_trees
    if isinstance(owner.forest, TREES) and owner.bag is None:
        return [trees]
    return [trees, *(fewer for fewer in FEWER_TREES if fewer * 1.5 <= trees)]


def _private(owner: Owner) -> Line:
    """Return private forests, where they can be trained: with diffprivlib, on columns of yes and no."""
    if not owner.is_classifier or owner.place or not has_private(owner):
        return ()
    classes = np.unique(owner.labels).tolist()
    same = {"bounds": (0, 1), "classes": classes, "max_depth": PRIVATE_DEPTH, "n_estimators": PRIVATE_TREES}
    return tuple(
        Setting("private forest", epsilon, PRIVATE_TREES, (("epsilon", epsilon), *same.items()), "private")
        for epsilon in EPSILONS
    )


def has_private(owner: Owner) -> bool:
    """Return whether a private forest can be trained here, without bounds that come from the data."""
    try:
        found = find_spec("diffprivlib") is not None
        if found:
            import diffprivlib.models.forest  # noqa: F401  (0.6.6 cannot be imported beside scikit-learn 1.9)
    except ImportError:
        return False
    return found and _yes_or_no(owner)


def _yes_or_no(owner: Owner) -> bool:
    try:
        values = np.asarray(owner.features, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return bool(((values == 0) | (values == 1)).all())
