"""The job summary."""

from __future__ import annotations

import re

import pytest

from pytest_draft.report import markdown
from pytest_draft.report.markdown import escaped


def table(text: str, title: str) -> list[list[str]]:
    """Return the cells of the table of a section, without its headings."""
    section = text.split(f"## {title}\n")[1].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def test_failed_checks_come_before_undecided_ones_and_these_before_passed_ones(report, waived):
    refused = next(result for result in report["results"] if "broken" in result["artifact"]["path"])
    waived(refused["checks"][0])
    refused["checks"][1]["severity"] = "warning"
    found = [row[0].split()[1] for row in table(markdown.render(report), "Checks")]
    assert found == sorted(found, key=["failed", "inconclusive", "warning:", "waived", "passed"].index)
    assert set(found) == {"failed", "inconclusive", "warning:", "waived", "passed"}
    assert len(found) == sum(len(result["checks"]) for result in report["results"])


def test_an_error_that_is_only_bounded_is_told_by_its_bounds(only):
    report = only("leaking")
    report["results"][0]["metrics"]["reconstruction_error"] = None
    report["results"][0]["baselines"]["reconstruction_error_bounds"] = [0.1, 0.25]
    assert "The attack's error is between 0.1000 and 0.2500" in markdown.render(report)


def test_what_to_do_is_told_once_with_all_models(report):
    for result in report["results"]:
        for check in result["checks"]:
            check.update(result="failed", remedy="do this", commands=[])
    (line,) = [line for line in markdown.render(report).splitlines() if line.endswith(": Do this.")]
    assert all(name in line for name in ("leaking", "quiet", "broken", "numbers"))


def test_a_name_cannot_break_out_of_its_cell(only):
    report = only("leaking")
    report["results"][0]["artifact"]["path"] = "a|b`c`\n| d |\n\n# e"
    text = markdown.render(report)
    assert all(len(row) == 5 for title in ("Checks", "What was judged") for row in table(text, title))
    assert not re.search(r"^# e", text, re.MULTILINE)


@pytest.mark.parametrize("special", ["<b>", "[a](b)", "![a](b)", "`a`", "*a*", "_a_", "~~a~~", "$a$", "http://a", "|"])
def test_nothing_that_markdown_reads_is_left(special):
    assert special not in escaped(f"x {special} y")


def test_a_long_table_is_cut_and_says_so(only):
    report = only("quiet")
    (check, *_) = report["results"][0]["checks"]
    report["results"][0]["checks"] = [dict(check, item=str(i)) for i in range(markdown.MOST_CHECKS + 7)]
    text = markdown.render(report)
    assert len(table(text, "Checks")) == markdown.MOST_CHECKS
    assert "7 more checks, none worse than these" in text
