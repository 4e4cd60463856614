"""The step of the release gate that judges, run as a runner runs it, with this interpreter or one that only notes."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pytest_draft.__main__ import parser
from pytest_draft.plugin.options import REPORT_TYPES

yaml = pytest.importorskip("yaml", reason="needs PyYAML, of the extra test")

ACTION = Path(__file__).parents[2] / ".github" / "actions" / "release-gate" / "action.yml"
REPORTS = {"json": "json", "markdown": "md", "html": "html", "sarif": "sarif", "intoto": "intoto.json"}

pytestmark = [
    pytest.mark.skipif(not ACTION.is_file(), reason="the action is not part of a source distribution"),
    pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash"),
]
needs_all_reports = pytest.mark.skipif(not set(REPORTS) <= set(REPORT_TYPES), reason="the action asks for more reports")


@dataclass(frozen=True)
class Ended:
    """What a runner sees of the step that judges."""

    status: int
    printed: str
    outputs: dict[str, str]
    summary: str

    @property
    def commands(self) -> list[str]:
        """The workflow commands that the runner obeys: those outside of what is marked as text."""
        text = re.sub(r"(?ms)^::stop-commands::(\w+)$.*^::\1::$", "", self.printed)
        return [line for line in text.splitlines() if line.startswith("::")]


NOTING = """#!/usr/bin/env bash
if [[ $1 == -I ]]; then exec {python} "$@"; fi
printf '%s\\0' "$@" > noted
{{ {then}
}}
"""
"""An interpreter that notes what it is to run, does something else, and does truly run what is run in isolation."""


@pytest.fixture
def workspace(tmp_path) -> Path:
    """An empty repository."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def gate(tmp_path, workspace):
    """Return a function that runs a step, the one that judges, with given inputs; in place of pytest, shell text."""

    def run(then: str | None = None, /, *, step_id: str = "gate", **given: str) -> Ended:
        action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
        inputs = {name: one["default"] for name, one in action["inputs"].items()}
        values = {f"inputs.{name}": text for name, text in inputs.items()}
        values |= {f"inputs.{name.replace('_', '-')}": text for name, text in given.items()}
        assert len(values) == len(inputs)
        noting = tmp_path / "python"
        noting.write_text(NOTING.format(python=shlex.quote(sys.executable), then=then), encoding="utf-8")
        noting.chmod(0o755)
        values["steps.install.outputs.python"] = str(noting) if then else sys.executable
        (step,) = [step for step in action["runs"]["steps"] if step.get("id") == step_id]
        script, output, summary = (tmp_path / name for name in ("script.sh", "output", "summary"))
        script.write_text(step["run"], encoding="utf-8")
        output.write_text("", encoding="utf-8")
        summary.write_text("", encoding="utf-8")
        asked = {name: values[re.fullmatch(r"\$\{\{ (.*) \}\}", text)[1]] for name, text in step["env"].items()}
        inherited = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST_", "GATE_"))}
        ended = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            env={**inherited, **asked, "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)},
            cwd=workspace,
            capture_output=True,
            text=True,
            check=False,
        )
        outputs = dict(line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines())
        return Ended(ended.returncode, ended.stdout, outputs, summary.read_text(encoding="utf-8"))

    return run


@pytest.fixture
def noted(workspace):
    """Return a function that gives what pytest was to be run with."""
    return lambda: (workspace / "noted").read_text(encoding="utf-8").split("\0")[:-1]


@needs_all_reports
def test_a_leaking_model_fails_with_annotations_a_summary_and_all_reports(gate, workspace):
    (workspace / "models").mkdir()
    runpy.run_path(str(Path(__file__).with_name("models.py")))["write"](workspace / "models")
    ended = gate(
        forest="\n  models/leaking.joblib\n\nmodels/harm*.joblib",
        data="models/train.csv",
        target="decision",
        budget="120",
    )
    assert (ended.status, ended.outputs["verdict"]) == (1, "failed")
    path = workspace / ended.outputs["report-path"]
    verdicts = {
        result["artifact"]["path"]: result["verdict"] for result in json.loads(path.read_text("utf-8"))["results"]
    }
    assert verdicts == {"models/leaking.joblib": "failed", "models/harmless.joblib": "passed"}
    assert all((path.parent / f"draft-report.{suffix}").stat().st_size for suffix in REPORTS.values())
    assert ended.outputs["sarif-path"] == "draft-report/draft-report.sarif"
    assert ElementTree.parse(path.parent / "junit.xml").getroot().find("testsuite").get("failures") == "5"
    errors = [line.partition(",")[0] for line in ended.commands if line.startswith("::error")]
    assert errors == ["::error file=models/leaking.joblib"] * 5
    warnings = [line for line in ended.commands[5:] if not line.startswith("::notice")]
    assert all(any(rule in line for rule in ("membership", "seeds-published", "counts-published")) for line in warnings)
    assert "leaking.joblib" in ended.summary.splitlines()[0]


