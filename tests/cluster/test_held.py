"""Files that were sent are in memory, are what was asked for, and make room for others."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest

from pytest_draft.cluster import held
from pytest_draft.cluster.held import HeldFiles, Piece, RefusedError
from pytest_draft.cluster.order import File

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memfd_create")

TOPIC = "topic"


def file_of(content: bytes, path: str = "/no/such/folder/train.csv") -> File:
    return File(path, hashlib.sha256(content).hexdigest(), len(content))


def nothing(*_: object) -> None: ...


def sends(store: HeldFiles, content: bytes, size: int = 3):
    """Return a function that sends a file in pieces, as it is asked to."""

    def ask(sha256: str) -> None:
        offset = 0
        while offset >= 0:
            offset = store.receive(sha256, offset, Piece(content[offset : offset + size]))

    return ask


def read(store: HeldFiles, content: bytes, most: int = 100, ask=None) -> bytes:
    file = file_of(content)
    with store.read_at([file], TOPIC, most, ask or sends(store, content), nothing) as elsewhere:
        return Path(elsewhere[file.path]).read_bytes()


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"abc", b""])
def test_a_file_that_is_not_there_is_sent_in_pieces_and_read_from_memory(content):
    assert read(HeldFiles(), content) == content


def test_a_file_is_sent_once():
    store, asked = HeldFiles(), []
    for _ in range(2):
        assert read(store, b"rows", ask=lambda name: (asked.append(name), sends(store, b"rows")(name))) == b"rows"
    assert asked == [file_of(b"rows").sha256]


@pytest.mark.parametrize(
    ("there", "is_sent"), [(b"rows", False), (b"rowz", True), (b"rows of others", True), (None, True)]
)
def test_a_file_is_read_in_place_only_where_its_content_is_the_same(tmp_path, there, is_sent):
    path = tmp_path / "train.csv"
    if there is not None:
        path.write_bytes(there)
    store = HeldFiles()
    with store.read_at([file_of(b"rows", str(path))], TOPIC, 100, sends(store, b"rows"), nothing) as elsewhere:
        assert set(elsewhere) == ({str(path)} if is_sent else set())


def test_a_file_with_other_bytes_than_it_should_have_is_refused():
    store = HeldFiles()
    with pytest.raises(RefusedError, match="changed while the run went on"):
        read(store, b"rows", ask=sends(store, b"rowz"))


def test_a_file_that_does_not_come_is_given_up(monkeypatch):
    monkeypatch.setattr(held, "SILENT_SECONDS", 0.1)
    with pytest.raises(RefusedError, match="did not come"):
        read(HeldFiles(), b"rows", ask=nothing)


def test_a_wait_for_a_file_ends_where_nobody_wants_it_any_more():
    def heed() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), HeldFiles().read_at([file_of(b"rows")], TOPIC, 100, nothing, heed):
        pass


@pytest.mark.nightly
def test_what_was_not_used_for_the_longest_time_makes_room_but_never_what_is_read():
    store = HeldFiles()
    first, second, third = b"1" * 40, b"2" * 40, b"3" * 40
    with store.read_at([file_of(first)], TOPIC, 100, sends(store, first), nothing) as elsewhere:
        read(store, second)
        read(store, third)
        (path,) = elsewhere.values()
        assert Path(path).read_bytes() == first
    assert set(store._files) == {file_of(first).sha256, file_of(third).sha256}
    store.close()
    assert not store._files


def test_a_file_that_is_larger_than_what_is_held_is_refused_with_what_to_do():
    with pytest.raises(RefusedError, match="put it where all workers read it"):
        read(HeldFiles(), b"1" * 40, most=39)


def test_without_files_in_memory_it_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(RefusedError, match="put them where all workers read them"):
        read(HeldFiles(), b"rows")


def test_a_piece_that_nobody_asked_for_is_not_kept():
    store = HeldFiles()
    assert store.receive(file_of(b"rows").sha256, 0, b"rows") == -1
    assert not store._files


def test_a_piece_shows_no_rows():
    assert repr(Piece(b"secret")) == "<6 bytes: not shown>"
