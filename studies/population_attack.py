"""Passes held against somebody who has other people's rows: in go a folder of tables, out comes a line for each file.

Forests are hardened and judged; then whoever has the file, the number of rows and other rows of the same population
guesses. This attacker shares no code with the engine: kinds of rows are as likely as among other people's; a row in a
leaf that has none of its label was not drawn for that tree, which has a probability of exp(-1), or rows of the same
values and another label were drawn more often, and in each leaf a row of each label that it has was drawn. Whole rows
are drawn anew, one after the other (Gibbs), first at higher temperatures.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.facts.findings import Findings
from pytest_draft.hardening.model import hardened
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.verdict import judge, verdict_of
from studies.options import add_datasets
from studies.public_data import TARGETS

BREAST_CANCER = "breast_cancer"
"""Scikit-learn's table, its first ten columns as quarters."""

_FAMILIES: dict[str, dict[str, Any]] = {
    "grown": {"n_estimators": 100},
    "few grown": {"n_estimators": 10},
    "small": {"n_estimators": 5, "max_depth": 2, "min_samples_leaf": 20},
    "smaller": {"n_estimators": 5, "max_depth": 2, "min_samples_leaf": 50},
    "middle": {"n_estimators": 20, "max_depth": 4, "min_samples_leaf": 5},
}
_LEVELS = ("labels", "decimals:2", "counts")
_SIZES = (150, 200, 100, 400)
_OTHERS, _SWEEPS, _KEPT, _EMPTY = 4_000, 60, 8, 8.0
_ADDED = 0.1


@dataclass(frozen=True)
class Reached:
    """What a guess gets: its error, and the rows that it meets."""

    error: float
    rows: float


def attack(
    model: RandomForestClassifier, others: NDArray[np.float32], labels: NDArray[Any], n_rows: int, seed: int
) -> tuple[list[NDArray[np.float32]], list[NDArray[np.float32]]]:
    """Return datasets that are likely by the file and other people's rows, and as many by these rows alone."""
    rng = np.random.default_rng(seed)
    kind, times = np.unique(
        np.column_stack([others, np.searchsorted(model.classes_, labels)]), axis=0, return_counts=True
    )
    vector, label = kind[:, :-1].astype(np.float32), kind[:, -1].astype(int)
    log, first, cover = np.log(times / times.sum()), 0, []
    _, alike = np.unique(vector, axis=0, return_inverse=True)
    outvoted = 1 - times / np.bincount(alike.reshape(-1), times)[alike.reshape(-1)]
    unseen, told = np.log(np.exp(-1) + (1 - np.exp(-1)) * outvoted), np.zeros(len(vector))
    for tree in (one.tree_ for one in model.estimators_):
        share = tree.value[:, 0, :]
        leaf = tree.apply(vector)
        has = share[leaf, label] > 0
        grown = model.max_depth is None and model.min_samples_leaf == 1
        if grown:
            told += ~has * unseen  # it was not drawn, or others of the same values were drawn more often
        cover.append(np.where(has, first + leaf * share.shape[1] + label, -1))
        first += share.size
    places = np.stack(cover, axis=1)
    met = np.arange(n_rows + 1)
    drawn = np.log(np.maximum(1 - np.exp(-met), np.exp(-_EMPTY)))
    gain = np.append(np.diff(drawn), 0.0)
    chosen = rng.choice(len(log), n_rows, p=np.exp(log - np.logaddexp.reduce(log)))
    count = np.bincount(places[chosen][places[chosen] >= 0], minlength=first + 1)
    count[-1] = n_rows  # of what is covered nowhere: nothing is gained
    kept = []
    for sweep in range(_SWEEPS):
        cold = min(1.0, 0.02 ** (1 - 2 * sweep / _SWEEPS))
        for row in rng.permutation(n_rows):
            own = places[chosen[row]]
            count[own[own >= 0]] -= 1
            weight = log + cold * (told + gain[count[places]].sum(axis=1))
            weight = np.exp(weight - weight.max()).cumsum()
            chosen[row] = np.searchsorted(weight, rng.random() * weight[-1])
            own = places[chosen[row]]
            count[own[own >= 0]] += 1
        if sweep >= _SWEEPS - 2 * _KEPT and sweep % 2:
            kept.append(vector[chosen])
    alone = [vector[rng.choice(len(vector), n_rows, p=times / times.sum())] for _ in range(_KEPT)]
    return kept, alone


def reached(samples: Sequence[NDArray[np.float32]], truth: NDArray[np.float32], spread: NDArray[np.float32]) -> Reached:
    """Return what the guesses get that these datasets lead to: matched medians, and the likeliest rows."""
    guess = samples[0]
    for _ in range(2):
        matched = [other[linear_sum_assignment(cdist(guess, other, "cityblock"))[1]] for other in samples]
        guess = np.median(np.stack(matched), axis=0)
    near = min(_error(one, truth, spread) for one in (np.round(guess),))
    slots: dict[tuple[bytes, int], int] = {}
    for sample in samples:
        vector, times = np.unique(sample, axis=0, return_counts=True)
        for one, number in zip(vector, times.tolist(), strict=True):
            for j in range(number):
                slots[one.tobytes(), j] = slots.get((one.tobytes(), j), 0) + 1
    best = sorted(slots, key=lambda slot: -slots[slot])[: len(truth)]
    vector, times = np.unique(truth, axis=0, return_counts=True)
    held = {one.tobytes(): number for one, number in zip(vector, times.tolist(), strict=True)}
    return Reached(near, float(sum(j < held.get(one, 0) for one, j in best)))


