"""Slices in reports."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from pytest_draft.report import html, markdown
from pytest_draft.report.schema import schema

MEASURED = {
    "name": "women | <b>under</b> 25\n# no heading",
    "rows": 1_234,
    "rebuilt_rows": 1_300,
    "error": 0.01234,
    "random_error": 0.4,
    "split_half_error": None,
    "perfect_rows": 1_100,
    "perfect_share": 0.87,
    "split_half_perfect_share": None,
    "singled_out_rows": 70,
    "unique_rows": 80,
}
TOO_FEW = dict.fromkeys(MEASURED) | {"name": "men", "rows": None}


@pytest.fixture
def sliced(only):
    """Return a report with a slice that was measured and one that was too small."""
    report = only("leaking")
    report["results"][0]["slices"] = [MEASURED, TOO_FEW]
    return report


def test_a_report_with_slices_is_valid(sliced):
    Draft202012Validator(schema()).validate(sliced)


def test_the_job_summary_has_a_row_for_each_slice(sliced):
    lines = markdown.render(sliced).splitlines()
    table = lines[lines.index("## Slices") :]
    assert table[2] == "| Model | Adversary | Slice | Rows | Error | Split-half error | Perfect rows | Singled out |"
    name = r"women &#124; &lt;b&gt;under&lt;/b&gt; 25\\n\# no heading"
    model = "| models/leaking.joblib | artifact |"
    assert table[4] == f"{model} {name} | 1,234 | 0.0123 | not known | 1,100 | 70 of 80 unique |"
    assert table[5] == f"{model} men | fewer than 10 | too few rows | - | - | - |"


def test_the_page_shows_each_slice(sliced):
    text = html.render(sliced)
    assert "Slices that the policy names" in text
    assert "women | &lt;b&gt;under&lt;/b&gt; 25\\n# no heading" in text
    assert '<td data-label="Error">0.0123</td><td data-label="Split-half error">not known</td>' in text
    assert '<td data-label="Error">too few rows</td>' in text


def test_without_slices_nothing_is_said_of_them(only):
    report = only("leaking")
    assert report["results"][0]["slices"] == []
    assert "Slices" not in markdown.render(report) + html.render(report)
