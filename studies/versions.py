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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
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
from studies.options import add_cells, add_datasets, add_seeds, rows_of
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
LARGE = ("COMPAS", "Default Credit, numeric", "Default Credit, limit")
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
CHANGES = (("added", 1), ("added", 5), ("added", 50), ("removed", 1), ("removed", 5), ("removed", 50), ("replaced", 5))
SHOWN = ("no bootstrap, leaf 10", "no bootstrap", "ExtraTrees", "defaults")
REMOVED, ADVISED = SHOWN[:2], (*SHOWN[:2], "defaults")
SMALL, SETS = "10 x depth 3", ("10 forests", "5 folds", "2 sites", "5 sites")
RULES = ("determined-rows", "given-all-other-rows")
ROWS, SECONDS = 300, 120.0
GROUP = "not in without.joblib"
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
    kind, given = {**FORESTS, **BOOSTERS}[name]
    ending = "Regressor" if table in REGRESSIONS else "Classifier"
    module = optional(LIBRARIES[kind], "files of boosted trees", "boosters") if kind in LIBRARIES else ensemble
    return getattr(module, f"{kind}{ending}")(**{"random_state": seed, **given, **more})


def written(model: Any, people: pd.DataFrame, those: IntArray, path: Path, level: str | None = None) -> Beside:
    """Fit a model to some people, and write its file and their table."""
    mine = people.iloc[those]
    fitted = model.fit(mine.iloc[:, :-1], mine.label)
    joblib.dump(hardened(fitted, level, mine.iloc[:, :-1])[0] if level else fitted, path)
    table = path.with_suffix(".csv")
    mine.to_csv(table, index=False)
    return Beside(str(path), str(table))


def opened(files: Sequence[Beside], those: IntArray, record: FlowRecord) -> Several:
    """Return all files of a case as one; of a single one, with those of its people who are looked at."""
    case = record.facts.case
    if len(files) == 1:
        return Several(complete(open_files(case, None, record), case, record), {"": those}, labels_differ=False)
    found = several(case, None, record)
    if len(record.facts.files) < len(files):
        raise NotCoveredError("fewer files are put together")
    return found


def begun(files: Sequence[Beside], folder: Path) -> FlowRecord:
    """Return the record of a case of all files."""
    strangers = folder / "strangers.csv"
    holdout = str(strangers) if strangers.exists() else None
    case = Case(files[0].artifact, files[0].data, "label", seconds=SECONDS, attack=False)
    return FlowRecord(replace(case, holdout=holdout, beside=tuple(files[1:])))


def looked_at(inputs: Inputs, record: FlowRecord, *, labels: bool = False) -> Examination:
    """Return what is told of rows to somebody who knows all others, and of labels, as `examine` finds it out."""
    one, inputs = FlowRecord(record.facts.case), replace(inputs, holdout=None)
    one.facts = record.facts
    searches = SideSearches(inputs, one)
    if labels:
        note_label_told(inputs, one)
    searches.look()
    return one.examination()


def told_of(found: Examination, end: str) -> dict[str, Plain]:
    """Return the shares of rows, and of labels or exact targets, that are told."""
    rows, label = found.informed, found.label_told
    told = None if label is None else label.exact or label.told
    return {
        f"whole {end}": None if rows is None else rows.told_rows,
        f"near {end}": None if rows is None else rows.near_rows,
        f"label {end}": None if told is None else told.share,
        "label without": None if told is None else told.share_without,
    }


def by_difference(inputs: Inputs) -> dict[str, Plain]:
    """Return the share of labels that the difference of two files tells, and how many of these are wrong."""
    model, data = inputs.forest, inputs.data
    if not isinstance(model, ForestOfSeveral) or not model.searched or data is None or inputs.apart is None:
        return {}
    said, truth = (
        told_by_difference(model, data.rows, TimeBox(SECONDS))[inputs.apart],
        truth_of(model, data)[inputs.apart],
    )
    claimed = ~np.isnan(said)
    wrong = np.abs(said - truth)[claimed] > (rounding_of(truth) if model.classes is None else 0.0)
    return {"difference": float(claimed.mean()), "claims": int(claimed.sum()), "wrong": int(wrong.sum())}


