"""Passes held against other people's rows: in go tables with many more rows than a model sees, out comes a line a file.

A model is trained on some rows of a table and judged. Then the rest of the table, which the judge never sees, is
reweighted until it gives the counts of the model's leaves by class, and rounded to rows. This is iterative proportional
fitting on the fitted trees themselves, and shares no code with the engine.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from studies.judging import judged_rows
from studies.options import add_datasets
from studies.packaged_tables import PREFIX, REGRESSION, packaged
from studies.public_data import TARGETS

MODELS: dict[str, Callable[[int], Any]] = {
    "tree, depth 3": lambda seed: DecisionTreeClassifier(max_depth=3, random_state=seed),
    "tree, depth 4": lambda seed: DecisionTreeClassifier(max_depth=4, random_state=seed),
    "tree, leaves of 50": lambda seed: DecisionTreeClassifier(min_samples_leaf=50, random_state=seed),
    "5 x depth 2": lambda seed: RandomForestClassifier(5, max_depth=2, random_state=seed),
    "10 x depth 2": lambda seed: RandomForestClassifier(10, max_depth=2, random_state=seed),
    "extra, 5 x depth 2": lambda seed: ExtraTreesClassifier(5, max_depth=2, random_state=seed),
}
_SIZES = (300, 600, 1_000)
_LEAST_ROWS, _OTHERS, _SWEEPS, _ADDED = 3_000, 8_000, 100, 0.1


def tables(folder: Path) -> dict[str, tuple[pd.DataFrame, pd.Series[Any]]]:
    """Return tables with many rows and two or more classes: features as numbers, and labels."""
    found = {}
    for name, target in {**TARGETS, "default_credit_numerical": TARGETS["default_credit"]}.items():
        table = pd.read_csv(folder / f"{name}.csv")
        found[name] = table.drop(columns=target), table[target]
    for name, table in packaged().items():
        if len(table) >= _LEAST_ROWS and not name.endswith(REGRESSION):
            complete = table.dropna()
            features = pd.get_dummies(complete.drop(columns="label")).astype(np.float32)
            if len(complete) >= _LEAST_ROWS:
                found[name.removeprefix(PREFIX)] = features, complete["label"]
    return found


def raked(model: Any, others: NDArray[Any], labels: NDArray[Any], rows: NDArray[Any], own: NDArray[Any]) -> Any:
    """Return how often each of the others stands for one of the rows, so that all leaves have their counts by class."""
    trees = [one.tree_ for one in getattr(model, "estimators_", [model])]
    weight = np.full(len(others), len(rows) / len(others))
    places = []
    for tree in trees:
        here = tree.apply(rows.astype(np.float32)) * model.n_classes_ + own
        there = tree.apply(others.astype(np.float32)) * model.n_classes_ + labels
        places.append((there, np.bincount(here, minlength=tree.node_count * model.n_classes_).astype(float)))
    for _ in range(_SWEEPS):
        for there, counts in places:
            now = np.bincount(there, weight, minlength=len(counts))
            weight *= np.divide(counts, now, out=np.ones_like(counts), where=now > 0)[there]
    return weight


def nearest(others: NDArray[Any], weight: NDArray[Any], rows: NDArray[Any], spread: NDArray[Any]) -> float:
    """Return the error of others in proportion to their weights: the most frequent kinds, or every so many of all."""
    kinds, of_row = np.unique(others, axis=0, return_inverse=True)
    frequency = np.bincount(of_row.reshape(-1), weight)
    frequency *= len(rows) / frequency.sum()
    times = np.floor(frequency + 1e-9).astype(int)
    times[np.argsort(times - frequency, kind="stable")[: len(rows) - times.sum()]] += 1
    order = np.lexsort(others.T)
    ends = np.floor(np.cumsum(weight[order]) / weight.sum() * len(rows) + 0.5)
    drawn = others[order][np.diff(ends, prepend=0) > 0]
    guesses = [np.repeat(kinds, times, axis=0)] + ([drawn] if len(drawn) == len(rows) else [])
    found = []
    for guess in guesses:
        cost = cdist(rows / spread, guess / spread, "cityblock")
        found.append(float(cost[linear_sum_assignment(cost)].mean() / rows.shape[1]))
    return min(found)


def run(a: argparse.Namespace) -> int:
    """Print a line for each file; return how many that pass are crossed by more than a tenth, or miss their limit."""
    known = tables(a.datasets)
    crossed, beaten, passed, judged = 0, 0, 0, 0
    for number in range(a.first, a.first + a.files):
        name = list(known)[number % len(known)]
        features, target = known[name]
        rng = np.random.default_rng([number, 6])
        kind = list(MODELS)[number // len(known) % len(MODELS)]
        size = min(int(rng.choice(_SIZES)), len(features) // 3)
        order = rng.permutation(len(features))
        mine, theirs = order[:size], order[size : size + _OTHERS]
        rows, labels = features.iloc[mine].reset_index(drop=True), target.iloc[mine].reset_index(drop=True)
        model = MODELS[kind](number).fit(rows, labels)
        result = judged_rows(model, rows, labels, a.seconds)
        known_class = np.isin(target.iloc[theirs], model.classes_)
        others = features.iloc[theirs][known_class].to_numpy(float)
        codes, own = (np.searchsorted(model.classes_, one) for one in (target.iloc[theirs][known_class], labels))
        truth = rows.to_numpy(float)
        spread = np.where((width := np.ptp(truth, axis=0)) > 0, width, np.inf)
        reached = nearest(others, raked(model, others, codes, truth, own), truth, spread)
        without = nearest(others, np.ones(len(others)), truth, spread)
        bar, limit = 0.5 * (result["metrics"]["split_half_error"] or 0.0), (result["limit"] or {}).get("least_error")
        over = reached <= bar and reached < (1 - _ADDED) * without
        below = limit is not None and min(reached, without) < limit
        judged, passed = judged + 1, passed + (result["verdict"] == "passed")
        crossed += over and result["verdict"] == "passed"
        beaten += below and result["verdict"] == "passed"
        said = "-" if limit is None else f"{limit:.4f}"
        marks = " crossed" * over + " beaten" * below
        figures = f"{bar:.4f} {said} {reached:.4f} {without:.4f}{marks}"
        print(f"{name:28} {size:5} {kind:18} {result['verdict']:12} {figures}", flush=True)
    print(
        f"{judged} files, {passed} passed; of these {crossed} crossed by more than a tenth, limits of {beaten} beaten"
    )
    return crossed + beaten


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_datasets(command)
    command.add_argument("--files", type=int, default=60)
    command.add_argument("--first", type=int, default=0, help="the first file's number")
    command.add_argument("--seconds", type=float, default=30.0, help="time box of a judgement")


def command(a: argparse.Namespace) -> int:
    """Run this study."""
    return run(a)
