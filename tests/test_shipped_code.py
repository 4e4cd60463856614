"""Compiled code in a wheel: it is taken where everything is as it was, and nowhere else, whatever became of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pytest_draft import shipped_code


def started(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a new Python."""
    return subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=False
    )


def run(code: str, **environment: str) -> str:
    """Return what a new Python says."""
    done = started(code, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def write(package: Path, result: str) -> None:
    (package / "inner" / "kernel.py").write_text(
        f"from numba import njit\n\n\n@njit(cache=True)\ndef kernel(x):\n    return {result}\n", encoding="utf-8"
    )


SHIP = """
import sys
from pathlib import Path
from numba.core.caching import Cache
from pytest_draft.shipped_code import ShippedCode
sys.path.insert(0, {package!r})
shipped = ShippedCode(Path({folder!r}), Path({package!r}))
kept = Cache.save_overload
def save(cache, signature, compiled):
    kept(cache, signature, compiled)
    shipped.save(cache, signature, compiled)
Cache.save_overload = save
from inner.kernel import kernel
print(kernel(2))
"""

USE = """
import sys
from pathlib import Path
from numba.core import event
from pytest_draft import compiling, shipped_code
{before}
sys.path.insert(0, {package!r})
compiling.ShippedCode = lambda: shipped_code.ShippedCode(Path({folder!r}), Path({package!r}))
compiling._read_and_write_where_possible()
from inner.kernel import kernel
with event.install_recorder("numba:compile") as recorder:
    print(kernel(2), len(recorder.buffer))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """Return a folder with a package of one function, which comes out as 3 for 2, and what was compiled of it."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "package" / "inner").mkdir(parents=True)
    write(folder / "package", "x + 1")
    cpu = shipped_code.target()
    if cpu is None:
        pytest.skip("nothing is shipped for this kind of machine")
    code = SHIP.format(package=str(folder / "package"), folder=str(folder / "shipped"))
    environment = {"NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(folder / "cache")}
    for_another = started(code, NUMBA_CPU_NAME="generic", **environment)
    assert "ValueError: compiled for" in for_another.stderr
    assert not list(folder.glob("shipped/**/*.nbc"))
    shutil.rmtree(folder / "cache")
    assert run(code, NUMBA_CPU_NAME=cpu, **environment) == "3"
    assert len(list(folder.glob("shipped/inner/*.nbc"))) == 1
    return folder


@pytest.fixture
def installed(built, tmp_path) -> Path:
    """Return a copy of that, as an installation is, without what Python and numba keep for themselves."""
    for part in ("package", "shipped"):
        shutil.copytree(built / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def used(installed: Path, before: str = "") -> tuple[int, int]:
    """Ask a new process what the function comes to; return that, and how many events of compiling it saw."""
    code = USE.format(before=before, package=str(installed / "package"), folder=str(installed / "shipped"))
    value, events = run(code, NUMBA_CACHE_DIR=tempfile.mkdtemp(dir=installed)).split()
    return int(value), int(events)


@pytest.mark.nightly
def test_what_was_shipped_is_run_and_nothing_is_compiled(installed):
    assert used(installed) == (3, 0)


@pytest.mark.nightly
def test_it_need_not_be_writable(installed):
    for path in (installed / "shipped").rglob("*"):
        path.chmod(0o555)
    assert used(installed) == (3, 0)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "before",
    [
        "import numba; numba.__version__ = '0.1'",
        "import llvmlite; llvmlite.__version__ = '0.1'",
        "shipped_code.TARGETS = {'x86-64': ('x86-64-v3', frozenset(['no such feature']))}",
    ],
    ids=["another numba", "another llvmlite", "a CPU that cannot run it"],
)
def test_what_does_not_fit_here_is_compiled(installed, before):
    value, events = used(installed, before)
    assert value == 3
    assert events > 0


@pytest.mark.nightly
@pytest.mark.parametrize("changed", ["its own file", "another file"])
def test_what_another_source_was_compiled_from_is_compiled_anew(installed, changed):
    if changed == "its own file":
        write(installed / "package", "x + 7")
    else:
        (installed / "package" / "other.py").write_text("ONE = 1\n", encoding="utf-8")
    value, events = used(installed)
    assert value == (9 if changed == "its own file" else 3)
    assert events > 0


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "left"), [("*.nbi", 0), ("*.nbi", 40), ("*.nbc", 40)])
def test_what_is_damaged_is_compiled_anew(installed, name, left):
    (file,) = (installed / "shipped" / "inner").glob(name)
    file.write_bytes(file.read_bytes()[:left])
    value, events = used(installed)
    assert value == 3
    assert events > 0
