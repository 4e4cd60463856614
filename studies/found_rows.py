"""Rows that are found in a raw table: what is said of wrong ones, and how long it takes.

``false``: a table is made whose split gives the right rows but for one change, 2,000 times for each model. Whatever
still explains the file is judged as a user would see it. ``times``: seconds of a processor until rows are found, or
until it is said that they are not.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from pytest_draft.artifact import Artifact, read
from pytest_draft.data import as_table
from pytest_draft.errors import DataError
from pytest_draft.finding.given import rows_of
from pytest_draft.finding.told import Told, told_by
from pytest_draft.timebox import TimeBox

Frame = pd.DataFrame
N_TABLE, N_ROWS, SEED = 768, 614, 42

JUDGED = 40
"""Of the wrong tables that explain a file, so many are judged as a user would see them."""

MODELS: dict[str, Callable[[], Any]] = {
    "forest, 100 trees": lambda: RandomForestClassifier(100, random_state=0),
    "forest, 10 trees": lambda: RandomForestClassifier(10, random_state=0),
    "forest, 1 tree": lambda: RandomForestClassifier(1, random_state=0),
    "forest, 100, depth 3": lambda: RandomForestClassifier(100, max_depth=3, random_state=0),
    "forest, 10, depth 3": lambda: RandomForestClassifier(10, max_depth=3, random_state=0),
    "forest, 100, leaves of 50": lambda: RandomForestClassifier(100, min_samples_leaf=50, random_state=0),
    "forest, 100, no bootstrap": lambda: RandomForestClassifier(100, bootstrap=False, random_state=0),
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "tree, depth 3": lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
    "GradientBoosting": lambda: GradientBoostingClassifier(random_state=0),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "XGBoost": lambda: XGBClassifier(n_estimators=100),
    "XGBoost, 10, depth 3": lambda: XGBClassifier(n_estimators=10, max_depth=3),
    "LightGBM": lambda: LGBMClassifier(verbose=-1),
}


def people(n_rows: int, coding: str, seed: int) -> Frame:
    """Return made-up rows with a label: as numbers, in five bins of each column, or as zeros and ones."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n_rows, 8)) + 0.6 * random.normal(size=(n_rows, 1))
    label = (rows[:, 0] + rows[:, 1] * rows[:, 2] + random.normal(size=n_rows) > 0.4).astype(int)
    frame = pd.DataFrame(rows.round(2), columns=[f"c{j}" for j in range(8)])
    if coding != "numeric":
        frame = frame.apply(lambda column: pd.qcut(column, 5 if coding == "binned" else 2, labels=False))
    return frame.assign(y=label)


def trained_at(n_rows: int, size: int) -> Any:
    """Return the positions that ``train_test_split(random_state=42)`` takes."""
    return np.random.RandomState(SEED).permutation(n_rows)[n_rows - size :]


