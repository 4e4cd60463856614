"""On a cluster, models are judged as without one; whatever becomes of its processes, none is lost in silence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cattrs  # noqa: F401 - pytester forgets what its runs import, and what is made of it once would not fit
import distributed
import psutil
import pytest

from pytest_draft.cluster import controller, held, worker
from pytest_draft.cluster.order import CODE, difference, environment
from pytest_draft.facts.case import Case

from .conftest import AT_STAGES, before_all, examining, wait_for

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

HANG = "time.sleep(3600)"
IN_CHILDREN = "import sys\nif any('pytest_draft.isolation' in one for one in sys.orig_argv):\n    exec({code!r})\n"
QUICK = """
schema_version = 1
name = "quick"

[rules.smallest-leaf]
min_rows = 2
"""
"""Needs no attack: shallow.joblib passes, the others fail."""
NO_PAGES = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
GIVEN = ("--draft-data=train.csv", "--draft-report=json:report.json", "--draft-only")


@pytest.fixture
def project(project):
    project.write("quick.toml", QUICK)
    return project


@dataclass
class Workers:
    """Two worker processes, of which children can be told to hang."""

    cluster: Any
    client: Any
    folder: Path

    @property
    def address(self) -> str:
        return str(self.cluster.scheduler_address)

    def pids(self) -> list[int]:
        return list(self.client.run(os.getpid, on_error="ignore").values())

    def hang(self) -> Path:
        (self.folder / "training_data.txt").write_text(HANG, encoding="utf-8")
        return self.folder / "reached"

    def go_on(self) -> None:
        for left in (*self.folder.glob("*.txt"), *self.folder.glob("reached")):
            left.unlink()


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory) -> Iterator[Workers]:
    folder = tmp_path_factory.mktemp("stages")
    (folder / "sitecustomize.py").write_text(IN_CHILDREN.format(code=AT_STAGES), encoding="utf-8")
    options: dict[str, Any] = {"env": {"PYTHONPATH": before_all(folder)}, **NO_PAGES}
    with (
        distributed.LocalCluster(2, threads_per_worker=1, memory_limit=0, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield Workers(cluster, client, folder)


@pytest.fixture
def workers(two_workers) -> Iterator[Workers]:
    yield two_workers
    two_workers.go_on()


@pytest.fixture(scope="module")
def one_near_child() -> Iterator[None]:
    """Let all workers in this process share a child: starting one takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker._BENCH, "release", lambda: None)
        yield
    worker._BENCH.release()


@pytest.fixture
def near(one_near_child) -> Iterator[Any]:
    """Return a cluster whose scheduler and worker are threads of this process."""
    options: dict[str, Any] = {"processes": False, "protocol": "tcp://", **NO_PAGES}
    with distributed.LocalCluster(1, threads_per_worker=1, memory_limit=0, **options) as cluster:
        yield cluster


def judge(project, forest: str, address: str, *arguments: str):
    given = (*GIVEN, "--draft-policy=quick.toml", "--draft-scheduler", address)
    return project.run("--draft-forest", forest, *given, *arguments)


@pytest.mark.nightly
def test_verdicts_and_canonical_hash_are_those_of_a_run_without_a_cluster(project, workers):
    given = ("--draft-forest=leaking.joblib", *GIVEN, "--draft-effort=0.1")
    project.run(*given)
    alone = project.report()
    run = project.run(*given, "--draft-scheduler", workers.address)
    together = project.report()
    assert together["canonical_sha256"] == alone["canonical_sha256"]
    assert [one["verdict"] for one in together["results"]] == [one["verdict"] for one in alone["results"]]
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.stdout.no_fnmatch_line("cluster: *")


@pytest.mark.nightly
def test_a_model_whose_worker_is_killed_is_judged_by_another_and_that_is_told(project, workers):
    project.run("--draft-forest=shallow.joblib", *GIVEN, "--draft-policy=quick.toml")
    alone = project.report()
    reached = workers.hang()

    def kill() -> None:
        wait_for(reached.exists)
        (pid,) = (pid for pid, is_busy in busy(workers).items() if is_busy)
        workers.go_on()
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    run = judge(project, "shallow.joblib", workers.address)
    killer.join()
    assert run.ret == pytest.ExitCode.OK
    result = project.result()
    assert "was lost while it examined this; it was examined again by worker tcp" in result["retried"]
    assert project.report()["canonical_sha256"] == alone["canonical_sha256"]
    run.stdout.fnmatch_lines(["*note: worker tcp*was lost*", "cluster: worker tcp* was lost while it examined *"])


def busy(workers: Workers) -> dict[int, bool]:
    """Return whether each worker, by its process, runs a task."""
    found = workers.client.run(lambda dask_worker: (os.getpid(), bool(dask_worker.state.executing)))
    return dict(found.values())