def members(inputs: Inputs, end: str) -> dict[str, Plain]:
    """Return the AUC of these people beside strangers, and the share that is proved to be in."""
    model, data, others = inputs.forest, inputs.data, inputs.holdout
    if (isinstance(model, ForestOfSeveral) and not model.searched) or data is None or others is None:
        return {}
    answers = np.zeros(0) if others.answers is None else others.answers
    known = answers >= 0 if model.classes is not None else np.isfinite(answers)
    times = known_occurrences(model, "artifact")

    def asked(rows: Rows, truth: FloatArray) -> Membership:
        return membership(model, rows, truth, times, data.n_rows, inputs.domain, TimeBox(SECONDS))

    those = np.arange(data.n_rows) if inputs.apart is None else inputs.apart
    own, strangers = asked(data.rows[those], truth_of(model, data)[those]), asked(others.rows[known], answers[known])
    score = DRAWS if DRAWS in own.scores else ANSWER
    return {f"AUC {end}": area_of(own.scores[score], strangers.scores[score]), f"in {end}": float(own.certain.mean())}


def changed(change: str, number: int, seed: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the people of the file that all who are looked at are in, those of the other one, and who is looked at."""
    everyone, rng = np.arange(ROWS + number), np.random.default_rng([seed, number])
    if change == "added":
        return everyone, everyone[:ROWS], everyone[ROWS:]
    if change == "removed":
        gone = np.sort(rng.choice(len(everyone), number, replace=False))
        return everyone, np.setdiff1d(everyone, gone), gone
    kept = np.setdiff1d(everyone[:ROWS], rng.choice(ROWS, number, replace=False))
    return np.append(kept, everyone[ROWS:]), everyone[:ROWS], ROWS - number + np.arange(number)


def compute(
    table: str, path: Path | str, model: str, change: str, number: int, advice: str, seed: int
) -> dict[str, Plain]:
    """Return what one file and two files tell of the people who are only in one."""
    warnings.simplefilter("ignore")
    people, start = people_of(table, path, seed), time.process_time()
    mine, others, those = changed(change, number, seed)
    first, five = ROWS + number, (change, number) == CHANGES[1]
    if advice == "other people":
        those, others, first = mine, np.arange(first, first + ROWS), first + ROWS
    more = {"min_samples_leaf": 20} if advice == "leaf 20" else {}
    level, again = ("counts" if advice == "without counts" else None), seed + 1_000 * (advice == "other seeds")
    result: dict[str, Plain] = {}
    with tempfile.TemporaryDirectory() as name, threadpool_limits(1):
        folder = Path(name)
        strangers = people[~people.duplicated()].loc[first:][:STRANGERS]  # who equal nobody before them
        pd.concat([strangers] * TIMES).to_csv(folder / "strangers.csv", index=False)
        new = written(model_of(model, table, seed, **more), people, mine, folder / "with.joblib", level)
        old = written(model_of(model, table, again, **more), people, others, folder / "without.joblib")
        for end, files in (("alone", [new]), ("both", [new, old])):
            record = begun(files, folder)
            try:
                found = opened(files, those, record)
                inputs = dict(each_apart(found)).get("" if end == "alone" else GROUP, found.inputs)
                result |= by_difference(inputs)
                if five:  # the rest of it takes most of the time
                    labels = model in FORESTS and advice == ADVICE[0]
                    result |= told_of(looked_at(inputs, record, labels=labels), end)
                with suppress(NotCoveredError):  # draws that are not known
                    result |= members(inputs, end)
            except (DraftError, ValueError) as error:
                result[f"not covered {end}"] = "; ".join(record.facts.reasons) or str(error)
    return {**result, "s": time.process_time() - start}


def compute_set(table: str, path: Path | str, files: str, seed: int) -> dict[str, Plain]:
    """Return what each file of a set tells of its people alone, and all of them together."""
    warnings.simplefilter("ignore")
    people, (count, kind) = people_of(table, path, seed), files.split()
    everyone, number, policy = np.arange(ROWS), int(count), default_policy()
    parts = np.array_split(everyone, number)
    those = {"folds": [np.setdiff1d(everyone, one) for one in parts], "sites": parts}.get(kind, [everyone] * number)
    with tempfile.TemporaryDirectory() as name, threadpool_limits(1):
        folder, found = Path(name), list[Examination]()
        written_files = [
            written(model_of(SMALL, table, seed + 100 * k), people, one, folder / f"{k}.joblib")
            for k, one in enumerate(those)
        ]
        for one in (*([file] for file in written_files), written_files):
            record = begun(one, folder)
            found.append(looked_at(opened(one, everyone[:0], record).inputs, record))
    failed = [any(rule_of(id_).check(one, policy.rules[id_]).result == "failed" for id_ in RULES) for one in found]
    told = [one.informed.told_rows for one in found[:-1] if one.informed is not None]
    alone = {"whole alone": float(np.mean(told)), "files that fail alone": sum(failed[:-1])}
    return {**alone, **told_of(found[-1], "together"), "fails together": failed[-1]}


def drawn(rows: pd.DataFrame) -> Callable[[], Any]:
    """Return a figure of what is told of people who were added, by how many they are."""
    found = rows[(rows.change == "added") & rows.model.isin(SHOWN)]
    panel = {"told by the difference": "difference", "AUC, new file alone": "AUC alone", "AUC, both files": "AUC both"}
    curves = {}
    for title, column in panel.items():
        means = found.groupby(["model", "number"], sort=True)[column].mean()
        curves[title] = [Curve(list(means[one].index), list(means[one]), one) for one in SHOWN]
    return panels(curves, "people who were added to 300", "share, or AUC", logarithmic="x", ticks=(1, 5, 50))


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_datasets(command)
    command.add_argument("--part", default="versions", choices=("versions", "advice", "sets"))
    command.add_argument("--plot", type=Path, metavar="SVG", help="draw what is told of people who were added")
    add_seeds(command, [0, 1, 2], "each draws rows, and is the models' random_state")
    add_cells(command)


def command(a: argparse.Namespace) -> None:
    """Print means over seeds, of all tables and of each, and why some files are not covered."""
    paths = {name: a.datasets / f"{file}.csv" if file else None for name, (file, _) in TABLES.items()}
    asked = [
        (one, *change, ADVICE[0])
        for one in (*FORESTS, *BOOSTERS)
        for change in (CHANGES if one in REMOVED else CHANGES[:3] if one in FORESTS else CHANGES[1:2])
    ]
    if a.part == "advice":
        asked = [(one, *CHANGES[1], advice) for one in ADVISED for advice in ADVICE]
    cases: list[dict[str, Plain]] = [
        {"model": one, "change": change, "number": number, "advice": advice} for one, change, number, advice in asked
    ]
    cases = [{"files": one} for one in SETS] if a.part == "sets" else cases
    every = product(a.seeds, LARGE if a.part == "advice" else TABLES, cases)
    cells = [{"table": table, "path": table, **case, "seed": seed} for seed, table, case in every]
    computed = compute_set if a.part == "sets" else compute
    rows = rows_of(Study(f"versions-{a.part}", computed, cells, {"path": paths}), a)
    names = list(cases[0])
    for by in (names, ["table", *names]):
        figures = rows.drop(columns="seed").groupby(by, sort=False)
        print(figures.mean(numeric_only=True).round(3).to_string(), end="\n\n")
    for name in ("not covered alone", "not covered both"):
        print(rows[name].value_counts().to_string() if name in rows else "")
    if a.plot is not None:
        save(drawn(rows), a.plot)
