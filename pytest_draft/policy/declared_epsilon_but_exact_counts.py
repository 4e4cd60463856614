"""Rule ``declared-epsilon-but-exact-counts``: a file that declares an epsilon may not hold exact counts."""

from __future__ import annotations

from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.policy.rule import NOTHING, NotApplicable, Outcome, Rule, Thresholds


def check(artifact: ArtifactFacts, thresholds: Thresholds) -> Outcome:
    """Fail when the file declares differential privacy and its counts are exact."""
    if artifact.privacy is None:
        return NOTHING
    if artifact.privacy.exact:
        return Outcome("failed", f"the file declares {artifact.claim}, but the counts in the file are exact")
    return Outcome("passed", f"the file declares {artifact.claim}, and not all of its counts agree as exact ones do")


RULE = Rule(
    id="declared-epsilon-but-exact-counts",
    needs=ArtifactFacts,
    keys={},
    unless=(NotApplicable.NO_EPSILON,),
    check=check,
    rationale=(
        "A declared epsilon is believed by whoever relies on the file. Exact counts give the training data away "
        "whatever is declared."
    ),
    remedy="write the noisy counts to the file in place of the exact ones, or declare no epsilon; judge the new file",
)
