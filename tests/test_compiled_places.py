"""A place for compiled code that is damaged, full or gone: what it held is compiled anew, and no run ends by it."""

from __future__ import annotations

import errno
import importlib.util
import itertools
import os
from pathlib import Path

import pytest
from numba.core.caching import IndexDataCacheFile

import pytest_draft.compiling  # noqa: F401 - finds a place for compiled code

MODULE = """
import numba

@numba.njit(cache=True)
def twice(x):
    return x + x
"""

NAMES = itertools.count()


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """Return a function that imports a module anew, and gives its compiled function."""
    monkeypatch.setattr("numba.config.CACHE_DIR", "")
    path = tmp_path / "compiled.py"
    path.write_text(MODULE, encoding="utf-8")

    def load():
        spec = importlib.util.spec_from_file_location(f"compiled_{next(NAMES)}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.twice

    return load


def places(folder: Path, suffix: str) -> list[Path]:
    return sorted(folder.rglob(f"*{suffix}"))


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["empty", "half", "other"])
def test_a_damaged_place_is_compiled_into_anew(compiled, tmp_path, suffix, damage):
    assert compiled()(2.0) == 4.0
    (file,) = places(tmp_path, suffix)
    whole = file.read_bytes()
    file.write_bytes({"empty": b"", "half": whole[: len(whole) // 2], "other": b"\x80\x04]q\x00."}[damage])
    assert compiled()(2.0) == 4.0
    again = compiled()
    assert again(2.0) == 4.0
    assert sum(again.stats.cache_hits.values()) == 1  # it has been mended


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_what_cannot_be_kept_is_compiled_all_the_same(compiled, tmp_path, monkeypatch, number):
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    function = compiled()
    monkeypatch.setattr(IndexDataCacheFile, "save", refuse)
    assert function(2.0) == 4.0
    assert places(tmp_path, ".nbc") == []
