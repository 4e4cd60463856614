"""Models of many kinds, fitted on small tables: in go names and a seed, out come models and their tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

N_ROWS = 60

KINDS: dict[str, Callable[[], Any]] = {
    "forest": lambda: RandomForestClassifier(5, oob_score=True, random_state=7),
    "shallow forest": lambda: RandomForestClassifier(5, max_depth=2, class_weight="balanced", random_state=7),
    "random splits": lambda: ExtraTreesClassifier(4, bootstrap=True, max_depth=3),
    "tree": lambda: DecisionTreeClassifier(max_leaf_nodes=6, random_state=np.random.RandomState(1)),
    "bagging": lambda: BaggingClassifier(ExtraTreeClassifier(max_depth=3), 4, max_features=0.7, random_state=3),
    "regressor": lambda: RandomForestRegressor(4, max_leaf_nodes=9),
    "calibrated": lambda: CalibratedClassifierCV(
        RandomForestClassifier(3, random_state=5), cv=KFold(2, shuffle=True, random_state=6)
    ),
    "search": lambda: GridSearchCV(
        RandomForestClassifier(3, max_depth=3), {"random_state": [1, 2]}, cv=2, error_score="raise"
    ),
    "voting": lambda: VotingClassifier(
        [("a", RandomForestClassifier(3, random_state=1)), ("b", DecisionTreeClassifier(max_depth=3))], voting="soft"
    ),
    "boosting": lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3, random_state=1),
    "isolation": lambda: IsolationForest(n_estimators=4, random_state=2),
}
"""Every kind of model that the gate reads, by name."""

TABLES = ("discrete", "numeric", "missing", "text")


def table(name: str, seed: int = 0, n_rows: int = N_ROWS) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """Return a table's features and labels."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"a": rng.integers(0, 3, n_rows), "b": rng.integers(0, 2, n_rows), "c": rng.integers(0, 6, n_rows)}
    ).astype(float)
    if name in ("numeric", "missing"):
        frame["c"] = rng.normal(0, 100, n_rows).round(3)
        frame["d"] = rng.exponential(size=n_rows)
    if name == "missing":
        frame.loc[rng.random(n_rows) < 0.2, "c"] = np.nan
    if name == "text":
        frame["word"] = rng.choice(["red", "green", "blue"], n_rows)
    labels = (frame["a"] + frame["b"] + rng.normal(0, 0.7, n_rows) > 1.5).astype(int).to_numpy()
    return frame, labels


@cache
def fitted(kind: str, name: str, seed: int = 0) -> tuple[Any, pd.DataFrame, np.ndarray[Any, Any]]:
    """Return a model, behind an encoder where there is text, and its table; made once, so never to be changed."""
    frame, labels = table(name, seed)
    model = KINDS[kind]()
    if name == "text":
        encoder = make_column_transformer(
            (OneHotEncoder(), ["word"]), (StandardScaler(), ["c"]), remainder="passthrough"
        )
        model = make_pipeline(encoder, model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few trees for an out-of-bag score of each row
        return model.fit(frame, labels), frame, labels


def stored(value: Any) -> Iterator[tuple[str | None, Any]]:
    """Return everything that a pickle of an object stores, each with the name of its attribute or key."""
    waiting: list[tuple[str | None, Any]] = [(None, value)]
    seen: dict[int, Any] = {}
    while waiting:
        name, one = waiting.pop()
        yield name, one
        if id(one) in seen or isinstance(one, str | bytes | int | float | type | None):
            continue
        seen[id(one)] = one
        if isinstance(one, np.ndarray):
            waiting += [(None, item) for item in one.ravel().tolist()] if one.dtype == object else []
        elif isinstance(one, dict):
            waiting += [(key if isinstance(key, str) else None, item) for key, item in one.items()]
        elif isinstance(one, list | tuple | set | frozenset):
            waiting += [(None, item) for item in one]
        elif not callable(one) or hasattr(one, "get_params"):
            reduced = one.__reduce_ex__(2)
            if isinstance(reduced, tuple):
                waiting += [(None, part) for part in reduced[1:3]]
                waiting += [(None, list(part)) for part in reduced[3:5] if part is not None]
