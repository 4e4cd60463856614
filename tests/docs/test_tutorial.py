"""The tutorial, done from its first to its last line as a reader does it, and the workflows of all pages."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SAVED_AS = re.compile(r"(?:[Ss]ave this as|Write to) `([^`]+)`")
CLOCK = re.compile(r"not converged|the attack was stopped|the clock decided")
"""A clock ended the search: what it came to differs from run to run."""

LANGUAGES = {"python", "toml", "yaml", "console", "text"}


class Reader:
    """Somebody who does what a page says: saves files, runs commands, and reads what they print."""

    def __init__(self, folder):
        self.folder = folder
        self.ended = None

    def save(self, before, text):
        """Save a block under the name that the sentences before it give."""
        *_, name = SAVED_AS.findall(before)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(self, commands):
        """Run commands one by one, but for those that install what is here."""
        for command in commands.splitlines():
            program, *words = shlex.split(command)
            if program == "pip":
                assert words[0] == "install"
                continue
            start = {"python": [sys.executable], "pytest": [sys.executable, "-m", "pytest"]}
            alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
            self.ended = subprocess.run(
                [*start[program], *words], cwd=self.folder, env=alone, capture_output=True, text=True, check=False
            )
            if program == "python":
                assert self.ended.returncode == 0, self.ended.stderr[-2_000:]

    def judged(self):
        """Return the line of the table of the last run."""
        (line,) = [line for line in self.ended.stdout.splitlines() if line.startswith("model.joblib  artifact")]
        return line


def test_who_does_all_that_the_tutorial_says_gets_the_verdicts_that_it_shows(read_page, tmp_path):
    page, reader, end = read_page("tutorial"), Reader(tmp_path), 0
    tables = []
    for block in BLOCK.finditer(page):
        before, (language, text) = page[end : block.start()], block.groups()
        end = block.end()
        assert language in LANGUAGES
        if language == "console":
            reader.run(text)
        elif language == "text":
            shown, found = text.splitlines()[1], reader.judged()
            verdict, here = shown.split()[-1], found.split()[-1]
            if CLOCK.search(reader.ended.stdout) or verdict == "passed":  # what a pass needs no attack for is cut short
                assert found.split()[3:5] == shown.split()[3:5]  # what other rows like these and random guesses get
            else:
                assert found == shown
            assert here == verdict or (verdict, here) == ("INCONCLUSIVE", "FAILED"), "a faster machine may find more"
            assert reader.ended.returncode == (here != "passed")
            tables.append(here)
        else:
            reader.save(before, text)
        if "--draft-demo" in text:
            assert reader.ended.returncode == 1
        if "public-release" in text:
            assert reader.ended.returncode == 1
            assert "counts-published" in reader.ended.stdout
        if text == "pytest --draft\n":
            assert reader.ended.returncode == 0
    assert (tables[0], tables[2]) == ("FAILED", "passed")
    assert reader.ended.returncode == 0  # of the last command, with --draft-strict
    report = json.loads((tmp_path / "draft-report.json").read_text(encoding="utf-8"))
    assert [result["verdict"] for result in report["results"]] == ["passed"]


def test_the_workflow_of_the_tutorial_trains_and_judges_what_the_tutorial_does(blocks):
    yaml = pytest.importorskip("yaml", reason="needs PyYAML, of the extra test")
    (block,) = blocks("tutorial", "yaml")
    workflow = yaml.safe_load(block)
    assert workflow[True] == ["push", "pull_request"]  # YAML 1.1 reads the key `on` so
    (job,) = workflow["jobs"].values()
    install, train = next(step["run"] for step in job["steps"] if "run" in step).splitlines()
    script, _ = blocks("tutorial", "python")
    imported = {line.split()[1].split(".")[0] for line in script.splitlines() if "import" in line} - {"sys"}
    assert set(install.split()[2:]) == {{"sklearn": "scikit-learn"}.get(name, name) for name in imported}
    commands = blocks("tutorial", "console")
    given = dict(re.findall(r"--draft-(forest|data|target) (\S+)", commands[-1]))
    action = yaml.safe_load((ROOT / ".github/actions/release-gate/action.yml").read_text(encoding="utf-8"))
    assert job["steps"][-1]["with"] == given
    assert set(given) <= set(action["inputs"])
    assert train in "".join(commands).splitlines()


@pytest.mark.parametrize("page", ["tutorial", "how-to/ci", "how-to/registry"])
def test_the_workflows_of_the_pages_are_what_github_and_gitlab_read(page, blocks, tmp_path):
    pytest.importorskip("check_jsonschema", reason="needs check-jsonschema, of the extra test")
    for number, block in enumerate(blocks(page, "yaml")):
        path, kind = tmp_path / f"workflow-{number}.yml", "github-workflows" if "\njobs:\n" in block else "gitlab-ci"
        path.write_text(block, encoding="utf-8")
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{kind}", path]
        checked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout
