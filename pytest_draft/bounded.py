"""Reads files only up to a limit: their bytes, or their SHA-256; a folder as a tar archive of its files.

Whoever reads here does so in the process of pytest itself, where nothing else caps what a file may take: a file can be
a device, sparse and of any length, or grow while it is read.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import tarfile
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
    """Return the SHA-256 of a regular file, or of a folder as an archive, as hexadecimal digits.

    Read piece by piece; raises as `content` does.
    """
    digest = hashlib.sha256()
    is_folder = os.path.isdir(ELSEWHERE.get(os.fspath(path), path))  # noqa: PTH112
    for chunk in archived(path, most) if is_folder else _chunks(path, most):
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


def archived(folder: Path, most: int) -> Iterator[bytes]:
    """Yield a folder as a tar archive that depends on its files' names and bytes alone, piece by piece.

    Links to files are followed; of all else that is no regular file only the name and type are in it.
    """
    for name, path, status in _inside(folder):
        member = tarfile.TarInfo(name)
        member.mode = 0
        if not stat.S_ISREG(status.st_mode):
            member.type = tarfile.SYMTYPE if stat.S_ISDIR(status.st_mode) else tarfile.FIFOTYPE
            yield member.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
            continue
        member.size = status.st_size
        yield member.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
        size = 0
        for chunk in _chunks(path, min(most, status.st_size)):
            size += len(chunk)
            yield chunk
        if size != status.st_size:
            raise OSError(errno.EAGAIN, f"{name} changes while it is read")
        most -= size
        yield bytes(-size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


def stamp_of(path: Path) -> tuple[int, int, int, int]:
    """Return what changes when a file does, or one in a folder: inode, size and times of change."""
    status = path.stat()
    stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    if not stat.S_ISDIR(status.st_mode):
        return stamp
    digest = hashlib.sha256()
    for name, _, one in _inside(path):
        digest.update(repr((name, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns)).encode())
    return (*stamp[:3], int.from_bytes(digest.digest()[:8]))


def _inside(folder: Path) -> Iterator[tuple[str, Path, os.stat_result]]:
    """Yield the names in a folder and in those below, sorted, but for folders; links to folders are not followed."""
    with os.scandir(folder) as entries:
        below = sorted(entries, key=lambda entry: entry.name)
    for entry in below:
        if entry.is_dir(follow_symlinks=False):
            for name, path, status in _inside(Path(entry.path)):
                yield f"{entry.name}/{name}", path, status
        else:
            linked = entry.is_symlink() and not Path(entry.path).exists()
            yield entry.name, Path(entry.path), entry.stat(follow_symlinks=not linked)


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
