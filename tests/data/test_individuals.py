"""Inliers and outliers, and what is measured on each."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

from by_hand import array, flags, measured
from pytest_draft.data.individuals import inliers, record_share
from pytest_draft.domain import Attribute, Domain, infer
from pytest_draft.evaluate import findings as findings_module
from pytest_draft.facts.figures import Individuals
from pytest_draft.facts.findings import Findings
from pytest_draft.timebox import TimeBox

DOMAIN = flags("abcd")
COMMON, RARE = [0, 0, 0, 0], [1, 1, 1, 1]


def found(truth, rebuilt, seconds=60.0) -> Findings:
    return measured(truth, rebuilt, DOMAIN, timebox=TimeBox(seconds))


def kinds(times, n_columns=2) -> np.ndarray:
    """Return all kinds of rows of some flags, each so many times."""
    every = np.indices((2,) * n_columns).reshape(n_columns, -1).T
    return array(np.repeat(every, times, axis=0))


@pytest.mark.parametrize(
    ("times", "share"),
    [
        ([30, 11, 47, 10], 0.0),  # nobody's record
        ([30, 11, 47, 9], 9 / 97 / 9),  # nine are nearly a crowd
        ([30, 11, 47, 5], 5 / 93 * 5 / 9),
        ([30, 11, 470, 4], 1.0),  # four people
        ([30, 11, 470, 1], 1.0),  # one person
        ([20, 20, 20, 20], 1.0),  # four rows, written twenty times
        ([22, 44, 66, 2], 1.0),  # halves: 11, 22, 33 and 1
        ([22, 44, 66, 18], 18 / 150 / 9),  # and 9
    ],
)
def test_a_table_of_frequencies_is_nobodys_record_but_that_of_the_rare_ones(times, share):
    domain = Domain(
        DOMAIN.columns[:2], tuple(Attribute(name, "binary", (i,)) for i, name in enumerate("ab")), "by hand"
    )
    assert record_share(kinds(times), domain) == pytest.approx(share)


def test_a_table_that_leaves_most_of_its_domain_empty_is_of_people_however_often_each_is_written():
    assert record_share(array([COMMON] * 40 + [RARE] * 41), DOMAIN) == 1.0


def test_the_rare_rows_are_the_outliers():
    inside = inliers(array([COMMON] * 40 + [RARE] * 2), TimeBox(60))
    assert inside.tolist() == [True] * 40 + [False] * 2


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("seed", range(3))
def test_rows_are_told_apart_by_the_sign_of_scikit_learns_score(seed):
    rows = array(np.random.default_rng(seed).random((80, 4)) < [0.05, 0.1, 0.9, 0.5])
    score = IsolationForest(random_state=0).fit(rows).decision_function(rows)
    inside = inliers(rows, TimeBox(60))
    assert (inside == (score > 0)).all()
    assert 0 < inside.sum() < 80


def test_errors_and_perfect_rows_of_each_kind_are_those_counted_by_hand():
    result = found([COMMON] * 40 + [RARE] * 2, [COMMON] * 39 + [[1, 0, 0, 0]] + [[1, 1, 1, 0]] * 2)
    assert astuple(result.inliers) == (40, pytest.approx(1 / 4 / 40), 39)
    assert astuple(result.outliers) == (2, pytest.approx(1 / 4), 0)
    assert result.whole.error.worst == pytest.approx(1 / 4)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
def test_both_kinds_together_are_the_whole(seed):
    rng = np.random.default_rng(seed)
    truth, rebuilt = (array(rng.random((50, 4)) < [0.05, 0.1, 0.9, 0.5]) for _ in range(2))
    result = found(truth, rebuilt)
    kinds = (result.inliers, result.outliers)
    assert sum(kind.number for kind in kinds) == result.whole.rows
    assert sum(kind.perfect_rows for kind in kinds) == result.whole.perfect.lower
    whole = sum(kind.number * kind.error for kind in kinds if kind.number) / result.whole.rows
    assert whole == pytest.approx(result.whole.error.exact)


@pytest.mark.parametrize("rows", [[COMMON], [COMMON] * 12], ids=["one", "all alike"])
def test_a_kind_without_rows_has_no_error(rows):
    result = found(rows, rows)
    kinds = (result.inliers, result.outliers)
    assert sorted(kind.number for kind in kinds) == [0, len(rows)]
    assert {kind.error for kind in kinds} == {None, 0.0}


def test_kinds_are_counted_where_the_matching_is_not_exact(monkeypatch):
    monkeypatch.setattr(findings_module.Comparison, "partners", lambda *_: None)
    result = found([COMMON] * 40 + [RARE] * 2, [COMMON] * 41 + [RARE])
    assert (result.inliers, result.outliers) == (Individuals(40, None, 40), Individuals(2, None, 1))


def test_there_are_no_kinds_when_the_time_is_out():
    result = found([COMMON] * 4, [COMMON] * 4, seconds=1e-6)
    assert result.inliers is result.outliers is None


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("n_columns", [1_022, 1_024, 3_000])
def test_a_domain_of_more_rows_than_there_are_numbers_is_no_table_of_frequencies(n_columns):
    rows = np.random.default_rng(0).integers(0, 2, (30, n_columns)).astype(np.float32)
    assert record_share(rows, infer([str(c) for c in range(n_columns)], rows.astype(float))) == 1.0
