"""Hardens one tree: a scikit-learn ``Tree`` becomes one without counts that answers as the level says.

The canonical form: each leaf weighs 1 and an inner node as much as its children together; no impurity; inner nodes have
no value; nodes stand in depth-first order, left before right; bytes that no field owns are 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_draft.arrays import AnyArray, BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest.nodes import depth_first, levels
from pytest_draft.artifact.world.unused import at_leaves

_IS_SUM = 1e-6  # as far as a leaf's class fractions can be from 1 in sum


@dataclass(frozen=True)
class Wanted:
    """What shall become of a tree besides its counts."""

    classifier: bool
    """Whether its leaves hold class fractions."""
    decimals: int | None = None
    """To which class fractions are rounded."""
    labels: bool = False
    """Whether each leaf keeps only its label, and siblings with one label become one leaf."""
    without_values: bool = False
    """Whether leaves' values are taken out too, where nothing uses them."""
    reorder: bool = True
    """Whether nodes may change their numbers."""


@dataclass(frozen=True)
class Rewritten:
    """A tree in canonical form, and what had to be changed to get there."""

    tree: Any
    """A new scikit-learn ``Tree``."""
    n_counted: int
    n_leaves: int
    """`n_counted` and `n_leaves`: nodes, where some had other counts; and leaves of the tree as it was."""
    n_inner_values: int
    n_impurities: int
    n_directions: int
    """`n_inner_values`, `n_impurities` and `n_directions`: inner nodes with a value, nodes with an impurity, and splits
    that revealed which child has more rows.
    """
    n_merged: int
    """Leaves that went into their sibling."""
    reordered: bool
    """Whether the nodes that are left changed their order."""
    n_totals: int
    """Leaves that held totals of classes in place of fractions, as scikit-learn 1.3 stores them."""


def arrays_of(tree: Any) -> tuple[AnyArray, FloatArray]:
    """Return a tree's node records, shape (n_nodes,), and values, shape (n_nodes, n_outputs, n_classes), copied."""
    state = tree.__getstate__()
    return state["nodes"].copy(), state["values"].copy()


def with_arrays(tree: Any, nodes: AnyArray, values: FloatArray, max_depth: int) -> Any:
    """Return a tree of the same kind with other nodes."""
    make, arguments, state = tree.__reduce__()
    new = make(*arguments)
    clean = np.zeros(len(nodes), dtype=nodes.dtype)  # np.zeros clears the padding between fields, too
    for name in nodes.dtype.names or ():
        clean[name] = nodes[name]
    changed = {"nodes": clean, "values": np.ascontiguousarray(values), "node_count": len(nodes)}
    new.__setstate__({**state, **changed, "max_depth": max_depth})
    return new


def clear(array: AnyArray) -> None:
    """Give what nothing uses of an array the value that a writer gives it, in place."""
    flat = array.ravel("K")
    clean = np.zeros(len(flat), flat.dtype)  # np.zeros_like sets fields alone
    for name in flat.dtype.names or ():
        clean[name] = flat[name]
    for name, (leaf, value) in at_leaves(clean).items():
        clean[name][leaf] = value
    raw = flat.view(np.uint8)
    raw[...] = clean.view(np.uint8) if flat.dtype.names else raw != 0


