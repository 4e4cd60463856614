"""The evidence report: that it has all of its lines for every file, and what it never says."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator

from made_up_facts import filled
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.privacy import Privacy
from pytest_draft.policy.policy import Policy
from pytest_draft.report import evidence, html, intoto, markdown, sarif
from pytest_draft.report.canonical import sha256
from pytest_draft.report.document import document
from pytest_draft.report.evidence_lines import TABLE, _first, _Known, _lists, _sentences
from pytest_draft.report.evidence_lines import evidence as lines_of
from pytest_draft.report.result import result_of
from pytest_draft.report.schema import schema

CONTEXT = {
    "recipients": "a partner",
    "assumed_knowledge": "its own patients",
    "queries": "none",
    "declared_by": "A. Example",
    "declared_on": "2026-11-20",
    "test_again_after_days": 180,
}
RUN = {"judged_at": "2026-11-27T14:42:00Z", "run": {"by": "alice", "address": "https://ci.example/1"}}
HELD = {"name": "x", "what": "y", "expected": "it must fail", "found": "failed", "held": True}
NEVER = re.compile(r"\b(safe|safely|anonymous\w*|anonymi[sz]ed|complian\w*)\b", re.IGNORECASE)


@pytest.fixture
def whole(report) -> dict:
    """Return the report as a run with controls in a CI system makes it, with a declared context."""
    for result in report["results"]:
        result["policy"]["context"] = CONTEXT
    return document(report["results"], [], "1.2.3", [HELD], **RUN)


def made_up() -> dict:
    """Return a result whose facts are all there, with those of membership and of a sensitive column."""
    facts = filled(Examination, decided_by=None, decided_after=None)
    result = json.loads(json.dumps(result_of(facts, (), Policy("ours", "policy.toml", {"verbatim-data": {}}))))
    told = {"told": 3, "without": 1, "rows": 9}
    share = {"value": 0.7, "low": 0.6, "high": 0.8}
    result["policy"]["context"] = CONTEXT
    result["sensitive"] = [{"name": "age", "told": told}, {"name": "town", "told": None, "not_told": "no time"}]
    result["membership"] = {"everyone": {"auc": share, "found": share}, "proved_in": 3, "proved_out": 2}
    result["membership"] |= {"rows": 9, "of_rows": 9, "strangers": 8, "most_exposed": 0.25, "unique": None}
    result["membership"] |= {"others": "left out of refits"}
    given_others = {"given_all_other_rows": {"told_rows": 0.25}}
    result["together"] = {"people": 300, "reasons": ["rows of others"], "told": [given_others]}
    result["policy"]["sha256"] = "f" * 64
    result["memory_cap"] = 4_000
    result["slices"] = [{"name": "men", "rows": 20, "perfect_rows": 3, "perfect_share": 0.15}]
    return result


def test_every_line_and_each_of_its_forms_can_be_filled_in(whole):
    """A form that names what is not there would never be taken, and its line would say less than is known."""
    informed = {**made_up(), "adversary": "artifact+columns:a"}
    served = {**made_up(), "adversary": "served"}
    early = {**made_up(), "decided_by": {"rule": "x", "attacker": None, "seconds": 1.0}}
    results = [*whole["results"], informed, served, early]
    values = [{**one, "report": whole, "say": {**_sentences(one, whole), "attacks": ""}} for one in results]
    forms = [form for section in TABLE["sections"].values() for line in section["lines"] for form in line["said"]]
    for form in forms:
        assert any(_first([form], one)[0] == 0 for one in values), form
    for entry in (line for section in TABLE["sections"].values() for line in section["lines"]):
        assert {"name", "said"} <= set(entry) <= {"name", "said", "status", "attacker", "where", "each"}
        assert set(entry.get("status", ())) <= set(TABLE["statuses"])
        assert entry.get("each", "reasons") in _lists(informed, whole)


@pytest.mark.parametrize("which", range(5))
def test_what_is_not_known_breaks_no_page(which, whole):
    """A verdict that is certain early leaves figures out; others were never measured."""
    result = [*whole["results"], made_up()][which]
    lacking = [{**result, "metrics": {**result["metrics"], name: None}} for name in result["metrics"]]
    lacking += [{**result, "metrics": dict.fromkeys(result["metrics"])}]
    lacking += [{**result, "baselines": {**result["baselines"], name: None}} for name in ("holdout", "identity")]
    sections = ("given_all_other_rows", "label_told", "membership", "ambiguity", "limit", "published", "contents")
    lacking += [{**result, name: None} for name in (*sections, "structure", "row_errors", "holdout")]
    for one in lacking:
        assert set(lines_of(one, whole)) == set(TABLE["sections"])


def test_what_is_not_known_is_never_filled_in():
    with pytest.raises(LookupError):
        _Known().vformat("{a[b]}", (), {"a": {"b": None}})
    assert _first(["{a[b][c]}", "not known"], {"a": {"b": None}}) == (1, "not known")
    assert _first(["{a:known}yes"], {"a": 0.0}) == (0, "yes")
    assert _first(["{a:share}"], {"a": 0.999}) == (0, "more than 99 %")


def test_the_report_is_valid_and_its_evidence_is_no_part_of_its_hash(whole):
    results = [one for one in whole["results"] if one["artifact"]["sha256"]]
    assert not list(Draft202012Validator(schema()).iter_errors(whole))
    assert {tuple(one["evidence"]) for one in results} == {tuple(TABLE["sections"])}
    later = copy.deepcopy(whole) | {"judged_at": "2027-01-01T00:00:00Z", "run": {"by": None, "address": None}}
    for one in later["results"]:
        one["seconds"] += 1
        one["evidence"] = lines_of(one, later)
    assert later != whole
    assert sha256(later) == sha256(whole)


@pytest.mark.parametrize("form", [evidence.render, evidence.as_markdown])
def test_every_section_stands_in_every_report(form, whole):
    made = made_up()
    made["artifact"]["privacy"] = {**filled_privacy(), "broken_by": ["its seed is known"], "exact": True}
    rule_list = {**made_up(), "published": None, "structure": None}
    rule_list["artifact"] = {**rule_list["artifact"], "n_trees": None, "bootstrap": None, "capacity": None}
    regressor = {**made_up(), "label_told": None}
    for result in (*whole["results"], made, rule_list, regressor):
        report = {**whole, "results": [{**result, "verdict": result.get("verdict", "passed")}]}
        text = form(report)
        assert TABLE["what"] in text
        for section in TABLE["sections"].values():
            assert section["title"] in text
        for box, _ in TABLE["boxes"]:
            assert box in text


def filled_privacy() -> dict:
    return json.loads(json.dumps(Privacy("laplace", 1.0, 1e-6, 10.0, "noise").__dict__))


def test_a_contradicted_privacy_is_told():
    made = made_up()
    made["artifact"]["privacy"] = {**filled_privacy(), "broken_by": ["its seed is known"], "exact": True}
    said = {
        one["name"]: one["said"] for one in lines_of(made, {"tool": {"version": None}, "results": []})["resistance"]
    }
    assert said["Differential privacy"] == "declared: epsilon 1, delta 1e-06, by laplace"
    assert said["What contradicts it"].startswith("its counts are exact; its seed is known; its noise was cut")


def test_statuses_say_what_was_run(only):
    def statuses(result: dict) -> dict:
        found = lines_of(result, {"tool": {"version": None}, "results": [result]})["attacks"]
        return {one["name"]: one["status"] for one in found}

    leaking, broken = (only(name)["results"][0] for name in ("leaking", "broken"))
    alone, informed = "Data reconstruction", "Data reconstruction, knowing all other rows"
    assert set(statuses(broken).values()) == {"not run"}
    ran = statuses(leaking)
    assert (ran[alone], ran[informed], ran["Model inversion"]) == ("run", "run", "implied")
    assert (ran["Membership inference"], ran["Linkage"], ran["Property inference"]) == ("run", "not run", "not run")
    quiet = only("quiet")["results"][0]
    quiet["metrics"]["reconstruction_error"] = None
    del quiet["baselines"]["reconstruction_error_bounds"]
    assert statuses(quiet)[alone] == "bounded"
    quiet["limit"] = None
    assert statuses(quiet)[alone] == "not run"
    made = statuses(made_up())
    assert made["Membership inference"] == "run"
    named = [
        one
        for one in lines_of(made_up(), {"tool": {"version": None}, "results": []})["attacks"]
        if "policy names" in one["name"]
    ]
    assert [one["status"] for one in named] == ["run", "not run"]


@pytest.mark.parametrize("form", [evidence.render, evidence.as_markdown])
def test_no_word_says_more_than_a_test_can(form, whole):
    text = form(whole).rpartition("</style>")[2].replace(TABLE["what"], "")
    assert not NEVER.findall(text)
    assert NEVER.findall("It is safe, anonymous and compliant.")


def test_gaps_are_told(only):
    said = evidence.as_markdown(only("leaking"))
    assert said.count("not declared: fill in") == 6
    assert "context not declared (recipients, assumed knowledge" in said
    assert "controls not run" in said
    assert "no CI system names anybody: fill in" in said


def test_what_is_known_of_the_run_is_told(whole):
    said = evidence.as_markdown(whole)
    assert "at the latest on 2027-05-26" in said
    assert "alice" in said
    assert "x (y; it must fail): failed, as it must" in said
    assert "context not declared" not in said
    whole["controls"] = [{**HELD, "held": False}]
    assert "NOT as it must: this test is not to be relied on" in evidence.as_markdown(whole)


def test_every_format_has_the_date(whole):
    for text in (markdown.render(whole), html.render(whole), evidence.render(whole)):
        assert re.search(r"2026-11-27T14\\?:42\\?:00Z for alice in https\\?:", text)
    assert json.loads(sarif.render(whole))["runs"][0]["invocations"][0]["endTimeUtc"] == RUN["judged_at"]
    predicate = intoto.predicate(whole)
    assert (predicate["judgedAt"], predicate["url"]) == (RUN["judged_at"], "https://ci.example/1")


def test_a_person_who_is_exposed_is_told_of_though_the_mean_is_harmless():
    made = made_up()
    made["given_all_other_rows"] |= {"row_errors": [0.0] + [0.5] * 100, "told_rows": 0.01, "rows": 100, "of_rows": 100}
    said = {
        one["name"]: one["said"] for one in lines_of(made, {"tool": {"version": None}, "results": []})["any_person"]
    }
    assert said["The most exposed person"].startswith(
        "somebody who knows all others guesses their row with an error of 0.0000 (half of the rows: at most 0.5000)"
    )
    assert said["No other value is possible"].startswith("1 of 100 rows (95 %: less than 1 % to 5 %)")


def test_a_search_for_proofs_that_did_not_end_proves_nothing():
    facts = replace(filled(Examination), decided_by=None)
    made = json.loads(json.dumps(result_of(facts, (), Policy("ours", "policy.toml", {"verbatim-data": {}}))))
    for number, exact, said in (
        (0, False, "not known of the file alone"),
        (0, True, "0 of "),
        (2, False, "at least 2 of "),
    ):
        made["metrics"] |= {"certain_rows": number, "certain_rows_exact": exact}
        (found,) = [
            one
            for one in lines_of(made, {"tool": {"version": None}, "results": []})["any_person"]
            if one["name"] == "Proved"
        ]
        assert found["said"].startswith(said)
