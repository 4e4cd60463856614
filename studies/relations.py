"""What must not make a verdict milder: in goes a specimen, out come two that must be judged alike, or the second worse.

Each relation rewrites how a table or a model is written, or how it is attacked, and states what must hold then:

- ``verdict``, ``rules``: the verdict, and the result of each rule, is not milder.
- ``error``, ``perfect``, ``certain``: the reconstruction error is not larger, and rows that are rebuilt perfectly or
  proved are not fewer, beyond a tolerance (`studies.invariances`).

`SAME` are relations after which the trees hold the same, so that all of this must hold, and neither of the two
writings may fail where the other passes. `RETRAINED` are those after which other trees are grown on the same
information, by other draws: their verdict holds, and no complete reconstruction may break down. A relation that
promises less says why in its docstring.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from studies.specimens import Role, Specimen

Promise = Literal["verdict", "rules", "error", "perfect", "certain"]
Rewrite = Callable[[Specimen], "Specimen | None"]

SAME: frozenset[Promise] = frozenset({"verdict", "rules", "error", "perfect", "certain"})
RETRAINED: frozenset[Promise] = frozenset({"verdict", "perfect"})
VERDICT: frozenset[Promise] = frozenset({"verdict"})


@dataclass(frozen=True)
class Relation:
    """Two writings, of which the second must not be judged more mildly.

    Attributes
    ----------
    name : str
    rewrite : callable
        Takes a specimen, returns the one that must not be judged more mildly; None where it does not apply.
    promises : frozenset of str
        What must hold.
    before : callable
        Returns the specimen to compare with.
    retrained : bool
        Whether other trees are grown by it.
    both_ways : bool
        Whether the first must not pass where the second fails, either: they hold the same.
    hidden : bool
        Whether the leak is no more than a part of the second: then the second must not pass where the first does not,
        and nothing else must hold.
    """

    name: str
    rewrite: Rewrite
    promises: frozenset[Promise]
    before: Rewrite = lambda specimen: specimen
    retrained: bool = False
    both_ways: bool = True
    hidden: bool = False


RELATIONS: dict[str, Relation] = {}
"""All relations by name."""


def _relation(name: str, promises: frozenset[Promise] = SAME, **others: Any) -> Callable[[Rewrite], Rewrite]:
    """Return a decorator that names a rewriting and what must hold after it."""

    def register(rewrite: Rewrite) -> Rewrite:
        settings = {"retrained": promises is RETRAINED, "both_ways": promises is SAME, **others}
        RELATIONS[name] = Relation(name, rewrite, promises, **settings)
        return rewrite

    return register


# How columns are coded.


def _two_values(low: float, high: float) -> Rewrite:
    """Return the rewriting of all columns of zeros and ones with two other values."""

    def rewrite(specimen: Specimen) -> Specimen | None:
        columns = specimen.columns("binary", "one-hot")
        values = np.array([low, high])
        return _changed(specimen, {name: values[specimen.frame[name].to_numpy()] for name in columns})

    return rewrite


for _low, _high in ((-1, 1), (1, 3), (0, 30), (0.5, 2.25)):
    _relation(f"two values {_low:g} and {_high:g}")(_two_values(_low, _high))


@_relation("one group with -1 and 1")
def _one_group(specimen: Specimen) -> Specimen | None:
    """Only the columns of one one-hot group have other values than zeros and ones."""
    columns = next(iter(specimen.groups.values()), ())
    return _changed(specimen, {name: 2 * specimen.frame[name].to_numpy() - 1 for name in columns})


@_relation("ordinal codes seven apart")
def _seven_apart(specimen: Specimen) -> Specimen | None:
    """Codes with even gaps: all distances are the same shares of the range."""
    columns = specimen.columns("ordinal")
    return _changed(specimen, {name: 7 * specimen.frame[name].to_numpy() - 3 for name in columns})


@_relation("ordinal codes with uneven gaps", frozenset({"verdict", "rules", "perfect", "certain"}))
def _uneven_gaps(specimen: Specimen) -> Specimen | None:
    """Codes as triangular numbers, whose gaps grow. Not where thresholds are drawn: there other trees are grown.

    No promise on the error, since distances are other shares of the range. Nor of a table whose verdict is by that
    error alone: the room of a threshold covers it.
    """
    if _draws_thresholds(specimen.estimator):
        return None
    changed = {}
    for name in specimen.columns("ordinal"):
        _, rank = np.unique(specimen.frame[name].to_numpy(), return_inverse=True)
        changed[name] = rank * (rank + 1) // 2 + 4
    return _changed(specimen, changed)


@_relation("ordinal codes without gaps", frozenset({"verdict", "rules", "perfect", "certain"}))
def _without_gaps(specimen: Specimen) -> Specimen | None:
    """Codes 0, 1, 2 and so on; as for uneven gaps, not of drawn thresholds, and no promise on the error."""
    if _draws_thresholds(specimen.estimator):
        return None
    changed = {}
    for name in specimen.columns("ordinal"):
        _, changed[name] = np.unique(specimen.frame[name].to_numpy(), return_inverse=True)
    return _changed(specimen, changed)


@_relation("numeric columns in quarters")
def _quarters(specimen: Specimen) -> Specimen | None:
    """Four times the values, which float32 holds as exactly."""
    columns = specimen.columns("numeric")
    return _changed(specimen, {name: 4 * specimen.frame[name].to_numpy() for name in columns})


@_relation("numeric columns in another unit", frozenset({"verdict", "perfect", "certain"}))
def _unit(specimen: Specimen) -> Specimen | None:
    """As from degrees Celsius to Fahrenheit. No promise on the error: values have other decimals, by which they are
    searched for, and one more or fewer is found.
    """
    columns = specimen.columns("numeric")
    return _changed(specimen, {name: 1.8 * specimen.frame[name].to_numpy() + 32 for name in columns})


@_relation("one-hot groups as codes", RETRAINED)
def _as_codes(specimen: Specimen) -> Specimen | None:
    """Each one-hot group as one ordinal column."""
    if not specimen.groups:
        return None
    frame, roles = specimen.frame, dict(specimen.roles)
    for group, columns in specimen.groups.items():
        code = frame[list(columns)].to_numpy().argmax(axis=1)
        frame = frame.drop(columns=list(columns)).assign(**{group: code})
        roles[group] = "ordinal"
    return replace(specimen, frame=frame, roles=roles, groups={})


@_relation("codes as one-hot groups", RETRAINED)
def _as_groups(specimen: Specimen) -> Specimen | None:
    """Each ordinal column as a one-hot group."""
    ordinals = specimen.columns("ordinal")
    return _dummies(specimen, ordinals, drop_first=False) if ordinals else None


@_relation("one-hot groups without their first level", RETRAINED)
def _first_dropped(specimen: Specimen) -> Specimen | None:
    """What ``pandas.get_dummies(..., drop_first=True)`` leaves of each group: it tells the same."""
    columns = [columns[0] for columns in specimen.groups.values()]
    if not columns:
        return None
    roles: dict[str, Role] = {
        name: "binary" if role == "one-hot" else role for name, role in specimen.roles.items() if name not in columns
    }
    return replace(specimen, frame=specimen.frame.drop(columns=columns), roles=roles, groups={})


# How a table is written.


@_relation("columns trained in another order", RETRAINED)
def _permuted(specimen: Specimen) -> Specimen:
    """The forest is trained on permuted columns, and so draws others."""
    order = np.random.default_rng(1).permutation(specimen.frame.shape[1])
    return replace(specimen, frame=specimen.frame.iloc[:, order])


@_relation("columns given in another order")
def _reversed_columns(specimen: Specimen) -> Specimen:
    """The training data are given with their columns in the opposite order, under their names."""
    return replace(specimen, reversed_columns=True)


@_relation("columns renamed without prefixes")
def _renamed(specimen: Specimen) -> Specimen:
    """Names from which nobody can tell what belongs together."""
    words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet", "kilo"]
    names = [words[i] if i < len(words) else "x" * (i + 1) for i in range(specimen.frame.shape[1])]
    return _named(specimen, names)


@_relation("columns renamed with one prefix")
def _one_prefix(specimen: Specimen) -> Specimen:
    """Names by which all seem to belong together."""
    return _named(specimen, [f"column_{i}" for i in range(specimen.frame.shape[1])])


@_relation("narrow dtypes")
def _narrow(specimen: Specimen) -> Specimen:
    """Booleans, bytes and single precision, in which trees compare anyway."""
    dtypes = {"binary": bool, "one-hot": bool, "ordinal": np.int8, "numeric": np.float32}
    return replace(specimen, frame=specimen.frame.astype({n: dtypes[role] for n, role in specimen.roles.items()}))


@_relation("double precision")
def _wide(specimen: Specimen) -> Specimen:
    """All columns as float64."""
    return replace(specimen, frame=specimen.frame.astype(np.float64))


def _given_as(how: str) -> Rewrite:
    """Return the rewriting of how training data are given."""

    def rewrite(specimen: Specimen) -> Specimen:
        return replace(specimen, given=how)

    return rewrite


for _how in ("arrays", ".csv", ".parquet", ".npz"):
    _relation(f"data given as {_how.removeprefix('.')}")(_given_as(_how))


@_relation("a constant column", RETRAINED)
def _constant(specimen: Specimen) -> Specimen:
    """A column that is 1 in every row; trees draw it, too, and cannot split by it."""
    return _with_column(specimen, "constant", np.ones(len(specimen.frame), dtype=np.int64), "binary")


@_relation("a constant column of another value", RETRAINED)
def _other_constant(specimen: Specimen) -> Specimen:
    """A column that is 17.5 in every row."""
    return _with_column(specimen, "constant", np.full(len(specimen.frame), 17.5), "numeric")


@_relation("a duplicated column", VERDICT)
def _duplicated(specimen: Specimen) -> Specimen:
    """Another column with the values of the last. No promise on rows: that the two are alike is nowhere told, and a
    tree splits by one of them.
    """
    last = specimen.frame.columns[-1]
    role: Role = "binary" if specimen.roles[last] == "one-hot" else specimen.roles[last]
    return _with_column(specimen, "again", specimen.frame[last].to_numpy(), role)


@_relation("labels as text")
def _text_labels(specimen: Specimen) -> Specimen | None:
    """Classes with names, in the same order."""
    return _labelled(specimen, lambda labels: np.array([f"class {label}" for label in labels], dtype=object))


@_relation("labels in the opposite order")
def _opposite_labels(specimen: Specimen) -> Specimen | None:
    """Each class has the code of another."""
    return _labelled(specimen, lambda labels: labels.max() - labels)


@_relation("labels as other numbers")
def _other_labels(specimen: Specimen) -> Specimen | None:
    """Classes as whole floats with gaps."""
    return _labelled(specimen, lambda labels: 10.0 * labels - 1)


@_relation("rows in another order, where it is not used")
def _rows_permuted(specimen: Specimen) -> Specimen | None:
    """The same rows, trained and given in another order, by models without bootstrap."""
    if _bootstraps(specimen.estimator):
        return None
    order = np.random.default_rng(2).permutation(len(specimen.frame))
    return replace(specimen, frame=specimen.frame.iloc[order].reset_index(drop=True), labels=specimen.labels[order])


@_relation("rows given in another order", VERDICT)
def _given_permuted(specimen: Specimen) -> Specimen:
    """The training data are given in another order than that of training. No promise but the verdict: where the order
    is used, rows can no longer be compared one by one.
    """
    return replace(specimen, order=np.random.default_rng(3).permutation(len(specimen.frame)))


# How a model is trained and written.


@_relation("a pipeline that passes through")
def _passthrough(specimen: Specimen) -> Specimen:
    """The fitted model behind a step that does nothing."""
    return _rewritten(specimen, lambda model: Pipeline([("nothing", "passthrough"), ("model", model)]))


@_relation("a pipeline that scales", frozenset({"verdict", "perfect"}))
def _scaled(specimen: Specimen) -> Specimen:
    """Behind a scaler, fitted along. Thresholds are rounded otherwise there, so that drawn ones can fall on other sides
    and numeric values have other digits: no promise on errors and proofs.
    """
    return replace(specimen, estimator=Pipeline([("scale", StandardScaler()), ("model", specimen.estimator)]))


@_relation("a pipeline that encodes", RETRAINED)
def _encoded(specimen: Specimen) -> Specimen | None:
    """Behind a one-hot encoder of the ordinal columns, which stands in the file."""
    ordinals = specimen.columns("ordinal")
    if not ordinals:
        return None
    encoder = ColumnTransformer([("codes", OneHotEncoder(sparse_output=False), ordinals)], remainder="passthrough")
    return replace(specimen, estimator=Pipeline([("encode", encoder), ("model", specimen.estimator)]))


@_relation("a search")
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
    _relation(f"compressed by {_compression}")(
        _dumped(lambda model, path, how=_compression: joblib.dump(model, path, compress=(how, 3)))  # type: ignore[misc]
    )
for _protocol in (2, 5):
    _relation(f"pickled by protocol {_protocol}")(_dumped(_pickled(_protocol)))


@_relation("harmless attributes")
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


@_relation("another fitted tree beside", frozenset({"verdict"}))
def _other_tree(specimen: Specimen) -> Specimen:
    """A stump on strangers' rows as an attribute. No promise but the verdict: what is said of it comes on top."""

    def beside(model: Any) -> Any:
        labels = np.arange(len(specimen.strangers)) % 2
        stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(specimen.strangers.to_numpy(), labels)
        return _with_attributes(model, {"other_": stump})

    return _rewritten(specimen, beside)


