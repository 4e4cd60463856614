"""The clock of all time boxes stands still while what none of them pays for is done."""

from __future__ import annotations

import threading

import pytest

from pytest_draft.errors import OutOfTimeError
from pytest_draft.progress import COMPILING, Progress, StageClock
from pytest_draft.timebox import CLOCK, Stopwatch, TimeBox


def test_a_time_box_does_not_pay_for_what_its_clock_stands_still_for():
    now = [0.0]
    clock = Stopwatch(lambda: now[0])
    box = TimeBox(10.0, clock=clock)
    now[0] = 3.0
    clock.stop()
    now[0] = 50.0
    assert (box.elapsed, clock.is_stopped, clock.stood) == (3.0, True, 47.0)
    clock.go()
    now[0] = 52.0
    assert (box.elapsed, box.remaining, clock.is_stopped, clock.stood) == (5.0, 5.0, False, 47.0)


def test_a_clock_that_was_stopped_twice_goes_on_when_both_have_ended():
    now = [0.0]
    clock = Stopwatch(lambda: now[0])
    clock.stop()
    now[0] = 2.0
    clock.stop()
    now[0] = 5.0
    clock.go()
    now[0] = 9.0
    assert (clock(), clock.is_stopped) == (0.0, True)
    clock.go()
    now[0] = 10.0
    assert (clock(), clock.stood) == (1.0, 9.0)


def test_whoever_listens_is_told_once_when_a_clock_stops_and_once_when_it_goes_on():
    clock, told = Stopwatch(), []
    with clock.heard_by(lambda: told.append(clock.is_stopped)):
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
    with CLOCK.heard_by(stages.notify), stages("relax"):
        CLOCK.stop()
        stages.note("residual", 3)  # by another thread
        CLOCK.go()
    assert [(progress.stage, progress.is_stopped) for progress in told] == [
        ("relax", False),
        (COMPILING, True),
        (COMPILING, True),
        ("relax", False),
    ]
    assert stages.compiling["compile seconds"] >= told[2].elapsed >= told[1].elapsed >= 0.0
    assert str(Progress(COMPILING, None, None, 12.3, 60.0, is_stopped=True)) == "compiling (once on each machine), 12 s"


def test_a_clock_under_which_nothing_was_compiled_says_nothing_of_it():
    assert StageClock(TimeBox(60.0)).compiling == {}


def raised(flag) -> bool:
    """Wait until a flag is raised; the test's own limit ends it otherwise."""
    waiting = threading.Event()
    for _ in range(3_000):
        if flag[0]:
            return True
        waiting.wait(0.01)
    return False


def test_a_flag_is_raised_when_its_box_ends_and_not_before():
    now = [0.0]
    box = TimeBox(10.0, clock=lambda: now[0])
    other = TimeBox(1e9, clock=lambda: now[0])
    with box.flag() as flag, other.flag() as later:
        assert not flag[0]
        now[0] = 11.0
        assert raised(flag)
        assert not later[0]
    assert box.by_clock
    assert not other.by_clock


def test_a_flag_stays_down_while_the_clock_stands_still():
    now = [0.0]
    clock = Stopwatch(lambda: now[0])
    with TimeBox(10.0, clock=clock).flag() as flag:
        clock.stop()
        now[0] = 50.0
        threading.Event().wait(0.1)
        assert not flag[0]
        clock.go()
        now[0] = 61.0
        assert raised(flag)


def test_a_flag_of_a_box_that_has_ended_is_up_from_the_start():
    now = [11.0]
    with TimeBox(10.0, clock=lambda: now[0], start=0.0).flag() as flag:
        assert flag[0]


def test_however_long_a_step_may_take_it_begins_while_there_is_time():
    now = [0.0]
    box = TimeBox(10.0, clock=lambda: now[0])
    assert box.allows(1e9)
    box.require()
    now[0] = 10.5
    assert not box.allows(0.0)
    with pytest.raises(OutOfTimeError):
        box.require()


def test_effort_alone_decides_whether_work_of_so_many_units_begins():
    box = TimeBox(1e9, effort=2.0)
    box.spend(1.5)
    assert box.allows(0.5)
    assert not box.allows(0.6)
    assert not box.by_clock


def test_a_part_that_the_clock_ended_shows_in_the_whole_but_one_that_the_effort_ended_does_not():
    now = [0.0]
    box = TimeBox(10.0, effort=8.0, clock=lambda: now[0])
    by_effort = box.next(1.0)
    by_effort.spend(1.0)
    assert by_effort.over
    assert not box.by_clock
    part = box.first(0.5)
    now[0] = 6.0
    assert part.over
    assert not box.over
    assert box.by_clock
