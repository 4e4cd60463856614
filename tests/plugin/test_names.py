"""Model files of any name: each is judged, can be asked for by the name that is shown, and commands nothing."""

from __future__ import annotations

import os
import shutil
import sys
import xml.etree.ElementTree as ET

import pytest

from hostile_names import is_harmless
from pytest_draft.foreign_text import of_path
from pytest_draft.report.annotations import main

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names that other systems do not allow")

NAMES = (
    "a::b.joblib",
    "::error::c.joblib",
    "::.joblib",
    "d[1].joblib",
    "[e.joblib",
    "##[group]f.joblib",
    "##[add-mask]g.joblib",
    "##[set-output name=verdict]passed.joblib",
    "##vso[task.setvariable variable=h]i.joblib",
    "i j.joblib",
    "-k.joblib",
    "l\nm.joblib",
    "l\\nm.joblib",
    "\r::warning::n.joblib",
    "\x1b[31mo\x9b.joblib",
    "p\udcff\udcfe.joblib",
    "q\u202ebiljoj.q",
    "r\u200b\u3164\ufeff.joblib",
    "<script>s.joblib",
    "%0A::error::t.joblib",
    "é\u0301",
    "u" * 243 + ".joblib",
    "\n" * 243 + ".joblib",
    "*.joblib",
    ":",
    ".joblib:",
    "$(touch x);`y`'\"z",
)

RULE = 'schema_version = 1\nname = "ours"\n[rules.smallest-leaf]\nmin_rows = 1\n[rules.pure-leaves]\nmax_share = 1.0\n'


@pytest.fixture
def named(project):
    """Return a project with a shallow forest under each of the names, in a folder of a name of that kind."""
    folder = project.path / "##[group]::x[\n"
    folder.mkdir()
    for name in NAMES:
        shutil.copy(project.path / "shallow.joblib", folder / name)
    for path in project.path.glob("*.joblib"):
        path.unlink()
    project.write("ours.toml", RULE)
    return folder


def run(project, *arguments, how="run"):
    judged = ("--draft-forest", "*x*/*", "--draft-forest", "*x*/.*", "--draft-policy=ours.toml")
    return getattr(project, how)(*judged, "--draft-report=json:report.json", *arguments)


def names_of(project):
    return sorted(result["artifact"]["path"] for result in project.report()["results"])


ALL = sorted(of_path(f"##[group]::x[\n/{name}") for name in NAMES)


def test_names_are_shown_each_in_a_way_of_its_own():
    assert len(set(ALL)) == len(NAMES)
    assert all(map(is_harmless, ALL))
    assert not any("::" in name for name in ALL)


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["-vv", "-rA"])
def test_all_are_judged_and_none_of_them_speaks(project, named, how, capfd):
    kinds = ("markdown", "html", "sarif", "intoto", "svr", "model-card", "cyclonedx", "gitlab")
    formats = [f"--draft-report={kind}" for kind in kinds]
    result = run(project, how, "--junitxml=junit.xml", *formats)
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=2 * len(NAMES))
    assert names_of(project) == ALL
    cases = ET.parse(project.path / "junit.xml").getroot().iter("testcase")
    assert len(list(cases)) == 2 * len(NAMES)
    assert is_harmless(result.stdout.str())
    written = [*project.path.glob("draft-report.*"), project.path / "junit.xml", project.path / "report.json"]
    assert len(written) == len(kinds) + 2
    for path in written:
        assert is_harmless(path.read_text(encoding="utf-8").replace("#e7eaee", "")), path
    capfd.readouterr()
    main([str(project.path / "report.json"), "--pytest-exit", "1"])
    (line,) = capfd.readouterr().out.splitlines()
    assert line.startswith("::error::")


