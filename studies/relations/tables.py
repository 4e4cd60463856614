"""Relations of tables: in goes a specimen, out comes one whose table is coded or written otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_regressor

from studies.relations.relation import RETRAINED, VERDICT, Rewrite, relation
from studies.specimens import Role, Specimen

# How columns are coded.


def _two_values(low: float, high: float) -> Rewrite:
    """Return the rewriting of all columns of zeros and ones with two other values."""

    def rewrite(specimen: Specimen) -> Specimen | None:
        columns = specimen.columns("binary", "one-hot")
        values = np.array([low, high])
        return _changed(specimen, {name: values[specimen.frame[name].to_numpy()] for name in columns})

    return rewrite


for _low, _high in ((-1, 1), (1, 3), (0, 30), (0.5, 2.25)):
    relation(f"two values {_low:g} and {_high:g}")(_two_values(_low, _high))


@relation("one group with -1 and 1")
def _one_group(specimen: Specimen) -> Specimen | None:
    """Only the columns of one one-hot group have other values than zeros and ones."""
    columns = next(iter(specimen.groups.values()), ())
    return _changed(specimen, {name: 2 * specimen.frame[name].to_numpy() - 1 for name in columns})


@relation("ordinal codes seven apart")
def _seven_apart(specimen: Specimen) -> Specimen | None:
    """Codes with even gaps: all distances are the same shares of the range."""
    columns = specimen.columns("ordinal")
    return _changed(specimen, {name: 7 * specimen.frame[name].to_numpy() - 3 for name in columns})


@relation("ordinal codes with uneven gaps", frozenset({"verdict", "rules", "perfect", "certain"}))
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


@relation("ordinal codes without gaps", frozenset({"verdict", "rules", "perfect", "certain"}))
def _without_gaps(specimen: Specimen) -> Specimen | None:
    """Codes 0, 1, 2 and so on; as for uneven gaps, not of drawn thresholds, and no promise on the error."""
    if _draws_thresholds(specimen.estimator):
        return None
    changed = {}
    for name in specimen.columns("ordinal"):
        _, changed[name] = np.unique(specimen.frame[name].to_numpy(), return_inverse=True)
    return _changed(specimen, changed)


@relation("numeric columns in quarters")
def _quarters(specimen: Specimen) -> Specimen | None:
    """Four times the values, which float32 holds as exactly."""
    columns = specimen.columns("numeric")
    return _changed(specimen, {name: 4 * specimen.frame[name].to_numpy() for name in columns})


@relation("numeric columns in another unit", frozenset({"verdict", "perfect", "certain"}))
def _unit(specimen: Specimen) -> Specimen | None:
    """As from degrees Celsius to Fahrenheit. No promise on the error: values have other decimals, by which they are
    searched for, and one more or fewer is found.
    """
    columns = specimen.columns("numeric")
    return _changed(specimen, {name: 1.8 * specimen.frame[name].to_numpy() + 32 for name in columns})


@relation("one-hot groups as codes", RETRAINED)
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


@relation("codes as one-hot groups", RETRAINED)
def _as_groups(specimen: Specimen) -> Specimen | None:
    """Each ordinal column as a one-hot group."""
    ordinals = specimen.columns("ordinal")
    return _dummies(specimen, ordinals, drop_first=False) if ordinals else None


@relation("one-hot groups without their first level", RETRAINED)
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


@relation("columns trained in another order", RETRAINED)
def _permuted(specimen: Specimen) -> Specimen:
    """The forest is trained on permuted columns, and so draws others."""
    order = np.random.default_rng(1).permutation(specimen.frame.shape[1])
    return replace(specimen, frame=specimen.frame.iloc[:, order])


@relation("columns given in another order")
def _reversed_columns(specimen: Specimen) -> Specimen:
    """The training data are given with their columns in the opposite order, under their names."""
    return replace(specimen, reversed_columns=True)


@relation("columns renamed without prefixes")
def _renamed(specimen: Specimen) -> Specimen:
    """Names from which nobody can tell what belongs together."""
    words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet", "kilo"]
    names = [words[i] if i < len(words) else "x" * (i + 1) for i in range(specimen.frame.shape[1])]
    return _named(specimen, names)


@relation("columns renamed with one prefix")
def _one_prefix(specimen: Specimen) -> Specimen:
    """Names by which all seem to belong together."""
    return _named(specimen, [f"column_{i}" for i in range(specimen.frame.shape[1])])


@relation("narrow dtypes")
def _narrow(specimen: Specimen) -> Specimen:
    """Booleans, bytes and single precision, in which trees compare anyway."""
    dtypes = {"binary": bool, "one-hot": bool, "ordinal": np.int8, "numeric": np.float32}
    return replace(specimen, frame=specimen.frame.astype({n: dtypes[role] for n, role in specimen.roles.items()}))


@relation("double precision")
def _wide(specimen: Specimen) -> Specimen:
    """All columns as float64."""
    return replace(specimen, frame=specimen.frame.astype(np.float64))


def _given_as(how: str) -> Rewrite:
    """Return the rewriting of how training data are given."""

    def rewrite(specimen: Specimen) -> Specimen:
        return replace(specimen, given=how)

    return rewrite


for _how in ("arrays", ".csv", ".parquet", ".npz"):
    relation(f"data given as {_how.removeprefix('.')}")(_given_as(_how))


@relation("a constant column", RETRAINED)
def _constant(specimen: Specimen) -> Specimen:
    """A column that is 1 in every row; trees draw it, too, and cannot split by it."""
    return _with_column(specimen, "constant", np.ones(len(specimen.frame), dtype=np.int64), "binary")


@relation("a constant column of another value", RETRAINED)
def _other_constant(specimen: Specimen) -> Specimen:
    """A column that is 17.5 in every row."""
    return _with_column(specimen, "constant", np.full(len(specimen.frame), 17.5), "numeric")


@relation("a duplicated column", VERDICT)
def _duplicated(specimen: Specimen) -> Specimen:
    """Another column with the values of the last. No promise on rows: a tree draws it, too, and splits by one of them,
    and of a rare value chance may explain the copy.
    """
    last = specimen.frame.columns[-1]
    role: Role = "binary" if specimen.roles[last] == "one-hot" else specimen.roles[last]
    return _with_column(specimen, "again", specimen.frame[last].to_numpy(), role)


def _written_times(times: int) -> Rewrite:
    """Return the rewriting of each column so many times."""

    def rewrite(specimen: Specimen) -> Specimen:
        again = specimen
        for time in range(2, times + 1):
            for name in specimen.frame.columns:
                role: Role = "binary" if specimen.roles[name] == "one-hot" else specimen.roles[name]
                again = _with_column(again, f"{name} {time}", specimen.frame[name].to_numpy(), role)
        return again

    return rewrite


relation("each column twice", RETRAINED)(_written_times(2))
relation("each column six times", RETRAINED)(_written_times(6))


@relation("a negated copy of a column", RETRAINED)
def _negated_copy(specimen: Specimen) -> Specimen:
    """The first column once more, with each value's sign changed."""
    first = specimen.frame.columns[0]
    role: Role = "binary" if specimen.roles[first] == "one-hot" else specimen.roles[first]
    return _with_column(specimen, "negated", -specimen.frame[first].to_numpy(), role)


