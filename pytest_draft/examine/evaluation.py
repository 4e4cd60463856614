"""Measures a `Reconstruction` against the truth: findings, and what they do not cover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_draft.ambiguity.alternatives import Alternatives
from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.data import TrainingData
from pytest_draft.errors import NotCoveredError, OutOfTimeError, one_line
from pytest_draft.evaluate.findings import evaluate
from pytest_draft.evaluate.informed import KnownOthers
from pytest_draft.evaluate.label_told import label_told
from pytest_draft.evaluate.membership import membership
from pytest_draft.evaluate.numeric import few_valued
from pytest_draft.evaluate.proved import contradiction
from pytest_draft.evaluate.sensitive import sensitive_told
from pytest_draft.evaluate.significance import caveats
from pytest_draft.examine.inputs import Inputs
from pytest_draft.examine.limits import LABELS_SHARE, MEMBERSHIP_SHARE, SENSITIVE_SHARE
from pytest_draft.examine.record import FlowRecord
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.label_told import Sensitive
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.knowledge import known_occurrences, knows_occurrences
from pytest_draft.timebox import TimeBox


def note_label_told(inputs: Inputs, record: FlowRecord, predictor: str | None = None) -> None:
    """Note what the file tells of labels or targets, which takes no reconstruction.

    Parameters
    ----------
    predictor : str or None
        As of `label_told`.
    """
    model, data = inputs.model, inputs.data
    if data is None or model.kind == "IsolationForest":  # which is trained on random targets
        _note_sensitive(inputs, record)
        return
    box = record.limits.within(LABELS_SHARE)
    try:
        with record.clock("labels"):
            times = None if isinstance(model, RuleList) else _times(model, inputs.case.adversary, box)
            of = (model, data, inputs.holdout, inputs.slices, times, inputs.case.seed, box)
            found = label_told(*of, among=inputs.apart, predictor=predictor)
        doubts = (*record.facts.reasons, *found.doubts)
        record.facts = replace(record.facts, label_told=replace(found, doubts=doubts))
    except NotCoveredError as error:
        record.facts = replace(record.facts, label_not_told=str(error))
    except OutOfTimeError:
        why = "the time ran out before it was known what the file tells of labels"
        record.facts = replace(record.facts, label_not_told=f"{why}: {record.limits.enough_for(LABELS_SHARE)}")
    record.limits.note_clock(box, "comparison of labels")
    _note_sensitive(inputs, record)
    record.keep_known()


def _note_sensitive(inputs: Inputs, record: FlowRecord) -> None:
    """Note what the file tells of the columns that the policy names."""
    data, model, case, labels = inputs.data, inputs.model, inputs.case, record.facts.label_told
    for name, columns in inputs.sensitive.items():
        box = record.limits.within(SENSITIVE_SHARE / len(inputs.sensitive))
        found = Sensitive(name, not_told=record.facts.label_not_told or "no labels are given to compare with")
        try:
            if not columns and labels is not None:
                found = Sensitive(name, (), labels.told, None, labels.guess, labels.predictor)
            elif columns and data is not None and model.kind != "IsolationForest":
                with record.clock("sensitive columns"):
                    times = None if isinstance(model, RuleList) else _times(model, case.adversary, box)
                    of = (name, columns, model, inputs.domain, data, inputs.holdout)
                    found = sensitive_told(*of, times, case.seed, box)
        except (NotCoveredError, OutOfTimeError) as error:
            found = replace(
                found, not_told=str(error) or f"the time ran out: {record.limits.enough_for(SENSITIVE_SHARE)}"
            )
        record.limits.note_clock(box, "comparison of sensitive columns")
        record.facts = replace(record.facts, sensitive=(*record.facts.sensitive, found))


def note_membership(inputs: Inputs, record: FlowRecord) -> None:
    """Note how well the file tells its training rows from others, which takes no reconstruction."""
    model, data, case = inputs.model, inputs.data, inputs.case
    if data is None or model.kind == "IsolationForest":
        return
    box = record.limits.within(MEMBERSHIP_SHARE)
    try:
        with record.clock("membership"):
            found = membership(
                model,
                data,
                inputs.holdout,
                inputs.domain,
                lambda forest: _times(forest, case.adversary, box),
                case.seed,
                box,
            )
        record.facts = replace(record.facts, membership=replace(found, doubts=(*record.facts.reasons, *found.doubts)))
    except NotCoveredError as error:
        record.facts = replace(record.facts, not_membership=str(error))
    except OutOfTimeError:
        why = "the time ran out before it was known how well the file tells its people from others"
        record.facts = replace(record.facts, not_membership=f"{why}: {record.limits.enough_for(MEMBERSHIP_SHARE)}")
    if box.by_clock:
        record.note("the clock decided how many others members were compared with: figures of membership can differ")
    record.keep_known()


def _times(forest: Forest, adversary: str, timebox: TimeBox) -> IntArray | None:
    """Return how often each tree saw each row, as far as an adversary knows; one row for all where each saw all."""
    if not knows_occurrences(forest, adversary):
        return None
    try:
        return known_occurrences(forest, "artifact", timebox.require)
    except NotCoveredError:
        return None if forest.draws.drawn else np.ones((forest.n_trees, 1), dtype=np.int64)


def note_findings(
    inputs: Inputs,
    data: TrainingData,
    reconstruction: Reconstruction,
    identity: Identity,
    alternatives: Alternatives | None,
    known_others: KnownOthers | None,
    record: FlowRecord,
) -> None:
    """Measure what was rebuilt, and note what the figures cannot show.

    Parameters
    ----------
    data : TrainingData
        Theirs.
    reconstruction : Reconstruction
        With rows.
    """
    domain, knowledge, holdout = inputs.domain, inputs.knowledge, inputs.holdout
    with record.clock("evaluate"):
        findings = evaluate(
            reconstruction,
            data,
            domain,
            identity,
            seed=inputs.case.seed,
            timebox=inputs.timebox,
            knowledge=knowledge,
            holdout=None if holdout is None else holdout.rows,
            raw=inputs.raw_columns(),
            inside=inputs.inside,
            slices=inputs.slices,
            n_classes=inputs.n_classes,
            alternatives=alternatives,
            known_others=known_others,
        )
        record.facts = replace(record.facts, findings=findings)
        record.limits.note_clock(inputs.timebox, "evaluation")
    if holdout is not None:
        informed = knowledge is not None and knowledge.informed
        record.note(*caveats(findings.significance, holdout.rows, domain, informed))
    _doubt_few_valued(inputs, data, reconstruction, record)
    wrong = contradiction(reconstruction, data, domain, identity, knowledge)
    if wrong is not None:
        record.doubt(wrong)


EXPLAINED = "these rows explain the file"


def note_without_dataset(inputs: Inputs, data: TrainingData, known_others: KnownOthers, record: FlowRecord) -> None:
    """Measure baselines, and what somebody gets who knows all other rows, where the attack has found no dataset.

    The attack's side is a table of missing values: right nowhere, and no guess.
    """
    n_rows = data.n_rows if inputs.knowledge is None else len(inputs.knowledge.unknown)
    nothing = Reconstruction(
        status="no solution",
        rows=np.full((n_rows, inputs.domain.n_columns), np.nan, dtype=np.float32),
        labels=None,
        cells=None,
        free=np.ones((n_rows, len(inputs.domain.attributes)), dtype=bool),
        ordered=False,
        residual=None,
    )
    with record.clock("evaluate"):
        findings = evaluate(
            nothing,
            data,
            inputs.domain,
            Identity("confirmed", EXPLAINED),
            seed=inputs.case.seed,
            timebox=inputs.timebox,
            knowledge=inputs.knowledge,
            inside=inputs.inside,
            slices=inputs.slices,
            known_others=known_others,
        )
        record.facts = replace(record.facts, findings=replace(findings, rebuilt_rows=0))
        record.limits.note_clock(inputs.timebox, "evaluation")


def _doubt_few_valued(inputs: Inputs, data: TrainingData, reconstruction: Reconstruction, record: FlowRecord) -> None:
    """Say so where the attack guesses values where no value of a column can be."""
    if reconstruction.rows is None:
        return
    if inputs.knowledge is None:
        few = few_valued(data.rows, reconstruction.rows, inputs.domain)
    else:
        truth = data.rows[inputs.knowledge.unknown]
        few = few_valued(truth, reconstruction.rows, inputs.domain, inputs.knowledge.attributes)
    if few:
        record.fall_short(
            "the attack does not know that some columns have few different values, and guesses between them, so a "
            f"better one may get closer: encode {one_line(', '.join(few))} as whole numbers"
        )
