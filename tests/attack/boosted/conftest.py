"""Boosters made by hand: random trees on given rows, whose leaves take Newton steps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import BoostedSums, Statements
from pytest_draft.attack.descent import leaf_positions

L2 = 1.0


def shape(columns, depth, rng):
    """Return a random tree on columns, shape (n_columns, n_rows), without values: a whole one of a depth."""
    n_inner, n_nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    at = np.arange(n_nodes)
    left = np.where(at < n_inner, 2 * at + 1, -1)
    feature = np.where(at < n_inner, rng.integers(len(columns), size=n_nodes), -1)
    threshold = np.full(n_nodes, -2.0)
    for node in range(n_inner):
        values = np.unique(columns[feature[node]])
        threshold[node] = rng.choice((values[1:] + values[:-1]) / 2) if len(values) > 1 else values[0]
    nothing = np.zeros(n_nodes)
    return Tree(
        left=left,
        right=np.where(at < n_inner, 2 * at + 2, -1),
        feature=feature,
        threshold=threshold,
        missing_left=np.zeros(n_nodes, dtype=bool),
        value=nothing[:, None],
        weight=nothing,
        n_distinct=nothing.astype(np.int64),
        seed=None,
    )


def boosted_by_hand(rows, labels, loss="logistic", rounds=3, depth=2, seed=0, n_classes=None, rate=0.3):
    """Return a booster that states counts, values and sums of hessians of its leaves, exactly."""
    rng = np.random.default_rng(seed)
    columns = np.ascontiguousarray(np.asarray(rows, dtype=np.float64).T)
    labels = np.asarray(labels)
    n_classes = n_classes or (3 if loss == "softmax" else 2)
    n_scores = n_classes if loss == "softmax" else 1
    base = rng.normal(size=n_scores).round(1)
    score = np.tile(base[:, None], columns.shape[1])
    trees, said = [], []
    for _ in range(rounds):
        p = special.softmax(score, axis=0) if loss == "softmax" else special.expit(score)
        if loss == "squared":
            gradient, hessian = score - labels, np.ones_like(score)
        elif loss == "poisson":
            gradient, hessian = np.exp(score) - labels, np.exp(score)
        else:
            wanted = labels == (np.arange(n_scores)[:, None] if loss == "softmax" else 1)
            gradient, hessian = p - wanted, p * (1 - p)
        for k in range(n_scores):
            tree = shape(columns, depth, rng)
            leaf, n_leaves = leaf_positions(tree, columns), len(tree.leaves)
            g, h, n = (np.bincount(leaf, one, n_leaves) for one in (gradient[k], hessian[k], np.ones(len(leaf))))
            value = -g / (h + L2)
            each = np.tile([0.0, 1.0, 0.0, 0.0], (n_leaves, 1))
            each[:, 2] = value
            of_hessian = np.tile([0.0, 0.0, 1.0, 0.0], (n_leaves, 1))
            number = np.zeros(tree.n_nodes)
            number[tree.leaves] = n
            for node in np.flatnonzero(tree.left >= 0)[::-1]:
                number[node] = number[tree.left[node]] + number[tree.right[node]]
            added = np.zeros((tree.n_nodes, 1))
            added[tree.leaves, 0] = rate * value
            trees.append(
                Tree(
                    tree.left,
                    tree.right,
                    tree.feature,
                    tree.threshold,
                    tree.missing_left,
                    added,
                    number,
                    number.astype(np.int64),
                    None,
                )
            )
            said.append(
                Statements(
                    np.append(tree.leaves, tree.leaves),
                    np.concatenate([each, of_hessian]),
                    np.append(-value * L2, h),
                    np.full(2 * n_leaves, 1e-9),
                )
            )
            score[k] += rate * value[leaf]
    classifier = loss in ("logistic", "softmax")
    return Forest(
        kind="GradientBoostingClassifier" if classifier else "GradientBoostingRegressor",
        trees=tuple(trees),
        n_features=columns.shape[0],
        feature_names=None,
        classes=tuple(range(n_classes)) if classifier else None,
        observation=BoostedSums(loss=loss, base=base, statements=tuple(said)),
        draws=Draws(),
        n_samples=len(labels),
        sklearn_version=None,
    )


@pytest.fixture
def by_hand():
    """Return the function that makes boosters by hand."""
    return boosted_by_hand
