"""The marker `reconstruction_budget` in a project's own tests."""

from __future__ import annotations

import pytest

KNOWN = "known are: max_error, max_perfect_rows, max_singled_out_rows"


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(
    ("forest", "arguments", "outcome"),
    [
        ("leaking.joblib", "max_error=0.05", {"failed": 1}),
        ("leaking.joblib", "max_perfect_rows=10", {"failed": 1}),
        ("leaking.joblib", "max_perfect_rows=40", {"passed": 1}),
        ("leaking.joblib", "max_singled_out_rows=0", {"failed": 1}),
        ("shallow.joblib", "max_error=0.05, max_perfect_rows=10", {"passed": 1}),
        ("shallow.joblib", "max_error=0.05, max_perfect_rows=0", {"failed": 1}),
        ("shallow.joblib", "max_error=1", {"failed": 1}),
    ],
)
def test_a_marked_test_fails_only_when_a_budget_is_crossed(project, forest, arguments, outcome):
    project.configure(forest)
    project.mark(arguments)
    project.run().assert_outcomes(**outcome)


def test_a_marked_test_runs_and_is_told_in_the_table_when_nothing_asks_for_judgements(project):
    project.configure()
    project.mark("max_error=0.05")
    result = project.run("--draft-report=json:report.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["*; limit: 0.0500*", "remedy: *", "leaking.joblib *FAILED", "FAILED test_marked.py::test_release*"]
    )
    report = project.report()
    assert report["verdict"] == "failed"
    assert report["not_run"] == []
    (check,) = report["results"][0]["checks"]
    assert check["item"] == "test_marked.py::test_release[leaking.joblib-artifact]"
    assert check["rule"] == "reconstruction-error"


def test_a_marked_test_is_judged_by_its_budgets_only_when_no_policy_is_named(project):
    project.configure()
    project.mark("max_perfect_rows=40")
    project.run("--draft-report=json:report.json").assert_outcomes(passed=1)
    assert list(project.result()["policy"]["rules"]) == ["perfect-rows"]


def test_marked_tests_and_items_are_told_apart_when_both_run(project):
    project.configure()
    project.mark("max_perfect_rows=40")
    project.run("--draft", "--draft-report=json:report.json").assert_outcomes(passed=4, failed=5)
    judged = project.result()
    of = [check["item"].partition("::")[0] for check in judged["checks"]]
    assert sorted(of) == ["leaking.joblib"] * 10 + ["test_marked.py"]
    assert judged["verdict"] == "failed"


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("max_eror=0.1", f"unknown argument 'max_eror'; {KNOWN}"),
        ("max_perfect_rows=1.5", "max_perfect_rows must be a whole number"),
        ("max_perfect_rows='10'", "max_perfect_rows must be a whole number"),
        ("max_error='low'", "max_error must be a number"),
        ("max_error=True", "max_error must be a number"),
        ("max_error=1.5", "max_error must be between 0 and 1"),
        ("max_error=float('nan')", "max_error must be between 0 and 1"),
        ("max_perfect_rows=-1", "max_perfect_rows must be at least 0"),
        ("0.05", "reconstruction_budget takes keyword arguments only"),
        ("", "reconstruction_budget needs at least one of: max_error"),
    ],
)
def test_a_wrong_argument_is_an_error_at_collection(project, arguments, message):
    project.configure()
    project.mark(arguments)
    result = project.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*test_marked.py::*: *{message.replace('[', '[[]')}*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*another exception occurred*")


def test_a_marked_test_without_the_result_is_an_error_at_collection(project):
    project.configure()
    project.write(
        "test_marked.py",
        "import pytest\n@pytest.mark.reconstruction_budget(max_error=0.1)\ndef test_release(): ...\n",
    )
    result = project.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*test_marked.py::*: marked reconstruction_budget: add draft_result to the*"])


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize(
    ("policy_error", "marker_error", "in_force"), [(0.0, 0.9, 0.9), (0.9, 0.0, 0.9), (0.0, 0.001, 0.001)]
)
def test_the_larger_error_wins_when_a_marker_and_a_policy_meet(project, policy, policy_error, marker_error, in_force):
    project.configure("shallow.joblib")
    project.write("ours.toml", policy(policy_error))
    project.mark(f"max_error={marker_error}")
    result = project.run("--draft-policy=ours.toml", "--draft-report=json:report.json")
    result.assert_outcomes(**({"failed": 1} if in_force > 0.5 else {"passed": 1}))
    assert project.result()["policy"]["rules"] == {"reconstruction-error": {"max_error": in_force}}


@pytest.mark.parametrize(("policy_rows", "marker_rows"), [(40, 10), (10, 40)])
def test_the_fewer_rows_win_when_a_marker_and_a_policy_meet(project, policy_rows, marker_rows):
    project.configure()
    project.write(
        "ours.toml",
        f'schema_version = 1\nname = "ours"\n[rules.perfect-rows]\nmax_perfect_rows = {policy_rows}\n',
    )
    project.mark(f"max_perfect_rows={marker_rows}")
    project.run("--draft-policy=ours.toml").assert_outcomes(failed=1)


