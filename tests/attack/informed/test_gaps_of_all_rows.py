"""What thresholds among the values of all rows tell to whoever knows all others, held against trying every value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import RowNumbers
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.informed.boxes import held_of
from pytest_draft.attack.informed.gaps import ends_of_gaps, gaps_of
from pytest_draft.domain import infer


def stump(values, threshold):
    """Return a forest of one tree that tests one column at a threshold, with its rows' numbers."""
    below = int((values <= threshold).sum())
    n_rows = np.array([len(values), below, len(values) - below])
    tree = Tree(
        left=np.array([1, -1, -1]), right=np.array([2, -1, -1]), feature=np.array([0, -1, -1]),
        threshold=np.array([threshold, 0.0, 0.0]), missing_left=np.zeros(3, bool), value=np.zeros((3, 1)),
        weight=n_rows.astype(float), n_distinct=n_rows, seed=None,
    )  # fmt: skip
    return Forest(
        kind="GradientBoostingRegressor", trees=(tree,), n_features=1, feature_names=None, classes=None,
        observation=RowNumbers(), draws=Draws(), n_samples=len(values), sklearn_version=None,
        gaps=((0, np.array([threshold])),),
    )  # fmt: skip


def held(values, threshold):
    rows = np.array(values, dtype=np.float32)[:, None]
    forest, domain = stump(rows[:, 0], threshold), infer(("x",), rows.astype(np.float64))
    everyone = KnownRows(rows, np.zeros(len(rows), np.int64), np.ones((1, len(rows)), np.int64))
    return held_of(forest, domain, everyone, np.arange(len(rows))), forest, domain, rows


VALUES = [0.0, 0.125, 0.5, 1.5, 1.75, 3.0, 3.25, 4.5, 5.5, 6.0, 6.25, 7.0, 9.5]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "threshold, told",
    [
        (2.375, [1.75, 3.0]),  # midway
        (float(np.nextafter(np.float32(3.0), np.float32(-1))), [3.0]),  # just below the value on the right
        (1.75, [1.75]),  # at the value on the left
        (2.0, [1.75, 3.0]),  # anywhere: both are taken to be told
    ],
)
def test_a_value_that_a_row_alone_has_at_a_gap_is_told(threshold, told):
    found, forest, domain, rows = held(VALUES, threshold)
    determined = rows[found.determined()[:, 0], 0].tolist()
    assert determined == told
    assert sorted(rows[ends_of_gaps(forest, domain, rows)[:, 0], 0].tolist()) == [1.75, 3.0]


def test_a_value_that_several_rows_have_is_not_told():
    found, *_ = held([*VALUES, 1.75, 3.0], 2.375)
    assert not found.determined().any()


def test_no_other_value_is_left_out():
    """Whoever knows all others tries every value: those that leave the threshold in the middle, and the counts."""
    threshold = 2.375
    found, _, _, rows = held(VALUES, threshold)
    values = rows[:, 0].astype(np.float64)
    for k, own in enumerate(values):
        others = np.delete(values, k)
        for value in np.arange(0.0, 9.5, 0.125):
            tried = np.append(others, value)
            low, high = tried[tried <= threshold].max(), tried[tried > threshold].min()
            explains = (low + high) / 2 == threshold and (value <= threshold) == (own <= threshold)
            inside = found.lower[k, 0] <= value <= found.upper[k, 0]
            assert inside == explains


def test_forests_without_gaps_are_left_as_they_are():
    _, forest, domain, rows = held(VALUES, 2.375)
    assert list(gaps_of(replace(forest, gaps=()), domain, rows)) == []
