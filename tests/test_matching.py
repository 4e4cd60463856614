"""The distance of two sets of rows, against all permutations and examples by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from profiles import examples
from pytest_draft import matching
from pytest_draft.domain import Attribute, Domain, infer
from pytest_draft.errors import OutOfTimeError
from pytest_draft.facts.figures import Distance
from pytest_draft.matching import (
    assigned,
    comparable,
    encoded_weights,
    matched,
    matched_distance,
    original_weights,
    paired_distance,
    row_identities,
    unmatched,
)
from pytest_draft.shortest_paths import shortest_paths
from pytest_draft.timebox import TimeBox

DOMAIN = Domain(
    ("sex", "race_a", "race_b", "race_c", "age"),
    (
        Attribute("sex", "binary", (0,)),
        Attribute("race", "one-hot", (1, 2, 3)),
        Attribute("age", "ordinal", (4,), 10.0, 14.0),
    ),
    "by hand",
)
WEIGHTS = {"encoded": encoded_weights(DOMAIN), "original": original_weights(DOMAIN)}


def rows_of(*people: tuple[int, int, int]) -> np.ndarray:
    """Return encoded rows of (sex, race, age)."""
    return np.array([[sex, *np.eye(3)[race], age] for sex, race, age in people], dtype=np.float32)


@st.composite
def two_sets(draw, most: int = 5):
    """Draw two equally large sets of rows; a small domain, so that many rows are equal."""
    n_rows = draw(st.integers(1, most))
    person = st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(10, 14))
    people = st.lists(person, min_size=n_rows, max_size=n_rows)
    return rows_of(*draw(people)), rows_of(*draw(people))


def by_permutations(first, second, weights) -> float:
    """Return the least mean distance over all ways to pair the rows."""
    distances = (np.abs(first[:, None] - second[None]) * weights.columns).sum(axis=2) / weights.total
    indices = range(len(first))
    return min(sum(distances[i, p[i]] for i in indices) for p in permutations(indices)) / len(first)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@given(sets=two_sets())
@settings(max_examples=examples(100), deadline=None)
def test_the_distance_is_the_least_over_all_permutations(weights, sets):
    found = matched_distance(*sets, weights, TimeBox(60))
    assert found.exact == pytest.approx(by_permutations(*sets, weights))
    assert found.lower == found.upper == found.exact


@given(sets=two_sets(most=40))
@settings(max_examples=examples(60), deadline=None)
def test_nothing_is_lost_when_equal_rows_are_paired_first(sets):
    first, second = sets
    weights = WEIGHTS["encoded"]
    distances = cdist(first * weights.columns, second * weights.columns, "cityblock") / weights.total
    whole = distances[linear_sum_assignment(distances)].mean()
    assert matched_distance(first, second, weights, TimeBox(60)).exact == pytest.approx(whole)


@given(sets=two_sets(most=30), seed=st.integers(0, 99))
@settings(max_examples=examples(40), deadline=None)
def test_the_distance_is_symmetric_and_knows_no_order(sets, seed):
    first, second = sets
    shuffled = np.random.default_rng(seed).permutation(first)
    there = matched_distance(first, second, WEIGHTS["original"], TimeBox(60))
    back = matched_distance(second, shuffled, WEIGHTS["original"], TimeBox(60))
    assert there.exact == pytest.approx(back.exact)


@given(sets=two_sets(most=30))
@settings(max_examples=examples(60), deadline=None)
def test_bounds_enclose_the_distance_when_too_many_rows_are_left(sets):
    exact = matched_distance(*sets, WEIGHTS["encoded"], TimeBox(60)).exact
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "MOST_ROWS", 0)
        patch.setattr(matching, "_BLOCK", 7)
        bounded = matched_distance(*sets, WEIGHTS["encoded"], TimeBox(60))
    assert bounded.lower <= exact + 1e-12
    assert bounded.upper >= exact - 1e-12
    if not np.array_equal(np.sort(sets[0], axis=0), np.sort(sets[1], axis=0)):
        assert bounded.exact in (None, pytest.approx(exact))
        assert (bounded.exact is None) == (bounded.worst is None)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@given(sets=two_sets())
@settings(max_examples=examples(30), deadline=None)
def test_a_side_of_equal_rows_is_compared_exactly_however_many_there_are(weights, sets, which):
    sets = [np.repeat(one[:1], len(one), axis=0) if k == which else one for k, one in enumerate(sets)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "MOST_ROWS", 0)
        assert matched_distance(*sets, weights, TimeBox(60)).exact == pytest.approx(by_permutations(*sets, weights))


def test_bounds_are_marked_when_the_time_does_not_suffice():
    now = [0.0]
    timebox = TimeBox(1.0, clock=lambda: now[0])
    now[0] = 2.0
    there = rows_of((1, 0, 10), (0, 1, 10))
    found = matched_distance(rows_of((0, 0, 10), (1, 1, 11)), there, WEIGHTS["encoded"], timebox)
    assert found.exact is None
    assert found.lower <= by_permutations(rows_of((0, 0, 10), (1, 1, 11)), there, WEIGHTS["encoded"]) <= found.upper


def test_equal_sets_are_exactly_zero_apart_when_the_time_is_out():
    now = [0.0]
    timebox = TimeBox(1.0, clock=lambda: now[0])
    now[0] = 2.0
    rows = rows_of((0, 0, 10), (1, 2, 14))
    assert matched_distance(rows, rows[::-1], WEIGHTS["encoded"], timebox) == Distance(0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("other", "encoded", "original"),
    [
        ((1, 0, 10), 1 / 5, 1 / 3),  # one of five columns, one of three attributes
        ((0, 1, 10), 2 / 5, 1 / 3),  # another value of a one-hot group: two columns, one attribute
        ((0, 0, 11), 0.25 / 5, 0.25 / 3),  # a quarter of the range
        ((0, 0, 14), 1 / 5, 1 / 3),
        ((1, 2, 14), 4 / 5, 3 / 3),
        ((0, 0, 10), 0.0, 0.0),
    ],
)
def test_a_difference_weighs_what_the_definition_says(other, encoded, original):
    first, second = rows_of((0, 0, 10)), rows_of(other)
    assert matched_distance(first, second, WEIGHTS["encoded"], TimeBox(60)).exact == pytest.approx(encoded)
    assert matched_distance(first, second, WEIGHTS["original"], TimeBox(60)).exact == pytest.approx(original)


def test_a_column_without_a_range_weighs_nothing():
    domain = Domain(("a", "b"), (Attribute("a", "ordinal", (0,), 3.0, 3.0), Attribute("b", "binary", (1,))), "by hand")
    for weights in (encoded_weights(domain), original_weights(domain)):
        assert (weights.columns / weights.total).tolist() == [0.0, 0.5]


def test_a_numeric_column_weighs_the_inverse_of_its_range():
    domain = Domain(("a", "b"), (Attribute("a", "numeric", (0,), 0.0, 0.8), Attribute("b", "binary", (1,))), "by hand")
    first, second = np.array([[0.0, 1.0]], np.float32), np.array([[0.2, 1.0]], np.float32)
    for weights in (encoded_weights(domain), original_weights(domain)):
        assert matched_distance(first, second, weights, TimeBox(60)).exact == pytest.approx(0.125)


MIXED = Domain(
    ("sex", "size", "age"),
    (
        Attribute("sex", "binary", (0,)),
        Attribute("size", "numeric", (1,), -2.0, 6.0),
        Attribute("age", "ordinal", (2,), 3.0, 3.0),
    ),
    "by hand",
)
GAP = np.nan


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ((0, GAP, 3), (0, GAP, 3), 0),
        ((0, GAP, 3), (0, -2, 3), 1),
        ((0, GAP, 3), (0, 5, 3), 1),
        ((GAP, GAP, GAP), (1, 0, 3), 3),  # also where the range is 0
        ((GAP, 0, 3), (GAP, 4, 3), 0.5),
    ],
)
def test_a_missing_value_is_a_range_away_from_any_other_and_not_from_a_missing_one(one, other, distance):
    first, second = np.array([one], np.float32), np.array([other], np.float32)
    for weights in (encoded_weights(MIXED), original_weights(MIXED)):
        assert matched_distance(first, second, weights, TimeBox(60)).exact == pytest.approx(distance / 3)
        assert paired_distance(second, first, weights).exact == pytest.approx(distance / 3)


def with_gaps(n_rows: int, random: np.random.Generator) -> np.ndarray:
    """Return rows of the mixed domain in which a third of the values is missing."""
    rows = MIXED.uniform(n_rows, random)
    rows[random.random(rows.shape) < 1 / 3] = np.nan
    return rows


@pytest.mark.parametrize("known", [(), (0,), (1, 2)])
@pytest.mark.parametrize("seed", range(6))
def test_rows_with_missing_values_are_matched_as_all_permutations_say(seed, known):
    random = np.random.default_rng(seed)
    first, second, weights = with_gaps(5, random), with_gaps(5, random), encoded_weights(MIXED, known)

    def cost(chosen, columns) -> float:
        gone = np.isnan(first), np.isnan(second[list(chosen)])
        apart = np.abs(first - second[list(chosen)].astype(float)) * weights.columns
        return float(np.where(gone[0] | gone[1], gone[0] != gone[1], apart)[:, columns].sum())

    everything, counted = np.ones(3, bool), weights.counted
    best = min((round(cost(p, everything), 9), cost(p, counted)) for p in permutations(range(5)))
    found = matched_distance(first, second, weights, TimeBox(60))
    assert found.exact == pytest.approx(best[1] / counted.sum() / 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "MOST_ROWS", 0)
        for timebox in (TimeBox(60), over()):
            bounded = matched_distance(first, second, weights, timebox)
            assert bounded.lower <= found.exact + 1e-9
            assert bounded.upper >= found.exact - 1e-9


def over() -> TimeBox:
    """Return a time box whose time is out."""
    now = [0.0]
    timebox = TimeBox(1.0, clock=lambda: now[0])
    now[0] = 2.0
    return timebox


def test_the_given_order_bounds_the_distance_when_there_are_too_many_rows():
    truth = MIXED.uniform(40, np.random.default_rng(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "MOST_ROWS", 0)
        near = matched_distance(truth, truth + np.float32(1e-3), encoded_weights(MIXED), TimeBox(60))
    assert 0 <= near.lower <= near.upper < 2e-3


def test_missing_values_are_equal_whatever_their_bits():
    other = np.array([0x7FC00001], dtype=np.uint32).view(np.float32)
    one, two = row_identities(np.array([[np.nan, 1.0]], np.float32), np.array([[other[0], 1.0]], np.float32))
    assert one.tolist() == two.tolist()


def test_the_worst_pair_is_the_farthest_of_the_matching():
    first, second = rows_of((0, 0, 10), (0, 1, 12), (1, 2, 14)), rows_of((1, 2, 14), (0, 0, 10), (1, 1, 14))
    found = matched_distance(first, second, WEIGHTS["encoded"], TimeBox(60))
    assert found.worst == pytest.approx(1.5 / 5)
    assert found.exact == pytest.approx(1.5 / 5 / 3)


def test_minus_zero_is_zero():
    one, other = row_identities(np.array([[0.0, 1.0]], np.float32), np.array([[-0.0, 1.0]], np.float32))
    assert one.tolist() == other.tolist()


def test_equal_rows_are_paired_as_often_as_both_sides_have_them():
    first, second = rows_of(*[(0, 0, 10)] * 3, (1, 1, 11)), rows_of((0, 0, 10), *[(1, 1, 11)] * 2, (1, 0, 10))
    here, there = unmatched(*row_identities(first, second))
    assert here.tolist() == [1, 2]
    assert there.tolist() == [2, 3]


@pytest.mark.parametrize(
    "sets", [(rows_of((0, 0, 10)), rows_of((0, 0, 10), (0, 0, 10))), (np.empty((0, 5)), np.empty((0, 5)))]
)
def test_sets_that_cannot_be_matched_are_refused(sets):
    with pytest.raises(ValueError, match="two equally large sets"):
        matched_distance(*sets, WEIGHTS["encoded"], TimeBox(60))


def test_bounds_out_of_order_are_refused():
    with pytest.raises(ValueError, match="bounds out of order"):
        Distance(0.5, 0.4, None)


def test_no_row_at_all_is_matched_to_none_where_values_are_missing():
    rows = np.float32([[np.nan, 1], [0, 1]])
    weights = encoded_weights(infer(["a", "b"], rows.astype(np.float64)))
    assert len(matched(rows[:0], rows[:0], weights)) == 0
    assert comparable(rows[:0], rows, weights)[0].shape == (0, 2)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (5, 12), (60, 60), (40, 90), (0, 3)])
def test_an_assignment_is_that_of_scipy_of_equally_cheap_ones_too(shape, ties):
    rng = np.random.default_rng(sum(shape))
    for _ in range(10):
        cost = rng.integers(0, 4, shape).astype(float) if ties else rng.normal(size=shape)
        assert assigned(cost).tolist() == linear_sum_assignment(cost)[1].tolist()
        assert assigned(cost, TimeBox(600)).tolist() == linear_sum_assignment(cost)[1].tolist()


def test_an_assignment_ends_with_its_box_and_takes_no_more_effort_than_there_is():
    cost = np.random.default_rng(0).random((300, 300))
    now = [0.0]
    box = TimeBox(1.0, clock=lambda: now[0])
    assert len(assigned(cost, box)) == 300
    now[0] = 2.0
    with pytest.raises(OutOfTimeError):
        assigned(cost, box)
    with pytest.raises(OutOfTimeError):
        assigned(cost, TimeBox(600, effort=1e-6))
    assert shortest_paths(cost, np.ones(1, dtype=np.uint8)).tolist() == []
    with pytest.raises(ValueError, match="300 rows cannot"):
        assigned(cost[:, :200])


def test_a_distance_for_which_there_was_no_time_is_bounded_and_holds_the_exact_one():
    rng = np.random.default_rng(3)
    first, second = (
        rows_of(*zip(*(rng.integers(*ends, 200).tolist() for ends in ((0, 2), (0, 3), (10, 15))), strict=True))
        for _ in range(2)
    )
    exact = matched_distance(first, second, WEIGHTS["encoded"], TimeBox(600)).exact
    now = iter([0.0])
    over = TimeBox(1.0, clock=lambda: next(now, 5.0))
    found = matched_distance(first, second, WEIGHTS["encoded"], over)
    assert found.exact is None
    assert found.lower <= exact <= found.upper
