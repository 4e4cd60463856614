"""All that a model file reveals without an attack: a `FileAudit`.

`audit_file` comes first, since it needs no domain and holds whatever becomes of the data; `entropy` follows when the
domain is known. Neither searches for rows: an attack can come after them, and narrow the entropy (`narrowed`).
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_draft.artifact import Artifact
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.numeric.problem import is_numeric
from pytest_draft.attack.problem import Problem
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.audit.structure import structure_of, together
from pytest_draft.data import TrainingData
from pytest_draft.domain import Domain
from pytest_draft.errors import DataError, InfeasibleError, NotCoveredError, OutOfTimeError
from pytest_draft.facts.contents import StoredFacts
from pytest_draft.facts.entropy import Entropy
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.structure import StructureFacts
from pytest_draft.knowledge import exchangeable_groups
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True)
class FileAudit:
    """What a file reveals that is simply there."""

    contents: StoredFacts
    """What stands in it beside its trees."""
    structure: StructureFacts | None
    """How few rows stand behind its leaves or rules; None where it does not say."""


def audit_file(
    artifact: Artifact,
    given: object,
    data: TrainingData | None,
    timebox: TimeBox,
    all_rows: TrainingData | None = None,
) -> FileAudit:
    """Say what is simply there; whatever is wrong with the data is not said here, but by who reads them.

    What is given is what `inspect_contents` takes.
    """
    structure = structure_of(artifact.model, data, timebox)
    try:
        contents = inspect_contents(artifact, given, data, timebox, all_rows)
    except DataError:
        contents = inspect_contents(artifact, None, None, timebox)
    return FileAudit(contents, structure)


def narrowed(entropy: Entropy, problem: Problem, reconstruction: Reconstruction | None = None) -> Entropy:
    """Narrow what all trees together leave, where the problem says all that they reveal; else the bounds stand.

    Parameters
    ----------
    problem : Problem
        Of the forest's own values, for an adversary without side knowledge.
    reconstruction : Reconstruction or None
        Of this problem.
    """
    all_is_said = problem.complete and problem.groups.draws_known
    if entropy.examined > 1 and not entropy.reasons and all_is_said:
        return together(entropy, problem, reconstruction)
    return entropy


def narrowed_without_attack(
    entropy: Entropy, forest: Forest, domain: Domain, adversary: str, timebox: TimeBox
) -> Entropy:
    """Narrow what all trees together leave by domain reduction alone; where that cannot be, the bounds stand.

    Parameters
    ----------
    adversary : str
        Without side knowledge.
    """
    if forest.n_trees == 1 or is_numeric(domain):
        return entropy
    try:
        groups = exchangeable_groups(forest, adversary, timebox=timebox)
        return narrowed(entropy, build(forest, domain, groups, timebox)) if groups.draws_known else entropy
    except (NotCoveredError, OutOfTimeError, InfeasibleError):
        return entropy
