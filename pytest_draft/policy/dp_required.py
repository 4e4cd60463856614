"""Rule ``dp-required``: the file must declare differential privacy, and nothing in it may contradict that."""

from __future__ import annotations

from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.policy.rule import Outcome, Rule, Thresholds


def check(artifact: ArtifactFacts, thresholds: Thresholds) -> Outcome:
    """Fail when the file declares no differential privacy, or contradicts what it declares."""
    if artifact.privacy is None:
        return Outcome("failed", "the file declares no differential privacy")
    if artifact.contradictions:
        return Outcome("failed", f"the file declares {artifact.claim}, but {'; '.join(artifact.contradictions)}")
    return Outcome("passed", f"the file declares {artifact.claim}, and nothing that was read of it contradicts that")


RULE = Rule(
    id="dp-required",
    needs=ArtifactFacts,
    keys={},
    check=check,
    rationale=(
        "Differential privacy limits what any attack can learn of one person, also one that nobody knows yet. A file "
        "can only declare it: what contradicts the declaration is searched for, that it is kept cannot be proved."
    ),
    remedy=(
        "train a differentially private forest of which only noisy counts reach the file, such as "
        "pytest_draft.dp.LaplaceForestClassifier, and judge the new file"
    ),
)
