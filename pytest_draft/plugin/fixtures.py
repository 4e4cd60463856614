"""Fixtures for a project's own tests. The engine is imported when a fixture is first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_draft.attack.reconstruction import Reconstruction
    from pytest_draft.facts.examination import Examination
    from pytest_draft.plugin.session import GateSession
    from pytest_draft.policy.policy import Policy
    from pytest_draft.policy.verdict import Check


@dataclass(frozen=True)
class DraftResult:
    """What the gate found out about one forest and adversary.

    Attributes
    ----------
    examination : Examination
        All aggregates, reasons and notes.
    policy : Policy
        By which `checks` and `verdict` are judged.
    checks : tuple of Check
    verdict : {"passed", "failed", "inconclusive"}
    metrics : mapping of str to float, int or None
        The names of the JSON report; None where unknown.
    """

    examination: Examination
    policy: Policy
    checks: tuple[Check, ...]
    verdict: str
    metrics: Mapping[str, float | int | None]


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
def draft_policy(request: pytest.FixtureRequest) -> Policy:
    """The policy in force: that of ``--draft-policy``, else the shipped default."""
    from pytest_draft.plugin.session import GateSession

    return GateSession.of(request.config).policy


@pytest.fixture(scope="session")
def draft_attack(
    request: pytest.FixtureRequest, draft_forest: Path, draft_training_data: Any
) -> Callable[..., Reconstruction | None]:
    """A memoised callable: ``draft_attack(adversary="artifact")`` returns the `Reconstruction`, or None."""
    from pytest_draft.facts.adversary import check_adversary
    from pytest_draft.plugin.session import GateSession

    session = GateSession.of(request.config)

    def attack(adversary: str = "artifact") -> Reconstruction | None:
        return _examined(session, draft_forest, check_adversary(adversary), draft_training_data)[1]

    return attack


@pytest.fixture
def draft_result(
    request: pytest.FixtureRequest, draft_forest: Path, draft_adversary: str, draft_training_data: Any
) -> DraftResult:
    """What the gate found out, judged by the test's marker and ``--draft-policy``, else by the default policy."""
    from pytest_draft.plugin.marks import policy_of
    from pytest_draft.plugin.session import GateSession
    from pytest_draft.policy.verdict import judge, verdict_of
    from pytest_draft.report.result import metrics_of

    session = GateSession.of(request.config)
    examination, _ = _examined(session, draft_forest, draft_adversary, draft_training_data)
    policy = policy_of(request.node, session.explicit_policy) or session.policy
    floor = session.floor(draft_adversary)
    weaker = None if floor is None else _examined(session, draft_forest, floor, draft_training_data)[0]
    checks = judge(examination, policy, weaker)
    verdict = verdict_of((check.result, check.counts) for check in checks)
    return DraftResult(examination, policy, checks, verdict, metrics_of(examination))


def _examined(
    session: GateSession, forest: Path, adversary: str, data: Any
) -> tuple[Examination, Reconstruction | None]:
    """Examine a forest. What ends it from outside, or a bug, is told without the frames that hold rows."""
    try:
        return session.examine(session.case(forest, adversary), data)
    except pytest.fail.Exception as error:  # another plugin's time limit
        ended = str(error.msg)
    except Exception as error:
        ended = f"internal error: {type(error).__name__}; please report it"
    pytest.fail(ended, pytrace=False)
