"""All trees in one numbering of nodes: what it says of each tree, and what follows from the shape of trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_draft.artifact.forest.nodes import ForestNodes, depth_first, levels
from tests.shared.small_models import booleans, random_tree


def trees_of(seed, n_trees):
    rng = np.random.default_rng(seed)
    domain = booleans(5)
    rows = rng.integers(0, 2, (12, 5)).astype(np.float32)
    return [random_tree(domain, rows, rng) for _ in range(n_trees)]


TREES = st.builds(trees_of, st.integers(0, 10_000), st.integers(1, 4))


@pytest.mark.nightly
@given(TREES)
def test_each_tree_has_its_own_nodes_one_tree_after_the_other(trees):
    nodes = ForestNodes.of(trees)
    assert nodes.first[-1] == len(nodes.left) == sum(tree.n_nodes for tree in trees)
    for first, tree in zip(nodes.first, trees, strict=False):
        here = slice(first, first + tree.n_nodes)
        for name in ("feature", "threshold", "missing_left"):
            assert np.array_equal(getattr(nodes, name)[here], getattr(tree, name))
        for name in ("left", "right"):
            children = getattr(nodes, name)[here]
            assert np.array_equal(np.where(children < 0, -1, children - first), getattr(tree, name))


@given(TREES)
def test_leaves_are_numbered_tree_by_tree_as_each_tree_has_them(trees):
    nodes = ForestNodes.of(trees)
    for t, tree in enumerate(trees):
        numbers = nodes.leaf[nodes.first[t] : nodes.first[t + 1]]
        assert numbers[tree.leaves].tolist() == list(range(nodes.first_leaf[t], nodes.first_leaf[t + 1]))
        assert (numbers < 0).sum() == tree.n_nodes - len(tree.leaves)
    assert nodes.first_leaf[-1] == (nodes.leaf >= 0).sum()


@given(TREES)
def test_a_node_is_a_child_of_its_parent_and_one_level_below(trees):
    nodes = ForestNodes.of(trees)
    depth = np.full(len(nodes.left), -1)
    for number, level in enumerate(nodes.levels()):
        assert (depth[level] == -1).all()
        depth[level] = number
    for node, parent in enumerate(nodes.parent):
        if parent < 0:
            assert node in nodes.first
            assert depth[node] == 0
        else:
            assert node in (nodes.left[parent], nodes.right[parent])
            assert depth[node] == depth[parent] + 1


@given(TREES, st.integers(0, 100))
def test_each_node_has_the_sum_of_the_leaves_below_it(trees, seed):
    nodes = ForestNodes.of(trees)
    at_leaves = np.random.default_rng(seed).integers(0, 9, (nodes.first_leaf[-1], 2))
    summed = nodes.summed_up(at_leaves)
    for leaf, node in enumerate(np.flatnonzero(nodes.left < 0)):
        assert (summed[node] == at_leaves[leaf]).all()
    for node in np.flatnonzero(nodes.left >= 0):
        assert (summed[node] == summed[nodes.left[node]] + summed[nodes.right[node]]).all()
    assert np.array_equal(np.concatenate(nodes.by_tree(summed)), summed)


def test_of_yes_and_no_a_node_has_whether_one_leaf_below_it_says_yes():
    nodes = ForestNodes.of(trees_of(3, 2))
    some = np.zeros(nodes.first_leaf[-1], dtype=bool)
    some[0] = True
    above, node = {0}, int(np.flatnonzero(nodes.leaf == 0)[0])
    while node >= 0:
        above.add(node)
        node = int(nodes.parent[node])
    assert set(np.flatnonzero(nodes.summed_up(some)).tolist()) == above


@given(TREES)
def test_depth_first_each_node_is_followed_by_all_below_it(trees):
    nodes = ForestNodes.of(trees)
    order, size = depth_first(nodes.left, nodes.right, nodes.first[:-1])
    assert sorted(order) == list(range(len(order)))
    place = np.argsort(order)
    assert (place[nodes.first[:-1]] == nodes.first[:-1]).all()
    for node in np.flatnonzero(nodes.left >= 0):
        left, right = nodes.left[node], nodes.right[node]
        assert place[left] == place[node] + 1
        assert place[right] == place[left] + size[left]
        assert size[node] == 1 + size[left] + size[right]


def test_nodes_that_nothing_leads_to_are_left_out():
    left, right = np.array([1, -1, -1, 4, -1, -1]), np.array([2, -1, -1, 5, -1, -1])
    order, size = depth_first(left, right)
    assert order.tolist() == [0, 1, 2]
    assert size.tolist() == [3, 1, 1, 0, 0, 0]
    assert [level.tolist() for level in levels(left, right)] == [[0], [1, 2]]


def test_the_repr_has_no_value():
    assert repr(ForestNodes.of(trees_of(0, 2))).endswith("nodes of 2 trees)")
