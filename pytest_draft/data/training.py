"""Training data: matches a table with a model and returns frozen `TrainingData` with a redacting repr."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pytest_draft.arrays import AnyArray, FloatArray, IntArray, Rows
from pytest_draft.artifact.encoder import Encoder
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.missing import require_missing_covered
from pytest_draft.artifact.origin import ORIGINAL, Origin
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.data.decoding import encoded_names
from pytest_draft.data.encoding import encode
from pytest_draft.data.files import IN_MEMORY, parsed, place_of
from pytest_draft.data.labels import class_indices, target_numbers
from pytest_draft.data.origin import seen_by
from pytest_draft.data.tables import Table, is_index, lacking, matched, plain, require_distinct
from pytest_draft.errors import DataError, LabelError, nearest_of, one_line

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too

_DECIMAL_COMMA = r"\s*[+-]?\d+,\d+\s*"
_NUMBERS = (bool, int, float, Decimal, np.bool_, np.integer, np.floating)
Model = Forest | RuleList

_MOST_NOTES = 20


@dataclass(frozen=True, eq=False, repr=False)
class TrainingData:
    """The rows and labels that a model was trained on, as trees see them.

    Raises
    ------
    DataError
        Where the arrays' types or shapes do not fit together, or there is no row.
    """

    rows: NDArray[np.float32]
    """Shape (n_rows, n_columns). Encoded features in the model's column order. Missing values are NaN; none is
    infinite.
    """
    labels: IntArray
    """Shape (n_rows,). Indices into the model's classes; all 0 for a regressor's."""
    columns: tuple[str, ...]
    """Length n_columns. Names in the model's order."""
    sha256: str | None
    """Of exactly the bytes of the file that were read; None for in-memory data."""
    source: str
    """The path as given, or ``given in memory``."""
    unused: tuple[str, ...] = ()
    """Columns of the table that are neither features nor the target."""
    by_encoder: bool = False
    """Whether the file's own transformers made the rows of a raw table."""
    targets: FloatArray | None = None
    """Shape (n_rows,). A regressor's, to compare with what its file tells of them; None where the table has none."""
    gaps: Mapping[str, str] = field(default_factory=dict)
    """How many cells of a column were taken as missing by what stands in them, in words."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """The file's names of columns that have others in the table, which differ in signs and case alone, by these."""

    def __post_init__(self) -> None:
        for name, array, dtype, ndim in (
            ("rows", self.rows, np.float32, 2),
            ("labels", self.labels, np.int64, 1),
        ):
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != ndim:
                raise DataError(f"training data: {name} must be a {ndim}-D array of {np.dtype(dtype)}")
        where = place_of(self.source)
        if len(self.rows) != len(self.labels):
            raise DataError(f"{where}: {len(self.rows)} rows but {len(self.labels)} labels")
        if self.rows.shape[1] != len(self.columns):
            raise DataError(f"{where}: {self.rows.shape[1]} columns of rows but {len(self.columns)} column names")
        if not len(self.rows):
            raise DataError(f"{where}: no rows; give the rows that the model was trained on")
        if (self.labels < 0).any():
            raise DataError(f"{where}: labels must be indices into the model's classes, from 0")
        if np.isinf(self.rows).any():
            raise DataError(f"{where}: rows must not hold infinite values")
        if self.targets is not None and self.targets.shape != self.labels.shape:
            raise DataError(f"{where}: {len(self.rows)} rows but targets of shape {self.targets.shape}")

    def __repr__(self) -> str:
        sha256 = "" if self.sha256 is None else f", sha256 {one_line(self.sha256, 15)}"
        return (
            f"TrainingData({self.n_rows} rows, {self.n_columns} columns, "
            f"{one_line(self.source)}{sha256}, values not shown)"
        )

    @property
    def notes(self) -> list[str]:
        """What was read otherwise than it is written."""
        taken = [f"column {one_line(table)!r} taken for {one_line(own)!r}" for table, own in self.renamed.items()]
        gaps = [f"column {one_line(name)!r} holds {cells}: taken as missing" for name, cells in self.gaps.items()]
        return [*taken[:_MOST_NOTES], *gaps[:_MOST_NOTES]]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def n_columns(self) -> int:
        """Number of encoded columns."""
        return len(self.columns)


