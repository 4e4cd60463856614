"""How close anybody could get, on made-up facts; the sentences are in `test_golden.py`."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
from jsonschema import Draft202012Validator

from made_up_reports import INFORMED, reported
from pytest_draft.report import html, markdown, sentences
from pytest_draft.report.charts import charts
from pytest_draft.report.schema import schema


def test_the_limit_that_is_told_and_drawn_is_the_one_that_the_file_is_judged_by():
    (one,) = reported(informed=replace(INFORMED, matched_error=0.07))["results"]
    (check,) = one["checks"]
    assert check["result"] == "passed"
    assert "; no attacker considered gets closer than 0.0306;" in check["sentence"]
    assert one["limit"]["least_error"] == pytest.approx(0.0306, abs=5e-5)
    assert "no closer, all considered: 0.0306" in charts(one)[0].description


def test_reports_of_earlier_versions_have_none_and_are_rendered():
    report = reported()
    for section in ("ambiguity", "limit", "given_all_other_rows", "column_figures"):
        del report["results"][0][section]
    assert sentences.HOW_CLOSE not in html.render(report)
    assert "nobody" not in markdown.render(report)


def test_the_report_holds_all_of_it_and_the_schema_knows_it():
    report = reported()
    assert report["results"][0]["given_all_other_rows"] == json.loads(json.dumps(asdict(INFORMED)))
    metrics = report["results"][0]["metrics"]
    assert (metrics["given_others_error"], metrics["given_others_told_rows"]) == (0.0312, 0.002)
    part = {"$defs": schema()["$defs"], "$ref": "#/$defs/given_all_other_rows"}
    Draft202012Validator(part).validate(report["results"][0]["given_all_other_rows"])
    for name in ("told_rows", "columns"):
        less = {key: value for key, value in report["results"][0]["given_all_other_rows"].items() if key != name}
        assert not Draft202012Validator(part).is_valid(less)


@pytest.mark.parametrize("blocks", [None, [], [{"block_size": 8, "neighbours": True, "rows": 80, "determined": 12}]])
def test_rows_in_blocks_that_earlier_reports_tell_are_still_valid_and_not_said(blocks):
    report = reported()
    said = sentences.anybody(report["results"][0])
    report["results"][0]["ambiguity"] |= {"set_aside": 1, "determined": blocks}
    part = {"$defs": schema()["$defs"], "$ref": "#/$defs/ambiguity"}
    Draft202012Validator(part).validate(report["results"][0]["ambiguity"])
    assert sentences.anybody(report["results"][0]) == said
