"""The DRAFT reference beside the engine on the same forests: in goes its checkout, out comes a line for each forest.

Both get the same file, the same domain, the same time limit and the same number of threads, each in a process of its
own, one after the other. Time is that of the attack alone: neither interpreters nor imports count, and the engine's
includes reading the file. The limit bounds the engine as a whole, and the reference's solver only; the time that the
reference takes to build its model comes on top. The error is computed here, for both, from the rows that they return.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.artifact import read
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.reconstruct import reconstruct
from pytest_draft.attack.refit import evidence_by_refitting
from pytest_draft.attack.search import Search
from pytest_draft.domain import Domain, infer
from pytest_draft.errors import InfeasibleError, NotCoveredError, OutOfTimeError
from pytest_draft.knowledge import exchangeable_groups
from pytest_draft.matching import encoded_weights, matched_distance
from pytest_draft.timebox import TimeBox
from studies import reference
from studies.options import add_bagging, add_seeds, add_tables, datasets_of, flags
from studies.public_data import TARGETS, divided

_HEADER = (
    f"{'data':<15} rows trees depth seed bagging {'engine s':>8} {'error':>7} {'status':<13} "
    f"{'DRAFT s':>8} {'error':>7} {'status':<13} {'time':>9} {'error':>7}"
)
_MATCHING_SECONDS = 600.0
"""Guard of matching rebuilt with true rows."""


@dataclass(frozen=True)
class Attempt:
    """What one of the two made of a forest: aggregates only."""

    status: str
    """Its own word, or why there is none."""
    seconds: float
    """Of the attack; where the process was ended, how long it had run."""
    error: float | None
    """Reconstruction error; None without a reconstruction."""


def run(
    checkout: Path,
    interpreter: Path,
    folder: Path,
    names: Sequence[str],
    n_rows: int,
    seeds: Iterable[int],
    bootstraps: Sequence[bool],
    trees: Sequence[int],
    depth: int | None,
    seconds: int,
    threads: int,
) -> None:
    """Print one line for each forest, and how many each of the two rebuilt.

    Parameters
    ----------
    checkout : Path
        Of the DRAFT reference.
    interpreter : Path
        A Python that has what the reference needs, and the scikit-learn of this one.
    folder : Path
        Of ``compas.csv`` and the like.
    n_rows : int
        Rows drawn at random.
    trees : sequence of int
        Forest sizes.
    depth : int or None
        Largest depth of a tree.
    seconds, threads : int
        Limits of each attack.
    """
    print(
        f"at most {seconds} s and {threads} threads each; "
        "time ratio: reference / engine; error ratio: engine / reference"
    )
    print(_HEADER)
    pairs = []
    for name in names:
        for bootstrap in bootstraps:
            for n_trees in trees:
                for seed in seeds:
                    parameters = {"n_estimators": n_trees, "max_depth": depth, "bootstrap": bootstrap}
                    pair = _attacked(
                        checkout, interpreter, folder / f"{name}.csv", n_rows, seed, parameters, seconds, threads
                    )
                    pairs.append(pair)
                    shown = "-" if depth is None else str(depth)
                    what = f"{name:<15} {n_rows:>4} {n_trees:>5} {shown:>5} {seed:>4} {'yes' if bootstrap else 'no':>7}"
                    print(f"{what} {_line(*pair)}", flush=True)
    for who, attempts in zip(["the engine", "the reference"], zip(*pairs, strict=True), strict=True):
        solved = [attempt for attempt in attempts if attempt.error is not None]
        print(f"{who}: {len(solved)} of {len(attempts)} rebuilt within the limit", end="")
        print(f", mean error {np.mean([attempt.error for attempt in solved]):.4f}" if solved else "")
    both = [(mine, other) for mine, other in pairs if mine.error is not None and other.error is not None]
    if both:
        ratio = np.exp(np.mean([np.log(other.seconds / mine.seconds) for mine, other in both]))
        print(f"where both did: the reference took {ratio:.1f} times as long (geometric mean of {len(both)})")


def _attacked(
    checkout: Path,
    interpreter: Path,
    path: Path,
    n_rows: int,
    seed: int,
    parameters: dict[str, Any],
    seconds: int,
    threads: int,
) -> tuple[Attempt, Attempt]:
    """Train one forest and let both attack it."""
    table = pd.read_csv(path)
    everything, _ = divided(table, path.stem)
    domain = infer(tuple(everything.columns), everything.to_numpy(np.float64))
    truth, label = divided(table.sample(n_rows, random_state=seed), path.stem)
    model = RandomForestClassifier(**parameters, random_state=seed).fit(truth, label)
    with tempfile.TemporaryDirectory() as scratch:
        here = Path(scratch)
        joblib.dump(model, here / "model.joblib")
        joblib.dump(domain, here / "domain.joblib")
        (here / "domain.json").write_text(json.dumps(_for_reference(domain)), encoding="utf-8")
        limits = [str(seconds), str(threads), str(seed)]
        commands = {
            "engine": [sys.executable, "-m", __spec__.name, str(here), *limits],
            "reference": [str(interpreter), reference.__file__, str(checkout.resolve()), str(here), *limits],
        }
        rows = truth.to_numpy(np.float32)
        mine, other = (
            _attempt(command, here / f"{who}.npz", rows, domain, seconds) for who, command in commands.items()
        )
    return mine, other


def _for_reference(domain: Domain) -> dict[str, list[list[int]]]:
    """Return a domain as the reference takes it; columns that it is not told of are binary to it."""
    if any(attribute.kind == "numeric" for attribute in domain.attributes):
        raise NotCoveredError("this study compares discrete attributes only; this table has a numeric one")
    return {
        "one_hot": [list(attribute.columns) for attribute in domain.attributes if attribute.kind == "one-hot"],
        "ordinal": [
            [attribute.columns[0], int(attribute.low), int(attribute.high)]
            for attribute in domain.attributes
            if attribute.kind == "ordinal"
        ],
    }


def _attempt(command: list[str], result: Path, truth: NDArray[np.float32], domain: Domain, seconds: int) -> Attempt:
    """Run one attack in its process, and measure what it returns."""
    patience = 2 * seconds + 120  # building the reference's model takes longer than solving it, at times
    start = time.monotonic()
    try:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=patience)
    except subprocess.TimeoutExpired:
        return Attempt("ended", time.monotonic() - start, None)
    except subprocess.CalledProcessError:
        return Attempt("failed", time.monotonic() - start, None)
    with np.load(result) as found:
        rows, spent, status = found["rows"], float(found["seconds"]), str(found["status"])
    if rows.shape != truth.shape:
        return Attempt(status, spent, None)
    distance = matched_distance(rows, truth, encoded_weights(domain), TimeBox(_MATCHING_SECONDS))
    return Attempt(status, spent, distance.exact)


def _line(mine: Attempt, other: Attempt) -> str:
    """Return the figures of both, and their ratios; a bound where one of them has no reconstruction."""
    ratio = f"{other.seconds / mine.seconds:.1f}"
    if other.error is None or mine.error is None:
        ratio = "-" if mine.error is None else f">{ratio}"
    errors = "-"
    if mine.error is not None and other.error is not None:
        errors = "same" if mine.error == other.error else f"{mine.error / other.error:.2f}" if other.error else "inf"
    return f"{_shown(mine)} {_shown(other)} {ratio:>9} {errors:>7}"


def _shown(attempt: Attempt) -> str:
    error = "-" if attempt.error is None else f"{attempt.error:.4f}"
    return f"{attempt.seconds:>8.2f} {error:>7} {attempt.status:<13}"


def attack(folder: Path, seconds: float, threads: int, seed: int) -> None:
    """Attack ``model.joblib`` over ``domain.joblib`` of a folder; save rows, seconds and status as ``engine.npz``."""
    domain: Domain = joblib.load(folder / "domain.joblib")
    timebox = TimeBox(seconds)
    rows: NDArray[np.float32] | None = None
    try:
        forest = read(folder / "model.joblib").forest
        groups = exchangeable_groups(forest, "artifact")
        problem = build(forest, domain, groups, timebox)
        found = reconstruct(problem, Search(timebox, seed, threads), evidence_by_refitting(forest, groups))
        rows, status = found.rows, str(found.status)
    except InfeasibleError:
        status = "infeasible"
    except OutOfTimeError:
        status = "no solution"
    except NotCoveredError:
        status = "not covered"
    spent = timebox.elapsed
    np.savez(
        folder / "engine.npz", rows=np.empty(0, np.float32) if rows is None else rows, seconds=spent, status=status
    )


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument("--draft", type=Path, required=True, help="checkout of github.com/vidalt/DRAFT")
    command.add_argument("--draft-python", type=Path, default=Path(sys.executable), help="interpreter that runs it")
    add_tables(command, ["compas"], TARGETS)
    command.add_argument("--rows", type=int, default=100, help="rows drawn at random")
    add_seeds(command, [0])
    add_bagging(command, ["no"])
    command.add_argument("--trees", type=int, nargs="+", default=[10, 30])
    command.add_argument("--depth", type=int, default=None)
    command.add_argument("--seconds", type=int, default=120, help="limit of each attack")
    command.add_argument("--threads", type=int, default=2)


def command(a: argparse.Namespace) -> None:
    """Run this study."""
    limits = a.depth, a.seconds, a.threads
    run(
        a.draft, a.draft_python, datasets_of(a, a.names), a.names, a.rows, a.seeds, flags(a.bootstrap), a.trees, *limits
    )


if __name__ == "__main__":
    attack(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