def rewritten(tree: Any, thresholds: FloatArray, keep_missing: BoolArray, wanted: Wanted) -> Rewritten:
    """Bring a tree into canonical form.

    Parameters
    ----------
    thresholds : ndarray of float64, shape (n_nodes,)
        What each inner node shall compare with.
    keep_missing : ndarray of bool, shape (n_features,)
        Columns for which it must still be stored where missing values go.
    """
    nodes, values = arrays_of(tree)
    n_nodes = len(nodes)
    left, right = nodes["left_child"].astype(np.int64), nodes["right_child"].astype(np.int64)
    was_inner = left >= 0
    n_impurities = int((nodes["impurity"] != 0).sum())
    n_inner_values = int((values[was_inner] != 0).any(axis=(1, 2)).sum())
    n_directions = 0
    if "missing_go_to_left" in (nodes.dtype.names or ()):
        kept = np.zeros(n_nodes, dtype=np.bool_)
        kept[was_inner] = keep_missing[nodes["feature"][was_inner]]
        n_directions = int((nodes["missing_go_to_left"][~kept & was_inner] != 0).sum())
        nodes["missing_go_to_left"][~kept] = 0
    nodes["threshold"][was_inner] = thresholds[was_inner]
    n_totals = 0
    if wanted.classifier:
        n_totals = int((np.abs(values[~was_inner].sum(axis=2) - 1) > _IS_SUM).any(axis=1).sum())
        values[~was_inner] = _outputs(values[~was_inner], wanted, np.atleast_1d(tree.n_classes))
    if wanted.labels and wanted.classifier:
        left, right, values = merged(left, right, values)
    depth = len(levels(left, right)) - 1
    order, size = depth_first(left, right)
    in_order = bool((np.diff(order) > 0).all())
    if not wanted.reorder and not in_order:
        order = np.sort(order)
    at = np.full(n_nodes, -1, dtype=np.int64)
    at[order] = np.arange(len(order))
    left, right, size = left[order], right[order], size[order]
    inner = left >= 0
    nodes, values = nodes[order], values[order]
    nodes["left_child"] = np.where(inner, at[left], -1)
    nodes["right_child"] = np.where(inner, at[right], -1)
    for name in ("feature", "threshold"):
        nodes[name][~inner] = -2
    if "missing_go_to_left" in (nodes.dtype.names or ()):
        nodes["missing_go_to_left"][~inner] = 0  # at leaves it is memory that nobody has set
    nodes["impurity"] = 0
    counts = (size + 1) // 2
    had_counts = (nodes["n_node_samples"] != counts).any() or (nodes["weighted_n_node_samples"] != counts).any()
    nodes["n_node_samples"] = nodes["weighted_n_node_samples"] = counts
    values[inner] = 0
    if wanted.without_values:
        values[:] = 0
    n_leaves = int((~was_inner).sum())
    return Rewritten(
        with_arrays(tree, nodes, values, depth),
        n_nodes if had_counts else 0,
        n_leaves,
        n_inner_values,
        n_impurities,
        n_directions,
        n_leaves - int((~inner).sum()),
        wanted.reorder and not in_order,
        n_totals,
    )


def _outputs(leaves: FloatArray, wanted: Wanted, n_classes: IntArray) -> FloatArray:
    """Return leaves' class fractions, rounded or as labels where that is wanted; shape as given."""
    total = leaves.sum(axis=2, keepdims=True)
    if (np.abs(total - 1) > _IS_SUM).any():  # scikit-learn 1.3 stores totals, and divides when it predicts
        leaves = np.divide(leaves, total, out=leaves.copy(), where=total > 0)
    if wanted.labels:
        return np.asarray(np.eye(leaves.shape[2])[leaves.argmax(axis=2)])
    if wanted.decimals is None:
        return leaves
    return np.stack(
        [rounded(leaves[:, output], wanted.decimals, int(count)) for output, count in enumerate(n_classes)], axis=1
    )


def rounded(fractions: FloatArray, decimals: int, n_classes: int) -> FloatArray:
    """Round rows of fractions so that each still sums to 1, by the largest remainders; ties go to the first class.

    Parameters
    ----------
    fractions : ndarray of float64, shape (n_rows, at least n_classes)
    n_classes : int
        How many of the columns are classes; all others hold 0.

    Returns
    -------
    ndarray of float64
        Of the same shape; multiples of ``10 ** -decimals``.
    """
    scale = 10**decimals
    # To 1e-9 of a unit: which class gets the last unit must not hang on how a fraction was computed.
    exact = np.round(fractions[:, :n_classes] * scale, 9)
    units = np.floor(exact)
    lacking = (scale - units.sum(axis=1)).astype(np.int64)
    rank = np.argsort(np.argsort(units - exact, axis=1, kind="stable"), axis=1, kind="stable")
    units += rank < lacking[:, None]
    result = np.zeros_like(fractions)
    result[:, :n_classes] = units / scale
    return result


def merged(left: IntArray, right: IntArray, values: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Make a leaf of each node whose children are leaves with one value, from the deepest up.

    Parameters
    ----------
    left, right : ndarray of int64, shape (n_nodes,)
        Children; -1 at leaves.
    values : ndarray of float64, shape (n_nodes, n_outputs, n_classes)

    Returns
    -------
    left, right, values : ndarray
        Of the same shapes; nodes that nothing leads to any more are left where they were.
    """
    left, right, values = left.copy(), right.copy(), values.copy()
    for level in reversed(levels(left, right)):
        inner = level[left[level] >= 0]
        leaves = inner[(left[left[inner]] < 0) & (left[right[inner]] < 0)]
        same = leaves[(values[left[leaves]] == values[right[leaves]]).all(axis=(1, 2))]
        values[same] = values[left[same]]
        left[same] = right[same] = -1
    return left, right, values
