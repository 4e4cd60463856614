"""Reads GradientBoosting of scikit-learn: trees of mean residuals, whose leaves hold Newton steps.

With r = y - p what a row has left to be explained (-r is its gradient), an inner node holds the mean of r, and each
node their variance. A leaf of a classifier of K classes holds the sum of r over the sum of p (1 - p), of more than two
classes times (K - 1) / K; a regressor's leaf holds the mean of r. A score moves by that times the learning rate.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.forest.draws import Draws, Replay, RoundDraws
from pytest_draft.artifact.forest.observations import DRAWS, WEIGHTS, BoostedSums, Loss, Statements
from pytest_draft.artifact.forest.round_masks import of_scikit_learn
from pytest_draft.artifact.forest.validate import Nodes, checked_nodes
from pytest_draft.artifact.objects import Object, data_of, described, numbers_of, plain_classes, with_article
from pytest_draft.artifact.read_forest import ReadForest
from pytest_draft.artifact.records import Array, Record
from pytest_draft.artifact.sklearn.boosted_estimators import (
    EPSILON,
    UNKNOWN_ROWS,
    class_of,
    counted_or_bare,
    means_of_pairs,
    raw_tree,
    reach,
    read_boosted,
    rows_of,
    unknown_version,
    with_steps,
)
from pytest_draft.artifact.world.unused import differing
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError, one_line

GRADIENT_BOOSTED = frozenset(
    ("sklearn.ensemble._gb", name) for name in ("GradientBoostingClassifier", "GradientBoostingRegressor")
)
_TREE = ("sklearn.tree._classes", "DecisionTreeRegressor")
_LOSSES = {"log_loss": "log_loss", "deviance": "log_loss", "squared_error": "squared_error"}
_CLASSES_OF_LOSSES = {
    "logistic": ("HalfBinomialLoss", "BinomialDeviance"),
    "softmax": ("HalfMultinomialLoss", "MultinomialDeviance"),
    "squared": ("HalfSquaredError", "LeastSquaresError"),
}
_PARAMETERS = (
    *("alpha", "ccp_alpha", "criterion", "init", "learning_rate", "loss", "max_depth", "max_features"),
    *("max_leaf_nodes", "min_impurity_decrease", "min_samples_leaf", "min_samples_split"),
    *("min_weight_fraction_leaf", "n_estimators", "n_iter_no_change", "random_state", "subsample", "tol"),
    *("validation_fraction", "verbose", "warm_start"),
)
_ROUNDING = 64
"""Roundings of double precision that one row's gradient goes through at most, for each unit of its score."""


def gradient_boosting(estimator: Object, budget: Budget) -> tuple[ReadForest, list[Object]]:
    """Read a GradientBoostingClassifier or GradientBoostingRegressor.

    Parameters
    ----------
    estimator : Object
        Of one of the `GRADIENT_BOOSTED`.
    """
    return _Reader(estimator, budget).boosted()


