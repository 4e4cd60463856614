"""How likely datasets of the same population lie as close to a reconstruction as the training data do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from by_hand import array, flags
from pytest_draft.evaluate import significance
from pytest_draft.evaluate.significance import DRAWS, caveats, leak_significance, rows_drawn
from pytest_draft.facts.figures import Significance
from pytest_draft.matching import encoded_weights, matched_distance
from pytest_draft.timebox import TimeBox

COLUMNS = tuple("abcdefgh")
DOMAIN = flags(COLUMNS)
CHANCES = np.linspace(0.1, 0.9, len(COLUMNS))


def people(seed: int, n_rows: int) -> np.ndarray:
    """Return rows of one population."""
    return array(np.random.default_rng(seed).random((n_rows, len(COLUMNS))) < CHANCES)


def found(truth, rebuilt, holdout, seed=0, known=(), timebox=None, unknown=None) -> Significance | None:
    unknown = np.arange(len(truth)) if unknown is None else unknown
    weights = encoded_weights(DOMAIN, known)
    return leak_significance(truth, unknown, rebuilt, holdout, weights, seed, timebox or TimeBox(600))


def over_after(reads: int) -> TimeBox:
    """Return a time box whose time is out when its clock has been read so often."""
    now = iter([0.0] * reads + [2.0] * 10_000)
    return TimeBox(1.0, clock=lambda: next(now), start=0.0)


def test_draws_of_a_holdout_that_is_as_large_as_they_are_are_those_counted_by_hand():
    zeros, ones = array([[0] * 8] * 4), array([[1] * 8] * 4)
    half = array([[0] * 4 + [1] * 4] * 4)
    alike = found(zeros, half, ones)
    assert (alike.draws, alike.rows, alike.holdout_rows) == (DRAWS, 4, 4)
    assert (alike.error, alike.mean, alike.deviation) == (0.5, 0.5, 0.0)
    assert (alike.as_close, alike.rank, alike.p_value) == (DRAWS, 1.0, None)  # no deviation, no normal distribution
    closer = found(zeros, zeros, half)
    assert (closer.error, closer.mean, closer.as_close, closer.rank) == (0.0, 0.5, 0, 1 / (1 + DRAWS))


def test_the_p_value_is_the_fitted_normals_and_the_rank_counts_draws_at_most_as_far():
    # one row: a draw is 0 or 1 away with equal chances, and the truth is 1/2 away
    rebuilt, truth = array([[0] * 8]), array([[0] * 4 + [1] * 4])
    result = found(truth, rebuilt, array([[0] * 8] * 50 + [[1] * 8] * 50))
    near = result.as_close
    assert 30 < near < 70
    assert result.mean == pytest.approx(1 - near / DRAWS)
    assert result.deviation == pytest.approx(math.sqrt(near * (DRAWS - near)) / DRAWS)
    assert result.p_value == pytest.approx(stats.norm.cdf((0.5 - result.mean) / result.deviation))
    assert result.rank == (1 + near) / (1 + DRAWS)


@pytest.mark.parametrize("n_rows", [1, 7, 40])
def test_the_error_is_the_reconstruction_error_where_all_rows_are_compared(n_rows):
    truth, rebuilt = people(1, n_rows), people(2, n_rows)
    error = matched_distance(truth, rebuilt, encoded_weights(DOMAIN), TimeBox(60)).exact
    assert found(truth, rebuilt, people(3, 200)).error == pytest.approx(error)


def test_the_p_value_is_tiny_when_the_reconstruction_is_the_truth():
    truth = people(1, 60)
    result = found(truth, truth, people(2, 600))
    assert result.error == 0
    assert result.p_value < 1e-6
    assert result.rank == 1 / (1 + DRAWS)


@pytest.mark.nightly
def test_the_p_values_are_uniform_when_the_reconstruction_is_of_other_people():
    results = [found(people(3 * s, 30), people(3 * s + 1, 30), people(3 * s + 2, 600), seed=s) for s in range(60)]
    for values in ([result.p_value for result in results], [result.rank for result in results]):
        assert stats.kstest(values, "uniform").pvalue > 0.05
    assert not any(result.overlaps for result in results)


def test_the_p_value_is_large_when_the_reconstruction_is_of_the_holdout():
    result = found(people(1, 60), people(2, 600)[:60], people(2, 600)[:120])
    assert result.p_value > 0.9
    assert result.rank > 0.9


def test_the_same_seed_gives_the_same_result():
    truth, rebuilt, holdout = people(1, 30), people(2, 30), people(3, 300)
    one, again, other = (found(truth, rebuilt, holdout, seed) for seed in (1, 1, 2))
    assert one == again
    assert one.error == other.error
    assert one.mean != other.mean


def test_all_of_a_thousand_rows_are_drawn_and_fewer_of_more():
    assert [rows_drawn(n) for n in (1, 100, 1_000)] == [1, 100, 1_000]
    assert rows_drawn(1_001) == 999
    assert all(rows_drawn(n) ** 2 * n <= significance.MOST_WORK for n in (5_000, 50_000, 5_000_000))
    assert rows_drawn(10**12) == 1


@pytest.mark.nightly
def test_a_sample_of_the_truth_is_found_in_an_exact_reconstruction(monkeypatch):
    monkeypatch.setattr(significance, "MOST_WORK", 8_000)
    truth = people(1, 80)
    result = found(truth, truth[::-1], people(2, 400))
    assert (result.rows, result.rebuilt_rows, result.error) == (10, 80, 0.0)
    assert result.as_close < 20
    (said,) = caveats(result, people(2, 400), DOMAIN)
    assert said.startswith("the leak p-value is of samples of 10 of 80 rows")
    others = [found(people(3 * s, 80), people(3 * s + 1, 80), people(3 * s + 2, 400), seed=s) for s in range(60)]
    # many of these few rows are equally far, which makes ranks larger, never smaller
    assert stats.kstest([other.rank for other in others], "uniform", alternative="greater").pvalue > 0.05


def test_only_unknown_rows_are_compared():
    truth = people(1, 40)
    unknown = np.arange(10, 40)
    result = found(truth, truth[unknown], people(2, 400), unknown=unknown)
    assert (result.rows, result.error) == (30, 0.0)
    assert result.shared_rows <= 40


def test_only_unknown_attributes_are_measured_and_the_draws_know_the_others():
    # whoever knows the first three attributes knows the rest of everybody in the population
    first = np.array([[i // 4 % 2, i // 2 % 2, i % 2] for i in range(80)])
    everybody = array(np.hstack([first, first, first[:, :2]]))
    truth, holdout = everybody[:40], everybody[40:]
    rebuilt = truth.copy()
    rebuilt[:, 7] = 1 - rebuilt[:, 7]
    result = found(truth, rebuilt, holdout, known=(0, 1, 2))
    assert result.error == pytest.approx(1 / 5)
    assert (result.mean, result.as_close) == (pytest.approx(1 / 5), DRAWS)  # laid on the known values: the truth


@pytest.mark.nightly
def test_known_attributes_alone_make_no_leak():
    ranks = []
    for seed in range(60):
        truth, guess, holdout = people(3 * seed, 30), people(3 * seed + 1, 30), people(3 * seed + 2, 600)
        guess[:, :3] = truth[:, :3]
        ranks.append(found(truth, guess, holdout, seed, known=(0, 1, 2)).rank)
    assert stats.kstest(ranks, "uniform").pvalue > 0.05


def test_fewer_draws_are_reported_when_the_time_is_out():
    truth, holdout = people(1, 30), people(3, 300)
    result = found(truth, people(2, 30), holdout, timebox=over_after(22))
    assert 0 < result.draws < DRAWS
    (said,) = caveats(result, holdout, DOMAIN)
    assert f"{result.draws} of 100 draws" in said


@pytest.mark.parametrize("reads", [0, 1, 2])
def test_there_is_no_p_value_when_the_time_is_out_before_a_draw(reads):
    assert found(people(1, 30), people(2, 30), people(3, 300), timebox=over_after(reads)) is None
    (said,) = caveats(None, people(3, 300), DOMAIN)
    assert said.startswith("no leak p-value: the time was out")


def test_an_informed_adversary_has_no_p_value():
    (said,) = caveats(None, people(3, 300), DOMAIN, informed=True)
    assert said == "no leak p-value: an informed adversary rebuilds single rows, no dataset"


def test_a_clean_holdout_needs_no_words():
    holdout = people(3, 60)
    assert caveats(found(people(1, 30), people(2, 30), holdout), holdout, DOMAIN) == []


def test_a_holdout_of_less_than_two_draws_is_told():
    holdout = people(3, 59)
    (said,) = caveats(found(people(1, 30), people(2, 30), holdout), holdout, DOMAIN)
    assert said.startswith("the holdout has 59 rows, and each draw takes 30 of them")


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize(
    ("holdout_of", "overlaps"),
    [
        (lambda truth, others: truth[::-1], True),
        (lambda truth, others: np.concatenate([truth, others]), True),
        (lambda truth, others: np.concatenate([truth[:45], others]), True),
        (lambda truth, others: others, False),
    ],
    ids=["the training data", "all of them", "most of them", "none of them"],
)
def test_a_holdout_that_was_trained_on_is_told(holdout_of, overlaps):
    truth, others = (array(np.random.default_rng(seed).integers(0, 2, (n, 8))) for seed, n in ((1, 60), (2, 120)))
    holdout = holdout_of(truth, others)
    result = found(truth, truth, holdout)
    assert result.overlaps == overlaps
    assert any("rows that were trained on" in said for said in caveats(result, holdout, DOMAIN)) == overlaps


def test_rows_that_are_shared_by_chance_are_no_overlap():
    truth, others = people(1, 60)[:, :2], people(2, 120)[:, :2]  # four different rows in all
    padded = [np.hstack([rows, np.zeros((len(rows), 6), np.float32)]) for rows in (truth, others)]
    result = found(padded[0], padded[0], padded[1])
    assert result.shared_rows > 50
    assert abs(result.shared_by_chance - result.shared_rows) < 8
    assert not result.overlaps


def test_a_holdout_outside_the_domain_is_told_by_number_and_name():
    holdout = people(3, 300)
    holdout[:7, 2] = 5
    said = caveats(found(people(1, 30), people(2, 30), holdout), holdout, DOMAIN)
    assert said[0].startswith("the domain excludes 7 rows of the holdout by attribute 'c'")


def test_no_row_is_in_a_result():
    assert "array" not in repr(found(people(1, 30), people(2, 30), people(3, 300)))
