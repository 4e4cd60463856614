"""Reads tables: a CSV, Parquet or npz file becomes a `Table` with a redacting repr."""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pytest_draft.arrays import AnyArray
from pytest_draft.data.bounds import require_csv, require_npz, require_parquet, require_shape, ungzipped
from pytest_draft.data.files import NUMBER, content, parsed
from pytest_draft.errors import DataError, one_line

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too

_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])

# Before 3.1 the default is a unit in the last place off for many numbers: they could change sides in a tree.
_EXACT: dict[str, Any] = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}
_FORMATS = "give .csv, .csv.gz, .parquet or .npz"
_WITH_COMMAS = "save it with commas between columns and points in numbers"
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_PICKLES = (".pkl", ".pickle", ".joblib", ".dill", ".cloudpickle")


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table as it was read, before a forest says what its columns mean."""

    frame: pd.DataFrame
    """Its columns are numbered where the file has no names."""
    sha256: str | None
    """Of exactly the bytes of the file that were read; None for in-memory data."""
    source: str
    """The path as given, or ``given in memory``."""
    targets: Mapping[str, AnyArray | None] | None = None
    """For ``.npz`` files: every array besides the features, by name; None in place of an array that holds Python
    objects, which are not read. None for other files: there the labels are a column of `frame`.
    """

    def __repr__(self) -> str:
        n_rows, n_columns = self.frame.shape
        return f"Table({n_rows} rows, {n_columns} columns, {one_line(self.source)}, values not shown)"


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a table from a CSV, Parquet or NumPy file, which is opened once and hashed as parsed.

    Parameters
    ----------
    path : path-like
        A regular file, recognised by its suffix: ``.csv`` (comma, UTF-8, with a header line), ``.csv.gz``,
        ``.parquet``, or ``.npz`` with an array ``X`` of shape (n_rows, n_columns), optionally its names
        as a 1-D array ``columns`` or ``feature_names``, and the labels as an array of any other name.

    Raises
    ------
    DataError
        Where the file cannot be opened, is of another kind or cannot be parsed, its columns have no
        distinct names, or it holds no row. The message never quotes the file.
    """
    source = os.fspath(path)
    where = one_line(source)
    read = _reader(source)
    read_bytes = content(source)
    frame, targets = read(read_bytes, where)
    if not len(frame):
        raise DataError(f"{where}: no rows; give a table that has some")
    require_distinct(frame, where)
    return Table(frame, hashlib.sha256(read_bytes).hexdigest(), source, targets)


_Reader = Callable[[bytes, str], "tuple[pd.DataFrame, dict[str, AnyArray | None] | None]"]


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
    if name.endswith((".tsv", ".tab", ".tsv.gz")):
        raise DataError(f"{one_line(source)}: tables with tabs are not read; {_WITH_COMMAS}, as .csv")
    if name.endswith(_PICKLES):
        raise DataError(f"{one_line(source)}: pickles are not read; {_FORMATS}")
    raise DataError(f"{one_line(source)}: not a table of a known kind; {_FORMATS}")


def _read_csv_gz(content: bytes, where: str) -> tuple[pd.DataFrame, None]:
    return _read_csv(parsed(lambda: ungzipped(content, where), where, lambda _: "not a readable gzip file"), where)


