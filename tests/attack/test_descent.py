"""Vectors on their way down a tree: what is shown of the way."""

from itertools import pairwise

import numpy as np
import pytest

from pytest_draft.artifact.forest import Tree
from pytest_draft.attack.descent import descend, sent_down
from pytest_draft.domain import declared

DOMAIN = declared(
    ["x", "y", "z", "children"],
    {"job": {"kind": "one-hot", "columns": ["x", "y", "z"]}, "children": {"kind": "ordinal", "low": 1, "high": 4}},
    "test",
)
NESTED = (3, 2.5, (0, 0.5, [1, 0], [0, 1]), (3, 3.5, [2, 0], (1, 0.5, [0, 2], [3, 0])))


def test_each_vector_is_shown_at_each_node_on_its_way_and_nowhere_else(by_hand):
    tree = by_hand(4, NESTED).trees[0]
    vectors = DOMAIN.vectors()
    seen = [[] for _ in vectors]

    def watch(level):
        for vector, node, value, left in zip(*level, strict=True):
            assert value == vectors[vector, tree.feature[node]]
            assert left == (value <= tree.threshold[node])
            seen[vector].append((node, (tree.left if left else tree.right)[node]))

    leaves = descend(tree, np.ascontiguousarray(vectors.T), watch)
    for way, leaf in zip(seen, leaves, strict=True):
        assert way[0][0] == 0
        assert all(child == node for (_, child), (node, _) in pairwise(way))
        assert way[-1][1] == leaf


def test_a_tree_without_a_split_shows_nothing(by_hand):
    shown = []
    assert (descend(by_hand(4, [3, 1]).trees[0], np.zeros((4, 5), np.float32), shown.append) == 0).all()
    assert not shown


def grown(rng, n_columns, depth):
    """Return a tree whose thresholds and ways of missing values are drawn."""
    left, right, feature, threshold = [-1], [-1], [-1], [-2.0]
    ahead = [(0, depth)]
    while ahead:
        node, more = ahead.pop()
        if not more or rng.random() < 0.1:
            continue
        left[node], right[node] = len(left), len(left) + 1
        feature[node], threshold[node] = int(rng.integers(n_columns)), float(rng.integers(8)) + 0.5 * rng.integers(2)
        for table, value in ((left, -1), (right, -1), (feature, -1), (threshold, -2.0)):
            table.extend([value, value])
        ahead += [(left[node], more - 1), (right[node], more - 1)]
    n = len(left)
    whole = (np.array(one, dtype=np.int64) for one in (left, right, feature))
    return Tree(
        *whole, np.array(threshold), rng.random(n) < 0.5, np.zeros((n, 1)), np.zeros(n), np.zeros(n, np.int64), None
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_vectors_at_once_go_as_each_by_itself_and_meet_the_same_values(seed, dtype):
    rng = np.random.default_rng(seed)
    tree, columns = grown(rng, 4, 6), rng.integers(0, 9, (4, 300)).astype(dtype)
    columns[rng.random(columns.shape) < 0.15 * (seed % 2)] = np.nan
    sent = np.flatnonzero(rng.random(300) < 0.7)
    inner = tree.left >= 0
    beside = inner & (rng.random(tree.n_nodes) < 0.5)
    whole = inner & ~beside
    found = sent_down(tree, columns, sent, beside, whole)
    met = [[[], []] for _ in range(tree.n_nodes)]
    leaves = np.full(300, -1)
    for vector in sent:
        node = 0
        while inner[node]:
            value = columns[tree.feature[node], vector]
            left = tree.missing_left[node] if np.isnan(value) else value <= tree.threshold[node]
            for end in (0, 1):
                if not np.isnan(value) and (whole[node] or end == (0 if left else 1)):
                    met[node][end].append(value if end == 0 else -value)
            node = (tree.left if left else tree.right)[node]
        leaves[vector] = node
    assert (found.node == leaves).all()
    assert (descend(tree, columns)[sent] == leaves[sent]).all()
    for node in np.flatnonzero(inner):
        for end in (0, 1):
            top = max(met[node][end], default=-np.inf)
            assert (found.top[node, end], found.takers[node, end]) == (top, met[node][end].count(top))
    assert (found.takers[~inner] == 0).all()
