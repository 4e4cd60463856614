"""What the estimators of common libraries keep: in go the installed libraries, out comes a table in JSON.

Every estimator is fitted on two tables, of which one has more rows, and what it keeps is listed by class and attribute:
its parameters, what has the same size for both tables (an aggregate), and what grows with the rows. The table stands in
``pytest_draft/artifact/world/known_classes.json``; run this again for a new version of a library, and it is added:

    python -m studies known-classes pytest_draft/artifact/world/known_classes.json
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils import all_estimators

SIZES = (60, 120)
"""Rows of the two tables."""

ROWS = {"component_indices_", "inlier_mask_", "labels_", "embedding_", "_y_train_mean_by_row"}
"""Attributes with an entry for rows, whether or not they grow with these tables."""

ROWS_OF = {
    "Nystroem": {"components_"},
    "AffinityPropagation": {"cluster_centers_"},
    "AdditiveChi2Sampler": set(),
    "IsotonicRegression": {"X_thresholds_", "y_thresholds_", "f_"},
    "HDBSCAN": {"medoids_"},
    "DBSCAN": {"components_"},
    "GaussianProcessClassifier": {"base_estimator_"},
    "KernelDensity": {"tree_"},
    "SMOTE": {"nn_k_"},
}
"""Attributes that hold rows of the training data though they need not grow, by class."""

AGGREGATES = {
    "n_iter_",
    "loss_curve_",
    "train_score_",
    "estimators_",
    "tree_",
    "nodes",
    "_predictors",
    "predictors",
    "random_state",
    "best_loss_",
    "validation_scores_",
    "scores_",
    "cv_results_",
    "alphas_",
    "coef_path_",
    "coefs_paths_",
    "dual_gap_",
    "mse_path_",
    "active_",
    "root_",
    "subcluster_centers_",
    "_subcluster_norms",
    "history_",
    "classes_",
    "categories_",
    "mapping",
    "vocabulary_",
    "idf_",
    "bin_edges_",
    "quantiles_",
    "references_",
    "n_quantiles_",
}
"""Attributes that may grow and are no rows: of trees, paths and iterations; and what is compared by value."""

AGGREGATES_OF = {
    "KMeans": {"cluster_centers_"},
    "FeatureAgglomeration": {"labels_"},
    "ARDRegression": {"sigma_"},
    "CategoricalNB": {"category_count_", "feature_log_prob_"},
    "TargetEncoder": {"encodings_"},
    "_BinMapper": {"bin_thresholds_"},
    "IsolationForest": {"_average_path_length_per_tree", "_decision_path_lengths"},
    "Tree": {"values"},
    "DictionaryLearning": {"error_"},
}
"""Attributes that grow with these tables and are no rows, by class."""

PACKAGES = ("sklearn", "imblearn", "category_encoders", "diffprivlib.models", "pytest_draft.dp")


def tables(n_rows: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return features of four columns, classes and numbers to predict."""
    random = np.random.default_rng(0)
    features = pd.DataFrame(np.abs(random.normal(size=(n_rows, 4))) + 0.1, columns=list("abcd"))
    classes = np.array(features["a"] + random.normal(size=n_rows) > 1, dtype=np.int64)
    classes[: n_rows // 3] = 1 - (np.arange(n_rows // 3) % 2)
    return features, classes, features["b"].to_numpy() + random.normal(size=n_rows)


def estimators() -> Iterator[type[Any]]:
    """Return all estimators of the installed libraries."""
    seen = set()
    for _, cls in all_estimators():
        seen.add(cls)
        yield cls
    for package in PACKAGES[1:]:
        try:
            module = importlib.import_module(package)
        except ImportError:
            continue
        names = [package, *(f"{package}.{name}" for name in getattr(module, "__all__", ()))]
        for name in names:
            try:
                inner = importlib.import_module(name)
            except ImportError:
                continue
            for cls in vars(inner).values():
                if inspect.isclass(cls) and issubclass(cls, BaseEstimator) and cls not in seen:
                    seen.add(cls)
                    yield cls


def made(cls: type[Any]) -> Any:
    """Return an unfitted estimator; those that need others are given some."""
    required = [
        name
        for name, parameter in inspect.signature(cls.__init__).parameters.items()
        if parameter.default is parameter.empty and name != "self" and parameter.kind not in (2, 4)
    ]
    given: dict[str, Any] = {}
    regressor = "Regress" in cls.__name__
    inner = Ridge() if regressor else LogisticRegression()
    for name in required:
        if name in ("estimator", "base_estimator"):
            given[name] = inner
        elif name in ("estimators", "transformer_list", "steps"):
            given[name] = [("a", inner), ("b", Ridge() if regressor else RandomForestClassifier(2))]
        elif name in ("param_grid", "param_distributions"):
            given[name] = {"C": [0.1, 1.0]}
        elif name == "transformers":
            given[name] = [("a", "passthrough", [0, 1])]
        elif name == "n_components":
            given[name] = 2
    return cls(**given)


def objects_in(value: Any, depth: int = 0) -> Iterator[Any]:
    """Return an object and all objects in it that have attributes."""
    if depth > 6 or isinstance(value, (type, str, bytes, int, float, np.ndarray, np.generic, pd.DataFrame, pd.Series)):
        if isinstance(value, np.ndarray) and value.dtype == object:
            for item in value.ravel()[:20]:
                yield from objects_in(item, depth + 1)
        return
    if isinstance(value, dict):
        for item in list(value.values())[:50]:
            yield from objects_in(item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value[:20]:
            yield from objects_in(item, depth + 1)
    elif _is_of_packages(type(value)):
        yield value
        for item in state_of(value).values():
            yield from objects_in(item, depth + 1)


def _is_of_packages(cls: type[Any]) -> bool:
    """Return whether a class is one of the listed libraries'."""
    return cls.__module__.split(".")[0] in {package.split(".")[0] for package in PACKAGES}


def state_of(value: Any) -> dict[str, Any]:
    """Return the attributes that pickling would keep."""
    try:
        state = value.__getstate__() if hasattr(value, "__getstate__") else vars(value)
    except Exception:
        return {}
    return state if isinstance(state, dict) else {}


def size_of(value: Any, depth: int = 0) -> int:
    """Return how many values something holds."""
    if isinstance(value, np.ndarray):
        return value.size if value.dtype != object else sum(size_of(item, depth + 1) for item in value.ravel()[:500])
    if isinstance(value, (pd.DataFrame, pd.Series)):
        return value.size
    if hasattr(value, "nnz") and hasattr(value, "data"):
        return int(value.nnz)
    if depth > 5:
        return 1
    if isinstance(value, dict):
        return sum(size_of(item, depth + 1) for item in value.values())
    if isinstance(value, (list, tuple, set)):
        return sum(size_of(item, depth + 1) for item in value)
    return 1


def documented(cls: type[Any]) -> set[str]:
    """Return the attributes that a class's docstring names."""
    text = inspect.getdoc(cls) or ""
    part = re.search(r"\nAttributes\n-+\n(.*?)(\n[A-Z][\w ]+\n-+\n|\Z)", text, re.S)
    listed = re.findall(r"^(\w+(?:, \w+)*) :", part.group(1), re.M) if part else ()
    return {name for names in listed for name in names.split(", ")}


def fitted_states(cls: type[Any]) -> list[dict[type[Any], dict[str, int]]]:
    """Return the sizes of what an estimator and all objects in it keep, for each table; nothing where fitting fails."""
    found = []
    for n_rows in SIZES:
        features, classes, numbers = tables(n_rows)
        attempts = (
            (features, classes),
            (features, numbers),
            (features, None),
            (features[["a"]], numbers),
            (classes, None),
        )
        for x, y in attempts:
            try:
                model = made(cls)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if hasattr(model, "fit_resample") and not hasattr(model, "predict"):
                        model.fit_resample(x, y)
                    else:
                        model.fit(x, y) if y is not None else model.fit(x)
            except Exception:
                continue
            sizes: dict[type[Any], dict[str, int]] = defaultdict(dict)
            for inner in objects_in(model):
                for name, value in state_of(inner).items():
                    sizes[type(inner)][name] = max(sizes[type(inner)].get(name, 0), size_of(value))
            found.append(sizes)
            break
    return found


def add(known: dict[str, dict[str, list[str]]]) -> None:
    """Add what the installed libraries keep to a table."""
    for cls in estimators():
        note(known, cls, set(), documented(cls), {})
        states = fitted_states(cls)
        for kind in {kind for sizes in states for kind in sizes}:
            every = [sizes[kind] for sizes in states if kind in sizes]
            names = {name for sizes in every for name in sizes}
            grown = {
                name: len({sizes.get(name, 0) for sizes in every}) > 1
                and max(s.get(name, 0) for s in every) >= SIZES[0] // 4
                for name in names
            }
            note(known, kind, names, documented(kind), grown)


def note(
    known: dict[str, dict[str, list[str]]], cls: type[Any], names: set[str], told: set[str], grown: dict[str, bool]
) -> None:
    """Add a class's attributes."""
    if not _is_of_packages(cls):
        return
    entry = known.setdefault(f"{cls.__module__}.{cls.__name__}", {"parameters": [], "aggregates": [], "rows": []})
    try:
        parameters = {
            name for name in inspect.signature(cls.__init__).parameters if name not in ("self", "args", "kwargs")
        }
    except (TypeError, ValueError):
        parameters = set()
    by_row = {name for name in names | told if name in ROWS or name in ROWS_OF.get(cls.__name__, set())}
    by_row |= {name for name, grows in grown.items() if grows and name not in AGGREGATES and name not in parameters}
    by_row -= AGGREGATES_OF.get(cls.__name__, set())
    rows = set(entry["rows"]) | by_row
    entry["rows"] = sorted(rows)
    entry["parameters"] = sorted(set(entry["parameters"]) | parameters)
    entry["aggregates"] = sorted((set(entry["aggregates"]) | names | told) - rows - set(entry["parameters"]))


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument("table", type=Path, help="the JSON file to which it is added")


def command(a: argparse.Namespace) -> None:
    """Add the installed libraries to a table."""
    known = json.loads(a.table.read_text()) if a.table.exists() else {}
    add(known)
    lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(known.items())]
    a.table.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":  # also by itself, where an older scikit-learn is installed and this package is not
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    command(parser.parse_args())
