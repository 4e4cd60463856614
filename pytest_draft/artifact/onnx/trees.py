"""Reads one ensemble node of an ONNX file: a `Node` goes in, out comes a `Tree` each, with class shares at the leaves.

An ensemble's node holds, node by node, which column is compared with which number, and at the leaves what is added to
each class: scikit-learn's class shares, divided by the number of trees, in single precision. Two classes have one
weight a leaf, that of the second (onnx.ai, Operators.md of ai.onnx.ml: TreeEnsembleClassifier). `Ensemble` sorts the
nodes and reads the shares when it is made; `Ensemble.trees` then makes the trees.
"""

from __future__ import annotations

import numpy as np

from pytest_draft.arrays import AnyArray, BoolArray, FloatArray, IntArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.forest import Tree
from pytest_draft.artifact.onnx.columns import INSTEAD
from pytest_draft.artifact.onnx.graph import Node
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError

_MOST_SHARES = 1000
"""Largest number of rows in a leaf whose shares are taken for fractions of whole numbers."""

_ROUNDED = 2.0**-24
"""How far a share in single precision can be off."""

_HALF = 0.5 + 1e-6
"""The share of the tolerance that rounding alone takes."""

_SUM = 1e-5
"""How far the sum of a leaf's shares can be off."""


_MODES = (b"LEAF", b"BRANCH_LEQ", b"BRANCH_LT", b"BRANCH_GT", b"BRANCH_GTE")
"""How a node compares with its threshold, as the file names it; the arrays below go by the position here."""
_STRICT = np.array([False, False, True, False, True])
"""Whether a value that equals the threshold goes right."""
_SWAPPED = np.array([False, False, False, True, True])
"""Whether the node's condition holds for the larger values."""


def distinct_classes(classes: tuple[object, ...]) -> tuple[object, ...]:
    """Return the classes as they are, if there are some and each is there once.

    Raises
    ------
    CorruptArtifactError
        If there are none, or one is there twice.
    """
    if not classes or len(set(classes)) != len(classes):
        raise CorruptArtifactError("the classes of its ONNX are missing, or one is there twice")
    return classes


