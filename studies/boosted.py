"""What comes back of the rows of boosted trees: in go tables and libraries, out comes a row for each model.

Each model is trained with its library's defaults on rows drawn at random, saved, and examined to the end of the attack,
by somebody without side knowledge. *Bare* files have nothing but the values of leaves: numbers of rows, sums of
hessians, gains and the values of inner nodes are taken out before. Libraries that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import tempfile
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from studies.cells import Plain, Study
from studies.options import add_cells, add_datasets, add_seeds, rows_of
from studies.public_data import TARGETS

LIBRARIES = {
    "CatBoost": "catboost",
    "GradientBoosting": "sklearn",
    "HistGradientBoosting": "sklearn",
    "LightGBM": "lightgbm",
    "XGBoost": "xgboost",
}
"""The module of each."""

BARE = ("GradientBoosting", "HistGradientBoosting", "XGBoost")
_LABEL = "label"


def saved(library: str, features: pd.DataFrame, target: pd.Series[Any], seed: int, folder: Path, *, bare: bool) -> Path:
    """Train a model with defaults, and return its file."""
    path = folder / "model.joblib"
    if library == "CatBoost":
        from catboost import CatBoostClassifier

        model = CatBoostClassifier(random_seed=seed, verbose=0, allow_writing_files=False)
        path = folder / "model.json"
        model.fit(features, target).save_model(str(path), format="json")
        return path
    if library == "LightGBM":
        from lightgbm import LGBMClassifier

        joblib.dump(LGBMClassifier(random_state=seed, verbose=-1).fit(features, target), path)
        return path
    if library == "XGBoost":
        from xgboost import XGBClassifier

        model = XGBClassifier(random_state=seed).fit(features, target)
        joblib.dump(_bare_xgboost(model, folder) if bare else model, path)
        return path
    from sklearn import ensemble

    model = getattr(ensemble, f"{library}Classifier")(random_state=seed).fit(features, target)
    if bare:
        (_bare_histograms if library == "HistGradientBoosting" else _bare_trees)(model)
    joblib.dump(model, path)
    return path


def _bare_xgboost(model: Any, folder: Path) -> Any:
    """Take out all but the leaves' values; the learning rate and lambda are the defaults."""
    path = folder / "bare.json"
    model.save_model(path)
    content = json.loads(path.read_text())
    for tree in content["learner"]["gradient_booster"]["model"]["trees"]:
        for name in ("sum_hessian", "loss_changes", "base_weights"):
            tree[name] = [0.0] * len(tree[name])
    path.write_text(json.dumps(content))
    booster = type(model.get_booster())()
    booster.load_model(path)
    model._Booster = booster
    return model


def _bare_histograms(model: Any) -> None:
    for (predictor,) in model._predictors:
        nodes = predictor.nodes.copy()
        nodes["count"], nodes["gain"] = 0, 0.0
        nodes["value"][nodes["is_leaf"] == 0] = 0.0
        predictor.nodes = nodes


def _bare_trees(model: Any) -> None:
    for (regressor,) in model.estimators_:
        tree = regressor.tree_
        state = dict(tree.__getstate__())
        nodes, values = state["nodes"].copy(), state["values"].copy()
        nodes["n_node_samples"], nodes["weighted_n_node_samples"], nodes["impurity"] = 0, 0.0, 0.0
        values[nodes["left_child"] >= 0] = 0.0
        fresh = type(tree)(tree.n_features, tree.n_classes, tree.n_outputs)
        fresh.__setstate__({**state, "nodes": nodes, "values": values})
        regressor.tree_ = fresh


def compute(
    table: Path, library: str, rows: int, seed: int, bare: bool, seconds: float, workers: int
) -> dict[str, Plain]:
    """Return what comes back of one model's rows."""
    warnings.simplefilter("ignore")
    data = pd.read_csv(table).sample(rows, random_state=seed).reset_index(drop=True)
    data.columns = ["".join(c if c.isalnum() else "_" for c in str(name)) for name in data]
    target = "".join(c if c.isalnum() else "_" for c in TARGETS[table.stem])
    features, label = data.drop(columns=target), data[target]
    with tempfile.TemporaryDirectory() as folder:
        path = saved(library, features, label, seed, Path(folder), bare=bare)
        case = Case(str(path), target=_LABEL, seed=seed, seconds=seconds, workers=workers)
        begun = time.perf_counter()
        examination, rebuilt = examine(case, features.assign(**{_LABEL: label}))
        spent = time.perf_counter() - begun
    found = None if examination.findings is None else examination.findings.whole
    certificate = None if rebuilt is None else rebuilt.certificate
    right = None
    if rebuilt is not None and rebuilt.rows is not None and rebuilt.labels is not None:
        mine = _counted(features.to_numpy(np.float32), label.to_numpy())
        theirs = _counted(rebuilt.rows, np.unique(label)[rebuilt.labels])
        right = sum(min(number, theirs.get(row, 0)) for row, number in mine.items())
    return {
        "perfect": None if found is None else float(found.perfect.lower),
        "with label": right,
        "error": None if found is None else found.error.upper,
        "split-half": None if found is None else found.split_half.error,
        "certain": None if certificate is None else certificate.certain_vectors.lower,
        "status": examination.solver_status,
        "s": spent,
    }


def _counted(rows: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> dict[tuple[Any, ...], int]:
    """Return how often each row with its label is there."""
    different, number = np.unique(np.column_stack([rows.astype(np.float64), labels]), axis=0, return_counts=True)
    return {tuple(row): int(many) for row, many in zip(different.tolist(), number.tolist(), strict=True)}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the study's options."""
    add_datasets(command)
    command.add_argument("--tables", nargs="+", default=["compas:1000", "adult:300"], help="NAME:ROWS")
    command.add_argument("--libraries", nargs="+", default=list(LIBRARIES), choices=list(LIBRARIES))
    command.add_argument("--bare", action="store_true", help="of files with nothing but the values of leaves")
    command.add_argument("--seconds", type=float, default=60.0, help="time box of each judgement")
    command.add_argument("--threads", type=int, default=2, help="of each judgement")
    add_seeds(command, [11, 12, 13])
    add_cells(command)


def command(arguments: argparse.Namespace) -> None:
    """Print a table of means over seeds."""
    tables = {name: int(rows) for name, _, rows in (one.partition(":") for one in arguments.tables)}
    libraries = [one for one in arguments.libraries if importlib.util.find_spec(LIBRARIES[one]) is not None]
    if arguments.bare:
        libraries = [one for one in libraries if one in BARE]
    cells = [
        {
            "table": name,
            "library": library,
            "rows": tables[name],
            "seed": seed,
            "bare": arguments.bare,
            "seconds": arguments.seconds,
            "workers": arguments.threads,
        }
        for name, library, seed in product(tables, libraries, arguments.seeds)
    ]
    study = Study("boosted", compute, cells, {"table": {name: arguments.datasets / f"{name}.csv" for name in tables}})
    rows = rows_of(study, arguments)
    print(rows.drop(columns=["bare", "seconds", "workers"]).to_string(index=False))
