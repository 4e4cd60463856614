"""Training data that a function of the project returns, in a process of its own."""

from __future__ import annotations

import time

import psutil
import pytest

from pytest_draft import isolation
from pytest_draft.facts.case import Returned, names_function
from pytest_draft.plugin.unshown import Unshown

POLICY = 'schema_version = 1\nname = "ours"\n[rules.perfect-rows]\nmax_perfect_rows = 39\n'

TRAIN = """
import os, subprocess, sys, time
import pandas as pd

def table():
    with open("called.txt", "a") as file:
        print(os.getcwd(), file=file)
    print("quokka on stdout")
    print("quokka on stderr", file=sys.stderr)
    os.system("echo quokka of a shell; echo quokka of a shell >&2")
    return pd.read_csv("train.csv")

def load():
    {body}
"""

LOUD = ("--showlocals", "--tb=long", "-vv", "-rA", "--full-trace", "--junitxml=junit.xml", "--log-level=DEBUG")


@pytest.fixture
def judge(project):
    """Return a function that judges a forest by the data of a function with this body, by one rule."""

    def run(body: str, *arguments: str, data: str | None = "train:load", apart: bool = False):
        project.write("policy.toml", POLICY)
        project.write("train.py", TRAIN.format(body=body.replace("\n", "\n    ").replace("    \f", "")))
        given = [] if data is None else ["--draft-data", data]
        forest = [] if data is None else ["--draft-forest=leaking.joblib"]
        every = (*forest, *given, "--draft-policy=policy.toml", "--draft-report=json:report.json", *arguments)
        return (project.run_apart if apart else project.run)(*every)

    return run


def called(project) -> int:
    """Return how often the function was called, each time in the project's folder."""
    lines = (project.path / "called.txt").read_text(encoding="utf-8").splitlines()
    assert set(lines) == {str(project.path)}
    return len(lines)


BODIES = {
    "a data frame": "return table()",
    "a pair": 'return table().drop(columns="label"), table()["label"]',
    "arrays": 'return table().drop(columns="label").to_numpy(), table()["label"].to_numpy()',
}


@pytest.mark.nightly
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_function_of_the_project_returns_the_training_data(project, judge, body):
    judge(body).assert_outcomes(failed=1)
    result = project.result()
    assert result["metrics"]["perfect_rows"] == result["metrics"]["n_rows"] == 40
    data = {"path": "train:load", "sha256": None, "rows": 40, "columns": 8, "unused_columns": [], "record_share": 1.0}
    assert result["data"] == data


@pytest.mark.nightly
def test_it_is_called_once_for_all_adversaries_and_models(project, judge):
    judge(
        "return table()",
        "--draft-adversary=artifact+rows:1",
        "--draft-adversary=artifact",
        "--draft-forest=bagged.joblib",
    )
    assert {result["data"]["path"] for result in project.report()["results"]} == {"train:load"}
    assert len(project.report()["results"]) == 4
    assert called(project) == 1


@pytest.mark.nightly
def test_it_can_be_in_a_package_and_is_found_before_other_modules_of_that_name(project):
    project.write("train/__init__.py", "")
    project.write("train/of/rows.py", TRAIN.format(body="return table()"))
    project.write("elsewhere/train.py", "1 / 0")
    project.pytester.syspathinsert("elsewhere")
    project.run("--draft-forest=leaking.joblib", "--draft-data=train.of.rows:load", "--draft-report=json:report.json")
    assert project.result()["data"]["path"] == "train.of.rows:load"
    assert project.result()["data"]["rows"] == 40


@pytest.mark.nightly
def test_the_ini_file_names_it_from_any_folder(project, monkeypatch):
    (project.path / "below").mkdir()
    project.write("policy.toml", POLICY)
    project.write("train.py", TRAIN.format(body="return table()"))
    more = "draft_data = train:load\ndraft_policy = policy.toml\n"
    project.write("pytest.ini", f"[pytest]\ndraft_forest = leaking.joblib\n{more}")
    monkeypatch.chdir(project.path / "below")
    project.run("--draft", "--draft-report=json:report.json").assert_outcomes(failed=1)
    assert project.result("below/report.json")["data"]["path"] == "train:load"
    assert called(project) == 1


