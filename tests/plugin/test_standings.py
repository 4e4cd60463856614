"""What pytest itself says of a check that neither passed nor failed: never that it passed, nor that it failed."""

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


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_a_warning_that_could_not_be_checked_is_counted_and_shown_as_inconclusive(project, refused, processes):
    run = project.judge(refused, "-v", processes, "--junitxml=junit.xml")
    assert run.ret == pytest.ExitCode.TESTS_FAILED  # by the five that are no warnings
    assert run.parseoutcomes() == {"inconclusive": 10}
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
            f"{refused} * only warnings",
            "  inconclusive: * (warnings: counts-published)",
        ]
    )


@pytest.mark.nightly
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


@pytest.mark.nightly
def test_an_inconclusive_check_that_the_policy_allows_is_no_pass_either(project, policy):
    project.write("ours.toml", policy(0.0, top="allow_inconclusive = true"))
    run = project.judge("leaking.joblib", "--draft-policy=ours.toml", data="strangers.csv")
    assert run.ret == pytest.ExitCode.OK
    assert run.parseoutcomes() == {"inconclusive": 1}


@pytest.mark.nightly
@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_an_inconclusive_check_that_stops_is_a_category_of_its_own_and_no_red_failure(project, processes):
    report = "--junitxml=junit.xml"
    run = project.judge("leaking.joblib", processes, "--color=yes", report, data="strangers.csv")
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    text = run.stdout.str()
    assert "FAILED" not in text
    assert "FAILURES" not in text
    assert text.count("\x1b[33mI\x1b[0m") == 6  # with that of members, which is a warning and no failure
    assert "\x1b[31m" not in text  # nothing is red
    assert "\x1b[33m\x1b[1m6 inconclusive\x1b[0m" in run.outlines[-1]
    cases = list(ElementTree.parse(project.path / "junit.xml").iter("testcase"))
    told = [case.find("failure").get("message") for case in cases if case.find("failure") is not None]
    assert len(told) == 5
    assert all(text.startswith("inconclusive") for text in told)


@pytest.mark.nightly
@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_a_failure_and_what_could_not_be_decided_are_counted_apart(project, policy, processes):
    project.write("ours.toml", policy(0.0) + "[rules.certain-rows]\nmax_certain_rows = 0\n")
    forests = ("--draft-forest=shallow.joblib", "--draft-data=strangers.csv", "--draft-data=train.csv")
    run = project.run("--draft-forest=leaking.joblib", *forests, "--draft-policy=ours.toml", processes)
    outcomes = run.parseoutcomes()
    assert outcomes["inconclusive"] >= 1
    assert outcomes.get("failed", 0) + outcomes["inconclusive"] + outcomes.get("passed", 0) == 4


@pytest.mark.nightly
@pytest.mark.parametrize("arguments", [("-v", "-rf"), ("-v", "-ra"), ("-v", "-n2")], ids=" ".join)
def test_a_verbose_run_names_it_and_no_summary_calls_it_failed(project, arguments):
    run = project.judge("leaking.joblib", *arguments, data="strangers.csv")
    lines = [line for line in run.outlines if "INCONCLUSIVE" in line and "[artifact]" in line]
    assert len(lines) == 6
    assert not any("FAILED" in line for line in run.outlines)


@pytest.mark.nightly
@pytest.mark.parametrize("stop", ["-x", "--maxfail=1"])
def test_a_run_that_ends_at_the_first_failure_ends_at_what_could_not_be_decided(project, stop):
    run = project.judge("leaking.joblib", stop, data="strangers.csv")
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    assert run.parseoutcomes() == {"inconclusive": 1}
    run.stdout.fnmatch_lines(["*not run*leaking.joblib::perfect-rows?artifact?*"])


NUMBERS = "[rules.perfect-rows]\nmax_exact_values_beyond_split_half = 0.5\n"
"""A rule on numbers; the table has none."""


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_a_check_that_is_not_applicable_is_skipped_with_its_reason_and_fails_nothing(project, policy, processes):
    project.write("ours.toml", policy(0.0) + NUMBERS)
    run = project.judge("shallow.joblib", "--draft-policy=ours.toml", "-rs", "--junitxml=junit.xml", processes)
    assert run.ret == pytest.ExitCode.OK
    assert run.parseoutcomes() == {"passed": 1, "skipped": 1}
    run.stdout.fnmatch_lines(["SKIPPED * not applicable: no numeric column is to be rebuilt"])
    run.stdout.fnmatch_lines(["  not applicable: no numeric column is to be rebuilt (perfect-rows)"])
    case = next(
        case for case in ElementTree.parse(project.path / "junit.xml").iter("testcase") if "perfect" in case.get("name")
    )
    assert case.find("skipped").get("message") == "not applicable: no numeric column is to be rebuilt"
    told = {one.get("name"): one.get("value") for one in case.iter("property")}
    assert told["draft_result"] == "not applicable"
    assert project.result()["verdict"] == "passed"


@pytest.mark.nightly
@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_a_model_of_which_no_check_could_be_made_fails_the_run(project, processes):
    project.write("ours.toml", f'schema_version = 1\nname = "ours"\n{NUMBERS}')
    run = project.judge("shallow.joblib", "--draft-policy=ours.toml", processes)
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    assert run.parseoutcomes() == {"skipped": 1}
    run.stdout.fnmatch_lines(["  no check that counts could be made, which is no pass"])
    assert project.result()["verdict"] == "inconclusive"


@pytest.mark.nightly
def test_it_fails_no_run_where_the_policy_allows_that_nothing_is_known(project):
    project.write("ours.toml", f'schema_version = 1\nname = "ours"\nallow_inconclusive = true\n{NUMBERS}')
    run = project.judge("shallow.joblib", "--draft-policy=ours.toml")
    assert (run.ret, project.result()["verdict"]) == (pytest.ExitCode.OK, "inconclusive")
