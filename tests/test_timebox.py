"""The clock of all time boxes stands still while what none of them pays for is done."""

from __future__ import annotations

from pytest_draft.progress import COMPILING, Progress, StageClock
from pytest_draft.timebox import CLOCK, Stopwatch, TimeBox


def test_a_time_box_does_not_pay_for_what_its_clock_stands_still_for():
    now = [0.0]
    clock = Stopwatch(lambda: now[0])
    box = TimeBox(10.0, clock=clock)
    now[0] = 3.0
    clock.stop()
    now[0] = 50.0
    assert (box.elapsed, clock.stands, clock.stood) == (3.0, True, 47.0)
    clock.go()
    now[0] = 52.0
    assert (box.elapsed, box.remaining, clock.stands, clock.stood) == (5.0, 5.0, False, 47.0)


def test_a_clock_that_was_stopped_twice_goes_on_when_both_have_ended():
    now = [0.0]
    clock = Stopwatch(lambda: now[0])
    clock.stop()
    now[0] = 2.0
    clock.stop()
    now[0] = 5.0
    clock.go()
    now[0] = 9.0
    assert (clock(), clock.stands) == (0.0, True)
    clock.go()
    now[0] = 10.0
    assert (clock(), clock.stood) == (1.0, 9.0)


def test_whoever_listens_is_told_once_when_a_clock_stops_and_once_when_it_goes_on():
    clock, told = Stopwatch(), []
    with clock.heard_by(lambda: told.append(clock.stands)):
        clock.stop()
        clock.stop()
        clock.go()
        clock.go()
    clock.stop()
    clock.go()
    assert told == [True, False]


def test_the_live_line_says_that_code_is_compiled_and_for_how_long():
    told = []
    stages = StageClock(TimeBox(60.0, clock=lambda: 0.0, start=0.0), told.append)
    with CLOCK.heard_by(stages.tell), stages("relax"):
        CLOCK.stop()
        stages.note("residual", 3)  # by another thread
        CLOCK.go()
    assert [(progress.stage, progress.stands) for progress in told] == [
        ("relax", False),
        (COMPILING, True),
        (COMPILING, True),
        ("relax", False),
    ]
    assert stages.compiling["compile seconds"] >= told[2].elapsed >= told[1].elapsed >= 0.0
    assert str(Progress(COMPILING, None, None, 12.3, 60.0, stands=True)) == "compiling (once on each machine), 12 s"


def test_a_clock_under_which_nothing_was_compiled_says_nothing_of_it():
    assert StageClock(TimeBox(60.0)).compiling == {}
