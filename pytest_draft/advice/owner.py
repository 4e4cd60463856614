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
from sklearn.base import clone, is_classifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pytest_draft.advice.loading import loaded, place_in, settings_for
from pytest_draft.data.files import place_of
from pytest_draft.data.tables import Table
from pytest_draft.errors import DataError
from pytest_draft.hardening.training import columns_of, features_in, labels_in, table_of, target_of
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
