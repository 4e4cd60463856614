"""How well files tell their people from others: in go tables, out comes a line a file, and beside it shadow models.

Strangers are once 2,000 held-out rows, and once those that are left out of refits; the usual score is that of somebody
without the seeds. On two small tables the same people are attacked by LiRA (Carlini et al., S&P 2022): online, with
Gaussians fitted for each person to the logits of models that were trained with and without them.
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
from scipy.stats import norm, spearmanr
from sklearn import datasets, ensemble
from sklearn.base import clone

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact import Forest, occurrences, read
from pytest_draft.artifact.forest.observations import BoostedSums
from pytest_draft.attack.boosted.staged import with_amounts
from pytest_draft.attack.membership import DRAWS, membership
from pytest_draft.data import Holdout, TrainingData
from pytest_draft.domain import Attribute, Domain, infer
from pytest_draft.errors import NotCoveredError
from pytest_draft.evaluate.membership import area_of, found_of
from pytest_draft.evaluate.membership import membership as figures
from pytest_draft.facts.membership import Estimate, Membership
from pytest_draft.knowledge import known_occurrences, knows_occurrences
from pytest_draft.timebox import TimeBox
from studies.options import add_datasets
from studies.packaged_tables import packaged
from studies.papers.plots import Curve, panels, save
from studies.public_data import divided

HELD_OUT = 2_000
ROWS = 500
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "defaults": ("RandomForest", {}),
    "200 x depth 8, leaf 5": ("RandomForest", {"n_estimators": 200, "max_depth": 8, "min_samples_leaf": 5}),
    "20 x depth 4": ("RandomForest", {"n_estimators": 20, "max_depth": 4}),
    "ExtraTrees": ("ExtraTrees", {}),
    "10 x depth 3, leaf 20": ("RandomForest", {"n_estimators": 10, "max_depth": 3, "min_samples_leaf": 20}),
    "5 x depth 2": ("RandomForest", {"n_estimators": 5, "max_depth": 2}),
    "leaf 20": ("RandomForest", {"min_samples_leaf": 20}),
    "boosting, half of the rows": ("GradientBoosting", {"subsample": 0.5}),
    "boosting by histograms": ("HistGradientBoosting", {}),
}
FOREST, TUNED, SMALL, EXTRA, TINY, STUMPS, LEAVES, HALF, HISTOGRAMS = SETTINGS
FILES = (
    *(("adult", one) for one in (FOREST, TUNED, SMALL)),
    *(("compas", one) for one in (FOREST, TUNED)),
    *(("default_credit", one) for one in (FOREST, TUNED)),
    *(("default_credit_numerical", one) for one in (FOREST, TUNED, SMALL, EXTRA, HALF)),
    *(("breast cancer", one) for one in (FOREST, TUNED, EXTRA)),
    *(("packaged:airfare", one) for one in (FOREST, TUNED, HISTOGRAMS)),
    ("packaged:twoyear:regression", TUNED),
    ("packaged:twoyear:regression", SMALL),
)
"""Twenty files of six tables; the last two tables chose nothing of the method."""

LITTLE = (TINY, STUMPS, LEAVES, SMALL)
"""Settings of files that tell little."""


def table_of(name: str, folder: Path) -> pd.DataFrame:
    """Return a table of numbers, its label last."""
    if name == "breast cancer":
        found = datasets.load_breast_cancer()
        return pd.DataFrame(found.data).add_prefix("x").assign(label=found.target)
    if name.startswith("packaged:"):
        table = packaged()[name]
        rows = pd.get_dummies(table.drop(columns="label"), dtype=float).astype(float).fillna(-999.0)
        rows.columns = [f"x{i}" for i in range(rows.shape[1])]
        return rows.assign(label=table.label)
    rows, label = divided(pd.read_csv(folder / f"{name}.csv"), name.removesuffix("_numerical"))
    return rows.assign(label=label)


def model_of(settings: str, table: pd.DataFrame, seed: int) -> Any:
    """Return an estimator that is not fitted."""
    kind, parameters = SETTINGS[settings]
    ending = "Regressor" if table.label.nunique() > 10 else "Classifier"
    return getattr(ensemble, f"{kind}{ending}")(random_state=seed, **parameters)


def lines(name: str, settings: str, folder: Path, seed: int, seconds: float) -> Iterator[dict[str, object]]:
    """Yield a line for a file: by held-out rows with the seeds and without, and by rows left out of refits."""
    table = table_of(name, folder).sample(frac=1, random_state=seed).reset_index(drop=True)
    n_rows = min(ROWS, len(table) // 2)
    model = model_of(settings, table, seed)
    forest = _forest_of(model.fit(table.iloc[:n_rows, :-1], table.label[:n_rows]))
    people = table.iloc[:, :-1].to_numpy(np.float32)
    truth = table.label.to_numpy(np.float64) if forest.classes is None else np.searchsorted(model.classes_, table.label)
    labels = np.zeros(n_rows, np.int64) if forest.classes is None else truth[:n_rows].astype(np.int64)
    targets = truth[:n_rows].astype(np.float64) if forest.classes is None else None
    names = tuple(table.columns[:-1].map(str))
    data = TrainingData(people[:n_rows], labels, names, None, "given in memory", targets=targets)
    some = slice(n_rows, n_rows + HELD_OUT)
    holdout = Holdout(people[some], None, "given in memory", answers=truth[some].astype(np.float64))
    if isinstance(forest.observation, BoostedSums):
        forest = with_amounts(forest, np.ascontiguousarray(data.rows.T.astype(np.float64)), labels)

    def found(adversary: str, others: Holdout | None) -> Membership | None:
        def times(one: Forest) -> Any:
            return known_occurrences(one, adversary) if knows_occurrences(one, adversary) else None

        try:
            return figures(
                forest, data, others, infer(names, data.rows.astype(np.float64)), times, seed, TimeBox(seconds)
            )
        except NotCoveredError as error:
            print(f"# {error}", flush=True)
            return None

    whole, left, usual = found("artifact", holdout), found("artifact", None), found("published", holdout)
    yield {
        "table": name,
        "rows": n_rows,
        "file": settings,
        "AUC": _figure(whole, "auc"),
        "AUC, left out": _figure(left, "auc"),
        "usual AUC": _figure(usual, "auc"),
        "found at 1 %": _figure(whole, "found"),
        "left out": _figure(left, "found"),
        "usual": _figure(usual, "found"),
        "proved in": None if whole is None else whole.share_in,
        "proved out": None if whole is None else whole.share_out,
        "strangers": None if whole is None else whole.strangers,
        "unique AUC": None if whole is None or whole.unique is None else whole.unique.auc,
        "score": None if whole is None else whole.score,
    }


def _forest_of(model: Any) -> Forest:
    """Return a fitted model as its file is read."""
    with tempfile.TemporaryDirectory() as folder:
        joblib.dump(model, Path(folder, "model.joblib"))
        return read(Path(folder, "model.joblib")).forest


def _figure(found: Membership | None, name: str) -> Estimate | None:
    return None if found is None else getattr(found.everyone, name)


def _cell(value: object) -> str:
    if isinstance(value, Estimate):
        return f"{value.value:.3f} [{value.low:.2f}, {value.high:.2f}]"
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def beside_shadows(name: str, settings: str, folder: Path, seed: int, n_models: int) -> dict[str, FloatArray]:
    """Return scores of a table's people, half of whom are in a file: ours, the usual one and LiRA's; and who is in."""
    table = table_of(name, folder).sample(2 * min(ROWS // 2, 284), random_state=seed)
    rows, label = table.iloc[:, :-1].to_numpy(np.float32), table.label.to_numpy()
    rng, number = np.random.default_rng(seed), len(table)

    def logit(model: Any) -> FloatArray:
        share = model.predict_proba(rows)[np.arange(number), np.searchsorted(model.classes_, label)]
        share = np.clip(share, 1e-3, 1 - 1e-3)
        return np.asarray(np.log(share / (1 - share)))

    inside = np.isin(np.arange(number), rng.permutation(number)[: number // 2])
    model = model_of(settings, table, seed)
    mine = np.flatnonzero(inside)
    attacked = clone(model).fit(rows[mine], label[mine])
    forest = _forest_of(attacked)
    columns = [
        Attribute(str(c), "numeric", (c,), float(rows[:, c].min()), float(rows[:, c].max()))
        for c in range(rows.shape[1])
    ]
    domain = Domain(tuple(one.name for one in columns), tuple(columns), name)
    answers = np.searchsorted(attacked.classes_, label).astype(float)
    found = membership(forest, rows, answers, occurrences(forest), len(mine), domain, TimeBox(600.0))
    trained = np.array([np.isin(np.arange(number), rng.permutation(number)[: number // 2]) for _ in range(n_models)])
    logits = np.array(
        [logit(clone(model).set_params(random_state=k).fit(rows[one], label[one])) for k, one in enumerate(trained)]
    )
    seen, own = logit(attacked), np.empty(number)
    for i in range(number):
        with_it, without = logits[trained[:, i], i], logits[~trained[:, i], i]
        own[i] = norm.logpdf(seen[i], with_it.mean(), with_it.std() + 0.1) - norm.logpdf(
            seen[i], without.mean(), without.std() + 0.1
        )
    return {
        "inside": inside.astype(np.float64),
        "with the seeds": found.scores[DRAWS],
        "LiRA": own,
        "usual score": seen,
    }


def compared(found: dict[str, FloatArray]) -> Iterator[dict[str, object]]:
    """Yield a line for each score of the same people."""
    inside = found["inside"].astype(bool)
    ours = np.nan_to_num(found["with the seeds"], neginf=-1e3)
    for name in ("with the seeds", "LiRA", "usual score"):
        scores = np.nan_to_num(found[name], neginf=-1e3)
        yield {
            "score": name,
            "AUC": area_of(scores[inside], scores[~inside]),
            "found at 1 %": found_of(scores[inside], scores[~inside], 0.01),
            "rank correlation with ours, members": float(spearmanr(scores[inside], ours[inside]).statistic),
        }


def drawn(found: dict[str, dict[str, FloatArray]]) -> Callable[[], Any]:
    """Return a figure of ROC curves, a panel for each table."""
    curves = {}
    for panel, scores in found.items():
        inside = scores["inside"].astype(bool)
        curves[panel] = [_roc(name, scores[name], inside) for name in ("with the seeds", "LiRA", "usual score")]
    return panels(curves, "strangers taken for members", "members found", logarithmic="xy")


def _roc(name: str, scores: FloatArray, inside: Any) -> Curve:
    at = np.unique(np.nan_to_num(scores, neginf=-1e3))[::-1]
    at = at[np.unique(np.linspace(0, len(at) - 1, 60).astype(int))]
    scores = np.nan_to_num(scores, neginf=-1e3)
    alarms, found = ([float((scores[side] >= one).mean()) for one in at] for side in (~inside, inside))
    return Curve([0.0, *alarms], [0.0, *found], name, marked=False)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_datasets(command)
    command.add_argument("--seconds", type=float, default=2400.0, help="time box of each file (2400)")
    command.add_argument("--seed", type=int, default=0, help="draws rows, and is the models' random_state (0)")
    command.add_argument(
        "--little", action="store_true", help="files that tell little, of all tables, in place of the twenty"
    )
    command.add_argument("--shadows", type=int, default=64, metavar="N", help="models of LiRA (64)")
    command.add_argument("--plot", type=Path, metavar="SVG", help="draw the ROC curves beside LiRA's")


def command(a: argparse.Namespace) -> None:
    """Print both tables."""
    files = [(name, one) for name in dict.fromkeys(name for name, _ in FILES) for one in LITTLE] if a.little else FILES
    for name, settings in files:
        for line in lines(name, settings, a.datasets, a.seed, a.seconds):
            print(" | ".join(map(_cell, line.values())), flush=True)
    if a.little:
        return
    beside = {}
    for name, settings in (("breast cancer", FOREST), ("default_credit_numerical", FOREST)):
        beside[f"{name}, {settings}"] = beside_shadows(name, settings, a.datasets, a.seed, a.shadows)
        for line in compared(beside[f"{name}, {settings}"]):
            print(f"{name}, {settings} | " + " | ".join(map(_cell, line.values())), flush=True)
    if a.plot is not None:
        save(drawn(beside), a.plot)