def training_data(
    table: object,
    model: Model,
    target: str | None = None,
    encoder: Encoder | None = None,
    origin: Origin = ORIGINAL,
) -> TrainingData:
    """Return a table's rows and labels as a model sees them.

    The label column is `target`. Without it: array ``y`` of an ``.npz`` file, or the only column that is
    not among the model's feature names. Features are matched by name where the model and the table both
    have names, else by position. Labels are matched to the model's classes by value, whatever their type:
    0, 0.0, False and "0" are the same label. A regressor's targets may be missing.

    Where a rule list's file does not name all columns, they are all of the table's but the label's, which `target`
    must name then.

    Where transformers stand before the forest, the table is raw when it has the columns that they take, by name or else
    by number, and is encoded as they do; else it must be encoded already.

    Parameters
    ----------
    table : Table, pandas.DataFrame, tuple (X, y) or TrainingData
        X is a data frame or an array-like of shape (n_rows, n_columns), y an array-like of shape (n_rows,).
        `TrainingData` that fit the model are returned as they are.
    target : str or None
        Name of the label column, or of an ``.npz`` file's label array. Not used for a tuple.
    encoder : Encoder or None
        The file's, from `Artifact.encoder`.
    origin : Origin
        How the model's rows and labels follow from the table's, from `Artifact.origin`.

    Raises
    ------
    DataError
        Where the label column or a feature is not found, a feature holds text or infinite values, or missing ones
        (in a CSV also empty cells, NA, None, null and NaN) that the model cannot have been trained on, or rows have
        no label or one that the model does not know, or a rule list tests values otherwise than the rows hold them.
        The message never shows a value of a row.
    NotCoveredError
        Where missing values are not counted as they are split: see `require_missing_covered`.
    """
    return _rows_of_model(whole_data(table, model, target, encoder, origin), origin, model)


def whole_data(
    table: object,
    model: Model,
    target: str | None = None,
    encoder: Encoder | None = None,
    origin: Origin = ORIGINAL,
) -> TrainingData:
    """Return all rows of a table as a model of a file sees them, with labels among the classes of the whole file.

    Parameters
    ----------
    table, model, target, encoder, origin
        As in `training_data`; the model need not have seen all rows.
    """
    if isinstance(table, TrainingData):
        _require_fit(table, model)
        return table
    if isinstance(table, tuple) and len(table) == 2:
        target = None
    table = as_table(table)
    where = place_of(table.source)
    if not len(table.frame):
        raise DataError(f"{where}: no rows; give the rows that the model was trained on")
    require_distinct(table.frame, where)
    raw = None if encoder is None else _raw_selected(table, model, target, encoder)
    if encoder is not None and raw is not None:
        at, label_position = raw
        positions, names = [at[source] for source in encoder.sources], model.feature_names or encoded_names(encoder)
        rows = encode(encoder, {s: table.column(position, encoder.known(s)) for s, position in at.items()}, where)
        taken = {encoder.name(s): (position, encoder.known(s)) for s, position in at.items()}
    else:
        positions, label_position, names = _selected(table, model, target)
        rows = encoded_columns(table.frame, positions, names, where)
        taken = {name: (position, ()) for name, position in zip(names, positions, strict=True)}
    gaps = {name: cells for name, (position, known) in taken.items() if (cells := table.gaps(position, known))}
    written = {table.names[position]: name for name, (position, _) in taken.items()}
    renamed = {column: name for column, name in written.items() if column != name and plain(column) == plain(name)}
    if isinstance(model, RuleList):
        _require_missing_covered(rows, np.zeros(len(rows), dtype=np.int64), names, model, where, gaps)
        tests = model.resolved(names)
        _require_seen_alike(tests, rows, [table.frame.iloc[:, positions[column]] for column in tests.tested], where)
    indices, targets = np.zeros(len(rows), dtype=np.int64), None
    labels: pd.Series[Any] | AnyArray
    if model.classes is None:
        apart = (table.targets or {}).get(target or "y")
        if label_position is not None:
            targets = target_numbers(table.column(label_position), len(rows))
        elif apart is not None:
            targets = target_numbers(apart, len(rows))
    else:
        classes = model.classes if origin.classes is None else origin.classes
        labels = _label_array(table, target) if label_position is None else table.column(label_position, classes)
        indices = class_indices(labels, classes, _word(model), len(rows), where)
    rows.flags.writeable = indices.flags.writeable = False
    used = {label_position, *positions}
    unused = tuple(str(column) for position, column in enumerate(table.frame.columns) if position not in used)
    of_file = (names, table.sha256, table.source, unused, raw is not None)
    return TrainingData(rows, indices, *of_file, targets, gaps, renamed)


