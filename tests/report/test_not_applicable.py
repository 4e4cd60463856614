"""Every format tells a check that is not applicable from one that passed, and counts it apart."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from pytest_draft.plugin.summary import check_lines
from pytest_draft.policy.rule import NotApplicable
from pytest_draft.report import annotations, document, fleet_html, intoto, sentences, standings
from pytest_draft.report.canonical import with_hash
from pytest_draft.report.earlier_report import read_earlier
from pytest_draft.report.fleet import fleet
from pytest_draft.report.schema import fleet_schema, schema

REASON = NotApplicable.NO_NUMBERS.value


def leave_out(report: dict, *places: int) -> dict:
    """Return a report in which some checks of its only model are not applicable."""
    (result,) = report["results"]
    for place in places:
        result["checks"][place] |= {"result": "not applicable", "sentence": REASON, "remedy": None, "commands": []}
    report["results"] = document.merged(report["results"])
    report["verdict"] = report["results"][0]["verdict"]
    return report


@pytest.fixture
def one_left_out(only):
    return leave_out(only("quiet"), 1)


@pytest.fixture
def all_left_out(only):
    return leave_out(only("quiet"), 0, 1, 2)


def test_a_model_of_which_no_check_could_be_made_has_not_passed(all_left_out):
    assert all_left_out["verdict"] == "inconclusive"
    ((verdict, sentence),) = sentences.headlines(all_left_out)
    assert verdict == "inconclusive"
    assert sentence.startswith("Not cleared for release: ")
    assert sentence.endswith("No check that counts could be made, 3 not applicable.")
    predicate = intoto.predicate(all_left_out)
    assert (predicate["result"], len(predicate["failedTests"])) == ("FAILED", 3)
    assert len(annotations.annotations(all_left_out)) == 1
    assert "no check that counts could be made, which is no pass" in check_lines(all_left_out["results"][0], (), False)
    all_left_out["results"][0]["policy"]["allow_inconclusive"] = True
    predicate = intoto.predicate(all_left_out)
    assert (predicate["result"], len(predicate["warnedTests"])) == ("WARNED", 3)


def test_no_warning_that_passed_stands_in_for_checks_that_count(all_left_out):
    warning = all_left_out["results"][0]["checks"][0]
    warning |= {"result": "passed", "severity": "warning"}
    (result,) = document.merged(all_left_out["results"])
    assert result["verdict"] == "inconclusive"
    assert standings.unjudged(result)
    assert intoto.predicate(all_left_out)["result"] == "FAILED"


def test_the_fleet_counts_it_and_names_another_check_as_the_worst(one_left_out):
    found = fleet(one_left_out, [])
    assert not list(Draft202012Validator(fleet_schema()).iter_errors(found))
    (model,) = found["models"]
    assert (model["verdict"], model["checks_not_applicable"], model["worst"]["standing"]) == ("passed", 1, "passed")
    assert "1 not applicable" in fleet_html.render(found)


def test_a_report_with_such_checks_is_valid_and_one_of_an_earlier_version_can_be_compared_with(one_left_out, tmp_path):
    assert not list(Draft202012Validator(schema()).iter_errors(one_left_out))
    for was in (one_left_out, json.loads(json.dumps(one_left_out))):
        if was is not one_left_out:
            del was["results"][0]["artifact"]["regressor"]  # added later
            was["results"][0]["checks"][1]["result"] = "passed"
        path = tmp_path / "earlier.json"
        path.write_text(json.dumps(with_hash(was)), encoding="utf-8")
        earlier = read_earlier(path)
        assert not earlier.beside(one_left_out["results"][0]).doubts
        assert fleet(one_left_out, [], earlier)["models"][0]["change"] == "unchanged"


def test_a_file_that_changed_meanwhile_leaves_nothing_not_applicable(one_left_out):
    (result,) = one_left_out["results"]
    other = json.loads(json.dumps(result))
    other["artifact"]["sha256"] = "1" * 64
    results, items = [result, other], {check["item"] for check in result["checks"]}
    assert document.undecide_changed(results, items) == [result["artifact"]["path"]]
    assert {check["result"] for one in results for check in one["checks"]} == {"inconclusive"}
