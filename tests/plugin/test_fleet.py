"""The fleet report and what changed, from the command line."""

from __future__ import annotations

import json
import shutil

import pytest
from jsonschema import Draft202012Validator

from pytest_draft.plugin import summary
from pytest_draft.report.schema import fleet_schema

pytestmark = pytest.mark.nightly

POLICY = 'schema_version = 1\nname = "ours"\n[rules.perfect-rows]\nmax_perfect_rows = 30\n'
ENTRIES = """
schema_version = 1
[[entry]]
model = "fleet/**/*.joblib"
data = "train.csv"
policy = "ours.toml"
"""
REPORTS = ("--draft-report=json", "--draft-report=fleet-json", "--draft-report=fleet-html")


@pytest.fixture
def fleet(project):
    """Return a function that judges a fleet of forests, and gives the run and the fleet report, which is valid."""
    (project.path / "fleet").mkdir()
    project.write("ours.toml", POLICY)
    project.write("fleet.toml", ENTRIES)
    for name in ("same", "worse", "moved", "renamed", "gone"):
        shutil.copy(project.path / "shallow.joblib", project.path / "fleet" / f"{name}.joblib")
    shutil.copy(project.path / "leaking.joblib", project.path / "fleet" / "better.joblib")

    def judge(*arguments: str):
        run = project.run("--draft-manifest=fleet.toml", "--tb=no", *REPORTS, *arguments)
        found = json.loads((project.path / "draft-fleet.json").read_text(encoding="utf-8"))
        assert [error.message for error in Draft202012Validator(fleet_schema()).iter_errors(found)] == []
        return run, found

    return judge


def changed(project) -> None:
    """Let another night come."""
    folder = project.path / "fleet"
    (project.path / "draft-report.json").rename(project.path / "last.json")
    shutil.copy(project.path / "leaking.joblib", folder / "worse.joblib")
    shutil.copy(project.path / "shallow.joblib", folder / "better.joblib")
    shutil.copy(project.path / "bagged.joblib", folder / "new.joblib")
    (folder / "below").mkdir()
    (folder / "moved.joblib").rename(folder / "below" / "moved.joblib")
    (folder / "renamed.joblib").rename(folder / "other.joblib")
    (folder / "gone.joblib").unlink()


def test_two_nights_with_the_cache_tell_what_changed(project, fleet):
    run, found = fleet("--draft-cache")
    run.assert_outcomes(passed=5, failed=1)
    run.stdout.fnmatch_lines(["6 models: 1 failed, 0 inconclusive, 5 passed"])
    assert found["changes"] is None
    changed(project)
    run, found = fleet("--draft-cache", "--draft-compare=last.json")
    becomes = {one["path"].removeprefix("fleet/"): (one["change"], one["verdict"]) for one in found["models"]}
    assert becomes == {
        "worse.joblib": ("worse", "failed"),
        "new.joblib": ("new", "failed"),
        "other.joblib": ("new", "inconclusive"),
        "better.joblib": ("better", "passed"),
        "same.joblib": ("unchanged", "passed"),
        "below/moved.joblib": ("unchanged", "passed"),
    }
    assert [one["path"] for one in found["gone"]] == ["fleet/gone.joblib", "fleet/renamed.joblib"]
    renewed = {one["path"]: one["renewed"] for one in found["models"] if one["renewed"]}
    assert renewed == {"fleet/better.joblib": ["model file"], "fleet/worse.joblib": ["model file"]}
    assert all(one["cached"] for one in found["models"] if one["path"] != "fleet/new.joblib")
    run.stdout.fnmatch_lines(
        [
            "since the earlier report: 1 worse, 2 new, 1 better, 2 unchanged, 2 gone",
            "  fleet/worse.joblib (failed): worse (passed before); another model file; *",
            "  fleet/new.joblib (failed): new",
            "  fleet/other.joblib (inconclusive): new; the same bytes as fleet/gone.joblib had",
            "  fleet/better.joblib (passed): better (failed before); another model file; *",
            "  fleet/below/moved.joblib (passed): unchanged; moved from fleet/moved.joblib",
            "  gone: fleet/gone.joblib, fleet/renamed.joblib",
        ]
    )
    page = (project.path / "draft-fleet.html").read_text(encoding="utf-8")
    assert "worse (passed before)" in page
    assert "<small>cached</small>" in page


def test_only_what_was_asked_for_is_judged_and_no_other_model_is_gone(project, fleet):
    fleet()
    (project.path / "draft-report.json").rename(project.path / "last.json")
    run, found = fleet("--draft-compare=last.json", "fleet/same.joblib")
    run.assert_outcomes(passed=2)
    assert {one["path"]: one["change"] for one in found["models"]} == {
        f"fleet/{name}.joblib": "unchanged" if name == "same" else "not run"
        for name in ("same", "worse", "moved", "renamed", "gone", "better")
    }
    assert found["counts"] == {"failed": 0, "inconclusive": 5, "passed": 1}
    assert found["gone"] == []
    run.stdout.fnmatch_lines(["since the earlier report: 5 not run, 1 unchanged"])


