"""The gate on numeric data: in go names of data sets, out comes a line for each forest that was judged, and means.

Each forest has scikit-learn's defaults, is saved by joblib, and judged by the default policy from its file and the rows
that it was fitted on. Nothing of the engine was tuned on what a reader brings along.
"""

from __future__ import annotations

import argparse
import math
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from pytest_draft.artifact import Artifact, read
from pytest_draft.data import TrainingData, domain_from, training_data
from pytest_draft.domain import Domain, infer
from pytest_draft.errors import DataError, one_line
from pytest_draft.evaluate.proved import contradiction
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.verdict import judge, verdict_of
from pytest_draft.report.result import metrics_of
from studies.cells import Plain, Study
from studies.options import add_cells, add_seeds, groups, records, rows_of

TOYS: Mapping[str, Callable[..., Any]] = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast_cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
    "diabetes": datasets.load_diabetes,
    "linnerud": datasets.load_linnerud,
}
"""What scikit-learn brings along. All but the first three were named as unseen data before anybody looked at them."""

FORESTS: Mapping[str, Callable[..., Any]] = {
    "random": RandomForestClassifier,
    "extra": ExtraTreesClassifier,
    "regressor": RandomForestRegressor,
}

MOST_CLASSES = 10
"""Numbers of more different values are no classes: a classifier learns whether they are above their median."""

_COLUMNS = {
    "residual": ".0f",
    "error": ".4f",
    "random": ".4f",
    "median": ".4f",
    "by IQR": ".3f",
    "close": ".3f",
    "exact": ".3f",
    "rows close": ".3f",
    "rows exact": ".3f",
    "certain": ".3f",
    "told": ".3f",
    "refuted": ".0f",
    "s": ".1f",
}
_LEGEND = """\
residual: counts and thresholds that the best dataset misses; error: of the reconstruction, beside random guesses and
the guess of each column's true median; by IQR: mean difference over the interquartile range; close, exact: shares of
the numeric values to within 1 % of the range, and equal; rows ...: shares of whole rows; certain: share of the values
that are proved; told: share of the values that the file tells, though not in which row; refuted: 1 where the training
data contradict a proof."""


@dataclass(frozen=True)
class Setting:
    """What all runs of a study have in common."""

    forest: str
    """One of "random", "extra", "regressor"."""
    n_trees: int = 100
    n_rows: int = 0
    """Rows drawn at random, or all where there are no more; 0 for all."""
    seconds: float = 60.0
    """Time box of the gate, for everything."""
    workers: int = 2
    effort: float | None = None
    """As in `Case`."""


@dataclass(frozen=True)
class Run:
    """One forest, judged: aggregates only."""

    n_rows: int
    status: str
    verdict: str
    figures: dict[str, float]
    """By the names of the printed columns; NaN where there is none."""


def study(names: Sequence[str], seeds: Sequence[int], setting: Setting) -> Study:
    """Return one cell for each data set and seed.

    Parameters
    ----------
    names : sequence of str
        Of `TOYS`, or ``PATH:LABEL`` of a CSV file and its label column.
    seeds : sequence of int
        Each draws rows and is the forest's ``random_state``.

    Raises
    ------
    DataError
        Where there is no such data set, file or column; before any work.
    """
    for name in names:
        table_of(name)
    cells: list[dict[str, Plain]] = [
        {"table": name, "label": _place(name)[1], "seed": seed, **asdict(setting)} for name in names for seed in seeds
    ]
    return Study("numeric", cell, cells, {"table": {name: _place(name)[0] for name in names}})


def cell(table: Path | str, label: str | None, seed: int, **setting: Any) -> dict[str, Plain]:
    """Return `examined` of a data set, each figure as ``figure`` and its name."""
    asked = Setting(**setting)
    _warm_up(asked)
    found = asdict(examined(*table_of(str(table) if label is None else f"{table}:{label}"), seed, asked))
    figures = {f"figure {name}": value for name, value in found.pop("figures").items()}
    return {"n_rows_used": found.pop("n_rows"), **figures, **found}


