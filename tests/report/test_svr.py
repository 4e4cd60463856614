"""The in-toto statement with a Simple Verification Result: a property is never more than what holds."""

from __future__ import annotations

import copy
import json

import pytest

from pytest_draft.report import document, intoto


def statement(report: dict) -> dict:
    """Return the statement, after a look at what its specifications ask for."""
    found = json.loads(intoto.svr(report))
    assert found["_type"] == "https://in-toto.io/Statement/v1"
    assert found["predicateType"] == "https://in-toto.io/attestation/svr/v0.2"
    assert set(found) == {"_type", "subject", "predicateType", "predicate"}
    assert all(set(one) == {"name", "digest"} and set(one["digest"]) == {"sha256"} for one in found["subject"])
    predicate = found["predicate"]
    assert set(predicate) - {"timeCreated"} == {"verifier", "properties"}
    assert predicate["verifier"]["id"] == "pkg:pypi/pytest-draft@1.2.3"
    assert all(one["digest"]["sha256"] for one in predicate["verifier"]["policies"])
    return found


def properties(report: dict) -> list[str]:
    return statement(report)["predicate"]["properties"]


RULES = [f"PYTEST_DRAFT_{rule}[artifact]" for rule in ("entropy-reduction", "perfect-rows", "reconstruction-error")]


def test_a_passed_model_is_the_subject_with_each_rule_that_it_has_passed(only):
    report = only("quiet")
    found = statement(report)
    assert found["subject"] == [
        {"name": "models/quiet.joblib", "digest": {"sha256": report["results"][0]["artifact"]["sha256"]}}
    ]
    assert found["predicate"]["properties"] == ["PYTEST_DRAFT_PASSED", *RULES]


@pytest.mark.parametrize("name", ["leaking", "numbers", "broken"])
def test_nothing_is_said_to_hold_of_a_model_that_has_not_passed(name, only):
    report = only(name)
    assert any(check["result"] != "passed" for check in report["results"][0]["checks"])
    assert properties(report) == []
    report["results"][0]["policy"]["allow_inconclusive"] = True
    assert properties(report) == []


def test_nothing_holds_of_several_models_where_one_has_not_passed(report):
    assert len(statement(report)["subject"]) == 4
    assert properties(report) == []


def test_nothing_holds_where_a_planned_check_did_not_run(only):
    results = only("quiet")["results"]
    report = document.document(results, ["models/quiet.joblib::more[artifact]"], "1.2.3")
    assert properties(report) == []


def test_nothing_holds_of_a_file_that_has_no_hash(only):
    report = only("quiet")
    report["results"][0]["artifact"]["sha256"] = None
    assert statement(report)["subject"] == []
    assert properties(report) == []


def test_nothing_holds_of_a_model_of_which_no_check_is_applicable(only):
    report = only("quiet")
    for check in report["results"][0]["checks"]:
        check["result"] = "not applicable"
    report["results"] = document.merged(report["results"])
    report["verdict"] = report["results"][0]["verdict"]
    assert properties(report) == []


def test_a_verdict_that_rests_on_a_waiver_has_another_name_and_leaves_out_the_rule(only, waived):
    report = only("quiet")
    first = report["results"][0]["checks"][0]
    first["result"] = "failed"
    waived(first)
    assert first["rule"] == "reconstruction-error"
    assert properties(report) == ["PYTEST_DRAFT_WARNED", *RULES[:2]]


def test_a_check_that_is_not_applicable_is_no_pass(only):
    report = only("quiet")
    report["results"][0]["checks"][0]["result"] = "not applicable"
    assert properties(report) == ["PYTEST_DRAFT_PASSED", *RULES[:2]]


def test_of_several_models_that_holds_which_each_has_passed_with_every_table_and_adversary(only):
    report = only("quiet")
    other, again = (copy.deepcopy(report["results"][0]) for _ in range(2))
    other["artifact"] |= {"path": "models/other.joblib", "sha256": "a" * 64}
    other["checks"] = other["checks"][:1]
    again["adversary"] = "published"
    report["results"] += [other, again]
    assert len(statement(report)["subject"]) == 2
    assert properties(report) == ["PYTEST_DRAFT_PASSED", RULES[2]]
    again["artifact"] = other["artifact"]
    assert properties(report) == ["PYTEST_DRAFT_PASSED", RULES[2]]
    again["adversary"] = "artifact"
    again["checks"][0]["severity"], again["checks"][0]["result"] = "warning", "failed"
    assert properties(report) == ["PYTEST_DRAFT_WARNED", *RULES[:2]]


def test_the_time_is_that_of_the_report(only):
    assert "timeCreated" not in statement(only("quiet"))["predicate"]
    dated = {**only("quiet"), "judged_at": "2026-11-27T14:00:00Z"}
    assert statement(dated)["predicate"]["timeCreated"] == "2026-11-27T14:00:00Z"
