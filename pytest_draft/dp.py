"""Differentially private forests to release, as scikit-learn estimators with a privacy budget.

Splits are random and never see the rows. Every tree counts all rows; what is released of each leaf is its count of
each class behind noise, cut to a whole number (DRAFT-DP, SaTML 2026, section II-B and appendix C-B, after Fletcher and
Islam). The random structure, the noise and the accounting are diffprivlib's, which fitting needs; a fitted forest is
plain arrays: it is loaded and predicts without diffprivlib.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state, check_scalar, validation
from sklearn.utils.multiclass import check_classification_targets

from pytest_draft.arrays import AnyArray, FloatArray, IntArray
from pytest_draft.artifact.sklearn.declared_privacy import proves_delta
from pytest_draft.facts.privacy import Rounding

Draw = Callable[[Any, tuple[int, ...]], FloatArray]
"""Takes a mechanism of diffprivlib and a shape; returns its noise."""

_NO_LABELS = "no_validation"
_MOST_SCALE = 2.0**40
"""Bounds a tree's epsilon and its inverse, so that noisy counts stay whole numbers that float64 holds."""

_MOST_SEED = 2**31 - 1
"""Seeds of the trees are drawn below it."""


def _diffprivlib(module: str) -> Any:
    """Return a module of diffprivlib."""
    try:
        return import_module(f"diffprivlib.{module}")
    except ImportError as error:
        raise ImportError(
            f"fitting a private forest needs diffprivlib ({error}): pip install 'pytest-draft[dp]'"
        ) from None


