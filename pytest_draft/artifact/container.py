"""Opens a model file once: reads, hashes and unpacks its bytes within limits."""

from __future__ import annotations

import bz2
import errno
import io
import lzma
import os
import re
import stat
import zlib
from collections.abc import Callable
from pathlib import Path

from pytest_draft.artifact.budget import Limits
from pytest_draft.bounded import archived, opened
from pytest_draft.errors import ArtifactTooBigError, CorruptArtifactError, UnsupportedArtifactError

_CHUNK = 4 * 2**20
"""Bytes that are read or unpacked between two looks at the limits."""

_MOST_AT_ONCE = 2**30
"""Bytes that one call reads: systems allow about 2 GiB."""


class Stream(io.BytesIO):
    """The unpacked bytes, read once from front to back.

    Large arrays are handed out as views (`take`), everything else through the file interface that
    `pickletools` reads from.
    """

    def __init__(self, data: bytes, *, line_bytes: int, unpacked: bool) -> None:
        super().__init__(data)
        self._view = memoryview(data)
        self._line_bytes = line_bytes
        self._unpacked = unpacked

    @property
    def size(self) -> int:
        """Number of bytes in all."""
        return len(self._view)

    @property
    def remaining(self) -> int:
        """Number of bytes that are still to be read."""
        return len(self._view) - self.tell()

    def where(self, position: int | None = None) -> str:
        """Return a position, or the current one, as words for a message."""
        at = self.tell() if position is None else position
        return f"byte {at} of {self.size}{' unpacked' if self._unpacked else ''}"

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read one line; a line that is too long is refused before it is interpreted."""
        line = super().readline(self._line_bytes)
        if len(line) >= self._line_bytes:
            raise ArtifactTooBigError(f"a text of more than {self._line_bytes} bytes in one line ({self.where()})")
        return line

    def take(self, size: int, what: str) -> memoryview:
        """Return the next `size` bytes without copying them."""
        start = self.tell()
        if size > self.remaining:
            raise CorruptArtifactError(f"the file ends inside {what} ({self.where()}): copy or train it again")
        self.seek(start + size)
        return self._view[start : start + size]


def load(path: str | bytes | os.PathLike[str], limits: Limits) -> bytes:
    """Read a regular file through one descriptor, without ever blocking on a FIFO or a device; a folder as a tar."""
    descriptor = _open(path)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            return _packed(Path(os.fsdecode(path)), limits)
        if not stat.S_ISREG(status.st_mode):
            raise UnsupportedArtifactError(f"it is {_file_kind(status.st_mode)}: give the path of a model file")
        return _read_all(descriptor, status.st_size, limits.file_bytes)
    finally:
        os.close(descriptor)


def _packed(folder: Path, limits: Limits) -> bytes:
    try:
        return b"".join(archived(folder, limits.file_bytes))
    except PermissionError:
        raise UnsupportedArtifactError("it is a folder of which not all can be read") from None
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise _too_long(limits.file_bytes) from None
        raise CorruptArtifactError(f"it is a folder, and reading it failed ({_errno(error)})") from None


def _open(path: str | bytes | os.PathLike[str]) -> int:
    try:
        return opened(path)
    except FileNotFoundError:
        raise UnsupportedArtifactError("no such file: check the path, or build the model first") from None
    except IsADirectoryError:
        raise UnsupportedArtifactError("it is a directory: give the path of a model file") from None
    except PermissionError:
        raise UnsupportedArtifactError("no permission to read it") from None
    except ValueError:
        raise UnsupportedArtifactError("this is not a path") from None
    except OSError as error:
        raise UnsupportedArtifactError(f"it cannot be opened ({_errno(error)})") from None


def _read_all(descriptor: int, expected: int, limit: int) -> bytes:
    """Return all bytes; at once where the file is as long as it says, so that none is copied."""
    if expected > limit:
        raise _too_long(limit)
    chunks: list[bytes] = []
    size = 0
    while True:
        try:
            chunk = os.read(descriptor, max(_CHUNK, min(expected - size, _MOST_AT_ONCE)))
        except OSError as error:
            raise CorruptArtifactError(f"reading it failed at byte {size} ({_errno(error)})") from None
        if not chunk:
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)
        size += len(chunk)
        if size > limit:
            raise _too_long(limit)
        chunks.append(chunk)


def _too_long(limit: int) -> ArtifactTooBigError:
    return ArtifactTooBigError(
        f"the file has more than {limit:,} bytes, the most that are read: fewer trees, or fewer leaves with "
        "max_leaf_nodes or min_samples_leaf, make it smaller, and tell less"
    )


def _errno(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "unknown error")


def _file_kind(mode: int) -> str:
    kinds = (
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((name for test, name in kinds if test(mode)), "not a regular file")


class _Zlib:
    """`zlib.decompressobj` behind the interface of the decompressors of `bz2` and `lzma`."""

    def __init__(self, window_bits: int) -> None:
        self._inner = zlib.decompressobj(window_bits)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = 0) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


_Decompressor = _Zlib | bz2.BZ2Decompressor | lzma.LZMADecompressor


def _lzma(limits: Limits) -> _Decompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_AUTO, memlimit=limits.lzma_memory)


# By first bytes, as joblib tells them apart; the file's name says nothing.
_COMPRESSED: tuple[tuple[bytes, str, Callable[[Limits], _Decompressor]], ...] = (
    (b"\x1f\x8b", "gzip", lambda limits: _Zlib(31)),
    (b"x", "zlib", lambda limits: _Zlib(15)),
    (b"BZh", "bz2", lambda limits: bz2.BZ2Decompressor()),
    (b"\xfd7zXZ", "xz", _lzma),
    (b"]\x00", "lzma", _lzma),
)

_UNSUPPORTED: tuple[tuple[bytes, str], ...] = (
    (b"\x04\x22\x4d\x18", "lz4 compression is not supported: save it with compress=3 instead"),
    (b"ZF", "joblib before 0.10 wrote it: load it with that version and save it with a current one"),
    (b"version https://git-lfs", "it is a Git LFS pointer, not the model: run git lfs pull"),
    (b"\x89HDF", "it is an HDF5 file, not a scikit-learn model"),
    (b"<", "it is a web page or XML, not a model: check how it was downloaded"),
)


def beginning(packed: bytes, size: int, limits: Limits) -> bytes:
    """Return the first bytes of a file, unpacked where it is compressed."""
    for magic, _, decompressor in _COMPRESSED:
        if packed.startswith(magic):
            try:
                return decompressor(limits).decompress(packed[:_CHUNK], size)
            except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError):
                return b""
    return packed[:size]


def whole(packed: bytes, limits: Limits) -> bytes:
    """Return a file's bytes, unpacked where it is compressed."""
    for magic, name, decompressor in _COMPRESSED:
        if packed.startswith(magic):
            return _decompress(packed, name, decompressor(limits), limits, limits.unpacked(len(packed)))
    return packed


