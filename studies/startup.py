"""What the installed but unused plugin costs: in goes a number of pairs, out comes the median difference.

Pairs of ``pytest`` runs over one empty test, with the plugin and with ``-p no:draft``, in turn; the order within a
pair alternates, so that a drift of the machine's speed cancels out.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def run(pairs: int) -> None:
    """Print the median of paired differences, in milliseconds."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "test_empty.py").write_text("def test_nothing():\n    pass\n", encoding="utf-8")
        commands = {
            "with": [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            "without": [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:draft"],
        }
        for command in commands.values():
            _seconds(command, folder)
        differences, without = [], []
        for pair in range(pairs):
            order = ["with", "without"] if pair % 2 else ["without", "with"]
            spent = {name: _seconds(commands[name], folder) for name in order}
            differences.append(1000 * (spent["with"] - spent["without"]))
            without.append(1000 * spent["without"])
    quartiles = statistics.quantiles(differences, n=4)
    print(f"pytest without the plugin: median {statistics.median(without):.0f} ms")
    print(
        f"with the plugin, unused: median {statistics.median(differences):+.1f} ms "
        f"(quartiles {quartiles[0]:+.1f} and {quartiles[2]:+.1f}, {pairs} pairs)"
    )


def _seconds(command: list[str], folder: Path) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start
