"""What a wheel ships compiled: in goes an empty folder, out comes the code that judgements of all kinds call.

``python compile_ahead.py FOLDER`` judges small generated models of each kind by the source beside it, and keeps what
numba compiles meanwhile. What is left out here is compiled where it is first used, as it is without a wheel.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SECONDS = 20.0
EFFORT = 1.0
"""The time box of each judgement, and its units of work; what is compiled meanwhile does not count."""

N_ROWS = 60


def main(folder: Path) -> int:
    """Compile for what most machines can run, and keep it in a folder; 1 where this machine cannot compile that."""
    from pytest_draft.attack import shipped_code

    if (cpu := shipped_code.target()) is None:
        print("nothing is compiled ahead for this kind of machine", file=sys.stderr)
        return 1
    if os.environ.get("NUMBA_CPU_NAME") != cpu:  # which numba reads when it is imported
        with tempfile.TemporaryDirectory() as empty:
            named = {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": empty}
            os.environ.update(named | {"PYTHONHASHSEED": "0"})
            return os.spawnv(os.P_WAIT, sys.executable, [sys.executable, __file__, str(folder)])
    _keep(shipped_code.ShippedCode(folder))
    with tempfile.TemporaryDirectory() as models:
        _judge(Path(models))
    return 0


def _keep(shipped: Any) -> None:
    """Let what numba compiles from now on be kept, if it is of this package."""
    from numba.core.caching import Cache

    save = Cache.save_overload

    def save_here_too(cache: Any, signature: Any, compiled: Any) -> None:
        save(cache, signature, compiled)
        if Path(cache._impl.locator._py_file).is_relative_to(Path(__file__).parent / "pytest_draft"):
            shipped.save(cache, signature, compiled)

    Cache.save_overload = save_here_too


def _judge(folder: Path) -> None:
    """Judge one model of each kind."""
    import joblib

    from pytest_draft.examine.flow import examine
    from pytest_draft.facts.case import Case

    for number, (model, table, adversary) in enumerate(_models()):
        path, data = folder / f"{number}.joblib", folder / f"{number}.csv"
        joblib.dump(model, path)
        table.to_csv(data, index=False)
        examine(Case(str(path), str(data), "label", adversary=adversary, seconds=SECONDS, effort=EFFORT))


def _models() -> Iterator[tuple[Any, Any, str]]:
    """Yield models, what they were trained on, and what the attacker knows."""
    import numpy as np
    import pandas as pd
    from sklearn.ensemble import (
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        RandomForestClassifier,
        RandomForestRegressor,
    )

    from pytest_draft.dp import LaplaceForestClassifier
    from pytest_draft.hardening import model as hardening

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


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
