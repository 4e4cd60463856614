"""What others get who have no forest, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from by_hand import array, flags
from pytest_draft.domain import Attribute, Domain
from pytest_draft.evaluate import baseline_draws
from pytest_draft.evaluate.baseline_draws import DRAW_NUMBERS
from pytest_draft.evaluate.baselines import random_baseline, split_half_baseline
from pytest_draft.matching import encoded_weights
from pytest_draft.timebox import TimeBox

DOMAIN = flags("abcd")
WEIGHTS = encoded_weights(DOMAIN)


def test_baselines_are_the_same_when_the_seed_is_the_same():
    truth = DOMAIN.uniform(30, np.random.default_rng(5))
    one, again, other = (random_baseline(truth, DOMAIN, WEIGHTS, seed, TimeBox(60)) for seed in (1, 1, 2))
    assert one == again != other
    one, again, other = (split_half_baseline(truth, WEIGHTS, seed, TimeBox(60)) for seed in (1, 1, 2))
    assert one == again != other


def test_the_random_baseline_meets_what_can_be_calculated():
    domain = Domain(("a",), (Attribute("a", "binary", (0,)),), "by hand")
    baseline = random_baseline(array([[1]]), domain, encoded_weights(domain), 0, TimeBox(60))
    assert (baseline.draws, baseline.rows) == (100, 1)
    assert baseline.error == pytest.approx(0.5, abs=0.15)  # 100 throws of a coin
    assert baseline.perfect_rows == pytest.approx(0.5)


def test_the_split_half_baseline_is_zero_when_all_rows_are_equal():
    baseline = split_half_baseline(array([[1, 0, 1, 0]] * 7), WEIGHTS, 0, TimeBox(60))
    assert baseline.error == 0
    assert baseline.rows == 3
    assert baseline.perfect_rows == pytest.approx(7)  # scaled from three to all rows


def test_large_data_are_sampled_and_say_so(monkeypatch):
    monkeypatch.setattr(baseline_draws, "DRAW_NUMBERS", replace(DRAW_NUMBERS, sample_rows=10))
    truth = DOMAIN.uniform(25, np.random.default_rng(5))
    assert random_baseline(truth, DOMAIN, WEIGHTS, 0, TimeBox(60)).rows == 10
    assert split_half_baseline(truth, WEIGHTS, 0, TimeBox(60)).draws == DRAW_NUMBERS.splits_when_large


def test_the_range_of_the_draws_holds_their_mean():
    truth = DOMAIN.uniform(30, np.random.default_rng(5))
    found = split_half_baseline(truth, WEIGHTS, 1, TimeBox(60))
    (low, high), (least, most) = found.error_range, found.perfect_range
    assert low < found.error < high
    assert least < found.perfect_rows < most
