"""Small boosters whose every table can be listed: in goes a seed, out comes a `BoostedInstance`, fitted and read.

One in six has a total that was changed afterwards, so that its rows no longer explain it; half of them state less than
their file does, or less exactly, so that many tables satisfy it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray, Rows
from pytest_draft.artifact import Forest
from pytest_draft.artifact.forest.observations import BoostedSums, Statements
from pytest_draft.domain import Domain
from studies.agreement_instances import random_domain
from studies.files import through_file

Task = Literal["two classes", "three classes", "regression"]

TASKS: tuple[Task, ...] = ("two classes", "three classes", "regression")

LIBRARIES: Mapping[str, tuple[str, str]] = {
    "gradient boosting": ("sklearn", "GradientBoosting"),
    "histograms": ("sklearn", "HistGradientBoosting"),
    "XGBoost": ("xgboost", "XGB"),
    "LightGBM": ("lightgbm", "LGBM"),
    "CatBoost": ("catboost", "CatBoost"),
}
"""By name: the package, and what its classes are called before ``Classifier`` and ``Regressor``."""

_MOST_VECTORS = (4, 8, 24)
"""Of an instance's domain: few, so that rows can have all of them, or many."""

_LEAST_ROWS, _MOST_ROWS = 6, 12

_ROUNDS = (1, 1, 2, 4, 12)
"""Few, so that one table or many satisfy what the trees state."""

_CHANGED = 1 / 6
"""Share of instances one of whose totals is changed."""

_WEAKENED, _UNCOUNTED = 1 / 2, 1 / 3
"""Shares of instances that state less, and of those whose numbers of rows are then unknown."""

_CONSTANT, _TWIN = 1 / 5, 1 / 5
"""Shares of instances with a column that is constant, and with one that is another's twin."""


class NothingFittedError(Exception):
    """A library refused these rows, or no tree has a split."""


@dataclass(frozen=True, eq=False, repr=False)
class BoostedInstance:
    """A small booster with the rows that it was fitted to. Its repr shows no row."""

    library: str
    task: Task
    forest: Forest
    domain: Domain
    rows: Rows
    """Shape (n_rows, n_columns)."""
    labels: IntArray
    """Shape (n_rows,). Zeros of regressors."""
    changed: bool
    """Whether a total was changed, so that these rows do not explain it."""
    altered: bool
    """Whether the trees state anything else than their file does."""
    refitted: Callable[[IntArray], Forest]
    """Fits once more to the rows in another order."""

    def __repr__(self) -> str:
        return f"<BoostedInstance: {self.library}, {self.task}, {len(self.rows)} rows>"


def installed() -> tuple[str, ...]:
    """Return the names of the libraries that are installed."""
    return tuple(name for name, (package, _) in LIBRARIES.items() if find_spec(package) is not None)


def drawn(library: str, task: Task, seed: Sequence[int]) -> BoostedInstance:
    """Draw a few random rows, fit a booster to them, write it to a file and read that.

    Raises
    ------
    NothingFittedError
    """
    rng = np.random.default_rng(seed)
    most, domain = int(rng.choice(_MOST_VECTORS)), None
    while domain is None or len(domain.attributes) < 2:
        domain = random_domain(rng, most, coded=True)
    rows = _rows(domain, int(rng.integers(_LEAST_ROWS, _MOST_ROWS + 1)), rng)
    n_rows = len(rows)
    if task == "regression":
        target: FloatArray | IntArray = (
            rng.normal(size=n_rows).round(2) if rng.random() < 0.5 else rng.integers(4, size=n_rows) / 1.0
        )
        labels = np.zeros(n_rows, dtype=np.int64)
    else:
        n_classes = 2 if task == "two classes" else 3
        target = rng.integers(n_classes, size=n_rows)
        target[:n_classes] = np.arange(n_classes)
        target = labels = rng.permutation(target)
    options = _OPTIONS[library](rng)
    if library == "CatBoost" and task == "three classes":
        options["leaf_estimation_iterations"] = 1

    def fitted(order: IntArray) -> Forest:
        model = _estimator(library, task, options)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(rows[order], target[order])
        except Exception as error:  # a library's own, of any class
            raise NothingFittedError from error
        return through_file(model)

    forest = fitted(np.arange(n_rows))
    if all(tree.n_nodes == 1 for tree in forest.trees):
        raise NothingFittedError
    stated = _weakened(forest, rng) if rng.random() < _WEAKENED else forest
    other = _changed(stated, rng) if rng.random() < _CHANGED else None
    changed, stated = other is not None, other or stated
    return BoostedInstance(library, task, stated, domain, rows, labels, changed, stated is not forest, fitted)


def _rows(domain: Domain, n_rows: int, rng: np.random.Generator) -> Rows:
    """Return random rows, some with a constant column or one that is another's twin."""
    sizes = np.array([attribute.n_values for attribute in domain.attributes])
    indices = rng.integers(sizes, size=(n_rows, len(sizes)))
    if rng.random() < _CONSTANT:
        a = int(rng.integers(len(sizes)))
        indices[:, a] = rng.integers(sizes[a])
    if rng.random() < _TWIN:
        a, b = rng.permutation(len(sizes))[:2]
        indices[:, a] = np.minimum(indices[:, b], sizes[a] - 1)
    return domain.encoded(indices)