def raw_rows(table: Table, model: Model, target: str | None, encoder: Encoder) -> Rows:
    """Return what transformers make of all rows of a raw table, also of those that the model was not trained on.

    Raises
    ------
    DataError
        Where they cannot take it.
    """
    raw = _raw_selected(table, model, target, encoder)
    if raw is None:
        raise DataError(f"{place_of(table.source)}: the table is encoded already")
    columns = {source: table.column(position, encoder.known(source)) for source, position in raw[0].items()}
    return encode(encoder, columns, place_of(table.source), refuse=False)


def _rows_of_model(data: TrainingData, origin: Origin, model: Model) -> TrainingData:
    """Return the rows and labels that a model was trained on, of those of the whole file (`whole_data`)."""
    where = place_of(data.source)
    if origin != ORIGINAL:
        chosen, labels = seen_by(origin, data.labels, model.classes)
        rows = data.rows if len(chosen) == data.n_rows else data.rows[chosen]
        rows.flags.writeable = labels.flags.writeable = False
        targets = None if data.targets is None else data.targets[chosen]
        data = replace(data, rows=rows, labels=labels, targets=targets)
    if int(data.labels.max()) >= model.n_classes:
        raise DataError(f"{where}: a label is not an index into the {_word(model)}'s {model.n_classes} classes")
    _require_missing_covered(data.rows, data.labels, data.columns, model, where, data.gaps)
    return data


def as_table(table: object, source: str = IN_MEMORY) -> Table:
    """Return in-memory data as a table."""
    if isinstance(table, Table):
        return table
    if isinstance(table, pd.DataFrame):
        return Table(table, None, source)
    where = place_of(source)
    if not (isinstance(table, tuple) and len(table) == 2):
        raise DataError(
            f"{where}: a {one_line(type(table).__name__)} is not a table; "
            "give a pandas DataFrame, a tuple (X, y) or TrainingData"
        )
    features, labels = table
    if not isinstance(features, pd.DataFrame):
        array = parsed(lambda: np.asarray(features), where, lambda _: "X cannot be made an array")
        if array.ndim != 2:
            raise DataError(f"{where}: X has {array.ndim} dimensions; it must have 2, rows by columns")
        features = parsed(lambda: pd.DataFrame(array), where, lambda _: "X cannot be made a table")
    if isinstance(labels, pd.Series):
        labels = labels.to_numpy(dtype=object)
    elif not isinstance(labels, np.ndarray):
        labels = parsed(lambda: np.asarray(labels), where, lambda _: "y cannot be made an array")
    return Table(features, None, source, {"y": labels})


