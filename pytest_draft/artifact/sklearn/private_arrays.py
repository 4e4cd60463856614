"""The complete trees of `pytest_draft.dp`'s forests: plain arrays become checked trees."""

from __future__ import annotations

import numpy as np

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.forest import Tree
from pytest_draft.artifact.forest.validate import RawTree, private_tree
from pytest_draft.artifact.objects import Object, data_of
from pytest_draft.errors import CorruptArtifactError

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
    raws = [
        RawTree(
            index=t,
            nodes=nodes[t],
            values=counts[t][:, None, :].astype(np.float64),
            node_count=n_nodes,
            max_depth=depth,
            features=None,
            n_features=n_features,
            n_values=n_classes,
            seed=None,
        )
        for t in range(n_trees)
    ]
    return tuple(private_tree(raw) for raw in raws)


def _stored(estimator: Object, name: str, kind: str, n_dimensions: int) -> AnyArray:
    """Return an array of 8-byte numbers in native byte order; the kind is NumPy's letter."""
    data = data_of(estimator.get(name), name)
    if data.ndim != n_dimensions or data.dtype.kind != kind or data.dtype.itemsize != 8:
        raise CorruptArtifactError(f"{name} is not an array of the forest's form")
    return data.astype(data.dtype.newbyteorder("="), copy=False)
