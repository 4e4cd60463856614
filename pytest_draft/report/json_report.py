"""The JSON report: in goes a plain report, out comes its text. All other formats render from the same object."""

from __future__ import annotations

import json

from pytest_draft.report.result import Report


def render(report: Report) -> str:
    """Return the text of a JSON report."""
    return indented(report)


def indented(value: object) -> str:
    """Return plain values as JSON that people can read: keys in order, no NaN, a line end.

    In ASCII, and without ``##``, which stands in strings only: so the text itself can be printed to a build's log.
    """
    return json.dumps(value, indent=2, allow_nan=False).replace("##", "#\\u0023") + "\n"
