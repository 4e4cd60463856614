"""Rows to compare predictions on: from a table, or made up from the model alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from pytest_draft.arrays import Rows
from pytest_draft.data.files import parsed
from pytest_draft.errors import DataError, one_line
from pytest_draft.hardening.compare import METHODS, answers
from pytest_draft.hardening.walk import WalkedObject, is_estimator, is_tree, objects_in

N_DRAWN = 1000
_MISSING = 0.1


def outermost(root: object) -> list[WalkedObject]:
    """Return the estimators of a model that hold trees and stand in no other one."""
    found: list[WalkedObject] = []
    covered: set[int] = set()
    for one in objects_in(root):
        if id(one.value) not in covered and is_estimator(one.value):
            below = [inner.value for inner in objects_in(one.value)]
            if any(map(is_tree, below)):
                found.append(one)
                covered.update(map(id, below))
    return found


def features_of(model: Any, rows: Any, target: str | None = None) -> Any:
    """Return of a table what a model's ``predict`` takes.

    Parameters
    ----------
    rows : data frame or array-like
        All of a data frame's columns that are no features are left out where the model knows its features' names;
        the frame becomes an array where the model was fitted on one.
    target : str, optional
        A column that is left out.

    Raises
    ------
    DataError
        Where features are missing, or there are too many.
    """
    import pandas as pd

    if not isinstance(rows, pd.DataFrame):
        return rows
    if target is not None and target in rows.columns:
        rows = rows.drop(columns=target)
    names = getattr(model, "feature_names_in_", None)
    count = getattr(model, "n_features_in_", None)
    named = any(isinstance(name, str) for name in rows.columns)
    if names is not None and named:
        missing = [name for name in names if name not in rows.columns]
        if missing:
            raise DataError(
                f"the data lack {len(missing)} of the model's {len(names)} columns, such as "
                f"{one_line(missing[0], 60)!r}: give the table that the model was fitted on"
            )
        return rows[list(names)]
    if count is not None and rows.shape[1] != count:
        what = "" if target is not None else "; say which column holds the labels (--target)"
        raise DataError(f"the data have {rows.shape[1]} columns, but the model takes {count}{what}")
    return rows.to_numpy() if names is None else rows.set_axis(list(names), axis=1)


def answered(model: Any, rows: Any, place: str, methods: Sequence[str] = METHODS) -> dict[str, list[Any]]:
    """Return what a model says of the owner's rows; what it says of them where it fails is quoted nowhere."""

    def problem(error: Exception) -> str:
        return (
            f"cannot be asked about the given data ({type(error).__name__}): give the table that the model was fitted "
            "on, and its label column (--target)"
        )

    return parsed(lambda: answers(model, rows, methods), one_line(place, 80) or "the model", problem)


def on_drawn_rows(objects: Iterable[WalkedObject], selectors: Collection[int]) -> Iterator[tuple[WalkedObject, Rows]]:
    """Yield the outermost estimators of a model that take numbers, and rows for each around its trees' thresholds.

    Objects come from the outside in. Of selectors, by their ids, only ``transform`` must take the rows.
    """
    covered: set[int] = set()
    for found in objects:
        if id(found.value) in covered or not is_estimator(found.value):
            continue
        below = [one.value for one in objects_in(found.value)]
        if not any(map(is_tree, below)):
            continue
        for with_missing in (True, False):
            rows = _drawn(found.value, with_missing)
            methods = ("transform",) if id(found.value) in selectors else METHODS
            if rows is not None and _takes(found.value, rows, methods):
                covered.update(map(id, below))
                yield found, rows
                break


def _takes(model: Any, rows: Rows, methods: Sequence[str]) -> bool:
    try:
        return bool(answers(model, rows, methods))
    except Exception:
        # Text is wanted, or another number of columns, or no missing values: whatever it is, these rows won't do.
        return False


def _drawn(model: Any, with_missing: bool) -> Rows | None:
    """Draw values at, next to and around thresholds, shape (n_rows, n_features)."""
    n_features = getattr(model, "n_features_in_", None)
    if not isinstance(n_features, int | np.integer):
        return None
    trees = [found.value for found in objects_in(model) if is_tree(found.value)]
    generator = np.random.default_rng(0)
    rows = np.zeros((N_DRAWN, int(n_features)), dtype=np.float32)
    every = [tree for tree in trees if tree.n_features == n_features]
    for column in range(rows.shape[1]):
        parts = [tree.threshold[tree.feature == column] for tree in every] or [
            t.threshold[t.feature >= 0] for t in trees
        ]
        thresholds = np.concatenate([part[np.isfinite(part)] for part in parts]) if parts else np.zeros(0)
        if not len(thresholds):
            continue
        chosen = generator.choice(thresholds, N_DRAWN).astype(np.float32)
        spread = np.float32(np.ptp(thresholds) or 1)
        around = chosen + spread * generator.normal(0, 0.1, N_DRAWN).astype(np.float32)
        above, below = np.nextafter(chosen, np.float32(np.inf)), np.nextafter(chosen, np.float32(-np.inf))
        rows[:, column] = np.choose(generator.integers(0, 4, N_DRAWN), [chosen, above, below, around])
    if with_missing:
        rows[generator.random(rows.shape) < _MISSING] = np.nan
    return rows
