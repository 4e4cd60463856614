"""TimberStrike's metric beside what needs no model: in goes a checkout of its code, out come figures of guesses.

TimberStrike (arXiv 2506.07605) rebuilds rows of participants in federated training, and counts a number as right within
.319 standard deviations after the best matching. Here the final file of one owner is attacked, trained with its
settings, and the metric is also taken of rows for which nobody needs a file. Only its tables are used, not its code.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import linear_sum_assignment, linprog
from scipy.special import expit, logit

from pytest_draft.ambiguity.counted import counted_by
from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact import read
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.informed.boxes import held_of
from pytest_draft.attack.informed.guesses import best_by_others, guesses_of
from pytest_draft.data import TrainingData, training_data
from pytest_draft.domain import Domain, infer
from pytest_draft.evaluate.baselines import split_half_baseline
from pytest_draft.evaluate.close_rows import close_rows
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.matching import encoded_weights, matched_distance
from pytest_draft.timebox import TimeBox
from studies.cells import Plain, Study
from studies.optional import optional
from studies.options import add_cells, add_seeds, rows_of

_TOLERANCE, _ETA, _LAMBDA, _ROUNDS = 0.319, 0.3, 1.0, 100


class Table(NamedTuple):
    """A table as TimberStrike's code trains on it; of the first rows of its file, or all, one owner has some."""

    file: str
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    label: str
    top: tuple[str, ...]
    rows: int
    of_rows: int | None = None


_CODES = ("gender", "hypertension", "heart_disease", "ever_married", "work_type", "Residence_type", "smoking_status")
_STROKE = ("healthcare-dataset-stroke-prep-train.csv", ("age", "avg_glucose_level", "bmi"), _CODES, "stroke")
_TOP = ("avg_glucose_level", "heart_disease", "work_type", "Residence_type")
_TOP_OF_DIABETES = ("Glucose", "BMI", "DiabetesPedigreeFunction", "Age")
_ALL_OF_DIABETES = ("Pregnancies", "BloodPressure", "SkinThickness", "Insulin", *_TOP_OF_DIABETES)
TABLES: Mapping[str, Table] = {
    "stroke": Table(*_STROKE, _TOP, 1_244),
    "stroke-real": Table(*_STROKE, _TOP, 817, 4_086),
    "diabetes": Table("diabetes/diabetes-prep.csv", _ALL_OF_DIABETES, (), "Outcome", _TOP_OF_DIABETES, 283),
}
"""`Table.top` is what its configuration of important columns keeps. ``stroke-real`` is without rows made by SMOTE."""


def accuracy(truth: FloatArray, guess: FloatArray, categorical: BoolArray) -> tuple[float, float]:
    """Return TimberStrike's reconstruction accuracy, and the mean over all pairs of rows in place of the best."""
    wrong = np.zeros((len(truth), len(guess)))
    for column, width in enumerate(np.where(categorical, 0.0, _TOLERANCE * truth.std(axis=0))):
        wrong += np.abs(truth[:, column, None] - guess[:, column]) > width
    best, n_columns = wrong[linear_sum_assignment(wrong)].mean(), truth.shape[1]
    return 1 - float(best) / n_columns, 1 - float(wrong.mean()) / n_columns


