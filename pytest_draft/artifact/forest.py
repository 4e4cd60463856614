"""The forest as an outsider sees it: in go decoded arrays, out comes one validated frozen `Forest`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pytest_draft.errors import CorruptArtifactError, NotCoveredError

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Tree:
    """One decision tree, node by node, as its file stores it.

    Attributes
    ----------
    left, right : ndarray of int64, shape (n_nodes,)
        Children's indices; -1 at leaves. A child's index is above its parent's.
    feature : ndarray of int64, shape (n_nodes,)
        Column of the *forest's* input tested at a node (a bagging ensemble's feature subsets are
        already resolved); -1 at leaves.
    threshold : ndarray of float64, shape (n_nodes,)
        A row goes left when its float32 value is at most this.
    missing_left : ndarray of bool, shape (n_nodes,)
        Whether a missing value goes left.
    value : ndarray of float64, shape (n_nodes, n_values)
        As stored: class fractions or class totals, or a regressor's mean.
    weight : ndarray of float64, shape (n_nodes,)
        ``weighted_n_node_samples``: with bagging, the number of draws.
    n_distinct : ndarray of int64, shape (n_nodes,)
        ``n_node_samples``: with bagging by sample weights, the number of *distinct* rows.
    seed : int or None
        The tree's stored ``random_state``; for bagging ensembles the ensemble's seed of this tree.
    """

    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    value: FloatArray
    weight: FloatArray
    n_distinct: IntArray
    seed: int | None

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.left)

    @property
    def leaves(self) -> IntArray:
        """Indices of the leaves, ascending."""
        return np.flatnonzero(self.left < 0).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Forest:
    """A tree ensemble as its file describes it.

    Attributes
    ----------
    kind : str
        Class name of the estimator, e.g. ``RandomForestClassifier``.
    trees : tuple of Tree
        At least one.
    n_features : int
        Number of input columns.
    feature_names : tuple of str or None
        ``feature_names_in_`` where the file has it.
    classes : tuple of object or None
        ``classes_`` as plain Python values (int, float, bool, str); None for regressors.
    values : {"fractions", "totals", "means"}
        What `Tree.value` holds, detected from the data.
    bootstrap : bool
        Whether each tree saw a bootstrap sample (or, for bagging, a subsample) of the rows.
    replacement : bool
        Whether that sample was drawn with replacement.
    n_samples : int or None
        Number of training rows, where the file tells it.
    n_draws : int or None
        Rows drawn for each tree, where `bootstrap` and the file tells it.
    sample_weight : ndarray of float64, shape (n_samples,), or None
        The stored per-row weights that drive the draw (forests: scikit-learn 1.9 and later, bagging: 1.8);
        of float32 where the file has that, because the draw depends on it.
    seeds_from : {"tree", "ensemble", None}
        Where `Tree.seed` comes from: each tree's ``random_state``, or the ensemble's ``_seeds``.
    max_features, bootstrap_features : int or None, bool
        Bagging only: what its feature draw, which precedes its row draw, needs to be replayed.
    sklearn_version : str or None
        The version that wrote the file.
    parameters : dict
        The estimator's plain (number, text, bool, None) constructor parameters; ``class_weight`` may be a
        dict. A bagging ensemble's trees' are named ``estimator__...``.
    """

    kind: str
    trees: tuple[Tree, ...]
    n_features: int
    feature_names: tuple[str, ...] | None
    classes: tuple[object, ...] | None
    values: Literal["fractions", "totals", "means"]
    bootstrap: bool
    replacement: bool
    n_samples: int | None
    n_draws: int | None
    sample_weight: FloatArray | None
    seeds_from: Literal["tree", "ensemble"] | None
    max_features: int | None
    bootstrap_features: bool
    sklearn_version: str | None
    parameters: dict[str, object] = field(default_factory=dict)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.trees)

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for regressors."""
        return 0 if self.classes is None else len(self.classes)

    def counts(self, tree: int) -> IntArray:
        """Return how many training rows (with bagging: draws) of each class reached each node.

        Parameters
        ----------
        tree : int
            Index of the tree.

        Returns
        -------
        ndarray of int64, shape (n_nodes, n_classes)

        Raises
        ------
        NotCoveredError
            For regressors, and where weights made the counts fractional.
        CorruptArtifactError
            Where a node's counts are not the sum of its children's.
        """
        if self.classes is None:
            raise NotCoveredError(f"{self.kind} stores means, not counts: regressors are not covered yet")
        self._require_unweighted(tree)
        nodes = self.trees[tree]
        totals = nodes.value * nodes.weight[:, None] if self.values == "fractions" else nodes.value
        counts = np.rint(totals)
        tolerance = 1e-6 * np.maximum(1.0, nodes.weight)
        if (np.abs(totals - counts).max(axis=1) > tolerance).any():
            raise NotCoveredError(
                f"tree {tree}: its class counts are not whole; class or sample weights are not covered yet"
            )
        result = counts.astype(np.int64)
        inner = nodes.left >= 0
        if (result[inner] != result[nodes.left[inner]] + result[nodes.right[inner]]).any():
            raise CorruptArtifactError(f"tree {tree}: a node's counts are not the sum of its children's")
        return result

    @property
    def class_weight(self) -> object:
        """The ``class_weight`` parameter of the forest or, for bagging, of its trees; None without."""
        return self.parameters.get("class_weight", self.parameters.get("estimator__class_weight"))

    def _require_unweighted(self, tree: int) -> None:
        """Refuse a tree whose counts are scaled by weights, also where they happen to be whole."""
        nodes = self.trees[tree]
        if not self.bootstrap:
            # Weights that leave every node's sum alone still scale its classes (balanced ones do).
            scaled = self.class_weight is not None or bool((nodes.weight != nodes.n_distinct).any())
            scaled |= self.sample_weight is not None and bool((self.sample_weight != 1).any())
        else:
            # From scikit-learn 1.9 on a forest's weights drive the draw and are stored, and do not
            # scale the counts; except those of each bootstrap sample by itself.
            scaled = self.class_weight is not None and (
                self.sample_weight is None or self.class_weight == "balanced_subsample"
            )
            scaled |= self.n_draws is not None and float(nodes.weight[0]) != self.n_draws
            scaled |= bool((nodes.weight < nodes.n_distinct).any())
        if scaled:
            raise NotCoveredError(
                f"tree {tree}: class or sample weights have scaled its counts, which is not covered yet"
            )


@dataclass(frozen=True, eq=False)
class Artifact:
    """A model file that was read, never run.

    Attributes
    ----------
    path : str
        As given.
    sha256 : str
        Of exactly the bytes that were read.
    size : int
        Bytes.
    holds : str
        One line: what the file holds, e.g. ``RandomForestClassifier, 100 trees, 19 columns, 2 classes``.
    forest : Forest
    not_read : tuple of str
        Attribute paths in the file that were left opaque.
    """

    path: str
    sha256: str
    size: int
    holds: str
    forest: Forest
    not_read: tuple[str, ...]
