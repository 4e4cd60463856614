"""Writes files: an open file takes the place of its path only when it is complete.

Run as root, or in a folder that others can write to, nothing but a regular file or a new name is ever replaced: links
are resolved first, and the file beside, which takes the place, has a name that nobody can know before it is there.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock

_ALL, _OWNER = 0o666, 0o600  # the first as the process's umask leaves it


class NotRegularError(OSError):
    """Where a file is to be written stands something else: a folder, a device, a pipe, a link that leads nowhere."""

    def __init__(self) -> None:
        super().__init__("not a regular file")


def place_of(path: str | os.PathLike[str]) -> Path:
    """Return where a file that is written to a path comes to stand: the path without its links.

    Raises
    ------
    NotRegularError
        Where something stands there that is no regular file.
    OSError
        Where nobody can know.
    """
    place = Path(os.path.realpath(path))
    _mode(place)
    return place


@contextmanager
def replacing(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[BinaryIO]:
    """Give a new file to write to and to read from, which then takes the place of what stands at a path.

    Parameters
    ----------
    private : bool
        Whether nobody but the owner may read it. Else it may be read as the file that it replaces, and a new one as the
        process's umask says.

    Raises
    ------
    OSError
        Where it cannot be written, as `NotRegularError` where no regular file stands there. Then, and whatever else is
        raised before it is whole, what stood there stays, and nothing is left beside it.
    """
    place = place_of(path)
    temporary = place.with_name(f".draft-{secrets.token_hex(8)}.tmp")
    exclusive = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, exclusive, _OWNER if private else _ALL)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            mode = _mode(place)
            if mode is not None and not private and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
            yield file
        _mode(place)
        temporary.replace(place)
    finally:
        temporary.unlink(missing_ok=True)


def _mode(place: Path) -> int | None:
    """Return who may do what with a regular file; None where nothing stands there."""
    try:
        status = place.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError
    return stat.S_IMODE(status.st_mode) & 0o777


_LOCK = "in-use.lock"


class PrivateFolder:
    """A folder that nobody else may look into, and that is removed: use it in a ``with`` block.

    What killed runs of this user have left under such a name is removed, too.

    Parameters
    ----------
    prefix : str
        How its name begins.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    @property
    def path(self) -> Path:
        """Where it is."""
        return Path(self._folder.name)

    def __enter__(self) -> PrivateFolder:
        self.remove_abandoned()
        self._folder = tempfile.TemporaryDirectory(prefix=self._prefix, ignore_cleanup_errors=True)
        self._lock = FileLock(self.path / _LOCK)
        with suppress(OSError, NotImplementedError):  # a file system without locks
            self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        self._folder.cleanup()

    def remove_abandoned(self) -> None:
        """Remove the folders that killed runs of this user have left: what is in there can reveal training data."""
        for folder in Path(tempfile.gettempdir()).glob(f"{self._prefix}*"):
            with suppress(OSError):  # it is gone, or in use: `Timeout` is an OSError, too
                status, lock = folder.lstat(), folder / _LOCK
                mine = not hasattr(os, "getuid") or status.st_uid == os.getuid()
                if stat.S_ISDIR(status.st_mode) and mine and lock.is_file():
                    with FileLock(lock, timeout=0):  # the system takes it from whoever ends
                        for left in folder.iterdir():
                            if left != lock:
                                left.unlink()
                    shutil.rmtree(folder)
