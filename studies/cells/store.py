"""Rows that are kept: in go rows of finished cells, out come the same rows, of all runs so far.

A store's folder holds one folder for each study. Each finished cell becomes a Parquet file of one row, written beside
and moved to its place when the disk has it; many small files are merged into large ones. Each file is named by the hash
of its content, so damage shows. Several runs may read and write at once: files are only added, but for merging, which
happens under a lock, and takes away nothing whose rows it has not written.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from pytest_draft.bounded import what_failed
from pytest_draft.errors import UsageError, one_line
from pytest_draft.output import replacing
from studies.cells.study import Plain

MOST_FILES = 256
"""Small files are merged when there are so many."""

_META = ("_key", "_question", "_code", "_at", "_seconds", "_machine", "_versions")
_LEFTOVER_SECONDS = 3_600.0
"""A file that is still beside its place after so long belongs to a process that was killed."""


@dataclass(frozen=True)
class Row:
    """One finished cell."""

    key: str
    question: str
    code: str
    """`key`, `question` and `code`: hashes of all that the results depend on, of the same without the code, and of the
    code.
    """
    at: str
    """When it was finished: UTC, ISO 8601."""
    seconds: float
    """That it took."""
    machine: str
    versions: str
    """`machine` and `versions`: where, and by which versions of which packages."""
    values: dict[str, Plain]
    """Parameters and results."""


class Store:
    """The rows of one study in a folder.

    Parameters
    ----------
    folder : Path
        Of the store; made where there is none.
    study : str
        Its name.
    tell : callable
        Takes a line about a damaged file.

    Raises
    ------
    UsageError
        Where nothing can be kept there.
    """

    def __init__(self, folder: Path, study: str, tell: Callable[[str], None]) -> None:
        self._folder = folder / study
        self._tell = tell
        self._added = 0
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(self._folder / ".lock")
            with self._lock:
                pass
        except OSError as error:
            raise UsageError(f"{one_line(folder)}: {what_failed(error)}; name another folder with --store") from None

    def rows(self) -> list[Row]:
        """Return all rows, one for each key, the earliest first; damaged files are told and set aside."""
        with self._lock:
            return self._read()[0]

    def add(self, row: Row) -> None:
        """Keep one row, durably."""
        self._write([row])
        self._added += 1
        if self._added >= MOST_FILES:
            self.merge()

    def merge(self) -> None:
        """Write the rows of all files into as few as their types allow."""
        with self._lock:
            self._added = 0
            rows, read = self._read()
            if len(read) > 1:
                written = {self._write(alike) for alike in _of_one_schema(rows)}
                for path in read:
                    if path not in written:
                        path.unlink(missing_ok=True)
            for path in self._folder.glob(".draft-*.tmp"):
                with suppress(OSError):
                    if time.time() - path.stat().st_mtime > _LEFTOVER_SECONDS:
                        path.unlink()

    def _read(self) -> tuple[list[Row], list[Path]]:
        """Return rows and the files that they stand in."""
        rows, read = [], []
        for path in sorted(self._folder.glob("*.parquet")):
            try:
                content = path.read_bytes()
            except OSError as error:
                self._tell(f"{one_line(path)}: {what_failed(error)}; what stood in it is computed again")
                continue
            if path.name != _name_of(content):
                aside = path.with_name(f"{path.name}.damaged")
                path.replace(aside)
                self._tell(f"{one_line(path)}: damaged; what stood in it is computed again; set aside as {aside.name}")
                continue
            rows += [_row_of(one) for one in pq.read_table(io.BytesIO(content)).to_pylist()]
            read.append(path)
        rows.sort(key=lambda row: (row.at, row.key))
        return list({row.key: row for row in reversed(rows)}.values())[::-1], read

    def _write(self, rows: Sequence[Row]) -> Path:
        """Write rows of one schema into one file, durably."""
        table = pa.Table.from_pylist([_line_of(row) for row in rows])
        buffer = io.BytesIO()
        pq.write_table(table, buffer)
        content = buffer.getvalue()
        path = self._folder / _name_of(content)
        with replacing(path) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if hasattr(os, "O_DIRECTORY"):  # so that its name is durable too
            descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        return path


def _name_of(content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()}.parquet"


def _line_of(row: Row) -> dict[str, Plain]:
    """Return a row as it stands in a file."""
    meta = (row.key, row.question, row.code, row.at, row.seconds, row.machine, row.versions)
    return {**dict(zip(_META, meta, strict=True)), **row.values}


def _row_of(line: Mapping[str, Any]) -> Row:
    values = {name: value for name, value in line.items() if not name.startswith("_")}
    key, question, code, at, seconds, machine, versions = (line[name] for name in _META)
    return Row(key, question, code, at, seconds, machine, versions, values)


def _of_one_schema(rows: Iterable[Row]) -> list[list[Row]]:
    """Return rows in groups whose columns each have one type, so that no integer becomes a float."""
    groups: list[tuple[dict[str, type], list[Row]]] = []
    for row in rows:
        types = {name: type(value) for name, value in row.values.items() if value is not None}
        for known, members in groups:
            if row.values.keys() == members[0].values.keys() and all(
                known.get(name, kind) is kind for name, kind in types.items()
            ):
                known.update(types)
                members.append(row)
                break
        else:
            groups.append((types, [row]))
    return [members for _, members in groups]
