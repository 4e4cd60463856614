"""What no reader uses of arrays and trees: in go what a file stores, out come words for what should not be there.

Whoever writes a file honestly gives each such byte one value. Any other could be a piece of a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pytest_draft.arrays import AnyArray, BoolArray, IntArray
from pytest_draft.artifact.records import Array, Record
from pytest_draft.errors import one_line

_AT_LEAVES = {"feature": -2, "threshold": -2.0, "missing_go_to_left": 0}
_AT_LEAVES_OF_HISTOGRAMS = {
    **dict.fromkeys(("feature_idx", "num_threshold", "missing_go_to_left", "bin_threshold", "bitset_idx"), 0),
    "gain": -1.0,
}
"""What scikit-learn's trees have at leaves, which test nothing; last, its trees on histograms."""

_OF_CLASSES, _OF_SQUARES = ("gini", "entropy", "log_loss"), ("squared_error", "friedman_mse", "mse")
_IMPURITY = 1e-9
"""How far an impurity is off at most by rounding, relative to the square of the largest value."""

_OWN = ("random_state", "tree_")
"""What each tree of an ensemble has for itself."""


def unused_in(data: AnyArray, *, best_first: bool) -> Iterator[str]:
    """Yield what no reader uses of an array's items, and is not as a writer leaves it: padding, and fields of leaves.

    Parameters
    ----------
    best_first : bool
        Whether it may be of a tree grown so: leaves then keep where their best split sent missing values.
    """
    fields: Mapping[str, Any] = data.dtype.fields or {}
    if data.dtype.kind == "b" or fields:
        raw = data.ravel("K").view(np.uint8).reshape(data.size, data.dtype.itemsize)
        owned = {at + byte for kind, at, *_ in fields.values() for byte in range(kind.itemsize)}
        for byte in range(raw.shape[1]) if data.size else ():
            if byte not in owned and raw[:, byte].max() > (not fields):
                item = int(np.argmax(raw[:, byte] > (not fields)))
                yield f"byte {byte} of the {raw.shape[1]} of item {item} is not 0{'' if fields else ' or 1'}"
                break
    for name, (leaf, value) in at_leaves(data).items():
        good = ~leaf | (data[name] == value) | ((name == "missing_go_to_left") & best_first & (data[name] == 1))
        if name == "gain" and not leaf.all():  # of a split for which there was no leaf left: made before a smaller one
            good |= (data[name] > 0) & (data[name] <= data[name][~leaf].max())
        if not good.all():
            yield f"{name} of node {int(np.argmin(good))}, a leaf, is not {value:g}"


def at_leaves(nodes: AnyArray) -> dict[str, tuple[BoolArray, float]]:
    """Return which nodes are leaves and what they hold, by the fields that only others use; none of other arrays."""
    names = nodes.dtype.names or ()
    if "is_leaf" in names:
        leaf, wanted = nodes["is_leaf"] == 1, _AT_LEAVES_OF_HISTOGRAMS
    else:
        leaf, wanted = nodes["left_child"] < 0 if "left_child" in names else np.zeros(0, np.bool_), _AT_LEAVES
    return {name: (leaf, value) for name, value in wanted.items() if len(leaf) and name in names}


def impurities_off(nodes: Any, criterion: object) -> IntArray:
    """Return the nodes whose impurity does not follow from all nodes' values; none where it was removed.

    Shares of classes give each node's. Squared errors of a node are those of its children around its own mean, so those
    of leaves with several rows are what they are. Of other criteria nothing is known.
    """
    tree, impurity, value = nodes.tree, nodes.impurity, nodes.tree.value
    inner, wanted = np.flatnonzero(tree.left >= 0), impurity
    if criterion in _OF_CLASSES and impurity.any() and (value >= 0).all():
        shares = value / np.maximum(value.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
        wanted = 1 - (shares**2).sum(axis=1) if criterion == "gini" else -(shares * logs).sum(axis=1)
    elif criterion in _OF_SQUARES and impurity.any():
        squares = tree.weight * (impurity + value[:, 0] ** 2)
        wanted = np.where(tree.n_distinct == 1, 0.0, impurity)
        below = squares[tree.left[inner]] + squares[tree.right[inner]]
        wanted[inner] = below / np.maximum(tree.weight[inner], np.finfo(np.float64).tiny) - value[inner, 0] ** 2
    return np.flatnonzero(~(np.abs(impurity - wanted) <= _IMPURITY * max(1.0, float((value**2).max()))))


def differing(records: Sequence[object]) -> str | None:
    """Return an attribute that not all trees of an ensemble share, but for seeds and nodes; None where they do."""
    trees = [record.named for record in records if isinstance(record, Record)]
    for index, named in enumerate(trees):
        for name in named.keys() | trees[0].keys():
            one, other = named.get(name), trees[0].get(name)
            if isinstance(one, Array) and isinstance(other, Array) and one.data is not None and other.data is not None:
                same = np.array_equal(one.data, other.data)
            else:  # what is no number or text is accounted for by itself
                plain = type(one) in (bool, int, float, str)
                same = type(one) is type(other) and (not plain or one == other or str(one) == str(other) == "nan")
            if name not in _OWN and not same:
                return f"{one_line(name, 40)} of tree {index}, which is not that of the others"
    return None
