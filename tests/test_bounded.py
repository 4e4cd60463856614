"""Files of which only so much is read."""

from __future__ import annotations

import errno
import hashlib
import os
import sys

import pytest

from pytest_draft import bounded
from pytest_draft.artifact.container import Limits


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1])
def test_a_file_up_to_the_limit_is_read_and_hashed_whole(tmp_path, size):
    path = tmp_path / "file"
    path.write_bytes(os.urandom(size))
    assert bounded.content(path, size) == path.read_bytes()
    assert bounded.sha256(path, size) == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("read", [bounded.content, bounded.sha256])
def test_a_larger_file_is_refused_before_it_is_read(tmp_path, read):
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="too large") as refused:
        read(path, 1 << 20)
    assert bounded.what_failed(refused.value, 1 << 20) == "it is larger than 1 MB"


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x")
    chunks = bounded._chunks(path, 1 << 20)
    next(chunks)
    with path.open("ab") as file:
        file.truncate(2 << 20)
    with pytest.raises(OSError, match="too large"):
        list(chunks)


@pytest.mark.skipif(sys.platform == "win32", reason="files of POSIX")
@pytest.mark.parametrize("kind", ["fifo", "folder", "device", "nothing"])
def test_what_is_no_regular_file_is_refused_and_does_not_block(tmp_path, kind):
    path = tmp_path / "file"
    {
        "fifo": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "device": lambda: path.symlink_to("/dev/zero"),
        "nothing": lambda: None,
    }[kind]()
    with pytest.raises(OSError) as refused:
        bounded.content(path, 100)
    assert refused.value.errno in (errno.EINVAL, errno.EISDIR, errno.ENOENT)
    assert str(tmp_path) not in bounded.what_failed(refused.value, 100)


def test_no_model_file_that_is_read_is_too_large_to_be_hashed():
    assert Limits().file_bytes <= bounded.MODEL_BYTES <= bounded.TABLE_BYTES


def test_what_failed_is_said_without_a_path():
    assert bounded.what_failed(OSError(errno.ENOSPC, "x", "secret")) == "No space left on device"
    assert bounded.what_failed(OSError(errno.EFBIG, "x", "secret")) == "File too large"
    assert bounded.what_failed(ValueError("secret")) == "ValueError"