@_relation("hidden in an attribute of a harmless forest", VERDICT, hidden=True)
def _hidden(specimen: Specimen) -> Specimen:
    """The trees as an attribute of a forest that tells little of the same rows: it must not pass for that one."""

    def hide(model: Any) -> Any:
        return _with_attributes(_harmless(specimen), {"backup_": getattr(model, "estimators_", model)})

    return _rewritten(specimen, hide)


@_relation("hidden as what a search starts from", VERDICT, hidden=True)
def _hidden_in_search(specimen: Specimen) -> Specimen | None:
    """The fitted model as ``estimator`` of a search, whose best is harmless."""
    grid: Mapping[str, list[Any]] = {"max_depth": [1]}
    if not all(name in specimen.estimator.get_params() for name in grid):
        return None
    return _rewritten(specimen, lambda model: GridSearchCV(model, grid, cv=2).fit(specimen.frame, specimen.labels))


@_relation("hidden as what a bag starts from", VERDICT, hidden=True)
def _hidden_in_bag(specimen: Specimen) -> Specimen | None:
    """The fitted tree as ``estimator`` of a bag, which keeps it; the bag's own trees are shallow."""
    if not isinstance(specimen.estimator, DecisionTreeClassifier):
        return None

    def hide(model: Any) -> Any:
        stumps = BaggingClassifier(DecisionTreeClassifier(max_depth=1), 3, random_state=0)
        return _with_attributes(stumps.fit(specimen.frame, specimen.labels), {"estimator": model})

    return _rewritten(specimen, hide)


