"""One run, whatever plugins are beside it and however many processes it takes."""

from __future__ import annotations

import pytest

BOTH = ("--draft-forest=leaking.joblib", "--draft-forest=shallow.joblib", "--draft-data=train.csv")


@pytest.fixture(scope="module")
def once() -> dict[str, object]:
    """Return what is found out once for all tests here, by a name."""
    return {}


@pytest.fixture
def plain(project, without_times, once):
    """Return the report of a run with nothing special."""
    if "plain" not in once:
        project.run(*BOTH, "--draft-report=json:plain.json").assert_outcomes(failed=5, passed=11)
        once["plain"] = without_times(project.report("plain.json"))
    return once["plain"]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "arguments",
    [(), ("-n0",), ("-p", "no:xdist"), ("-p", "no:cacheprovider"), ("-p", "no:terminal")],
    ids=" ".join,
)
def test_the_report_is_the_same_when_run_in_one_process(project, plain, without_times, arguments):
    result = project.run(*BOTH, "--draft-report=json:other.json", *arguments)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert without_times(project.report("other.json")) == plain


@pytest.mark.nightly
def test_the_report_is_the_same_when_two_processes_share_the_work(project, plain, without_times):
    result = project.run_apart(*BOTH, "--draft-report=json:other.json", "-n2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=5, passed=11)
    assert without_times(project.report("other.json")) == plain
    result.stdout.fnmatch_lines(["leaking.joblib *FAILED", "shallow.joblib *passed"])


@pytest.mark.nightly
def test_a_usage_error_is_one_when_there_would_be_two_processes(project):
    result = project.run_apart("--draft-forest=leaking.joblib", "--draft-budget=-1", "-n2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.nightly
def test_the_demo_fails_one_forest_and_passes_the_other(project):
    result = project.run("--draft-demo")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=4, passed=11)
    result.stdout.fnmatch_lines(
        [
            "default.joblib *FAILED",
            "shallow.joblib *passed",
            "*one-hot quartiles*",
            "*exit status 1. That is right: *",
        ]
    )


def test_the_demo_refuses_a_forest_of_ones_own(project, one_line_error):
    error = one_line_error(project.run("--draft-demo", "--draft-forest=leaking.joblib"))
    assert "leave out --draft-forest" in error
