"""Feature selection: from a fitted selector's record, which columns it keeps.

Where scikit-learn stores scores rather than the choice, it is made again by scikit-learn's rule
(``sklearn.feature_selection``).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from pytest_draft.arrays import AnyArray, BoolArray, FloatArray
from pytest_draft.artifact.objects import Object, data_of, described, version_of
from pytest_draft.artifact.records import Array, Record
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError

FITTED_ON_SELECTED: dict[tuple[str, str], bool] = {
    ("sklearn.feature_selection._from_model", "SelectFromModel"): False,
    ("sklearn.feature_selection._rfe", "RFE"): True,
    ("sklearn.feature_selection._rfe", "RFECV"): True,
}
"""Feature selections that keep a fitted model, and whether it was fitted on the selected columns alone."""

_MAX_DEPTH = 4
"""Most forests inside each other of whose columns' importances a selection is made."""

_LARGEST = 2**53
"""Up to so large a whole number, NumPy counts in double precision."""

_L1_RATIO_SINCE = (1, 8)
"""From this version on a LogisticRegression's penalty follows from its ``l1_ratio``."""

_WHOLLY_L1 = 1e-5
"""How near to 1 a ratio is for ``numpy.isclose``, whose absolute tolerance adds next to nothing."""


def variance(selector: Object, count: int) -> BoolArray:
    """Return the columns that a VarianceThreshold keeps, shape (count,)."""
    return _scores(selector, "variances_", count) > selector.number("threshold")


def supported(selector: Object, count: int) -> BoolArray:
    """Return the columns that RFE, RFECV or SequentialFeatureSelector keep, shape (count,)."""
    kept = selector.numbers("support_", "b")
    if len(kept) != count:
        raise CorruptArtifactError(f"{selector.path}support_ does not have an entry for each column")
    return np.asarray(kept, dtype=np.bool_)


def k_best(selector: Object, count: int) -> BoolArray:
    """Return the columns that SelectKBest keeps, shape (count,)."""
    return _by_mode("k_best", selector, count, selector.get("k"))


def percentile(selector: Object, count: int) -> BoolArray:
    """Return the columns that SelectPercentile keeps, shape (count,)."""
    return _by_mode("percentile", selector, count, selector.get("percentile"))


def by_rate(mode: str) -> Callable[[Object, int], BoolArray]:
    """Return what reads SelectFpr, SelectFdr or SelectFwe."""
    return lambda selector, count: _by_mode(mode, selector, count, selector.get("alpha"))


def univariate(selector: Object, count: int) -> BoolArray:
    """Return the columns that GenericUnivariateSelect keeps, shape (count,)."""
    mode = selector.choice("mode", ("k_best", "percentile", "fpr", "fdr", "fwe"))
    return _by_mode(mode, selector, count, selector.get("param"))


def _by_mode(mode: str, selector: Object, count: int, parameter: object) -> BoolArray:
    """Select by scores or p-values, and a number of columns, a percentage or a rate."""
    if mode == "k_best" and parameter == "all":
        return np.ones(count, dtype=np.bool_)
    if type(parameter) not in (int, float) or not math.isfinite(parameter):  # type: ignore[arg-type]
        raise CorruptArtifactError(f"{selector.path}: what it selects by is not a number")
    level = float(parameter)  # type: ignore[arg-type]
    if not 0 <= level <= (100 if mode == "percentile" else math.inf):
        raise CorruptArtifactError(f"{selector.path}: what it selects by is out of range")
    if mode in ("k_best", "percentile"):
        scores = _scores(selector, "scores_", count)
        scores = np.where(np.isnan(scores), np.finfo(scores.dtype).min, scores)
        return _best(scores, int(level)) if mode == "k_best" else _percentile(scores, level)
    chances = _scores(selector, "pvalues_", count)
    if mode == "fpr":
        return chances < level
    if mode == "fwe":
        return chances < level / count
    ascending = np.sort(chances)
    selected = ascending[ascending <= level / count * np.arange(1, count + 1)]
    return chances <= selected.max() if selected.size else np.zeros(count, dtype=np.bool_)


