"""What the leaves of a forest say of the rows in them: each kind is a class of its own, an `Observation`."""

from pytest_draft.artifact.forest.observations.answers import Answers, MeanTargets, Possible, Shares, WinningLabels
from pytest_draft.artifact.forest.observations.observation import (
    BoostedSums,
    ClassCounts,
    Loss,
    NewtonSteps,
    NodeCounts,
    Observation,
    Released,
    ReleasedCounts,
    ReleasedLabels,
    RowNumbers,
    Statements,
    TargetMeans,
    sensitivities,
    under,
)

__all__ = [
    "Answers",
    "BoostedSums",
    "ClassCounts",
    "Loss",
    "MeanTargets",
    "NewtonSteps",
    "NodeCounts",
    "Observation",
    "Possible",
    "Released",
    "ReleasedCounts",
    "ReleasedLabels",
    "RowNumbers",
    "Shares",
    "Statements",
    "TargetMeans",
    "WinningLabels",
    "sensitivities",
    "under",
]
