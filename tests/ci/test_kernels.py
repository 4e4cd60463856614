"""Kernels: the list of those that judgements call is whole, and there are no more than there were."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from numba.core.dispatcher import Dispatcher
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

import compile_ahead
from pytest_draft import compiling
from pytest_draft.dp import LaplaceForestClassifier
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.hardening import model as hardening

ROOT = Path(__file__).parents[2]
SOURCE = {path: path.read_text(encoding="utf-8") for path in (ROOT / "pytest_draft").rglob("*.py")}

MOST_KERNELS = 135
"""Fewer is better; as many as there are now."""

N_ROWS = 60


def models() -> Iterator[tuple[Any, Any, str]]:
    """Yield models, what they were trained on, and what the attacker knows."""
    rng = np.random.default_rng(0)
    shares = np.linspace(0.2, 0.6, 8)
    discrete = pd.DataFrame((rng.random((N_ROWS, 8)) < shares).astype(int), columns=[f"d{c}" for c in range(8)])
    numeric = pd.DataFrame(rng.normal(size=(N_ROWS, 5)), columns=[f"n{c}" for c in range(5)])
    ordinal = pd.DataFrame(rng.integers(0, 12, (N_ROWS, 3)), columns=["o0", "o1", "o2"])
    mixed = pd.concat([discrete.iloc[:, :3], ordinal, numeric.iloc[:, :2]], axis=1)
    wide = pd.DataFrame((rng.random((N_ROWS, 40)) < 0.4).astype(int), columns=[f"w{c}" for c in range(40)])

    def labels(table: Any) -> Any:
        return (table.sum(axis=1) + rng.normal(size=N_ROWS) > table.sum(axis=1).median()).astype(int)

    def fitted(estimator: Any, table: Any, adversary: str = "artifact", label: Any = None) -> tuple[Any, Any, str]:
        label = labels(table) if label is None else label
        return estimator.fit(table, label), table.assign(label=label), adversary

    def hardened(estimator: Any, table: Any, level: str = "labels") -> tuple[Any, Any, str]:
        model, labelled, adversary = fitted(estimator, table)
        return hardening.hardened(model, level, table)[0], labelled, adversary

    def private(table: Any) -> tuple[Any, Any, str]:
        """Return what fitting a private forest would leave, its noise seeded: diffprivlib is not needed."""
        n_trees, n_nodes, n_inner, label = 4, 15, 7, labels(table)
        model = LaplaceForestClassifier(n_trees, epsilon=200.0, bounds=(0, 1), classes=[0, 1], max_depth=3)
        node = np.arange(n_nodes)
        inner = node < n_inner  # a complete tree: the children of node v are 2v + 1 and 2v + 2
        model.n_features_in_, model.classes_ = table.shape[1], np.array([0, 1])
        model.children_left_ = np.where(inner, 2 * node + 1, -1)
        model.children_right_ = np.where(inner, 2 * node + 2, -1)
        model.feature_ = np.where(inner, rng.integers(table.shape[1], size=(n_trees, n_nodes)), -2)
        model.threshold_ = np.tile(np.where(inner, 0.5, -2.0), (n_trees, 1))
        counts = np.zeros((n_trees, n_nodes, 2))
        leaves = model._leaves(table.to_numpy(np.float32))
        np.add.at(counts, (np.arange(n_trees), leaves, label.to_numpy()[:, None]), 1)
        model.counts_ = np.where(inner[:, None], 0, counts).astype(np.int64)
        model.epsilon_, model.delta_, model.scale_, model.rounding_ = 200.0, 0.0, n_trees / 200.0, "sum"
        return model, table.assign(label=label), "artifact"

    for table in (discrete, numeric, mixed, wide):
        yield fitted(RandomForestClassifier(8, random_state=0), table)
        yield fitted(RandomForestClassifier(8, max_depth=3, bootstrap=False, random_state=0), table)
        yield fitted(ExtraTreesClassifier(8, random_state=0), table)
        yield fitted(RandomForestRegressor(8, random_state=0), table)
        yield fitted(RandomForestRegressor(8, random_state=0), table, label=rng.normal(size=N_ROWS))
        yield fitted(RandomForestClassifier(8, random_state=0), table, label=rng.integers(0, 3, N_ROWS))
        yield fitted(ExtraTreesClassifier(8, random_state=0), table, "artifact+informed")
        yield fitted(RandomForestClassifier(8, max_depth=3, random_state=0), table, "artifact+informed")
        yield fitted(RandomForestClassifier(8, max_depth=3, random_state=0), table, "published")
        yield hardened(RandomForestClassifier(8, random_state=0), table)
        yield fitted(GradientBoostingClassifier(n_estimators=8, random_state=0), table)
    gaps = mixed.astype(float).mask(rng.random(mixed.shape) < 0.1)
    yield fitted(RandomForestClassifier(8, random_state=0), gaps, label=labels(mixed))
    yield hardened(RandomForestClassifier(8, random_state=0), discrete, "seeds")
    yield private(discrete)


def called_when_judged(folder: Path) -> set[str]:
    """Judge one model of each kind; return what the list should have."""
    compile_for, found = Dispatcher._compile_for_args, set()

    def noted(kernel: Any, *arguments: Any, **named: Any) -> Any:
        held = set(kernel.overloads)
        result = compile_for(kernel, *arguments, **named)
        if kernel in compiling.KERNELS:
            found.update(compile_ahead.line_of(kernel, types) for types in set(kernel.overloads) - held)
        return result

    for kernel in compiling.KERNELS:  # so that each is asked for anew, whatever ran before
        kernel._reset_overloads()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Dispatcher, "_compile_for_args", noted)
        for number, (model, table, adversary) in enumerate(models()):
            path, data = folder / f"{number}.joblib", folder / f"{number}.csv"
            joblib.dump(model, path)
            table.to_csv(data, index=False)
            examine(Case(str(path), str(data), "label", adversary=adversary, seconds=600.0, effort=1.0))
    return found


@pytest.mark.nightly
def test_judging_calls_no_kernel_that_is_not_compiled_ahead(tmp_path):
    called = called_when_judged(tmp_path)
    if os.environ.get("GOLDEN") == "write":
        # Again: a kernel that was compiled as part of another one was not asked for.
        lines = sorted(called | called_when_judged(tmp_path))
        compile_ahead.LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert called <= set(compile_ahead.LIST.read_text(encoding="utf-8").splitlines())


def test_each_line_of_the_list_stands_for_a_kernel():
    for line in compile_ahead.LIST.read_text(encoding="utf-8").splitlines():
        kernel, types = compile_ahead.parsed(line)
        assert kernel in compiling.KERNELS
        assert compile_ahead.line_of(kernel, types) == line


def test_all_compiled_functions_are_in_one_list():
    assert [path.name for path, text in SOURCE.items() if "njit" in text] == ["compiling.py"]


def test_there_are_no_more_kernels_than_there_were():
    found = sum(len(re.findall(r"^@(?:partial\()?(?:compiled|inlined)\b", text, re.M)) for text in SOURCE.values())
    assert found <= MOST_KERNELS