def labels_of(table: Table, model: Model, target: str | None = None, encoder: Encoder | None = None) -> Any:
    """Return the labels as a table has them, whether or not its other columns are the model's.

    Returns
    -------
    pandas.Series, ndarray or None
        A column, by its name, or an array of their own, of shape (n_rows,); None where a regressor's are not needed.
    """
    if table.targets is not None and (target or "y") in table.targets:
        return _label_array(table, target)
    inputs = (model.feature_names, model.n_features) if encoder is None else (encoder.names, encoder.n_inputs)
    position = _label_position(table, matched(table.names, inputs[0] or (), target), model, target, inputs)
    return None if position is None else table.column(position, model.classes or ())


def _word(model: Model) -> str:
    return "rule list" if isinstance(model, RuleList) else "forest"


def _require_fit(data: TrainingData, model: Model) -> None:
    """Refuse training data that were made for another model."""
    where = place_of(data.source)
    if model.n_features not in (None, data.n_columns):
        raise DataError(f"{where}: {data.n_columns} columns, but the {_word(model)} takes {model.n_features}")
    if isinstance(model, RuleList):
        _require_missing_covered(data.rows, data.labels, data.columns, model, where, data.gaps)
        _require_tested(model, data.columns, where)


def _require_missing_covered(
    rows: NDArray[np.float32],
    labels: IntArray,
    names: tuple[str, ...],
    model: Model,
    where: str,
    gaps: Mapping[str, str],
) -> None:
    """Refuse missing values that the model cannot have seen, or whose counts say nothing, by the first column."""
    missing = np.isnan(rows).sum(axis=0)
    if missing.any():
        first = int(np.argmax(missing > 0))
        found = f"{where}: column {one_line(names[first])!r} has {int(missing[first])} missing values"
        found += f" ({gaps[names[first]]})" if names[first] in gaps else ""
        if isinstance(model, RuleList):
            raise DataError(f"{found}, which rule lists do not take; give the data as it was trained on")
        require_missing_covered(model, found, rows, labels)


def _require_tested(rules: RuleList, names: Sequence[str], where: str) -> None:
    """Refuse a table without a column that a rule tests."""
    try:
        rules.resolved(names)
    except DataError as error:
        problem = str(error)
    else:
        return
    raise DataError(f"{where}: {problem}; give the data encoded as the rule list was trained")


def _require_seen_alike(
    tests: RuleList, rows: NDArray[np.float32], columns: Sequence[pd.Series[Any]], where: str
) -> None:
    """Refuse rows that a rule list has not seen as they are here, by the first of the columns that it tests."""
    for position, column in zip(tests.tested, columns, strict=True):
        values = rows[:, position]
        found = f"{where}: column {one_line((tests.columns or ())[position])!r}"
        if tests.inputs == "binary":
            others = int(((values != 0) & (values != 1)).sum())
            if others:
                raise DataError(f"{found} has {others} values that are neither 0 nor 1; CORELS takes no others")
        if tests.inputs == "double":
            exact = column.astype(object).to_numpy(dtype=np.float64)
            literals = {one for rule in tests.rules for one in rule.literals if one.column == position}
            moved = np.zeros(len(rows), dtype=np.bool_)
            for literal in literals:
                moved |= literal.holds(values.astype(np.float64)) != literal.holds(exact)
            if moved.any():
                raise DataError(
                    f"{found} has {int(moved.sum())} values too close to where a rule splits: in single precision "
                    "(float32), they are on the other side; round them, and train again"
                )


