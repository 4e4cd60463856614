"""Finds every tree ensemble in a file: its place, what stands before it, and how its rows and labels arise.

Containers (dict, list, tuple), pipelines, searches and models that hold other models are looked into, by the attributes
in which they keep what they have fitted. What is in none of these is left to `pytest_draft.artifact.world.unjudged`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from pytest_draft.artifact.boosters import READERS
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.objects import Object, described, plain_classes, with_article
from pytest_draft.artifact.origin import Fold, OneAgainstOne, OneAgainstRest, Origin
from pytest_draft.artifact.records import Array, Global, Mapping, Record
from pytest_draft.artifact.sklearn.estimators import BAGGING, ESTIMATORS, SUPPORTED, TREES, class_keys
from pytest_draft.artifact.sklearn.pipeline import EncoderReader, steps_of
from pytest_draft.artifact.sklearn.selection import FITTED_ON_SELECTED
from pytest_draft.artifact.walking import inside_of
from pytest_draft.errors import ArtifactError, CorruptArtifactError, UnsupportedArtifactError

MODELS = ESTIMATORS | READERS.keys()
"""The classes whose instances are tree ensembles."""

_MAX_WRAPPERS = 8
"""Most pipelines, searches and other models around each other that are looked into: a file can nest any number."""

_MAX_MODELS = 100
"""Most models of a file that are judged: each takes a time box of its own."""

_MAX_ITEMS = 1000
"""Longest dict, list or tuple that is taken for one of models rather than of data."""

_LONGEST_KEY = 40
"""Longest key of a dict that is taken for a model's name, and shown."""

_PIPELINES = {("sklearn.pipeline", "Pipeline")}
_SEARCHES = class_keys(
    ("sklearn.model_selection._search", "sklearn.model_selection._search_successive_halving"),
    ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"),
)
_VOTING = class_keys(("sklearn.ensemble._voting",), ("VotingClassifier", "VotingRegressor"))
_STACKING = class_keys(("sklearn.ensemble._stacking",), ("StackingClassifier", "StackingRegressor"))
_ONE_VS_REST = {("sklearn.multiclass", "OneVsRestClassifier")}
_ONE_VS_ONE = {("sklearn.multiclass", "OneVsOneClassifier")}
_CALIBRATED = {("sklearn.calibration", "CalibratedClassifierCV")}
_THRESHOLDS = class_keys(
    ("sklearn.model_selection._classification_threshold",), ("TunedThresholdClassifierCV", "FixedThresholdClassifier")
)
_TARGETS = {("sklearn.compose._target", "TransformedTargetRegressor")}
_FROZEN = {("sklearn.frozen._frozen", "FrozenEstimator")}
_SPLITTERS = {
    ("sklearn.model_selection._split", "KFold"): False,
    ("sklearn.model_selection._split", "StratifiedKFold"): True,
}
_KNOWN = ("numpy", "pandas", "scipy", "sklearn")
"""Libraries whose objects hold no models but those that are listed here."""

_GIVEN = ("estimator", "base_estimator", "estimators", "final_estimator", "regressor")
_FITTED = ("estimators_", "tree_", "counts_", "_predictors", "_Booster", "handle", "_handle", "__model")
_DICTS = {
    ("collections", "OrderedDict"),
    ("collections", "defaultdict"),
    ("sklearn.utils", "Bunch"),
    ("sklearn.utils._bunch", "Bunch"),
}
_DEFAULT_FOLDS = 5
_REFUSED = {
    ("sklearn.ensemble._weight_boosting", "AdaBoostRegressor"): (
        "each of its trees drew its rows by chances that follow from the errors of the trees before, and are not in "
        "the file: release another kind of model, or a tree of it alone with the rows that were drawn for it"
    ),
    **dict.fromkeys(
        class_keys(
            ("sklearn.multioutput",),
            ("MultiOutputClassifier", "MultiOutputRegressor", "ClassifierChain", "RegressorChain"),
        ),
        "save each of its estimators_ alone, and judge it with its own column of labels",
    ),
}
"""Models of trees that are not judged, and why or what to do."""

