"""What holds for every format that people read or machines take."""

from __future__ import annotations

import copy
import json

import pytest

from pytest_draft.report import cyclonedx, evidence, html, intoto, json_report, markdown, sarif

FORMATS = {
    "json": json_report.render,
    "markdown": markdown.render,
    "html": html.render,
    "sarif": sarif.render,
    "intoto": intoto.render,
    "svr": intoto.svr,
    "model-card": markdown.card,
    "cyclonedx": cyclonedx.render,
    "gitlab": sarif.gitlab,
    "evidence": evidence.render,
    "evidence.md": evidence.as_markdown,
}
MARKUP = ("markdown", "html", "model-card", "evidence", "evidence.md")
JSON = tuple(name for name in FORMATS if name not in MARKUP)
HOSTILE = (
    "a<script>alert(1)</script>\"'`b`|c\n::error::d\r\n# e [f](https://g.example) \u202eh\x1b[31m{0} www.i.example"
)
CANARIES = ("9871712", "9871713", "9,871,712", "9,871,713", "9.871712", "9.871713", "9.872e+06")


def hostile(value: object) -> object:
    """Return a report in which every name and sentence from outside is hostile."""
    outside = {
        "path",
        "holds",
        "sentence",
        "cause",
        "remedy",
        "line",
        "does",
        "source",
        "name",
        "rows_measured_on",
        "not_audited",
        "owner",
    }
    if isinstance(value, dict):
        return {
            key: HOSTILE if key in outside and isinstance(inner, str) else hostile(inner)
            for key, inner in value.items()
            if key != "tool"
        }
    if isinstance(value, list):
        return [HOSTILE if isinstance(inner, str) else hostile(inner) for inner in value]
    return value


@pytest.fixture
def attacked(report, waived) -> dict:
    """Return a hostile report with everything that a report can hold."""
    report["not_run"] = ["x"]
    for result in report["results"]:
        result["notes"] = ["x"]
        waived(result["checks"][0])
        for check in result["checks"]:
            check["commands"] = [{"line": "x", "does": "x"}]
        if "groups" in result["entropy"]:
            result["entropy"]["groups"] = [{"name": "class x", "rows": 3, "mean": 0.5, "lowest": 0.1}]
    return {**hostile(report), "tool": report["tool"]}


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("name", FORMATS)
def test_a_report_is_rendered_alike_each_time_and_left_as_it_was(name, report):
    before = copy.deepcopy(report)
    text = FORMATS[name](report)
    assert report == before
    assert text == FORMATS[name](json.loads(json.dumps(report)))
    assert text.endswith("\n")


@pytest.mark.parametrize("name", FORMATS)
def test_no_value_of_the_training_data_is_shown(name, report):
    text = FORMATS[name](report)
    assert not any(canary in text for canary in CANARIES)


@pytest.mark.parametrize("name", ["svr", "model-card", "cyclonedx", "gitlab"])
def test_what_is_published_holds_no_hash_by_which_guesses_of_the_training_data_could_be_checked(name, report):
    hashes = {result["data"]["sha256"] for result in report["results"]} - {None}
    assert len(hashes) == 2
    assert not any(sha256 in FORMATS[name](report) for sha256 in hashes)


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_without_any_result_is_rendered(name):
    empty = {"schema_version": 2, "tool": {"name": "pytest-draft", "version": None}, "verdict": "inconclusive"}
    text = FORMATS[name]({**empty, "not_run": [], "results": []})
    if name in JSON:
        assert json.loads(text) or name == "gitlab"
    else:
        assert "no model was judged" in text


@pytest.mark.parametrize("name", MARKUP)
def test_hostile_names_are_shown_and_do_nothing(name, attacked):
    text = FORMATS[name](attacked)
    assert "alert(1)" in text
    assert "<script" not in text
    assert "::" not in text.rpartition("</style>")[2]
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "\r" not in text


@pytest.mark.parametrize("name", [name for name in JSON if name != "json"])
def test_hostile_names_stay_strings_of_the_machines_formats(name, attacked):
    text = FORMATS[name](attacked)
    json.loads(text)
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    assert "\u202e" not in text
