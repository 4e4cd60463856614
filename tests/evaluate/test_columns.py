"""Which columns come back, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from by_hand import measured
from pytest_draft.domain import Attribute, Domain
from pytest_draft.facts.findings import ColumnFigures
from pytest_draft.timebox import TimeBox

DOMAIN = Domain(
    ("sex", "job_a", "job_b", "job_c", "pay"),
    (
        Attribute("sex", "binary", (0,)),
        Attribute("job", "one-hot", (1, 2, 3)),
        Attribute("pay", "numeric", (4,), 0.0, 100.0),
    ),
    "by hand",
)


def rows(*people: tuple[int, int, float]) -> np.ndarray:
    """Return encoded rows of a sex, a job and a pay."""
    table = np.zeros((len(people), 5), dtype=np.float32)
    for row, (sex, job, pay) in zip(table, people, strict=True):
        row[[0, 4]] = sex, pay
        row[1 + job] = 1
    return table


def columns(truth: np.ndarray, rebuilt: np.ndarray, seconds: float = 60.0) -> dict[str, ColumnFigures]:
    now = iter((0.0, *[100.0] * 10_000))
    timebox = TimeBox(60.0) if seconds else TimeBox(1.0, clock=lambda: next(now))
    findings = measured(truth, rebuilt, DOMAIN, timebox=timebox)
    if findings.columns:
        counted = np.array([1, 3, 1]) / 5
        errors = [one.error for one in findings.columns]
        assert float(counted @ errors) == pytest.approx(findings.whole.error.exact)
    return {one.name: one for one in findings.columns}


@pytest.mark.nightly
def test_a_column_that_comes_back_is_told_from_one_that_does_not():
    truth = rows(*((i % 2, i % 3, 7.0 * i) for i in range(12)))
    rebuilt = truth.copy()
    rebuilt[:3, 4] += 30.0  # pay of three people
    found = columns(truth, rebuilt)
    assert list(found) == ["sex", "job", "pay"]
    assert (found["sex"].right, found["sex"].error) == (1.0, 0.0)
    assert found["job"].right == 1.0
    assert found["pay"].right < 1.0
    assert found["pay"].error > 0


@pytest.mark.nightly
def test_a_one_hot_group_is_one_column_and_right_as_a_whole():
    truth = rows((0, 0, 10.0), (1, 1, 50.0), (0, 2, 90.0))
    rebuilt = rows((0, 1, 10.0), (1, 1, 50.0), (0, 2, 90.0))
    found = columns(truth, rebuilt)["job"]
    assert found.right == pytest.approx(2 / 3)
    assert found.error == pytest.approx(2 / 9)  # two of nine indicators


@pytest.mark.nightly
def test_a_number_is_right_to_within_the_tolerance_of_perfect_rows():
    truth = rows(*((0, 0, 5.0 * i) for i in range(20)))
    rebuilt = truth + np.array([0, 0, 0, 0, 0.5], dtype=np.float32)
    assert columns(truth, rebuilt)["pay"].right == 1.0
    assert columns(truth, rebuilt + np.array([0, 0, 0, 0, 1.5], dtype=np.float32))["pay"].right < 1.0


@pytest.mark.nightly
def test_others_share_of_right_values_is_that_of_people_who_are_not_rebuilt():
    truth = rows(*((1, i % 3, 5.0 * i) for i in range(20)))  # everybody has the same sex
    found = columns(truth, truth)
    assert found["sex"].split_half == 1.0
    assert found["sex"].beyond == 0.0
    assert found["pay"].split_half < 0.5
    assert found["pay"].beyond == 1.0


def test_without_a_matching_no_column_is_told():
    truth = rows(*((i % 2, i % 3, 7.0 * i) for i in range(12)))
    assert columns(truth, truth + 1, seconds=0) == {}
