"""The engine beside DRAFT's published runs: in go tables and those runs, out comes a line for each kind of forest.

Forests of the same data, sizes and depths as in figures 2 and 4 of the paper (ICML 2024), on rows drawn with our own
seeds. The error is the paper's; time is that of building and attacking, without reading and evaluating.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.attack.enumeration import build
from pytest_draft.attack.reconstruct import reconstruct
from pytest_draft.attack.search import Search
from pytest_draft.domain import infer
from pytest_draft.errors import InfeasibleError, OutOfTimeError
from pytest_draft.knowledge import exchangeable_groups
from pytest_draft.matching import encoded_weights, matched_distance, row_identities, unmatched
from pytest_draft.timebox import TimeBox
from studies.cells import Study
from studies.files import through_file
from studies.options import add_attacks, add_cells, add_seeds, add_tables, datasets_of, groups, rows_of
from studies.public_data import TARGETS, divided

_HEADER = (
    f"{'data':<15} trees depth {'ours':>7} {'se':>6} {'DRAFT':>7} {'se':>6} {'excess':>7} {'limit':>6} "
    f"{'perfect':>7} {'s':>6} {'most s':>6} {'DRAFT s':>8} statuses"
)


@dataclass(frozen=True)
class Run:
    """One forest, attacked."""

    error: float
    perfect: int
    seconds: float
    status: str


def study(
    folder: Path,
    names: Sequence[str],
    sizes: Sequence[int],
    depths: Sequence[int | None],
    seeds: Sequence[int],
    *,
    bootstrap: bool,
    seconds: float,
    workers: int,
) -> Study:
    """Return one cell for each forest.

    Parameters
    ----------
    folder : Path
        Of ``compas.csv`` and the like.
    sizes : sequence of int
        Numbers of trees.
    depths : sequence of int or None
        Largest depths; None for no limit.
    bootstrap : bool
        With it, the adversary is ``published``: occurrences unknown.
    seconds : float
        Time box of one attack.
    workers : int
        Threads of each attack.
    """
    limits = {"bootstrap": bootstrap, "limit": seconds, "workers": workers}
    cells = [
        {"table": name, "n_trees": size, "depth": depth, "seed": seed, **limits}
        for name, size, depth, seed in product(names, sizes, depths, seeds)
    ]
    return Study("grid", cell, cells, {"table": {name: folder / f"{name}.csv" for name in names}})


def cell(table: Path, n_trees: int, depth: int | None, seed: int, bootstrap: bool, limit: float, workers: int) -> Run:
    """Return `attack` of a forest; `limit` is its time box in seconds."""
    return attack(table, n_trees, depth, seed, bootstrap=bootstrap, seconds=limit, workers=workers)


def report(rows: pd.DataFrame, published: Path) -> None:
    """Print one line for each data set, size and depth, and a summary.

    Parameters
    ----------
    rows : DataFrame
        Of `study`.
    published : Path
        ``draft_runs.csv``.
    """
    theirs = pd.read_csv(published, keep_default_na=False, dtype=str)
    theirs = theirs[(theirs["method"] == "cp-sat") & (theirs["reconstruction_error"] != "")]
    theirs = theirs[theirs["status"] != "UNKNOWN"]  # the error beside it is that of random guesses
    theirs = theirs.astype({"reconstruction_error": float, "seconds": float})
    print(_HEADER)
    above, their_seconds = 0, []
    configurations = groups(rows, "table", "n_trees", "depth", "bootstrap")
    for (name, size, depth, bootstrap), runs in configurations.items():
        same = theirs[
            (theirs["dataset"] == name)
            & (theirs["n_trees"] == str(size))
            & (theirs["max_depth"] == str(depth))
            & (theirs["bagging"] == str(bootstrap))
        ]
        ours, other = runs["error"].to_numpy(), same["reconstruction_error"].to_numpy()
        paper = other.mean() if len(other) else np.nan
        excess, limit = ours.mean() - paper, 0.01 + 2 * np.hypot(standard_error(ours), standard_error(other))
        above += bool(excess > limit)
        their_seconds += same["seconds"].tolist()
        print(
            f"{name:<15} {size:>5} {depth or '-':>5} {ours.mean():>7.4f} {standard_error(ours):>6.4f} "
            f"{paper:>7.4f} {standard_error(other):>6.4f} {excess:>7.4f} {limit:>6.4f} "
            f"{runs['perfect'].mean():>7.1f} {runs['seconds'].mean():>6.1f} {runs['seconds'].max():>6.1f} "
            f"{same['seconds'].mean():>8.0f} {', '.join(runs['status'])}"
        )
    print(
        f"{len(configurations)} configurations, {above} above the published error by more than .01 + 2 s.e.; mean "
        f"{rows['seconds'].mean():.2f} s a run (published: {np.mean(their_seconds or [np.nan]):.0f} s)"
    )


def attack(
    table: Path, n_trees: int, depth: int | None, seed: int, *, bootstrap: bool, seconds: float, workers: int
) -> Run:
    """Train a forest on 100 rows of a table, and attack it."""
    data = pd.read_csv(table)
    data = data.sample(100, random_state=seed)
    features, target = divided(data, table.stem)
    forest = RandomForestClassifier(n_trees, max_depth=depth, bootstrap=bootstrap, random_state=seed)
    read_forest = through_file(forest.fit(features, target))
    truth = features.to_numpy(np.float32)
    domain = infer(tuple(features.columns), truth.astype(np.float64))
    box = TimeBox(seconds)
    status, rows = "no solution", None
    try:
        problem = build(read_forest, domain, exchangeable_groups(read_forest, "published"), box)
        rebuilt = reconstruct(problem, Search(box, seed, workers))
        status, rows = rebuilt.status, rebuilt.rows
    except (InfeasibleError, OutOfTimeError):
        pass
    spent = box.elapsed
    if rows is None:
        return Run(float("nan"), 0, spent, status)
    error = matched_distance(truth, rows, encoded_weights(domain), TimeBox(600.0)).upper
    return Run(error, 100 - len(unmatched(*row_identities(truth, rows))[0]), spent, status)


def standard_error(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """Return the standard error of a mean; 0 for one value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_tables(command, TARGETS, TARGETS, published="draft_runs.csv")
    command.add_argument("--trees", type=int, nargs="+", default=[1, 5, *range(10, 101, 10)])
    command.add_argument("--depth", type=int, nargs="+", default=[2, 3, 4, 5, 10, 0], help="0 for no limit")
    add_seeds(command, [0, 1])
    command.add_argument("--bootstrap", default="no", choices=["no", "yes"])
    add_attacks(command, seconds=60.0)
    add_cells(command)


def command(a: argparse.Namespace) -> None:
    """Run this study."""
    depths = [depth or None for depth in a.depth]
    asked = study(
        *(datasets_of(a, a.names), a.names, a.trees, depths, a.seeds),
        bootstrap=a.bootstrap == "yes",
        seconds=a.seconds,
        workers=a.threads,
    )
    report(rows_of(asked, a), a.published)
