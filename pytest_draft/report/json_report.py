"""The JSON report: in goes a plain report, out comes its text. All other formats render from the same object."""

from __future__ import annotations

import json

from pytest_draft.report.result import Report


def render(report: Report) -> str:
    """Return the text of a JSON report."""
    return indented(report)


def indented(value: object) -> str:
    """Return plain values as JSON that people can read: keys in order, no NaN, a line end."""
    return json.dumps(value, indent=2, allow_nan=False) + "\n"
