"""Write the honest files of boosted trees that mutants are made of: in go the libraries, out come small files.

``python -m studies.fuzz.make_booster_seeds``, with XGBoost, LightGBM, CatBoost and skops. As with the other files,
whoever writes these anew loses the mutants that were found with the old ones.
"""

from __future__ import annotations

import json
import pickle
import warnings
from importlib import import_module
from typing import Any

import joblib
import numpy as np
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from studies.fuzz.targets import SEEDS

N_ROWS = 40


def rows() -> tuple[Any, dict[str, Any]]:
    """Return invented columns, and targets of four kinds: two classes, three, a number, and a count."""
    random = np.random.RandomState(21)
    columns = np.column_stack((random.randint(0, 2, (N_ROWS, 2)), random.normal(size=N_ROWS).round(1)))
    columns = columns.astype(np.float32)
    score = columns[:, 0] + columns[:, 2] + random.normal(size=N_ROWS)
    targets = {
        "two": (score > 0.5).astype(np.int64),
        "three": np.searchsorted([0.0, 1.0], score),
        "number": score.round(2),
        "count": random.poisson(np.exp(score / 3)).astype(np.float64),
    }
    return columns, targets


def main() -> None:
    """Write all files."""
    columns, targets = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _xgboost(columns, targets)
        _lightgbm(columns, targets)
        _catboost(columns, targets)
        _sklearn(columns, targets)


def _xgboost(columns: Any, targets: dict[str, Any]) -> None:
    xgboost = import_module("xgboost")
    small = {"n_estimators": 2, "max_depth": 2, "n_jobs": 1, "min_child_weight": 0}
    models = {
        "two": xgboost.XGBClassifier(**small),
        "three": xgboost.XGBClassifier(**small),
        "number": xgboost.XGBRegressor(**small),
        "count": xgboost.XGBRegressor(objective="count:poisson", **small),
    }
    for name, model in models.items():
        model.fit(columns, targets[name])
        for form in ("json", "ubj"):
            model.get_booster().save_model(SEEDS / f"xgboost-{name}.{form}")
    for protocol, name in ((2, "two"), (4, "number")):
        (SEEDS / f"xgboost-{name}.pkl").write_bytes(pickle.dumps(models[name], protocol=protocol))
    _skops(models["two"], "xgboost")


def _lightgbm(columns: Any, targets: dict[str, Any]) -> None:
    lightgbm = import_module("lightgbm")
    small = {"n_estimators": 3, "num_leaves": 4, "n_jobs": 1, "min_child_samples": 4, "verbose": -1}
    models = {
        "two": lightgbm.LGBMClassifier(**small),
        "three": lightgbm.LGBMClassifier(**small),
        "number": lightgbm.LGBMRegressor(**small),
        "count": lightgbm.LGBMRegressor(objective="poisson", **small),
    }
    for name, model in models.items():
        model.fit(columns, targets[name])
        model.booster_.save_model(SEEDS / f"lightgbm-{name}.txt")
    for protocol, name in ((5, "two"), (2, "number")):
        (SEEDS / f"lightgbm-{name}.pkl").write_bytes(pickle.dumps(models[name], protocol=protocol))
    _skops(models["two"], "lightgbm")


def _catboost(columns: Any, targets: dict[str, Any]) -> None:
    catboost = import_module("catboost")
    small = {"iterations": 3, "depth": 2, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    models = {
        "two": catboost.CatBoostClassifier(**small),
        "three": catboost.CatBoostClassifier(**small),
        "number": catboost.CatBoostRegressor(**small),
        "lossguide": catboost.CatBoostClassifier(grow_policy="Lossguide", max_leaves=4, **small),
    }
    for name, model in models.items():
        model.fit(columns, targets.get(name, targets["two"]))
        for form in ("json", "cbm"):
            if (name, form) != ("lossguide", "cbm"):  # which is not read
                model.save_model(str(SEEDS / f"catboost-{name}.{form}"), format=form)
    for protocol, name in ((4, "two"), (2, "number")):
        (SEEDS / f"catboost-{name}.pkl").write_bytes(pickle.dumps(models[name], protocol=protocol))


def _sklearn(columns: Any, targets: dict[str, Any]) -> None:
    few: dict[str, Any] = {"max_iter": 2, "max_leaf_nodes": 4, "min_samples_leaf": 2, "early_stopping": False}
    histograms = {
        "two": HistGradientBoostingClassifier(**few),
        "three": HistGradientBoostingClassifier(**few),
        "number": HistGradientBoostingRegressor(**few),
        "count": HistGradientBoostingRegressor(loss="poisson", **few),
    }
    small: dict[str, Any] = {"n_estimators": 2, "max_depth": 2, "random_state": 1}
    greedy = {
        "two": GradientBoostingClassifier(**small),
        "three": GradientBoostingClassifier(**small),
        "number": GradientBoostingRegressor(**small),
    }
    for kind, models in {"histograms": histograms, "gradients": greedy}.items():
        for name, model in models.items():
            joblib.dump(model.fit(columns, targets[name]), SEEDS / f"{kind}-{name}.joblib")
        _skops(models["two"], kind)


def _skops(model: Any, name: str) -> None:
    import_module("skops.io").dump(model, SEEDS / f"{name}-two.skops")


if __name__ == "__main__":
    main()
    print(json.dumps({path.name: path.stat().st_size for path in sorted(SEEDS.glob("*-*"))}, indent=1))
