"""From judging to attesting: a file that takes the model's place is caught, and what is installed is pinned."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

yaml = pytest.importorskip("yaml", reason="needs PyYAML, of the extra test")

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "release-gate"
CI_PAGE = ROOT / "docs" / "how-to" / "ci.md"

pytestmark = [
    pytest.mark.skipif(not ACTION.is_dir(), reason="the action is not part of a source distribution"),
    pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash"),
]


def steps() -> list[dict]:
    return yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]


def release_job() -> dict[str, dict]:
    block, _ = re.findall(r"```yaml\n(.*?)```", CI_PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return yaml.safe_load(block)["jobs"]


@pytest.fixture
def reported(tmp_path) -> Path:
    """A folder with a model that passed, and its reports."""
    model = tmp_path / "model.joblib"
    model.write_bytes(b"a model that was judged")
    sha256 = hashlib.sha256(model.read_bytes()).hexdigest()
    artifact = {"path": "model.joblib", "sha256": sha256}
    report = {"verdict": "passed", "results": [{"artifact": artifact}], "not_run": []}
    described = {"name": "model.joblib", "digest": {"sha256": sha256}, "annotations": {"role": "model"}}
    predicate = {"result": "PASSED", "configuration": [described]}
    (tmp_path / "draft-report.json").write_text(json.dumps(report), encoding="utf-8")
    (tmp_path / "draft-report.intoto.json").write_text(json.dumps(predicate), encoding="utf-8")
    return tmp_path


@pytest.fixture
def last_step(reported, tmp_path):
    """Return a function that runs the action's last step as a runner does, and gives its exit code and outputs."""

    def run() -> tuple[int, str]:
        *_, step = steps()
        python, output = tmp_path / "python", tmp_path / "output"
        isolated = f'#!/usr/bin/env bash\n[[ $1 == -I ]] && shift\nexec {shlex.quote(sys.executable)} "$@"\n'
        python.write_text(isolated, encoding="utf-8")
        python.chmod(0o755)
        output.write_text("", encoding="utf-8")
        assert set(step["env"]) == {"GATE_PYTHON", "GATE_REPORT"}
        given = {"GATE_PYTHON": str(python), "GATE_REPORT": "draft-report.json", "GITHUB_OUTPUT": str(output)}
        ended = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            env={**os.environ, "PYTHONPATH": str(ROOT), **given},
            cwd=reported,
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, output.read_text(encoding="utf-8")

    return run


def test_a_swapped_model_ends_the_action_with_an_error_and_gives_nothing_out(reported, last_step):
    judged = hashlib.sha256((reported / "model.joblib").read_bytes()).hexdigest()
    assert last_step() == (0, f"sha256={judged}\n")
    (reported / "model.joblib").write_bytes(b"another model")
    assert last_step() == (1, "")


def test_a_model_that_is_gone_and_one_behind_a_link_are_told_by_their_bytes(reported, last_step):
    (reported / "model.joblib").rename(reported / "moved.joblib")
    assert last_step() == (1, "")
    (reported / "model.joblib").symlink_to("moved.joblib")
    assert last_step()[0] == 0
    (reported / "moved.joblib").write_bytes(b"another model")
    assert last_step() == (1, "")


def test_the_last_step_is_the_last_and_runs_after_a_pass_only():
    *_, last = steps()
    assert last["id"] == "unchanged"
    assert "if" not in last
    outputs = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))["outputs"]
    assert outputs["sha256"]["value"] == "${{ steps.unchanged.outputs.sha256 }}"


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs sha256sum")
@pytest.mark.parametrize(
    ("content", "judged", "status"),
    [(b"judged", b"judged", 0), (b"swapped", b"judged", 1), (b"judged", None, 1)],
    ids=["the same", "swapped", "nothing was given out"],
)
def test_the_documented_release_stops_before_it_attests_another_file(tmp_path, content, judged, status):
    jobs = release_job()
    assert jobs["gate"]["outputs"] == {"sha256": "${{ steps.gate.outputs.sha256 }}"}
    download, check, attest, release = jobs["release"]["steps"]
    assert "download-artifact" in download["uses"] and "gh release" in release["run"]
    assert attest["with"]["subject-digest"] == "sha256:${{ needs.gate.outputs.sha256 }}"
    assert "subject-path" not in attest["with"]
    assert check["env"] == {"JUDGED": "${{ needs.gate.outputs.sha256 }}"}
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.joblib").write_bytes(content)
    given = "" if judged is None else hashlib.sha256(judged).hexdigest()
    ended = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", check["run"]],
        env={**os.environ, "JUDGED": given},
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (ended.returncode != 0) == (status != 0)


def test_the_documented_check_names_what_the_script_takes():
    text = CI_PAGE.read_text(encoding="utf-8")
    assert "--format json > verified.json" in text
    assert "python -m pytest_draft.report.attested model.joblib verified.json --policy-sha256 HEX" in text


# What the action installs


def locked() -> dict[str, list[tuple[Requirement, int]]]:
    """Return the requirements of the lock file by name, each with the number of its hashes."""
    text = (ACTION / "requirements.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    found: dict[str, list[tuple[Requirement, int]]] = {}
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            requirement, *hashes = line.split("--hash=")
            one = Requirement(requirement.strip())
            assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", text.strip()) for text in hashes)
            found.setdefault(one.name.lower(), []).append((one, len(hashes)))
    return found


def test_every_package_is_pinned_to_one_version_with_hashes():
    for pins in locked().values():
        for one, hashes in pins:
            assert [specifier.operator for specifier in one.specifier] == ["=="]
            assert hashes


def test_the_lock_file_fits_what_the_project_needs_and_what_builds_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    pins = locked()
    for text in needed:
        wanted = Requirement(text)
        for one, _ in pins[wanted.name.lower()]:
            (specifier,) = one.specifier
            assert wanted.specifier.contains(specifier.version), f"renew requirements.txt: {text}"


def test_nothing_is_installed_without_a_hash_or_from_elsewhere_than_the_action():
    (step,) = [step for step in steps() if step.get("id") == "install"]
    lines = [line.strip() for line in step["run"].splitlines() if line.strip().startswith("install ")]
    assert len(lines) == 4
    assert all("--require-hashes" in line or "--no-index" in line for line in lines)
    assert all("--no-deps" in line or '-r "$GITHUB_ACTION_PATH/requirements.txt"' in line for line in lines)
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))["updates"]
    (pip,) = [update for update in updates if update["package-ecosystem"] == "pip"]
    assert "/.github/actions/release-gate" in pip["directories"]
