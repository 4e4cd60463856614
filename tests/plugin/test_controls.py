"""Controls, dates and declared context: what a run says of itself."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest
from jsonschema import Draft202012Validator

from pytest_draft.plugin import controls
from pytest_draft.policy.policy import read_policy
from pytest_draft.report.schema import schema

CONTROL = {"name": "x", "what": "y", "expected": "it must fail", "found": "passed", "held": False}
CONTEXT = '[context]\nrecipients = "a partner"\ndeclared_on = 2026-11-20\ntest_again_after_days = 30\n'
FAILED, OPEN, LOST = ("failed", 20), ("inconclusive", 20), ("inconclusive", None)
AUDIT = 'schema_version = 1\nname = "ours"\n[rules.verbatim-data]\n'


@pytest.fixture
def audited(project, monkeypatch):
    """Return a function that judges a file by a rule that needs no attack, with reports of the evidence."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1764252000")
    project.write("policy.toml", AUDIT + CONTEXT)

    def run(*arguments: str, forest: str = "shallow.joblib"):
        reports = ("--draft-report=evidence", "--draft-report=evidence:e.md")
        return project.judge(forest, "--draft-policy=policy.toml", *reports, *arguments)

    return run


def test_the_evidence_is_written_as_a_page_and_as_markdown(project, audited):
    assert audited().ret == pytest.ExitCode.OK
    assert "<!doctype html>" in (project.path / "draft-evidence.html").read_text(encoding="utf-8")
    said = (project.path / "e.md").read_text(encoding="utf-8")
    assert said.startswith("# Test evidence for a decision on release\n")
    assert "a partner" in said
    assert "at the latest on 2025-12-27" in said
    assert project.report()["judged_at"] == "2025-11-27T14:00:00Z"
    assert "controls" not in project.report()
    assert not list(Draft202012Validator(schema()).iter_errors(project.report()))


def test_nothing_passes_where_a_control_does_not_come_out_as_it_must(project, audited, monkeypatch):
    asked = []
    monkeypatch.setattr(controls, "controls", lambda *given: asked.append(given) or [CONTROL])
    result = audited("--draft-controls", "--draft-seed=7")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert asked == [(7, None)]
    report = project.report()
    assert (report["verdict"], report["results"][0]["verdict"]) == ("inconclusive", "inconclusive")
    assert report["not_run"] == ["shallow.joblib::control[x]"]
    assert report["controls"] == [CONTROL]
    result.stdout.fnmatch_lines(["control, x: passed, not as it must (it must fail): nothing passes"])
    assert "Not cleared for release: shallow.joblib" in (project.path / "e.md").read_text(encoding="utf-8")


def test_a_control_that_holds_changes_no_verdict(project, audited, monkeypatch):
    monkeypatch.setattr(controls, "controls", lambda *_: [{**CONTROL, "found": "failed", "held": True}])
    assert audited("--draft-controls").ret == pytest.ExitCode.OK
    assert project.report()["verdict"] == "passed"
    project.write("pytest.ini", "[pytest]\ndraft_controls = true\n")
    audited()
    assert project.report()["controls"]


@pytest.mark.nightly
def test_the_controls_hold():
    found = controls.controls(0, None)
    assert [one["held"] for one in found] == [True, True]
    assert found[0]["found"] == "failed; 150 of 150 rows come back"
    assert re.fullmatch(r"inconclusive; \d+ of 150 rows come back", found[1]["found"])


@pytest.mark.parametrize(
    ("own", "found", "held"),
    [(True, FAILED, True), (True, OPEN, False), (False, FAILED, False), (False, OPEN, True), (False, LOST, False)],
)
def test_a_control_holds_by_what_came_out(own, found, held, monkeypatch, tmp_path):
    verdict, rows = found
    findings = None if rows is None else SimpleNamespace(whole=SimpleNamespace(perfect=SimpleNamespace(upper=rows)))
    answer = SimpleNamespace(findings=findings)
    monkeypatch.setattr(controls.children, "run", lambda *_, **__: (answer, None))
    monkeypatch.setattr(controls, "judge", lambda *_: ())
    monkeypatch.setattr(controls, "verdict_of", lambda _: verdict)
    kind = controls._POSITIVE if own else controls._NEGATIVE
    assert controls._control(tmp_path, 0, None, *kind)["held"] is held


def test_who_ran_it_is_what_a_ci_system_says_and_nothing_else():
    assert controls.provenance({})["run"] == {"by": None, "address": None}
    assert controls.provenance({"USER": "alice", "LOGNAME": "alice"})["run"]["by"] is None
    github = {"GITHUB_ACTOR": "alice\n::error::x", "GITHUB_SERVER_URL": "https://g.example", "GITHUB_REPOSITORY": "o/r"}
    run = controls.provenance({**github, "GITHUB_RUN_ID": "7"})["run"]
    assert run["address"] == "https://g.example/o/r/actions/runs/7"
    assert "\n" not in run["by"]
    assert "::" not in run["by"]
    gitlab = {"GITLAB_USER_LOGIN": "bob", "CI_JOB_URL": "https://l.example/1"}
    assert controls.provenance(gitlab)["run"] == {"by": "bob", "address": "https://l.example/1"}
    assert controls.provenance({"GITHUB_RUN_ID": "7"})["run"]["address"] is None


@pytest.mark.parametrize("epoch", ["", "-1", "x", "9" * 40, "\u0661"])
def test_a_time_that_is_none_is_not_taken(epoch):
    assert re.fullmatch(
        r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", controls.provenance({"SOURCE_DATE_EPOCH": epoch})["judged_at"]
    )


def test_equal_inputs_give_equal_reports_by_one_process_and_by_two(project, audited):
    def report() -> dict:
        found = project.report()
        return {key: found[key] for key in found if key != "results"} | {"hash": found["canonical_sha256"]}

    audited()
    alone, page = report(), re.sub(r"\d+\.\d s of", "", (project.path / "e.md").read_text(encoding="utf-8"))
    audited("-n2")
    assert report() == alone
    assert re.sub(r"\d+\.\d s of", "", (project.path / "e.md").read_text(encoding="utf-8")) == page


def test_a_context_is_declared_in_words_and_whole_days(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(AUDIT + CONTEXT, encoding="utf-8")
    assert read_policy(path).context == {
        "recipients": "a partner",
        "declared_on": "2026-11-20",
        "test_again_after_days": 30,
    }
    for wrong in ('recipients = ""', "recipients = 1", "test_again_after_days = 0", 'declared_on = "soon"', "else = 1"):
        path.write_text(f"{AUDIT}[context]\n{wrong}\n", encoding="utf-8")
        with pytest.raises(Exception, match="context"):
            read_policy(path)


def test_the_json_report_holds_the_evidence(project, audited):
    audited()
    text = (project.path / "report.json").read_text(encoding="utf-8")
    assert [one["said"] for one in json.loads(text)["results"][0]["evidence"]["context"][:1]] == ["a partner"]
