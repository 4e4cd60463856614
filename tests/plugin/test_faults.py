"""Faults around a gate: each ends in a verdict or in an inconclusive with its reason, and the next run works."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from made_up_facts import filled
from pytest_draft import isolation
from pytest_draft.facts import storage
from pytest_draft.facts.examination import Examination
from pytest_draft.isolation import Children
from pytest_draft.plugin import cache, models, sharing, summary, usage
from pytest_draft.plugin import session as sessions
from pytest_draft.plugin.cache import Cache
from pytest_draft.plugin.sharing import Shared

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")

OF_FILE = """
schema_version = 1
name = "ours"

[rules.smallest-leaf]
min_rows = 1
"""
"""What is judged by that needs no attack, and no training data."""

HOLDER = """
import os, signal, sys
from filelock import FileLock
FileLock(sys.argv[1]).acquire()
print("held", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""


def left_over(folder: Path) -> list[str]:
    """Return the temporary files in a folder."""
    return [path.name for path in folder.rglob("*") if "tmp" in path.suffix or path.name.startswith(".draft")]


@pytest.fixture
def of_file(project):
    """Return the arguments that judge a file without an attack, the last of which names the report."""
    project.write("policy.toml", OF_FILE)
    given = ["--draft-forest=shallow.joblib", "--draft-data=train.csv", "--draft-policy=policy.toml"]
    return [*given, "--draft-report=json:report.json"]


# Locks


@pytest.fixture
def stopped():
    """Return a function that has another process hold a lock, and stop."""
    started = []

    def hold(path: Path) -> subprocess.Popen:
        holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE)
        started.append(holder)
        assert holder.stdout.readline() == b"held\n"
        return holder

    yield hold
    for holder in started:
        holder.kill()
        holder.wait()
        holder.stdout.close()


@pytest.mark.parametrize("room", ["shared", "kept"])
def test_a_stopped_process_that_holds_a_lock_is_not_waited_for_without_an_end(tmp_path, stopped, monkeypatch, room):
    examination = filled(Examination)
    monkeypatch.setattr(cache, "key_of", lambda case: "key")
    waiting = {
        "shared": lambda: Shared(tmp_path).once(examination.case, lambda: examination),
        "kept": lambda: Cache(tmp_path).once(examination.case, lambda _: True, lambda: examination),
    }[room]
    waiting()
    for found in tmp_path.glob("*.json"):
        found.unlink()
    (lock,) = tmp_path.glob("*.lock")
    holder = stopped(lock)
    for module in (sharing, cache):
        monkeypatch.setattr(module, "longest_examination", lambda case: 0.1)
    assert waiting() == examination
    holder.kill()
    holder.wait()
    for module in (sharing, cache):
        monkeypatch.setattr(module, "longest_examination", lambda case: 1e9)
    again = waiting()  # what was found out without the lock is there for the next one
    assert again.findings == examination.findings


def test_whoever_waits_for_a_stopped_process_heeds_an_interrupt(tmp_path, stopped):
    examination, shared = filled(Examination), Shared(tmp_path)
    shared.once(examination.case, lambda: examination)
    stopped(next(tmp_path.glob("*.lock")))
    (tmp_path / sharing.INTERRUPTED).touch()
    with pytest.raises(KeyboardInterrupt):
        shared.once(examination.case, lambda: pytest.fail("it is interrupted"))


def test_a_lock_is_waited_for_as_long_as_an_examination_may_take():
    case = filled(Examination).case
    assert sharing.longest_examination(case) >= isolation.START_SECONDS + case.seconds + isolation.GRACE_SECONDS


def test_where_there_can_be_no_lock_nobody_waits(tmp_path):
    with sharing.locked(tmp_path / "no such folder" / "lock", 1e9) as held:
        assert held or (tmp_path / "no such folder").exists()
    (tmp_path / "folder").mkdir()
    with sharing.locked(tmp_path / "folder", 1e9) as held:
        assert not held


