"""Options and ini values: where they are found, what they mean, and what is refused with one line."""

from __future__ import annotations

import hashlib

import pytest


def _paths(report: dict) -> list[str]:
    return [result["artifact"]["path"] for result in report["results"]]


@pytest.mark.nightly
def test_every_match_is_judged_when_a_glob_is_given(project):
    result = project.judge("*a*.joblib")
    assert result.parseoutcomes() == {"failed": 10, "passed": 13, "inconclusive": 2, "warned": 5}
    assert _paths(project.report()) == ["bagged.joblib", "leaking.joblib", "shallow.joblib"]


def test_a_glob_that_matches_nothing_is_a_usage_error(project, one_line_error):
    error = one_line_error(project.judge("nothing-*.joblib"))
    assert "--draft-forest: no file matches" in error
    assert "nothing-*.joblib" in error


def test_an_empty_folder_is_no_forest(project, one_line_error):
    (project.path / "models").mkdir()
    assert "is no regular file and no folder with files" in one_line_error(project.judge("models"))


@pytest.mark.nightly(quick=12)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--draft-adversary=nobody"],
            "unknown adversary 'nobody'; known are: artifact, published, served",
        ),
        (["--draft-report=xml"], "--draft-report: unknown type 'xml'; known are: json"),
        (["--draft-report=json:train.csv/report.json"], "cannot be written"),
        (["--draft-budget=0"], "--draft-budget: give more than 0 seconds"),
        (["--draft-budget=-3"], "--draft-budget"),
        (["--draft-budget=nan"], "--draft-budget"),
        (["--draft-budget=inf"], "--draft-budget"),
        (["--draft-workers=0"], "--draft-workers: give at least 1"),
        (["--draft-seed=-1"], "--draft-seed: give at least 0"),
        (["--draft-domain=missing.toml"], "--draft-domain: there is no file"),
        (["--draft-policy=missing.toml"], "--draft-policy: there is no file"),
        (["--draft-policy=policies/internal"], "--draft-policy: there is no file"),  # no other one of that name
        (["--draft-data=missing.csv"], "--draft-data: no file matches"),
        (["--draft-data=shuffled.csv"], "--draft-data: 2 files for 1 forests; give one for all, or one for each"),
        (["--draft-holdout=missing.csv"], "--draft-holdout: no file matches"),
        (["--draft-holdout=strangers.csv"] * 2, "--draft-holdout: 2 files for 1 forests; give one for all"),
        (["--draft-holdout=strangers.csv", "--draft-report=json:strangers.csv"], "is read or written in this run"),
        (["--draft-adversary=artifact+n-unknown+rows:3"], "leave out 'n-unknown'"),
        (
            ["--draft-adversary=artefact"],
            ", served, served+labels; did you mean 'artifact'?",
        ),
        (["--draft-adversary=artifact+informd"], "informed; n-unknown; did you mean 'informed'?"),
        (["--draft-policy=public-relase"], "no shipped policy 'public-relase'; known are: default, dp-release, "),
        (["--draft-policy=public-relase"], "; did you mean 'public-release'?"),
        (["--draft-report=htm"], "cyclonedx, gitlab, evidence, fleet-html, fleet-json; did you mean 'html'?"),
        (["--draft-target=zzz"], "no column 'zzz'; name the label column with --draft-target"),
        (["--draft-target=c3"], "column 'c3' is one of the forest's features"),
        *(
            (["--draft-policy-sha256=" + text], "is not 64 hexadecimal digits")
            for text in ("abc", "", "g" * 64, "0" * 63)
        ),
        *(
            ([f"--draft-{option}=HTTPS://example.org/a.csv?raw=true"], "is a URL, which is not read: download the file")
            for option in ("data", "holdout", "domain", "policy", "compare")
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_wrong_option_is_a_usage_error_of_one_line(project, one_line_error, arguments, message):
    assert message in one_line_error(project.judge("leaking.joblib", *arguments))
    assert not (project.path / "report.json").exists()


@pytest.mark.parametrize("value", ["soon", "", "5 seconds"])
def test_a_budget_that_is_no_number_is_a_usage_error(project, value):
    result = project.judge("leaking.joblib", f"--draft-budget={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--draft-budget*"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("draft_budget = soon", "draft_budget"),
        ("draft_seed = many", "draft_seed"),
        ("draft_workers = 0", "at least 1"),
        ("draft_report = xml", "ini value draft_report: unknown type 'xml'"),
        ("draft_adversary = nobody", "unknown adversary 'nobody'"),
        ("draft_policy = one.toml two.toml", "ini value draft_policy: give one file, not 2"),
        ("draft_forest = missing.joblib", "ini value draft_forest: no file matches"),
    ],
)
def test_a_wrong_ini_value_is_a_usage_error_of_one_line(project, one_line_error, line, message):
    forest = "" if line.startswith("draft_forest") else "draft_forest = leaking.joblib\n"
    project.write("pytest.ini", f"[pytest]\n{forest}{line}\n")
    assert message in one_line_error(project.run("--draft"))


