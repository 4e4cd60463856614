"""Rule ``counts-published``: whether the file tells exactly how many training rows are behind each leaf or rule."""

from __future__ import annotations

from pytest_draft.gate import ArtifactFacts
from pytest_draft.policy.rule import Outcome, Rule, Thresholds


def check(artifact: ArtifactFacts, thresholds: Thresholds) -> Outcome:
    """Fail when the file holds exact counts."""
    found = artifact.published
    if found is None:
        return Outcome("inconclusive", "it is not known whether the file holds counts")
    if found.counts is None:
        return Outcome("passed", "the file holds no exact counts of training rows")
    where = "rule" if artifact.n_trees is None else f"node of {artifact.n_trees:,} tree{'s' * (artifact.n_trees != 1)}"
    return Outcome("failed", f"the file holds the exact numbers of {found.counts} of every {where}")


RULE = Rule(
    id="counts-published",
    needs=ArtifactFacts,
    keys={},
    check=check,
    rationale=(
        "The numbers of rows of each class in the leaves are what the attack rebuilds the training data from (DRAFT, "
        "ICML 2024, section 4). Predictions do not need them: the share of each class would do, and noisy counts would "
        "hide single persons."
    ),
    remedy=(
        "train a differentially private forest of which only noisy counts reach the file, such as "
        "pytest_draft.dp.LaplaceForestClassifier, or release predictions in place of the file"
    ),
    severity="warning",
)
