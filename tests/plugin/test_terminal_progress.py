"""What a terminal, a log and ``-q`` show while a forest is examined."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_draft.plugin import terminal_progress
from pytest_draft.progress import Progress, StageClock
from pytest_draft.timebox import TimeBox

SLOW = "time.sleep(0.5)"
UNTIL_SEEN = "while not (here / 'seen.txt').exists(): time.sleep(0.01)"


def test_a_clock_tells_each_stage_and_figure_and_adds_up_seconds():
    now, told = [0.0], []
    clock = StageClock(TimeBox(60.0, clock=lambda: now[0]), told.append)
    with clock("relax"):
        now[0] = 2.0
        clock.note("residual", 12)
        with clock("repair"):
            clock.note("residual", 0)
    assert told == [
        Progress("relax", None, None, 0.0, 60.0),
        Progress("relax", "residual", 12.0, 2.0, 60.0),
        Progress("repair", "residual", 12.0, 2.0, 60.0),
        Progress("repair", "residual", 0.0, 2.0, 60.0),
    ]
    assert set(clock.figures) == {"relax seconds", "repair seconds"}
    assert str(told[1]) == "relax, residual 12, 2 of 60 s"


def test_a_clock_that_nobody_listens_to_adds_up_seconds():
    clock = StageClock()
    for _ in range(2):
        with clock("relax"):
            clock.note("residual", 1)
    assert list(clock.figures) == ["relax seconds"]


@pytest.mark.nightly
def test_a_log_gets_a_line_of_its_own_for_each_stage_when_time_has_passed(project, at_stage, monkeypatch):
    at_stage("reconstruct", SLOW)
    monkeypatch.setattr(terminal_progress, "PLAIN_SECONDS", 0.0)
    result = project.judge("shallow.joblib")
    shown = [
        line
        for line in result.outlines
        if re.fullmatch(r"  [a-z' ]+( \(counts off by \d+\))?, \d+ of at most 60 s", line)
    ]
    assert shown
    assert len(shown) == len(set(shown))
    result.stdout.fnmatch_lines(["shallow.joblib .*[[]100%[]]"])


@pytest.mark.nightly
def test_a_log_gets_nothing_when_all_is_done_in_less_than_ten_seconds(project, at_stage, monkeypatch):
    assert terminal_progress.PLAIN_SECONDS == 10.0
    monkeypatch.setattr(terminal_progress, "PLAIN_SECONDS", 3600.0)  # a slow machine may need more than ten
    at_stage("reconstruct", SLOW)
    project.judge("shallow.joblib").stdout.no_fnmatch_line("* of at most 60 s*")


@pytest.mark.nightly
@pytest.mark.parametrize("arguments", [("-q",), ("-qq",), ("-p", "no:terminal")], ids=" ".join)
def test_nothing_is_shown_when_the_run_is_quiet(project, at_stage, monkeypatch, arguments):
    at_stage("reconstruct", SLOW)
    monkeypatch.setattr(terminal_progress, "PLAIN_SECONDS", 0.0)
    project.judge("shallow.joblib", *arguments).stdout.no_fnmatch_line("* of at most 60 s*")


SHALLOW = ("-p", "no:cacheprovider", "--draft-forest=shallow.joblib", "--draft-data=train.csv")
LIVE = re.compile(r"\x1b\[(\d+)G\x1b\[K(?=[a-z][^\x1b]* of at most 60 s)")


@pytest.mark.nightly
@pytest.mark.parametrize("arguments", [(), ("-v",), ("-s",)], ids=["captured", "verbose", "uncaptured"])
def test_a_terminal_gets_one_line_that_is_rewritten_wiped_and_names_the_model_once(on_a_terminal, at_stage, arguments):
    seen = at_stage("reconstruct", UNTIL_SEEN).with_name("seen.txt")

    def see(written: str) -> None:
        if len(LIVE.findall(written)) >= 2:
            seen.touch()

    status, text = on_a_terminal(*SHALLOW, *arguments, listener=see, TERM="xterm", COLUMNS="100")
    assert status == pytest.ExitCode.OK
    columns = LIVE.findall(text)
    assert len(columns) >= 2
    assert len(set(columns)) == 1
    last = list(LIVE.finditer(text))[-1]
    wiped = f"\x1b[{columns[0]}G\x1b[K"
    assert wiped in text[last.end() :]
    result = text[text.rindex(wiped) + len(wiped) :]
    assert " of at most 60 s" not in result
    assert "\n" not in text[LIVE.search(text).start() : text.rindex(wiped)]
    if not arguments:  # the line of a file names its model already
        assert not re.search(r"shallow\.joblib[^\r\n]*shallow\.joblib", text)


@pytest.mark.nightly
def test_a_marked_tests_line_names_the_model_that_is_examined(project, at_stage, monkeypatch):
    at_stage("reconstruct", SLOW)
    monkeypatch.setattr(terminal_progress, "PLAIN_SECONDS", 0.0)
    project.configure("shallow.joblib")
    project.mark("max_error=0.0")
    project.run().stdout.fnmatch_lines(["shallow.joblib: *, * of at most 60 s", "test_marked.py .*"])


def test_every_stage_of_the_engine_is_told_in_plain_words():
    source = Path(terminal_progress.__file__).parents[1]
    named = {
        stage
        for path in source.rglob("*.py")
        for stage in re.findall(r'clock\("([a-z ]+)"\)', path.read_text(encoding="utf-8"))
    }
    assert len(named) > 15
    assert named <= set(terminal_progress.STAGES)


@pytest.mark.parametrize(
    ("room", "text"),
    [
        (80, "a.joblib: correcting the last rows (counts off by 12), 2 of at most 60 s"),
        (60, "a.joblib: correcting the last rows, 2 of at most 60 s"),
        (45, "correcting the last rows, 2 of at most 60 s"),
        (30, "correcting , 2 of at most 60 s"),
    ],
)
def test_what_has_no_room_is_left_out_the_time_last(room, text):
    progress = Progress("repair", "residual", 12.0, 2.0, 60.0)
    assert terminal_progress.in_words(progress, "a.joblib", room) == text


@pytest.mark.nightly
def test_a_dumb_terminal_gets_no_escapes(on_a_terminal, at_stage):
    at_stage("reconstruct", SLOW)
    status, text = on_a_terminal(*SHALLOW, "--color=no", TERM="dumb", COLUMNS="100")
    assert status == pytest.ExitCode.OK
    assert "\x1b" not in text