def _best(scores: FloatArray, number: int) -> BoolArray:
    kept = np.zeros(len(scores), dtype=np.bool_)
    if number:
        kept[np.argsort(scores, kind="mergesort")[-number:]] = True
    return kept


def _percentile(scores: FloatArray, percentage: float) -> BoolArray:
    if percentage in (0, 100):
        return np.full(len(scores), percentage == 100)
    threshold = np.percentile(scores, 100 - percentage)
    kept: BoolArray = scores > threshold
    ties = np.flatnonzero(scores == threshold)
    if len(ties):
        kept[ties[: int(len(scores) * percentage / 100) - int(kept.sum())]] = True
    return kept


def by_model(selector: Object, count: int) -> BoolArray:
    """Return the columns that SelectFromModel keeps, shape (count,)."""
    selector.is_fitted("estimator_")
    model = selector.inner("estimator_")
    if selector.get("importance_getter") not in (None, "auto"):
        raise UnsupportedArtifactError("it holds a SelectFromModel with an importance_getter, which is not covered")
    scores = _importances(selector, model, count)
    kept = np.ones(count, dtype=np.bool_)
    if selector.get("max_features") is not None:
        most = selector.integer("max_features_" if "max_features_" in selector else "max_features")
        kept = np.zeros(count, dtype=np.bool_)
        kept[np.argsort(-scores, kind="mergesort")[:most]] = True
    kept[scores < _threshold(selector, model, scores)] = False
    return kept


def _importances(selector: Object, model: Object, count: int) -> FloatArray:
    """Return how important a model finds each column, shape (count,)."""
    if "coef_" not in model:
        scores: AnyArray = np.abs(_forest_importances(model, count, 0))
    else:
        weights = data_of(model.get("coef_"), f"{model.path}coef_")
        order = selector.get("norm_order")
        if weights.dtype.kind not in "fiu" or weights.ndim > 2 or weights.shape[-1:] != (count,):
            raise CorruptArtifactError(f"{model.path}coef_ does not have a number for each column")
        order = 1 if order is None else order
        if type(order) not in (int, float) or (type(order) is int and abs(order) > _LARGEST):
            raise CorruptArtifactError(f"{selector.path}norm_order is not a number")
        scores = np.abs(weights) if weights.ndim == 1 else np.asarray(np.linalg.norm(weights, axis=0, ord=order))
    if not np.isfinite(scores).all():
        raise UnsupportedArtifactError(f"{model.path}: its columns' importances are not finite, which is not covered")
    return np.asarray(scores, dtype=np.float64)


def _forest_importances(model: Object, count: int, depth: int) -> FloatArray:
    """Return the importances of a tree, or the mean of an ensemble's trees that have a split."""
    if "tree_" in model:
        return _tree_importances(model, count)
    trees = model.get("estimators_")
    known = model.kind.startswith(("RandomForest", "ExtraTrees")) and isinstance(trees, list) and depth < _MAX_DEPTH
    if not known:
        raise UnsupportedArtifactError(
            f"it holds a SelectFromModel by {described(model.record)}, whose columns' importances are not in the file: "
            "save the forest alone and give it the selected columns"
        )
    inner = [Object(tree, f"{model.path}estimators_[*].") for tree in trees if isinstance(tree, Record)]
    grown = [tree for tree in inner if _nodes(tree).shape[0] > 1]
    if not grown:
        return np.zeros(count)
    mean = np.mean([_forest_importances(tree, count, depth + 1) for tree in grown], axis=0, dtype=np.float64)
    return np.asarray(mean / np.sum(mean))


def _nodes(tree: Object) -> AnyArray:
    nodes = data_of(tree.inner("tree_").get("nodes"), f"the nodes of {tree.path}tree_")
    needed = {"left_child", "right_child", "feature", "impurity", "weighted_n_node_samples"}
    if nodes.ndim != 1 or not needed <= set(nodes.dtype.names or ()):
        raise CorruptArtifactError(f"{tree.path}tree_ does not have scikit-learn's nodes")
    return nodes


