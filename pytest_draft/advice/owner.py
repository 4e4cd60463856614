"""The owner's model and rows, read from a file or an estimator and a table so that the model can be trained again.

A model file is loaded, and the one model with trees in what it holds is found.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier, DecisionTreeRegressor

from pytest_draft.data.files import parsed, place_of
from pytest_draft.data.tables import Table
from pytest_draft.errors import DataError, UsageError, one_line
from pytest_draft.hardening.files import load
from pytest_draft.hardening.training import columns_of, features_in, labels_in, table_of, target_of
from pytest_draft.hardening.walk import objects_in
from pytest_draft.policy.remedies import NATIVE, written_suffix
from pytest_draft.policy.starting_settings import Setting, StartingSettings, settings_of

__tracebackhide__ = True  # frames here hold rows

HANDLED = "one forest, decision tree or ensemble of boosted trees, alone or inside another model"

_AROUND = ("Bagging", "AdaBoost")
_LIBRARIES = ("sklearn", "xgboost", "lightgbm", "catboost")


@dataclass(frozen=True, eq=False, repr=False)
class Owner:
    """A model that can be trained again, and its rows. Its repr shows no row."""

    estimator: Any
    """The model, not fitted."""
    place: str
    """Of the trees' model among its parameters, as in ``clf``; empty where the model is that itself."""
    features: Any
    """A DataFrame or an array, shape (n_rows, n_columns). As the model takes them."""
    labels: Any
    """Shape (n_rows,)."""
    source: str | None
    """Path of the model file; None for one given in memory."""
    data: Table
    target: str
    """Name of the label column, or array."""
    columns: SimpleNamespace
    """What has the names and number of columns and the classes of the model as it was given."""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Owner({self.holds}, {len(self.labels)} rows, values not shown)"

    @property
    def forest(self) -> Any:
        """The model with the trees, among the parameters."""
        return self.estimator.get_params()[self.place] if self.place else self.estimator

    @property
    def holds(self) -> str:
        """The kind of the model, and of the trees' model inside it."""
        outer, inner = type(self.estimator).__name__, type(self.forest).__name__
        return f"{outer} of {inner}" if self.place else outer

    @property
    def is_classifier(self) -> bool:
        """Whether labels are classes."""
        return bool(is_classifier(self.forest))

    @property
    def settings(self) -> StartingSettings:
        """Those to try, by the kind of the model."""
        return settings_for(self.forest)

    def parameters(self, setting: Setting | None) -> dict[str, Any]:
        """Return what is set in the model for a setting, by the model's names; None changes nothing but the seed.

        A seed that is a number can be found again from the trees, so scikit-learn's models get none.
        """
        forest = self.forest
        found: dict[str, Any] = {}
        if setting is not None:
            found = dict(self.settings.beside) | dict(setting.parameters)
            if "estimator" in forest.get_params(deep=False) and forest.estimator is None:
                tree = DecisionTreeClassifier() if self.is_classifier else DecisionTreeRegressor()
                found = {"estimator": tree, **found}
        if type(forest).__module__.startswith("sklearn.") and "random_state" in forest.get_params(deep=False):
            found["random_state"] = None
        return {f"{self.place}__{name}" if self.place else name: value for name, value in found.items()}

    def made(self, setting: Setting | None) -> Any:
        """Return an unfitted model of a setting, with everything else as in the owner's."""
        return clone(self.estimator).set_params(**self.parameters(setting))

    def fitted(self, setting: Setting | None, features: Any = None, labels: Any = None) -> Any:
        """Return a model of a setting, trained on all rows, or on those given.

        Raises
        ------
        DataError
            Where it cannot be trained; the message quotes nothing of the rows.
        """
        rows = (self.features, self.labels) if features is None else (features, labels)
        try:
            with quiet():
                return self.made(setting).fit(*rows)
        except Exception as error:  # what it says could quote rows
            kind = type(error).__name__
        raise DataError(
            f"{place_of(self.data.source)}: the model cannot be trained on these rows ({kind}); give those that it was "
            "trained on"
        )

    @property
    def suffix(self) -> str:
        """How a file of the model is named, which is written as the owner's is."""
        return written_suffix(self.source)

    def write(self, model: Any, path: str | os.PathLike[str]) -> None:
        """Write a fitted model to a file named by `suffix`."""
        with quiet():
            if self.suffix == ".joblib":
                joblib.dump(model, path)
            else:
                getattr(model, "booster_", model).save_model(os.fspath(path))


