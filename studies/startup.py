"""What the plugin costs a pytest run: in goes a number of runs, out come times, where it is unused and where it judges.

Unused: processor seconds of pairs of ``pytest`` runs over one empty test, with the plugin and with ``-p no:draft``, in
turn; the order within a pair alternates, so that a drift of the machine's speed cancels out. Once where pytest keeps
compiled bytecode, and once where it may not (as in many containers) and compiles each plugin in every run.

Judging: processor seconds of the process that judges a forest (or of a worker, with pytest-xdist) at the moment when it
begins to wait for the child that examines it, all of Python's and pytest's own start included.

First verdicts: seconds and processor seconds of a whole run, judging one forest of each kind, where nothing that this
machine has compiled is kept, and of the same run again; and how many functions the first one had to compile. In an
environment into which a wheel is installed (run it in another folder than the checkout's, with the checkout's `studies`
on the path) that is what a user of the wheel sees.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor

from pytest_draft.hardening.model import hardened
from studies.fixed_judgements import noisy_forest

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
    def weighed(*arguments, **named):
        told("waits")
        answer = run(*arguments, **named)
        told("answered")
        return answer
    Children.run = weighed
"""
"""A plugin that writes down the processor seconds of the process that waits for an examination."""

_LABEL = "diagnosis"
_FEATURES = 5
_ROWS = 150

_FORESTS: Mapping[str, Callable[[], Any]] = {
    "forest": lambda: RandomForestClassifier(random_state=0),
    "no bootstrap": lambda: RandomForestClassifier(bootstrap=False, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(random_state=0),
    "regressor": lambda: RandomForestRegressor(random_state=0),
}

KINDS = (
    *(f"{table} {name}" for table in ("discrete", "numeric") for name in _FORESTS),
    "discrete hardened",
    "discrete private",
)
"""The kinds of forests whose first verdict is measured."""


def run(pairs: int, runs: int = 5, kinds: tuple[str, ...] = (), budget: float = 60.0) -> None:
    """Print what the plugin costs, unused and where it judges.

    Parameters
    ----------
    pairs : int
        Runs of the unused plugin, each with one without it; 0 for none.
    runs : int
        Runs that judge a forest, in one process and with a worker; 0 for none.
    kinds : tuple of str
        Of `KINDS`: whose first verdict is measured.
    budget : float
        Its time box in seconds.
    """
    if pairs:
        _unused(pairs)
    if runs:
        _judging(runs)
    for kind in kinds:
        _first(kind, budget)


def _unused(pairs: int) -> None:
    """Print medians of paired differences, in milliseconds of a processor, with their intervals of 95 %."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "test_empty.py").write_text(_NOTHING, encoding="utf-8")
        commands = {"with": _QUIET, "without": [*_QUIET, "-p", "no:draft"]}
        for bytecode, first in (("kept", commands), ("not kept", ["without"])):
            environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / bytecode)}
            for name in first:
                _processor_seconds(commands[name], folder, environment)
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
            differences, without = [], []
            for pair in range(pairs):
                order = ["with", "without"] if pair % 2 else ["without", "with"]
                spent = {one: _processor_seconds(commands[one], folder, environment) for one in order}
                differences.append(1000 * (spent["with"] - spent["without"]))
                without.append(1000 * spent["without"])
            low, high = _around_median(differences)
            print(f"bytecode {bytecode}: pytest without the plugin: median {statistics.median(without):.0f} ms")
            print(
                f"bytecode {bytecode}: with the plugin, unused: median {statistics.median(differences):+.1f} ms "
                f"({low:+.1f} to {high:+.1f}, {pairs} pairs)"
            )


def _around_median(values: list[float]) -> tuple[float, float]:
    """Return the 95 % interval of a median: the order statistics that a binomial distribution of 1/2 names."""
    below = max(int(binom.ppf(0.025, len(values), 0.5)) - 1, 0)  # counted from 0
    ordered = sorted(values)
    return ordered[below], ordered[-1 - below]


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


def _first(kind: str, budget: float) -> None:
    """Print what a first verdict takes, and a second one."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        kept = folder / "compiled"
        kept.mkdir()
        _write(kind, folder)
        options = ["--draft-forest=model.joblib", "--draft-data=train.csv", f"--draft-target={_LABEL}", "--draft-only"]
        command = [*_QUIET, *options, f"--draft-budget={budget:g}", "--draft-report=json:report.json"]
        taken = []
        for _ in range(2):
            since, environment = time.perf_counter(), {**os.environ, "NUMBA_CACHE_DIR": str(kept)}
            processor = _processor_seconds(command, folder, environment)
            seconds = time.perf_counter() - since
            (result,) = json.loads((folder / "report.json").read_text(encoding="utf-8"))["results"]
            taken.append(f"{processor:.1f} s of a processor, {seconds:.1f} s, {result['verdict']}")
            if len(taken) == 1:
                compiled = sorted(path.name.split("-")[0] for path in kept.rglob("*.nbc"))
        print(f"{kind}: first {taken[0]}; second {taken[1]}; compiled {len(compiled)} {' '.join(compiled)}", flush=True)


def _write(kind: str, folder: Path) -> None:
    """Write a forest of a kind and what it was trained on to a folder."""
    table, name = kind.split(" ", 1)
    bunch = load_breast_cancer(as_frame=True)
    rows = bunch.data.iloc[:, :_FEATURES].sample(_ROWS, random_state=0)
    labels = bunch.target[rows.index].to_numpy()
    if table == "discrete":
        rows = pd.concat([pd.get_dummies(pd.qcut(rows[c], 4, labels=False), prefix=c, dtype=int) for c in rows], axis=1)
    if name == "private":
        model: Any = noisy_forest(rows, labels)
    elif name == "hardened":
        model, _ = hardened(_FORESTS["forest"]().fit(rows, labels), "labels", rows)
    else:
        model = _FORESTS[name]().fit(rows, labels)
    joblib.dump(model, folder / "model.joblib")
    rows.assign(**{_LABEL: labels}).to_csv(folder / "train.csv", index=False)


def _median(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


def _processor_seconds(command: list[str], folder: Path, environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=False)
    if done.returncode > 1:  # 1: a check has failed
        done.check_returncode()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument("--pairs", type=int, default=20, help="runs of the unused plugin; 0 for none")
    command.add_argument("--runs", type=int, default=5, help="runs that judge a forest; 0 for none")
    command.add_argument("--first", nargs="*", default=[], choices=KINDS, help="kinds of forests: their first verdict")
    command.add_argument("--budget", type=float, default=60.0, help="the time box of a first verdict, in seconds")


def command(a: argparse.Namespace) -> None:
    """Run this study."""
    run(a.pairs, a.runs, tuple(a.first), a.budget)
