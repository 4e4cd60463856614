"""What tests share of examinations: the same case gets the same answer, and whatever differs is examined anew."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import unexamined
from pytest_draft.policy.enough import Enough
from pytest_draft.policy.policy import Policy
from remembered import Remembered


@pytest.fixture
def shared(tmp_path):
    """Return a folder for answers, two files to examine, and a function that examines and counts how often it did."""
    folder = tmp_path / "answers"
    folder.mkdir()
    for name in ("model.joblib", "train.csv"):
        (tmp_path / name).write_text(name)
    runs = []

    def run(children, case, data=None, tell=None, elsewhere=None, enough=None):
        runs.append(case)
        known = unexamined(case)
        notes = (f"read {case.artifact}", f"run {len(runs)}")
        return replace(known, notes=notes, reasons=run.reasons), np.arange(3)

    run.reasons = ()
    memo = Remembered(folder)
    examine = memo.instead_of(run)
    case = Case(str(tmp_path / "model.joblib"), str(tmp_path / "train.csv"))
    return memo, run, runs, case, lambda case, data=None: examine(None, case, data)


def test_the_same_case_is_examined_once_and_what_a_test_does_to_the_answer_stays_there(shared):
    _, _, runs, case, examine = shared
    _, rows = examine(case)
    rows[:] = 9
    found, again = examine(case)
    assert (len(runs), found.notes[1]) == (1, "run 1")
    examine(case)[1][:] = 9
    assert examine(case)[1].tolist() == again.tolist() == [0, 1, 2]


def test_the_answer_names_the_files_as_the_case_does(shared, tmp_path):
    _, _, runs, case, examine = shared
    examine(case)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("model.joblib", "train.csv"):
        (elsewhere / name).write_text(name)
    moved = Case(str(elsewhere / "model.joblib"), str(elsewhere / "train.csv"))
    found, _ = examine(moved)
    assert len(runs) == 1
    assert (found.case, found.artifact.path, found.data.path) == (moved, moved.artifact, moved.data)
    assert found.notes[0] == f"read {moved.artifact}"


@pytest.mark.parametrize("change", ["parameter", "model.joblib", "train.csv", "name", "memory"])
def test_whatever_differs_is_examined_anew(shared, tmp_path, change):
    _, _, runs, case, examine = shared
    examine(case)
    if change == "parameter":
        case = replace(case, seed=1)
    elif change == "name":
        case = replace(case, data=str((tmp_path / "train.csv").rename(tmp_path / "train.parquet")))
    elif change != "memory":
        (tmp_path / change).write_text("other bytes")
    examine(case, "rows" if change == "memory" else None)
    assert len(runs) == 2


def test_whatever_could_end_it_sooner_is_examined_anew_and_the_same_thresholds_elsewhere_are_not(shared):
    memo, run, runs, case, examine = shared
    again = memo.instead_of(run)
    examine(case)
    for source, bar in (("one.toml", 0.1), ("other.toml", 0.1), ("one.toml", 0.2)):
        again(None, case, enough=Enough(Policy("ours", source, {"reconstruction-error": {"max_error": bar}})))
    assert len(runs) == 3


@pytest.mark.parametrize("reason", ["its share of the time box of 60 s", "the process was killed", "the memory cap"])
def test_what_the_machine_may_have_had_a_say_in_is_not_remembered(shared, reason):
    _, run, runs, case, examine = shared
    run.reasons = (reason,)
    examine(case)
    examine(case)
    assert len(runs) == 2


def test_what_is_to_be_examined_anew_is(shared):
    memo, _, runs, case, examine = shared
    examine(case)
    with memo.forgotten():
        examine(case)
    examine(case)
    assert (len(runs), len(memo.asked)) == (2, 3)


@pytest.mark.nightly
def test_a_pytest_of_its_own_answers_as_another_was_answered_and_starts_no_child(project, policy, tmp_path):
    project.write("ours.toml", policy(0.0))
    memo = Remembered(tmp_path / "answers")
    memo.folder.mkdir()
    alone = replace(project, remembered=memo)
    judge = ("--draft-forest=shallow.joblib", "--draft-data=train.csv", "--draft-policy=ours.toml")
    alone.run_apart(*judge).assert_outcomes(passed=1)
    (kept,) = (path for path in memo.folder.iterdir() if path.stat().st_size)
    packed, rows = pickle.loads(kept.read_bytes())
    changed = replace(pickle.loads(packed), notes=("as it was told before",))
    kept.write_bytes(pickle.dumps((pickle.dumps(changed), rows)))
    again = alone.run_apart(*judge)
    again.assert_outcomes(passed=1)
    again.stdout.fnmatch_lines(["*note: as it was told before"])
