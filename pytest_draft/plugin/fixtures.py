"""Fixtures for a project's own tests. The engine is imported when a fixture is first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_draft.plugin.unshown import Unshown, unshown

if TYPE_CHECKING:
    from pytest_draft.attack.reconstruction import Reconstruction
    from pytest_draft.facts.case import Case
    from pytest_draft.facts.examination import Examination
    from pytest_draft.plugin.session import GateSession
    from pytest_draft.policy.policy import Policy
    from pytest_draft.policy.verdict import Check


@dataclass(frozen=True)
class DraftModel:
    """What the gate found out about one model of a file."""

    place: str | None
    """Where it stands in a file of several; None where it is the only one."""
    examination: Examination
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class DraftResult:
    """What the gate found out about one file and adversary."""

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


@pytest.fixture(scope="session")
def draft_forest(request: pytest.FixtureRequest) -> Path:
    """Path of the model file: each configured forest in turn. Override it to bring a model from anywhere."""
    forest = getattr(request, "param", None)
    if forest is None:
        pytest.fail(
            "no forest: give --draft-forest, set draft_forest in the ini file, or override the fixture draft_forest",
            pytrace=False,
        )
    return Path(forest)


@pytest.fixture(scope="session")
def draft_adversary(request: pytest.FixtureRequest) -> str:
    """Name of the adversary: each configured one in turn."""
    return str(request.param)


@pytest.fixture(scope="session")
def draft_training_data(draft_forest: Path) -> Any:
    """Training data in memory, or None for the configured file. Override it to bring them from anywhere.

    A pandas DataFrame with the label column, or a pair ``(X, y)``.
    """
    return None


@pytest.fixture(scope="session")
def _draft_unshown_data(draft_training_data: Any) -> Unshown | None:
    """Training data in memory, as `draft_attack` has them while it works."""
    return unshown(draft_training_data)


@pytest.fixture
def _draft_unshown_rows(draft_training_data: Any) -> Unshown | None:
    """The same for `draft_result`: whoever overrides the data may do so for each test anew."""
    return unshown(draft_training_data)


@pytest.fixture(scope="session")
def draft_policy(request: pytest.FixtureRequest) -> Policy:
    """The policy in force: that of ``--draft-policy``, else the shipped default."""
    from pytest_draft.plugin.session import GateSession

    return GateSession.of(request.config).policy


@pytest.fixture(scope="session")
def draft_attack(
    request: pytest.FixtureRequest, draft_forest: Path, _draft_unshown_data: Unshown | None
) -> Callable[..., Reconstruction | None]:
    """A memoised callable: ``draft_attack(adversary="artifact", place=None)`` returns the `Reconstruction`, or None.

    In a file of several models, the place says which is meant, as ``draft_result.models`` names it.
    """
    from pytest_draft.facts.adversary import check_adversary
    from pytest_draft.plugin.session import GateSession

    session = GateSession.of(request.config)

    def attack(adversary: str = "artifact", place: str | None = None) -> Reconstruction | None:
        case = replace(session.case(draft_forest, check_adversary(adversary)), place=place)
        return _examined(session, case, _draft_unshown_data)[1]

    return attack


@pytest.fixture
def draft_result(
    request: pytest.FixtureRequest, draft_forest: Path, draft_adversary: str, _draft_unshown_rows: Unshown | None
) -> DraftResult:
    """What the gate found out, judged by the test's marker and the model's policy, else by the default policy."""
    from pytest_draft.plugin.marks import policy_of
    from pytest_draft.plugin.session import GateSession, each_model
    from pytest_draft.policy.verdict import gravest, judge, verdict_of
    from pytest_draft.report.result import metrics_of

    session = GateSession.of(request.config)
    configured = session.configured(draft_forest)
    policy = policy_of(request.node, configured.explicit_policy) or configured.policy
    models, verdicts = [], []
    whole = session.case(draft_forest, draft_adversary)
    for case in each_model(whole, _examined(session, whole, _draft_unshown_rows)[0]):
        examination, _ = _examined(session, case, _draft_unshown_rows)
        weaker = [
            _examined(session, replace(case, adversary=floor), _draft_unshown_rows)[0]
            for floor in session.floors(draft_adversary)
        ]
        models.append(DraftModel(case.place, examination, judge(examination, policy, weaker)))
        verdicts.append(verdict_of((check.result, check.counts) for check in models[-1].checks))
    by_rule = zip(*(model.checks for model in models), strict=True)
    checks = tuple(gravest((model.place, check) for model, check in zip(models, one, strict=True)) for one in by_rule)
    verdict = verdict_of((check.result, check.counts) for check in checks)
    examination = models[verdicts.index(verdict)].examination
    return DraftResult(examination, policy, checks, verdict, metrics_of(examination), tuple(models))


def _examined(session: GateSession, case: Case, data: Unshown | None) -> tuple[Examination, Reconstruction | None]:
    """Examine a model. What ends it from outside, or a bug, is told without the frames that hold rows."""
    try:
        return session.examine(case, data)
    except pytest.fail.Exception as error:  # another plugin's time limit
        ended = str(error.msg)
    except Exception as error:
        ended = f"internal error: {type(error).__name__}; please report it"
    pytest.fail(ended, pytrace=False)