def test_every_input_is_an_argument_and_nothing_else_is(gate, noted):
    gate(
        "true",
        forest="a b.joblib\n  --version  \n\n*.joblib\n",
        data="a.csv\nb.csv\nc.csv",
        target="in come",
        split="test_size=0.2, random_state=42, stratify",
        allow_code="true",
        domain="d.toml",
        holdout="h.csv",
        policy="p.toml",
        ledger="l.toml",
        ledger_head=" 01ab\n",
        adversary="artifact\npublished",
        budget="9",
        seed="1",
        args="-k\nperfect or worst\n--draft-workers=2",
        report_directory="out/reports",
    )
    module, pytest_module, *arguments = noted()
    assert (module, pytest_module) == ("-m", "pytest")
    assert arguments == [
        *("--draft", "--draft-only", "--draft-strict"),
        *("--draft-forest=a b.joblib", "--draft-forest=--version", "--draft-forest=*.joblib"),
        *("--draft-data=a.csv", "--draft-data=b.csv", "--draft-data=c.csv"),
        "--draft-target=in come",
        "--draft-split=test_size=0.2, random_state=42, stratify",
        "--draft-domain=d.toml",
        "--draft-holdout=h.csv",
        "--draft-policy=p.toml",
        *("--draft-ledger=l.toml", "--draft-ledger-head=01ab"),
        *("--draft-adversary=artifact", "--draft-adversary=published"),
        "--draft-budget=9",
        "--draft-seed=1",
        *("-k", "perfect or worst", "--draft-workers=2"),
        *(f"--draft-report={kind}:out/reports/draft-report.{suffix}" for kind, suffix in REPORTS.items()),
        "--junitxml=out/reports/junit.xml",
    ]


def test_what_is_left_out_is_left_to_the_ini_file(gate, noted):
    gate("true")
    left = {argument.partition("=")[0] for argument in noted()[2:]}
    usual = {"--draft", "--draft-only", "--draft-strict", "--draft-report", "--junitxml"}
    assert left == usual | {"--draft-data-files-only"}


def test_a_ledger_without_a_head_is_refused(gate, workspace):
    (workspace / "a.joblib").write_bytes(b"no model")
    (workspace / "l.toml").write_text("schema_version = 1\n", encoding="utf-8")
    ended = gate(forest="a.joblib", ledger="l.toml")
    assert (ended.status, ended.outputs["verdict"]) == (1, "inconclusive")
    assert ended.commands == ["::error::--draft-ledger-head: '' is not 64 hexadecimal digits"]


@pytest.mark.parametrize("allowed", ["false", "", "True", "yes", "true\n", "true"])
def test_code_of_the_project_gets_the_data_only_where_that_is_allowed(gate, workspace, allowed):
    code = "import pathlib\n\ndef load():\n    pathlib.Path('called').touch()\n"
    (workspace / "train.py").write_text(code, encoding="utf-8")
    (workspace / "a.joblib").write_bytes(b"no model")
    ended = gate(forest="a.joblib", data="train:load", allow_code=allowed)
    assert (ended.status, ended.outputs["verdict"]) == (1, "inconclusive")
    assert (workspace / "called").exists() == (allowed == "true")
    refusal = "is code of the project, which this option keeps from running: give a file"
    assert (refusal in ended.summary) == (allowed != "true")


PASSED = 'echo \'{"verdict": "passed", "results": [], "not_run": []}\' > draft-report/draft-report.json'


