"""One guess for many datasets: what consensus and the closest guess must always hold to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles import examples
from pytest_draft.attack.consensus import closest_to_all, consensus
from pytest_draft.domain import declared
from pytest_draft.matching import encoded_weights, matched_distance
from pytest_draft.timebox import TimeBox

DOMAIN = declared(
    ["known", "a", "job_x", "job_y", "job_z", "age"],
    {
        "known": {"kind": "ordinal", "low": 0, "high": 9},
        "a": {"kind": "binary"},
        "job": {"kind": "one-hot", "columns": [2, 3, 4]},
        "age": {"kind": "ordinal", "low": 2, "high": 60},
    },
    "by hand",
)
WEIGHTS = encoded_weights(DOMAIN)


def datasets(seed, n_rows, n_datasets, n_groups):
    """Return datasets whose rows agree in the first column with their group, and the groups."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, n_groups, n_rows)
    tables = [DOMAIN.uniform(n_rows, rng) for _ in range(n_datasets)]
    for table in tables:
        table[:, 0] = group
    return tables, group


def error(guess, imagined):
    """Return the mean matched error of a guess to datasets that may be true."""
    return np.mean([matched_distance(truth, guess, WEIGHTS, TimeBox(60)).exact for truth in imagined])


SIZES = {
    "seed": st.integers(0, 100_000),
    "n_rows": st.integers(1, 12),
    "n_datasets": st.integers(1, 8),
    "n_groups": st.integers(1, 4),
}


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(**SIZES)
def test_a_consensus_lies_in_the_domain_and_keeps_what_is_known_of_each_group(**sizes):
    (first, *others), group = datasets(**sizes)
    found = consensus(first, others, group, DOMAIN, TimeBox(60))
    assert found.dtype == np.float32
    assert found.shape == first.shape
    assert not DOMAIN.outside(found.astype(np.float64))
    assert (found[:, 2:5].sum(axis=1) == 1).all()
    assert (found[:, 0] == group).all()


def test_groups_are_kept_apart_where_another_groups_rows_are_much_closer():
    first = np.array([[0, 0, 1, 0, 0, 2], [1, 0, 1, 0, 0, 60]], dtype=np.float32)
    other = np.array([[0, 0, 1, 0, 0, 60], [1, 0, 1, 0, 0, 2]], dtype=np.float32)
    found = consensus(first, [other, other], np.array([0, 1]), DOMAIN, TimeBox(60))
    assert (found == other).all()
    together = consensus(first, [other, other], np.array([0, 0]), DOMAIN, TimeBox(60))
    assert (together[:, 5] == first[:, 5]).all()


def test_groups_are_kept_apart_where_all_ranges_are_wide():
    """The columns' weights add up to 2, and rows are up to 20 apart."""
    wide = {name: {"kind": "ordinal", "low": 0, "high": 10} for name in ("known", "age")}
    domain = declared(["known", "age"], wide, "by hand")
    first = np.array([[0, 0], [1, 10]], dtype=np.float32)
    other = np.array([[0, 10], [1, 0]], dtype=np.float32)
    assert (consensus(first, [other, other], np.array([0, 1]), domain, TimeBox(60)) == other).all()


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(**SIZES)
def test_a_dataset_that_most_agree_on_in_some_order_is_the_consensus(**sizes):
    (first, *others), group = datasets(**sizes)
    rng = np.random.default_rng(0)

    def shuffled(table):
        order = np.lexsort((rng.random(len(group)), group))
        moved = np.empty_like(table)
        moved[np.lexsort((rng.random(len(group)), group))] = table[order]
        return moved

    agreeing = [shuffled(first) for _ in others]
    found = consensus(first, others + agreeing, group, DOMAIN, TimeBox(60))
    assert (found == first).all()


def test_each_attribute_is_the_commonest_value_and_of_ordinals_the_middle_one():
    tables = [
        np.array([[0, 1, 1, 0, 0, 10]], dtype=np.float32),
        np.array([[0, 0, 0, 0, 1, 11]], dtype=np.float32),
        np.array([[0, 0, 0, 0, 1, 60]], dtype=np.float32),
    ]
    found = consensus(tables[0], tables[1:], np.zeros(1, np.int64), DOMAIN, TimeBox(60))
    assert found.tolist() == [[0, 0, 0, 0, 1, 11]]


def test_three_way_ties_of_one_hot_columns_stay_one_value():
    tables = [np.array([[0, 0, *one, 5]], dtype=np.float32) for one in np.eye(3)]
    found = consensus(tables[0], tables[1:], np.zeros(1, np.int64), DOMAIN, TimeBox(60))
    assert found[0, 2:5].sum() == 1


def test_fewer_datasets_are_matched_when_the_effort_ends():
    (first, *others), group = datasets(0, 10, 7, 1)
    whole = consensus(first, others, group, DOMAIN, TimeBox(60))
    box = TimeBox(60)
    consensus(first, others, group, DOMAIN, box)
    a_match = box.meter.spent / len(others)
    some = consensus(first, others, group, DOMAIN, TimeBox(60, effort=2.5 * a_match))
    assert (some == consensus(first, others[:2], group, DOMAIN, TimeBox(60))).all()
    assert not (some == whole).all()
    assert (consensus(first, others, group, DOMAIN, TimeBox(60, effort=0.5 * a_match)) == first).all()


@pytest.mark.nightly
@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(**SIZES)
def test_the_closest_guess_is_a_guess_and_none_has_a_smaller_expected_error(**sizes):
    imagined, group = datasets(**sizes)
    first = imagined[0]
    guesses = [first, consensus(first, imagined[1:], group, DOMAIN, TimeBox(60)), *imagined[2:4]]
    found = closest_to_all(guesses, imagined, DOMAIN, TimeBox(60))
    assert any(found is guess for guess in guesses)
    assert error(found, imagined) <= min(error(guess, imagined) for guess in guesses) + 1e-12


def test_a_consensus_is_often_closer_than_a_single_dataset():
    better = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = DOMAIN.uniform(15, rng)
        imagined = []
        for _ in range(9):
            table, noise = truth[rng.permutation(15)], DOMAIN.uniform(15, rng)
            changed = rng.random((15, 4)) < 0.2
            for a, attribute in enumerate(DOMAIN.attributes):
                columns = list(attribute.columns)
                table[:, columns] = np.where(changed[:, [a]], noise[:, columns], table[:, columns])
            imagined.append(table)
        agreed = consensus(imagined[0], imagined[1:], np.zeros(15, np.int64), DOMAIN, TimeBox(60))
        better += error(agreed, [truth]) < error(imagined[0], [truth])
    assert better >= 18


@pytest.mark.parametrize("imagined", [0, 3])
def test_the_first_guess_is_taken_where_nothing_can_be_told(imagined):
    tables, _ = datasets(1, 5, 4, 1)
    now = iter(range(1_000))
    over = TimeBox(0.5, clock=lambda: float(next(now)))
    assert closest_to_all(tables, tables[:imagined], DOMAIN, over) is tables[0]
    assert closest_to_all(tables, [], DOMAIN, TimeBox(60)) is tables[0]
    assert closest_to_all(tables[:1], tables[1:], DOMAIN, TimeBox(60)) is tables[0]
