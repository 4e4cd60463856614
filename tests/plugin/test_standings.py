"""What pytest itself says of a check that neither passed nor stops anything: never that it passed."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

WARNING = 'schema_version = 1\nname = "ours"\n[rules.{rule}]\n{threshold}\n[severity]\n{rule} = "warning"\n'


@pytest.fixture
def refused(project) -> str:
    """Return the name of a model file that cannot be read."""
    path = project.path / "refused.joblib"
    path.write_bytes((project.path / "shallow.joblib").read_bytes()[:500])
    return path.name


@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_a_warning_that_could_not_be_checked_is_counted_and_shown_as_inconclusive(project, refused, processes):
    run = project.judge(refused, "-v", processes, "--junitxml=junit.xml")
    assert run.ret == pytest.ExitCode.TESTS_FAILED  # by the four errors
    assert run.parseoutcomes() == {"failed": 4, "inconclusive": 2}
    run.stdout.no_fnmatch_line("*PASSED*")
    lines = [line for line in run.outlines if "INCONCLUSIVE" in line and "-published[artifact]" in line]
    assert len(lines) == 2
    cases = list(ElementTree.parse(project.path / "junit.xml").iter("testcase"))
    told = [case.find("skipped").get("message") for case in cases if "published" in case.get("name")]
    assert len(told) == 2
    assert all(text.startswith("inconclusive, a warning: ") for text in told)


def test_a_warning_that_could_not_be_checked_fails_no_run_and_its_line_names_it(project, refused):
    project.write("warn.toml", WARNING.format(rule="counts-published", threshold=""))
    run = project.judge(refused, "--draft-policy=warn.toml", "--draft-strict")
    assert run.ret == pytest.ExitCode.OK
    assert run.parseoutcomes() == {"inconclusive": 1}
    run.stdout.fnmatch_lines(
        [
            f"{refused} I *",
            f"{refused} * not stopped",
            f"{refused}: warning: counts-published?artifact? inconclusive, for the reason that follows",
        ]
    )


@pytest.mark.parametrize(
    ("rule", "threshold"), [("reconstruction-error", "max_error = 0.5"), ("smallest-leaf", "min_rows = 40")]
)
def test_a_warning_that_failed_is_counted_as_warned_and_no_pass(project, rule, threshold):
    project.write("warn.toml", WARNING.format(rule=rule, threshold=threshold))
    run = project.judge("leaking.joblib", "--draft-policy=warn.toml", "-v", "--junitxml=junit.xml")
    assert run.ret == pytest.ExitCode.OK
    assert run.parseoutcomes() == {"warned": 1}
    run.stdout.fnmatch_lines([f"leaking.joblib::{rule}?artifact? WARNED *"])
    (case,) = ElementTree.parse(project.path / "junit.xml").iter("testcase")
    assert case.find("skipped").get("message").startswith("failed, a warning: ")


def test_an_inconclusive_check_that_the_policy_allows_is_no_pass_either(project, policy):
    project.write("ours.toml", policy(0.0, top="allow_inconclusive = true"))
    run = project.judge("shallow.joblib", "--draft-policy=ours.toml", data=None)
    assert run.ret == pytest.ExitCode.OK
    assert run.parseoutcomes() == {"inconclusive": 1}


def test_checks_that_passed_stay_passed(project, policy):
    project.write("ours.toml", policy(0.0))
    assert project.judge("shallow.joblib", "--draft-policy=ours.toml").parseoutcomes() == {"passed": 1}
