"""What compiled code needs: a place to be kept in, and time that no box pays for; in goes numba, nothing comes out.

Numba compiles each function that was not shipped (`shipped_code`) when it is first called, and keeps it where the
package is installed or in the user's cache. Where nothing was shipped that takes a minute or two of a processor on a
new machine, and nothing on the next run: the clock of all time boxes stands still meanwhile, so that the first
judgement gets as far as the second. Where there is neither place, a private folder for temporary files does, and where
there is none either, what is compiled stays in memory.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.caching import Cache
from numba.core.dispatcher import Dispatcher

from pytest_draft.attack.shipped_code import ShippedCode
from pytest_draft.timebox import CLOCK

_NAME = "pytest-draft-compiled"
_VARIABLE = "NUMBA_CACHE_DIR"


class _StopsTheClock(event.Listener):
    """Lets the clock of all time boxes stand still while something is compiled; what that calls lies inside."""

    def on_start(self, event: Any) -> None:
        CLOCK.stop()

    def on_end(self, event: Any) -> None:
        CLOCK.go()


def prepare() -> None:
    """Stop the clock while code is compiled, and find a place for it; to be called once, before there is any."""
    event.register("numba:compile", _StopsTheClock())  # type: ignore[no-untyped-call]
    _read_and_write_where_possible()
    if _has_place():
        return
    for folder in _private_folders():
        _set_place(folder)
        if _has_place():
            return
    _set_place("")
    _keep_in_memory()


def _set_place(folder: str) -> None:
    """Tell numba a folder, in its environment too, at which it looks again when that has changed."""
    numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]
    os.environ[_VARIABLE] = folder


def _has_place() -> bool:
    """Return whether numba finds a place for what this package compiles; else it raises an error."""
    try:
        numba.njit(cache=True)(_has_place)
    except RuntimeError:
        return False
    return True


def _private_folders() -> Iterator[str]:
    """Yield folders that nobody else can write to, as what is in them is run."""
    parents = ["/dev/shm"]
    with suppress(FileNotFoundError):  # no folder for temporary files can be written to
        parents.insert(0, tempfile.gettempdir())
    user = os.getuid() if hasattr(os, "getuid") else None
    for parent in parents:
        folder = Path(parent) / (_NAME if user is None else f"{_NAME}-{user}")
        with suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
            private = found.st_uid == user and not found.st_mode & 0o077
            if stat.S_ISDIR(found.st_mode) and (user is None or private):
                yield str(folder)


def _read_and_write_where_possible() -> None:
    """Let numba look for shipped code, compile anew what it cannot read, and go on where it cannot write.

    Its place can be full or damaged.
    """
    load, save, shipped = Cache.load_overload, Cache.save_overload, ShippedCode()

    def load_where_possible(cache: Any, signature: Any, context: Any) -> Any:
        found = shipped.load(cache, signature, context)
        if found is not None:
            return found
        try:
            return load(cache, signature, context)  # type: ignore[no-untyped-call]
        except Exception:  # whatever a damaged file makes of it
            with suppress(OSError):
                cache.flush()  # so that what is compiled now takes its place
            return None

    def save_where_possible(cache: Any, *arguments: Any) -> None:
        with suppress(OSError):
            save(cache, *arguments)  # type: ignore[no-untyped-call]

    Cache.load_overload = load_where_possible  # type: ignore[method-assign]
    Cache.save_overload = save_where_possible  # type: ignore[method-assign]


def _keep_in_memory() -> None:
    """Let numba compile without keeping where there is no place, in place of an error on import."""
    enable = Dispatcher.enable_caching

    def enable_where_possible(dispatcher: Any) -> None:
        with suppress(RuntimeError):
            enable(dispatcher)

    Dispatcher.enable_caching = enable_where_possible  # type: ignore[method-assign, assignment]
