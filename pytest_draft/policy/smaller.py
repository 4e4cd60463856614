"""What several remedies say: in go the facts on a model file, out comes how to retrain it so that it tells less."""

from __future__ import annotations

from pytest_draft.facts.files import ArtifactFacts


def smaller(artifact: ArtifactFacts) -> str:
    """Say how to retrain a model of this kind, by parameters that it has."""
    if artifact.n_trees == 1:
        return "retrain with a shallower tree (max_depth, min_samples_leaf)"
    return "retrain with fewer and shallower trees (n_estimators, max_depth, min_samples_leaf)"
