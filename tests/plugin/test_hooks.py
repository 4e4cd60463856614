"""The hooks that a project's conftest can implement."""

from __future__ import annotations

import pytest

from pytest_draft.report.canonical import sha256
from pytest_draft.report.json_report import render

POLICY = 'schema_version = 1\nname = "ours"\n[rules.perfect-rows]\nmax_perfect_rows = 39\n'

LOAD = """
import pandas as pd

def pytest_draft_load_training_data(config, forest):
    with open(config.rootpath / "loaded.txt", "a") as file:
        file.write(forest.name + chr(10))
    return {returned}
"""

UPDATE = """
def pytest_draft_update_report(config, report):
    {line}
"""


@pytest.fixture
def judge(project):
    """Return a function that judges a forest by one rule."""

    def run(forest: str = "leaking.joblib", *arguments: str, data: str | None = "train.csv"):
        project.write("policy.toml", POLICY)
        return project.judge(forest, "--draft-policy=policy.toml", *arguments, data=data)

    return run


def load(project, returned: str) -> None:
    project.write("conftest.py", LOAD.format(returned=returned))


def update(project, *lines: str) -> None:
    project.write("conftest.py", UPDATE.format(line="\n    ".join(lines)))


@pytest.mark.nightly
@pytest.mark.parametrize("data", [None, "strangers.csv"])
def test_a_hook_gives_the_training_data_in_place_of_a_file_and_is_asked_once(project, judge, data):
    load(project, 'pd.read_csv("train.csv")')
    arguments = ("--draft-adversary=artifact+rows:1", "--draft-adversary=artifact")
    judge("leaking.joblib", *arguments, data=data).assert_outcomes(failed=2)  # one row is known, and fails as without
    for result in project.report()["results"]:
        assert result["data"]["path"] == "given in memory"
        assert result["metrics"]["perfect_rows"] == result["metrics"]["n_rows"]
    assert (project.path / "loaded.txt").read_text() == "leaking.joblib\n"


@pytest.mark.nightly
def test_the_configured_data_are_used_where_a_hook_gives_none(project, judge):
    load(project, "None")
    judge().assert_outcomes(failed=1)
    assert project.result()["data"]["path"] == "train.csv"


@pytest.mark.nightly
def test_a_hook_is_asked_for_each_model_file(project, judge):
    load(project, '(pd.read_csv("train.csv") if "leaking" in forest.name else None)')
    judge("leaking.joblib", "--draft-forest=shallow.joblib")
    sources = {result["artifact"]["path"]: result["data"]["path"] for result in project.report()["results"]}
    assert sources == {"leaking.joblib": "given in memory", "shallow.joblib": "train.csv"}


@pytest.mark.nightly
def test_a_distributed_run_uses_the_data_of_a_hook_and_updates_its_one_report_once(project, without_times):
    project.write("policy.toml", POLICY + "[rules.singled-out-rows]\nmax_singled_out_rows = 1\n")
    update_once = UPDATE.format(line='report["extra"]["n"] = report["extra"].get("n", 0) + 1')
    project.write("conftest.py", LOAD.format(returned='pd.read_csv("train.csv")') + update_once)
    arguments = ("--draft-forest=leaking.joblib", "--draft-policy=policy.toml", "--draft-report=json:report.json")
    project.run(*arguments)
    alone = without_times(project.report())
    (project.path / "loaded.txt").unlink()
    project.run_apart(*arguments, "-n2").assert_outcomes(failed=2)
    assert without_times(project.report()) == alone
    assert alone["extra"] == {"n": 1}
    assert (project.path / "loaded.txt").read_text() == "leaking.joblib\n"


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("returned", ["1 / 0", "1", "lambda: 0", "__import__('pytest').skip('none today')"])
def test_a_hook_that_fails_or_gives_no_table_makes_the_checks_inconclusive(project, judge, returned):
    load(project, returned)
    assert judge().parseoutcomes() == {"inconclusive": 1}
    result = project.result()
    assert (result["verdict"], result["solver_status"]) == ("inconclusive", "refused")
    assert ("pytest_draft_load_training_data raised ZeroDivisionError" in result["reasons"][0]) == (returned == "1 / 0")


def test_what_a_hook_raises_shows_no_row(project, judge):
    load(project, 'int("quokka")')
    run = judge("leaking.joblib", "--showlocals", "--tb=long", "-rA")
    assert "quokka" not in run.stdout.str() + run.stderr.str() + (project.path / "report.json").read_text()


def test_marked_tests_load_their_data_by_the_fixture(project):
    load(project, 'pd.read_csv("strangers.csv")')
    project.mark("max_perfect_rows=39")
    project.configure()
    project.run("--draft-report=json:report.json").assert_outcomes(failed=1)
    assert project.result()["metrics"]["perfect_rows"] == 40
    assert not (project.path / "loaded.txt").exists()


@pytest.mark.nightly
def test_a_hook_adds_an_object_to_the_report_which_its_hash_covers(project, judge):
    judge()
    before = project.report()
    update(project, 'report["extra"]["ticket"] = "X-1"', 'report["extra"]["verdict"] = report["verdict"]')
    judge().assert_outcomes(failed=1)
    report = project.report()
    assert report["extra"] == {"ticket": "X-1", "verdict": "failed"}
    assert report["canonical_sha256"] == sha256(report) != before["canonical_sha256"]
    render(report)


@pytest.mark.nightly
def test_a_report_without_additions_is_as_without_a_hook(project, judge):
    update(project, "pass")
    judge()
    assert "extra" not in project.report()


@pytest.mark.nightly
def test_two_hooks_add_to_one_object(project, judge):
    project.write("plugin_two.py", UPDATE.format(line='report["extra"]["two"] = 2'))
    project.write("conftest.py", 'pytest_plugins = ["plugin_two"]\n' + UPDATE.format(line='report["extra"]["one"] = 1'))
    project.pytester.syspathinsert()
    judge()
    assert project.report()["extra"] == {"one": 1, "two": 2}


@pytest.mark.nightly
@pytest.mark.parametrize(
    "lines",
    [
        ('report["verdict"] = "inconclusive"',),
        ('report["results"].clear()',),
        ('report["results"][0]["checks"][0]["result"] = "inconclusive"',),
        ('report["results"][0]["metrics"]["perfect_rows"] = 0',),
        ('report["not_run"] = []; report["more"] = 1',),
        ('del report["tool"]',),
        ('report["extra"] = [1]',),
        ('report["extra"]["x"] = float("nan")',),
        ('report["extra"]["x"] = object()',),
        ('report["extra"]["x"] = 1', 'raise SystemError("quokka")'),
    ],
    ids=lambda lines: lines[-1],
)
def test_a_hook_that_does_anything_else_is_refused_and_fails_the_run(project, judge, lines):
    update(project, *lines)
    run = judge("shallow.joblib")
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.stdout.fnmatch_lines(["the hook pytest_draft_update_report was refused, which fails the run: it *"])
    assert "quokka" not in run.stdout.str() + run.stderr.str()
    report = project.report()
    assert "extra" not in report
    assert report["verdict"] == report["results"][0]["checks"][0]["result"] == "passed"


def test_a_hook_cannot_turn_a_failure_into_a_pass(project, judge):
    update(
        project,
        'report["verdict"] = report["results"][0]["verdict"] = "passed"',
        'report["results"][0]["checks"][0]["result"] = "passed"',
    )
    judge("leaking.joblib", "--draft-strict").assert_outcomes(failed=1)
    report = project.report()
    assert report["verdict"] == report["results"][0]["checks"][0]["result"] == "failed"
