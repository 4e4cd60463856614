"""What the readers of scikit-learn's boosted trees share: the forest of what was read, and whether counts add up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact.forest import Forest, Tree, minor_of
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import BoostedSums
from pytest_draft.artifact.forest.validate import Nodes, counted
from pytest_draft.artifact.objects import Object
from pytest_draft.artifact.origin import HeldBack
from pytest_draft.artifact.read_forest import ReadForest
from pytest_draft.artifact.records import Record
from pytest_draft.errors import CorruptArtifactError, one_line

EPSILON = float(np.finfo(np.float64).eps)
UNKNOWN_ROWS = 10_000
"""Rows at a node for which rounding is allowed where their number is not in the file."""

_OLDEST, _NEWEST = (1, 1), (1, 9)
"""Versions of scikit-learn whose boosted trees were compared with the rows that they were trained on."""


def read_boosted(
    estimator: Object,
    trees: tuple[Tree, ...],
    classes: tuple[object, ...] | None,
    observation: BoostedSums,
    parameters: dict[str, object],
    why: str | None,
    held_back: HeldBack | None = None,
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
        draws=Draws(),
        n_samples=int(trees[0].n_distinct[0]) if known else None,
        sklearn_version=None,
        parameters=parameters,
    )
    return ReadForest(forest, why, held_back=held_back)


def counted_or_bare(forest: Sequence[Nodes]) -> tuple[list[Nodes], bool]:
    """Return trees with their counts, or without any where these were removed; and whether they have them.

    Removed are counts that say no more than 0 or 1 of each leaf, and weights that are no numbers of rows.

    Raises
    ------
    CorruptArtifactError
        Where a node's rows are not its children's together, or trees have different numbers of rows.
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


def with_steps(tree: Tree, step: FloatArray) -> Tree:
    """Return a tree whose values are what its leaves add to a score; of inner nodes they are 0."""
    value = np.where(tree.left < 0, step, 0.0)[:, None]
    value.setflags(write=False)
    return replace(tree, value=value, impurity=None)


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


def class_of(stored: object) -> str:
    """Return the name of an object's class; empty where it is none."""
    return stored.cls.name if isinstance(stored, Record) else ""


def _bare(nodes: Nodes) -> Nodes:
    weight, n_distinct = np.zeros(nodes.tree.n_nodes), np.zeros(nodes.tree.n_nodes, np.int64)
    for array in (weight, n_distinct):
        array.setflags(write=False)
    return replace(nodes, tree=replace(nodes.tree, weight=weight, n_distinct=n_distinct))