def by_sums(file: Path, bounds: FloatArray, whole: BoolArray, rng: np.random.Generator) -> FloatArray:
    """Rebuild rows and labels from a binary XGBoost file by its sums, tree after tree.

    The first tree tells how many rows of each label its leaves have. In each further one, rows go to leaves that their
    boxes meet, by the largest share in a linear program in which sums add up. Then a box's middle, or any whole value.
    """
    learner = json.loads(file.read_text())["learner"]
    prior = float(str(learner["learner_model_param"]["base_score"]).strip("[]"))
    first, *others = learner["gradient_booster"]["model"]["trees"]
    value, hessian, lower, upper = map(np.array, zip(*_leaves(first, *bounds), strict=True))
    number = np.rint(hessian / (prior * (1 - prior))).astype(int)
    positive = np.rint(number * prior + value / _ETA * (hessian + _LAMBDA)).astype(int)
    at = np.repeat(np.arange(len(number)), number)
    label = np.concatenate([np.arange(n) < k for n, k in zip(number, positive, strict=True)]).astype(float)
    lower, upper, score = lower[at], upper[at], logit(prior) + value[at]
    for tree in others:
        value, hessian, left, right = map(np.array, zip(*_leaves(tree, *bounds), strict=True))
        meets = np.all(np.maximum(lower[:, None], left) < np.minimum(upper[:, None], right), axis=2)
        chance, gradients = expit(score), -value / _ETA * (hessian + _LAMBDA)
        to = _sent(meets, ((chance - label, gradients), (chance * (1 - chance), hessian)))
        lower, upper, score = np.maximum(lower, left[to]), np.minimum(upper, right[to]), score + value[to]
    some = np.floor(rng.uniform(np.ceil(lower), np.maximum(np.ceil(upper), np.ceil(lower) + 1)))
    return np.column_stack([np.where(whole, some, (lower + upper) / 2), label])


def _leaves(tree: Mapping[str, Any], lower: FloatArray, upper: FloatArray, node: int = 0) -> list[tuple[Any, ...]]:
    """Return of each leaf below a node its value, the sum of hessians, and its box."""
    column, at, left = (tree[name][node] for name in ("split_indices", "split_conditions", "left_children"))
    if left < 0:
        return [(at, tree["sum_hessian"][node], lower, upper)]
    below, above = upper.copy(), lower.copy()
    below[column], above[column] = min(upper[column], at), max(lower[column], at)
    return _leaves(tree, lower, below, left) + _leaves(tree, above, upper, tree["right_children"][node])


def _sent(meets: BoolArray, sums: tuple[tuple[FloatArray, FloatArray], ...]) -> IntArray:
    """Return the leaf of each row by which leaves miss as little as possible of what their rows add up to."""
    (row, leaf), n_leaves, eye = np.nonzero(meets), meets.shape[1], sparse.identity(meets.shape[1])
    pair = np.arange(len(row))
    blocks: list[list[Any]] = [[sparse.csr_matrix((np.ones(len(row)), (row, pair))), *4 * [None]]]
    for k, (each, _) in enumerate(sums):
        added = sparse.csr_matrix((each[row], (leaf, pair)), (n_leaves, len(row)))
        blocks.append([added, *(2 * k) * [None], eye, -eye, *(2 - 2 * k) * [None]])
    total = np.concatenate([np.ones(len(meets)), *(of_leaf for _, of_leaf in sums)])
    cost, share = np.repeat([0.0, 1.0], [len(row), 4 * n_leaves]), np.full(meets.shape, -1.0)
    share[meets] = linprog(cost, A_eq=sparse.bmat(blocks, format="csr"), b_eq=total).x[: len(row)]
    return np.asarray(share.argmax(axis=1))


def _given_others(forest: Any, data: TrainingData, domain: Domain) -> FloatArray:
    """Return the guess of each row, with its label, by somebody who knows all others."""
    counted: Any = counted_by(forest, data.rows, data.labels)
    everyone = KnownRows(data.rows, data.labels, np.ones((forest.n_trees, data.n_rows), dtype=np.int64))
    held: Any = held_of(counted, domain, everyone, np.arange(data.n_rows))
    guesses = guesses_of(held, everyone, held.rows, held.rows)
    return np.column_stack([best_by_others(guesses, data.rows, encoded_weights(domain), domain), data.labels])


