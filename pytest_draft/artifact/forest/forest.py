"""The forest as an outsider sees it: in go decoded arrays, out comes one validated frozen `Forest`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest.draws import BaggingDraws, Draws
from pytest_draft.artifact.forest.observations import BoostedSums, Observation
from pytest_draft.artifact.forest.weights import WHOLE, balanced_weights, is_by_class, named_weights, subsample_weights
from pytest_draft.errors import CorruptArtifactError, NotCoveredError


@dataclass(frozen=True, eq=False)
class Tree:
    """One decision tree, node by node, as its file stores it."""

    left: IntArray
    right: IntArray
    """`left` and `right`, shape (n_nodes,): children's indices; -1 at leaves. A child's index is above its parent's."""
    feature: IntArray
    """Shape (n_nodes,). Column of the *forest's* input tested at a node (a bagging ensemble's feature subsets are
    already resolved); -1 at leaves.
    """
    threshold: FloatArray
    """Shape (n_nodes,). A row goes left when its float32 value is at most this."""
    missing_left: BoolArray
    """Shape (n_nodes,). Whether a missing value goes left."""
    value: FloatArray
    """Shape (n_nodes, n_values). What `Forest.observation` says of the rows in each node."""
    weight: FloatArray
    """Shape (n_nodes,). ``weighted_n_node_samples``: with bagging, the number of draws."""
    n_distinct: IntArray
    """Shape (n_nodes,). ``n_node_samples``: with bagging by sample weights, the number of *distinct* rows."""
    seed: int | None
    """The tree's stored ``random_state``; for bagging ensembles the ensemble's seed of this tree."""
    impurity: FloatArray | None = None
    """Shape (n_nodes,). Of a regressor, as stored: it can be removed, or changed."""
    no_midpoint: BoolArray | None = None
    """Shape (n_nodes,). Where a best split's threshold is no midpoint of values of the rows that are counted, as it was
    one of a column that was left out (`pytest_draft.data.repeats`), or of rows that were drawn; None for nowhere.
    """

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.left)

    @property
    def leaves(self) -> IntArray:
        """Indices of the leaves, ascending."""
        return np.flatnonzero(self.left < 0).astype(np.int64)


def minor_of(version: object) -> tuple[int, int] | None:
    """Return the major and minor number of a version of scikit-learn; None where it is no version."""
    match = re.match(r"(\d{1,4})\.(\d{1,4})(?!\d)", version if isinstance(version, str) else "", re.ASCII)
    return None if match is None else (int(match[1]), int(match[2]))


_LARGEST_COUNT = 2**53
"""Up to so many rows, a number in double precision tells each from the next."""


