"""Reads the forests of scikit-learn, diffprivlib and `pytest_draft.dp`: an estimator's record becomes a `Forest`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import RandomState

from pytest_draft.arrays import IntArray
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.forest import Forest, Tree, minor_of
from pytest_draft.artifact.forest.draws import MAX_SEED, Draws
from pytest_draft.artifact.forest.observations import RowNumbers, under
from pytest_draft.artifact.forest.validate import Nodes, RawTree, checked_nodes, counted, frozen, private_tree
from pytest_draft.artifact.objects import Object, described, numbers_of, plain_classes, with_article
from pytest_draft.artifact.origin import HeldBack
from pytest_draft.artifact.records import Record
from pytest_draft.artifact.sklearn.boosted_estimators import raw_tree
from pytest_draft.artifact.sklearn.boosted_histograms import HISTOGRAM_BOOSTED, histogram_boosting
from pytest_draft.artifact.sklearn.boosted_sklearn import GRADIENT_BOOSTED, gradient_boosting
from pytest_draft.artifact.sklearn.declared_privacy import (
    REPLAYED,
    WARM_START,
    privacy_of_labels,
    privacy_of_noisy_counts,
    trees_of_arrays,
    with_counts,
)
from pytest_draft.artifact.sklearn.drawing import completed, draws_of_bagging, draws_of_forest, size_of
from pytest_draft.artifact.sklearn.outputs import Observed, observe
from pytest_draft.artifact.world.unused import differing, impurities_off
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError, one_line
from pytest_draft.facts.privacy import Mechanism, Privacy

SUPPORTED = (
    "supported are RandomForest, ExtraTrees, DecisionTree, ExtraTree, IsolationForest, AdaBoostClassifier, Bagging of "
    "trees, (Hist)GradientBoosting, XGBoost, LightGBM and CatBoost, alone or in a Pipeline, a search, Voting, "
    "Stacking, a dict or a list, private forests of pytest_draft.dp and diffprivlib, rule lists of imodels and CORELS "
    "alone, and classifiers converted by skl2onnx; of anything else save each forest alone, with the table it was "
    "fitted on (docs/how-to/pipelines.md, any other step)"
)
"""What a file can hold to be judged, for messages."""

_OLDEST = (0, 18)
"""The oldest version of scikit-learn whose trees are stored in arrays as today's are."""


def class_keys(modules: tuple[str, ...], names: tuple[str, ...]) -> set[tuple[str, str]]:
    """Return the keys of classes that have each of the names in each of the modules, as in `Global.key`."""
    return {(module, name) for module in modules for name in names}


_FORESTS = class_keys(
    ("sklearn.ensemble._forest",),
    ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"),
)
TREES = class_keys(
    ("sklearn.tree._classes",),
    ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
)
BAGGING = class_keys(("sklearn.ensemble._bagging",), ("BaggingClassifier", "BaggingRegressor"))
_BOOSTED = {("sklearn.ensemble._weight_boosting", "AdaBoostClassifier")}
_ISOLATION = {("sklearn.ensemble._iforest", "IsolationForest")}
_LABEL_FORESTS = {("diffprivlib.models.forest", "RandomForestClassifier")}
_LABEL_TREES = {("diffprivlib.models.forest", "DecisionTreeClassifier")}
_NOISY_FORESTS: dict[tuple[str, str], Mechanism] = {
    ("pytest_draft.dp", "LaplaceForestClassifier"): "laplace",
    ("pytest_draft.dp", "GaussianForestClassifier"): "gaussian",
}
ESTIMATORS = frozenset(
    _FORESTS
    | TREES
    | BAGGING
    | _BOOSTED
    | GRADIENT_BOOSTED
    | HISTOGRAM_BOOSTED
    | _ISOLATION
    | _LABEL_FORESTS
    | _LABEL_TREES
    | _NOISY_FORESTS.keys()
)
"""The classes of whose instances `ForestReader` reads a forest."""


