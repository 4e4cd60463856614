"""What the plugin costs a pytest run: in goes a number of runs, out come times, where it is unused and where it judges.

Unused: pairs of ``pytest`` runs over one empty test, with the plugin and with ``-p no:draft``, in turn; the order
within a pair alternates, so that a drift of the machine's speed cancels out.

Judging: processor seconds of the process that judges a forest (or of a worker, with pytest-xdist) at the moment when it
begins to wait for the child that examines it, all of Python's and pytest's own start included.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_NOTHING = "def test_nothing():\n    pass\n"

_QUIET = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]

_WEIGHED = """
import pathlib, resource, sys

def told(which):
    spent = resource.getrusage(resource.RUSAGE_SELF)
    here = pathlib.Path(__file__).parent
    (here / which).write_text(str(spent.ru_utime + spent.ru_stime), encoding="ascii")

def pytest_configure(config):
    from pytest_draft.isolation import Children
    run = Children.run
    def weighed(*arguments):
        told("waits")
        answer = run(*arguments)
        told("answered")
        return answer
    Children.run = weighed
"""
"""A plugin that writes down the processor seconds of the process that waits for an examination."""


def run(pairs: int, runs: int = 5) -> None:
    """Print what the plugin costs, unused and where it judges.

    Parameters
    ----------
    pairs : int
        Runs of the unused plugin, each with one without it; 0 for none.
    runs : int
        Runs that judge a forest, in one process and with a worker; 0 for none.
    """
    if pairs:
        _unused(pairs)
    if runs:
        _judging(runs)


def _unused(pairs: int) -> None:
    """Print the median of paired differences, in milliseconds."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "test_empty.py").write_text(_NOTHING, encoding="utf-8")
        commands = {"with": _QUIET, "without": [*_QUIET, "-p", "no:draft"]}
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


def _judging(runs: int) -> None:
    """Print the processor seconds of who waits for an examination, before it and after it."""
    from pytest_draft.plugin.demo import train

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        train(folder)
        (folder / "weighed.py").write_text(_WEIGHED, encoding="utf-8")
        forest = ["--draft-forest", "shallow.joblib", "--draft-data", "patients.csv", "--draft-target", "diagnosis"]
        command = [*_QUIET, "-p", "weighed", *forest, "--draft-only"]
        for name, options in (("one process", []), ("a worker of pytest-xdist", ["-n", "1"])):
            spent: dict[str, list[float]] = {"waits": [], "answered": []}
            for _ in range(runs):
                subprocess.run([*command, *options], cwd=folder, stdout=subprocess.DEVNULL, check=False)
                for moment, seconds in spent.items():
                    seconds.append(float((folder / moment).read_text(encoding="ascii")))
            said = ", ".join(f"{moment} {_median(seconds)}" for moment, seconds in spent.items())
            print(f"processor seconds of {name}: {said} ({runs} runs)")


def _median(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


def _seconds(command: list[str], folder: Path) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument("--pairs", type=int, default=20, help="runs of the unused plugin; 0 for none")
    command.add_argument("--runs", type=int, default=5, help="runs that judge a forest; 0 for none")


def command(a: argparse.Namespace) -> None:
    """Run this study."""
    run(a.pairs, a.runs)
