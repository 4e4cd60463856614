"""Waivers, severities and what a JUnit file says, from the command line."""

from __future__ import annotations

import hashlib
from datetime import date, timedelta
from xml.etree import ElementTree

import pytest

WAIVER = """
[[waiver]]
rule = "{rule}"
artifact_sha256 = "{sha256}"
reason = "only for the owner's own use"
owner = "A. Person"
expires = {expires}
"""


@pytest.fixture
def judge(project, policy):
    """Return a function that judges the leaking forest by an absolute error, waived until some day."""

    def judged(*arguments: str, rule="reconstruction-error", days=1, model="leaking.joblib", forest="leaking.joblib"):
        sha256 = hashlib.sha256((project.path / model).read_bytes()).hexdigest()
        text = WAIVER.format(rule=rule, sha256=sha256, expires=date.today() + timedelta(days=days))
        project.write("policy.toml", policy(max_error=0.5) + text)
        return project.judge(forest, "--draft-policy=policy.toml", *arguments)

    return judged


@pytest.mark.nightly
@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_a_waived_check_is_expected_to_fail_and_stays_in_the_report(project, judge, processes):
    run = judge("-rx", processes)
    run.assert_outcomes(xfailed=1)
    assert run.ret == 0
    run.stdout.fnmatch_lines(["*waived until * by A. Person: only for the owner's own use*"])
    (check,) = project.result()["checks"]
    assert (check["result"], check["waiver"]["owner"]) == ("failed", "A. Person")
    assert project.result()["verdict"] == "passed"


@pytest.mark.nightly
def test_with_runxfail_a_waived_check_fails(judge):
    judge("--runxfail").assert_outcomes(failed=1)


def test_a_waiver_ends_and_is_for_one_file(judge, one_line_error):
    line = one_line_error(judge(days=-1))
    assert "policy.toml" in line
    assert "it has expired on" in line
    assert "no model file with the SHA-256" in one_line_error(judge(model="shallow.joblib"))
    assert "no rule of this policy" in one_line_error(judge(rule="perfect-rows"))


def test_a_junit_file_has_what_was_found_out(project):
    project.judge("leaking.joblib", "--junitxml=junit.xml")
    cases = list(ElementTree.parse(project.path / "junit.xml").iter("testcase"))
    assert len(cases) == 10
    for case in cases[:3]:
        told = {entry.get("name"): entry.get("value") for entry in case.iter("property")}
        assert told["draft_rule"] in case.get("name")
        assert told["draft_result"] == "failed"
        assert float(told["draft_reconstruction_error"]) == 0
        assert len(told["draft_artifact_sha256"]) == 64
        assert not {"None", ""} & set(told.values())


@pytest.mark.nightly
def test_a_waiver_of_the_comparison_is_refused_where_nothing_is_compared(project, judge, one_line_error):
    line = one_line_error(judge(rule="compared-with-earlier"))
    assert "nothing is compared in this run: add --draft-compare" in line
    project.judge("leaking.joblib", "--draft-report=json:earlier.json")
    run = judge("--draft-compare=earlier.json", rule="compared-with-earlier", forest="leaking.joblib")
    run.assert_outcomes(failed=1, passed=1)  # compared with itself, it got no worse
    (project.path / "earlier.json").unlink()
    assert "nothing is compared" in one_line_error(judge("--draft-cache", rule="compared-with-earlier"))
