"""The owner's training data: in goes a table, out comes a frozen `TrainingData` with a redacting repr.

No message, repr or chained exception of this module carries a value of a row. What pandas, pyarrow and
NumPy say of a file that they cannot parse may quote the file, so it is never passed on, and the new error is
raised outside the ``except`` block: ``from None`` alone would leave the old one in ``__context__``. pytest
prints arguments and locals in tracebacks, so it is asked to leave out this module's frames.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import stat
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pytest_draft.artifact.forest import Forest
from pytest_draft.domain import Domain, declared
from pytest_draft.errors import DataError, NotCoveredError, one_line

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too

T = TypeVar("T")

_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
IN_MEMORY = "given in memory"
"""The source of data that were not read from a file."""

# Before 3.1 the default is a unit in the last place off for many numbers: they could change sides in a tree.
_EXACT: dict[str, Any] = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}
_FORMATS = "give .csv, .csv.gz, .parquet or .npz"
_PICKLES = (".pkl", ".pickle", ".joblib", ".dill", ".cloudpickle")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NUMBERS = (bool, int, float, Decimal, np.bool_, np.integer, np.floating)
_MAX_CLASSES_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table as it was read, before a forest says what its columns mean.

    Attributes
    ----------
    frame : pandas.DataFrame
        Its columns are numbered where the file has no names.
    sha256 : str or None
        Of exactly the bytes of the file that were read; None for in-memory data.
    source : str
        The path as given, or ``given in memory``.
    targets : mapping of str to ndarray or None, or None
        For ``.npz`` files: every array besides the features, by name; None in place of an array that holds
        Python objects, which are not read. None for other files: there the labels are a column of `frame`.
    """

    frame: pd.DataFrame
    sha256: str | None
    source: str
    targets: Mapping[str, NDArray[Any] | None] | None = None

    def __repr__(self) -> str:
        n_rows, n_columns = self.frame.shape
        return f"Table({n_rows} rows, {n_columns} columns, {one_line(self.source)}, values not shown)"


