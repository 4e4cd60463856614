"""The results that a project's own tests get, and what pytest's reports say of these tests and of the models' items.

The engine is imported when a result is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_draft.errors import one_line
from pytest_draft.facts.adversary import check_adversary
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.plugin import marks
from pytest_draft.plugin.items import RECORD, TOLERATED, CheckFailed, Tolerated, explained
from pytest_draft.plugin.session import GateSession, each_model
from pytest_draft.plugin.unshown import Unshown
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.verdict import Check, gravest, judge, verdict_of
from pytest_draft.report.result import metrics_of

if TYPE_CHECKING:
    from pytest_draft.facts.reconstruction import Reconstruction


@dataclass(frozen=True)
class DraftModel:
    """What the gate found out about one model of a file."""

    place: str | None
    """Where it stands in a file of several; None where it is the only one."""
    examination: Examination
    checks: tuple[Check, ...]


@dataclass(frozen=True, repr=False)
class DraftResult:
    """What the gate found out about one file and adversary; printed, it is one line."""

    examination: Examination
    """All aggregates, reasons and notes; in a file of several models, of the one whose verdict is the gravest."""
    policy: Policy
    """By which `checks` and `verdict` are judged."""
    checks: tuple[Check, ...]
    """The gravest of all models, rule by rule."""
    verdict: str
    """One of "passed", "failed", "inconclusive"."""
    metrics: Mapping[str, float | int | None]
    """The names of the JSON report, of `examination`; None where unknown."""
    models: tuple[DraftModel, ...] = ()
    """Each model of the file by itself."""

    def __repr__(self) -> str:
        case, metrics = self.examination.case, self.metrics
        said = f"{self.verdict}: {one_line(case.artifact)}, adversary {case.adversary}"
        if (error := metrics["reconstruction_error"]) is not None:
            said += f", error {error:.4f}"
        if (rows := metrics["perfect_rows"]) is not None:
            said += f", {rows:,} of {metrics['n_rows']:,} rows perfect"
        crossed = [check.rule for check in self.checks if check.counts and not check.is_fine]
        return f"<DraftResult {said}{'; not passed: ' if crossed else ''}{', '.join(crossed)}>"


def attack_on(config: pytest.Config, forest: Path, data: Unshown | None) -> Callable[..., Reconstruction | None]:
    """Return the callable of the fixture ``draft_attack``."""
    session = GateSession.of(config)

    def attack(adversary: str = "artifact", place: str | None = None) -> Reconstruction | None:
        case = replace(session.case(forest, check_adversary(adversary)), place=place)
        return _examined(session, case, data)[1]

    return attack


def judged(item: pytest.Item, forest: Path, adversary: str, data: Unshown | None) -> DraftResult:
    """Return what the fixture ``draft_result`` gives a test."""
    session = GateSession.of(item.config)
    configured = session.configured(forest)
    policy = marks.policy_of(item, configured.explicit_policy) or configured.policy
    models, verdicts = [], []
    file_case = session.case(forest, adversary)
    for case in each_model(file_case, _examined(session, file_case, data)[0]):
        examination, _ = _examined(session, case, data)
        weaker = [_examined(session, replace(case, adversary=floor), data)[0] for floor in session.floors(adversary)]
        models.append(DraftModel(case.place, examination, judge(examination, policy, weaker)))
        verdicts.append(verdict_of((check.result, check.counts) for check in models[-1].checks))
    by_rule = zip(*(model.checks for model in models), strict=True)
    checks = tuple(gravest((model.place, check) for model, check in zip(models, one, strict=True)) for one in by_rule)
    verdict = verdict_of((check.result, check.counts) for check in checks)
    examination = models[verdicts.index(verdict)].examination
    return DraftResult(examination, policy, checks, verdict, metrics_of(examination), tuple(models))


def _examined(session: GateSession, case: Case, data: Unshown | None) -> tuple[Examination, Reconstruction | None]:
    """Examine a model. What ends it from outside, or a bug, is reported without the frames that hold rows."""
    try:
        examination, rebuilt = session.examine(case, data)
        return session.barred(examination), rebuilt
    except pytest.fail.Exception as error:  # another plugin's time limit
        ended = str(error.msg)
    except Exception as error:
        ended = f"internal error: {type(error).__name__}; please report it"
    pytest.fail(ended, pytrace=False)


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
