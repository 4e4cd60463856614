"""The engine beside DRAFT's published runs: in go tables and those runs, out comes a line for each kind of forest.

Forests of the same data, sizes and depths as in figures 2 and 4 of the paper (ICML 2024), on rows drawn with our own
seeds. The error is the paper's; time is that of building and attacking, without reading and evaluating.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import joblib
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
from studies.files import through_file
from studies.public_data import divided

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


def run(
    folder: Path,
    published: Path,
    names: Sequence[str],
    sizes: Sequence[int],
    depths: Sequence[int | None],
    seeds: Sequence[int],
    *,
    bootstrap: bool,
    seconds: float,
    jobs: int,
    workers: int,
) -> None:
    """Print one line for each data set, size and depth, and a summary.

    Parameters
    ----------
    folder : Path
        Of ``compas.csv`` and the like.
    published : Path
        ``draft_runs.csv``.
    names : sequence of str
    sizes : sequence of int
        Numbers of trees.
    depths : sequence of int or None
        Largest depths; None for no limit.
    seeds : sequence of int
    bootstrap : bool
        With it, the adversary is ``published``: occurrences unknown.
    seconds : float
        Time box of one attack.
    jobs, workers : int
        Attacks at a time, and threads of each.
    """
    theirs = pd.read_csv(published, keep_default_na=False, dtype=str)
    theirs = theirs[(theirs["method"] == "cp-sat") & (theirs["bagging"] == str(bootstrap))]
    theirs = theirs[theirs["reconstruction_error"] != ""]
    configurations = [(name, size, depth) for name in names for size in sizes for depth in depths]
    tasks = [(folder / f"{name}.csv", size, depth, seed) for name, size, depth in configurations for seed in seeds]
    attempts = joblib.Parallel(jobs, return_as="generator")(
        joblib.delayed(attack)(*task, bootstrap=bootstrap, seconds=seconds, workers=workers) for task in tasks
    )
    print(_HEADER)
    above, all_seconds, their_seconds = 0, [], []
    for name, size, depth in configurations:
        runs = [next(attempts) for _ in seeds]
        same = theirs[
            (theirs["dataset"] == name) & (theirs["n_trees"] == str(size)) & (theirs["max_depth"] == str(depth))
        ].astype({"reconstruction_error": float, "seconds": float})
        ours = np.array([attempt.error for attempt in runs])
        other = same["reconstruction_error"].to_numpy()
        excess, limit = ours.mean() - other.mean(), 0.01 + 2 * np.hypot(standard_error(ours), standard_error(other))
        above += bool(excess > limit)
        all_seconds += [attempt.seconds for attempt in runs]
        their_seconds += same["seconds"].tolist()
        print(
            f"{name:<15} {size:>5} {depth or '-':>5} {ours.mean():>7.4f} {standard_error(ours):>6.4f} "
            f"{other.mean():>7.4f} {standard_error(other):>6.4f} {excess:>7.4f} {limit:>6.4f} "
            f"{np.mean([attempt.perfect for attempt in runs]):>7.1f} "
            f"{np.mean(all_seconds[-len(runs) :]):>6.1f} {max(all_seconds[-len(runs) :]):>6.1f} "
            f"{same['seconds'].mean():>8.0f} {', '.join(attempt.status for attempt in runs)}",
            flush=True,
        )
    print(
        f"{len(configurations)} configurations, {above} above the published error by more than .01 + 2 s.e.; mean "
        f"{np.mean(all_seconds):.2f} s a run (published: {np.mean(their_seconds):.0f} s)"
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
