"""Limits on tables: refuses one that is too large by its stored bytes, before memory is spent."""

from __future__ import annotations

import gzip
import io
import zipfile
from typing import Any

from pytest_draft.artifact.budget import DEFAULT_LIMITS
from pytest_draft.errors import DataError

__tracebackhide__ = True  # in a module's globals it covers all its frames

MOST_BYTES = DEFAULT_LIMITS.file_bytes
"""Size of a file."""

MOST_COLUMNS = 2**15
"""Columns of a table."""

MOST_VALUES = 2**27
"""Rows times columns of a table: 1 GB of numbers, and up to three times as much while they are parsed."""

MOST_TEXT = 2**28
"""Bytes of all texts of a Parquet file: a few bytes can stand for a long text in each row."""

_ADVICE = "give only the rows and the columns that the model was trained on, and its target"


def require_size(n_bytes: int, where: str) -> None:
    """Refuse a file that is too large."""
    if n_bytes > MOST_BYTES:
        raise DataError(f"{where}: it has {n_bytes:,} bytes, and at most {MOST_BYTES:,} are read; {_ADVICE}")


def require_shape(n_rows: int, n_columns: int, where: str) -> None:
    """Refuse a table of too many columns or values."""
    if n_columns > MOST_COLUMNS:
        raise DataError(f"{where}: {n_columns:,} columns, and at most {MOST_COLUMNS:,} are read; {_ADVICE}")
    if n_rows * n_columns > MOST_VALUES:
        raise DataError(
            f"{where}: {n_rows:,} rows of {n_columns:,} columns, and at most {MOST_VALUES:,} values are read; {_ADVICE}"
        )


def require_csv(content: bytes, where: str, n_columns: int | None = None) -> None:
    """Refuse a CSV file of too many columns or values, by its commas and lines; a short line takes all columns too.

    Parameters
    ----------
    where : str
        The file, for messages.
    n_columns : int or None
        Names in its header; None where that was not parsed yet.
    """
    ends = [end for end in (content.find(b"\n"), content.find(b"\r")) if end > 0]
    if n_columns is None:
        n_columns = (
            max(content.count(mark, 0, min(ends, default=len(content))) for mark in (b",", b";", b"\t", b"|")) + 1
        )
    require_shape(max(content.count(b"\n"), content.count(b"\r")), n_columns, where)


def ungzipped(content: bytes, where: str) -> bytes:
    """Return what a gzip file holds.

    Raises
    ------
    DataError
        If it unpacks to too many bytes for its size.
    OSError, EOFError, zlib.error
        If it is damaged.
    """
    most = DEFAULT_LIMITS.unpacked(len(content))
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        unpacked = file.read(most + 1)
    if len(unpacked) > most:
        raise _bomb(len(content), most, where)
    return unpacked


def require_npz(content: bytes, where: str) -> None:
    """Refuse an ``.npz`` file whose arrays unpack to too many bytes for its size, by its directory.

    Raises
    ------
    DataError
    zipfile.BadZipFile
        If it is none.
    """
    most = DEFAULT_LIMITS.unpacked(len(content))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(info.file_size for info in archive.infolist()) > most:
            raise _bomb(len(content), most, where)


def require_parquet(content: bytes, where: str) -> None:
    """Refuse a Parquet file of too many columns, values or letters, by its footer and its dictionaries.

    Raises
    ------
    DataError
    ImportError
        Without pyarrow. Its own errors are passed on.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    with parquet.ParquetFile(io.BytesIO(content)) as file:
        require_shape(file.metadata.num_rows, file.metadata.num_columns, where)
        texts = [field.name for field in file.schema_arrow if _is_text(pa.types, field.type)]
    n_bytes = 0
    # Read as positions in a dictionary, a text that stands in many rows is not repeated.
    with parquet.ParquetFile(io.BytesIO(content), read_dictionary=texts) as file:
        for batch in file.iter_batches(columns=texts) if texts else ():
            for column in batch.columns:
                if isinstance(column, pa.DictionaryArray):
                    lengths = pc.binary_length(column.dictionary)
                    n_bytes += pc.sum(lengths.take(column.indices)).as_py() or 0
                else:
                    n_bytes += column.nbytes
            if n_bytes > MOST_TEXT:
                raise DataError(f"{where}: more than {MOST_TEXT:,} bytes of texts; {_ADVICE}")


def _is_text(types: Any, kind: Any) -> bool:
    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary))


def _bomb(n_bytes: int, most: int, where: str) -> DataError:
    return DataError(f"{where}: its {n_bytes:,} bytes unpack to more than {most:,}, the most that is read; {_ADVICE}")
