"""The audit of a file before any attack: writes what the file reveals into the `FlowRecord`.

What stands in it, how few people are behind its leaves, how much of the uncertainty about the rows it takes away: all
of that is asked here, once.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.model import View
from pytest_draft.attack.problem import Problem
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.audit.entropy import audit_entropy
from pytest_draft.audit.structure import narrowed, narrowed_without_attack, structure_of
from pytest_draft.data import read_table
from pytest_draft.errors import ArtifactError, DataError, DraftError
from pytest_draft.examine.inputs import Inputs, Opened
from pytest_draft.examine.limits import AUDIT_SHARE, INSPECT_SHARE
from pytest_draft.examine.record import FlowRecord
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.reconstruction import Reconstruction


def audit(opened: Opened, record: FlowRecord) -> None:
    """Note what a file reveals without any attack, and hand out what is known by then."""
    with record.clock("read"):
        box = record.limits.within(INSPECT_SHARE)
        structure = structure_of(opened.in_file.model, opened.data, box)
        try:
            contents = inspect_contents(opened.artifact, opened.given, opened.data, box, opened.all_rows)
        except DataError:  # whoever reads the data says what is wrong with them
            contents = inspect_contents(opened.artifact, None, None, box)
        contents = contents.without_files(record.facts.case.known_files)
        artifact = replace(record.facts.artifact, contents=contents, structure=structure)
        record.facts = replace(record.facts, artifact=artifact)
    if (why := contents.why_not_judged) is not None:
        record.doubt(why)
    record.keep_known()


def audit_refused(refusal: ArtifactError, given: object, record: FlowRecord) -> None:
    """Note what a file without a model holds of the training rows, where all of it was read."""
    case = record.facts.case
    if not isinstance(refusal.beside, View):
        return
    with suppress(DraftError):
        given = read_table(case.data) if given is None and case.data is not None else given
        contents = inspect_contents(refusal.beside, given, None, record.limits.within(INSPECT_SHARE))
        record.facts = replace(record.facts, artifact=replace(record.facts.artifact, contents=contents))


def note_entropy(inputs: Inputs, record: FlowRecord) -> None:
    """Note how much of the uncertainty about the rows the model takes away; whatever is wrong is kept."""
    case, model, domain = inputs.case, inputs.model, inputs.domain
    box = record.limits.within(AUDIT_SHARE) if case.attack else record.limits.total
    if Adversary.parse(case.adversary).has_side_knowledge:
        why = "how much the file tells an adversary with side knowledge is not covered yet"
        record.facts = replace(record.facts, not_audited=why)
        return
    try:
        with record.clock("entropy"):
            entropy = audit_entropy(model, domain, inputs.data, box, inputs.inside)
            entropy = replace(entropy, reasons=(*record.facts.doubts, *entropy.reasons))
            record.facts = replace(record.facts, entropy=entropy)
            if not case.attack and isinstance(model, Forest):
                entropy = narrowed_without_attack(entropy, model, domain, case.adversary, box)
                record.facts = replace(record.facts, entropy=entropy)
    except DraftError as error:
        record.facts = replace(record.facts, not_audited=str(error))
    record.limits.note_clock(box, "entropy audit")


def narrow_entropy(problem: Problem, reconstruction: Reconstruction, inputs: Inputs, record: FlowRecord) -> None:
    """Narrow what all trees together leave by what an attack has found, where it reveals all.

    Parameters
    ----------
    problem : Problem
        In the inputs' own domain.
    reconstruction : Reconstruction
        Of this problem.
    """
    entropy = record.facts.entropy
    if entropy is not None and inputs.knowledge is None:
        record.facts = replace(record.facts, entropy=narrowed(entropy, problem, reconstruction))
