"""Classifiers of boosted trees by each of the libraries, and the files that these write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

KINDS = ("gbc", "hgb", "xgb", "lgb", "cat")


def booster(kind: str, rounds: int = 40, depth: int = 3) -> Any:
    """Return an unfitted booster of one of the libraries; skip a test where that is not installed."""
    if kind == "gbc":
        return GradientBoostingClassifier(n_estimators=rounds, max_depth=depth, random_state=0)
    if kind == "hgb":
        sizes = {"max_iter": rounds, "max_depth": depth, "min_samples_leaf": 5, "max_bins": 20}
        return HistGradientBoostingClassifier(**sizes, early_stopping=False)
    if kind == "xgb":
        return pytest.importorskip("xgboost").XGBClassifier(n_estimators=rounds, max_depth=depth, n_jobs=1)
    if kind == "lgb":
        library = pytest.importorskip("lightgbm")
        sizes = {"n_estimators": rounds, "max_depth": depth, "min_child_samples": 5}
        return library.LGBMClassifier(**sizes, verbose=-1, n_jobs=1)
    library = pytest.importorskip("catboost")
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    return library.CatBoostClassifier(iterations=rounds, depth=depth, random_seed=0, **quiet)


def write(model: Any, stem: Path) -> str:
    """Write a fitted booster to the kind of file that its library writes, and return its name."""
    module = type(model).__module__.partition(".")[0]
    path = stem.with_suffix({"xgboost": ".json", "lightgbm": ".txt", "catboost": ".cbm"}.get(module, ".joblib"))
    if module == "sklearn":
        joblib.dump(model, path)
    else:
        (model.booster_ if module == "lightgbm" else model).save_model(str(path))
    return path.name