class ForestReader:
    """Reads one estimator's forest.

    Parameters
    ----------
    estimator : Object
        Of one of the `ESTIMATORS`.

    Attributes
    ----------
    parts : list of Object
        The inner objects that were looked at.
    not_covered : str or None
        Why no rows can be judged by its trees, and what to do; None where they can.
    """

    def __init__(self, estimator: Object, budget: Budget) -> None:
        self._estimator = estimator
        self._budget = budget
        self._classifier = estimator.record.cls.name.endswith("Classifier")
        self._classes: tuple[object, ...] | None = None
        self._n_features = 0
        self._n_outputs = 1
        self._also: str | None = None
        self.parts: list[Object] = []
        self.not_covered: str | None = None
        self.held_back: HeldBack | None = None

    def forest(self) -> Forest:
        """Read the forest, by the estimator's class."""
        self._check_version()
        key = self._estimator.record.cls.key
        if key in _FORESTS:
            return self._random_forest()
        if key in BAGGING | _ISOLATION:
            return self._bagging()
        if key in _BOOSTED:
            return self._boosted()
        if key in GRADIENT_BOOSTED | HISTOGRAM_BOOSTED:
            return self._gradient_boosted()
        if key in _NOISY_FORESTS:
            return self._noisy_forest(_NOISY_FORESTS[key])
        if key in _LABEL_FORESTS | _LABEL_TREES:
            return self._label_forest()
        return self._single_tree()

    def _random_forest(self) -> Forest:
        """Read a RandomForest or ExtraTrees."""
        trees = self._inner_estimators(TREES)
        self._read_columns_and_classes()
        nodes = [self._nodes(tree, i, None, self._seed(tree)) for i, tree in enumerate(trees)]
        draws = draws_of_forest(self._estimator, self._class_weight)
        return self._forest(self._observed(nodes, draws), draws)

    def _single_tree(self) -> Forest:
        """Read a DecisionTree or ExtraTree."""
        self._estimator.is_fitted("tree_")
        self._read_columns_and_classes()
        nodes, draws = self._nodes(self._estimator, 0, None, self._seed(self._estimator)), self._all_rows
        return self._forest(self._observed([nodes], draws), draws)

    def _bagging(self) -> Forest:
        """Read a Bagging ensemble of trees, or an IsolationForest, which is one of trees grown on random targets."""
        estimator = self._estimator
        if estimator.record.cls.key in _ISOLATION:
            self._also = "the random targets of an IsolationForest, which follow from its seed, are not used yet"
        trees = self._inner_estimators(TREES)
        self._read_columns_and_classes()
        subsets = estimator.get("estimators_features_")
        if not isinstance(subsets, list) or len(subsets) != len(trees):
            raise CorruptArtifactError("estimators_features_ does not have the columns of each tree")
        seeds = self._ensemble_seeds(len(trees))
        nodes = [self._nodes(tree, i, self._subset(subsets[i], i), seeds[i]) for i, tree in enumerate(trees)]
        draws = draws_of_bagging(estimator, self._class_weight)
        return self._forest(self._observed(nodes, draws), draws)

    def _boosted(self) -> Forest:
        """Read AdaBoost of trees: how many rows each node holds, since what each of them counts is not in the file."""
        trees = self._inner_estimators(TREES)
        self._read_columns_and_classes()
        self._also = "what the weights of an AdaBoost's rows tell of their classes and trees is not used yet"
        observed = self._observed([self._nodes(tree, i, None, None) for i, tree in enumerate(trees)], self._all_rows)
        weighted = [replace(tree, weight=tree.n_distinct.astype(np.float64)) for tree in observed.trees]
        return self._forest(replace(observed, trees=tuple(weighted)), self._all_rows)

    def _gradient_boosted(self) -> Forest:
        """Read trees that were each fitted to what the ones before had left to be explained."""
        estimator = self._estimator
        read = gradient_boosting if estimator.record.cls.key in GRADIENT_BOOSTED else histogram_boosting
        found, inner = read(estimator, self._budget)
        self.parts.extend(inner)
        self.not_covered, self.held_back = found.not_covered, found.held_back
        self._n_features = found.forest.n_features
        return replace(found.forest, feature_names=self._feature_names(), sklearn_version=self._version())

    def _noisy_forest(self, mechanism: Mechanism) -> Forest:
        """Read a forest of `pytest_draft.dp`: noisy counts in plain arrays."""
        estimator = self._estimator
        estimator.is_fitted("counts_")
        self._n_features = estimator.integer("n_features_in_", minimum=1)
        self._classes = plain_classes(estimator.get("classes_"))
        trees = trees_of_arrays(estimator, self._n_features, len(self._classes), self._budget)
        rounding = estimator.get("rounding_")
        if rounding not in ("sum", "noise"):
            raise CorruptArtifactError("rounding_ is neither sum nor noise")
        try:
            privacy = Privacy(
                mechanism,
                epsilon=estimator.number("epsilon_"),
                delta=estimator.number("delta_"),
                scale=estimator.number("scale_"),
                rounding=rounding,
            )
        except ValueError as error:
            raise CorruptArtifactError(str(error)) from None
        return self._private_forest(trees, privacy_of_noisy_counts(trees, privacy))

    def _label_forest(self) -> Forest:
        """Read a forest or a tree of diffprivlib: a label at each leaf, or counts that somebody filled in."""
        is_forest = self._estimator.record.cls.key in _LABEL_FORESTS
        if is_forest:
            estimators = self._inner_estimators(_LABEL_TREES)
        else:
            self._estimator.is_fitted("tree_")
            estimators = [self._estimator]
        self._read_columns_and_classes()
        if is_forest and self._classes != tuple(range(len(self._classes or ()))):
            # It hands its trees the positions of the labels, and they look for the labels themselves.
            raise UnsupportedArtifactError(
                "it holds a forest of diffprivlib whose classes are not 0, 1 and so on: diffprivlib mixes those up, "
                "so that its leaves' labels mean nothing; train it again on classes 0, 1 and so on"
            )
        raws = [self._raw_tree(tree, i, None, None) for i, tree in enumerate(estimators)]
        trees = tuple(private_tree(raw) for raw in raws)
        broken_by = [REPLAYED] if any(self._seed(tree) is not None for tree in estimators) else []
        if is_forest and self._estimator.get("warm_start") is True:
            broken_by.append(WARM_START)
        try:
            epsilon = max(tree.number("epsilon") for tree in estimators)
            privacy = Privacy("permute-and-flip", epsilon, broken_by=tuple(broken_by))
        except ValueError as error:
            raise CorruptArtifactError(str(error)) from None
        return self._private_forest(trees, privacy_of_labels(trees, privacy))

    def _private_forest(self, trees: tuple[Tree, ...], privacy: Privacy) -> Forest:
        """Return a forest without bootstrap: with exact counts an ordinary one, else of unknown size."""
        if privacy.exact:
            trees = tuple(with_counts(tree) for tree in trees)
        return self._forest(Observed(trees, under(privacy)), self._all_rows)

    def _forest(self, observed: Observed, draws: Draws) -> Forest:
        draws, n_samples = completed(draws, self._estimator, observed)
        by = " of diffprivlib" if self._estimator.record.cls.key in _LABEL_FORESTS | _LABEL_TREES else ""
        return Forest(
            kind=f"{self._estimator.record.cls.name}{by}",
            trees=observed.trees,
            n_features=self._n_features,
            feature_names=self._feature_names(),
            classes=None if self._rows_only else self._classes,
            observation=replace(observed.observation, also=observed.observation.also or self._also),
            draws=draws,
            n_samples=n_samples,
            sklearn_version=self._version(),
            parameters=self._parameters(),
        )

    # The ensemble's own attributes

    def _inner_estimators(self, kinds: set[tuple[str, str]]) -> list[Object]:
        self._estimator.is_fitted("estimators_")
        records = self._estimator.get("estimators_")
        if not isinstance(records, list) or not records:
            raise CorruptArtifactError("estimators_ is not a list of trees")
        if len({id(record) for record in records}) != len(records):
            raise CorruptArtifactError("estimators_ has the same tree twice")
        for record in records:
            if not isinstance(record, Record) or record.cls.key not in kinds:
                raise UnsupportedArtifactError(
                    f"it holds {with_article(self._estimator.kind)} of {described(record)}; {SUPPORTED}"
                )
            if record.cls.name.endswith("Classifier") != self._classifier:
                raise CorruptArtifactError("estimators_ mixes classifiers and regressors")
        if (what := differing(records)) is not None:
            self._budget.note(what, "estimators_", anew=False)
        trees = [Object(record, f"{self._estimator.path}estimators_[*].") for record in records]
        self.parts.extend(trees)
        return trees

    def _read_columns_and_classes(self) -> None:
        estimator = self._estimator
        self._n_features = estimator.integer("n_features_in_", minimum=1)
        if "n_outputs_" in estimator:
            self._n_outputs = estimator.integer("n_outputs_", minimum=1)
        several = self._n_outputs > 1
        if several and estimator.record.cls.key in _LABEL_FORESTS | _LABEL_TREES:
            raise UnsupportedArtifactError(
                "it holds a forest of diffprivlib with several outputs, which is not covered"
            )
        if several:
            used = (
                "of its several outputs only the first one is used"
                if not self._classifier
                else ("of its several outputs no class is used, only how many rows each node holds")
            )
            self._also = f"{used}: whoever uses the others gets closer"
        if self._classifier:
            stored = estimator.get("classes_")
            if several and not (isinstance(stored, list) and len(stored) == self._n_outputs):
                raise CorruptArtifactError("classes_ does not have the classes of each output")
            self._classes = plain_classes(stored[0] if several else stored)
            if not several and estimator.integer("n_classes_", minimum=1) != len(self._classes):
                raise CorruptArtifactError("n_classes_ is not the number of classes_")

    @property
    def _rows_only(self) -> bool:
        """Whether no more is taken of the trees than how many rows each node holds."""
        return self._estimator.record.cls.key in _BOOSTED or (self._classifier and self._n_outputs > 1)

    def _parameters(self) -> dict[str, object]:
        """Return the estimator's parameters, and a Bagging's trees' as scikit-learn names nested ones."""
        parameters = self._estimator.parameters()
        if self._estimator.record.cls.key in BAGGING | _ISOLATION | _BOOSTED:
            inner = self.parts[0].parameters()
            left_out = ("random_state", *(["class_weight"] if self._rows_only else []))
            parameters.update((f"estimator__{name}", inner[name]) for name in inner if name not in left_out)
        return parameters

    @property
    def _class_weight(self) -> object:
        parameters = self._parameters()
        return parameters.get("class_weight", parameters.get("estimator__class_weight"))

    @property
    def _all_rows(self) -> Draws:
        return Draws(class_weight=self._class_weight)

    def _feature_names(self) -> tuple[str, ...] | None:
        return self._estimator.texts("feature_names_in_", self._n_features)

    def _version(self) -> str | None:
        version = self._estimator.get("_sklearn_version")
        return one_line(version, 40) if type(version) is str else None

    def _check_version(self) -> None:
        if "n_features_in_" not in self._estimator:  # before 0.24
            self._estimator.supply("n_features_in_", self._estimator.get("n_features_"))
        written = minor_of(self._estimator.get("_sklearn_version"))
        if written is not None and written < _OLDEST:
            raise UnsupportedArtifactError(
                f"scikit-learn {written[0]}.{written[1]} wrote it, and files from {_OLDEST[0]}.{_OLDEST[1]} on are "
                "covered: train and save it again with a newer version"
            )

    def _ensemble_seeds(self, n_trees: int) -> list[int | None]:
        """Return each tree's seed; after a warm start only those of the last fit are stored.

        Those of earlier fits come from the ensemble's own seed, where it is a number that gives the stored ones
        too and each tree's ``random_state``.
        """
        stored = self._estimator.get("_seeds")
        seeds = [] if stored is None else numbers_of(stored, "iu", "_seeds").tolist()
        earlier = n_trees - len(seeds)
        if earlier < 0:
            raise CorruptArtifactError(f"_seeds has {len(seeds)} seeds for {n_trees} trees")
        known = [_checked_seed(seed) for seed in seeds]
        seed = self._seed(self._estimator)
        if not earlier or seed is None:
            return [None] * earlier + known
        drawn = RandomState(seed).randint(MAX_SEED, size=n_trees).tolist()
        return [
            seed if drawn[earlier:] == known and RandomState(seed).randint(MAX_SEED) == self._seed(tree) else None
            for seed, tree in zip(drawn[:earlier], self.parts, strict=False)
        ] + known

    def _subset(self, stored: object, index: int) -> IntArray:
        columns = numbers_of(stored, "iu", f"estimators_features_[{index}]").astype(np.int64)
        self._budget.spend_copy(columns.nbytes)
        if not len(columns) or columns.min() < 0 or columns.max() >= self._n_features:
            raise CorruptArtifactError(
                f"estimators_features_[{index}] is not a choice of the {self._n_features} columns"
            )
        return columns

    # One tree

    def _seed(self, tree: Object) -> int | None:
        seed = tree.get("random_state")
        return _checked_seed(seed) if type(seed) is int else None

    def _observed(self, nodes: list[Nodes], draws: Draws) -> Observed:
        """Return what the nodes of all trees say of their rows."""
        if self._rows_only:
            try:
                for one in nodes:
                    counted(one, classifier=self._classifier)
            except CorruptArtifactError as error:
                raise UnsupportedArtifactError(
                    f"it holds {with_article(self._estimator.kind)} of which nothing but numbers of rows is read, and "
                    f"these were removed or changed ({error}): save it as it was trained"
                ) from None
            nothing = [np.zeros((one.tree.n_nodes, 1)) for one in nodes]
            trees = (replace(one.tree, value=frozen(value)) for one, value in zip(nodes, nothing, strict=True))
            return Observed(tuple(trees), RowNumbers())
        parameters = self._parameters()
        criterion = parameters.get("criterion", parameters.get("estimator__criterion"))
        for one in nodes if self._n_outputs == 1 else ():
            if len(off := impurities_off(one, criterion)):
                what = f"impurity of node {off[0]}, which does not follow from its values"
                self._budget.note(what, f"tree {one.index}", anew=False)
        size = size_of(draws, self._estimator, parameters)
        return observe(nodes, size, classifier=self._classifier)

    def _nodes(self, estimator: Object, index: int, features: IntArray | None, seed: int | None) -> Nodes:
        return checked_nodes(self._raw_tree(estimator, index, features, seed), classifier=self._classifier)

    def _check_classes(self, estimator: Object, index: int) -> None:
        """Check that a tree inside an ensemble knows the ensemble's classes, by their numbers."""
        stored = estimator.get("classes_")
        if estimator is self._estimator or self._classes is None or stored is None or self._rows_only:
            return
        known = numbers_of(stored, "biuf", f"classes_ of tree {index}")
        if len(known) != len(self._classes):
            raise UnsupportedArtifactError(
                f"tree {index} was trained on {len(known)} of {len(self._classes)} classes: not covered yet"
            )
        if (known != np.arange(len(known))).any():
            raise CorruptArtifactError(f"classes_ of tree {index} are not numbered as the forest's are")

    def _raw_tree(self, estimator: Object, index: int, features: IntArray | None, seed: int | None) -> RawTree:
        if estimator.get("monotonic_cst") is not None or self._estimator.get("monotonic_cst") is not None:
            raise UnsupportedArtifactError(
                "it has monotonic constraints, which are not covered: they clip the values of leaves"
            )
        n_features = self._n_features if features is None else len(features)
        self._check_classes(estimator, index)
        tree, raw = raw_tree(
            estimator,
            index,
            self._budget,
            n_features=n_features,
            n_values=1 if self._classes is None else len(self._classes),
            n_outputs=self._n_outputs,
            features=features,
            seed=seed,
        )
        self.parts.append(tree)
        return raw


def _checked_seed(seed: int) -> int:
    if not 0 <= seed < 2**32:
        raise CorruptArtifactError("a tree's seed is out of range")
    return seed
