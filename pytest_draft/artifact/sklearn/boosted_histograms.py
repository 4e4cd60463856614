"""Reads HistGradientBoosting of scikit-learn: trees that store numbers of rows, Newton steps and gains of splits.

With G and H the sums of gradients and hessians of a node's rows, an inner node holds -G / (H + l2), and a leaf that
times the learning rate; the root holds 0. Each row's gradient and hessian were rounded to single precision.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from pytest_draft.arrays import AnyArray, FloatArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.forest.observations import WEIGHTS, BoostedSums, ClassWeight, Loss, Statements
from pytest_draft.artifact.forest.validate import Nodes, RawTree, checked_nodes
from pytest_draft.artifact.objects import Object, data_of, described, plain_classes
from pytest_draft.artifact.origin import HeldBack
from pytest_draft.artifact.read_forest import ReadForest
from pytest_draft.artifact.records import Array, Record
from pytest_draft.artifact.sklearn.boosted_estimators import (
    EPSILON,
    UNKNOWN_ROWS,
    class_of,
    class_weight_of,
    counted_or_bare,
    hessians_of_gains,
    reach,
    read_boosted,
    unknown_version,
    with_steps,
)
from pytest_draft.artifact.world.unjudged import PREDICTOR
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError, one_line

HISTOGRAM_BOOSTED = frozenset(
    ("sklearn.ensemble._hist_gradient_boosting.gradient_boosting", name)
    for name in ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
)
_LOSSES_OF_CLASSIFIERS = ("log_loss", "auto", "binary_crossentropy", "categorical_crossentropy")
_LOSSES_OF_REGRESSORS: dict[object, Loss] = {"squared_error": "squared", "poisson": "poisson"}
_CLASSES_OF_LOSSES = {
    "logistic": "HalfBinomialLoss",
    "softmax": "HalfMultinomialLoss",
    "squared": "HalfSquaredError",
    "poisson": "HalfPoissonLoss",
}
_PARAMETERS = (
    *("categorical_features", "class_weight", "early_stopping", "interaction_cst", "l2_regularization"),
    *("learning_rate", "loss", "max_bins", "max_depth", "max_features", "max_iter", "max_leaf_nodes"),
    *("min_samples_leaf", "monotonic_cst", "n_iter_no_change", "quantile", "random_state", "scoring", "tol"),
    *("validation_fraction", "verbose", "warm_start"),
)
_FIELDS = {
    "value": ("f8",),
    "count": ("u4",),
    "feature_idx": ("i8", "i4", "u4"),  # by platform; u4 before 1.3
    "num_threshold": ("f8",),
    "missing_go_to_left": ("u1",),
    "left": ("u4",),
    "right": ("u4",),
    "gain": ("f8",),
    "depth": ("u4",),
    "is_leaf": ("u1",),
    "bin_threshold": ("u1",),
    "is_categorical": ("u1",),
    "bitset_idx": ("u4",),
}
_NODE = np.dtype(
    [
        *((name, np.int64) for name in ("left_child", "right_child", "feature", "n_node_samples")),
        *((name, np.float64) for name in ("threshold", "impurity", "weighted_n_node_samples")),
        ("missing_go_to_left", np.uint8),
    ]
)
"""A node as `checked_nodes` takes it."""

_SINGLE = 2.0**-24
"""How much of a number is lost at most where it is rounded to single precision."""
_ROUNDINGS = 256
"""Roundings of double precision that a sum of a node goes through at most, beside one for each row."""
_OUTLYING = 16.0
"""How many times the largest value of all nodes a row's gradient is taken to be at most, where no loss bounds it."""
_LARGEST_SCORE = 700.0
_HEAVY = 16.0
"""How much a row weighs at most, for rounding, where weights follow from the numbers of rows of the classes."""
_ADDED = 1e-15
"""What scikit-learn adds to each sum of hessians, beside `l2_regularization`."""


def histogram_boosting(estimator: Object, budget: Budget) -> tuple[ReadForest, list[Object]]:
    """Read a HistGradientBoostingClassifier or HistGradientBoostingRegressor.

    Parameters
    ----------
    estimator : Object
        Of one of the `HISTOGRAM_BOOSTED`.
    """
    return _Reader(estimator, budget).boosted()