def test_plain_draft_needs_a_configured_forest(project, one_line_error):
    assert "--draft: no forest is configured" in one_line_error(project.run("--draft"))


@pytest.mark.nightly
def test_data_can_be_given_for_each_forest(project):
    project.run(
        "--draft-forest=leaking.joblib",
        "--draft-data=train.csv",
        "--draft-forest=bagged.joblib",
        "--draft-data=shuffled.csv",
        "--draft-report=json:report.json",
    )
    assert {r["artifact"]["path"]: r["data"]["path"] for r in project.report()["results"]} == {
        "leaking.joblib": "train.csv",
        "bagged.joblib": "shuffled.csv",
    }


def test_two_data_files_for_three_forests_are_a_usage_error(project, one_line_error):
    error = one_line_error(project.judge("*.joblib", "--draft-data=shuffled.csv"))
    assert "--draft-data: 2 files for 3 forests" in error


FILES = {
    "pytest.ini": "[pytest]\ndraft_forest = models/leaking.joblib\ndraft_data = models/train.csv\n"
    "draft_budget = 30\ndraft_seed = 7\ndraft_report = json:from-ini.json\ndraft_target = label\n",
    "pyproject.toml": '[tool.pytest.ini_options]\ndraft_forest = "models/leaking.joblib"\n'
    'draft_data = ["models/train.csv"]\ndraft_budget = "30"\ndraft_seed = 7\n'
    'draft_report = "json:from-ini.json"\ndraft_target = "label"\n',
    "native/pyproject.toml": '[tool.pytest]\ndraft_forest = ["models/leaking.joblib"]\n'
    'draft_data = ["models/train.csv"]\ndraft_budget = 30.0\ndraft_seed = 7\n'
    'draft_report = ["json:from-ini.json"]\ndraft_target = "label"\n',
}


@pytest.fixture(params=FILES)
def configured(request, project):
    """Write a configuration of each kind, with forests beside it, and step into another folder."""
    project.write(request.param.removeprefix("native/"), FILES[request.param])
    models = project.path / "models"
    models.mkdir()
    for name in ("leaking.joblib", "train.csv"):
        (project.path / name).rename(models / name)
    elsewhere = project.path / "some" / "folder"
    elsewhere.mkdir(parents=True)
    return elsewhere


@pytest.mark.nightly(quick=1)
def test_configured_forests_are_judged_when_draft_stands_on_the_command_line(project, configured, monkeypatch):
    monkeypatch.chdir(configured)
    result = project.run("--draft")
    result.assert_outcomes(failed=5, passed=3)
    judged = project.result("from-ini.json")
    assert judged["artifact"]["path"] == "models/leaking.joblib"
    assert judged["data"]["path"] == "models/train.csv"
    assert judged["time_box"] == 30
    assert judged["seeds"] == {"draft_seed": 7}


