"""Files that were sent to a worker, held in its memory: a path to read each at. Nothing is written to its disk.

Each is an anonymous file in memory (``memfd_create``), which a child opens by its descriptor in this process. What was
not used for the longest time goes first.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pytest_draft.bounded import sha256
from pytest_draft.cluster.order import File

SILENT_SECONDS = 60.0
"""A file of which no piece has come for so long does not come any more."""

_LOOK_SECONDS = 0.2


class RefusedError(Exception):
    """A worker cannot examine a case; its text is one line."""


class Piece(bytes):
    """Part of a file, which can hold rows: a log that shows arguments shows none."""

    def __repr__(self) -> str:
        return f"<{len(self):,} bytes: not shown>"


class _Coming:
    """A file of which pieces are missing."""

    def __init__(self, file: File) -> None:
        self.descriptor = os.memfd_create("pytest-draft", os.MFD_CLOEXEC)
        self.size = file.size
        self.received = 0
        self.digest = hashlib.sha256()
        self.latest = time.monotonic()
        self.asked: set[str] = set()  # the topics that know
        self.is_wrong = False


class HeldFiles:
    """The files that this process was sent, by their SHA-256."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, tuple[int, int]] = OrderedDict()  # descriptor and size
        self._coming: dict[str, _Coming] = {}
        self._used: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._known: dict[tuple[str, int, int, int, int], str] = {}

    @contextmanager
    def read_at(
        self,
        files: Iterable[File],
        topic: str,
        most: int,
        ask: Callable[[str], object],
        while_waiting: Callable[[], object],
    ) -> Iterator[dict[str, str]]:
        """Yield where files are read that do not lie here as they do there, by their path; until the block ends.

        Parameters
        ----------
        topic : str
            Of who has them.
        most : int
            Bytes of all that is kept besides what is in use.
        ask : callable
            Called with the SHA-256 of a file that is to be sent.
        while_waiting : callable
            Called now and then while one is awaited; it may raise to end the wait.

        Raises
        ------
        RefusedError
            Where one cannot be had.
        """
        with ExitStack() as used:
            yield {
                file.path: used.enter_context(self._one(file, topic, most, ask, while_waiting))
                for file in files
                if not self._lies_here(file)
            }

    def receive(self, sha256: str, offset: int, piece: bytes) -> int:
        """Take a piece of a file that was asked for, and return where the next one begins; -1 for no more."""
        with self._changed:
            coming = self._coming.get(sha256)
            if coming is None:
                return -1
            if offset == coming.received and offset + len(piece) <= coming.size:
                rest = memoryview(piece)
                while rest:
                    rest = rest[os.write(coming.descriptor, rest) :]
                coming.digest.update(piece)
                coming.received += len(piece)
                coming.latest = time.monotonic()
            if coming.received < coming.size:
                return coming.received
            del self._coming[sha256]
            if coming.digest.hexdigest() == sha256:
                self._files[sha256] = (coming.descriptor, coming.size)
            else:
                os.close(coming.descriptor)
                coming.is_wrong = True
            self._changed.notify_all()
            return -1

    def close(self) -> None:
        """Give back the memory of all that nobody uses."""
        with self._changed:
            self._make_room(0, 0)

    def _lies_here(self, file: File) -> bool:
        """Return whether the same path is the same file here."""
        try:
            path = Path(file.path)
            status = path.stat()
            if status.st_size != file.size or not path.is_absolute():
                return False
            key = (file.path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            if key not in self._known:
                self._known[key] = sha256(path, file.size)
            return self._known[key] == file.sha256
        except (OSError, ValueError):
            return False

    @contextmanager
    def _one(
        self, file: File, topic: str, most: int, ask: Callable[[str], object], while_waiting: Callable[[], object]
    ) -> Iterator[str]:
        """Yield where a file is read that was sent, after it has come."""
        if sys.platform != "linux" or not hasattr(os, "memfd_create"):
            raise RefusedError(
                f"its files do not lie there as they do here, and no file can be held in memory only on "
                f"{sys.platform}: put them where all workers read them by the same path"
            )
        if file.size > most:
            raise RefusedError(
                f"one of its files does not lie there as it does here, and its {file.size / 1e6:,.0f} MB are more than "
                f"the {most / 1e6:,.0f} MB that are held there: put it where all workers read it by the same path"
            )
        with self._changed:
            coming: _Coming | None = None
            while file.sha256 not in self._files:
                if coming is not None and coming.is_wrong:
                    raise RefusedError("one of its files was changed while the run went on: run it again")
                if file.sha256 not in self._coming:
                    self._make_room(file.size, most)
                    self._coming[file.sha256] = _Coming(file)
                coming = self._coming[file.sha256]
                if topic not in coming.asked:
                    coming.asked.add(topic)
                    ask(file.sha256)
                while_waiting()
                if time.monotonic() - coming.latest > SILENT_SECONDS:
                    os.close(self._coming.pop(file.sha256).descriptor)
                    raise RefusedError(f"one of its files did not come within {SILENT_SECONDS:g} s")
                self._changed.wait(_LOOK_SECONDS)
            descriptor, _ = self._files[file.sha256]
            self._files.move_to_end(file.sha256)
            self._used[file.sha256] += 1
        try:
            yield f"/proc/{os.getpid()}/fd/{descriptor}"
        finally:
            with self._changed:
                self._used[file.sha256] -= 1

    def _make_room(self, size: int, most: int) -> None:
        """Let go what was not used for the longest time, until a file fits beside what is in use."""
        held = sum(size for _, size in self._files.values())
        for name in list(self._files):
            if held + size <= most and most:
                break
            if not self._used[name]:
                descriptor, freed = self._files.pop(name)
                os.close(descriptor)
                held -= freed
