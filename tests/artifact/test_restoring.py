"""Counts of single small trees that follow, or do not, from what their inner nodes tell."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_draft.artifact.forest import Tree
from pytest_draft.artifact.restoring import Evidence, restore


def tree(*values):
    """Return a tree of a root and two leaves, or of a leaf alone, by the values at its nodes."""
    split, n = len(values) == 3, len(values)
    left, right = (np.array([1, -1, -1]), np.array([2, -1, -1])) if split else (np.array([-1]), np.array([-1]))
    nothing = np.zeros(n)
    value = np.array(values, dtype=np.float64).reshape(n, -1)
    feature = np.where(left >= 0, 0, -1)
    return Tree(left, right, feature, nothing, nothing > 0, value, nothing, nothing.astype(np.int64), None)


def restored(found, total, **more):
    (result,) = restore([Evidence(found, np.ones(found.n_nodes, np.bool_), **more)], total, same_rows=True)
    return result


@pytest.mark.parametrize("total", [None, 10])
def test_shares_of_no_small_numbers_tell_no_counts(total):
    share = np.pi / 10
    assert restored(tree([share, 1 - share]), total) is None
    assert restored(tree([share, 1 - share], [1, 0], [0, 1]), total) is None


def test_the_shares_of_a_root_and_its_leaves_tell_all_counts():
    found = restored(tree([0.3, 0.7], [1, 0], [0, 1]), 20)
    assert found.counts.tolist() == [[6, 14], [6, 0], [0, 14]]
    assert not found.cut.any()
    assert restored(tree([0.3, 0.7], [1, 0], [0, 1]), None).counts.tolist() == [[3, 7], [3, 0], [0, 7]]


def test_leaves_that_answer_the_same_do_not_tell_how_many_rows_each_has():
    found = restored(tree([2.5], [2.5], [2.5]), 5)
    assert found.cut.tolist() == [True, False, False]
    assert found.counts[0].tolist() == [5]
    assert restored(tree([2.5], [2.5], [2.5]), 2).counts.tolist() == [[2], [1], [1]]


def test_a_mean_that_is_none_of_its_leaves_tells_nothing():
    assert restored(tree([3.0], [2.5], [2.5]), 5) is None
    assert restored(tree([9.0], [2.0], [3.0]), 5) is None
    assert restored(tree([2.4], [2.0], [3.0]), 5).counts.tolist() == [[5], [3], [2]]