@contextlib.contextmanager
def quiet() -> Any:
    """Keep what a library says of rows while it trains from the terminal."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def owner_of(model: object, data: object, target: str | None) -> Owner:
    """Return the model and its rows so that the model can be trained again; for what is taken see `advise`.

    Raises
    ------
    DataError, UsageError
    """
    found = loaded(model)
    columns = columns_of(found.fitted or found.model)
    estimator = clone(found.model)
    place = place_in(estimator, found.source or "the model")
    table = table_of(data, target)
    target = target_of(columns, table, target)
    whole = estimator.get_params()[place] if place else estimator
    return Owner(
        estimator=estimator,
        place=place,
        features=features_in(columns, table, target),
        labels=labels_in(columns, table, target, bool(is_classifier(whole))),
        source=found.source,
        data=table,
        target=target or "y",
        columns=columns,
        notes=found.notes,
    )


def as_given(owner: Owner, holdout: object, target: str | None) -> tuple[Any, Any]:
    """Return further rows and their labels as an owner's model takes them; raises as `owner_of`."""
    table = table_of(holdout, target)
    target = owner.target if table.targets is None else target
    return features_in(owner.columns, table, target), labels_in(owner.columns, table, target, owner.is_classifier)


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model, and where it was found."""

    model: Any
    source: str | None = None
    """Path of the file; None for a model given in memory."""
    notes: tuple[str, ...] = ()
    fitted: Any = None
    """What has the columns of the model, where the model itself does not."""


def loaded(model: object) -> Loaded:
    """Return the model of a file, or the given one.

    A file is loaded by joblib, which runs what is in it, or by the library of its boosted trees. It may hold a
    container with one model with trees in it.
    """
    if isinstance(model, BaseEstimator) or hasattr(model, "get_params"):
        return _unsearched(Loaded(model))
    if not isinstance(model, (str, os.PathLike)):
        raise UsageError(f"the model is a {one_line(type(model).__name__)}: give a path or a scikit-learn estimator")
    path = Path(model)
    kind = next((kind for kind, ends in NATIVE.items() if path.suffix in ends), None)
    if kind is None:
        held, notes = load(path)
        found = _only_model(held, os.fspath(path))
        return _unsearched(replace(found, notes=(*found.notes, *notes)))
    where = one_line(path)
    found = parsed(
        lambda: _native(kind, os.fspath(path)),
        where,
        lambda error: f"its library cannot load it ({type(error).__name__}): give a file of save_model",
    )
    return replace(found, source=os.fspath(path))


def kind_of(model: Any) -> str:
    """Return the name of a model's class, as its library has it; empty where it has no settings to change."""
    for one in type(model).__mro__:
        if one.__module__.partition(".")[0] in _LIBRARIES and settings_of(one.__name__) is not None:
            return str(one.__name__)
    return ""


def settings_for(model: Any) -> StartingSettings:
    """Return the settings of a model that has some."""
    found = settings_of(kind_of(model))
    assert found is not None
    return found


def place_in(estimator: Any, named: str) -> str:
    """Return where the only model with trees is among the parameters of a model, as in ``clf``; empty for itself.

    Raises
    ------
    UsageError
    """
    where, everything = one_line(named), {"": estimator, **estimator.get_params(deep=True)}
    found: list[str] = []
    for name, value in everything.items():
        covered = any(_holds_tree(everything[outer]) for outer in _around(name))
        if kind_of(value) and not covered and (_holds_tree(value) or not kind_of(value).startswith(_AROUND)):
            found.append(name)
    if not found:
        raise _refused(named, estimator)
    if len(found) > 1:
        places = ", ".join(one_line(name or "the model itself") for name in found)
        raise UsageError(f"{where}: advise changes {HANDLED}; this has {len(found)}: {places}")
    (place,) = found
    for outer in _around(place):
        kind = one_line(type(everything[outer]).__name__)
        if hasattr(everything[outer], "best_estimator_") or kind.endswith("SearchCV"):
            raise UsageError(
                f"{where}: it holds a search at {one_line(outer)!r}: put its best_estimator_ there and save the model "
                "anew, or give a file of the search itself"
            )
        if isinstance(everything[place], BaseDecisionTree) and hasattr(everything[outer], "n_estimators"):
            raise UsageError(f"{where}: advise changes {HANDLED}; a tree inside {kind} is not")
    return place