@dataclass(frozen=True, eq=False)
class Forest:
    """A tree ensemble as its file describes it."""

    kind: str
    """Class name of the estimator, e.g. ``RandomForestClassifier``."""
    trees: tuple[Tree, ...]
    """At least one."""
    n_features: int
    """Number of input columns."""
    feature_names: tuple[str, ...] | None
    """``feature_names_in_`` where the file has it."""
    classes: tuple[object, ...] | None
    """Tuple of object or None. ``classes_`` as plain Python values (int, float, bool, str); None for regressors."""
    observation: Observation
    """What its leaves say of the rows in them."""
    draws: Draws
    """What each tree was given of the rows."""
    n_samples: int | None
    """Number of training rows, where the file tells it."""
    sklearn_version: str | None
    """The version that wrote the file."""
    parameters: dict[str, object] = field(default_factory=dict)
    """The estimator's plain (number, text, bool, None) constructor parameters; ``class_weight`` may be a dict. A
    bagging ensemble's trees' are named ``estimator__...``.
    """
    gaps: tuple[tuple[int, FloatArray], ...] = ()
    """Columns with thresholds that were chosen among the values of *all* rows, so that they can tell more than who went
    where to somebody who knows the rows beside: each is midway between two neighbouring values, or next to one.
    """
    moved: bool = False
    """Whether thresholds in these gaps were moved to the shortest decimal there (``pytest_draft harden --data``)."""
    told: Observation | None = None
    """What its leaves tell besides, of values, where its counts are those that rows give it; None for nothing."""
    scaled: str = ""
    """What its file's scalers say of how its table was scaled: a sentence for whoever gave another one."""
    of_column: IntArray | None = None
    """Which of the columns here stands for each column of the file, where some repeat others and were left out
    (`pytest_draft.data.repeats`); None where they are the same.
    """

    @property
    def columns_of_file(self) -> IntArray:
        """The column that stands for each column that trees were trained on, by which they drew columns."""
        return np.arange(self.n_features) if self.of_column is None else self.of_column

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.trees)

    @property
    def n_classes(self) -> int:
        """Number of classes; 1 for regressors, whose rows are counted together."""
        return 1 if self.classes is None else len(self.classes)

    @property
    def sklearn_minor(self) -> tuple[int, int] | None:
        """Major and minor number of the version that wrote the file; None where it does not tell."""
        return minor_of(self.sklearn_version)

    @property
    def distinct(self) -> tuple[IntArray, ...] | None:
        """How many different rows are in each leaf, by tree; None where the counts say it, or it was removed."""
        if self.draws.each_once or not self.trees[0].n_distinct[0]:
            return None
        return tuple(tree.n_distinct[tree.leaves] for tree in self.trees)

    @property
    def tree_parameters(self) -> dict[str, object]:
        """The parameters of its trees, by the names that they have there."""
        nested, prefix = self.parameters.items(), "estimator__"
        own = {name.removeprefix(prefix): value for name, value in nested if name.startswith(prefix)}
        own = own or dict(self.parameters)
        if self.kind.startswith(("RandomForest", "ExtraTrees")):
            own["splitter"] = "best" if self.kind.startswith("RandomForest") else "random"
        return own

    @property
    def splitter(self) -> object:
        """How thresholds were found: "best" if midway between values of rows, "random" if drawn; None if unknown."""
        return self.tree_parameters.get("splitter")

    @property
    def trained_on(self) -> str:
        """What it says of its number of rows, where it says it."""
        if isinstance(self.observation, BoostedSums) and self.observation.weighed:
            return (
                f"the sums of this forest are those of {self.n_samples:,} rows, or of others with weights or subsample"
            )
        return f"this forest was trained on {self.n_samples:,} rows"

    @property
    def unused(self) -> str | None:
        """What the file tells of the rows besides its counts, and no attack here uses yet; None for nothing.

        Who uses it rebuilds more: a verdict without it can fail a forest, and never pass it.
        """
        if self.observation.also is not None:
            return self.observation.also
        if self.classes is None:
            return f"the mean targets in the nodes of a {self.kind} are not used yet: whoever uses them gets closer"
        return None

    def counts(self, tree: int) -> IntArray:
        """Return how many training rows (with bagging: draws) of each class reached each node.

        Weights that scaled the file's totals and that the file tells are undone.

        The shape is (n_nodes, n_classes).

        Parameters
        ----------
        tree : int
            Index of the tree.

        Raises
        ------
        NotCoveredError
            Where weights have scaled the totals and cannot be undone.
        CorruptArtifactError
            Where a node's counts are not the sum of its children's.
        ValueError
            Where its observation is none of counts.
        """
        nodes = self.trees[tree]
        exact = self._totals(tree) / self.draw_weight[tree]
        counts = np.rint(exact)
        if not (np.abs(exact) <= _LARGEST_COUNT).all():
            raise NotCoveredError(f"tree {tree}: its counts are too large to be whole numbers of rows")
        if (np.abs(exact - counts) > WHOLE).any():
            raise NotCoveredError(f"tree {tree}: its counts are not whole, as with weights that are not in the file")
        result: IntArray = counts.astype(np.int64)
        self._require_draws(tree, result)
        inner = nodes.left >= 0
        if (result[inner] != result[nodes.left[inner]] + result[nodes.right[inner]]).any():
            raise CorruptArtifactError(f"tree {tree}: a node's counts are not the sum of its children's")
        return result

    def released(self, tree: int) -> IntArray:
        """Return what a forest that declares privacy released at the leaves of a tree, shape (n_leaves, n_classes).

        In the order of `Tree.leaves`: noisy counts, which can be negative, or a one for each leaf's label.

        Parameters
        ----------
        tree : int
            Index of the tree.

        Raises
        ------
        ValueError
            Where the forest declares no privacy: see `counts`.
        """
        if self.observation.privacy is None:
            raise ValueError("this forest declares no privacy: its leaves hold counts")
        nodes = self.trees[tree]
        result: IntArray = np.rint(nodes.value[nodes.leaves]).astype(np.int64)
        return result

    @cached_property
    def draw_weight(self) -> FloatArray:
        """What one draw (without bootstrap: one row) of each class adds to a node, shape (n_trees, n_classes).

        Raises
        ------
        NotCoveredError
            Where the file does not tell it, or tells several.
        """
        draws = self.draws
        if not draws.scaled_by_class:
            return np.full((self.n_trees, self.n_classes), draws.unit)
        given = draws.class_weight
        if given == "balanced_subsample" and draws.drawn:
            if draws.per_tree is None:
                raise NotCoveredError("the file does not tell how many rows were drawn for each tree")
            return np.stack([subsample_weights(self._totals(t), draws.per_tree) for t in range(self.n_trees)])
        if isinstance(given, dict) and self.classes is not None:
            # A bagging ensemble hands its trees the classes' numbers.
            seen = range(self.n_classes) if isinstance(draws, BaggingDraws) else self.classes
            weights = named_weights(given, tuple(seen))
        elif given in ("balanced", "balanced_subsample"):
            weights = self._balanced_weights()
        else:
            raise NotCoveredError("its class weights are neither balanced nor a plain dict, so they cannot be undone")
        stored = draws.scaling
        if stored is not None and not is_by_class(stored, weights, self._totals(0)[0] / weights):
            raise NotCoveredError("it was trained with sample weights besides its class weights, which is not covered")
        return np.tile(weights, (self.n_trees, 1))

    def _totals(self, tree: int) -> FloatArray:
        """Return the weighted totals of each node by class, shape (n_nodes, n_classes)."""
        nodes = self.trees[tree]
        return self.observation.totals(nodes.value, nodes.weight)

    def _balanced_weights(self) -> FloatArray:
        draws, once = self.draws, self.draws.at_most_once
        if self.n_samples is None or (draws.drawn and draws.per_tree is None):
            raise NotCoveredError(
                "the file does not tell the number of training rows, so its class weights are unknown"
            )
        # Where no row counts twice, each leaf's rows are known; else only how many were drawn in all.
        nodes = [tree.leaves if once else np.zeros(1, np.int64) for tree in self.trees]
        totals = [self._totals(t)[those] for t, those in enumerate(nodes)]
        rows = [
            (tree.n_distinct[those] if once else np.array([draws.per_tree])).astype(np.float64)
            for tree, those in zip(self.trees, nodes, strict=True)
        ]
        return balanced_weights(totals, rows, self.n_samples)

    def _require_draws(self, tree: int, counts: IntArray) -> None:
        """Refuse counts that are scaled by weights which are not in the file, also where they happen to be whole."""
        n_distinct = self.trees[tree].n_distinct
        rows = counts.sum(axis=1)
        draws = self.draws
        drawn = draws.per_tree if draws.times is None else int(draws.times.sum())
        scaled = bool((rows != n_distinct).any() if draws.at_most_once else (rows < n_distinct).any())
        if scaled or (drawn is not None and rows[0] != drawn):
            raise NotCoveredError(
                f"tree {tree}: its counts are not its draws, as with weights that are not in the file"
            )
