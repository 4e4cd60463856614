"""What is claimed of generated tables, against the truth: in goes a number of instances, out come the claims that fail.

Small tables in every kind of writing (any two codes, code books, one-hot groups with and without their first level and
without telling names, numbers, constants, repeated rows) train every kind of model, and each file is judged for every
adversary. The rows that trained a file are behind it: so it is never infeasible, nobody else's, nor, where one dataset
is said to be left, another one; and no more rows are certain, or shared with any consistent dataset, than are.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.reconstruction import Reconstruction
from studies.options import add_instances

MODELS: dict[str, Callable[[int, int], Any]] = {  # given a number of trees and a seed
    "random forest": lambda trees, seed: RandomForestClassifier(trees, random_state=seed),
    "random forest without bagging": lambda trees, seed: RandomForestClassifier(
        trees, bootstrap=False, random_state=seed
    ),
    "shallow random forest": lambda trees, seed: RandomForestClassifier(trees, max_depth=2, random_state=seed),
    "extra trees": lambda trees, seed: ExtraTreesClassifier(trees, random_state=seed),
    "extra trees with bagging": lambda trees, seed: ExtraTreesClassifier(trees, bootstrap=True, random_state=seed),
    "bagging": lambda trees, seed: BaggingClassifier(DecisionTreeClassifier(), trees, random_state=seed),
    "single tree": lambda _, seed: DecisionTreeClassifier(random_state=seed),
    "random forest regressor": lambda trees, seed: RandomForestRegressor(trees, random_state=seed),
    "extra trees regressor": lambda trees, seed: ExtraTreesRegressor(trees, random_state=seed),
}

ADVERSARIES = ("artifact", "published", "artifact+columns:1", "artifact+rows:1", "artifact+informed")

_MOST_ROWS, _MOST_TREES = 12, 12
"""Of a table and a model: small, so that thousands are judged in one run, and much is claimed of some."""

_CODES = ((0, 1), (-1, 1), (0, 30), (-0.5, 2.25))
"""Pairs of values of a column of two."""

_NUMERIC, _REPEATED, _WHOLE = 0.15, 0.3, 0.7
"""Shares of numeric columns, of tables with repeated rows, and of one-hot groups with their first level."""

_SECONDS, _EFFORT = 20.0, 1.0
"""Of a judgement: the effort ends it, and the clock only guards."""


@dataclass(frozen=True)
class Answer:
    """What one judgement claimed, and what of that is false."""

    status: str
    proved: int
    """Rows that are claimed to be certain or shared."""
    violations: tuple[str, ...]


def table_of(rng: np.random.Generator) -> pd.DataFrame:
    """Return a random table of 2 to `_MOST_ROWS` rows without its label."""
    n_rows = int(rng.integers(2, _MOST_ROWS + 1))
    columns: list[NDArray[Any]] = []
    for _ in range(int(rng.integers(1, 5))):
        kind = rng.random()
        if kind < 0.45:
            columns.append(np.array(_CODES[rng.integers(len(_CODES))])[rng.integers(0, 2, n_rows)])
        elif kind < 0.65:
            columns.append((np.cumsum(rng.integers(1, 6, 4)) - 5)[rng.integers(0, 4, n_rows)])
        elif kind < 1 - _NUMERIC:
            levels = np.eye(3)[rng.integers(0, 3, n_rows)]
            columns += list((levels if rng.random() < _WHOLE else levels[:, 1:]).T)
        else:
            columns.append(np.round(rng.normal(size=n_rows), int(rng.integers(1, 4))))
    if rng.random() < _REPEATED:
        again = rng.integers(0, n_rows, n_rows)
        columns = [column[again] for column in columns]
    table: pd.DataFrame = pd.DataFrame({f"c{i}": column.astype(float) for i, column in enumerate(columns)})
    return table


def answered(model: str, adversary: str, seed: int) -> Answer:
    """Judge one generated file.

    Parameters
    ----------
    model : str
        Of `MODELS`.
    """
    rng = np.random.default_rng([seed, list(MODELS).index(model)])
    rows = table_of(rng)
    regressor = model.endswith("regressor")
    labels = rng.normal(size=len(rows)) if regressor else rng.integers(0, int(rng.integers(1, 4)), len(rows))
    estimator = MODELS[model](int(rng.integers(1, _MOST_TREES + 1)), int(rng.integers(2**31)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.joblib"
        joblib.dump(estimator.fit(rows, labels), path)
        case = Case(str(path), adversary=adversary, seconds=_SECONDS, effort=_EFFORT, seed=seed)
        examination, rebuilt = examine(case, data=(rows, labels))
    return Answer(
        examination.solver_status,
        0 if examination.certificate is None else examination.certificate.guaranteed_vectors.lower,
        tuple(_violations(examination, rebuilt, rows.to_numpy(np.float32), adversary)),
    )


def _violations(
    examination: Examination, rebuilt: Reconstruction | None, truth: NDArray[np.float32], adversary: str
) -> list[str]:
    """Return what is claimed and false."""
    wrong = [reason for reason in examination.reasons if "internal error" in reason or "not trained on" in reason]
    if examination.solver_status in ("infeasible", "error"):
        wrong.append(f"status {examination.solver_status}")
    whole = None if examination.findings is None else examination.findings.whole
    if whole is not None and examination.solver_status == "unique" and whole.perfect.lower < whole.rows:
        wrong.append(f"unique, and {whole.perfect.lower} of {whole.rows} rows are right")
    certificate = examination.certificate
    if certificate is None or rebuilt is None or rebuilt.consistent is None or "+" in adversary:
        return wrong
    mine, theirs = (Counter(map(bytes, rows + np.float32(0))) for rows in (rebuilt.consistent, truth))
    shared = (mine & theirs).total()
    for claim in ("certain_vectors", "guaranteed_vectors"):
        claimed = getattr(certificate, claim).lower
        if claimed > shared:
            wrong.append(f"{claim}: {claimed}, and {shared} rows are shared")
    return wrong


def run(n_instances: int, seed: int, models: tuple[str, ...] = tuple(MODELS)) -> int:
    """Judge so many instances of each kind of model, for the adversaries in turn, and print a table.

    Returns
    -------
    int
        Number of false claims.
    """
    print(f"{'model':<30} {'adversary':<20} judged proved-rows violations  statuses", flush=True)
    number = 0
    for model in models:
        answers: dict[str, list[Answer]] = {adversary: [] for adversary in ADVERSARIES}
        for i in range(n_instances):
            adversary = ADVERSARIES[i % len(ADVERSARIES)]
            answer = answered(model, adversary, seed * 1_000_000 + i)
            answers[adversary].append(answer)
            for violation in answer.violations:
                print(f"false: {model}, {adversary}, seed {seed * 1_000_000 + i}: {violation}", flush=True)
        for adversary, some in answers.items():
            found = sum(len(answer.violations) for answer in some)
            number += found
            statuses = ", ".join(f"{n} {status}" for status, n in Counter(one.status for one in some).most_common())
            proved = sum(answer.proved for answer in some)
            print(f"{model:<30} {adversary:<20} {len(some):>6} {proved:>11} {found:>10}  {statuses}", flush=True)
    return number


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_instances(command, 500, "of each kind of model")
    command.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))


def command(a: argparse.Namespace) -> int:
    """Run this study."""
    return run(a.instances, a.seed, tuple(a.models))
