"""What a file tells of the draws and the counts behind its leaves: in goes an `Artifact`, out comes `Published`."""

from __future__ import annotations

from typing import Literal

from pytest_draft.artifact.declared_privacy import REPLAYED
from pytest_draft.artifact.forest import Artifact, Forest, Outputs
from pytest_draft.facts.published import Published


def published(artifact: Artifact) -> Published:
    """Return what a file tells of the draws and the counts behind its leaves.

    A generator that an ensemble was given, in place of a number, is stored in its last state. It can be run backwards
    to the seeds, which is why it counts as a seed.

    Parameters
    ----------
    artifact : Artifact
    """
    model = artifact.model
    if not isinstance(model, Forest):
        return Published(0, None, None if model.counts is None else "rows of each class")
    stored = type(model.parameters.get("random_state")) is int or any(
        path.rpartition(".")[2] == "random_state" and "[1]." not in path for path in artifact.not_read
    )  # a transformer's path has the second of a step's name and estimator
    draws: Literal["rows", "thresholds", "noise"] | None = "rows" if model.bootstrap else None
    if draws is None and _draws_thresholds(model):
        draws = "thresholds"
    if model.privacy is not None:
        stored, draws = REPLAYED in model.privacy.broken_by, "noise"
    seeded = model.n_trees if stored else sum(tree.seed is not None for tree in model.trees)
    if model.is_private:
        return Published(seeded, draws, None)
    if model.outputs is not None:
        return Published(
            seeded,
            draws,
            None,
            answers=_answers(model.outputs),
            decimals=model.outputs.decimals,
            left=model.also_tells is not None,
            certain_leaves=_certain_leaves(model),
        )
    counts: Literal["rows of each class", "rows and mean targets"] = "rows of each class"
    if model.has_targets:
        counts = "rows and mean targets"
    return Published(seeded, draws, counts)


def _certain_leaves(forest: Forest) -> int:
    """Return how many leaves give one class a share of 1, which labels do not say, or may have one target."""
    if forest.outputs is None or forest.outputs.kind == "labels":
        return 0
    if forest.outputs.kind == "means":
        return sum(len(tree.leaves) for tree in forest.trees)
    return sum(int((tree.value[tree.leaves] == 1).any(axis=1).sum()) for tree in forest.trees)


def _answers(outputs: Outputs) -> Literal["shares", "rounded shares", "labels", "mean targets"]:
    if outputs.kind == "fractions":
        return "shares" if outputs.decimals is None else "rounded shares"
    return "labels" if outputs.kind == "labels" else "mean targets"


def _draws_thresholds(forest: Forest) -> bool:
    """Return whether the trees' thresholds were drawn at random, so that a seed tells between which values."""
    splitter = forest.parameters.get("splitter", forest.parameters.get("estimator__splitter"))
    return forest.kind.startswith("ExtraTree") or splitter == "random"
