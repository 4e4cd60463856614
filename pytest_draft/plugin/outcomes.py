"""Adds what the gate found out to the test reports of pytest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_draft.plugin import marks
from pytest_draft.plugin.items import RECORD, TOLERATED, CheckFailed, explained
from pytest_draft.plugin.results import DraftResult
from pytest_draft.plugin.session import GateSession

if TYPE_CHECKING:
    from pytest_draft.plugin.items import Tolerated
    from pytest_draft.policy.verdict import Check


def add_outcome(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Fail a marked test whose budgets are crossed; let the report carry what was found out."""
    result = getattr(item, "funcargs", {}).get("draft_result")
    if isinstance(result, DraftResult):
        _judge_marked(item, report, result)
    elif item.get_closest_marker(marks.NAME) is not None:
        if report.outcome == "passed":  # unittest's methods have no fixtures; and the fixture can be replaced
            _fail(report, f"{marks.NAME}: nothing was checked: draft_result is missing or was replaced")
    else:
        report.draft = item.stash.get(RECORD, None)  # type: ignore[attr-defined]
        item.stash[RECORD] = None  # the item lives as long as the run
        _show_tolerated(report, item.stash.get(TOLERATED, None))
        if call.excinfo is not None and isinstance(call.excinfo.value, CheckFailed) and report.outcome == "failed":
            _mark(report, [call.excinfo.value.check])


def _judge_marked(item: pytest.Item, report: pytest.TestReport, result: DraftResult) -> None:
    if item.get_closest_marker(marks.NAME) is None:
        return
    session = GateSession.of(item.config)
    records = [session.record(one.examination, one.checks, result.policy, item.nodeid) for one in result.models]
    report.draft = {"results": records, "planned": None}  # type: ignore[attr-defined]
    crossed = [check for check in result.checks if check.stops(result.policy)]
    if crossed and report.outcome != "failed":  # also where the test expects to fail, or skips itself
        texts = []
        for check in crossed:
            asked_by = result.policy.asked_by(check.rule)
            texts.append(f"{check.rule}[{check.adversary}]\n{explained(check, asked_by)}")
        _fail(report, "\n\n".join(texts))
        _mark(report, crossed)


def _show_tolerated(report: pytest.TestReport, tolerated: Tolerated | None) -> None:
    """Let a report say of a check that did not pass what it is: skipped, to pytest, as that fails nothing."""
    if tolerated is None or report.outcome != "passed":
        return
    report.outcome = "skipped"
    report.longrepr = (report.location[0], (report.location[1] or 0) + 1, tolerated.why)
    report.draft_standing = tolerated.name  # type: ignore[attr-defined]


def _mark(report: pytest.TestReport, crossed: Sequence[Check]) -> None:
    """Let a report that fails the run say which kind it is: shown as a failure, or one that could not be decided."""
    undecided = all(check.result == "inconclusive" for check in crossed)
    report.draft_standing = "inconclusive" if undecided else None  # type: ignore[attr-defined]
    report.draft_explained = not undecided  # type: ignore[attr-defined]


def _fail(report: pytest.TestReport, why: str) -> None:
    report.outcome = "failed"
    report.longrepr = why
    if hasattr(report, "wasxfail"):
        del report.wasxfail  # pytest would not count the failure
