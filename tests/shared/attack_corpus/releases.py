"""Hostile releases: tar and zip archives of several files."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Iterator

from attack_corpus.entry import Hostile, corrupt, too_big, unsupported


def tarred(members: list[tuple[str, bytes]], kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    """Return a tar archive."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size, member.type, member.linkname = len(content), kind, link
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


def zipped(members: list[tuple[str, bytes]]) -> bytes:
    """Return a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def files() -> Iterator[Hostile]:
    """Yield the files."""
    call = b"cposix\nsystem\n(Vtouch ran\ntR."
    yield unsupported("release: a pickle that calls", tarred([("model.pkl", b"\x80\x04" + call)]), "holds no model")
    yield unsupported("release: that in a zip", zipped([("model.pkl", b"\x80\x04" + call)]), "holds no model")
    yield unsupported("release: an outside name", tarred([("../../ran", b"touched")]), "holds no model")
    for kind, what in ((tarfile.SYMTYPE, "link"), (tarfile.LNKTYPE, "hard link"), (tarfile.CHRTYPE, "device")):
        linked = tarred([("model.pkl", b"")], kind, "/etc/passwd")
        yield unsupported(f"release: a {what}", linked, "holds no model")
    yield corrupt("release: two members of one name", tarred([("a", b"a"), ("a", b"b")]), "two members of one name")
    yield too_big("release: many members", tarred([(f"{i}", b"") for i in range(2_100)]), "more than 2,000")
    yield too_big("release: many members in a zip", zipped([(f"{i}", b"") for i in range(2_100)]), "more than 2,000")
    whole = tarred([("a.txt", b"text" * 1000)])
    lying = bytearray(whole)
    lying[124:135] = b"77777777777"  # the size of 8 GiB
    lying[148:156] = b"        "
    lying[148:156] = b"%06o\0 " % sum(lying[:512])
    yield corrupt("release: a member of 8 GiB that is not there", bytes(lying), "damaged")
    size = 80 * 2**20
    for name, bomb in (("gzip", gzip.compress), ("xz", lzma.compress)):
        yield too_big(f"release: a bomb by {name}", bomb(tarred([("a", bytes(size))])), "unpack to more than")
        inside = tarred([("a.csv.gz", gzip.compress(bytes(size)))] * 1)
        yield unsupported(f"release: a bomb in it, by {name}", bomb(inside), "holds no model")
    for _ in range(8):
        whole = zipped([("a.zip", whole)])
    yield unsupported("release: archives in each other", whole, "holds no model")
