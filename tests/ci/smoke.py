"""A demo and two gates, as in a container with the least rights: in goes nothing, out come 0 or 1.

``python smoke.py [--demo]`` works in the current folder, with whatever interpreter and package run it.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

EXPECTED = {"leaking.joblib": "failed", "harmless.joblib": "passed"}
DEMO = {"default.joblib": "failed", "shallow.joblib": "passed"}


def least() -> None:
    """Refuse to run with more than containers give that give least; so this can never pass by having more."""
    assert os.getuid() != 0, "this is root"
    assert "HOME" not in os.environ, "there is a HOME"
    for folder in (Path(sys.prefix), Path("/"), Path(__file__).parent):
        try:
            (folder / f".writable.{os.getpid()}").touch()
        except OSError:
            continue
        raise AssertionError(f"{folder} can be written to")
    interfaces = {line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text("utf-8").splitlines()[2:]}
    assert interfaces <= {"lo"}, f"there is a network: {interfaces}"
    cgroup = Path("/sys/fs/cgroup/memory.max")  # of a container engine; elsewhere the process's own limit
    if cgroup.is_file() and (most := cgroup.read_text("utf-8").strip()) != "max":
        assert int(most) <= 2 * 2**30, "there are more than 2 GB of memory"
        return
    try:
        bytearray(3 * 2**30)
    except MemoryError:
        return
    raise AssertionError("there are 3 GB of memory")


def judged(*arguments: str) -> tuple[int, dict[str, str]]:
    """Run pytest, and return how it ended and each model's verdict."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--draft-report=json:report.json", *arguments]
    Path("report.json").unlink(missing_ok=True)
    ended = subprocess.run(command, check=False)
    results = json.loads(Path("report.json").read_text("utf-8"))["results"]
    return ended.returncode, {Path(one["artifact"]["path"]).name: one["verdict"] for one in results}


def main() -> int:
    """Run what is asked for, and return 0 where all of it is as expected."""
    least()
    models = Path("models")
    models.mkdir()
    runpy.run_path(str(Path(__file__).with_name("models.py")))["write"](models)
    given = ["--draft-data=models/train.csv", "--draft-target=decision", "--draft-strict", "--draft-budget=120"]
    for name, verdict in EXPECTED.items():
        found = judged(f"--draft-forest=models/{name}", *given)
        assert found == (int(verdict != "passed"), {name: verdict}), found
    if "--demo" in sys.argv:
        found = judged("--draft-demo")
        assert found == (1, DEMO), found
    print("all as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
