"""What reports hold: the table of their metrics, and the published schemas."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class Metric:
    """One figure of a judgement, as reports and documentation name it; all of them stand in ``metrics.json``."""

    unit: str
    """What it counts, or what it is a share of."""
    found_in: str
    """Where an `Examination` holds it: a path of attributes, or after an "or" another, if that leads to nothing."""
    of_attack: bool = False
    """Whether only an attack gives it, so that it tells nobody anything where that was cut short."""
    section: str | None = None
    """Of the documentation."""
    meaning: str | None = None
    """Of this one and those after it that have none of their own."""


def schema() -> dict[str, Any]:
    """Return the schema that every JSON report of this version keeps."""
    return read("report.schema.json")


def fleet_schema() -> dict[str, Any]:
    """Return the schema that every fleet report of this version keeps."""
    return read("fleet.schema.json")


def read(name: str) -> dict[str, Any]:
    """Return a JSON file of this room."""
    text = resources.files("pytest_draft.report").joinpath(name).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


METRICS = {name: Metric(**about) for name, about in read("metrics.json").items()}
"""By name, in the order of a report's ``metrics``, which always has all of them."""
