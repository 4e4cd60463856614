"""A release of several files: a folder or an archive becomes its members, none of which is written to a disk.

A folder comes as a tar archive (`pytest_draft.bounded`). Archives in it are opened too, and files that are compressed.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field

from pytest_draft.artifact.budget import Limits
from pytest_draft.artifact.container import beginning, whole
from pytest_draft.artifact.skops.archive import is_archive, is_skops
from pytest_draft.artifact.skops.zip_archive import Archive
from pytest_draft.errors import ArtifactError, ArtifactTooBigError, CorruptArtifactError

_MOST = 2_000
"""Members of a release: a model folder has about ten, a snapshot some hundred."""

_DEEPEST = 3
"""Archives in each other."""

_TAR = (257, b"ustar")
"""Where a tar archive has its mark, and which."""

PICKLE = b"\x80"


@dataclass(frozen=True, eq=False)
class Member:
    """One file of a release."""

    name: str
    """Its path in the release, through archives in it."""
    content: bytes = field(default=b"", repr=False)
    """Unpacked."""
    why: str | None = None
    """Why nothing is known of what it holds; None where that is to be found out."""


def members_of(packed: bytes, limits: Limits) -> list[Member] | None:
    """Return the files of a release, in order; None where a file is no archive.

    Raises
    ------
    ArtifactError
        Where the archive is damaged, too big, or protected by a password.
    """
    if not _holds_files(packed, limits):
        return None
    members: list[Member] = []
    size, most = 0, limits.unpacked(len(packed))
    for member in _inside("", packed, limits, 0):
        members.append(member)
        size += len(member.content)
        if len(members) > _MOST:
            raise _too_many()
        if size > most:
            raise ArtifactTooBigError(f"its {len(packed):,} bytes unpack to more than {most:,} bytes")
    return members


def _holds_files(packed: bytes, limits: Limits) -> bool:
    at, mark = _TAR
    return beginning(packed, at + len(mark), limits)[at:] == mark or (
        is_archive(packed) and not is_skops(packed, limits)
    )


def _inside(prefix: str, packed: bytes, limits: Limits, depth: int) -> Iterator[Member]:
    """Yield the files of an archive, and of those in it."""
    files = _of_zip(packed, limits) if is_archive(packed) else _of_tar(whole(packed, limits))
    for name, content in files:
        path = prefix + name
        if content is None:
            yield Member(path, why="a link or no regular file")
            continue
        try:
            if _holds_files(content, limits):
                if depth + 1 >= _DEEPEST:
                    yield Member(path, why="an archive in an archive, too deep")
                else:
                    yield from _inside(f"{path}/", content, limits, depth + 1)
                continue
            start = beginning(content, 1, limits)
            yield Member(path, whole(content, limits) if start not in (b"", PICKLE, content[:1]) else content)
        except ArtifactError as error:
            yield Member(path, why=str(error))


def _too_many() -> ArtifactTooBigError:
    return ArtifactTooBigError(f"it has more than {_MOST:,} files: release the model with less beside it")


def _of_zip(packed: bytes, limits: Limits) -> Iterator[tuple[str, bytes]]:
    archive = Archive(packed, limits)
    for name in archive.names:
        if not name.endswith("/"):
            yield name, bytes(archive.read(name))


def _of_tar(data: bytes) -> Iterator[tuple[str, bytes | None]]:
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:", errors="replace") as archive:
            seen: set[str] = set()
            for member in archive:
                if member.name in seen:
                    raise CorruptArtifactError("it has two members of one name")
                seen.add(member.name)
                if len(seen) > 2 * _MOST:  # folders count, too
                    raise _too_many()
                if member.isdir():
                    continue
                end = member.offset_data + member.size
                plain = member.isreg() and not member.issparse() and end <= len(data)
                yield member.name.removeprefix("./"), data[member.offset_data : end] if plain else None
    except (tarfile.TarError, EOFError, OSError, ValueError, OverflowError):
        raise CorruptArtifactError("its tar archive is damaged: pack it again") from None
