"""Judgements that are always the same: in goes a folder, out come files there and the options to judge them by.

Together they go through the whole gate: each kind of model and of data, each adversary, each shipped policy, and what
does not pass for another. Tables and models are small and seeded, and two versions of the gate can be given the same
files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.dp import LaplaceForestClassifier
from pytest_draft.hardening.model import hardened
from studies.specimens import LABEL, N_TREES, Specimen, specimen

N_ROWS = 40
"""Training rows of each judgement: enough for every figure, and an attack on numeric columns takes a second."""

_STRANGERS = 3
"""So many times as many strangers as training rows: from fewer the leak p-value is not told."""

_EPSILON = 200.0
"""Of the private forest as a whole: so little noise that there is something to find."""

_PRIVATE_DEPTH = 3
"""Of the private forest: eight leaves a tree, as the paper's (depths 3, 5 and 7)."""

_RULE_LIST = """\
schema_version = 1
classes = [0, 1]

[[rules]]
if = { old = true, rich = true }
then = 1

[[rules]]
if = { "job_office" = true }
then = 1

[[rules]]
then = 0
"""

_SLICES = """\
schema_version = 1
name = "slices"
by_class = true

[[slice]]
name = "old people"
if = { old = true }

[rules.reconstruction-error]
max_error_of_split_half = 0.5

[rules.perfect-rows]
max_share_beyond_split_half = 0.5
"""

_DOMAIN = """\
others = "binary"

[attributes.education]
kind = "ordinal"
values = [9, 12, 14, 16, 17, 20]

[attributes.rating]
kind = "ordinal"
low = 0
high = 40

[attributes.children]
kind = "ordinal"
low = 0
high = 5
"""

Write = Callable[[Path], tuple[str, ...]]
"""Takes an empty folder, writes all files of a judgement there, and returns the options that name them."""

JUDGEMENTS: dict[str, Write] = {}
"""All fixed judgements by name."""


def _written(one: Specimen, folder: Path, *options: str) -> tuple[str, ...]:
    """Write a specimen's model and training data, and return the options that name them."""
    joblib.dump(one.trained(), folder / "model.joblib")
    return _named(one.frame.assign(**{LABEL: one.labels}), folder, "model.joblib", *options)


def _hardened(table: str, model: str, level: str) -> Write:
    """Return how a hardened model of `studies.specimens` is written."""

    def write(folder: Path) -> tuple[str, ...]:
        one = specimen(table, model, n_rows=N_ROWS)
        return _written(replace(one, rewritten=(lambda fitted: hardened(fitted, level)[0],)), folder)

    return write


def _around(wrapped: Callable[[Any], Any]) -> Write:
    """Return how a model around a forest is written."""

    def write(folder: Path) -> tuple[str, ...]:
        one = specimen("discrete", "forest", n_rows=N_ROWS)
        return _written(replace(one, estimator=wrapped(one.estimator)), folder)

    return write


def _named(table: pd.DataFrame, folder: Path, model: str, *options: str) -> tuple[str, ...]:
    """Write training data, and return the options that name them and a model's file."""
    table.to_csv(folder / "train.csv", index=False)
    return (f"--draft-forest={model}", "--draft-data=train.csv", f"--draft-target={LABEL}", *options)


def _of(table: str, model: str, *options: str) -> Write:
    """Return how a table and a model of `studies.specimens` are written."""
    return lambda folder: _written(specimen(table, model, n_rows=N_ROWS, strangers=_STRANGERS), folder, *options)


