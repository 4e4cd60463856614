"""An examination that crashes, hangs or takes too much ends as inconclusive with its reason, and leaves nothing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import psutil
import pytest
from sklearn.ensemble import RandomForestClassifier

from profiles import examples
from pytest_draft import isolation
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import unexamined
from pytest_draft.isolation import children

from .conftest import PATIENCE, examining, wait_for

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX"),
    pytest.mark.usefixtures("examined_anew", "memory_as_shipped"),
]

HANG = "time.sleep(3600)"
HEEDING = (  # Ctrl-C, even where these tests run in the background of a shell, whose commands ignore it
    "import signal, sys, pytest; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "sys.exit(pytest.main(sys.argv[1:]))"
)
XDIST_WAITS = (
    "import xdist.workermanage as xdist\nxdist.NodeManager.EXIT_TIMEOUT = 3600  # and kills no worker by then\n"
)


def gone(process: psutil.Process) -> bool:
    """Return whether a process runs no more."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


ATTACKED = """schema_version = 1
name = "attacked"

[rules.reconstruction-error]
max_error_of_split_half = 0.5

[rules.perfect-rows]
max_share_beyond_split_half = 0.5
"""
"""A policy that nothing but an attack can decide."""


@pytest.fixture
def examining_here(set_aside):
    """Return a function that gives those that examine for this process now, without those that are set aside."""

    def found() -> list[psutil.Process]:
        aside = {child.process.pid for child in set_aside.values() if child is not None}
        return [process for process in examining(os.getpid()) if process.pid not in aside]

    return found


@pytest.fixture
def inconclusive(project, examining_here):
    """Return a function that judges a forest, and gives its result after all that an inconclusive one must be."""

    def judged(*arguments: object, forest: str = "leaking", data: str = "train.csv") -> dict:
        given = "--draft-policy", project.write("attacked.toml", ATTACKED)
        run = project.judge(f"{forest}.joblib", *given, *arguments, data=data)
        assert run.ret == pytest.ExitCode.TESTS_FAILED
        result = project.result()
        assert result["verdict"] == "inconclusive"
        assert result["metrics"]["reconstruction_error"] is None
        assert any(line.startswith("  inconclusive: ") for line in run.outlines)
        assert len(examining_here()) <= 1  # the one that waits
        return result

    return judged


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """Return a folder with a forest that needs more than a second, and more than 500 MB."""
    folder, rng = tmp_path_factory.mktemp("large"), np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (1_500, 21)), columns=[f"c{i}" for i in range(21)])
    frame["label"] = rng.integers(0, 2, len(frame))
    forest = RandomForestClassifier(100, random_state=0).fit(frame.drop(columns="label"), frame["label"])
    joblib.dump(forest, folder / "large.joblib")
    frame.to_csv(folder / "large.csv", index=False)
    return folder


@pytest.fixture
def large(project, trained) -> str:
    """Return the name of that forest, which is in the project then."""
    for path in trained.iterdir():
        shutil.copy(path, project.path)
    return "large"


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT"])
def test_a_killed_examination_is_inconclusive_with_the_signal_and_what_was_known(
    inconclusive, at_stage, examining_here, name
):
    reached = at_stage("reconstruct", HANG)

    def kill() -> None:
        wait_for(reached.exists)
        for process in examining_here():
            process.send_signal(getattr(signal, name))

    killer = threading.Thread(target=kill)
    killer.start()
    result = inconclusive()
    killer.join()
    assert result["solver_status"] == "killed"
    (reason,) = result["reasons"]
    assert f"killed by {name} " in reason
    assert "its memory cap was " in reason
    assert len(result["artifact"]["sha256"]) == 64
    assert result["data"]["rows"] == 40


@pytest.mark.nightly
def test_an_examination_that_ends_without_an_answer_is_inconclusive(inconclusive, at_stage):
    at_stage("reconstruct", "os._exit(3)")
    result = inconclusive()
    assert result["solver_status"] == "no answer"
    assert "(exit status 3)" in result["reasons"][0]