@_relation("hidden in a note of a pipeline", VERDICT, hidden=True)
def _hidden_in_pipeline(specimen: Specimen) -> Specimen:
    """The fitted model as an attribute of a pipeline around a harmless forest."""

    def hide(model: Any) -> Any:
        return _with_attributes(Pipeline([("model", _harmless(specimen))]), {"note_": model})

    return _rewritten(specimen, hide)


@_relation("trees in the opposite order")
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


@_relation("two processes")
def _two_jobs(specimen: Specimen) -> Specimen | None:
    """Trained by two processes or threads, which changes nothing of the trees."""
    return _with_parameters(specimen, n_jobs=2)


@_relation("votes out of the bag", both_ways=False)
def _votes(specimen: Specimen) -> Specimen | None:
    """With the votes for each row in the file, which only adds to it."""
    return _with_parameters(specimen, oob_score=True) if _bootstraps(specimen.estimator) else None


@_relation("weights of one", frozenset({"verdict", "perfect"}), retrained=True)
def _weights(specimen: Specimen) -> Specimen:
    """Trained with weights of 1, which scikit-learn 1.9 draws by: with bootstrap, other rows are drawn."""
    return replace(specimen, sample_weight=np.ones(len(specimen.frame)))


# What is granted to the attack.


@_relation("yes or no declared as 0 to 9", VERDICT)
def _declared_wider(specimen: Specimen) -> Specimen | None:
    """A domain file with values that never occur. No promise but the verdict: errors are shares of the wider range."""
    columns = specimen.columns("binary")
    return _declaring(specimen, {name: {"kind": "ordinal", "low": 0, "high": 9} for name in columns})