def _around(place: str) -> list[str]:
    """Return the places around one."""
    parts = place.split("__") if place else []
    return ["__".join(parts[:end]) for end in range(len(parts))]


def _holds_tree(model: Any) -> bool:
    """Return whether a model is a Bagging or AdaBoost of single trees, so that its trees are changed through it."""
    inner = getattr(model, "estimator", model)
    return kind_of(model).startswith(_AROUND) and (inner is None or isinstance(inner, BaseDecisionTree))


def _only_model(held: Any, path: str) -> Loaded:
    """Return the one model with trees in what a file holds."""
    where, found = one_line(path), list(_models(held))
    with_trees = [(reached, model) for reached, model in found if _has_trees(model)]
    if len(with_trees) > 1:
        places = " and ".join(one_line(reached) for reached, _ in with_trees[:2]) + " and more" * (len(with_trees) > 2)
        many = f"{len(with_trees)} models with trees ({places})"
        raise UsageError(f"{where}: it holds {many}; advise changes one: write each to a file of its own")
    if not with_trees:
        raise _refused(path, found[0][1] if found else held)
    ((reached, model),) = with_trees
    kind = one_line(type(held).__name__)
    note = f"the file holds a {kind}: its model at {one_line(reached)} is changed, and written alone to the new file"
    return Loaded(model, path, (note,) if reached else ())


def _refused(where: str, model: Any) -> UsageError:
    return UsageError(f"{one_line(where)}: advise changes {HANDLED}; this is a {one_line(type(model).__name__)}")


def _has_trees(model: Any) -> bool:
    inner = getattr(model, "best_estimator_", model)
    return any(map(kind_of, (inner, *inner.get_params(deep=True).values())))


def _models(held: Any) -> Iterator[tuple[str, Any]]:
    """Yield the models that are in containers and plain objects, none inside another, with the paths to them."""
    inside = set[int]()
    for found in objects_in(held):
        if id(found.value) not in inside and (isinstance(found.value, BaseEstimator) or kind_of(found.value)):
            inside.update(id(one.value) for one in objects_in(found.value))
            yield found.path, found.value


def _unsearched(found: Loaded) -> Loaded:
    """Return the best model of a fitted search, and of a search in that."""
    model, notes = found.model, found.notes
    while hasattr(model, "best_estimator_"):
        if model is found.model:
            notes = (*notes, "the search in the file is not run again: its best model is taken")
        model = model.best_estimator_
    return replace(found, model=model, notes=notes)


_OF_LIGHTGBM = {
    "num_iterations": "n_estimators",
    "min_data_in_leaf": "min_child_samples",
    "lambda_l2": "reg_lambda",
    "feature_fraction": "colsample_bytree",
    "bagging_fraction": "subsample",
    "bagging_freq": "subsample_freq",
    **{name: name for name in ("num_leaves", "max_depth", "learning_rate", "objective", "max_bin")},
}
"""Parameters in a LightGBM file, and what its scikit-learn classes call them."""


def _native(kind: str, path: str) -> Loaded:
    """Return the model of a file that the library of boosted trees has written, with the parameters that it keeps."""
    if kind == "CatBoost":
        import catboost

        loss = catboost.CatBoost().load_model(path).get_all_params().get("loss_function", "")
        is_class = loss in ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")
        return Loaded((catboost.CatBoostClassifier if is_class else catboost.CatBoostRegressor)().load_model(path))
    if kind == "LightGBM":
        import lightgbm

        booster = lightgbm.Booster(model_file=path)
        kept = {new: booster.params[name] for name, new in _OF_LIGHTGBM.items() if name in booster.params}
        is_class = str(kept.get("objective")).startswith(("binary", "multiclass"))
        model = (lightgbm.LGBMClassifier if is_class else lightgbm.LGBMRegressor)(**kept)
        fitted = SimpleNamespace(n_features_in_=booster.num_feature(), feature_names_in_=booster.feature_name())
        return Loaded(model, fitted=fitted)
    import xgboost

    objective = json.loads(xgboost.Booster(model_file=path).save_config())["learner"]["objective"]["name"]
    is_class = objective.startswith(("binary:", "multi:"))
    model = (xgboost.XGBClassifier if is_class else xgboost.XGBRegressor)()
    model.load_model(path)
    model.set_params(n_estimators=model.get_booster().num_boosted_rounds())
    note = "of how it was trained, the file holds the number of trees alone: the rest is the library's defaults"
    return Loaded(model, notes=(note,))