def report(rows: pd.DataFrame, setting: Setting) -> None:
    """Print one line for each data set and seed, the means of each data set, and what was wrong in all.

    Parameters
    ----------
    rows : DataFrame
        Of `study`.
    """
    width = max(map(len, rows["table"]), default=4)
    print(
        f"{FORESTS[setting.forest].__name__}(n_estimators={setting.n_trees}), {setting.seconds:g} s, "
        f"{setting.workers} threads\n{_LEGEND}"
    )
    names_of_figures = " ".join(f"{name:>{_width(name)}}" for name in _COLUMNS)
    print(f"{'data':<{width}} rows seed {'status':<13} {'verdict':<12} {names_of_figures}")
    for (name,), some in groups(rows, "table").items():
        mine = {values["seed"]: _run_of(values) for values in records(some)}
        for seed, one in mine.items():
            print(f"{name:<{width}} {_line(one, str(seed))}")
        if len(mine) > 1:
            print(f"{name:<{width}} {_line(_mean(list(mine.values())), 'mean')}")
    refuted = (rows["figure refuted"] == 1).sum()
    print(f"{refuted} of {len(rows)} runs prove what the training data contradict")


def _run_of(values: Mapping[str, Any]) -> Run:
    """Return what a row of `study` says."""
    figures = {
        name.removeprefix("figure "): np.nan if value is None else value
        for name, value in values.items()
        if name.startswith("figure ")
    }
    return Run(values["n_rows_used"], values["status"], values["verdict"], figures)


