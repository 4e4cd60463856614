"""Reads tables: a CSV, Parquet or npz file becomes a `Table` with a redacting repr."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from pytest_draft.arrays import AnyArray, FloatArray, IntArray
from pytest_draft.data.files import (
    NUMBER,
    content,
    parsed,
    place_of,
    require_csv,
    require_npz,
    require_parquet,
    require_shape,
    ungzipped,
)
from pytest_draft.errors import DataError, nearest_of, one_line

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too

_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])

# Before 3.1 the default is a unit in the last place off for many numbers: they could change sides in a tree.
_EXACT: dict[str, Any] = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}
_FORMATS = "give .csv, .csv.gz, .parquet or .npz"
_WITH_COMMAS = "save it with commas between columns and points in numbers"
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_SAMPLE = 2**16
"""Bytes of a CSV file by which it is known what parts its columns."""

_NUMBER = re.compile(NUMBER.pattern.replace(r"\.", "[.,]"))
"""A number with a decimal point or comma."""

_MOST_NAMED = 20
"""Columns that are named in a message."""

GAPS = {"?": "'?'", "-": "'-'", "na": "'na'", "": "blanks"}
"""Cells that mean that a value is missing where all others of their column are numbers, and how messages name them."""

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
    written: Mapping[int, pd.Series[Any]] = field(default_factory=dict)
    """The columns of numbers in which some of `GAPS` stand, by position, as they are written."""
    identifiers: AnyArray | None = None
    """Shape (n_rows,). Of a column that was taken out: whose each row is."""

    @property
    def names(self) -> list[str]:
        """Of its columns, numbers where it has none."""
        return [str(name) for name in self.frame.columns]

    @property
    def as_written(self) -> pd.DataFrame:
        """The table with `GAPS` as they are, for a model of the owner's own that takes them so."""
        columns = [self.written.get(position, self.frame.iloc[:, position]) for position in range(self.frame.shape[1])]
        return pd.concat(columns, axis=1) if self.written else self.frame

    def taken(self, rows: IntArray) -> Table:
        """Return some of its rows, by their positions, in any order."""
        n_rows, targets = len(self.frame), None
        if self.targets is not None:
            targets = {
                name: array[rows] if array is not None and array.shape[:1] == (n_rows,) else array
                for name, array in self.targets.items()
            }
        written = {position: column.iloc[rows].reset_index(drop=True) for position, column in self.written.items()}
        whose = None if self.identifiers is None else self.identifiers[rows]
        frame = self.frame.iloc[rows].reset_index(drop=True)
        return replace(self, frame=frame, targets=targets, written=written, identifiers=whose)

    def identified(self, name: str) -> Table:
        """Return the table without the column that says whose row is whose, which no model has seen.

        Raises
        ------
        DataError
            Where it has none of that name, or it says nothing of some row.
        """
        if name not in self.names:
            lacks = f"no column {one_line(name)!r}, which --draft-id names{nearest_of(name, self.names)}"
            raise DataError(f"{place_of(self.source)}: {lacks}")
        at = self.names.index(name)
        if missing := int(self.frame.iloc[:, at].isna().sum()):
            where = place_of(self.source)
            raise DataError(f"{where}: column {one_line(name)!r} does not say whose {missing:,} rows are: fill it")
        written = {place - (place > at): column for place, column in self.written.items() if place != at}
        whose = self.written.get(at, self.frame.iloc[:, at]).to_numpy(dtype=object)
        kept = [place for place in range(self.frame.shape[1]) if place != at]
        return replace(self, frame=self.frame.iloc[:, kept], written=written, identifiers=whose)

    def column(self, position: int, known: Collection[object] = ()) -> pd.Series[Any]:
        """Return a column, as it is written where one of the known values is among the `GAPS`."""
        as_written = position in self.written and any(_is_gap(value) for value in known)
        return self.written[position] if as_written else self.frame.iloc[:, position]

    def gaps(self, position: int, known: Collection[object] = ()) -> str:
        """Say how many cells of a column are taken as missing by what stands in them; empty for none."""
        as_numbers = position in self.written and self.column(position, known) is not self.written[position]
        cells = [cell for cell in self.written[position] if _is_gap(cell)] if as_numbers else []
        named = " or ".join(sorted({GAPS[cell.strip().lower()] for cell in cells}))
        return f"{named} in {len(cells):,} of {len(self.frame):,} cells" if cells else ""

    def __repr__(self) -> str:
        n_rows, n_columns = self.frame.shape
        return f"Table({n_rows} rows, {n_columns} columns, {one_line(self.source)}, values not shown)"


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a table from a CSV, Parquet or NumPy file, which is opened once and hashed as parsed.

    Parameters
    ----------
    path : path-like
        A regular file, recognised by its suffix: ``.csv``, ``.tsv`` or ``.tab`` (UTF-8 with a header line; commas,
        semicolons, tabs or bars between columns), the same with ``.gz``, ``.parquet``, or
        ``.npz`` with an array ``X`` of shape (n_rows, n_columns), optionally its names
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
    frame, targets, commas = read(read_bytes, where)
    if not len(frame):
        raise DataError(f"{where}: no rows; give a table that has some")
    require_distinct(frame, where)
    frame, written = _with_numbers(frame, where, commas=commas)
    return Table(frame, hashlib.sha256(read_bytes).hexdigest(), source, targets, written)


