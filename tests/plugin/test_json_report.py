"""The JSON report as a run leaves it."""

from __future__ import annotations

import hashlib
import json

import pytest
from jsonschema import Draft202012Validator

from pytest_draft.report import json_report
from pytest_draft.report.schema import schema


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("forest", ["bagged.joblib", "shallow.joblib", "half.joblib"])
def test_a_report_is_valid_whatever_the_outcome(project, forest):
    (project.path / "half.joblib").write_bytes((project.path / "bagged.joblib").read_bytes()[:999])
    project.judge(forest)
    report = json.loads((project.path / "report.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert not list(Draft202012Validator(schema()).iter_errors(report))
    assert {"python", "numpy", "scikit-learn", "ortools"} <= set(report["results"][0]["versions"])


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("forest", ["leaking.joblib", "bagged.joblib", "shallow.joblib"])
def test_what_is_proved_is_reported_beside_what_was_measured(project, forest):
    result = project.judge(forest)
    metrics = project.result()["metrics"]
    assert 0 <= metrics["certain_rows"] <= metrics["guaranteed_overlap"] <= metrics["perfect_rows"]
    assert {type(metrics[f"{name}_exact"]) for name in ("certain_rows", "guaranteed_overlap")} == {bool}
    assert (metrics["certain_rows"] > 0) == (forest != "shallow.joblib")
    assert metrics["unique"] is (forest != "shallow.joblib")
    certain = f"{metrics['certain_rows']}"
    result.stdout.fnmatch_lines([f"{forest} * of *", f"*certain: {certain}; *"])


@pytest.mark.nightly
def test_what_the_error_is_made_of_is_told_where_values_are_guessed(project):
    result = project.judge("shallow.joblib")
    metrics = project.result()["metrics"]
    determined, free = metrics["determined_values"], metrics["free_values"]
    assert determined + free == 40 * 8
    whole = determined * metrics["determined_error"] + free * metrics["free_error"]
    assert whole / (determined + free) == pytest.approx(metrics["reconstruction_error"])
    result.stdout.fnmatch_lines(
        [
            f"  trees test * % of the values*; the attack's error on these is {metrics['determined_error']:.4f}, "
            f"and on the rest, which it can only guess, {metrics['free_error']:.4f}"
        ]
    )
    project.judge("leaking.joblib").stdout.no_fnmatch_line("*which it can only guess*")


@pytest.mark.nightly
def test_artifact_and_data_are_named_by_their_hashes(project):
    project.judge("bagged.joblib")
    judged = project.result()
    for part, name in (("artifact", "bagged.joblib"), ("data", "train.csv")):
        assert judged[part]["path"] == name
        assert judged[part]["sha256"] == hashlib.sha256((project.path / name).read_bytes()).hexdigest()
    assert (judged["data"]["rows"], judged["data"]["columns"]) == (40, 8)
    assert judged["artifact"]["holds"] == "RandomForestClassifier, 30 trees, 8 columns, 2 classes"


def test_what_the_domain_tells_the_adversary_is_listed(project):
    project.judge("bagged.joblib")
    assert project.result()["domain"] == {
        "source": "inferred from the training data",
        "granted_to_adversary": ["names and order of 8 columns", "8 binary columns"],
    }


@pytest.mark.nightly
@pytest.mark.parametrize("forest", ["leaking.joblib", "bagged.joblib", "shallow.joblib"])
def test_the_same_inputs_give_the_same_report(project, without_times, forest):
    reports = []
    for _ in range(2):
        project.judge(forest)
        reports.append(without_times(project.report()))
    assert reports[0] == reports[1]


@pytest.mark.nightly
def test_another_seed_changes_the_baselines_only_when_all_rows_are_found(project):
    found = []
    for seed in (1, 2):
        project.judge("bagged.joblib", f"--draft-seed={seed}")
        found.append(project.result())
    assert [result["seeds"] for result in found] == [{"draft_seed": 1}, {"draft_seed": 2}]
    one, other = (result["metrics"] for result in found)
    assert one["random_error"] != other["random_error"]
    for name in ("reconstruction_error", "perfect_rows", "rows_in_order", "singled_out_rows"):
        assert one[name] == other[name]


def test_an_earlier_report_stays_whole_when_the_new_one_cannot_be_rendered(project, monkeypatch):
    project.judge("bagged.joblib")
    earlier = (project.path / "report.json").read_bytes()

    def broken(_: object) -> str:
        raise ValueError("Out of range float values are not JSON compliant")

    monkeypatch.setattr(json_report, "render", broken)
    assert project.judge("shallow.joblib").ret != pytest.ExitCode.OK
    assert (project.path / "report.json").read_bytes() == earlier


def test_the_report_is_written_when_the_run_is_quiet_and_has_no_terminal(project):
    project.judge("shallow.joblib", "-p", "no:terminal")
    assert project.report()["verdict"] == "passed"