def test_a_marked_test_is_judged_by_the_policys_other_rules_too(project, policy):
    project.configure()
    project.write("ours.toml", policy(1.0))
    project.mark("max_perfect_rows=40")
    result = project.run("--draft-policy=ours.toml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["reconstruction-error[[]artifact[]]"])


def test_the_strictest_marker_wins_when_a_class_and_its_test_have_one(project):
    project.configure()
    project.write(
        "test_marked.py",
        "import pytest\n"
        "@pytest.mark.reconstruction_budget(max_perfect_rows=10)\n"
        "class TestRelease:\n"
        "    @pytest.mark.reconstruction_budget(max_perfect_rows=40)\n"
        "    def test_release(self, draft_result): ...\n",
    )
    project.run().assert_outcomes(failed=1)


@pytest.mark.nightly
def test_a_marked_test_runs_for_each_forest_and_adversary(project):
    project.configure("leaking.joblib shallow.joblib")
    project.mark("max_perfect_rows=10")
    result = project.run("-v", "--draft-adversary=artifact", "--draft-adversary=published")
    result.assert_outcomes(failed=2, passed=2)
    result.stdout.fnmatch_lines_random(
        [f"*test_release?{f}.joblib-{a}? *" for a in ("artifact", "published") for f in ("leaking", "shallow")]
    )


@pytest.mark.nightly
@pytest.mark.parametrize("other", ["strangers.csv", None])
def test_a_marked_test_fails_when_its_outcome_is_inconclusive(project, other):
    data = f"draft_data = {other}\n" if other else ""
    project.write("pytest.ini", f"[pytest]\ndraft_forest = leaking.joblib\n{data}")
    project.mark("max_error=0.0")
    result = project.run("--draft-report=json:report.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes() == {"inconclusive": 1}
    result.stdout.fnmatch_lines(["test_marked.py I *", "  inconclusive: * (undecided: reconstruction-error)"])
    assert project.report()["verdict"] == "inconclusive"


@pytest.mark.nightly
def test_a_policy_can_allow_a_marked_test_to_be_inconclusive_but_never_to_fail(project, policy):
    project.configure()
    project.write("ours.toml", policy(0.0, top="allow_inconclusive = true"))
    project.mark("max_perfect_rows=39")
    arguments = ("--draft-policy=ours.toml", "--draft-data")
    project.run(*arguments, "strangers.csv").assert_outcomes(passed=1)
    project.run(*arguments, "train.csv").assert_outcomes(failed=1)


def test_a_tests_own_failure_stays_when_its_budgets_are_met(project):
    project.configure("shallow.joblib")
    project.write(
        "test_marked.py",
        "import pytest\n"
        "@pytest.mark.reconstruction_budget(max_error=0.0)\n"
        "def test_release(draft_result): assert draft_result.metrics['n_rows'] == 41\n",
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 40 == 41*"])


@pytest.mark.parametrize("end", ["pytest.skip('not today')", "pytest.xfail('not today')"])
def test_a_test_that_ends_itself_fails_when_its_budget_is_crossed(project, end):
    project.configure()
    project.write(
        "test_marked.py",
        f"import pytest\n@pytest.mark.reconstruction_budget(max_error=0.5)\ndef test_release(draft_result): {end}\n",
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.nightly
@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_a_strict_run_fails_when_a_marked_test_is_not_selected(project, processes):
    project.configure()
    marked = "@pytest.mark.reconstruction_budget(max_error=0.5)\ndef test_release(draft_result): ...\n"
    project.write("test_marked.py", f"import pytest\n{marked}def test_other(): ...\n")
    result = project.pytester.runpytest_subprocess("-k", "other", "--draft-strict", processes)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*not run*test_marked.py::test_release*"])


def test_an_expected_failure_of_a_marked_test_is_never_shown_as_a_pass(project):
    project.configure()
    project.write(
        "test_marked.py",
        "import pytest\n"
        "@pytest.mark.xfail(reason='known to leak')\n"
        "@pytest.mark.reconstruction_budget(max_error=0.5)\n"
        "def test_release(draft_result): ...\n",
    )
    result = project.run("--draft-report=json:report.json")
    assert result.parseoutcomes().get("passed") is None
    assert project.report()["verdict"] == "failed"


REPLACED = """
import pytest

@pytest.fixture
def draft_result(): return None

@pytest.mark.reconstruction_budget(max_error=1)
def test_release(draft_result): ...
"""

UNITTEST = """
import unittest
import pytest

@pytest.mark.reconstruction_budget(max_error=1)
class TestRelease(unittest.TestCase):
    def test_release(self): ...
"""


@pytest.mark.parametrize("text", [REPLACED, UNITTEST], ids=["replaced", "unittest"])
def test_a_marker_that_nothing_can_check_is_never_a_pass(project, text):
    project.configure()
    project.write("test_marked.py", text)
    result = project.run()
    assert result.ret not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    result.stdout.fnmatch_lines(["*reconstruction_budget*"])


def test_a_skipped_marked_test_fails_the_run_when_strict(project):
    project.configure()
    project.write(
        "test_marked.py",
        "import pytest\n"
        "@pytest.mark.skip(reason='not today')\n"
        "@pytest.mark.reconstruction_budget(max_error=0.5)\n"
        "def test_release(draft_result): ...\n",
    )
    assert project.run("--draft-strict").ret == pytest.ExitCode.TESTS_FAILED


def test_a_deselected_marked_test_fails_the_run_when_strict(project):
    project.configure()
    project.mark("max_perfect_rows=40")
    project.write("test_own.py", "def test_own(): ...")
    result = project.run("--draft-strict", "-k", "own", "--draft-report=json:report.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert project.report()["not_run"] == ["test_marked.py::test_release[leaking.joblib-artifact]"]
    assert project.run("-k", "own").ret == pytest.ExitCode.OK