@pytest.mark.nightly
def test_an_interrupt_cancels_what_is_queued_and_ends_children(project, workers):
    reached = workers.hang()
    interrupter = threading.Thread(target=lambda: (wait_for(reached.exists), os.kill(os.getpid(), signal.SIGINT)))
    interrupter.start()
    forests = ("--draft-forest=leaking.joblib", "--draft-forest=bagged.joblib", "--draft-forest=shallow.joblib")
    given = (*GIVEN, "--draft-policy=quick.toml", "--draft-scheduler", workers.address)
    arguments = ("-p", "no:hypothesispytest", *forests, *given)
    with heeding_interrupts():
        run = project.pytester.runpytest_inprocess(*arguments, no_reraise_ctrlc=True)
    interrupter.join()
    assert run.ret == pytest.ExitCode.INTERRUPTED
    wait_for(lambda: not any(busy(workers).values()))
    wait_for(lambda: not examining(*workers.pids()))
    wait_for(lambda: not workers.client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)))


class heeding_interrupts:
    """Ctrl-C, even where these tests run in the background of a shell, whose commands ignore it."""

    def __enter__(self) -> None:
        self.before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self.before)


@pytest.mark.nightly
def test_the_first_failure_with_x_cancels_what_is_under_way(project, workers):
    reached = workers.hang()
    project.write(  # the only worker that hangs is that of the second model: the first is refused by its data
        "conftest.py",
        "import pathlib, time\n"
        "def pytest_runtest_logreport(report):\n"
        f"    while not pathlib.Path({str(reached)!r}).exists(): time.sleep(0.05)\n",
    )
    (project.path / "broken.joblib").write_bytes(b"no model")
    run = project.run(
        *("--draft-forest=broken.joblib", "--draft-forest=shallow.joblib", *GIVEN, "-x"),
        *("--draft-policy=quick.toml", "--draft-scheduler", workers.address),
    )
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    assert len(project.report()["results"]) == 1
    wait_for(lambda: not any(busy(workers).values()))
    wait_for(lambda: not examining(*workers.pids()))


@pytest.mark.nightly
@pytest.mark.parametrize("allowed", ["false", "true"])
def test_where_the_scheduler_is_gone_each_model_that_is_left_is_inconclusive(project, near, monkeypatch, allowed):
    project.write("quick.toml", QUICK.replace("[rules", f"allow_inconclusive = {allowed}\n[rules"))
    submit = controller.Cluster.submit

    def submit_and_end(self: controller.Cluster, *arguments: Any) -> bool:
        found = submit(self, *arguments)
        if len(self._numbered) == 3 and near.scheduler.status.name == "running":
            near.sync(near.scheduler.close)
            near.shutdown_scheduler = False  # else it is sought for half a minute
        return found

    monkeypatch.setattr(controller.Cluster, "submit", submit_and_end)
    ended = threading.Event()
    monkeypatch.setattr(worker, "as_text", lambda found: str(ended.wait()))
    run = judge(project, "*a*.joblib", near.scheduler_address)
    ended.set()
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    results = project.report()["results"]
    assert {Path(one["artifact"]["path"]).name for one in results} == {
        "bagged.joblib", "leaking.joblib", "shallow.joblib"
    }  # fmt: skip
    for one in results:
        assert (one["verdict"], one["solver_status"]) == ("inconclusive", "no answer")
        assert "the connection to the scheduler was lost, so that nobody examined it" in one["reasons"][0]
    run.stdout.fnmatch_lines(["cluster: tcp*: the connection to the scheduler was lost; what is left is inconclusive"])


@pytest.mark.nightly
def test_a_file_that_is_not_shared_is_sent_and_lies_on_no_disk(project, near, monkeypatch, examined_anew):
    project.run("--draft-forest=shallow.joblib", *GIVEN, "--draft-policy=quick.toml")
    alone = project.report()
    monkeypatch.setattr(held.HeldFiles, "_lies_here", lambda self, file: False)
    read, run = [], worker.Children.run

    def noted(self: object, case: Case, data: object, tell: object, elsewhere: dict[str, str]):
        read.append(elsewhere)
        return run(self, case, data, tell, elsewhere)

    monkeypatch.setattr(worker.Children, "run", noted)
    monkeypatch.setattr(controller, "_PIECE", 1000)
    judge(project, "shallow.joblib", near.scheduler_address).assert_outcomes(passed=1)
    assert project.report()["canonical_sha256"] == alone["canonical_sha256"]
    assert project.result()["data"]["path"] == "train.csv"
    assert {Path(path).name for path in read[0]} == {"shallow.joblib", "train.csv"}
    assert all(path.startswith("/proc/") for path in read[0].values())


@pytest.mark.nightly
def test_other_versions_on_a_worker_are_refused_before_any_work(project, near, monkeypatch, one_line_error):
    monkeypatch.setattr(worker, "environment", lambda: {**environment(), "numpy": "0.9"})
    line = one_line_error(judge(project, "shallow.joblib", near.scheduler_address))
    assert f"worker {near.scheduler.workers and next(iter(near.scheduler.workers))}: numpy: 0.9 there, " in line


