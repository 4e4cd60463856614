"""Whose rows these are: of many rows and trees it is asked within the time box only, of few always."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.artifact import occurrences
from pytest_draft.attack import observations
from pytest_draft.attack.groups import KnownRows
from pytest_draft.errors import OutOfTimeError
from pytest_draft.evaluate.identity import identify_granted, identify_in_order
from pytest_draft.timebox import TimeBox
from studies.files import through_file

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def told():
    rows = np.random.default_rng(0).integers(0, 3, (40, 3)).astype(np.float32)
    labels = np.arange(40) % 2
    forest = through_file(RandomForestClassifier(5, random_state=0).fit(rows, labels))
    return forest, KnownRows(rows, labels, occurrences(forest))


def ended() -> TimeBox:
    return TimeBox(1.0, clock=iter([0.0, *[9.0] * 99]).__next__)


def test_many_rows_are_not_counted_beyond_the_box(told, monkeypatch):
    monkeypatch.setattr(observations, "_SOON", 0.0)
    forest, everyone = told

    with pytest.raises(OutOfTimeError):
        identify_granted(forest, everyone, ended())
    with pytest.raises(OutOfTimeError):
        identify_in_order(forest, everyone, known_by_row=False, timebox=ended())
    assert identify_in_order(forest, everyone, known_by_row=False, timebox=TimeBox(600)).status == "confirmed"


def test_few_rows_are_always_counted(told):
    forest, everyone = told

    assert identify_granted(forest, everyone, ended()).status == "confirmed"
    assert identify_in_order(forest, everyone, known_by_row=False, timebox=ended()).status == "confirmed"
