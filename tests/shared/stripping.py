"""Fitted models without their counts: in goes one of scikit-learn's and a level, out comes a copy that predicts alike.

The canonical form of what is removed: ``n_node_samples`` and ``weighted_n_node_samples`` are 1 at each leaf and the
sum of the children above; ``impurity`` is 0, as are the values of inner nodes and ``missing_go_to_left``; no seeds.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

LEFT = ("n_node_samples", "weighted_n_node_samples", "impurity", "inner fractions", "missing_go_to_left", "seeds")
"""What can be left in half-way variants."""

_OF_ENSEMBLES = {
    *("_sample_weight", "_n_samples", "_n_samples_bootstrap", "_max_samples", "_seeds"),
    *("oob_score_", "oob_decision_function_", "oob_prediction_"),
}


def stripped(model: Any, level: str, *, left: tuple[str, ...] = (), counts: str = "canonical") -> Any:
    """Return a copy of a fitted tree, forest or bagging ensemble with less in it.

    Parameters
    ----------
    model : estimator
        Fitted; it is not changed.
    level : {"seeds", "counts", "decimals:N", "labels"}
        Each removes what those before it do.
    left : tuple of str
        Which of `LEFT` stay as they are, as by somebody who stops half-way.
    counts : {"canonical", "zeros", "ones"}
        What stands in place of the numbers of rows.
    """
    assert set(left) <= set(LEFT)
    copy = pickle.loads(pickle.dumps(model))
    trees = getattr(copy, "estimators_", [copy])
    if "seeds" not in left:
        for name in _OF_ENSEMBLES & vars(copy).keys():
            delattr(copy, name)
        for one in (copy, *trees):
            one.random_state = None
    if level != "seeds":
        for tree in trees:
            tree.tree_ = _stripped_tree(tree.tree_, level, left, counts, hasattr(tree, "classes_"))
    return copy


def _stripped_tree(tree: Any, level: str, left: tuple[str, ...], counts: str, classifier: bool) -> Any:
    state = tree.__getstate__()
    nodes, values = state["nodes"].copy(), state["values"].copy()
    leaf, whole = nodes["left_child"] < 0, values
    if classifier:
        totals = values.sum(axis=2, keepdims=True)
        values = np.divide(values, totals, out=np.zeros_like(values), where=totals > 0)
        whole = values
        if level.startswith("decimals:"):
            values = np.round(values, int(level.removeprefix("decimals:")))
        if level == "labels":
            values = (values.argmax(axis=2)[:, :, None] == np.arange(values.shape[2])).astype(float)
            if not set(left) & {"n_node_samples", "weighted_n_node_samples", "impurity", "inner fractions"}:
                nodes, values = _merged(nodes, values)
                leaf, whole = nodes["left_child"] < 0, values
    values[~leaf] = whole[~leaf] if "inner fractions" in left else 0
    if "impurity" not in left:
        nodes["impurity"] = 0
    if "missing_go_to_left" not in left and "missing_go_to_left" in nodes.dtype.names:
        nodes["missing_go_to_left"] = 0
    made_up = np.where(leaf, 1, 0)
    for node in np.flatnonzero(~leaf)[::-1]:
        made_up[node] = made_up[nodes["left_child"][node]] + made_up[nodes["right_child"][node]]
    made_up = {"canonical": made_up, "zeros": np.zeros_like(made_up), "ones": np.ones_like(made_up)}[counts]
    for name in ("n_node_samples", "weighted_n_node_samples"):
        if name not in left:
            nodes[name] = made_up
    made = type(tree)(tree.n_features, np.asarray(tree.n_classes, np.intp), tree.n_outputs)
    depth = np.zeros(len(nodes), int)
    for node in np.flatnonzero(~leaf):
        depth[[nodes["left_child"][node], nodes["right_child"][node]]] = depth[node] + 1
    shape = {"node_count": len(nodes), "max_depth": int(depth.max())}
    made.__setstate__(state | shape | {"nodes": nodes, "values": values})
    return made


def _merged(nodes: Any, values: Any) -> tuple[Any, Any]:
    """Return the nodes without those both of whose children answer the same, in their old order."""
    same = nodes["left_child"] < 0
    for node in np.flatnonzero(~same)[::-1]:
        children = [nodes["left_child"][node], nodes["right_child"][node]]
        if same[children].all() and (values[children[0]] == values[children[1]]).all():
            same[node], values[node] = True, values[children[0]]
    kept = np.zeros(len(nodes), bool)
    kept[0] = True
    for node in np.flatnonzero(~same):
        kept[[nodes["left_child"][node], nodes["right_child"][node]]] |= kept[node]
    place = np.cumsum(kept) - 1
    nodes = nodes.copy()
    inner = kept & ~same
    for side in ("left_child", "right_child"):
        nodes[side] = np.where(inner, place[nodes[side]], -1)
    nodes["feature"] = np.where(inner, nodes["feature"], -2)
    nodes["threshold"] = np.where(inner, nodes["threshold"], -2.0)
    return nodes[kept], values[kept]
