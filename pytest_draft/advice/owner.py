"""The owner's model and rows, read from a file or an estimator and a table so that the model can be trained again."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pytest_draft.advice.loading import loaded, place_in, settings_for
from pytest_draft.data.files import IN_MEMORY, place_of
from pytest_draft.data.known import finder
from pytest_draft.data.tables import Table, read_table
from pytest_draft.errors import DataError, UsageError, nearest_of, one_line
from pytest_draft.hardening.rows import features_of
from pytest_draft.policy.remedies import written_suffix
from pytest_draft.policy.starting_settings import Setting, StartingSettings

__tracebackhide__ = True  # frames here hold rows


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
                found = {
                    "estimator": DecisionTreeClassifier() if self.is_classifier else DecisionTreeRegressor(),
                    **found,
                }
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
    """Return the model and its rows so that the model can be trained again.

    Parameters
    ----------
    model : path-like or estimator
        A file is loaded, which runs what is in it.
    data : path-like, pandas.DataFrame or tuple (X, y)
        All rows that the model was trained on.
    target : str or None
        Name of the label column; None for a tuple, or ``y`` of an ``.npz`` file.

    Raises
    ------
    ArtifactError, DataError, UsageError
    """
    found = loaded(model)
    columns = _columns_of(found.fitted or found.model)
    estimator, searches = _unsearched(found.model)
    place = place_in(estimator, found.source or "the model")
    table = _table(data, target)
    target = _target(columns, table, target)
    whole = estimator.get_params()[place] if place else estimator
    return Owner(
        estimator=estimator,
        place=place,
        features=_features(columns, table, target),
        labels=_labels(columns, table, target, bool(is_classifier(whole))),
        source=found.source,
        data=table,
        target=target or "y",
        columns=columns,
        notes=(
            *found.notes,
            *(f"the search at {one_line(at)!r} is not run again: its best model is taken" for at in searches),
        ),
    )


def as_given(owner: Owner, holdout: object, target: str | None) -> tuple[Any, Any]:
    """Return further rows and their labels as an owner's model takes them.

    Parameters
    ----------
    holdout : path-like, pandas.DataFrame or tuple (X, y)

    Raises
    ------
    DataError, UsageError
    """
    table = _table(holdout, target)
    target = owner.target if table.targets is None else target
    return _features(owner.columns, table, target), _labels(owner.columns, table, target, owner.is_classifier)


def _unsearched(given: Any) -> tuple[Any, tuple[str, ...]]:
    """Return a model, not fitted, with the best model of each fitted search inside it, and where these were."""
    inside = {name: one for name, one in given.get_params(deep=True).items() if hasattr(one, "best_estimator_")}
    bare = clone(given)
    if inside:
        bare.set_params(**{name: clone(search.best_estimator_) for name, search in inside.items()})
    return bare, tuple(inside)


def _table(data: object, target: str | None) -> Table:
    """Return the training data as a table."""
    if isinstance(data, (str, os.PathLike)):
        return read_table(data)
    if isinstance(data, pd.DataFrame):
        return Table(data, None, IN_MEMORY)
    if isinstance(data, tuple) and len(data) == 2:
        features = data[0] if isinstance(data[0], pd.DataFrame) else pd.DataFrame(np.asarray(data[0]))
        return Table(features, None, IN_MEMORY, {"y": np.asarray(data[1])})
    raise UsageError(
        f"the data are a {one_line(type(data).__name__)}: give a path, a pandas DataFrame or a pair (X, y)"
    )


def _target(columns: SimpleNamespace, table: Table, target: str | None) -> str | None:
    """Return the name of the label column: the only one that is no feature, where none is given."""
    if target is not None or table.targets is not None:
        return target
    others = set(map(str, table.frame.columns)) - set(
        map(str, () if columns.feature_names_in_ is None else columns.feature_names_in_)
    )
    if len(others) != 1:
        raise UsageError(f"{place_of(table.source)}: name the label column with --target")
    return others.pop()


def _columns_of(fitted: Any) -> SimpleNamespace:
    """Return what tells which columns a model was trained on; without names where its library has made them."""
    names = getattr(fitted, "feature_names_in_", getattr(fitted, "feature_names_", None))
    if names is not None and any(
        list(names) == [f"{begin}{i}" for i in range(len(names))] for begin in ("Column_", "")
    ):
        names = None
    return SimpleNamespace(
        feature_names_in_=names,
        n_features_in_=getattr(fitted, "n_features_in_", None) or None,
        classes_=getattr(fitted, "classes_", None),
    )


def _features(columns: SimpleNamespace, table: Table, target: str | None) -> Any:
    """Return the columns that a model takes, as it takes them."""
    if table.targets is None and target not in table.frame.columns:
        nearest = nearest_of(target, map(str, table.frame.columns))
        raise UsageError(f"{place_of(table.source)}: there is no column {one_line(target)!r} for --target{nearest}")
    if columns.n_features_in_ is None and columns.feature_names_in_ is None:  # not fitted yet
        return table.frame if table.targets is not None else table.frame.drop(columns=target)
    found = features_of(columns, table.frame, target)
    return found.to_numpy() if table.targets is not None and hasattr(found, "to_numpy") else found


def _labels(columns: SimpleNamespace, table: Table, target: str | None, is_class: bool) -> Any:
    """Return the labels as the model was trained on them."""
    where = place_of(table.source)
    if table.targets is None:
        column = table.frame[target]
    else:
        name = target or "y"
        given = table.targets.get(name)
        if given is None:
            raise UsageError(f"{where}: there is no array {one_line(name)!r} of numbers or text for --target")
        if given.shape not in ((len(table.frame),), (len(table.frame), 1)):
            raise DataError(f"{where}: the labels have shape {given.shape}; there must be one for each row")
        column = pd.Series(given.ravel())
    missing = int(column.isna().sum())
    if missing:
        raise DataError(f"{where}: {missing} of {len(column)} rows have no label; give the rows that trained the model")
    if not is_class:
        if not pd.api.types.is_numeric_dtype(column.dtype):
            raise UsageError(f"{where}: the column {one_line(target)!r} holds no numbers, which a regressor needs")
        return column.to_numpy()
    labels = column.to_numpy()
    if labels.dtype.kind not in "biuf":
        labels = labels.astype(object)
    return _as_trained(labels, columns.classes_, where) if isinstance(columns.classes_, np.ndarray) else labels


def _as_trained(labels: Any, classes: Any, where: str) -> Any:
    """Return labels in the type of a model's classes, so that what is trained again predicts the same values."""
    class_of = finder(tuple(classes.tolist()))
    unknown = sum(class_of(value) < 0 for value in pd.unique(pd.Series(labels)).tolist())
    if unknown:
        raise UsageError(
            f"{where}: {unknown} labels are none of the model's classes; give the rows and the --target that the model "
            "was trained on"
        )
    word = {"b": "bool", "i": "int", "u": "int", "f": "float"}.get(classes.dtype.kind, "str")
    mine = {"b": "bool", "i": "int", "u": "int", "f": "float"}.get(labels.dtype.kind, "str")
    if word == mine:
        return labels
    made = pd.Series(labels).astype(pd.api.types.pandas_dtype(word)).to_numpy()
    if set(made.tolist()) <= set(classes.tolist()):
        return made.astype(object) if word == "str" else made
    return labels
