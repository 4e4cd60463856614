"""The model to change, from an owner's file: it is loaded, and the one forest in what it holds is found."""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import joblib
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pytest_draft.data.files import content
from pytest_draft.errors import ArtifactError, DataError, UsageError, one_line
from pytest_draft.policy.remedies import parameters_of

__tracebackhide__ = True  # frames here hold rows

FORESTS = (RandomForestClassifier, ExtraTreesClassifier, RandomForestRegressor, ExtraTreesRegressor)
TREES = (DecisionTreeClassifier, DecisionTreeRegressor)  # their subclasses split at random
HANDLED = "one random forest, extra trees or decision tree of scikit-learn, alone or inside another model"

_BOOSTED = ("Boost", "XGB", "LGBM")
"""In the names of kinds of boosted trees."""
_OF_BOOSTERS = (".json", ".ubj", ".txt", ".cbm")
_DEEPEST = 5  # containers in each other


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model, and where it was found."""

    model: Any
    source: str | None = None
    sha256: str | None = None
    """`source` and `sha256`: of the file; None for a model given in memory."""
    reached: str = ""
    """Python that leads from what is in the file to the model, as in ``['model'].best_estimator_``."""
    notes: tuple[str, ...] = ()


def loaded(model: object) -> Loaded:
    """Return the model of a file, or the given one.

    Parameters
    ----------
    model : path-like or estimator
        A file is loaded by joblib, which runs what is in it. It may hold a container with one forest in it.

    Raises
    ------
    ArtifactError, UsageError
    """
    if isinstance(model, BaseEstimator):
        return _unsearched(Loaded(model))
    if not isinstance(model, (str, os.PathLike)):
        raise UsageError(f"the model is a {one_line(type(model).__name__)}: give a path or a scikit-learn estimator")
    path = os.fspath(model)
    try:
        raw = content(path)
    except DataError as error:
        raise UsageError(str(error)) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            held = joblib.load(io.BytesIO(raw))
    except Exception as error:
        why = f"joblib cannot load it ({type(error).__name__}): give a file of joblib.dump"
        if isinstance(error, ModuleNotFoundError) and error.name:
            why = f"loading it needs {one_line(error.name)}, which is not installed here"
    else:
        return _unsearched(_only_forest(held, path, hashlib.sha256(raw).hexdigest()))
    if PurePath(path).suffix in _OF_BOOSTERS:
        raise UsageError(f"{one_line(path)}: advise reads files of joblib that hold {HANDLED}; {_for_boosted('')}")
    raise ArtifactError(f"{one_line(path)}: {why}")


def trees_among(model: Any) -> dict[str, Any]:
    """Return the forests and single trees among the parameters of a model, by their names; the model's own is empty."""
    everything = {"": model, **model.get_params(deep=True)}
    return {name: value for name, value in everything.items() if isinstance(value, (*FORESTS, *TREES))}


def refused(where: str, model: Any) -> UsageError:
    """Return the error for a model without a forest."""
    kind = one_line(type(model).__name__)
    more = f"; {_for_boosted(kind)}" if any(part in kind for part in _BOOSTED) else ""
    return UsageError(f"{one_line(where)}: advise changes {HANDLED}; this is a {kind}{more}")


def _for_boosted(kind: str) -> str:
    return f"retrain boosted trees with fewer and shallower trees ({parameters_of(kind)}), and judge the new file"


def _only_forest(held: Any, path: str, sha256: str) -> Loaded:
    """Return the one model with a forest in what a file holds."""
    where, kind = one_line(path), one_line(type(held).__name__)
    found = list(_models(held, ""))
    forests = [(reached, model) for reached, model in found if _has_forest(model)]
    if len(forests) > 1:
        places = " and ".join(one_line(reached) for reached, _ in forests[:2]) + " and more" * (len(forests) > 2)
        raise UsageError(
            f"{where}: it holds {len(forests)} models with forests ({places}); advise changes one: write each to a "
            f"file of its own, with joblib.dump(joblib.load({path!r}){forests[0][0]}, 'one.joblib')"
        )
    if not forests:
        if len(found) == 1 and not found[0][0]:
            return Loaded(held, path, sha256)
        if found:
            raise refused(path, found[0][1])
        if hasattr(held, "fit") and hasattr(held, "predict"):
            raise refused(path, held)
        raise ArtifactError(f"{where}: it holds a {kind}, and no scikit-learn model in it: give a file of one model")
    ((reached, model),) = forests
    note = f"the file holds a {kind}: its model at {one_line(reached)} is changed, and written alone to the new file"
    return Loaded(model, path, sha256, reached, (note,) if reached else ())


def _has_forest(model: Any) -> bool:
    return bool(trees_among(getattr(model, "best_estimator_", model)))


def _models(held: Any, reached: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the models that are in containers and plain objects, with the Python that leads there."""
    if isinstance(held, type) or depth > _DEEPEST:
        return
    if isinstance(held, BaseEstimator):
        yield reached, held
    elif isinstance(held, Mapping):
        for key, value in held.items():
            if isinstance(key, (str, int)):
                yield from _models(value, f"{reached}[{key!r}]", depth + 1)
    elif isinstance(held, (list, tuple)):
        for index, value in enumerate(held):
            yield from _models(value, f"{reached}[{index}]", depth + 1)
    elif type(held).__module__.partition(".")[0] not in ("builtins", "numpy", "pandas", "scipy", "sklearn"):
        for name, value in getattr(held, "__dict__", {}).items():
            yield from _models(value, f"{reached}.{name}", depth + 1)


def _unsearched(found: Loaded) -> Loaded:
    """Return the best model of a fitted search, and of a search in that."""
    model, reached, notes = found.model, found.reached, found.notes
    while hasattr(model, "best_estimator_"):
        if model is found.model:
            notes = (*notes, "the search in the file is not run again: its best model is taken")
        model, reached = model.best_estimator_, f"{reached}.best_estimator_"
    return Loaded(model, found.source, found.sha256, reached, notes)
