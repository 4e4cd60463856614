"""Which rows are compared with which, against every other way to match them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from by_hand import array
from profiles import examples
from pytest_draft import matching
from pytest_draft.domain import Attribute, Domain
from pytest_draft.evaluate import comparison
from pytest_draft.evaluate.compared import STEP_SHARE, Compared
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.matching import encoded_weights, matched_distance, paired_distance
from pytest_draft.timebox import TimeBox

DOMAIN = Domain(
    ("a", "b", "c"),
    (
        Attribute("a", "binary", (0,)),
        Attribute("b", "binary", (1,)),
        Attribute("c", "ordinal", (2,), 0.0, 3.0),
    ),
    "by hand",
)
ROW = st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 3))
KNOWN = st.sampled_from([(), (0,), (2,), (0, 1)])


@given(pairs=st.lists(st.tuples(ROW, ROW), min_size=1, max_size=12), known=KNOWN)
@settings(max_examples=examples(150), deadline=None)
def test_the_distance_of_partners_is_the_error(pairs, known):
    truth, guess = (array(rows) for rows in zip(*pairs, strict=True))
    weights, box = encoded_weights(DOMAIN, known), TimeBox(60)
    partners = Comparison().partners(truth, guess, weights, box)
    assert sorted(partners) == list(range(len(truth)))
    error = matched_distance(truth, guess, weights, box).exact
    assert paired_distance(truth[partners], guess, weights).exact == pytest.approx(error)


@given(truth=st.lists(ROW, min_size=5, max_size=5), guess=st.lists(ROW, min_size=5, max_size=5))
@settings(max_examples=examples(100), deadline=None)
def test_the_first_guesses_are_matched_into_all_rows_at_the_least_cost(truth, guess):
    truth, guess = array(truth), array(guess)
    weights = encoded_weights(DOMAIN)
    counting = Comparison(share=0.6)
    found = counting.distance(truth, guess, weights, TimeBox(60))
    errors = [paired_distance(truth[list(rows)], guess[:3], weights).exact for rows in permutations(range(5), 3)]
    assert found.exact == pytest.approx(min(errors))
    perfect = counting.perfect(truth, guess)
    assert len(perfect) == max((truth[list(rows)] == guess[:3]).all(axis=1).sum() for rows in permutations(range(5), 3))


def test_a_row_that_is_compared_alone_is_its_own_partner():
    truth, guess = array([[0, 0, 0], [1, 1, 3]]), array([[1, 1, 3], [0, 0, 0]])
    partners = Comparison(alone=True).partners(truth, guess, encoded_weights(DOMAIN), TimeBox(60))
    assert list(partners) == [0, 1]


def test_there_is_no_matching_where_the_time_is_out_or_it_takes_too_much_memory(monkeypatch):
    truth, guess = array([[0, 0, 0]] * 4), array([[1, 1, 3]] * 4)
    weights, into = encoded_weights(DOMAIN), Comparison(share=0.5)
    assert into.distance(truth, guess, weights, TimeBox(60)).exact == 1
    found = into.distance(truth, guess, weights, TimeBox(1.0, clock=iter([0.0, *[9.0] * 99]).__next__))
    assert (found.lower, found.upper, found.exact) == (0, 1, None)
    monkeypatch.setattr(comparison, "MOST_ROWS", 3)
    assert into.partners(truth, guess, weights, TimeBox(60)) is None
    assert matching.MOST_ROWS > 3


def test_each_figure_has_a_share_of_the_time_that_is_left():
    now = [0.0]
    box = TimeBox(100.0, clock=lambda: now[0])
    rows = array([[0, 0, 0], [1, 1, 3]])
    free = np.zeros(rows.shape, dtype=bool)
    compared = Compared("everything", "", rows, np.arange(2), rows, free, None, DOMAIN, (), Comparison(), 0, box)
    assert compared.step.remaining == pytest.approx(STEP_SHARE * 100)
    now[0] = 50.0
    assert compared.step.remaining == pytest.approx(STEP_SHARE * 50)
    assert compared.error.exact == 0.0
