"""Rows that no tree tells apart: the same groups as by comparing them number by number."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_draft.attack.groups import group_by_occurrences


@pytest.mark.parametrize(
    ("n_trees", "n_rows", "most"), [(1, 7, 3), (3, 400, 2), (40, 300, 4), (2, 500, 300), (2, 9, 70_000)]
)
def test_groups_and_their_order_are_those_of_their_numbers(n_trees, n_rows, most):
    occurrences = np.random.default_rng(most).integers(0, most, (n_trees, n_rows))
    weight, of_row, size = np.unique(occurrences, axis=1, return_inverse=True, return_counts=True)

    groups = group_by_occurrences(occurrences)

    assert (groups.weight == weight).all()
    assert (groups.of_row == of_row.reshape(-1)).all()
    assert (groups.size == size).all()
    assert (groups.weight[:, groups.of_row] == occurrences).all()
    assert groups.weight.dtype == groups.of_row.dtype == groups.size.dtype == np.int64
    assert groups.weight.flags.c_contiguous
