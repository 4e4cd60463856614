"""The owner's model and rows, read from a file or an estimator and a table so that the model can be trained again."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pytest_draft.advice.facts import Secret, Seed, Setting
from pytest_draft.advice.loading import FORESTS, HANDLED, TREES, loaded, refused, trees_among
from pytest_draft.data.files import IN_MEMORY, place_of
from pytest_draft.data.known import finder
from pytest_draft.data.tables import Table, read_table
from pytest_draft.errors import DataError, UsageError, nearest_of, one_line
from pytest_draft.foreign_text import typed

__tracebackhide__ = True  # frames here hold rows

BAGS = (BaggingClassifier, BaggingRegressor)

_FOR_A_TREE = ("criterion", "min_samples_split", "min_samples_leaf", "max_depth", "ccp_alpha", "monotonic_cst")
"""Parameters of a forest that a single tree has too, and that mean the same."""


@dataclass(frozen=True, eq=False, repr=False)
class Owner:
    """A model that can be trained again, and its rows. Its repr shows no row."""

    estimator: Any
    """The model, not fitted."""
    place: str
    """Of the forest among its parameters, as in ``clf``; empty where the model is the forest."""
    bag: str | None
    """Of the bagging that the tree at `place` is in; None where there is none."""
    features: Any
    """A DataFrame or an array, shape (n_rows, n_columns). As the model takes them."""
    labels: Any
    """Shape (n_rows,)."""
    source: str | None
    """Path of the model file; None for one given in memory."""
    sha256: str | None
    reached: str
    """Python that leads from what is in the file to the model, as in ``['model'].best_estimator_``."""
    searches: tuple[str, ...]
    """Where fitted searches are among the model's parameters; each one's best model is taken in its place."""
    by_name: bool
    """Whether the features are the columns that the model names, in a table with others."""
    label_type: str | None
    """What the label column is made before training: ``str``, ``int``, ``float`` or ``bool``; None for as it is read.
    """
    data: Table
    target: str
    """Name of the label column, or array."""
    fitted_like: Any
    """The model as it was given, which has its columns and classes."""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Owner({self.holds}, {len(self.labels)} rows, values not shown)"

    @property
    def forest(self) -> Any:
        """The forest, or single tree, among the parameters."""
        return self.estimator.get_params()[self.place] if self.place else self.estimator

    @property
    def holds(self) -> str:
        """The kind of the model, and of the forest inside it."""
        outer, inner = type(self.estimator).__name__, type(self.forest).__name__
        return f"{outer} of {inner}" if self.place else outer

    @property
    def is_classifier(self) -> bool:
        """Whether labels are classes."""
        return isinstance(self.forest, (RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier))

    @property
    def n_trees(self) -> int:
        """How many trees the model has."""
        if self.bag is not None:
            return int(self.estimator.get_params()[_under(self.bag, "n_estimators")])
        return 1 if isinstance(self.forest, TREES) else int(self.forest.n_estimators)

    @property
    def seeded_at(self) -> str:
        """The parameter from which the draws of all trees follow."""
        return _under(self.place if self.bag is None else self.bag, "random_state")

    def parameters(self, setting: Setting, random_state: Seed) -> dict[str, Any]:
        """Return what is set in the model for a setting: parameters by name; a new forest or tree by its place.

        Where the model itself is to be another one, the name is empty.
        """
        if setting.kind != "forest":
            place = self.place if self.bag is None else self.bag
            return {place: self._replacement(setting, random_state)}
        found = {}
        for name, value in setting.parameters:
            at = self.bag if name == "n_estimators" and self.bag is not None else self.place
            found[_under(at, name)] = value
        return {**found, self.seeded_at: random_state}

    def made(self, setting: Setting, random_state: Seed) -> Any:
        """Return an unfitted model of a setting, with everything else as in the owner's."""
        drawn_from: Any = random_state.state() if isinstance(random_state, Secret) else random_state
        parameters = self.parameters(setting, drawn_from)
        if "" in parameters:
            return parameters[""]
        return clone(self.estimator).set_params(**parameters)

    def fitted(self, setting: Setting, random_state: Seed) -> Any:
        """Return a model of a setting, trained on all rows.

        Raises
        ------
        DataError
            Where it cannot be trained; the message quotes nothing of the rows.
        """
        return self.fit(self.made(setting, random_state), self.features, self.labels)

    def fit(self, model: Any, features: Any, labels: Any) -> Any:
        """Return a model fitted to some rows; raises as `fitted` does."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return model.fit(features, labels)
        except Exception as error:  # what it says could quote rows
            kind = type(error).__name__
        where = place_of(self.data.source)
        raise DataError(
            f"{where}: the model cannot be trained on these rows ({kind}); give those that it was trained on"
        )

    def _replacement(self, setting: Setting, random_state: Seed) -> Any:
        """Return a new estimator for the forest's place: a private forest, or a single tree with its parameters."""
        forest, given = self.forest, dict(setting.parameters)
        if setting.kind == "private":
            from pytest_draft.dp import LaplaceForestClassifier

            return LaplaceForestClassifier(**given, random_state=random_state)
        kept = {name: value for name, value in forest.get_params().items() if name in _FOR_A_TREE}
        if self.is_classifier:
            weight = forest.class_weight
            kept["class_weight"] = "balanced" if weight == "balanced_subsample" else weight
        kind = DecisionTreeClassifier if self.is_classifier else DecisionTreeRegressor
        return kind(**{**_without_defaults(kind, kept), **given}, random_state=random_state)