@dataclass(frozen=True, eq=False, repr=False)
class TrainingData:
    """The rows and labels that a forest was trained on, as its trees see them.

    Attributes
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
        Encoded features in the forest's column order. Missing values are NaN; none is infinite.
    labels : ndarray of int64, shape (n_rows,)
        Indices into the forest's classes.
    columns : tuple of str, length n_columns
        Names in the forest's order.
    sha256 : str or None
        Of exactly the bytes of the file that were read; None for in-memory data.
    source : str
        The path as given, or ``given in memory``.
    unused : tuple of str
        Columns of the table that are neither features nor the target.

    Raises
    ------
    DataError
        Where the arrays' types or shapes do not fit together, or there is no row.
    """

    rows: NDArray[np.float32]
    labels: NDArray[np.int64]
    columns: tuple[str, ...]
    sha256: str | None
    source: str
    unused: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, array, dtype, ndim in (
            ("rows", self.rows, np.float32, 2),
            ("labels", self.labels, np.int64, 1),
        ):
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != ndim:
                raise DataError(f"training data: {name} must be a {ndim}-D array of {np.dtype(dtype)}")
        where = _where(self.source)
        if len(self.rows) != len(self.labels):
            raise DataError(f"{where}: {len(self.rows)} rows but {len(self.labels)} labels")
        if self.rows.shape[1] != len(self.columns):
            raise DataError(f"{where}: {self.rows.shape[1]} columns of rows but {len(self.columns)} column names")
        if not len(self.rows):
            raise DataError(f"{where}: no rows; give the rows that the forest was trained on")
        if (self.labels < 0).any():
            raise DataError(f"{where}: labels must be indices into the forest's classes, from 0")
        if np.isinf(self.rows).any():
            raise DataError(f"{where}: rows must not hold infinite values")

    def __repr__(self) -> str:
        sha256 = "" if self.sha256 is None else f", sha256 {one_line(self.sha256, 15)}"
        return (
            f"TrainingData({self.n_rows} rows, {self.n_columns} columns, "
            f"{one_line(self.source)}{sha256}, values not shown)"
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def n_columns(self) -> int:
        """Number of encoded columns."""
        return len(self.columns)


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a table from a CSV, Parquet or NumPy file, which is opened once and hashed as parsed.

    Parameters
    ----------
    path : path-like
        A regular file, recognised by its suffix: ``.csv`` (comma, UTF-8, with a header line), ``.csv.gz``,
        ``.parquet``, or ``.npz`` with an array ``X`` of shape (n_rows, n_columns), optionally its names
        as a 1-D array ``columns`` or ``feature_names``, and the labels as an array of any other name.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        Where the file cannot be opened, is of another kind or cannot be parsed, its columns have no
        distinct names, or it holds no row. The message never quotes the file.
    """
    source = os.fspath(path)
    where = one_line(source)
    read = _reader(source)
    content = _content(source)
    frame, targets = read(content, where)
    if not len(frame):
        raise DataError(f"{where}: no rows; give the rows that the forest was trained on")
    _require_distinct(frame, where)
    return Table(frame, hashlib.sha256(content).hexdigest(), source, targets)


def training_data(table: object, forest: Forest, target: str | None = None) -> TrainingData:
    """Return a table's rows and labels as a forest's trees see them.

    The label column is `target`. Without it: array ``y`` of an ``.npz`` file, or the only column that is
    not among the forest's feature names. Features are matched by name where the forest and the table both
    have names, else by position. Labels are matched to the forest's classes by value, whatever their type:
    0, 0.0, False and "0" are the same label.

    Parameters
    ----------
    table : Table, pandas.DataFrame, tuple (X, y) or TrainingData
        X is a data frame or an array-like of shape (n_rows, n_columns), y an array-like of shape (n_rows,).
        `TrainingData` that fit the forest are returned as they are.
    forest : Forest
    target : str or None
        Name of the label column, or of an ``.npz`` file's label array. Not used for a tuple.

    Returns
    -------
    TrainingData

    Raises
    ------
    DataError
        Where the label column or a feature is not found, a feature holds text or infinite values, or rows
        have no label or one that the forest does not know. The message never shows a value of a row.
    NotCoveredError
        For regressors.
    """
    if forest.classes is None:
        raise NotCoveredError("regressors are not covered yet")
    if isinstance(table, TrainingData):
        _require_fit(table, forest)
        return table
    if isinstance(table, tuple) and len(table) == 2:
        target = None
    table = _as_table(table)
    where = _where(table.source)
    if not len(table.frame):
        raise DataError(f"{where}: no rows; give the rows that the forest was trained on")
    _require_distinct(table.frame, where)
    positions, label_position, names = _selected(table, forest, target)
    labels: pd.Series[Any] | NDArray[Any]
    labels = _label_array(table, target) if label_position is None else table.frame.iloc[:, label_position]
    rows = np.empty((len(table.frame), len(positions)), dtype=np.float32)
    for index, (position, name) in enumerate(zip(positions, names, strict=True)):
        rows[:, index] = _encoded(table.frame.iloc[:, position], f"{where}: column {one_line(name)!r}")
    indices = _class_indices(labels, forest.classes, len(rows), where)
    rows.flags.writeable = indices.flags.writeable = False
    used = {label_position, *positions}
    unused = tuple(str(column) for position, column in enumerate(table.frame.columns) if position not in used)
    return TrainingData(rows, indices, names, table.sha256, table.source, unused)


def read_domain(path: str | os.PathLike[str], columns: Sequence[str]) -> Domain:
    """Read a domain file.

    Parameters
    ----------
    path : path-like
        A TOML file with a table ``[attributes."name"]`` for each attribute (its keys: see
        `pytest_draft.domain.declared`), and optionally ``others = "binary"``: each column without an
        attribute is a binary attribute of its own name.
    columns : sequence of str, length n_columns
        Names of the encoded columns, in the forest's order.

    Returns
    -------
    Domain

    Raises
    ------
    DataError
        Where the file cannot be read, with the line; where a key or an attribute is wrong, with its name.
    """
    source = os.fspath(path)
    where = one_line(source)
    content = _content(source)
    document: dict[str, Any] = _parsed(lambda: tomllib.loads(content.decode("utf-8-sig")), where, _toml_problem)
    for key in document:
        if key not in ("attributes", "others"):
            raise DataError(f"{where}: unknown key {one_line(key)!r}; the keys are 'attributes' and 'others'")
    attributes = document.get("attributes", {})
    if not isinstance(attributes, dict):
        raise DataError(f"{where}: key 'attributes' must be tables: [attributes.\"name\"]")
    for name, entry in attributes.items():
        if not isinstance(entry, dict):
            raise DataError(
                f'{where}: attribute {one_line(name)!r} must be a table: [attributes."name"], then kind = ...'
            )
    if "others" in document:
        if document["others"] != "binary":
            raise DataError(f"{where}: key 'others' must be \"binary\", or left out")
        attributes = {**attributes, **_binary_others(attributes, columns)}
    try:
        return declared(columns, attributes, where)
    except DataError as error:
        problem = str(error)
    raise DataError(problem if problem.startswith(where) else f"{where}: {problem}")


# Reading files


def _where(source: str) -> str:
    return "training data given in memory" if source == IN_MEMORY else one_line(source)


def _content(source: str) -> bytes:
    """Return all bytes of a regular file, opened once and never blocking on a FIFO."""
    where = one_line(source)
    flags = os.O_RDONLY
    for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOCTTY"):
        flags |= getattr(os, name, 0)
    try:
        with os.fdopen(os.open(source, flags), "rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file.read()
            problem = "not a regular file"
    except FileNotFoundError:
        problem = "no such file; check the path"
    except IsADirectoryError:
        problem = "not a regular file"
    except ValueError:
        problem = "not a path"
    except OSError as error:
        problem = f"cannot be read ({os.strerror(error.errno or 0)})"
    raise DataError(f"{where}: {problem}")


_Reader = Callable[[bytes, str], "tuple[pd.DataFrame, dict[str, NDArray[Any] | None] | None]"]


def _reader(source: str) -> _Reader:
    """Return the function that parses a file of this suffix."""
    name = source.lower()
    if name.endswith(".csv"):
        return _read_csv
    if name.endswith(".csv.gz"):
        return _read_csv_gz
    if name.endswith((".parquet", ".pq")):
        return _read_parquet
    if name.endswith(".npz"):
        return _read_npz
    if name.endswith(_PICKLES):
        raise DataError(f"{one_line(source)}: pickles are not read; {_FORMATS}")
    raise DataError(f"{one_line(source)}: not a table of a known kind; {_FORMATS}")


def _parsed(parse: Callable[[], T], where: str, problem_of: Callable[[Exception], str]) -> T:
    """Return what `parse` does; in place of any exception raise one that quotes and chains nothing."""
    try:
        return parse()
    except Exception as error:
        # Whatever it is, it may quote the data.
        problem = problem_of(error)
    raise DataError(f"{where}: {problem}")


def _read_csv_gz(content: bytes, where: str) -> tuple[pd.DataFrame, None]:
    return _read_csv(_parsed(lambda: gzip.decompress(content), where, lambda _: "not a readable gzip file"), where)


def _read_csv(content: bytes, where: str) -> tuple[pd.DataFrame, None]:
    # The header is read by itself, as text: pandas would rename duplicates silently.
    first = _parsed(
        lambda: pd.read_csv(io.BytesIO(content), header=None, nrows=1, dtype=str, keep_default_na=False),
        where,
        _csv_problem,
    )
    header = [str(name) for name in first.iloc[0]]
    _require_distinct_names([name for name in header if name], where)
    numbered = ([str(index) for index in range(start, start + len(header))] for start in (0, 1))
    if header not in numbered and all(_NUMBER.fullmatch(name.strip()) for name in header):
        raise DataError(f"{where}: line 1 holds numbers only; give the table a header line with the columns' names")

    def parse() -> pd.DataFrame:
        with warnings.catch_warnings():
            # Rows longer than the header: with index_col=False pandas only warns, without it the first
            # column silently becomes the index and all names shift.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame: pd.DataFrame = pd.read_csv(io.BytesIO(content), index_col=False, low_memory=False, **_EXACT)
        return frame

    return _parsed(parse, where, _csv_problem), None


def _csv_problem(error: Exception) -> str:
    """Say what is wrong with a CSV file, from numbers and types only."""
    prefix = r"Error tokenizing data\. C error: "
    text = str(error).strip()
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text; save it as UTF-8"
    if isinstance(error, pd.errors.EmptyDataError):
        return "the file is empty"
    if isinstance(error, pd.errors.ParserWarning):
        return "its rows have more fields than its header; name all columns in line 1"
    if match := re.fullmatch(prefix + r"Expected (\d+) fields in line (\d+), saw (\d+)", text):
        expected, line, seen = match.groups()
        return f"line {line} has {seen} fields, not {expected}"
    if match := re.fullmatch(prefix + r"EOF inside string starting at row (\d+)", text):
        return f"a quote opened in row {match[1]} (counted from 0) is never closed"
    return f"cannot be parsed as CSV ({type(error).__name__})"


def _read_parquet(content: bytes, where: str) -> tuple[pd.DataFrame, None]:
    def problem(error: Exception) -> str:
        if isinstance(error, ImportError):
            return "reading Parquet needs pyarrow: pip install pyarrow"
        return f"cannot be parsed as Parquet ({type(error).__name__})"

    return _parsed(lambda: pd.read_parquet(io.BytesIO(content), engine="pyarrow"), where, problem), None


def _read_npz(content: bytes, where: str) -> tuple[pd.DataFrame, dict[str, NDArray[Any] | None]]:
    def parse() -> dict[str, NDArray[Any] | None]:
        arrays: dict[str, NDArray[Any] | None] = {}
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise TypeError
            for name in file.files:
                try:
                    array = file[name]
                except ValueError as error:
                    if "allow_pickle" not in str(error):
                        raise
                    arrays[name] = None
                else:
                    if isinstance(array, np.ndarray):
                        arrays[name] = array
        return arrays

    arrays = _parsed(parse, where, lambda error: f"cannot be read as .npz ({type(error).__name__})")
    if "X" not in arrays:
        raise DataError(f"{where}: no array 'X'; save the encoded features under this name")
    features = arrays.pop("X")
    if features is None:
        raise DataError(f"{where}: array 'X' holds Python objects, which are not read; save it as numbers")
    if features.ndim != 2:
        raise DataError(f"{where}: array 'X' has {features.ndim} dimensions; it must have 2, rows by columns")
    index = _npz_names(arrays, features.shape[1], where)
    frame = _parsed(lambda: pd.DataFrame(features, columns=index), where, lambda _: "array 'X' does not hold numbers")
    return frame, arrays


def _npz_names(arrays: dict[str, NDArray[Any] | None], n_columns: int, where: str) -> pd.Index[Any] | None:
    """Take the arrays of column names out, and return the names if there are any."""
    found = {key: arrays.pop(key) for key in ("columns", "feature_names") if key in arrays}
    for key, names in found.items():
        if names is None or names.ndim != 1 or names.dtype.kind not in "US":
            raise DataError(f"{where}: array {key!r} must be 1-D text; save it with .astype(str)")
        if len(names) != n_columns:
            raise DataError(f"{where}: array {key!r} has {len(names)} names, array 'X' {n_columns} columns")
        index: pd.Index[Any] = pd.Index([str(name) for name in _as_text(names)], dtype=object)
        return index
    return None


def _as_text(array: NDArray[Any]) -> NDArray[Any]:
    return np.char.decode(array, "utf-8", "replace") if array.dtype.kind == "S" else array


# From tables to training data


def _as_table(table: object) -> Table:
    """Return in-memory data as a table."""
    if isinstance(table, Table):
        return table
    if isinstance(table, pd.DataFrame):
        return Table(table, None, IN_MEMORY)
    where = _where(IN_MEMORY)
    if not (isinstance(table, tuple) and len(table) == 2):
        raise DataError(
            f"{where}: a {one_line(type(table).__name__)} is not a table; "
            "give a pandas DataFrame, a tuple (X, y) or TrainingData"
        )
    features, labels = table
    if not isinstance(features, pd.DataFrame):
        array = _parsed(lambda: np.asarray(features), where, lambda _: "X cannot be made an array")
        if array.ndim != 2:
            raise DataError(f"{where}: X has {array.ndim} dimensions; it must have 2, rows by columns")
        features = _parsed(lambda: pd.DataFrame(array), where, lambda _: "X cannot be made a table")
    if isinstance(labels, pd.Series):
        labels = labels.to_numpy(dtype=object)
    elif not isinstance(labels, np.ndarray):
        labels = _parsed(lambda: np.asarray(labels), where, lambda _: "y cannot be made an array")
    return Table(features, None, IN_MEMORY, {"y": labels})


def _require_distinct(frame: pd.DataFrame, where: str) -> None:
    _require_distinct_names([str(column) for column in frame.columns], where)


def _require_distinct_names(names: list[str], where: str) -> None:
    """Refuse duplicates, by number only: what looks like a name may be a row of a table without a header."""
    duplicates = len(names) - len(set(names))
    if duplicates:
        raise DataError(
            f"{where}: {duplicates} of its {len(names)} column names are there more than once; "
            "give each column a name of its own, in a header line"
        )


def _require_fit(data: TrainingData, forest: Forest) -> None:
    """Refuse training data that were made for another forest."""
    where = _where(data.source)
    if data.n_columns != forest.n_features:
        raise DataError(f"{where}: {data.n_columns} columns, but the forest takes {forest.n_features}")
    if int(data.labels.max()) >= forest.n_classes:
        raise DataError(f"{where}: a label is not an index into the forest's {forest.n_classes} classes")


def _selected(table: Table, forest: Forest, target: str | None) -> tuple[list[int], int | None, tuple[str, ...]]:
    """Return the features' positions in the forest's order, the label column's, and the features' names.

    The label's position is None where the labels are an array of their own.
    """
    where = _where(table.source)
    columns = [str(column) for column in table.frame.columns]
    label = None
    if table.targets is None or (target or "y") not in table.targets:
        label = _label_position(table, columns, forest, target)
    others = [position for position in range(len(columns)) if position != label]
    named = any(isinstance(table.frame.columns[position], str) for position in others)
    if named and forest.feature_names is not None:
        position_of = {columns[position]: position for position in others}
        missing = [name for name in forest.feature_names if name not in position_of]
        if missing:
            first = ", ".join(repr(one_line(name, 60)) for name in missing[:3])
            raise DataError(
                f"{where}: {len(missing)} of the forest's {forest.n_features} columns are missing: {first}"
                + (", ..." if len(missing) > 3 else "")
                + "; give the data encoded as the forest was trained"
            )
        return [position_of[name] for name in forest.feature_names], label, forest.feature_names
    if len(others) != forest.n_features:
        raise DataError(
            f"{where}: {len(others)} feature columns, but the forest takes {forest.n_features}; "
            "give the data encoded as the forest was trained"
        )
    if forest.feature_names is not None:
        return others, label, forest.feature_names
    return (
        others,
        label,
        tuple(columns[position] if named else f"x{index}" for index, position in enumerate(others)),
    )


def _label_position(table: Table, columns: list[str], forest: Forest, target: str | None) -> int:
    """Return the position of the label column."""
    where = _where(table.source)
    features = forest.feature_names
    if target is not None:
        if target not in columns:
            what = "column" if table.targets is None else "array or column"
            raise DataError(f"{where}: no {what} {one_line(target)!r}; give the labels' with --draft-target")
        if features is not None and target in features:
            raise DataError(
                f"{where}: column {one_line(target)!r} is one of the forest's features; "
                "give the labels' column with --draft-target"
            )
        return columns.index(target)
    others = [position for position, name in enumerate(columns) if name not in (features or ())]
    if features is not None and len(others) == 1:
        return others[0]
    if table.targets is not None:
        raise DataError(f"{where}: no array 'y'; give the label array's name with --draft-target")
    reason = "the forest has no feature names" if features is None else f"{len(others)} columns are no features"
    raise DataError(f"{where}: cannot tell the label column, {reason}; give its name with --draft-target")


def _label_array(table: Table, target: str | None) -> NDArray[Any]:
    """Return the labels that are an array of their own."""
    where = _where(table.source)
    name = target or "y"
    array = (table.targets or {})[name]
    if array is None:
        raise DataError(
            f"{where}: array {one_line(name)!r} holds Python objects, which are not read; "
            "save it as numbers or with .astype(str)"
        )
    return array


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
        holds = {"M": "dates", "m": "times", "c": "complex numbers"}.get(kind, "text")
        raise DataError(f"{where} holds {holds}; give the data encoded as the forest was trained")
    present = column.notna().to_numpy(dtype=np.bool_)
    values = np.full(len(column), np.nan)
    values[present] = _parsed(
        lambda: column[present].to_numpy(dtype=np.float64),
        where,
        lambda _: "values are too large for float32, which the trees compute in",
    )
    with np.errstate(over="ignore"):
        result = values.astype(np.float32)
    infinite = int(np.isinf(result).sum())
    if infinite:
        raise DataError(
            f"{where} has {infinite} values that are infinite or too large for float32, "
            "which the trees compute in; give finite values"
        )
    return result


def _class_indices(
    labels: pd.Series[Any] | NDArray[Any], classes: tuple[object, ...], n_rows: int, where: str
) -> NDArray[np.int64]:
    """Return each row's index into the forest's classes, shape (n_rows,)."""
    shape = labels.shape
    if shape not in ((n_rows,), (n_rows, 1)):
        raise DataError(f"{where}: the labels have shape {shape}; there must be one for each of the {n_rows} rows")
    if isinstance(labels, np.ndarray):
        labels = _as_text(labels.ravel())
    codes, distinct = _parsed(
        lambda: pd.factorize(pd.Series(labels)),
        where,
        lambda _: "the labels are neither numbers nor text",
    )
    class_of = _class_finder(classes)
    # The last entry is where factorize's code for a missing value, -1, points to.
    found = np.array([*(class_of(value) for value in distinct), -1], dtype=np.int64)
    indices: NDArray[np.int64] = found[codes]
    missing = int((codes == -1).sum())
    if missing:
        raise DataError(
            f"{where}: {missing} of {n_rows} rows have no label (in a CSV also NA, None, null and NaN are "
            "none); give the rows that the forest was trained on"
        )
    unknown = int((indices == -1).sum())
    if unknown:
        known = ", ".join(one_line(repr(value), 40) for value in classes[:_MAX_CLASSES_SHOWN])
        more = len(classes) - _MAX_CLASSES_SHOWN
        raise DataError(
            f"{where}: {unknown} of {n_rows} rows have a label that the forest does not know; "
            f"its classes are {known}" + (f" and {more} more" if more > 0 else "")
        )
    return indices


def _class_finder(classes: tuple[object, ...]) -> Callable[[object], int]:
    """Return the function from a label to the index of its class, -1 for none.

    A text is first looked for as it is. Then numbers, truth values and texts of either are compared as
    numbers; where two classes are the same number ("1" and "01"), only their texts tell them apart.
    """
    by_text: dict[str, int] = {}
    by_number: dict[object, int] = {}
    for index, value in enumerate(classes):
        if isinstance(value, str):
            by_text[value] = index
        number = _number(value)
        if number is not None:
            by_number[number] = -1 if number in by_number else index

    def class_of(label: object) -> int:
        if isinstance(label, str) and label in by_text:
            return by_text[label]
        number = _number(label)
        return -1 if number is None else by_number.get(number, -1)

    return class_of


def _number(value: object) -> object:
    """Return a label as a Python number, whose equality and hash don't depend on its type; else None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float, Decimal)):
        return value
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if not _NUMBER.fullmatch(text) or len(text) > 400:
        return None
    return int(text) if text.lstrip("+-").isdigit() else float(text)


# Domain files


def _toml_problem(error: Exception) -> str:
    """Say what is wrong with a TOML file; of the parser's words only the fixed ones."""
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text; save it as UTF-8"
    match = re.fullmatch(r"(.*?)(?: \(at line (\d+), column \d+\)| \(at end of document\))?", str(error), re.DOTALL)
    reason, line = match.groups() if match else ("", None)
    # Other messages can quote a key or a character of the file.
    fixed = reason.startswith(("Expected ", "Unclosed ", "Unterminated ", "Invalid value", "Invalid statement"))
    place = f"line {line}: " if line else ""
    return f"{place}not valid TOML" + (f": {one_line(reason, 100)}" if fixed else "")


def _binary_others(
    attributes: Mapping[str, Mapping[str, object]], columns: Sequence[str]
) -> dict[str, dict[str, object]]:
    """Return a binary attribute for each column that belongs to none."""
    owned: set[object] = set()
    for name, entry in attributes.items():
        listed = entry.get("columns", [name])
        for column in listed if isinstance(listed, list) else ():
            owned.add(columns.index(column) if column in columns else column if isinstance(column, int) else None)
    others: dict[str, dict[str, object]] = {}
    for index, name in enumerate(columns):
        # Where an attribute that holds other columns has this column's name, `declared` refuses.
        if index in owned or name in attributes:
            continue
        others[name] = {"kind": "binary", "columns": [index]}
    return others
