"""Examinations that the processes of one run share: the first one to ask computes it for all.

Only aggregates are shared, as text in a private folder that xdist's controller makes and removes. While one process
computes, the others wait for its lock, but never without a limit: it may have been stopped, and no system takes a lock
away from a stopped process. Where there can be no lock at all (a full disk, a folder that cannot be written to), there
is nobody to wait for either.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from pytest_draft.bounded import stamp_of
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.storage import as_text, from_text, write_atomically
from pytest_draft.isolation import LOAD_SECONDS, START_SECONDS, grace_of

FOLDER = "draft_shared_folder"
"""Under this name, xdist's controller gives its workers the folder where they share what they found out."""

INTERRUPTED = "interrupted"
"""A file of this name in that folder shows the workers, which xdist keeps from Ctrl-C, that there was one."""

_LOOK_SECONDS = 0.5  # between two looks at whether the wait is to end

Stamps = tuple[tuple[int, int, int, int] | None, ...]


def stamps(case: Case) -> Stamps:
    """Return what changes when a case's files do: inode, size and times of change of each.

    The last, which nobody can set, shows a file that was put away and back, too.
    """
    found: list[tuple[int, int, int, int] | None] = []
    for path in case.files.values():
        try:
            found.append(stamp_of(Path(path)))
        except OSError:  # reading it will say what is wrong
            found.append(None)
    return tuple(found)


@dataclass(frozen=True)
class Shared:
    """Examinations that the processes of one run share."""

    folder: Path | None
    """None in a run of one process."""

    @classmethod
    def of(cls, config: pytest.Config) -> Shared:
        """Return what the controller shares with this process."""
        folder = getattr(config, "workerinput", {}).get(FOLDER)
        return cls(Path(folder) if folder else None)

    def raise_if_interrupted(self, *_: object) -> None:
        """Raise KeyboardInterrupt where there was one on the controller."""
        if self.folder is not None and (self.folder / INTERRUPTED).exists():
            raise KeyboardInterrupt

    def once(self, case: Case, compute: Callable[[], Examination]) -> Examination:
        """Return a case's examination; the first process to ask computes it, the others wait.

        Where that one is stopped, or can share nothing, the others compute it themselves.
        """
        if self.folder is None:
            return compute()
        name = hashlib.sha256(repr((case, stamps(case))).encode()).hexdigest()
        path = self.folder / f"{name}.json"
        with locked(self.folder / f"{name}.lock", longest_examination(case), self.raise_if_interrupted):
            self.raise_if_interrupted()
            with suppress(OSError, ValueError):  # nobody has shared it, or what was written is not whole
                return from_text(case, path.read_text(encoding="utf-8"))
            found = compute()
            with suppress(OSError):  # no room: the others find out themselves
                write_atomically(path, as_text(found))
            return found


@contextmanager
def locked(path: Path, seconds: float, while_waiting: Callable[[], object] = lambda: None) -> Iterator[bool]:
    """Hold a lock until the ``with`` block ends, where that is possible.

    Parameters
    ----------
    path : Path
        Of the lock's file.
    seconds : float
        The longest wait for whoever holds it.
    while_waiting : callable
        Called now and then while waiting; it may raise to end the wait.

    Yields
    ------
    bool
        Whether it is held; if not, another process may do the same work at the same time, and nothing may break by it.
    """
    lock, held, deadline = FileLock(path), False, time.monotonic() + seconds
    try:
        with suppress(OSError, NotImplementedError):  # there can be none; `Timeout` is an OSError, too
            while not held:
                left = deadline - time.monotonic()
                try:
                    lock.acquire(timeout=max(0.0, min(left, _LOOK_SECONDS)))
                    held = True
                except Timeout:
                    while_waiting()
                    if left <= 0.0:
                        break
        yield held
    finally:
        if held:
            with suppress(OSError):
                lock.release()


def longest_examination(case: Case) -> float:
    """Return the seconds after which another process's examination of a case has ended, unless it was stopped.

    Code that is compiled the first time may take longer; then two processes find out the same.
    """
    before = 0.0 if case.function is None else START_SECONDS + LOAD_SECONDS
    return before + START_SECONDS + case.seconds + grace_of(case.seconds)
