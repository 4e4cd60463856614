"""Thresholds: the shortest decimal between two values sends every given row where it went."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.decimals import shortest_decimal
from pytest_draft.hardening.model import hardened

singles = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(singles, singles)
def test_the_shortest_decimal_lies_strictly_between_two_singles(one, other):
    low, high = sorted((one, other))
    if low == high:
        high = float(np.nextafter(np.float32(low), np.float32(np.inf)))
        if math.isinf(high):
            return
    found = shortest_decimal(low, high)
    assert low < found < high


@given(st.integers(-5000, 5000), st.integers(1, 5000), st.sampled_from([1, 10, 100]))
def test_no_decimal_between_two_has_fewer_digits(start, length, scale):
    low, high = start / scale, (start + length) / scale
    found = shortest_decimal(low, high)
    digits = min(power for power in range(-4, 12) if abs(found * 10.0**power - round(found * 10.0**power)) < 1e-6)
    coarser = 10.0 ** -(digits - 1)
    if found:
        first = math.floor(low / coarser + 1e-9) + 1
        assert first * coarser >= high - 1e-9 * coarser


@pytest.mark.parametrize(
    "low, high, expected",
    [(0, 1, 0.5), (1, 2, 1.5), (-1, 1, 0.0), (0, 30, 10.0), (0.1, 0.2, 0.15), (3, 11, 10.0), (-2.5, -2.25, -2.4)],
)
def test_examples(low, high, expected):
    assert shortest_decimal(low, high) == expected


def _table(seed, n_rows=120):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=n_rows), rng.integers(0, 9, n_rows), rng.exponential(1e-6, n_rows)])
    return rows, (rows[:, 0] + rows[:, 1] + rng.normal(size=n_rows) > 4).astype(int)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("make", [RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier])
def test_every_row_reaches_the_leaf_that_it_reached(make, seed):
    rows, labels = _table(seed)
    model = make(n_estimators=5, random_state=seed).fit(rows, labels)
    new, result = hardened(model, "counts", rows)
    for old, tree in zip(model.estimators_, new.estimators_, strict=True):
        assert np.array_equal(old.apply(rows), tree.apply(rows))
    assert next(change.count for change in result.changes if change.field == "threshold") > 0


def test_one_gap_has_one_threshold_whatever_node_splits_it():
    rows, labels = _table(0)
    new, _ = hardened(ExtraTreesClassifier(30, random_state=0).fit(rows, labels), "counts", rows)
    values = np.unique(rows.astype(np.float32)[:, 0])
    found = np.concatenate([t.tree_.threshold[t.tree_.feature == 0] for t in new.estimators_])
    gaps = np.searchsorted(values, found)
    assert len(np.unique(found)) == len(np.unique(gaps)) < len(found)


def test_a_threshold_with_no_row_on_one_side_stays_and_is_said():
    rows, labels = _table(1)
    model = DecisionTreeClassifier().fit(rows, labels)
    few = rows[rows[:, 0] > 0]
    new, result = hardened(model, "counts", few)
    line = next(line for line in result.stays if "no given row is on one side" in line)
    assert not line.startswith("0 ")
    outside = (model.tree_.feature == 0) & (model.tree_.threshold < few[:, 0].astype(np.float32).min())
    assert outside.any()
    assert np.array_equal(model.tree_.threshold[outside], new.tree_.threshold[outside])


def test_neighbouring_singles_are_told_apart():
    values = np.array([1.0, np.nextafter(np.float32(1), np.float32(2)), 2.0], dtype=np.float32)[:, None]
    model = DecisionTreeClassifier().fit(values, [0, 1, 0])
    new, result = hardened(model, "counts", values)
    assert result.identical and np.array_equal(model.apply(values), new.apply(values))


def test_sparse_rows_are_read_like_dense_ones():
    rows, labels = _table(2)
    rows[rows < 0.5] = 0
    model = RandomForestClassifier(4, random_state=0).fit(rows, labels)
    dense, _ = hardened(model, "counts", rows)
    sparsely, result = hardened(model, "counts", sparse.csr_matrix(rows))
    assert result.identical
    for one, other in zip(dense.estimators_, sparsely.estimators_, strict=True):
        assert np.array_equal(one.tree_.threshold, other.tree_.threshold)


def test_where_missing_values_go_stays_for_columns_that_have_some():
    rng = np.random.default_rng(4)
    rows, labels = _table(4, 300)
    rows[rng.random(300) < 0.3, 0] = np.nan
    model = RandomForestClassifier(10, random_state=0).fit(rows, labels)
    new, result = hardened(model, "counts", rows)
    for old, tree in zip(model.estimators_, new.estimators_, strict=True):
        first = old.tree_.feature == 0
        assert np.array_equal(old.tree_.missing_go_to_left[first], tree.tree_.missing_go_to_left[first])
        assert not tree.tree_.missing_go_to_left[~first].any()
        assert old.tree_.missing_go_to_left[~first].any()
    assert any("missing_go_to_left" in line for line in result.stays)
    assert any("where a column had no missing values" in line for line in result.stops)


def test_the_model_has_its_trees_again_when_it_cannot_be_asked():
    rows, labels = _table(0)
    model = RandomForestClassifier(3).fit(rows, labels)
    with pytest.raises(Exception, match="cannot be asked about the given data"):
        hardened(model, "counts", rows[:, :2])
    assert np.array_equal(model.predict(rows), model.predict(rows))