JUDGEMENTS |= {
    "bagged forest": _of("discrete", "forest", "--draft-policy=default"),
    "forest without bagging, internal policy": _of("classes", "forest without bootstrap", "--draft-policy=internal"),
    "extra trees, policy for partners": _of("gaps", "extra trees", "--draft-policy=partner-release"),
    "tree, policy of special categories": _of("screening", "tree", "--draft-policy=special-category"),
    "tree, policy for interpretable models": _of("discrete", "tree", "--draft-policy=interpretable"),
    "bag of trees, duplicated rows": _of("duplicates", "bag"),
    "forest that tells little": _of("discrete", "little"),
    "numeric columns, public policy": _of("iris", "forest", "--draft-policy=public-release"),
    "regressor on mixed columns": _of("mixed", "regressor"),
    "known column, known rows": _of(
        "discrete", "forest", "--draft-adversary=artifact+columns:1", "--draft-adversary=artifact+rows:25%"
    ),
    "all rows but one known": _of("gaps", "forest without bootstrap", "--draft-adversary=artifact+informed"),
    "occurrences unknown": _of("duplicates", "shallow", "--draft-adversary=published"),
}

JUDGEMENTS |= {
    f"{model} on {table}": _of(table, model)
    for tables, models in (
        (("discrete", "gaps", "classes"), ("forest", "extra trees", "bag", "shallow", "tree")),
        (("mixed", "iris", "outliers"), ("forest", "extra trees", "bag", "shallow", "regressor")),
    )
    for table in tables
    for model in models
}
JUDGEMENTS |= {
    f"{model} on {table}, hardened to {level}": _hardened(table, model, level)
    for table, model in (("discrete", "forest"), ("mixed", "extra trees"), ("gaps", "regressor"))
    for level in ("seeds", "counts", "decimals:3", "labels")
    if (model, level) != ("regressor", "labels")
}
JUDGEMENTS |= {
    "calibrated forest": _around(lambda forest: CalibratedClassifierCV(forest, cv=2)),
    "search over forests": _around(lambda forest: GridSearchCV(forest, {"max_depth": [3, 5]}, cv=2)),
    "forest and tree that vote": _around(
        lambda forest: VotingClassifier([("forest", forest), ("tree", DecisionTreeClassifier(random_state=0))])
    ),
    "boosted trees": _around(lambda _: AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5)),
}


def _fixed(name: str) -> Callable[[Write], Write]:
    """Return a decorator that names a judgement."""

    def register(write: Write) -> Write:
        JUDGEMENTS[name] = write
        return write

    return register


@_fixed("pipeline with text")
def _pipeline(folder: Path) -> tuple[str, ...]:
    """A text column behind a one-hot encoder in the file; the raw table is given."""
    one = specimen("gaps", "forest", n_rows=N_ROWS)
    grades = np.array(["low", "middle", "high"])[one.frame["rating"].to_numpy() // 10 - 1]
    frame = one.frame.assign(rating=grades)
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["rating"]), remainder="passthrough")
    joblib.dump(make_pipeline(encoder, one.estimator).fit(frame, one.labels), folder / "model.joblib")
    return _named(frame.assign(**{LABEL: one.labels}), folder, "model.joblib")


@_fixed("private forest")
def _private(folder: Path) -> tuple[str, ...]:
    """Laplace noise on all counts, by the policy for such releases."""
    one = specimen("discrete", "forest", n_rows=N_ROWS)
    joblib.dump(noisy_forest(one.frame, one.labels), folder / "model.joblib")
    return _named(one.frame.assign(**{LABEL: one.labels}), folder, "model.joblib", "--draft-policy=dp-release")


@_fixed("rule list")
def _rule_list(folder: Path) -> tuple[str, ...]:
    """Three rules in TOML, whose counts are taken from the training data."""
    one = specimen("discrete", "tree", n_rows=N_ROWS)
    (folder / "rules.toml").write_text(_RULE_LIST, encoding="utf-8")
    return _named(one.frame.assign(**{LABEL: one.labels}), folder, "rules.toml", "--draft-policy=interpretable")


@_fixed("strangers' data")
def _strangers(folder: Path) -> tuple[str, ...]:
    """The data of other people than the forest was trained on."""
    one = specimen("gaps", "forest", n_rows=N_ROWS)
    options = _written(one, folder)
    one.strangers.assign(**{LABEL: one.labels}).to_csv(folder / "train.csv", index=False)
    return options


