"""What nobody betters, beside what the best guess gets where all guesses can be tried."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_draft.ambiguity.bounds import SEARCHED, least_error, most_perfect_rows
from pytest_draft.domain import Attribute, Domain
from pytest_draft.matching import encoded_weights
from pytest_draft.timebox import TimeBox
from studies.ideal import generated

BOX = TimeBox(1e9)  # begins when tests are collected
BITS = encoded_weights(Domain(("a", "b"), (Attribute("a", "binary", (0,)), Attribute("b", "binary", (1,))), "bits"))
NUMBER = encoded_weights(Domain(("a",), (Attribute("a", "numeric", (0,), 0.0, 100.0),), "number"))


def rows(*written: str) -> np.ndarray:
    return np.array([[int(digit) for digit in row] for row in written], dtype=np.float32)


def test_equal_samples_leave_no_error_and_every_row():
    samples = [rows("01", "11", "11")] * 3
    assert least_error(samples, BITS, BOX) == 0
    assert most_perfect_rows(samples, BITS) == 3


def test_two_samples_of_one_row_by_hand():
    samples = [rows("00"), rows("11")]
    assert 0 <= least_error(samples, BITS, BOX) <= SEARCHED * 0.5
    assert most_perfect_rows(samples, BITS) == 0.5


def test_a_row_counts_as_often_as_a_sample_has_it():
    samples = [rows("00", "00", "11"), rows("00", "01", "10")]
    assert most_perfect_rows(samples, BITS) == (2 + 1 + 1) / 2


def test_numbers_are_met_within_the_tolerance_of_one_guess():
    near = [np.array([[10.0], [50.0]], np.float32), np.array([[11.5], [90.0]], np.float32)]
    assert most_perfect_rows(near, NUMBER) == (2 + 1) / 2  # 10.75 meets both of the first ones
    far = [np.array([[10.0], [50.0]], np.float32), np.array([[12.5], [90.0]], np.float32)]
    assert most_perfect_rows(far, NUMBER) == 1.0


def test_without_time_nothing_is_known():
    samples = [rows("00"), rows("11")]
    assert least_error(samples, BITS, TimeBox(1e-9)) is None


@pytest.fixture(scope="module")
def small():
    """Return small files with all datasets that explain them, at least two of each."""
    several = [one for one in generated(60, 5, labels_fixed=True) if len(one.assignments()) > 1]
    assert several
    return several


@pytest.mark.nightly
def test_no_guess_betters_the_bounds_where_all_datasets_are_given(small):
    few = [one for one in small if len(one.assignments()) <= 150]
    assert len(few) > 20
    for one in few:
        weights, datasets = encoded_weights(one.instance.domain), one.assignments()
        assert least_error(datasets, weights, BOX) <= one.least_error + 1e-9
        assert most_perfect_rows(datasets, weights) == pytest.approx(one.most_perfect_rows)


@pytest.mark.nightly
def test_no_guess_betters_the_error_of_a_few_samples_either(small):
    rng = np.random.default_rng(0)
    for one in small:
        weights, datasets = encoded_weights(one.instance.domain), one.assignments()
        samples = [datasets[i] for i in rng.integers(len(datasets), size=8)]
        assert least_error(samples, weights, BOX) <= one.least_error + 1e-9