@pytest.mark.nightly
def test_the_next_forest_is_judged_after_one_that_was_killed(project, at_stage):
    at_stage("reconstruct", "if len(arguments[0].counts) == 20: os._exit(3)")
    outcomes = project.judge("*a*.joblib").parseoutcomes()
    assert (outcomes["failed"], outcomes["inconclusive"], outcomes["passed"]) == (8, 4, 13)
    statuses = {r["artifact"]["path"]: r["solver_status"] for r in project.report()["results"]}
    assert statuses.pop("leaking.joblib") == "no answer"
    assert set(statuses.values()) <= {"unique", "consistent"}


@pytest.mark.nightly
def test_a_forest_that_needs_more_memory_than_the_cap_is_inconclusive(inconclusive, large):
    result = inconclusive("--draft-memory=500", forest=large, data="large.csv")
    assert result["solver_status"] == "out of memory"
    assert "500 MB" in result["reasons"][0]
    assert "--draft-memory" in result["reasons"][0]
    assert result["memory_cap"] == 500
    assert result["data"]["rows"] == 1_500


@pytest.mark.nightly
def test_a_cap_below_what_the_engine_itself_needs_is_inconclusive(inconclusive):
    result = inconclusive("--draft-memory=20")
    assert result["solver_status"] == "out of memory"
    assert "more than 20 MB (--draft-memory)" in result["reasons"][0]


@pytest.mark.nightly
def test_memory_is_watched_where_allocations_never_fail(inconclusive, at_stage):
    at_stage(
        "reconstruct",
        """
        import resource
        import numpy as np
        resource.setrlimit(resource.RLIMIT_DATA, (-1, -1))
        held = []
        while True:
            held.append(np.ones(2_500_000))
            time.sleep(0.01)
        """,
    )
    result = inconclusive("--draft-memory=600")
    assert result["solver_status"] == "out of memory"
    assert "more than 600 MB (--draft-memory)" in result["reasons"][0]


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit it")
def test_an_allocation_beyond_the_cap_fails_before_the_memory_is_used(inconclusive, at_stage):
    at_stage("reconstruct", "import numpy as np; np.empty(10_000_000_000, dtype=np.int8)")
    result = inconclusive("--draft-memory=1000")
    assert result["solver_status"] == "out of memory"
    assert "the memory cap of 1,000 MB is too little" in result["reasons"][0]


@pytest.mark.nightly
def test_a_second_is_too_little_for_a_large_forest_and_inconclusive(inconclusive, large):
    result = inconclusive("--draft-budget=1", forest=large, data="large.csv")
    assert any("--draft-budget" in reason for reason in result["reasons"])


@pytest.mark.nightly
def test_an_examination_that_overruns_its_time_box_is_ended(inconclusive, at_stage, monkeypatch):
    at_stage("rows_of", HANG)  # no search has begun that could end by itself before
    monkeypatch.setattr(isolation, "GRACE_SECONDS", 0.5)
    result = inconclusive("--draft-budget=1")
    assert result["solver_status"] == "overran"
    assert result["reasons"] == [
        "the process that examines the file was still running 0.5 s after its 1 s, and was killed",
    ]


@pytest.mark.nightly
def test_an_examination_whose_time_box_stands_still_while_code_is_compiled_does_not_overrun(
    project, at_stage, monkeypatch
):
    at_stage("rows_of", "from pytest_draft.timebox import CLOCK; CLOCK.stop(); time.sleep(2); CLOCK.go()")
    monkeypatch.setattr(isolation, "GRACE_SECONDS", 0.5)
    project.judge("leaking.joblib", "--draft-budget=1")
    result = project.result()
    assert result["solver_status"] not in ("overran", "no answer")
    assert result["statistics"]["compile seconds"] >= 2.0


@pytest.mark.nightly
def test_an_examination_that_tells_nothing_new_while_code_is_compiled_is_ended(inconclusive, at_stage, monkeypatch):
    at_stage("rows_of", f"from pytest_draft.timebox import CLOCK; CLOCK.stop(); {HANG}")
    monkeypatch.setattr(isolation, "COMPILE_SECONDS", 0.5)
    assert inconclusive("--draft-budget=2")["solver_status"] == "overran"


def test_an_examination_that_never_begins_is_ended(inconclusive, in_child, monkeypatch):
    in_child("import time; time.sleep(3600)")
    monkeypatch.setattr(isolation, "START_SECONDS", 0.5)
    result = inconclusive()
    assert result["solver_status"] == "no answer"
    assert "had not begun after 0.5 s" in result["reasons"][0]


