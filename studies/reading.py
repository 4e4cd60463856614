"""What reading a model file costs: in goes a number of trees and rows, out come processor seconds beside `joblib.load`.

Both read the same files in one process, in turn, and of each the least of several runs counts: so a loaded machine
changes the ratio little. `joblib.load` runs what a file says and checks nothing; the reader hashes the file, follows it
symbolically and checks every node. The file's hash is computed by a thread of its own, so that seconds on the wall are
told too.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import joblib
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.artifact import read

PACKED: tuple[int, ...] = (0, 3)
"""Levels of joblib's compression by zlib; 0 for none."""


def run(trees: int, rows: int, runs: int = 5) -> None:
    """Print the size of a forest's files, and what reading each takes.

    Parameters
    ----------
    trees, rows : int
        100 trees on 50,000 rows make a file of about 95 MB.
    runs : int
        The least of so many counts.
    """
    random = np.random.RandomState(0)
    columns = random.normal(size=(rows, 8)).round(3)
    noisy = columns[:, 0] + columns[:, 1] * columns[:, 2] + 0.7 * random.normal(size=rows)
    model = RandomForestClassifier(trees, random_state=0, n_jobs=2).fit(columns, noisy > 0)
    print("file        MB  reader: cpu s  wall s  joblib.load: cpu s  wall s  ratio: cpu  wall")
    with tempfile.TemporaryDirectory() as folder:
        for level in PACKED:
            path = Path(folder) / "model.joblib"
            joblib.dump(model, path, compress=level)
            ours, theirs = _least(read, path, runs), _least(joblib.load, path, runs)
            print(
                f"{'plain' if not level else f'zlib {level}':8}{path.stat().st_size / 1e6:6.0f}"
                f"{ours[0]:15.3f}{ours[1]:8.3f}{theirs[0]:20.3f}{theirs[1]:8.3f}"
                f"{ours[0] / theirs[0]:12.2f}{ours[1] / theirs[1]:6.2f}"
            )


def _least(load: Callable[[Path], object], path: Path, runs: int) -> tuple[float, float]:
    """Return the least processor seconds and the least seconds on the wall of several runs."""
    spent = []
    for _ in range(runs):
        since, wall = time.process_time(), time.perf_counter()
        model = load(path)
        spent.append((time.process_time() - since, time.perf_counter() - wall))
        del model
    return min(cpu for cpu, _ in spent), min(wall for _, wall in spent)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument("--trees", type=int, default=75, help="75 on 50,000 rows make a file of about 70 MB")
    command.add_argument("--rows", type=int, default=50_000)
    command.add_argument("--runs", type=int, default=5, help="the least of so many counts")


def command(a: argparse.Namespace) -> None:
    """Run this study."""
    run(a.trees, a.rows, a.runs)
