"""What the figures themselves say against a pass: in go a policy, findings and rebuilt rows, out come contradictions.

Nobody is attacked again: strangers' rows are measured in place of the rebuilt ones, or of the split-half baseline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from pytest_draft.data import TrainingData
from pytest_draft.domain import Domain, infer
from pytest_draft.evaluate.findings import evaluate
from pytest_draft.facts.certificate import Bounds
from pytest_draft.facts.figures import Distance
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.rules import Literal
from pytest_draft.facts.slices import Slice
from pytest_draft.matching import encoded_weights, matched_distance, row_identities, unmatched
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.rule import NotApplicable
from pytest_draft.policy.rules import rule_of
from pytest_draft.timebox import TimeBox
from studies.hunt_triples import STRANGERS, Triple
from studies.judging import ROOM, Judged, loosened
from studies.specimens import Specimen

FEW = 5
"""Fewer rows in which nothing is guessed say little of anybody."""

_EVALUATION = 30.0
"""Seconds that guard each matching, of some hundred rows at most."""


@dataclass(frozen=True)
class Contradiction:
    """What speaks against a pass."""

    by: str
    """As in the module's list."""
    clear: bool
    """Whether looser thresholds are crossed, too."""
    figures: str


@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """True rows, and strangers' as often as there are sets of them. Its repr shows no row."""

    truth: TrainingData
    strangers: tuple[NDArray[np.float32], ...]
    domain: Domain

    def __repr__(self) -> str:
        return f"<Population: {self.truth.n_rows} rows>"

    @classmethod
    def of(cls, specimen: Specimen) -> Population:
        """Return the rows of a specimen, as trees see them."""
        rows = specimen.frame.to_numpy(np.float32)
        labels = np.zeros(len(rows), dtype=np.int64)
        if is_classifier(specimen.estimator):
            labels = np.unique(specimen.labels, return_inverse=True)[1].reshape(-1).astype(np.int64)
        columns = tuple(map(str, specimen.frame.columns))
        sets = np.split(specimen.strangers.to_numpy(np.float32), STRANGERS)
        domain = infer(columns, rows.astype(np.float64))
        return cls(TrainingData(rows, labels, columns, None, "generated"), tuple(sets), domain)


def by_figures(drawn: Triple, first: Judged) -> Iterator[Contradiction]:
    """Yield what contradicts a pass without another attack."""
    findings, rebuilt = first.examination.findings, first.reconstruction
    if findings is None or rebuilt is None or rebuilt.rows is None or "+" in drawn.specimen.adversary:
        return
    if NotApplicable.FREQUENCIES.holds(first.examination):  # who is met there is nobody
        return
    rows = Population.of(drawn.specimen)
    yield from _by_subgroups(drawn.policy, findings, rebuilt, rows, slices_of(drawn.specimen))
    yield from by_strangers(drawn.policy, findings, rows)
    yield from _by_nothing_guessed(rebuilt, rows)


def _by_subgroups(
    policy: Policy, findings: Findings, rebuilt: Reconstruction, rows: Population, slices: Sequence[Slice]
) -> Iterator[Contradiction]:
    """Yield slices that fail where strangers' rows, in place of the rebuilt ones, do not."""
    failing = {one.name: said for one in findings.slices if not one.on and (said := _fails(policy, findings, one.name))}
    if not failing:
        return
    classes = sorted(set(rows.truth.labels.tolist()))
    all_slices = [*slices, *(Slice(one.name, label=i) for i, one in _classes(findings, classes))]
    by_chance: set[str] = set()
    for theirs in rows.strangers:
        stranger = replace(
            rebuilt,
            rows=theirs,
            free=np.zeros((len(theirs), len(rows.domain.attributes)), dtype=np.bool_),
            labels=rows.truth.labels if rebuilt.labels is not None else None,
            ordered=False,
            certificate=None,
            consistent=None,
            seen=None,
            certain=None,
            proved=None,
            provable=None,
            proved_values=None,
        )
        measured = evaluate(
            stranger,
            rows.truth,
            rows.domain,
            findings.identity,
            seed=0,
            timebox=TimeBox(_EVALUATION),
            slices=all_slices,
        )
        by_chance |= {name for name in failing if _fails(policy, measured, name)}
    for name, said in failing.items():
        if name not in by_chance:
            yield Contradiction("a subgroup", bool(_fails(loosened(policy), findings, name)), f"{name}: {said}")