def test_an_examination_that_cannot_be_started_is_inconclusive(inconclusive, in_child, monkeypatch):
    in_child("")
    monkeypatch.setattr(sys, "executable", "/no/such/interpreter")
    result = inconclusive()
    assert result["solver_status"] == "no answer"
    assert "no process could be started" in result["reasons"][0]


@pytest.fixture
def long_run(project, at_stage):
    """Start a pytest of its own whose attack never ends; return it and the processes that examine for it."""
    started = []

    def start(*arguments: str) -> tuple[subprocess.Popen, list[psutil.Process]]:
        reached = at_stage("reconstruct", HANG)
        command = [sys.executable, "-c", HEEDING, "-p", "no:hypothesispytest", "-p", "no:cacheprovider", *arguments]
        command += ["--draft-forest=leaking.joblib", "--draft-data=train.csv"]
        with (project.path / "out.txt").open("wb") as output:
            pytest_run = subprocess.Popen(command, cwd=project.path, stdout=output, stderr=subprocess.STDOUT)
        started.append(pytest_run)
        wait_for(reached.exists)
        found = examining(pytest_run.pid)
        assert found
        return pytest_run, found

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.nightly
def test_an_interrupt_ends_the_run_at_once_and_leaves_nothing(project, long_run):
    pytest_run, found = long_run()
    pytest_run.send_signal(signal.SIGINT)
    wait_for(lambda: all(map(gone, found)))
    assert pytest_run.wait(PATIENCE) == pytest.ExitCode.INTERRUPTED
    output = (project.path / "out.txt").read_text(encoding="utf-8")
    assert "KeyboardInterrupt" in output
    assert "not run, so this run cannot pass" in output


@pytest.mark.nightly
def test_an_interrupt_ends_a_distributed_run_and_leaves_nothing(project, long_run):
    project.write("conftest.py", XDIST_WAITS)
    pytest_run, found = long_run("-n2")
    pytest_run.send_signal(signal.SIGINT)
    wait_for(lambda: all(map(gone, found)))
    assert pytest_run.wait(PATIENCE) == pytest.ExitCode.INTERRUPTED


@pytest.mark.nightly
def test_an_examination_ends_when_pytest_is_killed(long_run):
    pytest_run, found = long_run()
    pytest_run.kill()
    pytest_run.wait()
    wait_for(lambda: all(map(gone, found)))


@pytest.mark.nightly
def test_an_interrupt_of_its_terminal_does_not_reach_the_examination(long_run):
    pytest_run, (process,) = long_run()
    assert os.getpgid(process.pid) != os.getpgid(pytest_run.pid)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert not gone(process)


@pytest.mark.nightly
def test_nothing_waits_any_more_when_a_session_has_ended(project):
    run = project.run_apart("--draft-forest=shallow.joblib", "--draft-data=train.csv")
    assert run.ret == pytest.ExitCode.OK
    left = [p for p in psutil.process_iter(["cmdline", "cwd"]) if p.info["cwd"] == str(project.path)]
    assert [p for p in left if "pytest_draft.isolation" in " ".join(p.info["cmdline"] or ())] == []


@pytest.mark.nightly
def test_one_process_examines_one_forest_after_another(project, in_child, tmp_path):
    starts = tmp_path / "starts"
    in_child(f"open({str(starts)!r}, 'a').write('.')")
    project.judge("*a*.joblib").assert_outcomes(failed=10, passed=13)
    assert starts.read_text() == "."


@pytest.mark.parametrize(("megabytes", "cap", "used_again"), [(60, 500, True), (200, 1_000, False), (200, 8_000, True)])
def test_a_child_is_used_again_where_the_next_forest_does_not_feel_what_is_left(
    megabytes, cap, used_again, monkeypatch
):
    child = object.__new__(isolation._Child)
    child._resting = 150 << 20
    monkeypatch.setattr(child, "_resident", lambda: child._resting + megabytes * 1_000_000, raising=False)
    case = Case(artifact="m.joblib", memory=cap)
    assert child.is_as_new(isolation._Answer(unexamined(case), None), case) is used_again


