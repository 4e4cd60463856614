"""The in-toto test-result predicate."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest

from pytest_draft.report import intoto
from pytest_draft.report.canonical import HASH


def predicate(report: dict) -> dict:
    return json.loads(intoto.render(report))


def allow_inconclusive(report: dict) -> dict:
    for result in report["results"]:
        result["policy"]["allow_inconclusive"] = True
    return report


@pytest.mark.parametrize(
    ("name", "result", "where"),
    [("leaking", "FAILED", "failedTests"), ("quiet", "PASSED", "passedTests"), ("broken", "FAILED", "failedTests")],
)
def test_a_model_without_an_answer_is_failed(name, result, where, only):
    report = only(name)
    found = predicate(report)
    assert found["result"] == result
    tests = {key: found[key] for key in ("passedTests", "warnedTests", "failedTests")}
    assert tests.pop(where) == [check["item"] for check in report["results"][0]["checks"]]
    assert not any(tests.values())


def test_a_failure_is_never_allowed(only):
    assert predicate(allow_inconclusive(only("leaking")))["result"] == "FAILED"


def test_a_waived_failure_is_warned_and_others_stay_failed(only, waived):
    report = only("leaking")
    waived(report["results"][0]["checks"][0])
    found = predicate(report)
    assert (found["result"], len(found["warnedTests"]), len(found["failedTests"])) == ("FAILED", 1, 2)
    for check in report["results"][0]["checks"]:
        waived(check)
    assert predicate(report)["result"] == "WARNED"


def test_a_planned_check_that_did_not_run_is_failed_whatever_is_allowed(only):
    found = predicate({**allow_inconclusive(only("quiet")), "not_run": ["models/quiet.joblib::more[artifact]"]})
    assert (found["result"], found["failedTests"]) == ("FAILED", ["models/quiet.joblib::more[artifact]"])


def test_nothing_judged_is_failed(only):
    assert predicate({**only("quiet"), "results": []})["result"] == "FAILED"


def test_a_test_of_ones_own_is_named_with_rule_and_adversary(only):
    report = only("quiet")
    report["results"][0]["checks"][0]["item"] = "test_release.py::test_it"
    assert predicate(report)["passedTests"][0] == "test_release.py::test_it::reconstruction-error[artifact]"


def test_the_configuration_names_what_went_in_and_the_report_by_their_hashes(only):
    report = {**only("leaking"), HASH: "f" * 64}
    result, configuration = report["results"][0], predicate(report)["configuration"]
    assert all({"uri", "digest", "content"} & set(descriptor) for descriptor in configuration)
    digests = {descriptor["name"]: descriptor["digest"]["sha256"] for descriptor in configuration[1:]}
    assert digests["models/leaking.joblib"] == result["artifact"]["sha256"]
    assert digests[HASH] == "f" * 64
    (policy,) = [one for one in configuration if one["name"] == "ours"]
    content = base64.b64decode(policy["content"])
    assert json.loads(content) == result["policy"]["rules"]
    assert digests["ours"] == hashlib.sha256(content).hexdigest()
    assert configuration[0]["uri"] == "pkg:pypi/pytest-draft@1.2.3"


def test_nothing_by_which_guesses_of_rows_could_be_checked_is_in_it(only):
    report = only("leaking")
    report["results"][0]["holdout"] = {**report["results"][0]["data"], "sha256": "e" * 64}
    text = intoto.render(report)
    assert report["results"][0]["data"]["sha256"] not in text
    assert "e" * 64 not in text


def test_what_went_in_several_times_is_named_once(report):
    names = [descriptor["name"] for descriptor in predicate(report)["configuration"]]
    assert names.count("ours") == 1