_Read = tuple[pd.DataFrame, "dict[str, AnyArray | None] | None", bool]
"""A table, the arrays beside it, and whether its texts can be numbers with decimal commas."""

_Reader = Callable[[bytes, str], _Read]


def _reader(source: str) -> _Reader:
    """Return the function that parses a file of this suffix."""
    name = source.lower()
    if name.endswith((".csv", ".tsv", ".tab")):
        return _read_csv
    if name.endswith((".csv.gz", ".tsv.gz", ".tab.gz")):
        return _read_csv_gz
    if name.endswith((".parquet", ".pq")):
        return _read_parquet
    if name.endswith(".npz"):
        return _read_npz
    if name.endswith(_PICKLES):
        raise DataError(f"{one_line(source)}: pickles are not read; {_FORMATS}")
    raise DataError(f"{one_line(source)}: not a table of a known kind; {_FORMATS}")


def _read_csv_gz(content: bytes, where: str) -> _Read:
    return _read_csv(parsed(lambda: ungzipped(content, where), where, lambda _: "not a readable gzip file"), where)


def _read_csv(content: bytes, where: str) -> _Read:
    require_csv(content, where)
    mark = _separator(content, where)
    # The header is read by itself, as text: pandas would rename duplicates silently.
    first = parsed(
        lambda: pd.read_csv(io.BytesIO(content), sep=mark, header=None, nrows=1, dtype=str, keep_default_na=False),
        where,
        _csv_problem,
    )
    header = [str(name) for name in first.iloc[0]]
    require_csv(content, where, len(header))
    require_distinct_names([name for name in header if name], where)
    numbered = ([str(index) for index in range(start, start + len(header))] for start in (0, 1))
    if header not in numbered and all(NUMBER.fullmatch(name.strip()) for name in header):
        raise DataError(f"{where}: line 1 has numbers only; add a header line with the names of the columns")

    def parse() -> pd.DataFrame:
        with warnings.catch_warnings():
            # Rows longer than the header: with index_col=False pandas only warns, without it the first
            # column silently becomes the index and all names shift.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame: pd.DataFrame = pd.read_csv(
                io.BytesIO(content), sep=mark, index_col=False, low_memory=False, **_EXACT
            )
        return frame

    return parsed(parse, where, _csv_problem), None, mark != ","


def _separator(content: bytes, where: str) -> str:
    """Return what parts the columns of a CSV file: of what stands in its first line, what parts the next ones alike."""
    parted = parsed(lambda: _parted(content), where, _csv_problem)
    alike = [mark for mark, widths in parted.items() if len(widths) == 1]
    if len(alike) == 1 or not parted or (not alike and "," in parted):  # the parser says which line differs
        return alike[0] if alike else ","
    named = " and ".join(_SEPARATORS[mark] for mark in alike or parted)
    why = "and all lines can be parted at each of them" if alike else "and other lines have other numbers of them"
    raise DataError(f"{where}: line 1 has {named}, {why}; {_WITH_COMMAS}, and quotes around texts")


def _parted(content: bytes) -> dict[str, set[int]]:
    """Return how many fields lines have by each mark that parts the first one."""
    beginning, parted = content[:_SAMPLE].decode("utf-8-sig", "replace"), dict[str, set[int]]()
    for mark in _SEPARATORS:
        lines = csv.reader(io.StringIO(beginning, newline=""), delimiter=mark)
        widths = [len(line) for line in lines if "".join(line).strip()]
        if widths and widths[0] > 1:
            parted[mark] = {widths[0], *(widths if len(content) <= _SAMPLE else widths[:-1])}
    return parted