@pytest.mark.nightly
def test_an_interpreter_of_its_own_does_not_run_the_users_main_again(project):
    project.write(
        "main.py",
        "import sys, pytest\nprint('main runs')\n"
        "sys.exit(pytest.main(['--draft-forest=shallow.joblib', '--draft-data=train.csv']))\n",
    )
    run = project.pytester.run(sys.executable, "main.py")
    assert run.ret == pytest.ExitCode.OK
    assert run.outlines.count("main runs") == 1


class Unpicklable:
    """Data that cannot be sent anywhere."""

    def __reduce__(self):
        raise TypeError("row 9871712 cannot be pickled")


def test_data_that_cannot_be_sent_are_refused_with_one_line(project):
    examination, rebuilt = children.run(Case(str(project.path / "leaking.joblib")), Unpicklable())
    assert rebuilt is None
    assert examination.solver_status == "refused"
    assert examination.reasons == (
        "training data given in memory cannot be handed to the process that examines them (TypeError): "
        "give a pandas DataFrame, or a pair (X, y) of arrays",
    )


@pytest.mark.nightly
def test_data_of_a_type_that_only_this_process_knows_are_refused_with_one_line(project, monkeypatch):
    module = types.ModuleType("only_here")
    module.Mine = type("Mine", (dict,), {"__module__": "only_here"})
    monkeypatch.setitem(sys.modules, "only_here", module)
    examination, _ = children.run(Case(str(project.path / "leaking.joblib")), module.Mine())
    assert examination.solver_status == "refused"
    assert "cannot be handed to the process that examines them (ModuleNotFoundError)" in examination.reasons[0]


@pytest.mark.nightly
@pytest.mark.parametrize("forest", ["leaking", "bagged", "shallow"])
def test_a_child_answers_what_this_process_would(released, forest):
    from pytest_draft.examine.flow import examine

    case = Case(str(released / f"{forest}.joblib"), str(released / "train.csv"))
    here, mine = examine(case)
    there, theirs = isolation.run(case)
    assert (here.findings, here.reasons, here.solver_status) == (there.findings, there.reasons, there.solver_status)
    assert (mine.rows == theirs.rows).all()


@pytest.mark.nightly
def test_the_same_effort_gives_the_same_report_on_every_run(project, without_times):
    reports = []
    for _ in range(examples(3, least=2)):
        isolation.Children.close(children)  # each run in a process of its own
        project.judge("bagged.joblib", "--draft-effort=5")
        assert project.result()["effort"] == 5
        reports.append(without_times(project.report()))
    assert all(report == reports[0] for report in reports[1:])


@pytest.mark.nightly
def test_a_run_that_the_clock_ends_before_its_effort_says_so(inconclusive, at_stage):
    at_stage("reconstruct", "while not arguments[1].timebox.over: time.sleep(0.01)")
    result = inconclusive("--draft-budget=4", "--draft-effort=1000")
    assert any(
        "the clock ended the attack before its effort of 1000 units was spent" in why for why in result["reasons"]
    )


@pytest.mark.nightly
def test_evaluation_is_complete_when_the_attack_has_spent_all_effort(project):
    project.judge("shallow.joblib", "--draft-effort=1e-9")
    assert project.result()["baselines"]["random"]["draws"] >= 5


@pytest.mark.nightly
def test_the_paths_of_a_case_are_those_of_the_directory_that_pytest_is_in(project, monkeypatch):
    inner = project.path / "inner"
    inner.mkdir()
    (project.path / "leaking.joblib").rename(inner / "leaking.joblib")
    monkeypatch.chdir(inner)
    examination, _ = children.run(Case("leaking.joblib", str(Path("..", "train.csv"))))
    assert examination.findings is not None


@pytest.mark.nightly
def test_a_forest_is_examined_once_when_two_processes_share_its_checks(project, in_child, tmp_path):
    starts = tmp_path / "starts"
    in_child(
        "import sys\n"
        "if any('pytest_draft.isolation' in argument for argument in sys.orig_argv):\n"
        f"    open({str(starts)!r}, 'a').write('.')\n"
    )
    run = project.run_apart("--draft-forest=shallow.joblib", "--draft-data=train.csv", "-n2")
    run.assert_outcomes(passed=8)
    assert starts.read_text() == ".."  # one that the controller has look at the labels, and one that examines