def secure_noise(mechanism: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return a mechanism's noise, drawn by diffprivlib from the operating system's randomness."""
    return np.array([mechanism.randomise(0.0) for _ in range(int(np.prod(shape)))]).reshape(shape)


class _NoisyForestClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What both forests share: all but the mechanism."""

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        epsilon: float = 1.0,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        classes: ArrayLike | None = None,
        max_depth: int = 5,
        accountant: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.epsilon = epsilon
        self.bounds = bounds
        self.classes = classes
        self.max_depth = max_depth
        self.accountant = accountant
        self.random_state = random_state

    @abstractmethod
    def _budget(self) -> tuple[float, float]:
        """Return epsilon and delta of the whole forest."""

    @abstractmethod
    def _mechanism(self) -> tuple[Any, float]:
        """Return diffprivlib's mechanism for one count, and the scale of its noise in rows."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> _NoisyForestClassifier:
        """Grow the forest, count the rows and release the noisy counts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; compared in single precision, as scikit-learn's trees do.
        y : array-like of shape (n_samples,)
            A label of `classes` for each row.

        Returns
        -------
        self

        Raises
        ------
        ImportError
            Without diffprivlib.
        diffprivlib.utils.BudgetError
            Where the accountant's budget does not allow it; nothing was counted then.
        ValueError
            Where a parameter or the data is not as described.
        """
        return self._fit(X, y, secure_noise, "sum")

    def _fit(self, X: ArrayLike, y: ArrayLike, draw: Draw, rounding: Rounding) -> _NoisyForestClassifier:
        """Fit with another source of noise, or the paper's rounding: for studies, never to release."""
        accountant = _diffprivlib("accountant").BudgetAccountant.load_default(self.accountant)
        self._check_parameters()
        epsilon, delta = self._budget()
        mechanism, scale = self._mechanism()
        accountant.check(epsilon, delta)
        rows, labels = _validate(self, X, y)
        bounds = self._checked_bounds(rows)
        self.classes_, of_class = self._classes(labels)
        self._grow(bounds)
        counts = np.zeros((*self.threshold_.shape, len(self.classes_)), np.int64)
        np.add.at(counts, (np.arange(self.n_estimators), self._leaves(rows), of_class[:, None]), 1)
        accountant.spend(epsilon, delta)
        leaves = np.flatnonzero(self.children_left_ < 0)
        self.counts_ = np.zeros_like(counts)
        self.counts_[:, leaves] = _cut(counts[:, leaves], draw(mechanism, counts[:, leaves].shape), rounding)
        self.epsilon_, self.delta_, self.scale_, self.rounding_ = epsilon, delta, scale, rounding
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return each class's share of the votes.

        A tree votes with its leaf's counts, negative ones taken as 0; with all classes alike where none is left.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        validation.check_is_fitted(self, "counts_")
        leaf = self._leaves(_validate(self, X))
        share: FloatArray = np.zeros((len(leaf), len(self.classes_)))
        for tree, votes in enumerate(np.maximum(self.counts_, 0)):
            total = votes.sum(axis=1, keepdims=True)
            share += np.where(total > 0, votes / np.maximum(total, 1), 1 / len(self.classes_))[leaf[:, tree]]
        share /= len(self.counts_)
        return share

    def predict(self, X: ArrayLike) -> AnyArray:
        """Return the class with the largest share of the votes, shape (n_samples,)."""
        share = self.predict_proba(X)
        predicted: AnyArray = self.classes_[share.argmax(axis=1)]
        return predicted

    def _check_parameters(self) -> None:
        for name in ("n_estimators", "max_depth"):
            check_scalar(getattr(self, name), name, Integral, min_val=1)
        check_scalar(self.epsilon, "epsilon", Real, min_val=0, include_boundaries="neither")
        if not 1 / _MOST_SCALE <= self.epsilon / self.n_estimators <= _MOST_SCALE:
            raise ValueError(f"epsilon == {self.epsilon} for {self.n_estimators} trees is out of range")

    def _checked_bounds(self, rows: NDArray[np.float32]) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and largest threshold of each column."""
        bounds = self.bounds
        if bounds is None:
            _warn_of_leak("bounds", "the range of each column")
            bounds = (rows.min(axis=0), rows.max(axis=0))
        checked: tuple[FloatArray, FloatArray] = _diffprivlib("validation").check_bounds(bounds, shape=rows.shape[1])
        return checked

    def _classes(self, labels: AnyArray) -> tuple[AnyArray, IntArray]:
        """Return the classes, sorted, and each row's position among them."""
        if self.classes is None:
            _warn_of_leak("classes", "the labels")
        classes = np.unique(labels if self.classes is None else np.asarray(self.classes))
        at = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        if (classes[at] != labels).any():
            raise ValueError("y holds labels that are not in classes")
        return classes, at.astype(np.int64)

    def _grow(self, bounds: tuple[FloatArray, FloatArray]) -> None:
        """Set the random structure: that of diffprivlib's own forest with the same ``random_state``."""
        models = _diffprivlib("models.forest")
        random = check_random_state(self.random_state)
        features, thresholds = [], []
        for _ in range(self.n_estimators):
            seeded = np.random.RandomState(random.randint(_MOST_SEED))
            grown = models._FittingTree(self.max_depth, self.n_features_in_, (), self.epsilon, bounds, seeded).build()
            features.append([node.feature for node in grown.nodes])
            thresholds.append([node.threshold for node in grown.nodes])
        # Complete trees, numbered alike: their children are the same.
        self.children_left_ = np.array([node.left_child for node in grown.nodes], np.int64)
        self.children_right_ = np.array([node.right_child for node in grown.nodes], np.int64)
        self.feature_, self.threshold_ = np.array(features, np.int64), np.array(thresholds, np.float64)

    def _leaves(self, rows: NDArray[np.float32]) -> IntArray:
        """Return the node of each row's leaf in each tree, shape (n_rows, n_trees)."""
        trees = np.arange(self.feature_.shape[0])
        node = np.zeros((len(rows), len(trees)), np.int64)
        while (self.children_left_[node] >= 0).any():
            goes_left = rows[np.arange(len(rows))[:, None], self.feature_[trees, node]] <= self.threshold_[trees, node]
            node = np.where(goes_left, self.children_left_[node], self.children_right_[node])
        return node

    def __getstate__(self) -> dict[str, Any]:
        """Return what a file holds: the accountant, which knows of other releases, stays out."""
        state: dict[str, Any] = super().__getstate__()
        return {**state, "accountant": None}

    def __sklearn_clone__(self) -> _NoisyForestClassifier:
        """Clone all parameters but the accountant, of which a copy would not know what the others spend."""
        parameters = {name: clone(value, safe=False) for name, value in self.get_params(deep=False).items()}
        return type(self)(**{**parameters, "accountant": self.accountant})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.classifier_tags.poor_score = True
        return tags


class LaplaceForestClassifier(_NoisyForestClassifier):
    """A random forest that satisfies epsilon-differential privacy by Laplace noise on its leaves' class counts.

    Each tree spends ``epsilon / n_estimators``; its leaves and classes count disjoint rows. The released count is
    ``int(n + Y)`` with ``Y`` of scale ``n_estimators / epsilon``: a post-processing of the noisy count, which the
    paper's ``n + int(Y)`` is not. The noise always comes from the operating system's randomness.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of trees.
    epsilon : float, default=1.0
        Of the whole forest, for adding or removing one row.
    bounds : tuple of (min, max), default=None
        Range of the thresholds, numbers for all columns or one for each. Without them they are read from the data,
        with a ``PrivacyLeakWarning``.
    classes : array-like of shape (n_classes,), default=None
        All labels that there can be. Without them they are read from the data, with a ``PrivacyLeakWarning``.
    max_depth : int, default=5
        Depth of every leaf: a tree has ``2 ** max_depth`` of them.
    accountant : diffprivlib.BudgetAccountant, default=None
        Where the budget is spent; without it diffprivlib's default. Clones share it, copies and files do not hold it:
        what is fitted in another process is not accounted for here.
    random_state : int, RandomState instance or None, default=None
        Seeds the structure, which is public, and nothing else: the file holds it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the columns have names.
    children_left_, children_right_ : ndarray of int64, shape (n_nodes,)
        The children of each node of every tree; -1 at leaves.
    feature_ : ndarray of int64, shape (n_estimators, n_nodes)
        The column tested.
    threshold_ : ndarray of float64, shape (n_estimators, n_nodes)
        A row goes left where its value is at most this.
    counts_ : ndarray of int64, shape (n_estimators, n_nodes, n_classes)
        The noisy counts at leaves, which can be negative; 0 elsewhere. The true counts are not kept.
    epsilon_, delta_ : float
        The budget that was spent.
    scale_ : float
        Of the noise, in rows.
    rounding_ : str
        ``sum``: what was cut to a whole number is the noisy count.

    References
    ----------
    G. Jagannathan, K. Pillaipakkamnatt and R. N. Wright, "A practical differentially private random decision tree
    classifier", Transactions on Data Privacy 5, 2012; the random structure is diffprivlib's.
    """

    def _budget(self) -> tuple[float, float]:
        return float(self.epsilon), 0.0

    def _mechanism(self) -> tuple[Any, float]:
        each = self.epsilon / self.n_estimators
        return _diffprivlib("mechanisms").Laplace(epsilon=each, sensitivity=1), float(self.n_estimators / self.epsilon)


class GaussianForestClassifier(_NoisyForestClassifier):
    """A random forest that satisfies (epsilon, delta)-differential privacy by Gaussian noise on its class counts.

    The paper's appendix C-B with basic composition: each tree spends ``epsilon / n_estimators`` and
    ``delta / n_estimators``. Up to 1, that epsilon gives the classic noise ``sqrt(2 ln(1.25 / delta)) / epsilon``;
    above it, where that noise proves nothing, the noise of the analytic Gaussian mechanism.

    Parameters
    ----------
    n_estimators : int, default=10
    epsilon : float, default=1.0
        Of the whole forest, for adding or removing one row.
    delta : float, default=1e-6
        Of the whole forest; well below one over the number of rows.
    bounds, classes, max_depth, accountant, random_state
        As for `LaplaceForestClassifier`, and so are the attributes; `scale_` is the standard deviation.
    """

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        classes: ArrayLike | None = None,
        max_depth: int = 5,
        accountant: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_estimators,
            epsilon=epsilon,
            bounds=bounds,
            classes=classes,
            max_depth=max_depth,
            accountant=accountant,
            random_state=random_state,
        )
        self.delta = delta

    def _budget(self) -> tuple[float, float]:
        check_scalar(self.delta, "delta", Real, min_val=0, max_val=1, include_boundaries="neither")
        return float(self.epsilon), float(self.delta)

    def _mechanism(self) -> tuple[Any, float]:
        mechanisms = _diffprivlib("mechanisms")
        each, delta = self.epsilon / self.n_estimators, self.delta / self.n_estimators
        kind = mechanisms.Gaussian if each <= 1 else mechanisms.GaussianAnalytic
        mechanism = kind(epsilon=each, delta=delta, sensitivity=1)
        scale = float(np.sqrt(mechanism.variance(0.0)))
        # diffprivlib 0.6.6 loses its digits where epsilon is large: of epsilon 20 and delta 1e-9 it makes 9.4e-9.
        if not proves_delta(scale, each, delta):
            raise ValueError(
                f"diffprivlib finds no noise for epsilon == {each:g} and delta == {delta:g} of each tree: "
                "use more trees, less epsilon or more delta"
            )
        return mechanism, scale


def _cut(counts: IntArray, noise: FloatArray, rounding: Rounding) -> IntArray:
    """Return the released counts: cut towards 0 after the noise is added, or (not private) before."""
    released = np.trunc(counts + noise) if rounding == "sum" else counts + np.trunc(noise)
    return released.astype(np.int64)


def _validate(estimator: BaseEstimator, X: ArrayLike, y: ArrayLike | None = _NO_LABELS) -> Any:
    """Return checked rows, or rows and labels when fitting, and let the estimator know its columns."""
    fitting = y is not _NO_LABELS
    options = {"dtype": np.float32, "reset": fitting}
    if hasattr(validation, "validate_data"):
        checked = validation.validate_data(estimator, X, y, **options)
    else:  # scikit-learn before 1.6
        checked = estimator._validate_data(X, y, **options)
    if fitting:
        check_classification_targets(checked[1])
    return checked


def _warn_of_leak(parameter: str, what: str) -> None:
    warnings.warn(
        f"{parameter} are not given, so {what} are read from the data and released without any privacy",
        _diffprivlib("utils").PrivacyLeakWarning,
        stacklevel=4,
    )