_NOTHING = "there is nothing to judge here (docs/reference/coverage.md says what is judged)"
_TREELESS = {
    *("cluster", "covariance", "cross_decomposition", "decomposition", "discriminant_analysis", "dummy"),
    *("gaussian_process", "isotonic", "kernel_ridge", "linear_model", "mixture", "naive_bayes", "neighbors"),
    *("neural_network", "preprocessing", "svm"),
}
"""Modules of scikit-learn in which no class holds trees of its own."""
_AROUND_OTHERS = {"RANSACRegressor"}
"""Of their classes, those that are made around a model of any kind."""
_KEEPS_ROWS = (
    *("GaussianProcess", "KNeighbors", "KernelRidge", "LocalOutlierFactor", "NearestNeighbors", "NuSV", "OneClassSVM"),
    *("RadiusNeighbors", "SVC", "SVR"),
)
"""How the names of those begin that store rows of their training data as they are."""

_KEEPERS = {
    "bartpy": "the targets of its training rows",
    "dare": "the training rows of each leaf, so as to forget them",
    "interpret": "counts and bounds of training rows, or rows to explain with",
    "quantile_forest": "the target of each training row, and in which leaves it is,",
    "shap": "training rows to explain with",
    "skgarden": "the target of each training row, and in which leaves it is,",
    "tabpfn": "its training table",
}
"""What objects of a package keep of training rows."""

_PREDICTIONS = (
    "it was trained on what the other models predict for rows that they had not seen, which is not in the file: save "
    "that table (sklearn.model_selection.cross_val_predict) and judge this model, saved alone, by it"
)
_DRAWN = (
    "its rows were drawn by the Bagging around it, which is covered around forests only: save this model alone and "
    "give it the rows that were drawn for it (estimators_samples_)"
)
_UNKNOWN_FOLD = (
    "it was trained on a part of the rows that the file does not tell (its cross-validation is neither a number nor "
    "KFold or StratifiedKFold with a fixed seed): save this model alone and give it the rows of its part"
)


@dataclass(frozen=True, eq=False)
class FoundModel:
    """A tree ensemble of a file."""

    estimator: Object
    """Of one of the `MODELS`."""
    wrappers: tuple[Object, ...]
    """What stands around it, outermost first."""
    transformers: EncoderReader
    """What stands before it."""
    origin: Origin
    """How its rows and labels follow from the file's."""
    not_covered: str | None = None
    """Why that is not known; None where it is."""
    given: bool = False
    """Whether it was given to what is around it, which fits copies."""

    @property
    def place(self) -> str:
        """Its path in the file, such as ``estimators_[2]``; empty for the file's own object."""
        return self.estimator.path.removesuffix(".")


def models_in(root: object, budget: Budget) -> list[FoundModel]:
    """Find the tree ensembles of a file: at least one, in the order in which they stand in it, each once."""
    walk = _PlaceWalk()
    walk.visit(root, _Path("", (), EncoderReader(budget), Origin()))
    if len({one.place for one in walk.found}) < len(walk.found):
        raise CorruptArtifactError("it has two models under one name (a dict with a key twice): save it again")
    if walk.found:
        return walk.found
    if walk.refusals:
        raise walk.refusals[0]
    raise UnsupportedArtifactError(_without_trees(walk.other or root, walk.n_others == 1))


def _without_trees(other: object, alone: bool) -> str:
    """Return what a file holds instead of trees, and what to do; `alone` says whether it is all that it holds."""
    holds = f"it holds {described(other)}"
    if isinstance(other, Global):
        return f"it holds only {other.shown}, a function or a class and no fitted model: save the model itself"
    if not isinstance(other, Record):
        return f"{holds}; {SUPPORTED}"
    if (why := _REFUSED.get(other.cls.key)) is not None:
        return f"{holds}; {why}"
    package, _, inside = other.cls.module.partition(".")
    if (kept := _KEEPERS.get(package)) is not None:
        return f"{holds}, which keeps {kept} by design: do not release it; save the model alone"
    if not alone or package != "sklearn" or inside.split(".")[0] not in _TREELESS or other.cls.name in _AROUND_OTHERS:
        return f"{holds}; {SUPPORTED}"
    if other.cls.name.startswith(_KEEPS_ROWS):
        return f"{holds}, which has no trees but stores rows of its training data as they are: do not release it"
    return f"{holds}, which has no trees: {_NOTHING}"


@dataclass(frozen=True, eq=False)
class _Path:
    """The way to a model: its path, what is around and before it, and where its rows come from; as in `FoundModel`."""

    path: str
    wrappers: tuple[Object, ...]
    transformers: EncoderReader
    origin: Origin
    not_covered: str | None = None
    given: bool = False
    """Whether it leads to what a model was given to make others of: mostly not fitted, and else most likely on the same
    rows, which the comparison of counts shows.
    """

    def to(self, inside: str, **changes: object) -> _Path:
        """Return the way to something in an attribute or at a place."""
        way: _Path = replace(self, path=f"{self.path}{inside}.", transformers=self.transformers.fork(), **changes)  # type: ignore[arg-type]
        return way


