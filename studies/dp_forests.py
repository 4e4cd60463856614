"""Private forests to study: in go rows, labels and seeds, out comes the forest of the DP paper's experiments.

Its noise is seeded, so that a study can be run again. Whoever knows the seed subtracts the noise: such a forest is not
to be released.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact import Forest, Tree
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import ClassCounts, under
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.dp import LaplaceForestClassifier
from pytest_draft.facts.privacy import Privacy
from studies.optional import optional


def papers_forest(
    X: ArrayLike,
    y: ArrayLike,
    n_trees: int,
    max_depth: int,
    epsilon: float,
    seed: int,
    noise_seed: int = 0,
) -> Forest:
    """Return the forest that the authors' experiment trains and attacks, number by number.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Zeros and ones.
    y : array-like of shape (n_samples,)
        Classes 0 and 1.
    epsilon : float
        Of the whole forest.
    seed, noise_seed : int
        Of the structure and of the noise.

    Returns
    -------
    Forest
        Its counts are released as ``n + int(Y)``, which is not private.

    Raises
    ------
    MissingPackageError
        Without diffprivlib.

    References
    ----------
    ``DP_RF.py`` of https://github.com/vidalt/DRAFT-DP, methods ``fit`` and ``add_noise``.
    """
    model = LaplaceForestClassifier(
        n_trees,
        epsilon=epsilon,
        bounds=(0, 1),
        classes=[0, 1],
        max_depth=max_depth,
        accountant=_own_accountant(),
        random_state=np.random.RandomState(seed),
    )

    def backwards(_: Any, shape: tuple[int, ...]) -> FloatArray:
        noise = np.random.RandomState(noise_seed).laplace(scale=n_trees / epsilon, size=int(np.prod(shape)))
        return noise[::-1].reshape(shape)

    return _forest(model._fit(np.asarray(X), np.asarray(y), backwards, "noise"))


def accuracy(forest: Forest, X: ArrayLike, y: ArrayLike) -> float:
    """Return the share of rows whose label a private forest predicts, by soft voting as its estimator does.

    Parameters
    ----------
    forest : Forest
        Of classes 0 and 1.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    """
    columns = np.ascontiguousarray(np.asarray(X, dtype=np.float32).T)
    share = np.zeros((columns.shape[1], forest.n_classes))
    for t, tree in enumerate(forest.trees):
        votes = np.maximum(forest.released(t), 0)
        total = votes.sum(axis=1, keepdims=True)
        share += np.where(total > 0, votes / np.maximum(total, 1), 1 / forest.n_classes)[leaf_positions(tree, columns)]
    return float(np.mean(share.argmax(axis=1) == np.asarray(y)))


def without_noise(forest: Forest, X: ArrayLike, y: ArrayLike) -> Forest:
    """Return a private forest's trees with the true counts of its rows, and no privacy.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        What it was trained on.
    y : array-like of shape (n_samples,)
        Classes 0 and 1.

    Returns
    -------
    Forest
        As if each tree had been trained on all rows, without bagging.
    """
    columns, labels = np.ascontiguousarray(np.asarray(X, dtype=np.float32).T), np.asarray(y, dtype=np.int64)
    trees = []
    for tree in forest.trees:
        value = np.zeros((tree.n_nodes, forest.n_classes))
        np.add.at(value, (tree.leaves[leaf_positions(tree, columns)], labels), 1.0)
        for node in range(tree.n_nodes - 1, -1, -1):  # children stand behind their parent
            if tree.left[node] >= 0:
                value[node] = value[tree.left[node]] + value[tree.right[node]]
        weight = value.sum(axis=1)
        trees.append(replace(tree, value=value, weight=weight, n_distinct=weight.astype(np.int64)))
    return replace(forest, trees=tuple(trees), observation=ClassCounts("totals"), n_samples=len(labels))


def _own_accountant() -> Any:
    """Return an accountant that nobody else spends on."""
    return optional("diffprivlib", "this study needs diffprivlib", "dp").BudgetAccountant()


def _forest(model: LaplaceForestClassifier) -> Forest:
    """Return a fitted model as a forest, without a file."""
    n_nodes = len(model.children_left_)
    leaf = model.children_left_ < 0
    trees = tuple(
        Tree(
            left=model.children_left_,
            right=model.children_right_,
            feature=np.where(leaf, -1, feature),
            threshold=threshold,
            missing_left=np.zeros(n_nodes, np.bool_),
            value=counts.astype(np.float64),
            weight=np.zeros(n_nodes),
            n_distinct=np.zeros(n_nodes, np.int64),
            seed=None,
        )
        for feature, threshold, counts in zip(model.feature_, model.threshold_, model.counts_, strict=True)
    )
    return Forest(
        kind=type(model).__name__,
        trees=trees,
        n_features=model.n_features_in_,
        feature_names=None,
        classes=tuple(model.classes_.tolist()),
        draws=Draws(),
        n_samples=None,
        sklearn_version=None,
        observation=under(Privacy("laplace", model.epsilon_, scale=model.scale_, rounding=model.rounding_)),
    )