def _selected(table: Table, model: Model, target: str | None) -> tuple[list[int], int | None, tuple[str, ...]]:
    """Return the features' positions in the model's order, the label column's, and the features' names.

    The label's position is None where the labels are an array of their own, or not needed.
    """
    where = place_of(table.source)
    columns = matched(table.names, model.feature_names or (), target)
    label = None
    if table.targets is None or (target or "y") not in table.targets:
        label = _label_position(table, columns, model, target, (model.feature_names, model.n_features))
    others = [position for position in range(len(columns)) if position != label]
    named = any(isinstance(table.frame.columns[position], str) for position in others)
    if named and model.feature_names is not None:
        position_of = {columns[position]: position for position in others}
        if set(model.feature_names).difference(position_of):
            lacks = lacking(columns, model.feature_names, target, f"of the {_word(model)}")
            raise DataError(f"{where}: {lacks}; give the data encoded as the {_word(model)} was trained")
        return [position_of[name] for name in model.feature_names], label, model.feature_names
    if model.n_features not in (None, len(others)):
        raise DataError(
            f"{where}: {len(others)} feature columns, but the {_word(model)} takes {model.n_features}; "
            f"give the data encoded as the {_word(model)} was trained"
        )
    if model.feature_names is not None:
        return others, label, model.feature_names
    names = tuple(columns[position] if named else f"x{index}" for index, position in enumerate(others))
    if isinstance(model, RuleList):
        _require_tested(model, names, where)
    return others, label, names


def _raw_selected(
    table: Table, model: Model, target: str | None, encoder: Encoder
) -> tuple[dict[int, int], int | None] | None:
    """Return the positions of the columns that transformers take, by theirs, and the label column's.

    None where the table is encoded already: its names are those of the encoded columns, or it has none. The label's
    position is None as in `_selected`.
    """
    needed = {encoder.name(source) for source in encoder.sources}
    columns = matched(table.names, needed, target)
    apart = table.targets is not None and (target or "y") in table.targets
    label_is_column = not apart and (target is not None or model.classes is not None)
    given = len(columns) - label_is_column
    by_name = encoder.names is not None and any(isinstance(column, str) for column in table.frame.columns)
    if needed.difference(columns) if by_name else given != encoder.n_inputs:
        others = [name for name in columns if name != target]
        as_many = given == model.n_features and (not by_name or _names_encoded(others, encoder))
        if as_many or (model.feature_names and not set(model.feature_names).difference(table.names)):
            return None
        lacks = f"the file's transformers take {encoder.n_inputs} columns, and the table has {given}"
        if by_name:
            wanted = [encoder.name(source) for source in encoder.sources]
            lacks = lacking(columns, wanted, target, "that the file's transformers take")
        raise DataError(
            f"{place_of(table.source)}: {lacks}; give the raw table, or the {model.n_features} columns that they make "
            "of it, numbered or named by get_feature_names_out()"
        )
    features = encoder.names and tuple(name for name in encoder.names if name in needed or name != target)
    label = None if apart else _label_position(table, columns, model, target, (features, encoder.n_inputs))
    if not by_name:
        return dict(enumerate(position for position in range(len(columns)) if position != label)), label
    position_of = {name: position for position, name in enumerate(columns) if position != label}
    names = enumerate(encoder.names or ())
    return {source: position_of[name] for source, name in names if name in position_of}, label


def _names_encoded(names: Sequence[str], encoder: Encoder) -> bool:
    """Return whether names are those of encoded columns, each of which has a raw one's in it; or numbers, so none."""
    numbers = [re.fullmatch(r"\D*(\d{1,9})", name) for name in names]
    if all(numbers) and [int(match[1]) for match in numbers if match] in (
        [*range(first, first + len(names))] for first in (0, 1)
    ):
        return True
    return len(names) == len(encoder.columns) and all(
        any(plain(encoder.name(source)) in plain(name) for source in column.sources)
        for name, column in zip(names, encoder.columns, strict=True)
    )