@pytest.mark.nightly
def test_what_a_worker_with_other_versions_gets_that_joins_later_is_inconclusive(project, near, monkeypatch):
    monkeypatch.setattr(worker, "environment", lambda: {**environment(), CODE: "0" * 64})
    monkeypatch.setattr(controller.Cluster, "_require_same_environment", lambda self: None)
    run = judge(project, "shallow.joblib", near.scheduler_address)
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    assert "has joined with other versions: code of pytest-draft: 0000" in project.result()["reasons"][0]


@pytest.mark.nightly
@pytest.mark.parametrize("answer", ["", "[]", '{"artifact": 1}', "another file"])
def test_an_answer_that_is_no_examination_of_this_file_is_inconclusive(project, near, monkeypatch, answer):
    def lie(found):
        if answer != "another file":
            return answer
        return as_text(replace(found, artifact=replace(found.artifact, sha256="0" * 64)))

    as_text = worker.as_text
    monkeypatch.setattr(worker, "as_text", lie)
    judge(project, "shallow.joblib", near.scheduler_address)
    assert "sent an answer that is none about this file" in project.result()["reasons"][0]


@pytest.mark.nightly
def test_data_of_a_hook_are_examined_here(project, near, monkeypatch):
    submitted = []
    monkeypatch.setattr(controller.Cluster, "_submit", lambda self, task, priority: submitted.append(task))
    project.write(
        "conftest.py",
        "import pandas\ndef pytest_draft_load_training_data(config, forest): return pandas.read_csv('train.csv')\n",
    )
    judge(project, "shallow.joblib", near.scheduler_address).assert_outcomes(passed=1)
    assert submitted == []


@pytest.mark.nightly
def test_what_the_cache_holds_is_not_sent(project, near, monkeypatch):
    for cached in (False, True):
        judge(project, "leaking.joblib", near.scheduler_address, "--draft-cache")
        assert project.result()["cached"] is cached
        monkeypatch.setattr(controller.Cluster, "_submit", lambda self, task, priority: pytest.fail("sent"))


@pytest.mark.nightly
def test_a_local_cluster_is_started_and_ended(project):
    before = set(psutil.Process().children(recursive=True))
    judge(project, "shallow.joblib", "local:1").assert_outcomes(passed=1)
    left = [one for one in psutil.Process().children(recursive=True) if one not in before]
    assert examining(os.getpid()) == [] or not any("spawn_main" in " ".join(one.cmdline()) for one in left)


@pytest.mark.nightly
def test_a_scheduler_that_cannot_be_reached_is_one_line(project, monkeypatch, one_line_error):
    monkeypatch.setattr(controller, "CONNECT_SECONDS", 0.5)
    line = one_line_error(judge(project, "shallow.joblib", "tcp://127.0.0.1:1"))
    assert "tcp://127.0.0.1:1 cannot be reached within 0.5 s" in line


@pytest.mark.parametrize("where", ["host:8786", "local:0", "local:", "http://host:80", "tcp://host"])
def test_an_address_that_is_none_is_one_line(project, where, one_line_error):
    line = one_line_error(judge(project, "shallow.joblib", where))
    assert "is neither tcp://HOST:PORT, tls://HOST:PORT nor local:N" in line


@pytest.mark.nightly
def test_it_is_refused_with_n_and_without_models(project, one_line_error):
    assert "leave out -n" in one_line_error(judge(project, "shallow.joblib", "local:1", "-n2"))
    project.mark("max_error=0.1")
    project.run("--draft-scheduler=local:1").stdout.fnmatch_lines(
        ["*no model is judged by name in this run*add --draft or --draft-forest*"]
    )


def test_the_ini_value_counts_only_where_models_are_judged(project, one_line_error):
    project.write("pytest.ini", "[pytest]\ndraft_scheduler = nowhere\n")
    assert project.run("--co", "-q").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "'nowhere' is neither" in one_line_error(project.run("--draft-forest=shallow.joblib", "--co"))


@pytest.mark.nightly
def test_without_the_option_nothing_of_dask_is_imported(project):
    code = (
        "import sys, pytest\n"
        "given = ['--draft-forest=shallow.joblib', '--draft-data=train.csv', '--draft-policy=quick.toml']\n"
        "status = pytest.main(given)\n"
        "assert status == 0 and 'pytest_draft.plugin.session' in sys.modules\n"
        "assert not {'dask', 'distributed', 'pytest_draft.cluster'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=project.path, check=True, stdout=subprocess.DEVNULL)


@pytest.mark.nightly
def test_environments_differ_by_any_version_and_by_the_code():
    here = environment()
    assert difference(here, dict(here)) is None
    assert {"python", "numpy", "scipy", "scikit-learn", "ortools", "distributed", CODE} <= set(here)
    for name in here:
        assert str(difference(here, {**here, name: "other"})).startswith(f"{name}: other there, ")
        assert f"{name}: none there" in str(difference(here, {k: v for k, v in here.items() if k != name}))
