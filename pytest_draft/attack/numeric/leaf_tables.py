"""The tables from which a regressor's rows are deduced: a forest goes in, `OpenLeaves` come out.

`targets` fills these two tables, and `target_deduction` crosses out in them what cannot be: which leaves have rows that
are not yet known (`OpenLeaves`), and what is known of each row (`KnownRowTargets`). Leaves of a single row, whose value
is the row's target, are where the deduction begins; targets that rounding alone keeps apart get one number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.redacted import redacted

_APART = 8
"""Units in the last place up to which two values can come from one target: each is off by at most two."""

_ROUNDING = 2.0**-46
"""A share of the largest target that the rounding of a leaf's mean stays below."""

_MEANS = ("squared_error", "mse", "friedman_mse", "poisson")
"""Criteria by which a leaf's value is the mean of its rows' targets."""


@redacted
class OpenLeaves(NamedTuple):
    """The leaves of all trees, tree by tree, and what is left in them besides the rows that are known to be there."""

    first: IntArray
    """Shape (n_trees + 1,). Where each tree's leaves begin."""
    tree: IntArray
    node: IntArray
    """`tree` and `node`, shape (n,). Where each leaf is."""
    target: IntArray
    """Shape (n,). Of leaves that hold one row: the number of its target; -1 for others."""
    value: FloatArray
    """Shape (n,). The mean target of each leaf, as stored."""
    n_rows: IntArray
    times: IntArray
    """`n_rows` and `times`, shape (n,): rows and draws that are left; draws of leaves of one row stay."""
    total: FloatArray
    """Shape (n,). The sum of the targets that are left, each as often as it was drawn; NaN where that is not known."""
    slack: FloatArray
    """Shape (n,). What rounding can add to a total."""


@redacted
class KnownRowTargets(NamedTuple):
    """What is known so far of the rows and their targets."""

    times: IntArray
    """Shape (n_trees, n_rows). How often each row was drawn, on the scale of the leaves."""
    leaf: IntArray
    """Shape (n_trees, n_rows). As in `RowLeaves`."""
    possible: BoolArray
    """Shape (n_rows, n_targets). Which targets each row can have, if it is alone in some leaf."""
    is_alone: BoolArray
    """Shape (n_rows,). Whether the row is known to be alone in some leaf."""
    size: IntArray
    """Shape (n_targets,). How many rows have each target; -1 where that is not known."""
    value: FloatArray
    """Shape (n_targets,). The targets."""
    lower: FloatArray
    upper: FloatArray
    """`lower` and `upper`, shape (n_rows, n_columns): bounds of the rows' values."""


def open_leaves(forest: Forest) -> OpenLeaves:
    """Return all leaves, all of whose rows are still open; the targets of leaves of one row are numbered, ascending."""
    nodes = [tree.leaves for tree in forest.trees]
    n_leaves = [len(found) for found in nodes]

    def joined(arrays: list[Any]) -> Any:
        return np.concatenate([array[found] for array, found in zip(arrays, nodes, strict=True)])

    value = joined([tree.value[:, 0] for tree in forest.trees])
    weight = joined([tree.weight for tree in forest.trees])
    n_rows = joined([tree.n_distinct for tree in forest.trees])
    single = np.flatnonzero(n_rows == 1)
    single = single[np.argsort(value[single], kind="stable")]
    ordered = value[single]
    is_other = np.diff(ordered) > _APART * np.spacing(np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1])))
    target = np.full(len(value), -1)
    target[single[:1]], target[single[1:]] = 0, np.cumsum(is_other)
    criterion = forest.parameters.get("criterion", forest.parameters.get("estimator__criterion"))
    return OpenLeaves(
        np.cumsum([0, *n_leaves]),
        np.repeat(np.arange(forest.n_trees), n_leaves),
        np.concatenate(nodes),
        target,
        value,
        n_rows,
        np.rint(weight).astype(np.int64),
        value * weight if criterion in _MEANS else np.full(len(value), np.nan),
        _ROUNDING * weight * np.abs(value).max(),
    )