def wrong_tables(table: Frame, at: Any, number: int, seed: int) -> Iterator[tuple[str, bool, Frame]]:
    """Yield kinds of changes, whether other rows are there than were trained on, and tables."""
    random = np.random.default_rng(seed)
    rest = np.setdiff1d(np.arange(len(table)), at)
    features = [name for name in table.columns if name != "y"]
    kinds = ["other split", "1 % replaced", "row replaced", "row replaced, same label", "row doubled", "rows swapped"]
    kinds += ["rows swapped, same label", "near copy", "columns swapped", "value, any other", "value, the next"]
    for one in range(number):
        kind, made = kinds[one % len(kinds)], table.copy()
        first, second = random.choice(at, 2, replace=False)
        if kind == "other split":
            made.iloc[at] = table.iloc[random.permutation(len(table))[: len(at)]].to_numpy()
        elif kind == "1 % replaced":
            made.iloc[random.choice(at, len(at) // 100, replace=False)] = table.iloc[
                random.choice(rest, len(at) // 100, replace=False)
            ].to_numpy()
        elif kind.startswith("row replaced"):
            same = rest[table.y.to_numpy()[rest] == table.y.iloc[first]]
            made.iloc[first] = table.iloc[random.choice(same if "same" in kind else rest)]
        elif kind == "row doubled":
            made.iloc[first] = table.iloc[second]
        elif kind.startswith("rows swapped"):
            if "same" in kind:
                second = random.choice(at[(table.y.to_numpy()[at] == table.y.iloc[first]) & (at != first)])
            made.iloc[first], made.iloc[second] = table.iloc[second].copy(), table.iloc[first].copy()
        elif kind == "columns swapped":
            a, b = random.choice(features, 2, replace=False)
            made[a], made[b] = table[b], table[a]
        else:
            for name in random.choice(features, 2 if kind == "near copy" else 1, replace=False):
                others = np.unique(table[name])
                others = others[others != table[name].iloc[first]]
                gap = np.abs(others - table[name].iloc[first])
                value = others[gap.argmin()] if kind.endswith("next") else random.choice(others)
                made.loc[made.index[first], name] = value
        if not made.iloc[at].equals(table.iloc[at]):
            yield kind, not kind.startswith(("value", "near copy")), made


def explains(told: Told, rows: Frame) -> bool:
    """Return whether rows in their order explain all counts and sums of a file."""
    return not told.misses(rows.drop(columns="y").to_numpy(np.float32), rows.y.to_numpy(np.int64))


def fitted(model: Any, rows: Frame, folder: str) -> Artifact:
    """Train a model, save it, and read its file."""
    joblib.dump(model.fit(rows.drop(columns="y"), rows.y), Path(folder, "model.joblib"))
    return read(Path(folder, "model.joblib"))


def falsely(number: int, names: list[str], codings: list[str]) -> int:
    """Print what is said of wrong tables; return how many rows were confirmed that were not trained on."""
    wrong = 0
    print(
        "columns and model",
        "wrong tables",
        "fit: rows, values",
        "judged",
        "only",
        "confirmed: rows, values",
        "notices",
        sep=" | ",
    )
    print(" | ".join(["---"] * 7))
    for coding in codings:
        table, at = people(N_TABLE, coding, 7), trained_at(N_TABLE, N_ROWS)
        for name in names:
            with tempfile.TemporaryDirectory() as folder:
                artifact = fitted(MODELS[name](), table.iloc[at], folder)
            told = told_by(artifact.forest, TimeBox(60))
            assert told is not None
            said: Counter[str] = Counter()
            for _, is_row, made in wrong_tables(table, at, number, 5):
                said["tables"] += 1
                if not explains(told, made.iloc[at]):
                    continue
                what = "rows" if is_row else "values"
                said[what] += 1
                if said["judged"] == JUDGED:
                    continue
                said["judged"] += 1
                try:
                    found = rows_of(artifact, as_table(made), "y", TimeBox(3), 0, 40)
                except DataError:
                    continue
                right = table.iloc[at, :-1].to_numpy(np.float32)
                same = np.array_equal(np.sort(found.data.rows, axis=0), np.sort(right, axis=0))
                said["only"] += not found.confirmed and not same
                said[f"confirmed {what}"] += found.confirmed
            wrong += said["confirmed rows"]
            note = ""
            try:
                whole = rows_of(artifact, as_table(table), "y", TimeBox(9), 0, 40)
                note = (whole.note or "").partition("notices: ")[2].partition("; columns")[0]
            except DataError:
                note = "not found"
            cells = (
                f"{coding}, {name}",
                said["tables"],
                f"{said['rows']}, {said['values']}",
                said["judged"],
                said["only"],
            )
            print(*cells, f"{said['confirmed rows']}, {said['confirmed values']}", note, sep=" | ", flush=True)
    return wrong


def times(sizes: list[int]) -> int:
    """Print seconds until rows are found, or not."""
    print("| training rows | model | split | found after, s | not found after, s |\n| --- | --- | --- | --- | --- |")
    kinds: dict[str, Callable[[], Any]] = {
        "forest, 100 trees": lambda: RandomForestClassifier(100, random_state=0),
        "forest regressor, 30 trees": lambda: RandomForestRegressor(30, random_state=0),
        "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0, early_stopping=False),
        "XGBoost": lambda: XGBClassifier(n_estimators=100),
        "LightGBM": lambda: LGBMClassifier(verbose=-1),
    }
    for size in sizes:
        table = people(size * 5 // 4, "numeric", size)
        at = trained_at(len(table), size)
        for name, make in kinds.items():
            with tempfile.TemporaryDirectory() as folder:
                artifact = fitted(make(), table.iloc[at], folder)
            seconds = []
            for given in (table, people(len(table), "numeric", size + 1)):
                since = time.process_time()
                try:
                    found = rows_of(artifact, as_table(given), "y", TimeBox(9), 0, 40).note is not None
                except DataError:
                    found = False
                seconds.append(f"{time.process_time() - since:.1f}" + "" * found)
            print(f"| {size:,} | {name} | seed 42 | {seconds[0]} | {seconds[1]} |", flush=True)
    return 0


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument("part", choices=("false", "times"))
    command.add_argument("--number", type=int, default=2_000, help="wrong tables of each model (2000)")
    command.add_argument("--models", nargs="+", choices=tuple(MODELS), default=list(MODELS))
    command.add_argument("--codings", nargs="+", default=["numeric", "binned", "binary"])
    command.add_argument("--sizes", nargs="+", type=int, default=[100, 1_000, 10_000, 50_000])


def command(a: argparse.Namespace) -> int:
    """Run this study; return how many rows were confirmed that were not trained on."""
    return times(a.sizes) if a.part == "times" else falsely(a.number, a.models, a.codings)
