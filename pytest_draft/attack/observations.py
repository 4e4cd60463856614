"""The counts that a forest publishes by leaf, less those of rows that the adversary knows."""

from __future__ import annotations

import numpy as np

from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.groups import Groups, KnownRows
from pytest_draft.errors import InfeasibleError

Observations = tuple[tuple[IntArray, ...], tuple[IntArray, ...] | None, tuple[IntArray, ...] | None]
"""What `Problem` has as `counts`, `distinct` and `known`."""


def observations(forest: Forest, groups: Groups) -> Observations:
    """Return what a forest publishes of the rows, leaf by leaf, and the known rows there.

    Raises
    ------
    InfeasibleError
        Where the known rows alone exceed what was observed.
    """
    counts = tuple(forest.counts(t)[tree.leaves] for t, tree in enumerate(forest.trees))
    distinct = forest.distinct
    if groups.known is None:
        return counts, distinct, None
    known = _known_at_leaves(forest, groups.known)
    if groups.noise == "exact":
        counts, distinct = _without_known(forest, groups.known, counts, distinct)
    return counts, distinct, known


def _known_at_leaves(forest: Forest, known: KnownRows) -> tuple[IntArray, ...]:
    """Return how many known rows of each class lie at each leaf of each tree."""
    once = np.ones(len(known.rows), dtype=np.int64)
    return tuple(known.at_leaves(tree, once, forest.n_classes) for tree in forest.trees)


def _without_known(
    forest: Forest, known: KnownRows, counts: tuple[IntArray, ...], distinct: tuple[IntArray, ...] | None
) -> tuple[tuple[IntArray, ...], tuple[IntArray, ...] | None]:
    """Return counts and distinct rows after those of the known rows are taken off."""
    seen = [known.at_leaves(tree, known.weight[t], forest.n_classes) for t, tree in enumerate(forest.trees)]
    counts = tuple(whole - part for whole, part in zip(counts, seen, strict=True))
    if distinct is not None:
        once = [
            known.at_leaves(tree, (known.weight[t] > 0).astype(np.int64), forest.n_classes).sum(axis=1)
            for t, tree in enumerate(forest.trees)
        ]
        distinct = tuple(whole - part for whole, part in zip(distinct, once, strict=True))
    if any((left < 0).any() for left in (*counts, *(distinct or ()))):
        raise InfeasibleError
    return counts, distinct
