"""One function writes files: it replaces regular files only, whole, by files that nobody can foresee."""

from __future__ import annotations

import os
import stat

import pytest

from pytest_draft.facts.storage import write_atomically
from pytest_draft.output import NotRegularError, replacing

needs_links = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")


@pytest.fixture
def device(tmp_path):
    """Return a node of what /dev/null is, which may be lost; a pipe, where only root could make one."""
    node = tmp_path / "null"
    try:
        os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except OSError:
        os.mkfifo(node)
    return node


@needs_links
@pytest.mark.parametrize("through", ["itself", "a link", "a link to a link"])
def test_what_is_no_regular_file_stays_what_it_is(device, tmp_path, through):
    named, before = device, device.lstat()
    for number in range(("itself", "a link", "a link to a link").index(through)):
        link = tmp_path / f"link{number}"
        link.symlink_to(named)
        named = link
    with pytest.raises(NotRegularError):
        write_atomically(named, "content")
    assert (device.lstat().st_mode, device.lstat().st_ino) == (before.st_mode, before.st_ino)
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]


@needs_links
def test_a_file_that_becomes_a_device_meanwhile_stays(tmp_path):
    path = tmp_path / "report"
    with pytest.raises(NotRegularError), replacing(path) as file:
        file.write(b"content")
        os.mkfifo(path)
    assert stat.S_ISFIFO(path.lstat().st_mode)
    assert list(tmp_path.iterdir()) == [path]


@needs_links
@pytest.mark.parametrize("there", [True, False])
def test_a_link_leads_to_the_file_that_is_written(tmp_path, there):
    target, link = tmp_path / "inner" / "report", tmp_path / "link"
    target.parent.mkdir()
    if there:
        target.write_text("before")
    link.symlink_to(target)
    write_atomically(link, "after")
    assert link.is_symlink()
    assert target.read_text() == "after"


@needs_links
def test_a_link_to_itself_is_no_place(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(OSError):
        write_atomically(link, "content")
    assert list(tmp_path.iterdir()) == [link]


@needs_links
def test_the_file_beside_cannot_be_foreseen(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("before")
    for name in (f".report.{os.getpid()}.tmp", f".report.{os.getpid()}", "report.tmp"):
        (tmp_path / name).symlink_to(victim)
    write_atomically(tmp_path / "report", "content")
    assert victim.read_text() == "before"
    monkeypatch.setattr("secrets.token_hex", lambda size: "foreseen")
    (tmp_path / ".draft-foreseen.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / "report", "again")
    assert (victim.read_text(), (tmp_path / "report").read_text()) == ("before", "content")


def test_no_two_files_beside_have_the_same_name(tmp_path):
    names = set()
    for _ in range(20):
        with replacing(tmp_path / "report"):
            names.update(path.name for path in tmp_path.glob(".draft-*"))
    assert len(names) == 20


@pytest.mark.parametrize("length", [200, 250, 255])
def test_a_file_can_have_as_long_a_name_as_the_system_allows(tmp_path, length):
    path = tmp_path / ("r" * length)
    write_atomically(path, "content")
    assert path.read_text() == "content"


@pytest.mark.skipif(not hasattr(os, "fchmod"), reason="no permissions of that kind here")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_who_may_read_a_file_stays_and_what_is_private_is_the_owners(tmp_path, mode):
    path = tmp_path / "report"
    path.write_text("before")
    path.chmod(mode)
    write_atomically(path, "after")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    with replacing(path, private=True) as file:
        file.write(b"model")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_whatever_ends_it_leaves_what_was_there_and_nothing_beside(tmp_path, error):
    path = tmp_path / "report"
    path.write_text("before")
    with pytest.raises(error), replacing(path) as file:
        file.write(b"half")
        raise error
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