class _PlaceWalk:
    """A walk through all that can hold models.

    `other` is the first thing that holds none, where a file's own object is made around just that, and `n_others` says
    how many there are, without those that models are made from; `refusals` (of what was not fitted, for example) are
    for a file without a model.
    """

    def __init__(self) -> None:
        self.found: list[FoundModel] = []
        self.other: object = None
        self.n_others = 0
        self.refusals: list[ArtifactError] = []
        self._seen: dict[int, object] = {}

    def visit(self, value: object, way: _Path) -> None:
        """Look at something, and into it where it can hold models."""
        if isinstance(value, Record) and value.cls.key in _DICTS:
            value = value.set_items
        if isinstance(value, (Mapping, list, tuple, Array)):
            self._into_container(value, way)
            return
        if not isinstance(value, Record) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        holder = Object(value, way.path)
        key = value.cls.key
        if key in MODELS and not (key in BAGGING and _bags_models(holder)):
            if way.given and all(value.named.get(name) is None for name in _FITTED):
                return
            if len(self.found) == _MAX_MODELS:
                raise UnsupportedArtifactError(
                    f"it holds more than {_MAX_MODELS} models: save them in several files, and judge each"
                )
            of_way = (way.wrappers, way.transformers, way.origin, way.not_covered, way.given)
            self.found.append(FoundModel(holder, *of_way))
            return
        if key in _INSIDE:
            self._into_model(holder, way)
        else:
            self.other = self.other or value
            self.n_others += not way.given
            others = self.n_others
            self._into_unknown(holder, way)
            self.n_others = others

    def _into_model(self, holder: Object, way: _Path) -> None:
        """Look at all that a model has fitted, and at what it was given to do so."""
        if len(way.wrappers) == _MAX_WRAPPERS:
            raise UnsupportedArtifactError(f"it has more than {_MAX_WRAPPERS} models and searches around each other")
        inner, key = replace(way, wrappers=(*way.wrappers, holder)), holder.record.cls.key
        try:
            for part, to in _INSIDE[key](holder, inner):
                self.visit(part, to)
            for name in _GIVEN if key not in _PIPELINES else ():
                if name in holder:
                    self.visit(holder.get(name), replace(inner.to(name), given=True))
        except UnsupportedArtifactError as refusal:
            if not way.wrappers and not way.path:
                raise
            self.refusals.append(refusal)

    def _into_unknown(self, holder: Object, way: _Path) -> None:
        """Look at all that an object of an unknown class holds, such as one of ``__main__`` or a bound method.

        Not where these are the parts of a model of an unknown kind, which say nothing by themselves.
        """
        record = holder.record
        parts: dict[object, object] = {"arguments": record.args, "items": record.set_items} | dict(record.pairs)
        of_library = record.cls.module.partition(".")[0] in _KNOWN or len(way.wrappers) == _MAX_WRAPPERS
        if of_library or any(name in parts for name in _FITTED) or any(map(_are_trees, parts.values())):
            return
        inner = replace(way, wrappers=(*way.wrappers, holder))
        for name, part in parts.items():
            if type(name) is str and isinstance(part, (Record, Mapping, list, tuple, Array)):
                self.visit(part, inner.to(inside_of("", name)))

    def _into_container(self, value: Mapping | list[object] | tuple[object, ...] | Array, way: _Path) -> None:
        if id(value) in self._seen or way.path.count("[") > _MAX_WRAPPERS:
            return
        self._seen[id(value)] = value
        if isinstance(value, Mapping):
            items: list[object] = [item for _, item in value.pairs]
            names = [_name(key, index) for index, (key, _) in enumerate(value.pairs)]
        else:
            items = list((value.items or ()) if isinstance(value, Array) else value)
            names = [f"[{index}]" for index in range(len(items))]
        if len(items) > _MAX_ITEMS:
            return
        for name, item in zip(names, items, strict=True):
            if isinstance(item, (Record, Mapping, list, tuple, Array)):
                before = way.path.removesuffix(".") if name.startswith("[") else way.path
                other = self.other
                self.visit(item, replace(way, path=f"{before}{name}.", transformers=way.transformers.fork()))
                self.other = other


def _are_trees(part: object) -> bool:
    """Return whether a list or an array holds trees."""
    items = part.items if isinstance(part, Array) else part
    return isinstance(items, (list, tuple)) and any(
        isinstance(item, Record) and item.cls.key in TREES for item in items
    )


