"""Zip archives in memory: members by name, unpacked within limits and never extracted to disk."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping

from pytest_draft.artifact.budget import Limits
from pytest_draft.artifact.container import unpack_member
from pytest_draft.errors import ArtifactTooBigError, CorruptArtifactError, UnsupportedArtifactError, one_line

MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
"""First bytes of an archive, and of an empty one."""

ENTRY = b"PK\x01\x02"
"""First bytes of each member's place in the directory."""

_HEADER = struct.Struct("<4s5H3L2H")
_DESCRIPTOR = 24
"""Most bytes between two members: what a writer adds that could not go back in the file."""

_IN_DIRECTORY = struct.Struct("<4s2B5H3L5H2L")
_LONGEST_WRITING = 3600
"""Seconds from the first member's date to the last one's."""

_ENCRYPTED, _LONG = 0x1, 2**32 - 1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)


class Archive:
    """The members of a zip archive.

    Parameters
    ----------
    packed : bytes
        All of the file.

    Attributes
    ----------
    size : int
        Bytes of all members together, unpacked.
    is_as_written : bool
        Whether headers, directory and what is between are what `zipfile` writes, so that nothing else stands there.
    """

    def __init__(self, packed: bytes, limits: Limits) -> None:
        self._packed = memoryview(packed)
        self._limits = limits
        if packed.count(ENTRY) > limits.members:
            raise ArtifactTooBigError(f"it has more than {limits.members} members")
        try:
            with zipfile.ZipFile(io.BytesIO(packed)) as archive:
                infos, comment, end = archive.infolist(), archive.comment, archive.start_dir
        except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, struct.error, OSError):
            raise CorruptArtifactError("its zip directory is damaged: copy or save it again") from None
        if comment:
            raise CorruptArtifactError(f"{len(comment)} bytes of comment follow the end of its members")
        self._infos: Mapping[str, zipfile.ZipInfo] = {info.filename: info for info in infos}
        if len(self._infos) != len(infos):
            raise CorruptArtifactError("it has two members of one name")
        self.size = sum(info.file_size for info in infos)
        limit = limits.unpacked(len(packed))
        if self.size > limit:
            raise ArtifactTooBigError(f"its {len(packed)} bytes unpack to more than {limit} bytes")
        self._starts = self._checked_places(infos, end)
        self.is_as_written = self._is_as_written(infos, end)
        self._read: dict[str, memoryview] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._infos

    @property
    def names(self) -> tuple[str, ...]:
        """The members' names, in the order of the directory."""
        return tuple(self._infos)

    @property
    def unread(self) -> int:
        """Number of members that were not read."""
        return len(self._infos) - len(self._read)

    def read(self, name: str) -> memoryview:
        """Return a member's bytes, unpacked once; of one that is not packed without copying them."""
        if name in self._read:
            return self._read[name]
        info = self._infos.get(name)
        if info is None:
            raise CorruptArtifactError(f"it refers to a member that it does not have ({one_line(name, 80)})")
        start = self._starts[name]
        content = self._packed[start : start + info.compress_size]
        if info.compress_type != zipfile.ZIP_STORED:
            by_bz2 = info.compress_type == zipfile.ZIP_BZIP2
            unpacked = unpack_member(bytes(content), bz2_packed=by_bz2, limits=self._limits, most=info.file_size)
            content = memoryview(unpacked)
        if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            raise CorruptArtifactError(f"its member {one_line(name, 80)} is damaged: copy or save it again")
        self._read[name] = content
        return content

    def _is_as_written(self, infos: list[zipfile.ZipInfo], end: int) -> bool:
        """Return whether what stands around the members is as `zipfile` writes it, at one time and of all alike."""
        entries, seconds = [], []
        at, good = 0, len({(i.create_version, i.create_system, i.compress_type, i.external_attr) for i in infos}) < 2
        for info in infos:
            year, month, day, hour, minute, second = info.date_time
            seconds.append((((year * 12 + month) * 31 + day) * 24 + hour) * 3600 + minute * 60 + second)
            when = hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day
            name, sizes = info.filename.encode(), (info.compress_size, info.file_size)
            known = info.extract_version, info.flag_bits, info.compress_type, *when, info.CRC
            plain = _HEADER.pack(MAGIC[0], *known, *sizes, len(name), 0) + name
            long = _HEADER.pack(MAGIC[0], *known, _LONG, _LONG, len(name), 20) + name
            start = self._starts[info.filename]
            good &= self._packed[at:start] in (plain, long + struct.pack("<2H2Q", 1, 16, *sizes[::-1]))
            alike = ENTRY, info.create_version, info.create_system
            entries.append(
                _IN_DIRECTORY.pack(*alike, *known, *sizes, len(name), *[0] * 4, info.external_attr, at) + name
            )
            at = start + info.compress_size
        directory = b"".join(entries)
        last = struct.pack("<4s4H2LH", MAGIC[1], 0, 0, len(infos), len(infos), len(directory), end, 0)
        at_once = not seconds or (seconds == sorted(seconds) and seconds[-1] - seconds[0] <= _LONGEST_WRITING)
        return good and at_once and self._packed[end:] == directory + last

    def _checked_places(self, infos: list[zipfile.ZipInfo], end: int) -> dict[str, int]:
        """Return where the bytes of each member start; they follow each other with nothing between."""
        starts, reached = {}, 0
        for info in sorted(infos, key=lambda info: info.header_offset):
            if info.flag_bits & _ENCRYPTED:
                raise UnsupportedArtifactError("it is an encrypted zip archive: save the model without a password")
            if info.compress_type not in _METHODS:
                raise UnsupportedArtifactError(
                    "its members are packed in a way that is not supported: save it with compression=ZIP_DEFLATED"
                )
            at = info.header_offset
            if not reached <= at <= reached + _DESCRIPTOR * bool(reached) or at + _HEADER.size > end:
                raise CorruptArtifactError("its members overlap, or other bytes stand between them: save it again")
            header = _HEADER.unpack_from(self._packed, at)
            start = at + _HEADER.size + header[9] + header[10]
            reached = start + info.compress_size
            if header[0] != MAGIC[0] or reached > end:
                raise CorruptArtifactError("its zip directory is damaged: copy or save it again")
            starts[info.filename] = start
        if not reached <= end <= reached + _DESCRIPTOR:
            raise CorruptArtifactError("other bytes stand behind its members: save it again")
        return starts