@pytest.mark.parametrize("damage", ["", "{", '{"artifact": 1}', "\0" * 100, None], ids=range(5))
def test_what_a_killed_worker_has_left_half_written_is_found_out_anew(tmp_path, damage):
    examination, shared = filled(Examination), Shared(tmp_path)
    shared.once(examination.case, lambda: examination)
    (written,) = tmp_path.glob("*.json")
    whole = written.read_text(encoding="utf-8")
    written.write_text(whole[: len(whole) // 2] if damage is None else damage, encoding="utf-8")
    asked = []
    assert shared.once(examination.case, lambda: asked.append(1) or examination) == examination
    assert asked == [1]
    assert written.read_text(encoding="utf-8") == whole


# A full disk, and folders that cannot be written to


@contextmanager
def full_disk(number: int) -> Iterator[list[Path]]:
    """Let the disk be full: the write of this number, counted from 1, and all later ones fail."""
    writes: list[Path] = []
    write = storage.write_atomically

    def atomically(path: Path, text: str) -> None:
        writes.append(path)
        if len(writes) >= number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(path, text)

    with pytest.MonkeyPatch.context() as patch:
        for module in (sharing, cache, summary):
            patch.setattr(module, "write_atomically", atomically)
        yield writes


def test_what_cannot_be_shared_is_still_found_out(tmp_path):
    examination, shared = filled(Examination), Shared(tmp_path)
    with full_disk(1):
        assert shared.once(examination.case, lambda: examination) == examination
    assert list(tmp_path.glob("*.json")) == []


@pytest.mark.nightly
@pytest.mark.parametrize("number", [1, 2])
def test_on_a_full_disk_the_verdict_is_given_and_the_earlier_report_stays(project, of_file, number):
    project.write("report.json", "earlier")
    with full_disk(number) as writes:
        run = project.run(*of_file, "--draft-cache")
    assert len(writes) == 2  # what was found out is kept, and the report
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.stdout.fnmatch_lines(["*shallow.joblib *passed*", "*json report: report.json was not written (No space left*"])
    assert (project.path / "report.json").read_text() == "earlier"
    assert left_over(project.path) == []
    assert project.run(*of_file, "--draft-cache").ret == pytest.ExitCode.OK
    assert project.report()["verdict"] == "passed"
    assert project.result()["cached"] is (number == 2)


def test_without_a_place_for_the_cache_the_verdict_is_given(project, of_file, monkeypatch):
    project.write(".pytest_cache", "a file in place of a folder")
    run = project.run(*of_file, "--draft-cache", "-Wignore")
    assert run.ret == pytest.ExitCode.OK
    assert project.report()["verdict"] == "passed"


def contained(project, arguments: list[str], *, mounts: str = "", limits: str = "") -> pytest.RunResult | None:
    """Run pytest in a container: nothing can be written, no HOME, no TMPDIR, no /dev/shm, no capabilities."""
    script = f"""
        set -e
        mount --make-rprivate /
        {mounts}
        mount -o remount,ro,bind /
        [ ! -d /dev/shm ] || mount -t tmpfs -o ro none /dev/shm
        {limits}
        exec env -i PATH="$PATH" PYTHONPATH="$PYTHONPATH" OMP_NUM_THREADS=1 COLUMNS=200 \\
            setpriv --bounding-set -all --inh-caps -all "$@"
    """
    command = [sys.executable, "-m", "pytest", "-p", "no:hypothesispytest", "--capture=sys", "-Wignore", *arguments]
    return project.pytester.run("unshare", "-m", "sh", "-c", script, "sh", *command)


@pytest.fixture(scope="session")
def containers():
    """Skip where there are no namespaces of one's own."""
    if not shutil.which("unshare") or not shutil.which("setpriv"):
        pytest.skip("needs unshare and setpriv")
    if subprocess.run(["unshare", "-m", "mount", "--make-rprivate", "/"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces here")


@pytest.mark.nightly
@pytest.mark.usefixtures("containers")
def test_where_nothing_can_be_written_the_verdict_is_given(project, of_file):
    run = contained(project, [*of_file, "--draft-cache"])
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.stdout.fnmatch_lines(
        ["*shallow.joblib *passed*", "*json report: report.json was not written (Read-only file system)*"]
    )
    run.stdout.no_fnmatch_line("*INTERNALERROR*")
    assert not (project.path / "report.json").exists()


@pytest.mark.nightly
@pytest.mark.usefixtures("containers")
@pytest.mark.parametrize("option", ["--draft-demo", "-n2"])
def test_what_needs_a_folder_for_temporary_files_says_so_in_one_line(project, of_file, one_line_error, option):
    given = [option] if option == "--draft-demo" else [*of_file, option]
    line = one_line_error(contained(project, given))
    assert f"ERROR: {option[:2] if option == '-n2' else option}: " in line
    assert "set TMPDIR to one" in line


@pytest.mark.nightly
@pytest.mark.usefixtures("containers")
def test_on_a_disk_that_is_really_full_the_earlier_report_stays_and_nothing_is_left(project, of_file):
    (project.path / "out").mkdir()
    full = f"""
        mount -t tmpfs -o size=16k none {project.path}/out
        echo earlier > {project.path}/out/report.json
        dd if=/dev/zero of={project.path}/out/filler 2>/dev/null || true
    """
    project.write(
        "conftest.py",
        """
        import pathlib

        def pytest_unconfigure():
            names = sorted(path.name for path in pathlib.Path("out").iterdir() if path.is_file())
            print("left:", *names, pathlib.Path("out/report.json").read_text())
        """.replace("\n        ", "\n"),
    )
    report, kept = "--draft-report=json:out/report.json", ["--draft-cache", "-ocache_dir=out/cache"]
    run = contained(project, [*of_file[:-1], report, *kept], mounts=full)
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.stdout.fnmatch_lines(
        ["*shallow.joblib *passed*", "*out/report.json was not written (No space left on device)*"]
    )
    run.stdout.fnmatch_lines(["left: filler report.json earlier"])


# Threads, memory, clocks


@pytest.mark.parametrize("which", [0, 1])
def test_without_a_thread_it_is_inconclusive_and_the_next_run_works(
    project, in_child, of_file, monkeypatch, examined_anew, which
):
    in_child("")
    start, started = threading.Thread.start, []

    def refuse(thread: threading.Thread) -> None:
        if "pytest_draft" in getattr(thread._target, "__module__", ""):
            started.append(thread)
            if len(started) > which:
                raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        before = {process.pid for process in psutil.Process().children()}
        run = project.run(*of_file)
        assert {process.pid for process in psutil.Process().children()} <= before
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    result = project.result()
    assert (result["verdict"], result["solver_status"]) == ("inconclusive", "no answer")
    assert result["reasons"] == [
        "no thread could be started to examine the file: raise the limit of processes and threads (ulimit -u)"
    ]


@pytest.mark.nightly
@pytest.mark.parametrize("jump", [-86_400.0, None])
def test_a_clock_that_jumps_changes_no_verdict(project, of_file, at_stage, monkeypatch, jump):
    at_stage(
        "rows_of",
        f"""
        import itertools
        days, clock = itertools.count(), time.time
        time.as_it_was = clock
        time.time = lambda: clock() + {jump if jump is not None else "86_400.0 * (-1) ** next(days)"}
        """,
    )
    at_stage("evaluate", "time.time = time.as_it_was")  # the child serves other tests, too
    clock, days = time.time, itertools.count()
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: clock() + (jump if jump is not None else 86_400.0 * (-1) ** next(days)))
        run = project.judge("shallow.joblib")
    assert run.ret == pytest.ExitCode.OK
    result = project.result()
    assert result["verdict"] == "passed"
    assert 0.0 <= result["seconds"] < 3_600.0


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit it")
@pytest.mark.parametrize("kilobytes", [400_000, 1_200_000])
def test_with_little_address_space_it_is_judged_or_inconclusive(project, of_file, kilobytes):
    command = [sys.executable, "-m", "pytest", "-p", "no:hypothesispytest", *of_file]
    run = project.pytester.run("sh", "-c", f'ulimit -v {kilobytes}; exec "$@"', "sh", *command)
    run.stdout.no_fnmatch_line("*INTERNALERROR*")
    result = project.result()
    assert (run.ret, result["verdict"]) in [(0, "passed"), (1, "inconclusive")]
    assert result["reasons"] or result["verdict"] == "passed"


# Ends from outside


@pytest.mark.nightly
def test_a_child_that_is_killed_as_it_reads_is_inconclusive_and_the_next_run_works(project, of_file, at_stage):
    at_stage("rows_of", "os.kill(os.getpid(), 9)")
    assert project.run(*of_file).ret == pytest.ExitCode.TESTS_FAILED
    result = project.result()
    assert (result["verdict"], result["solver_status"]) == ("inconclusive", "killed")
    assert left_over(project.path) == []
    at_stage("rows_of", "pass")
    assert project.run(*of_file).ret == pytest.ExitCode.OK


KILLED_WORKER = """
import os, pathlib

def pytest_runtest_setup():
    done = pathlib.Path("killed")
    if "PYTEST_XDIST_WORKER" in os.environ and not done.exists():
        done.touch()
        os.kill(os.getpid(), 9)
"""


@pytest.mark.nightly
def test_a_worker_that_is_killed_keeps_the_run_from_passing_and_the_next_one_works(project, of_file):
    project.write("conftest.py", KILLED_WORKER)
    run = project.run_apart(*of_file, "-n1")
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    assert project.report()["verdict"] == "inconclusive"
    assert left_over(project.path) == []
    assert project.run(*of_file).ret == pytest.ExitCode.OK
    assert project.report()["verdict"] == "passed"


STAGES = {
    "settings": (sessions, "resolve"),
    "policy": (models, "read_policy"),
    "labels": (usage, "_wrong"),
    "a child": (Children, "run"),
    "judging": (sessions, "result_of"),
    "joining": (summary, "document"),
    "rendering": (summary, "_rendered"),
    "writing": (storage.Path, "replace"),
    "table": (summary, "table"),
}
"""What a gate calls, from its beginning to its end."""


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupt_at_any_stage_leaves_no_part_of_a_report_and_the_next_run_works(project, of_file, stage):
    project.write("report.json", "earlier")
    where, name = STAGES[stage]
    off = ["-p", "no:hypothesispytest", "-p", "no:cacheprovider"]

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, interrupt)
        try:
            run = project.pytester.inline_run(*off, *of_file, no_reraise_ctrlc=True)
        except KeyboardInterrupt:  # after the last test, pytest itself lets it through
            pass
        else:
            assert run.ret == pytest.ExitCode.INTERRUPTED
    report = (project.path / "report.json").read_text()
    assert report == "earlier" or json.loads(report)["verdict"] in ("passed", "inconclusive")
    assert left_over(project.path) == []
    assert project.run(*of_file).ret == pytest.ExitCode.OK
    assert project.report()["verdict"] == "passed"


@pytest.mark.nightly
def test_two_gates_in_one_folder_at_once_do_not_disturb_each_other(project, of_file):
    command = [sys.executable, "-m", "pytest", "-p", "no:hypothesispytest", *of_file, "--draft-cache"]
    gates = [subprocess.Popen(command, cwd=project.path, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [gate.wait() for gate in gates] == [0, 0]
    assert project.report()["verdict"] == "passed"
    assert left_over(project.path) == []


# Files that change

SWAP = """
import os, shutil

def pytest_runtest_teardown(item):
    if not os.path.exists("swapped"):
        open("swapped", "w").close()
        shutil.copy({new!r}, "new")
        os.replace("new", {old!r})
"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("old", "new"),
    [("shallow.joblib", "bagged.joblib"), ("train.csv", "shuffled.csv")],
    ids=["model", "data"],
)
def test_nothing_passes_of_a_file_that_changes_while_it_is_judged(project, old, new):
    project.write("conftest.py", SWAP.format(old=old, new=new))
    project.write("policy.toml", OF_FILE + "\n[rules.verbatim-data]\n")
    adversaries = ["--draft-adversary=artifact", "--draft-adversary=published"]
    run = project.judge("shallow.joblib", "--draft-policy=policy.toml", *adversaries)
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    report = project.report()
    assert report["verdict"] == "inconclusive"
    checks = [check for result in report["results"] for check in result["checks"]]
    assert len(checks) == 4
    assert {check["result"] for check in checks} == {"inconclusive"}
    run.stdout.fnmatch_lines([f"*files that changed during the run, which fails it: {old}"])
    assert project.judge("shallow.joblib", "--draft-policy=policy.toml", *adversaries).ret in (0, 1)
    assert project.report()["verdict"] != "inconclusive"


@pytest.mark.nightly
def test_a_file_that_stays_is_in_no_doubt(project):
    project.write("policy.toml", OF_FILE)
    run = project.judge("shallow.joblib", "--draft-policy=policy.toml", "--draft-adversary=published")
    assert run.ret == pytest.ExitCode.OK


def test_what_was_found_out_of_a_file_that_was_there_for_a_moment_is_not_kept(tmp_path):
    examination = filled(Examination)
    model = tmp_path / "model"
    model.write_text("leaks")
    case = sharing.Case(str(model))

    def compute() -> Examination:
        model.rename(tmp_path / "aside")
        model.write_text("other")
        model.unlink()
        shutil.copy(tmp_path / "aside", model)
        return examination

    kept = tmp_path / "kept"
    kept.mkdir()
    Cache(kept).once(case, lambda _: True, compute)
    assert list(kept.glob("*.json")) == []


# Inputs that are too large for this process


def sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def test_a_sparse_model_file_beside_a_waiver_is_no_model_that_the_waiver_is_for(project, one_line_error):
    try:
        sparse(project.path / "shallow.joblib", 200 << 30)
    except OSError:
        pytest.skip("no files of this size here")
    waiver = f'[[waiver]]\nrule = "smallest-leaf"\nartifact_sha256 = "{"0" * 64}"\nreason = "r"\nowner = "o"\n'
    project.write("policy.toml", OF_FILE + waiver + "expires = 2999-01-01\n")
    line = one_line_error(project.run("--draft-forest=shallow.joblib", "--draft-policy=policy.toml"))
    assert "no model file with the SHA-256 000000000000... is judged" in line


@pytest.mark.parametrize("size", [1 << 30, 200 << 30])
def test_an_earlier_report_that_is_none_by_its_size_is_a_usage_error(project, of_file, one_line_error, size):
    sparse(project.path / "earlier.json", size)
    line = one_line_error(project.run(*of_file, "--draft-compare=earlier.json"))
    assert "earlier.json cannot be read (it is larger than 268 MB)" in line


NESTED = {
    "lists": "x = " + "[" * 100_000 + "]" * 100_000,
    "tables": "x = " + "{a = " * 100_000 + "1" + "}" * 100_000,
    "some lists": "x = " + "[" * 200 + "]" * 200,
    "a key": ".".join(["a"] * 60_000) + " = 1",
    "a quoted key": " . ".join(['"a b"'] * 60_000) + " = 1",
    "a table": "[rules." + ".".join(["a"] * 60_000) + "]",
    "a key in a table": "x = {" + ".".join(["a"] * 60_000) + " = 1}",
    "many keys": "\n".join(".".join(["a"] * 30 + [f"b{i}"]) + ".c" * 3 + " = 1" for i in range(9)),
    "a number": "x = " + "1" * 5_000,
    "its size": "#" * (2 << 20),
}


@pytest.mark.nightly(quick=3)
@pytest.mark.parametrize("kind", NESTED)
def test_a_policy_that_nobody_could_walk_through_is_a_usage_error(project, one_line_error, kind):
    project.write("policy.toml", NESTED[kind])
    line = one_line_error(project.run("--draft-forest=shallow.joblib", "--draft-policy=policy.toml"))
    assert "policy.toml: " in line
    assert len(line) < 500
    assert "sys." not in line