class _Reader:
    """Reads one estimator."""

    def __init__(self, estimator: Object, budget: Budget) -> None:
        estimator.is_fitted("estimators_")
        self._estimator = estimator
        self._budget = budget
        self._n_features = estimator.integer("n_features_in_", minimum=1)
        self._classes: tuple[object, ...] | None = None
        if estimator.record.cls.name.endswith("Classifier"):
            self._classes = plain_classes(estimator.get("classes_"))
            if estimator.integer("n_classes_", minimum=2) != len(self._classes):
                raise CorruptArtifactError("n_classes_ is not the number of classes_")
        n_classes = len(self._classes or ())
        self._loss: Loss = "squared" if not n_classes else "logistic" if n_classes == 2 else "softmax"
        self._n_scores = n_classes if n_classes > 2 else 1
        self._parts: list[Object] = []

    def boosted(self) -> tuple[ReadForest, list[Object]]:
        """Read the trees, and what they say."""
        rate = self._estimator.number("learning_rate")
        inner = self._inner()
        forest = [self._nodes(tree, index) for index, tree in enumerate(inner)]
        self._parts += inner
        forest, counted = counted_or_bare(forest)
        base, why = np.zeros(self._n_scores), self._why_not(forest, inner)
        if why is None:
            base, why = self._base()
        steps = [rate * nodes.tree.value[:, 0] for nodes in forest]
        if not all(np.isfinite(step).all() for step in steps):
            raise CorruptArtifactError("learning_rate times the value of a leaf is not a number")
        said = tuple(Statements.none() for _ in forest)
        if why is None:
            said = self._statements(forest, reach(base, steps), counted=counted)
        trees = tuple(with_steps(rows_of(nodes.tree), step) for nodes, step in zip(forest, steps, strict=True))
        draws = Draws() if why is not None else self._draws(forest)
        unknown = WEIGHTS if _is_weighted(forest) else DRAWS if draws.drawn else None
        observation = BoostedSums(loss=self._loss, base=base, statements=said, counted=counted, unknown=unknown)
        best = counted and why is None and all(tree.get("splitter") == "best" for tree in inner)
        parameters = self._estimator.parameters() | ({"splitter": "best"} if best else {})
        return read_boosted(
            self._estimator, trees, self._classes, observation, parameters, why, draws=draws
        ), self._parts

    # Trees

    def _inner(self) -> list[Object]:
        """Return all trees, round by round, each score's in turn."""
        stored = self._estimator.get("estimators_")
        records = stored.items if isinstance(stored, Array) else None
        if not records or len(stored.shape) != 2 or stored.shape[1] != self._n_scores:
            raise CorruptArtifactError(f"estimators_ does not have {self._n_scores} trees for each round")
        if len({id(record) for record in records}) != len(records):
            raise CorruptArtifactError("estimators_ has the same tree twice")
        if (what := differing(records)) is not None:
            self._budget.note(what, "estimators_", anew=False)
        found = []
        for record in records:
            if not isinstance(record, Record) or record.cls.key != _TREE:
                raise UnsupportedArtifactError(
                    f"it holds {with_article(self._estimator.kind)} of {described(record)}, which is not covered"
                )
            found.append(Object(record, f"{self._estimator.path}estimators_[*]."))
        return found

    def _nodes(self, estimator: Object, index: int) -> Nodes:
        tree, raw = raw_tree(estimator, index, self._budget, n_features=self._n_features)
        self._parts.append(tree)
        return checked_nodes(raw, classifier=False)

    # What is not covered

    def _why_not(self, forest: list[Nodes], inner: list[Object]) -> str | None:
        """Say by which parameter its trees say something else than equations over all rows; None for none."""
        estimator = self._estimator
        if (why := unknown_version(estimator, _PARAMETERS)) is not None:
            return why
        loss, kind = estimator.get("loss"), estimator.kind
        fits = {"log_loss"} if self._classes is not None else {"squared_error"}
        if not isinstance(loss, str) or _LOSSES.get(loss) not in fits:
            shown = one_line(loss, 40) if isinstance(loss, str) else described(loss)
            return f"the loss {shown} of its {kind} is not covered: train with loss='{min(fits)}'"
        if class_of(estimator.get("_loss")) not in (*_CLASSES_OF_LOSSES[self._loss], ""):
            return f"its {kind} was trained with another loss than its parameter loss says: train it again"
        if self._share is None:
            return f"the parameter subsample of its {kind} is no share of the rows"
        if estimator.get("n_iter_no_change") is not None:
            return (
                f"the parameter n_iter_no_change of its {kind} held a part of the rows back, which is not covered yet: "
                "train without it, with the n_estimators that it found"
            )
        if estimator.get("warm_start") is not False:
            return f"the parameter warm_start of its {kind} is not covered: train it in one go"
        if any(tree.get("monotonic_cst") is not None for tree in inner):
            return f"monotonic constraints of its {kind} are not covered: train without them"
        return None

    @property
    def _share(self) -> float | None:
        """The share of the rows that each round draws; None where the file does not tell."""
        share = self._estimator.get("subsample")
        return float(share) if isinstance(share, (int, float)) and 0 < share <= 1 else None

    def _draws(self, forest: list[Nodes]) -> Draws:
        """Return which rows each round drew, as far as the generator of the file tells."""
        share, per_tree = self._share, int(forest[0].tree.n_distinct[0])
        if share is None or share == 1:
            return Draws()
        seed = self._estimator.get("random_state")
        replays: tuple[Replay, ...] = ()
        if type(seed) is int and 0 <= seed < 2**32:
            replays = (partial(of_scikit_learn, seed, share, len(forest), self._n_scores),)
        return RoundDraws(rows="without replacement", per_tree=per_tree or None, replays=replays)

    # What its trees say

    def _base(self) -> tuple[FloatArray, str | None]:
        """Return the scores before the first tree; zeros and why, where they do not follow from labels alone."""
        zeros, estimator = np.zeros(self._n_scores), self._estimator
        given, stored = estimator.get("init"), estimator.get("init_")
        if given == "zero":
            return zeros, None
        expected = "DummyRegressor" if self._classes is None else "DummyClassifier"
        if given is not None or not isinstance(stored, Record) or stored.cls.key != ("sklearn.dummy", expected):
            return zeros, f"the parameter init of its {estimator.kind} is not covered: train with init=None"
        first = Object(stored, f"{estimator.path}init_.")
        self._parts.append(first)
        if first.get("strategy") != ("mean" if self._classes is None else "prior"):
            return zeros, f"the init_ of its {estimator.kind} is not the default one: train with init=None"
        if self._classes is None:
            mean = data_of(first.get("constant_"), "constant_ of init_")
            if mean.dtype.kind != "f" or mean.size != 1 or not np.isfinite(mean).all():
                raise CorruptArtifactError("constant_ of init_ is not a number")
            return mean.ravel().astype(np.float64), None
        prior = numbers_of(first.get("class_prior_"), "f", "class_prior_ of init_").astype(np.float64)
        if len(prior) != len(self._classes) or not (prior >= 0).all() or abs(prior.sum() - 1) > 1e-6:
            raise CorruptArtifactError("class_prior_ of init_ does not have a share for each class")
        prior = np.clip(prior, EPSILON, 1 - EPSILON)
        if self._loss == "logistic":
            return np.log(prior[1:] / (1 - prior[1:])), None
        logarithm = np.log(prior)
        is_old = isinstance(loss := estimator.get("_loss"), Record) and loss.cls.module.endswith("._gb_losses")
        return logarithm if is_old else logarithm - logarithm.mean(), None

    def _statements(self, forest: list[Nodes], scores: FloatArray, *, counted: bool) -> tuple[Statements, ...]:
        inner = [nodes.tree.value[nodes.tree.left >= 0] for nodes in forest]
        means = counted and any(values.any() for values in inner)
        spread = (
            means
            and not _is_weighted(forest)
            and self._loss != "squared"
            and any(nodes.impurity.any() for nodes in forest)
        )
        return tuple(
            self._said(nodes, score, means=means, spread=spread) for nodes, score in zip(forest, scores, strict=True)
        )

    def _said(self, nodes: Nodes, score: float, *, means: bool, spread: bool) -> Statements:
        """Return what one tree says.

        `score` is how far from 0 one can be before it; inner nodes hold `means`, and all of them variances: `spread`.
        """
        tree, loss = nodes.tree, self._loss
        value, rows = tree.value[:, 0], tree.n_distinct.astype(np.float64)
        weight = tree.weight if rows.any() else rows
        rounding = self._rounding(nodes, score, counted=bool(rows[0]))
        leaves, inner = tree.leaves, np.flatnonzero(tree.left >= 0)
        # A leaf without anything left to explain holds 0 as well.
        leaves = leaves if loss == "squared" else leaves[value[leaves] != 0]
        step = value[leaves]
        if loss == "squared":
            parts = [Statements.of(leaves, (step, 1, 0, 0), 0.0, rounding[leaves])]
        else:
            step = step / self._factor
            parts = [Statements.of(leaves, (0, 1, step, 0), 0.0, rounding[leaves] * (1 + np.abs(step)))]
        if means:
            parts.append(Statements.of(inner, (0, 1, 0, 0), -weight[inner] * value[inner], rounding[inner]))
        if spread:
            found = means_of_pairs(tree, nodes.impurity, self._factor)
            total = -rows[found.node] * found.mean
            parts.append(
                Statements.of(found.node, (0, 1, 0, 0), total, rounding[found.node] + rows[found.node] * found.off)
            )
            # A variance is the mean of squares less the square of the mean, of residuals between -1 and 1.
            node, mean = np.append(inner, found.node), np.append(value[inner], found.mean)
            squares = rows[node] * (nodes.impurity[node] + mean**2)
            off = np.append(np.zeros(len(inner)), 2 * rows[found.node] * found.off)
            parts.append(Statements.of(node, (0, 0, 0, 1), squares, 4 * rounding[node] + off))
        return Statements.joined(parts)

    @property
    def _factor(self) -> float:
        return (self._n_scores - 1) / self._n_scores if self._loss == "softmax" else 1.0

    def _rounding(self, nodes: Nodes, score: float, *, counted: bool) -> FloatArray:
        """Return how far a sum of gradients can be off at each node."""
        rows = nodes.tree.n_distinct.astype(np.float64) if counted else np.full(nodes.tree.n_nodes, UNKNOWN_ROWS)
        size = 1.0
        if self._loss == "squared":
            value = nodes.tree.value[:, 0]
            # A row's residual is at most the root of their squares' sum.
            squares = rows[0] * (np.nan_to_num(np.abs(nodes.impurity[0]), posinf=0.0) + value[0] ** 2)
            size = max(np.sqrt(squares), np.abs(value).max())
        result: FloatArray = EPSILON * rows * (rows + _ROUNDING * (1 + score)) * size
        if self._loss == "squared":
            result += EPSILON * _ROUNDING * rows * score
        return result


def _is_weighted(forest: list[Nodes]) -> bool:
    """Return whether rows weigh other than 1."""
    return any((nodes.tree.weight != nodes.tree.n_distinct).any() for nodes in forest)
