"""What a rule is: in go what it needs and thresholds, out comes an `Outcome` with one sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from pytest_draft.evaluate.entropy import Entropy
from pytest_draft.evaluate.findings import Findings
from pytest_draft.gate import ArtifactFacts

Evidence = TypeVar("Evidence", Findings, ArtifactFacts, Entropy)
Result = Literal["passed", "failed", "inconclusive"]
Thresholds = Mapping[str, float]


@dataclass(frozen=True)
class Outcome:
    """What one rule says of one examination.

    Attributes
    ----------
    result : {"passed", "failed", "inconclusive"}
    sentence : str
        What was measured, what the threshold is, and by how much it was crossed.
    """

    result: Result
    sentence: str


@dataclass(frozen=True)
class Key:
    """One threshold of a rule.

    Attributes
    ----------
    whole : bool
        Whether it is a whole number of rows, else a number.
    largest : float or None
        Its upper end; None for no end.
    strictest : callable
        Chooses the stricter of two budgets: `max` for an error, which is the attacker's; `min` for rows and epsilon.
    help : str
        One sentence.
    default : float or None
        In force where the rule is named without it; None for no such threshold.
    """

    whole: bool
    largest: float | None
    strictest: Callable[[float, float], float]
    help: str
    default: float | None = None


@dataclass(frozen=True)
class Rule(Generic[Evidence]):
    """One rule of a policy.

    Attributes
    ----------
    id : str
        Stable: part of the address of its test items.
    needs : type
        `Findings`, which an attack must have brought about, so that its doubts count; `ArtifactFacts`, which stand
        once the file was read, whatever becomes of the attack; or `Entropy`, which has doubts of its own.
    keys : mapping of str to Key
        Its thresholds: any that is crossed fails. Empty where naming the rule says it all.
    check : callable
        Takes what it needs and thresholds, returns an `Outcome`.
    rationale : str
        Why the rule exists.
    remedy : str or None
        What to do where it fails; None where that depends on the forest (`pytest_draft.policy.verdict.remedy_for`).
    """

    id: str
    needs: type[Evidence]
    keys: Mapping[str, Key]
    check: Callable[[Evidence, Thresholds], Outcome]
    rationale: str
    remedy: str | None = None

    def in_force(self, thresholds: Thresholds) -> dict[str, float]:
        """Return the thresholds that are given, and the defaults of the others."""
        others = {name: key.default for name, key in self.keys.items() if name not in thresholds}
        return {**thresholds, **{name: value for name, value in others.items() if value is not None}}


def combined(outcomes: list[Outcome]) -> Outcome:
    """Return the gravest outcome: failed beats inconclusive beats passed; passes are told together."""
    for result in ("failed", "inconclusive"):
        for outcome in outcomes:
            if outcome.result == result:
                return outcome
    return Outcome("passed", "; ".join(outcome.sentence for outcome in outcomes))
