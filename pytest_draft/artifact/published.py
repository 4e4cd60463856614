"""What an `Artifact` publishes of draws and counts, as facts: `Published`."""

from __future__ import annotations

import numpy as np

from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.model import Artifact
from pytest_draft.artifact.sklearn.declared_privacy import REPLAYED
from pytest_draft.facts.published import Drawn, Published


def published(artifact: Artifact) -> Published:
    """Return what a file publishes of the draws and the counts behind its leaves.

    A generator that an ensemble was given, in place of a number, is stored in its last state. It can be run backwards
    to the seeds, which is why it counts as a seed.
    """
    model = artifact.model
    if not isinstance(model, Forest):
        return Published(0, None, None if model.counts is None else "rows of each class")
    stored = type(model.parameters.get("random_state")) is int or any(
        path.rpartition(".")[2] == "random_state" and "[1]." not in path for path in artifact.not_read
    )  # a transformer's path has the second of a step's name and estimator
    draws: Drawn = "rows" if model.draws.drawn else None
    if draws is None and _draws_thresholds(model):
        draws = "thresholds"
    if (privacy := model.observation.privacy) is not None:
        stored, draws = REPLAYED in privacy.broken_by, "noise"
    seeded = model.n_trees if stored else sum(tree.seed is not None for tree in model.trees)
    return model.observation.published(seeded, draws, np.concatenate([tree.value[tree.leaves] for tree in model.trees]))


def _draws_thresholds(forest: Forest) -> bool:
    """Return whether the trees' thresholds were drawn at random, so that a seed reveals between which values."""
    return forest.kind.startswith("ExtraTree") or forest.splitter == "random"
