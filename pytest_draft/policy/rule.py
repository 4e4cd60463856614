"""What a rule is: in go what it needs and thresholds, out comes an `Outcome` with one sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Generic, Literal, TypeVar

from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.entropy import Entropy
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.facts.findings import Findings

Figures = Mapping[str, tuple[float, float]]
"""Metrics by name, each as its lower and upper bound, equal where it is exact; what is not known is left out."""


@dataclass(frozen=True)
class NowAndEarlier:
    """The figures of one model file and adversary, now and in an earlier report."""

    now: Figures
    before: Figures = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    """Why nothing passes by the earlier figures; empty where nothing stands in the way."""


Evidence = TypeVar("Evidence", Findings, ArtifactFacts, Entropy, NowAndEarlier, Examination)
Verdict = Literal["passed", "failed", "inconclusive"]
CheckResult = Literal["passed", "failed", "inconclusive", "not applicable"]
"""How a check ends. A rule itself says no more than a `Verdict`: whether it is applicable is not for it to decide."""
Severity = Literal["error", "warning"]
Thresholds = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What one rule says of one examination."""

    result: Verdict
    sentence: str
    """What was measured, and what the threshold is."""
    remedy: str | None = None
    """What to do about just what was found, where the rule's own remedy is not all about this file."""
    close: bool = False
    """Whether the figure lies so close to its threshold that another seed of the model may bring it past that."""


NOTHING = Outcome("inconclusive", "there is nothing that this rule could judge")
"""Said where what a rule needs is missing."""


FEW_RECORDS = 0.1
"""At most this share of a table of frequencies is somebody's record (`DataFacts.record_share`)."""


class NotApplicable(Enum):
    """Why a rule, or a threshold of one, makes no sense for a file: a closed list, each with the sentence that says so.

    Rules and thresholds name those that there can be for them (`unless`), and cannot think of others. Where a figure is
    merely missing, none of these holds, and the rule is inconclusive.
    """

    NOISE = "the leaves hold what a mechanism of differential privacy released, and nothing of a row for certain"
    OTHERS_KNOWN = "the adversary knows all other rows already, so its own attack shows what the file adds to them"
    NO_LABELS = "the model was trained without labels"
    NO_CLASSES = "the model has no classes, and this is about labels"
    NO_TARGETS = "the model has classes, and this is about targets"
    NO_NUMBERS = "no numeric column is to be rebuilt"
    NO_EPSILON = "the file declares no epsilon that its counts could contradict"
    FREQUENCIES = "the table tells how often each kind of row occurs, hardly any fewer than ten times: nobody's record"
    NOT_GIVEN = "the adversary never gets the file, and the model's answers tell nothing of what this is about"
    NO_ATTACK = "the policy asks for no attack, so none was given any time"

    def holds(self, examination: Examination) -> bool:
        """Return whether it is so; never of a file that was not read, or that holds more than the model."""
        artifact, found, informed = examination.artifact, examination.findings, examination.informed
        if not artifact.was_read or artifact.unjudged is not None:
            return False
        if self is NotApplicable.NOISE:
            return artifact.privacy is not None and not artifact.contradictions
        if self is NotApplicable.OTHERS_KNOWN:
            return Adversary.parse(examination.case.adversary).informed
        if self is NotApplicable.NOT_GIVEN:
            return Adversary.parse(examination.case.adversary).served
        if self is NotApplicable.NO_LABELS:
            return artifact.kind == "IsolationForest"
        if self is NotApplicable.NO_CLASSES:
            return artifact.regressor
        if self is NotApplicable.NO_TARGETS:
            return not artifact.regressor
        if self is NotApplicable.NO_NUMBERS:
            known = [None if found is None else found.numeric, None if informed is None else informed.exact_numeric]
            return (found is not None or informed is not None) and known == [None, None]
        if self is NotApplicable.NO_EPSILON:
            return artifact.privacy is None
        if self is NotApplicable.FREQUENCIES:  # that of rows that this file was trained on
            whose = found is not None and found.identity.status in ("confirmed", "order differs")
            return whose and not examination.doubts and examination.data.record_share <= FEW_RECORDS
        return not examination.case.attack


@dataclass(frozen=True)
class Key:
    """One threshold of a rule."""

    whole: bool
    """Whether it is a whole number of rows, else a number."""
    largest: float | None
    """Its upper end; None for no end."""
    strictest: Callable[[Any, Any], Any]
    """Chooses the stricter of two budgets: `max` for an error, which is the attacker's; `min` for rows and epsilon."""
    help: str
    """One sentence."""
    default: float | None = None
    """In force where the rule is named without it; None for no such threshold."""
    listed: bool = False
    """Whether it is a list of texts, not a number."""
    unless: tuple[NotApplicable, ...] = ()
    """Where it is left out; a rule all of whose thresholds are left out is not applicable."""

    @classmethod
    def share(cls, help: str, default: float | None = None, unless: tuple[NotApplicable, ...] = ()) -> Key:
        """Return the threshold of a share of which no more is allowed."""
        return cls(False, 1.0, min, help, default, unless=unless)

    @classmethod
    def error(cls, help: str, unless: tuple[NotApplicable, ...] = ()) -> Key:
        """Return the threshold of an attacker's error, or of a share of one, of which no less is allowed."""
        return cls(False, 1.0, max, help, unless=unless)

    @classmethod
    def rows(cls, help: str, unless: tuple[NotApplicable, ...] = ()) -> Key:
        """Return the threshold of a number of rows of which no more are allowed."""
        return cls(True, None, min, help, unless=unless)

    def wrong(self, value: object) -> str | None:
        """Say what a value must be that is none of this threshold; None where nothing is wrong."""
        if self.listed:
            listed = isinstance(value, list) and value and all(isinstance(text, str) and text for text in value)
            return None if listed else "must be a list of texts"
        if isinstance(value, bool) or not isinstance(value, (int, float)) or (self.whole and isinstance(value, float)):
            return f"must be a {'whole ' * self.whole}number"
        if not math.isfinite(value) or not 0 <= value <= (math.inf if self.largest is None else self.largest):
            return f"must be {'at least 0' if self.largest is None else f'between 0 and {self.largest:g}'}, not {value}"
        return None


