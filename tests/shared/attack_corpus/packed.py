"""Compressed files that are bombs, cut or damaged: nothing goes in, out come `Hostile` files."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import zlib
from collections.abc import Iterator

from attack_corpus.entry import Hostile, corrupt, dumped, forest, too_big, unsupported

PACKERS = {
    "zlib": lambda content: zlib.compress(content, 1),
    "gzip": lambda content: gzip.compress(content, 1),
    "bz2": lambda content: bz2.compress(content, 1),
    "xz": lambda content: lzma.compress(content, preset=0),
    "lzma": lambda content: lzma.compress(content, format=lzma.FORMAT_ALONE, preset=0),
}
_SIZE = 2**26


def files() -> Iterator[Hostile]:
    honest = dumped(forest())
    for method, pack in PACKERS.items():
        yield too_big(f"a bomb by {method}", pack(b"\x80\x04" + bytes(_SIZE)), f"unpack to more than {_SIZE} bytes")
        inner = pack(honest)
        for outer, pack_again in PACKERS.items():
            yield unsupported(f"{method} in {outer}", pack_again(inner), "does not begin like a model")
        for end in (6, len(inner) // 2, len(inner) - 1):
            yield corrupt(f"the first {end} bytes by {method}", inner[:end], method)
        yield corrupt(f"more behind {method}", inner + b"more", f"4 bytes follow the end of its {method} data")
        yield corrupt(f"twice by {method}", inner * 2, "follow the end of its")
        yield corrupt(f"half a pickle by {method}", pack(honest[: len(honest) // 2]), "the file ends", " unpacked")
        if method != "lzma":  # which has no checksum
            wrong = bytearray(inner)
            wrong[-6 if method == "gzip" else -2] ^= 255
            yield corrupt(f"a wrong checksum by {method}", bytes(wrong), method)
    deep = b"\x80\x04N."
    for _ in range(200):
        deep = zlib.compress(deep)
    yield unsupported("zlib in zlib, 200 times", deep, "does not begin like a model")
    # Bombs of bombs: 20 GB in a few kB, and each layer within its ratio.
    layered = zlib.compress(zlib.compress(b"\x80\x04" + bytes(_SIZE // 4), 9) * 50, 9)
    yield unsupported("a bomb in zlib in zlib", layered, "does not begin like a model")
    for dictionary in (2**29, 2**31, 3 * 2**30):
        header = b"]" + struct.pack("<IQ", dictionary, 100)
        yield too_big(f"lzma with a dictionary of {dictionary} bytes", header + b"\x00" * 100, "bytes of memory")
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**29, "preset": 0}]
    one = lzma.compress(b"\x80\x04N.", format=lzma.FORMAT_XZ, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}])
    yield too_big("xz with a dictionary of 512 MiB", _with_dictionary(one, filters[0]["dict_size"]), "bytes of memory")
    yield unsupported("lz4, a frame", b"\x04\x22\x4d\x18" + bytes(50), "lz4")
    yield unsupported("lz4, a bomb", b"\x04\x22\x4d\x18\x64\x40\xa7" + b"\xff" * 4096, "lz4")
    yield unsupported("zstandard", b"\x28\xb5\x2f\xfd" + bytes(50), "does not begin like a model")
    for name, content in {"zlib": b"x\x9c", "gzip": b"\x1f\x8b\x00", "bz2": b"BZh9", "xz": b"\xfd7zXZ\x00"}.items():
        yield corrupt(f"the start of {name}", content, name)
    yield corrupt("the start of lzma", b"]\x00", "lzma")
    for name, start in {"zlib": b"x\x9c", "gzip": b"\x1f\x8b\x08", "bz2": b"BZh9", "xz": b"\xfd7zXZ\x00"}.items():
        yield corrupt(f"nothing behind the start of {name}", start + b"\xff" * 300, name)


def _with_dictionary(packed: bytes, size: int) -> bytes:
    """Return an xz file whose block says that it needs a larger dictionary; its header's checksum is right."""
    header = bytearray(packed[12 : 12 + (packed[12] + 1) * 4])
    at = header.index(b"\x21\x01") + 2
    header[at] = next(bits for bits in range(41) if ((2 | bits & 1) << (bits // 2 + 11)) >= size)
    header[-4:] = struct.pack("<I", zlib.crc32(bytes(header[:-4])))
    return packed[:12] + bytes(header) + packed[12 + len(header) :]