class Ensemble:
    """The trees of one ensemble node.

    Attributes
    ----------
    classes : tuple of (int or str)
    tolerance : float
        How far a share can be off.
    """

    def __init__(self, node: Node, budget: Budget) -> None:
        self._node = node
        self._budget = budget
        post = node.attributes.get("post_transform")
        base = self._numbers("base_values")
        if (post is not None and post.text not in ("", "NONE")) or base.any():
            raise UnsupportedArtifactError(f"its trees add up to something else than class shares; {INSTEAD}")
        texts, numbers = node.attributes.get("classlabels_strings"), self._integers("classlabels_int64s")
        self.classes = distinct_classes(tuple(texts.texts) if texts is not None else tuple(numbers.tolist()))
        single = "class_weights_as_tensor" not in node.attributes
        self.tolerance = 2 * _ROUNDED if single else 1e-14
        self._sort_nodes()
        self._read_shares()

    def _integers(self, name: str) -> IntArray:
        """Return whole numbers; none where the attribute is missing."""
        found = self._node.attributes.get(name)
        return np.zeros(0, np.int64) if found is None else found.integers

    def _numbers(self, name: str) -> FloatArray:
        """Return numbers in single precision, or a tensor of them in double."""
        found = self._node.attributes.get(f"{name}_as_tensor")
        tensor = None if found is None else found.tensor
        if tensor is not None:
            if tensor.values is None or tensor.values.dtype.kind != "f":
                raise CorruptArtifactError(f"{name} of its ONNX are not numbers")
            return tensor.values.ravel().astype(np.float64)
        plain = self._node.attributes.get(name)
        return np.zeros(0) if plain is None else plain.floats

    def _sort_nodes(self) -> None:
        """Sort the nodes by tree and number; note where each tree begins."""
        trees, numbers = self._integers("nodes_treeids"), self._integers("nodes_nodeids")
        if not len(trees) or len(numbers) != len(trees):
            raise CorruptArtifactError("its ONNX has no nodes, or not a number for each")
        self._order = np.lexsort((numbers, trees))
        self._tree, self._number = trees[self._order], numbers[self._order]
        same = (np.diff(self._tree) == 0) & (np.diff(self._number) == 0)
        if same.any():
            raise CorruptArtifactError("a tree of its ONNX has two nodes of one number")
        self._starts = np.concatenate(([0], np.flatnonzero(np.diff(self._tree)) + 1, [len(trees)]))
        self._ids = self._tree[self._starts[:-1]]

    def _column(self, values: AnyArray, what: str) -> AnyArray:
        """Return one value for each node, in the order of `_sort_nodes`."""
        if len(values) != len(self._order):
            raise CorruptArtifactError(f"its ONNX does not have {what} for each node")
        return values[self._order]

    def _positions(self, trees: IntArray, numbers: IntArray) -> IntArray:
        """Return the positions of nodes, by the numbers of their trees and their own; -1 where there is none."""
        at = np.clip(np.searchsorted(self._ids, trees), 0, len(self._ids) - 1)
        keys = np.empty(len(self._order), np.int64)
        result = np.full(len(trees), -1)
        if len(trees) and (self._number.min() < 0 or self._number.max() >= 2**31 or len(self._ids) >= 2**31):
            raise CorruptArtifactError("the nodes of its ONNX have numbers out of range")
        rank = np.repeat(np.arange(len(self._ids)), np.diff(self._starts))
        keys = rank * 2**31 + self._number
        known = (self._ids[at] == trees) & (numbers >= 0) & (numbers < 2**31)
        wanted = at[known] * 2**31 + numbers[known]
        found = np.clip(np.searchsorted(keys, wanted), 0, len(keys) - 1)
        result[known] = np.where(keys[found] == wanted, found, -1)
        return result

    def _read_shares(self) -> None:
        """Read what each leaf adds to each class, and undo the division by the number of trees."""
        trees, numbers, of = (self._integers(f"class_{name}") for name in ("treeids", "nodeids", "ids"))
        weights = self._numbers("class_weights") * len(self._ids)
        if not len(trees) == len(numbers) == len(of) == len(weights):
            raise CorruptArtifactError("the leaves of its ONNX do not have a class and a weight each")
        at, n_classes = self._positions(trees, numbers), len(self.classes)
        if not len(at) or (at < 0).any() or (of < 0).any() or (of >= n_classes).any():
            raise CorruptArtifactError("a weight of its ONNX is of no leaf or no class")
        binary = n_classes == 2 and bool((of == of[0]).all())
        cells = at * n_classes + (1 if binary else of)
        if np.bincount(cells).max() > 1:
            raise CorruptArtifactError("a leaf of its ONNX has two weights of one class")
        self._budget.spend_copy(8 * n_classes * len(self._order))
        shares = np.zeros((len(self._order), n_classes))
        shares.ravel()[cells] = weights
        self._weighted = np.zeros(len(self._order), np.bool_)
        self._weighted[at] = True
        if binary:
            shares[at, 0] = 1 - shares[at, 1]
        rows = shares[at]
        if not (np.isfinite(rows).all() and (rows >= -_SUM).all() and (np.abs(rows.sum(axis=1) - 1) <= _SUM).all()):
            raise UnsupportedArtifactError(
                f"its leaves do not hold class shares that add up to 1 over {len(self._ids)} trees, as with boosting: "
                f"covered are forests as skl2onnx converts them; {INSTEAD}"
            )
        shares[at] = as_fractions(rows, self.tolerance)
        self._shares = shares

    def trees(self, columns: IntArray | None) -> list[Tree]:
        """Return the trees; `columns` maps the node's columns to the forest's, where the node takes only some of them.

        Raises
        ------
        ArtifactError
            If it is damaged, too big, or of a kind that is not covered.
        """
        modes = self._node.attributes.get("nodes_modes")
        known = {bytes(text): code for code, text in enumerate(_MODES)}
        codes = np.array([known.get(bytes(mode), -1) for mode in modes.labels] if modes is not None else [], np.int64)
        mode = self._column(codes, "a mode")
        if (mode < 0).any():
            raise UnsupportedArtifactError("a node of its ONNX compares in a way that scikit-learn's trees do not")
        inner, strict, swapped = mode > 0, _STRICT[mode], _SWAPPED[mode]
        if (self._weighted == inner).any():
            raise CorruptArtifactError("a leaf of its ONNX has no weights, or a node that is no leaf has some")
        below = [self._children(name, inner) for name in ("true", "false")]
        left, right = np.where(swapped, below[1], below[0]), np.where(swapped, below[0], below[1])
        feature = np.where(inner, self._column(self._integers("nodes_featureids"), "a column"), -1)
        if (inner & (feature < 0)).any():
            raise CorruptArtifactError("a node of its ONNX tests none of its columns")
        if columns is not None:
            if (feature >= len(columns)).any():
                raise CorruptArtifactError(f"a node of its ONNX tests none of its {len(columns)} columns")
            feature = np.where(inner, columns[feature], -1)
        threshold = self._thresholds(inner, strict)
        missing = self._integers("nodes_missing_value_tracks_true")
        tracks = self._column(missing, "where missing values go") != 0 if len(missing) else np.zeros(len(inner), bool)
        missing_left = inner & (tracks != swapped)
        numbers = [self._integers(f"nodes_{name}ids") for name in ("truenode", "falsenode", "feature")]
        numbers_at = [one[self._order] for one in (*numbers, self._numbers("nodes_values"))]
        if any(one[~inner].any() for one in (*numbers_at, tracks)):
            self._budget.note("a child, column, threshold or direction of a leaf", "the ensemble")
        if (self._numbers("nodes_hitrates") != 1).any():
            self._budget.note("rates of nodes", "the ensemble")
        return [
            self._tree_at(start, end, left, right, feature, threshold, missing_left)
            for start, end in zip(self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True)
        ]

    def _children(self, side: str, inner: BoolArray) -> IntArray:
        """Return where each node's child on the side "true" or "false" stands; -1 at leaves."""
        numbers = self._column(self._integers(f"nodes_{side}nodeids"), "children")
        found = self._positions(self._tree, numbers)
        if (inner & (found < 0)).any():
            raise CorruptArtifactError("a node of its ONNX has a child that is not there")
        return np.where(inner, found, -1)

    def _thresholds(self, inner: BoolArray, strict: BoolArray) -> FloatArray:
        """Return each node's threshold as scikit-learn means it: a row goes left where its value is at most that."""
        given = self._column(self._numbers("nodes_values"), "a threshold")
        if not np.isfinite(given[inner]).all():
            raise CorruptArtifactError("a threshold of its ONNX is not a number")
        below = np.nextafter(given.astype(np.float32), np.float32(-np.inf)).astype(np.float64)
        return np.where(inner, np.where(strict, below, given), -2.0)

    def _tree_at(
        self,
        start: int,
        end: int,
        left: IntArray,
        right: IntArray,
        feature: IntArray,
        threshold: FloatArray,
        missing_left: BoolArray,
    ) -> Tree:
        """Return one tree; its nodes in the file's order, where each is above its children."""
        part = slice(start, end)
        children = np.stack((left[part], right[part])) - start
        inner = left[part] >= 0
        order = _from_root(children, inner)
        if order is None:
            raise CorruptArtifactError(f"tree {int(self._tree[start])} of its ONNX is not a binary tree")
        if (children[:, inner] > np.flatnonzero(inner)).all():
            order = np.arange(end - start)
        new = np.empty(end - start, np.int64)
        new[order] = np.arange(end - start)
        sides = [np.where(inner, new[np.where(inner, side, 0)], -1)[order] for side in children]
        nothing = np.zeros(end - start)
        tree = Tree(
            left=sides[0],
            right=sides[1],
            feature=feature[part][order].astype(np.int64),
            threshold=threshold[part][order],
            missing_left=missing_left[part][order],
            value=self._shares[part][order],
            weight=nothing,
            n_distinct=nothing.astype(np.int64),
            seed=None,
        )
        for array in vars(tree).values():
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
        return tree


