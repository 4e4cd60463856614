"""The fleet report: one row a model, and what became of each since an earlier report."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
from html import unescape

import pytest
from jsonschema import Draft202012Validator

from pytest_draft.plugin.summary import fleet_lines
from pytest_draft.report import fleet_html, json_report
from pytest_draft.report.canonical import with_hash
from pytest_draft.report.earlier_report import read_earlier
from pytest_draft.report.fleet import CHANGES, MEANINGS, fleet, story
from pytest_draft.report.matched import matched
from pytest_draft.report.schema import fleet_schema

HOSTILE = "a<script>alert(1)</script>\"'c\n::error::d\r\n\u202eh\x1b[31m{0}"


@pytest.fixture
def earlier(tmp_path):
    """Return a function that gives a report as an earlier one."""

    def of(report):
        (tmp_path / "earlier.json").write_text(json.dumps(with_hash(report)), encoding="utf-8")
        return read_earlier(tmp_path / "earlier.json")

    return of


def valid(found):
    Draft202012Validator.check_schema(fleet_schema())
    assert [error.message for error in Draft202012Validator(fleet_schema()).iter_errors(found)] == []
    return found


def model(found, name):
    (one,) = [one for one in found["models"] if one["path"] == f"models/{name}.joblib"]
    return one


def rename(report, old, new):
    for result in report["results"]:
        if result["artifact"]["path"] == f"models/{old}.joblib":
            result["artifact"]["path"] = new


def test_each_model_has_a_row_with_its_worst_check_and_figures(report):
    found = valid(fleet(report, []))
    assert [one["verdict"] for one in found["models"]] == sorted(
        (one["verdict"] for one in report["results"]), key=["failed", "inconclusive", "passed"].index
    )
    leaking = model(found, "leaking")
    (result,) = [one for one in report["results"] if "leaking" in one["artifact"]["path"]]
    failed = next(check for check in result["checks"] if check["result"] == "failed")
    assert leaking["worst"] == {"rule": failed["rule"], "standing": "failed", "sentence": failed["sentence"]}
    assert leaking["error"] == [result["metrics"]["reconstruction_error"]] * 2
    assert leaking["split_half_perfect_rows"] == result["metrics"]["split_half_perfect_rows"]
    assert leaking["sha256"] == result["artifact"]["sha256"]
    assert sum(found["counts"].values()) == len(found["models"]) == 4
    assert found["changes"] is None
    assert leaking["change"] is None


def test_of_several_adversaries_the_gravest_makes_the_row_and_all_seconds_count(report):
    (first,) = [one for one in report["results"] if "quiet" in one["artifact"]["path"]]
    other = copy.deepcopy(first) | {"adversary": "published", "verdict": "failed"}
    other["checks"][0] |= {"result": "failed", "sentence": "too much"}
    report["results"].append(other)
    found = model(valid(fleet(report, [])), "quiet")
    assert (found["verdict"], found["adversary"], found["worst"]["sentence"]) == ("failed", "published", "too much")
    assert found["seconds"] == round(first["seconds"] + other["seconds"], 3)


def test_a_model_of_which_a_check_did_not_run_has_not_passed(report):
    (quiet,) = [one for one in report["results"] if "quiet" in one["artifact"]["path"]]
    assert quiet["verdict"] == "passed"
    missing = ["models/quiet.joblib", "models/quiet.joblib", "models/none.joblib", "models/leaking.joblib"]
    found = valid(fleet(report, missing))
    assert (model(found, "quiet")["verdict"], model(found, "quiet")["checks_not_run"]) == ("inconclusive", 2)
    assert (model(found, "none")["verdict"], model(found, "none")["worst"]) == ("inconclusive", None)
    assert model(found, "leaking")["verdict"] == "failed"
    page = fleet_html.render(found)
    assert "2 planned checks did not run" in page
    assert "no check ran" in page


def test_what_became_of_each_model_is_told(report, earlier):
    before = copy.deepcopy(report)
    verdicts = {one["artifact"]["path"]: one for one in before["results"]}
    verdicts["models/leaking.joblib"]["verdict"] = "passed"
    verdicts["models/quiet.joblib"]["verdict"] = "inconclusive"
    verdicts["models/broken.joblib"]["verdict"] = "failed"
    rename(before, "numbers", "models/other.joblib")
    before["results"].sort(key=lambda one: one["artifact"]["path"])
    found = valid(fleet(report, [], earlier(before)))
    assert {one["path"]: one["change"] for one in found["models"]} == {
        "models/leaking.joblib": "worse",
        "models/quiet.joblib": "better",
        "models/broken.joblib": "undecided",
        "models/numbers.joblib": "new",
    }
    assert [one["path"] for one in found["gone"]] == ["models/other.joblib"]
    assert found["changes"] == {
        "worse": 1,
        "undecided": 1,
        "new": 1,
        "not run": 0,
        "better": 1,
        "unchanged": 0,
        "gone": 1,
    }
    assert story(model(found, "leaking")) == "worse (passed before)"
    assert story(model(found, "broken")) == "no longer decided (failed before)"
    assert story(model(found, "numbers")) == "new; the same bytes as models/other.joblib had"


def test_nothing_has_changed_since_a_report_on_the_same_files(report, earlier):
    found = valid(fleet(report, [], earlier(report)))
    assert {one["change"] for one in found["models"]} == {"unchanged"}
    assert found["gone"] == []
    assert not any(one["renewed"] for one in found["models"])


def test_new_bytes_data_and_policies_are_told_and_a_moved_file_is_the_same(report, earlier):
    before = copy.deepcopy(report)
    for result in before["results"]:
        for part in ("artifact", "data", "policy"):
            result[part]["sha256"] = "0" * 64
        if result["metrics"]["perfect_rows"] is not None and "leaking" in result["artifact"]["path"]:
            result["metrics"]["perfect_rows"] = 1
            result["baselines"].pop("perfect_rows_bounds", None)
    for result in report["results"]:
        result["policy"]["sha256"] = "1" * 64
    rename(before, "leaking", "archive/leaking.joblib")
    found = model(valid(fleet(report, [], earlier(before))), "leaking")
    assert (found["change"], found["before"]["path"]) == ("unchanged", "archive/leaking.joblib")
    assert found["renewed"] == ["model file", "training data", "policy"]
    assert story(found).startswith("unchanged; moved from archive/leaking.joblib; another model file; another training")
    assert "perfect rows 1 before" in story(found)


def test_a_model_that_was_not_run_then_is_known_and_a_projects_own_test_is_no_model(report, earlier):
    before = copy.deepcopy(report)
    before["results"] = [one for one in before["results"] if "quiet" not in one["artifact"]["path"]]
    before["not_run"] = ["models/quiet.joblib::perfect-rows[artifact]", "tests/test_own.py::test_it"]
    found = valid(fleet(report, ["models/leaking.joblib", "models/numbers.joblib"], earlier(before)))
    assert model(found, "quiet")["change"] == "better"
    assert model(found, "leaking")["change"] == "unchanged"  # failed stays failed, whatever did not run
    (numbers,) = [one for one in report["results"] if "numbers" in one["artifact"]["path"]]
    assert model(found, "numbers")["change"] == ("unchanged" if numbers["verdict"] == "failed" else "not run")
    assert found["gone"] == []


@pytest.mark.parametrize(
    ("now", "before", "whose"),
    [
        (["a/x", "b/y"], ["b/y", "a/x"], {"a/x": "a/x", "b/y": "b/y"}),
        (["b/x"], ["a/x"], {"b/x": "a/x"}),
        (["a/x", "b/x"], ["a/x"], {"a/x": "a/x"}),  # b/x is new, and not compared with another model
        (["b/x", "c/x"], ["a/x"], {}),
        (["c/x"], ["a/x", "b/x"], {}),
        (["a/x", "c/x"], ["a/x", "b/x"], {"a/x": "a/x", "c/x": "b/x"}),
        ([r"m\x"], ["a/x"], {r"m\x": "a/x"}),
        ([], ["a/x"], {}),
    ],
)
def test_a_model_is_matched_by_its_path_else_by_a_name_that_nothing_else_has(now, before, whose):
    assert matched(now, before) == whose
    assert matched(reversed(now), reversed(before)) == whose


def test_a_new_model_is_not_compared_with_another_one_of_its_name(report, earlier):
    before = earlier(report)
    (leaking,) = [one for one in report["results"] if "leaking" in one["artifact"]["path"]]
    other = copy.deepcopy(leaking)
    other["artifact"]["path"] = "new/leaking.joblib"
    assert before.beside(other).doubts == ()  # alone, it was moved
    files = [one["artifact"]["path"] for one in (*report["results"], other)]
    (why,) = before.beside(other, matched(files, before.files)).doubts
    assert "no result of a model file 'leaking.joblib'" in why
    assert before.beside(leaking, matched(files, before.files)).doubts == ()


def test_the_order_of_results_makes_no_difference(report, earlier):
    before = earlier(report)
    turned = {**report, "results": list(reversed(report["results"]))}
    for render in (json_report.render, fleet_html.render):
        assert render(fleet(report, [], before)) == render(fleet(turned, [], before))


def test_each_kind_of_change_has_words_and_is_in_the_schema():
    named = fleet_schema()["$defs"]["model"]["properties"]["change"]["enum"]
    assert [*CHANGES, None] == named
    assert list(MEANINGS) == [*CHANGES, "gone"]


@pytest.fixture
def page(report, earlier):
    """Return a page on which everything is that can be, and every name is hostile."""
    before = earlier(copy.deepcopy(report))
    rename(report, "numbers", "models/other.joblib")
    found = fleet(report, ["models/none.joblib"], before)
    for one in found["models"]:
        one |= {"path": HOSTILE, "same_file_as": HOSTILE}
        one["before"] = one["before"] and {**one["before"], "path": HOSTILE}
        one["worst"] = one["worst"] and {**one["worst"], "sentence": HOSTILE, "rule": HOSTILE}
        one["policy"] = one["policy"] and {**one["policy"], "name": HOSTILE}
    for one in found["gone"]:
        one["path"] = HOSTILE
    return fleet_html.render(found)


def test_the_page_allows_its_own_style_and_script_by_their_hashes_and_nothing_else(page):
    (policy,) = re.findall('http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    (style,) = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    assert unescape(policy) == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; base-uri 'none'; "
        "form-action 'none'"
    )
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert not re.search(r"\sstyle=|\son\w+=|javascript:|<link|<img|<iframe|<base|<form", page)


def test_the_script_makes_no_markup_of_text(page):
    (script,) = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function|fetch|import|http", script)


def test_hostile_names_are_text_on_the_page(page):
    assert "alert(1)" in page
    assert page.count("<script>") == 1
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "::error" not in page


def test_the_heading_says_how_many_models_have_the_gravest_verdict(report):
    found = fleet(report, [])
    grave, n_models = found["counts"][found["verdict"]], len(found["models"])
    assert 0 < grave < n_models
    assert f"</span> {grave} of {n_models} models {found['verdict']}</h1>" in fleet_html.render(found)


def test_a_fleet_of_nothing_is_rendered(report):
    found = valid(fleet({**report, "results": [], "verdict": "inconclusive"}, []))
    assert "0 models: inconclusive" in fleet_html.render(found)


def by_another(report, verdict, error):
    """Let the quiet model of a report be judged for one more adversary, too."""
    (quiet,) = [one for one in report["results"] if "quiet" in one["artifact"]["path"]]
    other = copy.deepcopy(quiet) | {"adversary": "published", "verdict": verdict}
    other["metrics"]["reconstruction_error"] = error
    other["baselines"]["reconstruction_error_bounds"] = [error, error]
    report["results"].append(other)
    return report


@pytest.mark.parametrize(
    ("then", "change"), [("failed", "not run"), ("inconclusive", "not run"), ("passed", "unchanged")]
)
def test_a_model_is_not_better_because_an_adversary_is_left_out(report, earlier, then, change):
    before = earlier(by_another(copy.deepcopy(report), then, 0.01))
    found = model(valid(fleet(report, [], before)), "quiet")
    assert (found["verdict"], found["change"], found["adversaries_left"]) == ("passed", change, ["published"])
    assert "the adversary published is left out" in story(found)
    (told,) = [line for line in list(fleet_lines(fleet(report, [], before)))[1] if "quiet" in line]
    assert told.endswith("the adversary published is left out")


def test_a_model_is_better_where_another_adversary_is_left_out_by_whom_it_passed(report, earlier):
    before = by_another(copy.deepcopy(report), "passed", 0.01)
    (quiet, _) = [one for one in before["results"] if "quiet" in one["artifact"]["path"]]
    quiet["verdict"] = "failed"
    found = model(valid(fleet(report, [], earlier(before))), "quiet")
    assert (found["change"], found["adversaries_left"]) == ("better", ["published"])


def test_figures_are_compared_with_those_of_the_same_adversary(report, earlier):
    before = earlier(by_another(copy.deepcopy(report), "failed", 0.01))
    now = by_another(copy.deepcopy(report), "passed", 0.9)
    found = model(valid(fleet(now, [], before)), "quiet")
    assert found["adversary"] == "artifact"  # the other one led then
    assert found["before"]["error"] == found["error"]
    assert "error" not in story(found)
    alone = copy.deepcopy(report)
    for one in alone["results"]:
        one["adversary"] = "published"
    found = model(valid(fleet(alone, [], earlier(report))), "quiet")
    assert (found["before"]["error"], found["before"]["perfect_rows"]) == (None, None)


def in_places(report):
    """Let the file of the quiet model hold two models: one that passes, and one that fails."""
    (quiet,) = [one for one in report["results"] if "quiet" in one["artifact"]["path"]]
    other = copy.deepcopy(quiet) | {"verdict": "failed"}
    for one, place in ((quiet, "[0]"), (other, "[1]")):
        one["artifact"] |= {"path": f"models/quiet.joblib[{place}]", "place": place}
    report["results"].append(other)
    return report


def test_a_file_of_several_models_of_which_nothing_ran_is_neither_new_nor_gone(report, earlier):
    before = earlier(in_places(copy.deepcopy(report)))
    now = {**report, "results": [one for one in report["results"] if "quiet" not in one["artifact"]["path"]]}
    found = valid(fleet(now, ["models/quiet.joblib"], before))
    assert (model(found, "quiet")["change"], found["gone"]) == ("not run", [])
    (quiet,) = [copy.deepcopy(one) for one in report["results"] if "quiet" in one["artifact"]["path"]]
    now["results"].append(quiet | {"verdict": "inconclusive"})
    found = valid(fleet(now, [], before))
    assert (model(found, "quiet")["change"], found["gone"]) == ("undecided", [])
    assert "moved" not in story(model(found, "quiet"))


def test_a_file_of_several_models_of_which_nothing_ran_before_is_neither_new_nor_gone(report, earlier):
    before = copy.deepcopy(report)
    before["results"] = [one for one in before["results"] if "quiet" not in one["artifact"]["path"]]
    before["not_run"] = ["models/quiet.joblib::perfect-rows[artifact]"]
    found = valid(fleet(in_places(copy.deepcopy(report)), [], earlier(before)))
    became = {one["path"]: one["change"] for one in found["models"] if "quiet" in one["path"]}
    assert became == {"models/quiet.joblib[[0]]": "better", "models/quiet.joblib[[1]]": "worse"}
    assert found["gone"] == []
    assert not any("moved" in story(one) for one in found["models"])


def test_a_file_of_which_nothing_ran_before_can_be_the_one_that_was_moved(report, earlier):
    (leaking,) = [one for one in report["results"] if "leaking" in one["artifact"]["path"]]
    before = earlier(report | {"not_run": ["other/leaking.joblib::perfect-rows[artifact]"]})
    now = copy.deepcopy(leaking)
    now["artifact"]["path"] = "new/leaking.joblib"
    assert before.beside(now, matched(["new/leaking.joblib"], before.files)).doubts
    assert before.beside(leaking, matched(["models/leaking.joblib"], before.files)).doubts == ()
    found = valid(fleet({**report, "results": [now]}, [], before))
    assert found["models"][0]["change"] == "new"


def test_what_is_waived_is_told_also_beside_a_warning(report, earlier):
    before = copy.deepcopy(report)
    (then,) = [one for one in before["results"] if "quiet" in one["artifact"]["path"]]
    then["verdict"] = "failed"
    (quiet,) = [one for one in report["results"] if "quiet" in one["artifact"]["path"]]
    warned, waived = quiet["checks"][:2]
    warned |= {"result": "failed", "severity": "warning"}
    waived |= {"result": "failed", "waiver": {"owner": "O", "reason": "R", "expires": "2999-01-01"}}
    found = valid(fleet(report, [], earlier(before)))
    one = model(found, "quiet")
    assert (one["verdict"], one["worst"]["standing"], one["waived"]) == ("passed", "warning", [waived["rule"]])
    assert story(one) == f"better (failed before); by a waiver of {waived['rule']}"
    assert f"did not pass, and waived: {waived['rule']}" in fleet_html.render(found)
    assert model(found, "leaking")["waived"] == []
