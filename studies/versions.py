"""What versions of a model tell together: in go tables, out come shares of the people who are in one file only.

A model is fitted to rows drawn at random, and again after people were added, removed or replaced. What the file with
these people tells of them is held beside what both files tell (`examine.together`). Sets of files of the same rows are
looked at in the same way: small forests, folds, halves.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn import datasets, ensemble
from threadpoolctl import threadpool_limits

from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.artifact.forest.together import ForestOfSeveral
from pytest_draft.attack.differences import told_by_difference
from pytest_draft.attack.leaf_answers import rounding_of
from pytest_draft.attack.membership import ANSWER, DRAWS, Membership, membership
from pytest_draft.errors import DraftError, NotCoveredError
from pytest_draft.evaluate.label_told import truth_of
from pytest_draft.evaluate.membership import area_of
from pytest_draft.examine.alternatives import SideSearches
from pytest_draft.examine.evaluation import note_label_told
from pytest_draft.examine.inputs import Inputs, complete, open_files
from pytest_draft.examine.record import FlowRecord
from pytest_draft.examine.together import Several, each_apart, several
from pytest_draft.facts.case import Beside, Case
from pytest_draft.facts.examination import Examination
from pytest_draft.hardening.model import hardened
from pytest_draft.knowledge import known_occurrences
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.rules import rule_of
from pytest_draft.timebox import TimeBox
from studies.cells import Plain, Study
from studies.optional import optional
from studies.options import add_cells, add_datasets, add_seeds, groups, rows_of
from studies.papers.plots import Curve, panels, save
from studies.public_data import TARGETS

TABLES: Mapping[str, tuple[str | None, str]] = {
    "COMPAS": ("compas", TARGETS["compas"]),
    "Adult": ("adult", TARGETS["adult"]),
    "Default Credit": ("default_credit", TARGETS["default_credit"]),
    "Default Credit, numeric": ("default_credit_numerical", TARGETS["default_credit"]),
    "breast cancer": (None, "target"),
    "Default Credit, limit": ("default_credit_numerical", "LIMIT_BAL"),
    "diabetes": (None, "target"),
}
"""The file in the datasets' folder (None: of scikit-learn), and the label; the last two are regressions."""

REGRESSIONS = tuple(TABLES)[-2:]
FORESTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "defaults": ("RandomForest", {}),
    "200 x depth 8, leaf 5": ("RandomForest", {"n_estimators": 200, "max_depth": 8, "min_samples_leaf": 5}),
    "10 x depth 3": ("RandomForest", {"n_estimators": 10, "max_depth": 3}),
    "no bootstrap": ("RandomForest", {"bootstrap": False}),
    "ExtraTrees": ("ExtraTrees", {}),
    "no bootstrap, leaf 10": (
        "RandomForest",
        {"bootstrap": False, "n_estimators": 50, "max_depth": 4, "min_samples_leaf": 10},
    ),
}
LIBRARIES = {"XGB": "xgboost", "LGBM": "lightgbm", "CatBoost": "catboost"}
BOOSTERS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "GradientBoosting": ("GradientBoosting", {}),
    "HistGradientBoosting": ("HistGradientBoosting", {}),
    "XGBoost": ("XGB", {"n_jobs": 1}),
    "LightGBM": ("LGBM", {"n_jobs": 1, "verbose": -1}),
    "CatBoost": ("CatBoost", {"iterations": 200, "verbose": 0, "allow_writing_files": False, "thread_count": 1}),
}
ADVICE = ("as it is", "other seeds", "other people", "without counts", "leaf 20")
SMALL, SETS = "10 x depth 3", ("2 forests", "5 forests", "10 forests", "5 folds", "2 sites", "5 sites")
RULES = ("determined-rows", "given-all-other-rows", "label-told")
STRANGERS, TIMES = 90, 9
"""Rows that nothing was fitted to, and how often they are given: a holdout takes twice as many rows as there are."""