def _from_root(children: IntArray, inner: BoolArray) -> IntArray | None:
    """Return the nodes of a tree, level by level from its root; None where they are not one binary tree."""
    n = len(inner)
    parents = np.bincount(children[:, inner].ravel(), minlength=n)
    roots = np.flatnonzero(parents == 0)
    if len(roots) != 1 or (parents > 1).any() or len(parents) != n:
        return None
    levels, reached = [roots], 1
    while True:
        above = levels[-1][inner[levels[-1]]]
        if not len(above):
            break
        levels.append(children[:, above].T.ravel())
        reached += len(levels[-1])
    return np.concatenate(levels) if reached == n else None


def as_fractions(shares: FloatArray, tolerance: float) -> FloatArray:
    """Return shares that rounding has moved away from fractions of whole numbers as these, in double precision.

    Each is expanded as a continued fraction, until one of its convergents is as near as rounding allows. A leaf of up
    to `_MOST_SHARES` rows has such a fraction, and at single precision no other is as near as it. Of a
    leaf with more rows, or with weights, a fraction that is taken for it is still within the tolerance.

    Parameters
    ----------
    shares : ndarray of float64, shape (n_leaves, n_classes)
        Off by at most half of the tolerance.

    Returns
    -------
    ndarray of float64, shape (n_leaves, n_classes)
        Off by at most the tolerance.
    """
    shares = np.clip(shares, 0.0, 1.0)
    mixed = (shares > 0) & (shares < 1)
    values, inverse = np.unique(shares[mixed], return_inverse=True)
    rest, numerators = values.copy(), [np.ones(len(values)), np.floor(values)]
    denominators = [np.zeros(len(values)), np.ones(len(values))]
    result, open_ = values.copy(), np.ones(len(values), np.bool_)
    for _ in range(20):
        with np.errstate(all="ignore"):
            found = numerators[1] / denominators[1]
        near = open_ & (np.abs(found - values) <= tolerance * _HALF) & (denominators[1] <= _MOST_SHARES)
        result[near] = found[near]
        open_ &= ~near & (denominators[1] <= _MOST_SHARES)
        remainder = rest - np.floor(rest)
        open_ &= remainder > 0
        if not open_.any():
            break
        rest = np.where(open_, 1 / np.where(open_, remainder, 1.0), 0.0)
        whole = np.floor(rest)
        numerators = [numerators[1], whole * numerators[1] + numerators[0]]
        denominators = [denominators[1], whole * denominators[1] + denominators[0]]
    exact = shares.copy()
    exact[mixed] = result[inverse]
    adds_up = np.abs(exact.sum(axis=1) - 1) <= 1e-12
    return np.where(adds_up[:, None], exact, shares)
