"""What a rule is: in go findings and thresholds, out comes an `Outcome` with one sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_draft.evaluate.findings import Findings

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
        Chooses the stricter of two budgets: `max` for an error, which is the attacker's; `min` for rows.
    help : str
        One sentence.
    """

    whole: bool
    largest: float | None
    strictest: Callable[[float, float], float]
    help: str


@dataclass(frozen=True)
class Rule:
    """One rule of a policy.

    Attributes
    ----------
    id : str
        Stable: part of the address of its test items.
    keys : mapping of str to Key
        Its thresholds; at least one must be given, and any that is crossed fails.
    check : callable
        Takes findings and thresholds, returns an `Outcome`.
    rationale : str
        Why the rule exists.
    """

    id: str
    keys: Mapping[str, Key]
    check: Callable[[Findings, Thresholds], Outcome]
    rationale: str


def combined(outcomes: list[Outcome]) -> Outcome:
    """Return the gravest outcome: failed beats inconclusive beats passed; passes are told together."""
    for result in ("failed", "inconclusive"):
        for outcome in outcomes:
            if outcome.result == result:
                return outcome
    return Outcome("passed", "; ".join(outcome.sentence for outcome in outcomes))