def _changed(forest: Forest, rng: np.random.Generator) -> Forest | None:
    """Return a forest one of whose totals is another; None where it states none."""
    said = forest.observation
    if not isinstance(said, BoostedSums):
        raise ValueError("these trees are not boosted")
    statements = list(said.statements)
    stating = [t for t, own in enumerate(statements) if len(own.node)]
    if not stating:
        return None
    t = int(rng.permutation(stating)[0])
    total = statements[t].total.copy()
    place = int(rng.integers(len(total)))
    total[place] += rng.choice([-1, 1]) * max(0.3, 0.5 * abs(total[place]))
    statements[t] = replace(statements[t], total=total)
    return replace(forest, observation=replace(said, statements=tuple(statements)))


def _weakened(forest: Forest, rng: np.random.Generator) -> Forest:
    """Return a forest that states less, and less exactly; what it states is still true of the right rows."""
    said = forest.observation
    if not isinstance(said, BoostedSums):
        raise ValueError("these trees are not boosted")
    share, off = rng.choice([0.3, 0.6, 1.0]), 10 ** rng.uniform(-7, -0.5)
    statements = []
    for own in said.statements:
        kept = rng.random(len(own.node)) < share
        tolerance = np.maximum(own.tolerance[kept], off)
        total = own.total[kept] + rng.uniform(-0.9, 0.9, size=len(tolerance)) * (tolerance - own.tolerance[kept])
        statements.append(Statements(own.node[kept], own.weight[kept], total, tolerance))
    trees, counted = forest.trees, said.counted
    if counted and rng.random() < _UNCOUNTED:
        counted = False
        trees = tuple(
            replace(tree, weight=np.zeros(tree.n_nodes), n_distinct=np.zeros(tree.n_nodes, dtype=np.int64))
            for tree in trees
        )
    return replace(forest, trees=trees, observation=replace(said, statements=tuple(statements), counted=counted))


def _common(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "rounds": int(rng.choice(_ROUNDS)),
        "rate": float(rng.choice([0.1, 0.3, 1.0])),
        "depth": int(rng.choice([1, 1, 2, 3, 4])),
        "l2": float(rng.choice([0.0, 0.5, 1.0])),
        "least": int(rng.integers(1, 4)),
        "seed": int(rng.integers(2**31)),
    }


def _of_gradient_boosting(rng: np.random.Generator) -> dict[str, Any]:
    o = _common(rng)
    return {
        "n_estimators": o["rounds"],
        "learning_rate": o["rate"],
        "max_depth": o["depth"],
        "min_samples_leaf": o["least"],
        "random_state": o["seed"],
    }


def _of_histograms(rng: np.random.Generator) -> dict[str, Any]:
    o = _common(rng)
    return {
        "max_iter": o["rounds"],
        "learning_rate": o["rate"],
        "max_depth": o["depth"],
        "l2_regularization": o["l2"],
        "min_samples_leaf": o["least"],
        "early_stopping": False,
        "random_state": o["seed"],
    }


def _of_xgboost(rng: np.random.Generator) -> dict[str, Any]:
    o = _common(rng)
    return {
        "n_estimators": o["rounds"],
        "learning_rate": o["rate"],
        "max_depth": o["depth"],
        "reg_lambda": o["l2"],
        "min_child_weight": float(rng.choice([0.0, 0.5, 1.0])),
        "tree_method": str(rng.choice(["hist", "exact"])),
        "n_jobs": 1,
    }


def _of_lightgbm(rng: np.random.Generator) -> dict[str, Any]:
    o = _common(rng)
    return {
        "n_estimators": o["rounds"],
        "learning_rate": o["rate"],
        "num_leaves": 2 ** o["depth"],
        "reg_lambda": o["l2"],
        "min_child_samples": o["least"],
        "min_child_weight": float(rng.choice([0.0, 1e-3, 0.3])),
        "min_data_in_bin": 1,
        "n_jobs": 1,
        "verbose": -1,
    }


def _of_catboost(rng: np.random.Generator) -> dict[str, Any]:
    o = _common(rng)
    found = {
        "iterations": o["rounds"],
        "learning_rate": o["rate"],
        "depth": o["depth"],
        "l2_leaf_reg": 1.0 + o["l2"],
        "random_seed": o["seed"],
        "thread_count": 1,
        "verbose": False,
        "allow_writing_files": False,
    }
    return found if rng.random() < 0.5 else {**found, "leaf_estimation_iterations": 1}


_OPTIONS: Mapping[str, Callable[[np.random.Generator], dict[str, Any]]] = {
    "gradient boosting": _of_gradient_boosting,
    "histograms": _of_histograms,
    "XGBoost": _of_xgboost,
    "LightGBM": _of_lightgbm,
    "CatBoost": _of_catboost,
}


def _estimator(library: str, task: Task, options: dict[str, Any]) -> Any:
    """Return an unfitted estimator."""
    package, prefix = LIBRARIES[library]
    module = __import__("sklearn.ensemble", fromlist=["ensemble"]) if package == "sklearn" else __import__(package)
    return getattr(module, prefix + ("Regressor" if task == "regression" else "Classifier"))(**options)
