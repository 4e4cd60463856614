"""The figures on numeric columns, by hand."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest

from by_hand import array, data_of, measured, over, rebuilt_as
from pytest_draft.ambiguity.median import median_guess
from pytest_draft.data.individuals import inliers
from pytest_draft.domain import Attribute, Domain
from pytest_draft.evaluate import baseline_draws
from pytest_draft.evaluate.baseline_draws import DRAW_NUMBERS, with_known
from pytest_draft.evaluate.baselines import median_baseline, random_baseline, split_half_baseline
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.evaluate.numeric import few_valued
from pytest_draft.evaluate.proved import contradiction
from pytest_draft.facts.figures import Closeness
from pytest_draft.facts.findings import ProvedValues, ValueFigures
from pytest_draft.facts.identity import Identity
from pytest_draft.knowledge import Knowledge
from pytest_draft.matching import encoded_weights
from pytest_draft.timebox import TimeBox

DOMAIN = Domain(
    ("size", "flat", "sex"),
    (
        Attribute("size", "numeric", (0,), 0.0, 100.0),
        Attribute("flat", "numeric", (1,), 0.0, 10.0),
        Attribute("sex", "binary", (2,)),
    ),
    "by hand",
)
WEIGHTS = encoded_weights(DOMAIN)
TRUTH = [[0, 5, 0], [20, 5, 0], [40, 5, 1], [60, 5, 0], [100, 10, 1]]
REBUILT = [[20.5, 5, 0], [0, 5, 0], [45, 5, 1], [60, 5, 1], [99, 10, 1]]
"""Matched in the order 1, 0, 2, 3, 4: by .5, 0, 5, 0 and 1 in the first column, and one wrong sex."""


def found(truth, rebuilt, ordered=False, domain=DOMAIN, **more):
    return measured(truth, rebuilt, domain, ordered=ordered, **more)


@pytest.mark.nightly
def test_the_figures_are_those_counted_by_hand():
    findings = found(TRUTH, REBUILT)
    numeric = findings.numeric
    assert findings.whole.error.exact == pytest.approx((0.065 + 1) / 15)
    assert findings.whole.perfect.lower == 3  # 20.5 for 20, 0 for 0 and 99 for 100
    assert findings.singled_out.lower == 3
    assert findings.whole.perfect.exact and findings.singled_out.exact
    assert (numeric.columns, numeric.without_spread, numeric.in_order) == (2, 1, False)
    assert astuple(numeric.attack) == pytest.approx(
        (
            findings.whole.error.exact,
            6.5 / 40 / 10,  # the first column's quartiles are 20 and 60; the second one's are equal, and it is right
            9 / 10,
            7 / 10,
            3 / 5,
            1 / 5,
        )
    )


@pytest.mark.nightly
def test_the_median_guess_is_the_one_counted_by_hand():
    numeric = found(TRUTH, REBUILT).numeric
    assert median_guess(array(TRUTH), DOMAIN).tolist() == [[40, 5, 0]]
    error = (1.4 + 0.5 + 2) / 15
    assert astuple(numeric.median_guess) == (pytest.approx(error), 0.0, 1, 5)
    assert astuple(numeric.median) == pytest.approx((error, (140 / 40 + 5 / 10) / 10, 5 / 10, 5 / 10, 0, 0))


def test_the_median_guess_is_the_lower_one_of_two_the_commonest_of_a_group_and_missing_where_most_are():
    domain = Domain(
        ("a", "b", "c", "d", "e"),
        (
            Attribute("a", "numeric", (0,), 0.0, 9.0),
            Attribute("b", "numeric", (1,), 0.0, 9.0, missing=True),
            Attribute("g", "one-hot", (2, 3)),
            Attribute("e", "numeric", (4,), 0.0, 9.0, missing=True),
        ),
        "by hand",
    )
    gap = np.nan
    truth = array([[1, gap, 0, 1, gap], [9, gap, 0, 1, 3], [2, 7, 1, 0, 4], [8, gap, 0, 1, gap]])
    guess = median_guess(truth, domain)
    assert np.array_equal(guess, array([[2, gap, 0, 1, 3]]), equal_nan=True)
    # 1, 7, 0, 6 ninths; one present in b; two columns once; two missing and one ninth in e
    error = (14 / 9 + 1 + 2 + 2 + 1 / 9) / 20
    assert median_baseline(truth, domain, encoded_weights(domain)).error == pytest.approx(error)


@pytest.mark.nightly
@pytest.mark.parametrize("known", [(), (0,), (2,), (0, 2)])
def test_no_matching_of_the_median_guess_costs_less_than_the_baseline_says(known):
    truth, weights = DOMAIN.uniform(30, np.random.default_rng(3)), encoded_weights(DOMAIN, known)
    guess = with_known(np.repeat(median_guess(truth, DOMAIN), 30, axis=0), truth, weights)
    baseline = median_baseline(truth, DOMAIN, weights)
    shuffled = guess[np.random.default_rng(4).permutation(30)]
    assert baseline.error == pytest.approx(Comparison().distance(truth, shuffled, weights, TimeBox(60)).exact)
    assert baseline.perfect_rows == len(Comparison().met(truth, shuffled, weights, TimeBox(60)).rows)


@pytest.mark.nightly
def test_a_last_digit_hides_no_leak():
    truth = DOMAIN.uniform(40, np.random.default_rng(0))
    near = truth.copy()
    near[:, :2] = np.nextafter(near[:, :2], np.float32(0))
    findings = found(truth, near, ordered=True)
    assert findings.whole.perfect.lower == findings.singled_out.lower == findings.rows_in_order == 40
    assert findings.inliers.perfect_rows + findings.outliers.perfect_rows == 40
    assert findings.numeric.attack.exact_rows == 0
    assert findings.numeric.attack.close_rows == 1


@pytest.mark.nightly
def test_the_most_unique_rows_that_can_be_met_are_singled_out():
    truth = [[0, 0, 0], [0, 0, 0], [0.5, 0, 0], [50, 0, 0]]
    findings = found(truth, [[0.5, 0, 0], [90, 0, 0], [90, 0, 1], [95, 0, 1]])
    assert (findings.unique_rows, findings.whole.perfect.lower, findings.singled_out.lower) == (2, 1, 1)


def test_a_correction_is_one_when_all_is_rebuilt_and_nothing_when_a_baseline_is_met():
    baseline = Closeness(0.2, 0.4, 0.5, 0.0, 1.0, None)
    perfect = Closeness(0.0, 0.0, 1.0, 1.0, 1.0, 1.0)
    assert astuple(perfect.beyond(baseline)) == (1.0, 1.0, 1.0, 1.0, None, None)
    assert astuple(baseline.beyond(baseline))[:4] == (0.0, 0.0, 0.0, 0.0)
    half = Closeness(0.1, 0.6, 0.75, 0.25, 0.5, 0.5)
    assert astuple(half.beyond(baseline)) == pytest.approx((0.5, -0.5, 0.5, 0.25, None, None), nan_ok=True)


@pytest.mark.nightly
def test_uniform_guesses_are_close_as_often_as_chance_says():
    truth = DOMAIN.uniform(200, np.random.default_rng(1))
    findings = found(truth, truth)
    random = findings.numeric.random
    assert random.error == findings.whole.random.error
    assert 0.02 < random.close_values < 0.4  # 2 % one by one, more in the cheapest matching
    assert random.exact_values < 0.01
    assert random.close_rows == findings.whole.random.perfect_rows / 200
    domain = replace(DOMAIN, columns=("size",), attributes=DOMAIN.attributes[:1])
    one = random_baseline(truth[:1, :1], domain, encoded_weights(domain), 0, TimeBox(60))
    assert one.perfect_rows == pytest.approx(0.02, abs=0.03)


def test_figures_on_numeric_columns_stay_away_where_there_are_none():
    domain = replace(
        DOMAIN, attributes=tuple(replace(a, kind="ordinal") for a in DOMAIN.attributes[:2]) + DOMAIN.attributes[2:]
    )
    findings = found(np.rint(TRUTH), np.rint(REBUILT), domain=domain)
    assert findings.numeric is None
    assert not any(part.numeric for part in findings.measures)


def test_known_columns_are_no_figures():
    nothing = np.empty(0, dtype=np.int64)
    known = array(TRUTH)[:, :2]
    knowledge = Knowledge((0, 1), (0, 1), known, nothing, array([]), nothing, np.arange(5), False, ())
    assert found(TRUTH, TRUTH, knowledge=knowledge).numeric is None


def test_values_are_compared_in_order_when_there_is_no_matching_and_not_at_all_without_an_order():
    rebuilt = array(TRUTH[::-1]) + array([0.25, 0, 0])
    in_order = found(TRUTH, rebuilt, ordered=True, timebox=over()).numeric
    assert in_order.in_order
    assert (in_order.attack.exact_values, in_order.attack.close_values) == (3 / 10, 4 / 10)
    without = found(TRUTH, rebuilt, timebox=over()).numeric
    assert not without.in_order
    assert without.attack.exact_values is without.attack.close_values is None


def test_perfect_rows_are_bounded_when_the_time_is_out():
    findings = found(TRUTH, REBUILT, timebox=over())
    assert (findings.whole.perfect.lower, findings.whole.perfect.upper) == (1, 5)
    assert (findings.singled_out.lower, findings.singled_out.upper) == (1, 5)


def test_large_numeric_data_are_halved_in_samples(monkeypatch):
    monkeypatch.setattr(baseline_draws, "DRAW_NUMBERS", replace(DRAW_NUMBERS, sample_rows=10))
    baseline = split_half_baseline(DOMAIN.uniform(60, np.random.default_rng(5)), WEIGHTS, 0, TimeBox(60))
    assert (baseline.rows, baseline.draws) == (10, DRAW_NUMBERS.splits_when_large)


CERTAIN = np.array([[1, 1, 1], [1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]], dtype=bool)


@pytest.mark.nightly
def test_certain_constrained_and_free_values_make_up_the_error():
    rows = [[0, 5, 0], [20, 5, 0], [45, 5, 1], [60, 5, 1], [99, 10, 1]]
    findings = found(TRUTH, rows, ordered=True, certain=CERTAIN, free=np.array([[False, False, True]] * 5))
    assert (findings.values.certain.number, findings.values.certain_rows.lower) == (5, 1)
    assert findings.values.certain == ValueFigures(5, 0.0)
    assert astuple(findings.values.constrained) == (6, pytest.approx(0.06 / 6))
    assert astuple(findings.values.free) == (4, pytest.approx(1 / 4))
    assert findings.values.determined.number == 11


@pytest.mark.nightly
@pytest.mark.parametrize("proved", [[0, 1], [0], [1]])
def test_proved_values_are_held_against_the_row_that_they_are_proved_of(proved):
    truth, rows = np.array(TRUTH)[:2].copy(), np.array(TRUTH)[:2].copy()
    truth[:] = [[0, 0, 0], [10, 10, 1]]
    rows[:] = [[0, 10, 1], [10, 0, 0]]  # by all that is guessed, each is nearer to the other one
    certain = np.zeros((2, 3), dtype=bool)
    certain[proved, 0] = True
    nowhere = np.zeros((2, 3), dtype=bool)
    findings = found(truth, rows, ordered=True, certain=certain, free=nowhere)
    assert findings.whole.error.upper < 0.1
    assert findings.values.certain == ValueFigures(len(proved), 0.0)


def test_nothing_is_said_to_be_certain_where_no_value_is_proved():
    findings = found(TRUTH, REBUILT)
    values = findings.values
    assert values.certain is values.constrained is values.certain_rows is findings.proved_values is None


@pytest.mark.parametrize(
    ("rows", "ordered", "identity", "contradicted"),
    [
        (TRUTH, True, "confirmed", False),
        ([[0, 5, 1], *TRUTH[1:]], True, "confirmed", True),
        ([TRUTH[0], [20, 4, 0], *TRUTH[2:]], True, "confirmed", False),  # not certain
        ([TRUTH[0], [0, 5, 0], *TRUTH[2:]], True, "confirmed", True),
        ([TRUTH[0], [0, 5, 0], *TRUTH[2:]], False, "confirmed", True),  # one row has a 0, not two
        ([TRUTH[0], [40, 5, 0], *TRUTH[2:]], False, "confirmed", False),
        ([TRUTH[0], [40, 5, 0], *TRUTH[2:]], True, "order differs", False),
        ([TRUTH[0], [41, 5, 0], *TRUTH[2:]], True, "order differs", True),
        ([TRUTH[0], [41, 5, 0], *TRUTH[2:]], True, "mismatch", False),
        ([TRUTH[0], [41, 5, 0], *TRUTH[2:]], True, "unknown", False),
    ],
)
def test_a_certain_value_that_the_training_data_do_not_hold_is_an_internal_error(rows, ordered, identity, contradicted):
    said = contradiction(
        rebuilt_as(rows, DOMAIN, ordered=ordered, certain=CERTAIN),
        data_of(TRUTH, DOMAIN),
        DOMAIN,
        Identity(identity, "by hand"),
    )
    assert (said is not None) == contradicted
    assert said is None or said.startswith("internal error: 1 values were proved")


def test_proved_values_are_counted_and_contradicted_when_no_row_holds_one():
    told = {0: np.array([0.0, 60.0]), 1: np.array([5.0])}
    assert found(TRUTH, TRUTH, proved_values=told).proved_values == ProvedValues(3, 2, (2 + 4) / 15)
    identity, data = Identity("confirmed", "by hand"), data_of(TRUTH, DOMAIN)
    assert contradiction(rebuilt_as(TRUTH, DOMAIN, proved_values=told), data, DOMAIN, identity) is None
    told[0] = np.array([0.0, 61.0])
    said = contradiction(rebuilt_as(TRUTH, DOMAIN, proved_values=told), data, DOMAIN, identity)
    assert said.startswith("internal error: 1 values were proved that no training row")


@pytest.mark.nightly
def test_missing_values_count_a_range_and_are_no_close_ones():
    domain = replace(DOMAIN, attributes=tuple(replace(a, missing=True) for a in DOMAIN.attributes))
    truth, rebuilt = array(TRUTH), array(TRUTH)
    truth[0, 0] = truth[1, 2] = rebuilt[1, 2] = rebuilt[3, 1] = np.nan
    findings = found(truth, rebuilt, ordered=True, domain=domain)
    assert findings.whole.error.exact == pytest.approx(2 / 15)
    assert (findings.whole.perfect.lower, findings.rows_in_order) == (3, 3)
    assert findings.numeric.attack.close_values == findings.numeric.attack.exact_values == pytest.approx(8 / 10)
    # quartiles of 20, 40, 60, 100 are 35 and 70
    assert findings.numeric.attack.iqr_error == pytest.approx((100 / 35 + 10 / 10) / 10)
    assert findings.inliers.number + findings.outliers.number == 5


def test_rows_that_miss_a_value_are_told_apart_from_the_others():
    random = np.random.default_rng(0)
    rows = random.normal(size=(200, 2)).astype(np.float32)
    rows[0, 0] = np.nan
    rows[:, 1][random.random(200) < 0.5] = np.nan
    inside = inliers(np.column_stack([rows, np.full(200, np.nan, np.float32)]), TimeBox(60))
    assert inside.mean() > 0.5
    assert not inside[0]


@pytest.mark.nightly
def test_nobody_is_singled_out_where_each_row_is_there_twice():
    findings = found(TRUTH * 2, TRUTH * 2)
    assert (findings.whole.perfect.lower, findings.unique_rows, findings.singled_out.lower) == (10, 0, 0)


@pytest.mark.parametrize(
    ("guesses", "named"),
    [((-0.7, 1.3), ()), ((-0.69, 1.31), ()), ((-0.2, 0.8), ("size",)), ((-0.2, 1.3), ("size",)), ((np.nan,), ())],
    ids=["found out", "nearly", "between", "half between", "all missing"],
)
def test_an_attack_that_guesses_between_few_values_is_noticed(guesses, named):
    truth, rebuilt = np.zeros((2, 40, 3), dtype=np.float32)
    truth[:, 0], rebuilt[:, 0] = np.resize([-0.7, 1.3], 40), np.resize(guesses, 40)
    truth[:, 1], rebuilt[:, 1] = np.linspace(0, 10, 40), 3.3  # as many values as rows
    assert few_valued(truth, rebuilt, DOMAIN) == named
    assert few_valued(truth, rebuilt, DOMAIN, [0]) == ()
    truth[:, 0] = -0.7  # of one value nothing is to be told
    assert few_valued(truth, rebuilt, DOMAIN) == ()