class _Reader:
    """Reads one estimator."""

    def __init__(self, estimator: Object, budget: Budget) -> None:
        estimator.is_fitted("_predictors")
        self._estimator = estimator
        self._budget = budget
        self._n_features = estimator.integer("n_features_in_", minimum=1)
        self._n_scores = estimator.integer("n_trees_per_iteration_", minimum=1)
        self._classes: tuple[object, ...] | None = None
        self._loss: Loss = _LOSSES_OF_REGRESSORS.get(_plain(estimator.get("loss")), "squared")
        if estimator.record.cls.name.endswith("Classifier"):
            self._classes = plain_classes(estimator.get("classes_"))
            self._loss = "logistic" if len(self._classes) <= 2 else "softmax"
        if self._n_scores != (len(self._classes or ()) if self._loss == "softmax" else 1):
            raise CorruptArtifactError("n_trees_per_iteration_ is not the number of its scores")
        self._rate = estimator.number("learning_rate")
        self._l2 = estimator.number("l2_regularization") + _ADDED
        if self._rate <= 0 or self._l2 < _ADDED:
            raise CorruptArtifactError("learning_rate or l2_regularization is out of range")

    def boosted(self) -> tuple[ReadForest, list[Object]]:
        """Read the trees, and what they say."""
        predictors = self._predictors()
        stored = [self._stored(predictor, index) for index, predictor in enumerate(predictors)]
        forest, counted = counted_or_bare([self._nodes(nodes, index) for index, nodes in enumerate(stored)])
        self._check_bins(np.concatenate([nodes[nodes["is_leaf"] != 1] for nodes in stored]))
        base = self._base()
        why = self._why_not(stored)
        steps = [nodes.tree.value[nodes.tree.leaves, 0] for nodes in forest]
        said = tuple(Statements.none() for _ in forest)
        if why is None:
            said = self._statements(forest, stored, reach(base, steps))
        trees = tuple(with_steps(nodes.tree, nodes.tree.value[:, 0]) for nodes in forest)
        weighted = self._estimator.get("_fitted_with_sw") not in (None, False)
        unknown = WEIGHTS if weighted and self._class_weight is None else None
        observation = BoostedSums(
            loss=self._loss,
            base=base,
            statements=said,
            counted=counted,
            class_weight=self._class_weight,
            unknown=unknown,
        )
        held_back = None if why is not None else self._held_back(int(trees[0].n_distinct[0]) if counted else None)
        parameters = self._estimator.parameters()
        return read_boosted(self._estimator, trees, self._classes, observation, parameters, why, held_back), predictors

    # Trees

    def _check_bins(self, splits: AnyArray) -> None:
        """Note bins, which nobody reads, that do not follow each other as thresholds do, or of categories."""
        splits = splits[np.lexsort((splits["num_threshold"], splits["feature_idx"]))]
        of_one = np.diff(splits["feature_idx"].astype(np.int64)) == 0
        higher, same = np.diff(splits["bin_threshold"].astype(np.int64)), np.diff(splits["num_threshold"]) == 0
        strange = splits["bitset_idx"][splits["is_categorical"] == 0].any()
        if strange or ((higher < 0) | ((higher == 0) != same))[of_one].any():
            self._budget.note("bin_threshold or bitset_idx of its nodes", "_predictors")

    def _predictors(self) -> list[Object]:
        """Return all trees, round by round, each score's in turn."""
        rounds = self._estimator.get("_predictors")
        if not isinstance(rounds, list) or not rounds:
            raise CorruptArtifactError("_predictors is not a list of trees")
        if not all(isinstance(one, list) and len(one) == self._n_scores for one in rounds):
            raise CorruptArtifactError(f"_predictors does not have {self._n_scores} trees for each round")
        records = [record for one in rounds for record in one]
        if len({id(record) for record in records}) != len(records):
            raise CorruptArtifactError("_predictors has the same tree twice")
        path = f"{self._estimator.path}_predictors[*]."
        found = [
            Object(record, path) for record in records if isinstance(record, Record) and record.cls.key == PREDICTOR
        ]
        if len(found) != len(records):
            raise CorruptArtifactError("_predictors holds something else than trees")
        return found

    def _stored(self, predictor: Object, index: int) -> AnyArray:
        """Return the nodes of a tree as they are stored, after a check of their fields."""
        nodes = data_of(predictor.get("nodes"), f"the nodes of tree {index}")
        names = nodes.dtype.names or ()
        if nodes.ndim != 1 or set(names) != set(_FIELDS):
            raise UnsupportedArtifactError(
                f"tree {index}: its nodes do not have the fields of scikit-learn's since 1.1: train it again with a "
                "version that is covered"
            )
        for name in names:
            if nodes.dtype[name].newbyteorder("=") not in [np.dtype(one) for one in _FIELDS[name]]:
                raise CorruptArtifactError(f"tree {index}: the field {name} of its nodes is not of scikit-learn's type")
        if not len(nodes):
            raise CorruptArtifactError(f"tree {index}: it has no nodes")
        self._budget.spend_copy(2 * len(nodes) * (_NODE.itemsize + 8))
        return nodes

    def _nodes(self, stored: AnyArray, index: int) -> Nodes:
        leaf = stored["is_leaf"] == 1
        if (stored["is_leaf"] > 1).any() or (stored["left"][leaf] != 0).any() or (stored["right"][leaf] != 0).any():
            raise CorruptArtifactError(f"tree {index}: a node is neither a leaf nor has it children")
        depth = stored["depth"].astype(np.int64)
        nodes = np.zeros(len(stored), _NODE)
        for name, side in (("left_child", "left"), ("right_child", "right")):
            nodes[name] = np.where(leaf, -1, stored[side].astype(np.int64))
        nodes["feature"] = np.where(leaf, -2, stored["feature_idx"])
        nodes["n_node_samples"] = nodes["weighted_n_node_samples"] = stored["count"]
        nodes["threshold"] = _in_single_precision(stored["num_threshold"].astype(np.float64))
        nodes["missing_go_to_left"] = stored["missing_go_to_left"]
        values = stored["value"].astype(np.float64)[:, None, None]
        raw = RawTree(index, nodes, values, len(nodes), int(depth.max()), self._n_features)
        found = checked_nodes(raw, classifier=False)
        inner = np.flatnonzero(~leaf)
        for child in (found.tree.left[inner], found.tree.right[inner]):
            if (depth[child] != depth[inner] + 1).any():
                raise CorruptArtifactError(f"tree {index}: the depth of a node is not one more than its parent's")
        if not np.isfinite(stored["gain"][inner]).all():
            raise CorruptArtifactError(f"tree {index}: the gain of a node is not a number")
        return found

    def _base(self) -> FloatArray:
        """Return the scores before the first tree."""
        base = data_of(self._estimator.get("_baseline_prediction"), "_baseline_prediction")
        if base.dtype.kind != "f" or base.dtype.itemsize != 8 or base.size != self._n_scores:
            raise CorruptArtifactError(f"_baseline_prediction does not have {self._n_scores} numbers")
        if not np.isfinite(base).all():
            raise CorruptArtifactError("_baseline_prediction is not a number")
        return base.ravel().astype(np.float64)

    # What is not covered

    def _why_not(self, stored: list[AnyArray]) -> str | None:
        """Say by which parameter its trees say something else than equations over all rows; None for none."""
        estimator = self._estimator
        if (why := unknown_version(estimator, _PARAMETERS)) is not None:
            return why
        loss, kind = estimator.get("loss"), estimator.kind
        covered = tuple(_LOSSES_OF_REGRESSORS) if self._classes is None else _LOSSES_OF_CLASSIFIERS
        if _plain(loss) not in covered:
            shown = one_line(loss, 40) if isinstance(loss, str) else described(loss)
            return f"the loss {shown} of its {kind} is not covered: train with loss='{covered[0]}'"
        if class_of(estimator.get("_loss")) not in (_CLASSES_OF_LOSSES[self._loss], ""):
            return f"its {kind} was trained with another loss than its parameter loss says: train it again"
        if estimator.get("monotonic_cst") is not None:
            return f"the parameter monotonic_cst of its {kind} is not covered: train without it"
        if self._has_categories(stored):
            return (
                f"the parameter categorical_features of its {kind} made splits by categories, which are not covered "
                "yet: encode the columns before (OneHotEncoder) and train with categorical_features=None"
            )
        if self._holds_back and self._split() is None:
            return (
                f"early stopping of its {kind} held a part of the rows back (validation_fraction), and nothing in the "
                "file says which (_random_seed): train with early_stopping=False"
            )
        if estimator.get("warm_start") is not False:
            return f"the parameter warm_start of its {kind} is not covered: train it in one go"
        return None

    @property
    def _holds_back(self) -> bool:
        """Whether a part of the rows was held back to stop early."""
        stops, held = self._estimator.get("do_early_stopping_"), self._estimator.get("validation_fraction")
        return stops is not False and (held is not None or stops is not True)

    def _split(self) -> tuple[int, float | int] | None:
        """Return the seed of the split and the share that was held back; None where the file does not tell."""
        seed, share = self._estimator.get("_random_seed"), self._estimator.get("validation_fraction")
        told = self._estimator.get("do_early_stopping_") is True and type(seed) is int and 0 <= seed < 2**32
        if not told or (not (type(share) is int and share > 0) and not (type(share) is float and 0 < share < 1)):
            return None
        return seed, share

    def _held_back(self, n_trained: int | None) -> HeldBack | None:
        """Return which rows none of its trees saw."""
        split = self._split() if self._holds_back else None
        return None if split is None else HeldBack(*split, self._classes is not None, n_trained)

    def _has_categories(self, stored: list[AnyArray]) -> bool:
        if any(nodes["is_categorical"].any() for nodes in stored) or self._estimator.get("_preprocessor") is not None:
            return True
        flags = self._estimator.get("is_categorical_")
        if isinstance(flags, Array) and flags.data is not None and flags.data.dtype.kind == "b":
            return bool(flags.data.any())
        return flags is not None

    # What its trees say

    @cached_property
    def _class_weight(self) -> ClassWeight:
        """What each row of a class weighs."""
        given = self._estimator.parameters().get("class_weight")
        if given is None or self._classes is None:
            return None
        return class_weight_of(given, range(len(self._classes)))  # it numbers classes before it weighs them

    def _statements(self, forest: list[Nodes], stored: list[AnyArray], scores: FloatArray) -> tuple[Statements, ...]:
        """Return what each tree says; `scores` is how far from 0 a score can be before it."""
        values = [
            np.where(nodes.tree.left < 0, nodes.tree.value[:, 0] / self._rate, nodes.tree.value[:, 0])
            for nodes in forest
        ]
        for value, nodes in zip(values, forest, strict=True):
            if not np.isfinite(value).all():
                raise CorruptArtifactError(f"tree {nodes.index}: the value of a leaf is out of range")
        inner = any(
            (value[1:] != 0)[nodes.tree.left[1:] >= 0].any() for value, nodes in zip(values, forest, strict=True)
        )
        largest = max(float(np.abs(value).max()) for value in values)
        return tuple(
            self._said(nodes, value, one["gain"].astype(np.float64), self._bounds(score, largest), inner=inner)
            for nodes, value, one, score in zip(forest, values, stored, scores, strict=True)
        )

    def _bounds(self, score: float, largest: float) -> tuple[float, float]:
        """Return how large the gradient and the hessian of a row can be before a tree."""
        if self._loss == "squared":
            return _OUTLYING * largest, 1.0
        if self._loss == "poisson":
            hessian = float(np.exp(min(score, _LARGEST_SCORE)))
            return (2 + largest) * hessian, hessian  # on average: labels add up to what H - G says
        return 1.0, 0.25

    def _said(
        self, nodes: Nodes, value: FloatArray, gain: FloatArray, bounds: tuple[float, float], *, inner: bool
    ) -> Statements:
        """Return what one tree says, by values without the learning rate.

        `bounds` are those of a row's gradient and hessian; `inner` says whether inner nodes hold values.
        """
        tree = nodes.tree
        rows = tree.n_distinct.astype(np.float64) if tree.n_distinct[0] else np.full(tree.n_nodes, UNKNOWN_ROWS)
        heaviest = max(1.0, *self._class_weight) if isinstance(self._class_weight, tuple) else _HEAVY
        lost = rows * _SINGLE + EPSILON * (_ROUNDINGS + rows[0]) * rows[0]
        lost *= 1.0 if self._class_weight is None else heaviest
        # The root holds 0, whatever its rows, also where it is a leaf.
        node = np.arange(1, tree.n_nodes)
        node = node if inner else node[tree.left[node] < 0]
        v = value[node]
        steps = Statements.of(node, (0, 1, v, 0), -self._l2 * v, lost[node] * (bounds[0] + np.abs(v) * bounds[1]))
        if self._loss == "squared" or not inner:
            return steps
        found = hessians_of_gains(tree, value, gain, self._l2)
        off = found.off + lost[found.node] * bounds[1]
        return Statements.joined([steps, Statements.of(found.node, (0, 0, 1, 0), found.total, off)])


def _in_single_precision(threshold: FloatArray) -> FloatArray:
    """Return thresholds that send values of single precision where they sent the values before these were rounded.

    Rounding keeps the order: what is at most a threshold rounds to at most the rounded threshold. One halfway between
    two values keeps its place between these, as long as they round to different numbers.
    """
    with np.errstate(over="ignore"):
        rounded = threshold.astype(np.float32).astype(np.float64)
    return np.where(rounded > threshold, rounded, threshold)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else ""