def people_of(table: str, path: Path | str, seed: int) -> pd.DataFrame:
    """Return the rows of a table in an order drawn at random, features as x0, x1, ... and the label last."""
    if isinstance(path, Path):
        rows = pd.read_csv(path)
    else:
        load = datasets.load_diabetes if table == "diabetes" else datasets.load_breast_cancer
        rows = load(as_frame=True, **({"scaled": False} if table == "diabetes" else {})).frame
    target = TABLES[table][1]
    label, rows = rows[target], rows.drop(columns=target)
    rows.columns = [f"x{i}" for i in range(rows.shape[1])]
    return rows.assign(label=label).sample(frac=1, random_state=seed).reset_index(drop=True)


def model_of(name: str, table: str, seed: int, **more: Any) -> Any:
    """Return a model that is not fitted."""
    kind, given = (FORESTS | BOOSTERS)[name] if name in FORESTS else BOOSTERS[name]
    ending = "Regressor" if table in REGRESSIONS else "Classifier"
    module = optional(LIBRARIES[kind], "files of boosted trees", "boosters") if kind in LIBRARIES else ensemble
    return getattr(module, f"{kind}{ending}")(random_state=seed, **given, **more)


def written(model: Any, people: pd.DataFrame, those: IntArray, path: Path, level: str | None = None) -> Beside:
    """Fit a model to some people, and write its file and their table."""
    mine = people.iloc[those]
    fitted = model.fit(mine.iloc[:, :-1], mine.label)
    joblib.dump(hardened(fitted, level, mine.iloc[:, :-1])[0] if level else fitted, path)
    table = path.with_suffix(".csv")
    mine.to_csv(table, index=False)
    return Beside(str(path), str(table))


def opened(files: list[Beside], seconds: float, those: IntArray) -> tuple[Several, FlowRecord, Case]:
    """Return all files as one; of a single one, with those of its people who are looked at."""
    (first, *others), holdout = files, Path(files[0].artifact).with_name("strangers.csv")
    case = Case(first.artifact, first.data, "label", seconds=seconds, attack=False, beside=tuple(others))
    case = replace(case, holdout=str(holdout)) if holdout.exists() else case
    record = FlowRecord(case)
    if others:
        return several(case, None, record), record, case
    return Several(complete(open_files(case, None, record), case, record), {"": those}), record, case


def looked_at(inputs: Inputs, record: FlowRecord, case: Case) -> Examination:
    """Return what is told of labels, and of rows to somebody who knows all others, as `examine` finds it out."""
    one = FlowRecord(case)
    one.facts = replace(record.facts, case=case)
    with SideSearches(replace(inputs, holdout=None), one) as searches:
        note_label_told(replace(inputs, holdout=None), one)
        searches.look()
    return one.examination()


def told_of(found: Examination, end: str) -> dict[str, Plain]:
    """Return the shares of what is told."""
    rows, label = found.informed, found.label_told
    told = None if label is None else label.exact or label.told
    return {
        f"whole {end}": None if rows is None else rows.told_rows,
        f"near {end}": None if rows is None else rows.near_rows,
        f"near without {end}": None if rows is None else rows.near_rows_without_file,
        f"label {end}": None if told is None else told.share,
        f"label without {end}": None if told is None else told.share_without,
    }


def by_difference(inputs: Inputs) -> dict[str, Plain]:
    """Return the share of labels that the difference of two files tells, and how many of these are wrong."""
    model, data = inputs.forest, inputs.data
    if not isinstance(model, ForestOfSeveral) or not model.searched or data is None or inputs.apart is None:
        return {}
    said, truth = told_by_difference(model, data.rows)[inputs.apart], truth_of(model, data)[inputs.apart]
    claimed = ~np.isnan(said)
    wrong = np.abs(said - truth)[claimed] > (rounding_of(truth) if model.classes is None else 0.0)
    return {"difference": float(claimed.mean()), "claims": int(claimed.sum()), "wrong": int(wrong.sum())}


def members(inputs: Inputs, end: str) -> dict[str, Plain]:
    """Return the AUC of these people beside strangers, and the share that is proved to be in."""
    model, data, others = inputs.forest, inputs.data, inputs.holdout
    if (isinstance(model, ForestOfSeveral) and not model.searched) or data is None or others is None:
        return {}
    assert others.answers is not None
    known = others.answers >= 0 if model.classes is not None else np.isfinite(others.answers)
    times = known_occurrences(model, "artifact")

    def asked(rows: Rows, truth: FloatArray) -> Membership:
        return membership(model, rows, truth, times, data.n_rows, inputs.domain, TimeBox(60.0))

    those = np.arange(data.n_rows) if inputs.apart is None else inputs.apart
    own = asked(data.rows[those], truth_of(model, data)[those])
    strangers = asked(others.rows[known], others.answers[known])
    score = DRAWS if DRAWS in own.scores else ANSWER
    return {f"AUC {end}": area_of(own.scores[score], strangers.scores[score]), f"in {end}": float(own.certain.mean())}


