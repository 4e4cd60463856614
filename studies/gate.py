"""The gate on public data: in goes a folder of tables, out comes a line for each forest that ``pytest`` judged.

Each forest is trained here, saved, and judged by a ``pytest`` process of its own, as a user would run it; the time
and the memory are those of that whole process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from studies.options import add_datasets, add_seeds
from studies.public_data import TARGETS, divided

_HEADER = (
    "data            rows seed bootstrap exit verdict      solver         error  random perfect in order    s   MB"
)


def run(
    folder: Path,
    names: Sequence[str],
    n_rows: int,
    seeds: Iterable[int],
    bootstraps: Sequence[bool],
    parameters: dict[str, Any],
    max_error: float | None,
) -> None:
    """Print one line for each forest.

    Parameters
    ----------
    folder : Path
        Of ``compas.csv`` and the like.
    n_rows : int
        Rows drawn at random; 0 for all.
    parameters : dict
        Of `RandomForestClassifier`.
    max_error : float or None
        Budget in place of the default policy's.
    """
    print(f"RandomForestClassifier({', '.join(f'{k}={v}' for k, v in parameters.items())})")
    print(_HEADER)
    for name in names:
        for bootstrap in bootstraps:
            for seed in seeds:
                print(_line(folder, name, n_rows, seed, bootstrap, parameters, max_error), flush=True)


def _line(
    folder: Path,
    name: str,
    n_rows: int,
    seed: int,
    bootstrap: bool,
    parameters: dict[str, Any],
    max_error: float | None,
) -> str:
    table = pd.read_csv(folder / f"{name}.csv")
    if n_rows:
        table = table.sample(n_rows, random_state=seed)
    features, target = divided(table, name)
    forest = RandomForestClassifier(**parameters, bootstrap=bootstrap, random_state=seed, n_jobs=2)
    with tempfile.TemporaryDirectory() as scratch:
        here = Path(scratch)
        table.to_csv(here / "train.csv", index=False)
        joblib.dump(forest.fit(features, target), here / "model.joblib")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--draft-forest=model.joblib",
            "--draft-data=train.csv",
        ]
        command += [
            f"--draft-target={TARGETS[name]}",
            "--draft-report=json:report.json",
            "-p",
            "no:cacheprovider",
        ]
        if max_error is not None:
            policy = f'schema_version = 1\nname = "study"\n[rules.reconstruction-error]\nmax_error = {max_error}\n'
            (here / "policy.toml").write_text(policy, encoding="utf-8")
            command.append("--draft-policy=policy.toml")
        exit_status, seconds, megabytes = _measured(command, here)
        result = json.loads((here / "report.json").read_text(encoding="utf-8"))["results"][0]
    metrics = result["metrics"]

    def shown(key: str, form: str) -> str:
        return "-" if metrics[key] is None else format(metrics[key], form)

    return (
        f"{name:<15} {len(table):>4} {seed:>4} {'yes' if bootstrap else 'no':>9} {exit_status:>4} "
        f"{result['verdict']:<12} {result['solver_status']:<13} {shown('reconstruction_error', '.4f'):>6} "
        f"{shown('random_error', '.4f'):>7} {shown('perfect_rows', 'd'):>7} {shown('rows_in_order', 'd'):>8} "
        f"{seconds:>4.1f} {megabytes:>4.0f}"
    )


def _measured(command: list[str], folder: Path) -> tuple[int, float, float]:
    """Run a command; return its exit status, wall seconds and peak memory in MB."""
    start = time.monotonic()
    with (
        (folder / "output.txt").open("w") as output,
        subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, time.monotonic() - start, usage.ru_maxrss / 1024


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_datasets(command)
    command.add_argument("--names", nargs="+", default=list(TARGETS), choices=list(TARGETS))
    command.add_argument("--rows", type=int, default=100, help="rows drawn at random; 0 for all")
    add_seeds(command, [0, 1, 2, 3, 4])
    command.add_argument("--bootstrap", nargs="+", default=["no", "yes"], choices=["no", "yes"])
    command.add_argument("--trees", type=int, default=100)
    command.add_argument("--depth", type=int, default=None)
    command.add_argument("--max-error", type=float, default=None, help="judge by this budget, not the default policy")


def command(a: argparse.Namespace) -> None:
    """Run this study."""
    parameters = {"n_estimators": a.trees, "max_depth": a.depth}
    run(a.datasets, a.names, a.rows, a.seeds, [one == "yes" for one in a.bootstrap], parameters, a.max_error)
