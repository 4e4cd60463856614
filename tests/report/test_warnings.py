"""A warning that could not be checked is told as inconclusive by every format, and as passed by none."""

from __future__ import annotations

import json

import pytest

from pytest_draft.report import html, intoto, markdown, sarif, wording
from pytest_draft.report.annotations import annotations


@pytest.fixture(params=["all", "one"])
def warned(only, request) -> dict:
    """Return the report of a damaged file, of which all rules are warnings, or one."""
    report = only("broken")
    (result,) = report["results"]
    for check in result["checks"][: None if request.param == "all" else 1]:
        check["severity"] = "warning"
    if request.param == "all":
        report["verdict"] = result["verdict"] = "passed"  # nothing that counts stands in the way
    return report


def test_the_headline_counts_how_many_warnings_are_undecided(warned):
    (result,) = warned["results"]
    number = sum(check["severity"] == "warning" for check in result["checks"])
    ((_, sentence),) = wording.headlines(warned)
    assert sentence.endswith(f"; {number} warning{'s' * (number > 1)}, {number} of which could not be decided.")


def test_every_format_says_that_it_is_inconclusive(warned):
    (result,) = warned["results"]
    check = result["checks"][0]
    assert "⚠️ warning: inconclusive | models/broken.joblib" in markdown.render(warned)
    assert "inconclusive, but does not block release" in html.render(warned)
    alerts = json.loads(sarif.render(warned))["runs"][0]["results"]
    assert [one["kind"] for one in alerts if one["ruleId"] == check["rule"]] == ["open"]
    told = [line for line in annotations(warned) if line.startswith("::warning ")]
    assert any(f"{check['rule']} [artifact] inconclusive" in line for line in told)
    assert any(check["item"] in name for name in intoto.predicate(warned)["warnedTests"])
    assert intoto.predicate(warned)["passedTests"] == []
