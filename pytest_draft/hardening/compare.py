"""Compares the predictions of two models on some rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pytest_draft.arrays import AnyArray, BoolArray
from pytest_draft.hardening.result import Difference

METHODS = ("predict", "predict_proba", "decision_function", "score_samples", "transform")


@contextmanager
def in_one_order() -> Iterator[None]:
    """Let ensembles add up their trees one after the other: threads would round sums in any order."""
    import joblib

    with joblib.parallel_config(backend="sequential"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def answers(model: Any, rows: Any, methods: Sequence[str] = METHODS) -> dict[str, list[AnyArray]]:
    """Return what a model says of rows by those methods that it has; one array for each output."""
    found: dict[str, list[AnyArray]] = {}
    with in_one_order():
        for method in methods:
            if hasattr(model, method):
                said = getattr(model, method)(rows)
                found[method] = [_dense(one) for one in (said if isinstance(said, list) else [said])]
    return found


def _dense(said: Any) -> AnyArray:
    return np.asarray(said.toarray() if hasattr(said, "toarray") else said)


def differences(
    before: dict[str, list[AnyArray]], after: dict[str, list[AnyArray]], place: str = ""
) -> list[Difference]:
    """Compare what two models at a place in their files answer to the same rows (`answers`), method by method."""
    name = f"{place}." if place else ""
    return [_difference(f"{name}{method}", before[method], after.get(method, [])) for method in before]


def _difference(method: str, before: Sequence[AnyArray], after: Sequence[AnyArray]) -> Difference:
    n_rows = len(before[0])
    if len(before) != len(after) or any(one.shape != two.shape for one, two in zip(before, after, strict=False)):
        return Difference(method, n_rows, False, None, 1.0)
    changed = np.zeros(n_rows, dtype=np.bool_)
    largest: float | None = 0.0
    for one, two in zip(before, after, strict=True):
        changed |= _differ(one, two).reshape(n_rows, -1).any(axis=1)
        if one.dtype.kind == two.dtype.kind == "f" and largest is not None:
            apart = np.abs(one.astype(np.float64) - two.astype(np.float64))
            largest = max(largest, float(np.nanmax(apart, initial=0.0)))
        else:
            largest = None
    return Difference(method, n_rows, not changed.any(), largest, float(changed.mean()) if n_rows else 0.0)


def _differ(one: AnyArray, two: AnyArray) -> BoolArray:
    """Return where two arrays of one shape differ; numbers by their bits, so that NaN is NaN and nothing else is."""
    if one.dtype != two.dtype:
        return np.ones(one.shape, dtype=np.bool_)
    if one.dtype.kind == "f":
        as_bits = f"u{one.dtype.itemsize}"
        return np.asarray(np.ascontiguousarray(one).view(as_bits) != np.ascontiguousarray(two).view(as_bits))
    return np.asarray((one != two) & ~((one != one) & (two != two)), dtype=np.bool_)  # noqa: PLR0124 - missing values