@_fixed("holdout")
def _holdout(folder: Path) -> tuple[str, ...]:
    """Rows of the same population, for the leak p-value."""
    one = specimen("classes", "extra trees", n_rows=N_ROWS, strangers=_STRANGERS)
    one.strangers.to_csv(folder / "holdout.csv", index=False)
    return _written(one, folder, "--draft-holdout=holdout.csv", "--draft-policy=public-release")


@_fixed("slices")
def _slices(folder: Path) -> tuple[str, ...]:
    """A named part of the rows, and each class."""
    (folder / "ours.toml").write_text(_SLICES, encoding="utf-8")
    return _written(specimen("discrete", "forest", 1, n_rows=N_ROWS), folder, "--draft-policy=ours.toml")


@_fixed("declared domain")
def _declared(folder: Path) -> tuple[str, ...]:
    """A domain file that allows more than what occurs."""
    (folder / "domain.toml").write_text(_DOMAIN, encoding="utf-8")
    one = specimen("gaps", "forest", 1, n_rows=N_ROWS)
    return _written(one, folder, "--draft-domain=domain.toml")


@_fixed("hidden trees and rows, class weights")
def _hidden(folder: Path) -> tuple[str, ...]:
    """Another forest and some training rows as attributes of a weighted one."""
    one = specimen("mixed", "forest", n_rows=N_ROWS)
    other = replace(one, estimator=RandomForestClassifier(N_TREES, class_weight="balanced", random_state=1))
    model, hidden = other.trained(), one.trained()
    model.backup_, model.sample_ = hidden, one.frame.to_numpy()[:10].copy()
    joblib.dump(model, folder / "model.joblib")
    return _named(one.frame.assign(**{LABEL: one.labels}), folder, "model.joblib", "--draft-policy=special-category")


def noisy_forest(frame: pd.DataFrame, labels: np.ndarray[Any, np.dtype[np.int64]]) -> LaplaceForestClassifier:
    """Return what fitting a private forest would leave, its noise seeded; diffprivlib is not needed.

    Parameters
    ----------
    frame : pandas.DataFrame
        Of zeros and ones.
    labels : ndarray of int64, shape (n_rows,)
        Zeros and ones.

    Returns
    -------
    LaplaceForestClassifier
        Not to be released: whoever knows the seed subtracts the noise.
    """
    rng = np.random.default_rng(0)
    n_inner, n_nodes = 2**_PRIVATE_DEPTH - 1, 2 ** (_PRIVATE_DEPTH + 1) - 1
    node = np.arange(n_nodes)
    inner = node < n_inner  # a complete tree: the children of node v are 2v + 1 and 2v + 2
    model = LaplaceForestClassifier(N_TREES, epsilon=_EPSILON, bounds=(0, 1), classes=[0, 1], max_depth=_PRIVATE_DEPTH)
    model.n_features_in_, model.classes_ = frame.shape[1], np.array([0, 1])
    model.children_left_, model.children_right_ = np.where(inner, 2 * node + 1, -1), np.where(inner, 2 * node + 2, -1)
    model.feature_ = np.where(inner, rng.integers(frame.shape[1], size=(N_TREES, n_nodes)), -2)
    model.threshold_ = np.tile(np.where(inner, 0.5, -2.0), (N_TREES, 1))
    counts = np.zeros((N_TREES, n_nodes, 2))
    np.add.at(counts, (np.arange(N_TREES), model._leaves(frame.to_numpy(np.float32)), labels[:, None]), 1)
    scale = N_TREES / _EPSILON
    noise = rng.laplace(scale=scale, size=counts.shape)
    model.counts_ = np.where(inner[:, None], 0, np.trunc(counts + noise)).astype(np.int64)
    model.epsilon_, model.delta_, model.scale_, model.rounding_ = _EPSILON, 0.0, scale, "sum"
    return model