def _name(key: object, index: int) -> str:
    """Return how a dict's item is named: by its key where that is a short name, else by its position."""
    if type(key) is str and len(key) <= _LONGEST_KEY and key.isascii() and key.isidentifier():
        return f"['{key}']"
    return f"[{index}]"


Inside = Iterator[tuple[object, _Path]]


def _pipeline(holder: Object, way: _Path) -> Inside:
    *before, (_, last) = steps_of(holder)
    way = replace(way, transformers=way.transformers.fork())
    for index, (_, step) in enumerate(before):
        inside = f"steps[{index}][1]"
        if isinstance(step, Record) and step.cls.key in FITTED_ON_SELECTED:
            yield from _selection(Object(step, f"{way.path}{inside}."), way.to(inside))
        way.transformers.add(step, f"{way.path}{inside}.")
    yield last, way.to(f"steps[{len(before)}]")


def _selection(holder: Object, way: _Path) -> Inside:
    """Return the model by which columns were selected: of all of them, or (RFE) fitted again on the selected ones."""
    inner = holder.get("estimator_")
    if isinstance(inner, Record):
        if FITTED_ON_SELECTED[holder.record.cls.key]:
            way = way.to("estimator_")
            way.transformers.add(holder.record, holder.path)
            yield inner, way
        else:
            yield inner, way.to("estimator_")


def _selector(holder: Object, way: _Path) -> Inside:
    """Return the model of a feature selection that is the file's model itself."""
    holder.is_fitted("estimator_")
    return _selection(holder, way)


def _search(holder: Object, way: _Path) -> Inside:
    holder.is_fitted("best_estimator_")
    yield holder.get("best_estimator_"), way.to("best_estimator_")


def _attribute(name: str) -> Callable[[Object, _Path], Inside]:
    """Return what looks at one attribute, whose model was trained on all rows."""

    def inside(holder: Object, way: _Path) -> Inside:
        holder.is_fitted(name)
        yield holder.get(name), way.to(name)

    return inside


def _voting(holder: Object, way: _Path) -> Inside:
    origin = _among(holder, way.origin)
    for index, model in enumerate(_listed(holder, "estimators_")):
        yield model, way.to(f"estimators_[{index}]", origin=origin)


def _stacking(holder: Object, way: _Path) -> Inside:
    yield from _voting(holder, way)
    to = way.to("final_estimator_")
    to.transformers.stop(_PREDICTIONS)
    yield holder.get("final_estimator_"), to


def _bagging(holder: Object, way: _Path) -> Inside:
    """Return the models of a Bagging, which each see a choice of the columns; they store how rows count."""
    models, origin = _listed(holder, "estimators_"), _among(holder, way.origin)
    subsets = holder.get("estimators_features_")
    if not isinstance(subsets, list) or len(subsets) != len(models):
        raise CorruptArtifactError("estimators_features_ does not have the columns of each model")
    for index, (model, subset) in enumerate(zip(models, subsets, strict=True)):
        to = way.to(f"estimators_[{index}]", origin=origin)
        to.transformers.choose(holder, subset, f"estimators_features_[{index}]")
        weighted = isinstance(model, Record) and model.cls.key in ESTIMATORS
        yield model, to if weighted else replace(to, not_covered=way.not_covered or _DRAWN)


def _bags_models(bagging: Object) -> bool:
    """Return whether a Bagging holds models that are more than a tree."""
    models = bagging.get("estimators_")
    keys = {model.cls.key for model in models if isinstance(model, Record)} if isinstance(models, list) else set()
    return any(key in MODELS or key in _INSIDE for key in keys - TREES)


def _one_vs_rest(holder: Object, way: _Path) -> Inside:
    models = _listed(holder, "estimators_")
    binarizer = holder.inner("label_binarizer_")
    if binarizer.get("y_type_") not in ("binary", "multiclass"):
        raise UnsupportedArtifactError(
            f"it holds {with_article(holder.kind)} of several labels a row, which is not covered: save each of its "
            "estimators_ alone, with its own column of labels"
        )
    classes = plain_classes(binarizer.get("classes_"))
    origin = way.origin.among(classes)
    positions = [1] if len(classes) == 2 else range(len(classes))
    if len(models) != len(positions):
        raise CorruptArtifactError(f"{holder.path}estimators_ does not have a model for each class")
    for index, (model, position) in enumerate(zip(models, positions, strict=True)):
        yield model, way.to(f"estimators_[{index}]", origin=origin.then(OneAgainstRest(position)))


