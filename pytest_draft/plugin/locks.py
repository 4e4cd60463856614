"""File locks that nobody waits for without a limit.

Whoever holds one may have been stopped, and no system takes a lock away from a stopped process. Where there can be no
lock at all (a full disk, a folder that cannot be written to), there is nobody to wait for either.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from pytest_draft.facts.case import Case
from pytest_draft.isolation import LOAD_SECONDS, START_SECONDS, grace_of

_LOOK_SECONDS = 0.5  # between two looks at whether the wait is to end


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