@pytest.mark.nightly(quick=1)
def test_configured_forests_are_left_alone_when_nothing_asks_for_them(project, configured):
    project.write("test_own.py", "def test_own(): ...")
    result = project.run()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*gives away*")
    assert not (project.path / "from-ini.json").exists()


@pytest.mark.nightly
def test_the_command_line_beats_the_ini_file(project, configured):
    result = project.run(
        "--draft-forest=shallow.joblib",
        "--draft-data=strangers.csv",
        "--draft-budget=20",
        "--draft-seed=3",
        "--draft-report=json:mine.json",
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    judged = project.result("mine.json")
    assert judged["artifact"]["path"] == "shallow.joblib"
    assert judged["data"]["path"] == "strangers.csv"
    assert (judged["time_box"], judged["seeds"]["draft_seed"]) == (20, 3)
    assert not (project.path / "from-ini.json").exists()


def test_paths_of_the_command_line_are_relative_to_where_pytest_was_called(project, monkeypatch):
    project.configure()
    inner = project.path / "inner"
    inner.mkdir()
    for name in ("shallow.joblib", "train.csv"):
        (project.path / name).rename(inner / name)
    monkeypatch.chdir(inner)
    result = project.judge("shallow.joblib")
    result.assert_outcomes(passed=8)
    assert project.result("inner/report.json")["artifact"]["path"] == "inner/shallow.joblib"


def test_the_ini_file_can_ask_for_strictness(project):
    project.write("pytest.ini", "[pytest]\ndraft_strict = true\n")
    assert project.judge("shallow.joblib", "-k", "perfect").ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.nightly
def test_the_ini_file_can_ask_for_nothing_but_the_judgements(project):
    project.configure("shallow.joblib", "draft_only = true\n")
    project.write("test_own.py", "def test_own(): ...")
    project.run("--draft").assert_outcomes(passed=8)
    project.run().assert_outcomes(passed=1)


def test_the_report_has_a_default_name_when_only_its_type_is_given(project):
    project.run("--draft-forest=shallow.joblib", "--draft-data=train.csv", "--draft-report=json")
    assert project.report("draft-report.json")["verdict"] == "passed"


@pytest.mark.nightly
def test_adversaries_of_the_command_line_are_added_to_those_of_an_explicit_policy(project, policy):
    project.write("ours.toml", policy(0.0))
    project.judge("shallow.joblib", "--draft-policy=ours.toml", "--draft-adversary=published")
    assert [r["adversary"] for r in project.report()["results"]] == ["artifact", "published"]


@pytest.mark.nightly
def test_adversaries_of_the_command_line_replace_those_of_the_shipped_default(project):
    project.judge("shallow.joblib", "--draft-adversary=published")
    assert [r["adversary"] for r in project.report()["results"]] == ["published"]


@pytest.mark.nightly
def test_an_explicit_policy_judges_by_its_own_rules_only(project, policy):
    project.write("ours.toml", policy(0.0))
    result = project.judge("shallow.joblib", "--draft-policy=ours.toml")
    result.assert_outcomes(passed=1)
    assert project.result()["policy"] == {
        "name": "ours",
        "source": str(project.path / "ours.toml"),
        "sha256": hashlib.sha256((project.path / "ours.toml").read_bytes()).hexdigest(),
        "allow_inconclusive": False,
        "context": {},
        "rules": {"reconstruction-error": {"max_error": 0.0}},
    }


@pytest.mark.parametrize("name", ["leaking.joblib", "train.csv"])
def test_a_report_never_takes_the_place_of_what_it_is_about(project, name):
    before = (project.path / name).read_bytes()
    result = project.run("--draft-forest=leaking.joblib", "--draft-data=train.csv", f"--draft-report=json:{name}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert (project.path / name).read_bytes() == before