@pytest.mark.parametrize(
    ("then", "status", "verdict"),
    [
        (PASSED, 0, "passed"),
        (f"{PASSED}; exit 1", 1, "inconclusive"),
        (PASSED.replace("passed", "inconclusive"), 1, "inconclusive"),
        (PASSED.replace("passed", "failed"), 1, "failed"),
        ("true", 1, "inconclusive"),
        ("kill -9 $$", 1, "inconclusive"),
    ],
)
def test_only_a_pass_that_this_run_reports_is_a_pass(gate, workspace, then, status, verdict):
    (workspace / "draft-report").mkdir()
    for suffix in REPORTS.values():
        old = {"verdict": "passed", "results": [], "not_run": []}
        (workspace / "draft-report" / f"draft-report.{suffix}").write_text(json.dumps(old), encoding="utf-8")
    ended = gate(then)
    assert (ended.status, ended.outputs["verdict"]) == (status, verdict)
    written = (workspace / "draft-report" / "draft-report.json").is_file()
    assert ended.outputs.get("report-path") == ("draft-report/draft-report.json" if written else None)
    assert "sarif-path" not in ended.outputs
    assert ended.summary == ""


def test_a_mistake_of_usage_is_told_in_annotation_and_summary(gate):
    ended = gate("echo \"ERROR: train.csv: no column 'decison'; did you mean 'decision'?\" >&2; exit 4")
    assert ended.status == 1
    assert ended.commands == ["::error::train.csv: no column 'decison'; did you mean 'decision'?"]
    assert "no column 'decison'; did you mean 'decision'?" in ended.summary
    assert ended.outputs == {"verdict": "inconclusive"}


def test_inputs_and_what_is_printed_are_text_and_never_commands(gate, workspace, noted):
    hostile = "$(touch hacked) `touch hacked`; touch hacked' \" && touch hacked"
    names = ("forest", "data", "target", "split", "domain", "holdout", "policy", "adversary", "budget", "seed", "args")
    given = dict.fromkeys(names, hostile)
    ended = gate("printf '::error::planted'", **given, report_directory=f"{hostile}\nverdict=passed")
    assert ended.outputs["verdict"] == "inconclusive"
    assert not list(workspace.rglob("hacked"))
    assert sum(argument.endswith(hostile) for argument in noted()) == len(names)
    assert [line.partition("::no usable")[0] for line in ended.commands] == ["::error"]


ADVICE = 'printf "a table" > draft-report/advice.md; printf "::error::planted"; exit 1'


def test_advice_is_asked_for_by_the_inputs_of_the_gate_and_put_into_the_summary(gate, workspace, noted):
    (workspace / "draft-report").mkdir()
    (workspace / "a b.joblib").write_bytes(b"")
    (workspace / "train.csv").write_bytes(b"")
    ended = gate(
        ADVICE,
        step_id="advise",
        forest="\n a b.joblib\n",
        data="train.csv",
        target="in come",
        domain="d.toml",
        policy="p.toml",
        adversary="artifact\npublished",
        budget="9",
        seed="1",
        advise="true",
    )
    module, package, command, *arguments = noted()
    assert (module, package, command) == ("-m", "pytest_draft", "advise")
    assert arguments == [
        *("--data=train.csv", "--target=in come", "--minutes=10", "--domain=d.toml", "--policy=p.toml"),
        *("--adversary=artifact", "--adversary=published", "--budget=9", "--seed=1"),
        *("--markdown=draft-report/advice.md", "--", "a b.joblib"),
    ]
    parser().parse_args([command, *arguments])
    assert (ended.status, ended.summary) == (0, "a table")
    assert ended.commands == []


@pytest.mark.parametrize(
    "given",
    [
        {"forest": "a.joblib\nb.joblib"},
        {"forest": "*.joblib"},
        {"forest": ""},
        {"data": "a.csv\nb.csv"},
        {"data": ""},
        {"data": "train:load"},
        {"target": ""},
        {"target": "a.csv"},
        {"split": "test_size=0.2, random_state=42"},
    ],
)
def test_without_one_model_its_data_and_target_there_is_no_advice_but_a_line_that_says_so(gate, workspace, given):
    for name in ("a.joblib", "b.joblib", "a.csv"):
        (workspace / name).write_bytes(b"")
    ended = gate("true", step_id="advise", **{"forest": "a.joblib", "data": "a.csv", "target": "y", **given})
    assert ended.status == 0
    assert [line.partition(":: ")[0].partition("::no advice")[0] for line in ended.commands] == ["::notice"]
    assert not (workspace / "noted").exists()


def test_advice_is_only_looked_for_after_a_failed_verdict_and_where_it_is_asked_for():
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    (step,) = [step for step in action["runs"]["steps"] if step.get("id") == "advise"]
    asked = "inputs.advise == 'true' && steps.gate.outputs.verdict == 'failed'"
    assert step["if"] == f"always() && {asked}"
    assert action["inputs"]["advise"]["default"] == "false"