def table_of(name: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return a data set's features and its target.

    Parameters
    ----------
    name : str
        As `study` takes it.

    Raises
    ------
    DataError
        Where there is none.
    """
    path, label = _place(name)
    if path is None or label is None:
        bunch = TOYS[name](as_frame=True)
        several = isinstance(bunch.target, pd.DataFrame)
        return bunch.data, bunch.target.iloc[:, 0] if several else bunch.target
    if not path.is_file():
        raise DataError(f"data {one_line(str(path))!r}: no such file; give PATH:LABEL of a CSV file")
    table = pd.read_csv(path)
    if label not in table:
        raise DataError(
            f"data {one_line(str(path))!r} has no column {one_line(label)!r}: name its label behind the colon"
        )
    return table.drop(columns=label), table[label]


def _place(name: str) -> tuple[Path | None, str | None]:
    """Return file and label of a data set; None for a toy."""
    if name in TOYS:
        return None, None
    found = re.fullmatch(r"(.+?\.csv(?:\.gz)?):(.+)", name)
    if found is None:
        known = ", ".join(TOYS)
        raise DataError(f"data set {one_line(name)!r} is unknown: give one of {known}, or a CSV file as PATH:LABEL")
    return Path(found[1]), found[2]


def examined(features: pd.DataFrame, target: pd.Series[Any], seed: int, setting: Setting) -> Run:
    """Draw rows, train a forest on them, save it, and let the gate judge the file.

    Parameters
    ----------
    features : DataFrame
        Text columns are one-hot encoded in a pipeline with the forest.
    target : Series
    """
    label = _label(target, setting.forest, seed)
    if 0 < setting.n_rows < len(features):
        features = features.sample(setting.n_rows, random_state=seed)
        label = label.loc[features.index]
    forest = FORESTS[setting.forest](n_estimators=setting.n_trees, random_state=seed)
    model = _with_encoder(forest, features).fit(features, label)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.joblib"
        joblib.dump(model, path)
        case = Case(str(path), seconds=setting.seconds, seed=seed, workers=setting.workers, effort=setting.effort)
        examination, rebuilt = examine(case, (features, label))
        artifact = read(path)
    data = training_data((features, label), artifact.forest, encoder=artifact.encoder)
    domain = _domain_of(artifact, data)
    figures = _figures(examination)
    if examination.findings is not None and rebuilt is not None:
        figures["refuted"] = float(contradiction(rebuilt, data, domain, examination.findings.identity) is not None)
    verdict = verdict_of((check.result, check.counts) for check in judge(examination, default_policy()))
    return Run(data.n_rows, examination.solver_status, verdict, figures)


@cache
def _warm_up(setting: Setting) -> None:
    """Let numba compile, or load what it has kept, so that no run is charged for it."""
    features, target = table_of("wine")
    examined(features, target, 0, replace(setting, n_trees=10, n_rows=30, seconds=300.0, effort=1.0))


def _label(target: pd.Series[Any], forest: str, seed: int) -> pd.Series[Any]:
    """Return what a forest learns; a regressor that is given classes learns them with noise, so that targets differ."""
    is_quantity = pd.api.types.is_numeric_dtype(target) and target.nunique() > MOST_CLASSES
    if forest == "regressor":
        noise = np.random.default_rng(seed).uniform(size=len(target))
        return target if is_quantity else pd.Series(pd.factorize(target)[0] + noise, target.index)
    return (target > target.median()).astype(int) if is_quantity else target


def _with_encoder(forest: Any, features: pd.DataFrame) -> Any:
    """Return a forest, behind a one-hot encoder where columns hold text."""
    text = features.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in features.dtypes]]
    if not len(text):
        return forest
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), list(text)), remainder="passthrough")
    return make_pipeline(encoder, forest)


def _domain_of(artifact: Artifact, data: TrainingData) -> Domain:
    """Return the domain that the gate grants the adversary."""
    if artifact.encoder is None:
        return infer(data.columns, data.rows.astype(np.float64))
    return domain_from(artifact.encoder, data.columns, data.rows)


def _figures(examination: Examination) -> dict[str, float]:
    """Return the figures of an examination by their columns, those of other columns NaN."""
    metrics, findings = metrics_of(examination), examination.findings
    figures = dict.fromkeys(_COLUMNS, np.nan)
    for name, metric in (
        ("residual", "residual"),
        ("error", "reconstruction_error"),
        ("random", "random_error"),
        ("median", "median_error"),
        ("by IQR", "iqr_error"),
        ("close", "close_values"),
        ("exact", "exact_values"),
        ("rows exact", "exact_rows"),
    ):
        figures[name] = _or_nan(metrics[metric])
    figures["s"] = examination.seconds
    if findings is not None:
        whole, certain = findings.whole, findings.values.certain
        figures["rows close"] = whole.perfect.lower / whole.rows
        figures["certain"] = np.nan if certain is None else certain.number / (whole.rows * whole.columns)
        figures["told"] = 0.0 if findings.proved_values is None else findings.proved_values.share
    return figures


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else float(value)


def _mean(runs: Sequence[Run]) -> Run:
    """Return means, NaN where a run has no figure; words where all runs have the same."""

    def same(words: set[str]) -> str:
        return words.pop() if len(words) == 1 else ""

    figures = {name: float(np.mean([one.figures[name] for one in runs])) for name in runs[0].figures}
    return Run(runs[0].n_rows, same({one.status for one in runs}), same({one.verdict for one in runs}), figures)


def _line(one: Run, seed: str) -> str:
    parts = [f"{one.n_rows:>4} {seed:>4} {one.status:<13} {one.verdict:<12}"]
    for name, form in _COLUMNS.items():
        figure = one.figures[name]
        parts.append(f"{'-' if math.isnan(figure) else format(figure, form):>{_width(name)}}")
    return " ".join(parts)


def _width(name: str) -> int:
    return max(len(name), 6)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument("--data", nargs="+", default=list(TOYS), help="names of toy data, or PATH.csv:LABEL")
    command.add_argument("--rows", type=int, default=100, help="rows drawn at random; 0 for all")
    command.add_argument("--trees", type=int, default=100)
    add_seeds(command, [0, 1, 2])
    command.add_argument("--budget", type=float, default=60.0, help="seconds for each judgement")
    command.add_argument("--effort", type=float, default=None, help="the most units of work for each search")
    command.add_argument("--threads", type=int, default=2)
    command.add_argument("--forest", default="random", choices=list(FORESTS))
    add_cells(command)


def command(a: argparse.Namespace) -> None:
    """Run this study."""
    setting = Setting(a.forest, a.trees, a.rows, a.budget, a.threads, a.effort)
    report(rows_of(study(a.data, a.seeds, setting), a), setting)