@pytest.mark.nightly
def test_a_manifest_names_it(project, judge):
    entry = '[[entry]]\nmodel = "leaking.joblib"\ndata = "train:load"\n'
    project.write("registry/models.toml", f"schema_version = 1\n{entry.replace('leaking', '../leaking')}")
    judge("return table()", "--draft-manifest=registry/models.toml", data=None).assert_outcomes(failed=1)
    assert project.result()["data"]["path"] == "train:load"


@pytest.mark.nightly
def test_a_projects_own_tests_have_it_too_unless_a_fixture_gives_others(project, judge):
    project.mark("max_perfect_rows=39")
    project.write("pytest.ini", "[pytest]\ndraft_forest = leaking.joblib\ndraft_data = train:load\n")
    judge("return table()", data=None).assert_outcomes(failed=1)
    assert project.result()["data"]["path"] == "train:load"
    assert called(project) == 1
    fixture = "import pandas, pytest\n@pytest.fixture(scope='session')\ndef draft_training_data():\n    return {}\n"
    project.write("conftest.py", fixture.format("pandas.read_csv('train.csv')"))
    judge("return table()", data=None).assert_outcomes(failed=1)
    assert project.result()["data"]["path"] == "given in memory"
    assert called(project) == 1


@pytest.mark.nightly
def test_a_distributed_run_calls_it_where_it_examines(project, judge, without_times):
    judge("return table()").assert_outcomes(failed=1)
    alone = without_times(project.report())
    judge("return table()", "-n2", apart=True).assert_outcomes(failed=1)
    assert without_times(project.report()) == alone
    assert called(project) == 2


@pytest.mark.nightly
def test_what_it_returns_is_not_kept_for_later_runs(project, judge):
    for times in (1, 2):
        judge("return table()", "--draft-cache").assert_outcomes(failed=1)
        assert not project.result()["cached"]
        assert called(project) == times


FAILS = {
    "an exception": ("return int('quokka')", "ValueError at train.py:14: correct it"),
    "in what it calls": ("return table()['quokka'].map(lambda one: int(one))", "KeyError at train.py:14: correct it"),
    "a renamed exception": ("raise type('K', (BaseException,), {})('quokka')", "K at train.py:14: correct it"),
    "the end": ("sys.exit('quokka')", "SystemExit at train.py:14: correct it"),
    "a crash": ("print('quokka'); os._exit(3)", "its process ended without an answer (exit status 3)"),
    "a warning as text": ("return 'quokka'", "a str is not a table"),
    "nothing": ("table()", "a NoneType is not a table"),
    "four tables": ("return (table(),) * 4", "a tuple is not a table"),
    "no rows": ("return table()[:0]", "no rows"),
    "one row too few": ("return table(), table()['label'][1:]", "the labels have shape (39,)"),
    "a generator": ("return (row for row in table())", "what it returned cannot be handed on"),
    "arguments": ("pass\n\fdef load(path):\n    pass", "it must be a function that is called without arguments"),
    "no function": ("pass\n\fload = 'quokka'", "it must be a function that is called without arguments"),
    "another name": ("pass\n\flode = load; del load", "the module has no such function; did you mean 'lode'?"),
    "no Python": ("return (quokka", "SyntaxError at train.py:14: correct it"),
    "at its import": ("pass\n\fint('quokka')", "ValueError at train.py:15: correct it"),
    "another module": ("pass\n\fimport quokka_of_rottnest", "ModuleNotFoundError at train.py:15: correct it"),
}


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(("body", "why"), FAILS.values(), ids=FAILS)
def test_what_fails_is_one_line_with_its_place_and_without_a_value(project, judge, body, why):
    run = judge(body, *LOUD)
    assert run.parseoutcomes() == {"inconclusive": 1}
    result = project.result()
    assert (result["verdict"], result["solver_status"]) == ("inconclusive", "refused")
    assert result["data"]["path"] == "train:load"
    (reason,) = result["reasons"]
    assert "train:load" in reason
    assert why in reason
    assert "\n" not in reason
    for text in (run.stdout.str(), run.stderr.str(), *(path.read_text() for path in project.path.glob("*.[jx]*[nl]"))):
        assert "quokka" not in text.replace("quokka_of_rottnest", "")