def _classes(findings: Findings, classes: Sequence[int]) -> list[tuple[int, Any]]:
    """Return the slices of the classes, by index."""
    named = [one for one in findings.slices if one.name.startswith("class ") and not one.on]
    return list(zip(classes, named, strict=False))


def _fails(policy: Policy, findings: Findings, name: str) -> str:
    """Return what a policy says of one slice by itself where it fails; else nothing."""
    for one in findings.slices:
        if one.name == name and one.measured is not None and not one.on:
            spared = replace(findings.whole, error=Distance(1.0, 1.0, None), perfect=Bounds(0, 0))
            alone = replace(
                findings,
                slices=tuple(scaled for scaled in findings.slices if scaled.name == name),
                measures=(spared,),  # so that only the slice can fail
                certain_unique=None,
                labelled=None,
            )
            for rule, thresholds in policy.rules.items():
                judge = rule_of(rule)
                if judge.needs is Findings and policy.severities[rule] == "error":
                    outcome = judge.check(alone, thresholds)
                    if outcome.result == "failed" and "slice" in outcome.sentence:
                        return f"{rule}: {outcome.sentence}"
    return ""


def by_strangers(policy: Policy, findings: Findings, rows: Population) -> Iterator[Contradiction]:
    """Yield thresholds relative to the split-half baseline that are crossed relative to strangers' rows.

    There are as many strangers as rows, twice as many as in a half, and so they are closer: they fail less.
    """
    weights, box = encoded_weights(rows.domain), TimeBox(_EVALUATION)
    errors = [matched_distance(rows.truth.rows, theirs, weights, box).lower for theirs in rows.strangers]
    error, threshold = float(np.mean(errors)), policy.rules.get("reconstruction-error", {})
    if (share := threshold.get("max_error_of_split_half")) is not None:
        most = (1 - ROOM) * share * error
        if findings.whole.error.upper <= most:
            yield Contradiction(
                "strangers", True, f"the error is {findings.whole.error.upper:.4f}, and of strangers' rows {error:.4f}"
            )
    met = np.mean([_shared(rows.truth.rows, theirs) for theirs in rows.strangers])
    threshold = policy.rules.get("perfect-rows", {})
    if (share := threshold.get("max_share_beyond_split_half")) is not None:
        perfect, n_rows = findings.whole.perfect.lower, findings.whole.rows
        most = met + min(1.0, share + ROOM) * (n_rows - met)
        if perfect > most and perfect > met + FEW:
            figures = f"{perfect} of {n_rows} rows are perfect, and of strangers' rows {met:.1f}"
            yield Contradiction("strangers", True, figures)


def _by_nothing_guessed(rebuilt: Reconstruction, rows: Population) -> Iterator[Contradiction]:
    """Yield that most rows without a guess are those of unique people, which strangers' rows would not meet."""
    if rebuilt.rows is None or rebuilt.free is None:
        return
    sure = rebuilt.rows[~rebuilt.free.any(axis=1)]
    if len(sure) < FEW:
        return
    everyone = row_identities(rows.truth.rows)[0]
    unique = rows.truth.rows[np.bincount(everyone)[everyone] == 1]
    if not len(unique):
        return
    right = _shared(unique, sure)
    met = float(np.mean([_shared(unique, theirs[: len(sure)]) for theirs in rows.strangers]))
    if right >= FEW and right >= len(sure) / 2 and right > 2 * met + FEW:
        yield Contradiction(
            "nothing guessed",
            right > 3 * met + 2 * FEW,
            f"{right} of {len(sure)} rows without a guess are those of unique people; of as many strangers' {met:.1f}",
        )


def _shared(first: NDArray[np.float32], second: NDArray[np.float32]) -> int:
    """Return how many rows two tables have in common, as often as both have them."""
    if not len(second):
        return 0
    return len(first) - len(unmatched(*row_identities(first, second))[0])


def slices_of(specimen: Specimen) -> list[Slice]:
    """Return a slice for each value of each discrete column."""
    found = []
    for name in specimen.columns("binary", "one-hot", "ordinal"):
        for value in np.unique(specimen.frame[name].dropna().to_numpy()).astype(float).tolist():
            test = Literal(0, float(np.nextafter(value, -np.inf)), value)
            found.append(Slice(f"{name} = {value:g}", (name,), (test,), ("hunt",)))
    return found
