"""The JSON report: in goes a plain report, out comes its text. All other formats render from the same object."""

from __future__ import annotations

import json

from pytest_draft.report.result import Report


def render(report: Report) -> str:
    """Return the text of a JSON report, keys in order, no NaN."""
    return json.dumps(report, indent=2, allow_nan=False) + "\n"