def test_the_fleet_is_the_same_when_two_processes_share_the_work(project, fleet, without_times):
    def plain(found):
        return [{**one, "cached": None} for one in without_times(found)["models"]]

    _, alone = fleet()
    project.run_apart("--draft-manifest=fleet.toml", "--tb=no", *REPORTS, "-n2")
    assert plain(json.loads((project.path / "draft-fleet.json").read_text(encoding="utf-8"))) == plain(alone)


def test_of_very_many_models_the_terminal_shows_the_gravest_and_says_where_the_rest_is(project, fleet, monkeypatch):
    monkeypatch.setattr(summary, "MOST_SHOWN", 2)
    monkeypatch.setattr(summary, "MOST_OF_A_CHANGE", 1)
    run, _ = fleet()
    lines = run.stdout.str()
    assert "fleet/better.joblib" in lines
    assert lines.count("(adversary artifact):") + lines.count("passed\n") <= 4
    run.stdout.fnmatch_lines(["and 4 more, none with a graver verdict: see the reports"])
    changed(project)
    run = project.run("--draft-manifest=fleet.toml", "--tb=no", "--draft-compare=last.json")
    run.stdout.fnmatch_lines(["and 4 more, none with a graver verdict: see them with --draft-report=fleet-html"])
    run.stdout.fnmatch_lines(["  and 1 more: new", "  gone: fleet/gone.joblib and 1 more"])


def test_a_new_model_of_a_known_name_is_not_compared_with_the_other_one(project, fleet):
    """The leaking model of last night would make any other look mild."""
    fleet()
    (project.path / "draft-report.json").rename(project.path / "last.json")
    (project.path / "fleet" / "below").mkdir()
    shutil.copy(project.path / "leaking.joblib", project.path / "fleet" / "below" / "better.joblib")
    _, found = fleet("--draft-compare=last.json", "-k", "better")
    assert {one["path"]: one["change"] for one in found["models"] if "better" in one["path"]} == {
        "fleet/better.joblib": "unchanged",
        "fleet/below/better.joblib": "new",
    }
    results = json.loads((project.path / "draft-report.json").read_text(encoding="utf-8"))["results"]
    (new,) = [one for one in results if "below" in one["artifact"]["path"]]
    (check,) = [check for check in new["checks"] if check["rule"] == "compared-with-earlier"]
    assert check["result"] == "inconclusive"
    assert "no result of a model file 'better.joblib'" in check["sentence"]


def test_a_process_keeps_a_result_once_and_no_more_than_some_reconstructions(project, fleet, monkeypatch):
    from pytest_draft.plugin import session

    monkeypatch.setattr(session, "MOST_REBUILT", 2)
    kept, sizes = [], []
    whole = session.GateSession.examine

    def counted(self, *arguments, **options):
        found = whole(self, *arguments, **options)
        sizes.append(len(self._memo))
        return found

    monkeypatch.setattr(session.GateSession, "examine", counted)
    monkeypatch.setattr(
        summary.Records, "add", lambda self, record, add=summary.Records.add: kept.append(add(self, record))
    )
    _, found = fleet("--draft-policy=ours.toml")
    assert len(found["models"]) == len(kept) == 6
    assert max(sizes) == 2


def test_a_terminal_names_a_few_of_many_checks_that_were_not_run_and_the_report_all(fleet, project, monkeypatch):
    monkeypatch.setattr(summary, "MOST_SHOWN", 2)
    run, _ = fleet("fleet/same.joblib")
    (line,) = (line for line in run.outlines if " not run, so " in line)
    assert line.count("::") == 2
    assert line.endswith(" and 3 more")
    report = json.loads((project.path / "draft-report.json").read_text(encoding="utf-8"))
    assert len(report["not_run"]) == 5


@pytest.mark.parametrize("given", [(), ("--draft-strict",)])
def test_a_run_that_another_plugin_has_failed_at_its_end_stays_failed(project, given):
    project.write("ours.toml", POLICY)
    hook = "def pytest_sessionfinish(session):\n    session.exitstatus = 7\n"
    project.write("conftest.py", f"import pytest\n\n@pytest.hookimpl(tryfirst=True)\n{hook}")
    run = project.run(
        "--draft-forest=shallow.joblib", "--draft-data=train.csv", "--draft-policy=ours.toml", "--draft-only", *given
    )
    run.assert_outcomes(passed=1)
    assert run.ret == 7
