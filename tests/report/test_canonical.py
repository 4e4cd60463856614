"""The canonical form and its hash."""

from __future__ import annotations

import copy
import json

import pytest

from pytest_draft.report.canonical import canonical, sha256, with_hash


def moved(value: object, folder: str) -> object:
    """Return a report of files in another folder."""
    if isinstance(value, dict):
        return {key: moved(inner, folder) for key, inner in value.items()}
    if isinstance(value, list):
        return [moved(inner, folder) for inner in value]
    return value.replace("models/", folder) if isinstance(value, str) else value


def test_a_report_tells_its_hash_and_the_hash_is_none_of_its_own(report):
    told = with_hash(report)
    assert told["canonical_sha256"] == sha256(report) == sha256(told)
    assert with_hash(told) == told
    assert {key: value for key, value in told.items() if key != "canonical_sha256"} == report


def test_timings_workers_and_order_do_not_count(report, with_plots):
    before = canonical(report)
    for number, result in enumerate(report["results"]):
        result.update(seconds=99.0 + number, workers=7, statistics={"anything": number})
        result["checks"].reverse()
        plots = {section: result[section] for section in ("row_errors", "leaf_sizes") if section in result}
        with_plots(result)
        for section in ("row_errors", "leaf_sizes"):
            del result[section]
        result.update(plots)
    report["results"].reverse()
    assert canonical(report) == before


@pytest.mark.parametrize("folder", ["", "/home/somebody/a/", "C:\\work\\", "other/"])
def test_folders_do_not_count_wherever_they_are_named(report, folder):
    for result in report["results"]:
        result["notes"] = [f"see {result['artifact']['path']}: it says more"]
        result["policy"]["source"] = "models/policy.toml"
        result["domain"]["source"] = "models/domain.toml"
    report["not_run"] = ["models/quiet.joblib::more[artifact]", "models/test_a.py::test"]
    assert canonical(moved(report, folder)) == canonical(report)
    assert "models" not in canonical(report)


def test_a_whole_path_in_a_message_does_not_count_where_the_report_names_the_file(only):
    report = only("broken")
    first, second = (copy.deepcopy(report) for _ in range(2))
    first["results"][0]["reasons"] = ["holdout '/home/a/models/broken.joblib': too small"]
    second["results"][0]["reasons"] = ["holdout 'models/broken.joblib': too small"]
    assert canonical(first) == canonical(second)


@pytest.mark.parametrize(
    "change",
    [
        lambda result: result["metrics"].update(perfect_rows=1),
        lambda result: result["artifact"].update(sha256="0" * 64),
        lambda result: result["artifact"].update(path="models/another.joblib"),
        lambda result: result["policy"]["rules"]["perfect-rows"].update(max_share_beyond_split_half=0.6),
        lambda result: result["seeds"].update(draft_seed=1),
        lambda result: result["versions"].update(numpy="0"),
        lambda result: result["checks"][0].update(result="inconclusive"),
        lambda result: result.update(time_box=1.0),
    ],
)
def test_all_else_counts(change, only):
    report = only("leaking")
    before = sha256(report)
    change(report["results"][0])
    assert sha256(report) != before


def test_the_form_is_sorted_ascii_without_white_space_between_its_parts(report):
    text = canonical(report)
    assert text.isascii()
    assert json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")) == text