@dataclass(frozen=True)
class Rule(Generic[Evidence]):
    """One rule of a policy."""

    id: str
    """Stable: part of the address of its test items."""
    needs: type[Evidence]
    """`Findings`, which an attack must have brought about, so that its doubts count; `ArtifactFacts`, which stand once
    the file was read, whatever becomes of the attack; `Entropy`, which has doubts of its own; `NowAndEarlier`, what an
    earlier report says beside it; or all of the `Examination`, whose doubts the rule itself heeds.
    """
    keys: Mapping[str, Key]
    """Its thresholds: any that is crossed fails. Empty where naming the rule says it all."""
    check: Callable[[Evidence, Thresholds], Outcome]
    """Takes what it needs and thresholds, returns an `Outcome`."""
    rationale: str
    """Why the rule exists."""
    remedy: str | None = None
    """What to do where it fails, whatever the file is; None where that depends on the forest
    (`pytest_draft.policy.remedies.remedy_for`). An outcome's own goes before it.
    """
    severity: Severity = "error"
    """What a failure means where the policy does not say; a warning is told, and stops nothing."""
    attack: bool = False
    """Whether it judges what an attack finds; always, where it needs `Findings`."""
    blames_file: bool = True
    """Whether what it finds of an attack comes from what the file stores, which is then told as the cause."""
    bounds: Callable[[Evidence, Thresholds, bool], Outcome] | None = None
    """Takes what it needs, thresholds, and whether the attack converged; judges by what is known of the best possible
    attack. None where only an attack that converged can pass.
    """
    unless: tuple[NotApplicable, ...] = ()
    """Where it makes no sense for a file, unless it fails all the same."""
    beside: bool = False
    """Whether it judges what stands in the file beside the model, so that a file without one can fail it."""
    attacker: str = "whoever opens the file"
    """Who gets what it judges, by what they know; of an attack, where it needs `Findings`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "attack", self.attack or self.needs is Findings)
        if self.needs is Findings:
            object.__setattr__(self, "attacker", "this attack")

    def in_force(self, thresholds: Thresholds) -> dict[str, Any]:
        """Return the thresholds that are given, and the defaults of the others."""
        others = {name: key.default for name, key in self.keys.items() if name not in thresholds}
        return {**thresholds, **{name: value for name, value in others.items() if value is not None}}

    def applied(self, thresholds: Thresholds, examination: Examination) -> tuple[Thresholds, NotApplicable | None]:
        """Return the thresholds that are held against a file, and why it is not applicable; None where it is."""
        keys = {name: self.keys[name] for name in thresholds if name in self.keys}
        of_keys = {name: [one for one in key.unless if one.holds(examination)] for name, key in keys.items()}
        left_out = {name: reasons[0] for name, reasons in of_keys.items() if reasons}
        left = {name: at for name, at in thresholds.items() if name not in left_out}
        whys = [one for one in self.unless if one.holds(examination)]
        if all(name in keys and keys[name].default is not None for name in left):  # what only says how others are held
            whys += left_out.values()
        return left, whys[0] if whys else None


def common(one: list[str], other: list[str]) -> list[str]:
    """Return the stricter of two lists of what is allowed: what both allow."""
    return [text for text in one if text in other]


def combined(outcomes: list[Outcome]) -> Outcome:
    """Return the gravest outcome: failed beats inconclusive beats passed; passes are told together.

    Of nothing there is no pass.
    """
    for result in ("failed", "inconclusive"):
        if grave := [outcome for outcome in outcomes if outcome.result == result]:
            return replace(grave[0], close=all(outcome.close for outcome in grave))
    if not outcomes:
        return NOTHING
    said = "; ".join(outcome.sentence for outcome in outcomes)
    return Outcome("passed", said, close=any(outcome.close for outcome in outcomes))


def not_found_out(examination: Examination, why: str | None) -> Outcome:
    """Return that what a rule judges was not found out, and why, if by nothing else."""
    reasons = "; ".join(dict.fromkeys(examination.reasons)) or "no training data are given to compare with"
    return Outcome("inconclusive", why or reasons)


def unless_doubted(outcome: Outcome, doubts: Sequence[str]) -> Outcome:
    """Return an outcome; where there are doubts, no pass."""
    return Outcome("inconclusive", doubts[0]) if outcome.result == "passed" and doubts else outcome


def first_speaks(outcomes: list[Outcome]) -> Outcome:
    """Return the gravest outcome; of passes the first, which is of the whole table, speaks for its parts."""
    gravest = combined(outcomes)
    others = len({outcome.sentence for outcome in outcomes}) - 1
    if gravest.result != "passed" or not others:
        return gravest
    also = "the other limit (for a part, a slice, a scale or labels) holds"
    if others > 1:
        also = f"the other {others} limits (for parts, slices, scales, labels) hold"
    return replace(gravest, sentence=f"{outcomes[0].sentence}; {also}, too")
