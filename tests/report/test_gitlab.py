"""GitLab's Code Quality report."""

from __future__ import annotations

import copy
import json

import pytest
from jsonschema import Draft202012Validator

from pytest_draft.report import document, sarif

TEXT = {"type": "string", "minLength": 1}
FORMAT = Draft202012Validator(
    {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["description", "check_name", "fingerprint", "severity", "location"],
            "properties": {
                "description": TEXT,
                "check_name": TEXT,
                "fingerprint": TEXT,
                "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
                "location": {
                    "type": "object",
                    "required": ["path", "lines"],
                    "properties": {
                        "path": {"type": "string", "pattern": r"^[^/.]|^\.[^/]"},
                        "lines": {"required": ["begin"], "properties": {"begin": {"type": "integer", "minimum": 1}}},
                    },
                },
            },
        },
    }
)
"""What GitLab's page on the format asks for: https://docs.gitlab.com/ci/testing/code_quality/."""


def degradations(report: dict) -> list[dict]:
    found = json.loads(sarif.gitlab(report))
    FORMAT.validate(found)
    assert len({one["fingerprint"] for one in found}) == len(found)
    return found


@pytest.mark.parametrize(
    ("name", "severities"),
    [("leaking", ["blocker", "blocker", "critical"]), ("broken", ["critical"] * 3), ("quiet", [])],
)
def test_what_stops_a_model_is_a_blocker_and_no_answer_is_critical(name, severities, only):
    assert [one["severity"] for one in degradations(only(name))] == severities


def test_several_models_are_told_apart_and_the_worst_comes_first(report):
    found = degradations(report)
    assert len(found) == 8
    assert found[0]["location"]["path"] == "models/leaking.joblib"
    assert {one["location"]["path"] for one in found} == {
        f"models/{name}.joblib" for name in ("leaking", "broken", "numbers")
    }


def test_warnings_and_waived_checks_are_told_and_do_not_stop(only, waived):
    report = only("leaking")
    first, second, _ = report["results"][0]["checks"]
    first["severity"] = "warning"
    waived(second)
    assert [one["severity"] for one in degradations(report)] == ["critical", "minor", "info"]


def test_what_did_not_run_is_found_too(only):
    (found,) = degradations({**only("quiet"), "not_run": ["models/quiet.joblib::more[artifact]"]})
    assert (found["check_name"], found["severity"]) == ("not-run", "critical")
    assert found["location"]["path"] == "models/quiet.joblib"


def test_checks_that_are_not_applicable_are_found_where_nothing_else_was_judged(only):
    report = only("quiet")
    for check in report["results"][0]["checks"][:2]:
        check["result"] = "not applicable"
    assert degradations(report) == []
    report["results"][0]["checks"][2]["result"] = "not applicable"
    report["results"] = document.merged(report["results"])
    assert [one["severity"] for one in degradations(report)] == ["critical"] * 3


def test_a_finding_of_another_file_is_a_new_one_and_of_the_same_file_is_not(only):
    report = only("leaking")
    again = copy.deepcopy(report)
    again["results"][0]["checks"][0]["sentence"] = "in other words"
    assert [one["fingerprint"] for one in degradations(report)] == [one["fingerprint"] for one in degradations(again)]
    again["results"][0]["artifact"]["sha256"] = "0" * 64
    before, after = ({one["fingerprint"] for one in degradations(one)} for one in (report, again))
    assert not before & after
