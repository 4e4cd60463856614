"""Settles the `Domain` from training data, transformers and a domain file, and puts the data into it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.artifact import Artifact
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.attack.numeric.problem import is_numeric
from pytest_draft.data import Indicators, Repeats, TrainingData, declared_domain, domain_from, granted_by, narrowed
from pytest_draft.domain import Domain, infer
from pytest_draft.errors import DataError, one_line
from pytest_draft.examine.record import FlowRecord
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.case import Case


@dataclass(frozen=True, eq=False, repr=False)
class Settled:
    """A domain, and training data as they are written in it. Its repr shows no row."""

    domain: Domain
    indicators: Indicators
    """How to write rows as the model sees them."""
    data: TrainingData | None
    """With indicators in place of columns of two values."""
    granted: tuple[str, ...] = ()
    """What the file's transformers, and columns that repeat others, reveal to the adversary, in words."""
    repeats: Repeats | None = None
    """Columns that are left out because others determine them; None where there are none."""


def settle(artifact: Artifact, data: TrainingData | None, case: Case, record: FlowRecord) -> Settled:
    """Return what a row can be, and turn what is not written as indicators into such.

    Parameters
    ----------
    data : TrainingData or None
        As they are written.
    case : Case
        Names a domain file, or none.

    Raises
    ------
    DataError
        Where neither data nor a domain file are given, or they don't fit.
    """
    if case.domain is None:
        if data is None:
            raise DataError("there are no training data and no domain file: add --draft-data")
        return _inferred(artifact, data, case, record)
    declared, sha256 = declared_domain(case.domain, _columns(artifact.model, data))
    if data is None:
        return Settled(declared, Indicators.none(), None)
    coded = {one.columns[0] for one in declared.attributes if one.kind in ("ordinal", "numeric")}
    as_declared = Indicators.of(data.rows, spared=coded)
    excludes = declared.outside(as_declared.rows(data.rows).astype(np.float64))
    if excludes or sha256 == case.domain_sha256:
        return Settled(declared, as_declared, _with_indicators(as_declared, data))
    inferred = _inferred(artifact, data, case, record)
    assert inferred.data is not None
    if inferred.repeats is not None:
        declared = inferred.repeats.domain(declared)
    found = narrowed(declared, inferred.domain, inferred.data.rows)
    if found.widened:
        record.note(
            f"the domain file allows values that no training row has in {len(found.widened)} attributes "
            f"({one_line(', '.join(found.widened), 200)}): the attack is told which values occur, unless the policy "
            "names the domain file by its hash (domain_sha256)"
        )
    return replace(inferred, domain=found.domain)


def _inferred(artifact: Artifact, data: TrainingData, case: Case, record: FlowRecord) -> Settled:
    """Return what the training data and, of a pipeline, its transformers reveal of what a row can be."""
    indicators = Indicators.of(data.rows)
    data = _with_indicators(indicators, data)
    if artifact.encoder is None:
        domain = infer(data.columns, data.rows.astype(np.float64), record.limits.total)
        return _written_once(artifact.model, domain, indicators, data, record)
    granted = granted_by(artifact.encoder)
    how = "were encoded by the transformers in the file"
    if not data.by_encoder:
        how = "were given as the forest's own columns, encoded already"
    record.note(f"the training data {how}")
    return Settled(domain_from(artifact.encoder, data.columns, data.rows), indicators, data, granted)


def _written_once(
    model: Forest | RuleList, domain: Domain, indicators: Indicators, data: TrainingData, record: FlowRecord
) -> Settled:
    """Return a domain without columns that repeat others.

    They stay where drawn thresholds are to be decoded, which takes all columns that were drawn.
    """
    settled, case = Settled(domain, indicators, data), record.facts.case
    if isinstance(model, RuleList) or (model.splitter == "random" and is_numeric(domain)):
        return settled
    known = Adversary.parse(case.adversary).columns
    named = {*case.sensitive, *(column for one in case.slices for column in one.columns)}
    named |= set(() if isinstance(known, int) else known)
    repeats, domain = Repeats.of(domain, data.rows, named, record.limits.total)
    if not repeats.repeats:
        return settled
    rows = repeats.rows(data.rows)
    rows.flags.writeable = False
    columns = tuple(data.columns[column] for column in repeats.kept)
    return Settled(
        domain, indicators, replace(data, columns=columns, rows=rows), repeats.granted(settled.domain.columns), repeats
    )


def _with_indicators(indicators: Indicators, data: TrainingData) -> TrainingData:
    """Return training data whose columns of two values are written as zeros and ones."""
    rows = indicators.rows(data.rows)
    rows.flags.writeable = False
    return replace(data, rows=rows)


def _columns(model: Forest | RuleList, data: TrainingData | None) -> tuple[str, ...]:
    """Return the names of the model's input columns, or their numbers where nothing names them."""
    if data is not None:
        return data.columns
    names = model.columns if isinstance(model, RuleList) else model.feature_names
    if names is not None and model.n_features is not None:
        return names
    if model.n_features is None:
        raise DataError("the rule list does not name all columns: add --draft-data")
    return tuple(map(str, range(model.n_features)))
