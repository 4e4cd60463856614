"""What files tell of labels and targets, of members and of others: in go packaged tables, out comes a line for a file.

Six files a table: grown trees, forests, hardened and boosted ones, and two that tell little. What is told of others is
the same guess on rows of the table that no model was trained on.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn import ensemble, tree

from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.facts.label_told import Told
from pytest_draft.hardening.model import hardened
from pytest_draft.policy.label_told import RULE
from pytest_draft.policy.policy import default_policy
from studies.optional import optional
from studies.packaged_tables import REGRESSION, is_held_out, packaged

_BOOSTERS = ("GradientBoosting", "HistGradientBoosting", "XGB", "LGBM", "CatBoost")
_LEVELS = ("counts", "labels")
_SIZES = (150, 300, 600)


def models(number: int, ending: str) -> dict[str, Callable[[], Any]]:
    """Return what makes the models of the table of this number, by what they are called."""
    trees, seed = getattr(tree, f"DecisionTree{ending}"), number
    forest = getattr(ensemble, f"{('RandomForest', 'ExtraTrees')[number % 2]}{ending}")
    booster = _BOOSTERS[number % len(_BOOSTERS)]
    return {
        "tree": lambda: trees(random_state=seed),
        forest.__name__.removesuffix(ending): lambda: forest(random_state=seed),
        f"tree, hardened to {_LEVELS[number % 2]}": lambda: trees(random_state=seed),
        booster: lambda: _booster(booster, ending, seed),
        "5 trees of depth 2": lambda: forest(5, max_depth=2, random_state=seed),
        "tree, leaves of 50": lambda: trees(min_samples_leaf=50, random_state=seed),
    }


def _booster(name: str, ending: str, seed: int) -> Any:
    if name == "XGB":
        return getattr(_library("xgboost"), f"XGB{ending}")(n_jobs=1)
    if name == "LGBM":
        return getattr(_library("lightgbm"), f"LGBM{ending}")(min_child_samples=5, n_jobs=1, verbose=-1)
    if name == "CatBoost":
        quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
        return getattr(_library("catboost"), f"CatBoost{ending}")(iterations=200, random_seed=seed, **quiet)
    return getattr(ensemble, f"{name}{ending}")(random_state=seed)


def _library(name: str) -> Any:
    return optional(name, "files of boosted trees", "boosters")


def tables(number: int) -> list[str]:
    """Return the names of so many tables on which no threshold was chosen, classifications and regressions in turn."""
    names = [name for name in packaged() if is_held_out(name) and len(packaged()[name]) >= 2 * _SIZES[0]]
    parted = [[name for name in names if name.endswith(REGRESSION) == wanted] for wanted in (False, True)]
    mixed = [list(np.random.default_rng(40).permutation(part)) for part in parted]
    return [mixed[i % 2][i // 2] for i in range(number)]


def lines(name: str, number: int, seconds: float) -> Iterator[dict[str, object]]:
    """Yield a line for each file of a table."""
    table = packaged()[name].sample(frac=1, random_state=number).reset_index(drop=True)
    rows = pd.get_dummies(table.drop(columns="label"), dtype=float).astype(float).fillna(-999.0)
    rows.columns = [f"x{i}" for i in range(rows.shape[1])]
    frame, size = rows.assign(label=table.label), min(_SIZES[number % 3], len(table) // 2)
    ending = "Regressor" if name.endswith(REGRESSION) else "Classifier"
    with tempfile.TemporaryDirectory() as folder:
        mine, others, path = (Path(folder, one) for one in ("train.csv", "others.csv", "model.joblib"))
        frame[:size].to_csv(mine, index=False)
        frame[size:].to_csv(others, index=False)
        for kind, make in models(number, ending).items():
            model = make().fit(rows[:size], table.label[:size])
            level = kind.partition("hardened to ")[2]
            joblib.dump(hardened(model, level, rows[:size])[0] if level else model, path)
            case = Case(str(path), str(mine), target="label", holdout=str(others), seconds=seconds, attack=False)
            examined, _ = examine(case)
            yield {"table": name, "rows": size, "file": kind, **_figures(examined)}


def _figures(examined: Any) -> dict[str, object]:
    found = examined.label_told
    outcome = RULE.check(examined, default_policy().rules[RULE.id])
    if found is None:
        return {"verdict": outcome.result, "why": outcome.sentence}
    told: Told = found.told
    beyond = (told.told - told.without) / max(1, told.missed)
    return {
        "members": told.share,
        "others": None if found.holdout_rows is None else found.holdout_told / found.holdout_rows,
        "without": told.share_without,
        "beyond": beyond,
        "certain": told.share_certain,
        "exact": None if found.exact is None else found.exact.share,
        "of highest": found.highest_exact,
        "verdict": outcome.result,
    }


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument("--tables", type=int, default=10, metavar="N", help="tables that chose no threshold (10)")
    command.add_argument("--seconds", type=float, default=120.0, help="time box of each file (120)")


def command(a: argparse.Namespace) -> None:
    """Print the table, and how many files were passed that tell more than a third of the rest."""
    found = []
    for number, name in enumerate(tables(a.tables)):
        for line in lines(name, number, a.seconds):
            print(" | ".join(map(_cell, line.values())), flush=True)
            found.append(line)
    passed = [line for line in found if line["verdict"] == "passed"]
    beyond = [line for line in passed if line["beyond"] > 1 / 3]  # type: ignore[operator]
    little = [line for line in found if line["file"] in ("5 trees of depth 2", "tree, leaves of 50")]
    print(f"{len(found)} files, {len(passed)} passed, {len(beyond)} of them with more than a third of the rest told")
    print(f"{len(little)} files that tell little: {sum(line['verdict'] == 'failed' for line in little)} failed")
