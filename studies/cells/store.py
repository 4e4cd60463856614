"""Rows that are kept: in go rows of finished cells, out come the same rows, of all runs so far.

A store's folder holds a file for each study. Each finished cell is a line of it: the hash of some JSON, and the JSON.
Lines are appended under a lock, and each is on the disk before the next cell counts, so several runs may read and write
at once, and damage shows.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock

from pytest_draft.bounded import what_failed
from pytest_draft.errors import UsageError, one_line
from studies.cells.study import Plain


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
        Takes a line about what is damaged.

    Raises
    ------
    UsageError
        Where nothing can be kept there.
    """

    def __init__(self, folder: Path, study: str, tell: Callable[[str], None]) -> None:
        self._path = folder / f"{study}.jsonl"
        self._tell = tell
        self._lock = FileLock(folder / f"{study}.lock")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._lock:
                self._path.touch()
        except OSError as error:
            raise UsageError(f"{one_line(folder)}: {what_failed(error)}; name another folder with --store") from None

    def rows(self) -> list[Row]:
        """Return all rows, the latest of each key, the earliest first; damaged lines are told and left out."""
        found, damaged = [], 0
        with self._lock:
            lines = self._path.read_bytes().splitlines()
        for line in lines:
            content = line.partition(b" ")[2]
            if line == _written(content):
                found.append(Row(**json.loads(content)))
            else:
                damaged += 1
        if damaged:
            self._tell(
                f"{one_line(self._path)}: {damaged} of {len(lines)} lines damaged; what stood there is computed again"
            )
        latest = {row.key: row for row in sorted(found, key=lambda row: row.at)}
        return sorted(latest.values(), key=lambda row: (row.at, row.key))

    def add(self, row: Row) -> None:
        """Keep one row, durably."""
        with self._lock, self._path.open("r+b") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                if file.read() != b"\n":  # whoever wrote here last was killed
                    file.write(b"\n")
            file.write(_written(json.dumps(asdict(row)).encode()) + b"\n")
            file.flush()
            os.fsync(file.fileno())


def _written(content: bytes) -> bytes:
    """Return a line without its end."""
    return hashlib.sha256(content).hexdigest().encode() + b" " + content
