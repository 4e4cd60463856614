"""Which rows are met to within a tolerance, against an independent matching and examples by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from by_hand import over
from profiles import examples
from pytest_draft.evaluate import close_rows as module
from pytest_draft.evaluate.close_rows import close_one_by_one, close_rows
from pytest_draft.timebox import TimeBox


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)[:, None]


@st.composite
def two_sets(draw):
    """Draw two sets of few different rows, some values missing, and a tolerance for each column."""
    n_columns = draw(st.integers(1, 3))
    value = st.sampled_from([*range(draw(st.integers(1, 12))), np.nan])
    row = st.lists(value, min_size=n_columns, max_size=n_columns)
    sets = [np.array(draw(st.lists(row, min_size=1, max_size=12)), dtype=np.float32) for _ in range(2)]
    return *sets, np.array(draw(st.lists(st.integers(0, 3), min_size=n_columns, max_size=n_columns)), dtype=float)


def by_definition(truth, guess, tolerance) -> np.ndarray:
    """Return which pairs are close."""
    one, other = truth[:, None].astype(float), guess[None].astype(float)
    return ((np.abs(one - other) <= tolerance) | (np.isnan(one) & np.isnan(other))).all(axis=2)


@pytest.mark.nightly
@given(sets=two_sets())
@settings(max_examples=examples(200), deadline=None)
def test_as_many_rows_are_met_as_another_maximum_matching_meets(sets):
    close = by_definition(*sets)
    most = int((maximum_bipartite_matching(sparse.csr_array(close), perm_type="column") >= 0).sum())
    found = close_rows(*sets, TimeBox(60))
    assert len(found.rows) == found.most == most
    assert close[found.rows].any(axis=1).all()


@given(sets=two_sets(), most=st.integers(1, 30))
@settings(max_examples=examples(100), deadline=None)
def test_bounds_enclose_the_maximum_when_too_many_pairs_are_close_or_the_time_is_out(sets, most):
    exact = close_rows(*sets, TimeBox(60)).most
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_PAIRS", most)
        for found in (close_rows(*sets, TimeBox(60)), close_rows(*sets, over())):
            assert len(found.rows) <= exact <= found.most


@given(sets=two_sets())
@settings(max_examples=examples(50), deadline=None)
def test_rows_that_belong_together_are_close_by_the_same_definition(sets):
    truth, guess, tolerance = sets
    n = min(len(truth), len(guess))
    met = close_one_by_one(truth[:n], guess[:n], tolerance)
    assert met.tolist() == np.flatnonzero(by_definition(truth[:n], guess[:n], tolerance).diagonal()).tolist()


def test_equal_rows_give_way_where_that_meets_more():
    # 0 is guessed, but its guess is all that is close to -1, and 0 has another
    assert close_rows(column(-1, 0), column(0, 1), np.array([1.0]), TimeBox(60)).rows.tolist() == [0, 1]


def test_a_chain_of_close_rows_is_matched_whole():
    n = 300
    truth, guess = column(*range(n)), column(*(i + 0.5 for i in range(n)))[::-1]
    assert len(close_rows(truth, guess, np.array([0.5]), TimeBox(60)).rows) == n


def test_a_difference_of_the_tolerance_is_close_and_a_larger_one_is_not():
    assert len(close_rows(column(0, 10), column(1, 11.001), np.array([1.0]), TimeBox(60)).rows) == 1


def test_many_rows_that_are_all_close_are_told_to_be_met():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_PAIRS", 2_000)
        found = close_rows(column(*[1.0] * 500), column(*[1.0] * 500), np.array([0.1]), TimeBox(60))
    assert (len(found.rows), found.most) == (500, 500)
