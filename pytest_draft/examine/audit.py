"""The audit of a file without an attack: in goes what was read, out comes what stands in the file and what it tells.

What stands in it, how few people are behind its leaves, how much of the uncertainty about the rows it takes away: all
of that is found out here, once, before any attack.
"""

from __future__ import annotations

from dataclasses import replace

from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.rule_list import RuleList
from pytest_draft.attack.numeric.problem import is_numeric
from pytest_draft.attack.problem import InfeasibleError, OutOfTimeError, Problem, build
from pytest_draft.attack.reconstruct import Reconstruction
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.audit.entropy import audit_forest, audit_rules, together
from pytest_draft.audit.structure import structure_of
from pytest_draft.errors import DataError, DraftError, NotCoveredError
from pytest_draft.examine.inputs import Inputs, Opened
from pytest_draft.examine.limits import AUDIT_SHARE, INSPECT_SHARE
from pytest_draft.examine.record import Record
from pytest_draft.facts.adversary import Adversary
from pytest_draft.knowledge import exchangeable_groups
from pytest_draft.timebox import TimeBox


def audit(opened: Opened, inputs: Inputs | None, record: Record) -> None:
    """Note what a file tells without any attack.

    Parameters
    ----------
    opened : Opened
    inputs : Inputs or None
        Without them only what stands in the file is looked at.
    record : Record
    """
    with record.clock("read"):
        _inspect(opened, record)
    if inputs is not None:
        record.keep_known()
        _take_entropy(inputs, record)


def _inspect(opened: Opened, record: Record) -> None:
    """Note what stands in the file, and how few people are behind its leaves."""
    box = record.limits.within(INSPECT_SHARE)
    structure = structure_of(opened.artifact.model, opened.data, box)
    record.facts = replace(record.facts, artifact=replace(record.facts.artifact, structure=structure))
    try:
        contents = inspect_contents(opened.artifact, opened.given, opened.data, box)
    except DataError:  # the data are refused, which is told by who reads them
        contents = inspect_contents(opened.artifact, None, None, box)
    record.facts = replace(record.facts, artifact=replace(record.facts.artifact, contents=contents))


def _take_entropy(inputs: Inputs, record: Record) -> None:
    """Note how much of the uncertainty about the rows the model takes away; whatever is wrong is kept."""
    case, model = inputs.case, inputs.model
    box = record.limits.box(AUDIT_SHARE) if case.attack else record.limits.whole
    if Adversary.parse(case.adversary).has_side_knowledge:
        why = "what a model tells besides an adversary's side knowledge is not covered yet"
        record.facts = replace(record.facts, not_audited=why)
        return
    try:
        with record.clock("entropy"):
            inside = inputs.inside
            if isinstance(model, RuleList):
                entropy = audit_rules(model, inputs.domain, inputs.data, box, inside)
            else:
                entropy = audit_forest(model, inputs.domain, inputs.data, box, inside)
            entropy = replace(entropy, reasons=(*record.facts.reasons, *entropy.reasons))
            record.facts = replace(record.facts, entropy=entropy)
            if not case.attack and isinstance(model, Forest):
                _bound_together(model, inputs, record, box)
    except DraftError as error:
        record.facts = replace(record.facts, not_audited=str(error))
    record.limits.heed(box, "entropy audit")


def _bound_together(forest: Forest, inputs: Inputs, record: Record, box: TimeBox) -> None:
    """Narrow what all trees together leave, where no attack will do so."""
    if forest.n_trees == 1 or is_numeric(inputs.domain):
        return
    try:
        groups = exchangeable_groups(forest, inputs.case.adversary)
        if groups.noise == "exact":
            narrow_entropy(build(forest, inputs.domain, groups, box), inputs, record)
    except (NotCoveredError, OutOfTimeError, InfeasibleError):
        return  # the bounds by single trees stand


def narrow_entropy(
    problem: Problem, inputs: Inputs, record: Record, reconstruction: Reconstruction | None = None
) -> None:
    """Narrow what all trees together leave, where a problem says all that they tell.

    Parameters
    ----------
    problem : Problem
        In the inputs' own domain.
    inputs : Inputs
    record : Record
    reconstruction : Reconstruction or None
        As in `together`.
    """
    entropy = record.facts.entropy
    says_all = problem.complete and problem.groups.noise == "exact" and inputs.knowledge is None
    if entropy is not None and entropy.examined > 1 and not entropy.reasons and says_all:
        entropy = together(entropy, problem, reconstruction)
        record.facts = replace(record.facts, entropy=entropy)