_GZIP_HEADER = re.compile(rb"\x1f\x8b\x08(?:\0.{6}|\x08.{6}[\w.+ -]{1,64}\0)", re.DOTALL)
"""A gzip header with no more than the file's name."""


def unpack(packed: bytes, limits: Limits) -> Stream:
    """Return the pickle of a model file, which is recognised by its first bytes and unpacked."""
    if not packed:
        raise CorruptArtifactError("the file is empty: copy or train it again")
    for magic, message in _UNSUPPORTED:
        if packed.startswith(magic):
            raise UnsupportedArtifactError(message)
    data = whole(packed, limits)
    if packed.startswith(b"\x1f\x8b") and not _GZIP_HEADER.match(packed):
        raise UnsupportedArtifactError(
            "its gzip header has a comment or extra fields, or a long name: save it with joblib"
        )
    return Stream(_checked_pickle(data), line_bytes=limits.line_bytes, unpacked=data is not packed)


def _checked_pickle(data: bytes) -> bytes:
    if data[:1] != b"\x80":
        raise UnsupportedArtifactError(
            "it does not begin like a model saved by joblib, pickle (protocol 2 to 5), skops or skl2onnx, nor is it a "
            "rule list as text"
        )
    return data


def unpack_member(packed: bytes, *, bz2_packed: bool, limits: Limits, most: int) -> bytes:
    """Unpack a member of a zip archive.

    Parameters
    ----------
    bz2_packed : bool
        Whether it is packed by bz2; else by deflate.
    most : int
        Bytes that may come out.
    """
    return _decompress(packed, "zip", bz2.BZ2Decompressor() if bz2_packed else _Zlib(-15), limits, most)


def _decompress(packed: bytes, name: str, decompressor: _Decompressor, limits: Limits, limit: int) -> bytes:
    chunks: list[bytes] = []
    size = consumed = 0
    while not decompressor.eof:
        piece = b""
        if decompressor.needs_input:
            piece = packed[consumed : consumed + _CHUNK]
            consumed += len(piece)
            if not piece:
                raise CorruptArtifactError(f"its {name} data ends too early: copy or train it again")
        chunk = _next_chunk(decompressor, piece, name, limits)
        size += len(chunk)
        if size > limit:
            raise ArtifactTooBigError(f"its {len(packed)} bytes of {name} data unpack to more than {limit} bytes")
        chunks.append(chunk)
    trailing = len(decompressor.unused_data) + len(packed) - consumed
    if trailing:
        raise CorruptArtifactError(f"{trailing} bytes follow the end of its {name} data")
    return b"".join(chunks)


def _next_chunk(decompressor: _Decompressor, piece: bytes, name: str, limits: Limits) -> bytes:
    try:
        return decompressor.decompress(piece, _CHUNK)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
        if isinstance(error, lzma.LZMAError) and "limit" in str(error).lower():
            limit = limits.lzma_memory
            raise ArtifactTooBigError(f"its {name} data asks for more than {limit} bytes of memory") from None
        raise CorruptArtifactError(f"its {name} data is damaged: copy or train it again") from None