def _label_position(
    table: Table,
    columns: list[str],
    model: Model,
    target: str | None,
    inputs: tuple[tuple[str, ...] | None, int | None],
) -> int | None:
    """Return the position of the label column; None where a regressor's features are known without it.

    The inputs are the features' names, where they have some, and their number.
    """
    where = place_of(table.source)
    features, n_features = inputs
    others = [position for position, name in enumerate(columns) if name not in (features or ())]
    named = [position for position in others if not is_index(columns[position])]
    is_alone = len(columns) == n_features if features is None else not named and set(features) <= set(columns)
    if is_alone and table.targets is None and target not in columns and (target is not None or model.classes):
        raise LabelError(
            f"{where}: all of the model's columns are there, but no labels: add the labels as a column, or give their "
            "file with --draft-target y_train.csv"
        )
    if target is not None:
        if target not in columns:
            what = "column" if table.targets is None else "array or column"
            nearest = nearest_of(target, [*columns, *(table.targets or ())])
            raise LabelError(
                f"{where}: no {what} {one_line(target)!r}; name the label column with --draft-target{nearest}"
            )
        if features is not None and target in features:
            raise LabelError(
                f"{where}: column {one_line(target)!r} is one of the {_word(model)}'s features; "
                "name the label column with --draft-target"
            )
        return columns.index(target)
    if features is not None and len(named) == 1:
        return named[0]
    if model.classes is None and (features is not None or len(columns) == n_features):
        return None
    if table.targets is not None:
        raise LabelError(f"{where}: no array 'y'; name the array of labels with --draft-target")
    lacks = "does not name all features" if isinstance(model, RuleList) else "has no feature names"
    reason = f"the {_word(model)} {lacks}" if features is None else f"{len(others)} columns are not features"
    raise LabelError(f"{where}: which column holds the labels is not clear ({reason}); name it with --draft-target")


def _label_array(table: Table, target: str | None) -> AnyArray:
    """Return the labels that are an array of their own."""
    where = place_of(table.source)
    name = target or "y"
    array = (table.targets or {})[name]
    if array is None:
        raise LabelError(
            f"{where}: array {one_line(name)!r} holds Python objects, which are not read; "
            "save it as numbers or with .astype(str)"
        )
    return array


def encoded_columns(frame: pd.DataFrame, positions: Sequence[int], names: Sequence[str], where: str) -> Rows:
    """Return feature columns as scikit-learn's trees see them."""
    rows = np.empty((len(frame), len(positions)), dtype=np.float32)
    for index, (position, name) in enumerate(zip(positions, names, strict=True)):
        rows[:, index] = _encoded(frame.iloc[:, position], f"{where}: column {one_line(name)!r}")
    return rows


def _encoded(column: pd.Series[Any], where: str) -> NDArray[np.float32]:
    """Return a feature column as scikit-learn's trees see it, shape (n_rows,)."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    kind = getattr(column.dtype, "kind", "O")
    if column.dtype == object:
        numeric = all(isinstance(value, _NUMBERS) for value in column[column.notna()])
    else:
        numeric = bool(pd.api.types.is_numeric_dtype(column.dtype)) and kind != "c"
    if not numeric:
        holds = {"M": "dates", "m": "times", "c": "complex numbers"}.get(kind)
        give = "the data encoded as the model was trained"
        if holds is None:
            texts = column[pd.to_numeric(column, errors="coerce").isna() & column.notna()].astype(str)
            holds = f"text in {len(texts):,} of {len(column):,} cells"
            if texts.str.fullmatch(_DECIMAL_COMMA).all():
                holds, give = f"decimal commas in {len(texts):,} of {len(column):,} cells", "numbers with points"
        raise DataError(f"{where} holds {holds}; give {give}")
    if isinstance(column.dtype, np.dtype) and kind in "biuf":
        values = column.to_numpy(dtype=np.float64)
    else:
        present = column.notna().to_numpy(dtype=np.bool_)
        values = np.full(len(column), np.nan)
        values[present] = parsed(
            lambda: column[present].to_numpy(dtype=np.float64),
            where,
            lambda _: "values are too large for float32",
        )
    with np.errstate(over="ignore"):
        result = values.astype(np.float32)
    infinite = int(np.isinf(result).sum())
    if infinite:
        raise DataError(f"{where} has {infinite} values that are infinite or too large for float32; give finite values")
    return result
