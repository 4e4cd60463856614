"""The section for a model card."""

from __future__ import annotations

import copy

import pytest

from pytest_draft.report import markdown

yaml = pytest.importorskip("yaml", reason="needs PyYAML, of the extra test")


def parts(report: dict) -> tuple[dict, str]:
    """Return the metadata of a card, as Hugging Face's hub parses them, and its text."""
    nothing, metadata, text = markdown.card(report).split("---\n", 2)
    assert nothing == ""
    return yaml.safe_load(metadata), text


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("leaking", "failed"), ("numbers", "inconclusive"), ("broken", "inconclusive"), ("quiet", "passed")],
)
def test_the_verdict_comes_first_and_hash_and_limits_are_told(name, verdict, only):
    report = only(name)
    _, text = parts(report)
    title, said = text.strip().splitlines()[:3:2]
    assert title == "## What the file gives away of its training data"
    assert said.startswith(f"**Verdict: {verdict}.** ")
    assert ("No objection" in text) is (verdict == "passed")
    assert report["results"][0]["artifact"]["sha256"] in text
    assert "- Adversary: artifact\n" in text
    assert "not about other files or attacks" in text
    assert "Judged at" not in text
    assert len(text) < 3_000


def test_figures_that_are_known_exactly_are_evaluation_results(only):
    report = only("leaking")
    metadata, _ = parts(report)
    (entry,) = metadata["model-index"]
    (result,) = entry["results"]
    assert metadata["tags"] == ["pytest-draft"]
    assert (entry["name"], result["dataset"]["name"]) == ("models/leaking.joblib", "models/leaking.csv")
    assert set(result["task"]) == {"type", "name"}
    metrics = {one["type"]: one["value"] for one in result["metrics"]}
    assert metrics == {
        name: report["results"][0]["metrics"][name] for name in ("reconstruction_error", "split_half_error")
    }
    report["results"][0]["baselines"]["reconstruction_error_bounds"] = [0.1, 0.2]
    (result,) = parts(report)[0]["model-index"][0]["results"]
    assert [one["type"] for one in result["metrics"]] == ["split_half_error"]


def test_a_refused_file_has_no_evaluation_results(only):
    assert parts(only("broken"))[0] == {"tags": ["pytest-draft"]}


def test_each_adversary_is_a_task_of_its_model(report):
    other = copy.deepcopy(report["results"][3]) | {"adversary": "published", "verdict": "failed"}
    report["results"].append(other)
    metadata, text = parts(report)
    assert [(entry["name"], len(entry["results"])) for entry in metadata["model-index"]] == [
        ("models/leaking.joblib", 1),
        ("models/numbers.joblib", 1),
        ("models/quiet.joblib", 2),
    ]
    assert text.count("**Verdict: ") == 4
    assert "**Verdict: passed" not in text


def test_a_waiver_and_what_did_not_run_are_told(only, waived):
    report = only("leaking")
    for check in report["results"][0]["checks"]:
        waived(check)
    report["results"][0]["verdict"] = "passed"
    assert "**Verdict: waived.** " in parts(report)[1]
    _, text = parts({**report, "not_run": ["models/leaking.joblib::more[artifact]"]})
    assert "**Verdict: inconclusive.** Not cleared for release: 1 planned check did not run." in text
    assert "- Not run: models/leaking.joblib" in text


def test_a_name_changes_nothing_of_the_metadata(only):
    report = only("quiet")
    report["results"][0]["artifact"]["path"] = 'a"\n---\nlicense: <b>mit 😀\u202e.joblib'
    metadata, _ = parts(report)
    assert set(metadata) == {"tags", "model-index"}
    assert metadata["model-index"][0]["name"] == 'a"\\n---\\nlicense: <b>mit 😀\\u202e.joblib'


def test_the_time_and_the_reports_hash_are_told_where_they_are_known(only):
    _, text = parts({**only("quiet"), "judged_at": "2026-11-27T14:00:00Z", "canonical_sha256": "f" * 64})
    assert f"- Report: {'f' * 64}\n" in text
    assert "- Judged at: 2026-11-27T14\\:00\\:00Z\n" in text
