"""Forests that release noisy counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_draft.artifact.forest.observations import under
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.facts.privacy import Privacy


def random_tree(rng, domain, depth):
    if depth == 0:
        return [0, 0]
    column = int(rng.integers(domain.n_columns))
    threshold = float(rng.choice([1.5, 2.5, 3.5])) if domain.columns[column] == "children" else 0.5
    return (column, threshold, random_tree(rng, domain, depth - 1), random_tree(rng, domain, depth - 1))


@pytest.fixture(scope="module")
def released(by_hand):
    """Return a function that makes a forest which releases noisy counts of some rows, by two classes."""

    def forest(domain, rows, labels, *, seed=0, scale=1.0, rounding="sum", mechanism="laplace", n_trees=3, depth=2):
        rng = np.random.default_rng(seed)
        bare = by_hand(domain.n_columns, *(random_tree(rng, domain, depth) for _ in range(n_trees)))
        trees = []
        for tree in bare.trees:
            counts = np.zeros((len(tree.leaves), 2))
            np.add.at(counts, (leaf_positions(tree, np.ascontiguousarray(rows.T)), labels), 1)
            noise = (rng.laplace if mechanism == "laplace" else rng.normal)(scale=scale, size=counts.shape)
            value = np.zeros((tree.n_nodes, 2))
            value[tree.leaves] = np.trunc(counts + noise) if rounding == "sum" else counts + np.trunc(noise)
            trees.append(replace(tree, value=value))
        privacy = Privacy(mechanism, n_trees / scale, 0.0 if mechanism == "laplace" else 1e-5, scale, rounding)
        return replace(bare, trees=tuple(trees), n_samples=None, observation=under(privacy))

    return forest
