"""Relations of models: in goes a specimen, out comes one whose model is trained, hidden or written otherwise."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from studies.relations.relation import RETRAINED, VERDICT, Rewrite, relation
from studies.specimens import Specimen

_FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor)


@relation("a pipeline that passes through")
def _passthrough(specimen: Specimen) -> Specimen:
    """The fitted model behind a step that does nothing."""
    return _rewritten(specimen, lambda model: Pipeline([("nothing", "passthrough"), ("model", model)]))


@relation("another file of the same people in the same hands", VERDICT)
def _beside(specimen: Specimen) -> Specimen:
    """Beside a model of another seed: whoever has more files never gets less. Figures are those of the file alone."""
    other = clone(specimen.estimator).set_params(random_state=specimen.estimator.random_state + 1)
    return replace(specimen, beside=(other,))


@relation("a pipeline that scales", frozenset({"verdict", "perfect"}))
def _scaled(specimen: Specimen) -> Specimen:
    """Behind a scaler, fitted along. Thresholds are rounded otherwise there, so that drawn ones can fall on other sides
    and numeric values have other digits: no promise on errors and proofs.
    """
    return replace(specimen, estimator=Pipeline([("scale", StandardScaler()), ("model", specimen.estimator)]))


@relation("a pipeline that encodes", RETRAINED)
def _encoded(specimen: Specimen) -> Specimen | None:
    """Behind a one-hot encoder of the ordinal columns, which stands in the file."""
    ordinals = specimen.columns("ordinal")
    if not ordinals:
        return None
    encoder = ColumnTransformer([("codes", OneHotEncoder(sparse_output=False), ordinals)], remainder="passthrough")
    return replace(specimen, estimator=Pipeline([("encode", encoder), ("model", specimen.estimator)]))


@relation("a search")
def _searched(specimen: Specimen) -> Specimen:
    """The best of a search over one candidate, refitted on all rows."""
    seeds = {"random_state": [specimen.estimator.random_state]}
    return replace(specimen, estimator=GridSearchCV(specimen.estimator, seeds, cv=2))


def _dumped(write: Callable[[Any, Path], object]) -> Rewrite:
    """Return the rewriting of how a model is written."""

    def rewrite(specimen: Specimen) -> Specimen:
        return replace(specimen, write=write)

    return rewrite


def _pickled(protocol: int) -> Callable[[Any, Path], object]:
    return lambda model, path: path.write_bytes(pickle.dumps(model, protocol=protocol))


for _compression in ("zlib", "gzip", "xz"):
    relation(f"compressed by {_compression}")(
        _dumped(lambda model, path, how=_compression: joblib.dump(model, path, compress=(how, 3)))  # type: ignore[misc]
    )
for _protocol in (2, 5):
    relation(f"pickled by protocol {_protocol}")(_dumped(_pickled(_protocol)))


@relation("harmless attributes")
def _decoys(specimen: Specimen) -> Specimen:
    """Notes and small arrays beside the trees."""
    return _rewritten(
        specimen,
        lambda model: _with_attributes(
            model,
            {
                "note_": "trained on a Tuesday",
                "grid_": np.linspace(0.0, 1.0, 7),
                "masked_": [np.ma.masked_array(np.arange(5), mask=np.arange(5) == 1) for _ in range(2)],
                "more_": {"scaler": StandardScaler().fit(np.arange(6.0).reshape(3, 2))},
            },
        ),
    )


@relation("another fitted tree beside", frozenset({"verdict"}))
def _other_tree(specimen: Specimen) -> Specimen:
    """A stump on strangers' rows as an attribute. No promise but the verdict: what is said of it comes on top."""

    def beside(model: Any) -> Any:
        labels = np.arange(len(specimen.strangers)) % 2
        stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(specimen.strangers.to_numpy(), labels)
        return _with_attributes(model, {"other_": stump})

    return _rewritten(specimen, beside)


@relation("hidden in an attribute of a harmless forest", VERDICT, hidden=True)
def _hidden(specimen: Specimen) -> Specimen:
    """The trees as an attribute of a forest that tells little of the same rows: it must not pass for that one."""

    def hide(model: Any) -> Any:
        return _with_attributes(_harmless(specimen), {"backup_": getattr(model, "estimators_", model)})

    return _rewritten(specimen, hide)


@relation("hidden as what a search starts from", VERDICT, hidden=True)
def _hidden_in_search(specimen: Specimen) -> Specimen | None:
    """The fitted model as ``estimator`` of a search, whose best is harmless."""
    grid: Mapping[str, list[Any]] = {"max_depth": [1]}
    if not all(name in specimen.estimator.get_params() for name in grid):
        return None
    return _rewritten(specimen, lambda model: GridSearchCV(model, grid, cv=2).fit(specimen.frame, specimen.labels))


