"""Reads files only up to a limit: their bytes, or their SHA-256.

Whoever reads here does so in the process of pytest itself, where nothing else caps what a file may take: a file can be
a device, sparse and of any length, or grow while it is read.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

MODEL_BYTES = 4 << 30
"""The largest model file that is read: a larger one is refused, so nobody asks its hash."""

TABLE_BYTES = 16 << 30
"""The largest file of any kind that is hashed; what is larger than a machine's memory is not judged."""

ELSEWHERE: dict[str | bytes, str] = {}
"""By a file's path, where it is read in its place: of the files that a process was sent from another machine."""

_CHUNK = 1 << 20


def content(path: Path, most: int) -> bytes:
    """Return all bytes of a regular file.

    Parameters
    ----------
    most : int
        Bytes.

    Raises
    ------
    OSError
        Where it cannot be read, is no regular file, or holds more.
    """
    return b"".join(_chunks(path, most))


def sha256(path: Path, most: int) -> str:
    """Return the SHA-256 of a regular file as hexadecimal digits, read piece by piece; raises as `content` does."""
    digest = hashlib.sha256()
    for chunk in _chunks(path, most):
        digest.update(chunk)
    return digest.hexdigest()


def opened(path: str | bytes | os.PathLike[str]) -> int:
    """Return a descriptor of a file to read; a FIFO or a device does not block. Raises as ``os.open`` does.

    Every file that is judged is opened here, so that `ELSEWHERE` holds for all of them.
    """
    flags = os.O_RDONLY
    for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOCTTY"):
        flags |= getattr(os, name, 0)
    return os.open(ELSEWHERE.get(os.fspath(path), path), flags)


def what_failed(error: Exception, most: int | None = None) -> str:
    """Return why a file could not be read, up to a limit, or written, in a few words that quote nothing of it."""
    if most is not None and isinstance(error, OSError) and error.errno == errno.EFBIG:
        return f"it is larger than {most / 1e6:,.0f} MB"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return type(error).__name__


def _chunks(path: Path, most: int) -> Iterator[bytes]:
    """Yield the bytes of a regular file."""
    with os.fdopen(opened(path), "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        left = most
        if status.st_size > left:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        while chunk := file.read(_CHUNK):
            left -= len(chunk)
            if left < 0:  # it has grown
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            yield chunk
