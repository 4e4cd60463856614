"""Columns of two values become indicators, and thresholds and tests follow them."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from pytest_draft.artifact import read
from pytest_draft.data import Indicators
from pytest_draft.facts.rules import Literal

CODES = [(-1.0, 1.0), (1.0, 3.0), (0.0, 30.0), (-0.31, 3.2), (1e6, 1e6 + 1)]


def table(seed: int, codes, n_rows=60, n_columns=5):
    rng = np.random.default_rng(seed)
    zeros_and_ones = rng.integers(0, 2, size=(n_rows, n_columns)).astype(np.float32)
    low, high = np.float32(codes)
    return zeros_and_ones, np.where(zeros_and_ones == 1, high, low), rng.integers(0, 2, size=n_rows)


@pytest.mark.parametrize("codes", CODES, ids=str)
def test_rows_come_and_go_without_a_change(codes):
    zeros_and_ones, written, _ = table(0, codes)
    indicators = Indicators.of(written)
    assert np.array_equal(indicators.rows(written), zeros_and_ones)
    assert np.array_equal(indicators.written(zeros_and_ones), written)
    assert repr(indicators) == "Indicators(5 columns, values not shown)"


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("codes", CODES, ids=str)
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_a_forest_becomes_the_one_that_zeros_and_ones_train(tmp_path, codes, kind):
    zeros_and_ones, written, labels = table(1, codes)
    trees = []
    for rows in (zeros_and_ones, written):
        path = tmp_path / "model.joblib"
        joblib.dump(kind(n_estimators=10, random_state=0).fit(rows, labels), path)
        trees.append(Indicators.of(rows).model(read(path).forest).trees)
    for plain, recoded in zip(*trees, strict=True):
        assert np.array_equal(plain.feature, recoded.feature)
        assert np.array_equal(plain.threshold[plain.left >= 0], recoded.threshold[recoded.left >= 0])


def test_zeros_and_ones_and_columns_of_more_values_stay_as_they_are():
    rows = np.float32([[0, 5, 7, 2], [1, 6, 7, np.nan], [1, 9, 7, 4]])
    indicators = Indicators.of(rows)
    assert indicators.columns.tolist() == [3]
    assert np.array_equal(indicators.rows(rows)[:, :3], rows[:, :3])
    assert np.isnan(indicators.rows(rows)[1, 3])


def test_columns_that_are_spared_stay():
    _, written, _ = table(2, (-1, 1))
    assert Indicators.of(written, spared={0, 3}).columns.tolist() == [1, 2, 4]


def test_values_that_no_training_row_has_keep_their_place():
    indicators = Indicators.of(np.float32([[2], [4]]))
    assert indicators.rows(np.float32([[3], [6], [0]])).ravel().tolist() == [0.5, 2.0, -1.0]
    assert indicators.written(np.float32([[0.5], [2.0], [-1.0]])).ravel().tolist() == [3, 6, 0]


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("bounds", [(-np.inf, 0), (0, np.inf), (-np.inf, 5), (5, 6), (-2, -1), (-1, 1)], ids=str)
def test_a_test_holds_for_the_indicator_where_it_holds_for_what_is_written(bounds, negated):
    written = np.float32([[-1], [1]])
    literal = Literal(0, *bounds, negated)
    found = Indicators.of(written).literal(literal, 0)
    assert found.holds(np.float32([0, 1])).tolist() == literal.holds(written[:, 0]).tolist()


def test_a_test_of_another_column_stays():
    literal = Literal(0, 0.0, 1.0)
    assert Indicators.of(np.float32([[-1, 0], [1, 1]])).literal(literal, 1) is literal
