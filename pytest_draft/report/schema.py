"""The published schemas of the JSON reports: nothing goes in, out comes JSON Schema, draft 2020-12."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def schema() -> dict[str, Any]:
    """Return the schema that every JSON report of this version keeps."""
    return _read("report.schema.json")


def fleet_schema() -> dict[str, Any]:
    """Return the schema that every fleet report of this version keeps."""
    return _read("fleet.schema.json")


def _read(name: str) -> dict[str, Any]:
    text = resources.files("pytest_draft.report").joinpath(name).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
