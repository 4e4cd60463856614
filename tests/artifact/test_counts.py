"""Counts of a forest that are no numbers of rows are not covered, and cause no warning."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.artifact.sklearn.declared_privacy import with_counts
from pytest_draft.errors import CorruptArtifactError, NotCoveredError


@pytest.mark.parametrize(
    ("total", "words"),
    [(1e300, "too large"), (2.0**60, "too large"), (np.inf, "too large"), (np.nan, "too large"), (2.5, "not whole")],
)
def test_totals_that_are_no_numbers_of_rows_are_not_covered(total, words, by_hand):
    forest = by_hand(1, (0, [3, 0], [0, 3]))
    (tree,) = forest.trees
    value = np.array([[3, total], [3, 0], [0, total]])
    forest = replace(forest, trees=(replace(tree, value=value),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NotCoveredError, match=words):
            forest.counts(0)


def stored(value, dump, columns):
    """Write a tree without counts of rows whose values are totals of that size."""
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(columns, columns[:, 0])
    state = model.tree_.__getstate__()
    state["values"] = np.array([[[value, value]], [[value, 0.0]], [[0.0, value]]])
    for name in ("n_node_samples", "weighted_n_node_samples"):
        state["nodes"][name] = 1
    model.tree_.__setstate__(state)
    return dump(model)


@pytest.mark.parametrize("value", [30.0, 1e300, 2.0**60])
def test_totals_without_their_weights_are_refused(value, dump, columns):
    with pytest.raises(CorruptArtifactError, match="add up"):
        read(stored(value, dump, columns))


@pytest.mark.parametrize(("rows", "refused"), [(2.0**52, True), (30.0, False)])
def test_exact_counts_of_a_private_forest_are_not_rows_where_they_are_too_many(rows, refused, by_hand):
    (tree,) = by_hand(1, (0, [3, 0], [0, 3])).trees
    tree = replace(tree, value=np.array([[0, 0], [rows, rows], [rows, rows]]))
    if refused:
        with pytest.raises(CorruptArtifactError, match="more rows"):
            with_counts(tree)
    else:
        assert with_counts(tree).n_distinct.tolist() == [120, 60, 60]