def changed(change: str, number: int, rows: int, seed: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the people of the file that all who are looked at are in, those of the other one, and who is looked at."""
    everyone, rng = np.arange(rows + number), np.random.default_rng([seed, number])
    if change == "added":
        return everyone, everyone[:rows], everyone[rows:]
    if change == "removed":
        gone = np.sort(rng.choice(len(everyone), number, replace=False))
        return everyone, np.setdiff1d(everyone, gone), gone
    kept = np.setdiff1d(everyone[:rows], rng.choice(rows, number, replace=False))
    return np.append(kept, everyone[rows:]), everyone[:rows], rows - number + np.arange(number)


def compute(
    table: str, path: Path | str, model: str, change: str, number: int, rows: int, seed: int, advice: str, seconds: float
) -> dict[str, Plain]:
    """Return what one file and two files tell of the people who are only in one."""
    warnings.simplefilter("ignore")
    people, begun = people_of(table, path, seed), time.process_time()
    mine, others, those = changed(change, number, rows, seed)
    first = rows + number
    if advice == "other people":
        those, others, first = mine, np.arange(first, first + rows), first + rows
    more = {"min_samples_leaf": 20} if advice == "leaf 20" else {}
    level, again = ("counts" if advice == "without counts" else None), seed + 1_000 * (advice == "other seeds")
    result: dict[str, Plain] = {}
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        strangers = pd.concat([people.iloc[first : first + STRANGERS]] * TIMES)
        strangers.to_csv(Path(folder, "strangers.csv"), index=False)
        new = written(model_of(model, table, seed, **more), people, mine, Path(folder, "with.joblib"), level)
        old = written(model_of(model, table, again, **more), people, others, Path(folder, "without.joblib"))
        for end, files in (("alone", [new]), ("both", [new, old])):
            try:
                found, record, case = opened(files, seconds, those)
                _, inputs = next(each_apart(found), ("", found.inputs))
                result |= told_of(looked_at(inputs, record, case), end) | by_difference(inputs) | members(inputs, end)
                result[f"not covered {end}"] = "; ".join(record.facts.reasons) or None
            except DraftError as error:
                result[f"not covered {end}"] = str(error)
    return {**result, "s": time.process_time() - begun}


def compute_set(
    table: str, path: Path | str, files: str, rows: int, seed: int, seconds: float
) -> dict[str, Plain]:
    """Return what each file of a set tells of its people alone, and all of them together."""
    warnings.simplefilter("ignore")
    people, number = people_of(table, path, seed), int(files.split()[0])
    parts = np.array_split(np.arange(rows), number)
    those = {"folds": [np.setdiff1d(np.arange(rows), one) for one in parts], "sites": parts}
    each, alone = those.get(files.split()[-1], [np.arange(rows)] * number), list[Examination]()
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        written_files = [
            written(model_of(SMALL, table, seed + 100 * k), people, one, Path(folder, f"{k}.joblib"))
            for k, one in enumerate(each)
        ]
        for one in (*([file] for file in written_files), written_files):
            found, record, case = opened(one, seconds, np.empty(0, np.int64))
            alone.append(looked_at(found.inputs, record, case))
    *alone, both = alone
    told = [told_of(one, "") for one in alone]
    failed = [_fails(one) for one in (*alone, both)]
    return {
        "whole alone": float(np.mean([one["whole "] for one in told])),  # type: ignore[arg-type]
        "files that fail alone": sum(failed[:-1]),
        **told_of(both, "together"),
        "fails together": failed[-1],
    }


def _fails(found: Examination) -> bool:
    """Return whether a file fails by what somebody gets who knows all other rows, or by labels."""
    policy = default_policy()
    return any(rule_of(one).check(found, policy.rules[one]).result == "failed" for one in RULES)