def compute(table: Path, name: str, depth: int, seed: int, effort: float) -> dict[str, Plain]:
    """Return the figures of all guesses of one owner's rows."""
    xgboost, begun = optional("xgboost", "this study needs XGBoost", "boosters"), time.process_time()
    of, rng = TABLES[name], np.random.default_rng(seed)
    columns = [*of.numeric, *of.categorical, of.label]
    everybody = pd.read_csv(table)[columns].iloc[: of.of_rows].astype(np.float32)
    order = rng.permutation(len(everybody))
    mine, others = (everybody.iloc[order[k * of.rows :][: of.rows]].reset_index(drop=True) for k in (0, 1))
    truth, features, label = mine.to_numpy(np.float64), mine.drop(columns=of.label), mine[of.label].astype(int)
    categorical = np.array([one in of.categorical for one in columns])
    settings = {"objective": "binary:logistic", "eta": _ETA, "max_depth": depth, "gamma": 0, "lambda": _LAMBDA}
    model = xgboost.train({**settings, "tree_method": "hist"}, xgboost.DMatrix(features, label), _ROUNDS)
    guesses = {
        "strangers": others.to_numpy(np.float64),
        "shuffled": np.column_stack([rng.permutation(one) for one in truth.T]),
        "medians": np.tile(np.where(categorical, mine.mode().iloc[0], mine.median()), (len(mine), 1)),
    }
    with tempfile.TemporaryDirectory() as folder:
        model.save_model(file := Path(folder) / "model.json")
        _, rebuilt = examine(Case(str(file), target=of.label, seed=seed, seconds=3600.0, effort=effort), mine)
        forest: Any = read(file).forest
        bounds = np.stack([truth.min(axis=0), np.nextafter(truth.max(axis=0), np.inf)])[:, :-1]
        guesses["sums"] = by_sums(file, bounds, categorical[:-1], rng)
    data = training_data((features, label), forest)
    guesses["given others"] = _given_others(forest, data, domain := infer(data.columns, data.rows.astype(np.float64)))
    if rebuilt is not None and rebuilt.rows is not None:
        chance = model.predict(xgboost.DMatrix(pd.DataFrame(rebuilt.rows, columns=features.columns)))
        guesses["engine"] = np.column_stack([rebuilt.rows.astype(np.float64), np.rint(chance)])
    weights, clock, row = encoded_weights(domain), TimeBox(3600.0), dict[str, Plain]()
    half = split_half_baseline(data.rows, weights, seed, clock).error or np.nan
    top = np.isin(columns, [*of.top, of.label])
    for who, guess in guesses.items():
        row[f"{who}: RA"], row[f"{who}: unmatched"] = accuracy(truth, guess, categorical)
        row[f"{who}: top RA"] = accuracy(truth[:, top], guess[:, top], categorical[top])[0]
        rows = guess[:, :-1].astype(np.float32)
        row[f"{who}: error"] = error = matched_distance(data.rows, rows, weights, clock).upper
        row[f"{who}: of half"] = error / half
        row[f"{who}: perfect"] = close_rows(data.rows, rows, weights.tolerance, clock).number.lower / len(rows)
    return {**row, "s": time.process_time() - begun}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument(
        "--checkout", type=Path, required=True, help="of github.com/necst/TimberStrike, for its tables"
    )
    command.add_argument("--tables", nargs="+", default=["stroke", "diabetes"], choices=list(TABLES))
    command.add_argument("--depths", nargs="+", type=int, default=[3, 8])
    command.add_argument("--effort", type=float, default=5.0, help="the most units of work of the engine")
    add_seeds(command, [1, 2, 3])
    add_cells(command)


def command(a: argparse.Namespace) -> None:
    """Print the means, the least and the most over seeds."""
    files = {name: a.checkout / "dataset_partitioner" / TABLES[name].file for name in a.tables}
    grid = product(files, a.depths, a.seeds)
    cells = [{"table": one, "name": one, "depth": depth, "seed": k, "effort": a.effort} for one, depth, k in grid]
    found = rows_of(Study("timberstrike", compute, cells, {"table": files}), a)
    figures = found.melt(["name", "depth"], [one for one in found if ": " in str(one)])
    figures[["guess", "figure"]] = figures["variable"].str.split(": ", expand=True).to_numpy()
    means = figures.pivot_table("value", ["name", "depth", "guess"], "figure", ["mean", "min", "max"], sort=False)
    print(means.T.to_string(float_format="%.4f"))
