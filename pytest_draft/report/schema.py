"""The published schema of the JSON report: nothing goes in, out comes JSON Schema, draft 2020-12."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def schema() -> dict[str, Any]:
    """Return the schema that every JSON report of this version keeps."""
    text = resources.files("pytest_draft.report").joinpath("report.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
