"""Where classes and functions stand today that a file names by an older module, or by one that has the same class."""

from __future__ import annotations

_PRIVATE = {
    "decomposition": ("incremental_pca", "pca", "truncated_svd"),
    "ensemble": ("bagging", "base", "forest", "iforest", "voting", "weight_boosting"),
    "feature_selection": ("from_model", "rfe", "univariate_selection", "variance_threshold"),
    "linear_model": ("base", "logistic", "ridge", "sgd_fast", "stochastic_gradient"),
    "neighbors": ("ball_tree", "classification", "kd_tree", "regression", "unsupervised"),
    "preprocessing": ("data", "label"),
    "svm": ("classes",),
}
"""Modules of scikit-learn that got an underscore in version 0.22."""

_MOVED = {
    **{
        f"sklearn.{package}.{name}": f"sklearn.{package}._{name}"
        for package, names in _PRIVATE.items()
        for name in names
    },
    "__builtin__": "builtins",
    "copy_reg": "copyreg",
    "imblearn.pipeline": "sklearn.pipeline",
    "pycaret.internal.pipeline": "sklearn.pipeline",
    "sklearn.ensemble.gradient_boosting": "sklearn.ensemble._gb",
    "sklearn.ensemble.voting_classifier": "sklearn.ensemble._voting",
    "sklearn.externals.joblib.numpy_pickle": "joblib.numpy_pickle",
    "sklearn.impute": "sklearn.impute._base",
    "sklearn.tree.tree": "sklearn.tree._classes",
}
"""Pipelines of imbalanced-learn and PyCaret are scikit-learn's with another fit."""

_NUMPY_1 = "numpy.core."


def module_of(name: str) -> str:
    """Return the module by which readers know what a file names by this one."""
    if name.startswith(_NUMPY_1):
        return f"numpy._core.{name.removeprefix(_NUMPY_1)}"
    return _MOVED.get(name, name)