def _with_numbers(frame: pd.DataFrame, where: str, *, commas: bool) -> tuple[pd.DataFrame, dict[int, pd.Series[Any]]]:
    """Return a table with numbers in place of texts that are numbers but for `GAPS` and, where allowed, decimal commas.

    And its columns with gaps as they were, by position; in the table a gap is NaN.
    """
    columns = {position: frame.iloc[:, position] for position in range(frame.shape[1])}
    written: dict[int, pd.Series[Any]] = {}
    pointed, with_commas = False, False
    for position, column in columns.items():
        if not pd.api.types.is_string_dtype(column.dtype):
            pointed |= commas and column.dtype.kind == "f" and bool((column % 1 > 0).any())
            continue
        codes, distinct = pd.factorize(column)
        texts = list(distinct)
        if (numbers := _numbers(texts, commas=commas)) is None:
            continue
        columns[position] = pd.Series(np.append(numbers, math.nan)[codes], frame.index)
        with_commas |= any("," in text for text in texts)
        if any(map(_is_gap, texts)):
            written[position] = column
    if with_commas and pointed:
        raise DataError(f"{where}: numbers have decimal commas in some columns and points in others; {_WITH_COMMAS}")
    if with_commas or written:
        frame = pd.concat(columns, axis=1).set_axis(frame.columns, axis=1)
    return frame, written


def _numbers(texts: list[object], *, commas: bool) -> FloatArray | None:
    """Return the numbers that texts are, NaN for `GAPS`; None where some are neither, or no text has to be changed."""
    if not all(isinstance(text, str) and (_is_gap(text) or _NUMBER.fullmatch(text.strip())) for text in texts):
        return None
    numbers = ["nan" if _is_gap(text) else str(text).strip() for text in texts]
    marks = {mark for mark in ",." if any(mark in number for number in numbers)}
    refused = "," in marks and not (commas and marks == {","})
    if refused or {*numbers} == {"nan"} or not ("nan" in numbers or marks == {","}):
        return None
    return np.array([float(number.replace(",", ".")) for number in numbers])


def _is_gap(cell: object) -> bool:
    return isinstance(cell, str) and cell.strip().lower() in GAPS


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


def _read_parquet(content: bytes, where: str) -> _Read:
    def problem(error: Exception) -> str:
        if isinstance(error, ImportError):
            return "reading Parquet needs pyarrow: pip install 'pytest-draft[parquet]'"
        return f"cannot be parsed as Parquet ({type(error).__name__})"

    def parse() -> pd.DataFrame:
        require_parquet(content, where)
        return pd.read_parquet(io.BytesIO(content), engine="pyarrow")

    return parsed(parse, where, problem), None, False


def _read_npz(content: bytes, where: str) -> _Read:
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
    return frame, arrays, False


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


def plain(name: str) -> str:
    """Return a name without what is written in many ways: blanks, signs between words, and case."""
    return re.sub(r"(?<!\d)\.|\.(?!\d)|-(?!\d)|[\s_,:;/\\()\[\]{}'\"]", "", name).casefold()


def matched(names: Sequence[str], wanted: Collection[str], target: str | None = None) -> list[str]:
    """Return the names of a table's columns, with those that are wanted for such as are the same but for their signs.

    A name stays as it is where it is wanted or the target's, and where it could be another's or another could be its.
    """
    held = set(names)
    spare = Counter(plain(name) for name in names if name not in wanted and name != target)
    lacking = Counter(plain(name) for name in wanted if name not in held)
    alone = {plain(name): name for name in wanted if name not in held and lacking[plain(name)] == 1}
    free = {name for name in names if name not in wanted and name != target and spare[plain(name)] == 1}
    return [alone.get(plain(name), name) if name in free else name for name in names]


def lacking(names: Sequence[str], wanted: Sequence[str], target: str | None, whose: str) -> str:
    """Say which of the columns that are wanted a table lacks, and which it has besides where line 1 surely has names.

    Parameters
    ----------
    whose : str
        Whose the columns that are wanted are, for the message.
    """
    missing = [name for name in wanted if name not in set(names)]
    said = f"{len(missing)} of the {len(wanted)} columns {whose} are missing: {_quoted(missing)}"
    besides = [name for name in names if name not in set(wanted) and name != target]
    are_names = target in names or len(missing) < len(wanted)
    return said + (f" (the table has {_quoted(besides)} besides)" if besides and are_names else "")


def _quoted(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(repr(one_line(name, 60)) for name in names[:_MOST_NAMED]) + more


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
