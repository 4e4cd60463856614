"""What depended on the clock is said: as a note, or, where an effort should have decided, as a doubt."""

from __future__ import annotations

import pytest

from pytest_draft.examine.limits import TimeLimits
from pytest_draft.facts.case import Case
from pytest_draft.timebox import TimeBox


def ended() -> TimeBox:
    """Return a box of which the clock has ended a part, as somebody has seen."""
    now = [0.0]
    box = TimeBox(10.0, effort=5.0, clock=lambda: now[0])
    part = box.first(0.5)
    now[0] = 6.0
    assert part.over
    return box


@pytest.fixture
def limits():
    doubts: list[str] = []

    def made(effort: float | None) -> tuple[TimeLimits, list[str]]:
        return TimeLimits(Case("m.joblib", effort=effort), doubts.append), doubts

    return made


def test_without_an_effort_one_note_tells_all_that_the_clock_ended(limits):
    given, doubts = limits(None)
    assert given.notes == ()
    for what in ("attack", "evaluation", "attack"):
        given.note_clock(ended(), what)
    given.note_clock(TimeBox(600.0), "search for other datasets")
    (note,) = given.notes
    assert note.startswith("the clock decided how long the attack and the evaluation ran: figures can differ")
    assert not doubts


def test_three_searches_are_told_in_one_sentence(limits):
    given, _ = limits(None)
    for what in ("attack", "search for other datasets", "evaluation"):
        given.note_clock(ended(), what)
    assert "how long the attack, the search for other datasets and the evaluation ran: " in given.notes[0]


def test_with_an_effort_it_is_a_doubt(limits):
    given, doubts = limits(5.0)
    given.note_clock(ended(), "attack")
    assert given.notes == ()
    assert doubts[0].startswith("the clock ended the attack before its effort of 5 units was spent")


def test_a_box_that_the_effort_ended_is_nobodys_doubt(limits):
    given, doubts = limits(5.0)
    box = TimeBox(600.0, effort=1.0)
    box.spend(2.0)
    assert box.over
    given.note_clock(box, "attack")
    assert not doubts