@relation("hidden as what a bag starts from", VERDICT, hidden=True)
def _hidden_in_bag(specimen: Specimen) -> Specimen | None:
    """The fitted tree as ``estimator`` of a bag, which keeps it; the bag's own trees are shallow."""
    if not isinstance(specimen.estimator, DecisionTreeClassifier):
        return None

    def hide(model: Any) -> Any:
        stumps = BaggingClassifier(DecisionTreeClassifier(max_depth=1), 3, random_state=0)
        return _with_attributes(stumps.fit(specimen.frame, specimen.labels), {"estimator": model})

    return _rewritten(specimen, hide)


@relation("hidden in a note of a pipeline", VERDICT, hidden=True)
def _hidden_in_pipeline(specimen: Specimen) -> Specimen:
    """The fitted model as an attribute of a pipeline around a harmless forest."""

    def hide(model: Any) -> Any:
        return _with_attributes(Pipeline([("model", _harmless(specimen))]), {"note_": model})

    return _rewritten(specimen, hide)


@relation("trees in the opposite order")
def _trees_reversed(specimen: Specimen) -> Specimen | None:
    """The same trees, each with its seed, from the last to the first."""
    if not hasattr(specimen.estimator, "n_estimators"):
        return None

    def turn(model: Any) -> Any:
        model.estimators_ = model.estimators_[::-1]
        if hasattr(model, "_seeds"):
            model._seeds = model._seeds[::-1].copy()
            model.estimators_features_ = model.estimators_features_[::-1]
        return model

    return _rewritten(specimen, turn)


@relation("two processes")
def _two_jobs(specimen: Specimen) -> Specimen | None:
    """Trained by two processes or threads, which changes nothing of the trees."""
    return _with_parameters(specimen, n_jobs=2)


@relation("votes out of the bag", both_ways=False)
def _votes(specimen: Specimen) -> Specimen | None:
    """With the votes for each row in the file, which only adds to it."""
    return _with_parameters(specimen, oob_score=True) if specimen.bootstraps else None


@relation("weights of one", frozenset({"verdict", "perfect"}), retrained=True)
def _weights(specimen: Specimen) -> Specimen:
    """Trained with weights of 1, which scikit-learn 1.9 draws by: with bootstrap, other rows are drawn."""
    return replace(specimen, sample_weight=np.ones(len(specimen.frame)))


# Of less information: the first has less, so that the second, which has all, must not be judged more mildly.


def _hardened_at(level: str) -> Rewrite:
    return lambda specimen: replace(specimen, hardened=level)


def _half_of_the_trees(specimen: Specimen) -> Specimen | None:
    def cut(model: Any) -> Any:
        kept = copy(model)
        kept.estimators_ = model.estimators_[: len(model.estimators_) // 2]
        kept.n_estimators = len(kept.estimators_)
        return kept

    return _rewritten(specimen, cut) if isinstance(specimen.estimator, _FORESTS) else None


for _less, _what in (
    (_hardened_at("counts"), "not hardened, in place of hardened with its raw file given"),
    (_hardened_at("decimals:2"), "not hardened, in place of leaves with rounded shares"),
    (_hardened_at("labels"), "not hardened, in place of leaves with labels alone"),
    (_half_of_the_trees, "all trees, in place of half of them"),
):
    relation(_what, VERDICT, before=_less)(lambda specimen: specimen)


# What these relations are made of.


def _rewritten(specimen: Specimen, rewrite: Callable[[Any], Any]) -> Specimen:
    """Return the specimen that writes something else than its fitted model."""
    return replace(specimen, rewritten=(*specimen.rewritten, rewrite))


def _with_parameters(specimen: Specimen, **parameters: object) -> Specimen | None:
    """Return the specimen with other parameters; None where its estimator lacks one."""
    if not set(parameters) <= set(specimen.estimator.get_params()):
        return None
    return replace(specimen, estimator=clone(specimen.estimator).set_params(**parameters))


def _with_attributes(model: BaseEstimator, attributes: Mapping[str, object]) -> BaseEstimator:
    """Return a model with more attributes, or others."""
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def _harmless(specimen: Specimen) -> Any:
    """Return a forest that tells little of the same rows."""
    kind = RandomForestClassifier if is_classifier(specimen.estimator) else RandomForestRegressor
    forest = kind(3, max_depth=1, min_samples_leaf=len(specimen.frame) // 4, random_state=0)
    return forest.fit(specimen.frame, specimen.labels)
