"""A gate where there is next to nothing: another user, nothing to write to, no HOME, no network, 2 GB."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTAINED = ROOT / "tests" / "shared" / "contained.sh"
SMOKE = Path(__file__).with_name("smoke.py")
REFUSED = 77

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="namespaces are Linux's"),
    pytest.mark.skipif(
        not all(map(shutil.which, ("bash", "unshare", "setpriv", "mount"))), reason="needs util-linux and bash"
    ),
]


@pytest.fixture
def contained(tmp_path):
    """Return a function that runs a command in such a place, or skips where this machine makes none."""

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        folder = tmp_path / "writable"
        folder.mkdir()
        ended = subprocess.run(
            ["bash", str(CONTAINED), str(folder), *command],
            env={**os.environ, "PYTHONPATH": str(ROOT), "CONTAINED_PACKAGE": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        if ended.returncode == REFUSED:
            pytest.skip(f"namespaces are refused here: {ended.stderr.strip()[-200:] or 'no reason given'}")
        return ended

    return run


def compiled() -> Path | None:
    """Return the folder of the code that numba has compiled for this package, if it has."""
    return next((path.parent for path in (ROOT / "pytest_draft").rglob("*.nbi")), None)


def test_what_is_called_contained_is(contained):
    code = f"import sys; sys.path.insert(0, {str(SMOKE.parent)!r}); import smoke; smoke.least(); print('least')"
    ended = contained(sys.executable, "-c", code)
    assert (ended.returncode, ended.stdout) == (0, "least\n"), ended.stderr


WARM = """
import runpy, shutil, sys
from pathlib import Path
from numba.core.caching import _CacheLocator
for kept in Path(sys.argv[1], "pytest_draft").rglob("*.nb[ic]"):
    source = kept.parents[1] / kept.name.partition(".")[0]
    folder = Path("numba", _CacheLocator.get_suitable_cache_subpath(str(source)))
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(kept, folder)
"""
"""Takes compiled code along, as an image does that has run once: to compile takes most of a minute."""


@pytest.mark.skipif(compiled() is None, reason="nothing is compiled yet; .ci/container runs this with compiling")
def test_a_gate_works_there(contained):
    script = 'python=$1; shift; "$python" -c "$1" "$2" && NUMBA_CACHE_DIR=$PWD/numba exec "$python" "$3"'
    ended = contained("bash", "-c", script, "smoke", sys.executable, WARM, str(ROOT), str(SMOKE))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.endswith("all as expected\n")
