"""Findings for code scanning."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from jsonschema import Draft4Validator

from pytest_draft.policy.rules import RULES
from pytest_draft.report import sarif

OFFICIAL = Draft4Validator(
    json.loads((Path(__file__).parent / "files" / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
)


def run(report: dict) -> dict:
    """Return the only run of a log that the official schema takes."""
    log = json.loads(sarif.render(report))
    OFFICIAL.validate(log)
    assert log["version"] == "2.1.0"
    (only,) = log["runs"]
    return only


def fingerprints(report: dict) -> list[str]:
    return [result["partialFingerprints"]["primaryLocationLineHash"] for result in run(report)["results"]]


def test_every_rule_is_described_once_and_results_point_to_it(report):
    found = run(report)
    rules = found["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(RULES)
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert RULES[rule["id"]].rationale in rule["fullDescription"]["text"]
        assert all(key in rule["help"]["markdown"] for key in RULES[rule["id"]].keys)
        assert rule["defaultConfiguration"] == {"level": RULES[rule["id"]].severity}
    for result in found["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_passed_checks_are_no_results_and_all_others_are(report):
    results = run(report)["results"]
    checks = [check for result in report["results"] for check in result["checks"] if check["result"] != "passed"]
    assert len(results) == len(checks)
    for result, check in zip(results, checks, strict=True):
        assert check["sentence"] in result["message"]["text"]
        assert (result["kind"], result.get("level")) == (
            ("fail", "error") if check["result"] == "failed" else ("open", None)
        )


def test_a_warning_has_the_level_of_one_and_so_has_its_rule(only):
    report = only("leaking")
    first = report["results"][0]["checks"][0]
    first["severity"] = "warning"
    found = run(report)
    assert [result.get("level") for result in found["results"]] == ["warning", "error", None]
    levels = {rule["id"]: rule["defaultConfiguration"]["level"] for rule in found["tool"]["driver"]["rules"]}
    assert [levels[check["rule"]] for check in report["results"][0]["checks"]] == ["warning", "error", "error"]


def test_a_result_names_the_model_file_with_its_hash(only):
    report = only("leaking")
    found = run(report)
    (artifact,) = found["artifacts"]
    assert artifact["location"]["uri"] == "models/leaking.joblib"
    assert artifact["hashes"] == {"sha-256": report["results"][0]["artifact"]["sha256"]}
    for result in found["results"]:
        (location,) = result["locations"]
        assert location["physicalLocation"]["artifactLocation"] == {"uri": "models/leaking.joblib", "index": 0}


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a b/ü.joblib", "a%20b/%C3%BC.joblib"),
        ("a:b.joblib", "a%3Ab.joblib"),
        ("/tmp/a b.joblib", "file:///tmp/a%20b.joblib"),
        ("C:\\a\\b.joblib", "file:///C:/a/b.joblib"),
    ],
)
def test_a_path_becomes_a_uri(path, uri, only):
    report = only("leaking")
    report["results"][0]["artifact"]["path"] = path
    assert run(report)["artifacts"][0]["location"]["uri"] == uri


def test_fingerprints_are_stable_apart_and_of_this_file_only(only):
    report = only("leaking")
    before = fingerprints(report)
    assert before == fingerprints(report)
    assert len(set(before)) == len(before) == 3
    report["results"][0]["checks"][0]["sentence"] = "another number"
    assert fingerprints(report) == before
    report["results"][0]["artifact"]["sha256"] = "0" * 64
    assert set(fingerprints(report)).isdisjoint(before)


def test_a_rule_from_elsewhere_is_described_by_its_id(only):
    report = only("leaking")
    report["results"][0]["checks"][0]["rule"] = "somebodys-own"
    found = run(report)
    assert found["tool"]["driver"]["rules"][found["results"][0]["ruleIndex"]]["id"] == "somebodys-own"


def test_nothing_in_a_message_is_taken_for_a_placeholder_or_a_link(only):
    report = only("leaking")
    report["results"][0]["checks"][0]["sentence"] = "{0} [here](https://example.org)"
    assert "{{0}} [here] (https" in run(report)["results"][0]["message"]["text"]


def test_policies_tell_runs_apart(only):
    report = only("leaking")
    other = copy.deepcopy(report)
    other["results"][0]["policy"]["name"] = "another/one"
    ids = {run(one)["automationDetails"]["id"] for one in (report, other)}
    assert ids == {"pytest-draft/ours/", "pytest-draft/another%2Fone/"}
