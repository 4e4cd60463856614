"""Vectors on their way down a tree: what is shown of the way."""

from itertools import pairwise

import numpy as np

from pytest_draft.attack.descent import descend
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
