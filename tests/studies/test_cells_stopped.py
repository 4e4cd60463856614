"""A study that is stopped goes on and gives the same table: by Ctrl-C and by kill -9, on processes and on Dask."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from distributed import LocalCluster

import tiny_study
from pytest_draft.errors import DraftError
from studies.cells import run
from studies.cells.study import Study
from tiny_study import dying, square, study

ROOT = Path(__file__).parents[2]
PATIENCE = 240.0
TABLE = "number,last,square,third\n0,2,0,0.0\n1,2,1,0.3333333333333333\n2,2,4,0.6666666666666666\n3,2,9,1.0\n"


@pytest.fixture(scope="module")
def scheduler():
    """The address of a Dask scheduler with one worker process that computes two cells at a time."""
    with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(params=["local:2", "dask"])
def where(request):
    return request.param if request.param != "dask" else request.getfixturevalue("scheduler")


def started(folder, where):
    """Begin the study in a process group of its own."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "shared")])
    command = [sys.executable, tiny_study.__file__, "--folder", str(folder), "--store", "store", "--where", where]
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(condition, process):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)


def under_way(folder, process):
    """Wait until the first two cells stand, and the third and the fourth are being computed."""
    waits = [folder / f"waits-{number}" for number in (2, 3)]
    store = folder / "store" / "waiting.jsonl"
    wait_for(lambda: all(path.exists() for path in waits) and store.read_bytes().count(b"\n") == 2, process)
    for path in waits:
        path.unlink()


def news(err):
    """Return what was told, without where the study stood at times, which a slow machine tells more often."""
    return [line for line in err.splitlines() if not re.match(r"waiting: \d of 4 cells", line)]


@pytest.mark.parametrize("ending", ["SIGINT", "SIGKILL"])
def test_a_study_that_was_stopped_goes_on_and_gives_the_same_table(ending, where, tmp_path):
    folder = tmp_path / "stopped"
    folder.mkdir()
    process = started(folder, where)
    try:
        under_way(folder, process)
        os.killpg(process.pid, signal.Signals[ending])
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        (folder / "go").touch()  # a cell on Dask goes on, and the next test needs the worker
    if ending == "SIGINT":
        assert process.returncode == 130, err
        assert news(err) == ["waiting: stopped; 2 of 4 cells stand in store; the same command goes on"]
    assert out == ""
    process = started(folder, where)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert news(err) == []
    table, about = out.split("\n\n")
    assert f"{table}\n" == TABLE
    assert about.startswith("4 cells, ")


def test_nothing_goes_on_after_its_parent_was_killed(tmp_path):
    process = started(tmp_path, "local:2")
    under_way(tmp_path, process)
    process.kill()
    process.communicate(timeout=PATIENCE)
    until = time.monotonic() + PATIENCE
    while left_over(tmp_path):
        assert time.monotonic() < until
        time.sleep(0.1)


def left_over(folder):
    """Return the processes that work in a folder."""
    return [one for one in Path("/proc").glob("[0-9]*") if one.name != str(os.getpid()) and cwd_of(one) == folder]


def cwd_of(process):
    try:
        return Path(os.readlink(process / "cwd"))
    except OSError:
        return None


def test_the_table_is_the_same_wherever_it_was_computed(scheduler, tmp_path):
    tables = [
        run(study(square, 5), tmp_path / str(n), place) for n, place in enumerate(["local:1", "local:2", scheduler])
    ]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert tables[0]["square"].tolist() == [0, 1, 4, 9, 16]


def test_a_cell_that_kills_its_process_fails_alone(tmp_path):
    told = []
    table = run(study(dying), tmp_path, "local:2", tell=lambda stand: told.append(stand.news))
    assert table["number"].tolist() == [0, 2, 3]
    assert [line for line in told if line] == [
        "tiny: number=1: the process that computed it died, twice; perhaps of too little memory"
    ]


def test_without_a_scheduler_it_is_told_in_one_line_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.cells.places._CONNECT_SECONDS", 0.2)
    with pytest.raises(
        DraftError, match=r"^tcp://127\.0\.0\.1:1: no Dask scheduler \(.*\); start one by 'dask scheduler'$"
    ):
        run(study(square), tmp_path, "tcp://127.0.0.1:1")


def test_workers_that_see_another_file_are_refused_before_any_work(scheduler, tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text("x")
    asked = Study("tiny", tiny_study.from_file, [{"number": 1}], {"table": path})
    monkeypatch.setattr("studies.cells.study.sha256", lambda path, most: "other")
    with pytest.raises(DraftError, match=r"/table\.csv: another content on .*; stop, and run the study again"):
        run(asked, tmp_path / "store", scheduler)