def _one_vs_one(holder: Object, way: _Path) -> Inside:
    models, classes = _listed(holder, "estimators_"), plain_classes(holder.get("classes_"))
    origin = way.origin.among(classes)
    pairs = [(first, second) for first in range(len(classes)) for second in range(first + 1, len(classes))]
    if len(models) != len(pairs):
        raise CorruptArtifactError(f"{holder.path}estimators_ does not have a model for each two classes")
    for index, (model, pair) in enumerate(zip(models, pairs, strict=True)):
        yield model, way.to(f"estimators_[{index}]", origin=origin.then(OneAgainstOne(*pair)))


def _calibrated(holder: Object, way: _Path) -> Inside:
    """Return the models behind calibrators, each trained on all but a fold where there are several."""
    pairs, origin = _listed(holder, "calibrated_classifiers_"), _among(holder, way.origin)
    on_all_rows = len(pairs) == 1  # one for all rows, or one that was fitted before
    for index, pair in enumerate(pairs):
        if not isinstance(pair, Record):
            raise CorruptArtifactError(f"{holder.path}calibrated_classifiers_ is not a list of models and calibrators")
        inner = Object(pair, f"{holder.path}calibrated_classifiers_[{index}].")
        name = "estimator" if "estimator" in inner else "base_estimator"
        to = way.to(f"calibrated_classifiers_[{index}].{name}", origin=origin)
        fold = None if on_all_rows else _fold(holder.get("cv"), index, len(pairs))
        if fold is not None:
            to = replace(to, origin=origin.then(fold))
        elif not on_all_rows:
            to = replace(to, not_covered=way.not_covered or _UNKNOWN_FOLD)
        yield inner.get(name), to


def _fold(cv: object, number: int, n_folds: int) -> Fold | None:
    """Return a classifier's fold by its parameter ``cv``; None where it is not stored."""
    if cv is None or type(cv) is int:
        return Fold(number, n_folds, stratified=True) if (cv or _DEFAULT_FOLDS) == n_folds else None
    if not isinstance(cv, Record) or cv.cls.key not in _SPLITTERS:
        return None
    splitter = Object(cv)
    seed, shuffle = splitter.get("random_state"), splitter.get("shuffle") is True
    if splitter.get("n_splits") != n_folds or (shuffle and not (type(seed) is int and 0 <= seed < 2**32)):
        return None
    return Fold(number, n_folds, _SPLITTERS[cv.cls.key], shuffle, seed if shuffle else None)


def _threshold(holder: Object, way: _Path) -> Inside:
    holder.is_fitted("estimator_")
    on_a_part = holder.get("refit") is False and holder.get("cv") != "prefit"
    why = way.not_covered or (_UNKNOWN_FOLD if on_a_part else None)
    yield holder.get("estimator_"), way.to("estimator_", not_covered=why)


def _listed(holder: Object, name: str) -> list[object]:
    """Return an attribute that fitting fills with models."""
    holder.is_fitted(name)
    models = holder.get(name)
    if not isinstance(models, (list, tuple)) or not models:
        raise CorruptArtifactError(f"{holder.path}{name} is not a list of models")
    return list(models)


def _among(holder: Object, origin: Origin) -> Origin:
    """Return the origin among the classes of a classifier; that of a regressor as it is."""
    if not holder.record.cls.name.endswith("CV") and not holder.record.cls.name.endswith("Classifier"):
        return origin
    return origin.among(plain_classes(holder.get("classes_")))


_INSIDE: dict[tuple[str, str], Callable[[Object, _Path], Inside]] = {
    **dict.fromkeys(_PIPELINES, _pipeline),
    **dict.fromkeys(_SEARCHES, _search),
    **dict.fromkeys(_VOTING, _voting),
    **dict.fromkeys(_STACKING, _stacking),
    **dict.fromkeys(BAGGING, _bagging),
    **dict.fromkeys(_ONE_VS_REST, _one_vs_rest),
    **dict.fromkeys(_ONE_VS_ONE, _one_vs_one),
    **dict.fromkeys(_CALIBRATED, _calibrated),
    **dict.fromkeys(_THRESHOLDS, _threshold),
    **dict.fromkeys(_TARGETS, _attribute("regressor_")),
    **dict.fromkeys(_FROZEN, _attribute("estimator")),
    **dict.fromkeys(FITTED_ON_SELECTED, _selector),
}
"""How each kind of model that holds others is looked into, by its class."""