def _read_csv(content: bytes, where: str) -> tuple[pd.DataFrame, None]:
    require_csv(content, where)
    # The header is read by itself, as text: pandas would rename duplicates silently.
    first = parsed(
        lambda: pd.read_csv(io.BytesIO(content), header=None, nrows=1, dtype=str, keep_default_na=False),
        where,
        _csv_problem,
    )
    header = [str(name) for name in first.iloc[0]]
    require_csv(content, where, len(header))
    if len(header) == 1 and (apart := next((name for mark, name in _SEPARATORS.items() if mark in header[0]), None)):
        raise DataError(f"{where}: line 1 has {apart} and no comma; {_WITH_COMMAS}")
    require_distinct_names([name for name in header if name], where)
    numbered = ([str(index) for index in range(start, start + len(header))] for start in (0, 1))
    if header not in numbered and all(NUMBER.fullmatch(name.strip()) for name in header):
        raise DataError(f"{where}: line 1 has numbers only; add a header line with the names of the columns")

    def parse() -> pd.DataFrame:
        with warnings.catch_warnings():
            # Rows longer than the header: with index_col=False pandas only warns, without it the first
            # column silently becomes the index and all names shift.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame: pd.DataFrame = pd.read_csv(io.BytesIO(content), index_col=False, low_memory=False, **_EXACT)
        return frame

    return parsed(parse, where, _csv_problem), None


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
            return "reading Parquet needs pyarrow: pip install 'pytest-draft[parquet]'"
        return f"cannot be parsed as Parquet ({type(error).__name__})"

    def parse() -> pd.DataFrame:
        require_parquet(content, where)
        return pd.read_parquet(io.BytesIO(content), engine="pyarrow")

    return parsed(parse, where, problem), None


def _read_npz(content: bytes, where: str) -> tuple[pd.DataFrame, dict[str, AnyArray | None]]:
    def parse() -> dict[str, AnyArray | None]:
        arrays: dict[str, AnyArray | None] = {}
        require_npz(content, where)
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
                        _require_text(array)
                        arrays[name] = array
        return arrays

    arrays = parsed(parse, where, lambda error: f"cannot be read as .npz ({type(error).__name__})")
    if "X" not in arrays:
        raise DataError(f"{where}: no array 'X'; save the encoded features under this name")
    features = arrays.pop("X")
    if features is None:
        raise DataError(f"{where}: array 'X' holds Python objects, which are not read; save it as numbers")
    if features.ndim != 2:
        raise DataError(f"{where}: array 'X' has {features.ndim} dimensions; it must have 2, rows by columns")
    require_shape(len(features), features.shape[1], where)
    index = _npz_names(arrays, features.shape[1], where)
    frame = parsed(lambda: pd.DataFrame(features, columns=index), where, lambda _: "array 'X' does not hold numbers")
    return frame, arrays


def _require_text(array: AnyArray) -> None:
    """Refuse texts with numbers that stand for no character, which NumPy takes over as they are."""
    if array.dtype.kind == "U" and array.size:
        points = np.ascontiguousarray(array).view(f"{array.dtype.byteorder}u4")
        if int(points.max()) > sys.maxunicode:
            raise UnicodeError


def _npz_names(arrays: dict[str, AnyArray | None], n_columns: int, where: str) -> pd.Index[Any] | None:
    """Take the arrays of column names out, and return the names if there are any."""
    found = {key: arrays.pop(key) for key in ("columns", "feature_names") if key in arrays}
    for key, names in found.items():
        if names is None or names.ndim != 1 or names.dtype.kind not in "US":
            raise DataError(f"{where}: array {key!r} must be 1-D text; save it with .astype(str)")
        if len(names) != n_columns:
            raise DataError(
                f"{where}: array {key!r} has {len(names)} names, but array 'X' has {n_columns} columns; give as many"
            )
        index: pd.Index[Any] = pd.Index([str(name) for name in as_text(names)], dtype=object)
        return index
    return None


def as_text(array: AnyArray) -> AnyArray:
    """Return an array of bytes as one of text, any other as it is."""
    return np.char.decode(array, "utf-8", "replace") if array.dtype.kind == "S" else array


def is_index(name: str) -> bool:
    """Return whether a column is by its name the index of a data frame, which ``to_csv`` writes without one."""
    return name == "index" or name.startswith("Unnamed: ")


def require_distinct(frame: pd.DataFrame, where: str) -> None:
    """Refuse a table in which two columns have one name."""
    require_distinct_names([str(column) for column in frame.columns], where)


def require_distinct_names(names: list[str], where: str) -> None:
    """Refuse duplicates, by number only: what looks like a name may be a row of a table without a header."""
    duplicates = len(names) - len(set(names))
    if duplicates:
        raise DataError(
            f"{where}: {duplicates} of its {len(names)} column names appear more than once; "
            "give each column a name of its own, in a header line"
        )