def _tree_importances(tree: Object, count: int) -> FloatArray:
    """Return how much the impurity falls by each column's splits, as a share of all."""
    nodes = _nodes(tree)
    left, right, feature = (nodes[name].astype(np.int64) for name in ("left_child", "right_child", "feature"))
    inner = np.flatnonzero(left >= 0)
    inside = (left[inner] < len(nodes)) & (right[inner] >= 0) & (right[inner] < len(nodes))
    if not len(nodes) or not (inside & (feature[inner] >= 0) & (feature[inner] < count)).all():
        raise CorruptArtifactError(f"{tree.path}tree_ has nodes out of range")
    weight = nodes["weighted_n_node_samples"].astype(np.float64)
    impurity = weight * nodes["impurity"].astype(np.float64)
    importances = np.zeros(count)
    np.add.at(importances, feature[inner], impurity[inner] - impurity[left[inner]] - impurity[right[inner]])
    importances /= weight[0]
    total = np.sum(importances)
    return importances / total if total > 0 else importances


def _threshold(selector: Object, model: Object, scores: FloatArray) -> float:
    """Return the least importance that is kept."""
    given = selector.get("threshold")
    if given is None:
        given = 1e-5 if _is_l1(selector, model) else "mean"
    if type(given) in (int, float):
        return float(given)
    scale, _, reference = given.rpartition("*") if type(given) is str else ("", "", "")
    means = {"mean": float(np.mean(scores)), "median": float(np.median(scores))}
    try:
        return (float(scale) if scale else 1.0) * means[reference.strip()]
    except (KeyError, ValueError):
        raise CorruptArtifactError(f"{selector.path}threshold is neither a number nor one of scikit-learn's") from None


def _is_l1(selector: Object, model: Object) -> bool:
    """Return whether a model's penalty sets most of its weights to 0."""
    if model.get("penalty") == "l1" or "Lasso" in model.kind:
        return True
    new = version_of(selector.get("_sklearn_version")) >= _L1_RATIO_SINCE
    kinds = ("ElasticNet", "ElasticNetCV", *(("LogisticRegression", "LogisticRegressionCV") if new else ()))
    if model.kind not in kinds:
        return False
    ratio = model.get("l1_ratio_" if model.kind.endswith("CV") else "l1_ratio")
    ratios = ratio.data.ravel().tolist() if isinstance(ratio, Array) and ratio.data is not None else [ratio]
    return all(type(one) in (int, float) and abs(one - 1.0) <= _WHOLLY_L1 for one in ratios)


def _scores(selector: Object, name: str, count: int) -> FloatArray:
    """Return a score for each column; NaN where there is none."""
    scores = selector.numbers(name, "f")
    if len(scores) != count:
        raise CorruptArtifactError(f"{selector.path}{name} does not have a number for each column")
    return scores


SELECTIONS: dict[tuple[str, str], Callable[[Object, int], BoolArray]] = {
    ("sklearn.feature_selection._variance_threshold", "VarianceThreshold"): variance,
    ("sklearn.feature_selection._rfe", "RFE"): supported,
    ("sklearn.feature_selection._rfe", "RFECV"): supported,
    ("sklearn.feature_selection._sequential", "SequentialFeatureSelector"): supported,
    ("sklearn.feature_selection._univariate_selection", "SelectKBest"): k_best,
    ("sklearn.feature_selection._univariate_selection", "SelectPercentile"): percentile,
    ("sklearn.feature_selection._univariate_selection", "SelectFpr"): by_rate("fpr"),
    ("sklearn.feature_selection._univariate_selection", "SelectFdr"): by_rate("fdr"),
    ("sklearn.feature_selection._univariate_selection", "SelectFwe"): by_rate("fwe"),
    ("sklearn.feature_selection._univariate_selection", "GenericUnivariateSelect"): univariate,
    ("sklearn.feature_selection._from_model", "SelectFromModel"): by_model,
}
"""How each feature selection is read, by its class."""
