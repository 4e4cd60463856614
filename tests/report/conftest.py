"""A report of real judgements that every format renders: it is stored, and made anew at night."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

STORED = Path(__file__).parent / "stored" / "judged.json"
"""A forest that leaks, one that does not, one of numbers, and a damaged file, as `test_stored.py` judges them."""


@pytest.fixture(scope="session")
def judged() -> dict:
    """Return the stored report."""
    return json.loads(STORED.read_text(encoding="utf-8"))


@pytest.fixture
def report(judged) -> dict:
    """Return a copy of the report: leaking fails, quiet passes, broken is inconclusive."""
    return copy.deepcopy(judged)


@pytest.fixture
def only(report):
    """Return a function that gives the report of one model."""

    def of(name: str) -> dict:
        results = [result for result in report["results"] if name in result["artifact"]["path"]]
        return {**report, "verdict": results[0]["verdict"], "results": results}

    return of


@pytest.fixture
def waived():
    """Return a function that waives a check."""

    def waive(check: dict) -> None:
        told = {"reason": "internal use", "owner": "privacy office", "expires": "2099-12-31"}
        check["waiver"] = {"rule": check["rule"], "artifact_sha256": "0" * 64, **told}

    return waive


@pytest.fixture
def with_plots():
    """Return a function that adds the aggregates of all plots to a result."""

    def add(result: dict) -> dict:
        result["row_errors"] = {"quantiles": [k / 400 for k in range(101)]}
        result["leaf_sizes"] = {"at_least": [1, 2, 5], "leaves": [30, 4, 1]}
        return result

    return add