@relation("a scaled copy of a numeric column", RETRAINED)
def _scaled_copy(specimen: Specimen) -> Specimen | None:
    """The first numeric column once more, on another scale."""
    columns = specimen.columns("numeric")
    return (
        _with_column(specimen, "scaled", 1.8 * specimen.frame[columns[0]].to_numpy() + 32, "numeric")
        if columns
        else None
    )


@relation("a copy in shuffled codes", VERDICT)
def _shuffled_copy(specimen: Specimen) -> Specimen | None:
    """The first ordinal column once more, with its codes permuted. No promise on rows: tests of it are no tests of the
    other column, so that both are rebuilt.
    """
    columns = specimen.columns("ordinal")
    if not columns:
        return None
    codes, place = np.unique(specimen.frame[columns[0]].to_numpy(), return_inverse=True)
    return _with_column(specimen, "shuffled", np.random.default_rng(5).permutation(codes)[place], "ordinal")


@relation("a coarser copy of a column", RETRAINED)
def _binned(specimen: Specimen) -> Specimen | None:
    """Whether an ordinal or a numeric column is above its median, beside the column."""
    columns = specimen.columns("ordinal", "numeric")
    if not columns:
        return None
    values = specimen.frame[columns[0]].to_numpy()
    return _with_column(specimen, "above", (values > np.median(values)).astype(np.int64), "binary")


@relation("labels as text")
def _text_labels(specimen: Specimen) -> Specimen | None:
    """Classes with names, in the same order."""
    return _labelled(specimen, lambda labels: np.array([f"class {label}" for label in labels], dtype=object))


@relation("labels in the opposite order")
def _opposite_labels(specimen: Specimen) -> Specimen | None:
    """Each class has the code of another."""
    return _labelled(specimen, lambda labels: labels.max() - labels)


@relation("labels as other numbers")
def _other_labels(specimen: Specimen) -> Specimen | None:
    """Classes as whole floats with gaps."""
    return _labelled(specimen, lambda labels: 10.0 * labels - 1)


@relation("rows in another order, where it is not used")
def _rows_permuted(specimen: Specimen) -> Specimen | None:
    """The same rows, trained and given in another order, by models without bootstrap."""
    if specimen.bootstraps:
        return None
    order = np.random.default_rng(2).permutation(len(specimen.frame))
    return replace(specimen, frame=specimen.frame.iloc[order].reset_index(drop=True), labels=specimen.labels[order])


@relation("rows given in another order", VERDICT)
def _given_permuted(specimen: Specimen) -> Specimen:
    """The training data are given in another order than that of training. No promise but the verdict: where the order
    is used, rows can no longer be compared one by one.
    """
    return replace(specimen, order=np.random.default_rng(3).permutation(len(specimen.frame)))


# What these relations are made of.


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


def _draws_thresholds(estimator: Any) -> bool:
    """Return whether an estimator draws thresholds between the extremes of a node."""
    return "ExtraTree" in type(estimator).__name__
