"""The results that a project's own tests get: what the gate finds out about one file and adversary.

The engine is imported when one is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_draft.errors import one_line
from pytest_draft.facts.adversary import check_adversary
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.plugin.marks import policy_of
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
    policy = policy_of(item, configured.explicit_policy) or configured.policy
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
        return session.examine(case, data)
    except pytest.fail.Exception as error:  # another plugin's time limit
        ended = str(error.msg)
    except Exception as error:
        ended = f"internal error: {type(error).__name__}; please report it"
    pytest.fail(ended, pytrace=False)
