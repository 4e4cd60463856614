"""What a user writes on the command line and in a policy: paths from anywhere, and names that are nearly right."""

from __future__ import annotations

import shutil

import pytest


@pytest.fixture
def one_rule(project, policy) -> str:
    """Return the option of a policy with one rule, which a shallow forest passes."""
    return f"--draft-policy={project.path / project.write('one.toml', policy(0.0))}"


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("forest", ["../shallow.joblib", "../*allow.joblib", "../inner/../shallow.joblib"])
def test_a_forest_is_found_from_a_sub_directory(project, one_rule, monkeypatch, forest):
    (project.path / "inner").mkdir()
    project.write("pytest.ini", "[pytest]\n")
    monkeypatch.chdir(project.path / "inner")
    run = project.judge(forest, one_rule, data="../train.csv")
    assert run.ret == pytest.ExitCode.OK
    assert run.parseoutcomes() == {"passed": 1}


def test_a_forest_outside_the_root_is_found_by_its_whole_path(project, one_rule, tmp_path_factory):
    apart = tmp_path_factory.mktemp("apart") / "shallow.joblib"
    shutil.copy(project.path / "shallow.joblib", apart)
    project.write("pytest.ini", "[pytest]\n")
    run = project.judge(str(apart), one_rule)
    assert run.parseoutcomes() == {"passed": 1}
    assert project.result()["artifact"]["path"] == str(apart)


@pytest.mark.nightly
def test_two_processes_find_forests_by_each_of_these_paths(project, one_rule, tmp_path_factory, monkeypatch):
    apart = tmp_path_factory.mktemp("apart") / "shallow.joblib"
    shutil.copy(project.path / "shallow.joblib", apart)
    shutil.copy(project.path / "shallow.joblib", project.path / "globbed.joblib")
    (project.path / "inner").mkdir()
    shutil.copy(project.path / "shallow.joblib", project.path / "around.joblib")
    project.write("pytest.ini", "[pytest]\n")
    monkeypatch.chdir(project.path / "inner")
    given = ("../globb*.joblib", "../inner/../around.joblib", str(apart))
    run = project.judge(
        "../shallow.joblib", *(f"--draft-forest={path}" for path in given), one_rule, "-n2", data="../train.csv"
    )
    assert run.ret == pytest.ExitCode.OK
    assert run.parseoutcomes() == {"passed": 4}
    found = {result["artifact"]["path"] for result in project.report("inner/report.json")["results"]}
    assert found == {"shallow.joblib", "globbed.joblib", "around.joblib", str(apart)}


def test_a_single_check_is_asked_for_by_a_relative_address(project, one_rule, monkeypatch):
    (project.path / "inner").mkdir()
    project.write("pytest.ini", "[pytest]\n")
    monkeypatch.chdir(project.path / "inner")
    address = "../shallow.joblib::reconstruction-error[artifact]"
    run = project.judge("../shallow.joblib", one_rule, "--draft-only", address, data="../train.csv")
    assert run.parseoutcomes() == {"passed": 1}


@pytest.mark.nightly
def test_a_link_to_a_folder_is_followed_as_the_system_does(project, one_rule, tmp_path_factory, monkeypatch):
    apart = tmp_path_factory.mktemp("apart")
    shutil.copy(project.path / "shallow.joblib", apart / "linked.joblib")
    (apart / "inner").mkdir()
    (project.path / "link").symlink_to(apart / "inner")
    assert project.judge("link/../linked.joblib", one_rule).parseoutcomes() == {"passed": 1}


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("kind", ["json", "markdown", "html"])
def test_the_folder_of_a_report_is_made(project, one_rule, kind):
    run = project.judge("shallow.joblib", one_rule, f"--draft-report={kind}:out/new/report")
    assert run.ret == pytest.ExitCode.OK
    assert (project.path / "out" / "new" / "report").stat().st_size > 100


def test_only_looking_at_what_would_run_makes_no_folder(project, one_rule):
    project.judge("shallow.joblib", one_rule, "--draft-report=html:out/report.html", "--collect-only")
    assert not (project.path / "out").exists()


def test_a_policy_of_nearly_right_names_tells_them_all_at_once(project, one_line_error):
    project.write(
        "ours.toml",
        'schema_version = 1\nname = "ours"\nadversaries = ["artifat"]\nallow_inconclusiv = true\n'
        "[rules.reconstruction-eror]\nmax_error = 0.1\n[rules.perfect-rows]\nmax_perfect_row = 1\n",
    )
    error = one_line_error(project.judge("shallow.joblib", "--draft-policy=ours.toml"))
    for told in (
        "line 3: adversaries.0: unknown adversary 'artifat'; known are: artifact, published, served, served+labels; "
        "did you mean 'artifact'?",
        "line 4: top level: there is no key 'allow_inconclusiv'; known are: schema_version, name, adversaries, ",
        "; did you mean 'allow_inconclusive'?",
        "line 5: rules.reconstruction-eror: there is no rule 'reconstruction-eror'; known are: reconstruction-error, ",
        "artifact-pinned; did you mean 'reconstruction-error'?",
        "line 8: rules.perfect-rows: there is no key 'max_perfect_row'; known are: max_perfect_rows, ",
        "; did you mean 'max_perfect_rows'?",
    ):
        assert told in error


def test_an_argument_of_the_marker_that_is_nearly_right_is_told_with_the_one_that_is(project):
    project.mark("max_eror=0.1")
    run = project.run("test_marked.py")
    run.stdout.fnmatch_lines(["*unknown argument 'max_eror'; known are: max_error, *; did you mean 'max_error'[?]"])
