"""Fixtures for a project's own tests. What they need is imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_draft.facts.reconstruction import Reconstruction
    from pytest_draft.plugin.results import DraftResult
    from pytest_draft.plugin.unshown import Unshown
    from pytest_draft.policy.policy import Policy


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
    from pytest_draft.plugin.unshown import unshown

    return unshown(draft_training_data)


@pytest.fixture
def _draft_unshown_rows(draft_training_data: Any) -> Unshown | None:
    """The same for `draft_result`: whoever overrides the data may do so for each test anew."""
    from pytest_draft.plugin.unshown import unshown

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
    from pytest_draft.plugin.results import attack_on

    return attack_on(request.config, draft_forest, _draft_unshown_data)


@pytest.fixture
def draft_result(
    request: pytest.FixtureRequest, draft_forest: Path, draft_adversary: str, _draft_unshown_rows: Unshown | None
) -> DraftResult:
    """What the gate found out, judged by the test's marker and the model's policy, else by the default policy.

    Its attributes: ``verdict`` ("passed", "failed" or "inconclusive"); ``metrics``, by the names of the JSON report,
    such as "reconstruction_error" and "perfect_rows", None where unknown; ``checks``, each with ``rule``, ``result``
    and ``sentence``; ``policy``, by which it is judged; ``examination``, with all else that was found out; and
    ``models``, each model of a file of several.
    """
    from pytest_draft.plugin.results import judged

    return judged(request.node, draft_forest, draft_adversary, _draft_unshown_rows)
