"""What a killed run of the advice has left is removed by the next one, and nothing else."""

from __future__ import annotations

import tempfile

import pytest
from filelock import FileLock

from pytest_draft.output import _LOCK, PrivateFolder

_PREFIX = "pytest-draft-advise-"
remove_abandoned = PrivateFolder(_PREFIX).remove_abandoned


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a function that makes a folder as a run does, with a model in it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def make(name: str, locked: bool = True):
        made = tmp_path / name
        made.mkdir()
        (made / "model.joblib").write_text("rows")
        if locked:
            (made / _LOCK).touch()
        return made

    return make


def test_what_a_killed_run_has_left_is_removed(folder):
    left = [folder(f"{_PREFIX}{i}") for i in range(2)]
    remove_abandoned()
    assert not any(one.exists() for one in left)


def test_the_folder_of_a_run_that_lives_stays(folder):
    used = folder(f"{_PREFIX}used")
    with FileLock(used / _LOCK):
        remove_abandoned()
        assert (used / "model.joblib").exists()


@pytest.mark.parametrize("kind", ["another name", "no lock", "a link", "a file"])
def test_what_no_run_has_made_stays(folder, tmp_path, kind):
    kept = folder("another" if kind in ("another name", "a link", "a file") else f"{_PREFIX}x", kind != "no lock")
    if kind == "a link":
        (tmp_path / f"{_PREFIX}link").symlink_to(kept)
    if kind == "a file":
        (tmp_path / f"{_PREFIX}file").write_text("x")
    remove_abandoned()
    assert (kept / "model.joblib").exists()
