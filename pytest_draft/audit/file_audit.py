"""All that a model file tells without an attack: in goes what was read, out come a `FileAudit` and an `Entropy`.

`audit_file` comes first, since it needs no domain and holds whatever becomes of the data; `audit_entropy` follows when
the domain is known. Neither searches for rows: an attack can come after them, and narrow the entropy (`narrowed`).
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_draft.arrays import BoolArray
from pytest_draft.artifact import Artifact
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.rule_list import RuleList
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.numeric.problem import is_numeric
from pytest_draft.attack.problem import Problem
from pytest_draft.audit.all_trees import together
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.audit.entropy import audit_forest, audit_rules
from pytest_draft.audit.structure import structure_of
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
    """What a file tells that is simply there."""

    contents: StoredFacts
    """What stands in it beside its trees."""
    structure: StructureFacts | None
    """How few rows stand behind its leaves or rules; None where it does not tell."""


def audit_file(
    artifact: Artifact,
    given: object,
    data: TrainingData | None,
    timebox: TimeBox,
    whole: TrainingData | None = None,
) -> FileAudit:
    """Say what is simply there; whatever is wrong with the data is not said here, but by who reads them.

    Parameters
    ----------
    artifact : Artifact
        With its contents.
    given : Table, pandas.DataFrame, tuple (X, y), TrainingData or None
        The training data as they were given.
    data : TrainingData or None
        The same as the model sees them, where that is known.
    timebox : TimeBox
    whole : TrainingData or None
        All rows of the file, where the model was trained on some of them.

    Returns
    -------
    FileAudit
    """
    structure = structure_of(artifact.model, data, timebox)
    try:
        contents = inspect_contents(artifact, given, data, timebox, whole)
    except DataError:
        contents = inspect_contents(artifact, None, None, timebox)
    return FileAudit(contents, structure)


def audit_entropy(
    model: Forest | RuleList,
    domain: Domain,
    data: TrainingData | None,
    timebox: TimeBox,
    inside: BoolArray | None = None,
) -> Entropy:
    """Say how much of the uncertainty about the training rows a model takes away.

    Parameters
    ----------
    model : Forest or RuleList
        A rule list of the domain's columns.
    domain : Domain
    data : TrainingData or None
    timebox : TimeBox
    inside : ndarray of bool, shape (n_rows,), or None
        Which rows are inliers.

    Returns
    -------
    Entropy

    Raises
    ------
    NotCoveredError, DataError
        As in `audit_forest` and `audit_rules`.
    """
    if isinstance(model, RuleList):
        return audit_rules(model, domain, data, timebox, inside)
    return audit_forest(model, domain, data, timebox, inside)


def narrowed(entropy: Entropy, problem: Problem, reconstruction: Reconstruction | None = None) -> Entropy:
    """Narrow what all trees together leave, where the problem says all that they tell; else the bounds stand.

    Parameters
    ----------
    entropy : Entropy
    problem : Problem
        Of the forest's own values, for an adversary without side knowledge.
    reconstruction : Reconstruction or None
        Of this problem.
    """
    all_is_said = problem.complete and problem.groups.noise == "exact"
    if entropy.examined > 1 and not entropy.reasons and all_is_said:
        return together(entropy, problem, reconstruction)
    return entropy


def narrowed_without_attack(
    entropy: Entropy, forest: Forest, domain: Domain, adversary: str, timebox: TimeBox
) -> Entropy:
    """Narrow what all trees together leave by domain reduction alone; where that cannot be, the bounds stand.

    Parameters
    ----------
    entropy : Entropy
    forest : Forest
    domain : Domain
    adversary : str
        Without side knowledge.
    timebox : TimeBox
    """
    if forest.n_trees == 1 or is_numeric(domain):
        return entropy
    try:
        groups = exchangeable_groups(forest, adversary, timebox=timebox)
        return narrowed(entropy, build(forest, domain, groups, timebox)) if groups.noise == "exact" else entropy
    except (NotCoveredError, OutOfTimeError, InfeasibleError):
        return entropy