@_relation("yes or no declared as -1 to 1", VERDICT)
def _declared_signed(specimen: Specimen) -> Specimen | None:
    """As before, by a domain file that is wider at the other end."""
    columns = specimen.columns("binary")
    return _declaring(specimen, {name: {"kind": "ordinal", "low": -1, "high": 1} for name in columns})


@_relation("yes or no declared as numeric", VERDICT)
def _declared_numeric(specimen: Specimen) -> Specimen | None:
    """A domain file with any number from 0 to 1. No promise but the verdict, as before."""
    columns = specimen.columns("binary")
    return _declaring(specimen, {name: {"kind": "numeric", "low": 0, "high": 1} for name in columns})


@_relation("codes declared wider", VERDICT)
def _codes_wider(specimen: Specimen) -> Specimen | None:
    """Ordinal columns with ten more values at both ends. No promise but the verdict, as before."""
    declared = {}
    for name in specimen.columns("ordinal"):
        values = specimen.frame[name]
        declared[name] = {"kind": "ordinal", "low": int(values.min()) - 10, "high": int(values.max()) + 10}
    return _declaring(specimen, declared)


@_relation("numbers declared ten times as wide", VERDICT)
def _numbers_wider(specimen: Specimen) -> Specimen | None:
    """Numeric columns with ten times their range. No promise but the verdict, as before."""
    declared = {}
    for name in specimen.columns("numeric"):
        low, high = float(specimen.frame[name].min()), float(specimen.frame[name].max())
        declared[name] = {"kind": "numeric", "low": low - 5 * (high - low), "high": high + 4 * (high - low)}
    return _declaring(specimen, declared)


