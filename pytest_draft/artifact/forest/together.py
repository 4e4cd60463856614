"""Several forests of some of the same people as one: trees with plain counts, and draws over all of these people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.forest import Forest, Tree
from pytest_draft.artifact.forest.observations import ClassCounts, NodeCounts, RowNumbers, TargetMeans


class Part(NamedTuple):
    """One of the forests, and where its rows, columns and classes are among all."""

    forest: Forest
    """With exact counts."""
    times: IntArray
    """Shape (n_trees, n_own_rows). How often each tree saw each of its own rows."""
    rows: IntArray
    """Shape (n_own_rows,)."""
    columns: IntArray
    """Shape (n_own_columns,)."""
    classes: IntArray | None
    """Shape (n_own_classes,); None where classes are left out."""

    def __repr__(self) -> str:
        return f"Part({self.forest.n_trees} trees of {len(self.rows)} rows)"


@dataclass(frozen=True, eq=False)
class ForestOfSeveral(Forest):
    """All trees of several forests. Each saw some of the rows, none of the others."""

    parts: tuple[Part, ...] = ()
    searched: bool = True
    """Whether an attack can rest on their counts; else only somebody has these who knows all other rows."""

    @property
    def unused(self) -> str | None:
        """As of a forest; where targets or labels were left out, that they were."""
        if isinstance(self.observation, RowNumbers) and self.observation.also is None:
            return "what several files tell of labels or targets is not put together: whoever does gets closer"
        return super().unused

    @property
    def splitter(self) -> object:
        """As of each of them; of different ones the best, as no threshold of the others counts as a midpoint."""
        found = {one.forest.splitter for one in self.parts}
        return found.pop() if len(found) == 1 else "best"


_OF_NO_TREE = {
    "n_estimators",
    "random_state",
    "bootstrap",
    "max_samples",
    "oob_score",
    "n_jobs",
    "verbose",
    "warm_start",
}
"""Parameters that do not say how a tree is grown on the rows that it sees."""

_SQUARED = (None, "squared_error", "friedman_mse", "mse")
"""Criteria by which impurities are variances of targets."""


def together(
    parts: Sequence[Part],
    n_rows: int,
    names: Sequence[str],
    classes: tuple[object, ...] | None,
    *,
    searched: bool = True,
) -> ForestOfSeveral:
    """Return several forests as one.

    Parameters
    ----------
    n_rows : int
        Rows that any of them saw.
    names : sequence of str
        Of all columns.
    classes : tuple or None
        Of all of them; None to count rows alone.
    searched : bool
        As in `ForestOfSeveral`.

    Raises
    ------
    NotCoveredError, CorruptArtifactError
        As `Forest.counts`.
    """
    first = parts[0].forest
    kinds, versions = ({getattr(one.forest, name) for one in parts} for name in ("kind", "sklearn_version"))
    times = np.zeros((sum(one.forest.n_trees for one in parts), n_rows), dtype=np.int64)
    begin = 0
    for one in parts:
        times[begin : begin + one.forest.n_trees, one.rows] = one.times
        begin += one.forest.n_trees
    settings = [_settings(one.forest) for one in parts]
    same = len(kinds) == 1 and all(one == settings[0] for one in settings)
    alike = (
        {"criterion": first.tree_parameters.get("criterion")}
        if len({one.get("criterion") for one in settings}) == 1
        else {}
    )
    distinct = all(one.forest.trees[0].n_distinct[0] or one.forest.draws.at_most_once for one in parts)
    means = classes is None and all(
        isinstance(one.forest.observation, TargetMeans)
        and not one.forest.draws.uneven
        and (same or one.forest.tree_parameters.get("monotonic_cst") is None)
        for one in parts
    )
    also = next((one.forest.observation.also for one in parts if one.forest.observation.also is not None), None)
    said: NodeCounts = RowNumbers(also=also) if classes is None else ClassCounts("totals", also=also)
    said = TargetMeans(also=also) if means else said
    return ForestOfSeveral(
        kind=" and ".join(sorted(kinds)),
        trees=tuple(
            _tree(one, t, classes, means=means, same=same, distinct=distinct)
            for one in parts
            for t in range(one.forest.n_trees)
        ),
        n_features=len(names),
        feature_names=tuple(names),
        classes=classes,
        observation=said,
        draws=Draws(rows="with replacement", of_trees=times),
        n_samples=n_rows,
        sklearn_version=first.sklearn_version if len(versions) == 1 else None,
        parameters=first.parameters if same else alike,
        gaps=tuple((int(one.columns[column]), values) for one in parts for column, values in one.forest.gaps),
        moved=any(one.forest.moved for one in parts),
        scaled=first.scaled,
        parts=tuple(parts),
        searched=searched,
    )


def _settings(forest: Forest) -> dict[str, str]:
    """Return how trees are grown on the rows that they see."""
    return {name: repr(value) for name, value in forest.tree_parameters.items() if name not in _OF_NO_TREE}


def _tree(
    part: Part, index: int, classes: tuple[object, ...] | None, *, means: bool, same: bool, distinct: bool
) -> Tree:
    """Return a tree with plain counts, on the columns and classes of all forests, and without a seed."""
    tree, forest = part.forest.trees[index], part.forest
    own = forest.counts(index)
    counts = own.astype(np.float64)
    if classes is not None and part.classes is not None:
        counts = np.zeros((tree.n_nodes, len(classes)))
        counts[:, part.classes] = own
    weight, inner, no_midpoint = own.sum(axis=1).astype(np.float64), tree.left >= 0, tree.no_midpoint
    if forest.splitter != "best":
        no_midpoint = np.ones(tree.n_nodes, dtype=np.bool_)
    return replace(
        tree,
        feature=np.where(inner, part.columns[np.where(inner, tree.feature, 0)], -1),
        value=tree.value if means else counts if classes is not None else weight[:, None],
        weight=weight,
        n_distinct=(tree.n_distinct if tree.n_distinct[0] else own.sum(axis=1)) * distinct,
        seed=None,
        impurity=tree.impurity if means and (same or forest.tree_parameters.get("criterion") in _SQUARED) else None,
        no_midpoint=no_midpoint,
    )