def _error(guess: NDArray[Any], truth: NDArray[Any], spread: NDArray[Any]) -> float:
    cost = cdist(guess / spread, truth / spread, "cityblock")
    return float(cost[linear_sum_assignment(cost)].mean() / truth.shape[1])


def _tables(folder: Path) -> Iterator[tuple[str, pd.DataFrame, pd.Series[Any]]]:
    for name, target in TARGETS.items():
        table = pd.read_csv(folder / f"{name}.csv")
        yield name, table.drop(columns=target), table[target]
    toy = load_breast_cancer(as_frame=True)
    quarters = toy.data.iloc[:, :10].apply(lambda column: pd.qcut(column, 4, labels=False))
    yield BREAST_CANCER, quarters, toy.target


def _judged(
    model: RandomForestClassifier,
    rows: pd.DataFrame,
    labels: pd.Series[Any],
    others: pd.DataFrame | None,
    seconds: float,
) -> tuple[str, Findings | None]:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "model.joblib"
        joblib.dump(model, path)
        holdout = None
        if others is not None:
            holdout = str(Path(scratch) / "holdout.csv")
            others.to_csv(holdout, index=False)
        case = Case(artifact=str(path), target="label", holdout=holdout, seconds=seconds)
        examination, _ = examine(case, rows.assign(label=labels))
    checks = judge(examination, default_policy())
    for check in checks:
        if check.counts and not check.is_fine:
            print(f"  {check.rule}: {check.sentence}")
    return verdict_of((check.result, check.counts) for check in checks), examination.findings


def run(a: argparse.Namespace) -> int:
    """Print a line for each file; return how many that pass the attack crosses."""
    tables = list(_tables(a.datasets))
    print(
        "table           rows family     level      seed verdict      "
        "error: bar, least, got, without file; rows: bar, most, got, without file"
    )
    crossed, beaten, passed, judged = 0, 0, 0, 0
    for number in range(a.first, a.first + a.files):
        name, features, target = tables[number % len(tables)]
        rng = np.random.default_rng([number, 5])
        family = a.families[number // len(tables) % len(a.families)]
        level, size = _LEVELS[int(rng.integers(3))], _SIZES[int(rng.integers(4))]
        size = min(size, len(features) // 2)
        order = rng.permutation(len(features))
        mine, theirs = order[:size], order[size : size + _OTHERS]
        rows, labels = features.iloc[mine].reset_index(drop=True), target.iloc[mine].reset_index(drop=True)
        hidden = int(rng.integers(2**31))  # not found again by trying small numbers
        model = RandomForestClassifier(**_FAMILIES[family], random_state=hidden).fit(rows.to_numpy(), labels)
        others = features.iloc[theirs]
        without, _ = hardened(model, level, rows.to_numpy())
        verdict, found = _judged(without, rows, labels, others if a.holdout else None, a.seconds)
        judged += 1
        passed += verdict == "passed"
        head = f"{name:15} {size:4} {family:10} {level:10} {number:4} {verdict:12}"
        if found is None or found.whole.ideal is None:
            print(f"{head} no bound", flush=True)
            continue
        truth, spread = rows.to_numpy(np.float32), np.maximum(np.ptp(features.to_numpy(np.float32), axis=0), 1)
        kept, alone = attack(without, others.to_numpy(np.float32), target.iloc[theirs].to_numpy(), size, number)
        got, before = reached(kept, truth, spread), reached(alone, truth, spread)
        half = found.whole.split_half
        bar = (half.error or 0) / 2
        most = (half.perfect_rows or 0) + (size - (half.perfect_rows or 0)) / 2
        ideal = found.whole.ideal
        over = got.error <= bar and got.error < (1 - _ADDED) * before.error
        over |= got.rows > most and got.rows > before.rows + _ADDED * (size - before.rows)
        chance = 2 * np.sqrt(max(got.rows * (1 - got.rows / size), 1)) + 1
        below = got.error < ideal.least_error or got.rows > ideal.most_perfect_rows + chance
        crossed += over and verdict == "passed"
        beaten += below
        priors = " ".join(
            f"{one.prior[0]}:{one.least_error:.4f}/{one.error_without_file:.4f},"
            f"{one.most_perfect_rows:.0f}/{one.perfect_rows_without_file:.0f}"
            for one in getattr(ideal, "attackers", ())
        )
        print(
            f"{head} {bar:.4f} {ideal.least_error:.4f} {got.error:.4f} {before.error:.4f} "
            f"{most:6.1f} {ideal.most_perfect_rows:6.1f} {got.rows:4.0f} {before.rows:4.0f}"
            f"{' crossed' if over else ''}{' beaten' if below else ''} {priors}",
            flush=True,
        )
    print(f"{judged} files, {passed} passed; {crossed} of these crossed; bounds of {beaten} beaten")
    return int(crossed)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_datasets(command)
    command.add_argument("--files", type=int, default=40)
    command.add_argument("--first", type=int, default=0, help="the first file's number")
    command.add_argument("--families", nargs="+", choices=list(_FAMILIES), default=list(_FAMILIES))
    command.add_argument("--seconds", type=float, default=60.0, help="time box of a judgement")
    command.add_argument("--holdout", action="store_true", help="give the judge other people's rows, too")


def command(a: argparse.Namespace) -> int:
    """Run this study."""
    return run(a)