def _without_defaults(kind: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    defaults = kind().get_params()
    return {name: value for name, value in given.items() if name in defaults and value != defaults[name]}


def _under(place: str, name: str) -> str:
    return f"{place}__{name}" if place else name


def owner_of(model: object, data: object, target: str | None) -> Owner:
    """Return the model and its rows so that the model can be trained again.

    Parameters
    ----------
    model : path-like or estimator
        A file is loaded by joblib, which runs what is in it.
    data : path-like, pandas.DataFrame or tuple (X, y)
        All rows that the model was trained on.
    target : str or None
        Name of the label column; None for a tuple, or ``y`` of an ``.npz`` file.

    Raises
    ------
    ArtifactError, DataError, UsageError
    """
    found = loaded(model)
    given, named = found.model, found.source or "the model"
    estimator, searches = _unsearched(given)
    place, bag = _place(estimator, named)
    table = _table(data, target)
    target = _target(given, table, target)
    features, by_name = _features(given, table, target, named)
    labels, label_type = _labels(given, table, target)
    return Owner(
        estimator=estimator,
        place=place,
        bag=bag,
        features=features,
        labels=labels,
        source=found.source,
        sha256=found.sha256,
        reached=found.reached,
        searches=searches,
        by_name=by_name,
        label_type=label_type,
        data=table,
        target=target or "y",
        fitted_like=given,
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
    if table.targets is None:
        target = owner.target
    features, _ = _features(owner.fitted_like, table, target, "the model")
    labels, _ = _labels(owner.fitted_like, table, target)
    return features, labels


def trees_in(model: Any) -> Iterator[Any]:
    """Yield the fitted trees of a model, wherever they are in it."""
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if hasattr(one, "tree_"):
            yield one
        elif isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, (list, tuple)):
            waiting += one
        elif isinstance(one, np.ndarray):
            waiting += one.ravel().tolist() if one.dtype == object else []
        elif isinstance(one, BaseEstimator) or type(one).__module__.startswith("sklearn."):
            waiting += vars(one).values() if hasattr(one, "__dict__") else []


def n_leaves(model: Any) -> int:
    """Return the leaves of all trees of a fitted model."""
    if hasattr(model, "children_left_"):  # a private forest, all of whose trees are complete
        return int((model.children_left_ < 0).sum()) * len(model.threshold_)
    return sum(int(tree.tree_.n_leaves) for tree in trees_in(model))


def shown_path(path: str | os.PathLike[str]) -> str:
    """Return a path as somebody in this folder would type it."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100  (links stay as they are)
    here = Path(os.path.abspath("."))  # noqa: PTH100
    return typed(absolute.relative_to(here).as_posix()) if absolute.is_relative_to(here) else str(absolute)


def _unsearched(given: Any) -> tuple[Any, tuple[str, ...]]:
    """Return a model, not fitted, with the best model of each fitted search inside it, and where these were."""
    inside = {name: one for name, one in given.get_params(deep=True).items() if hasattr(one, "best_estimator_")}
    bare = clone(given)
    if inside:
        bare.set_params(**{name: clone(search.best_estimator_) for name, search in inside.items()})
    return bare, tuple(inside)


def _place(estimator: Any, named: str) -> tuple[str, str | None]:
    """Return where the only forest or tree is among the parameters, and the bagging around a tree."""
    where = one_line(named)
    everything = {"": estimator, **estimator.get_params(deep=True)}
    found = list(trees_among(estimator))
    if not found:
        raise refused(named, estimator)
    if len(found) > 1:
        places = ", ".join(one_line(name or "the model itself") for name in found)
        raise UsageError(f"{where}: advise changes {HANDLED}; this has {len(found)}: {places}")
    (place,) = found
    around = [place.rpartition("__")[0]] if place else []
    while around and around[-1]:
        around.append(around[-1].rpartition("__")[0])
    for outer in around:
        if hasattr(everything[outer], "best_estimator_") or type(everything[outer]).__name__.endswith("SearchCV"):
            raise UsageError(
                f"{where}: it holds a search at {one_line(outer)!r}: put its best_estimator_ there and save the model "
                "anew, or give a file of the search itself"
            )
    if isinstance(everything[place], FORESTS):
        return place, None
    bags = [outer for outer in around if isinstance(everything[outer], BAGS)]
    others = [outer for outer in around if _multiplies(everything[outer])]
    if others:
        kind = one_line(type(everything[others[0]]).__name__)
        raise UsageError(f"{where}: advise changes {HANDLED}; a tree inside {kind} is not")
    return place, bags[0] if bags else None


def _multiplies(estimator: Any) -> bool:
    """Return whether an estimator grows trees of its own choosing, as boosting does."""
    return hasattr(estimator, "n_estimators") and not isinstance(estimator, BAGS)


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


def _target(estimator: Any, table: Table, target: str | None) -> str | None:
    """Return the name of the label column: the only one that is no feature, where none is given."""
    if target is not None or table.targets is not None:
        return target
    others = set(map(str, table.frame.columns)) - set(map(str, getattr(estimator, "feature_names_in_", ())))
    if len(others) != 1:
        raise UsageError(f"{place_of(table.source)}: name the label column with --target")
    return others.pop()


def _features(estimator: Any, table: Table, target: str | None, named: str) -> tuple[Any, bool]:
    """Return the columns that a model takes, as it takes them, and whether they are chosen by name."""
    where = place_of(table.source)
    frame = table.frame
    if table.targets is None:
        if target not in frame.columns:
            nearest = nearest_of(target, map(str, frame.columns))
            raise UsageError(f"{where}: there is no column {one_line(target)!r} for --target{nearest}")
        frame = frame.drop(columns=target)
    names = getattr(estimator, "feature_names_in_", None)
    width = getattr(estimator, "n_features_in_", None)
    if names is not None and any(isinstance(column, str) for column in frame.columns):
        missing = [name for name in names if name not in frame.columns]
        if missing:
            first = ", ".join(repr(one_line(name, 60)) for name in missing[:3])
            raise UsageError(
                f"{where}: {len(missing)} of the model's {len(names)} columns are missing: {first}"
                + ", ..." * (len(missing) > 3)
                + "; give the table that the model was trained on"
            )
        return frame[list(names)], list(names) != list(frame.columns)
    if width is not None and frame.shape[1] != width:
        raise UsageError(f"{where}: {frame.shape[1]} feature columns, but {one_line(named)} takes {width}")
    fitted_on_arrays = width is not None and names is None
    return (frame.to_numpy() if fitted_on_arrays or table.targets is not None else frame), False


def _labels(estimator: Any, table: Table, target: str | None) -> tuple[Any, str | None]:
    """Return the labels as the model was trained on them, and what they had to be made."""
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
    if not is_classifier(estimator) and is_regressor(estimator):
        if not pd.api.types.is_numeric_dtype(column.dtype):
            raise UsageError(f"{where}: the column {one_line(target)!r} holds no numbers, which a regressor needs")
        return column.to_numpy(), None
    labels = column.to_numpy()
    if labels.dtype.kind not in "biuf":
        labels = labels.astype(object)
    classes = getattr(estimator, "classes_", None)
    if classes is None or not isinstance(classes, np.ndarray):
        return labels, None
    return _as_trained(labels, classes, where)


def _as_trained(labels: Any, classes: Any, where: str) -> tuple[Any, str | None]:
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
        return labels, None
    made = pd.Series(labels).astype(pd.api.types.pandas_dtype(word)).to_numpy()
    if set(made.tolist()) <= set(classes.tolist()):
        return (made.astype(object) if word == "str" else made), word
    return labels, None
