"""The model's own items: what passes and fails, how they are addressed, and what becomes of those not run."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

ERROR = "leaking.joblib::reconstruction-error[artifact]"
PERFECT = "leaking.joblib::perfect-rows[artifact]"

LEAVES = """
schema_version = 1
name = "ours"

[rules.pure-leaves]
max_share = 1.0

[rules.smallest-leaf]
min_rows = 40
"""
"""A policy that needs no attack."""


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(
    ("forest", "others"),
    [
        ("leaking.joblib", {"passed": 3, "warned": 2}),  # of members that are proved, and of counts
        ("bagged.joblib", {"passed": 2, "inconclusive": 1, "warned": 2}),  # of seeds and counts; none is proved there
    ],
)
def test_a_forest_fails_when_its_file_gives_all_rows_away(project, forest, others):
    result = project.judge(forest)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes() == {"failed": 5, **others}
    assert project.report()["verdict"] == "failed"


def test_a_forest_passes_when_it_is_too_shallow_to_give_rows_away(project):
    result = project.judge("shallow.joblib")
    assert result.ret == pytest.ExitCode.OK
    assert result.parseoutcomes() == {"passed": 8, "inconclusive": 1, "warned": 1}
    assert project.report()["verdict"] == "passed"


def test_a_failure_names_what_was_crossed_and_its_cause_and_a_remedy(project):
    result = project.judge("bagged.joblib")
    result.stdout.fnmatch_lines(
        [
            "failed: the attack rebuilds the training data with an error of 0.0000; limit: *",
            "cause: the file stores *seed*",
            "remedy: retrain *",
        ]
    )


@pytest.mark.nightly
def test_nothing_else_runs_when_only_the_judgements_are_asked_for(project):
    project.write("test_own.py", "def test_own(): ...")
    project.judge("shallow.joblib", "--draft-only").assert_outcomes(passed=8)
    project.judge("shallow.joblib", "--draft-only", "test_own.py").assert_outcomes(passed=8)


def test_every_item_shows_its_address_when_collected(project):
    result = project.judge("leaking.joblib", "--collect-only", "-q")
    result.stdout.fnmatch_lines([ERROR.replace("[", "[[]"), PERFECT.replace("[", "[[]")])


def test_nothing_is_judged_or_written_when_only_collecting(project):
    result = project.judge("leaking.joblib", "--collect-only")
    assert result.ret == pytest.ExitCode.OK
    assert not (project.path / "report.json").exists()
    result.stdout.no_fnmatch_line("*gives away*")


def test_one_item_runs_when_its_address_is_an_argument(project):
    result = project.judge("leaking.joblib", PERFECT)
    result.assert_outcomes(failed=1)
    assert ERROR in project.report()["not_run"]
    assert len(project.report()["not_run"]) == 9


def test_an_address_works_when_the_forest_lies_in_another_folder(project):
    models = project.path / "models"
    models.mkdir()
    (project.path / "shallow.joblib").rename(models / "shallow.joblib")
    result = project.judge("models/shallow.joblib", "models/shallow.joblib::perfect-rows[artifact]")
    result.assert_outcomes(passed=1)


def test_an_unknown_address_is_a_usage_error(project):
    result = project.judge("leaking.joblib", "leaking.joblib::no-such-rule[artifact]")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.nightly
def test_an_item_outside_of_the_root_can_be_addressed_as_the_report_names_it(project):
    project.path.joinpath("inner").mkdir()
    project.run(
        "--rootdir=inner",
        "--draft-forest=shallow.joblib",
        "--draft-data=train.csv",
        "--draft-report=json:r.json",
    )
    item = project.report("r.json")["results"][0]["checks"][1]["item"]
    again = project.run("--rootdir=inner", "--draft-forest=shallow.joblib", "--draft-data=train.csv", item)
    again.assert_outcomes(passed=1)


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(
    ("selection", "not_run", "outcomes"),
    [
        (("-k", "perfect"), "reconstruction-error", {"passed": 1, "deselected": 9}),
        (
            ("--deselect", "shallow.joblib::perfect-rows[artifact]"),
            "perfect-rows",
            {"passed": 7, "deselected": 1},
        ),
        (("shallow.joblib::perfect-rows[artifact]",), "reconstruction-error", {"passed": 1}),
    ],
)
@pytest.mark.parametrize("allowed", [False, True])
def test_a_run_that_leaves_out_checks_passes_only_where_the_ini_file_allows_it(
    project, selection, not_run, outcomes, allowed
):
    if allowed:
        project.write("pytest.ini", "[pytest]\ndraft_allow_not_run = true\n")
    result = project.judge("shallow.joblib", *selection)
    assert result.ret == (pytest.ExitCode.OK if allowed else pytest.ExitCode.TESTS_FAILED)
    result.assert_outcomes(**outcomes)
    report = project.report()
    assert f"shallow.joblib::{not_run}[artifact]" in report["not_run"]
    assert len(report["not_run"]) == outcomes.get("deselected", 9)
    assert report["verdict"] == report["results"][0]["verdict"] == "inconclusive"
    so = "this run cannot pass (exit status 1; while you work, set draft_allow_not_run = true in the ini file, *"
    so = "the run is inconclusive (exit status 0)" if allowed else so
    result.stdout.fnmatch_lines([f"*not run, so {so}: *{not_run}*"])


@pytest.mark.nightly
@pytest.mark.parametrize("processes", ["-n0", "-n2"])
@pytest.mark.parametrize(
    "selection", [("-k", "shallow"), ("-m", "slow"), ("--deselect", "leaking.joblib"), ("shallow.joblib",)]
)
def test_no_selection_lets_a_run_pass_without_the_file_that_fails(project, selection, processes):
    result = project.run_apart(
        *("--draft-forest=leaking.joblib", "--draft-forest=shallow.joblib", "--draft-data=train.csv"),
        *("--draft-only", "--draft-report=json:report.json", processes, *selection),
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes().get("failed") is None
    report = project.report()
    assert {check.partition("::")[0] for check in report["not_run"]} >= {"leaking.joblib"}
    assert report["verdict"] == "inconclusive"


@pytest.mark.nightly
def test_what_failed_last_runs_again_by_itself_or_first(project):
    project.write("ours.toml", LEAVES)
    arguments = ("leaking.joblib", "--draft-policy=ours.toml")
    assert project.judge(*arguments).parseoutcomes() == {"failed": 1, "passed": 1}
    again = project.judge(*arguments, "--lf")
    assert again.ret == pytest.ExitCode.TESTS_FAILED
    assert again.parseoutcomes() == {"failed": 1}
    again.stdout.fnmatch_lines(["run-last-failure: rerun previous 1 failure"])
    first = project.judge(*arguments, "--ff")
    first.stdout.fnmatch_lines(["run-last-failure: rerun previous 1 failure first", "leaking.joblib F.*"])


def test_checks_that_are_only_listed_fail_nothing(project):
    assert project.judge("shallow.joblib", "-k", "perfect", "--collect-only").ret == pytest.ExitCode.OK


@pytest.mark.nightly
def test_the_projects_own_tests_are_selected_as_one_likes(project):
    project.configure()
    project.mark("max_perfect_rows=0")
    project.write("test_own.py", "def test_own(): ...\ndef test_other(): ...\n")
    for selection in ("-k", "test_own"), ("test_own.py::test_own",), ("--deselect", "test_marked.py"):
        assert project.run(*selection).ret == pytest.ExitCode.OK
    judged = project.judge("shallow.joblib", "-k", "shallow and not test")
    assert judged.ret == pytest.ExitCode.OK


def test_a_strict_run_passes_when_every_check_has_run(project):
    assert project.judge("shallow.joblib", "--draft-strict").ret == pytest.ExitCode.OK


def test_a_skipped_check_fails_the_run(project):
    project.write(
        "conftest.py",
        "import pytest\n"
        "def pytest_collection_modifyitems(items):\n"
        "    items[0].add_marker(pytest.mark.skip(reason='not today'))\n",
    )
    assert project.judge("shallow.joblib").ret == pytest.ExitCode.TESTS_FAILED
    assert project.judge("shallow.joblib", "--draft-strict").ret == pytest.ExitCode.TESTS_FAILED
    assert project.report()["not_run"] == ["shallow.joblib::reconstruction-error[artifact]"]


def test_a_run_fails_when_all_checks_are_deselected(project):
    result = project.judge("shallow.joblib", "-k", "nothing_has_this_name")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert project.report()["verdict"] == "inconclusive"
    assert len(project.report()["not_run"]) == 10
    project.write("pytest.ini", "[pytest]\ndraft_allow_not_run = true\n")
    allowed = project.judge("shallow.joblib", "-k", "nothing_has_this_name")
    assert allowed.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_failure_stands_when_the_first_one_stops_the_run(project):
    result = project.judge("leaking.joblib", "-x")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=1)
    assert project.report()["verdict"] == "failed"
    assert project.report()["not_run"][0] == PERFECT
    assert len(project.report()["not_run"]) == 9


def test_junit_has_a_case_for_every_check_when_asked_for(project):
    project.judge("leaking.joblib", "--junitxml=junit.xml")
    cases = ElementTree.parse(project.path / "junit.xml").getroot().findall(".//testcase")
    assert [case.get("name") for case in cases] == [
        "reconstruction-error[artifact]",
        "perfect-rows[artifact]",
        "determined-rows[artifact]",
        "given-all-other-rows[artifact]",
        "label-told[artifact]",
        "membership[artifact]",
        "seeds-published[artifact]",
        "counts-published[artifact]",
        "verbatim-data[artifact]",
        "per-row-vectors[artifact]",
    ]
    assert all("; limit: " in case.find("failure").text for case in cases[:2])
    assert "rebuilds all 40 rows" in cases[2].find("failure").text
    assert "somebody who knows all rows but one rebuilds that one" in cases[3].find("failure").text
    assert "tells with certainty the label of" in cases[4].find("failure").text
    assert all(case.find("failure") is None for case in cases[5:])


@pytest.mark.nightly
def test_each_adversary_gets_its_items_when_the_option_is_repeated(project):
    result = project.judge("leaking.joblib", "--draft-adversary=artifact", "--draft-adversary=published")
    result.assert_outcomes(failed=10, passed=6)
    assert [r["adversary"] for r in project.report()["results"]] == ["artifact", "published"]


def test_a_forest_is_judged_once_when_named_twice(project):
    result = project.run("--draft-forest=shallow.joblib", "--draft-forest=./shallow.joblib", "--draft-data=train.csv")
    result.assert_outcomes(passed=8)


@pytest.mark.nightly
def test_an_attack_that_runs_out_of_time_is_inconclusive(project):
    result = project.judge("leaking.joblib", "--draft-budget=1e-9")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert project.report()["verdict"] == "inconclusive"
    assert "found no dataset" in project.result()["reasons"][0]