@_relation("one-hot columns declared one by one", VERDICT)
def _declared_apart(specimen: Specimen) -> Specimen | None:
    """A domain file that does not tell which columns exclude each other. No promise but the verdict, as before."""
    if not specimen.groups:
        return None
    return _declaring(specimen, {name: {"kind": "binary"} for name in specimen.columns("one-hot")}, grouped=False)


def _attacked_by(adversary: str) -> Rewrite:
    """Return the rewriting of who attacks."""

    def rewrite(specimen: Specimen) -> Specimen | None:
        # An informed adversary is not covered on numeric columns, and says so.
        if "informed" in adversary and specimen.columns("numeric"):
            return None
        return replace(specimen, adversary=adversary)

    return rewrite


for _weaker, _stronger in (
    ("published", "artifact"),
    ("artifact", "artifact+rows:25%"),
    ("artifact+rows:10%", "artifact+rows:30%"),
    ("artifact", "artifact+columns:1"),
    ("artifact", "artifact+informed"),
):
    # What an adversary knows is not measured, so that figures and rules on numbers of rows are about fewer rows.
    _relation(f"from {_weaker} to {_stronger}", VERDICT, before=_attacked_by(_weaker))(_attacked_by(_stronger))


@_relation("a longer time box", both_ways=False)
def _longer(specimen: Specimen) -> Specimen:
    """Three times the effort."""
    return replace(specimen, effort=3 * specimen.effort, seconds=3 * specimen.seconds)


@_relation("another seed of the attack", frozenset({"verdict", "certain"}))
def _other_seed(specimen: Specimen) -> Specimen:
    """Other draws of the search and the baselines. No promise on the error nor on perfect rows: where several datasets
    explain the file, the guess among them is drawn (a single tree: 31 of 60 rows were perfect, then 23).
    """
    return replace(specimen, seed=specimen.seed + 1)


# What the relations are made of.


def _changed(specimen: Specimen, columns: Mapping[str, NDArray[Any]]) -> Specimen | None:
    """Return the specimen with other values in some columns, among strangers too; None without a column."""
    if not columns:
        return None
    return replace(specimen, frame=specimen.frame.assign(**{name: pd.Series(v) for name, v in columns.items()}))