@pytest.mark.nightly
def test_failures_of_all_are_told_and_none_of_them_speaks(project, named):
    (project.path / "ours.toml").write_text(RULE.replace("min_rows = 1", "min_rows = 999"))
    result = run(project, "-rA", "--tb=long", "--junitxml=junit.xml", "--draft-data=train.csv")
    result.assert_outcomes(failed=len(NAMES), passed=len(NAMES))
    ET.parse(project.path / "junit.xml")
    assert is_harmless(result.stdout.str())
    assert names_of(project) == ALL
    assert len(project.report()["results"][0]["checks"]) == 2


@pytest.mark.nightly
def test_all_are_judged_in_a_distributed_run(project, named):
    result = run(project, "-n2", "-v", "--junitxml=junit.xml", how="run_apart")
    result.assert_outcomes(passed=2 * len(NAMES))
    assert names_of(project) == ALL
    assert not project.report()["not_run"]
    assert is_harmless(result.stdout.str())
    ET.parse(project.path / "junit.xml")


def addresses(project):
    run(project)
    items = [check["item"] for result in project.report()["results"] for check in result["checks"]]
    return [item for item in items if item.endswith("pure-leaves[artifact]")]


@pytest.mark.nightly
@pytest.mark.parametrize("more", [(), ("-n2",)], ids=" ".join)
def test_each_can_be_asked_for_and_left_out_by_the_address_that_is_shown(project, named, more):
    items = addresses(project)
    assert len(items) == len(NAMES)
    how = "run_apart" if more else "run"
    run(project, *items, *more, how=how).assert_outcomes(passed=len(NAMES))
    kept = [check["item"] for result in project.report()["results"] for check in result["checks"]]
    assert sorted(kept) == sorted(items)
    left_out = {} if more else {"deselected": len(NAMES)}
    deselected = [f"--deselect={item}" for item in items]
    run(project, *deselected, *more, how=how).assert_outcomes(passed=len(NAMES), **left_out)
    assert sorted(project.report()["not_run"]) == sorted(items)


@pytest.mark.nightly
def test_each_can_be_asked_for_by_its_path_as_it_is(project, named):
    wanted = [f"{named.name}/{name}" for name in NAMES]
    wanted = [*wanted[:3], *(f"{path}::pure-leaves" for path in wanted[3:]), f"{wanted[0]}::smallest-leaf"]
    run(project, *wanted).assert_outcomes(passed=6 + len(NAMES) - 3)


@pytest.mark.parametrize("name", [NAMES[0], NAMES[4], NAMES[13], ":", ".joblib:"])
def test_an_address_that_no_file_has_is_told_in_one_harmless_line(project, named, one_line_error, name):
    assert is_harmless(one_line_error(run(project, f"{named.name}/{name}::\n##[group]no-such-rule")))


@pytest.mark.nightly(quick=3)
@pytest.mark.parametrize("option", ["forest", "data", "policy", "compare", "domain", "report", "adversary", "holdout"])
def test_an_option_that_names_no_file_is_told_in_one_harmless_line(project, named, one_line_error, option):
    value = "##[group]\n::error::\x1b[31m/no/file.csv"
    error = one_line_error(project.judge(f"{named.name}/:", f"--draft-{option}={value}"))
    assert is_harmless(error)


@pytest.mark.nightly
def test_a_file_with_the_name_of_a_pattern_does_not_hide_the_files_that_the_pattern_means(project, named):
    pattern = project.path / "models"
    pattern.mkdir()
    for name in ("*.joblib", "leaking.joblib", "other.joblib"):
        shutil.copy(named / ":", pattern / name)
    project.run("--draft-forest=models/*.joblib", "--draft-policy=ours.toml").assert_outcomes(passed=6)


@pytest.mark.nightly
def test_bytes_that_are_no_text_cannot_be_handed_to_workers_as_an_argument(project, named):
    path = os.path.join(named, "p\udcff\udcfe.joblib")
    project.run_apart("--draft-forest", path, "--draft-policy=ours.toml").assert_outcomes(passed=2)
    result = project.run_apart("--draft-forest", path, "--draft-policy=ours.toml", "-n2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: -n: " in result.stderr.str()