def test_a_module_that_is_not_there_is_said(project, judge):
    judge("return table()", data="trian:load")
    (reason,) = project.result()["reasons"]
    assert f"its module cannot be imported: it is looked for in {project.path} first" in reason


def test_no_row_is_shown_where_it_works(project, judge):
    run = judge("return table()", *LOUD)
    junit = (project.path / "junit.xml").read_text()
    assert "quokka" not in run.stdout.str() + run.stderr.str() + junit + (project.path / "report.json").read_text()


@pytest.mark.nightly
def test_one_that_does_not_return_is_ended_with_all_that_it_has_started(project, judge, monkeypatch):
    monkeypatch.setattr(isolation, "LOAD_SECONDS", 2.0)
    monkeypatch.setattr(isolation, "GRACE_SECONDS", 0.0)
    code = "started = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'])\n"
    judge(code + "open('pid.txt', 'w').write(str(started.pid))\ntime.sleep(3600)")
    (reason,) = project.result()["reasons"]
    assert reason == "--draft-data: train:load: it had not returned after 2 s"
    assert is_gone(int((project.path / "pid.txt").read_text()))


@pytest.mark.nightly
@pytest.mark.parametrize("body", ["return table()", "os._exit(0)"])
def test_what_it_has_started_ends_with_it(project, judge, body):
    code = "started = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'])\n"
    judge(code + f"open('pid.txt', 'w').write(str(started.pid))\n{body}")
    assert is_gone(int((project.path / "pid.txt").read_text()))


def is_gone(pid: int) -> bool:
    """Return whether a process has ended, or does so within a while."""
    for _ in range(200):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


def test_functions_can_be_refused_before_anything_is_run(project, judge, one_line_error):
    project.write("models.toml", 'schema_version = 1\n[[entry]]\nmodel = "leaking.joblib"\ndata = "train:load"\n')
    project.write("pytest.ini", "[pytest]\ndraft_data = train:load\n")
    for arguments in (["--draft-data=train:load"], [], ["--draft-data=train.csv", "--draft-manifest=models.toml"]):
        forest = [] if arguments[1:] else ["--draft-forest=leaking.joblib"]
        line = one_line_error(judge("return table()", "--draft-data-files-only", *forest, *arguments, data=None))
        assert "--draft-data-files-only: train:load is code of the project" in line
    assert not (project.path / "called.txt").exists()


def test_a_file_of_such_a_name_is_a_file(project, judge):
    project.write("train:load", "label\n")
    judge("return table()")
    assert "not a table of a known kind" in project.result()["reasons"][0]
    assert not (project.path / "called.txt").exists()


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("train:load", True),
        ("a.b_1.train:load_all", True),
        ("C:train", False),
        ("C:\\train.csv", False),
        ("train.csv", False),
        ("train:load.csv", False),
        ("train:", False),
        (":load", False),
        ("train:load()", False),
        ("data/train:load", False),
        ("https://host", False),
        ("1train:load", False),
        ("train:load\n", False),
    ],
)
def test_a_function_is_a_module_and_a_name(text, is_one):
    assert names_function(text) == is_one


@pytest.mark.nightly
def test_what_it_returned_is_printed_nowhere(project):
    project.write("train.py", TRAIN.format(body="return 'quokka'"))
    returned = isolation.Children().load("train:load", project.path, None)
    assert isinstance(returned, Returned)
    assert "quokka" not in repr(returned) + repr(returned.value) + repr(Unshown(returned))