def _dummies(specimen: Specimen, columns: list[str], *, drop_first: bool) -> Specimen:
    """Return the specimen with some columns as one-hot groups."""
    frame, groups = specimen.frame, dict(specimen.groups)
    roles: dict[str, Role] = {name: role for name, role in specimen.roles.items() if name not in columns}
    for column in columns:
        made = pd.get_dummies(frame[column], prefix=column, dtype=np.int64, drop_first=drop_first)
        frame = pd.concat([frame.drop(columns=column), made], axis=1)
        groups[column] = tuple(made.columns)
        roles.update(dict.fromkeys(made.columns, "one-hot"))
    return replace(specimen, frame=frame, roles=roles, groups=groups)


def _named(specimen: Specimen, names: list[str]) -> Specimen:
    """Return the specimen with other names of its columns."""
    new = dict(zip(specimen.frame.columns, names, strict=True))
    return replace(
        specimen,
        frame=specimen.frame.rename(columns=new),
        strangers=specimen.strangers.rename(columns=new),
        roles={new[name]: role for name, role in specimen.roles.items()},
        groups={group: tuple(new[name] for name in columns) for group, columns in specimen.groups.items()},
    )


def _with_column(specimen: Specimen, name: str, values: NDArray[Any], role: Role) -> Specimen:
    """Return the specimen with one more column, the last."""
    return replace(specimen, frame=specimen.frame.assign(**{name: values}), roles={**specimen.roles, name: role})


def _labelled(specimen: Specimen, recode: Callable[[NDArray[Any]], NDArray[Any]]) -> Specimen | None:
    """Return the specimen with other labels; None for a regressor."""
    return None if is_regressor(specimen.estimator) else replace(specimen, labels=recode(specimen.labels))


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


def _declaring(
    specimen: Specimen, attributes: Mapping[str, Mapping[str, object]], *, grouped: bool = True
) -> Specimen | None:
    """Return the specimen with a domain file that declares some attributes; None without one."""
    return declaring(specimen, attributes, grouped=grouped) if attributes else None


def declaring(specimen: Specimen, attributes: Mapping[str, Mapping[str, object]], *, grouped: bool = True) -> Specimen:
    """Return the specimen with a domain file: some attributes as given, the others as they occur.

    Parameters
    ----------
    specimen : Specimen
    attributes : mapping of str to mapping
        As in a domain file.
    grouped : bool
        Whether one-hot groups are declared as such; else `attributes` hold their columns.
    """
    entries: dict[str, Mapping[str, Any]] = dict(attributes)
    if grouped:
        entries |= {name: {"kind": "one-hot", "columns": list(of)} for name, of in specimen.groups.items()}
    for name in specimen.columns("binary", "ordinal", "numeric"):
        role, values = specimen.roles[name], specimen.frame[name]
        if role == "numeric":
            values = values.astype(np.float32)  # in which rows are held
        bounds = {} if role == "binary" else {"low": values.min().item(), "high": values.max().item()}
        entries.setdefault(name, {"kind": role, **bounds})
    position = {name: index for index, name in enumerate(specimen.frame.columns)}

    def first(name: str) -> int:  # a seed draws known attributes by their order
        return min(position[column] for column in entries[name].get("columns", [name]))

    in_order = sorted(entries, key=first)
    return replace(specimen, domain="\n".join(_entry(name, entries[name]) for name in in_order))


def _entry(name: str, entry: Mapping[str, object]) -> str:
    """Return one attribute of a domain file."""
    lines = [f'[attributes."{name}"]']
    for key, value in entry.items():
        shown = str(value).replace("'", '"') if isinstance(value, (list, float, int)) else f'"{value}"'
        lines.append(f"{key} = {shown}")
    return "\n".join(lines) + "\n"


def _draws_thresholds(estimator: Any) -> bool:
    """Return whether an estimator draws thresholds between the extremes of a node."""
    return "ExtraTree" in type(estimator).__name__


def _bootstraps(estimator: Any) -> bool:
    """Return whether an estimator draws rows."""
    return bool(getattr(estimator, "bootstrap", False))
